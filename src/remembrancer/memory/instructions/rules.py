"""Recognise standing instructions and preferences in the messages of users."""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from .grammar import (
    CLAUSE,
    ENGLISH,
    FILLER,
    GRAMMARS,
    REPORT,
    TAGS,
    TASK,
    Grammar,
    LatePattern,
    across,
    in_messages,
)

# --- Find sentences of a message that may state an instruction, outside quotes, code and pastes

SENTENCE_CHARACTERS_MAX = 600  # longer ones are lists or pasted text
CANDIDATES_MAX = 40  # sentences examined per message; more come from pasted rules
HEADERS_MAX = 20  # lines ending with a colon that are read to find a pasted text

# Code, quoted text, e-mail quotes, log lines. Repeats are bounded or exclude their own opening, so
# that no text is read twice.
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{1,200}`"
    r"|\"[^\"\n]{1,1000}\"|“[^“”\n]{1,1000}”|„[^„“”\n]{1,1000}[“”]|«[^«»\n]{1,1000}»"
    r"|「[^「」\n]{1,1000}」|'(?<!\w')[^'\n]{3,200}'(?!\w)|‘[^‘’\n]{1,200}’(?!\w)",
    re.DOTALL,
)
_FOREIGN_LINE = re.compile(
    r"\n[ \t]{0,20}(?:>|\$ |#|//|/\*|\*/|import \w|from [\w.]{1,60} import|def \w{1,60}\("
    r"|class \w{1,60}[(:]|(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|Traceback|E:)\b"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:|\[\d\d:\d\d)[^\n]*"
)
_VISIBLE = re.compile(r"\S")
_ABBREVIATION = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|prof|st|vs|etc|e\.g|i\.e|z\.b|bzw|ca|nr|no|approx|sr|sra|mme|sig|т\.е"
    r"|т\.д)"
    r"|\b\w)$"
)
# Patterns begin with one set of characters or one literal: such a search is fast.
_END = re.compile(
    r"[.!?…\n。！？](?:(?<=[\n。！？])|(?<![.!?…][.!?…])[.!?…]{0,7}(?=[\s\"'»”)\]*]|$))"
)
_WORD = re.compile(r"\w+")
_HAN = re.compile("[\u4e00-\u9fff]")
# Traditional characters of the Chinese patterns.
_SIMPLIFIED = str.maketrans(
    "後從現開總當時歡請給寫說稱別絕對討厭個種這會應該為麼問發將來願萬務許們讓嗎認確檢查鐘題點號譯獲續優傾與嘆標",
    "后从现开总当时欢请给写说称别绝对讨厌个种这会应该为么问发将来愿万务许们让吗认确检查钟题点号译获续优倾与叹标",
)
_SPACES = bytes(32 if chr(code) in string.punctuation else code for code in range(256))
_WIDE_MARKS = "«»“”„…—–¿¡·•（）"  # marks before or after words, beyond ASCII
_HEADER = re.compile(r"[:：][ \t]{0,8}\n")
_SAME_LENGTH = (("’", "'"), ("‘", "'"), ("ʼ", "'"), ("\t", " "), ("\r", " "), ("\u00a0", " "))


class Candidate(NamedTuple):
    """A sentence with a trigger of these grammars: its place in the message, and its text to match.

    `text` is in lower case, as long as the original; quoted text and code are underscores.
    """

    start: int
    text: str
    grammars: Sequence[Grammar]


def candidates(message: str, grammars: Sequence[Grammar]) -> list[Candidate]:
    """Return the sentences to examine, in order: at most `CANDIDATES_MAX`, from both ends."""
    text = _QUOTED.sub(_mask, message)
    text = _lower(_FOREIGN_LINE.sub(_mask, f"\n{text}")[1:])
    present: set[str | None] = {*_words(text)}
    if _HAN.search(text):
        present.add(None)
    places = [
        (place, grammar)
        for grammar in grammars
        for trigger, word in _triggers(grammar)
        if word in present
        for place in _occurrences(text, trigger)
    ]
    if not places:
        return []
    ends = sentence_ends(text)
    pasted_from = _pasted_from(text)
    matching: dict[int, list[Grammar]] = {}
    for place, grammar in places:
        if place < pasted_from:
            group = matching.setdefault(bisect_right(ends, place), [])
            if grammar not in group:
                group.append(grammar)
    numbers = sorted(matching)
    if len(numbers) > CANDIDATES_MAX:
        half = CANDIDATES_MAX // 2
        numbers = numbers[:half] + numbers[-half:]
    result = []
    for number in numbers:
        start = ends[number - 1] if number else 0
        end = ends[number] if number < len(ends) else len(text)
        if end - start <= SENTENCE_CHARACTERS_MAX:
            result.append(Candidate(start, text[start:end], matching[number]))
    return result


@cache
def _triggers(grammar: Grammar) -> list[tuple[str, str | None]]:
    """Return the triggers of a grammar, each with its longest word; None if words are not spaced.

    A look-up of that word saves the search of most texts.
    """
    if not grammar.is_spaced:
        return [(trigger, None) for trigger in grammar.triggers]
    return [(trigger, max(_WORD.findall(trigger), key=len)) for trigger in grammar.triggers]


def _words(text: str) -> set[str]:
    """Return the words of a text in lower case, without the marks around them.

    A table of bytes is several times as fast as a pattern.
    """
    if not text.isascii():
        for mark in _WIDE_MARKS:
            text = text.replace(mark, " ")
    return set(
        text.encode(errors="surrogatepass").translate(_SPACES).decode(errors="replace").split()
    )


def _mask(match: re.Match[str]) -> str:
    return _VISIBLE.sub("_", match[0])


def sentence_ends(text: str) -> list[int]:
    """Return where sentences of a text in lower case end, in order."""
    return [
        match.end()
        for match in _END.finditer(text)
        if match[0] != "."
        or not _ABBREVIATION.search(text, max(0, match.start() - 8), match.start())
    ]


def _occurrences(text: str, trigger: str) -> list[int]:
    """Return where a trigger occurs; of very many, the first and the last."""
    places: list[int] = []
    place = text.find(trigger)
    while place >= 0 and len(places) < CANDIDATES_MAX:
        places.append(place)
        place = text.find(trigger, place + len(trigger))
    if place >= 0:
        place, after = text.rfind(trigger), places[-1]
        for _ in range(CANDIDATES_MAX):
            if place <= after:
                break
            places.append(place)
            place = text.rfind(trigger, 0, place)
    return places


def _pasted_from(text: str) -> int:
    """Return where a pasted text begins: after a line such as "Translate this:"."""
    for count, match in enumerate(_HEADER.finditer(text)):
        if count == HEADERS_MAX:
            break
        is_code = text[match.end() : match.end() + 40].lstrip().startswith("_")
        if not is_code and TASK.search(text, max(0, match.start() - 120), match.start()):
            return match.end()
    return len(text)


def _lower(text: str) -> str:
    """Return a text in lower case, of the same length, with plain apostrophes and spaces.

    Chinese is in simplified characters.
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # one capital of Turkish becomes two characters
        lowered = "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
    for mark, plain in _SAME_LENGTH:
        lowered = lowered.replace(mark, plain)
    return lowered.translate(_SIMPLIFIED) if _HAN.search(lowered) else lowered


# --- Recognise standing instructions and preferences in the messages of users ----------------
# Pure: no store, no clock, no language model. A sentence is split into clauses; a clause states an
# instruction if it is an order that lasts by its own words ("never push ..."), or any order with a
# condition ("whenever I ...") or words for the future ("from now on").

FILLERS_MAX = 6
_CONDITION_EDGES = " \t\r\n.,;:!?。，！？…\"'()"
_QUESTION = in_messages("question")
_ENDS_AS_QUESTION = LatePattern(r"[?？]\W*$")
_POLITE = in_messages("polite")
# "Can you always answer ...?" is an order, "can you always see ...?" none.
_REQUEST = in_messages("request")
_LASTING = in_messages("lasting")
_FINAL = " \t\r\n.!?。！？…,;*_\"')"
_REQUESTS = in_messages("when_asked")
# A condition about what the user says or sends, or about every time: an order with it lasts.
_RECURS = in_messages("recurs")
_INNER_ORDER = in_messages("inner_order")
_COMPARED = in_messages("compared")
_ENGLISH_TASTE = LatePattern(
    r"(?<!\bif )(?<!\bdo )(?<!did )(?<!would )(?<!might )(?<!may )(?<!should )(?<!could )"
    r"(?<!can )(?<!whether )"
    r"(?<!when )"
    r"(?<!what )(?<!which )(?<!than )(?<!one )(?<!\w)"
    r"(?=i (?:really |generally |usually |strongly |much |typically |personally |always |still "
    r"|also ){0,2}prefer\b"
    r"|i'd (?:really |much )?(?:prefer|rather)\b)"
)
_PAUSE = re.compile(r"[,，:：]|\s[-–—]\s")
WHEN_MIN = 8  # characters of a condition before an order that follows without a comma
FUTURE_WITHIN = 30  # characters of a clause before "from now on": a name, "so I think"
_ONCE = in_messages("once")


class Instruction(NamedTuple):
    """A standing instruction or preference, as the user wrote it.

    `condition` is the part that says when it applies, verbatim; None means always. `kind` is
    `instruction` for an order and `preference` for a taste. `start` is its place in the message, in
    characters.
    """

    text: str
    condition: str | None
    kind: Literal["instruction", "preference"] = "instruction"
    start: int = 0


class _Match(NamedTuple):
    """A clause that states an instruction: where it begins, and its condition as (start, end)."""

    kind: Literal["instruction", "preference"]
    start: int
    condition: tuple[int, int] | None


class _Opening(NamedTuple):
    """The place of an order after its opening, its condition, and True in `is_firm` if it lasts.

    Without a place the order may be in the next clause. Clauses before `resume` belong to the
    condition: "when I ask about A and B, ...".
    """

    at: int | None
    condition: tuple[int, int] | None
    is_firm: bool
    resume: int = 0


def instructions_in(message: str) -> list[Instruction]:
    """Return the sentences of a user's message that state an instruction or preference that lasts.

    Quoted text, code, e-mail quotes, log lines and what follows a line such as "Translate this:"
    are ignored, as are questions and requests for one time. Languages: English, German, French,
    Spanish, Italian, Russian, Chinese. The order is that of the message; the time is linear in its
    length.
    """
    result = []
    for candidate in candidates(message, GRAMMARS):
        sentence = candidate.text
        match = next(
            filter(None, (_match(sentence, grammar) for grammar in candidate.grammars)), None
        )
        if match is None or REPORT.search(sentence):
            continue
        verbatim = message[candidate.start : candidate.start + len(sentence)]
        condition = None
        if match.condition:
            condition = verbatim[slice(*match.condition)].strip(_CONDITION_EDGES) or None
        lead = len(verbatim) - len(verbatim.lstrip())
        result.append(Instruction(verbatim.strip(), condition, match.kind, candidate.start + lead))
    return result


def _match(sentence: str, grammar: Grammar) -> _Match | None:
    """Return the first clause of a sentence that states an instruction, or None."""
    end = _body_end(sentence)
    clauses = _clauses(sentence, end)
    order_end = _order_end(sentence, clauses, end)
    condition: tuple[int, int] | None = None
    is_firm, resume = False, 0
    for start, clause_end in clauses:
        if start < resume or _is_foreign(sentence, start):
            continue
        opening = _opening(sentence, grammar, start, clause_end, end)
        condition = opening.condition or condition
        is_firm, resume = is_firm or opening.is_firm, opening.resume
        at = opening.at
        if at is None:
            continue
        kind = _kind(sentence, grammar, at, end, is_firm=is_firm)
        is_order = at < order_end and (is_firm or not _is_statement(sentence, grammar, start, at))
        if kind == "preference" or (kind and is_order):
            return _Match(kind, at, condition or _late_condition(sentence, grammar, kind, at, end))
        condition, is_firm = None, False
    return _english_preference(sentence, end) if grammar is ENGLISH else None


def _opening(sentence: str, grammar: Grammar, start: int, clause_end: int, end: int) -> _Opening:
    """Return what precedes an order: fillers, words for the future, a condition."""
    at = _after_fillers(sentence, start, end)
    future = _future(sentence, grammar, start, clause_end)
    future = future or _future(sentence, grammar, at, clause_end)
    is_firm = bool(future)
    if future:
        at = _after_fillers(sentence, future, end)
    if at >= clause_end:  # only fillers or "from now on": the order may follow
        return _Opening(None, None, is_firm)
    if grammar.when.match(sentence, at, end):
        pause = _PAUSE.search(sentence, at, end)
        resume = pause.start() if pause else end
        split = _INNER_ORDER.search(sentence, at + WHEN_MIN, resume)
        condition = (at, split.start() if split else resume)
        is_firm = is_firm or bool(_RECURS.search(sentence, *condition))
        order = _after_fillers(sentence, split.start(), end) if split else None
        return _Opening(order, condition, is_firm, resume)
    if grammar.domain_open and (match := grammar.domain_open.match(sentence, at, end)):
        return _Opening(_after_fillers(sentence, match.end(), end), (at, match.end()), is_firm)
    if clause_end < end and grammar.domain.match(sentence, at, clause_end):
        return _Opening(None, (at, clause_end), is_firm)
    return _Opening(at, None, is_firm)


def _english_preference(sentence: str, end: int) -> _Match | None:
    """Return a preference within a clause: "the thing is I prefer ...", or None."""
    if "prefer" not in sentence and "rather" not in sentence:  # most sentences; the pattern is slow
        return None
    match = _ENGLISH_TASTE.search(sentence, 0, end)
    at = match.end() if match else 0
    if not match or _kind(sentence, ENGLISH, at, end, is_firm=False) != "preference":
        return None
    return _Match("preference", at, _late_condition(sentence, ENGLISH, "preference", at, end))


def _kind(
    sentence: str, grammar: Grammar, at: int, end: int, *, is_firm: bool
) -> Literal["instruction", "preference"] | None:
    """Return what a clause states. `is_firm`: a condition or a word for the future comes before"
    " it."""
    if grammar.address.match(sentence, at, end) or grammar.standing.match(sentence, at, end):
        return None if _ONCE.search(sentence, at, end) else "instruction"
    if grammar.order.match(sentence, at, end) and (
        is_firm
        or grammar.late_future.search(sentence, at, end)
        or _REQUESTS.search(sentence, at, end)
    ):
        return None if _ONCE.search(sentence, at, end) else "instruction"
    taste = grammar.preference.match(sentence, at, end)
    if not taste:
        return None
    choice = grammar.one_choice.search(sentence, at, min(end, taste.end() + 60))
    if choice and not _COMPARED.search(sentence, taste.end(), min(end, taste.end() + 80)):
        return None
    return "preference"


def _late_condition(
    sentence: str, grammar: Grammar, kind: str, at: int, end: int
) -> tuple[int, int] | None:
    """Return the condition that follows an order or a preference as (start, end), or None."""
    taste = grammar.preference.match(sentence, at, end) if kind == "preference" else None
    at = taste.end() if taste else at  # "I like it when you ..." is no condition
    match = grammar.late_when.search(sentence, at + 1, end) or grammar.domain_end.search(
        sentence, at + 1, end
    )
    return match.span() if match else None


def _future(sentence: str, grammar: Grammar, at: int, end: int) -> int:
    """Return the end of words for the future at the start of a clause, or 0."""
    if match := grammar.future.match(sentence, at, end):
        return match.end()
    if grammar.order.match(sentence, at, end) or grammar.address.match(sentence, at, end):
        return 0
    match = grammar.future.search(sentence, at, min(end, at + FUTURE_WITHIN))
    return match.end() if match and match.end() < end else 0


def _after_fillers(sentence: str, at: int, end: int) -> int:
    """Return where a clause begins after "ok", "please", "btw" and the like."""
    for _ in range(FILLERS_MAX):
        match = FILLER.match(sentence, at, end)
        if not match:
            break
        at = match.end()
    return at


def _is_statement(sentence: str, grammar: Grammar, start: int, at: int) -> bool:
    """Return True if an apparent order goes on a statement: "they help me and never complain".

    `start` is where its clause begins, `at` where its own words do.
    """
    first = _after_fillers(sentence, 0, start)
    if first >= start:
        return False
    if sentence[:start].rstrip()[-1:].isalnum():
        return not (
            grammar.order.match(sentence, first)
            or grammar.standing.match(sentence, first)
            or grammar.address.match(sentence, first)
        )
    return grammar.late_order is not None and not grammar.late_order.match(sentence, at)


def _clauses(sentence: str, end: int) -> list[tuple[int, int]]:
    """Return the clauses of a sentence as (start, end)."""
    breaks = [match.span() for match in CLAUSE.finditer(sentence, 0, end)]
    starts = [0, *(after for _, after in breaks)]
    ends = [*(before for before, _ in breaks), end]
    return list(zip(starts, ends, strict=True))


def _body_end(sentence: str) -> int:
    """Return where a sentence ends without its final marks and a tag such as "ok?"."""
    body = sentence.rstrip(_FINAL)
    for tag in TAGS:
        if body.endswith(tag) and not body[: -len(tag)][-1:].isalpha():
            body = body[: -len(tag)].rstrip(_FINAL)
    return len(body)


def _order_end(sentence: str, clauses: list[tuple[int, int]], end: int) -> int:
    """Return where a question begins in a sentence: what follows is no order; `end` if none."""
    opening = next(
        (
            start
            for start, _ in clauses
            if _QUESTION.match(sentence, _after_fillers(sentence, start, end))
        ),
        None,
    )
    if opening is not None:
        return opening
    if not _ENDS_AS_QUESTION.search(sentence) or _has_tag(sentence):
        return end
    first = _after_fillers(sentence, 0, end)
    if _REQUEST.match(sentence, first) and _LASTING.search(sentence, 0, end):
        return end
    last = clauses[-1][0]
    return last if last and _POLITE.match(sentence, _after_fillers(sentence, last, end)) else 0


def _has_tag(sentence: str) -> bool:
    """Return True if a sentence ends with a tag: "ok?"."""
    return sentence.rstrip(_FINAL).endswith(TAGS)


def _is_foreign(sentence: str, at: int) -> bool:
    """Return True if a clause follows "translate:" or "the customer wrote:"."""
    before = sentence[:at].rstrip()
    return before.endswith((":", "：")) and bool(TASK.search(before))


# --- Standing instructions among critical facts: the whole text is one statement -------------
# Pure: no store, no clock. The rules cover English, German, French, Spanish, Italian, Russian and
# Chinese.

_CONDITION = re.compile(
    rf"^(?P<condition>(?:{across('facts', 'condition')})\b[^,，.。;]{{3,120}})"
    r"[,，]\s*(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_WHEN_CHINESE = re.compile(
    r"^(?P<condition>(?:当|如果|每当)[^,\uff0c\u3002]{2,60})[,\uff0c](?P<rest>.+)$", re.DOTALL
)
_ORDER = re.compile(
    rf"^(?:{across('facts', 'polite')})?(?:{across('facts', 'order')})(?![A-Za-zÀ-ÿ])",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(across("facts", "preference"), re.IGNORECASE)


def standing_instruction(fact: str) -> Instruction | None:
    """Return the instruction or preference that a fact states, or None for any other fact."""
    text = fact.strip()
    match = _CONDITION.match(text) or _WHEN_CHINESE.match(text)
    condition, rest = (match["condition"], match["rest"]) if match else (None, text)
    if _ORDER.match(rest) or _PREFERENCE.search(rest):
        return Instruction(text, condition)
    return None
