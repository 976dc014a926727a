"""Create a file: `POST /api/v7/tools/create-file`."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from files.archives import PDF, PNG, archive
from service import Http

from remembrancer.protocol.files import FileType
from remembrancer.settings import Settings

PATH = "/api/v7/tools/create-file"
CSV = {"filename": "Ferry times", "content": "harbour,leaves\nPiombino,09:40\n", "type": "csv"}
SAMPLES = {
    "pdf": PDF,
    "png": PNG,
    "zip": archive({"a.txt": b"a"}),
    "json": b'{"a": 1}',
    "svg": '<svg xmlns="http://www.w3.org/2000/svg"><title>é</title></svg>'.encode(),
    "py": "print('é')\n".encode(),
}


def sample(kind: str) -> tuple[str, bytes]:
    """Return content of this type, as sent and as downloaded."""
    whole = SAMPLES.get(kind, f"<p>some {kind} é</p>".encode())
    return (base64.b64encode(whole) if kind in ("pdf", "png", "zip") else whole).decode(), whole


def test_response_is_the_created_file(http: Http) -> None:
    """A 200 with the created file; `url` is `/download/<filename>`.

    See specification.md#files-created, specification.md#files-url.
    """
    answer = http.post(PATH, CSV)
    body = answer.json()

    assert (answer.status_code, body["status"]) == (200, "created")
    assert set(body) == {
        *("status", "filename", "url", "size_bytes"),
        *("download_url", "expires_at"),
    }
    assert body["size_bytes"] == len(CSV["content"])
    assert body["expires_at"] == "2026-01-01T00:15:00.000Z"
    assert re.fullmatch(r"Ferry times-[0-9a-f]{12}\.csv", body["filename"])
    assert body["url"] == "/download/" + quote(body["filename"])
    assert body["download_url"].startswith(body["url"] + "?exp=1767226500&sig=")


def test_all_twelve_types_are_downloaded_unchanged(http: Http) -> None:
    """All twelve types come back byte for byte (specification.md#files-types)."""
    kinds = get_args(FileType)
    for kind in kinds:
        request, whole = sample(kind)
        body = http.post(PATH, {"filename": "a", "content": request, "type": kind}).json()

        assert http.get(body["url"]).content == whole
        assert body["size_bytes"] == len(whole)
        assert body["filename"].endswith(f".{kind}")
    assert set(kinds) == {
        *("html", "txt", "json", "csv", "md", "svg", "pdf", "png", "zip", "py", "css", "js")
    }


def test_content_that_does_not_match_its_type_is_refused(http: Http, folder: Path) -> None:
    """Content is checked against its type (specification.md#files-content-checked)."""
    before = http.rows()
    for content, kind in [
        ("plain text", "pdf"),
        (base64.b64encode(PNG).decode(), "pdf"),
        (base64.b64encode(PNG).decode()[:-1], "png"),
        (base64.b64encode(archive({"a": b"a"})[:-1]).decode(), "zip"),
        (base64.b64encode(archive({"../a": b"a"})).decode(), "zip"),
        (base64.b64encode(archive({"a": bytes(1_000_000)})).decode(), "zip"),
        ("{'a': 1}", "json"),
    ]:
        answer = http.post(PATH, {"filename": "a", "content": content, "type": kind})
        assert answer.status_code == 422, kind
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/content"]
        assert content not in answer.text
    assert http.rows() == before
    assert not (folder / "blobs").exists()


def test_filename_is_reduced_to_a_safe_base_name(http: Http, folder: Path) -> None:
    """Or refused if nothing is left of it (specification.md#files-safe-name)."""
    for filename in ("..", "../", "🚀", "\u202e"):
        answer = http.post(PATH, {**CSV, "filename": filename})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/filename")
    assert not (folder / "blobs").exists()
    for filename, expected in [
        ("../../etc/passwd", "passwd"),
        ("/root/x", "x"),
        ("CON", "_CON"),
        (".htaccess", "htaccess"),
        ("a" * 300, "a" * 80),
        ("時刻表", "時刻表"),
    ]:
        body = http.post(PATH, {**CSV, "filename": filename}).json()
        assert re.fullmatch(re.escape(expected) + r"-[0-9a-f]{12}\.csv", body["filename"])
        assert http.get(body["url"]).status_code == 200


def test_body_limit_is_larger_than_for_other_endpoints(http: Http) -> None:
    """The body may have 32 MiB here (specification.md#files-body-size)."""
    large = {
        "filename": "a",
        "content": "x" * (4 << 20),
        "type": "txt",
        "query_text": "q",
        "user_id": "owner",
    }

    assert http.post(PATH, large).status_code == 200
    assert http.post("/api/v7/memory", large).status_code == 413
    assert Settings().file_bytes_max == 32 << 20
    assert Settings().account_bytes_max == 1 << 30


def test_large_body_with_many_brackets_is_refused(http: Http) -> None:
    """Parsing needs about 100 bytes of memory per bracket.

    See specification.md#files-body-size.
    """
    body = (
        b'{"filename": "a", "content": "x", "type": "txt", "more": [' + b"[]," * (1 << 19) + b"[]]}"
    )
    answer = http.post_bytes(PATH, body)

    assert answer.status_code == 413
    assert "outside JSON strings" in answer.json()["detail"]
    assert (
        http.post(PATH, {**CSV, "content": '[]"\\,' * (1 << 19), "type": "txt"}).status_code == 200
    )


def test_large_body_with_unterminated_strings_is_refused_quickly(http: Http) -> None:
    """The body is scanned once, not once per quote: quadratic time would look like a hang."""
    count = 1 << 20
    for body in (
        b'"\\' * count,
        b'{"x": "' + b"\\\\" * count,
        b"\\" * count + b'"',
        b'"' * count + b'"a',
    ):
        assert http.post_bytes(PATH, body).status_code == 400
