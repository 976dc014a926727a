"""Find the tags of a draft: `(ref: id)`, `[general]`, `[unverified]`, `[assumption]`.

A claim belongs to the next tag in its sentence or, if there is none, to the last one before it.
Adjacent tags count as one. A tag after the full stop belongs to the sentence before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_REF = re.compile(
    r"[(\uff08\[][ ]{0,3}refs?[ ]{0,3}[:\uff1a][ ]{0,3}"
    r"(?P<ids>[^()\uff08\uff09\[\]\n]{1,2000})[)\uff09\]]",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"[\[\u3010](?P<mark>general|unverified|assumption)[\]\u3011](?!\()", re.IGNORECASE
)
_ID = re.compile(r"[^\s,;\uff0c、\uff1b`<>]{1,256}")
_EVENT_ID = re.compile(r"[ ]?(?<![0-9A-Za-z_])e_[0-9a-z]{13}(?![0-9A-Za-z_])")
_BRACKETED = re.compile(
    r"[(\[\uff08\u3010][ ]{0,3}"
    r"(?P<ids>e_[0-9a-z]{13}(?:[ ]{0,3}[,;][ ]{0,3}e_[0-9a-z]{13}){0,20})"
    r"[ ]{0,3}[)\]\uff09\u3011]"
)
_TAG_GAP = re.compile(r"[\s,;.*_]*")
_SENTENCE_END = re.compile(
    r"(?P<stop>[.!?\u2026]+)[\"'”’»)*_]*(?=\s+[^\s\da-z\u0430-\u044f]|\s+[\d][^\n]{0,3}|\s*$)"
    r"|(?P<han>[。！？；])[”’」』）]*|(?P<line>\n)",
    re.MULTILINE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|mr|mrs|ms|dr|prof|st|no|nr|ca|vs|etc|e\.g|i\.e|z\.\s?b|d\.\s?h|bzw"
    r"|inkl|evtl|usw|approx|inc|ltd|sr|sra|mme|av|tel|str|руб|тыс|г|ул|т\.\s?е|им)$",
    re.IGNORECASE,
)
_SPACE = re.compile(r"[\s]*")
_FENCE = re.compile(r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_HEADING = re.compile(
    r"^[ ]{0,3}#{1,6}[ ][^\n]*$|^[^\n|]*\|[^\n]*$(?=\n[ |:-]*-{3}[ |:-]*$)", re.MULTILINE
)


class Tag(NamedTuple):
    """Adjacent refs and markers: `text[start:end]`."""

    start: int
    end: int
    refs: tuple[tuple[str, int, int], ...]  # id, start and end
    has_marker: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, list item or row of a table, with the tags in it."""

    start: int
    end: int
    tags: tuple[Tag, ...]
    is_question: bool
    is_heading: bool  # a heading makes no claims


def blank_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace the characters of the spans by NUL, except line breaks, so that offsets stay."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            parts += [text[at:start], re.sub(r"[^\n]", "\x00", text[max(start, at) : end])]
            at = end
    return "".join(parts) + text[at:]


def code_blocks(text: str) -> list[tuple[int, int]]:
    """Return the spans of fenced code blocks. An unclosed block extends to the end."""
    spans: list[tuple[int, int]] = []
    opening: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opening is None:
            opening = match
        elif match["fence"].startswith(opening["fence"]):
            spans.append((opening.start(), match.end()))
            opening = None
    return [*spans, (opening.start(), len(text))] if opening else spans


def list_markers(text: str) -> list[tuple[int, int]]:
    """Return the spans of list markers: a dash, a bullet or a number at the start of a line."""
    return [match.span() for match in _BULLET.finditer(text)]


