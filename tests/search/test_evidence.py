"""The readers of evaluation sets and the measure of evidence recall (bench/)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.beam import NotBeam, conversations, sample_of
from bench.evidence import fts, interval, oracle, plain, present, recalls
from bench.locomo import Conversation, conversation_of
from bench.sets import in_pairs, read_sets, searchable
from remembrancer.search import open_embedder

CHAT: list[dict[str, Any]] = [
    {
        "batch_number": 1,
        "time_anchor": None,
        "turns": [
            [
                {
                    "role": "user",
                    "id": 0,
                    "time_anchor": "March-05-2024",
                    "content": "The kiln of the pottery fires at 1,240 degrees ->-> 1,3",
                },
                {"role": "assistant", "id": 1, "content": "Stoneware needs that heat."},
                {"role": "user", "id": 2, "content": "How long should it cool?"},
                {"role": "assistant", "id": 3, "content": "Let the kiln cool for a day."},
            ],
            [
                {"role": "user", "id": 4, "content": "I sell my bowls on Saturdays ->-> 1,(none)"},
                {"role": "assistant", "id": 5, "content": "A market brings regular customers."},
            ],
        ],
    },
    {
        "batch_number": 2,
        "time_anchor": "April-01-2024",
        "turns": [
            [
                {"role": "user", "id": 6, "content": "The kiln now fires at 1,260 degrees."},
                {"role": "assistant", "id": 7, "content": "Noted."},
            ]
        ],
    },
]
QUESTIONS: dict[str, Any] = {
    "abstention": [{"question": "Which clay?", "ideal_response": "Nothing says it."}],
    "knowledge_update": [
        {
            "question": "At which temperature does the kiln fire?",
            "answer": "1,260",
            "source_chat_ids": {"original_info": [0], "updated_info": [6]},
        },
        {"question": "Which glaze?", "answer": "?", "source_chat_ids": []},
    ],
    "information_extraction": [
        {"question": "When do I sell bowls?", "answer": "Saturdays", "source_chat_ids": [4]}
    ],
    "summarization": [
        {"question": "Sum it up", "ideal_summary": "…", "source_chat_ids": [0, 1, 2]}
    ],
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "BEAM" / "chats" / "500K" / "4"
    (folder / "probing_questions").mkdir(parents=True)
    (folder / "chat.json").write_text(json.dumps(CHAT))
    (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(QUESTIONS))
    return tmp_path / "BEAM"


def test_beam_messages_become_events_of_two(checkout):
    [conversation] = conversations(checkout, "500K")

    assert [(event.query, event.turns) for event in conversation.events] == [
        ("The kiln of the pottery fires at 1,240 degrees", ("D1:1", "D1:2")),
        ("How long should it cool?", ("D1:3", "D1:4")),
        ("I sell my bowls on Saturdays", ("D2:1", "D2:2")),
        ("The kiln now fires at 1,260 degrees.", ("D3:1", "D3:2")),
    ]
    assert conversation.events[0].response == "Stoneware needs that heat."


def test_a_beam_session_takes_the_time_of_the_last_anchor(checkout):
    sessions = sample_of(checkout / "chats" / "500K" / "4", "beam")["conversation"]

    assert [sessions[f"session_{number}_date_time"] for number in (1, 2, 3)] == [
        "12:00 AM on 05 March, 2024",
        "12:00 AM on 05 March, 2024",
        "12:00 AM on 01 April, 2024",
    ]


def test_beam_questions_without_measurable_evidence_are_left_out(checkout):
    [conversation] = conversations(checkout, "500K", [4])

    assert [(one.kind, one.evidence) for one in conversation.questions] == [
        ("knowledge_update", frozenset({"D1:1", "D3:1"})),
        ("information_extraction", frozenset({"D2:1"})),
    ]


@pytest.mark.parametrize(("size", "only"), [("100K", []), ("500K", [4, 9])])
def test_a_missing_beam_conversation_is_an_error(checkout, size, only):
    with pytest.raises(NotBeam, match="git clone"):
        conversations(checkout, size, only)


def test_a_file_in_locomo_format_is_read_as_the_checkout_is(checkout, tmp_path):
    file = tmp_path / "beam-dev.json"
    file.write_text(json.dumps([sample_of(checkout / "chats" / "500K" / "4", "beam-500K-4")]))

    assert conversations(file, "500K") == conversations(checkout, "500K")
    assert [one.events for one in conversations(file, "500K", [4])] == [
        one.events for one in conversations(checkout, "500K")
    ]


def test_every_set_in_a_folder_is_read(checkout, tmp_path):
    sample = sample_of(checkout / "chats" / "500K" / "4", "beam-500K-4")
    (tmp_path / "beam-dev.json").write_text(json.dumps([sample]))
    (tmp_path / "locomo-dev.json").write_text(json.dumps([named(sample)]))

    sets = read_sets(tmp_path)

    assert list(sets) == ["LoCoMo", "BEAM-500K"]
    assert sets["LoCoMo"][0].events[0].query.startswith("Ada: The kiln")


def test_only_earlier_events_are_searched(checkout):
    conversation = limited(checkout, "D2:1")
    question = conversation.questions[0]
    embedder = open_embedder("none")

    assert searchable(conversation, question) == 2
    for system in (fts, lambda one: plain(one, embedder), lambda one: present(one, embedder)):
        assert system(conversation)[0][0] == 0  # the kiln of March, not the newer one of April
        assert set(system(conversation)[0]) <= {0, 1}


def test_an_unknown_limit_is_an_error(checkout):
    conversation = limited(checkout, "D9:9")

    with pytest.raises(ValueError, match="no turn D9:9"):
        fts(conversation)


def test_recall_is_the_share_of_evidence_among_the_best_events(checkout):
    [conversation] = conversations(checkout, "500K")

    assert recalls(conversation, [[0, 1], [0, 1, 3]]).tolist() == [[0.5] * 3, [0.0] * 3]
    assert recalls(conversation, oracle(conversation)).tolist() == [[1.0] * 3] * 2
    assert recalls(conversation, [[0, 1, 2, 2, 2, 3], [2]]).tolist() == [[0.5, 1, 1], [1] * 3]


def test_the_interval_contains_the_mean_and_narrows_with_more_questions(checkout):
    [conversation] = conversations(checkout, "500K")
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


def limited(checkout: Path, before: str) -> Conversation:
    """Return the conversation whose first question may only search turns before an id."""
    sample = sample_of(checkout / "chats" / "500K" / "4", "beam-500K-4")
    sample["qa"][0] |= {"before": before, "question": "At which temperature does the kiln fire?"}
    assert conversation_of(sample).questions[0].before == before
    return in_pairs([sample])[0]
