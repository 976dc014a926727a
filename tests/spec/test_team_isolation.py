"""Every endpoint that takes a team, for every kind of caller: members by role, and outsiders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from service import Http

from remembrancer.protocol.operations import OPERATIONS

TEAMS = "/api/v7/teams"
TURN = {"query": "When does the ferry leave?", "response": "At 9:40 from Piombino, pier 3."}
WORD = "Piombino"  # in what the team stores
CALLERS = (
    "owner",
    "writer",
    "reader",
    "read_only_owner",
    "pinned_writer",
    "no_protocol_writer",
    "outsider",
    "removed",
    "other_user",
    "service_owner",
)
READERS = {"owner", "writer", "reader", "read_only_owner", "pinned_writer", "no_protocol_writer"}
WRITERS = {"owner", "writer", "pinned_writer", "no_protocol_writer"}
OWNERS = {"owner"}
NO_MEMBERS = {"outsider", "removed", "other_user", "service_owner"}


@dataclass
class Club:
    """A team with a turn and a fact of its owner, and a client for each kind of caller."""

    http: Http
    team: str = ""
    event: str = ""
    fact: str = ""
    callers: dict[str, Http] = field(default_factory=dict)

    def join(self, caller: Http, role: str, **accept: Any) -> None:
        """Let a caller accept an invitation."""
        lead = self.callers["owner"]
        token = lead.post(f"{TEAMS}/{self.team}/invitations", {"role": role}).json()["token"]
        assert caller.post(f"{TEAMS}/accept", {"token": token, **accept}).status_code == 200


def club_of(http: Http) -> Club:
    """Create a team. The service's owner is no member of it."""
    club = Club(http)
    lead = club.callers["owner"] = http.as_account("lead")
    club.team = lead.post(TEAMS, {"name": "Club"}).json()["team_id"]
    club.callers |= {
        "writer": http.as_account("wanda"),
        "reader": http.as_account("rita"),
        "removed": http.as_account("rolf"),
        "pinned_writer": http.as_account("paula", user_id="mia"),
        "no_protocol_writer": http.as_account("nora", has_protocol=False),
        "outsider": http.as_account("otto"),
        "other_user": http.as_account("paula", user_id="leo"),
        "read_only_owner": http.as_account("lead", read_only=True),
        "service_owner": http,
    }
    for name in ("writer", "pinned_writer", "no_protocol_writer", "removed"):
        club.join(club.callers[name], "writer")
    club.join(club.callers["reader"], "reader")
    assert club.callers["removed"].delete(f"{TEAMS}/{club.team}/members").status_code == 200
    club.event = lead.remember(**TURN, team=club.team, l1_summary="The ferry from Piombino.")[
        "event_id"
    ]
    fact = {"text": "The ferry leaves from Piombino.", "team": club.team}
    club.fact = lead.post("/api/v7/memory/facts", fact).json()["fact"]["fact_id"]
    return club


Request = Callable[[Club, Http], Any]


def in_body(method: str, path: str, **body: Any) -> Request:
    """Return a request with the team in its body."""

    def send(club: Club, caller: Http) -> Any:
        return caller.ask(method, path.format(club=club), json={**body, "team": club.team})

    return send


def in_query(method: str, path: str, **query: Any) -> Request:
    """Return a request with the team in its query."""

    def send(club: Club, caller: Http) -> Any:
        return caller.ask(method, path.format(club=club), params={**query, "team": club.team})

    return send


def of_team(method: str, path: str, body: Any = None, **query: Any) -> Request:
    """Return a request about the team itself."""

    def send(club: Club, caller: Http) -> Any:
        options = {} if body is None else {"json": body}
        return caller.ask(method, f"{TEAMS}/{club.team}{path}", params=query, **options)

    return send


