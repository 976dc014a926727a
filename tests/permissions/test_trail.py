"""Search of the audit trail."""

from __future__ import annotations

import json

import pytest
from engines import KEPT_IN, let_go_of_guards
from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.context import Caller, Context
from remembrancer.permissions import audit as trail
from remembrancer.permissions.audit import AuditFilter, AuditSearchPage, search_audit
from remembrancer.permissions.grants import check, grant, revoke
from remembrancer.protocol.permissions import GrantRequest, GrantRevocation, PermissionCheck


@pytest.fixture
def owner(context: Context) -> Caller:
    """Return the caller of the first account."""
    return authenticate(context, new_key(context))


@pytest.fixture
def grant_id(context: Context, owner: Caller) -> str:
    """Add a grant, three checks, a revocation and a check of another agent; return the grant_id."""
    grant_answer = grant(
        context,
        owner,
        GrantRequest(scope="/etc/nginx/", ttl_minutes=5, actions=["read"], agent="robot"),
    )
    for name in ("nginx/a", "nginx/b", "hosts"):
        check(context, owner, PermissionCheck(path=f"/etc/{name}", action="read", agent="robot"))
    revoke(context, owner, GrantRevocation(grant_id=grant_answer.grant_id))
    check(context, owner, PermissionCheck(path="/etc/nginx/a", action="read", agent="other"))
    return grant_answer.grant_id


def numbers(leaf: AuditSearchPage) -> list[int]:
    return [entry.seq for entry in leaf.entries]


def matches(context: Context, owner: Caller, **sought: object) -> list[int]:
    return numbers(search_audit(context, owner, AuditFilter.model_validate(sought)))


def test_page_scans_a_limited_number_of_entries(
    context: Context, owner: Caller, grant_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a rare entry among a million could take unlimited time."""
    monkeypatch.setattr(trail, "SCANNED_MAX", 4)
    first = search_audit(context, owner, AuditFilter(kind="grant"))
    second = search_audit(context, owner, AuditFilter(kind="grant", before=first.next or 0))

    assert (numbers(first), first.least, numbers(second), second.next) == ([], 3, [1], None)


def test_replaced_entry_is_listed_and_hides_no_other(
    context: Context, owner: Caller, grant_id: str
) -> None:
    def tamper(text: str) -> None:
        let_go_of_guards(context.store)
        context.store.write(
            lambda tx: tx.run("update audit set entry = :text where seq = 3", text=text)
        )

    for text in ("no json", json.dumps([1]), "{", *(("\x00",) if KEPT_IN == "sqlite" else ())):
        tamper(text)
        assert matches(context, owner) == [6, 5, 4, 3, 2, 1]
        assert matches(context, owner, kind="check", path="/etc") == [6, 4, 2]
    assert search_audit(context, owner, AuditFilter()).entries[3].kind == "unreadable"
