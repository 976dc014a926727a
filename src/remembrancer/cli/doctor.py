"""The work of `remembrancer doctor`: check each component and suggest fixes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

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
from ..context import Context, assemble
from ..files.blobs import open_blobs
from ..install.codex_trust import CODEX_TRUST_REMEDY, untrusted_events
from ..memory.exchange.shapes.records import one_line
from ..models import SLOTS
from ..models.port import targets_of
from ..protocol.errors import Problem
from ..protocol.status import OwnKey
from ..sandbox.plan import NS, UNSAFE
from ..sandbox.port import SandboxUnavailable
from ..sandbox.probe import missing
from ..sandbox.sandbox import Sandbox
from ..settings import SettingInvalid, Settings, from_environment
from ..status import is_above_policies, is_new, readiness
from ..store import DataFolderReadable, StoreUnavailable
from ..store.locations import engine_of, require_private
from .commands import has_store, service_key
from .install import configured_agents

# --- The findings of `remembrancer doctor` ---------------------------------------------------

State = Literal["ok", "notice", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one component, the observation, and the remedy.

    `notice` means that it works, but the owner should know.
    """

    part: str
    state: State
    detail: str
    remedy: str = ""


# --- Checks of `remembrancer doctor` on the service that this user's commands and programs use

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
    return Finding("key", state, detail, remedy)


def _service() -> tuple[str | None, Finding]:
    """Return the address, None unless this service answers there, and the finding on it."""
    where = _origin(URL_NAME, url_file(), "default address")
    try:
        base_url = normalize_base_url(find_url(), where, SERVICE_URL)
    except ValueError as error:
        remedy = "correct it, or save it again: remembrancer login --url ADDRESS"
        return None, Finding("service", "wrong", _cut(error), remedy)
    failure: State = "wrong" if is_configured() else "notice"
    try:
        with Client(base_url, timeout_s=_TIMEOUT_S, retry=Retry(times=0)) as client:
            record = client.status_record()
    except UnreachableError as error:
        remedy = "if it runs elsewhere: remembrancer login --url ADDRESS"
        return None, Finding("service", failure, f"{_cut(error)} ({where})", remedy)
    except ClientError as error:
        detail = f"{base_url} ({where}) answers, but not as this service: {_cut(error)}"
        remedy = "check the address, and a proxy before it: remembrancer login --url ADDRESS"
        return None, Finding("service", failure, detail, remedy)
    detail = f"{base_url} ({where}) answers: {one_line(record.service)} {record.server_version}"
    if record.server_version != __version__:
        detail += f", but this program is {__version__}"
        remedy = "install the same version on both sides"
        return base_url, Finding("service", "notice", detail, remedy)
    if record.status != "ok":
        detail += ", a component is missing or fails"
        remedy = f"see {base_url}/readyz, or run remembrancer doctor on its machine"
        return base_url, Finding("service", "notice", detail, remedy)
    return base_url, Finding("service", "ok", detail)


def _key(base_url: str | None) -> Finding:
    """Return the finding on the key. `base_url` is None if there is no service to ask."""
    path = key_file()
    where = _origin(KEY_NAME, path, "")
    if not where:
        remedy = "to use a service from here: remembrancer login"
        return Finding("key", "notice", "none is saved", remedy)
    try:
        key = find_key()
    except KeyMissingError as error:
        remedy = "save it again: remembrancer login"
        return Finding("key", "wrong", _cut(error), remedy)
    if base_url is None:
        remedy = "correct what is wrong with the service first"
        return Finding("key", "notice", f"not checked ({where})", remedy)
    try:
        with Client(base_url, key, timeout_s=_TIMEOUT_S, retry=Retry(times=0)) as client:
            own = client.own_key()
    except UnauthorizedError as error:
        detail = f"rejected ({where}): {_cut(error.detail)}"
        remedy = "create another (remembrancer keys create), then: remembrancer login"
        return Finding("key", "wrong", detail, remedy)
    except (ClientError, ValueError) as error:
        remedy = "save it again: remembrancer login"
        detail = f"not accepted ({where}): {_cut(error)}"
        return Finding("key", "wrong", detail, remedy)
    return describe_key(own, where, time.time() * 1000)


def _origin(name: str, path: Path, other: str) -> str:
    """Return where a value comes from: the variable, the file of the login, or neither."""
    if from_environment(name):
        return name
    return str(path) if path.exists() else other


