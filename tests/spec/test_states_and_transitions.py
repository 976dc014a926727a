"""Visibility and status of cubes, and their transitions."""

from __future__ import annotations

from typing import Any

from cubes.agents import QUESTION, Agent
from service import Http

from remembrancer.context import Context


def vote(http: Http, account: str, cube_id: str, value: int) -> Any:
    """Vote over HTTP; return the resulting status."""
    body = {"cube_id": cube_id, "user_id": account, "vote": value, "reason": "because"}
    return http.as_account(account).post("/api/v7/experience/vote", body).json()["cube_status"]


def test_cube_is_published_only_by_cube_publish_at_creation(http: Http, context: Context) -> None:
    """Others are private (specification.md#cube-publish, specification.md#cube-visibility)."""
    author, other = Agent(context, "author"), Agent(context, "other")
    private, published = author.make(), author.make(publish=True)
    voted = vote(http, "author", private.cube_id, 1)

    assert (private.visibility, published.visibility, voted) == ("private", "published", "private")
    assert [cube.cube_id for cube in other.matching_cubes()] == [published.cube_id]


def test_votes_move_a_published_cube_to_trusted_or_retired(http: Http, context: Context) -> None:
    """Votes move a published cube in any direction (specification.md#cube-status)."""
    cube_id = Agent(context, "author").publish()

    up = [vote(http, account, cube_id, 1) for account in ("a", "b", "c")]
    down = [vote(http, account, cube_id, -1) for account in ("a", "b", "c")]
    back = [vote(http, account, cube_id, 1) for account in ("a", "b", "c")]

    assert up == ["published", "published", "trusted"]
    assert down == ["published", "published", "retired"]
    assert back == ["published", "published", "trusted"]


def test_retired_cube_is_not_served(http: Http, context: Context) -> None:
    """A retired cube is not served (specification.md#cube-retired-hidden)."""
    author = Agent(context, "author")
    cube_id = author.publish()
    for account in ("a", "b", "c"):
        vote(http, account, cube_id, -1)

    assert author.matching_cubes() == Agent(context, "d").matching_cubes() == []


def test_cube_shown_as_new_awaits_a_rating(http: Http, context: Context) -> None:
    """Until the user of the session votes, from the next search on.

    See specification.md#cube-rating-duty, specification.md#cube-note-new.
    """
    cube_id = Agent(context, "author").publish()
    reader = http.as_account("reader")
    [shown] = reader.memory(QUESTION, "reader")["shared_cubes"]
    owing = [reader.memory(QUESTION, "reader")["reminders"] for _ in range(2)]

    vote(http, "author", cube_id, 1)
    after_others = reader.memory(QUESTION, "reader")["reminders"]
    vote(http, "reader", cube_id, 1)

    assert shown["note"].startswith("new (published; 0 found it useful, 0 did not)")
    assert all(part in shown["note"] for part in (" 1 ", " -1 ", " 0 ", "/api/v7/experience/vote"))
    for reminders in (*owing, after_others):
        assert any(cube_id in text for text in reminders)
    assert not any(cube_id in text for text in reader.memory(QUESTION, "reader")["reminders"])
    [rated] = reader.memory(QUESTION, "reader", session_id="t")["shared_cubes"]
    assert rated["note"] == "rated +1 by you (published; 1 found it useful, 0 did not)."


def test_rating_of_zero_is_not_a_vote(http: Http, context: Context) -> None:
    """`vote_nothing` rates the cubes of its session; a vote may follow.

    See specification.md#cube-rating-zero.
    """
    cube_id = Agent(context, "author").publish()
    reader = http.as_account("reader")
    reader.memory(QUESTION, "reader", session_id="s")
    duty = {"duty": "vote_nothing", "duty_reason": "no use"}
    reader.post("/api/v7/remember", {**duty, "session_id": "t"})
    elsewhere = reader.memory(QUESTION, "reader", session_id="s")["reminders"]
    reader.post("/api/v7/remember", {**duty, "session_id": "s"})

    settled = reader.memory(QUESTION, "reader", session_id="s")["reminders"]
    [cube] = reader.memory(QUESTION, "reader", session_id="u")["shared_cubes"]

    assert any(cube_id in text for text in elsewhere)
    assert not any(cube_id in text for text in settled)
    assert cube["note"].startswith("rated 0, not needed by you")
    body = {"cube_id": cube_id, "user_id": "reader", "vote": 1}
    before = context.store.read(lambda tx: tx.one("select useful, useless from cubes"))
    voted = reader.post("/api/v7/experience/vote", body).json()
    assert (tuple(before), voted["votes"]) == ((0, 0), {"useful": 1, "useless": 0})
