"""The reasons for a hit in one line of plain text."""

from __future__ import annotations

from remembrancer.protocol.search import Signal, reason_line


def test_every_published_signal_has_plain_words() -> None:
    """The description of the field lists the signals; none is shown by its name alone."""
    description = Signal.model_json_schema()["properties"]["signal"]["description"]
    names = description.split("Signal: ")[1].replace(" or a flag:", ",").replace(" or ", ", ")
    signals = [name.strip(" .;") for name in names.replace(";", ",").split(",")]

    assert len(signals) >= 13
    assert [
        name for name in signals if name and reason_line([Signal(signal=name, value=1)]) == name
    ] == []
