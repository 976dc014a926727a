"""Find values that are compared as text: URLs, e-mail and IP addresses, versions, phone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .values import Claim, Kind, Verbatim

_STOP = r"\s<>()\[\]{}\"'`|\\\x00\u3000-\u303f\uff00-\uffef\u4e00-\u9fff"
_URL = re.compile(
    rf"(?<![a-z0-9_@])(?:[a-z][a-z0-9+.-]{{1,15}}://|www\.)[^{_STOP}]{{1,2000}}", re.IGNORECASE
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.ASCII)
_IP = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2}|:\d{1,5})?(?![\w.]*\d)", re.ASCII)
_IP_6 = re.compile(r"(?<![\w:])(?:[0-9a-f]{1,4}:){2,7}[0-9a-f:]{1,40}(?:/\d{1,3})?", re.IGNORECASE)
_PHONE = re.compile(r"(?<![\w+])\+\d{1,3}(?:[ ()/-]{1,2}\d{1,12}){1,6}", re.ASCII)
_VERSION = re.compile(
    r"(?<![\w.])v?\d{1,9}(?:\.\d{1,9}){2,6}(?:[-+][0-9a-z.]{1,40})?(?![\w.]*\d)"
    r"|(?<![\w.])v\d{1,9}(?:\.\d{1,9}){0,1}(?![\w.]*\d)",
    re.ASCII,
)
_LONG_NUMBER = re.compile(r"(?<!\d)\d{41,}(?!\d)", re.ASCII)  # too long to be an amount
_DAY = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)|\d{4}\.\d{1,2}\.\d{1,2}")
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3})+")
_CODE = re.compile(  # letters and digits in one word: QX7T2M, RTX-4090, G17
    r"(?<![\w./-])(?=[a-z_/-]{0,30}\d)(?=\d{0,30}[-_/]?[a-z])[a-z0-9]+(?:[-_/][a-z0-9]+){0,12}(?![\w])",
    re.IGNORECASE | re.ASCII,
)
# Numbers, not codes: 5km, 3rd, 4-year-old, 5-7km, 14h15.
_WITH_UNIT = re.compile(r"\d+(?:[-_/]?[a-z]+(?:-[a-z]+)*|[-/]\d+[a-z]*|h\d+)", re.IGNORECASE)
_TRAILING = ".,;:!?*_~"


def urls(text: str) -> Iterator[Claim]:
    """Yield the URLs and e-mail addresses of a text."""
    for match in _URL.finditer(text):
        end = match.start() + len(match[0].rstrip(_TRAILING))
        yield Claim("url", match.start(), end, Verbatim(normalize_url(text[match.start() : end])))
    for match in _MAIL.finditer(text):
        yield Claim("url", match.start(), match.end(), Verbatim(match[0].lower().rstrip(".")))


def normalize_url(url: str) -> str:
    """Return a URL without scheme, www and trailing slash, with the host in lower case."""
    rest = re.sub(r"^(?:https?://)?(?:www\.)?", "", url, flags=re.IGNORECASE)
    host, slash, path = rest.partition("/")
    return f"{host.lower()}{slash}{path}".rstrip("/#?")


def document_numbers(text: str) -> Iterator[Claim]:
    """Yield the IP addresses, phone numbers, versions and very long numbers of a text."""
    for pattern in (_IP, _IP_6, _PHONE, _LONG_NUMBER):
        for match in pattern.finditer(text):
            yield _verbatim(
                "number", match, re.sub(r"[ ()-]", "", match[0]) if pattern is _PHONE else match[0]
            )
    for match in _VERSION.finditer(text):
        if not _DAY.fullmatch(match[0]) and not _THOUSANDS.fullmatch(match[0]):
            yield _verbatim("number", match, match[0].removeprefix("v"))


def codes(text: str) -> Iterator[Claim]:
    """Yield the words of letters and digits, except numbers with units."""
    for match in _CODE.finditer(text):
        if not _WITH_UNIT.fullmatch(match[0]):
            yield _verbatim("name", match, match[0])


def _verbatim(kind: Kind, match: re.Match[str], text: str) -> Claim:
    return Claim(kind, match.start(), match.end(), Verbatim(text.lower()))
