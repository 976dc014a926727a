"""Measure what a reranker adds to search: recall@5 and @10, and its time.

    python -m bench.reranking --data FOLDER --reranker onnx:FOLDER

FOLDER of the data has `locomo-dev.json`, `beam-dev.json` and `realmem-dev.json`, in LoCoMo's shape.
The share of the reranker in the order is chosen on two sets and reported on the third.
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.embedders import DEPTH, SETS, allowed, histories
from bench.locomo import Conversation, Question
from bench.report import table, write_section
from bench.spaces import ranking, view_of
from remembrancer.search import Embedder, Reranker, load_ranker, open_embedder, open_reranker

QUESTIONS = {"locomo": 40, "beam": 60, "realmem": 40}  # at most, evenly spaced
READ = 40  # hits that the reranker reads
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
CHARACTERS = 600  # of each side of a hit, as in its snippet
Row = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]


def excerpt(text: str, words: set[str]) -> str:
    """Return the part of a text, CHARACTERS long, that has the most of these words."""
    if len(text) <= CHARACTERS:
        return text
    starts = range(0, len(text) - CHARACTERS // 2, CHARACTERS // 2)
    parts = [text[start : start + CHARACTERS] for start in starts]
    return max(parts, key=lambda part: len(words & set(re.findall(r"\w+", part.lower()))))


def gains(conversation: Conversation, question: Question, events: list[int]) -> list[float]:
    """Return the share of the evidence that each event adds to those before it."""
    left, shares = set(question.evidence), []
    for event in events:
        new = left & set(conversation.events[event].turns)
        left -= new
        shares.append(len(new) / len(question.evidence))
    return shares


def scored(
    conversation: Conversation, embedder: Embedder, reranker: Reranker, most: int
) -> list[tuple[Conversation, Question, list[int], Row]]:
    """Return the best events of each question with both scores, and the seconds they took."""
    view, ranker = view_of(conversation, embedder), load_ranker(embedder.name)
    step = max(len(conversation.questions) // most, 1)
    rows = []
    for question in conversation.questions[::step][:most]:
        end = allowed(conversation, question)
        ranked = ranking(view, question.text, embedder).ranked(ranker, {}, DEPTH)
        chosen = [(one.event, one.raw) for one in ranked if one.event < end][:READ]
        if len(chosen) < 2:
            continue
        words = set(re.findall(r"\w+", question.text.lower()))
        texts = [
            f"{excerpt(conversation.events[n].query, words)}\n"
            f"{excerpt(conversation.events[n].response, words)}".strip()
            for n, _ in chosen
        ]
        wall, cpu = time.perf_counter(), time.process_time()
        slow = reranker.scores(question.text, texts)
        cost = [time.perf_counter() - wall, time.process_time() - cpu]
        row = (np.array([s for _, s in chosen]), np.asarray(slow, float), np.array(cost))
        rows.append((conversation, question, [n for n, _ in chosen], row))
    return rows


def recalls(
    rows: list[tuple[Conversation, Question, list[int], Row]], share: float, most: int
) -> npt.NDArray[np.float64]:
    """Return recall@most of each question with this share of the reranker in the order."""
    result = []
    for conversation, question, events, (fast, slow, _) in rows:
        order = np.argsort(
            -((1 - share) * _standard(fast) + share * _standard(slow)), kind="stable"
        )
        result.append(sum(gains(conversation, question, [events[n] for n in order[:most]])))
    return np.array(result)


def _standard(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    result: npt.NDArray[np.float64] = (values - values.mean()) / (float(values.std()) or 1.0)
    return result


def report(sets: dict[str, list[tuple[Conversation, Question, list[int], Row]]]) -> str:
    """Return the tables: shares by set, the share left out of its choice, and the time."""
    heads = ["set", "questions", *(f"share {share:g}" for share in SHARES), "best of 40"]
    lines = []
    for most in (5, 10):
        body = [
            [
                name,
                str(len(rows)),
                *(f"{recalls(rows, share, most).mean():.3f}" for share in SHARES),
                f"{recalls(rows, 0.0, READ).mean():.3f}",
            ]
            for name, rows in sets.items()
        ]
        lines += [f"Recall@{most}, by the share of the reranker:", "", table(heads, body), ""]
    rng = np.random.default_rng(1)
    for name, rows in sets.items():
        others = [one for other, one in sets.items() if other != name]
        means = {s: np.mean([recalls(one, s, 10).mean() for one in others]) for s in SHARES}
        share = max(SHARES, key=lambda one: means[one])
        change = recalls(rows, share, 10) - recalls(rows, 0.0, 10)
        draws = change[rng.integers(len(change), size=(2000, len(change)))].mean(axis=1)
        low, high = np.percentile(draws, [2.5, 97.5])
        lines.append(
            f"- {name}: share {share:g} chosen on the other sets changes recall@10 by "
            f"{change.mean():+.3f} [{low:+.3f}, {high:+.3f}] (95 %)"
        )
    costs = np.array([row[2] for rows in sets.values() for *_, row in rows])
    lines += [
        "",
        (
            f"Time for {READ} hits: p50 {np.median(costs[:, 0]):.2f} s, "
            f"p95 {np.percentile(costs[:, 0], 95):.2f} s, CPU {costs[:, 1].mean():.2f} s a query."
        ),
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--reranker", required=True, help="as in the setting")
    parser.add_argument("--embedder", default="multilingual", help="as in the setting")
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder)
    reranker = open_reranker(arguments.reranker, seconds=60)
    if reranker is None:
        parser.error("name a reranker")
    sets = {
        name: [
            row
            for conversation in histories(arguments.data, name, most)
            for row in scored(conversation, embedder, reranker, QUESTIONS[name] // most)
        ]
        for name, most in SETS.items()
    }
    label = arguments.reranker.partition(":")[0] + ":" + Path(arguments.reranker).name
    write_section(
        "reranking",
        "Reranking",
        f"python -m bench.reranking --data FOLDER --reranker {label}",
        report(sets),
    )


if __name__ == "__main__":
    main()
