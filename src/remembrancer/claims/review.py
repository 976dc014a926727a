"""Look at a draft:

what it claims, what it cites, and whether the one is in the other. Pure: no store, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from ..protocol.seal import read_seal
from ..protocol.second_look import Check, CheckName
from ..search.text.screening import DetectedSecret, find_secrets
from .evidence import EventEvidence
from .extract import claims_in, language_of, plain
from .tags import Sentence, Tag, bullets, fenced_code, sentences, tag_of, tags_in, without
from .values import Claim, Kind

IN_REF: dict[Kind, CheckName] = {
    "number": "number_in_ref",
    "date": "date_in_ref",
    "name": "name_in_ref",
    "url": "url_in_ref",
}
SHOWN_CHARACTERS_MAX = 200  # of a claim or an id that an answer repeats
_SERVICE_LINE = re.compile(
    r"^[ \t]*(?:(?:L1|L2|CRITICAL|CUBE_NOTHING):[ \t]*\S|CUBE:[^|\n]*\|[^|\n]*\|"
    r"|RATE:[ \t]*\S+[ \t]+[+-]?[01]\b|(?:TASK_DONE|PUBLISH)[ \t]*$|memory: not used\b)[^\n]*",
    re.MULTILINE,
)
_SEAL_LINE = re.compile(r"^[^\n|]{0,80}\|[ \t]*#\d[^\n]{0,200}$", re.MULTILINE)
_MARKERS = "[general], [unverified] or [assumption]"


@dataclass(frozen=True, slots=True)
class ParsedDraft:
    """A draft taken apart."""

    text: str  # a secret in it is blacked out, so that no check repeats it
    secrets: tuple[DetectedSecret, ...]
    tags: tuple[Tag, ...]
    sentences: tuple[Sentence, ...]
    claims: tuple[Claim, ...]

    @property
    def refs(self) -> list[str]:
        """The ids it cites, each once, in order."""
        return list(dict.fromkeys(ref for tag in self.tags for ref, _, _ in tag.refs))


@dataclass(frozen=True, slots=True)
class CitedEvents:
    """What a ref turned out to be. `evidence` is there where it may be cited."""

    standing: Literal["unknown", "own", "not_shown", "shown"]
    evidence: EventEvidence | None = None


def parse_draft(text: str, day: date) -> ParsedDraft:
    """The draft's claims, tags and sentences; blocks of code are passed over."""
    secrets = find_secrets(text)
    hidden = [(secret.start, secret.end) for secret in secrets]
    shown = without(text, hidden).replace("\x00", "\u2588") if hidden else text
    clear = plain(without(text, fenced_code(text) + hidden))
    tags = tags_in(clear)
    bare = without(clear, [(tag.start, tag.end) for tag in tags] + bullets(clear))
    claims = claims_in(bare, day, language_of(text))
    closed = sorted(
        [(c.start, c.end) for c in claims if c.kind != "name"]
        + [(tag.start, tag.end) for tag in tags]
    )
    return ParsedDraft(
        shown, tuple(secrets), tuple(tags), tuple(sentences(clear, tags, closed)), tuple(claims)
    )


def review(draft: ParsedDraft, cited: Mapping[str, CitedEvents], event_id: str) -> list[Check]:
    """Every check of a draft, failures first, each in the order of the draft.

    `cited` has an entry for each of its refs.
    """
    if not draft.text.strip():
        return [
            Check(
                check="draft_not_empty",
                status="fail",
                detail="The draft is empty: write an answer, remember it and look again.",
            )
        ]
    checks = [
        Check(check="draft_not_empty", status="pass", detail="The draft says something."),
        *_service_lines(draft.text),
        *_secrets(draft.secrets),
        *_center(draft, event_id),
        *_refs(draft, cited),
        *_claims(draft, cited),
    ]
    return sorted(checks, key=in_order)


def in_order(check: Check) -> tuple[bool, int]:
    """Where a check stands among others: failures first, each in the order of the draft."""
    return check.status != "fail", check.start or 0


def without_service_lines(text: str) -> str:
    """The text without its hidden service lines and seals; blocks of code stay as they are."""
    kept, at = [], 0
    for start, end in _service_spans(text):
        kept.append(text[at : max(start, at)])
        at = max(at, end + (text[end : end + 1] == "\n"))
    return "".join(kept) + text[at:]


def _service_spans(text: str) -> list[tuple[int, int]]:
    clear = without(text, fenced_code(text))
    found = [match.span() for match in _SERVICE_LINE.finditer(clear)]
    found += [match.span() for match in _SEAL_LINE.finditer(clear) if read_seal(match[0])]
    return sorted(found)


def _service_lines(text: str) -> Iterator[Check]:
    found = _service_spans(text)
    for start, end in found:
        detail = "This is a hidden service line: take it out of the answer and send what it says with remember."
        yield _about(text, start, end, check="no_service_line", status="fail", detail=detail)
    if not found:
        yield Check(
            check="no_service_line", status="pass", detail="No hidden service line is in it."
        )


