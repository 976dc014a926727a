"""Teams: their members and roles, invitations, and what is erased by whom."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from engines import KEPT_IN
from service import Http
from teams import FERRY, TEAMS, audit, good, invite, join, members, new_team
from waiting import wait_until

from remembrancer.accounts import keys, list_accounts, sign_in
from remembrancer.accounts.accounts import AccountIsTeam
from remembrancer.protocol import limits
from remembrancer.store import Transaction

HOUR_MS = 3_600_000


class TestMembers:
    """Members, roles and leaving (specification.md#team-members)."""

    def test_creator_is_the_owner_and_a_team_keeps_one(self, http: Http) -> None:
        team = new_team(http)
        [mine] = good(http.get(TEAMS))["teams"]
        join(http, team, "ada", "writer")
        own = members(http, team)["owner"]

        leaving = http.delete(f"{TEAMS}/{team}/members")
        demotion = {"member_id": own["member_id"], "role": "reader"}
        reading = http.patch(f"{TEAMS}/{team}/members", demotion)

        assert {
            "team_id": team,
            "name": "Garden",
            "role": "owner",
            "members": 1,
        }.items() <= mine.items()
        assert own["user_id"] is None
        assert (leaving.status_code, reading.status_code) == (409, 409)
        assert members(http, team)["owner"]["role"] == "owner"

    def test_member_who_leaves_or_is_removed_has_no_access_at_once(self, http: Http) -> None:
        team = new_team(http)
        ada, bob = join(http, team, "ada", "writer"), join(http, team, "bob", "owner")
        ada.remember(**FERRY, team=team)
        of_ada = {"member_id": members(http, team)["ada"]["member_id"]}

        good(bob.delete(f"{TEAMS}/{team}/members"))
        good(http.delete(f"{TEAMS}/{team}/members", params=of_ada))

        for former, name in ((ada, "ada"), (bob, "bob")):
            body = {"query_text": "ferry", "user_id": name, "team": team}
            assert former.post("/api/v7/memory", body).status_code == 404
            assert former.get(f"{TEAMS}/{team}").status_code == 404
            assert former.memory("ferry", name, teams="all")["hits"] == []
        assert http.memory("ferry", team=team)["hits"][0]["memory"]["author"]["account"] == "ada"

    def test_role_changes_hold_from_the_next_request_on(self, http: Http) -> None:
        """A role that stays the same is no change."""
        team = new_team(http)
        ada = join(http, team, "ada", "reader")
        change = {"member_id": members(http, team)["ada"]["member_id"], "role": "writer"}

        refused = ada.post("/api/v7/remember", {**FERRY, "team": team})
        good(http.patch(f"{TEAMS}/{team}/members", change))
        accepted = ada.post("/api/v7/remember", {**FERRY, "team": team})
        before = audit(http, team)
        good(http.patch(f"{TEAMS}/{team}/members", change))

        assert (refused.status_code, accepted.status_code) == (403, 200)
        assert audit(http, team) == before

    @pytest.mark.skipif(KEPT_IN == "postgresql", reason="it holds up the one writer of SQLite")
    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("PATCH", "", {"name": "Mine"}),
            ("PATCH", "/members", {"member_id": "{bob}", "role": "writer"}),
            ("DELETE", "/members?member_id={bob}", None),
            ("POST", "/invitations", {"role": "owner"}),
            ("DELETE", "/invitations?invitation_id={invitation}", None),
            ("DELETE", "?confirm=Garden", None),
            ("FACT", "", {"text": "The shed is green."}),
        ],
    )
    def test_owner_who_is_demoted_before_its_write_is_stored_may_not(
        self, http: Http, method: str, path: str, body: dict[str, str] | None
    ) -> None:
        """The role is that of the moment of the write, not of the arrival of the request."""
        team = new_team(http)
        ada, _ = join(http, team, "ada", "owner"), join(http, team, "bob", "reader")
        names = {name: row["member_id"] for name, row in members(http, team).items()}
        names["invitation"] = invite(http, team)["invitation_id"]
        demotion = {"member_id": names["ada"], "role": "reader"}
        body = body and {name: text.format(**names) for name, text in body.items()}
        before = [http.get(f"{TEAMS}/{team}{part}").json() for part in ("", "/invitations")]
        if method == "FACT":
            method, to, body = "POST", "/api/v7/memory/facts", {**(body or {}), "team": team}
        else:
            to = f"{TEAMS}/{team}{path.format(**names)}"

        store, began, go_on = http.context.store, threading.Event(), threading.Event()
        queue = store._writer._queue  # type: ignore[attr-defined]

        def hold_up(_: Transaction) -> None:
            began.set()
            assert go_on.wait(20)

        with ThreadPoolExecutor(3) as callers:
            callers.submit(store.write, hold_up)
            assert began.wait(20)
            change = callers.submit(http.patch, f"{TEAMS}/{team}/members", demotion)
            wait_until(lambda: len(queue) == 1)
            late = callers.submit(ada.ask, method, to, **({"json": body} if body else {}))
            wait_until(lambda: len(queue) == 2)
            go_on.set()

        assert (change.result().status_code, late.result().status_code) == (200, 403)
        assert members(http, team)["ada"]["role"] == "reader"
        after = [http.get(f"{TEAMS}/{team}{part}").json() for part in ("", "/invitations")]
        assert after == before

    def test_turns_of_a_batch_are_those_of_the_member_that_sends_them(self, http: Http) -> None:
        team = new_team(http)
        ada = join(http, team, "ada", "writer")
        path = "/api/v7/memory/batch"

        own = {"team": team, "user_id": "ada", "turns": [{**FERRY, "user_id": "ada"}]}
        assert good(ada.post(path, own))["saved"]
        for user_id in ("bob", team):
            answer = ada.post(path, {"team": team, "turns": [FERRY, {**FERRY, "user_id": user_id}]})
            assert answer.status_code == 422
            assert answer.json()["errors"][0]["pointer"] == "/turns/1/user_id"
        assert len(good(http.get(f"/api/v7/events?team={team}"))["events"]) == 1

    def test_membership_of_one_user_does_not_apply_to_others(self, http: Http) -> None:
        """A membership may name one user of an account (specification.md#team-user)."""
        team = new_team(http)
        ada = join(http, team, "ada", "writer", user_id="mia")
        body = {"query_text": "ferry", "team": team}
        mia, leo = (http.as_account("ada", user_id=user_id) for user_id in ("mia", "leo"))

        statuses = [
            ada.post("/api/v7/memory", {**body, "user_id": "mia"}).status_code,
            ada.post("/api/v7/memory", {**body, "user_id": "leo"}).status_code,
            ada.post("/api/v7/remember", {**FERRY, "team": team}).status_code,
            mia.post("/api/v7/memory", {**body, "user_id": "mia"}).status_code,
            leo.post("/api/v7/memory", {**body, "user_id": "leo"}).status_code,
            leo.post("/api/v7/memory", {**body, "user_id": "mia"}).status_code,
            leo.get(f"{TEAMS}/{team}").status_code,
        ]

        assert statuses == [200, 404, 404, 200, 404, 403, 404]
        assert leo.get(TEAMS).json() == {"teams": []}

    def test_highest_of_several_roles_holds(self, http: Http) -> None:
        team = new_team(http)
        ada = join(http, team, "ada", "reader")
        token = invite(http, team, "writer")["token"]
        good(ada.post(f"{TEAMS}/accept", {"token": token, "user_id": "mia"}))

        write = {**FERRY, "team": team}
        assert ada.post("/api/v7/remember", write).status_code == 403
        assert ada.post("/api/v7/remember", {**write, "user_id": "mia"}).status_code == 200
        assert good(ada.get(TEAMS))["teams"][0]["role"] == "writer"

    def test_name_changes_and_audit_record_who_did_it(self, http: Http) -> None:
        """Every change is in the audit trail (specification.md#team-audit)."""
        team = new_team(http)
        ada = join(http, team, "ada", "writer")
        good(http.patch(f"{TEAMS}/{team}", {"name": "Orchard"}))
        open_one = invite(http, team)["invitation_id"]
        path = f"{TEAMS}/{team}/invitations"
        good(http.delete(path, params={"invitation_id": open_one}))
        member_id = members(http, team)["ada"]["member_id"]
        good(http.patch(f"{TEAMS}/{team}/members", {"member_id": member_id, "role": "reader"}))
        good(ada.delete(f"{TEAMS}/{team}/members"))

        changes = ["create", "invite", "accept", "rename", "invite", "withdraw", "role", "leave"]
        assert audit(http, team) == changes
        trail = good(http.get("/api/v7/sysperm/audit"))
        assert trail["chain_valid"]
        accepted = next(one for one in trail["entries"] if one.get("change") == "accept")
        assert (accepted["account"], accepted["member"], accepted["role"], accepted["team_id"]) == (
            "ada",
            "ada",
            "writer",
            team,
        )
        page = good(http.get(f"{TEAMS}/{team}/audit", params={"limit": 3}))
        rest = good(http.get(f"{TEAMS}/{team}/audit", params={"before": page["next"]}))
        assert len(page["entries"]) + len(rest["entries"]) == len(changes)

    def test_team_has_neither_keys_nor_a_password(self, http: Http) -> None:
        """Its account is its space alone (specification.md#team-memory)."""
        team = new_team(http)

        with pytest.raises(AccountIsTeam):
            keys.create(http.context, account=team)
        with pytest.raises(AccountIsTeam):
            sign_in.invite(http.context, team)
        assert {row.name: row.role for row in list_accounts(http.context)}[team] == "team"


