"""Recognise the wishes of a user, and facts to remember, in a message: by a small network.

The network reads the vector of the built-in sentence encoder, which means the same in all of its
languages. bench/instructions trains it on labelled sentences and writes wishes.json.
"""

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...protocol.patterns import regex
from ...search import OwnSentence
from ...search.embedders.multilingual import MultilingualEmbedder
from ...search.embedders.port import Vectors
from .words import across

# --- The sentences that a user says ----------------------------------------------------------

SENTENCE_CHARACTERS_MAX = 600  # longer ones are lists or pasted text
LETTERS_MIN = 3  # of a sentence
SENTENCES_MAX = 16  # read per message, from both ends; more come from pasted text
END_CHARACTERS = 20_000  # read of each end of a message
# Between two ends: too long for a sentence, so that none is made of parts of two.
_GAP = "x" * (SENTENCE_CHARACTERS_MAX + 1)

# Code, quoted text, elements of markup. Repeats are bounded or exclude their own opening, so that
# no text is read twice.
_QUOTED = regex(
    r"```.*?(?:```|\Z)|`[^`\n]{1,200}`|<(?P<tag>[A-Za-z]\w{0,20})>[^<]{0,4000}(?:</(?P=tag)>|\Z)"
    r"|\"[^\"\n]{1,1000}\"|“[^“”\n]{1,1000}”|„[^„“”\n]{1,1000}[“”]|«[^«»\n]{1,1000}»"
    r"|「[^「」\n]{1,1000}」|'(?<!\w')[^'\n]{3,200}'(?!\w)|‘[^‘’\n]{1,200}’(?!\w)",
    re.DOTALL,
)
# Lines of e-mail quotes, of programs, of logs and of differences between files.
_FOREIGN_LINE = regex(
    r"\n[ \t]{0,20}+(?=[>$%/*{}+@\d\[difcneFTEWID-])"
    r"(?:>|[$%] |//|/\*|\*/|[{}]|[+-](?=\S)|@@|diff --|import \w"
    r"|from [\w.]{1,60} import|def \w{1,60}\(|class \w{1,60}[(:]|npm (?:warn|err)|FAILED "
    r"|exit code|Traceback|(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|E:)\b"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:|\[\d\d:\d\d)[^\n]*"
)
# Labels with which users mark what they say themselves.
_OWN_LABEL = (
    r"remember|remind|note|fyi|ps|rule|important|correction|please|hey|hi|hello|ok|thanks|also"
    r"|one|in|from|for|merk|merke|denk|notiz|wichtig|regel|bitte|ab|von|souviens|rappelle|retiens"
    r"|règle|dorénavant|désormais|recuerda|apunta|nota|regla|importante|ricorda"
    r"|ricordati|regola|запомни|помни|заметка|правило|важно|记住|请|备忘|注意|规则|以后|今后"
)
# Lines with the name of a speaker or a field ("Bob: ...", "[Alice] ...", "Subject: ..."), and what
# follows up to an empty line: a chat or a form.
_LABELLED_BLOCK = regex(
    r"(?<=\n)[ \t]{0,8}+(?=\S)(?:\[[^\]\n]{1,30}\][ \t]|(?:(?:user|assistant|system|human|ai)"
    rf"|(?!(?i:{_OWN_LABEL}))[^\W\d_a-zà-ÿа-яё][\w'’-]{{0,20}}(?: [\w'’-]{{1,20}})?)"
    r"[ \u00a0]?[:：](?!\n))(?:[^\n]|\n(?!\n))*"
)
_HEADING = regex(r"\n[ \t]{0,3}#{1,6} [^\n]+\n")
_COLON = regex(r"[:：]\s")
_HEADER = regex(r"[:：][ \t]{0,8}\n")
_UNSAFE = regex(r"https?://|www\.|\|\s*(?:sudo )?(?:ba|z|da)?sh\b|\bhttp\b.*\bsh\b|\[masked:")
_CREDENTIAL = regex(r"\b(?:password|passwort|passwd|contraseña|пароль)\b|密码|api keys?\b")
_TASK = regex(across("task"))
_VISIBLE = regex(r"\S")
_ABBREVIATION = regex(
    r"(?:\b(?:dr|mr|mrs|ms|prof|st|vs|etc|e\.g|i\.e|z\.b|bzw|ca|nr|no|approx|sr|sra|mme|sig|т\.е"
    r"|т\.д)|\b\w)$"
)
# Patterns begin with one set of characters or one literal: such a search is fast.
_END = regex(r"[.!?…\n。！？](?:(?<=[\n。！？])|(?<![.!?…][.!?…])[.!?…]{0,7}(?=[\s\"'»”)\]*]|$))")
_SAME_LENGTH = (("’", "'"), ("‘", "'"), ("ʼ", "'"), ("\t", " "), ("\r", " "), ("\u00a0", " "))
_EDGES = string.whitespace + "-*•·>\"'([_"