def _secrets(found: Sequence[DetectedSecret]) -> Iterator[Check]:
    for secret in found:  # told by its place alone: a secret is not repeated
        detail = f"This is a secret ({secret.kind}): take it out. Tell the user to revoke it and to keep the new one in an environment variable."
        yield Check(
            check="no_secret", status="fail", detail=detail, start=secret.start, end=secret.end
        )
    if not found:
        yield Check(
            check="no_secret", status="pass", detail="No key, token or password was found in it."
        )


def _center(draft: ParsedDraft, event_id: str) -> Iterator[Check]:
    if not event_id:
        return
    if event_id in draft.refs:
        yield Check(
            check="event_id_cited",
            status="pass",
            detail="The event named in event_id is cited.",
            ref=event_id[:SHOWN_CHARACTERS_MAX],
        )
    else:
        detail = "The draft does not cite the event named in event_id: put (ref: …) with it behind what rests on it, or send an empty event_id."
        yield Check(
            check="event_id_cited",
            status="fail",
            detail=detail,
            ref=event_id[:SHOWN_CHARACTERS_MAX],
        )


def _refs(draft: ParsedDraft, cited: Mapping[str, CitedEvents]) -> Iterator[Check]:
    for tag in draft.tags:
        for ref, start, end in tag.refs:
            yield _ref(draft, ref, start, end, cited[ref])
        if not tag.refs and not tag.marked:
            detail = "This ref names no event: put the id of an event that a search returned behind `ref:`."
            yield _about(
                draft.text, tag.start, tag.end, check="ref_exists", status="fail", detail=detail
            )


def _ref(draft: ParsedDraft, ref: str, start: int, end: int, found: CitedEvents) -> Check:
    said: dict[str, tuple[CheckName, str]] = {
        "unknown": (
            "ref_exists",
            "There is no such event in this memory: cite an event_id that a search of this session returned.",
        ),
        "own": (
            "ref_shown",
            "This is the turn that is looked at: an answer cannot prove itself. Cite the event it rests on, or mark the claim.",
        ),
        "not_shown": (
            "ref_shown",
            "No search of this session returned this event: search for it before you cite it.",
        ),
        "shown": ("ref_shown", "A search of this session returned it."),
    }
    check, detail = said[found.standing]
    status: Literal["pass", "fail"] = "pass" if found.standing == "shown" else "fail"
    return _about(draft.text, start, end, check=check, status=status, detail=detail, ref=ref)


def _claims(draft: ParsedDraft, cited: Mapping[str, CitedEvents]) -> Iterator[Check]:
    claims = iter(draft.claims)
    claim = next(claims, None)
    for sentence in draft.sentences:
        own: list[Claim] = []
        while claim is not None and claim.start < sentence.end:
            own.append(claim)
            claim = next(claims, None)
        for one in own:
            tags = [
                tag for tag in tag_of(sentence, one.end, own[0].start) if tag.refs or tag.marked
            ]
            if tags:
                yield from _supported(draft, one, tags, cited)
            elif not (one.weak or sentence.asks or sentence.heads):
                yield _about(
                    draft.text, one.start, one.end, check="claim_marked", status="fail",
                    detail=f"Put (ref: <event_id>) behind it if memory says so, else {_MARKERS}.",
                )  # fmt: skip


def _supported(
    draft: ParsedDraft, claim: Claim, tags: Sequence[Tag], cited: Mapping[str, CitedEvents]
) -> Iterator[Check]:
    if not claim.weak:
        yield _about(
            draft.text,
            claim.start,
            claim.end,
            check="claim_marked",
            status="pass",
            detail="It carries a ref or a marker.",
        )
    refs = list(dict.fromkeys(ref for tag in tags for ref, _, _ in tag.refs))
    evidence = [known for ref in refs if (known := cited[ref].evidence) is not None]
    if any(tag.marked for tag in tags) or not evidence:
        return  # where no ref holds, that is what is told
    check = IN_REF[claim.kind]
    holding = next((event for event in evidence if event.holds(claim)), None)
    if holding is not None:
        yield _about(
            draft.text,
            claim.start,
            claim.end,
            check=check,
            status="pass",
            detail="The event says so.",
            ref=holding.event_id,
        )
        return
    instead = list(dict.fromkeys(said for event in evidence for said in event.says_instead(claim)))
    told = f"What is there instead: {'; '.join(instead[:3])}. " if instead else ""
    detail = f"The cited event does not say this. {told}Correct it, cite the event that says it, or mark it {_MARKERS}."
    where = ", ".join(event.event_id for event in evidence)[:SHOWN_CHARACTERS_MAX]
    yield _about(
        draft.text, claim.start, claim.end, check=check, status="fail", detail=detail, ref=where
    )


def _about(
    text: str,
    start: int,
    end: int,
    *,
    check: CheckName,
    status: Literal["pass", "fail"],
    detail: str,
    ref: str | None = None,
) -> Check:
    return Check(
        check=check,
        status=status,
        detail=detail,
        claim=text[start:end][:SHOWN_CHARACTERS_MAX],
        start=start,
        end=end,
        ref=ref,
    )
