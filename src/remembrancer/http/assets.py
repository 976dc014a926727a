"""Style sheets and scripts of the pages, cached forever under a digest of their content."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from ..protocol.errors import NotFound
from . import problems

PATH = "/console/assets/{digest}/{name}"
_MEDIA_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable"}


@cache
def asset_files() -> dict[str, bytes]:
    """Return every asset by name."""
    style = resources.files("remembrancer.http").joinpath("templates", "style.css")
    files = [style, *resources.files("remembrancer.console").joinpath("templates").iterdir()]
    return {
        file.name: file.read_bytes()
        for file in sorted(files, key=str)
        if file.name.rpartition(".")[2] in _MEDIA_TYPES
    }


@cache
def digest() -> str:
    """Return one digest for all assets, so that a script can import another by a relative path."""
    sums = [
        hashlib.sha256(name.encode() + b"\0" + content).digest()
        for name, content in asset_files().items()
    ]
    return hashlib.sha256(b"".join(sums)).hexdigest()[:16]


def asset(name: str) -> str:
    """Return the address of an asset. Raises KeyError for an unknown name."""
    asset_files()[name]
    return PATH.format(digest=digest(), name=name)


async def send(request: Request) -> Response:
    """Send an asset, or 404 for an outdated digest."""
    request.scope["endpoint_path"] = PATH
    name = request.path_params["name"]
    if request.path_params["digest"] != digest() or name not in asset_files():
        return problems.respond(NotFound(), request.scope)
    return Response(
        asset_files()[name], headers=_HEADERS, media_type=_MEDIA_TYPES[name.rpartition(".")[2]]
    )