def own_sentences(message: str) -> list[OwnSentence]:
    """Return the sentences that a user says, in order; of very many, the first and the last.

    Of a message of more than 2 x END_CHARACTERS, the two ends are read.

    They are in lower case, as long as in the message, with underscores for quoted text and code.
    Left out are questions, quotes, code, logs, lines of other speakers, fields of a form, what
    follows a heading of Markdown or a line such as "Translate this:", and sentences with an
    address, a pipe to a shell or credentials, which nobody should follow from memory.
    """
    skipped = 0
    if len(message) > 2 * END_CHARACTERS:
        ends_only = message[:END_CHARACTERS] + _GAP + message[-END_CHARACTERS:]
        message, skipped = ends_only, len(message) - len(ends_only)
    text = f"\n{message}"
    for pattern in (_QUOTED, _FOREIGN_LINE, _LABELLED_BLOCK):
        text = pattern.sub(lambda match: _VISIBLE.sub("_", match[0]), text)
    text = _lower(text[1:])
    heading = _HEADING.search(f"\n{text}")
    last = heading.start() if heading else len(text)
    for match in _HEADER.finditer(text, 0, last):
        if _TASK.search(text, max(0, match.start() - 120), match.start()):
            last = match.end()  # what follows "Translate this:" is pasted
            break
    ends = [
        match.end()
        for match in _END.finditer(text, 0, last)
        if match[0] != "."
        or not _ABBREVIATION.search(text, max(0, match.start() - 8), match.start())
    ]
    places = [place for place in pairwise([0, *ends, last]) if text[slice(*place)].strip()]
    if len(places) > SENTENCES_MAX:
        places = places[: SENTENCES_MAX // 2] + places[-SENTENCES_MAX // 2 :]
    sentences = [one for start, end in places if (one := _sentence(message, text, start, end))]
    return [
        OwnSentence(start + skipped if start > END_CHARACTERS else start, said)
        for start, said in sentences
    ]


def _sentence(message: str, text: str, start: int, end: int) -> OwnSentence | None:
    """Return what a user says in a sentence, without a question at its end; None for nothing."""
    body = text[start:end].rstrip()
    colon = _COLON.search(body)
    if colon and _TASK.search(body, 0, colon.start()):  # "Translate: ..."
        body = body[: colon.start()]
    if body.endswith(("?", "？")):  # "I ..., can you ...?"
        body = body[: max(map(body.rfind, ",，")) + 1].rstrip(",，")
    lead = len(body) - len(body.lstrip(_EDGES))
    body = body[lead:]
    if sum(map(str.isalpha, body)) < LETTERS_MIN or len(body) > SENTENCE_CHARACTERS_MAX:
        return None
    if _UNSAFE.search(message[start:end]) or _CREDENTIAL.search(body):
        return None
    return OwnSentence(start + lead, body)


def _lower(text: str) -> str:
    """Return a text in lower case, of the same length, with plain apostrophes and spaces."""
    lowered = text.lower()
    if len(lowered) != len(text):  # one capital of Turkish becomes two characters
        lowered = "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
    for mark, plain in _SAME_LENGTH:
        lowered = lowered.replace(mark, plain)
    return lowered


# --- The sentences that state a wish, or a fact to remember -------------------------------------

Kind: TypeAlias = Literal["none", "instruction", "preference", "fact"]
# As the network orders them.
KINDS: tuple[Kind, ...] = ("none", "instruction", "preference", "fact")
FACT_MIN = 0.5  # probability of a fact to remember from which a sentence states one
CONDITION_MIN = 6  # characters of a condition before an order that follows without a comma
_CONDITION_EDGES = " \t\r\n.,;:!?。，！？…\"'()"
_FINAL = " \t\r\n.!?。！？…,;*_\"')"
_CLAUSE = regex(r"[,，;；:：.!]\s*|\s[-–—]\s|\b(?:and|but|und|aber|et|mais|y|pero|e|ma|и|а)\s")
_PAUSE = regex(r"[,，:：]|\s[-–—]\s")
_HAN = "\u4e00-\u9fff"
_OPENING = regex(rf"(?:{across('opening')})(?![^\W{_HAN}])")
_LATE = regex(rf"(?<![^\W{_HAN}])(?:{across('late')})(?![^\W{_HAN}]).{{3,}}")
_INNER = regex(rf"(?:(?<=\s)|(?<=[{_HAN}]))(?:{across('inner')})(?=[\s{_HAN}])")
Array: TypeAlias = npt.NDArray[np.float32]


class Instruction(NamedTuple):
    """A standing instruction, a preference or a fact to remember, as the user wrote it.

    `condition` is the part that says when an instruction applies, verbatim; None means always.
    `start` is its place in the message, in characters.
    """

    text: str
    condition: str | None
    kind: Literal["instruction", "preference", "fact"] = "instruction"
    start: int = 0


class Network(NamedTuple):
    """A network with one hidden layer: probabilities of KINDS from vectors of sentences."""

    first: Array  # (dimensions, hidden)
    first_bias: Array  # (hidden,)
    second: Array  # (hidden, kinds)
    second_bias: Array  # (kinds,)
    wish_min: float  # probability of a wish from which a sentence states one

    def probabilities(self, vectors: Array) -> Array:
        """Return the probability of each kind, (texts, kinds), for vectors (texts, dimensions)."""
        hidden = np.maximum(vectors @ self.first + self.first_bias, 0)
        odds = hidden @ self.second + self.second_bias
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True), np.float32)


