"""`remembrancer audit`."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from command import Cli
from service import new_key

from remembrancer import testing
from remembrancer.accounts.keys import authenticate
from remembrancer.permissions.grants import check
from remembrancer.protocol.permissions import PermissionCheck


@pytest.fixture
def cli(folder: Path) -> Cli:
    """Return the command on a folder with three audit entries."""
    with closing(testing.context(folder)) as context:
        owner = authenticate(context, new_key(context))
        for n in range(3):
            check(context, owner, PermissionCheck(path=f"/etc/{n}", action="read", agent="robot"))
    return Cli(folder)


def test_verify_reports_the_position_of_a_changed_entry(cli: Cli, folder: Path) -> None:
    """Exit status 1 and the position (specification.md#sysperm-audit-tampering)."""
    with closing(apsw.Connection(str(folder / "remembrancer.sqlite3"))) as db:
        db.execute("drop trigger audit_stays")
        db.execute("update audit set entry = replace(entry, 'read', 'exec') where seq = 2")
    process = cli("audit verify")

    assert (process.returncode, process.stdout) == (1, "")
    assert "entry 2 was changed" in process.stderr


def test_head_that_is_unknown_or_invalid_is_refused(cli: Cli) -> None:
    for head, status in (
        ("4:" + "a" * 64, 1),
        *((head, 2) for head in ("", "3", "3:abc", "x:" + "a" * 64, "3:" + "A" * 64)),
        *((head, 2) for head in ("-1:" + "a" * 64, "3:" + "a" * 64 + "\n")),
    ):
        process = cli("audit verify --head", head)
        assert (process.returncode, "Traceback" in process.stderr) == (status, False), head


def test_export_prints_one_json_line_per_entry(cli: Cli) -> None:
    process = cli("audit export")
    entries = [json.loads(line) for line in process.stdout.splitlines()]

    assert [(entry["seq"], entry["path"], entry["allowed"]) for entry in entries] == [
        (1, "/etc/0", False),
        (2, "/etc/1", False),
        (3, "/etc/2", False),
    ]
    assert cli("audit verify").stdout.strip() == f"3:{entries[-1]['hash']}"
