"""Measure how many gold-answer words the chat replies without a model contain.

    python -m bench.chat --data locomo-dev.json

Each turn is an event of a real store. The score of a question is the share of its gold-answer words
(without stop words) in the reply. The dates next to the quotes count too. The baselines are simpler
replies from the same memory. Questions without an answer (category 5) are omitted.
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
from remembrancer.agent.answers import quotes
from remembrancer.context import Context
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.write.events import write_event
from remembrancer.protocol import limits
from remembrancer.protocol.memory import EventWrite
from remembrancer.protocol.search import Hit, MemoryQuery
from remembrancer.search import open_embedder
from remembrancer.settings import Settings

UNANSWERED = 5  # category of the questions that the conversation does not answer
SEED = 7
Reply = Callable[[Sequence[Hit], str], str]


class Coverage(NamedTuple):
    """The score of a reply, or the mean over all questions."""

    words: float  # share of the gold-answer words in the reply
    full: float  # 1 if the reply has all of them
    characters: float


def chat_quotes(hits: Sequence[Hit], question: str) -> str:
    """Return the quotes of the chat."""
    return "\n".join(map(str, quotes(hits, question)))


def best_hit(hits: Sequence[Hit], _: str) -> str:
    """Return the best hit unchanged."""
    return _texts(hits[:1])


def best_hits(hits: Sequence[Hit], _: str) -> str:
    """Return as many unshortened hits as the chat quotes: an upper bound."""
    return _texts(hits[: limits.CHAT_QUOTES_MAX])


def _texts(hits: Sequence[Hit]) -> str:
    return "\n".join(f"{hit.occurred_at[:10]} {hit.query} {hit.response}" for hit in hits)


def random_turns(conversation: Conversation, chance: random.Random) -> str:
    """Return as many random turns as the chat quotes: a baseline."""
    return "\n".join(
        event.query + event.response
        for event in chance.sample(conversation.events, limits.CHAT_QUOTES_MAX)
    )


def store_conversation(conversation: Conversation, context: Context) -> None:
    """Store the conversation, one event per turn."""
    caller = caller_for(context)
    for event in conversation.events:
        when = datetime.fromtimestamp(event.occurred_ms / 1000, UTC)
        write_event(
            context,
            caller,
            EventWrite(
                query=event.query,
                response=event.response,
                occurred_at=when,
                user_id=conversation.name,
                session_id=str(event.session),
            ),
        )


def measured(
    conversation: Conversation, context: Context, replies: Sequence[Reply]
) -> Iterator[list[Coverage]]:
    """Yield the scores of each question, one per reply; the random baseline comes first."""
    caller, chance = caller_for(context), random.Random(SEED)
    for question in conversation.questions:
        expected = content(question.answer)
        if question.category == UNANSWERED or not expected:
            continue
        query = MemoryQuery(
            query_text=question.text,
            user_id=conversation.name,
            top_k=limits.CHAT_HITS_MAX,
            interact=False,
        )
        hits = recall(context, caller, query).hits
        texts = [
            random_turns(conversation, chance),
            *(reply(hits, question.text) for reply in replies),
        ]
        shares = [len(expected & content(text)) / len(expected) for text in texts]
        yield [
            Coverage(share, float(share == 1), len(text))
            for share, text in zip(shares, texts, strict=True)
        ]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    arguments = parser.parse_args()
    figures: list[list[Coverage]] = []
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), durability="normal")
        context = testing.context(
            Path(folder), settings=settings, embedder=open_embedder("multilingual")
        )
        for conversation in conversations(arguments.data):
            store_conversation(conversation, context)
            figures += measured(conversation, context, (best_hit, chat_quotes, best_hits))
        context.close()
    names = (
        "baseline: three random turns",
        "baseline: best hit, unshortened",
        "Remembrancer: three shortened quotes",
        "three best hits, unshortened",
    )
    means = [Coverage(*np.mean([row[at] for row in figures], axis=0)) for at in range(len(names))]
    rows = [
        [name, f"{mean.words:.3f}", f"{mean.full:.3f}", f"{mean.characters:.0f}"]
        for name, mean in zip(names, means, strict=True)
    ]
    heads = ["reply", "share of gold-answer words", "share of full answers", "characters"]
    text = (
        f"{table(heads, rows)}\n\n{len(figures)} questions. Share of words, ratio to the best "
        f"baseline: {means[2].words / means[1].words:.2f}x."
    )
    write_section(
        "chat",
        "Chat replies without a model",
        f"python -m bench.chat --data {arguments.data.name}",
        text,
    )


if __name__ == "__main__":
    main()
