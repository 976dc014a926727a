"""Adding refs that a model left out."""

from __future__ import annotations

from datetime import date

import pytest

from remembrancer.agent.answers import add_refs
from remembrancer.claims.evidence import EventEvidence

DAY = date(2026, 3, 2)
FERRY, CABIN = "e_0000000000001", "e_0000000000002"
EVENTS = [
    EventEvidence(
        FERRY,
        "User: When does the ferry to Elba leave?\n\nAssistant: At 9:40 from Piombino, pier 3.",
        DAY,
    ),
    EventEvidence(
        CABIN,
        "User: What does the cabin cost?\n\nAssistant: Mrs Holm asks 840 euros, we booked it for "
        "3 May.",
        DAY,
    ),
]


def test_ref_is_added_before_the_full_stop() -> None:
    text = "The ferry to Elba leaves at 9:40. Mrs Holm asks 840 euros for the cabin!"

    assert add_refs(text, EVENTS, DAY) == (
        f"The ferry to Elba leaves at 9:40 (ref: {FERRY}). "
        f"Mrs Holm asks 840 euros for the cabin (ref: {CABIN})!"
    )


@pytest.mark.parametrize(
    "text",
    [
        "The ferry to Elba leaves at 9:45.",  # a value that no event has
        # no single event contains both values
        "The ferry leaves at 9:40 and the cabin costs 840 euros.",
        "Mrs Holm once wrote three long novels about lighthouses.",  # only a name
        f"The ferry to Elba leaves at 9:40 (ref: {FERRY}).",
        f"The ferry to Elba leaves at 9:40. (ref: {FERRY})",
        "The ferry to Elba leaves at 9:40 [general].",
        "Does the ferry to Elba leave at 9:40?",
        "# The ferry to Elba\n",
        "Memory does not tell it.",
        "```\nThe ferry to Elba leaves at 9:40.\n```",
        "",
    ],
)
def test_unsupported_tagged_and_claimless_sentences_stay_unchanged(text: str) -> None:
    assert add_refs(text, EVENTS, DAY) == text


def test_event_that_shares_most_words_is_cited() -> None:
    text = "User: Is the ferry late?\n\nAssistant: It leaves Piombino at 9:40, as ever."
    other = EventEvidence("e_0000000000003", text, DAY)

    cited = add_refs("The ferry leaves Piombino at 9:40 as ever.", [EVENTS[0], other], DAY)

    assert cited.endswith(f"as ever (ref: {other.event_id}).")