class TestInvitations:
    """An invitation works once, for a time, for one role (specification.md#team-invitations)."""

    def test_token_is_shown_once_and_used_once(self, http: Http) -> None:
        """A repeated acceptance gets the first answer."""
        team = new_team(http)
        invitation = invite(http, team, "writer")
        ada, bob = http.as_account("ada"), http.as_account("bob")
        listed = good(http.get(f"{TEAMS}/{team}/invitations"))["invitations"]
        accept, once = {"token": invitation["token"]}, {"headers": {"Idempotency-Key": "k"}}

        first, again = (ada.post(f"{TEAMS}/accept", accept, **once) for _ in range(2))

        assert (first.status_code, first.json()["role"]) == (200, "writer")
        assert (again.status_code, again.json()) == (200, first.json())
        assert bob.post(f"{TEAMS}/accept", accept).status_code == 404
        assert [one["invitation_id"] for one in listed] == [invitation["invitation_id"]]
        assert "token" not in listed[0]
        assert good(http.get(f"{TEAMS}/{team}/invitations"))["invitations"] == []

    def test_expired_withdrawn_and_invented_tokens_are_alike(self, http: Http) -> None:
        team = new_team(http)
        expired = invite(http, team, expires_in_hours=1)
        http.context.clock.advance(HOUR_MS)  # type: ignore[attr-defined]
        withdrawn = invite(http, team)
        path, ada = f"{TEAMS}/{team}/invitations", http.as_account("ada")
        good(http.delete(path, params={"invitation_id": withdrawn["invitation_id"]}))

        details = {
            (answer.status_code, answer.json()["detail"])
            for token in (expired["token"], withdrawn["token"], "tmi_x")
            if (answer := ada.post(f"{TEAMS}/accept", {"token": token}))
        }

        assert [status for status, _ in details] == [404]

    def test_member_does_not_use_up_an_invitation(self, http: Http) -> None:
        """A pinned key accepts for its user."""
        team = new_team(http)
        ada = join(http, team, "ada", "reader")
        token = invite(http, team)["token"]

        assert ada.post(f"{TEAMS}/accept", {"token": token}).status_code == 409
        good(http.as_account("bob", user_id="mia").post(f"{TEAMS}/accept", {"token": token}))
        assert members(http, team)["bob"]["user_id"] == "mia"

    def test_open_invitations_are_limited(self, http: Http) -> None:
        team = new_team(http)
        for _ in range(limits.TEAM_INVITATIONS_MAX):
            invite(http, team)

        assert http.post(f"{TEAMS}/{team}/invitations", {}).status_code == 409


