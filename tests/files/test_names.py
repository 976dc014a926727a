"""Stored names are safe on every system and close to the requested name."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis.strategies import text

from remembrancer.files.files import safe_name
from remembrancer.protocol import limits


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


@given(text())
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