@cache
def network() -> Network:
    """Return the network of wishes.json: weights are whole numbers of 8 bits, times a step."""
    text = resources.files(__package__).joinpath("wishes.json").read_text("utf-8")
    stored = json.loads(text)
    layers = [
        np.frombuffer(base64.b64decode(stored[name]), np.int8).reshape(stored[f"{name}_shape"])
        * np.float32(stored[f"{name}_step"])
        for name in ("first", "second")
    ]
    biases = [np.array(stored[f"{name}_bias"], np.float32) for name in ("first", "second")]
    return Network(layers[0], biases[0], layers[1], biases[1], stored["wish_min"])


def instructions_in(message: str) -> list[Instruction]:
    """Return the sentences of a user's message that state a wish, or a fact to remember, in order.

    See `stated_in`.
    """
    return stated_in(message, own_sentences(message))


def stated_in(
    message: str, sentences: Sequence[OwnSentence], vectors: Vectors | None = None
) -> list[Instruction]:
    """Return those of the sentences of a message that state a wish, or a fact to remember.

    `vectors` (sentences, dimensions) are those of the built-in embedder. Without them the first
    call of a process loads it, whatever embeds the turns.
    """
    if not sentences:
        return []
    if vectors is None:
        vectors = _encoder().encode([sentence.text for sentence in sentences])
    trained = network()
    shares = trained.probabilities(vectors)
    best = shares[:, 1:3].argmax(axis=1) + 1
    best[shares[:, 1:3].sum(axis=1) < trained.wish_min] = 0
    best[shares[:, 3] > FACT_MIN] = 3
    result = []
    for sentence, number in zip(sentences, best, strict=True):
        kind = KINDS[number]
        if kind == "none":
            continue
        text = message[sentence.start : sentence.start + len(sentence.text)]
        condition = None if kind == "fact" else condition_of(text, sentence.text, kind)
        result.append(Instruction(text, condition, kind, sentence.start))
    return result


@cache
def _encoder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


def condition_of(text: str, low: str, kind: Kind) -> str | None:
    """Return the part of an instruction that says when it applies, or None.

    It begins a clause, up to a comma or to the order, or ends an instruction. `low` is the text in
    lower case, as long.
    """
    place = _leading(low)
    if place is None and kind == "instruction":
        match = _LATE.search(low.rstrip(_FINAL), 1)
        place = None if match is None else match.span()
    return None if place is None else text[slice(*place)].strip(_CONDITION_EDGES) or None


def _leading(low: str) -> tuple[int, int] | None:
    for start in [0, *(match.end() for match in _CLAUSE.finditer(low))][:3]:
        opening = _OPENING.match(low, start)
        if opening is None:
            continue
        pause = _PAUSE.search(low, opening.end())
        end = pause.start() if pause else len(low)
        order = _INNER.search(low, opening.end() + CONDITION_MIN, end)
        if order is not None or pause is not None:
            return start, order.start() if order else end
    return None
