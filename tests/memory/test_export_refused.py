"""Exports that an import refuses: it names the member and the line, and stores nothing."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import struct
import zipfile
from collections import deque
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from exchange_files import exported, fill_all, lines, members, records, written
from memory.asking import memory_in
from rounds import rounds
from service import rows

from remembrancer import testing
from remembrancer.accounts import caller_for, keys
from remembrancer.context import Context
from remembrancer.memory.exchange import archive as archives
from remembrancer.memory.exchange.archive import Archive, is_export
from remembrancer.memory.exchange.records import MANIFEST, MEMBERS
from remembrancer.memory.exchange.restore import restore
from remembrancer.memory.exchange.shapes import zips
from remembrancer.memory.exchange.shapes.records import ImportRefused
from remembrancer.settings import Settings

Rows = list[dict[str, Any]]
Contents = dict[str, bytes]
Change = Callable[[Contents], object]
Refusal = Callable[..., str]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the export of an account with a record of every kind."""
    folder = tmp_path_factory.mktemp("source")
    with closing(testing.context(folder)) as context:
        fill_all(context)
        return exported(context, folder / "memory.zip")


@pytest.fixture
def contents(archive: Path) -> Contents:
    """Return the members of the export, to be changed."""
    return members(archive)


@pytest.fixture
def refusal(context: Context, tmp_path: Path) -> Refusal:
    """Return the error of an import without the path; check that nothing was stored."""
    path = tmp_path / "x.zip"

    def refusal(
        export: bytes | Contents, account: str | None = None, *, mended: bool = True
    ) -> str:
        if isinstance(export, bytes):
            path.write_bytes(export)
        else:
            written(path, export, mended=mended)
        caller = caller_for(context, account)
        before = rows(context)
        with pytest.raises(ImportRefused) as refused:
            restore(context, caller, path)
        assert rows(context) == before
        return str(refused.value).removeprefix(f"{path}: ")

    return refusal


def without(name: str) -> Change:
    return lambda contents: contents.pop(name)


def with_member(name: str, content: bytes = b"x") -> Change:
    return lambda contents: contents.update({name: content})


def appended(name: str, text: bytes) -> Change:
    return lambda contents: contents.update({name: contents[name] + text})


