"""Copy a store to another engine; an interrupted copy resumes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from engines import ENGINES, empty_store
from filled import answers, fill

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.memory.remember import remember
from remembrancer.permissions.audit import verify
from remembrancer.protocol.memory import Turn
from remembrancer.store import Store, Transaction, open_store
from remembrancer.store.transfer.copy import (
    CopyRefused,
    CopyUnfinished,
    copy,
    finish,
    refuse_unfinished,
    store_digest,
)

PLACE = "where the source is"
AUDIT_ENTRIES = 7  # three about permissions, four about a team
_NAMES = itertools.count(1)  # of unknown users


@dataclass(frozen=True, slots=True)
class Used:
    """A service with data in every table: its data folder, its store and its engine."""

    folder: Path
    url: str
    engine: str


@pytest.fixture(scope="module", params=ENGINES)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Used:
    """Return a used service on each engine."""
    folder = tmp_path_factory.mktemp("used")
    url = empty_store(str(request.param), folder)
    with closing(testing.context(folder, store=open_store(url, durability="normal"))) as context:
        fill(context)
    return Used(folder, url, str(request.param))


@pytest.fixture
def source(used: Used) -> Iterator[Store]:
    """Return the store of the used service."""
    with closing(open_store(used.url, durability="normal")) as store:
        yield store


@pytest.fixture
def target(used: Used, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Return an empty store, on the other engine unless the test names one."""
    [other] = set(ENGINES) - {used.engine}
    engine = getattr(request, "param", other)
    with closing(open_store(empty_store(engine, tmp_path), durability="normal")) as store:
        yield store


def silent(_what: str, _rows: int) -> AbstractContextManager[Callable[[int], None]]:
    """Report no progress."""
    return nullcontext(lambda _: None)


class Stopped(Exception):
    """Raised to interrupt a copy."""


def stopping_after(
    rows: int,
) -> Callable[[str, int], AbstractContextManager[Callable[[int], None]]]:
    """Return a progress callback that interrupts the copy after that many rows."""
    left = [rows]

    def advance(step: int) -> None:
        left[0] -= step
        if left[0] <= 0:
            raise Stopped

    return lambda _what, _rows: nullcontext(advance)


def test_every_table_of_a_used_service_has_rows(source: Store) -> None:
    """Check the premise of the other tests: there are rows to copy."""
    assert [name for name, table in store_digest(source).items() if not table.rows] == []


@pytest.mark.parametrize("target", ENGINES, indirect=True)
def test_copy_has_the_same_rows_and_answers_and_takes_writes(
    used: Used, source: Store, target: Store
) -> None:
    """Its audit trail verifies. New events, sessions and cubes get unused numbers."""
    copied = copy(source, target, place=PLACE, progress=silent)
    finish(target)
    here, there = store_digest(source), store_digest(target)

    assert (copied.is_same, copied.has_moved_on) == (True, False)
    assert set(copied.source) == set(here) & set(there)
    assert [name for name in here if name in there and here[name] != there[name]] == []
    assert set(here) ^ set(there) <= {"cubes_made"}
    old, new = (testing.context(used.folder, store=store) for store in (source, target))
    assert verify(new, None) == verify(old, None)
    assert verify(new, None).seq == AUDIT_ENTRIES
    assert answers(new) == answers(old)
    before = {name: table.rows for name, table in store_digest(target).items()}
    lesson = {
        "cube_topic": "lamps",
        "cube_essence": "Count from the left.",
        "cube_rules": "- count",
    }
    turn = {"query": "New?", "response": "Yes.", "session_id": "new", **lesson}
    remember(new, caller_for(new, "owner"), Turn.model_validate(turn))
    after = {name: table.rows for name, table in store_digest(target).items()}
    assert [after[name] - before[name] for name in ("events", "sessions", "cubes")] == [1, 1, 1]


def test_interrupted_copy_resumes(source: Store, target: Store) -> None:
    for rows in (1, 150, 1_300, 3_000):
        with pytest.raises(Stopped):
            copy(source, target, place=PLACE, progress=stopping_after(rows))

    assert copy(source, target, place=PLACE, progress=silent).is_same


