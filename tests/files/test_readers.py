"""Content is opened by a reader of its type before it is stored."""

from __future__ import annotations

import io
import zlib
from typing import Any

import matplotlib.figure
import pypdf
import pytest
from files.archives import PDF, PNG, archive, encrypted, pdf, png, with_stated_size
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import data, integers, sampled_from
from PIL import Image
from service import Http

from remembrancer.files import readers
from remembrancer.files.readers import NotReadable
from remembrancer.protocol import limits
from remembrancer.protocol.files import FileType

LINK = 0o120777
SVG = '<svg xmlns="http://www.w3.org/2000/svg">{}</svg>'


def refusal(content: bytes | str, kind: FileType) -> str:
    """Return the reason why content is refused."""
    with pytest.raises(NotReadable) as refused:
        readers.check(content.encode() if isinstance(content, str) else content, kind)
    return str(refused.value)


def note(content: str, kind: FileType) -> str | None:
    """Return the note about content that is accepted."""
    return readers.check(content.encode(), kind)


def plotted(kind: str) -> bytes:
    """Return a figure that matplotlib saved."""
    figure = matplotlib.figure.Figure()
    figure.subplots().plot([1, 3, 2])
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind)
    return buffer.getvalue()


def drawn_by_pillow(kind: str, mode: str = "RGB") -> bytes:
    """Return a picture that Pillow saved."""
    buffer = io.BytesIO()
    Image.new(mode, (30, 20)).save(buffer, kind)
    return buffer.getvalue()


def written_by_pypdf(*, pages: int = 1, encrypted: bool = False) -> bytes:
    """Return a document that pypdf wrote."""
    document = pypdf.PdfWriter()
    for _ in range(pages):
        document.add_blank_page(100, 100)
    if encrypted:
        document.encrypt("a word", algorithm="RC4-128")
    buffer = io.BytesIO()
    document.write(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "png"),
        (plotted("png"), "png"),
        *((drawn_by_pillow("PNG", mode), "png") for mode in ("1", "L", "P", "RGB", "RGBA", "I;16")),
        (PDF, "pdf"),
        (plotted("pdf"), "pdf"),
        (drawn_by_pillow("PDF"), "pdf"),
        (written_by_pypdf(pages=300), "pdf"),
        (written_by_pypdf(encrypted=True), "pdf"),  # its pages cannot be seen
        (plotted("svg"), "svg"),
        (SVG.format("<script>alert(1)</script>").encode(), "svg"),  # is downloaded, never shown
        (archive({"a.txt": b"a", "folder/ü.txt": b"b", "dots..txt": b"c"}), "zip"),
        (archive({}), "zip"),
        (encrypted(archive({"a.txt": b"a"})), "zip"),
    ],
)
def test_files_of_other_programs_are_accepted(content: bytes, kind: FileType) -> None:
    """Real files are accepted (specification.md#files-content-checked)."""
    assert readers.check(content, kind) is None


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (PDF, "png", "not a PNG"),
        (PNG, "pdf", "not a PDF"),
        (PNG, "zip", "not a ZIP"),
        (archive({"a": b"a"}), "png", "not a PNG"),
        (drawn_by_pillow("JPEG"), "png", "not a PNG"),
        (b"", "png", "not a PNG"),
        (b"", "pdf", "not a PDF"),
        (b"", "zip", "not a ZIP"),
        (b" " + PDF, "pdf", "not a PDF"),
        (b"MZ" + archive({"a": b"a"}), "zip", "not a ZIP"),
        (b"%PDF-1.7\n%%EOF\n", "pdf", "end is missing"),
        (pdf(pages=[]), "pdf", "no page"),
        (pdf(pages=[b"<</Type/Pages/Kids[2 0 R]/Count 1>>"]), "pdf", "no page"),  # a cycle
        (written_by_pypdf(pages=0), "pdf", "no page"),
        (PDF.replace(b"/Root 1 0 R", b"/Root 9 0 R"), "pdf", "broken"),
        (PNG.replace(b"IDAT", b"IDAX"), "png", "broken"),
        (png(pixels=b"\0"), "png", "broken"),  # too few pixels
        (png(pixels=b"\x09" * 6), "png", "broken"),  # an unknown filter
        (png(7071, 7072, pixels=b""), "png", "more than 50,000,000 pixels"),
        (png(2**31 - 1, 2**31 - 1, pixels=b""), "png", "more than 50,000,000 pixels"),
    ],
)
def test_file_of_another_type_or_broken_is_refused(
    content: bytes, kind: FileType, reason: str
) -> None:
    """The reason is said in plain words (specification.md#files-content-checked)."""
    assert reason in refusal(content, kind)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (plotted("png"), "png"),
        (plotted("pdf"), "pdf"),
        (PDF, "pdf"),
        (archive({"a.txt": b"some text", "b.txt": b"more text"}), "zip"),
        (plotted("svg"), "svg"),
    ],
)
@given(data())
def test_truncated_file_is_refused(content: bytes, kind: FileType, drawn: Any) -> None:
    """A file that is cut off is refused (specification.md#files-content-checked)."""
    cut = drawn.draw(integers(0, len(content.rstrip()) - (17 if kind == "png" else 7)))

    assert refusal(content[:cut], kind)


