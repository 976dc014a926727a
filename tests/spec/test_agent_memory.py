"""Memory in one call: `GET /api/v7/agent/memory`, for agents that cannot follow the protocol."""

from __future__ import annotations

from typing import Any

from service import Http, body_of

PATH = "/api/v7/agent/memory"


def ask(http: Http, **parameters: str) -> Any:
    """Return the response body."""
    return body_of(http.get(PATH, params=parameters))


def test_query_returns_a_search_without_a_step(http: Http) -> None:
    """A query makes it a search that does not interact (specification.md#agent-memory-search)."""
    turn = {"query": "When does the ferry leave?", "response": "At 9:40 from Piombino."}
    http.remember(**turn, session_id="trip", user_id="ada")
    http.memory("ferry", user_id="ada", interact=False)  # names the user of the default session
    before = http.rows()

    for query in ("ferry", " ", "?", "nothing like it was ever said", "how do I publish a cube?"):
        search = http.memory(query, user_id="ada", interact=False, top_k=3)
        assert ask(http, query=query, user_id="ada", top_k="3") == {**search, "user_id": "ada"}
    assert http.rows() == before


def test_missing_query_returns_the_start_pack(http: Http) -> None:
    """Without a query it returns the start pack (specification.md#agent-memory-start-pack)."""
    http.post("/api/v7/remember", {"critical": "Ada gets seasick.", "user_id": "ada"})
    start = http.get("/api/v7/memory/start", params={"user_id": "ada"}).json()
    del start["prompt_text"]

    for query in ({}, {"query": ""}):
        answer = ask(http, user_id="ada", **query)
        assert "Ada gets seasick." in answer.pop("prompt_text")
        assert answer == start


def test_default_user_is_that_of_the_key(http: Http) -> None:
    """The default is the key's pin, else the account's name.

    See specification.md#agent-memory-default-user, specification.md#agent-memory-permissions.
    """
    http.remember("When does the ferry leave?", "At 9:40.", user_id="ada", critical="Ada is sick.")
    http.remember("When does the ferry leave?", "At 7:15.", user_id="owner")
    pinned, bob = http.as_account("owner", user_id="ada"), http.as_account("bob")

    answers = [ask(one, query="ferry")["hits"] for one in (http, pinned)]

    assert [[hit["response"] for hit in hits] for hits in answers] == [["At 7:15."], ["At 9:40."]]
    for query in ("", "&query=ferry"):
        foreign = bob.get(f"{PATH}?user_id=ada{query}").text
        assert "9:40" not in foreign
        assert "sick" not in foreign
