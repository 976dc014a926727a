"""The agent prompt: `GET` and `PUT /api/v7/agent/prompt`."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

from remembrancer.protocol import limits

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


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?user=bo",
        "?user_id=",
        "?user_id=a&user_id=b",
        "?user_id=%FF",
        "?user_id=a%00",
        "?user_id=" + "u" * 257,
    ],
)
def test_user_id_is_required(http: Http, query: str) -> None:
    """`user_id` is required (specification.md#prompt-user-id)."""
    answer = http.get(PATH + query)

    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/user_id"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "/prompt"),
    ({"prompt": None}, "/prompt"),
    ({"prompt": 5}, "/prompt"),
    ({"prompt": ["a"]}, "/prompt"),
    ({"prompt": "a\0b"}, "/prompt"),
    ({"prompt": "p" * (limits.PROMPT_CHARACTERS_MAX + 1)}, "/prompt"),
    ({"prompt": PART, "user_id": ""}, "/user_id"),
    ({"prompt": PART, "user_id": 5}, "/user_id"),
    ({"prompt": PART, "user_id": "u" * 257}, "/user_id"),
]


@pytest.mark.parametrize(("body", "pointer"), WRONG)
def test_invalid_part_is_refused_and_the_old_one_stays(
    http: Http, body: dict[str, Any], pointer: str
) -> None:
    """A rejected part changes nothing (specification.md#prompt-invalid)."""
    put(http, {"prompt": PART})
    before = http.rows()
    answer = put(http, body)

    assert answer.status_code == 422
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
    assert (http.rows(), part(http)) == (before, PART)


def test_lone_surrogate_is_refused(http: Http) -> None:
    """A lone surrogate is a 422 (specification.md#api-text)."""
    answer = http.ask(
        "PUT", PATH, content=b'{"prompt": "\\ud800"}', headers={"Content-Type": "application/json"}
    )

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/prompt")


def test_longest_part_is_stored_whole(http: Http) -> None:
    """The bound itself is accepted (specification.md#limit-bounds)."""
    longest = "é" * limits.PROMPT_CHARACTERS_MAX

    assert put(http, {"prompt": longest}).status_code == 200
    assert part(http) == longest


def test_repeated_request_is_applied_once(http: Http) -> None:
    """It accepts an `Idempotency-Key` (specification.md#prompt-idempotent)."""
    key = {"Idempotency-Key": "k1"}
    first = put(http, {"prompt": PART}, headers=key)
    put(http, {"prompt": "Another."})
    again = put(http, {"prompt": PART}, headers=key)

    assert (again.json(), again.headers["idempotent-replayed"]) == (first.json(), "true")
    assert part(http) == "Another."
    assert put(http, {"prompt": "A third."}, headers=key).status_code == 409


def test_read_only_and_foreign_pinned_keys_are_403(http: Http) -> None:
    """Read-only keys and foreign pins are 403 (specification.md#prompt-permissions)."""
    pinned, reader = (
        http.as_account("owner", user_id="bo"),
        http.as_account("owner", read_only=True),
    )
    refused = [
        pinned.get(PATH, params={"user_id": "owner"}),
        put(pinned, {"prompt": PART, "user_id": "owner"}),
        put(reader, {"prompt": PART}),
    ]

    assert [answer.status_code for answer in refused] == [403, 403, 403]
    assert http.rows()["prompts"] == 0
    assert reader.get(PATH, params={"user_id": "owner"}).status_code == 200


def test_prompt_of_another_account_is_hidden(http: Http) -> None:
    """Another account's prompt stays hidden (specification.md#prompt-permissions)."""
    put(http, {"prompt": PART, "user_id": "bo"})

    assert part(http.as_account("robot"), "bo") == ""
