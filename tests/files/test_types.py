"""Names and content of created files."""

from __future__ import annotations

import base64
import re
import textwrap
import unicodedata

import pytest
from files.archives import PNG, archive
from hypothesis import given
from hypothesis.strategies import binary, integers, sampled_from
from hypothesis.strategies import text as any_text

from remembrancer.files.files import safe_name
from remembrancer.files.types import BINARY_TYPES, ContentInvalid, content_of
from remembrancer.protocol import limits
from remembrancer.protocol.files import FileType


def coded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def refusal(content: str, kind: FileType) -> str:
    """Return the message for content that is refused."""
    with pytest.raises(ContentInvalid) as refused:
        content_of(content, kind)
    (fault,) = refused.value.extra["errors"]
    assert fault["pointer"] == "/content"
    return str(fault["detail"])


WRAPPED = {
    "one line": coded(PNG),
    "lines of 76": textwrap.fill(coded(PNG), 76),
    "lines of 4": textwrap.fill(coded(PNG), 4),
    "CRLF": textwrap.fill(coded(PNG), 20).replace("\n", "\r\n"),
    "indented": textwrap.indent(textwrap.fill(coded(PNG), 20), "    "),
    "blank lines around": f"\n \n{coded(PNG)}\n\n",
    "spaces": " ".join(coded(PNG)),
    "data URL": f"data:image/png;base64,{coded(PNG)}",
    "data URL without a type": f"data:;base64,{coded(PNG)}",
    "data URL with a parameter": f" DATA:image/png;name=a.png;BASE64,\n{coded(PNG)}",
    "URL-safe": base64.urlsafe_b64encode(PNG).decode(),
}


def test_base64_is_accepted_as_tools_write_it() -> None:
    """White space and a data URL are accepted (specification.md#files-base64)."""
    for name, text in WRAPPED.items():
        assert content_of(text, "png")[0] == PNG, name


@given(binary(max_size=300), sampled_from(["\n", "\r\n", " ", "\n\t"]), integers(1, 80))
def test_either_alphabet_in_lines_of_any_length_is_decoded(
    entry: bytes, line_end: str, width: int
) -> None:
    """The URL-safe alphabet needs no padding (specification.md#files-base64)."""
    content = archive({"a": entry})
    standard, url_safe = coded(content), base64.urlsafe_b64encode(content).decode()
    for text in (standard, url_safe):
        lines = line_end.join(text[at : at + width] for at in range(0, len(text), width))
        assert content_of(lines, "zip")[0] == content
    if re.search("[-_]", url_safe):
        assert content_of(url_safe.rstrip("="), "zip")[0] == content


@pytest.mark.parametrize("kind", BINARY_TYPES)
def test_broken_base64_is_refused_with_its_place(kind: FileType) -> None:
    """The place of the fault is named (specification.md#files-base64)."""
    for content, place in {
        "not base64!": "character 11",
        "aGVsbG8.d29ybGQ=": "character 8",
        "aGVs\nbG8*": "character 9",
        "é": "character 1",
        "aGVs\u00a0bG8=": "character 5",
        "ab+d-_gh": "character 3",  # both alphabets
        "iVBORw0KGgo": "cut off after character 11",
        "iVBOR===": "cut off",
        "aGk=aGk=": "after the padding, character 4",
        "data:image/png;base64,aG%3D": "character 25",
        "data:image/png,aGk=": "character 5",
    }.items():
        message = refusal(content, kind)
        assert ("base64" in message, place in message) == (True, True), message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report", "report"),
        ("Q1 report_v1.2-final", "Q1 report_v1.2-final"),
        ("../../etc/passwd", "passwd"),
        ("/etc/shadow", "shadow"),
        ("C:\\Windows\\win.ini", "win.ini"),
        ("a/b", "b"),
        (".htaccess", "htaccess"),
        ("...dots...", "dots"),
        ("-rf", "rf"),
        ("  two   spaces\t\n", "two spaces"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("launch 🚀 plan", "launch plan"),
        ("a:b*c?d\"e<f>g|h'i", "abcdefghi"),
        ("full／width＼slash", "fullwidthslash"),
        ("Résumé", "Résumé"),
        ("Re\u0301sume\u0301", "Résumé"),
        ("Re\u200b\u0301sume", "Résume"),
        ("расписание", "расписание"),
        ("時刻表", "時刻表"),
        ("समय सारणी", "समय सारणी"),
        ("مواعيد ٢٠٢٦", "مواعيد ٢٠٢٦"),
        ("report.txt", "report"),
        ("report.TXT", "report"),
        ("report.pdf", "report.pdf"),
        ("CON", "_CON"),
        ("nul.tar", "_nul.tar"),
        ("com1 .x", "_com1 .x"),
        ("console", "console"),
        ("h\u0301\u0302\u0303\u0304\u0305", "h\u0301\u0302\u0303"),
    ],
)
def test_name_is_made_safe(name: str, expected: str) -> None:
    """The name is reduced to a safe base name (specification.md#files-safe-name)."""
    assert safe_name(name, "txt") == expected


@given(any_text())
def test_every_name_becomes_safe(name: str) -> None:
    result = safe_name(name, "txt")

    assert not re.search(r'[/\\\x00-\x1f\x7f:*?"<>|]', result)
    assert not result.startswith((" ", ".", "-"))
    assert not result.endswith((" ", "."))
    assert {
        unicodedata.category(character)[0] for character in result if character not in " -_."
    } <= {"L", "M", "N"}
    assert len(result) <= limits.FILENAME_CHARACTERS_MAX
    assert len(result.encode()) <= limits.FILENAME_BYTES_MAX
    assert safe_name(result, "txt") in (result, result.removesuffix(".txt"))
