"""Measure what published lessons change for agents of other accounts, on a running server.

    python -m bench.lessons [--tasks N] [--seed 1]

The programs are in bench/lesson_programs. An author fails the first task of each family, finds the
right idiom and publishes a lesson. Agents of three other accounts then get the remaining tasks:
each searches with the words of its task, follows the lesson that the search serves, and runs one
program in the sandbox. Without a lesson they begin with the naive idiom, or with the right one as
often as the family says. The tasks and the random numbers are the same in all arms:

- none: no lesson is published;
- right: the lesson that the author learned;
- shuffled: the same topics and essences, with the rules of other families, on two servers with
  half of the families each, so that no task can find its own rules;
- harmful: a plausible lesson that is wrong.

Agents rate the lesson that they followed by the outcome. In a second part 20 % of these votes are
wrong, and exposures are counted until a search serves the lesson to no further user.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.http import Server
from bench.lesson_programs import NAIVE, RIGHT, Advice, Family, Task, families
from bench.report import table, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import Settings

READERS = 3  # accounts of the agents that read lessons
USERS = 2  # of each of these accounts
NOISE = 0.2  # share of wrong votes in the second part
EXPOSURES_MAX = 20  # of one lesson in the second part
SERVERS = 2  # of each row of the second part; each has all families
SAMPLES = 10_000  # of the bootstrap
AUTHOR = "author"
Lessons = Mapping[str, Advice]  # by family
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A task of a family with the random number that all arms share."""

    family: Family
    task: Task
    luck: float  # below the family's `guess`, an agent without a lesson begins with `right`


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A server and a key for each of its accounts."""

    server: Server
    keys: Mapping[str, str]

    def post(self, account: str, path: str, body: dict[str, Any]) -> Any:
        """Send a request of an account and return the response. Exits if it is refused."""
        self.server.key = self.keys[account]
        status, answer = self.server.request("POST", path, body)
        if status != 200:
            raise SystemExit(f"{path} answered {status}: {answer[:300]!r}")
        return json.loads(answer)

    def passes(self, account: str, program: str) -> bool:
        """Run a program in the sandbox; return True if it succeeds without a repair."""
        outcome = self.post(account, "/api/v7/execute/code", {"code": program})
        return bool(outcome["status"] == "ok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """An agent that reads lessons."""

    service: Service
    account: str
    user_id: str
    session_id: str

    def post(self, path: str, **body: Any) -> Any:
        """Send a request of this agent's session."""
        names = {"user_id": self.user_id, "session_id": self.session_id}
        return self.service.post(self.account, path, names | body)

    def search(self, task: Task) -> list[dict[str, Any]]:
        """Search with the words of a task; return the lessons, best first."""
        response = self.post("/api/v7/memory", query_text=task.task)
        return list(response["shared_cubes"])

    def rate(self, cube: Mapping[str, Any], *, useful: bool) -> None:
        """Vote on a lesson."""
        reason = {} if useful else {"reason": "The program that follows it fails."}
        self.post(
            "/api/v7/experience/vote",
            cube_id=cube["cube_id"],
            vote=1 if useful else -1,
            **reason,
        )

    def attempt(self, case: Case) -> bool:
        """Work on a task as the module describes; return True if the first program passes."""
        cubes = self.search(case.task)
        idiom, followed = choice(case, cubes)
        passed = self.service.passes(self.account, case.family.program(case.task, idiom))
        self.post(
            "/api/v7/remember",
            query=case.task.task,
            response=f"The program with the idiom {idiom} {'passed' if passed else 'failed'}.",
        )
        for cube in followed:
            self.rate(cube, useful=passed)
        if any(cube["note"].startswith("new") for cube in cubes if cube not in followed):
            reason = "These lessons are about other libraries."
            self.post("/api/v7/remember", duty="vote_nothing", duty_reason=reason)
        return passed


def choice(case: Case, cubes: Sequence[Mapping[str, Any]]) -> tuple[str, list[Mapping[str, Any]]]:
    """Return the idiom with which an agent begins, and the lessons that led it there."""
    followed = [cube for cube in cubes if case.family.choose([cube["rules_markdown"]])]
    idiom = case.family.choose([cube["rules_markdown"] for cube in followed])
    return idiom or (RIGHT if case.luck < case.family.guess else NAIVE), followed