SEARCH = {"query_text": "ferry", "interact": True}
# By operation: the request, who may make it, and whether a read-only key of an owner may.
MATRIX: dict[str, tuple[Request, set[str]]] = {
    "search_memory": (in_body("POST", "/api/v7/memory", **SEARCH, user_id="{user}"), READERS),
    "explain_search": (
        in_body("POST", "/api/v7/memory/explain", **SEARCH, user_id="{user}"),
        READERS,
    ),
    "get_event": (in_query("GET", "/api/v7/event/{club.event}"), READERS),
    "list_events": (in_query("GET", "/api/v7/events"), READERS),
    "list_sessions": (in_query("GET", "/api/v7/sessions"), READERS),
    "list_facts": (in_query("GET", "/api/v7/memory/facts"), READERS),
    "list_instructions": (in_query("GET", "/api/v7/memory/instructions"), READERS),
    "get_map": (in_query("GET", "/api/v7/memory/map"), READERS),
    "get_start_pack": (in_query("GET", "/api/v7/memory/start"), READERS),
    "get_agent_memory": (in_query("GET", "/api/v7/agent/memory", query="ferry"), READERS),
    "get_retention": (in_query("GET", "/api/v7/memory/retention"), READERS),
    "remember_turn": (in_body("POST", "/api/v7/remember", **TURN), WRITERS),
    "save_event": (in_body("POST", "/api/v7/event/write", **TURN, user_id="{user}"), WRITERS),
    "save_batch": (in_body("POST", "/api/v7/memory/batch", turns=[TURN]), WRITERS),
    "add_fact": (in_body("POST", "/api/v7/memory/facts", text="It has a bar."), WRITERS),
    "add_instruction": (
        in_body("POST", "/api/v7/memory/instructions", text="Bars open late."),
        WRITERS,
    ),
    "change_fact": (
        in_body("PATCH", "/api/v7/memory/facts/{club.fact}", text="It leaves from Elba."),
        WRITERS,
    ),
    "change_instruction": (
        in_body("PATCH", "/api/v7/memory/instructions/{club.fact}", text="It leaves from Pisa."),
        WRITERS,
    ),
    "draft_summary": (
        in_body("POST", "/api/v7/memory/summarize/draft", user_id="{user}", session_id="s"),
        READERS,
    ),
    "save_summary": (
        in_body(
            "POST",
            "/api/v7/memory/summarize",
            user_id="{user}",
            session_id="default",
            summary_text="The ferry.",
        ),
        WRITERS,
    ),
    "make_map": (in_body("POST", "/api/v7/memory/map", user_id="{user}"), WRITERS),
    "change_event": (in_body("PATCH", "/api/v7/event/{club.event}", pinned=True), OWNERS),
    "erase_event": (in_query("DELETE", "/api/v7/event/{club.event}"), OWNERS),
    "remove_fact": (in_query("DELETE", "/api/v7/memory/facts/{club.fact}"), OWNERS),
    "remove_instruction": (in_query("DELETE", "/api/v7/memory/instructions/{club.fact}"), OWNERS),
    "forget_memory": (in_body("POST", "/api/v7/memory/forget", dry_run=True), OWNERS),
    "set_retention": (in_body("PUT", "/api/v7/memory/retention", days=400), OWNERS),
    "show_team": (of_team("GET", ""), READERS),
    "list_members": (of_team("GET", "/members"), READERS),
    "rename_team": (of_team("PATCH", "", {"name": "Club"}), OWNERS),
    "change_member": (of_team("PATCH", "/members", {"member_id": "m_0", "role": "reader"}), OWNERS),
    "remove_member": (of_team("DELETE", "/members", member_id="m_0"), OWNERS),
    "list_invitations": (of_team("GET", "/invitations"), OWNERS | {"read_only_owner"}),
    "invite_member": (of_team("POST", "/invitations", {}), OWNERS),
    "withdraw_invitation": (of_team("DELETE", "/invitations", invitation_id="i_0"), OWNERS),
    "team_audit": (of_team("GET", "/audit"), OWNERS | {"read_only_owner"}),
    "delete_team": (of_team("DELETE", "", confirm="Club"), OWNERS),
}
# Allowed, and then refused for another reason: nothing to work on, done by the caller before, or ids
# that do not exist.
BESIDE = {
    "get_map": {404},
    "draft_summary": {409},
    "save_summary": {200, 409},
    "change_fact": {200, 409},
    "change_member": {404},
    "remove_member": {404},
    "withdraw_invitation": {404},
}
ACTING = {"pinned_writer": "mia", "other_user": "leo"}  # the user that a pinned key acts for


