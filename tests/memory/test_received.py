"""Secrets in received text: flagged by default, masked with the setting `secrets` = `mask`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from service import Http

from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.memory.exchange.importer import read, store

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SECRET_TEXT = f"The token is {KEY} as you asked."


@pytest.mark.settings(secrets="mask")
def test_masked_secret_never_reaches_the_disk(http: Http, folder: Path) -> None:
    """With `mask`, no secret reaches the disk (specification.md#remember-secret)."""
    turn = http.remember(
        SECRET_TEXT, "I see.", critical=SECRET_TEXT, l1_summary=SECRET_TEXT, l2_map=SECRET_TEXT
    )
    http.post("/api/v7/event/write", {"query": SECRET_TEXT, "response": "", "user_id": "owner"})
    lesson = {
        "topic": SECRET_TEXT,
        "essence": SECRET_TEXT,
        "rules_markdown": SECRET_TEXT,
        "evidence": SECRET_TEXT,
    }
    http.post("/api/v7/experience/create", lesson)
    http.remember(
        "q",
        "r",
        cube_topic=SECRET_TEXT,
        cube_essence=SECRET_TEXT,
        cube_rules=SECRET_TEXT,
        cube_evidence=SECRET_TEXT,
    )
    http.post(
        "/api/v7/memory/summarize",
        {"user_id": "owner", "session_id": "default", "summary_text": SECRET_TEXT + "!"},
    )

    assert http.get(f"/api/v7/event/{turn['event_id']}").json()["flags"] == ["secret"]
    assert "was masked" in turn["receipts"][0]["detail"]
    assert "[masked: " in http.get(f"/api/v7/event/{turn['event_id']}").json()["query"]
    assert not any(
        KEY.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file()
    )


@pytest.mark.settings(secrets="mask")
def test_masked_secret_of_an_import_never_reaches_the_disk(context: Context, folder: Path) -> None:
    file = folder / "told.jsonl"
    file.write_text(json.dumps({"query": SECRET_TEXT, "response": ""}) + "\n", "utf-8")
    caller = caller_for(context)
    store(context, caller, read(caller, file))
    file.unlink()

    assert not any(
        KEY.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file()
    )


def test_event_with_only_text_of_the_service_is_refused(http: Http) -> None:
    """Text that is not stored is reported, never dropped silently."""
    pack = http.get("/api/v7/memory/start").json()["prompt_text"]
    before = http.rows()
    answer = http.post("/api/v7/event/write", {"query": pack, "response": " ", "user_id": "owner"})

    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert http.rows() == before
