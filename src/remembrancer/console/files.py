"""Created files of the account:

what there is, how much room it takes; downloaded, looked at and erased.
"""

from __future__ import annotations

from starlette.responses import Response

from ..files.files import FileUnknown, erase_file, find_file
from ..files.listing import list_files, picture_size, quota_usage
from ..http.downloads import file_response
from ..protocol import limits
from ..protocol.errors import Forbidden
from ..store import Row
from .browser_session import BrowserRequest, Page

PATH = "/console/files"
SHOWN_BYTES_MAX = 8 << 20  # of a picture that is shown in a page
_SITES = {"same-origin", "none"}  # from a page of ours, or typed


class ForeignRequest(Forbidden):
    """This file was asked for by a page of another site. Open it from the files of your account."""


class NoPicture(FileUnknown):
    """This file is not a picture that is shown; download it."""


def show(visit: BrowserRequest) -> Response:
    """The files, newest first."""
    before = visit.request.query_params.get("before") or None
    caller = visit.caller()
    page = list_files(visit.context, caller, before)
    others = quota_usage(visit.context, caller) if caller.is_owner else []
    pictures = {
        one.filename for one in page.files if one.ext == "png" and one.size_bytes <= SHOWN_BYTES_MAX
    }
    return visit.page(
        "files.html", page=page, pictures=pictures, rooms=others, is_first=before is None
    )


def download(visit: BrowserRequest) -> Response:
    """A file as an attachment, just as `/download/` sends it, for the cookie of this origin's own
    pages.
    """
    return file_response(visit.context, visit.request, _file(visit))


def picture(visit: BrowserRequest) -> Response:
    """A PNG, to be shown by an `<img>`: no other type is ever sent but as an attachment."""
    row = _file(visit)
    if (
        not row.filename.endswith(".png")
        or row.size_bytes > SHOWN_BYTES_MAX
        or picture_size(visit.context, row) is None
    ):
        raise NoPicture
    return file_response(visit.context, visit.request, row, is_shown=True)


def erase(visit: BrowserRequest) -> Response:
    """Erase a file for good."""
    filename = _name(visit.form.get("filename", ""))
    erase_file(visit.context, visit.caller(), filename)
    return visit.go(PATH, told=f"Erased: {filename}")


def _file(visit: BrowserRequest) -> Row:
    # the cookie is SameSite=Strict already; this holds also where a browser would not keep to that
    if visit.request.headers.get("sec-fetch-site", "none") not in _SITES:
        raise ForeignRequest
    return find_file(
        visit.context, _name(visit.request.query_params.get("filename", "")), visit.caller()
    )


def _name(given: str) -> str:
    if not given or len(given) > limits.ID_CHARACTERS_MAX or not given.isprintable():
        raise FileUnknown
    return given


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/download": Page(get=download, gives_file=True),
    f"{PATH}/picture": Page(get=picture, gives_file=True),
    f"{PATH}/erase": Page(post=erase),
}