def send(club: Club, name: str, operation: str) -> Any:
    """Send a request of the matrix for its caller's own user."""
    request, _ = MATRIX[operation]
    caller = club.callers[name]
    user_id = ACTING.get(name) or caller.get("/api/v7/key").json()["account"]

    class Named(Http):
        def ask(self, method: str, path: str, **options: Any) -> Any:
            body = options.get("json")
            if body is not None and body.get("user_id") == "{user}":
                options["json"] = {**body, "user_id": user_id}
            return super().ask(method, path, **options)

    return request(club, Named(caller.client, caller.context, caller.key))


def test_matrix_has_every_endpoint_that_takes_a_team() -> None:
    """A new endpoint of teams needs its row here (specification.md#team-roles)."""
    of_teams = {e.operation_id for e in OPERATIONS if e.team or "{team_id}" in e.path}

    assert of_teams == set(MATRIX)


def test_roles_decide_what_each_caller_may_do(http: Http) -> None:
    """Outsiders get 404, members without the role 403 (specification.md#team-roles)."""
    club = club_of(http)

    for operation, (_, allowed) in MATRIX.items():
        for name in sorted(CALLERS, key=lambda name: (name in allowed, name)):  # refused ones first
            answer = send(club, name, operation)
            said = (operation, name, answer.text)
            if name in NO_MEMBERS:
                assert answer.status_code == 404, said
                assert answer.json()["detail"].startswith("There is no such team"), said
            elif name in allowed:
                assert answer.status_code in BESIDE.get(operation, {200}), said
            else:
                assert answer.status_code == 403, said


def test_unknown_team_and_a_team_of_others_answer_alike(http: Http) -> None:
    """Nobody learns that a team exists (specification.md#team-unknown)."""
    club = club_of(http)
    unknown = Club(http, "team_0", club.event, club.fact, club.callers)

    for name in NO_MEMBERS:
        for operation in MATRIX:
            answers = [send(one, name, operation).json() for one in (club, unknown)]
            assert {**answers[0], "instance": ""} == {**answers[1], "instance": ""}, operation


def test_nothing_of_a_team_is_reached_without_it(http: Http) -> None:
    """Its account is no account of a key (specification.md#team-unknown)."""
    club = club_of(http)
    lead = club.callers["owner"]

    for name in NO_MEMBERS:
        caller = club.callers[name]
        search = {"query_text": WORD, "user_id": ACTING.get(name, "x")}
        texts = [
            caller.get(f"/api/v7/event/{club.event}").text,
            caller.post("/api/v7/memory", search).text,
            caller.post("/api/v7/memory", {**search, "teams": "all"}).text,
            caller.get("/api/v7/events").text,
            caller.get("/api/v7/memory/facts").text,
            caller.get("/api/v7/memory/start").text,
            caller.patch(f"/api/v7/memory/facts/{club.fact}", {"text": "x"}).text,
            caller.delete(f"/api/v7/event/{club.event}").text,
            caller.get(TEAMS).text,
        ]

        assert [text for text in texts if WORD in text or club.team in text] == []
        named = {**search, "teams": [club.team]}
        assert caller.post("/api/v7/memory", named).status_code == 404
        detail = lead.get(f"/api/v7/event/{club.event}", params={"team": club.team})
        assert detail.status_code == 200


def test_team_is_no_way_into_the_memory_of_its_members(http: Http) -> None:
    """Members share the team's memory alone (specification.md#team-memory)."""
    club = club_of(http)
    own = club.callers["writer"].remember("My diary?", "It is in the attic.")["event_id"]
    lead = club.callers["owner"]

    answer = lead.memory("diary attic", "wanda", team=club.team)

    assert own not in [hit["event_id"] for hit in answer["hits"]]
    assert lead.get(f"/api/v7/event/{own}", params={"team": club.team}).status_code == 404
    replaced = {**TURN, "team": club.team, "replaces": own}
    assert lead.post("/api/v7/remember", replaced).status_code == 404
