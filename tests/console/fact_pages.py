"""Facts stored over HTTP, and how their pages show them."""

from __future__ import annotations

import re
from typing import Any

from console.reader import Reader, words_of

from remembrancer.protocol.text import rfc3339

HERE = "/console/facts"  # forms
LIST = "/console/memory?kind=fact"
FACTS = "/api/v7/memory/facts"
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


def add(reader: Reader, text: str, **more: Any) -> Any:
    """Add a fact over HTTP and return it as stored."""
    answer = reader.http.post(FACTS, {"text": text, **more}).raise_for_status().json()
    return answer["fact"]


def listed(reader: Reader, status: str = "current") -> list[Any]:
    """Return the facts of the reader's own user over HTTP."""
    answer = reader.http.get(FACTS, params={"status": status}).raise_for_status().json()
    return list(answer["facts"])


def page_of(reader: Reader, fact_id: str) -> str:
    """Return the page of a fact."""
    answer = reader.get(f"{LIST}&fact_id={fact_id}")
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def history_of(page: str) -> list[str]:
    """Return the visible text of each entry of the timeline."""
    [history] = re.findall(r'<ol class="timeline".*?</ol>', page, re.DOTALL)
    return [words_of(entry) for entry in re.findall(r"<li.*?</li>", history, re.DOTALL)]


def local(ms: int) -> str:
    """Return a time as a `datetime-local` field sends it, to the minute."""
    return rfc3339(ms)[:16]