BROKEN = {
    "png": drawn_by_pillow("PNG"),
    "pdf": PDF,
    "zip": archive({"a.txt": b"some text", "b.txt": b"more text"}),
    "svg": SVG.format("<g/>").encode(),
    "json": b'{"a": [1, 2]}',
    "csv": b'a,"b"\n1,2\n',
    "py": b"def f(a):\n    return [a]\n",
}


@given(sampled_from(sorted(BROKEN)), data())
def test_reader_of_broken_content_raises_only_not_readable(kind: Any, drawn: Any) -> None:
    """Bad input is never a 500 (specification.md#error-never-500)."""
    broken = bytearray(BROKEN[kind])
    for _ in range(drawn.draw(integers(1, 8))):
        broken[drawn.draw(integers(0, len(broken) - 1))] = drawn.draw(integers(0, 255))
    try:
        readers.check(bytes(broken), kind)
    except NotReadable as refused:
        assert str(refused)


def test_reader_that_does_not_end_is_ended() -> None:
    """A hostile PDF takes bounded time: a line of nothing but bytes, read one by one."""
    assert refusal(b"%PDF-1.4\n" + b"1 0 obj " * (4 << 20) + b"\nstartxref\n9\n%%EOF", "pdf")
    assert refusal(b"%PDF-1.4\n" + bytes(4 << 20), "pdf")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "line 1 is not XML"),
        ("<svg", "line 1 is not XML"),
        (SVG.format("<g>"), "line 1 is not XML: mismatched tag"),
        (SVG.format("\n&nbsp;"), "line 2 is not XML: undefined entity"),
        ("<svg/>", "the root element is not <svg xmlns="),
        ("<html xmlns='http://www.w3.org/1999/xhtml'/>", "the root element is not"),
        ('<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG.format("&a;"), "entities"),
        ('<!DOCTYPE svg [<!ENTITY a SYSTEM "/etc/passwd">]>' + SVG.format("&a;"), "entities"),
        ('<!DOCTYPE svg [<!ENTITY % a SYSTEM "http://a/">%a;]>' + SVG.format(""), "entities"),
        (SVG.format("<g>" * 1_001 + "</g>" * 1_001), "nested"),
        (SVG.format("<g/>" * 500_001), "more than 500,000 elements"),
        (SVG.format(" " * (8 << 20)), "at most 8,388,608 bytes"),
    ],
)
def test_svg_must_be_xml_with_an_svg_root(content: str, reason: str) -> None:
    """An SVG is parsed (specification.md#files-content-checked)."""
    assert reason in refusal(content, "svg")


@given(st.text())
def test_reason_does_not_repeat_the_content(request_text: str) -> None:
    """Errors never repeat the input (specification.md#error-no-echo)."""
    assert "mark of mine" not in refusal(f"mark of mine {request_text}", "json")
    assert "mark of mine" not in refusal(f"mark of mine {request_text}", "py")


