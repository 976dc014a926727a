"""The work of `remembrancer doctor`: check each component and suggest fixes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..context import Context, assemble
from ..files.blobs import open_blobs
from ..install.codex_trust import CODEX_TRUST_REMEDY, untrusted_events
from ..models import SLOTS
from ..models.slots import targets_of
from ..protocol.errors import Problem
from ..sandbox.plan import NS, UNSAFE
from ..sandbox.port import SandboxUnavailable
from ..sandbox.probe import missing
from ..sandbox.sandbox import Sandbox
from ..settings import SettingInvalid, Settings
from ..status import is_above_policies, is_new, readiness
from ..store import DataFolderReadable, StoreUnavailable
from ..store.folder_lock import require_private
from ..store.locations import engine_of
from .commands import has_store
from .findings import Finding
from .install import configured_agents
from .key_file import read_service_key
from .service_checks import check_service, is_configured

_FREE_BYTES_MIN = 1 << 30


def run_checks(settings: Settings) -> Iterator[Finding]:
    """Check the service of this machine, the service that its user uses, and the user's agents.

    Changes nothing and works while a server is running. A machine with the address or the key of a
    service and without a store needs no server of its own, so none is checked.
    """
    if is_configured() and not _may_have_store(settings):
        yield Finding(
            part="store",
            state="ok",
            detail=f"none at {settings.store_shown}, so no server is checked",
            remedy="if one of this machine has another data folder: remembrancer doctor --data DIR",
        )
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
        yield Finding(
            part="store",
            state="notice",
            detail=f"none yet at {settings.store_shown}",
            remedy="remembrancer serve creates it; for a service elsewhere: remembrancer login",
        )
    yield _files(settings)
    yield from _models(settings)
    yield from _sandbox(settings)


def _open_store(settings: Settings) -> Iterator[Finding]:
    try:
        context = assemble(settings)
    except (OSError, SettingInvalid, StoreUnavailable) as error:
        yield Finding(
            part="store",
            state="wrong",
            detail=str(error),
            remedy="fix the cause, or restore a backup with the server stopped",
        )
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
        return Finding(
            part="data folder",
            state="wrong",
            detail=str(error),
            remedy="choose another with REMEMBRANCER_DATA or --data",
        )
    detail = f"{folder}, {free >> 20:,} MiB free"
    if not os.access(folder, os.W_OK):
        return Finding(
            part="data folder",
            state="wrong",
            detail=f"{detail}, not writable",
            remedy=f"chown it to the user {os.getuid()}",
        )
    try:
        require_private(folder)
    except DataFolderReadable as error:
        problem, _, remedy = str(error).partition(". ")
        return Finding(part="data folder", state="wrong", detail=problem, remedy=remedy)
    if free < _FREE_BYTES_MIN:
        return Finding(
            part="data folder",
            state="notice",
            detail=detail,
            remedy="free disk space: writes fail when the disk is full",
        )
    return Finding(part="data folder", state="ok", detail=detail)


def _records(context: Context) -> Iterator[Finding]:
    result = readiness(context)
    store, embedder = result.store == "ok", result.embedder == "ok"
    yield _store(context) if store else Finding(part="store", state="wrong", detail=result.store)
    pending = result.embedding.pending if result.embedding else 0
    detail = context.embedder.name if embedder else result.embedder
    if pending:
        remedy = "start the server: it embeds them in the background"
        yield Finding(
            part="embedder",
            state="notice",
            detail=f"{detail}, {pending:,} events waiting to be embedded",
            remedy=remedy,
        )
    else:
        yield Finding(part="embedder", state="ok" if embedder else "wrong", detail=detail)
    if store and is_new(context):
        remedy = "remembrancer keys create --account NAME"
        yield Finding(part="keys", state="notice", detail="no key yet", remedy=remedy)


def _store(context: Context) -> Finding:
    detail = context.settings.store_shown
    if is_above_policies(context):
        remedy = "connect as an ordinary role that owns the database or the schema"
        return Finding(
            part="store",
            state="notice",
            detail=f"{detail}, as a role that bypasses row-level security",
            remedy=remedy,
        )
    if not context.store.is_shared or context.store.supports_vector_search:
        return Finding(part="store", state="ok", detail=detail)
    remedy = "install pgvector on the database server, then as superuser: create extension vector"
    return Finding(
        part="store",
        state="notice",
        detail=f"{detail}, searched in memory: the extension `vector` is missing",
        remedy=remedy,
    )


def _files(settings: Settings) -> Finding:
    try:
        blobs = open_blobs(settings)
        next(iter(blobs.names(before_ms=0)), None)
    except (SettingInvalid, Problem, StoreUnavailable) as error:
        return Finding(
            part="files", state="wrong", detail=str(error), remedy="see REMEMBRANCER_BLOBS"
        )
    if settings.blobs == "local" and engine_of(settings.store_url) != "sqlite":
        detail = f"in {settings.data_folder / 'blobs'}, but other servers can share the database"
        return Finding(
            part="files",
            state="notice",
            detail=detail,
            remedy="for several servers: REMEMBRANCER_BLOBS=s3://…, or one folder for all",
        )
    return Finding(part="files", state="ok", detail=settings.blobs)


def _models(settings: Settings) -> Iterator[Finding]:
    """List the configured models. Requests cost money, so only `models check` sends them."""
    try:
        configured = {slot: targets_of(settings, slot) for slot in SLOTS}
    except SettingInvalid as error:
        yield Finding(part="models", state="wrong", detail=str(error), remedy="fix the setting")
        return
    if not any(configured.values()):
        yield Finding(
            part="models",
            state="ok",
            detail="none: chat quotes, summaries are extractive, programs are repaired by rules",
        )
    for slot, targets in configured.items():
        if targets:
            detail = ", ".join(
                f"{target}{', on another machine' if target.is_outside else ''}"
                for target in targets
            )
            yield Finding(
                part=f"models: {slot}",
                state="ok",
                detail=detail,
                remedy="test them: remembrancer models check",
            )


def _sandbox(settings: Settings) -> Iterator[Finding]:
    """Check the sandbox in its own folder, separate from a running server's."""
    folder = settings.data_folder / f"doctor-{os.getpid()}"
    sandbox = Sandbox(replace(settings, data=folder))
    try:
        level = sandbox.start()
    except SandboxUnavailable as error:
        yield Finding(
            part="sandbox", state="wrong", detail="programs cannot run safely, so none are run"
        )
        for primitive in error.extra["missing"]:
            yield Finding(
                part=f"sandbox: {primitive['primitive']}",
                state="wrong",
                detail=primitive["why"],
                remedy=primitive["remedy"],
            )
        return
    finally:
        sandbox.close()
        shutil.rmtree(folder, ignore_errors=True)
    if level == UNSAFE:
        yield Finding(
            part="sandbox",
            state="notice",
            detail="level unsafe: programs are NOT confined",
            remedy="unset REMEMBRANCER_SANDBOX_MIN_LEVEL",
        )
    else:
        yield Finding(
            part="sandbox", state="ok", detail=f"level {level}, tested with hostile programs"
        )
    if level not in (NS, UNSAFE):
        for primitive in missing(NS):
            yield Finding(
                part=f"sandbox: {primitive.primitive}",
                state="notice",
                detail=primitive.why,
                remedy=primitive.remedy,
            )


def _agents() -> Iterator[Finding]:
    """Check the agents that `remembrancer install` has configured for this user."""
    for agent in configured_agents(with_unreadable=False):
        detail, remedy = "configured", ""
        try:
            read_service_key()
        except SettingInvalid as error:
            detail, remedy = "configured, but it has no key", str(error)
        untrusted = untrusted_events(Path.home() / ".codex") if agent == "codex" else []
        if untrusted and not remedy:
            detail = f"Codex skips hooks that you have not trusted: {', '.join(untrusted)}"
            remedy = CODEX_TRUST_REMEDY
        yield Finding(
            part=f"agent: {agent}", state="notice" if remedy else "ok", detail=detail, remedy=remedy
        )
