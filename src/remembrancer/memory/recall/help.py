"""The built-in help: passages that answer a query about the service itself."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources

import numpy as np

from ...protocol.search import Help
from ...search import IndexView, SpaceIndex, analyze, lexical_scores, pack, parse_query, unpack

HELP_MAX = 2  # passages
# Share of the query's meaning that a help passage must cover: "the seal at the zoo" is not about
# our seals.
COVERAGE_MIN = 0.5
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_ABOUT_SERVICE = re.compile(
    r"/api/v7|\b(?:remembrancer|cubes?|seals?|sealed|dut(?:y|ies)"
    r"|(?:duty_error|last_seal|open_tasks|task_done|focus_words|top_k|event_id"
    r"|user_id|session_id|l1_summary|l2_map|vote_nothing|cube_nothing|cube_publish|duty_reason"
    r"|help_hits|shared_cubes|query_text)"
    r"|l1s?|l2s?|start pack|open tasks?|second look|sysperm|grant a permission"
    r"|critical facts?|memory map|idempotency|api keys?"
    r"|(?:search|remember|save|store|memory) (?:endpoint|api|call|service)"
    r"|this (?:service|memory|api))\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1)
def _help_passages() -> tuple[list[Help], IndexView]:
    text = resources.files(__package__).joinpath("help.md").read_text("utf-8")
    heads = list(_HEADING.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    help_passages = [
        Help(title=head[1], text=text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]
    index, texts = SpaceIndex(0), [f"{one.title}. {one.text}" for one in help_passages]
    parts = [analyze(query="", response=text, topic=None, occurred_ms=0) for text in texts]
    rows = [(number, 0, 0, pack(one), None) for number, one in enumerate(parts)]
    index.add(unpack(rows, 0), len(help_passages))
    return help_passages, index.view()


def help_for(query: str) -> list[Help]:
    """Return the help passages that answer a query, best first.

    Returns none unless the query is about the service itself.
    """
    if not _ABOUT_SERVICE.search(query):
        return []
    passages, view = _help_passages()
    scores = lexical_scores(view, parse_query(query, view.languages).words)
    order = np.argsort(-scores.score, kind="stable")
    best = view["event"][order[scores.coverage[order] >= COVERAGE_MIN]].tolist()
    return [passages[number] for number in list(dict.fromkeys(best))[:HELP_MAX]]
