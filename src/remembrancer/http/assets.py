"""Style sheets and scripts of the pages, at addresses that change with what they hold:

a browser asks for each once.
"""

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
    """Every asset by its name."""
    style = resources.files("remembrancer.http").joinpath("templates", "style.css")
    files = [style, *resources.files("remembrancer.console").joinpath("templates").iterdir()]
    return {
        file.name: file.read_bytes()
        for file in sorted(files, key=str)
        if file.name.rpartition(".")[2] in _MEDIA_TYPES
    }


@cache
def digest() -> str:
    """Stands for what all of them hold together, so that a script may import another by its bare
    name.
    """
    sums = [
        hashlib.sha256(name.encode() + b"\0" + content).digest()
        for name, content in asset_files().items()
    ]
    return hashlib.sha256(b"".join(sums)).hexdigest()[:16]


def asset(name: str) -> str:
    """The address of an asset. Raises KeyError when there is none of that name."""
    asset_files()[name]
    return PATH.format(digest=digest(), name=name)


async def send(request: Request) -> Response:
    """One of them; under another digest than today's there is none."""
    request.scope["endpoint_path"] = PATH
    name = request.path_params["name"]
    if request.path_params["digest"] != digest() or name not in asset_files():
        return problems.respond(NotFound(), request.scope["request_id"])
    return Response(
        asset_files()[name], headers=_HEADERS, media_type=_MEDIA_TYPES[name.rpartition(".")[2]]
    )