class TestErasing:
    """Authors and owners erase (specification.md#team-erase)."""

    def test_writer_erases_what_it_wrote_and_an_owner_everything(self, http: Http) -> None:
        """Another user of the account is another author."""
        team = new_team(http)
        ada, bob = join(http, team, "ada", "writer"), join(http, team, "bob", "writer")
        first, second = (ada.remember(f"q{n}", f"r{n}", team=team)["event_id"] for n in range(2))
        third = ada.remember(**FERRY, team=team, user_id="mia")["event_id"]
        leo, mia = (http.as_account("ada", user_id=user_id) for user_id in ("leo", "mia"))
        pin = {"pinned": True, "team": team}
        tries = [(bob, first), (ada, first), (http, second), (leo, third), (mia, third)]

        statuses = [
            one.delete(f"/api/v7/event/{event}", params={"team": team}).status_code
            for one, event in tries
        ]

        assert statuses == [403, 200, 200, 403, 200]
        assert http.rows()["events"] == 0
        fourth = ada.remember(**FERRY, team=team)["event_id"]
        assert bob.patch(f"/api/v7/event/{fourth}", pin).status_code == 403

    def test_message_takes_back_the_turns_of_its_author_alone(self, http: Http) -> None:
        team = new_team(http)
        ada, bob = join(http, team, "ada", "writer"), join(http, team, "bob", "writer")
        for member in (ada, bob):
            member.remember("My parking spot is 12.", "Noted.", team=team, session_id="a")

        bob.remember("Forget about my parking spot.", "Done.", team=team, session_id="b")

        hits = http.memory("parking spot", team=team)["hits"]
        authors = {one["memory"]["author"]["account"] for one in hits}
        assert "ada" in authors
        assert [
            one
            for one in hits
            if one["query"].startswith("My") and one["memory"]["author"]["account"] == "bob"
        ] == []

    def test_facts_are_removed_by_their_author_or_an_owner(self, http: Http) -> None:
        team = new_team(http)
        ada, bob = join(http, team, "ada", "writer"), join(http, team, "bob", "writer")
        texts = ({"text": f"Fact number {n}.", "team": team} for n in range(2))
        added = [good(ada.post("/api/v7/memory/facts", text))["fact"] for text in texts]
        first, second = (f"/api/v7/memory/facts/{fact['fact_id']}" for fact in added)
        named = {"params": {"team": team}}

        statuses = [
            bob.delete(first, **named).status_code,
            bob.patch(first, {"text": "Better.", "team": team}).status_code,
            ada.delete(second, **named).status_code,
        ]

        assert statuses == [403, 200, 200]

    def test_only_owners_forget_and_the_receipt_is_signed(self, http: Http) -> None:
        """Forgetting an account leaves what the team has."""
        team = new_team(http)
        ada = join(http, team, "ada", "writer")
        ada.remember(**FERRY, team=team)
        ada.remember(**FERRY)
        body = {"team": team, "confirm": team}
        good(ada.post("/api/v7/memory/forget", {"account": True, "confirm": "ada"}))
        left = [len(ada.memory("ferry", "ada", **where)["hits"]) for where in ({}, {"team": team})]
        ada.remember("q", "r")

        refused = ada.post("/api/v7/memory/forget", body)
        answer = good(http.post("/api/v7/memory/forget", body))

        assert (left, refused.status_code) == ([0, 1], 403)
        assert answer["counts"]["events"] == 1
        assert answer["receipt"] is not None
        assert http.rows()["events"] == 1

    def test_deleted_team_is_gone_with_its_memory_and_answers(self, http: Http) -> None:
        team = new_team(http)
        ada = join(http, team, "ada", "writer")
        headers = {"Idempotency-Key": "k"}
        good(ada.post("/api/v7/remember", {**FERRY, "team": team}, headers=headers))

        unconfirmed = http.delete(f"{TEAMS}/{team}")
        refused = ada.delete(f"{TEAMS}/{team}", params={"confirm": "Garden"})
        answer = good(http.delete(f"{TEAMS}/{team}", params={"confirm": "Garden"}))

        assert (unconfirmed.status_code, refused.status_code) == (409, 403)
        assert (answer["deleted"], answer["counts"]["events"]) == (True, 1)
        for one in (http, ada):
            assert one.get(f"{TEAMS}/{team}").status_code == 404
            assert good(one.get(TEAMS)) == {"teams": []}
        assert (http.rows()["events"], http.rows()["answers"]) == (0, 0)
        deleted = good(http.get("/api/v7/sysperm/audit"))["entries"][-1]
        assert (deleted["change"], deleted["team_id"]) == ("delete", team)
