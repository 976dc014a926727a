"""Vote on a cube: `POST /api/v7/experience/vote`."""

from __future__ import annotations

from typing import Any

import pytest
from cubes.agents import Agent
from service import Http

from remembrancer.context import Context

PATH = "/api/v7/experience/vote"


@pytest.fixture
def cube_id(context: Context, http: Http) -> str:
    """Publish a cube of the account `author`; return its id."""
    return Agent(context, "author").publish()


def vote(http: Http, cube_id: str, value: Any = 1, **more: Any) -> Any:
    """Vote; return the response."""
    return http.post(PATH, {"cube_id": cube_id, "user_id": "owner", "vote": value, **more})


def test_votes_of_a_user_replace_each_other(http: Http, cube_id: str) -> None:
    """The response has status and votes; -1 has a reason.

    See specification.md#vote-response, specification.md#vote-one-per-user.
    """
    first = vote(http, cube_id).json()
    again = vote(http, cube_id, reason=None).json()
    against = vote(http, cube_id, -1, reason="It is about pots.").json()

    assert first == again
    assert first == {
        "voted": True,
        "cube_id": cube_id,
        "user_id": "owner",
        "cube_status": "published",
        "votes": {"useful": 1, "useless": 0},
    }
    assert against["votes"] == {"useful": 0, "useless": 1}
    assert http.rows()["ratings"] == 1


def test_vote_of_minus_one_without_a_reason_is_refused(http: Http, cube_id: str) -> None:
    """-1 without a reason is a 422 (specification.md#vote-reason)."""
    reasons: list[dict[str, Any]] = [{}, {"reason": None}, {"reason": ""}, {"reason": " \n"}]
    for reason in reasons:
        answer = vote(http, cube_id, -1, **reason)
        assert (answer.status_code, "reason" in answer.json()["detail"]) == (422, True)
    assert http.rows()["ratings"] == 0


def test_unknown_or_foreign_private_cube_is_404(http: Http, context: Context) -> None:
    """An invisible cube is a 404 (specification.md#vote-unknown)."""
    private = Agent(context, "author").make().cube_id
    ids = (private, "c_0000000000zzz", "c' or 1=1 --", "💥")

    answers = [vote(http, cube_id) for cube_id in ids]

    assert [answer.status_code for answer in answers] == [404] * 4
    assert len({answer.json()["detail"] for answer in answers}) == 1
    assert http.rows()["ratings"] == 0
