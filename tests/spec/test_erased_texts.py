"""Whatever erases a text leaves no word of it: in no column, and in no file of the data folder.

`NO_TEXT` names the columns that no text of a user gets into. A new column with text is either in
`everything`, and so erased by each test below, or there with a reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from engines import KEPT_IN
from service import Http, body_of

from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.feedback import close_feedback
from remembrancer.memory.exchange import importer
from remembrancer.memory.facts import life as facts
from remembrancer.memory.history import endings
from remembrancer.store import Transaction

pytestmark = pytest.mark.skipif(KEPT_IN == "postgresql", reason="it reads SQLite's schema")
WORD = "qqzzvox"
ROOT = b"qqzz"  # of every form of the word
YEAR_MS, SOON = 365 * 86_400_000, "2026-12-24T00:00:00Z"
FORGET, FACTS, TEAMS = "/api/v7/memory/forget", "/api/v7/memory/facts", "/api/v7/teams"
INDEXES = ("cube_index", "event_index", "layer_index")
# By reason: columns that have no text of a user.
NO_TEXT = {
    "an account or a key of it, which stay until they are revoked": (
        "accounts.name keys.label keys.user_id team_invitations.invited_by teams.team_id"
    ),
    "a name that a client gives to a request, for a day": "answers.idempotency_key",
    "a digest or a secret": (
        "answers.body_digest audit.hash audit_head.hash browser_sessions.digest files.blob "
        "invitations.digest keys.digest keys.hint passwords.hash secrets.name secrets.secret "
        "sign_in_failures.digest team_invitations.digest"
    ),
    "an identifier that the service made": (
        "cubes.cube_id events.event_id facts.fact_id feedback.feedback_id grants.grant_id "
        "sessions.open_task sessions.tasks_shown steps.got "
        "allowed_checks.grant_id summaries.l1_id team_invitations.invitation_id "
        "team_members.member_id"
    ),
    "one of a few words of the service": (
        "accounts.role allowed_checks.action answers.path browser_sessions.browser "
        "closed_duties.duty cubes.kind cubes.status embedders.name events.flags feedback.type "
        "files.made_by grants.actions maps.made_by memory_files.change memory_files.flags rates.kind "
        "rates.who "
        "shown_cubes.signals shown_cubes.used steps.owed sweeps.reason team_invitations.role "
        "team_members.role usage.kind"
    ),
    "derived from the row of the same id, without words; see `test_index_is_erased`": (
        "cube_index.vectors cube_index.words event_index.vectors event_index.words "
        "layer_index.vectors layer_index.words"
    ),
    "the audit trail of permissions on files of the system, which is never changed": (
        "allowed_checks.agent allowed_checks.path audit.entry grants.agent grants.anchor "
        "grants.glob grants.scope"
    ),
}


CUBE = {"topic": WORD, "essence": f"The {WORD} takes lime off the kettle."}
RULES = f"- MUST rinse the {WORD} twice"
CUBE_OF_TURN = {"cube_rules": RULES, **{f"cube_{name}": text for name, text in CUBE.items()}}
ALONE = {"user_id": None, "session_id": None, "team": None}  # for bodies without such fields
PISA = f"{WORD} lives in Pisa."
FILE = f"/memories/{WORD}.md"
FILE_CHANGES: tuple[dict[str, Any], ...] = (
    {"command": "create", "path": FILE, "file_text": f"{WORD}\n"},
    {"command": "insert", "path": FILE, "insert_line": 1, "insert_text": f"More {WORD}\n"},
    {"command": "rename", "old_path": FILE, "new_path": f"/memories/2{WORD}.md"},
)


class Planter:
    """Stores texts with the word by every operation that takes a text."""

    def __init__(self, http: Http, account: str = "family", **place: Any) -> None:
        """Use a key of an account; `place` names user, session or team in each request."""
        self.http, self.account, self.writes = http, account, 0
        self.place = {"user_id": account, **place}

    def send(self, path: str, method: str = "POST", /, **body: Any) -> Any:
        """Send a write with an `Idempotency-Key`, so that its answer is stored as well."""
        self.writes += 1
        headers = {"Idempotency-Key": f"key-{self.writes}"}
        body = {name: value for name, value in {**self.place, **body}.items() if value is not None}
        return body_of(self.http.ask(method, path, json=body, headers=headers))

    def turn(self, **more: Any) -> str:
        """Remember a turn that states a fact and a wish; find it, cite it, and look at it again."""
        body = {
            "query": f"I moved to {WORD}ville. Always call me {WORD} when I ask about {WORD}.",
            "response": f"The {WORD} is at home.",
            "topic": WORD,
            "critical": f"The color of {WORD} is red.",
            "metadata": {WORD: WORD},
        }
        event = str(self.send("/api/v7/remember", **{**body, **more})["event_id"])
        self.search()
        return event

    def advance(self) -> None:
        """Let a year go by, and erase what has expired."""
        context = self.http.context
        context.clock.advance(YEAR_MS)  # type: ignore[attr-defined]
        while facts.erase_expired_facts(context) or endings.erase_expired(context):
            pass

    def search(self) -> None:
        answer = self.http.post("/api/v7/memory", {"query_text": WORD, **self.place})
        assert answer.status_code == 200, answer.text


def everything(plant: Planter) -> None:
    """Use every operation that takes a text of a user, whose name has the word."""
    memory_of_a_user(plant)
    plant.place.pop("session_id", None)
    plant.send("/api/v7/agent/prompt", "PUT", prompt=WORD, session_id=None)
    for change in FILE_CHANGES:
        plant.send("/api/v7/memory/files", **change)
    cube = plant.send("/api/v7/experience/create", **CUBE, rules_markdown=RULES, evidence=WORD)[
        "cube_id"
    ]
    plant.send("/api/v7/experience/vote", cube_id=cube, vote=1, reason=WORD)
    pinned = Planter(plant.http.as_account(plant.account, user_id=WORD), user_id=WORD)
    pinned.send("/api/v7/tools/create-file", filename=WORD, content=WORD, type="txt", **ALONE)
    pinned.send("/api/execute/code", code=f"print('{WORD}')", session_id=WORD)
    for user_id in (f"{WORD}-2", WORD):
        plant.send("/api/v7/remember", query="?", response="!", user_id=user_id, session_id="s")
    path = plant.http.context.settings.data_folder / "turns.jsonl"
    path.write_text(json.dumps({"id": WORD, "query": f"Which {WORD}?", "response": WORD}))
    caller = caller_for(plant.http.context, plant.account)
    importer.store(
        plant.http.context,
        caller,
        importer.read(caller, path, user_id=WORD),
    )
    path.unlink()


def memory_of_a_user(plant: Planter) -> None:
    """Use every operation of the memory of a user, or of a team."""
    plant.send("/api/v7/memory/retention", "PUT", events=1, session_id=None)
    plant.send("/api/v7/event/write", query=f"Am I {WORD}?", response="Yes.")
    plant.send("/api/v7/event/write", query=f"Are you {WORD}?", response="No.")
    assert endings.apply_retention(plant.http.context)
    plant.send("/api/v7/memory/retention", "PUT", events=1_000, session_id=None)
    memory_of_a_session(plant)
    if "team" not in plant.place:
        plant.send("/api/v7/remember", query="Is it?", response="Yes.", model=WORD, **CUBE_OF_TURN)
    fact(plant)


def memory_of_a_session(plant: Planter) -> None:
    """Use every operation of the memory of a session."""
    plant.send(
        "/api/v7/remember",
        query=f"I live in {WORD}burg. My {WORD} is called Ada.",
        response="Noted.",
    )
    plant.turn(l1_summary=f"About {WORD}.", l2_map=f"Home: {WORD}.")
    draft(plant)
    if "team" not in plant.place:
        plant.send("/api/v7/memory/map", session_id=None)
        plant.send("/api/v7/remember", duty="cube_nothing", duty_reason=WORD)
    plant.send("/api/v7/event/write", query=f"Which {WORD}?", response=WORD)
    turns = [{"query": f"And {WORD}?", "response": WORD, "metadata": {"a": WORD}}]
    plant.send("/api/v7/memory/batch", turns=turns)


def draft(plant: Planter) -> str:
    """Answer a message twice, before the next search; return the id of the second turn."""
    plant.search()
    for answer in ("At pier four.", "At pier three."):
        event = plant.send("/api/v7/remember", query=f"Which {WORD}?", response=f"{WORD}: {answer}")
    return str(event["event_id"])


def fact(plant: Planter) -> tuple[str, str]:
    """Add a fact and reword it; return the ids of both wordings."""
    text = f"{WORD} lives in Rome."
    first = plant.send(FACTS, text=text, metadata={WORD: WORD})["fact"]["fact_id"]
    second = plant.send(f"{FACTS}/{first}", "PATCH", text=PISA, user_id=None, session_id=None)
    return first, second["fact"]["fact_id"]


def without_text() -> set[str]:
    """Return the columns that have no text of a user."""
    return {column for columns in NO_TEXT.values() for column in columns.split()}


def columns(context: Context) -> set[str]:
    """Return the columns with text or bytes, as table.column."""
    sql = (
        "select tables.name || '.' || columns.name as name from sqlite_master as tables "
        "join pragma_table_xinfo(tables.name) as columns "
        "where tables.type = 'table' and lower(columns.type) in ('text', 'blob')"
    )
    return {row.name for row in context.store.read(lambda tx: tx.all(sql))}


def columns_with_word(context: Context) -> set[str]:
    """Return the columns that have the word in a row."""

    def read(tx: Transaction) -> set[str]:
        values = [
            (name, row.value)
            for name in names
            for table, _, column in [name.partition(".")]
            for row in tx.all(f"select {column} as value from {table}")
        ]
        return {name for name, value in values if has_word(value)}

    names = columns(context)
    return context.store.read(read)


def places_of_word(context: Context) -> set[str]:
    """Return the columns with text of users, and the files beside the store, that have the word."""
    files = {
        str(path)
        for path in context.settings.data_folder.rglob("*")
        if path.is_file() and "sqlite3" not in path.name and has_word(path.read_bytes())
    }
    return columns_with_word(context) - without_text() | files


def has_word(value: str | bytes | None) -> bool:
    """Return True for a text, or the bytes of one, with the word in any form."""
    content = value.encode() if isinstance(value, str) else value or b""
    return ROOT in content.lower()


def erase_event(plant: Planter) -> None:
    plant.http.delete(f"/api/v7/event/{plant.turn()}")


def erase_revision(plant: Planter) -> None:
    plant.http.delete(f"/api/v7/event/{draft(plant)}")


def replace_draft(plant: Planter) -> None:
    event = plant.turn(critical=None, query="Which pier?", metadata={WORD: WORD})
    plant.send("/api/v7/remember", query="Which pier?", response="Pier 3.", replaces=event)


def forget_session(plant: Planter) -> None:
    plant.place["session_id"] = WORD
    memory_of_a_session(plant)
    forget(plant, session_id=WORD)


def forget_period(plant: Planter) -> None:
    plant.turn(occurred_at="2020-01-01T00:00:00Z")
    forget(plant, before="2021-01-01T00:00:00Z")


def forget_filtered(plant: Planter) -> None:
    plant.turn()
    fact(plant)
    forget(plant, filters={WORD: WORD})


def forget_user(plant: Planter) -> None:
    plant.place["user_id"] = WORD
    everything(plant)
    forget(plant, confirm=WORD)
    plant.place["user_id"] = f"{WORD}-2"
    forget(plant, confirm=f"{WORD}-2")


def forget_account(plant: Planter) -> None:
    everything(Planter(plant.http, user_id=WORD, session_id=WORD))
    send_feedback(plant)
    forget(plant, account=True, confirm=plant.account, user_id=None)


def send_feedback(plant: Planter) -> None:
    """Send feedback, and close it with a note."""
    body = {"type": "bug", "title": WORD, "description": WORD}
    context, sent = plant.http.context, plant.send("/api/v7/feedback", **body)
    close_feedback(context, caller_for(context), sent["feedback_id"], WORD)


def forget_files(plant: Planter) -> None:
    for change in FILE_CHANGES:
        plant.send("/api/v7/memory/files", **change)
    forget(plant, path="/memories")


def expire_turn(plant: Planter) -> None:
    plant.turn(expires_at=SOON)
    plant.advance()


def expire_fact(plant: Planter) -> None:
    plant.send(FACTS, text=f"{WORD} is red.", metadata={WORD: WORD}, expires_at=SOON)
    plant.advance()


def expire_cube(plant: Planter) -> None:
    more = {**CUBE_OF_TURN, "cube_expires_at": SOON, "model": WORD}
    plant.send("/api/v7/remember", query="?", response="!", **more)
    plant.advance()


def exceed_retention(plant: Planter) -> None:
    plant.turn(l1_summary=f"About {WORD}.")
    plant.send("/api/v7/memory/map")
    plant.send("/api/v7/memory/retention", "PUT", days=30)
    plant.advance()
    assert endings.apply_retention(plant.http.context)


def remove_fact(plant: Planter) -> None:
    for fact_id in fact(plant):
        assert plant.http.delete(f"{FACTS}/{fact_id}").status_code == 200


def change_metadata(plant: Planter) -> None:
    event = plant.send("/api/v7/remember", query="?", response="!", metadata={WORD: WORD})
    stored = plant.send(FACTS, text="Red.", metadata={WORD: WORD})["fact"]
    for path in (f"/api/v7/event/{event['event_id']}", f"{FACTS}/{stored['fact_id']}"):
        assert plant.http.patch(path, {"metadata": {"a": 1}}).status_code == 200


def change_prompt(plant: Planter) -> None:
    for text in (WORD, "Be short."):
        plant.send("/api/v7/agent/prompt", "PUT", prompt=text)


def delete_file(plant: Planter) -> None:
    body = {"filename": WORD, "content": WORD, "type": "txt"}
    plant.http.delete(plant.send("/api/v7/tools/create-file", **body)["url"])


def end_team(plant: Planter) -> None:
    team = new_team(plant)
    memory_of_a_user(Planter(plant.http, team=team))
    answer = plant.http.delete(f"{TEAMS}/{team}", params={"confirm": WORD})
    assert answer.status_code == 200, answer.text


def rename_team(plant: Planter) -> None:
    team = plant.http.post(TEAMS, {"name": WORD}).json()["team_id"]
    plant.send(f"{TEAMS}/{team}", "PATCH", name=f"{WORD} 2", **ALONE)
    assert plant.http.patch(f"{TEAMS}/{team}", {"name": "Club"}).status_code == 200


def new_team(plant: Planter) -> str:
    """Create a team in which a user of another account, whose name has the word, has written."""
    team = str(plant.http.post(TEAMS, {"name": WORD}).json()["team_id"])
    token = plant.http.post(f"{TEAMS}/{team}/invitations", {"role": "writer"}).json()["token"]
    member = plant.http.as_account("wanda", user_id=WORD)
    assert member.post(f"{TEAMS}/accept", {"token": token}).status_code == 200
    Planter(member, WORD, team=team).turn()
    return team


def forget(plant: Planter, **selection: Any) -> None:
    plant.send(FORGET, **{"session_id": None, **selection})


ERASURES = (
    erase_event,
    erase_revision,
    replace_draft,
    forget_session,
    forget_period,
    forget_filtered,
    forget_user,
    forget_account,
    forget_files,
    expire_turn,
    expire_fact,
    expire_cube,
    exceed_retention,
    remove_fact,
    change_metadata,
    change_prompt,
    delete_file,
    end_team,
    rename_team,
)


@pytest.fixture
def plant(http: Http) -> Planter:
    return Planter(http.as_account("family"))


@pytest.mark.parametrize("erase", ERASURES)
def test_nothing_is_left_of_an_erased_text(
    plant: Planter, erase: Callable[[Planter], None]
) -> None:
    """See specification.md#forget-no-trace."""
    erase(plant)

    assert places_of_word(plant.http.context) == set()


