"""Vote on a cube: `POST /api/v7/experience/vote`."""

from __future__ import annotations

from typing import Any

import pytest
from cubes.agents import Agent
from service import Http

from remembrancer.context import Context
from remembrancer.protocol import limits

PATH = "/api/v7/experience/vote"


@pytest.fixture
def cube_id(context: Context, http: Http) -> str:
    """Publish a cube of the account `author`; return its id."""
    return Agent(context, "author").publish()


def vote(http: Http, cube_id: str, value: Any = 1, **more: Any) -> Any:
    """Vote; return the response."""
    return http.post(PATH, {"cube_id": cube_id, "user_id": "owner", "vote": value, **more})


def refused(http: Http, body: dict[str, Any], status: int = 422) -> Any:
    """Return the problem; check that nothing was stored."""
    before = http.rows()
    answer = http.post(PATH, body)
    assert answer.status_code == status, answer.text
    assert http.rows() == before
    return answer.json()


def test_response_has_status_and_votes(http: Http, cube_id: str) -> None:
    """The response carries status and votes (specification.md#vote-response)."""
    answer = vote(http, cube_id).json()

    assert answer == {
        "voted": True,
        "cube_id": cube_id,
        "user_id": "owner",
        "cube_status": "published",
        "votes": {"useful": 1, "useless": 0},
    }


def test_vote_of_minus_one_with_a_reason_is_accepted(http: Http, cube_id: str) -> None:
    """-1 needs a reason (specification.md#vote-reason)."""
    assert vote(http, cube_id, -1, reason="It is about pots.").json()["votes"] == {
        "useful": 0,
        "useless": 1,
    }
    assert vote(http, cube_id, 1, reason=None).status_code == 200


@pytest.mark.parametrize("reason", [{}, {"reason": None}, {"reason": ""}, {"reason": " \n"}])
def test_vote_of_minus_one_without_a_reason_is_refused(
    http: Http, cube_id: str, reason: dict[str, Any]
) -> None:
    """-1 without a reason is a 422 (specification.md#vote-reason)."""
    answer = refused(http, {"cube_id": cube_id, "user_id": "owner", "vote": -1, **reason})

    assert "reason" in answer["detail"]


@pytest.mark.parametrize("value", [0, 2, -2, "1", "-1", True, False, 1.5, None, [1], 10**30])
def test_votes_other_than_1_and_minus_1_are_refused(http: Http, cube_id: str, value: Any) -> None:
    """Only 1 and -1 are votes (specification.md#vote-values)."""
    answer = refused(
        http, {"cube_id": cube_id, "user_id": "owner", "vote": value, "reason": "because"}
    )

    assert answer["errors"][0]["pointer"] == "/vote"


@pytest.mark.parametrize("name", ["cube_id", "user_id", "vote"])
def test_cube_id_user_id_and_vote_are_required(http: Http, cube_id: str, name: str) -> None:
    """`cube_id`, `user_id` and `vote` are required (specification.md#vote-required)."""
    body = {"cube_id": cube_id, "user_id": "owner", "vote": 1}

    assert (
        refused(http, {key: value for key, value in body.items() if key != name})["errors"][0][
            "pointer"
        ]
        == f"/{name}"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"cube_id": ""},
        {"cube_id": 5},
        {"cube_id": "c\x00"},
        {"cube_id": "c" * (limits.ID_CHARACTERS_MAX + 1)},
        {"user_id": ""},
        {"user_id": None},
        {"reason": 5},
        {"reason": "r" * (limits.REASON_CHARACTERS_MAX + 1)},
        {"reason": "r\x00"},
    ],
)
def test_invalid_fields_are_named(http: Http, cube_id: str, wrong: dict[str, Any]) -> None:
    """A wrong field is a 422 that names it (specification.md#error-pointer)."""
    body = {"cube_id": cube_id, "user_id": "owner", "vote": 1}

    assert refused(http, {**body, **wrong})["errors"][0]["pointer"] == f"/{next(iter(wrong))}"


