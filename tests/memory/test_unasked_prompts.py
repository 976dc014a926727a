"""Prompts of a coding day, put to a memory of other work: what goes into a prompt unasked.

The memory and the unrelated prompts are those of an outside reviewer, who counted 12 of 20 with
something recalled before `answerable`; the questions that the memory answers are the project's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory.asking import Memory, opened

from remembrancer.memory.recall.explain import explain
from remembrancer.protocol.limits import HOOKS_ANSWERABLE_MIN, UNASKED_ANSWERABLE_MIN
from remembrancer.protocol.search import MemoryQuery
from remembrancer.search import open_embedder

TURNS = (
    ("How do I rotate the nginx logs?", "Use logrotate with daily and keep 14."),
    ("Rename the function parse_date to parse_day.", "Renamed it in 4 files, the tests pass."),
    ("Add a flag --dry-run to the importer.", "Added; it prints what it would write."),
    ("Why does test_upload fail on CI?", "The runner has no /tmp space; I set TMPDIR."),
    ("Which port does staging's database use?", "Port 6543."),
    ("Write a README section on installing.", "Written, with the three commands."),
    ("Fix the memory leak in the cache.", "The eviction was never called; now it is."),
    ("What licence do we use?", "Apache-2.0."),
    ("Make the colour of the button blue.", "Done in button.css."),
    ("Bump pandas to the newest version.", "pandas 3.0.1 now."),
    ("Who reviews the payments code?", "Ines and Paulo."),
    ("Move the config to TOML.", "config.toml replaces config.ini."),
    ("Add type hints to utils.py.", "All functions have them."),
    ("Deploy to staging.", "Deployed build 4412."),
    ("Set up pre-commit with ruff.", "Set up; it runs at each commit."),
    ("Explain the retry logic of the client.", "It doubles the wait, at most 5 tries."),
    ("Delete the old migrations.", "Squashed into one."),
    ("Translate the error messages to German.", "Done for 62 messages."),
    ("Profile the search endpoint.", "80 % is in JSON encoding."),
    ("Cache the user's avatar.", "Cached for an hour."),
)
UNRELATED = (
    "Please refactor src/parser.py so that the tokenizer is its own class.",
    "Write unit tests for the billing module.",
    "What does this stack trace mean: KeyError 'foo'?",
    "Create a Dockerfile for this project.",
    "Hello",
    "thanks, looks good",
    "Commit this with a good message.",
    "Convert this shell script to Python.",
    "How do I reverse a linked list in Rust?",
    "Optimise the SQL query in report.sql",
    "Is there a race condition in worker.go?",
    "Draw an architecture diagram in mermaid",
    "Run the tests and fix what fails",
    "continue",
    "Why is the sky blue?",
    "Add pagination to the /orders endpoint",
    "yes, do it",
    "Generate a changelog since v1.2",
    "Review this pull request",
    "Make the navbar sticky",
)
ANSWERED = (
    "which port does the staging db listen on?",
    "what did we decide about log rotation?",
    "who can review my payments change?",
    "what licence is this under?",
    "why did the upload test fail?",
    "which build is on staging?",
    "which pandas version are we on?",
    "how often does the client retry?",
    "where is the config now?",
    "what happened to the old migrations?",
    "did we add type hints?",
    "what takes most of the time in search?",
)


SAY_NOTHING = (
    "hi",
    "Danke!",
    "weiter",
    "d'accord, vas-y",
    "vale, sigue",
    "perfetto, grazie",
    "ок, продолжай",
    "好的，谢谢",
    "ok",
)
ALONE = (
    "Explain the difference between a stack and a heap.",
    "Was ist der Unterschied zwischen TCP und UDP?",
    "Écris une expression régulière pour un code postal français.",
    "convert this to a set comprehension: s = set()\nfor x in xs:\n    s.add(x.name)",
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Return the memory of a coding day."""
    folder: Path = tmp_path_factory.mktemp("day")
    with opened(folder, embedder=open_embedder("multilingual")) as memory:
        for number, turn in enumerate(TURNS):
            memory.tell(*turn, session_id=f"s{number}")
        yield memory


def with_hits(memory: Memory, prompts: tuple[str, ...]) -> list[str]:
    """Return the prompts for which hooks, chat and `/v1` would put hits into the prompt."""
    return [
        text
        for text in prompts
        if memory.ask(text, min_answerable=UNASKED_ANSWERABLE_MIN, interact=False).hits
    ]


def test_few_unrelated_prompts_recall_something(memory: Memory) -> None:
    """At most a fifth do (specification.md#search-answerable)."""
    assert len(with_hits(memory, UNRELATED)) <= 4


def test_questions_that_the_memory_answers_recall_something(memory: Memory) -> None:
    """All but one of twelve do (specification.md#search-answerable)."""
    assert len(with_hits(memory, ANSWERED)) >= 11


def test_messages_that_need_no_memory_are_hardly_answered(memory: Memory) -> None:
    """Those that say nothing not at all (specification.md#search-answerable)."""
    for texts, most in ((SAY_NOTHING, 0.0), (ALONE, HOOKS_ANSWERABLE_MIN)):
        for text in texts:
            assert memory.ask(text, interact=False).answerable <= most, text


def test_turns_that_say_nothing_pay(memory: Memory) -> None:
    """specification.md#search-saying-nothing."""
    user = memory.of("empty talk")
    for number, turn in enumerate((("Deploy it to the pier.", "Done."), ("ok, thanks", "Done."))):
        user.tell(*turn, session_id=f"s{number}")
    query = MemoryQuery(query_text="thanks for the pier", user_id=user.user_id)

    hits = explain(user.context, user.caller, query).hits

    costs = {hit.query: [one.name for one in hit.adjustments if one.adds < 0] for hit in hits}
    assert costs == {"Deploy it to the pier.": [], "ok, thanks": ["empty", "repeated"]}
