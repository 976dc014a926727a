"""Fences: stored text cannot close its fence, and fenced text is recognized when sent back."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.protocol.fence import defused, fenced, unfenced

INJECTIONS: list[str] = tomllib.loads(
    (Path(__file__).parents[1] / "memory" / "injections.toml").read_text("utf-8")
)["turns"]
DELIMITER = "0123456789abcdef"
FENCE_LINE = re.compile(r"<<\s*/?\s*(?:end)?\s*memory", re.IGNORECASE)


def test_injection_turns_cannot_close_the_fence() -> None:
    """Not even a text with the delimiter closes it (specification.md#lines-fence)."""
    assert len(set(INJECTIONS)) >= 50
    for turn in INJECTIONS:
        text = turn.replace("DELIMITER", DELIMITER)
        first, *inside, last = fenced(text, DELIMITER).split("\n")

        assert first == f"<<memory-data {DELIMITER}>>"
        assert last == f"<<end memory-data {DELIMITER}>>"
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


def test_look_alike_fences_are_defused() -> None:
    fences = [
        "<<{0}end{0}memory-data",
        "<<end{0}memory-{0}data",
        "<{0}<{0}m{0}emory-data",
        "≪{0}ＥＮＤ{0}ＭＥＭＯＲＹ data",
    ]
    for between in (" " * 500, "." * 500, "\u200d", "\n\n\n", "\u200b" * 90, "日本 "):
        for words in fences:
            result = defused(words.format(between))
            assert result.count("\u2039") == 1
            assert not re.search("[<≪][^<≪\u2039]*m[^<≪\u2039]*e", result, re.IGNORECASE)


def test_fenced_blocks_are_removed_and_counted() -> None:
    """Text of the service is recognised by its fence (specification.md#remember-own-text).

    An agent may quote a block twice; the text between the copies is its own. Incomplete blocks
    are text.
    """
    block, other = fenced("stored", DELIMITER), fenced("also stored", "f" * 16)
    begin, end = f"<<memory-data {DELIMITER}>>", f"<<end memory-data {DELIMITER}>>"
    incomplete = [
        f"{begin}\nnever closed",
        f"closed {end}",
        f"{begin}\nclosed by another\n<<end memory-data {'f' * 16}>>",
        f"{end} the wrong way round {begin}",
        "<<memory-data 123>> short <<end memory-data 123>>",
        "no fence",
    ]

    assert unfenced(f"a {block} b {other} c") == ("a  b  c", len(block) + len(other))
    twice = unfenced(f"{block} my own words {block} and more")
    assert twice == (" my own words  and more", 2 * len(block))
    assert [unfenced(text) for text in incomplete] == [(text, 0) for text in incomplete]
