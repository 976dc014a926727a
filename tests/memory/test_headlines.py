"""Headlines: the most informative verbatim sentences of texts, within a length."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.memory.summaries.maps import SENTENCE_CHARACTERS_MAX, headlines, sentences

TEXTS = st.lists(st.text("ab C1.!?,;\n-。字", max_size=120), max_size=5)


@given(texts=TEXTS, characters=st.integers(0, 200), each=st.integers(0, 40))
def test_headlines_are_verbatim_and_within_the_length(
    texts: list[str], characters: int, each: int
) -> None:
    """Headlines never invent (specification.md#map-headlines)."""
    chosen = headlines(texts, characters, each)

    assert [one for one in chosen if one.sentence not in texts[one.text]] == []
    assert len(chosen) == len(set(chosen))
    takes = sum(len(one.sentence) for one in chosen) + each * len({one.text for one in chosen})
    assert takes <= characters or len(chosen) == 1
    assert bool(chosen) == any(character.isalnum() for text in texts for character in text)


def test_headlines_keep_the_order_of_the_text() -> None:
    texts = [
        "Ada moved to Oslo in May. The boat cost 4,000 euros.",
        "Bob repaired the roof of the barn.",
    ]

    assert headlines(texts, 200) == [
        (0, 0, "Ada moved to Oslo in May."),
        (0, 1, "The boat cost 4,000 euros."),
        (1, 0, texts[1]),
    ]


def test_repeated_sentences_yield_to_new_ones() -> None:
    same = "The ferry leaves Piombino at nine."
    texts = [same, same, "Marta repairs the cello in the mill."]

    assert [one.text for one in headlines(texts, 75)] == [0, 2]


def test_names_and_numbers_weigh_more_than_other_words() -> None:
    texts = ["they were talking about something else.", "they were meeting Marta in Elba, 3 May."]

    assert [one.text for one in headlines(texts, 40)] == [1]


def test_statements_are_preferred_to_questions() -> None:
    texts = ["would the roofer come on a Friday then?", "the roofer would come on a Friday then."]

    assert [one.text for one in headlines(texts, 40)] == [1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "It leaves at 9.40 from pier 3. Be there!",
            ["It leaves at 9.40 from pier 3.", "Be there!"],
        ),
        ("- one thing\n* another\n2) a third", ["one thing", "another", "a third"]),
        ("船は九時に出る。岸壁は三番。", ["船は九時に出る。", "岸壁は三番。"]),
        ("जहाज़ नौ बजे निकलता है। घाट तीन।", ["जहाज़ नौ बजे निकलता है।", "घाट तीन।"]),
        ("متى؟ غدا.", ["متى؟", "غدا."]),
        ("…\n---\n", []),
        ("", []),
    ],
)
def test_sentences_of_many_scripts_are_split(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text", ["first the harbour, then the mill, " * 60, "word " * 500, "字" * 2_000, "x" * 2_000]
)
def test_text_without_sentence_ends_is_split_into_pieces(text: str) -> None:
    """Otherwise a single sentence of 20,000 characters would fill a whole map."""
    pieces = sentences(text)

    assert max(map(len, pieces)) <= SENTENCE_CHARACTERS_MAX
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert [piece for piece in pieces[:-1] if text[0] == "f" and not piece.endswith(",")] == []


def test_headlines_are_the_same_in_every_process() -> None:
    """Otherwise a map would change although no L1 did."""
    program = (
        "from remembrancer.memory.summaries.maps import headlines\n"
        "print(headlines([f'Marta number {n % 7} sold the {n} boats, cellos and mills of Elba "
        "to Ada in May.' for n in range(60)], 900))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(outputs) == 1


@pytest.mark.parametrize("piece", [". ", "a, ", "- ", "1) ", "a.b", "字", ", ", "a"])
def test_hostile_text_stays_within_the_length(piece: str) -> None:
    """The call must return: a regex with backtracking would run for hours."""
    assert (
        sum(len(one.sentence) for one in headlines([piece * (100_000 // len(piece))], 1_000))
        <= 1_000
    )
