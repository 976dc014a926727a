"""Memory files: Anthropic's memory tool over versioned files below `/memories`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service import Http

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.settings import Settings

FILES = "/api/v7/memory/files"
NOTE = {
    "command": "create",
    "path": "/memories/elba.md",
    "file_text": "The ferry leaves at 9:40.\n",
}


def output(http: Http, **command: Any) -> str:
    """Return the text of a result that is not an error."""
    answer = http.post(FILES, command)
    assert (answer.status_code, answer.json()["is_error"]) == (200, False), answer.text
    return str(answer.json()["text"])


def test_all_six_commands_work_on_a_file(http: Http) -> None:
    """Anthropic, memory tool, "Tool commands" (specification.md#memory-files-commands)."""
    texts = [
        output(http, **NOTE),
        output(http, command="view", path="/memories/elba.md"),
        output(
            http, command="str_replace", path="/memories/elba.md", old_str="9:40", new_str="10:40"
        ),
        output(
            http,
            command="insert",
            path="/memories/elba.md",
            insert_line=1,
            insert_text="From Piombino.\n",
        ),
        output(
            http, command="rename", old_path="/memories/elba.md", new_path="/memories/trips/elba.md"
        ),
        output(http, command="view", path="/memories"),
        output(http, command="delete", path="/memories/trips"),
    ]

    assert texts == [
        "File created successfully at: /memories/elba.md",
        (
            "Here's the content of /memories/elba.md with line numbers:\n"
            "     1\tThe ferry leaves at 9:40.\n     2\t"
        ),
        (
            "The memory file has been edited. "
            "Here is the snippet showing the change (with line numbers):\n"
            "     1\tThe ferry leaves at 10:40.\n     2\t"
        ),
        "The file /memories/elba.md has been edited.",
        "Successfully renamed /memories/elba.md to /memories/trips/elba.md",
        (
            "Here're the files and directories up to 2 levels deep in /memories, "
            "excluding hidden items and node_modules:\n"
            "42B\t/memories\n42B\t/memories/trips/\n42B\t/memories/trips/elba.md"
        ),
        "Successfully deleted /memories/trips",
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            {"command": "view", "path": "/memories/x"},
            "The path /memories/x does not exist. Please provide a valid path.",
        ),
        (NOTE, "Error: File /memories/elba.md already exists"),
        (
            {"command": "str_replace", "path": "/memories/x", "old_str": "a", "new_str": "b"},
            "Error: The path /memories/x does not exist. Please provide a valid path.",
        ),
        (
            {
                "command": "str_replace",
                "path": "/memories/elba.md",
                "old_str": "12:00",
                "new_str": "b",
            },
            (
                "No replacement was performed, old_str `12:00` did not appear verbatim "
                "in /memories/elba.md."
            ),
        ),
        (
            {"command": "str_replace", "path": "/memories/elba.md", "old_str": "e", "new_str": "b"},
            (
                "No replacement was performed. Multiple occurrences of old_str `e` "
                "in lines: 1, 1, 1, 1. Please ensure it is unique"
            ),
        ),
        (
            {"command": "insert", "path": "/memories/x", "insert_line": 0, "insert_text": "b"},
            "Error: The path /memories/x does not exist",
        ),
        (
            {
                "command": "insert",
                "path": "/memories/elba.md",
                "insert_line": 2,
                "insert_text": "b",
            },
            (
                "Error: Invalid `insert_line` parameter: 2. "
                "It should be within the range of lines of the file: [0, 1]"
            ),
        ),
        (
            {"command": "delete", "path": "/memories/x"},
            "Error: The path /memories/x does not exist",
        ),
        (
            {"command": "rename", "old_path": "/memories/x", "new_path": "/memories/y"},
            "Error: The path /memories/x does not exist",
        ),
        (
            {"command": "rename", "old_path": "/memories/elba.md", "new_path": "/memories/elba.md"},
            "Error: The destination /memories/elba.md already exists",
        ),
        (
            {"command": "view", "path": "/memories/../etc"},
            "Error: A name in a path must not be empty, only dots, or start or end with a space",
        ),
    ],
)
def test_failed_commands_return_the_messages_of_the_memory_tool(
    http: Http, command: dict[str, Any], message: str
) -> None:
    """Anthropic, memory tool, "Error handling" (specification.md#memory-files-refusals)."""
    output(http, **NOTE)
    before = http.rows()

    answer = http.post(FILES, command)

    assert (answer.status_code, answer.json()) == (
        200,
        {"text": message, "is_error": True, "flags": []},
    )
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
    """Every version stays readable (specification.md#memory-files-versions)."""
    output(http, **NOTE)
    output(http, command="str_replace", path="/memories/elba.md", old_str="9:40", new_str="10:40")
    output(http, command="delete", path="/memories/elba.md")

    now = http.get(FILES, params={"path": "/memories/elba.md"}).json()
    first = http.get(FILES, params={"path": "/memories/elba.md", "version": 1}).json()

    assert [(one["version"], one["change"], one["is_gone"]) for one in now["versions"]] == [
        (3, "delete", True),
        (2, "str_replace", False),
        (1, "create", False),
    ]
    assert ("text" in now, now["version"], first["text"], first["version"]) == (
        False,
        3,
        NOTE["file_text"],
        1,
    )


