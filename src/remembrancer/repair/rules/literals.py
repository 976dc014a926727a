"""Correct strings and numbers: missing quotes, backslashes, suffixes and fractions."""

from __future__ import annotations

import re
import unicodedata

from .proposal import Failure
from .source import Edit, ProgramSource

_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_CLOSERS = " \t)]},:"
_LETTER = re.compile(r"\w")
_SIGNS = re.compile(r"[=+%()\[\]{},:]")  # in a string without an end they may be code
_WINDOWS_PATH = re.compile(r"[\"'][A-Za-z]:\\[^\"']*[^\"'\\][\"']\Z")
_IMAGINARY = re.compile(r"(\d+\.?\d*|\.\d+)i\Z")
_C_FLOAT = re.compile(r"(\d+)(\.\d*)?[fF]\Z")
_ZEROS = re.compile(r"0+(?:([0-7])|(\d*_\d[\d_]*))\Z")
_ESCAPES = {r"'\n'": "chr(10)", r'"\n"': "chr(10)", r"'\t'": "chr(9)", r'"\t"': "chr(9)"}
_FSTRING_ESCAPE = re.compile(r"'\\[nt]'|\"\\[nt]\"")
_PROSE_LINE = re.compile(r"[^=()\[\]{}#:]*+\Z")


def close_string(source: ProgramSource, failure: Failure) -> str:
    """Correct the quotes of a line that has one string.

    Applies to an apostrophe in single quotes, a missing or different closing quote, and a backslash
    before it.
    """
    if "unterminated string literal" not in failure.message or not failure.line:
        return source.code
    if failure.line > len(source.lines):
        return source.code
    line = source.lines[failure.line - 1]
    body = line.rstrip("\r\n")
    new = _close_line(body)
    if new is None:
        return source.code
    start = sum(len(one) for one in source.lines[: failure.line - 1])
    return source.apply([Edit(start, start + len(body), new)])


def _close_line(body: str) -> str | None:
    """Return the line with correct quotes, or None if they are ambiguous."""
    single, double = body.count("'"), body.count('"')
    if "#" in body or '"""' in body or "'''" in body:
        return None
    if "\\" in body:
        return _escape_backslash(body, single, double)
    if single == 1 and double == 1:
        return _equal_quotes(body)
    if single >= 3 and single % 2 and not double:
        return _quote_apostrophe(body)
    return _close_quote(body, "'" if single else '"') if single + double == 1 else None


def _equal_quotes(body: str) -> str | None:
    """Return the line with a closing quote like the opening one: `'abc"`."""
    first, last = sorted((body.index("'"), body.index('"')))
    if body[last + 1 :].strip(_CLOSERS) or not _LETTER.search(body[first + 1 : last]):
        return None
    return f"{body[:last]}{body[first]}{body[last + 1 :]}"


def _quote_apostrophe(body: str) -> str | None:
    """Return the line with double quotes around the text with an apostrophe."""
    first, last = body.index("'"), body.rindex("'")
    inner = body[first + 1 : last]
    if body[last + 1 :].strip(_CLOSERS) or inner.count("'") != len(_APOSTROPHE.findall(inner)):
        return None
    return f'{body[:first]}"{inner}"{body[last + 1 :]}'


def _close_quote(body: str, quote: str) -> str | None:
    """Return the line with a quote after its text, before the brackets that are open."""
    before, _, text = body.partition(quote)
    inner = text.rstrip(_CLOSERS)
    if not _LETTER.search(inner) or _LETTER.search(before[-1:]) or _SIGNS.search(inner):
        return None
    tail = text[len(inner) :].strip()
    open_count = sum(before.count(one) for one in "([{") - sum(before.count(one) for one in ")]}")
    closer_count = sum(tail.count(one) for one in ")]}")
    return f"{before}{quote}{inner}{quote}{tail}" if closer_count <= max(0, open_count) else None


def _escape_backslash(body: str, single: int, double: int) -> str | None:
    r"""Return the line with `\"` at the end of its string replaced by `\\"`."""
    stripped = body.rstrip(_CLOSERS)
    is_certain = (
        body.count("\\") == 1
        and stripped[-2:] in ('\\"', "\\'")
        and (single, double) == ((0, 2) if stripped[-1] == '"' else (2, 0))
    )
    at = len(stripped) - 1
    return f"{body[:at]}\\{body[at:]}" if is_certain else None


