"""The linearizability checks: violations are detected, valid histories are accepted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.testing.linear import CounterRead, SwitchRead, not_one_counter, not_one_switch


def test_sequential_calls_count_up() -> None:
    assert not_one_counter([CounterRead(0, 1, 1), CounterRead(2, 3, 2)]) == []


def test_concurrent_calls_can_be_counted_in_any_order() -> None:
    assert not_one_counter([CounterRead(0, 3, 2), CounterRead(1, 2, 1)]) == []


def test_duplicate_number_is_detected() -> None:
    assert not_one_counter([CounterRead(0, 1, 1), CounterRead(0, 1, 1)]) == ["1 was given 2 times"]


def test_missing_number_is_detected() -> None:
    assert not_one_counter([CounterRead(0, 1, 1), CounterRead(2, 3, 3)]) == [
        "1 numbers are missing, 0 answers were lost: [2]"
    ]


def test_lost_response_can_explain_a_missing_number() -> None:
    assert (
        not_one_counter([CounterRead(0, 1, 1), CounterRead(0, 9, None), CounterRead(2, 3, 3)]) == []
    )


def test_number_smaller_than_an_earlier_one_is_detected() -> None:
    assert not_one_counter([CounterRead(0, 1, 2), CounterRead(2, 3, 1)]) == [
        "1 was asked for after 2 had been given"
    ]


def test_count_that_does_not_start_at_1_is_detected() -> None:
    assert not_one_counter([CounterRead(0, 1, 0), CounterRead(2, 3, 1)]) == [
        "0 is not counted from 1"
    ]


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(0, 5), st.floats(0, 5), st.booleans()), max_size=60
    )
)
def test_responses_of_one_counter_are_accepted(
    moments: list[tuple[float, float, float, bool]],
) -> None:
    """Each call takes effect between its start and end; some responses are lost."""
    calls = [
        CounterRead(at - before, at + after, None if is_lost else value)
        for value, (at, before, after, is_lost) in enumerate(sorted(moments), start=1)
    ]

    assert not_one_counter(calls) == []


@given(st.lists(st.floats(0, 100), min_size=2, max_size=30, unique=True), st.data())
def test_swapped_responses_of_sequential_calls_are_detected(
    moments: list[float], data: st.DataObject
) -> None:
    calls = [CounterRead(at, at, value) for value, at in enumerate(sorted(moments), start=1)]
    one, other = sorted(
        data.draw(st.lists(st.sampled_from(range(len(calls))), min_size=2, max_size=2, unique=True))
    )
    values = [call.value for call in calls]
    values[one], values[other] = values[other], values[one]

    assert not_one_counter(
        [
            CounterRead(call.began, call.ended, value)
            for call, value in zip(calls, values, strict=True)
        ]
    )


def test_switch_can_be_on_or_off_while_it_changes() -> None:
    assert (
        not_one_switch(
            [
                SwitchRead(0, 1, True),
                SwitchRead(2, 5, True),
                SwitchRead(2, 5, False),
                SwitchRead(6, 7, False),
            ],
            turned_off=(3, 4),
        )
        == []
    )


def test_switch_on_after_it_was_turned_off_is_detected() -> None:
    assert len(not_one_switch([SwitchRead(5, 6, True)], turned_off=(3, 4))) == 1


def test_switch_off_before_it_was_turned_off_is_detected() -> None:
    assert len(not_one_switch([SwitchRead(0, 1, False)], turned_off=(3, 4))) == 1


def test_switch_on_after_it_was_seen_off_is_detected() -> None:
    assert (
        len(
            not_one_switch(
                [SwitchRead(3, 3.2, False), SwitchRead(3.5, 3.8, True)], turned_off=(3, 4)
            )
        )
        == 1
    )
