"""Handler of `GET /download/{filename}`: stream a created file."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..context import Records
from ..files.blobs import open_blobs
from ..files.files import FileUnknown, file_by_link, find_file
from ..files.types import media_type
from ..protocol import limits
from ..protocol.errors import NotFound
from ..protocol.files import DownloadQuery
from ..store import Row
from .dispatch import Call

# Created files are untrusted: they must not run scripts, load anything or access this origin.
_HEADERS = {
    "Cache-Control": "private, no-cache",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def download(call: Call[DownloadQuery]) -> Response:
    """Send a created file as an attachment.

    Needs a key of its account, or the `exp` and `sig` of a signed link that has not expired.
    """
    return file_response(call.context, call.request, _file(call))


def file_response(
    records: Records, request: Request, row: Row, *, is_inline: bool = False
) -> Response:
    """Send a file that the caller may read, or 304 if the client has it.

    `is_inline` is only for types that no browser executes. Raises BlobsUnavailable.
    """
    etag = f'"{row.blob}"'
    headers = {
        **_HEADERS,
        "ETag": etag,
        "Content-Disposition": "inline" if is_inline else _attachment(row.filename),
    }
    headers["Content-Type"] = media_type(row.filename.rpartition(".")[2])
    if _matches(request.headers.get("if-none-match", ""), etag):
        return Response(
            status_code=304, headers={name: headers[name] for name in ("Cache-Control", "ETag")}
        )
    headers["Content-Length"] = str(row.size_bytes)
    # also for HEAD, which must fail if the content is missing
    chunks = open_blobs(records.settings).read(row.blob, 0, row.size_bytes)
    if request.method == "HEAD":
        return Response(headers=headers)
    return StreamingResponse(chunks, headers=headers)


def _file(call: Call[DownloadQuery]) -> Row:
    filename, link = call.request.path_params["filename"], call.input
    is_name = len(filename) <= limits.ID_CHARACTERS_MAX and filename.isprintable()
    has_key = "authorization" in call.request.headers
    has_link = link.exp is not None and link.sig is not None
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
    """Return the header with an ASCII fallback and the real name (RFC 6266, RFC 5987).

    File names contain no quotes and no control characters.
    """
    fallback = "".join(character if character.isascii() else "_" for character in filename)
    return f"attachment; filename=\"{fallback}\"; filename*=UTF-8''{quote(filename, safe='')}"


def _matches(if_none_match: str, etag: str) -> bool:
    return any(one.strip().removeprefix("W/") in (etag, "*") for one in if_none_match.split(","))
