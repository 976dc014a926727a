"""Write results as Markdown to bench/results.md, each section with its command."""

from __future__ import annotations

import argparse
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

RESULTS = Path(__file__).with_name("results.md")


def arguments_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the text of a module."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


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
    model = platform.machine()
    with suppress(OSError):  # not Linux
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
        model = names[0] if names else model
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"


def write_section(key: str, title: str, command: str, text: str) -> None:
    """Print a section and write it to bench/results.md. It replaces the section with this key."""
    body = (
        f"<!-- {key} -->\n## {title}\n\n`{command}` on {machine()}.\n\n{text.strip()}\n<!-- end "
        f"{key} -->\n"
    )
    print(body)
    whole = RESULTS.read_text("utf-8")
    written, count = re.subn(
        rf"<!-- {key} -->.*?<!-- end {key} -->\n", lambda _: body, whole, flags=re.DOTALL
    )
    RESULTS.write_text(written if count else f"{whole.rstrip()}\n\n{body}", "utf-8")