DOCTYPE = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/svg11.dtd">'
ACCEPTED: dict[FileType, list[str]] = {
    "svg": [f'<?xml version="1.0" encoding="utf-8"?>{DOCTYPE}{SVG.format("é")}'],
    "json": ["{}", "[]", '"é"', "1.5e3", " null\n", '{"a": [1, {"b": "\\ud83d\\ude80"}]}',
             '{"a":1,"a":2}'],
    "csv": ["", "a\n", "a,b\r\n1,2\r\n", "a;b\n1;2,5\n", "a\tb\n1\t2\n", '"a;b";"c"\n1;2\n',
            'a,"b ""c"" d"\n1,"two\nlines"\n', "\ufeffa,b\n1,2", "a,b\n\n1,2\n",
            'a,"' + "x" * 200_000 + '"\n1,2\n'],
    "py": ["", "print('é')\n", "async def f():\n    return [x async for x in y]"],
}  # fmt: skip


@pytest.mark.parametrize("kind", ACCEPTED)
def test_text_of_its_type_is_accepted(kind: FileType) -> None:
    assert {content: note(content, kind) for content in ACCEPTED[kind]} == dict.fromkeys(
        ACCEPTED[kind]
    )


def test_text_that_is_no_python_csv_or_json_is_refused() -> None:
    python = {
        "print('a'": "line 1 is not Python",
        "x = 1\nif x:\nprint(x)\n": "line 3 is not Python: expected an indented block",
        "print 'a'": "line 1 is not Python",
        "(" * 10_000: "not Python",
        "-" * 100_000 + "1": "",
        "x\n" * (1 << 18) + "x": "at most 524,288 bytes",
    }
    json = ["", "{", "{'a': 1}", "[1,]", "NaN", "[Infinity]", "{} {}", '"\\ud800"', "[" * 100_000,
            "01", "\ufeff{}"]  # fmt: skip

    for content, reason in python.items():
        assert reason in refusal(content, "py")
    for content in ('a,"b', 'a,"b"c\n1,2\n', '"a"b;"c\n', '"', '"a" b\n'):
        assert "not CSV" in refusal(content, "csv")
    for content in json:
        assert "not JSON" in refusal(content, "json")


def test_archive_with_paths_outside_its_folder_is_refused() -> None:
    for name in ("../up.txt", "a/../../up.txt", "..", "/etc/passwd", "\\\\host\\share", "C:\\a.txt",
                 "c:a.txt", "a\\..\\..\\b"):  # fmt: skip
        assert "outside" in refusal(archive({"good.txt": b"a", name: b"b"}), "zip")
    assert "outside" in refusal(archive({"link": b"/etc/passwd"}, mode=LINK), "zip")


def test_archive_over_a_limit_is_refused() -> None:
    """Of its unpacked size, its compression ratio and the number of its entries."""
    most = limits.ZIP_UNPACKED_BYTES_MAX
    large = with_stated_size(archive({"a": bytes(range(256)) * 800}), most + 1)
    small = archive({"a": b"a"})
    at = small.index(b"PK\x01\x02")
    crowded = small[:at] + b"PK\x01\x02" * limits.ZIP_ENTRIES_MAX + small[at:]

    assert f"{most:,}" in refusal(large, "zip")
    assert "100 times" in refusal(archive({"zeros": bytes(1_000_000)}), "zip")
    assert readers.check(archive({"zeros": bytes(10_000)}), "zip") is None
    assert "entries" in refusal(crowded, "zip")


def test_archive_with_a_wrong_checksum_size_or_compression_is_refused() -> None:
    """Every entry is unpacked, not just listed (specification.md#files-content-checked).

    At most the stated size is unpacked.
    """
    content = archive({"a.txt": b"some text"})
    checksum = zlib.crc32(b"some text").to_bytes(4, "little")
    at = content.rindex(b"PK\x01\x02") + 10
    lzma = content[:at] + b"\x0e\0" + content[at + 2 :]

    assert "broken" in refusal(content.replace(checksum, bytes(4)), "zip")
    assert "broken" in refusal(with_stated_size(archive({"a": bytes(9_000)}), 10), "zip")
    assert "deflated" in refusal(lzma, "zip")


def test_csv_with_rows_of_different_lengths_is_accepted_with_a_note(http: Http) -> None:
    """The response says which row differs (specification.md#files-csv-rows)."""
    content = "name,age\nAda,36\nLovelace, Ada,36\n"
    body = {"filename": "a", "content": content, "type": "csv"}
    answer = http.post("/api/v7/tools/create-file", body).json()

    assert "Row 3 has 3 fields, the first row 2" in answer["detail"]
    assert answer["size_bytes"] == len(content)
