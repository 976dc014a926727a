"""The start pack, and the memory of agents that cannot follow the protocol of a turn."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from service import Http, body_of

from remembrancer.context import Context
from remembrancer.protocol.fence import unfenced
from remembrancer.protocol.text import tokens

PATH = "/api/v7/memory/start"


def pack(http: Http, **parameters: str) -> Any:
    """Return the response body."""
    return body_of(http.get(PATH, params=parameters))


def test_start_pack_has_constitution_map_and_critical_facts(http: Http) -> None:
    """It holds constitution, map and critical facts (specification.md#start-contents)."""
    http.remember(
        "q",
        "r",
        session_id="s",
        critical="Ada gets seasick.",
        l1_summary="The ferry was found.",
        l2_map="Travel: ferry.",
    )
    text = pack(http, session_id="s")["prompt_text"]

    for part in (
        "Ada gets seasick.",
        "Travel: ferry.",
        "The ferry was found.",
        "never instructions",
        "REM | #<step>",
    ):
        assert part in text
    assert "The ferry was found." not in pack(http, session_id="another")["prompt_text"]


def test_empty_memory_has_a_start_pack(http: Http) -> None:
    """A new memory has a start pack (specification.md#start-empty)."""
    text = pack(http)["prompt_text"]

    assert "# Constitution" in text
    assert "# Critical facts" not in text


def test_start_pack_has_a_fresh_fence_delimiter_each_time(http: Http) -> None:
    """Each response has a fresh fence delimiter (specification.md#start-fence)."""
    first, second = pack(http)["prompt_text"], pack(http)["prompt_text"]

    assert unfenced(first) == ("", len(first))
    assert re.findall(r"[0-9a-f]{16}", first)[0] != re.findall(r"[0-9a-f]{16}", second)[0]


def test_start_pack_fits_its_budget_and_reports_omissions(http: Http, context: Context) -> None:
    """It fits its token budget, newest items first (specification.md#start-budget)."""
    for number in range(300):
        http.post(
            "/api/v7/remember",
            {"critical": f"Fact number {number} is that shelf {number} holds {number * 7} jars."},
        )
    answer = pack(http)

    assert (
        tokens(answer["prompt_text"])
        == answer["tokens"]
        <= context.settings.start_tokens_max
        == 2_000
    )
    assert "Fact number 299 " in answer["prompt_text"]
    assert "Fact number 150 " not in answer["prompt_text"]
    assert answer["left_out"] > 0
    assert f"({answer['left_out']} more items did not fit" in answer["prompt_text"]


def test_json_format_returns_the_parts(http: Http) -> None:
    """`format=json` returns the parts (specification.md#start-json)."""
    http.remember(
        "q",
        "r",
        critical="Ada gets seasick.",
        l1_summary="The ferry was found.",
        l2_map="Travel: ferry.",
    )
    answer = pack(http, format="json")

    assert answer["parts"] == {
        "map": "Travel: ferry.",
        "instructions": [],
        "facts": ["2026-01-01 Ada gets seasick."],
        "summaries": ["2026-01-01 The ferry was found."],
        "cubes": [],
    }
    assert "parts" not in pack(http)


def test_start_pack_has_own_and_trusted_lessons_only(http: Http) -> None:
    """Untested cubes of other accounts stay out (specification.md#start-cubes)."""
    lesson = {
        "cube_topic": "kettles",
        "cube_essence": "Vinegar takes lime off the kettle.",
        "cube_rules": "- MUST rinse it twice",
    }
    cube_id = http.remember("q", "r", **lesson, cube_publish=True)["cube"]["cube_id"]
    strangers = [http.as_account(f"account {n}") for n in range(4)]

    assert "Vinegar" in pack(http)["prompt_text"]
    assert "Vinegar" not in pack(strangers[3])["prompt_text"]
    for stranger in strangers[:3]:
        stranger.post("/api/v7/experience/vote", {"cube_id": cube_id, "user_id": "me", "vote": 1})
    assert "Vinegar" in pack(strangers[3])["prompt_text"]


def test_pinned_key_gets_the_pack_of_its_own_user(http: Http) -> None:
    """A pinned key gets its own user's pack (specification.md#start-pinned)."""
    http.post("/api/v7/remember", {"critical": "Ada gets seasick.", "user_id": "ada"})
    pinned = http.as_account("owner", user_id="ada")

    assert "seasick" in pack(pinned)["prompt_text"]
    assert (
        http.as_account("owner", user_id="bob").get(PATH, params={"user_id": "ada"}).status_code
        == 403
    )
    assert "seasick" not in json.dumps(pack(http.as_account("bob"), user_id="ada"))


@pytest.mark.parametrize("client", ["mcp", "hooks"])
def test_start_pack_and_prompt_speak_to_their_reader(http: Http, client: str) -> None:
    """Without paths and seals for who sends no requests (specification.md#start-client)."""
    prompt = http.get("/api/v7/agent/prompt", params={"client": client, "user_id": "owner"}).json()

    for text in (pack(http, client=client)["prompt_text"], prompt["prompt"]):
        assert "Never invent a memory" in text
        assert re.search(r"/api/v7/|READ \| VERIFY|Seal each reply", text) is None
    assert http.get(PATH, params={"client": "x"}).status_code == 422
