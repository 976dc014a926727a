"""Add refs that a model left out.

A sentence with claims and without a tag gets the ref of an event that supports all its claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from ..claims.evidence import EventEvidence
from ..claims.review import parse_draft
from ..search.text.analysis import terms

# Share of a sentence's terms that the event must contain: a name alone occurs in many events.
SHARED_RATIO_MIN = 0.5
_ENDS = ".!?…。！？\"'”’»)*_ \t\n"


def add_refs(text: str, events: Sequence[EventEvidence], day: date) -> str:
    """Return the text with refs added.

    `day` is the day of the text. Of several events that support a sentence, the one that shares
    most of its terms is cited.
    """
    draft = parse_draft(text, day)
    parts, at = [], 0
    for sentence in draft.sentences:
        claims = [claim for claim in draft.claims if sentence.start <= claim.start < sentence.end]
        if (
            sentence.tags
            or sentence.is_question
            or sentence.is_heading
            or all(claim.weak for claim in claims)
        ):
            continue
        sentence_terms = terms(draft.text[sentence.start : sentence.end])
        supporting = [event for event in events if all(event.supports(claim) for claim in claims)]
        best = max(supporting, key=lambda event: len(sentence_terms & event.terms), default=None)
        if best is None or len(sentence_terms & best.terms) < SHARED_RATIO_MIN * len(
            sentence_terms
        ):
            continue
        end = max(
            sentence.start + len(text[sentence.start : sentence.end].rstrip(_ENDS)), claims[-1].end
        )
        parts.append(f"{text[at:end]} (ref: {best.event_id})")
        at = end
    return "".join(parts) + text[at:]
