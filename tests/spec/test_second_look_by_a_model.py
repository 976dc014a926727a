"""Second look with a judging model, which finds contradictions beyond values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from endpoint import Endpoint, Play, fails, hangs_up, replies
from service import Http, body_of

from remembrancer.accounts import allow_outside_models

LOOK = "/api/v7/agent/second-look"
STORED = "Anna refuses to pay the 1,250 EUR for the hall. Bob pays them on 3 May."
Start = Callable[..., tuple[Http, Endpoint]]


@pytest.fixture
def start(start_with: Start) -> Start:
    """Start the service with a scripted judge; return a client and the model endpoint."""
    return partial(start_with, "model_judge")


def verdict(word: str, quote: str, numbers: tuple[Any, ...] = (1,)) -> Play:
    """Return a model's verdict on the sentences with these numbers."""
    verdicts = [{"i": number, "verdict": word, "quote": quote} for number in numbers]
    return replies(json.dumps({"verdicts": verdicts}))


def second_look(http: Http, draft: str = "Anna pays 1,250 EUR for the hall (ref: {ref}).") -> Any:
    """Take a second look at a draft that cites the stored event; return the response body."""
    http.remember("Who pays for the hall?", STORED, session_id="s")
    result = http.memory("Who pays for the hall?", session_id="s")
    draft = draft.format(ref=result["hits"][0]["event_id"])
    http.remember("So who pays?", draft, session_id="s")
    return body_of(http.post(LOOK, {"draft": draft}))


def model_checks(answer: Any) -> list[tuple[str, str]]:
    """Return status and detail of the checks that a model made."""
    return [
        (check["status"], check["detail"])
        for check in answer["checks"]
        if check["check"] == "said_by_ref"
    ]


def test_contradiction_found_by_the_judge_fails_with_a_quotation(start: Start) -> None:
    """A verdict quotes the event (specification.md#look-judge)."""
    http, tiny = start(verdict("contradicted", "Anna refuses to pay the 1,250 EUR"))

    answer = second_look(http)

    assert (answer["status"], answer["failed"], answer["judge"]) == ("fail", 1, "on")
    assert answer["checks"][0]["check"] == "said_by_ref"
    assert answer["checks"][0]["claim"].startswith("Anna pays 1,250 EUR")
    assert "Anna refuses to pay the 1,250 EUR" in answer["checks"][0]["detail"]
    assert answer["usage"]["tries"][0]["model"] == "tiny"
    assert STORED in tiny.prompts[0]


def test_verdict_needs_a_quotation_from_the_event(start: Start) -> None:
    """Unsolicited verdicts are ignored, too (specification.md#look-judge)."""
    quotes = ("Anna refuses to pay anything", "Anna", "")
    unsolicited = verdict("contradicted", "Bob pays them", (0, 2, -1, "1", None))
    http, tiny = start(*(verdict("contradicted", quote) for quote in quotes), unsolicited)

    for number in range(len(quotes) + 1):
        answer = second_look(http, f"On day {number}, Anna pays 1,250 EUR (ref: {{ref}}).")
        assert (model_checks(answer), answer["judge"]) == ([], "on")
    assert len(tiny.requests) == len(quotes) + 1


def test_judge_cannot_overrule_a_failed_rule(start: Start) -> None:
    """A model never overrules a rule (specification.md#look-judge-never-overrules)."""
    http, _ = start(verdict("supported", "Bob pays them on 3 May"))

    answer = second_look(http, "Bob pays on 4 May (ref: {ref}).")

    assert answer["status"] == "fail"
    assert [check["check"] for check in answer["checks"] if check["status"] == "fail"] == [
        "date_in_ref"
    ]
    assert model_checks(answer)[0][0] == "pass"


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (fails(500), "internal error"),
        (hangs_up, "unreachable"),
        (replies("I think so."), "not a valid answer"),
        (replies('{"verdicts": 3}'), "not a valid answer"),
        (replies("{" * 5000), "not a valid answer"),
    ],
)
def test_unusable_judge_is_off_and_the_rules_decide(start: Start, play: Play, why: str) -> None:
    """Without a usable model the rules decide (specification.md#look-judge-off)."""
    http, _ = start(play)

    answer = second_look(http)

    assert answer["status"] == "pass"
    assert answer["judge"].startswith("off: ")
    assert why in answer["judge"]


def test_only_sentences_with_refs_are_sent_to_the_judge(start: Start) -> None:
    """Only sentences with refs are sent (specification.md#look-judge-input)."""
    http, tiny = start(verdict("supported", "Bob pays them on 3 May"))

    second_look(http, "The weather was fine in the mountains. Bob pays on 3 May (ref: {ref}).")
    http.remember("And?", "Nothing else.", session_id="s")
    alone = http.post(LOOK, {"draft": "Nothing else."}).json()

    assert "mountains" not in tiny.prompts[0]
    assert (alone["judge"], len(tiny.requests)) == ("on", 1)


def test_account_can_forbid_outside_judges(start_with: Start) -> None:
    """An account can forbid outside models (specification.md#look-judge-input)."""
    http, _ = start_with(
        "model_chat", replies("never asked"), model_judge="big@https://models.example/v1"
    )
    allow_outside_models(http.context, "owner", allowed=False)

    answer = second_look(http)

    assert answer["judge"] == "off: this account allows no outside models"


def test_chat_revises_a_draft_that_an_event_contradicts(start_with: Start) -> None:
    """The chat revises a draft once (specification.md#chat-revision)."""
    drafts = [
        "Anna pays 1,250 EUR for the hall (ref: {ref}).",
        "Bob pays the 1,250 EUR for the hall (ref: {ref}).",
    ]

    def plays(body: dict[str, Any]) -> str:
        reply = "\n".join(message["content"] for message in body["messages"])
        ref = re.search(r"\[(e_\w+)\]", reply)
        assert ref is not None
        if "verdicts" not in reply:
            return drafts.pop(0).format(ref=ref[1])
        word = "contradicted" if "Anna pays" in reply else "supported"
        one = {"i": 1, "verdict": word, "quote": "Anna refuses to pay the 1,250 EUR"}
        return json.dumps({"verdicts": [one]})

    http, tiny = start_with("model_chat", replies(plays), model_judge="the same model")
    http.remember("Who pays for the hall?", STORED, session_id="s")
    message = {"user_id": "owner", "message": "Who pays for the hall?"}

    answer = http.post("/api/v7/agent/chat", message).json()

    assert answer["reply"].startswith("Bob pays the 1,250 EUR for the hall")
    assert answer["usage"]["calls"] == 4  # the draft, its verdict, the revision, its verdict
    assert "A model judged that the cited event says otherwise" in tiny.prompts[2]