@contextmanager
def service(accounts: Sequence[str]) -> Iterator[Service]:
    """Yield a new server with these accounts, the author's first."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = open_records(Settings(data=folder))
        with closing(records.store):
            by_account = {
                account: keys.create(records, account=account, label="bench").key.reveal()
                for account in (AUTHOR, *accounts)
            }
        limits = {
            "REMEMBRANCER_RATE_SANDBOX_PER_MINUTE": "0",
            "REMEMBRANCER_SANDBOX_MIN_LEVEL": "landlock",
            "REMEMBRANCER_FIELD_TRIAL": "0",  # a lesson that it withholds would look retired
        }
        with Server(folder, by_account[AUTHOR], limits) as server:
            yield Service(server=server, keys=by_account)


def publish(one: Service, family: Family, advice: Advice) -> None:
    """Let the author fail the first task of a family, pass it, and publish a lesson.

    Exits if the lesson stays private, or if the programs do not behave so.
    """
    task = family.tasks[0]
    author = Reader(service=one, account=AUTHOR, user_id="author", session_id=family.family)
    author.search(task)
    outcomes = [one.passes(AUTHOR, family.program(task, idiom)) for idiom in (NAIVE, RIGHT)]
    response = author.post(
        "/api/v7/remember",
        query=task.task,
        response="The first program failed and the second one passed.",
        cube_topic=advice.topic,
        cube_essence=advice.essence,
        cube_rules=advice.rules,
        cube_evidence="runs in the sandbox",
        cube_publish=True,
    )
    cube = response["cube"]
    if outcomes != [False, True] or not isinstance(cube, dict) or cube["visibility"] == "private":
        raise SystemExit(f"{family.family}: {outcomes}, {cube}")


def arms(all_families: Sequence[Family]) -> dict[str, list[Lessons]]:
    """Return the lessons of each arm, one mapping for each of its servers."""
    right = {family.family: family.lesson for family in all_families}
    harmful = {family.family: family.harmful for family in all_families}
    names = list(right)
    halves = names[::2], names[1::2]
    shuffled: list[Lessons] = [
        {
            name: replace(right[name], rules=right[donor].rules)
            for name, donor in zip(half, donors, strict=True)
        }
        for half, donors in (halves, halves[::-1])
    ]
    return {"none": [{}], "right": [right], "shuffled": shuffled, "harmful": [harmful]}


def first_tries(servers: Sequence[Lessons], cases: Sequence[Case]) -> Values:
    """Return 1 or 0 for each case: whether the first program of a reader passed.

    With several servers, each gets the cases of the families that it has lessons of.
    """
    accounts = [f"reader-{n}" for n in range(READERS)]
    readers = [(account, f"user-{n}") for n in range(USERS) for account in accounts]
    passed = np.zeros(len(cases))
    for lessons in servers:
        with service(accounts) as one:
            for family in families():
                if advice := lessons.get(family.family):
                    publish(one, family, advice)
            for number, case in enumerate(cases):
                if len(servers) > 1 and case.family.family not in lessons:
                    continue
                account, user_id = readers[number % len(readers)]
                reader = Reader(
                    service=one, account=account, user_id=user_id, session_id=f"task-{number}"
                )
                passed[number] = reader.attempt(case)
    return passed


def interval(values: Values, groups: Sequence[str] | None, seed: int) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean of tasks, or of families of tasks."""
    source = np.random.default_rng(seed)
    if groups is None:
        draws = source.integers(len(values), size=(SAMPLES, len(values)))
        means = values[draws].mean(1)
    else:
        names = np.array(groups)
        parts = [values[names == name] for name in dict.fromkeys(groups)]
        sums = np.array([part.sum() for part in parts])
        sizes = np.array([len(part) for part in parts])
        draws = source.integers(len(parts), size=(SAMPLES, len(parts)))
        means = sums[draws].sum(1) / sizes[draws].sum(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def percent(value: float, bounds: tuple[float, float], *, signed: bool = False) -> str:
    """Format a share or a difference with its interval."""
    form = "{:+.0f}" if signed else "{:.0f}"
    middle, low, high = (form.format(100 * one) for one in (value, *bounds))
    return f"{middle} ({low} to {high})"


def arms_table(results: Mapping[str, Values], cases: Sequence[Case], seed: int) -> str:
    """Return the table of first tries by arm."""
    groups = [case.family.family for case in cases]
    rows = []
    for name, values in results.items():
        more = values - results["none"]
        rows.append(
            [
                name,
                percent(float(values.mean()), interval(values, None, seed)),
                percent(float(more.mean()), interval(more, None, seed), signed=True),
                percent(float(more.mean()), interval(more, groups, seed), signed=True),
            ]
        )
    heads = [
        "lessons", "passed at the first try, %", "difference to none, points",
        "the same, whole families resampled",
    ]  # fmt: skip
    return table(heads, rows)


def exposures(lessons: Lessons, cases: Sequence[Case], accounts: int, seed: int) -> list[float]:
    """Return for each lesson the exposures to new users until none is shown it; inf if never.

    Users rate it by the outcome, but NOISE of the votes are wrong. They belong to this number of
    accounts in turn. Lessons that no case finds are left out.
    """
    names = [f"crowd-{n}" for n in range(accounts)]
    source = random.Random(seed)
    counts = []
    with service(names) as one:
        for family in families():
            publish(one, family, lessons[family.family])
        for case in served_cases(one, names[0], cases):
            for number in range(EXPOSURES_MAX + 1):
                reader = Reader(
                    service=one,
                    account=names[number % accounts],
                    user_id=f"user-{number}",
                    session_id=case.family.family,
                )
                idiom, followed = choice(case, reader.search(case.task))
                if not followed or number == EXPOSURES_MAX:
                    counts.append(float(number) if not followed else np.inf)
                    break
                passed = one.passes(reader.account, case.family.program(case.task, idiom))
                for cube in followed:
                    reader.rate(cube, useful=passed == (source.random() >= NOISE))
    return counts


def served_cases(one: Service, account: str, cases: Sequence[Case]) -> list[Case]:
    """Return for each family the first case whose search finds the lesson of the family."""
    probe = Reader(service=one, account=account, user_id="probe", session_id="probe")
    chosen: dict[str, Case] = {}
    for case in cases:
        name = case.family.family
        if name not in chosen and choice(case, probe.search(case.task))[1]:
            chosen[name] = case
    return list(chosen.values())


def noisy_row(
    name: str, lessons: Lessons, cases: Sequence[Case], accounts: int, seed: int
) -> list[str]:
    """Return the row of one kind of lesson and one way to vote."""
    counts = [
        count
        for server in range(SERVERS)
        for count in exposures(lessons, cases, accounts, seed + server)
    ]
    quantiles = [float(np.quantile(counts, share, method="inverted_cdf")) for share in (0.5, 0.95)]
    return [
        name,
        f"one account with {EXPOSURES_MAX} users" if accounts == 1 else f"{accounts} accounts",
        str(len(counts)),
        *("never" if value == np.inf else f"{value:.0f}" for value in quantiles),
        f"{100 * float(np.mean(np.array(counts) <= 10)):.0f} %",
        f"{100 * float(np.mean(np.isfinite(counts))):.0f} %",
    ]


NOISY_HEADS = [
    "lessons", "voters", "number", "median exposures until it is retired", "95 % quantile",
    "retired within 10", f"retired within {EXPOSURES_MAX}",
]  # fmt: skip


def setup(cases: Sequence[Case]) -> str:
    """Describe the first part."""
    count = len({case.family.family for case in cases})
    return (
        f"{len(cases)} tasks of {count} families, each by an agent of one of {READERS} accounts "
        f"that are not the author's. Votes are right. 95 % intervals: bootstrap, {SAMPLES:,} "
        "samples of paired tasks."
    )


def main() -> None:
    """Measure both parts and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=1_000, help="at most. Default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers. Default: 1")
    parser.add_argument("--data", help="ignored")
    options = parser.parse_args()
    source = random.Random(options.seed)
    cases = [
        Case(family=family, task=task, luck=source.random())
        for family in families()
        for task in family.tasks[1:]
    ]
    source.shuffle(cases)
    cases = cases[: options.tasks]
    lessons = arms(families())
    results = {name: first_tries(lessons[name], cases) for name in lessons}
    rows = [
        noisy_row(name, lessons[name][0], cases, accounts, options.seed)
        for name in ("harmful", "right")
        for accounts in (1, EXPOSURES_MAX)
    ]
    parts = [
        setup(cases),
        arms_table(results, cases, options.seed),
        f"With {NOISE:.0%} wrong votes, one from each user:",
        table(NOISY_HEADS, rows),
    ]
    write_section(
        "lessons",
        "Lessons for agents of other accounts",
        "python -m bench.lessons",
        "\n\n".join(parts),
    )


if __name__ == "__main__":
    main()
