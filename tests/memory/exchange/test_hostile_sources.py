"""Import of broken and hostile files: a clear error with the place, and nothing is stored."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory.exchange.imports import SAMPLES, Imports
from rounds import rounds

from remembrancer.memory.exchange.shapes.documents import Source
from remembrancer.memory.exchange.shapes.records import ImportRefused
from remembrancer.memory.exchange.shapes.table import NAMES, records, shape_named
from remembrancer.memory.exchange.survey import Survey, check


def chat(*texts: str, uuid: str = "c1") -> dict[str, Any]:
    """Return a conversation of Claude's export; the user and the assistant take turns."""
    return {
        "uuid": uuid,
        "name": "Chat",
        "created_at": "2026-01-01T00:00:00Z",
        "chat_messages": [
            {"uuid": f"m{n}", "sender": ("human", "assistant")[n % 2], "text": text}
            for n, text in enumerate(texts)
        ],
    }


GOOD = chat("Hi", "Hello")
SPACES = b" " * (32 << 20)


def zipped(path: Path, *members: tuple[str, bytes]) -> Path:
    """Write an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("bad", "place", "why"),
    [
        (chat("a\0b"), ", conversation 2, message 1", "query: "),
        (chat("a", "\ud800"), ", conversation 2, message 1", "response: "),
        (chat("a" * 1_100_000), ", conversation 2, message 1", "more than 1,048,576 bytes"),
        (chat("é" * 600_000), ", conversation 2, message 1", "the turn has 1,200,000 bytes"),
        ({**GOOD, "created_at": "soon"}, ", conversation 2", "cannot read the time 'soon'"),
        ({**GOOD, "created_at": 1e300}, ", conversation 2", "cannot read the time of this number"),
        ({**GOOD, "created_at": "0001-01-01"}, ", conversation 2", "the year 1 is out of range"),
        ({**GOOD, "created_at": [1]}, ", conversation 2", "cannot read a time of type list"),
        ({**GOOD, "chat_messages": {}}, ", conversation 2", "it has no list `chat_messages`"),
        ({**GOOD, "chat_messages": [7]}, ", conversation 2", "expected an object"),
        (7, ", conversation 2", "expected an object"),
    ],
    ids=str,
)
def test_invalid_record_is_refused_or_skipped(
    imports: Imports, bad: object, place: str, why: str
) -> None:
    path = imports.written("conversations.json", json.dumps([GOOD, bad, chat("Bye", uuid="c3")]))

    message = imports.refused(path)
    assert message.startswith((place, place.replace("conversation", "record")))
    assert why in message

    source = imports.read(path, skip_invalid=True)
    assert source.survey.invalid == 1
    assert why in str(source.survey.errors[0])
    imports.stored(path, skip_invalid=True)
    assert {"Hi", "Bye"} <= {row[3] for row in imports.turns()}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (json.dumps([GOOD, GOOD])[:-40], "(the file ends in the middle of a record)"),
        (json.dumps([GOOD]) + "]", "Expecting 'the end of the file'"),
        (json.dumps([GOOD])[:-1] + f', {{"n": {"1" * 49_000}}}]', "a number has too many digits"),
        (json.dumps([GOOD])[:-1] + ", " + "[" * 100_000, "it is nested too deeply"),
        (json.dumps([GOOD])[:-1] + ', {"n": NaN}]', "NaN is not JSON"),
        (json.dumps([GOOD])[:-1] + ' {"n": 1}]', "Expecting ',' or ']'"),
        (json.dumps([GOOD], indent=1).encode()[:-2] + b', {"\xff": 1}]', "not UTF-8 (near byte "),
        (json.dumps([GOOD]).encode("utf-16"), "not a known shape: text that begins with"),
    ],
    ids=["cut", "after the end", "digits", "nesting", "constant", "comma", "byte", "utf-16"],
)
def test_broken_json_is_refused_with_its_line(
    imports: Imports, text: str | bytes, why: str
) -> None:
    message = imports.refused(imports.written("conversations.json", text))

    assert message.startswith((", line ", ": not "))
    assert why in message


@pytest.mark.parametrize("place", [2, 100])
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b'{"type": "user", "message": {"ro', "Invalid JSON: Unterminated string"),
        (b"[1]", "expected an object"),
        (b'{"n": ' + b"1" * 49_000 + b"}", "a number has too many digits"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a": "\xff"}', "not UTF-8"),
    ],
    ids=["cut", "list", "digits", "nesting", "byte"],
)
def test_broken_line_is_refused_with_its_number(
    imports: Imports, bad: bytes, why: str, place: int
) -> None:
    said = {"role": "user", "content": "Hi"}
    good = json.dumps({"type": "user", "sessionId": "s", "message": said}).encode()
    path = imports.written("s.jsonl", b"\n".join([good] * (place - 1) + [bad, good]))

    message = imports.refused(path)
    assert message.startswith(f", line {place}: ")
    assert why in message
    assert imports.read(path, skip_invalid=True).survey.turns == place


class TestArchives:
    @pytest.mark.parametrize(
        ("members", "method", "why"),
        [
            ([SPACES], zipfile.ZIP_DEFLATED, "would unpack to 33,554,432; at most 100 times"),
            ([SPACES[: 1 << 20]] * 32, zipfile.ZIP_DEFLATED, "would unpack to 33,554,432"),
            ([b" "], zipfile.ZIP_BZIP2, "method 12 is not supported"),
            ([b" "], zipfile.ZIP_LZMA, "method 14 is not supported"),
        ],
        ids=["one member", "many members", "bzip2", "lzma"],
    )
    def test_bomb_is_refused_by_what_it_declares(
        self, imports: Imports, members: list[bytes], method: int, why: str
    ) -> None:
        """No member is opened."""
        path = imports.folder / "bomb.zip"
        with zipfile.ZipFile(path, "w", method) as archive:
            for number, content in enumerate(members):
                archive.writestr(f"{number}.jsonl", content)
        source = Source.at(path)

        with pytest.raises(ImportRefused, match=why), source.documents():
            pytest.fail("the archive was opened")
        assert why in imports.refused(path)

    def test_member_that_lies_is_read_no_further_than_it_declares(self, imports: Imports) -> None:
        path = zipped(imports.folder / "bomb.zip", ("0.jsonl", SPACES))
        real, declared = (struct.pack("<L", size) for size in (len(SPACES), 1 << 20))
        assert path.read_bytes().count(real) == 2
        path.write_bytes(path.read_bytes().replace(real, declared))
        source = Source.at(path)

        [record] = records(source, shape_named("openai-messages"))
        assert "Bad CRC-32" in str(record)
        assert source.bytes_read < 1 << 20

    @pytest.mark.parametrize("name", ["conversations.json", "inner.zip"])
    def test_packed_member_is_not_unpacked(self, imports: Imports, name: str) -> None:
        inner = zipped(imports.folder / "inner.zip", ("conversations.json", SPACES)).read_bytes()
        for content in (inner, gzip.compress(SPACES)):
            path = zipped(imports.folder / "outer.zip", (name, content))

            assert "not a known shape" in imports.refused(path)
        path = imports.written(f"{name}.gz", gzip.compress(SPACES))
        assert "not a known shape" in imports.refused(path)

    def test_names_of_members_have_no_effect(self, imports: Imports) -> None:
        names = ("../../up/conversations.json", "/etc/conversations.json", "a\n/conversations.json")
        content = [json.dumps([chat("Hi", "Hello", uuid=name)]).encode() for name in names]
        path = zipped(imports.folder / "x.zip", *zip(names, content, strict=True))
        before = sorted(imports.folder.parent.rglob("*"))

        assert imports.stored(path).stored == 3
        assert sorted(imports.folder.parent.rglob("*")) == before

    @pytest.mark.parametrize("cut", [1, 30, 100])
    def test_cut_archive_is_refused(self, imports: Imports, cut: int) -> None:
        whole = zipped(imports.folder / "x.zip", ("conversations.json", b"[1]" * 100))
        path = imports.written("cut.zip", whole.read_bytes()[:-cut])

        assert imports.refused(path).startswith(": ")

    @pytest.mark.parametrize(
        ("damage", "why"),
        [
            (lambda raw, _: {60: raw[60] ^ 0xFF}, "/conversations.json"),
            (lambda _, entry: {entry + 28: 0}, ": "),  # the length of its name
            (lambda raw, entry: {6: raw[6] | 1, entry + 8: raw[entry + 8] | 1}, ".* is encrypted"),
        ],
        ids=["damaged content", "no name", "encrypted"],
    )
    def test_damaged_member_is_refused(
        self, imports: Imports, damage: Callable[[bytearray, int], dict[int, int]], why: str
    ) -> None:
        path = zipped(imports.folder / "x.zip", ("conversations.json", json.dumps([GOOD]).encode()))
        raw = bytearray(path.read_bytes())
        for place, byte in damage(raw, raw.index(b"PK\x01\x02")).items():
            raw[place] = byte
        path.write_bytes(raw)

        assert re.match(why, imports.refused(path))


class TestFolders:
    def test_links_are_not_followed(self, imports: Imports, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret.md").write_text("# Secret")
        imports.written("notes/mine.md", "# Mine")
        (imports.folder / "files" / "notes" / "link.md").symlink_to(outside / "secret.md")
        (imports.folder / "files" / "folder").symlink_to(outside)
        source = imports.read(imports.folder / "files")
        imports.stored(imports.folder / "files")

        assert source.survey.reasons == {"symbolic link": 2}
        assert [row[4] for row in imports.turns()] == ["# Mine"]

    def test_pipe_is_refused_and_not_waited_for(self, imports: Imports) -> None:
        path = imports.folder / "pipe"
        os.mkfifo(path)

        assert imports.refused(path) == ": not a regular file"


class TestDatabases:
    def test_file_that_only_begins_like_a_database_is_refused(self, imports: Imports) -> None:
        path = imports.written("x.db", b"SQLite format 3\0" + b"x" * 5_000)

        assert "a SQLite database without claude-mem's tables" in imports.refused(path)


def test_export_of_this_service_is_not_taken_for_another_shape(imports: Imports) -> None:
    manifest = json.dumps({"format": "remembrancer-export", "version": 1}).encode()
    facts = b'{"id": "1", "memory": "looks like mem0"}\n'
    path = zipped(imports.folder / "x.zip", ("manifest.json", manifest), ("facts.jsonl", facts))

    assert imports.refused(path) == ": an export of Remembrancer, which no shape reads"


KEYS = sorted(
    {key for path in SAMPLES.rglob("*.json") for key in re.findall(r'"(\w+)" *:', path.read_text())}
)
_TEXT = st.one_of(
    st.text(max_size=8), st.sampled_from(["user", "assistant", "text", "2026-01-01", "{"])
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)


def surveyed(path: Path, shape: str | None) -> Survey | str:
    """Read a source to its end; return the survey, or the error message."""
    try:
        return check(path, shape=shape, skip_invalid=True).survey
    except ImportRefused as error:
        return str(error)


@settings(max_examples=rounds(100, 1_000))
@given(value=_VALUES, shape=st.sampled_from([None, *NAMES]), as_lines=st.booleans())
def test_random_json_never_raises_another_error(
    tmp_path_factory: pytest.TempPathFactory, value: Any, shape: str | None, as_lines: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / f"random-{os.getpid()}.json"
    values = value if as_lines and isinstance(value, list) else [value]
    path.write_text("\n".join(map(json.dumps, values)))

    surveyed(path, shape)


@st.composite
def changed_samples(draw: st.DrawFn) -> tuple[str, bytes]:
    """Return the name and the bytes of a sample with one value replaced, or with bytes changed."""
    path = draw(st.sampled_from(sorted(path for path in SAMPLES.rglob("*") if path.is_file())))
    raw = path.read_bytes()
    if draw(st.booleans()) and path.suffix in (".json", ".af"):
        return path.name, json.dumps(_replaced(draw, json.loads(raw))).encode()
    start = draw(st.integers(0, max(0, len(raw) - 1)))
    added, rest = draw(st.binary(max_size=6)), raw[start + draw(st.integers(0, 9)) :]
    return path.name, raw[:start] + added + rest


def _replaced(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: _replaced(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], _replaced(draw, value[place]), *value[place + 1 :]]
    return draw(_VALUES)


@settings(max_examples=rounds(100, 1_000))
@given(sample=changed_samples())
def test_changed_sample_never_raises_another_error(
    tmp_path_factory: pytest.TempPathFactory, sample: tuple[str, bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / f"changed-{os.getpid()}-{sample[0]}"
    path.write_bytes(sample[1])

    surveyed(path, None)
