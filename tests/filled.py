"""Fill a store so that every table has rows."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer.accounts import caller_for
from remembrancer.accounts.sign_in import SignInRefused, accept, account_of, invite, sign_in
from remembrancer.context import Caller, Context
from remembrancer.memory.exchange.importer import read, store
from remembrancer.memory.history.endings import apply_retention
from remembrancer.server.app import make_app

TURN = {
    "query": "When does the ferry leave?",
    "response": "At 9:40 from Piombino, pier 3.",
    "session_id": "trip",
    "metadata": {"project": "holidays"},
    "source": {"query": "user", "response": "tool"},
}
LEARNED = {
    "critical": "Ada gets seasick.",
    "l1_summary": "The ferry was found.",
    "l2_map": "Travel: ferry.",
    "cube_topic": "ferry times",
    "cube_essence": "Summer timetables change in the first week of June.",
    "cube_rules": "- MUST check the date of a timetable before quoting it",
    "cube_type": "warning",
    "cube_publish": True,
}
QUESTION = "When does the ferry leave?"
PERM = "/api/v7/sysperm"


def fill(context: Context) -> None:
    """Use every feature that stores records, with two accounts."""
    with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
        http = Http(client, context, new_key(context))
        _add_turns(http)
        _add_endings(http)
        _add_permissions(http)
        _add_files(http)
        bob = http.as_account("bob")
        cube = http.memory(QUESTION)["shared_cubes"][0]["cube_id"]
        bob.memory(QUESTION, "bob")
        _good(bob.post("/api/v7/experience/vote", {"cube_id": cube, "user_id": "bob", "vote": 1}))
        _add_team(http, bob)
        _good(bob.post("/api/v7/feedback", {"type": "bug", "title": "t", "description": "d"}))
    _sign_in(context)
    _import_turns(
        context, caller_for(context, "owner"), context.settings.data_folder / "conversation.jsonl"
    )


def answers(context: Context, *, with_teams: bool = True) -> list[str]:
    """Return the answers of the service to a few questions, as text.

    `with_teams`: also about teams, whose members and names an export leaves out.
    """
    with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
        http = Http(client, context, new_key(context))
        responses = [
            http.memory(QUESTION, interact=False),
            http.memory("Which lamp?", interact=False),
            http.get("/api/v7/memory/map", params={"user_id": "owner"}).json(),
            http.get("/api/v7/agent/prompt", params={"user_id": "owner"}).json(),
            http.post(
                "/api/v7/memory/files", {"command": "view", "path": "/memories/elba.md"}
            ).json(),
            http.get(f"{PERM}/audit").json(),
        ]
        if with_teams:
            responses += [
                http.memory("Who brings the tent?", teams="all", interact=False),
                http.get("/api/v7/teams").json(),
            ]
    return [json.dumps(_without_durations(answer), sort_keys=True) for answer in responses]


def _without_durations(answer: object) -> object:
    """Return an answer without its durations, which differ each time."""
    if isinstance(answer, dict):
        return {
            name: _without_durations(value)
            for name, value in answer.items()
            if not name.endswith("_ms")
        }
    return [_without_durations(item) for item in answer] if isinstance(answer, list) else answer


def _good(answer: object) -> None:
    assert getattr(answer, "status_code", 0) == 200, getattr(answer, "text", answer)


def _add_turns(http: Http) -> None:
    http.remember(**TURN, **LEARNED)  # type: ignore[arg-type]
    http.remember("Again?", "As before.", critical=LEARNED["critical"])
    _good(
        http.post(
            "/api/v7/remember",
            {**TURN, "query": "And back?", "response": "At six."},
            headers={"Idempotency-Key": "k"},
        )
    )
    results = http.memory(QUESTION, session_id="trip")
    draft = f"The ferry leaves at 9:40 (ref: {results['hits'][0]['event_id']})."
    http.remember("So when?", draft, session_id="trip")
    _good(http.post("/api/v7/agent/second-look", {"draft": draft, "session_id": "trip"}))
    _good(
        http.post(
            "/api/v7/remember",
            {"session_id": "trip", "duty": "vote_nothing", "duty_reason": "none fits"},
        )
    )
    _good(
        http.ask(
            "PUT",
            "/api/v7/agent/prompt",
            json={"user_id": "owner", "prompt": "Answer briefly. Übermorgen 🌊"},
        )
    )


def _add_endings(http: Http) -> None:
    http.remember("I live in Rome.", "Noted.", session_id="home")
    http.remember("I moved to Berlin.", "Noted.", session_id="home")
    for question in ("Where is the towel?", "Where is the soap of Mia Berg in Lisbon?"):
        http.remember(question, "In the bathroom.", user_id="guest", session_id="stay")
    rule = {"user_id": "guest", "events": 1}
    _good(http.ask("PUT", "/api/v7/memory/retention", json=rule))
    assert apply_retention(http.context) == 1


def _add_permissions(http: Http) -> None:
    path = {"path": "/etc/nginx/nginx.conf", "action": "write", "agent": "robot"}
    grant = http.post(
        f"{PERM}/grant",
        {"scope": "/etc/nginx/*.conf", "ttl_minutes": 30, "actions": ["write"], "agent": "robot"},
    ).json()
    _good(http.post(f"{PERM}/check", path))
    _good(
        http.post(
            f"{PERM}/log",
            {
                "grant_id": grant["grant_id"],
                "path": path["path"],
                "action": "write",
                "result": "done",
            },
        )
    )


def _add_files(http: Http) -> None:
    _good(
        http.post("/api/v7/tools/create-file", {"filename": "a", "content": "text", "type": "txt"})
    )
    _good(
        http.post(
            "/api/v7/memory/files",
            {"command": "create", "path": "/memories/elba.md", "file_text": "At 9:40.\n"},
        )
    )
    change = {
        "command": "str_replace",
        "path": "/memories/elba.md",
        "old_str": "9:40",
        "new_str": "10:40",
    }
    _good(http.post("/api/v7/memory/files", change))


def _add_team(http: Http, member: Http) -> None:
    team = http.post("/api/v7/teams", {"name": "Elba"}).json()["team_id"]
    for role in ("writer", "reader"):
        answer = http.post(f"/api/v7/teams/{team}/invitations", {"role": role})
        if role == "writer":
            _good(member.post("/api/v7/teams/accept", {"token": answer.json()["token"]}))
    member.remember("Who brings the tent?", "Bob does.", team=team)
    _good(member.post("/api/v7/memory/facts", {"text": "The tent is blue.", "team": team}))


def _sign_in(context: Context) -> None:
    sign_in(context, accept(context, invite(context, "owner").reveal(), "correct horse battery"))
    invite(context, "eve")
    with suppress(SignInRefused):
        account_of(context, "owner", "wrong")


def _import_turns(context: Context, caller: Caller, path: Path) -> None:
    """Import so many turns that a table exceeds one write batch and one page."""
    turns = (
        {"id": f"t{n}", "query": f"Which lamp is number {n}?", "response": f"The {n} on the left."}
        for n in range(1_200)
    )
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    store(context, caller, read(caller, path), progress=lambda _: None)
