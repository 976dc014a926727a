"""Summaries by a model: the draft of an L1, the lines of a map. What a model writes is checked
sentence by sentence against its source.

A sentence stays when each number, date and name of it, each address too, is in the source: the code
of the second look says so. What a negation or a word such as "cancelled" turns round is not seen.
The rest is headlines of the source, word for word, as without a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import accumulate
from math import ceil
from typing import Any

from ..accounts import may_use_outside_models, require_write, space_user_id
from ..accounts.idempotency import IdempotentRequest, stored_answer
from ..claims.evidence import EventEvidence
from ..claims.review import EXCERPT_CHARACTERS_MAX, parse_draft
from ..context import Caller, Context
from ..memory.summaries.extractive import headlines, sentences
from ..memory.summaries.l1 import (
    RATIO_LEAST,
    RATIO_MOST,
    SummarySource,
    off_length,
    turns_to_summarise,
)
from ..memory.summaries.maps import (
    HEADLINES,
    MODEL,
    MapLines,
    extractive_map,
    headlines_of,
    line_of,
    map_budget,
    update_map,
)
from ..memory.write.events import raw_dialogue
from ..models import Budget, ModelAttempt, ModelFailed, ModelMessage, ModelRequest
from ..models.calls import usage_of
from ..models.port import WHY
from ..protocol import limits
from ..protocol.fence import fenced, new_delimiter
from ..protocol.summaries import Dropped, MapRequest, MapUpdated, SummaryAsked, SummaryDraft
from ..protocol.text import day_of
from ..store import Row
from .drafts import RetrievedEvent, clean
from .event_blocks import event_blocks

_RULES = resources.files(__package__).joinpath("summary.md").read_text("utf-8").strip()
_L1 = (
    "Summarise this session: what was done, what was decided, how it ended. At most {characters:,} characters, about {words} words, "
    "and no fewer than {least}. Write the sentences alone."
)
_MAP = (
    "Write a map of these summaries: one line for each subject, with what lasts of it. Begin each line with a dash and end it with the ids "
    "of the summaries that it rests on, in round brackets. All lines together at most {characters:,} characters."
)
_NO_MODEL = "No language model is configured for summaries (REMEMBRANCER_MODEL_SUMMARIZE)."
_NOT_ALLOWED = "This account lets no outside model read it, and none is configured on this machine."
_NO_ANSWER = "No language model answered: {why}."
_NOTHING_HELD = "Nothing of what the model wrote could be used."
_ADDED = "What the model left out was added from the source, word for word."
_LATEST = (
    "It tells of the latest {told:,} turns; {earlier:,} earlier ones are too much for one draft."
)
_ASKS = re.compile(r"[?？؟]\W*$")
_INTRODUCES = re.compile(r"[:：]\W*$")  # "Here is the summary:"
_LINE = re.compile(
    r"^[ \t]*[-*•][ \t]*(?P<said>\S.*?)[ \t]*[(\[](?P<ids>(?:l1_\w+)(?:[ \t]*[,;][ \t]*l1_\w+)*)[)\]][ \t.]*$",
    re.MULTILINE,
)
_CHARACTERS_PER_WORD = 6  # to say it in words, which models count better


@dataclass(slots=True)
class SummaryRun:
    """What the models of a request were asked, and what came of it."""

    tries: list[ModelAttempt] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    detail: str | None = None

    def drop(self, sentence: str, detail: str) -> None:
        """Note a sentence that is left out."""
        if len(self.dropped) < limits.SUMMARY_DROPPED_MAX:
            self.dropped.append(Dropped(sentence=sentence[:EXCERPT_CHARACTERS_MAX], detail=detail))


def draft_summary(context: Context, caller: Caller, asked: SummaryAsked) -> SummaryDraft:
    """What an L1 of a session's turns since its last one could say; nothing is kept.

    Raises NothingToSummarise, Forbidden.
    """
    source = turns_to_summarise(
        context, caller, space_user_id(caller, asked.user_id), asked.session_id
    )
    texts = [
        _found(row.event_id, row.occurred_ms, row.topic, raw_dialogue(row.query, row.response))
        for row in source.turns
    ]
    least, most = _room(source)
    spent = SummaryRun()
    kept: list[str] = []
    task = _L1.format(characters=most, words=max(most // _CHARACTERS_PER_WORD, 1), least=least)
    if said := _said(context, caller, texts, task, spent, budget=Budget.of(context.settings)):
        kept = _fitting(_held(said, texts, spent), most)
        if not kept:
            spent.detail = _NOTHING_HELD
    made_by = MODEL if kept else HEADLINES
    if len(" ".join(kept)) < least:
        added = _added(source, kept, least, most)
        if kept and added:
            spent.detail = _ADDED
        kept += added
    text = " ".join(kept)
    ratio = round(len(text) / max(source.characters, 1), 4)
    off = off_length(ratio)
    earlier = source.count - len(source.turns)
    notes = [
        spent.detail,
        _LATEST.format(told=len(source.turns), earlier=earlier) if earlier else None,
    ]
    return SummaryDraft(
        summary_text=text,
        made_by=made_by,
        ratio=ratio,
        turns=source.count,
        dropped=spent.dropped,
        usage=usage_of(spent.tries),
        warning=off and f"It is {off}",
        detail=" ".join(note for note in notes if note) or None,
    )


def make_map(
    context: Context, caller: Caller, asked: MapRequest, given: IdempotentRequest | None = None
) -> MapUpdated:
    """Make the map anew, with a model where one is configured that may read the L1s.

    Raises as `update_map`.
    """
    if not context.models.has("summarize"):
        return update_map(context, caller, asked, given)
    require_write(caller)
    if (first := stored_answer(context, given)) is not None:
        return MapUpdated.model_validate_json(first)
    budget = Budget.of(
        context.settings
    )  # of all that is asked for this map, however often it is made anew
    return update_map(
        context, caller, asked, given, lambda l1s: _told(context, caller, l1s, budget)
    )


def _told(context: Context, caller: Caller, l1s: Sequence[Row], budget: Budget) -> MapLines:
    """Lines by a model, and headlines of the L1s that it told nothing of."""
    spent = SummaryRun()
    room = map_budget(l1s)
    texts = {row.l1_id: _found(row.l1_id, row.created_ms, row.topic, row.text) for row in l1s}
    said = (
        _said(
            context,
            caller,
            list(texts.values()),
            _MAP.format(characters=room),
            spent,
            budget=budget,
        )
        if l1s
        else None
    )
    by_id = {row.l1_id: row for row in l1s}
    lines: list[str] = []
    named: set[str] = set()
    for match in _LINE.finditer(said or ""):
        ids = [one for one in dict.fromkeys(re.findall(r"l1_\w+", match["ids"])) if one in texts]
        held = _held(match["said"], [texts[one] for one in ids], spent) if ids else []
        line = line_of(" ".join(held), [by_id[one] for one in ids]) if held else ""
        if not ids:
            spent.drop(match["said"], "It rests on no summary that is there.")
        elif line and len(line) > room:
            spent.drop(match["said"], "There was no room for it.")
        elif line:
            room -= len(line) + 1
            lines.append(line)
            named.update(ids)
    if said and not lines:
        spent.detail = _NOTHING_HELD
    made = (
        MapLines(
            lines=[*lines, *_rest([row for row in l1s if row.l1_id not in named], room)],
            made_by=MODEL,
        )
        if lines
        else extractive_map(l1s)
    )
    return MapLines(lines=made.lines, made_by=made.made_by, beside=_beside(made, spent))


def _beside(made: MapLines, spent: SummaryRun) -> Mapping[str, Any]:
    return {
        "made_by": made.made_by,
        "dropped": spent.dropped,
        "usage": usage_of(spent.tries),
        "detail": spent.detail,
    }


def _rest(l1s: Sequence[Row], room: int) -> list[str]:
    """Headlines of what no line of the model tells of, as far as there is room."""
    lines = headlines_of(l1s, room) if l1s else []
    ends = accumulate(len(line) + 1 for line in lines)
    return [line for line, end in zip(lines, ends, strict=True) if end <= room + 1]


def _found(name: str, ms: int, topic: str | None, text: str) -> RetrievedEvent:
    return RetrievedEvent(event_id=name, day=day_of(ms), text=f"{topic}\n{text}" if topic else text)


def _room(source: SummarySource) -> tuple[int, int]:
    """The least and the most characters that an L1 of these turns should have."""
    most = min(int(RATIO_MOST * source.characters), limits.L1_CHARACTERS_MAX)
    return min(ceil(RATIO_LEAST * source.characters), most), most


def _said(
    context: Context,
    caller: Caller,
    texts: Sequence[RetrievedEvent],
    task: str,
    spent: SummaryRun,
    *,
    budget: Budget,
) -> str | None:
    """What a model says of these texts, cleaned; None when there is no answer, see `spent.detail`."""
    if not context.models.has("summarize"):
        spent.detail = _NO_MODEL
        return None
    outside = may_use_outside_models(context, caller)
    if not context.models.has("summarize", outside=outside):
        spent.detail = _NOT_ALLOWED
        return None
    told = fenced(event_blocks(_readable(texts)), new_delimiter())
    messages = (
        ModelMessage("system", _RULES),
        ModelMessage("user", f"The source (data):\n{told}\n\n{task}"),
    )
    try:
        reply = context.models.ask(
            ModelRequest(slot="summarize", messages=messages, outside=outside), budget
        )
    except ModelFailed as error:
        spent.tries += error.tries
        spent.detail = _NO_ANSWER.format(why=WHY[error.reason])
        return None
    spent.tries += reply.tries
    said = clean(reply.text, ()).strip()
    if not said:
        spent.detail = _NOTHING_HELD
    return said or None


def _readable(texts: Sequence[RetrievedEvent]) -> Sequence[RetrievedEvent]:
    """The texts as a model reads them:

    whole where there is room, else the sentences that say most.
    """
    if sum(len(one.text) for one in texts) <= limits.SUMMARY_MODEL_CHARACTERS_MAX:
        return texts
    chosen: dict[int, list[str]] = {}
    for one in headlines([one.text for one in texts], limits.SUMMARY_MODEL_CHARACTERS_MAX):
        chosen.setdefault(one.text, []).append(one.sentence)
    return [
        RetrievedEvent(event_id=texts[at].event_id, day=texts[at].day, text=" ".join(said))
        for at, said in chosen.items()
    ]


def _held(said: str, texts: Sequence[RetrievedEvent], spent: SummaryRun) -> list[str]:
    """The sentences whose claims are all in the texts; the others are noted."""
    draft = parse_draft(said, texts[-1].day)
    evidence = [EventEvidence(one.event_id, one.text, one.day) for one in texts]
    kept: list[str] = []
    for sentence in draft.sentences:
        text = " ".join(draft.text[sentence.start : sentence.end].split()).lstrip("-*•# ")
        if (
            not any(character.isalnum() for character in text)
            or sentence.heads
            or _INTRODUCES.search(text)
        ):
            continue
        claims = [claim for claim in draft.claims if sentence.start <= claim.start < sentence.end]
        missing = next(
            (claim for claim in claims if not any(one.holds(claim) for one in evidence)), None
        )
        if missing is not None:
            spent.drop(
                text,
                f"The source does not say {draft.text[missing.start : missing.end][:EXCERPT_CHARACTERS_MAX]!r}.",
            )
        elif text not in kept:
            kept.append(text)
    return kept


def _fitting(sentences: Sequence[str], most: int) -> list[str]:
    """As many of the sentences, in their order, as there is room for:

    those that say most; at least one.
    """
    if len(" ".join(sentences)) <= most:
        return list(sentences)
    chosen = {one.text for one in headlines(sentences, most, each=1)}
    kept = [sentence for at, sentence in enumerate(sentences) if at in chosen]
    return kept if len(" ".join(kept)) <= most else [min(sentences, key=len)]


def _added(source: SummarySource, kept: Sequence[str], least: int, most: int) -> list[str]:
    """Sentences of the turns that fill the room that is left; where nothing is kept, at least one.

    Questions only where all are.
    """
    said = [
        sentence
        for row in source.turns
        for side in (row.query, row.response)
        for sentence in sentences(side)
    ]
    said = [sentence for sentence in said if not _ASKS.search(sentence)] or said
    taken = len(" ".join(kept)) if kept else -1  # no blank stands before the first
    chosen = {one.text for one in headlines(said, most - taken, each=1, told=kept)}
    if (
        kept and taken + sum(len(said[at]) + 1 for at in chosen) > most
    ):  # one that is longer than the room
        chosen = set()
    taken += sum(len(said[at]) + 1 for at in chosen)
    for at in sorted(
        set(range(len(said))) - chosen, key=lambda at: -len(said[at])
    ):  # short ones are no headlines, but they fill
        if taken >= least:
            break
        if taken + len(said[at]) + 1 <= most:
            chosen.add(at)
            taken += len(said[at]) + 1
    return [said[at] for at in sorted(chosen)]
