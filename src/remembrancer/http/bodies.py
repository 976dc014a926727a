"""Bodies and query strings of requests: receive, parse strictly, validate with a model."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request

from ..protocol.errors import InvalidJson, InvalidRequest, TooLarge, TooSlow, UnsupportedMediaType
from ..protocol.message import Misfit, in_characters
from ..protocol.text import WITHOUT_NUL

# --- Request bodies: receive within a size limit, parse as strict JSON, validate with a model
# Starlette's own parser is not used: it has no limit, answers 500 for NaN and lone surrogates, and
# echoes the input.

BODY_SECONDS_MAX = 60  # to receive a whole body; longer is a stuck or hostile client
FAULTS_MAX = 20  # reported for one body

# A JSON string. Possessive quantifiers, and an unterminated string matches too: otherwise the
# search would restart at every quote, and a hostile body would take quadratic time.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
M = TypeVar("M", bound=BaseModel)


@contextmanager
def memory_panics() -> Iterator[None]:
    """Raise MemoryError where a library in Rust panics because Python gave it no memory.

    Each of them has its own class of panics, which is no Exception.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException" and "pointer is null" in str(error):
            raise MemoryError("a library got no memory") from error
        raise


def too_large(bytes_max: int) -> TooLarge:
    """Return the error for a body larger than `bytes_max`."""
    return TooLarge(f"The body is larger than {bytes_max:,} bytes.")


class PartialBody:
    """The body of a request, of which a part may not have arrived yet."""

    def __init__(
        self, request: Request, bytes_max: int, grow: Callable[[int], None] = lambda _: None
    ) -> None:
        """Begin a body. `grow` is called with the size of each part; it may raise."""
        self._request, self._bytes_max, self._grow = request, bytes_max, grow
        self.content = bytearray()  # the part that has been read
        self._is_complete = False

    async def has_arrived(self) -> bool:
        """Read what has arrived; return True if that is all. Raises TooLarge, ClientDisconnect.

        A client that expects `100 Continue` sends its body only when `read` invites it.
        """
        if "expect" not in self._request.headers:
            with suppress(TimeoutError):
                async with asyncio.timeout(0):
                    await self.read()
        return self._is_complete

    async def read(self) -> None:
        """Read the rest.

        Raises TooLarge as soon as it exceeds the maximum, even without a Content-Length,
        ClientDisconnect, and what `grow` raises.
        """
        while not self._is_complete:
            message = await self._request.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part = message.get("body", b"")
            if len(self.content) + len(part) > self._bytes_max:
                raise too_large(self._bytes_max)
            self._grow(len(part))
            self.content += part
            self._is_complete = not message.get("more_body", False)


class SlowBodies:
    """Bodies that did not arrive with the head of their request, the oldest first."""

    def __init__(self, most: int, *, seconds_max: float = BODY_SECONDS_MAX) -> None:
        """Create an empty collection.

        `most` can wait at the same time: a further one ends the wait for the oldest.
        """
        self._most, self._seconds_max = most, seconds_max
        self._timeouts: dict[asyncio.Timeout, None] = {}  # in the order of arrival

    def __len__(self) -> int:
        return len(self._timeouts)

    async def read(self, body: PartialBody) -> None:
        """Read the rest of a body. Raises TooSlow, and what `PartialBody.read` raises."""
        try:
            async with asyncio.timeout(self._seconds_max) as timeout:
                if len(self) == self._most:
                    self._end_wait(next(iter(self._timeouts)))
                self._timeouts[timeout] = None
                await body.read()
        except TimeoutError:
            raise TooSlow(
                f"The body did not arrive within {self._seconds_max:g} seconds, or too many others "
                "were on their way."
            ) from None
        finally:
            self._timeouts.pop(timeout, None)

    def _end_wait(self, timeout: asyncio.Timeout) -> None:
        del self._timeouts[timeout]
        timeout.reschedule(asyncio.get_running_loop().time())


def check_is_json(headers: Headers) -> None:
    """Raise UnsupportedMediaType unless the headers say plain JSON in UTF-8."""
    values = headers.getlist("content-type")
    media_type, _, parameters = (values[0] if len(values) == 1 else "").lower().partition(";")
    charsets = [
        value.strip(' "')
        for name, _, value in (p.partition("=") for p in parameters.split(";"))
        if name.strip() == "charset"
    ]
    if media_type.strip() != "application/json" or any(
        charset not in {"utf-8", "utf8"} for charset in charsets
    ):
        raise UnsupportedMediaType
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise UnsupportedMediaType(
            "Compressed bodies are not supported. Send the JSON without Content-Encoding."
        )


def check_is_text(raw: bytes, bytes_max: int) -> None:
    """Raise TooLarge if more than `bytes_max` of the body are outside JSON strings.

    Endpoints with a higher limit accept long strings. Brackets take about a hundred times their
    size in memory when parsed, so their number stays bounded by the usual limit.
    """
    if len(raw) > bytes_max and len(_STRING.sub(b"", raw)) > bytes_max:
        raise TooLarge(f"The body contains more than {bytes_max:,} bytes outside JSON strings.")