def _cut(text: object) -> str:
    return one_line(text, _ERROR_CHARACTERS)


# --- The work of `remembrancer doctor`: check each component and suggest fixes ---------------

_FREE_BYTES_MIN = 1 << 30


def run_checks(settings: Settings) -> Iterator[Finding]:
    """Check the service of this machine, the service that its user uses, and the user's agents.

    Changes nothing and works while a server is running. A machine with the address or the key of a
    service and without a store needs no server of its own, so none is checked.
    """
    if is_configured() and not _may_have_store(settings):
        detail = f"none at {settings.store_shown}, so no server is checked"
        remedy = "if one of this machine has another data folder: remembrancer doctor --data DIR"
        yield Finding("store", "ok", detail, remedy)
    else:
        yield from _server(settings)
    yield from check_service()
    yield from _agents()


def _may_have_store(settings: Settings) -> bool:
    try:
        return has_store(settings)
    except SettingInvalid:
        return True  # and the check of the store reports it


def _server(settings: Settings) -> Iterator[Finding]:
    """Check the parts that a server on this machine needs."""
    yield _data_folder(settings)
    if _may_have_store(settings):
        yield from _open_store(settings)
    else:
        remedy = "remembrancer serve creates it; for a service elsewhere: remembrancer login"
        yield Finding("store", "notice", f"none yet at {settings.store_shown}", remedy)
    yield _files(settings)
    yield _compiled_part()
    yield from _models(settings)
    yield from _sandbox(settings)


def _open_store(settings: Settings) -> Iterator[Finding]:
    try:
        context = assemble(settings)
    except (OSError, SettingInvalid, StoreUnavailable) as error:
        remedy = "fix the cause, or restore a backup with the server stopped"
        yield Finding("store", "wrong", str(error), remedy)
        return
    try:
        yield from _records(context)
    finally:
        context.close()


def _data_folder(settings: Settings) -> Finding:
    folder = settings.data_folder
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        remedy = "choose another with REMEMBRANCER_DATA or --data"
        return Finding("data folder", "wrong", str(error), remedy)
    device = "an encrypted device" if is_encrypted(folder) else "no device seen as encrypted"
    detail = f"{folder}, {free >> 20:,} MiB free, on {device}"
    if not os.access(folder, os.W_OK):
        return Finding(
            "data folder", "wrong", f"{detail}, not writable", f"chown it to the user {os.getuid()}"
        )
    try:
        require_private(folder)
    except DataFolderReadable as error:
        problem, _, remedy = str(error).partition(". ")
        return Finding("data folder", "wrong", problem, remedy)
    if free < _FREE_BYTES_MIN:
        remedy = "free disk space: writes fail when the disk is full"
        return Finding("data folder", "notice", detail, remedy)
    return Finding("data folder", "ok", detail)


def is_encrypted(folder: Path, devices: Path = Path("/sys/dev/block")) -> bool:
    """Return True if a folder lies on a device that dm-crypt encrypts, or above such a device.

    False also where nobody can tell: file systems or disks that encrypt by themselves, clouds.
    """
    number = folder.stat().st_dev
    waiting = [devices / f"{os.major(number)}:{os.minor(number)}"]
    while waiting:
        device = waiting.pop()
        uuid, below = device / "dm" / "uuid", device / "slaves"
        if uuid.is_file() and uuid.read_text("utf-8").startswith("CRYPT-"):
            return True
        waiting += below.iterdir() if below.is_dir() else ()
    return False


def _records(context: Context) -> Iterator[Finding]:
    result = readiness(context)
    store, embedder = result.store == "ok", result.embedder == "ok"
    yield _store(context) if store else Finding("store", "wrong", result.store)
    pending = result.embedding.pending if result.embedding else 0
    detail = context.embedder.name if embedder else result.embedder
    if pending:
        detail = f"{detail}, {pending:,} events waiting to be embedded"
        remedy = "start the server: it embeds them in the background"
        yield Finding("embedder", "notice", detail, remedy)
    else:
        yield Finding("embedder", "ok" if embedder else "wrong", detail)
    if store and is_new(context):
        remedy = "remembrancer keys create --account NAME"
        yield Finding("keys", "notice", "no key yet", remedy)


