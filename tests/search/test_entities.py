"""Names, identifiers, dates and amounts are found by their characters (search/text/entities.py)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis.strategies import text

from remembrancer.search import entities, entities_of_turn, entity_keys
from remembrancer.search.text.entities import CHARACTERS_MAX, ENTITIES_MAX, KINDS


def keys(sentence: str) -> set[str]:
    """Return the keys of the entities of a sentence."""
    return {entity.key for entity in entities(sentence)}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I met Anna Weber in Berlin.", {"name:anna weber", "name:berlin"}),
        ("Ich treffe Anna Weber in der Kantine.", {"name:anna weber"}),
        ("El proyecto Orión es de María López.", {"name:orión", "name:maría lópez"}),
        ("J'ai parlé à Zoé Martin hier.", {"name:zoé martin"}),
        ("Мы были в Праге с Анной.", {"name:праге", "name:анной"}),
        ("我在读《红楼梦》，用Notion记录。", {"name:红楼梦", "name:notion"}),
        ("We use PostgreSQL and the project Blue Falcon.", {"name:postgresql", "name:blue falcon"}),
        ("That was Bob's idea, not the CEO's.", {"name:bob", "name:ceo"}),
    ],
)
def test_names_in_several_languages(sentence, expected):
    assert keys(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "Thanks for the help. Great idea! However, I may go. Nothing else.",
        "Der Hund lief in den Garten und die Katze schlief.",
        "## Key Features\nsome text\n**Next Steps**: more text",
        "On Monday I said hello. I'm tired. It's late in March.",
        "Caroline: hello again",
    ],
)
def test_capitalized_words_that_are_no_names(sentence):
    assert keys(sentence) == set()


def test_the_first_word_of_a_sentence_is_a_name_if_it_occurs_within_one_too():
    assert keys("Kosmos is late.") == set()
    assert keys("Kosmos is late. We pay for Kosmos.") == {"name:kosmos"}


@pytest.mark.parametrize(
    ("sentence", "key"),
    [
        ("due on 2024-05-03", "date:2024-05-03"),
        ("due on 3 May 2024", "date:2024-05-03"),
        ("due on May 3rd, 2024", "date:2024-05-03"),
        ("am 3. Mai 2024", "date:2024-05-03"),
        ("el 3 de mayo de 2024", "date:2024-05-03"),
        ("с Анной 3 мая 2024", "date:2024-05-03"),
        ("2024年5月3日", "date:2024-05-03"),
        ("in May 2024", "date:2024-05"),
        ("on May 3", "date:--05-03"),
        ("it costs $1,200.50", "amount:1200.50 usd"),
        ("it costs 1,200.50 dollars", "amount:1200.50 usd"),
        ("das sind 14 km", "amount:14 km"),
        ("a rise of 20%", "amount:20 %"),
        ("ticket #4711", "identifier:#4711"),
        ("see src/app.py", "identifier:src/app.py"),
        ("set user_id", "identifier:user_id"),
        ("an RTX-4090", "identifier:rtx-4090"),
        ("at https://www.example.org/x?y", "identifier:example.org"),
    ],
)
def test_dates_amounts_and_identifiers_have_one_notation(sentence, key):
    assert key in keys(sentence)


@pytest.mark.parametrize("sentence", ["on the 2nd", "at 3 pm", "2024-13-45", "I may 3 times", "5"])
def test_other_numbers_are_no_entities(sentence):
    assert keys(sentence) == set()


def test_code_is_not_read():
    assert keys("Look:\n```python\nclass Foo(Bar): x_y = 1\n```\nthat is by Ada") == {"name:ada"}


def test_a_turn_has_names_first_and_few_entities():
    amounts = " ".join(f"{number} km" for number in range(10, 30))

    turn = entity_keys(f"It is {amounts} to the house", "So says Ada Lovelace.")

    assert turn[0] == "name:ada lovelace"
    assert len(turn) == ENTITIES_MAX
    assert entities_of_turn("", "by Ada Lovelace")[0].text == "Ada Lovelace"


@given(text())
def test_any_text_is_read(sentence):
    for entity in entities(sentence):
        assert entity.kind in KINDS
        assert entity.key.startswith(f"{entity.kind}:")
        assert 0 < len(entity.text) <= CHARACTERS_MAX