def parse(model: type[M], raw: bytes) -> M:
    """Parse and validate a body.

    Raises InvalidJson unless it is a JSON object, InvalidRequest if it does not match the model.
    """
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        if "hex escape" in str(error):
            _raise_for_lone_surrogate(raw)
        raise InvalidJson(f"The body is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise InvalidJson("The body must be a JSON object.")
    try:
        # from the bytes, because strict mode accepts JSON strings as times
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError) -> InvalidRequest:
    """Return the error for values that are no message."""
    return invalid(fault(f) for f in error.errors(include_url=False, include_input=False))


def _raise_for_lone_surrogate(raw: bytes) -> None:
    """Raise InvalidRequest if `raw` is well-formed JSON with a lone surrogate in a string."""
    try:
        stack: list[tuple[tuple[str | int, ...], Any]] = [
            ((), json.loads(raw.decode("utf-8"), parse_constant=_reject_constant))
        ]
    except (ValueError, RecursionError):
        return
    while stack:  # not recursive: the client controls the depth
        location, value = stack.pop()
        if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
            raise invalid(
                [(pointer(location), "text must be valid Unicode: it contains a lone surrogate")]
            )
        if isinstance(value, list):
            stack += [((*location, i), v) for i, v in enumerate(value)]
        if isinstance(value, dict):
            stack += [((*location, _redact_name(k)), v) for k, v in value.items()]
            stack += [(location, k) for k in value]


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _redact_name(name: str) -> str:
    # an unknown name is the client's text, which errors do not echo
    return name if name.isidentifier() and name.isascii() and len(name) <= 40 else "?"


def fault(error: ErrorDetails) -> tuple[str, str]:
    """Return the JSON pointer and the message of a validation error, without the input."""
    message, location = error["msg"], error["loc"]
    if error["type"] == "value_error":
        cause = error.get("ctx", {}).get("error", message)
        message = str(cause)
        location = (*location, cause.member) if isinstance(cause, Misfit) else location
    message = in_characters(error, message)
    if error["type"] == "extra_forbidden":
        location = (*location[:-1], _redact_name(str(location[-1])))
        message = "this request has no such field, and it erases or revokes: nothing was done"
    if error["type"] == "string_pattern_mismatch":
        message = "does not have the form that the reference describes"
        if error.get("ctx", {}).get("pattern") == WITHOUT_NUL:
            message = "text must not contain NUL"
    return pointer(location), message


def pointer(location: tuple[str | int, ...]) -> str:
    """Return a location in a body as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in location)


def invalid(faults: Iterable[tuple[str, str]]) -> InvalidRequest:
    """Return the error for these faults, each a JSON pointer and a message."""
    errors = [{"pointer": pointer, "detail": detail} for pointer, detail in faults][:FAULTS_MAX]
    first = errors[0]
    field = first["pointer"].removeprefix("/") or "the body"
    return InvalidRequest(f"{field}: {first['detail']}.", errors=errors)


# --- Query strings, validated against a model as strictly as bodies --------------------------
# Starlette's own parser is not used: it replaces invalid UTF-8 and takes the last of two values.

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_BOOLEANS = {"true": True, "false": False}


def parse_query(model: type[M], query: bytes) -> M:
    """Parse and validate a query string. Unknown parameters are ignored.

    Raises InvalidRequest, naming the parameter, for invalid UTF-8, a repeated parameter, and
    values that do not match the model.
    """
    kinds = _kinds(model)
    values: dict[str, Any] = {}
    for pair in query.split(b"&"):
        left, _, right = pair.partition(b"=")
        name = unquote_to_bytes(left.replace(b"+", b" ")).decode("utf-8", "replace")
        if name not in kinds:
            continue
        if name in values:
            raise invalid([(f"/{name}", "the parameter is repeated")])
        values[name] = _convert(kinds[name], _text(name, right))
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refusal(error) from None


def _text(name: str, value: bytes) -> str:
    if _BROKEN_ESCAPE.search(value):
        message = "a percent sign must be followed by two hex digits; encode a literal one as %25"
        raise invalid([(f"/{name}", message)])
    try:
        return unquote_to_bytes(value.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        raise invalid([(f"/{name}", "text must be valid UTF-8, percent-encoded")]) from None


def _convert(kinds: frozenset[str], text: str) -> Any:
    """Convert a text to the type of its parameter, or return it for the model to reject."""
    if "integer" in kinds and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if "boolean" in kinds:
        return _BOOLEANS.get(text, text)
    if "object" in kinds:
        with suppress(ValueError):
            return from_json(text, allow_inf_nan=False)
    return text


@cache
def _kinds(model: type[BaseModel]) -> dict[str, frozenset[str]]:
    """Return the JSON types of each parameter."""
    schema = model.model_json_schema()["properties"]
    return {
        name: frozenset(str(kind.get("type")) for kind in [part, *part.get("anyOf", [])])
        for name, part in schema.items()
    }
