"""Calls of the state machine about facts, summaries, files, cubes, keys and grants."""

from __future__ import annotations

from spec.memory_model import Cube, Grant, Text
from spec.turn_calls import ACCOUNTS, OWN, TurnCalls, cube_texts, one_of, words_of

from remembrancer.accounts import keys

MINUTE_MS = 60_000


class OtherCalls(TurnCalls):
    """Calls about everything else."""

    # --- Facts, summaries, memory files -----------------------------------------------------------

    def add_a_fact(self, account: str, user: str) -> None:
        fact = Text(self.model.new_word(account), (account, user))
        text = f"{fact.word} owns the harbour."

        answer = self.post(account, "memory/facts", user_id=user, text=text)

        fact.id = answer["fact"]["fact_id"]
        self.model.facts.append(fact)
        assert answer["outcome"] == "stored"
        assert self.post(account, "memory/facts", user_id=user, text=text)["outcome"] == "known"

    def change_a_fact(self, actor: str, number: int) -> None:
        """Another wording has the id of the fact, whose version the old one is."""
        stated = [fact for fact in self.model.facts if not fact.session]
        fact = self.pick(stated, number)
        if fact is None or fact.state != "current":
            return
        account = fact.space[0] if actor == OWN else actor
        new = Text(self.model.new_word(account), fact.space)

        answer = self.http[account].patch(
            f"/api/v7/memory/facts/{fact.id}", {"text": f"{new.word} owns the harbour."}
        )

        is_own = fact.space[0] == account
        assert answer.status_code == (200 if is_own else 404)
        if is_own:
            new.id = fact.id
            assert answer.json()["fact"]["fact_id"] == fact.id
            fact.state = "superseded"
            self.model.facts.append(new)

    def remove_a_fact(self, actor: str, number: int) -> None:
        fact = self.pick(self.model.facts, number)
        if fact is None:
            return
        account = fact.space[0] if actor == OWN else actor
        is_own = fact.space[0] == account

        answer = self.http[account].delete(f"/api/v7/memory/facts/{fact.id}")

        assert answer.status_code == (200 if is_own else 404)
        if is_own:
            for wording in self.model.facts:
                if wording.id == fact.id:
                    wording.state = "erased"

    def list_facts(self, account: str, user: str) -> None:
        """The list has the facts of the space alone, and no version among them."""
        for status in ("current", "superseded"):
            query = {"user_id": user, "status": status, "limit": 100}
            answer = self.http[account].get("/api/v7/memory/facts", params=query).json()
            assert {fact["fact_id"] for fact in answer["facts"]} == {
                fact.id
                for fact in self.model.facts
                if fact.space == (account, user) and fact.state == status == "current"
            }

    def summarize(self, account: str, user: str, session: str) -> None:
        summary = Text(self.model.new_word(account), (account, user), session)
        body = {"user_id": user, "session_id": session, "summary_text": f"{summary.word} was done."}
        place = (summary.space, session)
        turns = [one for one in self.model.turns if (one.space, one.session) == place]
        new = [one for one in turns if one.state == "current" and not one.is_summarised]
        made = [one for one in self.model.summaries if (one.space, one.session) == place]
        known = [one for one in made if one.state == "current"]

        answer = self.http[account].post("/api/v7/memory/summarize", body)

        assert answer.status_code == (200 if new or known else 409)
        if known and not new:
            known[-1].state = "superseded"  # in the map before alone
        if new or known:
            self.model.summaries.append(summary)
        for turn in new:
            turn.is_summarised = True

    def make_a_map(self, account: str, user: str) -> None:
        """A map is made of the summaries of its space alone."""
        answer = self.http[account].post("/api/v7/memory/map", {"user_id": user})

        assert words_of(answer.text) <= {
            text.word
            for text in self.model.summaries
            if text.space == (account, user) and text.state != "erased"
        }

    def write_a_note(self, account: str, user: str) -> None:
        """A memory file is the space's own; one that is written again keeps its versions."""
        if (account, user) in self.model.notes:
            return
        note = Text(self.model.new_word(account), (account, user))
        body = {"user_id": user, "path": "/memories/note.md"}
        self.post(account, "memory/files", command="create", file_text=note.word, **body)
        self.model.notes[account, user] = note

    def view_a_note(self, account: str, user: str) -> None:
        body = {"user_id": user, "path": "/memories/note.md", "command": "view"}
        note = self.model.notes.get((account, user))

        answer = self.http[account].post("/api/v7/memory/files", body)

        assert words_of(answer.text) == ({note.word} if note else set())

    def create_a_file(self, account: str) -> None:
        file = Text(self.model.new_word(account), (account, ""))
        body = {"filename": "report", "content": file.word, "type": "txt"}
        file.id = self.post(account, "tools/create-file", **body)["filename"]
        self.model.files.append(file)

    def use_a_file(self, actor: str, number: int, deletes: bool) -> None:
        """A file is its account's alone."""
        file = self.pick(self.model.files, number)
        if file is None:
            return
        account = file.space[0] if actor == OWN else actor
        is_own = file.space[0] == account

        answer = self.http[account].ask("DELETE" if deletes else "GET", f"/download/{file.id}")

        assert answer.status_code == (200 if is_own else 404)
        assert words_of(answer.text) <= ({file.word} if is_own else set())
        if deletes and is_own:
            file.state = "erased"

    # --- Cubes --------------------------------------------------------------------------------

    def create_a_cube(self, account: str, user: str) -> None:
        """A cube that comes without a turn is private."""
        word = self.model.new_word(account)
        texts = {name.removeprefix("cube_"): text for name, text in cube_texts(word).items()}
        body = {"topic": texts["topic"], "essence": texts["essence"], "evidence": "docs"}
        body["user_id"] = user
        answer = self.post(account, "experience/create", rules_markdown=texts["rules"], **body)
        self.model.cubes[answer["cube_id"]] = Cube(word, (account, user), is_published=False)

    def vote(self, account: str, user: str, vote: int, number: int) -> None:
        """Each user has one vote, and each account but the author's counts once."""
        cube_id = one_of(sorted(self.model.cubes), number)
        if cube_id is None:
            return
        cube, may_see = self.model.cubes[cube_id], self.model.may_see(cube_id, (account, user))
        body = {"cube_id": cube_id, "user_id": user, "vote": vote, "reason": "because"}

        answer = self.post(account, "experience/vote", 200 if may_see else 404, **body)

        if may_see:
            cube.votes[account, user] = vote
            assert answer["votes"] == cube.counts
            assert answer["cube_status"] == cube.status

    def all_vote(self, user: str, vote: int, number: int) -> None:
        """Enough accounts decide what a cube is worth."""
        for account in ACCOUNTS:
            self.vote(account, user, vote, number)

    def rate_nothing(self, account: str, user: str, session: str) -> None:
        """`vote_nothing` closes the ratings of the cubes that the session showed as new."""
        place = (account, user, session)
        unrated = self.model.unrated(place)
        body = {"user_id": user, "session_id": session, "duty_reason": "none fits"}
        self.post(account, "remember", duty="vote_nothing", **body)
        for cube_id in unrated:
            self.model.cubes[cube_id].votes[account, user] = 0

    # --- Keys and grants --------------------------------------------------------------------------

    def use_a_restricted_key(self, account: str, user: str) -> None:
        """A read-only key writes nothing, a pinned one has one user, a revoked one nothing."""
        reader = self.http[account].as_account(account, read_only=True)
        pinned = self.http[account].as_account(account, user_id=user)
        other = "udo" if user == "una" else "una"
        rows = reader.rows()

        assert reader.post("/api/v7/remember", {"query": "q", "response": "r"}).status_code == 403
        query = {"query_text": "lantern", "interact": False}
        for name, status in ((user, 200), (other, 403)):
            answer = pinned.post("/api/v7/memory", {**query, "user_id": name})
            assert answer.status_code == status
            assert words_of(answer.text) <= self.model.visible((account, user))
        own = [key for key in keys.list_keys(self.context, account) if key.user_id == user]
        keys.revoke(self.context, own[-1].id)
        assert pinned.post("/api/v7/memory", {**query, "user_id": user}).status_code == 401
        assert reader.rows() == rows

    def grant(self, account: str, scope: str, action: str, agent: str) -> None:
        """Only the owner grants."""
        body = {"scope": scope, "ttl_minutes": 20, "actions": [action], "agent": agent}

        answer = self.post(account, "sysperm/grant", 200 if account == "owner" else 403, **body)

        if account == "owner":
            ends_ms = self.clock() + 20 * MINUTE_MS
            self.model.grants.append(Grant(answer["grant_id"], scope, (action,), agent, ends_ms))

    def revoke(self, account: str, number: int) -> None:
        alive = [one for one in self.model.grants if not one.is_revoked]
        if not alive:
            return
        grant = alive[number % len(alive)]
        body = {"grant_id": grant.id}
        self.post(account, "sysperm/revoke", 200 if account == "owner" else 403, **body)
        grant.is_revoked = account == "owner"

    def check_and_log(self, account: str, path: str, action: str, agent: str) -> None:
        """An action is allowed only under a grant that holds now."""
        now_ms = self.clock()
        holding = {one.id for one in self.model.grants if one.allows(path, action, agent, now_ms)}

        answer = self.post(account, "sysperm/check", path=path, action=action, agent=agent)

        assert answer["allowed"] == bool(holding)
        if holding:
            assert answer["grant_id"] in holding
            record = {"grant_id": answer["grant_id"], "path": path, "action": action}
            self.post(account, "sysperm/log", result="done", **record)

    def read_the_audit_trail(self, account: str) -> None:
        answer = self.http[account].get("/api/v7/sysperm/audit")

        assert answer.status_code == (200 if account == "owner" else 403)
