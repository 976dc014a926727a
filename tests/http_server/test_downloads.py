"""Downloads: headers, access, byte ranges, caching and orphaned blobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from service import Http, body_of

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
    return body_of(http.post(CREATE, {"filename": filename, "content": content, "type": kind}))


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


def test_download_needs_a_key_or_a_link(http: Http, clock: testing.FrozenClock) -> None:
    """A key, a browser session or a signed link (specification.md#download-access)."""
    result = make(http)
    answer = http.with_key(None).get(result["url"])
    with_link = [one.get(result["download_url"]) for one in map(http.with_key, (None, "sk_wrong"))]
    reader = http.as_account("owner", read_only=True)
    clock.advance(15 * 60_000)
    expired = http.with_key(None).get(result["download_url"])

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert [one.text for one in with_link] == [CONTENT] * 2
    assert reader.get(result["url"]).text == CONTENT
    assert expired.status_code == 404
    assert http.get(result["download_url"]).text == CONTENT  # the key still opens it


def test_altered_link_is_rejected(shared: Http) -> None:
    url = make(shared)["download_url"]
    altered = {
        url[:-1] + ("0" if url[-1] != "0" else "1"): 404,
        url.replace("exp=1", "exp=2"): 404,
        url.replace("exp=1", "exp=x1"): 422,
        url + "&sig=a": 422,
        url.replace("exp=", "exp=-"): 422,
        url + "a" * 300: 422,
        url.replace("sig=", "sig=%ff"): 422,
        url.partition("&")[0]: 401,
        url.replace("exp=1", "was=1"): 401,
        url.replace("/Ferry", "/ferry"): 404,
    }

    assert {one: shared.with_key(None).get(one).status_code for one in altered} == altered


def test_file_of_another_account_looks_like_a_missing_file(http: Http) -> None:
    """The same 404 for both; a pinned key downloads what its user made.

    See specification.md#download-unknown, specification.md#download-pinned.
    """
    result, ada = make(http), http.as_account("ada")
    answers = [ada.get(url).json() for url in (result["url"], "/download/none-0123456789ab.txt")]
    bob, eve = (http.as_account("owner", user_id=name) for name in ("bob", "eve"))
    of_bob = make(bob)["url"]

    assert [answer["status"] for answer in answers] == [404, 404]
    assert answers[0]["detail"] == answers[1]["detail"]
    assert [one.get(of_bob).status_code for one in (bob, eve, http)] == [200, 404, 200]
    assert bob.get(result["url"]).status_code == 404


def test_invalid_file_name_returns_404(shared: Http) -> None:
    for path in ("..%2f..%2fremembrancer.sqlite3", "%2fetc%2fpasswd", "a%00.txt", "%ff%fe",
                 "%0d%0aSet-Cookie:x", "a" * 5000, "%e2%80%ae", "download.secret"):  # fmt: skip
        answer = shared.get(f"/download/{path}")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"


def test_single_range_is_served(shared: Http) -> None:
    """RFC 9110, 14."""
    url = make(shared)["url"]
    for range_header, part, content_range in (
        ("bytes=0-4", CONTENT[:5], "0-4"),
        ("bytes=95-", CONTENT[95:], "95-99"),
        ("bytes=-3", CONTENT[-3:], "97-99"),
        ("bytes=99-99", CONTENT[99:], "99-99"),
        ("bytes=90-1000", CONTENT[90:], "90-99"),
        ("bytes=-1000", CONTENT, "0-99"),
        ("Bytes = 0 - 4 ", CONTENT[:5], "0-4"),
    ):
        answer = shared.get(url, headers={"Range": range_header})
        assert (answer.status_code, answer.text) == (206, part)
        assert answer.headers["content-range"] == f"bytes {content_range}/100"
        assert answer.headers["content-length"] == str(len(part))
        assert answer.headers["content-disposition"].startswith("attachment; ")


def test_invalid_or_multiple_ranges_return_the_whole_file(shared: Http) -> None:
    """Only one valid range is served; one beyond the end is a 416.

    See specification.md#download-ranges.
    """
    url, empty = make(shared)["url"], make(shared, "")["url"]
    for range_header in ("bytes=0-1,4-5", "bytes=5-4", "bytes=-", "bytes=a-b", "lines=0-4", "",
                         "0-4", "bytes=0-4-5", "bytes=--1", "bytes=٠-٤"):  # fmt: skip
        answer = shared.get(url, headers={"Range": range_header.encode()})
        assert (answer.status_code, answer.text) == (200, CONTENT)
        assert answer.headers["accept-ranges"] == "bytes"
    for range_header in ("bytes=100-", "bytes=100-200", "bytes=-0", f"bytes={10**17}-"):
        answer = shared.get(url, headers={"Range": range_header})
        assert (answer.status_code, answer.json()["error"]) == (416, "range_not_satisfiable")
        assert answer.headers["content-range"] == "bytes */100"
    for range_header in ("bytes=0-", "bytes=-5"):
        assert shared.get(empty, headers={"Range": range_header}).status_code == 416
    assert shared.get(empty).content == b""


def test_conditions_compare_the_etag(shared: Http) -> None:
    """RFC 9110, 13.1.2 and 13.1.5: If-None-Match and If-Range."""
    url = make(shared)["url"]
    etag = shared.get(url).headers["etag"]

    for if_range, status in ((etag, 206), ('"other"', 200)):
        headers = {"Range": "bytes=0-4", "If-Range": if_range}
        assert shared.get(url, headers=headers).status_code == status
    for value in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        answer = shared.get(url, headers={"If-None-Match": value, "Range": "bytes=0-"})
        assert (answer.status_code, answer.headers["etag"], answer.content) == (304, etag, b"")
    for value in ('"x"', ""):
        answer = shared.get(url, headers={"If-None-Match": value})
        assert (answer.status_code, answer.headers["etag"]) == (200, etag)


def test_head_returns_the_headers_of_get(shared: Http) -> None:
    url = make(shared)["url"]
    result, head = dict(shared.get(url).headers), shared.ask("HEAD", url)
    part = shared.ask("HEAD", url, headers={"Range": "bytes=0-4"})

    assert head.content == part.content == b""
    assert {**head.headers, "x-request-id": ""} == {**result, "x-request-id": ""}
    assert (part.status_code, part.headers["content-length"]) == (206, "5")


def test_download_without_its_content_or_the_store_is_503(http: Http, folder: Path) -> None:
    result = make(http)
    for path in (folder / "blobs").glob("*/*"):
        path.unlink()

    answers = [http.ask(method, result["url"]) for method in ("GET", "HEAD")]
    http.context.store.close()
    answers += [http.get(result[url]) for url in ("url", "download_url")]

    assert [answer.status_code for answer in answers] == [503] * 4
    assert str(folder) not in answers[0].text


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
