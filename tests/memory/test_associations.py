"""Entities of turns and how often they occur together, counted when turns are stored and erased."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
from engines import only_sqlite
from memory.asking import Memory, opened

from remembrancer.memory.associations import list_subjects
from remembrancer.memory.history.forget import erase_event, forget
from remembrancer.memory.maintenance import Maintenance
from remembrancer.memory.write.associations import OLDER_BATCH
from remembrancer.protocol.forget import Forget
from remembrancer.search import entity_keys
from remembrancer.store import Row, Transaction

FERRY = "Did Anna Weber book the ferry to Elba?"
HOUSE = "What does the house of Anna Weber on Elba cost?"
VIOLIN = "Is Marco the teacher of the violin?"


def counts(memory: Memory) -> dict[str, int]:
    """Return the number of turns with each entity of every space."""
    return {row.key: row.events for row in rows(memory, "select key, events from entities")}


def pairs(memory: Memory) -> dict[tuple[str, str], int]:
    """Return the number of turns with each two entities of every space."""
    sql = "select key, other, events from entity_pairs"
    return {(row.key, row.other): row.events for row in rows(memory, sql)}


def rows(memory: Memory, sql: str) -> Sequence[Row]:
    """Return rows of the store."""
    return memory.context.store.read(lambda tx: tx.all(sql))


def expected(texts: list[str]) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """Count the entities of queries and their pairs anew."""
    sets = [entity_keys(text, "") for text in texts]
    return (
        dict(Counter(key for keys in sets for key in keys)),
        dict(Counter(pair for keys in sets for pair in permutations(keys, 2))),
    )


def erase(memory: Memory, event_id: str) -> None:
    """Erase one turn."""
    erase_event(memory.context, memory.caller, event_id)


def test_a_stored_turn_counts_its_entities_and_pairs(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.tell(FERRY, "Yes, for 120 euros.")
        memory.tell(HOUSE)

        assert counts(memory) == {"name:anna weber": 2, "name:elba": 2, "amount:120 eur": 1}
        assert pairs(memory)["name:anna weber", "name:elba"] == 2
        assert pairs(memory)["amount:120 eur", "name:elba"] == 1


def test_an_erased_turn_takes_its_counts_with_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        ferry = memory.tell(FERRY, "Yes, for 120 euros.")
        memory.tell(HOUSE)

        erase(memory, ferry)

        assert (counts(memory), pairs(memory)) == expected([HOUSE])


def test_nothing_of_the_last_turn_with_an_entity_is_left_in_the_file(tmp_path: Path) -> None:
    only_sqlite()
    with opened(tmp_path) as memory:
        event_id = memory.tell("We met Zxaqvia Holm in Qworst.")
        erase(memory, event_id)
        folder = memory.context.settings.data_folder

    files = [path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()]
    assert not [1 for file in files if b"zxaqvia" in file or b"qworst" in file]


def test_erased_turns_in_any_order_leave_the_counts_of_the_others(tmp_path: Path) -> None:
    """Counting anew gives the same numbers, after a session and after single turns are erased."""
    names = ["Anna", "Bob", "Carla", "Dora", "Emil"]
    chance = random.Random(7)
    with opened(tmp_path) as memory:
        texts = {}
        for number in range(24):
            text = f"I saw {' and '.join(chance.sample(names, 3))} on {number % 5 + 1} May."
            texts[memory.tell(text, session_id=f"s{number % 3}")] = (text, number % 3)
        for event_id in chance.sample(sorted(texts), 6):
            erase(memory, event_id)
            del texts[event_id]
        assert (counts(memory), pairs(memory)) == expected([text for text, _ in texts.values()])

        forget(memory.context, memory.caller, Forget(user_id="ada", session_id="s1"))

        left = [text for text, session in texts.values() if session != 1]
        assert (counts(memory), pairs(memory)) == expected(left)


def test_forgetting_a_user_erases_only_their_associations(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.tell(FERRY)
        memory.of("bob").tell(HOUSE)

        forget(memory.context, memory.caller, Forget(user_id="ada", confirm="ada"))

        assert (counts(memory), pairs(memory)) == expected([HOUSE])


def test_a_turn_that_the_user_takes_back_is_not_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.tell("I ride the green bicycle of Anna Weber in Rome.")
        assert counts(memory) == {"name:anna weber": 1, "name:rome": 1}
        memory.tell("Please forget that I ride the green bicycle of Anna Weber in Rome.")

        assert counts(memory) == {}
        assert pairs(memory) == {}


def test_a_machine_notice_is_not_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.tell("<system-reminder>The file of Anna Weber changed.</system-reminder>")

        assert counts(memory) == {}


def test_older_turns_are_counted_in_the_background(tmp_path: Path) -> None:
    """The counts are those that storing makes, over several batches, and no turn counts twice."""
    with opened(tmp_path) as memory:
        texts = [FERRY, *(f"Lamp {number} is for Marco in Rome." for number in range(OLDER_BATCH))]
        for text in texts:
            memory.tell(text)
        memory.context.store.write(_as_before, account_id=memory.caller.account_id)
        memory.tell(HOUSE)  # stored before the older ones are counted
        maintenance = Maintenance(memory.context)
        while maintenance.step():
            pass

        assert (counts(memory), pairs(memory)) == expected([*texts, HOUSE])
        unfinished = "select id from spaces where associated_to is not null"
        assert rows(memory, unfinished) == []


def _as_before(tx: Transaction) -> None:
    """Leave a store as migration 0022 does."""
    for table in ("event_entities", "entities", "entity_pairs"):
        tx.run(f"delete from {table} where account_id = :account_id")
    tx.run("update spaces set associated_to = 0 where account_id = :account_id")


def test_subjects_list_what_belongs_together_with_its_newest_turn(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.tell(FERRY)
        house = memory.tell(HOUSE)
        memory.tell(VIOLIN)
        memory.tell("A lesson by Marco costs 30 euros.")
        last = memory.tell("Marco knows Anna Weber.")

        subjects = list_subjects(memory.context, memory.caller, "ada")

        assert [(one.text, one.turns) for one in subjects] == [
            ("Anna Weber", 3),
            ("Elba", 2),
            ("Marco", 2),
        ]
        weber = subjects[0]
        assert weber.event_id == last
        [elba] = weber.associates
        assert (elba.text, elba.turns, elba.event_id) == ("Elba", 2, house)
        assert [(one.text, one.turns) for one in subjects[2].associates] == [("30 euros", 1)]


@pytest.mark.parametrize("user", ["ada", "nobody"])
def test_a_user_without_turns_has_no_subjects(tmp_path: Path, user: str) -> None:
    with opened(tmp_path) as memory:
        assert list_subjects(memory.context, memory.caller, user) == []
