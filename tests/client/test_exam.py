"""The exam of the runtime (bench/runtime.py): its drafters are what they are called, and it sees what it counts."""

from __future__ import annotations

import pytest

from bench.drafters import DRAFTERS
from bench.runtime import alone, led, shows_lines
from remembrancer.client import Client

TURNS = 4


@pytest.mark.parametrize("name", DRAFTERS)
def test_the_runtime_keeps_seals_and_looks_at_each_turn_whatever_the_model_does(client: Client, name: str) -> None:
    """The runtime follows the protocol around any draft function (specification.md#turn-order)."""
    tally = led(client, DRAFTERS[name], name, TURNS)

    assert (tally.remembered, tally.sealed, tally.looked) == (TURNS, TURNS, TURNS)


def test_a_liar_is_told_and_mends_where_it_can(client: Client) -> None:
    with_it, without = led(client, DRAFTERS["lying"], "led", TURNS), alone(client, DRAFTERS["lying"], "alone", TURNS)

    assert (with_it.failed_first, with_it.mended, with_it.passing) == (TURNS, 2, 2)
    assert (without.passing, without.remembered, without.leaking) == (0, 0, TURNS)


def test_led_by_nobody_even_good_drafts_show_their_lines(client: Client) -> None:
    with_it, without = led(client, DRAFTERS["good"], "led", TURNS), alone(client, DRAFTERS["good"], "alone", TURNS)

    assert (with_it.failed_first, with_it.leaking) == (0, 0)
    assert (without.sealed, without.leaking) == (TURNS, TURNS)


def test_a_line_for_the_service_is_known_wherever_it_stands() -> None:
    assert shows_lines("It leaves at 9:40.\nREM | #1 | READ | VERIFY | CORRECT | OUTPUT")
    assert not shows_lines("It leaves at 9:40.")
