"""Statements that say about themselves that they are not to be relied on."""

from __future__ import annotations

import pytest

from remembrancer.search import disclaims

DISCLAIMED = (
    "I heard a conflicting but unverified note about the deadline.",
    "Similar feedback from another workspace: use tabs.",
    "An older note, but it is not authoritative for this project.",
    "It is just a rumour that they move.",
    "Das ist noch nicht bestätigt, aber der Termin ist im Mai.",
    "C'est une information non vérifiée.",
    "Es un dato sin confirmar.",
    "È una notizia non confermata.",
    "Это неподтверждённая информация.",
    "這是未經證實的消息",
    "UNVERIFIED: the deadline moved.",
    "Это НЕПОДТВЕРЖДЁННАЯ информация.",
)
PLAIN = (
    "Please verify the checksum of the download.",
    "The order was confirmed yesterday.",
    "I moved the notes to another folder.",
    "I follow the rumours about the new phone.",
    "The workspace of the team is in Oslo.",
    "Der Termin ist bestätigt.",
    "这个消息已经确认",
)


@pytest.mark.parametrize("message", DISCLAIMED)
def test_disclaimer_is_recognised(message: str) -> None:
    assert disclaims(message)


@pytest.mark.parametrize("message", PLAIN)
def test_plain_statement_disclaims_nothing(message: str) -> None:
    assert not disclaims(message)
