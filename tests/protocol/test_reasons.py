"""The reasons for a hit in one line of plain text."""

from __future__ import annotations

from remembrancer.protocol.search import Signal, reason_line


def test_reasons_are_plain_words_in_their_order_with_ranks() -> None:
    why = [
        Signal(signal="focus", value=1.0),
        Signal(signal="text", rank=2, value=0.7),
        Signal(signal="neighbour", value=0.6),
        Signal(signal="near_duplicate", value=1.0),
    ]

    assert reason_line(why) == (
        "contains the focus word; same words (rank 2); adjacent turns match; "
        "repeats an earlier turn"
    )


def test_an_unknown_signal_keeps_its_name() -> None:
    assert reason_line([Signal(signal="moon", value=0.1)]) == "moon"
    assert reason_line([]) == ""


def test_every_published_signal_has_plain_words() -> None:
    """The description of the field lists the signals; none is shown by its name alone."""
    description = Signal.model_json_schema()["properties"]["signal"]["description"]
    names = description.split("Signal: ")[1].replace(" or a flag:", ",").replace(" or ", ", ")
    signals = [name.strip(" .;") for name in names.replace(";", ",").split(",")]

    assert len(signals) >= 13
    assert [
        name for name in signals if name and reason_line([Signal(signal=name, value=1)]) == name
    ] == []