def test_another_run_copies_additions_changes_and_deletions(source: Store, target: Store) -> None:
    def add(tx: Transaction) -> None:
        tx.run("insert into accounts (name, role, created_ms) values ('late', 'member', 1)")
        tx.run("update accounts set outside_models = 1 - outside_models where name = 'bob'")
        tx.run(
            "delete from origins where origin in (select origin from origins order by origin limit 3)"
        )
        tx.run("update cube_revision set revision = revision + 1")

    copy(source, target, place=PLACE, progress=silent)
    source.write(add)
    first, second = (copy(source, target, place=PLACE, progress=silent) for _ in range(2))
    source.write(lambda tx: tx.run("delete from accounts where name = 'late'"))

    assert first.is_same
    assert second.is_same
    assert copy(source, target, place=PLACE, progress=silent).is_same


def test_writes_during_a_copy_are_detected_and_left_for_the_next_run(
    used: Used, source: Store, target: Store
) -> None:
    """A server may keep running during a copy."""
    with closing(open_store(used.url, durability="normal")) as server:

        def advance(_: int) -> None:
            fail = "insert into sign_in_failures (digest, failures, last_ms) values (:digest, 1, 1)"
            server.write(lambda tx: tx.run(fail, digest=next(_NAMES).to_bytes(32, "big")))

        during = copy(
            source, target, place=PLACE, progress=lambda _what, _rows: nullcontext(advance)
        )
    after = copy(source, target, place=PLACE, progress=silent)

    assert (during.is_same, during.has_moved_on) == (True, True)
    assert (after.is_same, after.has_moved_on) == (True, False)


def test_copy_into_a_non_empty_store_is_refused(source: Store, target: Store) -> None:
    target.write(
        lambda tx: tx.run(
            "insert into accounts (name, role, created_ms) values ('someone', 'owner', 1)"
        )
    )

    with pytest.raises(CopyRefused, match=r"not empty \(rows in accounts"):
        copy(source, target, place=PLACE, progress=silent)


def test_unfinished_copy_of_another_store_is_not_resumed(source: Store, target: Store) -> None:
    copy(source, target, place="elsewhere", progress=silent)

    with pytest.raises(CopyRefused, match=f"an unfinished copy of elsewhere, not of {PLACE}"):
        copy(source, target, place=PLACE, progress=silent)


def test_unfinished_copy_is_neither_served_nor_copied(
    source: Store, target: Store, tmp_path: Path
) -> None:
    copy(source, target, place=PLACE, progress=silent)

    with pytest.raises(CopyUnfinished, match=PLACE):
        refuse_unfinished(target)
    with (
        closing(open_store(f"sqlite:{tmp_path / 'third'}")) as third,
        pytest.raises(CopyRefused, match="is itself an unfinished copy"),
    ):
        copy(target, third, place="the copy", progress=silent)
    finish(target)
    refuse_unfinished(target)


def test_copy_finished_by_another_run_is_not_overwritten(source: Store, target: Store) -> None:
    """A second copy would undo the writes since the first one."""

    def finished(_what: str, _rows: int) -> AbstractContextManager[Callable[[int], None]]:
        if target.read(lambda tx: tx.one("select count(*) as n from accounts")).n == 0:
            finish(target)
        return nullcontext(lambda _: None)

    with pytest.raises(CopyRefused, match="finished the target meanwhile"):
        copy(source, target, place=PLACE, progress=finished)


def test_audit_trail_of_the_target_is_never_overwritten(source: Store, target: Store) -> None:
    """Audit entries are never changed or removed, not even by a copy."""
    copy(source, target, place=PLACE, progress=silent)
    add = "insert into audit (seq, entry, hash) values (:seq, 'another', 'hash')"
    target.write(lambda tx: tx.run(add, seq=AUDIT_ENTRIES + 1))

    with pytest.raises(CopyRefused, match="audit trail of the target"):
        copy(source, target, place=PLACE, progress=silent)


def test_refusal_names_text_that_postgresql_cannot_store(tmp_path: Path) -> None:
    add = "insert into accounts (name, role, created_ms) values (:name, 'owner', 1)"
    with (
        closing(open_store(empty_store("sqlite", tmp_path))) as one,
        closing(open_store(empty_store("postgresql", tmp_path))) as other,
    ):
        one.write(lambda tx: tx.run(add, name="a\0b"))

        with pytest.raises(CopyRefused, match=r"accounts\.name contains NUL, .*, at id 1"):
            copy(one, other, place=PLACE, progress=silent)
