"""The example requests of the OpenAPI document, and what they refer to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cubes.agents import Agent
from sandboxes import SharedSandbox
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.context import Caller, Context
from remembrancer.http import openapi
from remembrancer.memory.facts.life import add_fact
from remembrancer.memory.remember import remember
from remembrancer.permissions.grants import check, grant
from remembrancer.permissions.teams import (
    accept_invitation,
    create_team,
    invite_member,
    token_digest,
)
from remembrancer.protocol.facts import FactAdd
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.operation import AnyOperation
from remembrancer.protocol.operations import OPERATIONS
from remembrancer.protocol.permissions import GrantRequest, PermissionCheck
from remembrancer.protocol.teams import InvitationAccept, InvitationCreate, TeamCreate
from remembrancer.server.app import make_app

EVENT_ID = "e_7k2m9x0v4t8qz"
RATES = [f"rate_{name}_per_minute" for name in ("memory", "feedback", "sandbox", "sysperm", "chat")]
EXAMPLES = [
    (endpoint, example)
    for endpoint in OPERATIONS
    if endpoint.body
    for example in (endpoint.body.model_config.get("json_schema_extra") or {}).get("examples", [])
]


@contextmanager
def service_with_examples(folder: Path) -> Iterator[Http]:
    """Serve a store with what the examples refer to, a scripted model, and no rate limits."""
    opened = testing.context(folder, models=testing.ScriptedModels(chat=["At 9:40."] * 50_000))
    unlimited: dict[str, Any] = dict.fromkeys(RATES, 0)
    context = replace(opened, settings=replace(opened.settings, **unlimited))
    app = make_app(context, sandbox=SharedSandbox(context.settings))
    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        http = Http(client, context, new_key(context))
        make_mentioned(context)
        yield http
    opened.close()


def make_mentioned(context: Context) -> None:
    """Store the turns, the draft and the cube that the examples refer to."""
    remember(
        context,
        caller_for(context, "owner"),
        Turn(query="When?", response="At nine.", session_id="summer-trip"),
    )
    saved = remember(
        context,
        caller_for(context, "owner"),
        Turn(query="And the ferry?", response=f"The ferry leaves at 9:40 (ref: {EVENT_ID})."),
    )
    rename = "update events set event_id = :name where event_id = :stored"
    stored_id = saved.event_id
    context.store.write(lambda tx: tx.run(rename, name=EVENT_ID, stored=stored_id))
    make_granted(context, caller_for(context, "owner"))
    published = Agent(context, "somebody").publish()
    make_teams(context)
    rename = "update cubes set cube_id = 'c_7k2m9x0v4t8qz' where cube_id = :published"
    context.store.write(lambda tx: tx.run(rename, published=published))
    fact = FactAdd(user_id="owner", text="The ferry leaves at 9:40.")
    stored = add_fact(context, caller_for(context, "owner"), fact)
    rename = "update facts set fact_id = 'f_7k2m9x0v4t8qz' where fact_id = :stored"
    context.store.write(lambda tx: tx.run(rename, stored=stored.fact.fact_id))


def make_teams(context: Context) -> None:
    """Create a team with the member, and another one with the invitation, of the examples."""
    owner, guest = caller_for(context, "owner"), caller_for(context, "somebody")
    team = create_team(context, owner, TeamCreate(name="Elba")).team_id
    token = invite_member(context, owner, team, InvitationCreate()).token
    accept_invitation(context, guest, InvitationAccept(token=token))
    other = create_team(context, guest, TeamCreate(name="Harbour")).team_id
    invite_member(context, guest, other, InvitationCreate())
    [example] = InvitationAccept.model_json_schema()["examples"]
    digest = token_digest(example["token"])
    context.store.write(
        lambda tx: (
            tx.run("update team_invitations set digest = :digest", digest=digest),
            tx.run("update team_members set member_id = 'm_2daxjc42wy6rv' where role = 'reader'"),
        )
    )


def path_of(endpoint: AnyOperation) -> str:
    """Return the path of an endpoint with the ids that `make_mentioned` made."""
    path = endpoint.path.replace("{team_id}", "Elba")
    for name in ("{fact_id}", "{instruction_id}"):
        path = path.replace(name, "f_7k2m9x0v4t8qz")
    return path.replace("{event_id}", EVENT_ID)


def make_granted(context: Context, owner: Caller) -> None:
    """Create the grant that the examples log an action under and revoke."""
    nginx = {"path": "/etc/nginx/nginx.conf", "action": "write", "agent": "deployer"}
    result = grant(
        context,
        owner,
        GrantRequest(scope="/etc/nginx/*.conf", ttl_minutes=5, actions=["write"], agent="deployer"),
    )
    rename = "update grants set grant_id = 'g_5v0n8k2m4t6wz' where grant_id = :made"
    context.store.write(lambda tx: tx.run(rename, made=result.grant_id))
    assert check(context, owner, PermissionCheck.model_validate(nginx)).allowed


def schema_of(endpoint: AnyOperation) -> dict[str, Any]:
    """Return the schema of an endpoint's body, as the OpenAPI document has it."""
    document = openapi.document(OPERATIONS)
    operation = document["paths"][endpoint.path][endpoint.method.lower()]
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
    schema: dict[str, Any] = document["components"]["schemas"][name]
    return schema


def kinds(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the alternatives of a field."""
    return part.get("anyOf", [part])  # type: ignore[no-any-return]


def pointers(answer: Any) -> list[str]:
    """Return the invalid fields that an error names; under `/v1` it names the first only."""
    error = answer.json()["error"]
    if isinstance(error, dict):
        return ["/" + error["param"]]
    return [fault["pointer"] for fault in answer.json()["errors"]]
