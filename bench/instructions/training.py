"""Train the network that recognises wishes, on labelled sentences in seven languages."""

from __future__ import annotations

import base64
import json
import random
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench.instructions.labelled import LETTERS, Message
from bench.unasked import labelled as labelled_texts
from remembrancer.memory.instructions import wishes
from remembrancer.memory.instructions.wishes import KINDS, Network, own_sentences
from remembrancer.search import open_embedder

FRAMES = Path(__file__).with_name("frames.toml")
TALK = Path(__file__).with_name("talk.toml")
PASSING = Path(__file__).with_name("passing.toml")
SETS = ("beam-dev.json", "realmem-dev.json", "locomo-dev.json")  # of conversations
STATED = "prefeval-explicit-dev.json"
CONTENTS_PER_FRAME = 6
PER_SET = 3_000  # sentences of a set
SURE = 0.9  # a sentence of a conversation that is a wish with this probability is left out
WEIGHTS = {
    "frame": 0.2,
    "conversation": 0.2,
    "prompt": 0.2,
    "stated": 0.3,
    "passing": 0.5,
}  # of a sentence; 1 for a labelled one
NETWORKS = 6  # whose mean log odds are the network's: a single one depends on chance
HIDDEN, ROUNDS, BATCH, RATE, DROPPED, DECAY = 48, 40, 128, 2e-3, 0.4, 1e-3
SCALE = 15  # of a vector's 512 numbers, for training
WISH_MIN = 0.65
Array = npt.NDArray[np.float32]


class Example(NamedTuple):
    """A sentence in lower case, what it states, and where it is from."""

    text: str
    kind: str
    source: str


def labelled(chosen: Iterable[Message]) -> list[Example]:
    """Return the sentences of labelled messages."""
    return [
        Example(one.text, message.kind_of(one.start, one.start + len(one.text)), "labelled")
        for message in chosen
        for one in own_sentences(message.text)
    ]


def talk() -> list[Example]:
    """Return the sentences of talk.toml and passing.toml."""
    return [
        Example(one.text, kind, source)
        for path, source in ((TALK, "labelled"), (PASSING, "passing"))
        for kinds in tomllib.loads(path.read_text("utf-8")).values()
        for kind, lines in kinds.items()
        for line in lines.strip().splitlines()
        for one in own_sentences(line)[: None if kind == "none" else 1]
    ]


def prompts() -> list[Example]:
    """Return the sentences of prompts.toml: none states a wish."""
    texts = [text for _, text, _ in labelled_texts("prompts.toml", "alone")]
    return [Example(one.text, "none", "prompt") for text in texts for one in own_sentences(text)]


def framed() -> list[Example]:
    """Return frames filled with some of their contents."""
    chance, examples = random.Random(5), []
    for table in tomllib.loads(FRAMES.read_text("utf-8")).values():
        lists = {name: lines.strip().splitlines() for name, lines in table.items()}
        acts, choices = ([one.split(" | ") for one in lists[name]] for name in ("acts", "choices"))
        contents = {
            "order": [{"{i}": act[0], "{v}": act[1]} for act in acts],
            "taste": [{"{x}": one} for one in lists["things"]],
            "statement": [{"{s}": one} for one in lists["states"]],
            "choice": [dict(zip(("{a}", "{b}"), one, strict=True)) for one in choices],
            "place": [{"{d}": one} for one in lists["places"]],
        }
        for name, frames in lists.items():
            subject, _, letter = name.partition("_")
            for frame in frames if letter else []:
                number = min(CONTENTS_PER_FRAME, len(contents[subject]))
                for content in chance.sample(contents[subject], number):
                    text = frame
                    for place, words in content.items():
                        text = text.replace(place, words)
                    examples.append(Example(text.lower(), LETTERS[letter], "frame"))
    return examples


def user_turns(path: Path) -> list[str]:
    """Return what people say in the conversations of a file in the shape of LoCoMo."""
    return [
        turn["text"]
        for sample in json.loads(path.read_text("utf-8"))
        for value in sample["conversation"].values()
        if isinstance(value, list)
        for turn in value
        if turn["speaker"].lower() != "assistant"
    ]


def conversations(folder: Path) -> list[Example]:
    """Return sentences of conversations; hardly any states a wish."""
    chance, examples = random.Random(2), []
    for name in SETS:
        turns = user_turns(folder / name)
        chance.shuffle(turns)
        own = [one.text for turn in turns[:PER_SET] for one in own_sentences(turn)]
        examples += [Example(text, "none", "conversation") for text in own[:PER_SET]]
    return examples


def stated(folder: Path, left_out: Sequence[str] = ()) -> list[Example]:
    """Return the preferences of PrefEval, without those of some topics."""
    return [
        Example(one.text, "preference", "stated")
        for sample in json.loads((folder / STATED).read_text("utf-8"))
        if sample["sample_id"] not in left_out
        for text in evidence_of(sample)
        for one in own_sentences(text)[:1]
    ]


