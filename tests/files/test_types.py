"""Content must match its declared type; the error says why it does not."""

from __future__ import annotations

import base64
from typing import Any, get_args

import pytest
from files.archives import PDF, PNG, archive, encrypted, with_stated_size
from hypothesis import given
from hypothesis.strategies import binary, data, integers, text

from remembrancer.files.types import ContentInvalid, content_of, media_type
from remembrancer.protocol import limits
from remembrancer.protocol.files import FileType

BINARY: tuple[FileType, ...] = ("pdf", "png", "zip")
LINK = 0o120777


def coded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def refusal(content: str, kind: FileType) -> str:
    """Return the message for content that is refused."""
    with pytest.raises(ContentInvalid) as refused:
        content_of(content, kind)
    (fault,) = refused.value.extra["errors"]
    assert fault["pointer"] == "/content"
    return str(fault["detail"])


@pytest.mark.parametrize(
    "kind", [kind for kind in get_args(FileType) if kind not in (*BINARY, "json")]
)
def test_text_is_stored_unchanged(kind: FileType) -> None:
    assert content_of(" <é>\r\n\t语 ", kind) == " <é>\r\n\t语 ".encode()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PDF, "pdf"),
        (PNG, "png"),
        (archive({"a.txt": b"a", "folder/ü.txt": b"b", "dots..txt": b"c"}), "zip"),
        (archive({}), "zip"),
        (encrypted(archive({"a.txt": b"a"})), "zip"),
    ],
)
def test_decoded_base64_is_stored(content: bytes, kind: FileType) -> None:
    """Binary types are sent as base64 (specification.md#files-types)."""
    assert content_of(coded(content), kind) == content


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize(
    "content",
    [
        "not base64",
        "iVBORw0KGgo",
        "iVBORw0KGgo=\n",
        " iVBORw0KGgo=",
        "iVBO-w0K_go=",
        "iVBOR===",
        "é",
        "data:;base64,AAAA",
    ],
)
def test_invalid_base64_is_refused(content: str, kind: FileType) -> None:
    """Binary types are checked (specification.md#files-content-checked)."""
    assert "base64" in refusal(content, kind)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "pdf"),
        (PDF, "png"),
        (b"", "png"),
        (b"", "pdf"),
        (b"", "zip"),
        (b" " + PDF, "pdf"),
        (PNG[:7], "png"),
        (b"MZ" + archive({"a": b"a"}), "zip"),
    ],
)
def test_content_with_a_wrong_signature_is_refused(content: bytes, kind: FileType) -> None:
    assert "base64" in refusal(coded(content), kind)


@pytest.mark.parametrize(
    "content", ["{}", "[]", '"é"', "1.5e3", " null\n", '{"a": [1, {"b": "\\ud83d\\ude80"}]}']
)
def test_json_is_stored_unchanged(content: str) -> None:
    assert content_of(content, "json") == content.encode()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "{'a': 1}",
        "[1,]",
        "NaN",
        "[Infinity]",
        "{} {}",
        '"\\ud800"',
        "[" * 100_000,
        "01",
        "\ufeff{}",
    ],
)
def test_invalid_json_is_refused(content: str) -> None:
    assert "not JSON" in refusal(content, "json")


@pytest.mark.parametrize(
    "name",
    [
        "../up.txt",
        "a/../../up.txt",
        "..",
        "/etc/passwd",
        "\\\\host\\share",
        "C:\\a.txt",
        "c:a.txt",
        "a\\..\\..\\b",
    ],
)
def test_archive_with_paths_outside_its_folder_is_refused(name: str) -> None:
    assert "outside" in refusal(coded(archive({"good.txt": b"a", name: b"b"})), "zip")


def test_archive_with_a_symbolic_link_is_refused() -> None:
    assert "outside" in refusal(coded(archive({"link": b"/etc/passwd"}, mode=LINK)), "zip")


def test_archive_over_the_unpacked_size_limit_is_refused() -> None:
    noise = bytes(range(256)) * 20_000
    content = archive({"a": noise[:200_000]})

    assert f"{limits.ZIP_UNPACKED_BYTES_MAX:,}" in refusal(
        coded(with_stated_size(content, limits.ZIP_UNPACKED_BYTES_MAX + 1)), "zip"
    )


def test_archive_with_a_compression_ratio_over_100_is_refused() -> None:
    assert "100 times" in refusal(coded(archive({"zeros": bytes(1_000_000)})), "zip")
    assert content_of(coded(archive({"zeros": bytes(10_000)})), "zip")


def test_archive_with_too_many_entries_is_refused() -> None:
    content = archive({"a": b"a"})
    at = content.index(b"PK\x01\x02")

    assert "entries" in refusal(
        coded(content[:at] + b"PK\x01\x02" * limits.ZIP_ENTRIES_MAX + content[at:]), "zip"
    )


@given(data())
def test_truncated_archive_is_refused(drawn: Any) -> None:
    whole = archive({"a.txt": b"some text", "b.txt": b"more text"})
    cut = drawn.draw(integers(4, len(whole) - 1))

    assert "cannot be read" in refusal(coded(whole[:cut]), "zip")


@given(data())
def test_corrupt_archive_raises_only_content_invalid(drawn: Any) -> None:
    broken = bytearray(archive({"a.txt": b"some text", "b.txt": b"more text"}))
    for _ in range(drawn.draw(integers(1, 8))):
        broken[drawn.draw(integers(4, len(broken) - 1))] = drawn.draw(integers(0, 255))
    try:
        assert content_of(coded(bytes(broken)), "zip") == broken
    except ContentInvalid as refused:
        assert refused.status == 422


@given(binary(max_size=200))
def test_random_bytes_after_the_zip_signature_are_refused(rest: bytes) -> None:
    with pytest.raises(ContentInvalid):
        content_of(coded(b"PK\x03\x04" + rest), "zip")


@given(text())
def test_error_does_not_repeat_the_content(request_text: str) -> None:
    """Errors never repeat the input (specification.md#error-no-echo)."""
    assert "mark of mine" not in refusal(f"mark of mine {request_text}", "json")


def test_every_type_has_a_media_type() -> None:
    assert {kind: media_type(kind).partition(";")[0] for kind in get_args(FileType)} == {
        "html": "text/html",
        "txt": "text/plain",
        "json": "application/json",
        "csv": "text/csv",
        "md": "text/markdown",
        "svg": "image/svg+xml",
        "pdf": "application/pdf",
        "png": "image/png",
        "zip": "application/zip",
        "py": "text/x-python",
        "css": "text/css",
        "js": "text/javascript",
    }
    assert media_type("npy") == "application/octet-stream"
