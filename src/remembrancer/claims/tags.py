"""What a draft says about its claims: `(ref: id)`, `[general]`, `[unverified]`, `[assumption]`, and
how far each reaches.

A claim belongs to the next tag behind it in its sentence; where there is none, to the last one
before it. Tags side by side are one. A tag that follows the full stop belongs to the sentence
before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_REF = re.compile(
    r"[(\uff08\[][ ]{0,3}refs?[ ]{0,3}[:\uff1a][ ]{0,3}(?P<ids>[^()\uff08\uff09\[\]\n]{1,2000})[)\uff09\]]",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"[\[\u3010](?P<mark>general|unverified|assumption)[\]\u3011](?!\()", re.IGNORECASE
)
_ID = re.compile(r"[^\s,;\uff0c、\uff1b`<>]{1,256}")
_EVENT_ID = re.compile(
    r"[ ]?(?<![0-9A-Za-z_])e_[0-9a-z]{13}(?![0-9A-Za-z_])"
)  # as the service gives them out
_BRACKETED = re.compile(
    r"[(\[\uff08\u3010][ ]{0,3}(?P<ids>e_[0-9a-z]{13}(?:[ ]{0,3}[,;][ ]{0,3}e_[0-9a-z]{13}){0,20})[ ]{0,3}[)\]\uff09\u3011]"
)
_BESIDE = re.compile(r"[\s,;.*_]*")
_ENDS = re.compile(
    r"(?P<stop>[.!?\u2026]+)[\"'”’»)*_]*(?=\s+[^\s\da-z\u0430-\u044f]|\s+[\d][^\n]{0,3}|\s*$)|(?P<han>[。！？；])[”’」』）]*|(?P<line>\n)",
    re.MULTILINE,
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|mr|mrs|ms|dr|prof|st|no|nr|ca|vs|etc|e\.g|i\.e|z\.\s?b|d\.\s?h|bzw|inkl|evtl|usw|approx|inc|ltd|sr|sra|mme|av|tel|str|руб|тыс|г|ул|т\.\s?е|им)$",
    re.IGNORECASE,
)
_SPACE = re.compile(r"[\s]*")
_FENCE = re.compile(r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_HEADING = re.compile(
    r"^[ ]{0,3}#{1,6}[ ][^\n]*$|^[^\n|]*\|[^\n]*$(?=\n[ |:-]*-{3}[ |:-]*$)", re.MULTILINE
)


class Tag(NamedTuple):
    """Refs and markers that stand side by side: `text[start:end]`."""

    start: int
    end: int
    refs: tuple[tuple[str, int, int], ...]  # id, and where it stands
    marked: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, list item or row of a table, with the tags in it."""

    start: int
    end: int
    tags: tuple[Tag, ...]
    asks: bool  # it is a question
    heads: bool  # it is a heading, which claims nothing by itself


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with these spans, in any order, taken out and as long as before:

    NUL stands in their places, line breaks stay.
    """
    kept, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            kept += [text[at:start], re.sub(r"[^\n]", "\x00", text[max(start, at) : end])]
            at = end
    return "".join(kept) + text[at:]


def fenced_code(text: str) -> list[tuple[int, int]]:
    """Where blocks of code stand; one that is not closed goes to the end."""
    spans: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif match["fence"].startswith(opened["fence"]):
            spans.append((opened.start(), match.end()))
            opened = None
    return [*spans, (opened.start(), len(text))] if opened else spans


def bullets(text: str) -> list[tuple[int, int]]:
    """Where lines begin with a dash, a dot or a number."""
    return [match.span() for match in _BULLET.finditer(text)]


def tags_in(text: str) -> list[Tag]:
    """The tags of a text, each run of them as one."""
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
            and _BESIDE.fullmatch(text, end := runs[-1][-1].end, tag.start)
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
            any(tag.marked for tag in run),
        )
        for run in runs
    ]


def sentences(text: str, tags: Sequence[Tag], closed: Sequence[tuple[int, int]]) -> list[Sentence]:
    """The sentences of a text, in order.

    `closed` are spans (sorted) in which none ends, such as dates and the tags themselves.
    """
    tag_starts = {tag.start: tag for tag in tags}
    closed_starts = [start for start, _ in closed]
    heads = [match.span() for match in _HEADING.finditer(text)]
    found: list[Sentence] = []
    begin = 0
    next_tag = next_head = 0
    for match in _ENDS.finditer(text):
        if (
            match.start() < begin
            or _within(match.start(), closed, closed_starts)
            or _is_abbreviation(text, match)
        ):
            continue
        end = match.end()
        if not match["line"]:
            behind = _SPACE.match(text, end)
            following = tag_starts.get(behind.end()) if behind else None
            while (
                following is not None and "\n" not in text[end : following.start]
            ):  # a tag behind the full stop
                end = following.end
                end += text[end : end + 1] in {".", "。"}
                behind = _SPACE.match(text, end)
                following = tag_starts.get(behind.end()) if behind else None
        own: list[Tag] = []
        while next_tag < len(tags) and tags[next_tag].start < end:
            own.append(tags[next_tag])
            next_tag += 1
        while next_head < len(heads) and heads[next_head][1] <= begin:
            next_head += 1
        heading = (
            next_head < len(heads) and heads[next_head][0] < end and begin < heads[next_head][1]
        )
        found.append(
            Sentence(
                begin, end, tuple(own), asks=match[0][:1] in "?？" or "?" in match[0], heads=heading
            )
        )
        begin = end
    found.append(Sentence(begin, len(text), tuple(tags[next_tag:]), asks=False, heads=False))
    return found


def _within(place: int, spans: Sequence[tuple[int, int]], starts: Sequence[int]) -> bool:
    at = bisect_right(starts, place) - 1
    return at >= 0 and place < spans[at][1]


def _is_abbreviation(text: str, match: re.Match[str]) -> bool:
    return (
        match["stop"] == "."
        and _ABBREVIATED.search(text[max(0, match.start() - 8) : match.start()]) is not None
    )


def tag_of(sentence: Sentence, place: int, first_claim: int) -> tuple[Tag, ...]:
    """The tags that a claim ending at `place` may rest on:

    the next one, and one that stands before all claims of the sentence.
    """
    behind = next((tag for tag in sentence.tags if tag.start >= place), None)
    leading = tuple(tag for tag in sentence.tags if tag.end <= first_claim)
    if behind is not None:
        return (*leading, behind)
    return leading or sentence.tags[-1:]


def only_refs(text: str, allowed: Collection[str]) -> str:
    """The text with no ref but these:

    an id in brackets becomes a ref, and every other id is taken out, a bare one too.
    """

    def kept(match: re.Match[str]) -> str:
        ids = [ref for ref in dict.fromkeys(_ID.findall(match["ids"])) if ref in allowed]
        return f"{match['space']}(ref: {', '.join(ids)})" if ids else ""

    refs = re.compile(rf"(?P<space>[ ]?){_REF.pattern}", re.IGNORECASE)
    text = refs.sub(kept, _BRACKETED.sub(r"(ref: \g<ids>)", text))
    return _EVENT_ID.sub(lambda match: match[0] if match[0].strip() in allowed else "", text)
