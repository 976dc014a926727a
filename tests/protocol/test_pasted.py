"""Detection of pasted API keys.

The test keys are assembled at run time, so that this file contains none.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remembrancer.accounts import keys
from remembrancer.protocol.pasted import REMOVED, pasted_keys, without_keys

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


def test_keys_of_the_service_are_found() -> None:
    assert [matches.kind for matches in pasted_keys(keys.mint())] == ["remembrancer"]


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
