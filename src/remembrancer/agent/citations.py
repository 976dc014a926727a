"""Refs that a model left out.

A sentence that makes claims and carries no tag gets the ref of an event that says all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from ..claims.evidence import EventEvidence
from ..claims.review import parse_draft
from ..search.text.analysis import terms

# of a sentence's words, stop words aside, that the event must have too: a name alone is in many
SHARED_LEAST = 0.5
_ENDS = ".!?…。！？\"'”’»)*_ \t\n"


def with_refs(text: str, events: Sequence[EventEvidence], day: date) -> str:
    """The text with those refs.

    `day` is when it is said; of several events that hold every claim, the one with most of the
    words.
    """
    draft = parse_draft(text, day)
    kept, at = [], 0
    for sentence in draft.sentences:
        claims = [claim for claim in draft.claims if sentence.start <= claim.start < sentence.end]
        if sentence.tags or sentence.asks or sentence.heads or all(claim.weak for claim in claims):
            continue
        said = terms(draft.text[sentence.start : sentence.end])
        holding = [event for event in events if all(event.holds(claim) for claim in claims)]
        best = max(holding, key=lambda event: len(said & event.terms), default=None)
        if best is None or len(said & best.terms) < SHARED_LEAST * len(said):
            continue
        end = max(
            sentence.start + len(text[sentence.start : sentence.end].rstrip(_ENDS)), claims[-1].end
        )
        kept.append(f"{text[at:end]} (ref: {best.event_id})")
        at = end
    return "".join(kept) + text[at:]
