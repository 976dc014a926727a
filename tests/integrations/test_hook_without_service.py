"""Recall and remembering fail open: an agent goes on without its memory, and nothing is lost."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from integrations.agent import Agent, context
from service import Http, new_key

from remembrancer.context import Context


def test_an_agent_goes_on_without_its_memory_and_nothing_is_lost(home: Path, dead_url: str, service_url: str, context: Context) -> None:
    """Recall fails open; what could not be sent is sent next time."""
    key = new_key(context)
    alone = Agent(home, dead_url, key)

    began = alone.at("SessionStart")
    recalled = alone.at("UserPromptSubmit")
    ended = alone.at("Stop")
    waited = alone.waiting()
    later = Agent(home, service_url, key)
    later.session = "another"
    later.at("SessionStart")

    assert list(began) == ["systemMessage"]
    assert (recalled, ended) == ({}, {})
    assert [one["body"]["response"] for one in waited] == ["It leaves at noon."]
    assert all(len(one["once"]) == 32 for one in waited)
    assert later.waiting() == []
    found = found_by(later, context)
    assert [(hit["response"], hit["session_id"]) for hit in found] == [("It leaves at noon.", "s1")]


def found_by(agent: Agent, context: Context) -> list[dict[str, str]]:
    """What memory has on the recorded prompt."""
    import httpx2

    body = {"query_text": "ferry Elba", "user_id": "owner", "interact": False}
    headers = {"Authorization": f"Bearer {agent.environment['REMEMBRANCER_KEY']}"}
    found: list[dict[str, str]] = httpx2.post(f"{agent.environment['REMEMBRANCER_URL']}/api/v7/memory", json=body, headers=headers).json()[
        "hits"
    ]
    return found


def test_sending_again_what_did_arrive_keeps_it_once(agent: Agent, owner: Http, home: Path) -> None:
    """A resent turn has its idempotency key (specification.md#idempotency-replay)."""
    dead = Agent(home, "http://127.0.0.1:9", agent.environment["REMEMBRANCER_KEY"])
    dead.turn("Who has the ladder?", "Mr Lund.")
    [waiting] = dead.waiting()
    owner.with_key(agent.environment["REMEMBRANCER_KEY"]).post(
        waiting["path"], waiting["body"], headers={"Idempotency-Key": waiting["once"]}
    )

    agent.at("SessionEnd")

    assert agent.waiting() == []
    assert len(owner.memory("ladder")["hits"]) == 1


def test_hooks_at_the_same_time_lose_nothing_of_each_other(home: Path, dead_url: str) -> None:
    """The hooks' state is safe under concurrency."""
    alone = Agent(home, dead_url, "sk_0")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: alone.at("UserPromptSubmit", prompt=f"prompt {n}"), range(12)))

    asked = [one["body"]["query"] for one in alone.waiting()]
    [file] = (home / ".local/state/remembrancer/hooks").glob("*.json")
    last = json.loads(file.read_text("utf-8"))["prompt"]
    assert sorted([*asked, last]) == sorted(f"prompt {n}" for n in range(12))
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_state_file_that_is_damaged_is_put_aside_and_not_thrown_away(agent: Agent, home: Path, owner: Http) -> None:
    agent.at("SessionStart")
    [file] = (home / ".local/state/remembrancer/hooks").glob("*.json")
    file.write_text('{"queue": [', "utf-8")

    agent.turn("Who has the ladder?", "Mr Lund.")

    assert owner.memory("ladder")["hits"]
    assert Path(f"{file}.unreadable").read_text("utf-8") == '{"queue": ['


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        "null",
        '{"hook_event_name": 5}',
        '{"hook_event_name": "Stop", "session_id": 7}',
        '{"a":"\ud800"}'.replace("\ud800", "\\ud800"),
    ],
)
def test_what_is_no_event_is_answered_with_nothing(home: Path, dead_url: str, said: str) -> None:
    assert Agent(home, dead_url, "sk_0").hears(said) == {}


@pytest.mark.parametrize("name", ["../../x", "a/b", "", "\n", "é" * 300])
def test_a_session_id_never_names_a_file_elsewhere(home: Path, dead_url: str, name: str) -> None:
    alone = Agent(home, dead_url, "sk_0")
    alone.session = name
    alone.at("UserPromptSubmit")

    kept = [path for path in home.rglob("*") if path.is_file()]
    assert [path.parent for path in kept] == [home / ".local/state/remembrancer/hooks"]


def test_a_command_of_the_agent_itself_is_no_prompt(agent: Agent) -> None:
    assert agent.at("UserPromptSubmit", prompt="/compact") == {}
    assert context(agent.at("Stop", last_assistant_message="Compacted.", transcript_path=None)) == ""
    assert agent.waiting() == []