def manifest_with(**changes: Any) -> Change:
    def change(contents: Contents) -> None:
        manifest = json.loads(contents[MANIFEST])
        contents[MANIFEST] = json.dumps({**manifest, **changes}).encode()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("facts.jsonl"), "facts.jsonl is missing"),
        (without(MANIFEST), "manifest.json is missing"),
        (manifest_with(version=3), "manifest.json: version 3 of the format is newer than 2"),
        (manifest_with(format="other"), "manifest.json: format: "),
        (manifest_with(members={}), "manifest.json: it must list users.jsonl"),
        (manifest_with(blobs=7), "blobs/: 1 members; the manifest says 7"),
        (with_member("../../etc/passwd"), "'../../etc/passwd' is no member of an export"),
        (with_member("/etc/passwd"), "'/etc/passwd' is no member"),
        (with_member("blobs/../x"), "'blobs/../x' is no member"),
        (with_member("blobs\\x"), "is no member"),
        (with_member("users.jsonl/"), "'users.jsonl/' is no member"),
        (with_member("manifest.json\u202e"), "is no member"),
        (appended("events.jsonl", b"{}\n"), "events.jsonl, line 1212: event_id: Field required"),
        (appended("maps.jsonl", b'{"user_id":'), "maps.jsonl, line 4: the record is cut off"),
        (appended("maps.jsonl", b"\xff\xfe\n"), "maps.jsonl, line 4: Invalid JSON"),
        (appended("maps.jsonl", b'"\\ud800"\n'), "maps.jsonl, line 4: Invalid JSON"),
        (appended("maps.jsonl", b"\n"), "maps.jsonl, line 4: Invalid JSON"),
        (appended("maps.jsonl", b"[" * 100_000 + b"\n"), "maps.jsonl, line 4: Invalid JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_members_are_refused(
    contents: Contents, refusal: Refusal, change: Change, message: str
) -> None:
    change(contents)

    assert message in refusal(contents, mended=False)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("events.jsonl", {"query": 7}, "query: Input should be a valid string"),
        ("events.jsonl", {"query": "a\0b"}, "query: String should match pattern"),
        ("events.jsonl", {"event_id": "e_1"}, "event_id: String should match pattern"),
        ("events.jsonl", {"occurred_at": "yesterday"}, "occurred_at: Value error, a time must be"),
        ("events.jsonl", {"more": 1}, "more: Extra inputs are not permitted"),
        ("events.jsonl", {"session_id": "other"}, "session_id: the user has no 'other'"),
        ("events.jsonl", {"user_id": "other"}, "user_id: the user has no 'other'"),
        ("events.jsonl", {"flags": ["A B"]}, "flags.0: "),
        (
            "events.jsonl",
            {"superseded": True, "superseded_by": "e_zzzzzzzzzzzzz"},
            "superseded_by: the user has no e_zzzzzzzzzzzzz",
        ),
        ("facts.jsonl", {"event_id": "e_zzzzzzzzzzzzz"}, "event_id: the user has no"),
        ("facts.jsonl", {"sources": ["e_zzzzzzzzzzzzz"]}, "event_id: the user has no"),
        ("facts.jsonl", {"superseded_by": "f_zzzzzzzzzzzzz"}, "superseded_by: the user has no"),
        ("facts.jsonl", {"text": " "}, "Value error, a current fact must have a text"),
        ("facts.jsonl", {"user_id": "ada"}, "session_id: the user has no 'trip'"),
        ("sessions.jsonl", {"turns_summarised": 99}, "Value error, turns_summarised must be"),
        ("sessions.jsonl", {"turns": -1}, "turns: Input should be greater than"),
        ("memory_files.jsonl", {"path": "/etc/passwd"}, "path: Value error, "),
        ("memory_files.jsonl", {"path": "/memories/../x"}, "path: Value error, "),
        ("files.jsonl", {"filename": "../x.txt"}, "filename: String should match pattern"),
        ("files.jsonl", {"sha256": "0" * 64}, f"blobs/{'0' * 64} is missing"),
        ("files.jsonl", {"bytes": 3}, "has 4 bytes, not 3"),
        ("cubes.jsonl", {"user_id": None}, "Value error, a session needs its user_id"),
        ("cubes.jsonl", {"kind": "poem"}, "kind: Input should be "),
    ],
    ids=str,
)
def test_invalid_record_is_named(
    contents: Contents, refusal: Refusal, name: str, change: dict[str, Any], message: str
) -> None:
    with_records(name, partial(update_first, change))(contents)

    error = refusal(contents)
    assert error.startswith(f"{name}, line 1: ")
    assert message in error


def with_blob(content: bytes, named: bytes | None = None) -> Change:
    """Add a content that no file has, or replace that of the only file."""

    def change(contents: Contents) -> None:
        [blob] = [name for name in contents if name.startswith("blobs/")]
        contents[f"blobs/{hashlib.sha256(named).hexdigest()}" if named else blob] = content

    return change


def with_records(name: str, change: Callable[[Rows], object]) -> Change:
    """Change the records of a member in place."""

    def rewrite(contents: Contents) -> None:
        records = [json.loads(line) for line in contents[name].splitlines()]
        change(records)
        contents[name] = lines(*records)

    return rewrite


def update_first(change: dict[str, Any], records: Rows) -> None:
    """Change the first record."""
    records[0].update(change)


