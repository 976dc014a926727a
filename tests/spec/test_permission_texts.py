"""Texts of grants and logs: no character that hides or turns around what people read."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http
from spec.permission_calls import NGINX, PERM

# line break, escape, delete, next line, right-to-left override and isolate, line separator
HIDING = ["\n", "\t", "\x1b[2K", "\x7f", "\x85", "\u202e", "\u2067", "\u200f", "\u2028"]
NAMES = [*HIDING, "\r"]
READABLE = ["Ünïcode \u05d3\u05d5\u05d3", "\u4f60\u597d", "a\u0301", "\U0001f469\u200d\U0001f4bb"]


def refusal(answer: Any) -> tuple[int, str]:
    """Return the status of a 422 and its message."""
    return answer.status_code, answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize("character", NAMES)
@pytest.mark.parametrize("field", ["scope", "agent"])
def test_grants_have_no_control_or_bidi_characters(http: Http, field: str, character: str) -> None:
    """The owner reads what is granted (specification.md#sysperm-plain-texts)."""
    value = f"/etc/{character}a" if field == "scope" else f"deploy{character}er"
    status, message = refusal(http.post(f"{PERM}/grant", {**NGINX, field: value}))

    assert (status, "control" in message) == (422, True)
    assert http.rows()["grants"] == http.rows()["audit"] == 0


@pytest.mark.parametrize("character", NAMES)
def test_agents_of_checks_have_no_control_or_bidi_characters(http: Http, character: str) -> None:
    """See specification.md#sysperm-plain-texts."""
    body = {"path": "/etc/a", "action": "read", "agent": f"deploy{character}er"}

    assert refusal(http.post(f"{PERM}/check", body))[0] == 422


@pytest.mark.parametrize("character", [c for c in HIDING if c not in "\n\t"])
def test_results_have_no_control_or_bidi_characters(http: Http, character: str) -> None:
    """Line breaks and tabs aside (specification.md#sysperm-plain-texts)."""
    body = {"grant_id": "g", "path": "/etc/a", "action": "read", "result": f"done{character}"}

    status, message = refusal(http.post(f"{PERM}/log", body))

    assert (status, "control" in message) == (422, True)


@pytest.mark.parametrize("text", READABLE)
def test_texts_in_any_script_are_accepted(http: Http, text: str) -> None:
    """See specification.md#sysperm-plain-texts."""
    granted = http.post(f"{PERM}/grant", {**NGINX, "agent": text, "scope": f"/etc/{text}"})

    assert granted.status_code == 200, granted.text
