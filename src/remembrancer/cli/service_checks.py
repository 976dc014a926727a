"""Checks of `remembrancer doctor` on the service that this user's commands and programs use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from .. import __version__
from ..client import Client, Retry
from ..client.api_request import normalize_base_url
from ..client.credentials import (
    KEY_NAME,
    SERVICE_URL,
    URL_NAME,
    KeyMissingError,
    find_key,
    find_url,
    key_file,
    url_file,
)
from ..client.errors import ClientError, UnauthorizedError, UnreachableError
from ..memory.exchange.shapes import one_line
from ..protocol.status import OwnKey
from ..settings import from_environment
from .findings import Finding, State

_TIMEOUT_S = 5.0
_ERROR_CHARACTERS = 300
_EXPIRES_SOON_MS = 7 * 24 * 60 * 60 * 1000


def is_configured() -> bool:
    """Return True if the user has an address or a key of a service: from a variable or a login."""
    is_set = any(from_environment(name) for name in (URL_NAME, KEY_NAME))
    return is_set or url_file().exists() or key_file().exists()


def check_service() -> Iterator[Finding]:
    """Check that this service answers at the configured address, and that it accepts the key.

    Without an address, checks the default one. Never shows the key, and sends it only to a service
    that answers as this one.
    """
    base_url, finding = _service()
    yield finding
    yield _key(base_url)


def describe_key(own: OwnKey, where: str, now_ms: float) -> Finding:
    """Return the finding on an accepted key: whose it is, what it may do, and until when."""
    words = [
        f"account {own.account}",
        f"user {own.user_id}{' only' if own.pinned else ''}",
        "may only read" if own.read_only else "may read and write",
    ]
    if not own.protocol:
        words.append("without the protocol: counts no step, and nothing is due")
    state: State = "ok"
    remedy = ""
    if own.expires_at is not None:
        words.append(f"expires {own.expires_at[:16].replace('T', ' ')}Z")
        expires_ms = datetime.fromisoformat(own.expires_at).timestamp() * 1000
        if expires_ms - now_ms < _EXPIRES_SOON_MS:
            state = "notice"
            remedy = "get another in time (remembrancer keys create), then: remembrancer login"
    detail = f"accepted ({where}): {', '.join(words)}"
    return Finding(part="key", state=state, detail=detail, remedy=remedy)


def _service() -> tuple[str | None, Finding]:
    """Return the address, None unless this service answers there, and the finding on it."""
    where = _origin(URL_NAME, url_file(), "default address")
    try:
        base_url = normalize_base_url(find_url(), where, SERVICE_URL)
    except ValueError as error:
        remedy = "correct it, or save it again: remembrancer login --url ADDRESS"
        return None, Finding(part="service", state="wrong", detail=_cut(error), remedy=remedy)
    failure: State = "wrong" if is_configured() else "notice"
    try:
        with Client(base_url, timeout_s=_TIMEOUT_S, retry=Retry(times=0)) as client:
            record = client.status_record()
    except UnreachableError as error:
        return None, Finding(
            part="service",
            state=failure,
            detail=f"{_cut(error)} ({where})",
            remedy="if it runs elsewhere: remembrancer login --url ADDRESS",
        )
    except ClientError as error:
        return None, Finding(
            part="service",
            state=failure,
            detail=f"{base_url} ({where}) answers, but not as this service: {_cut(error)}",
            remedy="check the address, and a proxy before it: remembrancer login --url ADDRESS",
        )
    detail = f"{base_url} ({where}) answers: {one_line(record.service)} {record.server_version}"
    if record.server_version != __version__:
        detail += f", but this program is {__version__}"
        remedy = "install the same version on both sides"
        return base_url, Finding(part="service", state="notice", detail=detail, remedy=remedy)
    if record.status != "ok":
        detail += ", a component is missing or fails"
        remedy = f"see {base_url}/readyz, or run remembrancer doctor on its machine"
        return base_url, Finding(part="service", state="notice", detail=detail, remedy=remedy)
    return base_url, Finding(part="service", state="ok", detail=detail)


def _key(base_url: str | None) -> Finding:
    """Return the finding on the key. `base_url` is None if there is no service to ask."""
    path = key_file()
    where = _origin(KEY_NAME, path, "")
    if not where:
        remedy = "to use a service from here: remembrancer login"
        return Finding(part="key", state="notice", detail="none is saved", remedy=remedy)
    try:
        key = find_key()
    except KeyMissingError as error:
        remedy = "save it again: remembrancer login"
        return Finding(part="key", state="wrong", detail=_cut(error), remedy=remedy)
    if base_url is None:
        remedy = "correct what is wrong with the service first"
        return Finding(part="key", state="notice", detail=f"not checked ({where})", remedy=remedy)
    try:
        with Client(base_url, key, timeout_s=_TIMEOUT_S, retry=Retry(times=0)) as client:
            own = client.own_key()
    except UnauthorizedError as error:
        detail = f"rejected ({where}): {_cut(error.detail)}"
        remedy = "create another (remembrancer keys create), then: remembrancer login"
        return Finding(part="key", state="wrong", detail=detail, remedy=remedy)
    except (ClientError, ValueError) as error:
        remedy = "save it again: remembrancer login"
        detail = f"not accepted ({where}): {_cut(error)}"
        return Finding(part="key", state="wrong", detail=detail, remedy=remedy)
    return describe_key(own, where, time.time() * 1000)


def _origin(name: str, path: Path, other: str) -> str:
    """Return where a value comes from: the variable, the file of the login, or neither."""
    if from_environment(name):
        return name
    return str(path) if path.exists() else other


def _cut(text: object) -> str:
    return one_line(text, _ERROR_CHARACTERS)
