"""Detection of pasted API keys.

The test keys are assembled at run time, so that this file contains none.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remembrancer.protocol.pasted import (
    PRIVATE,
    REMOVED,
    pasted_keys,
    without_keys,
    without_secrets,
)

KEYS = {
    "remembrancer": "sk" + "_" + "0123456789abcdef" * 4,
    "openai or anthropic": "sk" + "-ant-api03-" + "aB3_-" * 8,
    "stripe": "sk" + "_live_" + "aB3" * 8,
    "github": "gh" + "p_" + "aB3d" * 9,
    "gitlab": "gl" + "pat-" + "aB3d" * 5,
    "aws": "AK" + "IA" + "ABCD1234" * 2,
    "google": "AI" + "za" + "aB3d-" * 7,
    "slack": "xo" + "xb-" + "1234567890-abc",
    "hugging face": "hf" + "_" + "aBcDeF" * 6,
    "groq": "gs" + "k_" + "aB3d" * 13,
    "xai": "xa" + "i-" + "aB3d" * 20,
    "npm": "np" + "m_" + "aB3d" * 9,
    "pypi": "py" + "pi-AgEI" + "aB3d" * 20,
    "private key": "-----BEGIN " + "RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize(("kind", "key"), KEYS.items(), ids=KEYS)
def test_keys_are_found_at_any_position(kind: str, key: str) -> None:
    """A pasted key is found, so that the agent can warn (specification.md#auth-never-in-chat)."""
    for text in (key, f"my key is {key}.", f'"{key}"', f"KEY={key}\nnext line", f"钥匙{key}"):
        [match] = pasted_keys(text)

        assert (match.kind, text[match.start : match.end][: len(key)]) == (kind, key)
        assert key not in without_keys(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sk_test is a prefix",
        "the sk_ keys",
        "task_0123456789abcdef0123",
        "risk-averse-people-are-here-today",
        "AKIA",
        "sk-short",
        "ghp_x",
        "mask_deadbeefdeadbeef",
    ],
)
def test_ordinary_text_contains_no_keys(text: str) -> None:
    assert pasted_keys(text) == []
    assert without_keys(text) == text


_texts = st.lists(st.one_of(st.text(), st.sampled_from(list(KEYS.values()))))


@given(st.one_of(_texts.map(" ".join), _texts.map("".join)))
@example(KEYS["remembrancer"] + KEYS["github"])  # without a space
def test_all_keys_are_removed(text: str) -> None:
    assert pasted_keys(without_keys(text)) == []
    assert without_keys(text).count(REMOVED) >= len(pasted_keys(text))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password=hunter2secret", "hunter2secret"),
        ('PASSWORD="correcthorse"', "correcthorse"),
        ("my password is tiger-99", "tiger-99"),
        ("Das Passwort ist Geheim123.", "Geheim123"),
        ("密码是abc12345", "abc12345"),
        ("Server=x;User Id=y;Password=Xy12345z;", "Xy12345z"),
        ("postgres://ada:pa55word@db:5432/x", "pa55word"),
        ("redis://:abcdef@localhost", "abcdef"),
        ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
    ],
)
def test_passwords_in_common_forms_are_removed(text: str, secret: str) -> None:
    """The rest of the text stays (specification.md#remember-hooks-secrets)."""
    stored = without_secrets(text)

    assert secret not in stored
    assert stored.count(REMOVED) == 1
    assert stored.replace(REMOVED, secret).rstrip(".") == text.rstrip(".")


@pytest.mark.parametrize(
    "text",
    [
        "the password is required",
        "password: string",
        'password=os.environ["X"]',
        "login(user, password=password)",
        "password=$DB_PASSWORD",
        "postgres://user:${PASS}@host/db",
        "postgres://<user>:<password>@host",
        "The first pass is 2x-faster; 142 passed.",
        "http://localhost:8080/a@b",
    ],
)
def test_talk_and_code_about_passwords_stay(text: str) -> None:
    assert without_secrets(text) == text


def test_private_parts_are_left_out() -> None:
    """An open one ends with the text (specification.md#remember-private)."""
    assert PRIVATE.sub("", "a <private>b\nc</private>d<PRIVATE>e</Private> f") == "a d f"
    assert PRIVATE.sub("", "a <private>b") == "a "
    assert PRIVATE.sub("", "a < private") == "a < private"
