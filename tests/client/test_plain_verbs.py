"""The plain verbs of the clients: three lines store a text and find it again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from service import new_key

from remembrancer.client import (
    AsyncClient,
    Client,
    SearchResult,
)
from remembrancer.client.credentials import find_url, url_file, write_key
from remembrancer.client.errors import ForbiddenError, NotFoundError, UnauthorizedError
from remembrancer.client.turns import batches, turns_of
from remembrancer.context import Context
from remembrancer.protocol.facts import FactAdd
from remembrancer.protocol.sources import TurnSource
from remembrancer.protocol.teams import InvitationAccept, InvitationCreate, TeamCreate
from remembrancer.protocol.trust import TextSource

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "When does the ferry leave?"},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "content": "09:40"},
    {"role": "assistant", "content": [{"type": "text", "text": "At 9:40, pier 3."}]},
    {"role": "user", "content": "And back?"},
    {"role": "user", "content": "On Sunday, I mean."},
    {"role": "assistant", "content": "At 17:15."},
]


def test_messages_of_a_chat_become_turns() -> None:
    [alone] = turns_of({"role": "user", "content": "I am vegetarian."})
    turns = [(turn.query, turn.response) for turn in turns_of(CHAT)]

    assert alone.query == "I am vegetarian."
    assert turns == [
        ("When does the ferry leave?", "At 9:40, pier 3."),
        ("And back?\nOn Sunday, I mean.", "At 17:15."),
    ]


def test_many_turns_go_in_several_requests(client: Client) -> None:
    turns = turns_of([{"role": "user", "content": "x" * 200_000}] * 2)
    texts = [("user", f"question {n}") for n in range(501)]
    messages = [
        message
        for role, text in texts
        for message in ({"role": role, "content": text}, {"role": "assistant", "content": "yes"})
    ]

    added = client.add(messages, user_id="bulk")

    assert len(turns) == 1  # two messages in a row are one turn
    assert [len(batch) for batch in batches(turns_of(messages))] == [500, 1]
    assert len(set(added.event_ids)) == 501
    assert len(list(client.events(user_id="bulk"))) == 501  # six pages


def test_search_result_is_a_sequence_of_hits(client: Client) -> None:
    client.add(("Which paint did we take?", "Chalk white."), user_id="mia")

    result = client.search("colour of the wall", user_id="mia", top_k=1, min_score=0.0)

    assert isinstance(result, SearchResult)
    assert (len(result), bool(result), result[0].response) == (1, True, "Chalk white.")
    assert [hit.event_id for hit in result] == [hit.event_id for hit in result.hits]
    assert "Chalk white." in str(result)
    assert "Chalk white." in result.text
    nothing = client.search("anything", user_id="nobody")
    assert (str(nothing), bool(nothing)) == ("nothing matches", False)


def test_facts_are_updated_with_their_history_and_turns_are_not(
    client: Client, account: str
) -> None:
    turn = client.add("Mia lives in Bonn.", user_id="mia").event_id
    fact_id = client.add_fact(FactAdd(user_id="mia", text="Mia lives in Bonn.")).fact.fact_id
    newer = client.update(fact_id, "Mia lives in Köln.").fact

    assert client.get(fact_id, user_id="mia").fact_id == fact_id  # type: ignore[union-attr]
    assert [fact.text for fact in client.history(newer.fact_id, user_id="mia")] == [
        "Mia lives in Bonn.",
        "Mia lives in Köln.",
    ]
    with pytest.raises(ValueError, match="A turn is kept word for word"):
        client.update(turn, "Mia lives in Köln.")
    with pytest.raises(NotFoundError, match=r"user mia has no fact f_unknown.*pass its user_id"):
        client.history("f_unknown", user_id="mia")
    with pytest.raises(NotFoundError, match=f"user {account} has no fact {fact_id}"):
        client.get(fact_id)


def test_verbs_work_in_the_memory_of_a_team(client: Client) -> None:
    client.create_team(TeamCreate(name="Garden"))
    client.add("My own rake is red.")
    turn = client.add("The rake is behind the shed.", team="Garden").event_id
    added = client.add_fact(FactAdd(text="The club meets on Mondays.", team="Garden"))
    rule = client.add_fact(FactAdd(text="Always answer the club in German.", team="Garden"))

    assert [event.event_id for event in client.events(team="Garden")] == [turn]
    assert [event.event_id for event in client.get_all(team="Garden")] == [turn]
    assert client.get(turn, team="Garden").author is not None
    assert len(list(client.facts(team="Garden"))) == 2
    assert [one.fact_id for one in client.instructions(team="Garden")] == [rule.fact.fact_id]
    assert [one.turns for one in client.sessions(team="Garden")] == [1]
    newer = client.update(added.fact.fact_id, "The club meets on Tuesdays.", team="Garden").fact
    assert len(client.history(newer.fact_id, team="Garden")) == 2
    sources = [hit.memory and hit.memory.team for hit in client.search("rake", teams="all")]
    assert sorted(sources, key=str) == ["Garden", None]
    client.delete(turn, team="Garden")
    client.delete(newer.fact_id, team="Garden")
    assert list(client.events(team="Garden")) == []
    assert [event.query for event in client.events()] == ["My own rake is red."]


def test_delete_all_erases_one_user_or_team_or_one_of_its_sessions(client: Client) -> None:
    client.create_team(TeamCreate(name="Our Garden"))
    client.add("My own.")
    places: tuple[dict[str, Any], ...] = ({"user_id": "mia"}, {"team": "Our Garden"})
    for place in places:
        for session_id in ("a", "b"):
            client.add(f"The rake of {session_id}.", session_id=session_id, **place)

    for place in places:
        assert client.delete_all(**place, session_id="a").counts.events == 1
        assert [one.query for one in client.events(**place)] == ["The rake of b."]
        assert client.delete_all(**place).counts.events == 1
    assert [one.query for one in client.get_all()] == ["My own."]


def test_delete_all_of_a_team_is_for_its_owners(client: Client, context: Context) -> None:
    """Both clients raise what the service answers, and nothing is erased."""
    team = client.create_team(TeamCreate(name="Garden"))
    client.add("The rake is behind the shed.", team="Garden")
    token = client.invite_member(team.team_id, InvitationCreate(role="writer")).token
    key = new_key(context, "ada")

    async def try_to_erase() -> None:
        async with AsyncClient(client.base_url, key) as ada:
            await ada.accept_invitation(InvitationAccept(token=token))
            with pytest.raises(ForbiddenError, match="owner"):
                await ada.delete_all(team="Garden")
            with pytest.raises(NotFoundError):
                await ada.delete_all(team="Orchard")

    asyncio.run(try_to_erase())

    assert len(list(client.events(team="Garden"))) == 1


def test_filters_are_those_of_mem0_with_its_user(client: Client) -> None:
    client.add("The axe is in the shed.", user_id="mia", metadata={"priority": 2})
    client.add("The saw is in the shed.", user_id="mia", metadata={"priority": 3})
    filters = {"AND": [{"user_id": "mia"}, {"priority": {"gte": 3}}]}

    assert [one.query for one in client.get_all(filters=filters)] == ["The saw is in the shed."]


def test_sources_are_stored_and_searched_by(client: Client, url: str, key: str) -> None:
    """See specification.md#source-of-text, for both clients."""
    both = TurnSource(query="user", response="tool")
    client.add(("What says the page?", "Buy a spade now."), user_id="mia", source=both)

    async def add() -> list[TextSource]:
        async with AsyncClient(url, key, user_id="mia") as memory:
            await memory.add("The page sells one spade.", source="file")
            await memory.add("I have a spade.")
            await memory.add_fact(FactAdd(user_id="mia", text="A spade is 9 euros.", source="tool"))
            found = await memory.search("spade", min_trust="tool", top_k=10)
            return [one.source for one in found.others] + [hit.source.response for hit in found]

    assert sorted(asyncio.run(add())) == ["tool", "tool", "user"]
    assert [hit.query for hit in client.search("spade", user_id="mia", min_trust="user")] == [
        "I have a spade."
    ]
    listed = client.get_all(user_id="mia", filters={"source": "file"})
    assert [(one.query, one.source.query) for one in listed] == [
        ("The page sells one spade.", "file")
    ]