@pytest.mark.parametrize(
    "request_fields",
    [
        {"path": "/memories/none"},
        {"path": "/etc/passwd"},
        {"path": "/memories/elba.md", "version": 2},
    ],
)
def test_unknown_version_is_404(http: Http, request_fields: dict[str, Any]) -> None:
    """An unknown version is a 404 (specification.md#memory-files-unknown-version)."""
    output(http, **NOTE)

    assert http.get(FILES, params=request_fields).status_code == 404


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

    assert output(reader, command="view", path="/memories/elba.md")
    assert reader.post(FILES, {"command": "delete", "path": "/memories/elba.md"}).status_code == 403
    assert output(http, command="view", path="/memories/elba.md")


def test_forgetting_a_file_erases_all_its_versions(http: Http) -> None:
    """Every change is a version until it is forgotten (specification.md#memory-files-forget)."""
    output(http, **NOTE)
    output(http, command="delete", path="/memories/elba.md")
    output(http, command="create", path="/memories/elba.md.bak", file_text="stays")
    request = {"path": "/memories/elba.md"}

    body = http.post("/api/v7/memory/forget", request | {"dry_run": True}).json()
    answer = http.post("/api/v7/memory/forget", request).json()

    assert (body["erased"], body["counts"], answer["erased"]) == (False, answer["counts"], True)
    assert answer["counts"]["memory_files"] == 2
    assert http.get(FILES, params=request).status_code == 404
    assert [one["path"] for one in http.get(FILES).json()["versions"]] == ["/memories/elba.md.bak"]


@pytest.mark.parametrize(
    "request_fields", [{"user_id": "ada", "confirm": "ada"}, {"account": True, "confirm": "owner"}]
)
def test_forgetting_a_user_erases_the_files(http: Http, request_fields: dict[str, Any]) -> None:
    """Forgetting the user erases the files (specification.md#memory-files-forget)."""
    output(http, **NOTE, user_id="ada")
    output(http, command="delete", path="/memories/elba.md", user_id="ada")

    counts = http.post("/api/v7/memory/forget", request_fields).json()["counts"]

    assert counts["memory_files"] == 2
    assert http.rows()["memory_files"] == 0


def test_forgetting_a_session_keeps_the_files(http: Http) -> None:
    """Files belong to no session (specification.md#memory-files-forget)."""
    output(http, **NOTE)
    http.remember("q", "r", session_id="s")

    http.post("/api/v7/memory/forget", {"session_id": "s"})

    assert output(http, command="view", path="/memories/elba.md")


@pytest.mark.parametrize("more", [{"session_id": "s"}, {"after": "2026-01-01T00:00:00Z"}])
def test_path_cannot_be_combined_with_session_or_time(http: Http, more: dict[str, str]) -> None:
    """`path` excludes session and time (specification.md#forget-combinations)."""
    assert http.post("/api/v7/memory/forget", {"path": "/memories/a", **more}).status_code == 422


class TestMasking:
    """With the setting `secrets` = `mask` (specification.md#memory-files-secrets)."""

    @pytest.fixture
    def context(self, folder: Path) -> Iterator[Context]:
        """Provide a service that masks secrets."""
        service = testing.context(
            folder,
            settings=Settings(data=folder, embedder="none", durability="normal", secrets="mask"),
        )
        yield service
        service.close()

    def test_secret_is_masked_and_reported_in_the_result(self, http: Http) -> None:
        token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

        text = output(http, command="create", path="/memories/a", file_text=f"Token: {token}")

        assert "was masked" in text
        assert token not in output(http, command="view", path="/memories/a")
