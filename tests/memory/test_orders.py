"""Which messages order a text, whose sentences give no keys, and which state what holds."""

from __future__ import annotations

import pytest

from remembrancer.memory.changes import state_keys
from remembrancer.memory.changes.comparison import orders_text


@pytest.mark.parametrize(
    "message",
    [
        "Is my dentist called Dr. Weiss?",
        "Maybe my dentist is Dr. Weiss.",
        "My dentist was Dr. Weiss in 2019.",
    ],
)
def test_what_no_statement_can_change_has_no_keys(message: str) -> None:
    assert state_keys("My dentist is Dr. Weiss.")
    assert state_keys(message) == frozenset()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("sign", ["(", "[", ". ", "? ", "\n", " "])
def test_a_message_of_signs_costs_no_more_than_its_beginning(sign: str) -> None:
    """Reading one of these messages whole takes half a second: 300 of them would not end in time."""
    message = sign * (1_000_000 // len(sign))

    assert not any(orders_text(message) for _ in range(300))