def _store(context: Context) -> Finding:
    detail = context.settings.store_shown
    if is_above_policies(context):
        detail = f"{detail}, as a role that bypasses row-level security"
        remedy = "connect as an ordinary role that owns the database or the schema"
        return Finding("store", "notice", detail, remedy)
    if not context.store.is_shared or context.store.supports_vector_search:
        return Finding("store", "ok", detail)
    detail = f"{detail}, searched in memory: the extension `vector` is missing"
    remedy = "install pgvector on the database server, then as superuser: create extension vector"
    return Finding("store", "notice", detail, remedy)


def _files(settings: Settings) -> Finding:
    try:
        blobs = open_blobs(settings)
        next(iter(blobs.names(before_ms=0)), None)
    except (SettingInvalid, Problem, StoreUnavailable) as error:
        return Finding("files", "wrong", str(error), "see REMEMBRANCER_BLOBS")
    if settings.blobs == "local" and engine_of(settings.store_url) != "sqlite":
        detail = f"in {settings.data_folder / 'blobs'}, but other servers can share the database"
        remedy = "for several servers: REMEMBRANCER_BLOBS=s3://…, or one folder for all"
        return Finding("files", "notice", detail, remedy)
    return Finding("files", "ok", settings.blobs)


def _compiled_part() -> Finding:
    """Report whether products of vectors are compiled for this processor."""
    from ..search.kernels import KERNELS  # imported here, as the rest of the search

    if KERNELS is not None and KERNELS.has_products:
        return Finding("compiled part", "ok", f"level {KERNELS.level} of 2 for this processor")
    if KERNELS is not None:
        return Finding("compiled part", "ok", "searches alone: this processor embeds with numpy")
    detail = "none, so that searches and turns take longer"
    remedy = "install a C compiler (Debian: apt-get install gcc libc6-dev) and the service again"
    return Finding("compiled part", "notice", detail, remedy)


def _models(settings: Settings) -> Iterator[Finding]:
    """List the configured models. Requests cost money, so only `models check` sends them."""
    try:
        configured = {slot: targets_of(settings, slot) for slot in SLOTS}
    except SettingInvalid as error:
        yield Finding("models", "wrong", str(error), "fix the setting")
        return
    if not any(configured.values()):
        detail = "none: chat quotes, summaries are extractive, programs are repaired by rules"
        yield Finding("models", "ok", detail)
    for slot, targets in configured.items():
        if targets:
            detail = ", ".join(
                f"{target}{', on another machine' if target.is_outside else ''}"
                for target in targets
            )
            yield Finding(f"models: {slot}", "ok", detail, "test them: remembrancer models check")


def _sandbox(settings: Settings) -> Iterator[Finding]:
    """Check the sandbox in its own folder, separate from a running server's."""
    folder = settings.data_folder / f"doctor-{os.getpid()}"
    sandbox = Sandbox(replace(settings, data=folder))
    try:
        level = sandbox.start()
    except SandboxUnavailable as error:
        yield Finding("sandbox", "wrong", "programs cannot run safely, so none are run")
        for primitive in error.extra["missing"]:
            yield Finding(
                f"sandbox: {primitive['primitive']}", "wrong", primitive["why"], primitive["remedy"]
            )
        return
    finally:
        sandbox.close()
        shutil.rmtree(folder, ignore_errors=True)
    if level == UNSAFE:
        remedy = "unset REMEMBRANCER_SANDBOX_MIN_LEVEL"
        yield Finding("sandbox", "notice", "level unsafe: programs are NOT confined", remedy)
    else:
        yield Finding("sandbox", "ok", f"level {level}, tested with hostile programs")
    if level not in (NS, UNSAFE):
        for primitive in missing(NS):
            yield Finding(
                f"sandbox: {primitive.primitive}", "notice", primitive.why, primitive.remedy
            )


def _agents() -> Iterator[Finding]:
    """Check the agents that `remembrancer install` has configured for this user."""
    for agent in configured_agents():
        detail, remedy = "configured", ""
        try:
            service_key(agent)
        except SettingInvalid as error:
            detail, remedy = "configured, but it has no key", str(error)
        untrusted = untrusted_events(Path.home() / ".codex") if agent == "codex" else []
        if untrusted and not remedy:
            detail = f"Codex skips hooks that you have not trusted: {', '.join(untrusted)}"
            remedy = CODEX_TRUST_REMEDY
        yield Finding(f"agent: {agent}", "notice" if remedy else "ok", detail, remedy)
