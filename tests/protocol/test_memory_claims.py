"""Which claims of an answer come from memory (specification.md#look-when)."""

from __future__ import annotations

import pytest

from bench.second_look.closings import LABELS, REPORTS, SETS, closings, counts
from remembrancer.protocol.memory_claims import MemoryClaims, turn_texts

FALSE_ALARMS_MAX = 0.02  # of the answers that claim nothing from memory
MISSED_MAX = 0.05  # of the answers that repeat memory without a ref, or wrongly
MEMORY = (
    "[event e_7k2m9x0v4t8qz] 2026-03-01T09:00:00Z\n"
    "user: Which port does the staging database use?\nanswer: Port 6543, since 14 May."
)


@pytest.mark.parametrize("file", SETS.values())
def test_closing_messages_are_sent_back_only_for_claims_from_memory(file: str) -> None:
    """At most 2 % false alarms, and wrong repetitions are found (specification.md#look-when)."""
    rows = counts(list(closings(file)))
    none, right = rows["none"], rows["right"]
    repeating = rows["bare"] + rows["wrong"]

    assert sum(row["cases"] for row in rows.values()) >= 100
    assert set(rows) == set(LABELS)
    assert max(none["asked"], none["sent back"]) <= FALSE_ALARMS_MAX * none["cases"]
    assert (right["asked"], right["sent back"]) == (right["cases"], 0)
    assert repeating["sent back"] >= (1 - MISSED_MAX) * repeating["cases"]


def test_work_reports_are_sent_back_only_for_contradictions() -> None:
    """0 of 200 reports of coding agents, >= 90 % of 100 contradictions
    (specification.md#look-hooks).
    """
    reports = {name: counts(list(closings(file))) for name, file in REPORTS.items()}
    both = [reports["tuned on"], reports["held out"]]

    assert sum(rows["none"]["cases"] for rows in both) == 200
    assert sum(rows["wrong"]["cases"] for rows in both) == 100
    for rows in both:
        assert rows["none"]["contradicting"] == 0
        assert rows["wrong"]["contradicting"] >= 0.9 * rows["wrong"]["cases"]


def test_value_of_the_session_or_beside_the_stored_one_contradicts_nothing() -> None:
    texts = turn_texts([MEMORY], "Which port does the staging database use?")
    other = MemoryClaims("The staging database uses port 6600.", texts)
    aware = MemoryClaims("The staging database uses port 6600, before it was 6543.", texts)

    assert [one.value.text for one in other.contradictions] == ["6600"]
    assert other.contradictions_new_to(["I set `port = 6600`."]) == []
    assert aware.contradictions == []


def test_fenced_tool_results_are_memory() -> None:
    """The results of `recall` are memory, not results of the turn."""
    fence = "0123456789abcdef"
    recalled = f"<<memory-data {fence}>>\n{MEMORY}\n<<end memory-data {fence}>>"
    texts = turn_texts([], "Which port does the staging database use?", [recalled])

    assert MemoryClaims("The staging database uses port 6543.", texts).need_second_look


def test_refs_need_a_second_look_and_missing_ones_count_only_for_memory() -> None:
    answer = "42 tests pass; the staging database uses 6543 (ref: e_7k2m9x0v4t8qz)."
    claims = MemoryClaims(answer, turn_texts([MEMORY], "Run the tests.", ["42 passed"]))

    assert claims.need_second_look
    assert not claims.must_correct("claim_marked", 0, 2)
    assert not claims.must_correct("number_in_ref", 0, 2)
    assert claims.must_correct("number_in_ref", answer.index("6543"), answer.index("6543") + 4)
    assert claims.must_correct("ref_exists", answer.index("e_7"), len(answer) - 2)
    assert claims.must_correct("no_secret", None, None)


@pytest.mark.parametrize(
    "text", ["", "\n", "(ref:", "[", "1" * 50_000, "a. " * 20_000, "x@" * 9_999]
)
def test_any_text_is_accepted(text: str) -> None:
    MemoryClaims(text, turn_texts([text, MEMORY], text, [text]))
