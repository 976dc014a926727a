"""The page of the audit trail."""

from __future__ import annotations

import json
import re

import pytest
from console.reader import Reader, words_of
from engines import let_go_of_guards
from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.context import Context
from remembrancer.permissions.audit import export_entries
from remembrancer.permissions.grants import check, grant, log_action
from remembrancer.protocol.permissions import ActionLog, GrantRequest, PermissionCheck

PATH = "/console/audit"


@pytest.fixture
def grant_id(owner: Reader, context: Context) -> str:
    """Write a grant, an allowed check, its action log and a denied check; return the grant's id."""
    robot = authenticate(context, new_key(context, "robots"))
    result = grant(
        context,
        owner.caller,
        GrantRequest(scope="/etc/nginx/", ttl_minutes=5, actions=["read"], agent="reader"),
    )
    check(context, robot, PermissionCheck(path="/etc/nginx/a", action="read", agent="reader"))
    log_action(
        context,
        robot,
        ActionLog(
            grant_id=result.grant_id, path="/etc/nginx/a", action="read", result="<b>12</b> lines"
        ),
    )
    check(context, robot, PermissionCheck(path="/etc/shadow", action="read", agent="other"))
    return result.grant_id


def numbers(page: str) -> list[int]:
    """Return the sequence numbers of the entries on a page."""
    return [int(number) for number in re.findall(r'<td class="figure">(\d+)</td>', page)]


def test_newest_entry_is_first_and_names_action_and_actor(owner: Reader, grant_id: str) -> None:
    page = owner.get(PATH)
    page_text = words_of(page.text)

    assert numbers(page.text) == [4, 3, 2, 1]
    assert "denied other read /etc/shadow robots key 1" in page_text
    assert f"allowed reader read /etc/nginx/a {grant_id} robots key 1" in page_text
    assert "<b>12</b> lines" in page_text
    assert f"grant reader read /etc/nginx/ for 5 min {grant_id} owner browser" in page_text


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("kind=check", [4, 2]),
        ("agent=reader", [3, 2, 1]),
        ("path=nginx", [3, 2, 1]),
        ("kind=check&path=shadow", [4]),
        ("path=none", []),
    ],
)
def test_audit_trail_is_filtered_by_kind_agent_and_path(
    owner: Reader, grant_id: str, query: str, count: list[int]
) -> None:
    whole, part = owner.get(f"{PATH}?{query}"), owner.get(f"{PATH}?{query}", swap=True)

    assert (numbers(whole.text), numbers(part.text)) == (count, count)
    assert "<html" not in part.text


class TestChain:
    """The page shows the state of the chain (specification.md#sysperm-audit-tampering)."""

    def test_verify_reports_an_intact_chain_and_its_head(
        self, owner: Reader, grant_id: str, context: Context
    ) -> None:
        head = context.store.read(lambda tx: tx.one("select seq, hash from audit_head"))

        for answer in (owner.get(f"{PATH}?verify=all"), owner.get(f"{PATH}?verify=all", swap=True)):
            assert "valid 4 entries, verified in" in words_of(answer.text)
            assert f"{head.seq}:{head.hash}" in answer.text
        assert "valid 4" not in words_of(owner.get(PATH).text)  # only on request

    def test_verify_reports_the_position_of_a_changed_entry(
        self, owner: Reader, grant_id: str, context: Context
    ) -> None:
        let_go_of_guards(context.store)
        change = "update audit set entry = replace(entry, 'shadow', 'hosts') where seq = 4"
        context.store.write(lambda tx: tx.run(change))
        page_text = words_of(owner.get(f"{PATH}?verify=all").text)

        assert "broken The audit trail is broken: entry 4 was changed" in page_text


def test_audit_trail_is_exported_as_json_lines(
    owner: Reader, grant_id: str, context: Context
) -> None:
    """The trail can be exported as JSON lines."""
    answer = owner.get(f"{PATH}/export")
    lines = answer.text.splitlines()

    assert lines == list(export_entries(context))
    assert [json.loads(line)["kind"] for line in lines] == ["grant", "check", "log", "check"]
    assert answer.headers["content-disposition"] == 'attachment; filename="audit.jsonl"'
    assert answer.headers["content-type"].startswith("application/x-ndjson")


def test_only_the_owner_reads_the_audit_trail(ada: Reader, grant_id: str) -> None:
    """Only the owner reads the audit trail (specification.md#sysperm-owner-only)."""
    paths = (PATH, f"{PATH}?verify=all", f"{PATH}/export", f"{PATH}?path=shadow")
    answers = [ada.get(path) for path in paths]

    assert [answer.status_code for answer in answers] == [403] * 4
    assert "/etc/" not in "".join(answer.text for answer in answers)
