"""Downloads: headers, access, byte ranges, caching and orphaned blobs."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from files.archives import PNG
from service import Http

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.files.blobs import open_blobs
from remembrancer.server.run import sweep_aside

CREATE = "/api/v7/tools/create-file"
CONTENT = "0123456789" * 10


def make(
    http: Http, content: str = CONTENT, kind: str = "txt", filename: str = "Ferry times"
) -> Any:
    """Create a file; return the response body."""
    answer = http.post(CREATE, {"filename": filename, "content": content, "type": kind})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_download_headers_prevent_execution_in_a_browser(http: Http) -> None:
    """An attachment with `nosniff` and a sandbox (specification.md#download-headers)."""
    result = make(http, "<script>alert(1)</script>", "html")
    headers = http.get(result["url"]).headers

    assert headers["content-disposition"].startswith("attachment; ")
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-length"] == "25"


@pytest.mark.parametrize(
    ("filename", "plain"),
    [
        ("Ferry times", "Ferry times"),
        ("Résumé", "R_sum_"),
        ("時刻表", "___"),
        ('a"; filename="b', "a filenameb"),
    ],
)
def test_content_disposition_has_an_ascii_and_a_utf8_name(
    http: Http, filename: str, plain: str
) -> None:
    """RFC 6266 and RFC 5987: `filename*`."""
    result = make(http, filename=filename)
    end = result["filename"][-17:]

    assert http.get(result["url"]).headers["content-disposition"] == (
        f'attachment; filename="{plain}{end}"; '
        f"filename*=UTF-8''{quote(result['filename'], safe='')}"
    )


def test_download_without_key_or_link_is_401(http: Http) -> None:
    """A key, a browser session or a signed link (specification.md#download-access)."""
    answer = http.with_key(None).get(make(http)["url"])

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("key", [None, "sk_" + "ab" * 32])
def test_signed_link_needs_no_key(http: Http, key: str | None) -> None:
    assert http.with_key(key).get(make(http)["download_url"]).text == CONTENT


def test_expired_link_returns_404(http: Http, clock: testing.FrozenClock) -> None:
    result = make(http)
    clock.advance(15 * 60_000)

    assert http.with_key(None).get(result["download_url"]).status_code == 404
    assert http.get(result["download_url"]).text == CONTENT  # the key still opens it


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda url: url[:-1] + ("0" if url[-1] != "0" else "1"), 404),
        (lambda url: url.replace("exp=1", "exp=2"), 404),
        (lambda url: url.replace("exp=1", "exp=x1"), 422),
        (lambda url: url + "&sig=a", 422),
        (lambda url: url.replace("exp=", "exp=-"), 422),
        (lambda url: url + "a" * 300, 422),
        (lambda url: url.replace("sig=", "sig=%ff"), 422),
        (lambda url: url.partition("&")[0], 401),
        (lambda url: url.replace("exp=1", "was=1"), 401),
        (lambda url: url.replace("/Ferry", "/ferry"), 404),
    ],
)
def test_altered_link_is_rejected(http: Http, change: Callable[[str], str], status: int) -> None:
    assert http.with_key(None).get(change(make(http)["download_url"])).status_code == status


def test_file_of_another_account_looks_like_a_missing_file(http: Http) -> None:
    """The same 404 for both (specification.md#download-unknown)."""
    result, ada = make(http), http.as_account("ada")
    answers = [ada.get(url).json() for url in (result["url"], "/download/none-0123456789ab.txt")]

    assert [answer.pop("status") for answer in answers] == [404, 404]
    assert [answer["detail"] for answer in answers] == [answers[0]["detail"]] * 2


def test_pinned_key_downloads_only_files_of_its_own_user(http: Http) -> None:
    bob, eve = (http.as_account("owner", user_id=name) for name in ("bob", "eve"))
    result = make(bob)

    assert [client.get(result["url"]).status_code for client in (bob, eve, http)] == [200, 404, 200]
    assert bob.get(make(http)["url"]).status_code == 404


def test_read_only_key_can_download(http: Http) -> None:
    assert http.as_account("owner", read_only=True).get(make(http)["url"]).text == CONTENT


@pytest.mark.parametrize(
    "path",
    [
        "..%2f..%2fremembrancer.sqlite3",
        "%2fetc%2fpasswd",
        "a%00.txt",
        "%ff%fe",
        "%0d%0aSet-Cookie:x",
        "a" * 5000,
        "%e2%80%ae",
        "download.secret",
    ],
)
def test_invalid_file_name_returns_404(http: Http, path: str) -> None:
    answer = http.get(f"/download/{path}")

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("range_header", "part", "content_range"),
    [
        ("bytes=0-4", CONTENT[:5], "0-4"),
        ("bytes=95-", CONTENT[95:], "95-99"),
        ("bytes=-3", CONTENT[-3:], "97-99"),
        ("bytes=99-99", CONTENT[99:], "99-99"),
        ("bytes=90-1000", CONTENT[90:], "90-99"),
        ("bytes=-1000", CONTENT, "0-99"),
        ("Bytes = 0 - 4 ", CONTENT[:5], "0-4"),
    ],
)
def test_single_range_is_served(
    http: Http, range_header: str, part: str, content_range: str
) -> None:
    """RFC 9110, 14."""
    answer = http.get(make(http)["url"], headers={"Range": range_header})

    assert (answer.status_code, answer.text) == (206, part)
    assert answer.headers["content-range"] == f"bytes {content_range}/100"
    assert answer.headers["content-length"] == str(len(part))
    assert answer.headers["content-disposition"].startswith("attachment; ")


