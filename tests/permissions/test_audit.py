"""The audit trail is searched, and reveals changed, removed, added and reordered entries."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apsw
import psycopg
import pytest
from engines import KEPT_IN, let_go_of_guards, only_sqlite
from hypothesis import given
from hypothesis.strategies import DrawFn, composite, integers, permutations, sampled_from
from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.context import Caller, Context
from remembrancer.permissions import audit
from remembrancer.permissions.audit import (
    AuditBroken,
    AuditFilter,
    AuditSearchPage,
    ChainLink,
    break_in,
    canonical,
    digest,
    export_entries,
    page,
    search_audit,
    verify,
)
from remembrancer.permissions.grants import check, grant, revoke
from remembrancer.protocol.permissions import (
    AuditQuery,
    GrantRequest,
    GrantRevocation,
    PermissionCheck,
)


@pytest.fixture
def owner(context: Context) -> Caller:
    """Return the caller of the first account."""
    return authenticate(context, new_key(context))


@pytest.fixture
def trail(context: Context, owner: Caller) -> Callable[[str], None]:
    """Add seven entries; return a function that removes the triggers and runs SQL."""
    for n in range(7):
        check(context, owner, PermissionCheck(path=f"/etc/{n}", action="read", agent="é robot"))

    def tamper(sql: str) -> None:
        let_go_of_guards(context.store)
        context.store.write(lambda tx: tx.run(sql))

    return tamper


def pages(context: Context, owner: Caller, limit: int) -> list[bool]:
    """Return `chain_valid` of each page."""
    result, after = [], 0
    while True:
        one = page(context, owner, AuditQuery(limit=limit, after=after))
        result.append(one.chain_valid)
        if one.next is None:
            return result
        after = one.next


def test_valid_trail_is_verified(
    context: Context, owner: Caller, trail: Callable[[str], None]
) -> None:
    head = verify(context)

    assert head.seq == 7
    assert verify(context, head) == head
    assert verify(context, ChainLink()) == head


FORGED = canonical(
    {
        "seq": 4,
        "at": "2026-01-01T00:00:00.000Z",
        "kind": "revoke",
        "account": "owner",
        "key_id": 1,
        "prev": "0" * 64,
    }
)
TAMPERINGS = {
    "entry changed": (
        "update audit set entry = replace(entry, '/etc/3', '/etc/9') where seq = 4",
        "entry 4 was changed",
    ),
    "character added": (
        "update audit set entry = entry || ' ' where seq = 4",
        "entry 4 was changed",
    ),
    "hash changed": ("update audit set hash = upper(hash) where seq = 4", "entry 4 was changed"),
    "invalid text": (
        "update audit set entry = x'ff', hash = x'fe' where seq = 4",
        "entry 4 was changed",
    ),
    "entry removed": ("delete from audit where seq = 4", "entry 4 is missing"),
    "first entry removed": ("delete from audit where seq = 1", "entry 1 is missing"),
    "truncated": ("delete from audit where seq > 3", "ends with entry 3"),
    "emptied": ("delete from audit", "ends with entry 0"),
    "moved": ("update audit set seq = 100 + seq where seq = 4", "entry 4 is missing"),
    "swapped": (
        (
            "update audit set entry = (select entry from audit where seq = 5), "
            "hash = (select hash from audit where seq = 5) where seq = 4"
        ),
        "entry 4 was replaced",
    ),
    "forged": (
        f"update audit set entry = '{FORGED}', hash = '{digest(FORGED.encode())}' where seq = 4",
        "entry 4 does not go on from the entry before",
    ),
    "head moved back": (
        "update audit_head set seq = 6, hash = (select hash from audit where seq = 6)",
        None,
    ),
    "head hash changed": ("update audit_head set hash = '" + "1" * 64 + "'", "with another hash"),
}


@pytest.mark.parametrize(("sql", "where"), TAMPERINGS.values(), ids=list(TAMPERINGS))
def test_tampering_is_detected_with_its_place(
    context: Context, owner: Caller, trail: Callable[[str], None], sql: str, where: str | None
) -> None:
    """`remembrancer audit verify` finds every tampering, and every way to read all pages.

    `chain_valid` is false, and the request does not fail; see
    specification.md#sysperm-audit-tampering.
    """
    if "x'ff'" in sql:
        only_sqlite()  # PostgreSQL stores no invalid text
    trail(sql)

    if where:
        with pytest.raises(AuditBroken, match=where):
            verify(context)
    for limit in (1, 2, 3, 7, 100):
        assert not all(pages(context, owner, limit)), limit


def test_replaced_chain_is_detected_by_a_saved_head(
    context: Context, trail: Callable[[str], None]
) -> None:
    """A writer of the file can change all entries and the head, but not a head saved elsewhere."""
    noted = verify(context)
    trail("delete from audit where seq > 6")
    trail("update audit_head set seq = 6, hash = (select hash from audit where seq = 6)")

    assert verify(context).seq == 6
    with pytest.raises(AuditBroken, match="no entry 7 with the expected hash"):
        verify(context, noted)


@pytest.mark.parametrize(
    "sql",
    [
        "update audit set hash = hash",
        "delete from audit",
        "insert into audit (seq, entry, hash) values (9, '{}', '')",
        "insert or replace into audit (seq, entry, hash) values (3, '{}', '')",
        "insert into audit (seq, entry, hash) values (null, '{}', '')",
        "delete from audit_head",
        "update audit_head set seq = 3",
        "update audit_head set seq = null",
    ],
)
def test_store_refuses_everything_but_appending(
    context: Context, trail: Callable[[str], None], sql: str
) -> None:
    """SQL triggers make the trail append-only (specification.md#sysperm-audit-append-only)."""
    if "insert or replace" in sql:
        only_sqlite()
    with pytest.raises((apsw.ConstraintError, psycopg.DatabaseError)):
        context.store.write(lambda tx: tx.run(sql))
    assert verify(context).seq == 7


def test_export_can_be_verified_independently(
    context: Context, trail: Callable[[str], None]
) -> None:
    before = "0" * 64
    for line in export_entries(context):
        entry = json.loads(line)
        entry_hash = entry.pop("hash")
        assert (entry["prev"], digest(canonical(entry).encode())) == (before, entry_hash)
        before = entry_hash

    assert verify(context) == ChainLink(seq=7, hash=before)
    assert "é robot" in line


def test_concurrent_checks_form_one_chain(context: Context, owner: Caller) -> None:
    with ThreadPoolExecutor(8) as pool:
        checks = [
            PermissionCheck(path=f"/etc/{n}", action="read", agent="robot") for n in range(200)
        ]
        answers = list(pool.map(lambda one: check(context, owner, one), checks))

    assert len(answers) == verify(context).seq == 200
    assert {json.loads(line)["path"] for line in export_entries(context)} == {
        one.path for one in checks
    }


class Row:
    """An entry as returned by the store."""

    def __init__(self, seq: int, entry: bytes, hash: bytes) -> None:
        self.seq, self.entry, self.hash = seq, entry, hash


def chain(length: int) -> list[Row]:
    """Return a valid chain of entries."""
    rows, before = [], "0" * 64
    for seq in range(1, length + 1):
        entry = canonical({"seq": seq, "kind": "check", "prev": before}).encode()
        before = digest(entry)
        rows.append(Row(seq, entry, before.encode()))
    return rows


@composite
def tampered(draw: DrawFn) -> tuple[list[Row], int]:
    """Draw a tampered chain and its original length."""
    rows = chain(draw(integers(2, 8)))
    length = len(rows)
    at = draw(integers(0, length - 1))
    match draw(sampled_from(["remove", "reorder", "change", "repeat"])):
        case "remove":
            del rows[at]
        case "reorder":
            order = draw(
                permutations(range(length)).filter(lambda order: list(order) != list(range(length)))
            )
            rows = [
                Row(seq + 1, rows[place].entry, rows[place].hash) for seq, place in enumerate(order)
            ]
        case "change":
            flipped = bytearray(rows[at].entry)
            flipped[draw(integers(0, len(flipped) - 1))] ^= draw(integers(1, 255))
            rows[at] = Row(rows[at].seq, bytes(flipped), rows[at].hash)
        case _:
            rows.insert(at, rows[at])
    return rows, length


@given(tampered())
def test_every_single_change_is_detected(tampering: tuple[list[Row], int]) -> None:
    rows, length = tampering
    whole: Any = chain(length)

    result = break_in(rows, ChainLink())
    assert result != break_in(whole, ChainLink())


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
    monkeypatch.setattr(audit, "SCANNED_MAX", 4)
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
