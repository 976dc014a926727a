"""Memories with a record of every kind, and exports of them that were changed."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filled import fill
from memory.asking import Memory, memory_in

from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.memory.exchange.export import export
from remembrancer.memory.exchange.records import MANIFEST, MEMBERS
from remembrancer.memory.facts.life import add_fact, change_fact, remove_fact
from remembrancer.protocol.facts import FactAdd, FactChange

DRAFT = ("Which pier?", "Pier 4.", "Pier 3, since June.")  # a message, its answer, its revision


def fill_all(context: Context) -> Memory:
    """Use every feature whose records are exported; return the owner's memory."""
    fill(context)
    memory = memory_in(context, user_id="owner")
    _add_facts(memory)
    _add_draft(memory)
    ada = memory.of("ada")
    ada.tell(
        "I prefer window seats. Always answer in French when I ask about trains.",
        "D'accord.",
        session_id="rail",
        occurred_at="2025-10-12T18:20:00+02:00",
    )
    ada.add(session_id="rail", l1_summary="Ada likes windows.", l2_map="Trains: windows.")
    ada.tell("And trains to Siena?", "Every hour.", session_id="rail")
    ada.add(session_id="rail", l1_summary="Siena hourly.", l2_map="Trains: windows, Siena.")
    return memory


def _add_facts(memory: Memory) -> None:
    def stored(text: str, **more: Any) -> str:
        request = FactAdd.model_validate({"user_id": "owner", "text": text, **more})
        return add_fact(memory.context, memory.caller, request).fact.fact_id

    stored("Ada lives in Rome.", valid_from="2024-01-01T00:00:00Z")
    stored("Ada lives in Pisa.", valid_from="2025-01-01T00:00:00Z")
    stored("The boat is called Mistral.", pinned=True)
    stored("The code of the locker is 4711.", expires_at="2026-06-01T00:00:00Z")
    removed = stored("Ada's bank is in Livorno.")
    remove_fact(memory.context, memory.caller, removed)
    worded = stored("The ferry costs 11 euros.")
    change = FactChange.model_validate({"text": "The ferry costs 12 euros."})
    change_fact(memory.context, memory.caller, worded, change)


def _add_draft(memory: Memory) -> None:
    query, draft, revision = DRAFT
    memory.ask(query, session_id="pier", interact=True)
    memory.tell(query, draft, session_id="pier")
    memory.tell(query, revision, session_id="pier")


def exported(context: Context, path: Path, **options: Any) -> Path:
    """Export the owner's account."""
    export(context, caller_for(context), path, **options)
    return path


def members(path: Path) -> dict[str, bytes]:
    """Return the members of an export by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def records(path: Path, name: str) -> list[dict[str, Any]]:
    """Return the records of a member."""
    return [json.loads(line) for line in members(path)[name].splitlines()]


def lines(*objects: Mapping[str, Any]) -> bytes:
    """Return objects as JSON lines."""
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects).encode()


def written(path: Path, contents: Mapping[str, bytes], *, mended: bool = True) -> Path:
    """Write an export with these members; `mended` makes the manifest agree with them."""
    contents = dict(contents)
    if mended:
        manifest = json.loads(contents[MANIFEST])
        manifest["blobs"] = sum(name.startswith("blobs/") for name in contents)
        for name in MEMBERS:
            if name in contents:
                manifest["members"][name] = {
                    "bytes": len(contents[name]),
                    "records": contents[name].count(b"\n"),
                    "sha256": hashlib.sha256(contents[name]).hexdigest(),
                }
        contents[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def changed(
    path: Path, name: str, change: Callable[[list[dict[str, Any]]], object], target: Path
) -> Path:
    """Write a copy of an export with the records of one member changed in place."""
    contents = members(path)
    rows = records(path, name)
    change(rows)
    return written(target, {**contents, name: lines(*rows)})
