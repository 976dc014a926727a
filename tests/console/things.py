"""Records of every kind, stored over HTTP, with ordinary or with hostile texts."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any, TypeAlias

from service import Http

from remembrancer.accounts import caller_for
from remembrancer.cli.demo import CONVERSATION
from remembrancer.context import Context
from remembrancer.memory.exchange.importer import read, store

# Returns the text for a field, given an ordinary text and the maximum length.
Words: TypeAlias = Callable[[str, int], str]


def usual(text: str, _room: int) -> str:
    """Return the ordinary text unchanged."""
    return text


def put_things(
    http: Http, words: Words = usual, *, user_id: str = "owner", session_id: str = "trip-to-elba"
) -> None:
    """Store one record of each kind except permissions and facts with a history.

    Raises AssertionError if the service rejects one.
    """
    put_turns(http, words, user_id=user_id, session_id=session_id)
    put_lesson(http, words, user_id=user_id, session_id=session_id)
    report = {
        "title": words("Say the pier first", 200),
        "description": words("It is the pier that one looks for.", 1_000),
    }
    _good(http, "POST", "/api/v7/feedback", type="improvement", severity=2, **report)
    name, content = words("Packing list", 200), words("- tickets\n- water", 4_000)
    file = {"filename": f"{name}.md", "content": content, "type": "md"}
    _good(http, "POST", "/api/v7/tools/create-file", **file)


def put_turns(http: Http, words: Words = usual, *, user_id: str, session_id: str) -> None:
    """Store two turns with a fact, a summary and a map, and the user's part of the prompt."""
    where = {"user_id": user_id, "session_id": session_id}
    there = {
        "query": words("When does the ferry to Elba leave?", 2_000),
        "response": words("At 9:40 from Piombino, pier 3, with the car 38 euros.", 4_000),
        "topic": words("Ferry", 1_000),
        "critical": words("The car is 4.62 m long.", 2_000),
        "l2_map": words("Elba: ferry, house, hikes.", 4_000),
    }
    _good(http, "POST", "/api/v7/memory", query_text=there["query"], **where)
    _good(http, "POST", "/api/v7/remember", **there, **where)
    back = {
        "query": words("And back?", 1_000),
        "response": words("At 17:10 on Sunday.", 1_000),
        "topic": words("Ferry", 1_000),
    }
    _good(http, "POST", "/api/v7/event/write", **back, **where)
    summary = {
        "summary_text": words("The ferries of the trip: out at 9:40, back at 17:10.", 4_000),
        "topic": words("Ferry", 1_000),
    }
    _good(http, "POST", "/api/v7/memory/summarize", **summary, **where)
    _good(http, "POST", "/api/v7/memory/map", user_id=user_id)
    prompt = words("Answer in short sentences.", 4_000)
    _good(http, "PUT", "/api/v7/agent/prompt", prompt=prompt, user_id=user_id)


def put_facts(http: Http, words: Words = usual, *, user_id: str) -> None:
    """Store a fact, another wording of it, a pinned instruction, an ended and a deleted fact."""
    first, second = words("Ada lives in Genoa.", 2_000), words("Ada moved to Livorno.", 2_000)
    order = f"When I ask about {words('ferries', 100).replace(',', ' ')}, answer with the pier."
    ended, erased = words("The house in Elba is booked.", 2_000), words("The old code.", 2_000)
    facts = "/api/v7/memory/facts"
    stored = _good(http, "POST", facts, user_id=user_id, text=first)["fact"]
    if stored["text"] != second:
        _good(http, "POST", facts, user_id=user_id, text=second, replaces=stored["fact_id"])
    _good(http, "POST", facts, user_id=user_id, text=order, pinned=True)
    times = {"valid_from": "2025-06-01T00:00:00Z", "valid_to": "2025-06-15T00:00:00Z"}
    _good(http, "POST", facts, user_id=user_id, text=ended, **times)
    fact_id = _good(http, "POST", facts, user_id=user_id, text=erased)["fact"]["fact_id"]
    _good(http, "DELETE", f"{facts}/{fact_id}")


def put_lesson(http: Http, words: Words = usual, *, user_id: str, session_id: str) -> None:
    """Store a cube and a vote against it."""
    lesson = {
        "topic": words("Ferries in summer", 200),
        "essence": words("Book the ferry two weeks ahead.", 1_000),
        "rules_markdown": words("- Book early.\n- Be there 45 minutes before.", 4_000),
        "evidence": words("Two trips, one of them without a place.", 1_000),
        "model": words("tiny-1", 100),
    }
    cube = _good(http, "POST", "/api/v7/experience/create", **lesson, session_id=session_id)
    vote = {"vote": -1, "reason": words("In winter there is room.", 1_000)}
    where = {"cube_id": cube["cube_id"], "user_id": user_id}
    _good(http, "POST", "/api/v7/experience/vote", **where, **vote)


def put_permissions(http: Http, words: Words = usual) -> None:
    """Store a grant, an allowed and a denied check, and a logged action; needs an owner's key."""
    site, agent = {"path": "/etc/nginx/site.conf", "action": "write"}, words("deployer", 200)
    agent = readable(agent)
    value = {"scope": "/etc/nginx/*.conf", "ttl_minutes": 60, "actions": ["read", "write"]}
    grant = _good(http, "POST", "/api/v7/sysperm/grant", **value, agent=agent)
    _good(http, "POST", "/api/v7/sysperm/check", **site, agent=agent)
    denied = "/etc/" + words("passwd", 1_000).replace("*", "-")  # a path must not contain a star
    _good(http, "POST", "/api/v7/sysperm/check", path=denied, action="read", agent=agent)
    result = readable(words("One line changed, nginx reloaded.", 4_000))
    _good(http, "POST", "/api/v7/sysperm/log", grant_id=grant["grant_id"], **site, result=result)


def readable(text: str) -> str:
    """Return a text without the characters that agents and results must not contain."""
    kinds = ("Cc", "Cf", "Zl", "Zp")
    return "".join(c for c in text if unicodedata.category(c) not in kinds)


def put_conversation(context: Context) -> None:
    """Import the conversation of `make demo` for the owner."""
    caller = caller_for(context)
    store(context, caller, read(caller, CONVERSATION))


def _good(http: Http, method: str, path: str, /, **body: Any) -> Any:
    answer = http.ask(method, path, **({"json": body} if body else {}))
    assert answer.status_code == 200, f"{path}: {answer.text}"
    return answer.json()
