"""Refs that an answer of the agent may contain, and words that are sent before its end."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.agent.answers import WordStream, add_refs, clean
from remembrancer.claims.evidence import EventEvidence

DAY = date(2026, 3, 2)
FERRY, CABIN = "e_0000000000001", "e_0000000000002"
EVENTS = [
    EventEvidence(
        FERRY,
        "User: When does the ferry to Elba leave?\n\nAssistant: At 9:40 from Piombino, pier 3.",
        DAY,
    ),
    EventEvidence(
        CABIN,
        "User: What does the cabin cost?\n\nAssistant: Mrs Holm asks 840 euros, we booked it for "
        "3 May.",
        DAY,
    ),
]


@pytest.mark.parametrize(
    "text",
    [
        "The ferry to Elba leaves at 9:45.",  # a value that no event has
        # no single event contains both values
        "The ferry leaves at 9:40 and the cabin costs 840 euros.",
        "Mrs Holm once wrote three long novels about lighthouses.",  # only a name
        f"The ferry to Elba leaves at 9:40 (ref: {FERRY}).",
        f"The ferry to Elba leaves at 9:40. (ref: {FERRY})",
        "The ferry to Elba leaves at 9:40 [general].",
        "Does the ferry to Elba leave at 9:40?",
        "# The ferry to Elba\n",
        "Memory does not tell it.",
        "```\nThe ferry to Elba leaves at 9:40.\n```",
        "",
    ],
)
def test_unsupported_tagged_and_claimless_sentences_stay_unchanged(text: str) -> None:
    assert add_refs(text, EVENTS, DAY) == text


# --- Filtering the refs of an answer


# --- A streamed answer is sent on word by word, and nothing is sent that the filter removes

OWN_ID = "e_0000000000001"


def streamed(*pieces: str, ids: frozenset[str] = frozenset({OWN_ID})) -> list[str]:
    """Return what is sent for these pieces."""
    result: list[str] = []
    stream = WordStream(result.append, lambda text: clean(text, ids), "REM")
    for piece in pieces:
        stream(piece)
    stream.end()
    return result


def test_service_lines_seals_and_images_are_never_sent() -> None:
    """A line that only begins like them, or stands in code, is content."""
    lines = "At 9:40.\nTASK_DONE\nREM | #1 | READ | VERIFY | CORRECT | OUTPUT"
    image = "See ![it](http://evil.example/?q=1) now."
    similar, code = "PUBLISHERS meet.\nTask one.", "Write:\n```\nTASK_DONE\n```\nThat is all."
    texts = {lines: "At 9:40.", image: image.replace("!", ""), similar: similar, code: code}

    assert {text: "".join(streamed(*text)) for text in texts} == texts


def test_secret_is_masked_before_it_is_sent() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    assert secret not in "".join(streamed(*f"The token is {secret} , keep it.\nAgain: {secret}"))


def test_private_key_is_masked_although_it_has_lines() -> None:
    body = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" * 1 for _ in range(4))
    text = f"Here:\n-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\nDone."

    assert "".join(streamed(*text)) == clean(text, ())


@given(st.text(st.sampled_from("ab .(\n[<!`#|:é渡-"), max_size=60), st.data())
def test_pieces_give_the_text_however_it_is_cut(text: str, data: st.DataObject) -> None:
    """Without anything to remove, the stream is the text without space at its end."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    result: list[str] = []
    stream = WordStream(result.append, lambda part: part, "REM")
    for piece in pieces:
        stream(piece)
    stream.end()

    assert "".join(result) == text.rstrip()
