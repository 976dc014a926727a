"""The agent prompt: `GET` and `PUT /api/v7/agent/prompt`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from service import Http

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.accounts.prompts import prompt_of
from remembrancer.protocol.constitution import protocol_text

PATH = "/api/v7/agent/prompt"
PART = " Answer in Italian.\n\nBo is an architect. "


def put(http: Http, prompt: str, user_id: str = "bo") -> Any:
    """Set the user's own part; return the response body."""
    body = {"prompt": prompt, "user_id": user_id}
    return http.ask("PUT", PATH, json=body).raise_for_status().json()


def get(http: Http, user_id: str = "bo") -> Any:
    """Return the prompt of a user."""
    return http.get(PATH, params={"user_id": user_id}).raise_for_status().json()


def test_prompt_has_constitution_service_lines_and_seal(http: Http) -> None:
    """The prompt holds constitution, service lines and seal (specification.md#prompt-read)."""
    answer = get(http)
    seal = "REM | #<step> | READ | VERIFY | CORRECT | OUTPUT"
    context = http.context
    named = replace(context, settings=replace(context.settings, seal_name="ARC"))

    assert (answer["user_id"], answer["user_part"], answer["updated_at"]) == ("bo", "", None)
    assert answer["prompt"] == protocol_text("REM")
    assert all(text in answer["prompt"] for text in ("CUBE_NOTHING:", "(ref: <event_id>)", seal))
    assert "`ARC | #<step> | READ" in prompt_of(named, caller_for(named), "bo").prompt


def test_part_of_the_user_is_in_the_next_prompt(http: Http, clock: testing.FrozenClock) -> None:
    """`PUT` sets the user's own part; an empty one removes it.

    See specification.md#prompt-next, specification.md#prompt-empty.
    """
    put(http, "Answer in French.")
    clock.advance(60_000)
    answer = put(http, PART)
    body = get(http)

    assert answer == body
    assert body["prompt"].startswith(f"{protocol_text('REM')}\n\n# The user's own part\n")
    assert body["prompt"].endswith(f"\n\n{PART}")
    assert "French" not in body["prompt"]
    assert (body["user_part"], body["updated_at"]) == (PART, "2026-01-01T00:01:00.000Z")
    for blank in ("", "\n\t "):
        put(http, PART)
        assert put(http, blank)["updated_at"] is None
        assert get(http)["prompt"] == protocol_text("REM")
        assert http.rows()["prompts"] == 0


def test_parts_are_per_account_and_user(http: Http) -> None:
    """Another account's prompt stays hidden (specification.md#prompt-permissions)."""
    robot, pinned = http.as_account("robot"), http.as_account("owner", user_id="cy")
    reader = http.as_account("owner", read_only=True)
    put(http, "Of bo.")
    put(robot, "Of the robot's bo.")
    pinned.ask("PUT", PATH, json={"prompt": "Of cy."})

    parts = [get(http), get(robot), get(reader, "cy"), get(robot, "cy"), get(http, "owner")]

    assert [one["user_part"] for one in parts] == ["Of bo.", "Of the robot's bo.", "Of cy.", "", ""]
