"""`GET /download/{filename}`: a created file as an attachment, whole or a part of it, streamed."""

from __future__ import annotations

import re
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..context import Records
from ..files.blobs import open_blobs
from ..files.files import FileUnknown, file_by_link, find_file
from ..files.types import media_type
from ..protocol import limits
from ..protocol.errors import NotFound, RangeNotSatisfiable
from ..protocol.files import DownloadQuery
from ..store import Row
from .endpoint import Call

# A created file is somebody's content, not ours: whatever it holds, it runs nothing, loads nothing
# and reaches nothing of this origin.
_HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "private, no-cache",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_RANGE = re.compile(r"bytes\s*=\s*([0-9]{1,18})?\s*-\s*([0-9]{1,18})?\s*", re.IGNORECASE)


def download(call: Call[DownloadQuery]) -> Response:
    """A created file, always as an attachment.

    Needs a key of its account, or the `exp` and `sig` of a signed link that has not ended.
    """
    return file_response(call.context, call.request, _file(call), call.headers)


def file_response(
    records: Records,
    request: Request,
    row: Row,
    refused: dict[str, str] | None = None,
    *,
    is_shown: bool = False,
) -> Response:
    """A file that the caller may read: whole, or the part that the request asks for. What holds of
    any answer goes to `refused`.

    `is_shown`: not as an attachment; for types alone that no browser runs. Raises
    RangeNotSatisfiable, BlobsUnavailable.
    """
    etag = f'"{row.blob}"'
    headers = {
        **_HEADERS,
        "ETag": etag,
        "Content-Disposition": "inline" if is_shown else _attachment(row.filename),
    }
    headers["Content-Type"] = media_type(row.filename.rpartition(".")[2])
    asked = request.headers
    if _is_known(asked.get("if-none-match", ""), etag):
        return Response(
            status_code=304, headers={name: headers[name] for name in ("Cache-Control", "ETag")}
        )
    size = row.size_bytes
    part = (
        None
        if asked.get("if-range", etag) != etag
        else _part(", ".join(asked.getlist("range")), size)
    )
    if part == (0, 0):
        if refused is not None:
            refused["Content-Range"] = f"bytes */{size}"
        raise RangeNotSatisfiable
    start, end = part or (0, size)
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    headers["Content-Length"] = str(end - start)
    status = 200 if part is None else 206
    pieces = open_blobs(records.settings).read(
        row.blob, start, end
    )  # also for HEAD: it must not promise what is gone
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(pieces, status, headers)


def _file(call: Call[DownloadQuery]) -> Row:
    filename, link = call.request.path_params["filename"], call.input
    is_name = len(filename) <= limits.ID_CHARACTERS_MAX and filename.isprintable()
    has_key, has_link = (
        "authorization" in call.request.headers,
        link.exp is not None and link.sig is not None,
    )
    if has_link:
        try:
            if not is_name:
                raise FileUnknown
            return file_by_link(call.context, filename, exp=link.exp or 0, sig=link.sig or "")
        except NotFound:
            if not has_key:
                raise
    caller = call.dispatcher.caller(call.request.headers)
    if not is_name:
        raise FileUnknown
    return find_file(call.context, filename, caller)


def _attachment(filename: str) -> str:
    """RFC 6266: a name for old readers in ASCII, and the real one (RFC 5987).

    The name holds no quote and no control character.
    """
    plain = "".join(character if character.isascii() else "_" for character in filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


def _is_known(if_none_match: str, etag: str) -> bool:
    return any(one.strip().removeprefix("W/") in (etag, "*") for one in if_none_match.split(","))


def _part(asked: str, size: int) -> tuple[int, int] | None:
    """Which bytes are asked for, from and before; None: the whole, also where it is not one range
    that can be read (RFC 9110, 14.2).

    (0, 0) where the file has no such bytes.
    """
    match = _RANGE.fullmatch(asked)
    if match is None or match.groups() == (None, None):
        return None
    first, last = (None if number is None else int(number) for number in match.groups())
    if first is None:
        return (max(size - (last or 0), 0), size) if last and size else (0, 0)
    if last is not None and last < first:
        return None
    return (first, min(last + 1, size) if last is not None else size) if first < size else (0, 0)