def evidence_of(sample: dict[str, Any]) -> list[str]:
    """Return the turn that answers each question of a conversation."""
    turns = {
        turn["dia_id"]: turn["text"]
        for value in sample["conversation"].values()
        if isinstance(value, list)
        for turn in value
    }
    return [turns[one["evidence"][0]] for one in sample["qa"]]


def trained(examples: Sequence[Example], unlabelled: Sequence[Example] = ()) -> Network:
    """Return a network trained on examples, and on those of the unlabelled that it takes for none.

    Networks trained with the other half of the unlabelled ones leave the likely wishes out (the
    two-step method of learning from positive and unlabelled examples: Bekker, Davis, Machine
    Learning 109, 2020).
    """
    halves = [unlabelled[0::2], unlabelled[1::2]]
    kept = [
        one
        for half, other in (halves, halves[::-1])
        for one, share in zip(half, _wish_shares(_fit([*examples, *other]), half), strict=True)
        if share < SURE
    ]
    parts = [_fit([*examples, *kept], seed) for seed in range(NETWORKS)]
    return Network(
        np.concatenate([one.first for one in parts], axis=1),
        np.concatenate([one.first_bias for one in parts]),
        np.asarray(np.concatenate([one.second for one in parts]) / NETWORKS, np.float32),
        np.array([one.second_bias for one in parts]).mean(axis=0),
        WISH_MIN,
    )


def _wish_shares(network: Network, examples: Sequence[Example]) -> Array:
    shares: Array = network.probabilities(vectors_of(examples))[:, 1:3].sum(axis=1)
    return shares


def vectors_of(examples: Sequence[Example]) -> Array:
    """Return the vectors of sentences."""
    return open_embedder("multilingual").encode([one.text for one in examples])


def _fit(examples: Sequence[Example], seed: int = 0) -> Network:
    """Fit by Adam (Kingma, Ba, 2015) with dropout of inputs and a falling rate."""
    chance = np.random.default_rng(seed)
    vectors = vectors_of(examples) * np.float32(SCALE)
    wanted = np.eye(len(KINDS), dtype=np.float32)[[KINDS.index(one.kind) for one in examples]]
    weights = np.array([WEIGHTS.get(one.source, 1.0) for one in examples], np.float32)
    weights /= weights.mean()
    size = vectors.shape[1]
    parts = [
        chance.normal(0, size**-0.5, (size, HIDDEN)).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        chance.normal(0, 0.3, (HIDDEN, len(KINDS))).astype(np.float32),
        np.zeros(len(KINDS), np.float32),
    ]
    means, squares = ([np.zeros_like(part) for part in parts] for _ in range(2))
    steps = ROUNDS * -(-len(examples) // BATCH)
    order = np.concatenate([chance.permutation(len(examples)) for _ in range(ROUNDS)])
    for step, chosen in enumerate(np.array_split(order, steps), 1):
        inputs = vectors[chosen]
        inputs = inputs * (chance.random(inputs.shape, np.float32) > DROPPED) / (1 - DROPPED)
        slopes = _slopes(parts, inputs, wanted[chosen], weights[chosen])
        for place, slope in enumerate(slopes):
            means[place] += 0.1 * (slope - means[place])
            squares[place] += 0.001 * (slope**2 - squares[place])
            change = means[place] / (1 - 0.9**step)
            change /= np.sqrt(squares[place] / (1 - 0.999**step)) + 1e-8
            parts[place] -= np.float32(RATE * (1 - step / steps)) * change
    return Network(parts[0] * SCALE, parts[1], parts[2], parts[3], WISH_MIN)


def _slopes(parts: list[Array], inputs: Array, wanted: Array, weights: Array) -> list[Array]:
    """Return the slopes of the loss in each part of the network, for some examples."""
    hidden = np.maximum(inputs @ parts[0] + parts[1], 0)
    odds = hidden @ parts[2] + parts[3]
    shares = np.exp(odds - odds.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    error = (shares - wanted) * (weights / len(weights))[:, None]
    behind = (error @ parts[2].T) * (hidden > 0)
    return [
        inputs.T @ behind + DECAY * parts[0],
        behind.sum(axis=0),
        hidden.T @ error + DECAY * parts[2],
        error.sum(axis=0),
    ]


def store(network: Network) -> None:
    """Write a network to wishes.json, its weights as whole numbers of 8 bits."""
    stored: dict[str, Any] = {"wish_min": network.wish_min}
    for name, weights, bias in (
        ("first", network.first, network.first_bias),
        ("second", network.second, network.second_bias),
    ):
        step = float(np.abs(weights).max() / 127)
        levels = np.rint(weights / step).astype(np.int8)
        stored |= {
            name: base64.b64encode(levels.tobytes()).decode(),
            f"{name}_shape": list(weights.shape),
            f"{name}_step": step,
            f"{name}_bias": [round(float(one), 4) for one in bias],
        }
    path = Path(wishes.__file__).with_name("wishes.json")
    path.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