def close_triple_string(source: ProgramSource, failure: Failure) -> str:
    """Close a string in triple quotes at the end of the program if only prose follows."""
    if "unterminated triple-quoted string" not in failure.message:
        return source.code
    last = source.tokens[-1]
    if last.kind != "string" or last.is_closed or last.text[-1] in "\"'\\":
        return source.code
    lines = last.text.rstrip().split("\n")
    quotes = last.text.lstrip("rRbBuUfFtT")[:3]
    if len(lines) < 2 or not all(_PROSE_LINE.match(line) for line in lines):
        return source.code
    end = last.start + len(last.text.rstrip())
    return source.apply([Edit(end, end, quotes)])


def make_raw(source: ProgramSource, failure: Failure) -> str:
    """Make a string with a path of Windows a raw string."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or "unicodeescape" not in failure.message:
        return source.code
    return source.apply(
        Edit(token.start, token.start, "r")
        for token in statement.tokens
        if token.kind == "string" and _WINDOWS_PATH.match(token.text)
    )


def fix_number(source: ProgramSource, failure: Failure) -> str:
    """Correct a number with a suffix of another language or leading zeros.

    `01` and `0_12` mean the same number in every version; `010` does not.
    """
    statement = source.statement_at(failure.line or 0)
    if statement is None or "literal" not in failure.message:
        return source.code
    edits = []
    for token in statement.tokens:
        if token.kind != "number":
            continue
        if match := _IMAGINARY.match(token.text):
            edits.append(Edit(token.start, token.end, f"{match[1]}j"))
        elif match := _C_FLOAT.match(token.text):
            edits.append(Edit(token.start, token.end, f"{match[1]}{match[2] or '.0'}"))
        elif (match := _ZEROS.match(token.text)) and (match[1] or match[2]):
            number = token.text.lstrip("0_") or "0"
            edits.append(Edit(token.start, token.end, number))
    return source.apply(edits)


def replace_fractions(source: ProgramSource, failure: Failure) -> str:
    """Replace a fraction of one character: `¾` by `(3/4)` and `1½` by `1.5`."""
    if "invalid character" not in failure.message:
        return source.code
    edits = []
    for before, token in zip([None, *source.tokens], source.tokens, strict=False):
        if token.kind in ("string", "comment") or token.text.isascii():
            continue
        if token.text == "\u201a" and _is_comma(source, token.start):
            edits.append(Edit(token.start, token.end, ","))
        numerator, slash, denominator = unicodedata.normalize("NFKC", token.text[-1]).partition("⁄")
        if not slash or not numerator.isdecimal() or not denominator.isdecimal():
            continue
        whole = token.text[:-1]
        if whole and not whole.isdecimal():
            return source.code
        if not whole and before and before.kind == "number" and before.end == token.start:
            edits.append(Edit(before.start, token.end, _sum(before.text, numerator, denominator)))
        elif whole:
            edits.append(Edit(token.start, token.end, _sum(whole, numerator, denominator)))
        else:
            edits.append(Edit(token.start, token.end, f"({numerator}/{denominator})"))
    return source.apply(edits)


def _sum(whole: str, numerator: str, denominator: str) -> str:
    return f"({whole} + {numerator}/{denominator})"


def _is_comma(source: ProgramSource, at: int) -> bool:
    """Return True if the low quotation mark at `at` is written like a comma."""
    before, after = source.code[at - 1 : at], source.code[at + 1 : at + 2]
    return bool(_LETTER.match(before)) and after.isspace()


def replace_escapes(source: ProgramSource, failure: Failure) -> str:
    """Replace a line break within the braces of an f-string, which older versions refuse."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or "cannot include a backslash" not in failure.message:
        return source.code
    edits = []
    for token in statement.tokens:
        if (
            token.kind != "string"
            or "f" not in token.text[:3].lower().partition(token.text.lstrip("rRbBuUfF")[:1])[0]
        ):
            continue
        for match in _FSTRING_ESCAPE.finditer(token.text):
            head = token.text[: match.start()]
            if head.count("{") > head.count("}"):
                start = token.start + match.start()
                edits.append(Edit(start, start + len(match[0]), _ESCAPES[match[0]]))
    return source.apply(edits)
