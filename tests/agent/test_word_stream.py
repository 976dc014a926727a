"""A streamed answer is sent on word by word, and nothing is sent that the filter removes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.agent.answers import WordStream, clean

OWN_ID, OTHER_ID = "e_0000000000001", "e_0000000000002"


def streamed(*pieces: str, ids: frozenset[str] = frozenset({OWN_ID})) -> list[str]:
    """Return what is sent for these pieces."""
    result: list[str] = []
    stream = WordStream(result.append, lambda text: clean(text, ids), "REM")
    for piece in pieces:
        stream(piece)
    stream.end()
    return result


def test_words_are_sent_as_they_are_complete() -> None:
    assert streamed("The fer", "ry lea", "ves at ", "9:40", ".") == [
        "The",
        " ferry",
        " leaves at",
        " 9:40.",
    ]


def test_ref_is_sent_whole_or_not_at_all() -> None:
    text = f"At 9:40 (ref: {OTHER_ID}) from pier 3 (ref: {OWN_ID})."

    pieces = streamed(*text)

    assert "".join(pieces) == f"At 9:40 from pier 3 (ref: {OWN_ID})."
    assert f" (ref: {OWN_ID})." in pieces


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


def test_text_without_spaces_is_sent_as_it_comes() -> None:
    assert streamed("\u6e21\u8f2a\u306f", "\u4e5d\u6642\u306b\u51fa\u307e\u3059\u3002") == [
        "\u6e21\u8f2a\u306f",
        "\u4e5d\u6642\u306b\u51fa\u307e\u3059\u3002",
    ]


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
