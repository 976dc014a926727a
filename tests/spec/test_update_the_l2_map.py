"""The L2 map: `POST` and `GET /api/v7/memory/map`."""

from __future__ import annotations

from typing import Any

from service import Http, body_of

PATH = "/api/v7/memory/map"


def l1(http: Http, text: str, session_id: str = "s", user_id: str = "owner") -> str:
    """Save an L1 of one turn; return its id."""
    receipts = http.remember(
        f"About {text}", "Noted.", session_id=session_id, user_id=user_id, l1_summary=text
    )["receipts"]
    return str(next(receipt["id"] for receipt in receipts if receipt["part"] == "l1_summary"))


def updated_map(http: Http, user_id: str = "owner", **more: Any) -> Any:
    """Return the response body."""
    return body_of(http.post(PATH, {"user_id": user_id, **more}))


def test_map_consists_of_verbatim_sentences_of_the_l1s(http: Http) -> None:
    """Headlines are sentences of the L1s; nothing is invented (specification.md#map-headlines)."""
    first, second = (
        l1(http, "The roof was mended by Holm. All of the work cost 840 euros."),
        l1(http, "Ada moved to Oslo in May.", "t"),
    )
    answer = updated_map(http)

    assert (answer["updated"], answer["l1_count"], answer["version"]) == (True, 2, 1)
    assert answer["map_text"].splitlines() == [
        f"- 2026-01-01 The roof was mended by Holm. All of the work cost 840 euros. ({first})",
        f"- 2026-01-01 Ada moved to Oslo in May. ({second})",
    ]


def test_map_without_l1s_is_empty(http: Http) -> None:
    """See specification.md#map-without-l1."""
    empty = {"updated": False, "map_text": "", "l1_count": 0, "version": 0}
    assert updated_map(http) == empty
    assert http.get(PATH).status_code == 404


def test_unchanged_map_is_stored_once(http: Http) -> None:
    """An empty map never replaces one with text.

    See specification.md#map-not-rebuilt, specification.md#map-session-count.
    """
    l1(http, "Ada moved to Oslo in May.")
    first, again, none = updated_map(http), updated_map(http), updated_map(http, session_count=0)

    assert again["version"] == 1
    assert again == none == {**first, "updated": False}


def test_agent_part_comes_first(http: Http) -> None:
    """The agent's own `l2_map` comes first (specification.md#map-agent-part)."""
    l1(http, "Ada moved to Oslo in May.")
    http.post("/api/v7/remember", {"l2_map": "Ada: Oslo since May."})
    later = l1(http, "Ada bought a boat in June.")

    assert updated_map(http)["map_text"].splitlines() == [
        "Ada: Oslo since May.",
        f"- 2026-01-01 Ada bought a boat in June. ({later})",
    ]


def test_every_version_stays_readable(http: Http) -> None:
    """Every version stays readable (specification.md#map-versions)."""
    l1(http, "Ada moved to Oslo in May.")
    http.post("/api/v7/remember", {"l2_map": "Ada: Oslo."})
    l1(http, "Ada bought a boat in June.")
    updated_map(http)

    first, newest = http.get(PATH, params={"version": 1}).json(), http.get(PATH).json()
    assert (first["map_text"], first["made_by"], first["l1_count"]) == ("Ada: Oslo.", "agent", 1)
    assert (newest["made_by"], newest["l1_count"], newest["versions"]) == ("headlines", 2, 2)
    assert (first["version"], newest["version"]) == (1, 2)
    assert http.get(PATH, params={"version": 3}).status_code == 404


def test_session_count_limits_the_sessions(http: Http) -> None:
    """`session_count` bounds the sessions (specification.md#map-request)."""
    for number in range(4):
        l1(http, f"Session number {number} was about topic {number}.", f"s{number}")

    assert updated_map(http, session_count=2)["map_text"].count("\n") == 1
    assert "number 3" in updated_map(http, session_count=1)["map_text"]


def test_map_settles_the_duty(http: Http) -> None:
    """A map settles the L2 duty (specification.md#map-settles-duty)."""
    for number in range(10):
        due = http.remember(f"q{number}", "r", l1_summary=f"Part {number} of the work was done.")[
            "l2_due"
        ]
        assert due == (number == 9)

    updated_map(http)

    assert http.remember("q", "r")["l2_due"] is False


def test_each_space_has_its_own_map(http: Http) -> None:
    """Each space has its own map (specification.md#map-isolation)."""
    l1(http, "Ada moved to Oslo in May.", user_id="ada")

    assert updated_map(http, "bob")["l1_count"] == 0
    assert http.as_account("bob").get(PATH, params={"user_id": "ada"}).status_code == 404
