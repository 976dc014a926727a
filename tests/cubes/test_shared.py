"""Cubes in search results, and the ratings due for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cubes.agents import KETTLE, Agent
from hypothesis import given, settings
from hypothesis import strategies as st
from memory.asking import Concepts

from remembrancer import testing
from remembrancer.cubes import serving as shared
from remembrancer.cubes.lessons import SQL
from remembrancer.memory.maintenance import Maintenance
from remembrancer.search import open_embedder
from remembrancer.search.embedders.port import NoEmbedder


def test_own_cube_is_returned_with_all_fields(ada: Agent) -> None:
    cube_id = ada.make(model="gpt-x").cube_id

    [cube] = ada.matching_cubes()

    assert (cube.cube_id, cube.model, cube.rules_markdown) == (cube_id, "gpt-x", KETTLE["rules"])
    for field in ("kind", "topic", "essence", "evidence"):
        assert getattr(cube, field) == KETTLE[field]
    assert 0.35 < cube.score <= 1
    assert cube.note.startswith("own")  # specification.md#cube-note-own


def test_published_cube_is_visible_to_all_without_its_author(ada: Agent, bob: Agent) -> None:
    """Account and event ids stay hidden (specification.md#cube-anonymous)."""
    cube_id = ada.publish(evidence="e_0123456789abc, and my kitchen")

    [cube] = bob.matching_cubes()
    [own] = ada.matching_cubes()

    assert (cube.cube_id, cube.evidence) == (cube_id, "an event of its author, and my kitchen")
    assert own.evidence == "e_0123456789abc, and my kitchen"
    assert "ada" not in cube.model_dump_json()
    assert "model" not in cube.model_dump(mode="json")
    assert ada.shown_ids() == [cube_id]


@pytest.mark.parametrize("words", [b"", b"\x00", bytes(500)])
def test_damaged_index_words_are_rebuilt_from_the_text(
    ada: Agent, folder: Path, words: bytes
) -> None:
    cube_id = ada.publish()
    private = ada.make().cube_id
    ada.context.store.write(lambda tx: tx.run("update cube_index set words = :words", words=words))
    again = testing.context(folder)

    assert set(Agent(again, "ada").shown_ids()) == {cube_id, private}
    again.close()


def test_cube_of_another_context_is_found_at_once(ada: Agent, folder: Path) -> None:
    """Reads see writes of other processes (specification.md#cube-read-your-writes)."""
    ada.publish()
    other = testing.context(folder)
    visible = Agent(other, "bob")
    before = visible.shown_ids()
    later = ada.publish()

    assert later not in before
    assert later in visible.shown_ids()
    other.close()


def test_erased_cube_is_hidden_even_with_an_outdated_index(ada: Agent) -> None:
    cube_id = ada.publish()
    cube = ada.publish()
    ada.matching_cubes()

    for table in ("cube_index", "cubes"):
        ada.context.store.write(lambda tx, table=table: tx.run(f"delete from {table} where id = 1"))  # type: ignore[misc]
    behind = ada.shown_ids()
    ada.context.store.write(lambda tx: tx.run(SQL.revise))

    assert cube_id not in behind
    assert ada.shown_ids() == behind == [cube]
    assert ada.context.index_cache.take(shared.ALL).view().events == 1


WORD = st.sampled_from(
    ["kettle", "descaled", "vinegar", "how", "is", "water", "boil", "ferry", "the", "zxqv"]
)
WORDS = st.lists(WORD, min_size=1, max_size=8).map(" ".join)


@settings(max_examples=15, deadline=None)
@given(foreign=st.lists(WORDS, max_size=8))
def test_private_cubes_of_others_do_not_affect_the_ranking(
    tmp_path_factory: pytest.TempPathFactory, foreign: list[str]
) -> None:
    """Ranks, scores and loaded indexes stay the same."""
    context = testing.context(tmp_path_factory.mktemp("cubes"))
    ada, bob = Agent(context, "ada"), Agent(context, "bob")
    ada.publish()
    ada.make(essence="Boil the vinegar first.")
    before = ada.matching_cubes()
    for text in foreign:
        bob.make(essence=text)

    assert ada.matching_cubes() == before
    context.close()
    assert foreign == [] or (shared.ALL, bob.caller.account_id) not in context.index_cache._indexes


def test_cubes_are_found_without_an_embedder(folder: Path) -> None:
    context = testing.context(folder, embedder=NoEmbedder())
    ada = Agent(context, "ada")
    cube_id = ada.publish()
    ferries = {"topic": "ferries", "rules": "- MUST be there by eight."}
    for n in range(20):
        ada.publish(essence=f"The ferry of day {n} leaves at nine.", **ferries)

    assert ada.shown_ids() == [cube_id]
    assert ada.matching_cubes("Who is the mayor?") == []
    context.close()


LESSONS = [
    ("kettles", "Descaling a kettle takes vinegar and ten minutes.", "- MUST boil it with water."),
    (
        "python requests",
        "requests has no default timeout, so a call can hang for ever.",
        "- MUST pass timeout= to every call.",
    ),
    (
        "docker layers",
        "COPY the requirements first, then the source.",
        "- MUST order the lines from stable to volatile.",
    ),
    (
        "sqlite",
        "WAL mode lets readers and one writer work at once.",
        "- MUST set journal_mode=WAL.",
    ),
    (
        "meetings in Japan",
        "A silence in a meeting is thinking, not refusal.",
        "- SHALL wait before asking again.",
    ),
]
TOPICS_BY_QUESTION = {
    "How do I get limescale out of my kettle?": "kettles",
    "Wie entkalke ich den Wasserkocher?": "kettles",
    "My script hangs when it calls an API with requests": "python requests",
    "docker build is slow because the packages are installed each time": "docker layers",
    "concurrent readers in sqlite": "sqlite",
    "In the meeting with our partners in Tokyo nobody answered me": "meetings in Japan",
    "When does the ferry to Elba leave?": None,
    "Write a poem about autumn": None,
    "Thank you!": None,
    "Which paint is on the fence?": None,
}


def test_multilingual_embedder_finds_cubes_by_meaning(folder: Path) -> None:
    """Cubes are found by meaning, too (specification.md#cube-search-hybrid)."""
    context = testing.context(folder, embedder=open_embedder("multilingual"))
    ada = Agent(context, "ada")
    for topic, essence, rules in LESSONS:
        ada.publish(topic=topic, essence=essence, rules=rules)

    for question, expected in TOPICS_BY_QUESTION.items():
        assert next((cube.topic for cube in ada.matching_cubes(question)), None) == expected
    context.close()


HOUND = {
    "topic": "hounds",
    "essence": "A hound wants to be walked before noon.",
    "rules": "- MUST walk it before noon.",
}


def finds_by_meaning(agent: Agent) -> bool:
    """Return True if "puppy", a word in no cube, finds the cube about hounds."""
    return [cube.topic for cube in agent.matching_cubes("puppy")] == ["hounds"]


def store_cubes(folder: Path, cubes: int) -> None:
    """Store shared and private cubes of two accounts, one of them about hounds, with another embedder."""
    context = testing.context(folder, embedder=Concepts("concepts/1"))
    ada, bob = Agent(context, "ada"), Agent(context, "bob")
    for n in range(cubes - 1):
        (ada.publish if n % 2 else bob.make)()
    ada.publish(**HOUND)
    context.close()


def test_upkeep_renews_cubes_after_the_events(folder: Path) -> None:
    store_cubes(folder, 3)
    context = testing.context(folder, embedder=Concepts("concepts/2"))

    while Maintenance(context).step():
        pass

    assert finds_by_meaning(Agent(context, "ada"))
    context.close()