def circle(facts: Rows) -> None:
    """Let two facts supersede each other."""
    rome, pisa = facts[1], facts[2]
    assert rome["superseded_by"] == pisa["fact_id"]
    pisa |= {"status": "superseded", "superseded_by": rome["fact_id"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_blob(b"TEXT"), r"blobs/\w+: the content has SHA-256 [0-9a-f]{64}"),
        (with_blob(b"more", b"more"), r"blobs/\w+: no file has this content"),
        (
            with_records("facts.jsonl", lambda facts: facts.append(dict(facts[1]))),
            r"facts.jsonl, line 11: f_\w+ is in line 2, too",
        ),
        (
            with_records("facts.jsonl", circle),
            r"facts.jsonl, line 2: superseded_by: f_\w+ leads back to this record",
        ),
    ],
    ids=["another content", "content without a file", "identifier twice", "circle of facts"],
)
def test_members_that_contradict_each_other_are_refused(
    contents: Contents, refusal: Refusal, change: Change, message: str
) -> None:
    change(contents)

    assert re.fullmatch(message, refusal(contents))


def test_wrong_checksum_names_the_member(contents: Contents, refusal: Refusal) -> None:
    contents["facts.jsonl"] = contents["facts.jsonl"].replace(b"seasick", b"airsick")

    assert refusal(contents, mended=False).startswith("facts.jsonl: 10 records in ")


def test_member_twice_in_the_file_is_refused(
    archive: Path, refusal: Refusal, tmp_path: Path
) -> None:
    path = Path(shutil.copy(archive, tmp_path / "twice.zip"))
    with zipfile.ZipFile(path, "a") as zipped, pytest.warns(UserWarning, match="Duplicate"):
        zipped.writestr("users.jsonl", b"")

    assert refusal(path.read_bytes()) == "'users.jsonl' is in the file twice"


