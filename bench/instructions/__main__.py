"""Measure the recognition of wishes in messages of users, or train it.

    python -m bench.instructions [--train] --data FOLDER

The labelled messages of held_out.toml and strangers.toml were never used for training or tuning.
`--train` first writes memory/instructions/wishes.json, from tuned.toml, talk.toml, passing.toml,
frames.toml, prompts.toml and conversations in FOLDER. In the two weeks of two_weeks.toml few
sentences are wishes, as in real work.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from bench.instructions.labelled import HELD_OUT, STRANGERS, Message, counts, messages
from bench.instructions.training import (
    SETS,
    conversations,
    framed,
    labelled,
    prompts,
    stated,
    store,
    talk,
    trained,
    user_turns,
)
from bench.report import arguments_of, table, write_section
from bench.two_weeks import PLAY, play
from remembrancer.memory.instructions import instructions_in, own_sentences

TURNS = 800  # of each set of conversations, whose wishes are counted


def labelled_table(held_out: Sequence[Message]) -> str:
    """Return precision and recall on labelled messages, by language and shape."""
    parts = {"all": held_out}
    for name in ("language", "shape"):
        for value in dict.fromkeys(getattr(one, name) for one in held_out):
            parts[value] = [one for one in held_out if getattr(one, name) == value]
    rows = []
    for name, chosen in parts.items():
        wishes, facts = counts(chosen), counts(chosen, facts=True)
        rows.append(
            [
                name,
                str(wishes.messages),
                str(wishes.labels),
                f"{wishes.precision:.3f}",
                f"{wishes.recall:.3f}",
                f"{wishes.right_kind} of {wishes.correct}",
                f"{wishes.right_condition} of {wishes.correct}",
                f"{facts.correct} of {facts.labels}, {facts.recognised} recognised",
            ]
        )
    heads = ["messages", "number", "wishes", "precision", "recall", "kind", "condition", "facts"]
    return table(heads, rows)


def conversation_table(folder: Path) -> str:
    """Return how many wishes are recognised in conversations, and the time."""
    rows = []
    for name in SETS:
        texts = user_turns(folder / name)[:TURNS]
        start = time.process_time()
        recognised = sum(len(instructions_in(text)) for text in texts)
        mean_ms = (time.process_time() - start) * 1_000 / len(texts)
        rows.append([name, str(len(texts)), str(recognised), f"{mean_ms:.2f}"])
    return table(["conversations", "turns", "recognised", "CPU ms a turn"], rows)


def two_weeks_table() -> str:
    """Return how many sentences of two weeks of work are recognised, and how many are wishes."""
    document = tomllib.loads(PLAY.read_text("utf-8"))
    messages_sent = [turn.user for turn in play(PLAY)[0]]
    recognised = [one.text for text in messages_sent for one in instructions_in(text)]
    rows = []
    for name in ("wishes", "perhaps_wishes"):
        starts = document[name]
        right = sum(any(one.startswith(start) for start in starts) for one in recognised)
        rows.append([name.replace("_", " "), str(len(starts)), str(right)])
    sentences = sum(len(own_sentences(text)) for text in messages_sent)
    rows.append(["all sentences", str(sentences), str(len(recognised))])
    return table(["two weeks", "number", "recognised"], rows)


def main() -> None:
    """Train if asked to, measure, and write the tables."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversations")
    parser.add_argument("--train", action="store_true", help="write wishes.json first")
    arguments = parser.parse_args()
    folder = arguments.data if arguments.data.is_dir() else arguments.data.parent
    if arguments.train:
        examples = labelled(messages()) + talk() + framed() + stated(folder) + prompts()
        store(trained(examples, conversations(folder)))
    write_section(
        "instructions",
        "Wishes in messages of users",
        "python -m bench.instructions --data FOLDER",
        f"Held-out messages.\n\n{labelled_table(messages(HELD_OUT))}\n\n"
        "Messages by somebody who knew neither rules nor training.\n\n"
        f"{labelled_table(messages(STRANGERS))}\n\n"
        f"Conversations.\n\n{conversation_table(folder)}\n\n{two_weeks_table()}",
    )


if __name__ == "__main__":
    main()
