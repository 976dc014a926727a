"""The files page: list, download, preview and erase the account's created files."""

from __future__ import annotations

from starlette.responses import Response

from ..files.files import FileUnknown, erase_file, find_file, list_files, picture_size, quota_usage
from ..http.downloads import file_response
from ..protocol import limits
from ..protocol.errors import Forbidden
from ..store import Row
from .browser_session import BrowserRequest, Page

PATH = "/console/files"
PREVIEW_BYTES_MAX = 8 << 20  # of an image
_SITES = {"same-origin", "none"}  # `none`: the user typed the address


class ForeignRequest(Forbidden):
    """A page of another site requested this file. Open it from the files of your account."""


class PreviewUnavailable(FileUnknown):
    """This file has no preview. Download it."""


def show(browser: BrowserRequest) -> Response:
    """Show a page of files, newest first."""
    before = browser.request.query_params.get("before") or None
    caller = browser.caller()
    page = list_files(browser.context, caller, before)
    accounts = quota_usage(browser.context, caller) if caller.is_owner else []
    pictures = {
        one.filename
        for one in page.files
        if one.ext == "png" and one.size_bytes <= PREVIEW_BYTES_MAX
    }
    return browser.page(
        "files.html", page=page, pictures=pictures, accounts=accounts, is_first=before is None
    )


def download(browser: BrowserRequest) -> Response:
    """Send a file as an attachment, like `/download/`, authorized by the session cookie."""
    return file_response(browser.context, browser.request, _file(browser))


def picture(browser: BrowserRequest) -> Response:
    """Send a PNG for an `<img>`. Every other type is sent only as an attachment."""
    row = _file(browser)
    if (
        not row.filename.endswith(".png")
        or row.size_bytes > PREVIEW_BYTES_MAX
        or picture_size(browser.context, row) is None
    ):
        raise PreviewUnavailable
    return file_response(browser.context, browser.request, row, is_inline=True)


def erase(browser: BrowserRequest) -> Response:
    """Erase a file permanently."""
    filename = _name(browser.form.get("filename", ""))
    erase_file(*browser.arguments, filename)
    return browser.redirect(PATH, notice=f"Erased: {filename}")


def _file(browser: BrowserRequest) -> Row:
    # Defence in depth: the cookie is SameSite=Strict already.
    if browser.request.headers.get("sec-fetch-site", "none") not in _SITES:
        raise ForeignRequest
    return find_file(
        browser.context, _name(browser.request.query_params.get("filename", "")), browser.caller()
    )


def _name(text: str) -> str:
    if not text or len(text) > limits.ID_CHARACTERS_MAX or not text.isprintable():
        raise FileUnknown
    return text


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/download": Page(get=download, is_download=True),
    f"{PATH}/picture": Page(get=picture, is_download=True),
    f"{PATH}/erase": Page(post=erase),
}
