"""Visibility and status of cubes, and their transitions."""

from __future__ import annotations

from typing import Any

from cubes.agents import Agent
from service import Http

from remembrancer.context import Context
from remembrancer.cubes import outcomes
from remembrancer.cubes import serving as shared


def vote(http: Http, account: str, cube_id: str, value: int) -> Any:
    """Vote over HTTP; return the resulting status."""
    body = {"cube_id": cube_id, "user_id": account, "vote": value, "reason": "because"}
    return http.as_account(account).post("/api/v7/experience/vote", body).json()["cube_status"]


def test_cube_is_private_by_default(http: Http, context: Context) -> None:
    """A cube is private by default (specification.md#cube-visibility)."""
    author, other = Agent(context, "author"), Agent(context, "other")
    result = author.make()

    assert result.visibility == "private"
    assert [cube.cube_id for cube in author.matching_cubes()] == [result.cube_id]
    assert other.matching_cubes() == []


def test_cube_is_published_only_by_cube_publish_at_creation(http: Http, context: Context) -> None:
    """Only `cube_publish` at creation publishes it (specification.md#cube-publish)."""
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
    """A cube shown as new awaits a rating (specification.md#cube-rating-duty)."""
    cube_id = Agent(context, "author").publish()
    reader = Agent(context, "reader")
    http.as_account("reader").memory("a", user_id="reader")
    session = context.store.read(lambda tx: tx.one("select id from sessions")).id
    cubes = reader.matching_cubes()
    context.store.write(
        lambda tx: outcomes.record_exposures(tx, session=session, step=1, cubes=cubes, now_ms=1),
        account_id=reader.caller.account_id,
    )
    before = context.store.read(
        lambda tx: shared.unrated_cubes(tx, session=session, before_step=2),
        account_id=reader.caller.account_id,
    )

    vote(http, "reader", cube_id, 1)

    assert cubes[0].note.startswith("new")
    assert before == [cube_id]
    assert (
        context.store.read(
            lambda tx: shared.unrated_cubes(tx, session=session, before_step=2),
            account_id=reader.caller.account_id,
        )
        == []
    )
    assert not reader.matching_cubes()[0].note.startswith("new")


def test_rating_of_zero_is_not_a_vote(context: Context, http: Http) -> None:
    """A rating of 0 is not a vote (specification.md#cube-rating-zero)."""
    author, reader = Agent(context, "author"), Agent(context, "reader")
    cube_id = author.publish()
    http.as_account("reader").memory("a", user_id="reader")
    session = context.store.read(lambda tx: tx.one("select id from sessions")).id
    cubes = reader.matching_cubes()
    context.store.write(
        lambda tx: outcomes.record_exposures(tx, session=session, step=1, cubes=cubes, now_ms=1),
        account_id=reader.caller.account_id,
    )

    account_id = reader.caller.account_id
    closed = context.store.write(
        lambda tx: shared.close_ratings(tx, session=session, reason="no use", now_ms=1),
        account_id=account_id,
    )

    assert closed == [cube_id]
    assert author.vote(cube_id, 1).votes.model_dump() == {"useful": 0, "useless": 0}
