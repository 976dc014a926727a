"""The tables of the comparison, and where another system is ahead of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bench.evidence import Array
from bench.peers.environments import OWN, PEERS
from bench.peers.kills import Losses
from bench.peers.recall import cell
from bench.peers.speed import Speed
from bench.peers.vectors import EmbedderCost
from bench.report import table


@dataclass(slots=True)
class Figures:
    """All figures of one peer; what was not measured is empty."""

    recall: dict[str, Array] = field(
        default_factory=dict
    )  # by set: (questions, turns and sessions)
    speed: Speed | None = None
    losses: Losses | None = None
    reason: str = ""  # why the rest is missing


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table of costs; less is better."""

    head: str
    figure: Callable[[Speed], float]
    embedding: Callable[[EmbedderCost, bool], float]  # our parts (True) or a whole text
    why: str  # another system may be ahead
    form: str = "{:.1f}"


def _question(cost: EmbedderCost, _own: bool) -> float:  # noqa: FBT001 - the shape of a column
    return cost.question_ms


def _item(cost: EmbedderCost, own: bool) -> float:  # noqa: FBT001 - the same
    return cost.parts_ms if own else cost.item_ms


def _percentile(values: list[float], rank: int) -> float:
    return float(np.percentile(values, rank))


HTTP = "A call in the process has no HTTP, no JSON, no key to check and no limits to count."
SEARCH = (
    f"{HTTP} A search of ours also counts a step of the protocol, looks into facts, instructions "
    "and summaries, and ranks by more signals."
)
ADD = (
    f"{HTTP} An addition of ours also embeds both sides of a turn apart and stores its names, "
    "dates, near duplicates and flags, and the state of its session."
)
COLUMNS = (
    Column("search CPU ms", lambda one: one.search_cpu_ms, _question, SEARCH),
    Column("search p50 ms", lambda one: _percentile(one.search_ms, 50), _question, SEARCH),
    Column("search p99 ms", lambda one: _percentile(one.search_ms, 99), _question, SEARCH),
    Column("search CPU ms after additions", lambda one: one.later_cpu_ms, _question, SEARCH),
    Column("add CPU ms", lambda one: one.add_cpu_ms, _item, ADD),
    Column("add p50 ms", lambda one: _percentile(one.add_ms, 50), _item, ADD),
    Column("add p99 ms", lambda one: _percentile(one.add_ms, 99), _item, ADD),
    Column(
        "memory MB",
        lambda one: one.memory_mb,
        lambda cost, _: cost.memory_mb,
        "Ours is a whole server with its interface, console and language tables.",
        "{:.0f}",
    ),
    Column(
        "disk MB per 1,000",
        lambda one: one.disk_mb,
        lambda *_: 0.0,
        "Ours stores the vectors and the words of both sides.",
        "{:.2f}",
    ),
)


def costs(column: Column, name: str, speed: Speed, cost: EmbedderCost) -> tuple[float, float]:
    """Return a figure with the embedder and without it."""
    embeds = PEERS[name].embeds
    figure, embedding = column.figure(speed), column.embedding(cost, embeds)
    return (figure, max(figure - embedding, 0.0)) if embeds else (figure + embedding, figure)


def recall_table(figures: Mapping[str, Figures]) -> str:
    """Return the table of recall@10, of turns and of sessions."""
    sets = list(next(iter(figures.values())).recall)
    counts = {name: len(figures[OWN].recall[name]) for name in sets} if OWN in figures else {}
    heads = ["system", *(f"{name} ({counts.get(name, 0)} questions)" for name in sets)]
    rows = [
        [
            PEERS[name].name,
            *(cell(one.recall[each]) if each in one.recall else "–" for each in sets),
        ]
        for name, one in figures.items()
    ]
    return table(heads, rows)


def speed_table(figures: Mapping[str, Figures], cost: EmbedderCost) -> str:
    """Return the table of costs: with the embedder, in brackets without it."""
    rows = []
    for name, one in figures.items():
        if one.speed is None:
            continue
        row = [PEERS[name].name]
        for column in COLUMNS:
            values = costs(column, name, one.speed, cost)
            whole, rest = (column.form.format(value) for value in values)
            row.append(whole if whole == rest else f"{whole} ({rest})")
        rows.append([*row, one.losses.cell() if one.losses else "–"])
    return table(["system", *(column.head for column in COLUMNS), "not found after kills"], rows)


def behind(figures: Mapping[str, Figures], cost: EmbedderCost | None) -> list[str]:
    """Return a line for each column in which another system is ahead of ours, with the reason."""
    own, lines = figures.get(OWN), []
    if own is None:
        return []
    others = {name: one for name, one in figures.items() if name != OWN}
    for name, values in own.recall.items():
        for place, scale in enumerate(("turns", "sessions")):
            better = [
                f"{PEERS[other].name} {theirs:.3f}"
                for other, one in others.items()
                if name in one.recall
                and (theirs := one.recall[name][:, place].mean()) > values[:, place].mean()
            ]
            if better:
                lines.append(f"- recall of {scale}, {name}: {', '.join(better)}.")
    explained: set[str] = set()
    for column in COLUMNS if cost and own.speed else ():
        assert cost is not None
        assert own.speed is not None
        mine = costs(column, OWN, own.speed, cost)[0]
        ahead = {
            PEERS[other].name: costs(column, other, one.speed, cost)[0]
            for other, one in others.items()
            if one.speed
        }
        better = [
            f"{name} {column.form.format(value)}"
            for name, value in sorted(ahead.items(), key=lambda pair: pair[1])
            if value < mine
        ]
        if better:
            lines.append(
                f"- {column.head}, ours {column.form.format(mine)}: {', '.join(better)}. "
                f"{'For the same reasons.' if column.why in explained else column.why}"
            )
            explained.add(column.why)
    return lines
