"""Find numbers, dates, names and URLs in a text, roughly: for programs without the package.

Second look itself uses `remembrancer.claims`, which knows units and languages. Here two values are
equal if they have the same atoms: digits without thousands separators, months as numbers, names in
lower case.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WIDE = "\u2e80-\ud7ff"  # scripts without spaces
_STEM_CHARACTERS = 5
_NEIGHBOURS_MAX = 2  # words on each side of a value
_NEIGHBOUR_CHARACTERS = 40  # on each side of a value that are searched for them
_MONTH_NAMES = (
    "january jan januar janvier enero gennaio января январь",
    "february feb februar février febrero febbraio февраля февраль",
    "march mar märz mars marzo марта март",
    "april apr avril abril aprile апреля апрель",
    "may mai mayo maggio мая май",
    "june jun juni juin junio giugno июня июнь",
    "july jul juli juillet julio luglio июля июль",
    "august aug août agosto августа август",
    "september sep sept septembre septiembre settembre сентября сентябрь",
    "october oct oktober octobre octubre ottobre октября октябрь",
    "november nov novembre noviembre ноября ноябрь",
    "december dec dezember décembre diciembre dicembre декабря декабрь",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_CAPITAL = "[A-Z\u00c0-\u00de\u0410-\u042f]"
_LETTER = rf"[^\W\d_{WIDE}]"
_DATE = (
    r"(?i:\b\d{4}-\d\d-\d\d(?!\d)"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|er|\.)?[ ](?:of[ ]|de[ ])?(?:{MONTH})\b"
    r"(?:,?[ ](?:de[ ])?\d{4}\b)?"
    rf"|\b(?:{MONTH})\.?[ ]\d{{1,2}}(?:st|nd|rd|th)?\b(?![.,:]\d)(?:,?[ ]\d{{4}}\b)?)"
    r"|(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]"
)
_NUMBER = (
    r"(?<![A-Za-z0-9_.])#?(?:[A-Za-z]{1,8}-?)?\d[A-Za-z0-9]*"
    r"(?:[.,:'\u2019]\d[A-Za-z0-9]*|[ \u202f\u00a0]\d{3}(?!\d))*"
)
_ADDRESS = (
    r"\b[a-z][a-z0-9+.-]{1,15}://[^\s<>()\[\]\"'`]{1,2000}"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"
)
_NAME = (
    rf"(?<![^\W_]){_CAPITAL}{_LETTER}+"
    rf"(?:(?:[ ]|-|[ ](?:&|van|von|de|da)[ ]){_CAPITAL}{_LETTER}+){{0,5}}"
)
_VALUE = re.compile(
    f"(?P<url>{_ADDRESS})|(?P<date>{_DATE})|(?P<number>{_NUMBER})|(?P<name>{_NAME})"
)
_YMD = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DATE_PART = re.compile(rf"(?P<year>\d{{4}})|(?P<month>{MONTH})|(?P<han>\d+)月|(?P<day>\d{{1,2}})")
_THOUSANDS = re.compile("(?<=\\d)[,.' \u2019\u202f\u00a0](?=\\d{3}(?!\\d))")
_WITH_UNIT = re.compile(
    r"(\d[\d.:]*)(?:[kmgt]i?b?|ms|s|h|min|kg|g|cm|mm|px|st|nd|rd|th|x|l)", re.IGNORECASE
)
_LEADING_ZEROS = re.compile(r"^0+(?=\d)")
_WORD = re.compile(rf"{_LETTER}{{2,}}|[{WIDE}]{{2,}}")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n\u2026>|•*_#\"“„«(-])[\s\"“„«(*_>-]*$")
_STOP_WORDS = (
    "an and are as at be by do for from had has have he her his how in is it its me my no not of "
    "on or our she so than that the their then there they this to up was we were what when where "
    "which who whom whose why will with would you your all also any but can could did does "
    "into may now should these those use used uses "
    "am auf aus bei da das dem den der des die ein eine einem einen einer er es für hat ich ihr "
    "im ist man mein mit nicht sie sind sich uns unser und von wann war was welche welcher welches "
    "wer wie wird wo zu zum zur auch noch haben "
    "au aux avec ce ces dans de des du elle en est et il je la le les leur mais nous ou où par pas "
    "pour qu quand que quel quelle qui sa se ses son sont sur un une vous "
    "al como con cuál cual cuando cuándo cuanto cuánto del el es las lo los más nos para por quién "
    "se su sus una unos y che chi come da dal dei della di gli ha per quale quando sono "
    "а в во где до за и из или к как какая какой каком когда кто на не но о об он она они от по с "
    "со у что это для при наш"
)
_STOP = frozenset(_STOP_WORDS.split())


_NONE: frozenset[str] = frozenset()


class PlainValue(NamedTuple):
    """A value of a text: `text[start:end]`."""

    kind: str  # url, date, number or name
    start: int
    end: int
    atoms: frozenset[str]
    neighbours: frozenset[str]  # stems of the words next to it
    text: str

    @property
    def shape(self) -> str:
        """Return the text with each digit as 9: values of one kind often have the same shape."""
        return re.sub(r"\d", "9", self.text)

    @property
    def distinctiveness(self) -> int:
        """Return 2 for a value that is rarely equal by chance, 0 for one digit, else 1."""
        if self.kind in ("url", "date"):
            return 2
        if self.kind == "name":
            return 2 if " " in self.text else 1
        digits = sum(character.isdigit() for character in self.text)
        is_code = len(self.text) > 4 and any(not c.isdigit() for c in self.text)
        return 2 if digits > 3 or is_code or ":" in self.text else min(digits - 1, 1)


def plain_values(text: str, *, with_neighbours: bool = True) -> Iterator[PlainValue]:
    """Yield the values of a text in order. A name at the start of a sentence needs two words."""
    for match in _VALUE.finditer(text):
        kind, words = str(match.lastgroup), match[0].rstrip(".,:;!?'")
        start, end = match.start(), match.start() + len(words)
        if kind == "name":
            first, space, rest = words.partition(" ")
            if space and first.lower() in _STOP:  # "At Marktstraße" begins a sentence
                start, words = start + len(first) + 1, rest
            is_first = start == match.start() and _SENTENCE_START.search(
                text[max(0, start - 8) : start]
            )
            is_common = words.lower() in _MONTHS or words.lower() in _STOP
            if is_common or (is_first and " " not in words):
                continue
        if kind == "number" and end - start > 64:
            continue
        neighbours = _neighbours(text, start, end) if with_neighbours else _NONE
        yield PlainValue(kind, start, end, _atoms(kind, words), neighbours, words)


def _atoms(kind: str, text: str) -> frozenset[str]:
    if kind == "url":
        return frozenset({text.lower().partition("://")[2].rstrip("/") or text.lower()})
    if kind == "name":
        return frozenset(re.findall(rf"{_LETTER}+", text.lower()))
    if kind == "number":
        return frozenset({number_atom(text)})
    if match := _YMD.match(text):
        return frozenset({match[1], f"m{int(match[2])}", str(int(match[3]))})
    atoms = set()
    for part in _DATE_PART.finditer(text.lower()):
        if part["month"]:
            atoms.add(f"m{_MONTHS[part['month']]}")
        elif part["han"]:
            atoms.add(f"m{int(part['han'])}")
        else:
            atoms.add(str(int(part[0])))
    return frozenset(atoms)


def number_atom(text: str) -> str:
    """Return a number or code without thousands separators, unit and leading zeros."""
    plain = _THOUSANDS.sub("", text.lower()).lstrip("#").replace(",", ".")
    match = _WITH_UNIT.fullmatch(plain)
    plain = (match[1] if match else plain).rstrip(".:")
    return _LEADING_ZEROS.sub("", plain)


def _neighbours(text: str, start: int, end: int) -> frozenset[str]:
    before = re.split(r"[\n.;!?](?:\s|$)", text[max(0, start - _NEIGHBOUR_CHARACTERS) : start])[-1]
    after = re.split(r"[\n.;!?](?:\s|$)", text[end : end + _NEIGHBOUR_CHARACTERS])[0]
    stems = _stems(before)[-_NEIGHBOURS_MAX:] + _stems(after)[:_NEIGHBOURS_MAX]
    return frozenset(stems)


def stems(text: str) -> frozenset[str]:
    """Return the beginnings of the content words of a text; for Chinese, pairs of characters."""
    return frozenset(_stems(text))


def _stems(text: str) -> list[str]:
    result = []
    for match in _WORD.finditer(text.lower()):
        word = match[0]
        if ord(word[0]) >= ord(WIDE[0]):
            result += [word[at : at + 2] for at in range(len(word) - 1)]
        elif word not in _STOP:
            result.append(word[:_STEM_CHARACTERS].rstrip("s") if len(word) > 3 else word)
    return result
