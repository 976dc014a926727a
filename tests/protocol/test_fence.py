"""Fences: stored text cannot close its fence, and fenced text is recognized when sent back."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.protocol.fence import defused, fenced, new_delimiter, unfenced

INJECTIONS: list[str] = tomllib.loads(
    (Path(__file__).parents[1] / "memory" / "injections.toml").read_text("utf-8")
)["turns"]
DELIMITER = "0123456789abcdef"
FENCE_LINE = re.compile(r"<<\s*/?\s*(?:end)?\s*memory", re.IGNORECASE)


def test_the_corpus_is_large_enough() -> None:
    """The corpus has at least 50 injection turns."""
    assert len(set(INJECTIONS)) >= 50


@pytest.mark.parametrize("turn", INJECTIONS)
def test_injection_turns_cannot_close_the_fence(turn: str) -> None:
    """Not even a text with the delimiter closes it (specification.md#lines-fence)."""
    text = turn.replace("DELIMITER", DELIMITER)
    first, *inside, last = fenced(text, DELIMITER).split("\n")

    assert (first, last) == (f"<<memory-data {DELIMITER}>>", f"<<end memory-data {DELIMITER}>>")
    assert [line for line in inside if FENCE_LINE.search(line)] == []
    assert unfenced(f"before\n{fenced(text, DELIMITER)}\nafter")[0] == "before\n\nafter"


@given(
    st.lists(
        st.sampled_from(
            [*"<>/ \n\u200b\u2066＜‹≪ｍMen-", "memory-data", "end ", "<<", ">>", DELIMITER]
        ),
        max_size=40,
    )
)
def test_no_text_can_close_the_fence(pieces: list[str]) -> None:
    assert unfenced(fenced("".join(pieces), DELIMITER) + "rest")[0] == "rest"


@pytest.mark.parametrize(
    "text",
    [
        "cout << x << endl;",
        "a < b, c << 2",
        "1 ≪ 2",
        "«oui»",
        "日本語 👩‍👧 می‌خواهم",
        "a\tb\n\nc",
        "the memory-data of it",
    ],
)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert defused(text) == text


@pytest.mark.parametrize(
    "between", [" " * 500, "." * 500, "\u200d", "\n\n\n", "\u200b" * 90, "日本 "], ids=ascii
)
@pytest.mark.parametrize(
    "words",
    [
        "<<{0}end{0}memory-data",
        "<<end{0}memory-{0}data",
        "<{0}<{0}m{0}emory-data",
        "≪{0}ＥＮＤ{0}ＭＥＭＯＲＹ data",
    ],
)
def test_look_alike_fences_are_defused(words: str, between: str) -> None:
    result = defused(words.format(between))

    assert result.count("\u2039") == 1
    assert not re.search("[<≪][^<≪\u2039]*m[^<≪\u2039]*e", result, re.IGNORECASE)


def test_invisible_characters_are_removed() -> None:
    assert defused("a" + "\ufe0f" * 20 + "b\U000e0101\U000e01efc\u3164\u034f") == "a\ufe0fbc"
    assert (
        defused("a\u202eb\u2066c\u200bd\ufeff\U000e0041\x00\x1b[31m\r\ne\u2028f")
        == "abcd[31m\ne\nf"
    )


def test_delimiters_are_unique() -> None:
    delimiters = {new_delimiter() for _ in range(100)}

    assert len(delimiters) == 100
    assert all(re.fullmatch("[0-9a-f]{16}", delimiter) for delimiter in delimiters)


def test_fenced_blocks_are_removed_and_counted() -> None:
    """Text of the service is recognised by its fence (specification.md#remember-own-text)."""
    block, other = fenced("stored", DELIMITER), fenced("also stored", "f" * 16)

    assert unfenced(f"a {block} b {other} c") == ("a  b  c", len(block) + len(other))
    assert unfenced("no fence") == ("no fence", 0)


def test_text_between_two_copies_of_a_block_is_kept() -> None:
    """An agent may quote a block twice; the text between the copies is its own."""
    block = fenced("stored", DELIMITER)

    assert unfenced(f"{block} my own words {block} and more") == (
        " my own words  and more",
        2 * len(block),
    )


@pytest.mark.parametrize(
    "text",
    [
        f"<<memory-data {DELIMITER}>>\nnever closed",
        f"closed <<end memory-data {DELIMITER}>>",
        f"<<memory-data {DELIMITER}>>\nclosed by another\n<<end memory-data {'f' * 16}>>",
        f"<<end memory-data {DELIMITER}>> the wrong way round <<memory-data {DELIMITER}>>",
        "<<memory-data 123>> short <<end memory-data 123>>",
    ],
)
def test_incomplete_blocks_are_unchanged(text: str) -> None:
    assert unfenced(text) == (text, 0)


@pytest.mark.parametrize(
    "piece",
    [
        f"<<memory-data {DELIMITER}>>",
        f"<<end memory-data {DELIMITER}>>",
        "<<memory-data ",
        "<",
        "‹m",
        "<<",
        "< ",
        "<m",
        "<e n d m",
        "\u200d",
        f"<<memory-data {DELIMITER}>><<end ",
    ],
)
def test_hostile_text_is_processed_in_linear_time(piece: str) -> None:
    """The call must return: a regex with backtracking would run for hours."""
    text = piece * (300_000 // len(piece))

    assert unfenced(fenced(text, "f" * 16) + "x")[0] == "x"
