"""Which messages order a text, whose sentences give no keys, and which state what holds."""

from __future__ import annotations

import pytest

from remembrancer.memory.changes import state_keys
from remembrancer.memory.changes.comparison import orders_text

ORDERS = (
    "Write a creative post for us. Our main keyword is moving companies in Ajax.",
    "Please translate this: my office is in Rome.",
    "Could you draft a letter? My landlord is Mr Hall.",
    "Summarize the following text. My name is Ishmael.",
    "Schreib mir ein Gedicht. Meine Lieblingsfarbe ist Blau.",
    "Bitte übersetze das. Mein Büro ist in Rom.",
    "Écris un article. Notre mot-clé est jardin.",
    "Traduis ce texte. Mon bureau est à Rome.",
    "Escribe un poema. Mi color favorito es el azul.",
    "Scrivi un post per noi. La nostra parola chiave è giardino.",
    "Напиши письмо. Мой офис находится в Риме.",
    "请帮我写一篇文章。我的办公室在罗马。",
    "請翻譯這段話。我的辦公室在羅馬。",
)
STATEMENTS = (
    "My office is in Rome.",
    "Write this down: my office is in Rome.",
    "Create a note: my office is in Rome.",
    "Create a reminder, my meeting is on Friday.",
    "Draft deadline is Friday.",
    "Schreib dir auf: mein Büro ist in Rom.",
    "Erstelle eine Notiz: mein Büro ist in Rom.",
    "My office is in Rome. Write a post about it.",
    "请写下：我的办公室在罗马。",
)


@pytest.mark.parametrize("message", ORDERS)
def test_order_to_write_states_nothing(message: str) -> None:
    """Two such orders are no two values of one thing."""
    assert state_keys(message) == frozenset()


@pytest.mark.parametrize("message", STATEMENTS)
def test_statement_and_note_have_keys(message: str) -> None:
    """Notes are written down because they hold."""
    assert state_keys(message)


@pytest.mark.parametrize(
    "message",
    [
        "Is my dentist called Dr. Weiss?",
        "Maybe my dentist is Dr. Weiss.",
        "My dentist was Dr. Weiss in 2019.",
    ],
)
def test_what_no_statement_can_change_has_no_keys(message: str) -> None:
    assert state_keys("My dentist is Dr. Weiss.")
    assert state_keys(message) == frozenset()


def test_an_order_is_at_the_beginning_of_a_message() -> None:
    """The rest is not read: a turn is stored while others wait for the same lock."""
    statement = "My office is in Rome."

    assert state_keys(f"{'(' * 50} Write a post. {statement}") == frozenset()
    assert orders_text(f"{'(' * 300} Write a post. {statement}") is False


@pytest.mark.timeout(30)
@pytest.mark.parametrize("sign", ["(", "[", ". ", "? ", "\n", " "])
def test_a_message_of_signs_costs_no_more_than_its_beginning(sign: str) -> None:
    """Reading one of these messages whole takes half a second: 300 of them would not end in time."""
    message = sign * (1_000_000 // len(sign))

    assert not any(orders_text(message) for _ in range(300))
