"""LongMemEval and ConvoMem: their files become memories with one question each (bench/)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import convomem, longmemeval
from bench.sessions import measures, report

FERRY: list[dict[str, Any]] = [
    {"role": "user", "content": "The ferry leaves at 9:40.", "has_answer": True},
    {"role": "assistant", "content": "I will remember that."},
]
GARLIC: list[dict[str, Any]] = [
    {"role": "user", "content": "How deep do I plant garlic?"},
    {"role": "assistant", "content": "About 5 cm."},
]


def longmemeval_file(folder: Path) -> Path:
    """Return a file with a question that the haystack answers, and one that it does not."""
    row: dict[str, Any] = {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "When does the ferry leave?",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 08:00"],
        "haystack_sessions": [GARLIC, FERRY],
        "answer_session_ids": ["s2"],
    }
    path = folder / "longmemeval.json"
    path.write_text(json.dumps([row, row | {"question_id": "q2_abs"}]), "utf-8")
    return path


def test_longmemeval_becomes_memories_without_unanswerable_questions(tmp_path: Path) -> None:
    [one] = longmemeval.haystacks(longmemeval_file(tmp_path))

    assert one.questions[0].kind == "single-session-user"
    assert [event.query for event in one.events] == [
        "How deep do I plant garlic?",
        "The ferry leaves at 9:40.",
    ]
    assert one.questions[0].evidence == {"s2:0"}
    assert one.events[1].occurred_ms == 1_684_656_000_000


def test_convomem_finds_the_messages_of_the_evidence(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [
        {"speaker": "User", "text": turn["content"]} for turn in GARLIC + FERRY
    ]
    item: dict[str, Any] = {
        "question": "When does the ferry leave?",
        "message_evidences": [{"speaker": "User", "text": "The ferry leaves at 9:40."}],
        "conversations": [{"messages": messages[:2]}, {"messages": messages[2:]}],
    }
    path = tmp_path / "user_evidence.json"
    path.write_text(json.dumps({"evidence_items": [item, item | {"message_evidences": []}]}))

    [one] = convomem.haystacks(path)

    assert one.questions[0].kind == "user_evidence"
    assert one.questions[0].evidence == {"1:0"}


def test_any_and_all_count_sessions_and_turns_count_events(tmp_path: Path) -> None:
    [one] = longmemeval.haystacks(longmemeval_file(tmp_path))

    assert measures(one, one.questions[0], [1, 0]) == [1.0] * 7
    assert measures(one, one.questions[0], [0]) == [0.0] * 7


def test_report_has_every_kind_beside_fts(tmp_path: Path) -> None:
    text = report(list(longmemeval.haystacks(longmemeval_file(tmp_path))), "none")

    assert text.count("| single-session-user | 1 | 1.000 |") == 2
    assert text.count("| all | 1 | 1.000 |") == 2
