"""A disk that is full, read-only or broken: 503 with the reason, and work as before afterwards."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from faults.service import Service

FULL, READ_ONLY, BROKEN = ("the disk is full", "the disk is read-only", "the disk reports errors")
WAL, DATABASE = ".sqlite3-wal$", ".sqlite3$"
BYTES_OF_A_CHECKPOINT = 1000 * 4096  # SQLite's `wal_autocheckpoint` is 1,000 pages


@pytest.mark.parametrize(
    ("call", "path", "error", "after", "reason"),
    [
        ("write", WAL, errno.ENOSPC, 0, FULL),
        ("write", WAL, errno.ENOSPC, 3, FULL),  # within a commit
        ("write", WAL, errno.EDQUOT, 0, "the disk quota is used up"),
        ("write", WAL, errno.EROFS, 0, READ_ONLY),
        ("write", WAL, errno.EIO, 0, BROKEN),
        ("fsync", WAL, errno.EIO, 0, BROKEN),
        ("fsync", WAL, errno.ENOSPC, 0, FULL),
    ],
)
def test_write_that_the_disk_refuses_is_a_503_and_is_stored_by_its_retry_only(
    service: Service, word: str, call: str, path: str, error: int, after: int, reason: str
) -> None:
    """See specification.md#error-503-names-part, specification.md#status-readyz."""
    first = service.remember(f"before{word}")
    with service.shim.failing(call, path, error, after=after) as fault:
        refused = service.remember(word, once=word)
        ready, state = service.readiness(), service.state()
        reads = service.events_with(f"before{word}"), service.events_with(word)
        alive = service.server.get("/healthz").status
    nowhere = service.events_with(word)
    again = service.remember(word, once=word)

    assert fault.hits
    assert (first.status, refused.status, again.status) == (200, 503, 200)
    assert refused.headers["retry-after"] == "1"
    assert reason in refused.body["detail"]
    assert str(service.data) not in refused.body["detail"]
    assert (ready[0], ready[1]["store"]) == (503, f"the store cannot write: {reason}")
    assert (state, alive) == ("degraded", 200)
    assert reads == ([first.body["event_id"]], [])
    assert nowhere == []
    assert "idempotent-replayed" not in again.headers
    assert service.events_with(word) == [again.body["event_id"]]
    assert service.events_with(f"before{word}") == [first.body["event_id"]]
    assert (service.readiness()[0], service.state()) == (200, "ok")


def test_commit_that_was_not_flushed_has_an_unknown_outcome(service: Service, word: str) -> None:
    """A crash before the next commit can bring it back: it is whole, and its retry adds nothing.

    See specification.md#error-outcome-unknown.
    """
    with service.shim.failing("fsync", WAL, errno.EIO):
        refused = service.remember(word, once=word)
        hidden = service.events_with(word)
        service.server.kill()
    service.restart()
    again = service.remember(word, once=word)

    assert (refused.status, hidden) == (503, [])
    assert "stored completely or not at all" in refused.body["detail"]
    assert again.status == 200
    assert service.events_with(word) == [again.body["event_id"]]


def test_unreadable_pages_fail_requests_and_not_the_server(service: Service, word: str) -> None:
    """The store's file is not mapped: there, the same error would end the process by SIGBUS."""
    assert service.remember(word).status == 200
    with service.shim.failing("read", ".sqlite3", errno.EIO) as fault:
        answers = [service.remember(f"{word}{number}") for number in range(3)]
        answers += [service.search(f"{word}{number}") for number in range(3)]
    maps = Path(f"/proc/{service.pid}/maps").read_text("utf-8")

    assert fault.hits
    assert 503 in {answer.status for answer in answers} <= {200, 503}
    assert service.events_with(word) != []
    assert ".sqlite3\n" not in maps


def test_database_that_cannot_grow_loses_nothing(service: Service, word: str) -> None:
    """The log takes the writes until the file can grow again."""
    turn = {"response": "drawer " * 1000, "user_id": "ada", "session_id": "s"}
    with service.shim.failing("write", DATABASE, errno.ENOSPC) as fault:
        answers = [
            service.server.post(
                "/api/v7/event/write", {**turn, "query": f"{word} {number}"}, key=service.key
            )
            for number in range(60)
        ]
        log_bytes = (service.data / "remembrancer.sqlite3-wal").stat().st_size
        service.server.kill()
    service.restart()
    events = [
        service.server.get(f"/api/v7/event/{answer.body['event_id']}", key=service.key).body
        for answer in answers
    ]

    assert fault.hits
    assert log_bytes > BYTES_OF_A_CHECKPOINT
    assert [event["query"] for event in events] == [f"{word} {number}" for number in range(60)]
    assert {event["response"] for event in events} == {turn["response"]}


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        ("write", errno.ENOSPC, FULL),
        ("fsync", errno.EIO, BROKEN),
        ("create", errno.EROFS, READ_ONLY),
        ("rename", errno.EIO, BROKEN),
    ],
)
def test_file_that_the_disk_refuses_is_a_503_and_leaves_nothing(
    service: Service, word: str, call: str, error: int, reason: str
) -> None:
    """Memory goes on. See specification.md#status-readyz."""
    first = service.create_file(f"first{word}").body["filename"]
    before = files_below(service.data / "blobs")
    with service.shim.failing(call, "/blobs/", error) as fault:
        refused = service.create_file(word)
        turn = service.remember(word)
        ready, state = service.readiness(), service.state()
    between = files_below(service.data / "blobs")
    again = service.create_file(word)

    assert fault.hits
    assert (refused.status, turn.status, again.status) == (503, 200, 200)
    assert reason in refused.body["detail"]
    assert (ready[0], ready[1]["files"]) == (200, f"the storage for files does not work: {reason}")
    assert state == "degraded"
    assert between == before
    assert service.download(first).body == f"first{word}".encode() * 1000
    assert service.download(again.body["filename"]).body == word.encode() * 1000
    assert service.readiness()[1]["files"] == "ok"


def files_below(folder: Path) -> set[Path]:
    """Return all files in a folder and its folders."""
    return {path for path in folder.rglob("*") if path.is_file()}


def test_unreadable_file_is_a_503_and_readable_again_afterwards(
    service: Service, word: str
) -> None:
    name = service.create_file(word).body["filename"]
    with service.shim.failing("open", "/blobs/", errno.EIO) as fault:
        refused = service.download(name)

    assert fault.hits
    assert refused.status == 503
    assert service.download(name).body == word.encode() * 1000
