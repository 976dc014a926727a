"""Search with the default embedder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from memory.asking import Memory, opened

from remembrancer.search import Embedder, open_embedder

TURNS = [
    (
        "Wann ist die Schlüsselübergabe?",
        "Am 28. Mai mit Herrn Brandstätter, um zehn Uhr vor dem Haus.",
    ),
    ("母は何を食べられませんか。", "そばアレルギーがあるので、そばは食べられません。"),
    (
        "How much soil do the two raised beds need?",
        "About 2.3 cubic metres; order two and a half, it settles.",
    ),
    ("Where is the spare key?", "Under the blue flower pot by the back door."),
    ("Какой пароль у насоса?", "Пароль насоса записан на внутренней стороне крышки."),
    ("Who fixed the violin?", "Marta in the old mill, for forty euros."),
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """Return the embedder, loaded once because loading takes half a second."""
    return open_embedder("multilingual")


@pytest.fixture(scope="module")
def memory(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Return a memory with turns in four languages."""
    with opened(tmp_path_factory.mktemp("meaning"), embedder=embedder) as memory:
        for turn in TURNS:
            memory.tell(*turn)
        yield memory


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("When do we get the keys from the landlord?", 0),
        ("What food is my mother allergic to?", 1),
        ("Wie viel Erde brauchen die Hochbeete?", 2),
        ("予備の鍵はどこですか", 3),
        ("Where is the pump's password written down?", 4),
        ("Combien a coûté la réparation du violon ?", 5),
    ],
)
def test_turn_is_found_by_a_query_in_another_language(
    memory: Memory, question: str, place: int
) -> None:
    hits = memory.ask(question).hits[:2]  # a turn in the question's language may have its words

    [hit] = [one for one in hits if (one.query, one.response) == TURNS[place]]
    assert next(signal.rank for signal in hit.why if signal.signal == "dense") is not None
