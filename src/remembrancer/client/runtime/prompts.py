"""Messages for the model: the protocol, fenced search results, and requirements of a turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from ...protocol.constitution import protocol_text
from ...protocol.fence import data_line, fenced, indented, new_delimiter, one_line
from ...protocol.lines import FAULTS, LineFault
from ...protocol.pasted import without_keys
from ...protocol.recalled import answer_items, fenced_items, session_fact_item
from ...protocol.seal import render
from ...protocol.search import MemoryAnswer
from ...protocol.text import tokens

FULL_PROTOCOL = (
    "Reply in three sections, each under a heading on its own line: DRAFT, SECOND LOOK, FINAL. "
    "SECOND LOOK checks what DRAFT really says, claim by claim. FINAL is what the user sees; put "
    "the service lines and the seal at its end."
)
NOTHING_RECALLED = (
    "Memory has nothing on this. Say so if it matters, and mark what you know from other sources."
)
NO_MEMORY = (
    "Memory cannot be reached in this turn: mark every number, date, name and URL with [general], "
    "[unverified] or [assumption]."
)


class ChatMessage(TypedDict):
    """One message in the format of language model APIs."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequirements:
    """Service lines that the agent must write in a turn, and notices for it."""

    step: int
    name: str  # the service's short name, for the seal
    cubes_to_rate: Sequence[str] = ()
    l1_characters: tuple[int, int] | None = None  # minimum and maximum length; None: no L1 is due
    l2_source: str | None = None  # what the L2 summarizes; None: no L2 is due
    notices: Sequence[str] = ()  # results of the service lines of the previous turn


def system_message(instructions: str, name: str, *, full: bool) -> ChatMessage:
    """Return the system message: the agent's own instructions and the protocol."""
    parts = (instructions, protocol_text(name), FULL_PROTOCOL if full else "")
    return {"role": "system", "content": "\n\n".join(part for part in parts if part.strip())}


def user_message(
    message: str,
    recalled: MemoryAnswer | None,
    requirements: TurnRequirements | None,
    facts: Sequence[str] = (),
) -> ChatMessage:
    """Return the user's message, preceded by search results and requirements.

    `recalled` is None if memory could not be searched. `facts` are the critical facts that the
    session began with; those among the search results are not repeated.
    """
    parts = [NO_MEMORY] if recalled is None else [recalled_text(recalled, facts)]
    if requirements:
        parts.append("\n".join(_requirement_lines(requirements)))
    return {"role": "user", "content": "\n\n".join([*parts, f"The user says:\n{message}"])}


def revision_message(failed_checks: Iterable[str], faults: Iterable[LineFault]) -> ChatMessage:
    """Return a request to revise a draft, with its failed checks and faults of form."""
    problems = [*failed_checks, *(_fault_text(fault) for fault in faults if fault.code in FAULTS)]
    listed = "\n".join(map(data_line, dict.fromkeys(problems)))
    return {
        "role": "user",
        "content": f"The second look failed:\n{listed}\n\n"
        "Revise the answer and write the complete reply again, with its service lines.",
    }


def _fault_text(fault: LineFault) -> str:
    return f"{FAULTS[fault.code]}{f' ({fault.about})' if fault.about else ''}"


def recalled_text(recalled: MemoryAnswer, facts: Sequence[str] = ()) -> str:
    """Return fenced search results for a model: all layers, cubes, help passages, open tasks.

    They follow those of the critical `facts` of the session that are not among them.
    """
    served = {fact.text for fact in recalled.facts}
    served |= {instruction.text for instruction in recalled.instructions}
    items = [session_fact_item(fact) for fact in facts if fact not in served]
    return fenced_items([*items, *recalled_items(recalled)]) or NOTHING_RECALLED


def fitting_facts(facts: Sequence[str], tokens_max: int | None) -> list[str]:
    """Return the facts, newest first, that fit a third of the budget."""
    if tokens_max is None:
        return list(facts)
    result, left = [], tokens_max // 3
    for fact in facts:
        left -= tokens(fact)
        if left < 0:
            break
        result.append(fact)
    return result


def recalled_items(recalled: MemoryAnswer) -> list[str]:
    """Return search results as texts, in the order in which a model reads them."""
    return answer_items(recalled.model_dump(mode="json"))


def _requirement_lines(requirements: TurnRequirements) -> Iterable[str]:
    yield "This turn asks for:"
    if requirements.cubes_to_rate:
        yield f"- a RATE line for each of these cubes: {', '.join(requirements.cubes_to_rate)}"
    if requirements.l1_characters:
        least, most = requirements.l1_characters
        yield (
            "- an L1 line: what was done, what was decided, how it ended, "
            f"in {least} to {most} characters"
        )
    if requirements.l2_source is not None:
        yield "- an L2 line: headlines over these summaries, in about 5 % of their length"
        yield fenced(indented(without_keys(requirements.l2_source)), new_delimiter())
    yield from (f"- note: {one_line(notice)}" for notice in requirements.notices)
    yield f"- the seal as its last line: {render(requirements.step, requirements.name)}"
