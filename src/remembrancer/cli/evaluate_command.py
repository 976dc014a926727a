"""The command `remembrancer evaluate`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .commands import ServiceUrl
from .memory_commands import User, service_client
from .output import AsJson, print_answer

if TYPE_CHECKING:
    from .evaluation import Evaluation


def evaluate(
    file: Path,
    user_id: User = None,
    top_k: Annotated[int, typer.Option(min=1, max=100)] = 10,
    at_least: Annotated[float, typer.Option(min=0, max=1)] = 0.0,
    url: ServiceUrl = None,
    as_json: AsJson = False,
) -> None:
    """Measure search with your own questions.

    Prints recall, precision, and why a turn was missed. Searches are pure reads: they count no step
    and owe nothing. Needs a running service and its key (`remembrancer login`).

    Args:
        file: JSON lines: {"question": "…", "expected": ["event id or text of the turn", …]}.
        top_k: Hits that count.
        at_least: Exit with 1 if recall of the counted hits is below.
    """
    from .evaluation import evaluate as measure
    from .evaluation import read_questions

    questions = read_questions(file)
    with service_client(url) as client:
        result = measure(client, questions, user_id=user_id, top_k=top_k)
    print_answer(asdict(result), _text(result), as_json=as_json)
    recall = result.recall[str(top_k)]
    if recall is not None and recall < at_least:
        raise typer.Exit(1)


def _text(result: Evaluation) -> str:
    """Return the figures and the misses as text."""
    with_answer = result.questions - result.without_answer
    lines = [f"{result.questions:,} questions, {with_answer:,} of them with an answer in memory"]
    for most, value in result.recall.items():
        plain = result.plain_recall[most]
        beside = "" if plain is None else f"; plain sum of words and meaning: {plain:.2f}"
        lines.append(_line(f"recall@{most}", value, f"expected turns among that many hits{beside}"))
    lines += [
        _line("precision", result.precision, "of the hits up to the last expected one"),
        _line("MRR", result.reciprocal_rank, "mean of 1 / rank of the first expected turn"),
        _line("answerable", result.answerable, "questions with an answer that reach 0.5"),
        _line("  without", result.answerable_without, "questions without one that reach 0.5"),
        f"{'median ms':<12}{result.median_ms:>6.1f}   of a search",
    ]
    if result.misses:
        lines += ["", f"{len(result.misses):,} missed:"]
    for miss in result.misses:
        lines += ["", f"  {miss.question}", f"    expected: {miss.expected}"]
        lines.append(f"    {miss.reason}")
        if miss.first_hit is not None:
            lines.append(f"    first hit: {miss.first_hit}")
    return "\n".join(lines)


def _line(name: str, value: float | None, meaning: str) -> str:
    return f"{name:<12}{'–' if value is None else f'{value:.2f}':>6}   {meaning}"
