"""Index segments: the answers of rows, after any damage, and no trace of erased events."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import killed_after
from engines import only_sqlite
from memory.asking import Memory, opened
from rounds import rounds
from waiting import wait_until

import remembrancer
from remembrancer import testing
from remembrancer.context import Context
from remembrancer.memory.history.forget import erase_event, forget
from remembrancer.memory.maintenance import Maintenance, check_segments, write_segments
from remembrancer.protocol.forget import Forget
from remembrancer.search import SegmentFolder
from remembrancer.search.embedders.port import NoEmbedder
from remembrancer.search.index.segments import SegmentDamaged, open_segment
from remembrancer.settings import Settings

SMALL, LARGE = 4, 16
EVENTS = 2 * LARGE + 3 * SMALL + 2  # two large segments, three small ones, two rows
SUBJECTS = ("ferry", "quince", "cello", "fence", "lamp", "harbour", "violin")
QUESTIONS = ("when does the ferry leave", "who repairs the cello", "green fence", "lantern 17")
WRITER = Path(__file__).with_name("segment_writer.py")


@pytest.fixture(autouse=True)
def _a_store_beside_a_folder() -> None:
    only_sqlite()


def folder_of(context: Context) -> Path:
    """Return the folder of the segments."""
    folder = context.store.index_folder
    assert folder is not None
    return folder


@contextmanager
def started(folder: Path, **parts: Any) -> Iterator[Memory]:
    """Yield Ada's memory in a new Context whose segments are short."""
    with opened(folder, **parts) as memory:
        segments = SegmentFolder(folder_of(memory.context), sizes=(LARGE, SMALL))
        yield Memory(replace(memory.context, segments=segments), memory.caller)


@contextmanager
def from_rows(folder: Path, **parts: Any) -> Iterator[Memory]:
    """Yield Ada's memory in a new Context without segments."""
    with opened(folder, **parts) as memory:
        yield Memory(replace(memory.context, segments=None), memory.caller)


def answers_of_rows(folder: Path, **parts: Any) -> list[str]:
    """Return the answers of a new Context without segments."""
    with from_rows(folder, **parts) as memory:
        return answers(memory)


def tell_some(memory: Memory, events: int = EVENTS, *, first: int = 0) -> list[str]:
    """Remember turns of three sessions; return their ids."""
    return [
        memory.tell(
            f"Where is the {SUBJECTS[n % len(SUBJECTS)]} of lantern {n}?",
            f"It is at pier {n}, word zx{n}qv.",
            session_id=f"session {n % 3}",
        )
        for n in range(first, first + events)
    ]


def answers(memory: Memory) -> list[str]:
    """Return the exact answers to some queries."""
    texts = [*QUESTIONS, *(f"zx{n}qv" for n in range(0, EVENTS, 5))]
    return [memory.ask(text, top_k=20).model_dump_json() for text in texts]


def files(context: Context) -> list[str]:
    """Return the names of all files of segments."""
    return sorted(path.name for path in folder_of(context).rglob("*") if path.is_file())


def segments(names: str) -> list[str]:
    """Return the files of segments: first event, event after the last one, and revision."""
    return [f"{name}.segment" for name in names.split()]


def write(memory: Memory) -> None:
    """Write the segments that are due after a search."""
    memory.ask("ferry")
    write_segments(memory.context)


def own_parts(memory: Memory) -> int:
    """Return how many parts of Ada's loaded index are in no segment."""
    return memory.context.index_cache.own_parts(1)


def filled(folder: Path) -> list[str]:
    """Remember turns and write their segments; return the ids of the turns."""
    with started(folder) as memory:
        event_ids = tell_some(memory)
        write(memory)
    return event_ids


def vectors_of(context: Context, number: int) -> bytes:
    """Return the stored vectors of an event of Ada."""
    row = context.store.read(
        lambda tx: tx.one("select vectors from event_index where id & 4294967295 = :n", n=number)
    )
    return bytes(row.vectors)


def is_in_a_file(context: Context, content: bytes) -> bool:
    """Return True if a file of the segments contains these bytes."""
    paths = [path for path in folder_of(context).rglob("*") if path.is_file()]
    return any(content in path.read_bytes() for path in paths)


def test_answers_from_segments_are_those_from_rows(folder: Path) -> None:
    filled(folder)

    with from_rows(folder) as memory:
        expected, all_parts = answers(memory), own_parts(memory)
    with started(folder) as memory:
        actual, parts = answers(memory), own_parts(memory)

        assert actual == expected
        assert (parts, all_parts) == (2 * 2, 2 * EVENTS)  # a turn has two parts
        assert files(memory.context) == segments("0-16-0 16-32-0 32-36-0 36-40-0 40-44-0")


def test_small_segments_become_a_large_one(folder: Path) -> None:
    filled(folder)

    with started(folder) as memory:
        answers(memory)
        tell_some(memory, LARGE, first=EVENTS)
        write(memory)

        expected = segments("0-16-0 16-32-0 32-48-0 48-52-0 52-56-0 56-60-0")
        assert files(memory.context) == expected


