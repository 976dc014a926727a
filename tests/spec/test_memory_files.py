"""Memory files: Anthropic's memory tool over versioned files below `/memories`."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

FILES = "/api/v7/memory/files"
NOTE = {
    "command": "create",
    "path": "/memories/elba.md",
    "file_text": "The ferry leaves at 9:40.\n",
}


ELBA = "/memories/elba.md"


def output(http: Http, **command: Any) -> str:
    """Return the text of a result that is not an error."""
    answer = http.post(FILES, command)
    assert (answer.status_code, answer.json()["is_error"]) == (200, False), answer.text
    return str(answer.json()["text"])


def test_all_six_commands_work_on_a_file(http: Http) -> None:
    """Anthropic, memory tool, "Tool commands" (specification.md#memory-files-commands)."""
    trips = "/memories/trips/elba.md"
    texts = [
        output(http, **NOTE),
        output(http, command="view", path=ELBA),
        output(http, command="str_replace", path=ELBA, old_str="9:40", new_str="10:40"),
        output(http, command="insert", path=ELBA, insert_line=1, insert_text="From Piombino.\n"),
        output(http, command="rename", old_path=ELBA, new_path=trips),
        output(http, command="view", path="/memories"),
        output(http, command="delete", path="/memories/trips"),
    ]

    assert texts == [
        f"File created successfully at: {ELBA}",
        (
            f"Here's the content of {ELBA} with line numbers:\n"
            "     1\tThe ferry leaves at 9:40.\n     2\t"
        ),
        (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            "numbers):\n     1\tThe ferry leaves at 10:40.\n     2\t"
        ),
        f"The file {ELBA} has been edited.",
        f"Successfully renamed {ELBA} to {trips}",
        (
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden "
            f"items and node_modules:\n42B\t/memories\n42B\t/memories/trips/\n42B\t{trips}"
        ),
        "Successfully deleted /memories/trips",
    ]


# tests/memory/test_memory_files.py compares the others with those of Anthropic's package.
FAILURES: list[tuple[dict[str, Any], str]] = [
    (
        {"command": "insert", "path": "/memories/x", "insert_line": 0, "insert_text": "b"},
        "Error: The path /memories/x does not exist",
    ),
    (
        {"command": "insert", "path": ELBA, "insert_line": 2, "insert_text": "b"},
        (
            "Error: Invalid `insert_line` parameter: 2. "
            "It should be within the range of lines of the file: [0, 1]"
        ),
    ),
    (
        {"command": "view", "path": "/memories/../etc"},
        "Error: A name in a path must not be empty, only dots, or start or end with a space",
    ),
]


def test_failed_commands_return_the_messages_of_the_memory_tool(http: Http) -> None:
    """Anthropic, memory tool, "Error handling" (specification.md#memory-files-refusals)."""
    output(http, **NOTE)
    before = http.rows()

    for command, message in FAILURES:
        answer = http.post(FILES, command)
        assert answer.status_code == 200
        assert answer.json() == {"text": message, "is_error": True, "flags": []}
    assert http.rows() == before


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"command": "view"}, "/path"),
        ({"command": "create", "path": "/memories/a"}, "/file_text"),
        ({"command": "rename", "old_path": "/memories/a", "new_path": None}, "/new_path"),
    ],
)
def test_commands_need_their_fields(http: Http, body: dict[str, Any], pointer: str) -> None:
    """Other input is a 422 (specification.md#memory-files-invalid)."""
    answer = http.post(FILES, body)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