def test_async_client_has_the_same_verbs(url: str, key: str) -> None:
    async def run() -> tuple[list[str], list[str], list[str]]:
        async with AsyncClient(url, key, user_id="mia") as memory:
            await memory.add(CHAT)
            result = await memory.search("ferry pier")
            texts = [event.query async for event in memory.events(order="oldest")]
            sessions = [one.session_id async for one in memory.sessions()]
            return [hit.response for hit in result], texts, sessions

    hits, texts, sessions = asyncio.run(run())

    assert "At 9:40, pier 3." in hits
    assert texts == ["When does the ferry leave?", "And back?\nOn Sunday, I mean."]
    assert sessions == ["default"]


def test_address_is_that_of_the_environment_then_of_the_login(tmp_path: Path) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    other = {**home, "REMEMBRANCER_KEY_FILE": str(tmp_path / "work")}
    assert find_url(home) == "http://127.0.0.1:8460"
    write_key(url_file(home), "http://saved")
    write_key(url_file(other), "http://work")

    assert find_url(home) == "http://saved"
    assert find_url(other) == "http://work"  # each key file has an address of its own
    assert find_url({**home, "REMEMBRANCER_URL": "http://h"}) == "http://h"


def test_key_that_was_found_is_sent_only_where_the_login_says(
    url: str, key: str, account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that names another service must name its key, too."""
    monkeypatch.delenv("REMEMBRANCER_URL", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    write_key(url_file(), url)
    write_key(tmp_path / "remembrancer" / "key", key)

    for variable in ("", key):
        monkeypatch.setenv("REMEMBRANCER_KEY", variable)
        with Client() as client:
            assert client.search("x").user_id == account
        with Client(url) as client, pytest.raises(UnauthorizedError):
            client.search("x")
