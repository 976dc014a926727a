"""Teams for tests: create one, let accounts join it, read its members and its audit entries."""

from __future__ import annotations

from typing import Any

from service import Http

TEAMS = "/api/v7/teams"
FERRY = {"query": "When does the ferry leave?", "response": "At 9:40 from Piombino, pier 3."}


def good(response: Any) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


def new_team(http: Http, name: str = "Garden", **more: Any) -> str:
    return str(good(http.post(TEAMS, {"name": name, **more}))["team_id"])


def invite(http: Http, team: str, role: str = "reader", **more: Any) -> Any:
    return good(http.post(f"{TEAMS}/{team}/invitations", {"role": role, **more}))


def join(http: Http, team: str, account: str, role: str, **accept: Any) -> Http:
    """Return a client of an account that has accepted an invitation."""
    member = http.as_account(account)
    token = invite(http, team, role)["token"]
    good(member.post(f"{TEAMS}/accept", {"token": token, **accept}))
    return member


def members(http: Http, team: str) -> dict[str, Any]:
    """Return the members by account."""
    rows = good(http.get(f"{TEAMS}/{team}/members"))["members"]
    return {row["account"]: row for row in rows}


def audit(http: Http, team: str) -> list[str]:
    """Return the changes in the team's audit entries, oldest first."""
    entries = good(http.get(f"{TEAMS}/{team}/audit"))["entries"]
    return [entry["change"] for entry in reversed(entries)]