def test_longest_reason_is_stored_whole(http: Http, cube_id: str) -> None:
    """The bound itself is accepted (specification.md#limit-bounds)."""
    assert vote(http, cube_id, -1, reason="ü" * limits.REASON_CHARACTERS_MAX).status_code == 200
    assert (
        http.context.store.read(lambda tx: tx.one("select reason from ratings")).reason
        == "ü" * limits.REASON_CHARACTERS_MAX
    )


def test_lone_surrogate_is_refused(http: Http, cube_id: str) -> None:
    """A lone surrogate is a 422 (specification.md#api-text)."""
    before = http.rows()

    assert (
        http.post_bytes(PATH, b'{"cube_id": "\\ud800", "user_id": "owner", "vote": 1}').status_code
        == 422
    )
    assert http.rows() == before


def test_unknown_or_foreign_private_cube_is_404(http: Http, context: Context) -> None:
    """An invisible cube is a 404 (specification.md#vote-unknown)."""
    private = Agent(context, "author").make().cube_id
    body = {"user_id": "owner", "vote": 1}

    messages = [
        refused(http, {**body, "cube_id": cube_id}, 404)["detail"]
        for cube_id in (private, "c_0000000000zzz", "c' or 1=1 --", "💥")
    ]

    assert len(set(messages)) == 1


def test_pinned_key_votes_only_for_its_user(http: Http, cube_id: str) -> None:
    """Another `user_id` than the pin is a 403 (specification.md#vote-pinned)."""
    pinned = http.as_account("owner", user_id="ada")
    body = {"cube_id": cube_id, "vote": 1}

    refused(pinned, {**body, "user_id": "bob"}, 403)
    assert pinned.post(PATH, {**body, "user_id": "ada"}).status_code == 200


def test_read_only_key_cannot_vote(http: Http, cube_id: str) -> None:
    """A read-only key is a 403 (specification.md#vote-read-only)."""
    refused(
        http.as_account("owner", read_only=True),
        {"cube_id": cube_id, "user_id": "owner", "vote": 1},
        403,
    )


def test_user_has_one_vote_per_cube(http: Http, cube_id: str) -> None:
    """Voting again replaces the vote (specification.md#vote-one-per-user)."""
    votes = [
        vote(http, cube_id, value, reason="It is about pots.").json()["votes"]
        for value in (1, 1, -1)
    ]

    assert votes == [{"useful": 1, "useless": 0}] * 2 + [{"useful": 0, "useless": 1}]
    assert http.rows()["ratings"] == 1


def test_account_counts_once_by_the_majority_of_its_users(http: Http, cube_id: str) -> None:
    """A tie counts for neither side (specification.md#vote-one-per-account)."""
    answers = [
        vote(http, cube_id, value, user_id=user_id, reason="It is about pots.").json()
        for user_id, value in (("ada", 1), ("bob", -1), ("cleo", -1))
    ]

    assert [answer["user_id"] for answer in answers] == ["ada", "bob", "cleo"]
    assert [answer["votes"] for answer in answers] == [
        {"useful": 1, "useless": 0},
        {"useful": 0, "useless": 0},
        {"useful": 0, "useless": 1},
    ]


def test_repeated_request_is_counted_once(http: Http, cube_id: str) -> None:
    """It accepts an `Idempotency-Key` (specification.md#vote-idempotent)."""
    body = {"cube_id": cube_id, "user_id": "owner", "vote": 1}
    first = http.post(PATH, body, headers={"Idempotency-Key": "k"})
    vote(http, cube_id, -1, reason="no")
    again = http.post(PATH, body, headers={"Idempotency-Key": "k"})

    assert again.json() == first.json()
    assert vote(http.as_account("bob"), cube_id, user_id="bob").json()["votes"] == {
        "useful": 1,
        "useless": 1,
    }
