"""Write summaries with a model: drafts of L1 summaries and the lines of maps.

Each sentence of a model is checked against its source with the code of the second look and stays
only if the source contains all of its numbers, dates, names and addresses. Negations are not
detected. Sentences of the source fill the remaining space, as they do without a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from importlib import resources
from itertools import accumulate
from math import ceil

from ..accounts import may_use_outside_models, require_write, space_user_id
from ..accounts.idempotency import IdempotentRequest, stored_answer
from ..claims.evidence import EventEvidence
from ..claims.review import EXCERPT_CHARACTERS_MAX, parse_draft
from ..context import Caller, Context
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
    headlines,
    headlines_of,
    line_of,
    map_budget,
    sentences,
    update_map,
)
from ..memory.write.turns import raw_dialogue
from ..models import Budget, ModelAttempt, ModelFailed, ModelMessage, ModelRequest
from ..models.calls import usage_of
from ..models.port import FAILURE_MESSAGES
from ..protocol import limits
from ..protocol.fence import fenced, new_delimiter
from ..protocol.recalled import event_blocks
from ..protocol.summaries import Dropped, MapRequest, MapUpdated, SummaryAsked, SummaryDraft
from ..protocol.text import day_of
from ..search.text.languages import QUESTION_END, ends_with
from ..store import Row
from .answers import RetrievedEvent, clean

_RULES = resources.files(__package__).joinpath("summary.md").read_text("utf-8").strip()
_L1 = (
    "Summarize this session: what was done, what was decided, how it ended. "
    "At most {characters:,} characters, about {words} words, "
    "and at least {characters_min} characters. "
    "Write only the sentences."
)
_MAP = (
    "Write a map of these summaries: one line for each subject, with its lasting facts. "
    "Begin each line with a dash and end it with the ids of the summaries that support it, "
    "in round brackets. All lines together at most {characters:,} characters."
)
_NO_MODEL = "No language model is configured for summaries (REMEMBRANCER_MODEL_SUMMARIZE)."
_NOT_ALLOWED = "This account allows no outside models, and none is configured on this machine."
_NO_ANSWER = "No language model answered: {reason}."
_NOTHING_USABLE = "No sentence of the model could be used."
_SOURCE_ADDED = "Sentences of the source were added to what the model wrote."
_LATEST = (
    "It covers the latest {covered:,} turns; {earlier:,} earlier ones exceed the limit of a draft."
)
_INTRODUCTION = ends_with(":：")  # "Here is the summary:"
_LINE = re.compile(
    r"^[ \t]*[-*•][ \t]*(?P<text>\S.*?)[ \t]*"
    r"[(\[](?P<ids>(?:l1_\w+)(?:[ \t]*[,;][ \t]*l1_\w+)*)[)\]][ \t.]*$",
    re.MULTILINE,
)
_CHARACTERS_PER_WORD = 6  # models count words better than characters


@dataclass(slots=True)
class SummaryRun:
    """The model calls of one request, the sentences dropped, and a note on the result."""

    context: Context
    caller: Caller
    budget: Budget
    tries: list[ModelAttempt] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    detail: str | None = None

    def drop(self, sentence: str, detail: str) -> None:
        """Record a sentence that was left out."""
        if len(self.dropped) < limits.SUMMARY_DROPPED_MAX:
            self.dropped.append(Dropped(sentence=sentence[:EXCERPT_CHARACTERS_MAX], detail=detail))

    def ask(self, texts: Sequence[RetrievedEvent], task: str) -> str | None:
        """Return a model's cleaned answer about these texts, or None; `detail` says why."""
        models = self.context.models
        if not models.has("summarize"):
            self.detail = _NO_MODEL
            return None
        outside = may_use_outside_models(self.context, self.caller)
        if not models.has("summarize", outside=outside):
            self.detail = _NOT_ALLOWED
            return None
        data = fenced(event_blocks(_fit_source(texts)), new_delimiter())
        messages = (
            ModelMessage("system", _RULES),
            ModelMessage("user", f"The source (data):\n{data}\n\n{task}"),
        )
        request = ModelRequest(slot="summarize", messages=messages, outside=outside)
        try:
            reply = models.ask(request, self.budget)
        except ModelFailed as error:
            self.tries += error.tries
            self.detail = _NO_ANSWER.format(reason=FAILURE_MESSAGES[error.reason])
            return None
        self.tries += reply.tries
        text = clean(reply.text, ()).strip()
        if not text:
            self.detail = _NOTHING_USABLE
        return text or None