@pytest.mark.parametrize(
    "range_header",
    [
        "bytes=0-1,4-5",
        "bytes=5-4",
        "bytes=-",
        "bytes=a-b",
        "lines=0-4",
        "",
        "0-4",
        "bytes=0-4-5",
        "bytes=--1",
        "bytes=٠-٤",
    ],
)
def test_invalid_or_multiple_ranges_return_the_whole_file(http: Http, range_header: str) -> None:
    """Only one valid range is served (specification.md#download-ranges)."""
    answer = http.get(make(http)["url"], headers={"Range": range_header.encode()})

    assert (answer.status_code, answer.text) == (200, CONTENT)
    assert answer.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize(
    "range_header", ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=999999999999999999-"]
)
def test_range_beyond_the_end_is_416(http: Http, range_header: str) -> None:
    answer = http.get(make(http)["url"], headers={"Range": range_header})

    assert (answer.status_code, answer.json()["error"]) == (416, "range_not_satisfiable")
    assert answer.headers["content-range"] == "bytes */100"


@pytest.mark.parametrize("range_header", ["bytes=0-", "bytes=-5"])
def test_range_of_an_empty_file_is_416(http: Http, range_header: str) -> None:
    result = make(http, "")

    assert http.get(result["url"]).content == b""
    assert http.get(result["url"], headers={"Range": range_header}).status_code == 416


def test_if_range_with_another_etag_returns_the_whole_file(http: Http) -> None:
    """RFC 9110, 13.1.5: If-Range."""
    result = make(http)
    etag = http.get(result["url"]).headers["etag"]

    assert (
        http.get(result["url"], headers={"Range": "bytes=0-4", "If-Range": etag}).status_code == 206
    )
    assert (
        http.get(result["url"], headers={"Range": "bytes=0-4", "If-Range": '"other"'}).status_code
        == 200
    )


@pytest.mark.parametrize(
    ("if_none_match", "status"),
    [("{}", 304), ("W/{}", 304), ('"x", {}', 304), ("*", 304), ('"x"', 200), ("", 200)],
)
def test_if_none_match_returns_304(http: Http, if_none_match: str, status: int) -> None:
    """RFC 9110, 13.1.2: If-None-Match."""
    result = make(http)
    etag = http.get(result["url"]).headers["etag"]
    answer = http.get(
        result["url"],
        headers={"If-None-Match": if_none_match.format(etag), "Range": "bytes=0-"}
        if status == 304
        else {"If-None-Match": if_none_match},
    )

    assert answer.status_code == status
    assert answer.headers["etag"] == etag
    assert (answer.content == b"") == (status == 304)


def test_head_returns_the_headers_of_get(http: Http) -> None:
    receipt = make(http)
    result, head = http.get(receipt["url"]), http.ask("HEAD", receipt["url"])
    part = http.ask("HEAD", receipt["url"], headers={"Range": "bytes=0-4"})

    assert head.content == part.content == b""
    assert {name: value for name, value in head.headers.items() if name != "x-request-id"} == {
        name: value for name, value in result.headers.items() if name != "x-request-id"
    }
    assert (part.status_code, part.headers["content-length"]) == (206, "5")


def test_missing_blob_is_503(http: Http, folder: Path) -> None:
    result = make(http)
    for path in (folder / "blobs").glob("*/*"):
        path.unlink()

    for method in ("GET", "HEAD"):
        assert http.ask(method, result["url"]).status_code == 503
    assert str(folder) not in http.get(result["url"]).text


def test_large_file_is_streamed_over_a_real_connection(
    http: Http, connect: Callable[[], socket.socket]
) -> None:
    """The server sends the file in pieces and holds one piece in memory."""
    content = PNG + os.urandom(3_000_000)
    result = make(http, base64.b64encode(content).decode(), "png")
    connection = connect()
    connection.sendall(
        f"GET {result['download_url']} HTTP/1.1\r\n"
        "Host: localhost\r\nConnection: close\r\n\r\n".encode()
    )
    received = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    head, _, body = received.partition(b"\r\n\r\n")

    assert b"content-length: " + str(len(content)).encode() in head.lower()
    assert body == content


def test_download_without_the_store_is_503(http: Http, context: Context) -> None:
    result = make(http)
    context.store.close()

    assert [http.get(result[url]).status_code for url in ("url", "download_url")] == [503, 503]


def test_download_is_documented_in_openapi(http: Http) -> None:
    """OpenAPI describes exactly what is served (specification.md#status-openapi)."""
    operation = http.get("/openapi.json").json()["paths"]["/download/{filename}"]["get"]

    assert operation["responses"].keys() >= {"200", "206", "304", "401", "404", "416", "422"}
    assert {row["name"] for row in operation["parameters"]} == {
        "filename",
        "exp",
        "sig",
        "Range",
        "If-None-Match",
    }
    assert operation["security"] == [{}, {"key": []}]


def make_orphan(context: Context) -> None:
    """Store a blob without a row."""
    with open_blobs(context.settings).hold(b"orphan"):
        pass


class TestOrphans:
    """A server killed between writing a blob and its row sweeps the blob at its next start."""

    def test_orphaned_blob_is_swept_at_start(
        self, folder: Path, clock: testing.FrozenClock
    ) -> None:
        clock.advance(100 * 365 * 24 * 3_600_000)
        context = testing.context(folder, clock=clock)
        make_orphan(context)
        sweep_aside(context).join()
        context.close()

        assert [path for path in (folder / "blobs").rglob("*") if path.is_file()] == []

    def test_unavailable_store_does_not_stop_the_start(
        self, folder: Path, clock: testing.FrozenClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        context = testing.context(folder, clock=clock)
        clock.advance(100 * 365 * 24 * 3_600_000)
        make_orphan(context)
        context.store.close()
        sweep_aside(context).join()
        context.close()

        assert "orphaned files" in caplog.text
