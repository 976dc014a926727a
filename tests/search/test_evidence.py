"""The readers of evaluation sets and the measure of evidence recall (bench/)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from bench.evidence import fts, interval, oracle, plain, present, recalls
from bench.locomo import Conversation, conversation_of
from bench.sets import in_pairs, read_sets, searchable
from remembrancer.search import open_embedder

SAMPLE: dict[str, Any] = {
    "sample_id": "kiln",
    "conversation": {
        "speaker_a": "user",
        "speaker_b": "assistant",
        "session_1": [
            {"speaker": "user", "dia_id": "D1:1", "text": "The kiln fires at 1,240 degrees"},
            {"speaker": "assistant", "dia_id": "D1:2", "text": "Stoneware needs that heat."},
            {"speaker": "user", "dia_id": "D1:3", "text": "How long should it cool?"},
            {"speaker": "assistant", "dia_id": "D1:4", "text": "Let the kiln cool for a day."},
        ],
        "session_1_date_time": "12:00 AM on 05 March, 2024",
        "session_2": [
            {"speaker": "user", "dia_id": "D2:1", "text": "I sell my bowls on Saturdays"},
            {"speaker": "assistant", "dia_id": "D2:2", "text": "A market brings customers."},
        ],
        "session_2_date_time": "12:00 AM on 05 March, 2024",
        "session_3": [
            {"speaker": "user", "dia_id": "D3:1", "text": "The kiln now fires at 1,260 degrees."},
            {"speaker": "assistant", "dia_id": "D3:2", "text": "Noted."},
        ],
        "session_3_date_time": "12:00 AM on 01 April, 2024",
    },
    "qa": [
        {
            "question": "At which temperature does the kiln fire?",
            "answer": "1,260",
            "category": 4,
            "evidence": ["D1:1", "D3:1"],
        },
        {
            "question": "When do I sell bowls?",
            "answer": "Saturdays",
            "category": 4,
            "evidence": ["D2:1"],
        },
    ],
}


def test_two_turns_of_a_session_are_an_event():
    [conversation] = in_pairs([SAMPLE])

    assert [event.turns for event in conversation.events] == [
        ("D1:1", "D1:2"),
        ("D1:3", "D1:4"),
        ("D2:1", "D2:2"),
        ("D3:1", "D3:2"),
    ]


def test_every_set_in_a_folder_is_read(tmp_path):
    (tmp_path / "beam-dev.json").write_text(json.dumps([SAMPLE]))
    (tmp_path / "locomo-dev.json").write_text(json.dumps([named(SAMPLE)]))

    sets = read_sets(tmp_path)

    assert list(sets) == ["LoCoMo", "BEAM-500K"]
    assert sets["LoCoMo"][0].events[0].query.startswith("Ada: The kiln")


def test_only_earlier_events_are_searched():
    conversation = limited("D2:1")
    question = conversation.questions[0]
    embedder = open_embedder("none")

    assert searchable(conversation, question) == 2
    for system in (fts, lambda one: plain(one, embedder), lambda one: present(one, embedder)):
        assert system(conversation)[0][0] == 0  # the kiln of March, not the newer one of April
        assert set(system(conversation)[0]) <= {0, 1}


def test_an_unknown_limit_is_an_error():
    conversation = limited("D9:9")

    with pytest.raises(ValueError, match="no turn D9:9"):
        fts(conversation)


def test_recall_is_the_share_of_evidence_among_the_best_events():
    [conversation] = in_pairs([SAMPLE])

    assert recalls(conversation, [[0, 1], [0, 1, 3]]).tolist() == [[0.5] * 3, [0.0] * 3]
    assert recalls(conversation, oracle(conversation)).tolist() == [[1.0] * 3] * 2
    assert recalls(conversation, [[0, 1, 2, 2, 2, 3], [2]]).tolist() == [[0.5, 1, 1], [1] * 3]


def test_the_interval_contains_the_mean_and_narrows_with_more_questions():
    [conversation] = in_pairs([SAMPLE])
    few = recalls(conversation, [[0], [2]])[:, 0]
    low, high = interval([few])
    narrow_low, narrow_high = interval([few.repeat(50)])

    assert low <= narrow_low <= few.mean() <= narrow_high <= high
    assert narrow_high - narrow_low < high - low


def named(sample: dict[str, Any]) -> dict[str, Any]:
    """Return a sample whose users have a name, as in conversations of two people."""
    names = {"user": "Ada", "assistant": "Bo"}
    conversation = {
        key: value
        if isinstance(value, str)
        else [turn | {"speaker": names[turn["speaker"]]} for turn in value]
        for key, value in sample["conversation"].items()
    }
    return sample | {"conversation": conversation}


def limited(before: str) -> Conversation:
    """Return the conversation whose first question may only search turns before an id."""
    sample = copy.deepcopy(SAMPLE)
    sample["qa"][0] |= {"before": before, "question": "At which temperature does the kiln fire?"}
    assert conversation_of(sample).questions[0].before == before
    return in_pairs([sample])[0]