def draft_summary(context: Context, caller: Caller, request: SummaryAsked) -> SummaryDraft:
    """Draft an L1 of a session's turns since its last one. Stores nothing.

    Raises NothingToSummarise, Forbidden.
    """
    source = turns_to_summarise(
        context, caller, space_user_id(caller, request.user_id), request.session_id
    )
    texts = [
        _source_text(
            row.event_id,
            day_of(row.occurred_ms, row.occurred_offset),
            row.topic,
            raw_dialogue(row.query, row.response),
        )
        for row in source.turns
    ]
    characters_min, characters_max = _length_range(source)
    run = SummaryRun(context, caller, Budget.of(context.settings))
    chosen: list[str] = []
    task = _L1.format(
        characters=characters_max,
        words=max(characters_max // _CHARACTERS_PER_WORD, 1),
        characters_min=characters_min,
    )
    if model_text := run.ask(texts, task):
        chosen = _select_sentences(_supported_sentences(model_text, texts, run), characters_max)
        if not chosen:
            run.detail = _NOTHING_USABLE
    made_by = MODEL if chosen else HEADLINES
    if len(" ".join(chosen)) < characters_min:
        additions = _fill_from_source(source, chosen, characters_min, characters_max)
        if chosen and additions:
            run.detail = _SOURCE_ADDED
        chosen += additions
    text = " ".join(chosen)
    ratio = round(len(text) / max(source.characters, 1), 4)
    off = off_length(ratio, len(text))
    earlier = source.count - len(source.turns)
    latest = _LATEST.format(covered=len(source.turns), earlier=earlier) if earlier else None
    return SummaryDraft(
        summary_text=text,
        made_by=made_by,
        ratio=ratio,
        turns=source.count,
        dropped=run.dropped,
        usage=usage_of(run.tries),
        warning=off and f"It is {off}",
        detail=" ".join(filter(None, (run.detail, latest))) or None,
    )


def make_map(
    context: Context,
    caller: Caller,
    request: MapRequest,
    idempotency: IdempotentRequest | None = None,
) -> MapUpdated:
    """Rebuild the map, with a model if one is configured and allowed to read the L1s.

    Raises the errors of `update_map`.
    """
    if not context.models.has("summarize"):
        return update_map(context, caller, request, idempotency)
    require_write(caller)
    if (first := stored_answer(context, idempotency)) is not None:
        return MapUpdated.model_validate_json(first)
    budget = Budget.of(context.settings)  # shared by all attempts to update this map
    tell = partial(_model_map, context, caller, budget)
    return update_map(context, caller, request, idempotency, tell)


def _model_map(context: Context, caller: Caller, budget: Budget, l1s: Sequence[Row]) -> MapLines:
    """Return the lines of a model, and sentences of the L1s that no line covers."""
    run = SummaryRun(context, caller, budget)
    room = map_budget(l1s)
    texts = {
        row.l1_id: _source_text(row.l1_id, day_of(row.created_ms), row.topic, row.text)
        for row in l1s
    }
    task = _MAP.format(characters=room)
    model_text = run.ask(list(texts.values()), task) if l1s else None
    by_id = {row.l1_id: row for row in l1s}
    lines: list[str] = []
    covered_ids: set[str] = set()
    for match in _LINE.finditer(model_text or ""):
        text, cited = match["text"], dict.fromkeys(re.findall(r"l1_\w+", match["ids"]))
        ids = [l1_id for l1_id in cited if l1_id in texts]
        if not ids:
            run.drop(text, "It cites no existing summary.")
            continue
        supported = _supported_sentences(text, [texts[l1_id] for l1_id in ids], run)
        line = line_of(" ".join(supported), [by_id[l1_id] for l1_id in ids])
        if supported and len(line) > room:
            run.drop(text, "It exceeds the length limit.")
        elif supported:
            room -= len(line) + 1
            lines.append(line)
            covered_ids.update(ids)
    if lines:
        lines += _missing_headlines([row for row in l1s if row.l1_id not in covered_ids], room)
        map_lines = MapLines(lines=lines, made_by=MODEL)
    else:
        if model_text:
            run.detail = _NOTHING_USABLE
        map_lines = extractive_map(l1s)
    about = {"dropped": run.dropped, "usage": usage_of(run.tries), "detail": run.detail}
    return replace(map_lines, answer_fields={"made_by": map_lines.made_by, **about})


def _missing_headlines(l1s: Sequence[Row], room: int) -> list[str]:
    """Return sentences of the L1s that no line of the model covers, up to the limit."""
    lines = headlines_of(l1s, room) if l1s else []
    ends = accumulate(len(line) + 1 for line in lines)
    return [line for line, end in zip(lines, ends, strict=True) if end <= room + 1]


def _source_text(name: str, day: date, topic: str | None, text: str) -> RetrievedEvent:
    return RetrievedEvent(event_id=name, day=day, text=f"{topic}\n{text}" if topic else text)


def _length_range(source: SummarySource) -> tuple[int, int]:
    """Return the minimum and maximum length of an L1 of these turns, in characters."""
    characters_max = min(int(RATIO_MOST * source.characters), limits.L1_CHARACTERS_MAX)
    return min(ceil(RATIO_LEAST * source.characters), characters_max), characters_max


def _fit_source(texts: Sequence[RetrievedEvent]) -> Sequence[RetrievedEvent]:
    """Return the texts if they fit the limit, else their most important sentences."""
    if sum(len(text.text) for text in texts) <= limits.SUMMARY_MODEL_CHARACTERS_MAX:
        return texts
    chosen: dict[int, list[str]] = {}
    for headline in headlines([text.text for text in texts], limits.SUMMARY_MODEL_CHARACTERS_MAX):
        chosen.setdefault(headline.text, []).append(headline.sentence)
    return [replace(texts[at], text=" ".join(parts)) for at, parts in chosen.items()]


def _supported_sentences(text: str, texts: Sequence[RetrievedEvent], run: SummaryRun) -> list[str]:
    """Return the sentences whose claims are all in the texts; record the others in `run`."""
    draft = parse_draft(text, texts[-1].day)
    evidence = [EventEvidence(event.event_id, event.text, event.day) for event in texts]
    supported: list[str] = []
    for sentence in draft.sentences:
        text = " ".join(draft.text[sentence.start : sentence.end].split()).lstrip("-*•# ")
        if (
            not any(character.isalnum() for character in text)
            or sentence.is_heading
            or _INTRODUCTION.search(text)
        ):
            continue
        unsupported = (
            claim
            for claim in draft.claims_of(sentence)
            if not any(event.supports(claim) for event in evidence)
        )
        missing = next(unsupported, None)
        if missing is not None:
            excerpt = draft.text[missing.start : missing.end][:EXCERPT_CHARACTERS_MAX]
            run.drop(text, f"The source does not say {excerpt!r}.")
        elif text not in supported:
            supported.append(text)
    return supported


def _select_sentences(sentences: Sequence[str], characters_max: int) -> list[str]:
    """Return the most important sentences that fit the limit, in order; at least one."""
    if len(" ".join(sentences)) <= characters_max:
        return list(sentences)
    chosen = {headline.text for headline in headlines(sentences, characters_max, each=1)}
    selection = [sentence for at, sentence in enumerate(sentences) if at in chosen]
    return selection if len(" ".join(selection)) <= characters_max else [min(sentences, key=len)]


def _fill_from_source(
    source: SummarySource, existing: Sequence[str], characters_min: int, characters_max: int
) -> list[str]:
    """Return sentences of the turns that fill the remaining space.

    At least one if `existing` is empty. Questions are used only if there is nothing else.
    """
    candidates = [
        sentence
        for row in source.turns
        for side in (row.query, row.response)
        for sentence in sentences(side)
    ]
    candidates = [one for one in candidates if not QUESTION_END.search(one)] or candidates
    length = len(" ".join(existing)) if existing else -1  # no blank before the first sentence
    best = headlines(candidates, characters_max - length, each=1, known_sentences=existing)
    chosen = {headline.text for headline in best}
    added = sum(len(candidates[at]) + 1 for at in chosen)
    if existing and length + added > characters_max:  # one that is longer than the room
        chosen, added = set(), 0
    length += added
    # Short ones are no headlines, but they fill.
    rest = set(range(len(candidates))) - chosen
    for at in sorted(rest, key=lambda at: -len(candidates[at])):
        if length >= characters_min:
            break
        if length + len(candidates[at]) + 1 <= characters_max:
            chosen.add(at)
            length += len(candidates[at]) + 1
    return [candidates[at] for at in sorted(chosen)]
