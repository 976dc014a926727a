"""A new GET is declared once: a scratch copy of the package gets one by editing four files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from architecture.tree import CODE, ROOT
from command import captured

FUTURE = "from __future__ import annotations\n"
FILES_MAX = 5  # with the contract, tests/architecture/contract/openapi.json
# What follows a line of a file, by file and line.
EDITS: Mapping[str, tuple[str, str]] = {
    "protocol/memory.py": (
        "class SessionList(Message):",
        '''class SessionCount(Message):
    """The number of sessions of a user."""

    sessions: int
    """Number of sessions."""


''',
    ),
    "protocol/operations.py": (
        "    list_sessions = QueryOperation(",
        '''    count_sessions = QueryOperation(
        "GET",
        "/api/v7/sessions/count",
        memory.SessionsQuery,
        memory.SessionCount,
    )
    """Count sessions.

    Count the sessions of a user."""
''',
    ),
    "memory/history/browse.py": (
        "def session_list(",
        """def session_count(context: Context, caller: Caller, query: SessionsQuery) -> SessionCount:
    return SessionCount(sessions=len(session_list(context, caller, query).sessions))


""",
    ),
    "http/routes.py": (
        "    reads(Operations.list_sessions, session_list),",
        "    reads(Operations.count_sessions, session_count),\n",
    ),
}
# What the edited files import in addition.
IMPORTS = {
    "memory/history/browse.py": "from ...protocol.memory import SessionCount\n",
    "http/routes.py": "from ..memory.history.browse import session_count\n",
}
PROGRAM = """
import runpy, sys, tempfile
from pathlib import Path
from starlette.testclient import TestClient
from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.client import AsyncClient, Client
from remembrancer.http.openapi import document
from remembrancer.protocol.operations import OPERATIONS
from remembrancer.server.app import make_app

context = testing.context(Path(tempfile.mkdtemp()))
key = keys.create(context, account="owner", label="test").key.reveal()
with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as http:
    answer = http.get("/api/v7/sessions/count", headers={"Authorization": f"Bearer {key}"})
    assert answer.json() == {"sessions": 0}, answer.text
    assert "client.count_sessions(SessionsQuery(" in http.get("/docs/api/count_sessions").text
context.close()
assert "/api/v7/sessions/count" in document(OPERATIONS)["paths"]
assert Client.count_sessions.answer.__name__ == "SessionCount"
assert AsyncClient.count_sessions is Client.count_sessions
types = runpy.run_path(sys.argv[1])["generated"]()
assert '"GET /api/v7/sessions/count": {' in types
"""


def test_a_new_get_touches_few_files(tmp_path: Path) -> None:
    """HTTP, OpenAPI, both clients, the types and the documentation derive from the table."""
    package = tmp_path / "src" / "remembrancer"
    shutil.copytree(CODE, package)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    for name, (line, added) in EDITS.items():
        path = package / name
        text = path.read_text("utf-8")
        assert text.count(f"\n{line}") == 1, f"{name} has changed: {line}"
        head, _, rest = text.partition(f"\n{line}")
        head = head.replace(FUTURE, f"{FUTURE}{IMPORTS.get(name, '')}", 1)
        path.write_text(f"{head}\n{added}{line}{rest}", "utf-8")

    generator = ROOT / "clients" / "typescript" / "generate.py"
    process = captured(
        [sys.executable, "-c", PROGRAM, str(generator)],
        env={"PYTHONPATH": str(package.parent), "HOME": str(tmp_path)},
    )

    assert process.returncode == 0, process.stderr
    assert len(EDITS) + 1 <= FILES_MAX
