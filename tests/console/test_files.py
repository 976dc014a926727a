"""The files page: listing, downloads, previews, deletion and access by other accounts."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from console.reader import Reader, words_of
from console.window import Site

from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.files.files import FileOwner, create_file, stored_file
from remembrancer.protocol.files import FileCreate

PATH = "/console/files"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)  # one pixel


def make(
    reader: Reader, name: str = "Ferry times", content: str = "harbour,leaves\n", kind: str = "csv"
) -> str:
    """Create a file for the reader's account; return its name."""
    return create_file(
        reader.context,
        reader.caller,
        FileCreate.model_validate({"filename": name, "content": content, "type": kind}),
    ).filename


def at(action: str, filename: str) -> str:
    return f"{PATH}/{action}?filename={quote(filename)}"


def test_download_sends_the_same_headers_as_the_api(owner: Reader, context: Context) -> None:
    """A file is sent as an attachment, sandboxed (specification.md#download-headers)."""
    name = make(owner, content="<script>alert(1)</script>", kind="html")
    ours = owner.get(at("download", name))
    theirs = owner.http.get(f"/download/{quote(name)}")

    assert (ours.status_code, ours.text) == (200, "<script>alert(1)</script>")
    for name in ("x-content-type-options", "content-type", "etag", "accept-ranges"):
        assert ours.headers[name] == theirs.headers[name]
    for name in ("content-disposition", "content-security-policy"):
        assert ours.headers[name] == theirs.headers[name]
    assert ours.headers["content-disposition"].startswith("attachment")
    assert ours.headers["content-security-policy"] == "sandbox; default-src 'none'"


class TestOtherSites:
    """The session cookie works only for the console's own paths and same-origin requests."""

    @pytest.mark.parametrize("site", ["cross-site", "same-site", "", "x"])
    @pytest.mark.parametrize("action", ["download", "picture"])
    def test_cross_site_requests_are_rejected_despite_the_cookie(
        self, owner: Reader, action: str, site: str
    ) -> None:
        """A browser treats other ports of this host as the same site and sends them the cookie."""
        name = make(owner, content=base64.b64encode(PNG).decode(), kind="png")
        answer = owner.ask("GET", at(action, name), headers={"sec-fetch-site": site})

        assert (answer.status_code, PNG in answer.content) == (403, False)

    def test_requests_without_a_cookie_are_redirected_to_sign_in(self, owner: Reader) -> None:
        name = make(owner)
        owner.cookies = {}

        for action in ("download", "picture"):
            assert owner.get(at(action, name)).status_code == 303


class TestPictures:
    """A page shows PNG files, by an `<img>`."""

    def test_png_preview_is_inline_and_sandboxed(self, owner: Reader) -> None:
        name = make(owner, "plot", base64.b64encode(PNG).decode(), "png")
        answer = owner.get(at("picture", name))

        assert (answer.status_code, answer.content) == (200, PNG)
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["content-disposition"] == "inline"
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"

    @pytest.mark.parametrize("kind", ["html", "svg", "js", "txt"])
    def test_only_png_files_have_a_preview(self, owner: Reader, kind: str) -> None:
        name = make(owner, content='<svg xmlns="http://www.w3.org/2000/svg"/>', kind=kind)

        assert owner.get(at("picture", name)).status_code == 404
        assert f'src="{at("picture", name)}"' not in owner.get(PATH).text

    def test_invalid_png_has_no_preview(self, owner: Reader) -> None:
        fake = b"\x89PNG\r\n\x1a\n<script>alert(1)</script>" + b"x" * 30
        author = FileOwner(
            account_id=owner.caller.account_id, pinned_user_id=None, made_by="program"
        )
        with stored_file(owner.context, author, [("a", "png", fake)]) as files:
            owner.context.store.write(files[0].add, account_id=author.account_id)
        name = files[0].filename

        assert owner.get(at("picture", name)).status_code == 404


class TestOthers:
    """Another account's file is a 404 (specification.md#download-unknown)."""

    def test_owner_sees_usage_but_no_file_names_of_other_accounts(
        self, owner: Reader, ada: Reader
    ) -> None:
        """The owner sees usage, not content (specification.md#console-scope)."""
        make(owner)
        theirs = make(ada), make(ada, "another")
        page, other = owner.get(PATH).text, ada.get(PATH).text

        assert "All accounts Account Files Used ada 2 8.0 KiB owner 1 4.0 KiB" in words_of(page)
        assert not any(name in page for name in theirs)
        assert "All accounts" not in other

    @pytest.mark.parametrize("name", ["", "../../etc/passwd", "a" * 500, "\x00", "a\nb", "%"])
    def test_invalid_file_name_returns_404(self, owner: Reader, name: str) -> None:
        assert owner.get(at("download", name)).status_code == 404
        assert owner.get(at("picture", name)).status_code == 404


def test_browser_downloads_a_file_and_erases_it_after_confirmation(
    site: Site, context: Context
) -> None:
    result = create_file(
        context, caller_for(context), FileCreate(filename="Überfahrt", content="9:40", type="txt")
    ).filename
    with site.window("owner") as page:
        page.goto(PATH)
        with page.expect_download() as download:
            page.get_by_role("link", name=result).click()
        assert download.value.suggested_filename == result
        assert Path(download.value.path()).read_text("utf-8") == "9:40"
        page.locator("summary", has_text="Erase").click()
        page.get_by_role("button", name="Erase").click()
        page.get_by_text("No files yet").wait_for()
