"""Which messages take something back, and which only sound like it, in seven languages."""

from __future__ import annotations

import pytest

from remembrancer.memory.changes import is_about, withdrawal_in
from remembrancer.memory.changes.comparison import orders_text

FORGET = (
    ("Please forget that I live in Rome.", "I live in Rome."),
    ("Forget my old address in Rome.", "My old address is Via Appia in Rome."),
    ("Delete the note about my divorce lawyer from your memory.", "My divorce lawyer is Ms Kay."),
    ("Forget what I told you about the Falcon budget cuts.", "The Falcon budget has cuts."),
    ("Vergiss, dass ich in Rom wohne.", "Ich wohne in Rom."),
    ("Lösche bitte meine Adresse in Rom aus deinem Gedächtnis.", "Meine Adresse in Rom ist neu."),
    ("Oublie que mon chat s'appelle Félix.", "Mon chat s'appelle Félix."),
    ("Olvida que vivo en Madrid.", "Vivo en Madrid."),
    ("Dimentica che abito a Roma.", "Abito a Roma."),
    ("Забудь, что я живу в Москве.", "Я живу в Москве."),
    ("忘掉我住在羅馬的舊公寓", "我住在羅馬的舊公寓"),
)
OFF_RECORD = (
    "My PIN is 4711. Do not remember this.",
    "Don't remember this: my door code is 9090.",
    "Off the record: the merger is on Monday.",
    "This token is secret: abc. Do not save or repeat it.",
    "Keep this out of memory please, I am seeing someone.",
    "Das ist vertraulich, speichere das nicht.",
    "Ne retiens pas ça.",
    "No recuerdes esto.",
    "Non memorizzare questo.",
    "Не запоминай это.",
    "不要记住这个",
)
EXPIRED = (
    "This temporary note has expired: the door code is 1234.",
    "These instructions are no longer valid: use the old build server.",
    "Diese Notiz ist abgelaufen: der Code ist 1234.",
    "Cette note a expiré: le code est 1234.",
)
ORDINARY = (
    "Forget it, let us start over.",
    "Don't forget that I live in Rome.",
    "Never forget to run the tests.",
    "I always forget my keys at home.",
    "I forgot the password of the router, can you help?",
    "Delete the old branch from the repo.",
    "Please remove the unused import in main.py.",
    "Delete everything in the temp folder from memory-backed storage /dev/shm.",
    "Do not save it as PDF.",
    "Don't save the file yet.",
    "Do not store it in the repo, put it in the vault.",
    "Remember to keep the private key in the vault.",
    "My passport has expired: what should I do?",
    "This token has expired: 401 Unauthorized. How do I renew it?",
    "The coupon is no longer valid.",
    "How do I make the cache forget old entries?",
    "Ich vergesse immer meine Schlüssel.",
    "N'oublie pas que j'habite à Lyon.",
    "No olvides que vivo en Madrid.",
    "Non dimenticare che abito a Roma.",
    "Не забудь, что я живу в Москве.",
    "别忘了我住在罗马",
)


@pytest.mark.parametrize(("request_text", "statement"), FORGET)
def test_request_to_forget_names_its_statement(request_text: str, statement: str) -> None:
    withdrawal = withdrawal_in(request_text)

    assert withdrawal is not None
    assert withdrawal.reason == "forget"
    assert is_about(withdrawal.target, statement)
    assert not is_about(withdrawal.target, "The ferry leaves at nine from pier three.")


def test_notes_off_the_record_and_expired_ones_are_recognised() -> None:
    for reason, messages in (("off_record", OFF_RECORD), ("expired", EXPIRED)):
        for message in messages:
            withdrawal = withdrawal_in(message)
            assert withdrawal is not None, message
            assert withdrawal.reason == reason
            assert withdrawal.target == frozenset() or reason == "expired"


@pytest.mark.parametrize("message", ORDINARY)
def test_ordinary_message_takes_nothing_back(message: str) -> None:
    assert withdrawal_in(message) is None


@pytest.mark.timeout(30)
@pytest.mark.parametrize("sign", ["(", "[", ". ", "? ", "\n", " "])
def test_a_message_of_signs_costs_no_more_than_its_beginning(sign: str) -> None:
    """Reading one of these messages whole takes half a second: 300 of them would not end in time."""
    message = sign * (1_000_000 // len(sign))

    assert not any(orders_text(message) for _ in range(300))
