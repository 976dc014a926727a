"""Measure searches and writes beside many facts of one user.

    python -m bench.many_facts [--facts 100000] [--store FOLDER]

The facts are 20 statements about each of many people, made from templates: they share their words.
They are stored by the function that stores every fact, without its transaction for each one. A
search asks all layers; the user has one turn, as a user without turns has no layers. FOLDER keeps
the store for the next run. Times are those of the functions behind `POST /memory` and
`POST /memory/facts`, without HTTP.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.report import table, write_section
from bench.service import FtsIndex, Service
from remembrancer.memory.facts.edit import add_fact
from remembrancer.memory.facts.write import NewFact, store_fact
from remembrancer.memory.layers import layer_text
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.spaces import SQL as SPACES
from remembrancer.protocol.facts import FactAdd
from remembrancer.protocol.search import MemoryQuery
from remembrancer.search import index_entries
from remembrancer.store import Transaction

USER = "u"
BATCH = 500
QUESTIONS = 200
ADDED = 50


def _words(text: str) -> list[str]:
    return text.split()


FIRST = _words(
    "Marta Jonas Aisha Chen Priya Luca Elena Tomás Ingrid Kwame Sofia Yusuf Hana Pierre Olga Diego "
    "Freya Mehmet Nina Rafael Greta Samir Laila Anton Bianca Hugo Mei Pavel Rosa Stefan Tariq Uma "
    "Viktor Wanda Xavier Yara Zoltan Clara Dmitri Esther"
)
LAST = _words(
    "Oliveira Becker Haddad Wang Nair Rossi Petrova García Larsen Mensah Conti Demir Sato Dubois "
    "Ivanova Fernández Holm Yilmaz Kaur Costa Weber Aziz Karimi Novak Moretti Laurent Lin Horák "
    "Silva Vogel Rahman Patel Orlov Kowalska Morel Santos Nagy Berger Sokolov Levy Brandt Moreau "
    "Ruiz Takeda Okafor Jensen Schmid Popescu Greco Ferreira Lindqvist Castro Bianchi Peeters "
    "Novotná Hansen Keller Fontaine Ortega Mazur Andersen Volkov Ricci Dupont Herrera Tanaka "
    "Adeyemi Nielsen Huber Ionescu Marino Almeida Bergström Vargas Ferrari Janssens Dvořák Olsen "
    "Baumann Girard Molina Zieliński Christensen Kuznetsov Lombardi Lambert Navarro Mori Eze Dahl "
    "Steiner Radu Barbieri Sousa Ekström Reyes Galli Claes Pokorný Iversen Frank Roux Vega Wójcik "
    "Madsen Popov Esposito Simon Flores Inoue Bello Lund Maier Stan Leone Pinto Wallin Cruz Serra "
    "Maes Krause"
)
PLACES = _words(
    "Lisbon Hamburg Cairo Taipei Mumbai Milan Sofia Madrid Oslo Accra Kyoto Lyon Prague"
)
JOBS = _words("nurse plumber architect teacher baker lawyer pilot chemist florist translator")
THINGS = _words("chess sailing pottery cycling opera gardening judo astronomy painting climbing")
FOODS = _words("peanuts shellfish gluten strawberries lactose sesame soy eggs mustard celery")
MONTHS = _words("January February March April May June July August September October")
TEMPLATES: tuple[tuple[str, str], ...] = (
    ("{name} lives in {place}.", "Where does {name} live?"),
    ("{name} works as a {job}.", "What is the job of {name}?"),
    ("{name} is allergic to {food}.", "Which allergy does {name} have?"),
    ("{name}'s birthday is on {day} {month}.", "When is the birthday of {name}?"),
    ("{name} was born in {place}.", "Where was {name} born?"),
    ("The phone number of {name} is {number}.", "What is the phone number of {name}?"),
    ("{name} spends the weekends on {thing}.", "How does {name} spend the weekends?"),
    ("The dentist of {name} has a practice in {place}.", "Where is the dentist of {name}?"),
    ("{name} drives a car with the plate {plate}.", "Which plate has the car of {name}?"),
    ("The sister of {name} studies in {place}.", "Where does the sister of {name} study?"),
    ("{name} pays {number} euros of rent.", "How much rent does {name} pay?"),
    ("{name} moved house in {month}.", "When did {name} move house?"),
    ("The wedding of {name} took place in {place}.", "Where was the wedding of {name}?"),
    ("{name} taught {thing} at a school in {place}.", "What did {name} teach at a school?"),
    ("The dog of {name} is {age} years old.", "How old is the dog of {name}?"),
    ("{name} keeps the spare key at the {job}'s.", "Where does {name} keep the spare key?"),
    ("{name} flies to {place} every {month}.", "Where does {name} fly every year?"),
    ("{name} never eats {food} at work.", "What does {name} never eat at work?"),
    ("The contract of {name} ends in {month}.", "When does the contract of {name} end?"),
    ("{name} borrowed our book about {thing}.", "Which book did {name} borrow?"),
)


def statement(number: int, at: random.Random) -> tuple[str, str]:
    """Return a fact and the question that it answers; equal numbers have equal people."""
    person, template = divmod(number, len(TEMPLATES))
    name = f"{FIRST[person % len(FIRST)]} {LAST[person // len(FIRST) % len(LAST)]}"
    values = {
        "name": name,
        "place": at.choice(PLACES),
        "job": at.choice(JOBS),
        "thing": at.choice(THINGS),
        "food": at.choice(FOODS),
        "month": at.choice(MONTHS),
        "day": at.randint(1, 28),
        "age": at.randint(1, 15),
        "number": at.randint(100_000, 999_999),
        "plate": f"{at.choice('ABCDEFGH')}{at.choice('KLMNOP')} {at.randint(1000, 9999)}",
    }
    fact, question = TEMPLATES[template]
    return fact.format(**values), question.format(**values)


def fill(service: Service, facts: list[str]) -> float:
    """Store the facts in batches and return the seconds."""
    context = service.context
    start = time.perf_counter()
    for low in range(0, len(facts), BATCH):
        some = facts[low : low + BATCH]
        entries = index_entries(context.embedder, [layer_text(text) for text in some])

        def write(tx: Transaction, some: list[str] = some, entries: list = entries) -> None:  # type: ignore[type-arg]
            space = tx.one(SPACES.open_space, user_id=USER, now_ms=context.clock())
            for text, entry in zip(some, entries, strict=True):
                fact = NewFact(text=text, entry=entry, valid_from_ms=context.clock())
                store_fact(context, tx, service.caller, space.id, fact)

        context.store.write(write, account_id=service.caller.account_id)
    return time.perf_counter() - start


def measured(act: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of a call: wall clock, processor time of this process."""
    wall, processor = time.perf_counter(), time.process_time()
    act()
    return (time.perf_counter() - wall) * 1e3, (time.process_time() - processor) * 1e3


