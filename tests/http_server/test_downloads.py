"""A created file comes as an attachment that can do nothing, to those who may have it, whole or in
part.
"""

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
    """The answer to a file that was made."""
    answer = http.post(CREATE, {"filename": filename, "content": content, "type": kind})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_its_headers_let_a_browser_do_nothing_with_it_but_keep_it(http: Http) -> None:
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
def test_the_name_has_an_old_and_a_new_encoding(http: Http, filename: str, plain: str) -> None:
    """RFC 6266 and RFC 5987: `filename*`."""
    result = make(http, filename=filename)
    end = result["filename"][-17:]

    assert http.get(result["url"]).headers["content-disposition"] == (
        f'attachment; filename="{plain}{end}"; '
        f"filename*=UTF-8''{quote(result['filename'], safe='')}"
    )


def test_without_key_or_link_the_answer_is_401(http: Http) -> None:
    """A key, a browser session or a signed link (specification.md#download-access)."""
    answer = http.with_key(None).get(make(http)["url"])

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("key", [None, "sk_" + "ab" * 32])
def test_a_link_needs_no_key(http: Http, key: str | None) -> None:
    assert http.with_key(key).get(make(http)["download_url"]).text == CONTENT


def test_a_link_that_has_ended_is_not_found(http: Http, clock: testing.FrozenClock) -> None:
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
def test_a_link_that_was_changed_opens_nothing(
    http: Http, change: Callable[[str], str], status: int
) -> None:
    assert http.with_key(None).get(change(make(http)["download_url"])).status_code == status


def test_another_accounts_file_is_not_found_as_one_that_does_not_exist(http: Http) -> None:
    """The same 404 for both (specification.md#download-unknown)."""
    result, ada = make(http), http.as_account("ada")
    answers = [ada.get(url).json() for url in (result["url"], "/download/none-0123456789ab.txt")]

    assert [answer.pop("status") for answer in answers] == [404, 404]
    assert [answer["detail"] for answer in answers] == [answers[0]["detail"]] * 2


def test_a_pinned_key_gets_only_what_its_own_pin_made(http: Http) -> None:
    bob, eve = (http.as_account("owner", user_id=name) for name in ("bob", "eve"))
    result = make(bob)

    assert [asking.get(result["url"]).status_code for asking in (bob, eve, http)] == [200, 404, 200]
    assert bob.get(make(http)["url"]).status_code == 404


def test_a_read_only_key_may_download(http: Http) -> None:
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
def test_a_path_that_is_no_name_is_not_found(http: Http, path: str) -> None:
    answer = http.get(f"/download/{path}")

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("request_fields", "part", "message"),
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
def test_one_range_can_be_requested(
    http: Http, request_fields: str, part: str, message: str
) -> None:
    """RFC 9110, 14."""
    answer = http.get(make(http)["url"], headers={"Range": request_fields})

    assert (answer.status_code, answer.text) == (206, part)
    assert answer.headers["content-range"] == f"bytes {message}/100"
    assert answer.headers["content-length"] == str(len(part))
    assert answer.headers["content-disposition"].startswith("attachment; ")


@pytest.mark.parametrize(
    "request_fields",
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
def test_a_range_that_is_none_or_many_gets_the_whole(http: Http, request_fields: str) -> None:
    """Only one valid range is served (specification.md#download-ranges)."""
    answer = http.get(make(http)["url"], headers={"Range": request_fields.encode()})

    assert (answer.status_code, answer.text) == (200, CONTENT)
    assert answer.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize(
    "request_fields", ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=999999999999999999-"]
)
def test_a_part_that_is_not_there_is_416(http: Http, request_fields: str) -> None:
    answer = http.get(make(http)["url"], headers={"Range": request_fields})

    assert (answer.status_code, answer.json()["error"]) == (416, "range_not_satisfiable")
    assert answer.headers["content-range"] == "bytes */100"


@pytest.mark.parametrize("request_fields", ["bytes=0-", "bytes=-5"])
def test_an_empty_file_has_no_part(http: Http, request_fields: str) -> None:
    result = make(http, "")

    assert http.get(result["url"]).content == b""
    assert http.get(result["url"], headers={"Range": request_fields}).status_code == 416


def test_a_part_of_what_has_changed_is_the_whole(http: Http) -> None:
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
    ("is_known", "status"),
    [("{}", 304), ("W/{}", 304), ('"x", {}', 304), ("*", 304), ('"x"', 200), ("", 200)],
)
def test_what_one_has_is_not_sent_again(http: Http, is_known: str, status: int) -> None:
    """RFC 9110, 13.1.2: If-None-Match."""
    result = make(http)
    etag = http.get(result["url"]).headers["etag"]
    answer = http.get(
        result["url"],
        headers={"If-None-Match": is_known.format(etag), "Range": "bytes=0-"}
        if status == 304
        else {"If-None-Match": is_known},
    )

    assert answer.status_code == status
    assert answer.headers["etag"] == etag
    assert (answer.content == b"") == (status == 304)


def test_head_tells_the_size_and_reads_nothing(http: Http) -> None:
    receipt = make(http)
    result, head = http.get(receipt["url"]), http.ask("HEAD", receipt["url"])
    part = http.ask("HEAD", receipt["url"], headers={"Range": "bytes=0-4"})

    assert head.content == part.content == b""
    assert {name: value for name, value in head.headers.items() if name != "x-request-id"} == {
        name: value for name, value in result.headers.items() if name != "x-request-id"
    }
    assert (part.status_code, part.headers["content-length"]) == (206, "5")


def test_missing_content_is_503_and_not_an_empty_file(http: Http, folder: Path) -> None:
    result = make(http)
    for path in (folder / "blobs").glob("*/*"):
        path.unlink()

    for method in ("GET", "HEAD"):
        assert http.ask(method, result["url"]).status_code == 503
    assert str(folder) not in http.get(result["url"]).text


def test_a_large_file_comes_whole_over_a_real_connection(
    http: Http, connect: Callable[[], socket.socket]
) -> None:
    """In pieces: no more than one of them is in memory."""
    content = PNG + os.urandom(3_000_000)
    result = make(http, base64.b64encode(content).decode(), "png")
    connection = connect()
    connection.sendall(
        f"GET {result['download_url']} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
    )
    received = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    head, _, body = received.partition(b"\r\n\r\n")

    assert b"content-length: " + str(len(content)).encode() in head.lower()
    assert body == content


def test_without_the_store_a_download_is_503(http: Http, context: Context) -> None:
    result = make(http)
    context.store.close()

    assert [http.get(result[url]).status_code for url in ("url", "download_url")] == [503, 503]


def test_its_answers_are_in_the_document(http: Http) -> None:
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
    """A content without a row."""
    with open_blobs(context.settings).hold(b"orphan"):
        pass


class TestAfterAKill:
    """The content is durable before its row:

    a server that was killed in between removes it at its next start.
    """

    def test_an_orphan_is_swept_at_the_start(
        self, folder: Path, clock: testing.FrozenClock
    ) -> None:
        clock.advance(100 * 365 * 24 * 3_600_000)
        context = testing.context(folder, clock=clock)
        make_orphan(context)
        sweep_aside(context).join()
        context.close()

        assert [path for path in (folder / "blobs").rglob("*") if path.is_file()] == []

    def test_a_store_that_does_not_answer_stops_no_start(
        self, folder: Path, clock: testing.FrozenClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        context = testing.context(folder, clock=clock)
        clock.advance(100 * 365 * 24 * 3_600_000)
        make_orphan(context)
        context.store.close()
        sweep_aside(context).join()
        context.close()

        assert "orphaned files" in caplog.text