def find_tags(text: str) -> list[Tag]:
    """Return the tags of a text; adjacent ones are combined."""
    single = [
        Tag(
            m.start(),
            m.end(),
            tuple((i[0], i.start(), i.end()) for i in _ID.finditer(text, *m.span("ids"))),
            False,
        )
        for m in _REF.finditer(text)
    ]
    single += [Tag(m.start(), m.end(), (), True) for m in _MARK.finditer(text)]
    runs: list[list[Tag]] = []
    for tag in sorted(single):
        if (
            runs
            and _TAG_GAP.fullmatch(text, end := runs[-1][-1].end, tag.start)
            and "\n" not in text[end : tag.start]
        ):
            runs[-1].append(tag)
        else:
            runs.append([tag])
    return [
        Tag(
            run[0].start,
            run[-1].end,
            tuple(ref for tag in run for ref in tag.refs),
            any(tag.has_marker for tag in run),
        )
        for run in runs
    ]


def sentences(
    text: str, tags: Sequence[Tag], unbreakable: Sequence[tuple[int, int]]
) -> list[Sentence]:
    """Return the sentences of a text, in order.

    `unbreakable` are sorted spans in which no sentence ends, such as dates and tags.
    """
    tag_starts = {tag.start: tag for tag in tags}
    unbreakable_starts = [start for start, _ in unbreakable]
    headings = [match.span() for match in _HEADING.finditer(text)]
    result: list[Sentence] = []
    begin = 0
    next_tag = next_heading = 0
    for match in _SENTENCE_END.finditer(text):
        if (
            match.start() < begin
            or _is_within(match.start(), unbreakable, unbreakable_starts)
            or _is_abbreviation(text, match)
        ):
            continue
        end = match.end()
        if not match["line"]:
            gap = _SPACE.match(text, end)
            following = tag_starts.get(gap.end()) if gap else None
            # Include tags after the full stop.
            while following is not None and "\n" not in text[end : following.start]:
                end = following.end
                end += text[end : end + 1] in {".", "。"}
                gap = _SPACE.match(text, end)
                following = tag_starts.get(gap.end()) if gap else None
        own: list[Tag] = []
        while next_tag < len(tags) and tags[next_tag].start < end:
            own.append(tags[next_tag])
            next_tag += 1
        while next_heading < len(headings) and headings[next_heading][1] <= begin:
            next_heading += 1
        is_heading = (
            next_heading < len(headings)
            and headings[next_heading][0] < end
            and begin < headings[next_heading][1]
        )
        result.append(
            Sentence(
                begin,
                end,
                tuple(own),
                is_question=match[0][:1] in "?？" or "?" in match[0],
                is_heading=is_heading,
            )
        )
        begin = end
    result.append(
        Sentence(begin, len(text), tuple(tags[next_tag:]), is_question=False, is_heading=False)
    )
    return result


def _is_within(place: int, spans: Sequence[tuple[int, int]], starts: Sequence[int]) -> bool:
    at = bisect_right(starts, place) - 1
    return at >= 0 and place < spans[at][1]


def _is_abbreviation(text: str, match: re.Match[str]) -> bool:
    return (
        match["stop"] == "."
        and _ABBREVIATION.search(text[max(0, match.start() - 8) : match.start()]) is not None
    )


def tags_for(sentence: Sentence, end: int, first_claim: int) -> tuple[Tag, ...]:
    """Return the tags of a claim that ends at `end`: the next one, and those before all claims."""
    following = next((tag for tag in sentence.tags if tag.start >= end), None)
    leading = tuple(tag for tag in sentence.tags if tag.end <= first_claim)
    if following is not None:
        return (*leading, following)
    return leading or sentence.tags[-1:]


def keep_refs(text: str, allowed: Collection[str]) -> str:
    """Remove all refs except the allowed ones.

    Allowed ids in brackets become refs. Other ids are removed, also those without brackets.
    """

    def filter_ids(match: re.Match[str]) -> str:
        ids = [ref for ref in dict.fromkeys(_ID.findall(match["ids"])) if ref in allowed]
        return f"{match['space']}(ref: {', '.join(ids)})" if ids else ""

    refs = re.compile(rf"(?P<space>[ ]?){_REF.pattern}", re.IGNORECASE)
    text = refs.sub(filter_ids, _BRACKETED.sub(r"(ref: \g<ids>)", text))
    return _EVENT_ID.sub(lambda match: match[0] if match[0].strip() in allowed else "", text)