def test_every_cut_off_file_is_refused(archive: Path, refusal: Refusal, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    for size in (5, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        assert "not complete" in refusal(whole[:size])
        with pytest.raises(ImportRefused, match="not complete"):
            is_export(tmp_path / "x.zip")


@pytest.mark.long
def test_every_flipped_byte_is_noticed_or_harmless(
    archive: Path, context: Context, tmp_path: Path
) -> None:
    """An import is refused, or stores what the whole file holds: no reader uses the byte."""
    whole, path, refused = archive.read_bytes(), tmp_path / "x.zip", 0
    restore(context, caller_for(context), archive)
    for place in range(1, len(whole), len(whole) // rounds(30, 200)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            result = restore(context, caller_for(context), path)
        except ImportRefused:
            refused += 1
        else:
            assert (result.stored, result.left) == (0, 0)

    assert refused > rounds(22, 150)


def test_member_that_expands_too_much_is_refused(
    contents: Contents, refusal: Refusal, tmp_path: Path
) -> None:
    """A zip bomb is refused by its declared sizes, and one that lies is read no further."""
    size = len(contents["events.jsonl"])
    contents["events.jsonl"] += b" " * 40_000_000 + b"\n"

    assert re.search(r"would unpack to 4\d,\d{3},\d{3}; at most 100 times", refusal(contents))

    honest = (tmp_path / "x.zip").read_bytes()
    real, declared = struct.pack("<L", size + 40_000_001), struct.pack("<L", size)
    assert honest.count(real) == 2
    assert refusal(honest.replace(real, declared)).startswith("events.jsonl")


def test_overlapping_members_are_refused(archive: Path, refusal: Refusal) -> None:
    """Members that share their compressed bytes expand without a limit on the ratio of each."""
    content = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as zipped:
        largest = max(zipped.infolist(), key=lambda entry: entry.compress_size)
    start = content.rfind(b"PK\x01\x02", 0, content.rfind(largest.filename.encode()))
    struct.pack_into("<L", content, start + 20, len(content))

    assert "members overlap" in refusal(bytes(content))


@pytest.mark.parametrize(
    ("module", "limit", "value", "message"),
    [
        (zips, "ENTRIES_MAX", 10, "more than 10 members"),
        (archives, "LINE_BYTES_MAX", 200, "line 1: longer than 200 bytes"),
    ],
)
def test_too_many_members_and_too_long_lines_are_refused(
    contents: Contents,
    refusal: Refusal,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    limit: str,
    value: int,
    message: str,
) -> None:
    monkeypatch.setattr(module, limit, value)

    assert message in refusal(contents)


def test_identifiers_that_exist_elsewhere_or_with_other_content_are_refused(
    contents: Contents, context: Context, archive: Path, refusal: Refusal
) -> None:
    caller_for(context)  # the first account is the owner
    memory_in(context, "bob", "bob").add(critical="Bob rows.")
    [fact] = memory_in(context, "bob", "bob").ask("Bob rows").facts

    def steal(rows: Rows) -> None:
        rows[2]["fact_id"], rows[1]["superseded_by"] = fact.fact_id, None

    stolen = dict(contents)
    with_records("facts.jsonl", steal)(stolen)
    assert refusal(stolen) == f"facts.jsonl, line 3: {fact.fact_id} is another account's"
    restore(context, caller_for(context), archive)
    error = refusal(contents, "bob")
    assert re.fullmatch(r"events.jsonl, line 1: e_\w+ is another account's", error)
    for name, change in (
        ("events.jsonl", {"response": "At noon."}),
        ("facts.jsonl", {"text": "Ada gets airsick."}),
        ("summaries.jsonl", {"text": "Another one."}),
        ("cubes.jsonl", {"essence": "Timetables never change."}),
    ):
        other = dict(contents)
        with_records(name, partial(update_first, change))(other)
        error = refusal(other)
        assert error.startswith(f"{name}, line 1: ")
        assert error.endswith("exists with different content")


def test_trust_and_secrets_of_a_file_are_not_believed(
    contents: Contents, context: Context, tmp_path: Path
) -> None:
    """A file claims a trusted cube with a link, and a turn with the key of a service."""
    key = keys.create(context, account="owner").key.reveal()

    def claim(cubes: Rows) -> None:
        cubes[0] |= {"status": "trusted", "useful": 99}
        linked = {"cube_id": "c_zzzzzzzzzzzzz", "essence": "See http://evil.example"}
        cubes.append(cubes[0] | linked)

    with_records("cubes.jsonl", claim)(contents)
    with_records("events.jsonl", lambda rows: rows[0].update(query=f"My key is {key}."))(contents)
    restore(context, caller_for(context), written(tmp_path / "x.zip", contents))
    path = exported(context, tmp_path / "again.zip")
    event = records(path, "events.jsonl")[0]

    cubes = records(path, "cubes.jsonl")
    assert [cube["status"] for cube in cubes] == ["published", "private"]
    assert [cube["useful"] for cube in cubes] == [0, 0]
    assert key not in event["query"]
    assert event["flags"] == ["secret"]


def test_files_beyond_the_quota_are_refused(archive: Path, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, account_bytes_max=1_000)
    with closing(testing.context(tmp_path, settings=settings)) as context:
        caller, before = caller_for(context), rows(context)
        with pytest.raises(ImportRefused, match=r"files\.jsonl, line 1: .* would use 4,096 of"):
            restore(context, caller, archive)

        assert rows(context) == before


@pytest.mark.long
def test_random_damage_never_raises_another_error(archive: Path, tmp_path: Path) -> None:
    """Bytes changed and cut out anywhere: the reader refuses the file or reads it."""
    whole, path, random = archive.read_bytes(), tmp_path / "x.zip", Random(8460)
    refused = 0
    for _ in range(rounds(100, 2_000)):
        content = bytearray(whole)
        place = random.choice((random.randrange(len(whole)), len(whole) - random.randrange(1_500)))
        del content[place : place + random.randrange(3)]
        content[place - 1 : place] = random.randbytes(random.randrange(3))
        path.write_bytes(content)
        try:
            is_export(path)
            with Archive(path) as opened:
                for name in MEMBERS:
                    deque(opened.lines(name), 0)
        except ImportRefused:
            refused += 1

    assert refused > 80
