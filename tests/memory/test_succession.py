"""Of two statements about the same, the later one comes first, and a fact takes its place.

The regression was trained on other pairs (bench/train_succession.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from memory.asking import Memory, memory_in

from remembrancer.context import assemble
from remembrancer.memory.facts.life import list_facts
from remembrancer.protocol.facts import FactsQuery
from remembrancer.settings import Settings

REPLY = "Okay, I will remember that."
BEFORE, AFTER = "2026-10-01T09:00:00Z", "2026-11-20T09:00:00Z"
CORRECTIONS = """
Our standup is at 9:00. | Standup is now at 9:30. | When is our standup?
Our team lead is Karel. | Jana is our team lead now. | Who is our team lead?
The staging database runs on port 5432. | The staging database moved to port 6543. | Which port does the staging database use?
My flight to Lisbon leaves at 14:20. | The airline moved my Lisbon flight to 16:05. | When does my flight to Lisbon leave?
Mein Zahnarzttermin ist am Dienstag um 10. | Die Praxis hat mich auf Freitag um 8 verlegt, den Zahnarzttermin. | Wann ist mein Zahnarzttermin?
Notre bureau est au troisième étage. | Notre bureau a déménagé au cinquième étage. | À quel étage est notre bureau ?
Вторник — день релиза. | Теперь день релиза — четверг. | Когда день релиза?
会议室是三号。 | 会议室改成五号了。 | 会议室是几号？
"""
LOOK_ALIKES = """
My sister lives in Leeds. | My brother lives in Bristol. | Where does my sister live?
The staging database runs on port 5432. | The production database runs on port 6543. | Which port does the staging database use?
Our cat is called Miso. | Our dog is called Rufus. | What is our cat called?
Mein Auto steht in der Garage. | Mein Fahrrad steht im Keller. | Wo steht mein Auto?
"""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Return a memory with the built-in embedder."""
    context = assemble(Settings(data=tmp_path_factory.mktemp("data"), durability="normal"))
    yield memory_in(context)
    context.close()


def told(memory: Memory, line: str, *, critical: bool = False) -> tuple[Memory, list[str], str]:
    """Tell both statements of a line to a user of their own; return the events and the question."""
    older, newer, question = (part.strip() for part in line.split(" | "))
    user = memory.of(f"user {line} {critical}"[:200])
    events = [
        user.tell(text, REPLY, occurred_at=at, **({"critical": text} if critical else {}))
        for text, at in ((older, BEFORE), (newer, AFTER))
    ]
    return user, events, question


def test_the_later_of_two_statements_about_the_same_comes_first(memory: Memory) -> None:
    """A regression may err: on one of eight pairs, and of four about different things on one."""
    lines = [told(memory, line) for line in CORRECTIONS.strip().splitlines()]
    others = [told(memory, line) for line in LOOK_ALIKES.strip().splitlines()]

    newer_first = [user.hit_ids(question)[0] == ids[1] for user, ids, question in lines]
    older_first = [user.hit_ids(question)[0] == ids[0] for user, ids, question in others]

    assert sum(newer_first) >= len(lines) - 1
    assert sum(older_first) >= len(others) - 1


def test_a_statement_said_again_makes_room_for_what_adds_something(memory: Memory) -> None:
    user = memory.of("said again")
    command = "the test command of the ledger is uv run pytest tests/unit."
    first = user.tell(f"Remember that {command}", REPLY, occurred_at=BEFORE)
    again = user.tell(f"Please remember again that {command}", REPLY, occurred_at=AFTER)
    needs = user.tell("The test command of the ledger needs a database on port 5433.", REPLY)

    assert user.hit_ids("What is the test command of the ledger?") == [first, needs, again]


def test_a_request_made_again_keeps_its_place_with_another_outcome(memory: Memory) -> None:
    user = memory.of("another outcome")
    request = "Run the tests of the ledger."
    user.tell(request, "All 240 tests of the ledger pass.", occurred_at=BEFORE)
    latest = user.tell(request, "Three tests of the parser fail since the merge.")
    for text in ("The ledger is written in Go.", "The ledger has two parsers.", "Lunch is at one."):
        user.tell(text, REPLY, occurred_at=BEFORE)

    assert latest in user.hit_ids("Do the tests of the ledger pass?")[:2]


def test_facts_are_replaced_or_hinted_at(memory: Memory) -> None:
    """A fact is superseded where the two are surely about the same, and else named as a hint."""
    outcomes = []
    for line in CORRECTIONS.strip().splitlines():
        user, _, question = told(memory, line, critical=True)
        query = FactsQuery(user_id=user.user_id)
        current = [fact.text for fact in list_facts(user.context, user.caller, query).facts]
        newer = line.split(" | ")[1].strip()
        outcomes.append((len(current) == 1, user.ask(question).facts[0].text == newer))
    for line in LOOK_ALIKES.strip().splitlines():
        user, _, _ = told(memory, line, critical=True)
        query = FactsQuery(user_id=user.user_id)
        assert len(list_facts(user.context, user.caller, query).facts) == 2, line

    assert sum(replaced for replaced, _ in outcomes) >= len(outcomes) / 2
    assert sum(first for _, first in outcomes) >= len(outcomes) - 1


@pytest.mark.parametrize(
    "question",
    [
        "wifi password, the one we had until the new router came",
        "Welches WLAN-Passwort hatten wir bis zum neuen Router?",
        "¿Qué clave tenía el wifi hasta que cambiamos el router?",
        "Какой пароль был у вайфая до замены роутера?",
    ],
)
def test_an_earlier_state_is_asked_for_in_any_words(memory: Memory, question: str) -> None:
    """No phrase says so: the meaning does (specification.md#facts-history)."""
    line = f"The wifi password is heron-12. | The wifi password is otter-77 now. | {question}"
    user, _, _ = told(memory, line, critical=True)

    now = [fact.text for fact in user.ask("What is the wifi password?").facts]
    history = [fact.text for fact in user.ask(question).facts]

    assert now == ["The wifi password is otter-77 now."]
    assert set(history) == {*now, "The wifi password is heron-12."}
