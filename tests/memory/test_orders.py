"""Which messages order a text, whose sentences give no keys, and which state what holds."""

from __future__ import annotations

import pytest

from remembrancer.memory.changes.comparison import orders_text


@pytest.mark.timeout(30)
@pytest.mark.parametrize("sign", ["(", "[", ". ", "? ", "\n", " "])
def test_a_message_of_signs_costs_no_more_than_its_beginning(sign: str) -> None:
    """Reading one of these messages whole takes half a second: 300 of them would not end in time."""
    message = sign * (1_000_000 // len(sign))

    assert not any(orders_text(message) for _ in range(300))
