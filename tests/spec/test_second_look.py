"""Second look: `POST /api/v7/agent/second-look`."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http, body_of

from remembrancer.protocol import limits

PATH = "/api/v7/agent/second-look"
TURN = {
    "query": "The launch of Orion moves to 14 May 2026, and Anna pays 1,250 EUR for the hall. See https://venue.example/pay",
    "response": "Noted.",
    "session_id": "planning",
    "occurred_at": "2026-03-09T10:00:00Z",
}


@pytest.fixture
def event_id(http: Http) -> str:
    """Save an event that a search of the session `default` returned."""
    saved = http.remember(**TURN)
    result = http.memory("When does Orion launch?")
    assert result["hits"][0]["event_id"] == saved["event_id"]
    return str(saved["event_id"])


def look(http: Http, draft: str, **more: Any) -> Any:
    """Save a draft and check it; return the response body."""
    http.remember("And?", draft)
    return body_of(http.post(PATH, {"draft": draft, **more}))


def failed(answer: Any) -> list[tuple[str, str | None]]:
    """Return the failed checks with the words they concern."""
    return [
        (check["check"], check.get("claim"))
        for check in answer["checks"]
        if check["status"] == "fail"
    ]


def test_supported_draft_passes(http: Http, event_id: str) -> None:
    """A supported draft passes (specification.md#look-response)."""
    answer = look(
        http,
        f"Orion launches on May 14 (ref: {event_id}). Anna pays €1250 (ref: {event_id}).",
        event_id=event_id,
        span=1,
    )

    assert answer["status"] == "pass"
    assert failed(answer) == []
    assert answer["failed"] == 0
    assert answer["passed"] == len(answer["checks"])
    assert {"turn_saved", "date_in_ref", "number_in_ref", "claim_marked", "ref_shown"} <= {
        check["check"] for check in answer["checks"]
    }


def test_failed_check_has_words_and_position(http: Http, event_id: str) -> None:
    """A failed check has words and positions (specification.md#look-details)."""
    draft = f"Gern 😀: Orion launches on 15 May 2026 (ref: {event_id})."
    answer = look(http, draft)
    check = answer["checks"][0]

    assert answer["status"] == "fail"
    assert (check["check"], check["status"], check["ref"]) == ("date_in_ref", "fail", event_id)
    assert draft[check["start"] : check["end"]] == check["claim"] == "15 May 2026"
    assert "14 May 2026" in check["detail"]
    assert answer["failed"] == 1


def test_unsaved_draft_is_409(http: Http, event_id: str) -> None:
    """Trailing white space is ignored; a turn of another user or account is none.

    See specification.md#look-turn-saved, specification.md#look-which-turn.
    """
    draft = f"Orion launches on 14 May (ref: {event_id})."
    answer = http.post(PATH, {"draft": draft})
    http.remember("And?", draft + " \u3000\n")
    http.remember("And?", "Ada's answer.", user_id="ada")
    ada, bo = (http.as_account("owner", user_id=user_id) for user_id in ("ada", "bo"))
    clients = (ada, bo, http.as_account("bob"))

    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert "remember" in answer.json()["detail"]
    assert http.post(PATH, {"draft": draft + "\n\n"}).json()["status"] == "pass"
    assert http.post(PATH, {"draft": " " + draft}).status_code == 409
    looks = [one.post(PATH, {"draft": "Ada's answer."}).status_code for one in clients]
    assert looks == [200, 409, 409]


def test_ref_must_be_an_event_returned_in_this_session(http: Http, event_id: str) -> None:
    """Also by a search that counts no step (specification.md#look-refs-shown)."""
    port = http.remember("The server has port 5544.", "Yes.", session_id="planning")["event_id"]
    draft = f"The port is 5544 (ref: {port}). It launches on 14 May (ref: {event_id}, e_nothing)."

    answer = look(http, draft)

    assert failed(answer) == [("ref_shown", port), ("ref_exists", "e_nothing")]
    assert http.memory("server port", interact=False)["hits"][0]["event_id"] == port
    assert look(http, f"The port is 5544 (ref: {port}).")["status"] == "pass"


def test_turn_cannot_cite_itself(http: Http, event_id: str) -> None:
    """The turn is saved before the look, so a search may find it.

    See specification.md#look-own-turn.
    """
    first = http.remember("And?", "Orion launches on 20 May.")["event_id"]
    draft = f"Orion launches on 20 May (ref: {first})."
    own = http.remember("Truly?", draft)["event_id"]
    http.memory("Orion launches on 20 May", top_k=10)

    of_earlier = http.post(PATH, {"draft": draft}).json()
    of_itself = look(http, f"Orion launches on 21 May (ref: {own}).")

    assert of_earlier["status"] == "pass"
    assert failed(of_itself) == [("date_in_ref", "21 May")]


def test_event_of_another_user_or_account_is_an_unknown_ref(http: Http, event_id: str) -> None:
    """Refs are events of this space (specification.md#look-foreign-events)."""
    theirs = http.as_account("bob").remember("Port?", "5544.")["event_id"]
    another_user = http.remember("Port?", "5544.", user_id="ada")["event_id"]
    http.memory("port", user_id="ada")
    http.memory("port")

    answer = look(http, f"The port is 5544 (ref: {theirs}) or 5544 (ref: {another_user}).")

    assert failed(answer) == [("ref_exists", theirs), ("ref_exists", another_user)]


def test_denials_and_swapped_roles_fail_and_the_rest_is_named_as_not_checked(http: Http) -> None:
    """Statements are compared where possible (specification.md#look-statements)."""
    http.remember("What did we agree?", "Ada owes Ben 40 EUR. The port is not 8080.")
    ref = http.memory("Ada Ben port")["hits"][0]["event_id"]

    swapped = look(http, f"Ben owes Ada 40 EUR (ref: {ref}).")
    denied = look(http, f"The port is 8080 (ref: {ref}).")
    same = look(http, f"Ada owes Ben 40 EUR (ref: {ref}).")
    other = look(http, f"Ben waits for his 40 EUR (ref: {ref}).")

    assert [check for check, _ in failed(swapped)] == ["statement_in_ref"]
    assert [check for check, _ in failed(denied)] == ["statement_in_ref"]
    assert (same["status"], same["not_checked"]) == ("pass", 0)
    assert (other["status"], other["not_checked"]) == ("pass", 1)
    assert [c["check"] for c in other["checks"] if c.get("checked") is False] == [
        "statement_in_ref"
    ]


def test_event_id_must_be_cited(http: Http, event_id: str) -> None:
    """`event_id`, if given, must be among the refs (specification.md#look-event-id)."""
    assert failed(look(http, "Nothing to add.", event_id=event_id)) == [("event_id_cited", None)]
    assert look(http, f"On 14 May (ref: {event_id}).", event_id=event_id)["status"] == "pass"
    assert look(http, "Nothing to add.", event_id="")["status"] == "pass"


def test_specific_claims_need_a_ref_or_a_marker(http: Http, event_id: str) -> None:
    """Every specific claim needs a ref or a marker (specification.md#look-claims)."""
    for claim in ("1,250 EUR", "14 May 2026", "Priya Raman", "https://venue.example/pay"):
        assert failed(look(http, f"I asked about {claim} for it.")) == [("claim_marked", claim)]


def test_claim_with_a_marker_passes(http: Http) -> None:
    """A marker is enough (specification.md#look-claims)."""
    for marker in ("[general]", "[unverified]", "[assumption]", "[General]"):
        for text in (f"A year has 365 days {marker}.", f"A year has 365 days. {marker}"):
            assert look(http, text)["status"] == "pass"


def test_values_missing_from_the_cited_event_fail(http: Http, event_id: str) -> None:
    """Numbers and dates compare by value, names and URLs by text (specification.md#look-values)."""
    for check, words, sentence in (
        ("number_in_ref", "1,520 EUR", "Anna pays 1,520 EUR"),
        ("number_in_ref", "1,250 USD", "Anna pays 1,250 USD"),
        ("date_in_ref", "14 June", "It begins on 14 June"),
        ("name_in_ref", "Bob Miller", "It was paid by Bob Miller"),
        ("url_in_ref", "https://venue.example/payment", "Pay at https://venue.example/payment"),
    ):
        assert failed(look(http, f"{sentence} (ref: {event_id}).")) == [(check, words)]


def test_draft_with_a_service_line_fails(http: Http) -> None:
    """The draft is the clean answer (specification.md#look-service-lines)."""
    for line in (
        *("TASK_DONE", "PUBLISH", "CRITICAL: none", "CUBE_NOTHING: small talk", "L1: done"),
        *("CUBE: fact | tea | Boil first. | MUST boil", "RATE: c_7k2m9x0v4t8qz -1 wrong"),
        *("memory: not used", "REM | #7 | READ | VERIFY | CORRECT | OUTPUT"),
    ):
        assert ("no_service_line", line) in failed(look(http, f"Here you are.\n{line}"))
        assert failed(look(http, f"It is written so:\n```\n{line}\n```")) == []


def test_draft_with_a_secret_fails(http: Http) -> None:
    """A secret fails, and is not repeated (specification.md#look-secret)."""
    draft = "Your password = hunter2xyz is safe with me."
    answer = look(http, draft)
    check = answer["checks"][0]

    assert (check["check"], "hunter2xyz" in str(answer)) == ("no_secret", False)
    assert "hunter2xyz" in draft[check["start"] : check["end"]]


def test_empty_draft_fails(http: Http) -> None:
    """An empty draft fails (specification.md#look-empty)."""
    for draft in ("", " \n\u3000"):
        answer = http.post(PATH, {"draft": draft}).json()
        assert (answer["status"], failed(answer)) == ("fail", [("draft_not_empty", None)])


def test_draft_with_too_many_citations_is_refused(http: Http) -> None:
    """Too many citations are an error: nothing is skipped silently.

    See specification.md#look-too-much.
    """
    draft = " ".join(f"(ref: e_{number})" for number in range(limits.CITED_EVENTS_MAX + 1))
    http.remember("And?", draft)
    answer = http.post(PATH, {"draft": draft})

    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert str(limits.CITED_EVENTS_MAX) in answer.json()["detail"]


def test_checks_are_counted_and_failures_come_first(http: Http) -> None:
    """Failures come first, and all are counted (specification.md#look-counts)."""
    draft = "It is 7 km [general]. " * limits.CHECKS_LISTED_MAX + "It is 8 km."
    answer = look(http, draft)

    assert len(answer["checks"]) == limits.CHECKS_LISTED_MAX
    assert failed(answer) == [("claim_marked", "8 km")]
    assert answer["failed"] == 1
    assert answer["passed"] > limits.CHECKS_LISTED_MAX


def test_read_only_key_can_take_a_second_look(http: Http, event_id: str) -> None:
    """A read-only key may call it (specification.md#look-stores-no-text)."""
    draft = f"On 14 May (ref: {event_id})."
    http.remember("And?", draft)
    before = http.rows()
    answer = http.as_account("owner", read_only=True).post(PATH, {"draft": draft})

    assert answer.json()["status"] == "pass"
    assert http.rows() == before


class TestOwnTexts:
    """Values that speak for themselves (specification.md#look-own-texts)."""

    @pytest.mark.parametrize(
        ("message", "draft"),
        [
            ("Our budget is 1.2 million CZK in total.", "Noted: 1.2 million CZK."),
            ("Our budget is 1.2 million CZK in total.", "Noted: 1,200,000 CZK."),
            ("I live in Brno.", "Great, Brno is a lovely city."),
            ("We meet on 3 May at 9:30.", "I wrote down May 3, 9:30."),
            ("What is 17 times 3?", "17*3 = 51."),
            ("How much in all?", "12 \u00d7 4 + 2.5 = 50.5, so 10 / 3 = 3.33 each."),
            ("How much?", "12 % of 250 is 30."),
            ("Sort it.", "`sorted([3, 1, 2])` returns [1, 2, 3]."),
            ("Sort it.", "```python\nprint(42)\n```\nIt prints 42."),
            ("How?", "Do this: 1. open the lid, 2. stir, 3) close it."),
            ("How?", "1. Open the lid.\n2. Close it."),
        ],
    )
    def test_they_need_no_tag(self, http: Http, message: str, draft: str) -> None:
        http.remember(message, draft)

        answer = http.post(PATH, {"draft": draft}).json()

        assert (answer["status"], failed(answer)) == ("pass", [])

    @pytest.mark.parametrize(
        ("message", "draft", "claim"),
        [
            ("Our budget is 1.2 million CZK.", "Noted: 1.3 million CZK.", "1.3 million"),
            ("What is 2+2?", "2 + 2 = 5.", "5"),
            ("And?", "10 / 3 = 3.4 each.", "3.4"),
            ("And?", "12 % of 250 is 31.", "31"),
            ("And?", "It takes 7. open days a year.", "7"),
            ("And?", "In `main.py` there are 42 lines.", "42"),
        ],
    )
    def test_other_values_need_one(self, http: Http, message: str, draft: str, claim: str) -> None:
        http.remember(message, draft)

        answer = http.post(PATH, {"draft": draft}).json()

        assert claim in str([one for _, one in failed(answer)])


@pytest.mark.parametrize(
    ("event", "draft", "is_denied"),
    [
        ("It is 73 m tall.", "The tower is not 73 m tall", True),
        ("The tower is not 73 m tall.", "It is 73 m tall", True),
        ("It is 73 m tall.", "The tower is 73 m tall", False),
        ("It is 73 m tall.", "The tower is not 80 m but 73 m tall", False),
        ("It was 73 m tall in 1990.", "The tower is not 73 m tall any more", False),
    ],
)
def test_a_denied_value_fails(http: Http, event: str, draft: str, is_denied: bool) -> None:
    """See specification.md#look-statements."""
    event_id = http.remember("How tall is the tower?", event)["event_id"]
    http.memory("How tall is the tower?")

    answer = look(http, f"{draft} (ref: {event_id}).")

    denied = [one for one, _ in failed(answer) if one == "statement_in_ref"]
    assert bool(denied) == is_denied
