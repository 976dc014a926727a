"""Answers without a model: what is quoted of memory, and what is not."""

from __future__ import annotations

from client.leading import HIT
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.client.quoting import NO_MEMORY, NOTHING, QUOTED, quoted
from remembrancer.protocol.memory import Hit


def hit(query: str, response: str, event_id: str = "e_1") -> Hit:
    """An event that was found."""
    return HIT.model_copy(update={"query": query, "response": response, "event_id": event_id})


def test_the_nearest_sentence_is_quoted_with_what_follows_it() -> None:
    told = hit("Hello.", "The sea is calm. The ferry leaves at 9.40. It costs 12 euros. Is that all?")

    assert quoted("When does the ferry leave?", [told]) == (
        f"{QUOTED}\n\n- \u201cThe ferry leaves at 9.40.\u201d (ref: e_1) \u201cIt costs 12 euros.\u201d (ref: e_1)"
    )


def test_three_events_are_quoted_at_most_and_nothing_twice() -> None:
    same = [hit("q?", "It leaves at 9:40.", f"e_{n}") for n in range(3)]
    others = [hit("q?", f"It leaves from pier {n}.", f"e_{n}") for n in range(3, 9)]

    lines = quoted("When?", [*same, *others]).splitlines()[2:]

    assert [line[-5:] for line in lines] == ["e_0)", "e_3)", "e_4)"] or [line.rpartition(": ")[2] for line in lines] == [
        "e_0)",
        "e_3)",
        "e_4)",
    ]


def test_refs_of_the_quoted_text_are_left_out() -> None:
    assert quoted("When?", [hit("q?", "It leaves at 9:40 (ref: e_other).")]).endswith("\u201cIt leaves at 9:40.\u201d (ref: e_1)")


def test_an_answer_made_here_is_not_quoted_again() -> None:
    earlier = hit("The pier is 3.", quoted("When?", [hit("q?", "It leaves at 9:40.", "e_0")]))

    assert quoted("When does it leave from which pier?", [earlier]) == f"{QUOTED}\n\n- \u201cThe pier is 3.\u201d (ref: e_1)"


def test_questions_answer_nothing() -> None:
    assert quoted("When?", [hit("When does it leave?", "\u4f55\u6642\uff1f")]) == NOTHING


def test_nothing_found_and_nothing_searched_are_told_apart() -> None:
    assert (quoted("When?", []), quoted("When?", None)) == (NOTHING, NO_MEMORY)


def test_sentences_without_blanks_between_them_are_told_apart() -> None:
    assert quoted("\u8239\u7968", [hit("q?", "\u5929\u6c14\u597d\u3002\u8239\u7968\u8d35\u3002")]).endswith(
        "\u201c\u8239\u7968\u8d35\u3002\u201d (ref: e_1)"
    )


def test_a_long_sentence_is_cut_where_all_can_see_it() -> None:
    assert len(quoted("word", [hit("q?", "word " * 500)])) < 400
    assert "\u2026\u201d (ref: e_1)" in quoted("word", [hit("q?", "word " * 500)])


@given(st.text(), st.text(), st.text())
def test_any_text_can_be_asked_for_and_quoted(question: str, query: str, response: str) -> None:
    assert quoted(question, [hit(query, response)]).startswith((QUOTED, NOTHING))
