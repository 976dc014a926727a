"""From bytes to a valid request: received within a bound, read as strict JSON, checked against its
model.

The framework's own reading is not used: it has no bound, gives 500 for NaN and lone surrogates, and
echoes what was sent.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json
from starlette.datastructures import Headers
from starlette.requests import Request

from ..protocol.errors import InvalidJson, InvalidRequest, TooLarge, TooSlow, UnsupportedMediaType
from ..protocol.message import Misfit

BODY_SECONDS_MAX = 60  # to receive a whole body; longer is a stuck or hostile client
FAULTS_MAX = 20  # of one body that are listed

# A text of JSON. In one pass, whatever stands there: possessive, and a text that never ends is one
# too; if it were none, the
# search would begin again at each quote within it, and take days.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
M = TypeVar("M", bound=BaseModel)


def too_large(bytes_max: int) -> TooLarge:
    """The error for a body of more bytes than that."""
    return TooLarge(f"The body is larger than {bytes_max:,} bytes.")


async def receive(
    request: Request, bytes_max: int, *, seconds_max: float = BODY_SECONDS_MAX
) -> bytes:
    """The whole body.

    Raises TooLarge as soon as it is more than `bytes_max`, announced or not, and TooSlow.
    """
    chunks, size = [], 0
    try:
        async with asyncio.timeout(seconds_max):
            async for chunk in request.stream():
                size += len(chunk)
                if size > bytes_max:
                    raise too_large(bytes_max)
                chunks.append(chunk)
    except TimeoutError:
        raise TooSlow(f"The body did not arrive within {seconds_max:g} seconds.") from None
    return b"".join(chunks)


def check_is_json(headers: Headers) -> None:
    """Raises UnsupportedMediaType unless the body is announced as plain JSON in UTF-8."""
    kinds = headers.getlist("content-type")
    kind, _, parameters = (kinds[0] if len(kinds) == 1 else "").lower().partition(";")
    charsets = [
        value.strip(' "')
        for name, _, value in (p.partition("=") for p in parameters.split(";"))
        if name.strip() == "charset"
    ]
    if kind.strip() != "application/json" or any(
        charset not in {"utf-8", "utf8"} for charset in charsets
    ):
        raise UnsupportedMediaType
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise UnsupportedMediaType(
            "Compressed bodies are not read: send the JSON as it is, without Content-Encoding."
        )


def check_is_text(raw: bytes, bytes_max: int) -> None:
    """Raises TooLarge where more than that of a body stands outside its texts.

    A larger body is for a long text: of brackets alone, each of which takes a hundred times its
    size in memory, it may hold no more than any other body.
    """
    if len(raw) > bytes_max and len(_TEXT.sub(b"", raw)) > bytes_max:
        raise TooLarge(f"The body holds more than {bytes_max:,} bytes outside its texts.")


def parse(model: type[M], raw: bytes) -> M:
    """The request in `raw`.

    Raises InvalidJson when it is not a JSON object, InvalidRequest when it breaks the model.
    """
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        if "hex escape" in str(error):
            _refuse_lone_surrogate(raw)
        raise InvalidJson(f"The body is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise InvalidJson("The body is JSON, but not an object: it must begin with `{`.")
    try:
        return model.model_validate_json(
            raw
        )  # again from the bytes: strict types are looser for JSON (times are texts there)
    except ValidationError as error:
        raise invalid(
            fault(f) for f in error.errors(include_url=False, include_input=False)
        ) from None


def _refuse_lone_surrogate(raw: bytes) -> None:
    """Raises InvalidRequest when `raw` is well-formed JSON, but half of a surrogate pair stands
    alone in one of its texts.
    """
    try:
        todo: list[tuple[tuple[str | int, ...], Any]] = [
            ((), json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant))
        ]
    except (ValueError, RecursionError):
        return
    while todo:  # not recursive: how deep it is, the sender decides
        where, value = todo.pop()
        if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
            raise invalid(
                [(pointer(where), "text must be valid Unicode: it contains a lone surrogate")]
            )
        if isinstance(value, list):
            todo += [((*where, i), v) for i, v in enumerate(value)]
        if isinstance(value, dict):
            todo += [((*where, _shown(k)), v) for k, v in value.items()]
            todo += [(where, k) for k in value]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _shown(key: str) -> str:
    # a name nobody asked for is the sender's text and not repeated
    return key if key.isidentifier() and key.isascii() and len(key) <= 40 else "?"


def fault(found: ErrorDetails) -> tuple[str, str]:
    """Where something is wrong, and what, without what was sent."""
    said, where = found["msg"], found["loc"]
    if found["type"] == "value_error":
        error = found.get("ctx", {}).get("error", said)
        said = str(error)
        where = (*where, error.member) if isinstance(error, Misfit) else where
    if found["type"] == "string_pattern_mismatch":
        said = "text must not contain NUL"
    return pointer(where), said


def pointer(where: tuple[str | int, ...]) -> str:
    """Where in a body: the JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in where)


def invalid(faults: Iterable[tuple[str, str]]) -> InvalidRequest:
    """The error for these faults, each a JSON pointer and what is wrong there."""
    errors = [{"pointer": pointer, "detail": detail} for pointer, detail in faults][:FAULTS_MAX]
    first = errors[0]
    where = first["pointer"].removeprefix("/") or "the body"
    return InvalidRequest(f"{where}: {first['detail']}.", errors=errors)
