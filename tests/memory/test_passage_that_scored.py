"""The passage that a hit shows, marks and explains is the one that scored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memory.asking import Memory, opened

from remembrancer.context import Context
from remembrancer.memory.recall.explain import explain
from remembrancer.memory.recall.recall import Search
from remembrancer.protocol.limits import SNIPPET_CHARACTERS_MAX
from remembrancer.protocol.search import MemoryQuery
from remembrancer.search import analyze, highlight, side_passages
from remembrancer.store import Transaction
from remembrancer.testing import HashEmbedder

FILLER = "The weather stayed dry and the paper was sorted into boxes. " * 30
NOTICE = "<system-reminder>The kiln list changed on disk.</system-reminder>"
TURNS = [
    ("How hot is it?", FILLER + "The kiln of the pottery fires at 1,240 degrees." + FILLER),
    (FILLER + "Anna keeps the cello in the attic." + FILLER, "Noted."),
    (f"Carry on.\n{NOTICE}", FILLER + FILLER + "The ferry to Elba leaves from pier 3."),
    (FILLER + "Our boat sails at nine.", FILLER + "The engine of the boat needs oil." + FILLER),
    ("Zwei Fragen.", FILLER + "Die Fähre fährt um neun Uhr." + FILLER),
    ("我在哪里?", FILLER + "你住在京都的旧房子里。" + FILLER),
    ("short kiln", "short pottery"),
]
QUERIES = [
    "At which temperature does the kiln fire?",
    "Where is the cello of Anna?",
    "From which pier does the ferry to Elba leave?",
    "What does the engine of the boat need?",
    "When does our boat sail?",
    "Wann fährt die Fähre?",
    "京都的房子",
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Return a memory of long turns, each with one sentence that matters."""
    folder: Path = tmp_path_factory.mktemp("passages")
    with opened(folder, embedder=HashEmbedder()) as memory:
        for number, (query, response) in enumerate(TURNS):
            memory.tell(query, response, session_id=f"s{number % 3}")
        yield memory


def outcome_of(memory: Memory, text: str) -> Search:
    """Return a search with its ranking."""
    query = MemoryQuery(query_text=text, user_id=memory.user_id, interact=False, top_k=10)
    context: Context = memory.context

    def read(tx: Transaction) -> Search:
        search = Search(context, tx, memory.caller, memory.user_id, query)
        search.run()
        return search

    return context.store.read(read, account_id=memory.caller.account_id)


@pytest.mark.parametrize("text", QUERIES)
def test_the_part_of_a_hit_scores_highest_of_its_turn(memory: Memory, text: str) -> None:
    outcome = outcome_of(memory, text)
    ranking = outcome.ranking
    assert ranking is not None

    for hit in outcome.ranked_hits:
        of_turn = ranking.base_of(np.flatnonzero(ranking.view["event"] == hit.event))
        assert ranking.base_of(np.array([hit.part]))[0] == of_turn.max()
    assert outcome.ranked_hits


@pytest.mark.parametrize("text", QUERIES)
def test_the_place_of_a_part_is_the_passage_that_was_indexed(memory: Memory, text: str) -> None:
    outcome = outcome_of(memory, text)
    ranking = outcome.ranking
    assert ranking is not None

    for hit in outcome.ranked_hits:
        query, response = TURNS[hit.event]
        parts = analyze(query=query, response=response, topic=None, occurred_ms=0)
        first = int((ranking.view["event"] == hit.event).argmax())
        side, place = ranking.place_of(hit.part)
        assert (
            parts[hit.part - first].text
            == side_passages(TURNS[hit.event][side])[place].text.strip()
        )


@pytest.mark.parametrize("text", QUERIES)
def test_a_hit_shows_and_marks_the_passage_that_scored(memory: Memory, text: str) -> None:
    """The text of the side that scored comes from its passage, with a mark where words match."""
    query = MemoryQuery(query_text=text, user_id=memory.user_id, top_k=10)
    explanation = explain(memory.context, memory.caller, query)
    outcome = outcome_of(memory, text)
    languages = outcome.ranking.view.languages if outcome.ranking else ()
    words = outcome.ranking.lexical.words if outcome.ranking else []

    for hit, ranked in zip(explanation.hits, outcome.ranked_hits, strict=True):
        passage = side_passages(TURNS[ranked.event][("query", "response").index(hit.side)])[
            hit.passage - 1
        ].text
        text_of_hit = getattr(hit, hit.side).strip("…")
        assert len(text_of_hit) <= SNIPPET_CHARACTERS_MAX
        beginning = text_of_hit[:40]
        assert beginning in passage or passage.strip()[:40] in text_of_hit
        excerpt = getattr(hit, hit.side)[hit.passage_start : hit.passage_end]
        assert excerpt
        assert excerpt.strip("…").strip() in passage
        if highlight(passage, words, languages):
            assert [mark for mark in hit.marks if mark.side == hit.side]


def test_the_turn_that_answers_shows_its_sentence(memory: Memory) -> None:
    answers = [
        "1,240",
        "cello in the attic",
        "pier 3",
        "needs oil",
        "sails at nine",
        "neun",
        "京都",
    ]
    numbers = [0, 1, 2, 3, 3, 4, 5]

    for text, number, answer in zip(QUERIES, numbers, answers, strict=True):
        outcome = outcome_of(memory, text)
        places = [ranked.event for ranked in outcome.ranked_hits]
        hit = outcome.answer.hits[places.index(number)]
        assert answer in hit.query + hit.response
