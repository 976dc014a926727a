"""The benchmark of the runtime (bench/runtime.py): its drafters and its counters."""

from __future__ import annotations

import pytest

from bench.drafters import DRAFTERS
from bench.runtime import alone, led, shows_lines
from remembrancer.client import Client

TURNS = 4


@pytest.mark.parametrize("name", DRAFTERS)
def test_runtime_saves_seals_and_checks_each_turn_for_every_drafter(
    client: Client, name: str
) -> None:
    """The runtime follows the protocol around any draft function (specification.md#turn-order)."""
    tally = led(client, DRAFTERS[name], name, TURNS)

    assert (tally.remembered, tally.sealed, tally.checks) == (TURNS, TURNS, TURNS)


def test_lying_drafter_is_corrected_where_possible(client: Client) -> None:
    with_runtime, without = (
        led(client, DRAFTERS["lying"], "led", TURNS),
        alone(client, DRAFTERS["lying"], "alone", TURNS),
    )

    assert (with_runtime.failed_first, with_runtime.corrected, with_runtime.passing) == (
        TURNS,
        2,
        2,
    )
    assert (without.passing, without.remembered, without.leaking) == (0, 0, TURNS)


def test_service_lines_leak_without_the_runtime(client: Client) -> None:
    with_runtime, without = (
        led(client, DRAFTERS["good"], "led", TURNS),
        alone(client, DRAFTERS["good"], "alone", TURNS),
    )

    assert (with_runtime.failed_first, with_runtime.leaking) == (0, 0)
    assert (without.sealed, without.leaking) == (TURNS, TURNS)


def test_service_line_is_detected_anywhere() -> None:
    assert shows_lines("It leaves at 9:40.\nREM | #1 | READ | VERIFY | CORRECT | OUTPUT")
    assert not shows_lines("It leaves at 9:40.")
