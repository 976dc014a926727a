"""Groups take turns: the least served comes first, however many of another group wait."""

from __future__ import annotations

import sys
import threading
from functools import partial

import pytest
from command import captured
from waiting import wait_until

from remembrancer.fair_queue import FairPlaces, FairQueue


def next_of(queue: FairQueue[str], count: int) -> list[str]:
    """Return the next work of a queue."""
    return [one[1] for one in (queue.get_nowait() for _ in range(count)) if one is not None]


@pytest.fixture
def queue() -> FairQueue[str]:
    """An empty queue."""
    return FairQueue()


def test_newcomer_is_next_whatever_waits(queue: FairQueue[str]) -> None:
    for n in range(100):
        queue.put("a", f"a{n}")
    assert next_of(queue, 3) == ["a0", "a1", "a2"]
    queue.put("b", "b0")

    assert next_of(queue, 2) == ["b0", "a3"]


def test_running_work_of_a_group_is_bounded_while_another_uses_the_queue() -> None:
    queue = FairQueue[str](1)
    for work in ("a0", "a1", "a2"):
        queue.put("a", work)
    assert next_of(queue, 2) == ["a0", "a1"]  # alone, a group has no bound
    queue.put("b", "b0")
    queue.put("b", "b1")

    assert next_of(queue, 3) == ["b0"]
    queue.charge("b", 0.1)
    assert next_of(queue, 2) == ["b1"]
    for _ in range(2):
        queue.charge("a", 0.1)
    assert next_of(queue, 2) == ["a2"]


def test_waiter_that_gives_up_leaves_its_place_to_the_next() -> None:
    places = FairPlaces(1, 10)

    def leave() -> None:
        raise InterruptedError

    assert places.take("a", leave, 1)
    with pytest.raises(InterruptedError):
        places.take("a", leave, 0)
    assert places.waiting == 0

    places.give_back("a", 1)
    assert places.take("b", leave, 1)


def test_a_full_queue_refuses_the_newest_of_who_waits_most() -> None:
    places, results = FairPlaces(1, 3), dict[str, bool]()
    assert places.take("a", lambda: None, 1)

    def wait(name: str) -> None:
        results[name] = places.take(name[0], lambda: None, 0.01)

    def has_waiting(number: int) -> bool:
        return places.waiting >= number

    waiters = [threading.Thread(target=wait, args=(f"a{n}",)) for n in range(3)]
    for n, waiter in enumerate(waiters):
        waiter.start()
        wait_until(partial(has_waiting, n + 1))
    assert not places.take("a", lambda: None, 1)  # none waits for more than this group
    other = threading.Thread(target=wait, args=("b0",))
    other.start()
    waiters[2].join(20)
    assert results == {"a2": False}

    for _ in range(3):
        places.give_back("a", 0.1)
    for waiter in (*waiters, other):
        waiter.join(20)
    assert results == {"a0": True, "a1": True, "a2": False, "b0": True}


def test_pool_without_a_thread_refuses_work_and_works_once_it_gets_one() -> None:
    """Work that no thread will ever do would wait for ever."""
    program = """
import resource
from remembrancer.fair_queue import FairThreads

pool = FairThreads(4, "test")
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limits = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (mapped + (1 << 20), limits[1]))  # less than a stack
try:
    pool.submit("a", lambda: "done")
except MemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, limits)
print(pool.submit("a", lambda: "done").result(30))
"""
    ended = captured([sys.executable, "-c", program], check=True, timeout=60)

    assert ended.stdout.splitlines() == ["no thread can be started", "done"]
