"""Review a draft: check its claims against the events that it cites. Pure: no store, no clock."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from heapq import merge
from typing import Any, Literal, TypeAlias

from ..protocol.agent import Check, CheckName
from ..protocol.seal import read_seal
from ..screening import DetectedSecret, find_secrets
from .evidence import STATEMENT_CHARACTERS_MAX, STATEMENTS_COMPARED_MAX, EventEvidence
from .extract import (
    BULLET,
    Sentence,
    Tag,
    blank_out,
    claims_in,
    code_blocks,
    find_tags,
    language_of,
    matches,
    sentences,
    tags_for,
    unify_characters,
)
from .plain import numbers_in_code, plain_spans
from .statements import Statement, Verdict, compare
from .values import Claim, Kind

OwnTexts: TypeAlias = Callable[[], Sequence[EventEvidence]]
CHECK_BY_KIND: dict[Kind, CheckName] = {
    "number": "number_in_ref",
    "date": "date_in_ref",
    "name": "name_in_ref",
    "url": "url_in_ref",
}
STATEMENTS_MAX = 100  # sentences of a draft that are compared with the cited events
EXCERPT_CHARACTERS_MAX = 200  # of a claim or an id in a response
_MARKERS = "[general], [unverified] or [assumption]"
STATEMENT_DETAILS: dict[Verdict | None, str] = {
    "same": "The event says the same.",
    "negation": (
        "The cited event says the opposite: “{quote}”. "
        f"Correct the sentence, cite another event, or mark it {_MARKERS}."
    ),
    "roles": (
        "The cited event says it the other way round: “{quote}”. "
        f"Correct the sentence, cite another event, or mark it {_MARKERS}."
    ),
    None: (
        "Not checked: who does what, and whether it is denied. "
        "Only the values of the sentence were compared with the event."
    ),
}
_SERVICE_LINE = re.compile(
    r"^[ \t]*+(?:(?:L1|L2|CRITICAL|CUBE_NOTHING):[ \t]*\S|CUBE:[^|\n]*\|[^|\n]*\|"
    r"|RATE:[ \t]*\S+[ \t]+[+-]?[01]\b|(?:TASK_DONE|PUBLISH)[ \t]*$|memory: not used\b)[^\n]*",
    re.MULTILINE,
)
_SEAL_LINE = re.compile(r"^[^\n|]{0,80}\|[ \t]*#\d[^\n]{0,200}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ParsedDraft:
    """A draft with its secrets, tags, sentences and claims."""

    day: date
    language: str
    prose: str  # the text without code, tags, secrets and list markers; offsets stay
    text: str  # secrets are blacked out, so that no check repeats them
    secrets: tuple[DetectedSecret, ...]
    tags: tuple[Tag, ...]
    sentences: tuple[Sentence, ...]
    claims: tuple[Claim, ...]

    @property
    def refs(self) -> list[str]:
        """Return the cited ids in order, without duplicates."""
        return list(dict.fromkeys(ref for tag in self.tags for ref, _, _ in tag.refs))

    def claims_of(self, sentence: Sentence) -> tuple[Claim, ...]:
        """Return the claims that begin in a sentence."""
        first, end = (
            bisect_left(self.claims, at, key=lambda claim: claim.start)
            for at in (sentence.start, sentence.end)
        )
        return self.claims[first:end]


@dataclass(frozen=True, slots=True)
class CitedEvent:
    """The event of a ref: its status, and its evidence if it may be cited."""

    status: Literal["unknown", "own", "not_shown", "shown"]
    evidence: EventEvidence | None = None


def parse_draft(text: str, day: date) -> ParsedDraft:
    """Parse a draft into claims, tags and sentences. Code blocks are ignored."""
    secrets = find_secrets(text)
    secret_spans = [(secret.start, secret.end) for secret in secrets]
    masked = blank_out(text, secret_spans).replace("\x00", "\u2588") if secret_spans else text
    prose = unify_characters(blank_out(text, code_blocks(text) + secret_spans))
    tags = find_tags(prose)
    tag_spans = [(tag.start, tag.end) for tag in tags]
    language = language_of(text)
    plain = blank_out(prose, tag_spans + [one.span() for one in matches(BULLET, prose)])
    claims = claims_in(plain, day, language)
    values = ((claim.start, claim.end) for claim in claims if claim.kind != "name")
    unbreakable = list(merge(values, tag_spans))
    return ParsedDraft(
        day=day,
        language=language,
        prose=plain,
        text=masked,
        secrets=tuple(secrets),
        tags=tuple(tags),
        sentences=tuple(sentences(prose, tags, unbreakable)),
        claims=tuple(claims),
    )


def review(
    draft: ParsedDraft,
    cited: Mapping[str, CitedEvent],
    event_id: str,
    own: OwnTexts = tuple,
) -> list[Check]:
    """Return the checks of a draft: failures first, then in the order of the draft.

    `cited` has an entry for each ref of the draft. `own` reads the user's message of the turn and
    the tool results of its session: what they say needs no tag.
    """
    if not draft.text.strip():
        detail = "The draft is empty: write an answer, remember it and look again."
        return [_check("draft_not_empty", detail)]
    checks = [
        _check("draft_not_empty", "The draft is not empty.", passes=True),
        *_service_line_checks(draft.text),
        *_secret_checks(draft.secrets),
        *_event_id_check(draft, event_id),
        *_ref_checks(draft, cited),
        *_claim_checks(draft, cited, own),
        *_statement_checks(draft, cited),
    ]
    return sorted(checks, key=sort_key)


def sort_key(check: Check) -> tuple[bool, int]:
    """Return the sort key of a check: failures first, then in the order of the draft."""
    return check.status != "fail", check.start or 0


def remove_service_lines(text: str) -> str:
    """Return the text without hidden service lines and seals. Code blocks stay unchanged."""
    parts, at = [], 0
    for start, end in _service_spans(text):
        parts.append(text[at : max(start, at)])
        at = max(at, end + (text[end : end + 1] == "\n"))
    return "".join(parts) + text[at:]


def _service_spans(text: str) -> list[tuple[int, int]]:
    prose = blank_out(text, code_blocks(text))
    spans = [match.span() for match in matches(_SERVICE_LINE, prose)]
    spans += [match.span() for match in matches(_SEAL_LINE, prose) if read_seal(match[0])]
    return sorted(spans)


def _service_line_checks(text: str) -> Iterator[Check]:
    spans = _service_spans(text)
    for start, end in spans:
        detail = (
            "This is a hidden service line: "
            "remove it from the answer and send its content with remember."
        )
        yield _check_at(text, start, end, "no_service_line", detail)
    if not spans:
        yield _check("no_service_line", "The draft has no hidden service line.", passes=True)


def _secret_checks(secrets: Sequence[DetectedSecret]) -> Iterator[Check]:
    for secret in secrets:  # identified by its offsets only, so that the check does not repeat it
        detail = (
            f"This is a secret ({secret.kind}): remove it. "
            "Tell the user to revoke it and to keep the new one in an environment variable."
        )
        yield _check("no_secret", detail, start=secret.start, end=secret.end)
    if not secrets:
        yield _check("no_secret", "The draft has no key, token or password.", passes=True)


def _event_id_check(draft: ParsedDraft, event_id: str) -> Iterator[Check]:
    if not event_id:
        return
    is_cited = event_id in draft.refs
    detail = (
        "The draft cites the event of event_id."
        if is_cited
        else "The draft does not cite the event of event_id: "
        "put (ref: …) with its id after what it supports, or send an empty event_id."
    )
    yield _check("event_id_cited", detail, passes=is_cited, ref=event_id[:EXCERPT_CHARACTERS_MAX])


def _ref_checks(draft: ParsedDraft, cited: Mapping[str, CitedEvent]) -> Iterator[Check]:
    for tag in draft.tags:
        for ref, start, end in tag.refs:
            check, detail = _REF_RESULTS[status := cited[ref].status]
            passes = status == "shown"
            yield _check_at(draft.text, start, end, check, detail, passes=passes, ref=ref)
        if not tag.refs and not tag.has_marker:
            detail = (
                "This ref has no id: put the id of an event that a search returned after `ref:`."
            )
            yield _check_at(draft.text, tag.start, tag.end, "ref_exists", detail)


_REF_RESULTS: dict[str, tuple[CheckName, str]] = {
    "unknown": (
        "ref_exists",
        "This event does not exist: cite an event_id that a search of this session returned.",
    ),
    "own": (
        "ref_shown",
        (
            "This is the turn under review: an answer cannot prove itself. "
            "Cite the event that supports it, or mark the claim."
        ),
    ),
    "not_shown": (
        "ref_shown",
        "No search of this session returned this event: search for it before you cite it.",
    ),
    "shown": ("ref_shown", "A search of this session returned it."),
}


def _exempt_claims(draft: ParsedDraft, own: Sequence[EventEvidence]) -> Callable[[Claim], bool]:
    """Return what says if a claim needs no tag: own texts, code, list numbers, right arithmetic."""
    blocks = code_blocks(draft.text)
    spans = plain_spans(blank_out(draft.text, blocks))
    in_code = numbers_in_code(draft.text, blocks)
    return lambda claim: (
        draft.text[claim.start : claim.end] in in_code
        or any(start <= claim.start and claim.end <= end for start, end in spans)
        or any(one.supports(claim) for one in own)
    )


def _claim_checks(
    draft: ParsedDraft, cited: Mapping[str, CitedEvent], own_texts: OwnTexts
) -> Iterator[Check]:
    is_exempt: Callable[[Claim], bool] | None = None  # read only if a claim has no tag
    for sentence in draft.sentences:
        claims = draft.claims_of(sentence)
        for claim in claims:
            tags = tags_for(sentence, claim.end, claims[0].start)
            tags = tuple(tag for tag in tags if tag.refs or tag.has_marker)
            if tags:
                yield from _support_checks(draft, claim, tags, cited)
            elif not (claim.weak or sentence.is_question or sentence.is_heading):
                is_exempt = is_exempt or _exempt_claims(draft, own_texts())
                if is_exempt(claim):
                    continue
                detail = f"Put (ref: <event_id>) after it if memory says so, else {_MARKERS}."
                yield _check_at(draft.text, claim.start, claim.end, "claim_marked", detail)


def _support_checks(
    draft: ParsedDraft, claim: Claim, tags: Sequence[Tag], cited: Mapping[str, CitedEvent]
) -> Iterator[Check]:
    place = draft.text, claim.start, claim.end
    if not claim.weak:
        yield _check_at(*place, "claim_marked", "The claim has a ref or a marker.", passes=True)
    refs = list(dict.fromkeys(ref for tag in tags for ref, _, _ in tag.refs))
    evidence = [event for ref in refs if (event := cited[ref].evidence) is not None]
    if any(tag.has_marker for tag in tags) or not evidence:
        return  # the checks of the refs report why there is no evidence
    check = CHECK_BY_KIND[claim.kind]
    supporting = next((event for event in evidence if event.supports(claim)), None)
    if supporting is not None:
        ref = supporting.event_id
        yield _check_at(*place, check, "The event says so.", passes=True, ref=ref)
        return
    alternatives = list(
        dict.fromkeys(text for event in evidence for text in event.alternatives(claim))
    )
    hint = f"It says instead: {'; '.join(alternatives[:3])}. " if alternatives else ""
    detail = (
        f"The cited event does not say this. {hint}"
        f"Correct it, cite the event that says it, or mark it {_MARKERS}."
    )
    yield _check_at(*place, check, detail, ref=_ids_of(evidence))


def _statement_checks(draft: ParsedDraft, cited: Mapping[str, CitedEvent]) -> Iterator[Check]:
    """Compare each sentence that cites events with their sentences: negations and roles."""
    citing = (
        sentence
        for sentence in draft.sentences
        if not (sentence.is_question or sentence.is_heading)
        and any(tag.refs for tag in sentence.tags)
        and not any(tag.has_marker for tag in sentence.tags)
    )
    for number, sentence in enumerate(citing):
        refs = dict.fromkeys(ref for tag in sentence.tags for ref, _, _ in tag.refs)
        evidence = [event for ref in refs if (event := cited[ref].evidence) is not None]
        text = draft.prose[sentence.start : sentence.end].replace("\x00", " ")
        if evidence and text.strip():
            statement = Statement(text, draft.claims_of(sentence), sentence.start)
            can_compare = number < STATEMENTS_MAX and len(text) <= STATEMENT_CHARACTERS_MAX
            yield _statement_check(draft, statement if can_compare else None, sentence, evidence)


def _statement_check(
    draft: ParsedDraft,
    statement: Statement | None,
    sentence: Sentence,
    evidence: Sequence[EventEvidence],
) -> Check:
    """Compare one sentence; None is too much to compare."""
    result = None
    if statement is not None:
        similar = [one for event in evidence for one in event.statements_like(statement.text)]
        similar.sort(key=lambda item: -item[0])
        others = [one for _, one in similar[:STATEMENTS_COMPARED_MAX]]
        for language in dict.fromkeys((evidence[0].language, draft.language)):
            result = result or compare(statement, others, language)
    verdict, quote = result or (None, "")
    raw = draft.text[sentence.start : sentence.end]
    start = sentence.start + len(raw) - len(raw.lstrip())
    return _check_at(
        draft.text,
        start,
        sentence.start + len(raw.rstrip()),
        "statement_in_ref",
        STATEMENT_DETAILS[verdict].format(quote=quote[:EXCERPT_CHARACTERS_MAX]),
        passes=verdict in (None, "same"),
        ref=_ids_of(evidence),
        checked=None if verdict else False,
    )


def _ids_of(evidence: Sequence[EventEvidence]) -> str:
    return ", ".join(event.event_id for event in evidence)[:EXCERPT_CHARACTERS_MAX]


def _check_at(
    text: str, start: int, end: int, check: CheckName, detail: str, **fields: Any
) -> Check:
    """Return a check of a part of the draft."""
    claim = text[start:end][:EXCERPT_CHARACTERS_MAX]
    return _check(check, detail, claim=claim, start=start, end=end, **fields)


def _check(check: CheckName, detail: str, *, passes: bool = False, **fields: Any) -> Check:
    return Check(check=check, status="pass" if passes else "fail", detail=detail, **fields)
