"""Headlines: the most informative verbatim sentences of texts, within a length."""

from __future__ import annotations

import pytest

from remembrancer.memory.summaries.maps import sentences


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
