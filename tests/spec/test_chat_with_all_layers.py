"""Chat answers from facts, summaries and its own session, with a model and without one.

See specification.md#chat-layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from endpoint import Endpoint, replies
from service import Http, body_of

ALLERGY = "allergic to penicillin"


def say(http: Http, message: str, session_id: str = "two", **more: Any) -> dict[str, Any]:
    """Send one chat message."""
    body = {"user_id": "owner", "message": message, "session_id": session_id, **more}
    result: dict[str, Any] = body_of(http.post("/api/v7/agent/chat", body))
    return result


def last_prompt(model: Endpoint) -> str:
    """Return the last user message that the model got."""
    content: str = model.requests[-1]["messages"][-1]["content"]
    return content


class TestWithoutModel:
    """Extractive answers quote facts and summaries too."""

    def test_a_fact_of_another_session_is_quoted_with_its_ref(self, http: Http) -> None:
        event_id = http.remember("Allergies?", "Noted.", session_id="one", critical=ALLERGY)[
            "event_id"
        ]

        answer = say(http, "Is it penicillin that I am allergic to?")

        assert ALLERGY in answer["reply"]
        assert event_id in answer["refs"]

    def test_a_request_for_a_summary_quotes_the_map(self, http: Http) -> None:
        text = "- The hull gets blue.\n- The mast is ordered."
        http.remember("And the boat?", "It is planned.", l1_summary=text, l2_map=text)

        answer = say(http, "Summarise what we decided")

        assert "The hull gets blue. - The mast is ordered." in answer["reply"]


class TestWithModel:
    """The model reads all layers, and the session so far."""

    def test_facts_and_summaries_are_in_the_prompt(
        self, start_with: Callable[..., tuple[Http, Endpoint]]
    ) -> None:
        http, model = start_with("model_chat", replies("Take none of it."))
        http.remember(
            "Allergies?",
            "Noted.",
            session_id="one",
            critical=ALLERGY,
            l1_summary="The doctor was asked about penicillin and allergies.",
        )

        say(http, "Am I allergic to penicillin?")

        assert f"since 2026-01-01: {ALLERGY}" in last_prompt(model)
        assert "The doctor was asked about penicillin" in last_prompt(model)

    def test_the_session_so_far_is_in_the_prompt_without_chat_history(
        self, start_with: Callable[..., tuple[Http, Endpoint]]
    ) -> None:
        http, model = start_with("model_chat", replies("Blue it is."), replies("As you like."))
        history = [{"role": "user", "content": "Green, please."}]
        say(http, "Zebra? Let us paint the boat blue.")

        say(http, "And the rest?")
        with_session = last_prompt(model)
        say(http, "And the rest?", chat_history=history)
        with_history = last_prompt(model).split("The conversation so far")[1]

        assert "The conversation so far" in with_session
        assert "Let us paint the boat blue." in with_session
        assert "Blue it is." in with_session
        assert "Green, please." in with_history
        assert "Zebra?" not in with_history
