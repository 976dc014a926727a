"""What a language model says of cited sentences, where one is configured to judge: whether the
event says so, or the contrary.

It sees what comparing values cannot: a denial, a thing called off, who did what to whom. It adds
checks and takes none away. Its word counts only with a quotation that stands in the cited event,
word for word, so that it cannot make one up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..claims.evidence import EventEvidence
from ..claims.review import EXCERPT_CHARACTERS_MAX, CitedEvent, ParsedDraft
from ..models import Budget, ModelAttempt, ModelFailed, ModelMessage, ModelRequest, Models
from ..models.port import WHY
from ..protocol import limits
from ..protocol.fence import defused, fenced, new_delimiter
from ..protocol.second_look import Check
from .event_blocks import event_blocks

_RULES = resources.files(__package__).joinpath("judge.md").read_text("utf-8").strip()
_QUOTE_CHARACTERS_MIN = 8  # less stands anywhere and decides nothing
_VERDICTS = ("supported", "contradicted", "not_stated")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "i": {"type": "integer"},
                    "verdict": {"type": "string", "enum": list(_VERDICTS)},
                    "quote": {"type": "string"},
                },
                "required": ["i", "verdict", "quote"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Citing:
    """A sentence of a draft and the events that it cites."""

    start: int
    end: int
    text: str
    events: Sequence[EventEvidence]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came of it:

    checks to add, the calls it took, and why nothing was judged where that is so.
    """

    checks: Sequence[Check] = ()
    tries: Sequence[ModelAttempt] = ()
    failed: str | None = None


def judge(
    models: Models,
    draft: ParsedDraft,
    cited: Mapping[str, CitedEvent],
    budget: Budget,
    *,
    outside: bool,
) -> Judgement:
    """Ask the models of the slot `judge` about the sentences that cite events, as many as there is
    room for.
    """
    sentences = list(_citing(draft, cited))
    if not sentences:
        return Judgement()
    events = {event.event_id: event for one in sentences for event in one.events}
    stored = event_blocks(events.values())
    asked = "\n".join(
        f"{n}. {one.text} [{', '.join(event.event_id for event in one.events)}]"
        for n, one in enumerate(sentences, 1)
    )
    delimiter = new_delimiter()
    told = f"The events (data):\n{fenced(stored, delimiter)}\n\nThe sentences (data):\n{fenced(defused(asked), delimiter)}"
    question = ModelRequest(
        slot="judge",
        messages=(ModelMessage("system", _RULES), ModelMessage("user", told)),
        temperature=0.0,
        schema=_SCHEMA,
        outside=outside,
    )
    try:
        reply = models.ask(question, budget)
    except ModelFailed as error:
        return Judgement(tries=error.tries, failed=WHY[error.reason])
    verdicts = _verdicts(reply.text)
    if verdicts is None:
        return Judgement(tries=reply.tries, failed=WHY["garbled"])
    return Judgement(checks=list(_checks(sentences, verdicts)), tries=reply.tries)


def _citing(draft: ParsedDraft, cited: Mapping[str, CitedEvent]) -> Iterator[_Citing]:
    """The sentences that cite events which may be cited, as many as one question has room for."""
    room, known, count = limits.JUDGED_CHARACTERS_MAX, set[str](), 0
    for sentence in draft.sentences:
        refs = dict.fromkeys(ref for tag in sentence.tags for ref, _, _ in tag.refs)
        events = [event for ref in refs if (event := cited[ref].evidence) is not None]
        text = " ".join(draft.text[sentence.start : sentence.end].split())
        needs = len(text) + sum(len(event.text) for event in events if event.event_id not in known)
        if not events or sentence.asks or sentence.heads or needs > room:
            continue
        if count == limits.JUDGED_SENTENCES_MAX:
            break
        room, count = room - needs, count + 1
        known.update(event.event_id for event in events)
        yield _Citing(sentence.start, sentence.end, text, events)


def _verdicts(said: str) -> list[tuple[int, str, str]] | None:
    """Number, verdict and quotation of each; None for what is no such answer."""
    try:
        told = json.loads(said[said.index("{") : said.rindex("}") + 1])["verdicts"]
        return [(one["i"], one["verdict"], one["quote"]) for one in told]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _checks(
    sentences: Sequence[_Citing], verdicts: Sequence[tuple[int, str, str]]
) -> Iterator[Check]:
    for number, verdict, quote in {
        one[0]: one for one in verdicts if isinstance(one[0], int)
    }.values():
        if (
            not 1 <= number <= len(sentences)
            or verdict not in ("supported", "contradicted")
            or not isinstance(quote, str)
        ):
            continue
        sentence = sentences[number - 1]
        event = next((event for event in sentence.events if _stands_in(quote, event.text)), None)
        if event is None:
            continue
        shown = " ".join(quote.split())[:EXCERPT_CHARACTERS_MAX]
        fails = verdict == "contradicted"
        yield Check(
            check="said_by_ref",
            status="fail" if fails else "pass",
            detail=f"A model judged that the cited event says otherwise: {shown!r}. Correct the sentence, or cite the event that says it."
            if fails
            else f"A model judged that the cited event says so: {shown!r}.",
            claim=sentence.text[:EXCERPT_CHARACTERS_MAX],
            start=sentence.start,
            end=sentence.end,
            ref=event.event_id,
        )


def _stands_in(quote: str, text: str) -> bool:
    plain = " ".join(quote.split()).casefold()
    return len(plain) >= _QUOTE_CHARACTERS_MIN and plain in " ".join(text.split()).casefold()
