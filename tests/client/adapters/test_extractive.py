"""Extractive answers: which passages are quoted and which are not."""

from __future__ import annotations

from client.runtime.scripted_turn import HIT
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.client.adapters.extractive import HEADER, NO_MEMORY, NOTHING, extractive_answer
from remembrancer.protocol.search import Hit


def hit(query: str, response: str, event_id: str = "e_1") -> Hit:
    """Return a hit."""
    return HIT.model_copy(update={"query": query, "response": response, "event_id": event_id})


def test_nearest_sentence_is_quoted_with_the_next() -> None:
    event = hit(
        "Hello.", "The sea is calm. The ferry leaves at 9.40. It costs 12 euros. Is that all?"
    )

    assert extractive_answer("When does the ferry leave?", [event]) == (
        f"{HEADER}\n\n- \u201cThe ferry leaves at 9.40.\u201d (ref: e_1) "
        "\u201cIt costs 12 euros.\u201d (ref: e_1)"
    )


def test_at_most_three_distinct_events_are_quoted() -> None:
    same = [hit("q?", "It leaves at 9:40.", f"e_{n}") for n in range(3)]
    others = [hit("q?", f"It leaves from pier {n}.", f"e_{n}") for n in range(3, 9)]

    lines = extractive_answer("When?", [*same, *others]).splitlines()[2:]

    assert [line.rpartition(": ")[2] for line in lines] == ["e_0)", "e_3)", "e_4)"]


def test_refs_inside_quotes_are_removed() -> None:
    assert extractive_answer("When?", [hit("q?", "It leaves at 9:40 (ref: e_other).")]).endswith(
        "\u201cIt leaves at 9:40.\u201d (ref: e_1)"
    )


def test_extractive_answer_is_not_quoted_again() -> None:
    earlier = hit(
        "The pier is 3.", extractive_answer("When?", [hit("q?", "It leaves at 9:40.", "e_0")])
    )

    assert (
        extractive_answer("When does it leave from which pier?", [earlier])
        == f"{HEADER}\n\n- \u201cThe pier is 3.\u201d (ref: e_1)"
    )


def test_questions_are_not_quoted_and_without_a_search_nothing_is() -> None:
    question = hit("When does it leave?", "\u4f55\u6642\uff1f")

    assert extractive_answer("When?", [question]) == extractive_answer("When?", []) == NOTHING
    assert extractive_answer("When?", None) == NO_MEMORY


def test_sentences_without_spaces_are_split() -> None:
    assert extractive_answer(
        "\u8239\u7968", [hit("q?", "\u5929\u6c14\u597d\u3002\u8239\u7968\u8d35\u3002")]
    ).endswith("\u201c\u8239\u7968\u8d35\u3002\u201d (ref: e_1)")


def test_long_sentence_is_cut_with_an_ellipsis() -> None:
    assert len(extractive_answer("word", [hit("q?", "word " * 500)])) < 400
    assert "\u2026\u201d (ref: e_1)" in extractive_answer("word", [hit("q?", "word " * 500)])


@given(st.text(), st.text(), st.text())
def test_any_text_can_be_quoted(question: str, query: str, response: str) -> None:
    assert extractive_answer(question, [hit(query, response)]).startswith((HEADER, NOTHING))
