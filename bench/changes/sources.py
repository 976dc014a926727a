"""Pairs of statements from development data of other sets; the data is not part of this project.

`fact_pairs`, `update_pairs` and `state_pairs` have the labels of their sets. `conversation_pairs`
are sentences of one speaker that share a key, the only ones a store compares; a link between them
counts as wrong unless a person read the pair and listed it in read.toml.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.changes.pairs import Pair
from remembrancer.memory.changes import change_keys

FACTS, UPDATES, STATES = (
    "factconsolidation-dev.json",
    "automemorybench-dev.json",
    "tc-event-hard-dev.json",
)
CONVERSATIONS = {
    "LoCoMo": "locomo-dev.json",
    "BEAM": "beam-dev.json",
    "RealMem": "realmem-dev.json",
}
READ = Path(__file__).with_name("read.toml")
SENTENCE_LENGTHS = range(12, 161)  # characters
PAIRS_MAX = 400_000

# Sentences of FactConsolidation: the subject, and the object of which the newest one holds.
_OF = (
    "author|capital|chairperson|chief executive officer|company that produced|director|head coach"
    "|headquarters|official language|original language|origianl broadcaster"
    "|name of the current head of (?:state in|the .*?government)|type of music that"
    "|univeristy where"
)
_VERBS = (
    "is a citizen of|is affiliated with the religion of|is married to"
    "|is associated with the sport of|was founded by|was created by|was performed by"
    "|was developed by"
    "|is located in the continent of|speaks the language of|was born in the city of"
    "|died in the city of|is famous for|was created in the country of|worked in the city of"
    "|was founded in the city of|was written in the language of|is employed by"
    "|plays the position of|works in the field of"
)
_TEMPLATES = (
    re.compile(rf"(?P<s>The (?:{_OF}) .+?) (?:is located in the city of|is) (?P<o>.+)\."),
    re.compile(r"(?P<s>.+'s child) is (?P<o>.+)\."),
    re.compile(rf"(?P<s>.+) (?:{_VERBS}) (?P<o>.+)\."),
)


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def fact_pairs(folder: Path) -> Iterator[tuple[str, Pair]]:
    """Yield the pairs of FactConsolidation, each with its context (`tuned` or `other`).

    A change: two facts of one template and subject, with another object. None: neighbours of the
    alphabetic order with another subject or template, and facts of one subject.
    """
    for number, context in enumerate(_json(folder / FACTS)):
        part = "tuned" if number == 0 else "other"
        facts = re.findall(r"^\d+\. (.+)$", context["context"], re.MULTILINE)
        by_subject: dict[str, list[str]] = defaultdict(list)
        by_name: dict[str, list[str]] = defaultdict(list)
        for fact in facts:
            match = next((m for m in (t.fullmatch(fact) for t in _TEMPLATES) if m), None)
            if match is None:
                continue
            rest = fact[: match.start("o")]
            by_subject[rest].append(fact)
            by_name[_name(match["s"])].append(fact)
        for same in by_subject.values():
            for older, newer in itertools.pairwise(same):
                yield part, Pair("FactConsolidation", older, newer, older != newer)
        for same in by_name.values():
            for older, newer in itertools.pairwise(dict.fromkeys(same)):
                if not any(older in group and newer in group for group in by_subject.values()):
                    yield part, Pair("FactConsolidation", older, newer, False)
        subjects = sorted(by_subject)
        for first, second in itertools.pairwise(subjects):
            yield (
                part,
                Pair("FactConsolidation", by_subject[first][0], by_subject[second][-1], False),
            )


def _name(subject: str) -> str:
    return re.sub(r"^The .*? (?:of|that|where|produced|in) ", "", subject)


def update_pairs(folder: Path) -> Iterator[tuple[str, Pair]]:
    """Yield the pairs of AutoMemoryBench: the update of a value, and all other pairs of a case."""
    for domain, content in _json(folder / UPDATES).items():
        part = "tuned" if domain in ("coding_agent", "customer_support") else "other"
        for case in content["cases"]:
            turns = {
                turn["turn_id"]: turn["content"]
                for session in case["sessions"]
                for turn in session["turns"]
            }
            events = [(event, turns.get(event["source_turn_ids"][0])) for event in case["events"]]
            for (first, older), (second, newer) in itertools.combinations(events, 2):
                if older is None or newer is None:
                    continue
                is_change = second["event_type"] == "fact_update" and (
                    first["event_id"].startswith(("e_old_v", "e_old_reinforce_v"))
                )
                yield part, Pair("AutoMemoryBench", older, newer, is_change)


def state_pairs(folder: Path) -> Iterator[tuple[str, Pair]]:
    """Yield the pairs of tc-event-hard: old and new state, and old states of other subjects."""
    for number, persona in enumerate(_json(folder / STATES)):
        part = "tuned" if number < 3 else "other"
        turns = {
            turn["dia_id"]: turn["text"]
            for key, value in persona["conversation"].items()
            if isinstance(value, list)
            for turn in value
        }
        chains = {tuple(q["evidence"]) for q in persona["qa"] if len(q["evidence"]) == 2}
        for older, newer in sorted(chains):
            yield part, Pair("tc-event-hard", turns[older], turns[newer], True)
        for (older, _), (_, newer) in itertools.permutations(sorted(chains), 2):
            yield part, Pair("tc-event-hard", turns[older], turns[newer], False)
        old = sorted({chain[0] for chain in chains})
        for older in old:
            session = older.partition(":")[0]
            for turn, text in turns.items():
                if turn.startswith(f"{session}:") and turn != older:
                    yield part, Pair("tc-event-hard", turns[older], text, False)


def conversation_pairs(folder: Path) -> Iterator[tuple[str, Pair]]:
    """Yield sentences of one speaker in one conversation that share a key, older first."""
    changes = {
        (row["older"], row["newer"])
        for row in tomllib.loads(READ.read_text("utf-8")).get("change", ())
    }
    for source, file in CONVERSATIONS.items():
        for number, talk in enumerate(_json(folder / file)):
            part = "tuned" if number % 2 == 0 else "other"
            for older, newer in _candidates(talk["conversation"]):
                yield part, Pair(source, older, newer, (older, newer) in changes)


def _candidates(conversation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    by_key: dict[tuple[str, str], list[str]] = defaultdict(list)
    sessions = [value for value in conversation.values() if isinstance(value, list)]
    pairs: set[tuple[str, str]] = set()
    for turn in itertools.chain.from_iterable(sessions):
        for text in re.split(r"(?<=[.!?])\s+|\n+", turn["text"]):
            if len(text) not in SENTENCE_LENGTHS or text.endswith("?"):
                continue
            for key in sorted(change_keys(text)):
                rows = by_key[turn["speaker"], key]
                for older in rows[-3:]:
                    if older != text and (older, text) not in pairs:
                        pairs.add((older, text))
                        yield older, text
                rows.append(text)
