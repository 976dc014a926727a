"""Compare Remembrancer with other memories of agents, vector stores and two stores by hand.

    python -m bench.peers --data FOLDER [--peers chroma,lancedb] [--events 10000]

FOLDER has `locomo-dev.json` and `beam-dev.json` (bench/sets.py); with the file of LoCoMo alone,
that set is measured. Each peer runs in a process and an environment of its own, which the first run
installs outside the tree: `--cache` says where. All get the vectors of the same embedder, computed
before. Recall@10 of the evidence, turns and sessions; CPU time, latency, memory and disk for
the memory of one user; and the acknowledged items that a search does not find after the process was
killed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.peers.environments import OWN, PEERS, PeerUnavailable, cache_folder
from bench.peers.kills import killed
from bench.peers.recall import cell, recalls, sets_in
from bench.peers.report import Figures, behind, recall_table, speed_table
from bench.peers.speed import ADDED, Load, load_of, speed_of
from bench.peers.vectors import EmbedderCost, EmbedderEncoding, cost_of
from bench.report import arguments_of, write_section
from bench.sets import FILES
from remembrancer.search import open_embedder

PARTS = ("recall", "speed", "kills")


def notes(options: argparse.Namespace, cost: EmbedderCost | None) -> str:
    """Return how to read the tables."""
    lines = [
        (
            "All systems store the same items and get the same questions. An item of a peer is one "
            f"text with one vector of the embedder `{options.embedder}` (its first 2,000 "
            "characters), computed before; ours gets the two sides of a turn with its session and "
            "time over HTTP, and embeds them itself, in passages. mem0 and Chroma search by vector "
            "alone: mem0's search by words needs models from a hub, and Chroma's runs in its cloud "
            "alone. `--embedder e5` repeats the comparison with another embedder."
        )
    ]
    if cost:
        lines.append(
            f"Costs are for one user with {options.events:,} items: searches before and after "
            f"{ADDED} additions, one at a time, each acknowledged, and as durable as the peer is "
            "by default (txtai: saved after each). A figure includes the embedder "
            f"({cost.question_ms:.1f} ms a question, {cost.item_ms:.1f} ms a whole item, "
            f"{cost.parts_ms:.1f} ms the two sides apart, {cost.memory_mb:.0f} MB), which was "
            "measured by itself and added to the figures of the peers; in brackets, without it. "
            "CPU time is that of all processes, the HTTP client of ours included; memory (PSS) is "
            "that of the store's process, and ours is a server with one worker."
        )
    lines.append(
        f"Kills: SIGKILL at {options.kills} random moments while items are added one at a time; "
        "after each restart the acknowledged items are searched for by their own text."
    )
    return "\n\n".join(lines)


def measure(options: argparse.Namespace) -> tuple[dict[str, Figures], EmbedderCost | None]:
    """Return the figures of each peer, and what the embedder costs if speed was measured."""
    encoding = EmbedderEncoding(options.embedder, open_embedder(options.embedder))
    figures = {name: Figures() for name in options.peers}
    sets = sets_in(options.data) if "recall" in options.parts else {}
    load = Load([], [], [])
    if {"speed", "kills"} & set(options.parts):
        locomo = options.data / FILES["LoCoMo"] if options.data.is_dir() else options.data
        load = load_of(locomo, options.events if "speed" in options.parts else 1_000, encoding)
    cost = None
    if "speed" in options.parts:
        cost = cost_of(encoding, load.added, [question.text for question in load.questions])
    for name, one in figures.items():
        kind = PEERS[name]
        try:
            for each, spaces in sets.items():
                one.recall[each] = recalls(kind, spaces, encoding, options.cache)
                print(f"{name}, {each}: {cell(one.recall[each])}", file=sys.stderr)
            if cost:
                one.speed = speed_of(kind, load, encoding, options.cache)
                print(f"{name}: {one.speed.search_cpu_ms:.2f} ms a search", file=sys.stderr)
            if "kills" in options.parts:
                texts = [item.text for item in (*load.added, *load.filling)]
                one.losses = killed(kind, options.kills, texts, encoding, options.cache)
                print(f"{name}: {one.losses.cell()}", file=sys.stderr)
        except PeerUnavailable as error:
            one.reason = " ".join(str(error).split())
            print(f"{name}: {one.reason}", file=sys.stderr)
    return figures, cost


def section(
    figures: dict[str, Figures], cost: EmbedderCost | None, options: argparse.Namespace
) -> str:
    """Return the text of the section."""
    parts = [notes(options, cost)]
    if "recall" in options.parts:
        parts.append(
            "Recall@10 of the evidence: turns with their bootstrap 95 % interval / sessions:"
        )
        parts.append(recall_table(figures))
    if cost:
        parts.append(speed_table(figures, cost))
    lines = behind(figures, cost)
    if lines:
        parts.append("Ahead of ours, and why:\n\n" + "\n".join(lines))
    reasons = [f"- {PEERS[name].name}: {one.reason}" for name, one in figures.items() if one.reason]
    if reasons:
        parts.append("Not measured:\n\n" + "\n".join(reasons))
    versions = "; ".join(
        ", ".join(PEERS[name].packages) for name in figures if PEERS[name].packages
    )
    return "\n\n".join([*parts, f"Versions: {versions}."])


def _names(existing: tuple[str, ...], text: str) -> list[str]:
    names = text.split(",")
    if set(names) - set(existing):
        raise argparse.ArgumentTypeError(f"choose from {','.join(existing)}")
    return names


def main() -> None:
    """Measure all peers and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets, or LoCoMo")
    parser.add_argument(
        "--peers",
        type=lambda text: _names(tuple(PEERS), text),
        default=list(PEERS),
        help=f"default: {','.join(PEERS)}",
    )
    parser.add_argument(
        "--parts",
        type=lambda text: _names(PARTS, text),
        default=list(PARTS),
        help=f"default: {','.join(PARTS)}",
    )
    parser.add_argument("--events", type=int, default=10_000, help="of one user. Default: 10000")
    parser.add_argument("--kills", type=int, default=10, help="of each peer. Default: 10")
    parser.add_argument("--embedder", default="multilingual", help="as in the setting")
    parser.add_argument(
        "--cache", type=Path, default=cache_folder(), help="folder of the environments"
    )
    options = parser.parse_args()
    options.peers = list(dict.fromkeys([OWN, *options.peers]))
    figures, cost = measure(options)
    own = options.embedder == "multilingual"
    chosen = [
        *([f"--peers {','.join(options.peers)}"] if set(options.peers) != set(PEERS) else []),
        *([f"--parts {','.join(options.parts)}"] if set(options.parts) != set(PARTS) else []),
        *([f"--events {options.events}"] if options.events != 10_000 else []),
        *([] if own else [f"--embedder {options.embedder}"]),
    ]
    write_section(
        "peers" if own else f"peers-{options.embedder}",
        "Side by side with peers"
        if own
        else f"Side by side with peers, embedder {options.embedder}",
        " ".join(["python -m bench.peers --data FOLDER", *chosen]),
        section(figures, cost, options),
    )


if __name__ == "__main__":
    main()