def test_every_column_with_text_is_erased_or_has_no_text(plant: Planter) -> None:
    """A new column belongs into `everything`, and with it into all tests here, or `NO_TEXT`."""
    everything(Planter(plant.http, user_id=WORD, session_id=WORD))
    send_feedback(plant)
    new_team(plant)

    context = plant.http.context
    assert columns(context) - without_text() == columns_with_word(context) - without_text()
    assert without_text() - columns(context) == set()


def test_table_that_nobody_erases_is_noticed(plant: Planter) -> None:
    """A table beside the others, with what a turn says."""
    context = plant.http.context
    event = plant.turn()
    context.store.write(
        lambda tx: tx.run("create table copies (id integer primary key, text text)")
    )
    context.store.write(lambda tx: tx.run("insert into copies (text) select query from events"))
    plant.http.delete(f"/api/v7/event/{event}")

    assert places_of_word(context) == {"copies.text"}


@pytest.mark.parametrize("erase", [forget_user, forget_account])
def test_index_is_erased(plant: Planter, erase: Callable[[Planter], None]) -> None:
    """Its rows have no words, and so are counted."""
    erase(plant)

    counts = plant.http.context.store.read(
        lambda tx: {table: tx.one(f"select count(*) as n from {table}").n for table in INDEXES}
    )
    assert counts == dict.fromkeys(INDEXES, 0)
