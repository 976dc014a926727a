"""Things of every kind that the service keeps, put in over HTTP: with words of people for people to look at, or with hostile ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from service import Http

from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.entrypoints.demo.tour import CONVERSATION
from remembrancer.memory.importing import read, store

Words = Callable[[str], str]  # what to write into a field; it is given what people would write there


def put_things(http: Http, words: Words = lambda usual: usual, *, user_id: str | None = None, session_id: str | None = None) -> None:
    """One of each kind, as agents and people leave them. Raises AssertionError where the service takes one of them amiss."""
    whose = {} if user_id is None else {"user_id": user_id}
    where = {"session_id": session_id or "trip-to-elba"}
    turn = {
        "query": words("When does the ferry to Elba leave?"),
        "response": words("At 9:40 from Piombino, pier 3, for 38 euros with the car."),
    }
    lesson = {
        "topic": words("Ferries in summer"),
        "essence": words("Book the ferry two weeks ahead."),
        "rules_markdown": words("- Book early.\n- Be there 45 minutes before."),
    }
    _good(http, "POST", "/api/v7/memory", query_text=turn["query"], user_id=user_id or "owner", **where)
    _good(
        http,
        "POST",
        "/api/v7/remember",
        **turn,
        **where,
        **whose,
        topic=words("Ferry"),
        critical=words("The car is 4.62 m long."),
        l2_map=words("Elba: ferry, house, hikes."),
        model=words("tiny-1"),
    )
    _good(
        http,
        "POST",
        "/api/v7/event/write",
        query=words("And back?"),
        response=words("At 17:10 on Sunday."),
        topic=words("Ferry"),
        user_id=user_id or "owner",
        **where,
    )
    _good(
        http,
        "POST",
        "/api/v7/memory/summarize",
        user_id=user_id or "owner",
        **where,
        summary_text=words("The ferries of the trip: out at 9:40, back at 17:10."),
        topic=words("Ferry"),
    )
    _good(http, "POST", "/api/v7/memory/map", user_id=user_id or "owner")
    _good(http, "PUT", "/api/v7/agent/prompt", prompt=words("Answer in short sentences."), **whose)
    cube = _good(
        http,
        "POST",
        "/api/v7/experience/create",
        **lesson,
        evidence=words("Two trips, one of them without a place."),
        **where,
        model=words("tiny-1"),
    )
    _good(
        http,
        "POST",
        "/api/v7/experience/vote",
        cube_id=cube["cube_id"],
        user_id=user_id or "owner",
        vote=-1,
        reason=words("In winter there is room."),
    )
    _good(
        http,
        "POST",
        "/api/v7/feedback",
        type="improvement",
        title=words("Say the pier first"),
        description=words("It is the pier that one looks for."),
        severity=2,
    )
    _good(http, "POST", "/api/v7/tools/create-file", filename=words("Packing list") + ".md", content=words("- tickets\n- water"), type="md")
    grant = _good(
        http, "POST", "/api/v7/sysperm/grant", scope="/etc/nginx/*.conf", ttl_minutes=60, actions=["read", "write"], agent="deployer"
    )
    asked = {"path": "/etc/nginx/site.conf", "action": "write"}
    _good(http, "POST", "/api/v7/sysperm/check", **asked, agent="deployer")
    _good(http, "POST", "/api/v7/sysperm/check", path="/etc/passwd", action="read", agent="deployer")
    _good(http, "POST", "/api/v7/sysperm/log", grant_id=grant["grant_id"], **asked, result=words("One line changed, nginx reloaded."))


def put_conversation(context: Context) -> None:
    """The conversation of `make demo`, for the owner."""
    caller = caller_for(context)
    store(context, caller, read(context, caller, CONVERSATION))


def _good(http: Http, method: str, path: str, /, **body: Any) -> Any:
    answer = http.ask(method, path, json=body)
    assert answer.status_code == 200, f"{path}: {answer.text}"
    return answer.json()