def test_old_versions_are_listed_and_readable(http: Http) -> None:
    """Every version stays readable; an unknown one is a 404.

    See specification.md#memory-files-versions, specification.md#memory-files-unknown-version.
    """
    output(http, **NOTE)
    output(http, command="str_replace", path=ELBA, old_str="9:40", new_str="10:40")
    output(http, command="rename", old_path=ELBA, new_path="/memories/trip.md")

    now = http.get(FILES, params={"path": ELBA}).json()
    first = http.get(FILES, params={"path": ELBA, "version": 1}).json()

    renamed = http.get(FILES, params={"path": "/memories/trip.md"}).json()["versions"]

    names = ("version", "change", "is_gone", "other_path")
    versions = [tuple(one.get(name) for name in names) for one in (*now["versions"], *renamed)]
    assert versions == [
        (3, "rename", True, "/memories/trip.md"),
        (2, "str_replace", False, None),
        (1, "create", False, None),
        (1, "rename", False, ELBA),
    ]
    assert ("text" in now, now["version"]) == (False, 3)
    assert (first["text"], first["version"]) == (NOTE["file_text"], 1)
    for unknown in (
        {"path": "/memories/none"},
        {"path": "/etc/passwd"},
        {"path": ELBA, "version": 4},
    ):
        assert http.get(FILES, params=unknown).status_code == 404


def test_files_are_isolated_per_user_and_account(http: Http) -> None:
    """Files belong to one space (specification.md#memory-files-isolation)."""
    output(http, **NOTE, user_id="ada")
    bob = http.as_account("bob")
    look = {"command": "view", "path": "/memories/elba.md"}

    assert http.post(FILES, look | {"user_id": "ada"}).json()["is_error"] is False
    assert http.post(FILES, look).json()["is_error"] is True
    assert bob.post(FILES, look | {"user_id": "ada"}).json()["is_error"] is True
    assert bob.get(FILES, params={"user_id": "ada"}).json()["versions"] == []


def test_read_only_key_can_only_view(http: Http) -> None:
    """A read-only key can only view (specification.md#memory-files-read-only)."""
    output(http, **NOTE)
    reader = http.as_account("owner", read_only=True)

    assert output(reader, command="view", path=ELBA)
    assert reader.post(FILES, {"command": "delete", "path": ELBA}).status_code == 403
    assert output(http, command="view", path=ELBA)


def test_forgetting_a_file_erases_all_its_versions(http: Http) -> None:
    """Every change is a version until it is forgotten (specification.md#memory-files-forget)."""
    output(http, **NOTE)
    output(http, command="delete", path=ELBA)
    output(http, command="create", path=f"{ELBA}.bak", file_text="stays")
    forget = "/api/v7/memory/forget"

    body = http.post(forget, {"path": ELBA, "dry_run": True}).json()
    answer = http.post(forget, {"path": ELBA}).json()

    assert (body["erased"], body["counts"], answer["erased"]) == (False, answer["counts"], True)
    assert answer["counts"]["memory_files"] == 2
    assert http.get(FILES, params={"path": ELBA}).status_code == 404
    assert [one["path"] for one in http.get(FILES).json()["versions"]] == [f"{ELBA}.bak"]
    for more in ({"session_id": "s"}, {"after": "2026-01-01T00:00:00Z"}):  # #forget-combinations
        assert http.post(forget, {"path": ELBA, **more}).status_code == 422


@pytest.mark.parametrize(
    "whose", [{"user_id": "ada", "confirm": "ada"}, {"account": True, "confirm": "owner"}]
)
def test_forgetting_a_user_erases_the_files(http: Http, whose: dict[str, Any]) -> None:
    """Forgetting a session does not: it has none (specification.md#memory-files-forget)."""
    output(http, **NOTE, user_id="ada")
    output(http, command="delete", path=ELBA, user_id="ada")
    http.remember("q", "r", session_id="s", user_id="ada")
    http.post("/api/v7/memory/forget", {"session_id": "s", "user_id": "ada"})
    before = http.rows()["memory_files"]

    counts = http.post("/api/v7/memory/forget", whose).json()["counts"]

    assert (before, counts["memory_files"], http.rows()["memory_files"]) == (2, 2, 0)


@pytest.mark.settings(secrets="mask")
def test_secret_is_masked_and_reported_in_the_result(http: Http) -> None:
    """With the setting `secrets` = `mask` (specification.md#memory-files-secrets)."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    text = output(http, command="create", path="/memories/a", file_text=f"Token: {token}")

    assert "was masked" in text
    assert token not in output(http, command="view", path="/memories/a")