DAMAGES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "cut": lambda content, _: content[: len(content) // 2],
    "empty": lambda _content, _: b"",
    "a page lost in a crash": lambda content, _: content[:-4096] + bytes(4096),
    "longer": lambda content, _: content + bytes(64),
    "of other events": lambda _, other: other,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_segment_is_rebuilt_from_rows(folder: Path, damage: str) -> None:
    filled(folder)
    with from_rows(folder) as memory:
        expected = answers(memory)
        before = files(memory.context)
        paths = sorted(folder_of(memory.context).rglob("*.segment"))
        contents = [path.read_bytes() for path in paths]
        for path, content, other in zip(paths, contents, contents[1:] + contents[:1], strict=True):
            path.write_bytes(DAMAGES[damage](content, other))

    with started(folder) as memory:
        assert answers(memory) == expected
        assert len(files(memory.context)) < len(before)
        write_segments(memory.context)
        assert files(memory.context) == before
    with started(folder) as memory:
        assert answers(memory) == expected
        assert own_parts(memory) == 2 * 2


@pytest.mark.parametrize("change", ["another user's", "a link to another user's", "a link"])
def test_planted_segment_is_not_used(folder: Path, tmp_path: Path, change: str) -> None:
    """No word of the other user is in an answer, and what a link points to is not removed."""
    with started(folder) as memory:
        tell_some(memory)
        bob = memory.of("bob")
        for n in range(EVENTS):
            bob.tell(f"Which ferry is secret {n}?", f"The green fence of lantern {n}, zx{n}qv.")
        bob.ask("ferry")
        write(memory)
        expected = answers(memory)
        before = files(memory.context)
        ada, other = (folder_of(memory.context) / name for name in ("1", "2"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for path in ada.iterdir():
        source = path if change == "a link" else other / path.name
        target = elsewhere / path.name
        target.write_bytes(source.read_bytes())
        path.unlink()
        if change == "another user's":
            target.rename(path)
        else:
            path.symlink_to(target)

    with started(folder) as memory:
        assert answers(memory) == expected
        assert not any("secret" in answer for answer in answers(memory))
        assert list(ada.iterdir()) == []
        write_segments(memory.context)
        assert files(memory.context) == before
    assert len(list(elsewhere.iterdir())) == (0 if change == "another user's" else 5)


def test_segment_that_is_replaced_while_it_is_mapped_stays_as_it_was(folder: Path) -> None:
    filled(folder)
    with started(folder) as memory:
        expected = answers(memory)
        for path in (folder_of(memory.context) / "1").iterdir():
            new = path.with_suffix(".new")
            new.write_bytes(b"garbage")
            new.replace(path)

        assert answers(memory) == expected
    with started(folder) as memory:
        assert answers(memory) == expected


@pytest.mark.long
def test_every_changed_bit_is_noticed(folder: Path) -> None:
    filled(folder)
    rng = random.Random(4360)
    with from_rows(folder) as memory:
        path = folder_of(memory.context) / "1" / "0-16-0.segment"
    whole = path.read_bytes()

    for _ in range(rounds(100, 1_000)):
        changed = bytearray(whole)
        changed[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)

        with pytest.raises(SegmentDamaged):
            open_segment(path)


def test_segments_of_lost_writes_are_not_used(folder: Path) -> None:
    """A power cut may lose the last writes; then other events get their numbers."""
    filled(folder)
    with from_rows(folder) as memory:
        for table in ("event_index", "events"):
            memory.context.store.write(
                lambda tx, table=table: tx.run(f"delete from {table} where id & 4294967295 >= 40")  # type: ignore[misc]
            )
        memory.context.store.write(lambda tx: tx.run("update spaces set events_made = 40"))
        event_ids = tell_some(memory, EVENTS - 40, first=100)
        expected = answers(memory)

    with started(folder) as memory:
        assert answers(memory) == expected
        assert memory.hit_ids("zx101qv", top_k=1) == [event_ids[1]]


def test_segments_of_another_embedder_are_not_used(folder: Path) -> None:
    filled(folder)
    expected = answers_of_rows(folder, embedder=NoEmbedder())

    with started(folder, embedder=NoEmbedder()) as memory:
        assert answers(memory) == expected
        assert files(memory.context) == []


def test_an_erased_event_leaves_its_segment_and_no_other_is_lost(folder: Path) -> None:
    """Its words and vectors are in no file once the request is answered."""
    event_ids = filled(folder)

    with started(folder) as memory:
        context = memory.context
        vectors = vectors_of(context, 20)
        assert is_in_a_file(context, vectors)
        answers(memory)
        erase_event(context, memory.caller, event_ids[20])

        assert not is_in_a_file(context, vectors)
        assert files(context) == segments("0-16-1 32-36-1 36-40-1 40-44-1")
        write_segments(context)
        assert "16-32-1.segment" in files(context)
        assert not is_in_a_file(context, vectors)
    with started(folder) as memory:
        assert answers(memory) == answers_of_rows(folder)
        assert own_parts(memory) == 2 * 2


def test_a_forgotten_user_leaves_no_file(folder: Path) -> None:
    filled(folder)

    with started(folder) as memory:
        request = Forget.model_validate({"user_id": "ada", "confirm": "ada"})
        forget(memory.context, memory.caller, request)

        assert files(memory.context) == []


def test_what_a_killed_process_left_is_removed_at_the_next_start(folder: Path) -> None:
    """It died after the erasure was durable and before its segments were removed."""
    event_ids = filled(folder)
    with from_rows(folder) as memory:
        vectors = vectors_of(memory.context, 20)
        erase_event(memory.context, memory.caller, event_ids[20])
        expected = answers(memory)
        unfinished = folder_of(memory.context) / "1" / "1234.part"
        unfinished.write_bytes(vectors)

    with started(folder) as memory:
        assert answers(memory) == expected  # also before they are removed
        check_segments(memory.context)
        write_segments(memory.context)

        assert not is_in_a_file(memory.context, vectors)
        assert not unfinished.exists()
        assert len(files(memory.context)) == 5


def test_maintenance_writes_segments_by_itself(folder: Path) -> None:
    with started(folder) as memory:
        tell_some(memory)
        maintenance = Maintenance(memory.context)
        maintenance.start()
        wait_until(lambda: len(files(memory.context)) >= 5)
        maintenance.stop()

        assert own_parts(memory) <= 2 * EVENTS


def test_a_segment_of_an_earlier_revision_is_not_published(folder: Path) -> None:
    """An event may be erased while a segment with it is written."""
    event_ids = filled(folder)

    with started(folder) as memory, started(folder) as other:
        erase_event(memory.context, memory.caller, event_ids[20])
        vectors = vectors_of(memory.context, 21)
        published: list[bool] = []

        class Erasing(SegmentFolder):
            """Another process erases an event just before a segment is published."""

            def publish(self, name: Any, origin: Any, content: Any, is_current: Any) -> bool:
                erase_event(other.context, other.caller, event_ids[21])
                published.append(super().publish(name, origin, content, is_current))
                return published[-1]

        segments = Erasing(folder_of(memory.context), sizes=(LARGE, SMALL))
        context = replace(memory.context, segments=segments)
        check_segments(context)
        write_segments(context)

        assert published == [False]
        assert not is_in_a_file(context, vectors)


def test_two_processes_share_segments(folder: Path) -> None:
    """An event that one erases is not found by the other; both map the same files."""
    event_ids = filled(folder)

    with started(folder) as one, started(folder) as two:
        assert answers(one) == answers(two)
        erase_event(one.context, one.caller, event_ids[20])

        assert event_ids[20] not in two.hit_ids("zx20qv", top_k=20)
        with from_rows(folder) as memory:
            assert answers(two) == answers(memory)
        assert own_parts(two) == 2 * (2 + LARGE - 1)  # of all other segments, none is rebuilt


@pytest.mark.long
def test_killed_writers_leave_answers_as_they_are(folder: Path) -> None:
    """Turns are stored, erased and written to segments by a process that is killed (kill -9)."""
    rng, url = random.Random(4361), testing.store_url(Settings(data=folder))
    environment = {"PYTHONPATH": str(Path(remembrancer.__file__).parents[1])}
    acknowledged: dict[str, str] = {}
    erasing: set[str] = set()
    erased: set[str] = set()
    for run in range(rounds(2, 8)):
        writer = [sys.executable, str(WRITER), str(folder), url, str(run)]
        for line in killed_after(writer, rng.randrange(20, 120), env=environment):
            what, word, event_id = line.split()
            if what == "stored":
                acknowledged[word] = event_id
            else:
                (erasing if what == "erasing" else erased).add(word)

        with from_rows(folder) as memory:
            expected = answers(memory)
        with started(folder) as memory:
            assert answers(memory) == expected
            for word, event_id in acknowledged.items():
                hits = memory.hit_ids(word, top_k=5, focus_words=[word])
                if word in erased or word not in erasing:  # else it may be either
                    assert (event_id in hits) == (word not in erased), word
            check_segments(memory.context)
            write_segments(memory.context)
            assert not [name for name in files(memory.context) if name.endswith(".part")]

    assert len(acknowledged) > rounds(20, 120)
    assert erased


def test_segments_are_private_and_a_short_memory_has_none(folder: Path) -> None:
    """Its rows are read at once; a folder would be more work than they are."""
    with started(folder) as memory:
        tell_some(memory, SMALL - 1)
        write(memory)
        root = folder_of(memory.context)
        assert not root.exists()
        tell_some(memory, first=SMALL)
        write(memory)

        assert {path.stat().st_mode & 0o077 for path in [root, *root.rglob("*")]} == {0}
