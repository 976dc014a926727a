"""The teams page: create, invite, accept, roles, leaving, deleting; it works without scripts."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from console.reader import Reader, words_of

from remembrancer.accounts.teams import enter
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn

PATH = "/console/teams"


def create(reader: Reader, name: str = "Garden") -> str:
    """Create a team; return its id."""
    answer = reader.send(f"{PATH}/create", name=name, user_id="")
    assert answer.status_code == 303, answer.text
    return str(parse_qs(urlsplit(answer.headers["location"]).query)["team"][0])


def page(reader: Reader, team: str) -> Any:
    return reader.get(f"{PATH}?team={team}")


def token_of(reader: Reader, team: str, role: str = "writer") -> str:
    """Create an invitation; return the token that the page shows."""
    answer = reader.send(f"{PATH}/invite", team=team, role=role, expires_in_hours="24")
    [token] = re.findall(r"tmi_[\w-]+", answer.text)
    return str(token)


def member_ids(reader: Reader, team: str) -> list[str]:
    return sorted(set(re.findall(r'name="member_id" value="(m_\w+)"', page(reader, team).text)))


def test_team_is_created_an_invitation_accepted_and_turns_name_their_writers(
    owner: Reader, ada: Reader
) -> None:
    assert "No teams yet" in owner.get(PATH).text
    team = create(owner)
    token = token_of(owner, team)

    joined = ada.followed(ada.send(f"{PATH}/accept", token=token, user_id=""))
    member = enter(ada.context, ada.caller, team, "mia", "writer")
    remember(ada.context, member, Turn(query="Where is <b>the rake</b>?", response="Here."))

    text = page(owner, team).text
    assert "You are a member now. Your role: writer." in words_of(joined.text)
    assert token not in text
    assert "ada every user" in words_of(text)
    assert "Garden" in ada.get(PATH).text
    assert "Where is &lt;b&gt;the rake&lt;/b&gt;?" in text
    assert "ada for mia" in words_of(text)
    trail = words_of(owner.get("/console/audit?kind=team").text)
    assert re.search(rf"Team {team} ?: invite, writer", trail)
    assert "create" in trail


def test_owner_changes_roles_and_removes_members(owner: Reader, ada: Reader) -> None:
    team = create(owner)
    before = member_ids(owner, team)
    ada.send(f"{PATH}/accept", token=token_of(owner, team), user_id="")
    [member] = set(member_ids(owner, team)) - set(before)

    owner.followed(owner.send(f"{PATH}/role", team=team, member_id=member, role="reader"))
    role = words_of(page(ada, team).text)
    owner.followed(owner.send(f"{PATH}/remove", team=team, member_id=member))

    assert "Your role: reader" in role
    assert page(ada, team).status_code == 404
    changes = words_of(page(owner, team).text)
    for change in ("removed a member", "changed a role", "joined", "invited a member"):
        assert change in changes


def test_team_is_deleted_after_its_name_is_entered(owner: Reader) -> None:
    team = create(owner)

    wrong = owner.send(f"{PATH}/delete", team=team, confirm="Orchard")
    right = owner.followed(owner.send(f"{PATH}/delete", team=team, confirm="Garden"))

    assert (wrong.status_code, "Send the team" in words_of(wrong.text)) == (409, True)
    assert "The team and its memory are erased." in words_of(right.text)
    assert page(owner, team).status_code == 404


def test_withdrawn_token_and_wrong_values_are_explained(owner: Reader, ada: Reader) -> None:
    team = create(owner)
    token = token_of(owner, team)
    [invitation] = re.findall(r'name="invitation_id" value="(i_\w+)"', page(owner, team).text)
    owner.followed(owner.send(f"{PATH}/withdraw", team=team, invitation_id=invitation))

    used = ada.send(f"{PATH}/accept", token=token, user_id="")
    hours = owner.send(f"{PATH}/invite", team=team, role="reader", expires_in_hours="9999")
    name = owner.send(f"{PATH}/create", name="  ", user_id="")

    assert (used.status_code, hours.status_code, name.status_code) == (404, 422, 422)
    assert "This invitation does not work" in words_of(used.text)
    assert "Must be at most 720." in words_of(hours.text)


@pytest.mark.parametrize("team", ["team_0", "x" * 300, "%00", "Garden"])
def test_outsiders_get_the_page_of_no_team(owner: Reader, ada: Reader, team: str) -> None:
    create(owner)

    assert page(ada, team).status_code in {404, 422}
