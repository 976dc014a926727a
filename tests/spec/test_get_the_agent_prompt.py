"""The agent prompt: `GET` and `PUT /api/v7/agent/prompt`."""

from __future__ import annotations

from typing import Any

from service import Http

PATH = "/api/v7/agent/prompt"
PART = "Answer in Italian. Bo is an architect."


def put(http: Http, body: Any, **options: Any) -> Any:
    """Set the user's own part; return the response."""
    return http.ask("PUT", PATH, json=body, **options)


def part(http: Http, user_id: str = "owner") -> str:
    """Return the user's own part."""
    return str(http.get(PATH, params={"user_id": user_id}).json()["user_part"])


def test_prompt_has_constitution_service_lines_and_seal(http: Http) -> None:
    """The prompt holds constitution, service lines and seal (specification.md#prompt-read)."""
    answer = http.get(PATH, params={"user_id": "bo"}).json()

    assert (answer["user_id"], answer["user_part"], answer["updated_at"]) == ("bo", "", None)
    assert all(
        text in answer["prompt"]
        for text in (
            "CUBE_NOTHING:",
            "(ref: <event_id>)",
            "REM | #<step> | READ | VERIFY | CORRECT | OUTPUT",
        )
    )


def test_part_of_the_user_is_in_the_next_prompt(http: Http) -> None:
    """`PUT` sets the user's own part (specification.md#prompt-next)."""
    answer = put(http, {"prompt": PART, "user_id": "bo"}).json()
    body = http.get(PATH, params={"user_id": "bo"}).json()

    assert answer == body
    assert body["user_part"] == PART
    assert body["prompt"].endswith(PART)
    assert body["updated_at"] == "2026-01-01T00:00:00.000Z"


def test_empty_part_removes_it(http: Http) -> None:
    """An empty part removes it (specification.md#prompt-empty)."""
    put(http, {"prompt": PART})

    assert put(http, {"prompt": ""}).json()["updated_at"] is None
    assert part(http) == ""


def test_prompt_of_another_account_is_hidden(http: Http) -> None:
    """Another account's prompt stays hidden (specification.md#prompt-permissions)."""
    put(http, {"prompt": PART, "user_id": "bo"})

    assert part(http.as_account("robot"), "bo") == ""
