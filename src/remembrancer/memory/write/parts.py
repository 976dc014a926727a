"""Prepare the parts of a turn before its transaction: screen their texts and embed them."""

from __future__ import annotations

from dataclasses import dataclass

from ... import cubes
from ...context import Context
from ...protocol.memory import Turn
from ...protocol.notices import is_notice
from ...protocol.text import is_placeholder
from ...search import EventText, IndexEntry, index_entries
from ..layers import layer_text
from ..spaces import milliseconds
from .turns import Intake, turn_entry

# Evidence label of a cube that was sent without a turn and without evidence.
NO_EVIDENCE = "told by the agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedParts:
    """The parts to write, prepared before the transaction because models are slow."""

    text: EventText | None
    entry: IndexEntry | None
    l1: str | None
    map: str | None
    fact: str | None
    topic: str | None
    reason: str  # for closing a duty
    cube: cubes.PreparedCube | None
    layer_entries: dict[str, IndexEntry]  # of l1, map and fact, by part
    notices: dict[str, str]  # by part
    echoed_parts: frozenset[str]  # parts that contained only text of this service


def prepare_parts(context: Context, turn: Turn) -> PreparedParts:
    """Screen and embed the parts of a turn. Raises EmbedderUnavailable."""
    notices: dict[str, str] = {}
    echoed_parts: set[str] = set()

    def screen(part: str, *texts: str | None) -> list[str | None]:
        intake = Intake(settings=context.settings)
        stored = [intake.take_if(text) for text in texts]
        if intake.notice:
            notices[part] = intake.notice
        if intake.echoed_characters and not any(text and text.strip() for text in stored):
            echoed_parts.add(part)
        flags.update({part: intake.flags})
        return stored

    flags: dict[str, tuple[str, ...]] = {}
    query, response, topic = screen("turn", turn.query, turn.response, turn.topic)
    text = entry = None
    if query or response:
        occurred_ms = milliseconds(turn.occurred_at, context.clock())
        text = EventText(
            query=query or "", response=response or "", topic=topic, occurred_ms=occurred_ms
        )
        entry = turn_entry(context, text, flags["turn"])
    [l1], [l2], [fact], [reason] = (
        screen("l1_summary", None if is_placeholder(turn.l1_summary) else turn.l1_summary),
        screen("l2_map", None if is_placeholder(turn.l2_map) else turn.l2_map),
        screen("critical", None if _is_no_fact(turn.critical) else turn.critical),
        screen("duty", turn.duty_reason),
    )
    cube = _prepare_cube(context, turn) if turn.has_cube else None
    if cube is not None and cube.notice:
        notices["cube"] = cube.notice
    return PreparedParts(
        text=text,
        entry=entry,
        l1=l1,
        map=l2,
        fact=fact,
        topic=topic,
        reason=reason or "",
        cube=cube,
        layer_entries=_layer_entries(
            context, topic, {"l1_summary": l1, "l2_map": l2, "critical": fact}
        ),
        notices=notices,
        echoed_parts=frozenset(echoed_parts),
    )


def _is_no_fact(text: str | None) -> bool:
    """Return True if a critical fact says that there is none, or is a machine notice."""
    return is_placeholder(text) or (text is not None and is_notice(text))


def _layer_entries(
    context: Context, topic: str | None, texts: dict[str, str | None]
) -> dict[str, IndexEntry]:
    layers = {part: text for part, text in texts.items() if text is not None}
    entries = index_entries(
        context.writer,
        [
            layer_text(text, topic if part == "l1_summary" else None)
            for part, text in layers.items()
        ],
    )
    return dict(zip(layers, entries, strict=True))


def _prepare_cube(context: Context, turn: Turn) -> cubes.PreparedCube:
    lesson = cubes.Lesson(
        kind=turn.cube_type or turn.kind or "fact",
        topic=turn.cube_topic or "",
        essence=turn.cube_essence or "",
        rules=turn.cube_rules or "",
        evidence=NO_EVIDENCE if is_placeholder(turn.cube_evidence) else turn.cube_evidence or "",
        publish=turn.cube_publish,
        model=None if is_placeholder(turn.model) else turn.model,
    )
    return cubes.prepare_cube(context, lesson)
