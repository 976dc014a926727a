"""Small memories with one question each: what an answer must have, and what it must not.

A case of must.toml has a memory of turns (`say`, the user's message) and facts (`fact`, which may
hold `until` so many days ago), one a day, the last one a day ago, of the user `ada` or another.
The question is hers, with three hits. Its fields are names of turns and facts:

- `must`: among the hits, facts or instructions.
- `must_not`: not among them.
- `below`: if a hit or fact, then after all of `must` in the same list.
- `marked`: as `below`, and with the mark that a newer one took its place.
- `unmarked`: without that mark.
- `as_of`: the question asks as of the time after this turn.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.report import table
from bench.service import FtsIndex, Service, service, without_change_rules
from remembrancer.memory.facts.life import add_fact
from remembrancer.protocol.facts import FactAdd
from remembrancer.protocol.search import MemoryAnswer

CASES = Path(__file__).with_name("must.toml")
OWNER = "ada"
HITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A memory, a question, and what its answer must have."""

    kind: str
    language: str
    memory: list[dict[str, Any]]
    question: str
    first_sight: bool = False
    as_of: str = ""
    must: list[str] = field(default_factory=list)
    must_not: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Served:
    """Names of the turns and facts of an answer, in order, and which of them are marked."""

    lists: list[list[str]]
    marked: set[str] = field(default_factory=set)

    @property
    def names(self) -> set[str]:
        """All names."""
        return {name for some in self.lists for name in some}


def cases() -> list[Case]:
    """Read the cases."""
    return [Case(**case) for case in tomllib.loads(CASES.read_text("utf-8"))["case"]]


def failures(case: Case, served: Served) -> list[str]:
    """Return what is wrong with an answer, a few words each."""
    names = served.names
    wrong = [f"lacks {name}" for name in case.must if name not in names]
    wrong += [f"has {name}" for name in case.must_not if name in names]
    for name in [*case.below, *case.marked]:
        if any(_is_above(name, other, served) for other in case.must):
            wrong.append(f"{name} is not below")
    wrong += [
        f"{name} is not marked"
        for name in case.marked
        if name in names and name not in served.marked
    ]
    return wrong + [f"{name} is marked" for name in case.unmarked if name in served.marked]


def _is_above(name: str, other: str, served: Served) -> bool:
    return any(
        name in some and (other not in some or some.index(name) < some.index(other))
        for some in served.lists[:2]
        if other in some or other not in served.names
    )


def ask_service(service: Service, case: Case, number: int) -> Served:
    """Store the memory of a case, whose users nobody else has, and ask its question."""
    now = datetime.now(UTC)
    ids: dict[str, str] = {}
    times: dict[str, datetime] = {}
    for day, entry in enumerate(case.memory):
        name, at = entry["id"], now - timedelta(days=len(case.memory) - day)
        user_id = f"{entry.get('user', OWNER)}-{number}"
        times[name] = at
        if "say" in entry:
            ids[service.say(user_id, f"day {day}", entry["say"], entry.get("reply", ""), at)] = name
        else:
            ids[_add_fact(service, user_id, entry, at)] = name
    as_of = times[case.as_of] + timedelta(hours=1) if case.as_of else None
    answer = service.ask(f"{OWNER}-{number}", case.question, top_k=HITS, as_of=as_of)
    return _served(answer, ids)


def _add_fact(service: Service, user_id: str, entry: dict[str, Any], at: datetime) -> str:
    until = datetime.now(UTC) - timedelta(days=entry["until"]) if "until" in entry else None
    request = FactAdd(user_id=user_id, text=entry["fact"], valid_from=at, valid_to=until)
    return add_fact(service.context, service.caller, request).fact.fact_id


def _served(answer: MemoryAnswer, ids: dict[str, str]) -> Served:
    facts = [ids.get(one.fact_id) or ids.get(one.event_id or "") for one in answer.facts]
    wishes = [
        ids.get(one.event_id or "") or ids.get(one.instruction_id) for one in answer.instructions
    ]
    hits = [ids.get(one.event_id) for one in answer.hits]
    marked = [ids.get(one.event_id) for one in answer.hits if one.superseded_by]
    marked += [ids.get(one.fact_id) for one in answer.facts if one.superseded_by]
    lists = [[name for name in some if name] for some in (hits, facts, wishes)]
    return Served(lists, {name for name in marked if name})


def ask_fts(case: Case) -> Served:
    """Ask FTS5 over the texts of the user, those of the time that the question asks about."""
    texts: dict[str, str] = {}
    for entry in case.memory:
        if entry.get("user", OWNER) == OWNER:
            texts[entry["id"]] = entry.get("say") or entry["fact"]
        if entry["id"] == case.as_of:
            break
    return Served([FtsIndex(texts).best(case.question, HITS), []])


def results(some: Sequence[Case], service: Service) -> list[tuple[Case, list[str]]]:
    """Return every case with its failures, which are empty for a case that passed."""
    return [
        (case, failures(case, ask_service(service, case, number)))
        for number, case in enumerate(some)
    ]


def must_table() -> str:
    """Return how many cases pass, and print those of the service that fail."""
    some = cases()
    with service() as one:
        served = results(some, one)
    with without_change_rules(), service() as one:
        without = results(some, one)
    for case, wrong in served:
        if wrong:
            print(f"FAILS ({case.kind}, {case.language}): {case.question} {'; '.join(wrong)}")
    # FTS5 has no marks: only the order of its hits is judged.
    fts = [
        (case, failures(replace(case, marked=[], below=[*case.below, *case.marked]), ask_fts(case)))
        for case in some
    ]
    parts: list[tuple[str, Callable[[Case], bool]]] = [
        ("all", lambda _: True),
        ("written before the answers were looked at", lambda case: case.first_sight),
        ("written afterwards", lambda case: not case.first_sight),
        ("English", lambda case: case.language == "en"),
        ("six other languages", lambda case: case.language != "en"),
    ]
    parts += [
        (kind, lambda case, kind=kind: case.kind == kind)  # type: ignore[misc]
        for kind in dict.fromkeys(case.kind for case in some)
    ]
    rows = [
        [name, str(sum(map(is_in, some)))]
        + [
            str(sum(is_in(case) and not wrong for case, wrong in way))
            for way in (served, without, fts)
        ]
        for name, is_in in parts
    ]
    heads = ["cases", "number", "service", "service without these rules", "FTS5, marks aside"]
    return table(heads, rows)
