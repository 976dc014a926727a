"""Write results as Markdown to bench/results.md, each section with its command."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

RESULTS = Path(__file__).with_name("results.md")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    return "\n".join(
        ["| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows]]
    )


def timed(act: Callable[[], object]) -> float:
    """Return the milliseconds that a call takes."""
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1_000


def machine() -> str:
    """Describe the machine."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in _lines("/proc/cpuinfo")
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"


def write_section(key: str, title: str, command: str, text: str) -> None:
    """Print a section and write it to bench/results.md. It replaces the section with this key."""
    body = (
        f"<!-- {key} -->\n## {title}\n\n`{command}` on {machine()}.\n\n{text.strip()}\n<!-- end "
        f"{key} -->\n"
    )
    print(body)
    whole = (
        RESULTS.read_text("utf-8")
        if RESULTS.exists()
        else "# Results\n\nWritten by `make bench`. Each section names its command and "
        "machine. Byte code is in place.\n"
    )
    pattern = re.compile(rf"<!-- {key} -->.*?<!-- end {key} -->\n", re.DOTALL)
    whole = (
        pattern.sub(lambda _: body, whole)
        if pattern.search(whole)
        else f"{whole.rstrip()}\n\n{body}"
    )
    RESULTS.write_text(whole, "utf-8")


def _lines(path: str) -> list[str]:
    return Path(path).read_text("utf-8").splitlines() if Path(path).exists() else []
