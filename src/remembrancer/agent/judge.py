"""Let a language model judge whether cited events support the sentences of a draft.

A model sees what comparing values cannot: denials, cancellations, who did what to whom. Its
judgement adds checks and removes none. A verdict counts only if it quotes the cited event verbatim,
so that the model cannot invent evidence.
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
from ..models.port import FAILURE_MESSAGES
from ..protocol import limits
from ..protocol.fence import defused, fenced, new_delimiter
from ..protocol.recalled import event_blocks
from ..protocol.second_look import Check

_RULES = resources.files(__package__).joinpath("judge.md").read_text("utf-8").strip()
_QUOTE_CHARACTERS_MIN = 8  # shorter quotes occur anywhere and prove nothing
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
class _CitingSentence:
    """A sentence of a draft with the events that it cites."""

    start: int
    end: int
    text: str
    events: Sequence[EventEvidence]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The result: checks to add, the model calls, and the reason if nothing was judged."""

    checks: Sequence[Check] = ()
    tries: Sequence[ModelAttempt] = ()
    failure: str | None = None


def judge(
    models: Models,
    draft: ParsedDraft,
    cited: Mapping[str, CitedEvent],
    budget: Budget,
    *,
    outside: bool,
) -> Judgement:
    """Ask the models of the slot `judge` about the sentences that cite events, up to the limits."""
    sentences = list(_citing_sentences(draft, cited))
    if not sentences:
        return Judgement()
    events = {event.event_id: event for sentence in sentences for event in sentence.events}
    stored = event_blocks(events.values())
    questions = "\n".join(
        f"{n}. {sentence.text} [{', '.join(event.event_id for event in sentence.events)}]"
        for n, sentence in enumerate(sentences, 1)
    )
    delimiter = new_delimiter()
    data = (
        f"The events (data):\n{fenced(stored, delimiter)}\n\n"
        f"The sentences (data):\n{fenced(defused(questions), delimiter)}"
    )
    request = ModelRequest(
        slot="judge",
        messages=(ModelMessage("system", _RULES), ModelMessage("user", data)),
        temperature=0.0,
        schema=_SCHEMA,
        outside=outside,
    )
    try:
        reply = models.ask(request, budget)
    except ModelFailed as error:
        return Judgement(tries=error.tries, failure=FAILURE_MESSAGES[error.reason])
    verdicts = _verdicts(reply.text)
    if verdicts is None:
        return Judgement(tries=reply.tries, failure=FAILURE_MESSAGES["garbled"])
    return Judgement(checks=list(_checks(sentences, verdicts)), tries=reply.tries)


def _citing_sentences(
    draft: ParsedDraft, cited: Mapping[str, CitedEvent]
) -> Iterator[_CitingSentence]:
    """Yield the sentences with valid citations that fit into one request."""
    room, included, count = limits.JUDGED_CHARACTERS_MAX, set[str](), 0
    for sentence in draft.sentences:
        refs = dict.fromkeys(ref for tag in sentence.tags for ref, _, _ in tag.refs)
        events = [event for ref in refs if (event := cited[ref].evidence) is not None]
        text = " ".join(draft.text[sentence.start : sentence.end].split())
        length = len(text) + sum(
            len(event.text) for event in events if event.event_id not in included
        )
        if not events or sentence.is_question or sentence.is_heading or length > room:
            continue
        if count == limits.JUDGED_SENTENCES_MAX:
            break
        room, count = room - length, count + 1
        included.update(event.event_id for event in events)
        yield _CitingSentence(sentence.start, sentence.end, text, events)


def _verdicts(text: str) -> list[tuple[int, str, str]] | None:
    """Parse verdicts into number, verdict and quote. Return None if the answer is malformed."""
    try:
        verdicts = json.loads(text[text.index("{") : text.rindex("}") + 1])["verdicts"]
        return [(verdict["i"], verdict["verdict"], verdict["quote"]) for verdict in verdicts]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _checks(
    sentences: Sequence[_CitingSentence], verdicts: Sequence[tuple[int, str, str]]
) -> Iterator[Check]:
    for number, verdict, quote in {
        item[0]: item for item in verdicts if isinstance(item[0], int)
    }.values():
        if (
            not 1 <= number <= len(sentences)
            or verdict not in ("supported", "contradicted")
            or not isinstance(quote, str)
        ):
            continue
        sentence = sentences[number - 1]
        event = next(
            (event for event in sentence.events if _contains_quote(quote, event.text)), None
        )
        if event is None:
            continue
        excerpt = " ".join(quote.split())[:EXCERPT_CHARACTERS_MAX]
        is_contradicted = verdict == "contradicted"
        yield Check(
            check="said_by_ref",
            status="fail" if is_contradicted else "pass",
            detail=(
                f"A model judged that the cited event says otherwise: {excerpt!r}. "
                "Correct the sentence, or cite the event that says it."
                if is_contradicted
                else f"A model judged that the cited event says so: {excerpt!r}."
            ),
            claim=sentence.text[:EXCERPT_CHARACTERS_MAX],
            start=sentence.start,
            end=sentence.end,
            ref=event.event_id,
        )


def _contains_quote(quote: str, text: str) -> bool:
    plain = " ".join(quote.split()).casefold()
    return len(plain) >= _QUOTE_CHARACTERS_MIN and plain in " ".join(text.split()).casefold()
