"""Second look with a judging model: it also sees what comparing values cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from endpoint import Endpoint, Play, fails, hangs_up, replies
from service import Http

from remembrancer.accounts import allow_outside_models

LOOK = "/api/v7/agent/second-look"
STORED = "Anna refuses to pay the 1,250 EUR for the hall. Bob pays them on 3 May."
Start = Callable[..., tuple[Http, Endpoint]]


@pytest.fixture
def start(start_with: Start) -> Start:
    """Start the service with a scripted judge; return a client and the model endpoint."""
    return partial(start_with, "model_judge")


def verdict(word: str, quote: str, number: int = 1) -> Play:
    """Return a model's verdict on a sentence."""
    return replies(json.dumps({"verdicts": [{"i": number, "verdict": word, "quote": quote}]}))


def second_look(http: Http, draft: str = "Anna pays 1,250 EUR for the hall (ref: {ref}).") -> Any:
    """Take a second look at a draft that cites the stored event; return the response body."""
    http.remember("Who pays for the hall?", STORED, session_id="s")
    matches = http.memory("Who pays for the hall?", session_id="s")
    draft = draft.format(ref=matches["hits"][0]["event_id"])
    http.remember("So who pays?", draft, session_id="s")
    answer = http.post(LOOK, {"draft": draft})
    assert answer.status_code == 200, answer.text
    return answer.json()


def of_model(answer: Any) -> list[tuple[str, str]]:
    """Return status and detail of the checks that a model made."""
    return [
        (check["status"], check["detail"])
        for check in answer["checks"]
        if check["check"] == "said_by_ref"
    ]


def test_a_denial_that_comparing_values_does_not_see_is_a_failure_with_the_words_that_prove_it(
    start: Start,
) -> None:
    """A verdict quotes the event (specification.md#look-judge)."""
    http, tiny = start(verdict("contradicted", "Anna refuses to pay the 1,250 EUR"))

    text = second_look(http)

    assert (text["status"], text["failed"], text["judge"]) == ("fail", 1, "on")
    assert text["checks"][0]["check"] == "said_by_ref"
    assert text["checks"][0]["claim"].startswith("Anna pays 1,250 EUR")
    assert "Anna refuses to pay the 1,250 EUR" in text["checks"][0]["detail"]
    assert text["usage"]["tries"][0]["model"] == "tiny"
    assert STORED in tiny.prompts[0]


def test_without_a_model_to_judge_the_same_draft_passes_and_none_is_named(http: Http) -> None:
    """The docs list what rules alone miss (specification.md#look-judge-off)."""
    text = second_look(http)

    assert text["status"] == "pass"
    assert not {"judge", "usage"} & text.keys()


@pytest.mark.parametrize("quote", ["Anna refuses to pay anything", "Anna", ""])
def test_a_verdict_counts_only_with_a_quotation_that_stands_in_the_event(
    start: Start, quote: str
) -> None:
    """A verdict needs a quotation from the event (specification.md#look-judge)."""
    http, _ = start(verdict("contradicted", quote))

    text = second_look(http)

    assert (text["status"], of_model(text), text["judge"]) == ("pass", [], "on")


def test_a_failure_by_rule_is_never_overruled(start: Start) -> None:
    """A model never overrules a rule (specification.md#look-judge-never-overrules)."""
    http, _ = start(verdict("supported", "Bob pays them on 3 May"))

    text = second_look(http, "Bob pays on 4 May (ref: {ref}).")

    assert text["status"] == "fail"
    assert [check["check"] for check in text["checks"] if check["status"] == "fail"] == [
        "date_in_ref"
    ]
    assert of_model(text)[0][0] == "pass"


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
def test_without_a_usable_model_the_rules_remain_and_the_judge_is_off(
    start: Start, play: Play, why: str
) -> None:
    """Without a usable model the rules decide (specification.md#look-judge-off)."""
    http, _ = start(play)

    text = second_look(http)

    assert text["status"] == "pass"
    assert text["judge"].startswith("off: ")
    assert why in text["judge"]


def test_verdicts_on_sentences_that_were_not_asked_about_are_nothing(start: Start) -> None:
    """Unsolicited verdicts are ignored (specification.md#look-judge)."""
    http, _ = start(
        replies(
            json.dumps(
                {
                    "verdicts": [
                        {"i": n, "verdict": "contradicted", "quote": "Bob pays them"}
                        for n in (0, 2, -1, "1", None)
                    ]
                }
            )
        )
    )

    assert of_model(second_look(http)) == []


def test_only_sentences_that_cite_are_sent_and_without_any_nobody_is_asked(start: Start) -> None:
    """Only sentences with refs are sent (specification.md#look-judge-input)."""
    http, tiny = start(verdict("supported", "Bob pays them on 3 May"))

    second_look(http, "The weather was fine in the mountains. Bob pays on 3 May (ref: {ref}).")
    http.remember("And?", "Nothing else.", session_id="s")
    alone = http.post(LOOK, {"draft": "Nothing else."}).json()

    assert "mountains" not in tiny.prompts[0]
    assert (alone["judge"], len(tiny.requests)) == ("on", 1)


def test_an_account_that_forbids_outside_models_is_not_read_by_one(start_with: Start) -> None:
    """An account can forbid outside models (specification.md#look-judge-input)."""
    http, _ = start_with(
        "model_chat", replies("never asked"), model_judge="big@https://models.example/v1"
    )
    allow_outside_models(http.context, "owner", allowed=False)

    text = second_look(http)

    assert text["judge"] == "off: this account allows no outside models"


def test_the_chat_revises_a_draft_that_an_event_contradicts(
    start_with: Start,
) -> None:
    """The chat revises a draft once (specification.md#chat-revision)."""
    drafts = [
        "Anna pays 1,250 EUR for the hall (ref: {ref}).",
        "Bob pays the 1,250 EUR for the hall (ref: {ref}).",
    ]

    def plays(body: dict[str, Any]) -> str:
        reply = "\n".join(message["content"] for message in body["messages"])
        ref = re.search(r"\[(e_\w+)\]", reply)
        assert ref is not None
        if "verdicts" in reply:
            word = "contradicted" if "Anna pays" in reply else "supported"
            return json.dumps(
                {
                    "verdicts": [
                        {"i": 1, "verdict": word, "quote": "Anna refuses to pay the 1,250 EUR"}
                    ]
                }
            )
        return drafts.pop(0).format(ref=ref[1])

    http, tiny = start_with("model_chat", replies(plays), model_judge="the same model")
    http.remember("Who pays for the hall?", STORED, session_id="s")

    answer = http.post(
        "/api/v7/agent/chat", {"user_id": "owner", "message": "Who pays for the hall?"}
    ).json()

    assert answer["reply"].startswith("Bob pays the 1,250 EUR for the hall")
    assert answer["usage"]["calls"] == 4  # a draft, its judgement, the revision, its judgement
    assert "A model judged that the cited event says otherwise" in tiny.prompts[2]