def _row(name: str, times: list[tuple[float, float]]) -> list[str]:
    wall, processor = zip(*times, strict=True)
    centiles = statistics.quantiles(wall, n=100)
    return [
        name,
        str(len(times)),
        *(f"{value:.1f}" for value in (centiles[49], centiles[98], statistics.median(processor))),
    ]


def measure(service: Service, facts: list[tuple[str, str]]) -> str:
    """Return a table of the times of searches and of writes."""
    at = random.Random(2)
    sample = at.sample(facts, QUESTIONS)
    right = 0

    def ask(question: str) -> str:
        query = MemoryQuery(query_text=question, user_id=USER, interact=False)
        answer = recall(service.context, service.caller, query).facts
        return answer[0].text if answer else ""

    fts = FtsIndex({fact: fact for fact, _ in facts})
    first = measured(lambda: ask(sample[0][1]))
    searches, floor = [], []
    best = 0
    for fact, question in sample:
        answers: list[str] = []
        searches.append(measured(lambda q=question, a=answers: a.append(ask(q))))  # type: ignore[misc]
        right += answers == [fact]
        texts: list[str] = []
        floor.append(measured(lambda q=question, t=texts: t.extend(fts.best(q, 10))))  # type: ignore[misc]
        best += texts[:1] == [fact]
    adds, after = [], []
    for number in range(ADDED):
        text = f"{FIRST[number % len(FIRST)]} Quist-{number:03d} lives in {at.choice(PLACES)}."
        request = FactAdd(user_id=USER, text=text)
        adds.append(
            measured(lambda r=request: add_fact(service.context, service.caller, r))  # type: ignore[misc]
        )
        after.append(measured(lambda q=sample[number][1]: ask(q)))  # type: ignore[misc]
    heads = ["", "number", "p50 ms", "p99 ms", "p50 CPU ms"]
    rows = [
        _row("search", searches),
        _row("FTS5 over the same facts, in memory", floor),
        _row("add one fact", adds),
        _row("search after each added fact", after),
    ]
    return (
        f"{table(heads, rows)}\n\nFirst search, which reads the index: {first[0]:,.0f} ms. The"
        f" first fact of the answer is the right one for {right} of {QUESTIONS} questions, the"
        f" first of FTS5 for {best}."
    )


def main() -> None:
    """Build or open the store, measure, and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--facts", type=int, default=100_000, help="Default: %(default)s")
    parser.add_argument("--store", type=Path, help="folder that keeps the store")
    arguments = parser.parse_args()
    at = random.Random(1)
    facts = [statement(number, at) for number in range(arguments.facts)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.store or Path(temporary)
        service = Service(folder)
        note = ""
        if not (folder / "facts.done").exists():
            service.say(USER, "chat", "Good morning!", "Good morning.")
            seconds = fill(service, [fact for fact, _ in facts])
            (folder / "facts.done").touch()
            note = f" Storing them took {seconds:,.0f} s."
        text = measure(service, facts)
        service.close()
    write_section(
        "many_facts",
        f"{arguments.facts:,} facts of one user",
        "python -m bench.many_facts",
        text + note,
    )


if __name__ == "__main__":
    main()
