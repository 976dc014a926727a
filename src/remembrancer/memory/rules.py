"""What is due and what is owed, decided from counts alone:

no store, no clock. `docs/reference/duties.md` shows every case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..protocol.seal import Seal, read_seal, render

L1_TURNS = 15  # specification, Limits: an L1 is due about every 15 turns of a session
L2_SUMMARIES = 10  # specification, Limits: an L2 is due after 10 L1s


def is_l1_due(turns: int, turns_summarised: int) -> bool:
    """Whether a session with so many turns, of which its L1s tell of so many, wants its next L1."""
    return turns - turns_summarised >= L1_TURNS


def is_l2_due(l1_count: int, l1_mapped: int) -> bool:
    """Whether a space with so many L1s, of which its newest map knows so many, wants its map made
    anew.
    """
    return l1_count - l1_mapped >= L2_SUMMARIES


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCounts:
    """Where a session stands when a search that counts comes in, before it is counted."""

    step: int  # of the last search that counted; 0 = there was none
    remembered_step: int = 0  # the step at which a turn was last remembered
    turns: int = 0
    turns_summarised: int = 0
    l1_count: int = 0
    l1_mapped: int = 0
    unrated: tuple[str, ...] = ()  # cubes that earlier searches of the session showed as new
    last_seal: str | None = None  # as the search brought it
    seal_name: str = "REM"


class DutyRule(NamedTuple):
    """One thing that can be owed. `kind` says in which member of the answer it is told."""

    word: str
    kind: Literal["duty_error", "reminders"]
    when: str
    says: Callable[[SessionCounts], str]
    holds: Callable[[SessionCounts], bool]


def _seal(standing: SessionCounts) -> Seal | None:
    """The seal that the search brought, where one was expected and it is one."""
    return read_seal(standing.last_seal or "") if standing.step else None


CASES: tuple[DutyRule, ...] = (
    DutyRule(
        "turn_not_remembered",
        "duty_error",
        "a search of this session counted, and no turn was remembered since",
        lambda s: f"No turn was remembered since step {s.remembered_step + 1}: "
        "send it now with POST /api/v7/remember. A search that is no turn sends interact: false.",
        lambda s: s.remembered_step < s.step,
    ),
    DutyRule(
        "seal_step",
        "duty_error",
        "last_seal is a seal of this service, but of another step than the last search of this session that counted",
        lambda s: f"The last reply was sealed with another step than its search gave: it should have been `{render(s.step, s.seal_name)}`.",
        lambda s: (seal := _seal(s)) is not None and seal.name == s.seal_name and seal.step != s.step,
    ),
    DutyRule(
        "seal_name",
        "duty_error",
        "last_seal is the seal of another service",
        lambda s: f"The last reply was sealed with another service's name: it should have been `{render(s.step, s.seal_name)}`.",
        lambda s: (seal := _seal(s)) is not None and seal.name != s.seal_name,
    ),
    DutyRule(
        "seal_missing",
        "reminders",
        "a search of this session counted before, and this one brings no last_seal",
        lambda s: "Seal every reply and send the seal with the next search as last_seal. "
        f"The last one was `{render(s.step, s.seal_name)}`.",
        lambda s: s.step > 0 and not (s.last_seal or "").strip(),
    ),
    DutyRule(
        "seal_malformed",
        "reminders",
        "last_seal is there, but is no seal",
        lambda s: f"last_seal is no seal; it should have been `{render(s.step, s.seal_name)}`, on a line of its own.",
        lambda s: s.step > 0 and bool((s.last_seal or "").strip()) and _seal(s) is None,
    ),
    DutyRule(
        "cubes_unrated",
        "reminders",
        "an earlier search of this session showed cubes as new that this account has not rated",
        lambda s: f"Rate {', '.join(s.unrated)} with POST /api/v7/experience/vote, or all that do not matter at once: "
        'POST /api/v7/remember with duty "vote_nothing" and a duty_reason.',
        lambda s: bool(s.unrated),
    ),
    DutyRule(
        "l1_due",
        "reminders",
        f"{L1_TURNS} turns or more of this session are in no L1",
        lambda s: f"An L1 is due: {s.turns - s.turns_summarised} turns are not summarised. Send l1_summary with the next remember: "
        "what was done, what was decided, how it ended, in 5-8 % of their length.",
        lambda s: is_l1_due(s.turns, s.turns_summarised),
    ),
    DutyRule(
        "l2_due",
        "reminders",
        f"{L2_SUMMARIES} L1s or more are in no map",
        lambda s: f"An L2 is due: {s.l1_count - s.l1_mapped} L1s are not in the map. Send l2_map with the next remember, "
        "headlines in about 5 % of their length, or let POST /api/v7/memory/map make it.",
        lambda s: is_l2_due(s.l1_count, s.l1_mapped),
    ),
)  # fmt: skip


class DutyReport(NamedTuple):
    """What a session owes, as the answer tells it."""

    duty_error: str | None
    reminders: list[str]


def check_duties(standing: SessionCounts) -> DutyReport:
    """What is owed. Nothing of it withholds a hit: it is told beside them."""
    told = [(case.kind, case.says(standing)) for case in CASES if case.holds(standing)]
    errors = [text for kind, text in told if kind == "duty_error"]
    return DutyReport(
        " ".join(errors) or None, [text for kind, text in told if kind == "reminders"]
    )


def duty_words(standing: SessionCounts) -> list[str]:
    """The words of the cases that hold: what is owed, for keeping and counting."""
    return [case.word for case in CASES if case.holds(standing)]
