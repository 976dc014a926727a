"""Measure how many words of the gold answers are in chat replies that quote memory.

    python -m bench.chat --data locomo-dev.json

Each turn is an event of a real store. The score of a question is the share of the words of its gold
answer that are in the reply, without stop words; the dates beside the quotes count too. Simpler
replies from the same memory are the floors. Questions without an answer (category 5) are left out.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.headlines import content
from bench.locomo import Conversation, conversations
from bench.report import table, write_section
from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.agent.extractive_answer import quotes
from remembrancer.context import Context
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.write.events import write_event
from remembrancer.protocol import limits
from remembrancer.protocol.memory import EventWrite
from remembrancer.protocol.search import Hit, MemoryQuery
from remembrancer.search import open_embedder
from remembrancer.settings import Settings

UNANSWERED = 5  # the category of questions that the conversation does not answer
SEED = 7
Reply = Callable[[Sequence[Hit], str], str]


class Covered(NamedTuple):
    """Means over all questions."""

    words: float  # of the gold answer that stand in the reply
    whole: float  # all of them do
    characters: float


def ours(hits: Sequence[Hit], question: str) -> str:
    """Return the quotes of the chat."""
    return "\n".join(map(str, quotes(hits, question)))


def first(hits: Sequence[Hit], _: str) -> str:
    """Return the best hit unchanged."""
    return _texts(hits[:1])


def first_whole(hits: Sequence[Hit], _: str) -> str:
    """Return as many full hits as the chat quotes: an upper bound."""
    return _texts(hits[: limits.CHAT_QUOTES_MAX])


def _texts(hits: Sequence[Hit]) -> str:
    return "\n".join(f"{hit.occurred_at[:10]} {hit.query} {hit.response}" for hit in hits)


def any_turns(conversation: Conversation, chance: random.Random) -> str:
    """Return as many random turns as the chat quotes: a floor."""
    return "\n".join(
        event.query + event.response
        for event in chance.sample(conversation.events, limits.CHAT_QUOTES_MAX)
    )


def remembered(conversation: Conversation, context: Context) -> None:
    """Store the conversation, one event per turn."""
    caller = caller_for(context)
    for event in conversation.events:
        when = datetime.fromtimestamp(event.occurred_ms / 1000, UTC)
        place = {"user_id": conversation.name, "session_id": str(event.session)}
        write_event(
            context,
            caller,
            EventWrite(query=event.query, response=event.response, occurred_at=when, **place),
        )


def measured(
    conversation: Conversation, context: Context, replies: Sequence[Reply]
) -> Iterator[list[Covered]]:
    """Return one score per question and way to reply, the random floor first."""
    caller, chance = caller_for(context), random.Random(SEED)
    for request in conversation.questions:
        expected = content(request.answer)
        if request.category == UNANSWERED or not expected:
            continue
        query = MemoryQuery(
            query_text=request.text,
            user_id=conversation.name,
            top_k=limits.CHAT_HITS_MAX,
            interact=False,
        )
        hits = recall(context, caller, query).hits
        texts = [any_turns(conversation, chance), *(reply(hits, request.text) for reply in replies)]
        matches = [len(expected & content(text)) / len(expected) for text in texts]
        yield [
            Covered(share, float(share == 1), len(text))
            for share, text in zip(matches, texts, strict=True)
        ]


def main() -> None:
    """Print the table and keep it in bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    figures: list[list[Covered]] = []
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), durability="normal")
        context = testing.context(
            Path(folder), settings=settings, embedder=open_embedder("multilingual")
        )
        for conversation in conversations(arguments.data):
            remembered(conversation, context)
            figures += measured(conversation, context, (first, ours, first_whole))
        context.close()
    names = (
        "floor: any three turns",
        "floor: the best hit as it is",
        "ours: three quotes, cut",
        "three best hits as they are",
    )
    means = [Covered(*np.mean([row[at] for row in figures], axis=0)) for at in range(len(names))]
    rows = [
        [name, f"{mean.words:.3f}", f"{mean.whole:.3f}", f"{mean.characters:.0f}"]
        for name, mean in zip(names, means, strict=True)
    ]
    heads = ["reply", "words of the gold answer in it", "all of them", "characters"]
    text = (
        f"{table(heads, rows)}\n\n{len(figures)} questions; ours over the best floor: "
        f"{means[2].words / means[1].words:.2f}x."
    )
    write_section(
        "chat", "Chat without a model", f"python -m bench.chat --data {arguments.data.name}", text
    )


if __name__ == "__main__":
    main()
