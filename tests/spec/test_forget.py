"""Forget: erase an event, a session, a time range, a user or the account, with a receipt."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http
from waiting import wait_until

FORGET = "/api/v7/memory/forget"


def erased_counts(http: Http, **what: Any) -> Any:
    """Return the receipt's counts that are not 0."""
    answer = http.post(FORGET, what)
    assert answer.status_code == 200, answer.text
    return {name: count for name, count in answer.json()["counts"].items() if count}


def hit_ids(http: Http, text: str, user_id: str = "owner") -> list[str]:
    """Return the ids of the hits of a search."""
    return [hit["event_id"] for hit in http.memory(text, user_id, interact=False)["hits"]]


def test_erased_event_is_gone_from_search_and_detail_at_once(http: Http) -> None:
    """An erased event is gone at once (specification.md#forget-event)."""
    keep, missing = (
        http.remember(
            f"Where is the {what}?", f"In the shed: the {what}.", critical=f"{what}: shed"
        )
        for what in ("saw", "axe")
    )
    path = f"/api/v7/event/{missing['event_id']}"
    assert hit_ids(http, "axe shed")[0] == missing["event_id"]

    receipt = http.delete(path).json()

    assert (receipt["erased"], receipt["event_id"]) == (True, missing["event_id"])
    assert (receipt["facts"], receipt["told_in"]) == (1, [])
    assert hit_ids(http, "axe shed") == [keep["event_id"]]
    assert "axe" not in http.get("/api/v7/memory/start").json()["prompt_text"]
    assert [http.get(path).status_code, http.delete(path).status_code] == [404, 404]


@pytest.mark.parametrize("is_busy", [False, True])
def test_erased_words_leave_the_log_of_a_running_server(http: Http, is_busy: bool) -> None:
    """Nobody closes or restarts the store (specification.md#forget-no-trace)."""
    event = http.remember("Where is the xylophone?", "The xylophone is in the attic.")["event_id"]
    folder = http.context.settings.data_folder

    def has_words() -> bool:
        files = (path for path in folder.rglob("*") if path.is_file())
        return any(b"xylophone" in path.read_bytes() for path in files)

    assert has_words()
    http.delete(f"/api/v7/event/{event}")

    if is_busy:
        wait_until(lambda: http.remember("q", "r") and not has_words())
    wait_until(lambda: not has_words())


def test_l1_about_an_erased_event_is_named_and_kept(http: Http) -> None:
    """L1s that may mention it are named and kept (specification.md#forget-l1-named)."""
    first = http.remember("q1", "The ferry leaves at nine.", session_id="s")
    summary = {"user_id": "owner", "session_id": "s", "summary_text": "Ferry at nine."}
    l1 = http.post("/api/v7/memory/summarize", summary).json()["l1_id"]
    http.context.clock.advance(1)  # type: ignore[attr-defined]
    later = http.remember("q2", "The train leaves at ten.", session_id="s")

    receipts = [http.delete(f"/api/v7/event/{one['event_id']}").json() for one in (first, later)]

    assert [receipt["told_in"] for receipt in receipts] == [[l1], []]
    assert http.rows()["summaries"] == 1


def test_session_is_erased_with_its_summaries_facts_and_maps(http: Http) -> None:
    """A session is erased with its L1s, facts and maps (specification.md#forget-session)."""
    for session in ("trip", "house"):
        rope = f"Rope for the {session}."
        http.remember(f"q {session}", rope, session_id=session, critical=rope)
        summary = {"user_id": "owner", "session_id": session, "summary_text": rope}
        http.post("/api/v7/memory/summarize", summary)
    http.post("/api/v7/memory/map", {"user_id": "owner"})

    counts = erased_counts(http, session_id="trip")

    parts = ("events", "sessions", "summaries", "maps", "facts")
    assert counts == dict.fromkeys(parts, 1)
    pack = http.get("/api/v7/memory/start?session_id=house").json()["prompt_text"]
    assert ("trip" in pack, "Rope for the house." in pack) == (False, True)
    assert len(hit_ids(http, "rope")) == 1
    body = http.post("/api/v7/memory/map", {"user_id": "owner"}).json()
    assert (body["l1_count"], "trip" in body["map_text"]) == (1, False)


def test_time_range_erases_by_occurred_at(http: Http) -> None:
    """A time range compares `occurred_at`; a reversed one is empty, absent turns count 0.

    See specification.md#forget-time-range, specification.md#forget-nothing-there.
    """
    for day in (1, 2, 3):
        http.remember(f"q{day}", f"Rope, day {day}.", occurred_at=f"2026-03-0{day}T12:00:00Z")
    second, third = "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"

    assert erased_counts(http, after=third, before=second) == {}
    assert erased_counts(http, session_id="never") == {}
    assert erased_counts(http, user_id="nobody", confirm="nobody") == {}
    assert erased_counts(http, after=second, before=third) == {"events": 1}
    responses = {hit["response"] for hit in http.memory("rope", interact=False)["hits"]}
    assert responses == {"Rope, day 1.", "Rope, day 3."}


def test_user_is_erased_after_confirmation_and_can_return(http: Http) -> None:
    """`confirm` must repeat the `user_id` (specification.md#forget-user)."""
    http.remember("q", "Rope of ada.", user_id="ada", critical="ada sails")
    http.remember("q", "Rope of bob.", user_id="bob")
    http.memory("rope", "ada")
    http.ask("PUT", "/api/v7/agent/prompt", json={"user_id": "ada", "prompt": "Be short."})

    refused = http.post(FORGET, {"user_id": "ada"})
    counts = erased_counts(http, user_id="ada", confirm="ada")

    assert (refused.status_code, "'ada'" in refused.json()["detail"]) == (409, True)
    assert counts == {"events": 1, "sessions": 1, "facts": 1, "prompts": 1}
    assert (hit_ids(http, "rope", "ada"), len(hit_ids(http, "rope", "bob"))) == ([], 1)
    answer = http.remember("q", "New rope.", user_id="ada")
    assert hit_ids(http, "rope", "ada") == [answer["event_id"]]
    assert http.memory("rope", "ada")["step"] == 1


def test_account_is_erased_completely_and_no_other(http: Http) -> None:
    """Only this account is erased, completely (specification.md#forget-account)."""
    member = http.as_account("family")
    for one in (http, member):
        one.remember("q", "Rope.", user_id="ada", session_id="s")
        one.post("/api/v7/tools/create-file", {"filename": "a", "content": "text", "type": "txt"})
        one.post("/api/v7/feedback", {"type": "bug", "title": "t", "description": "d"})
    cube = {"topic": "ropes", "essence": "Knots slip.", "rules_markdown": "- MUST check knots"}
    member.post("/api/v7/experience/create", {**cube, "evidence": "told"})
    before = http.rows()

    counts = erased_counts(member, account=True, confirm="family")

    assert counts == dict.fromkeys(("events", "sessions", "files", "cubes", "feedback"), 1)
    after = http.rows()
    tables = (*counts, "event_index", "cube_index")
    assert [before[table] - after[table] for table in tables] == [1] * len(tables)
    assert len(hit_ids(http, "rope", "ada")) == 1
    assert hit_ids(member, "rope", "ada") == []
    again = member.post("/api/v7/experience/create", {**cube, "evidence": "told"})
    assert again.status_code == 200


def test_request_that_is_not_sure_erases_nothing(http: Http) -> None:
    """A dry run counts; contradictions are a 422, a missing or wrong `confirm` a 409.

    See specification.md#forget-dry-run, specification.md#forget-combinations,
    specification.md#forget-confirm.
    """
    http.remember("q", "Rope.", user_id="ada", critical="Rope.")
    before = http.rows()

    answer = http.post(FORGET, {"user_id": "ada", "dry_run": True}).json()
    counts = answer["counts"]
    assert (answer["erased"], counts["events"], counts["facts"]) == (False, 1, 1)
    for wrong in ({"user_id": "ada"}, {"session_id": "s"}):
        answer = http.post(FORGET, {"account": True, **wrong})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/account")
    for unsure in (
        {"account": True, "confirm": "another"},
        {"user_id": "ada", "confirm": "Ada"},
        {"account": True},
    ):
        answer = http.post(FORGET, unsure)
        assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert http.rows() == before


def test_key_erases_only_data_that_it_can_write(http: Http) -> None:
    """A key erases only what it may write (specification.md#forget-permissions)."""
    event_id = http.remember("q", "Rope.", user_id="ada")["event_id"]
    reader = http.as_account("owner", read_only=True)
    pinned, stranger = http.as_account("owner", user_id="bob"), http.as_account("other")

    answers = [one.delete(f"/api/v7/event/{event_id}") for one in (reader, pinned, stranger)]
    session = {"user_id": "ada", "session_id": "default"}
    answers += [one.post(FORGET, session) for one in (reader, pinned)]
    answers.append(pinned.post(FORGET, {"account": True, "confirm": "owner"}))

    assert [answer.status_code for answer in answers] == [403, 404, 404, 403, 403, 403]
    assert erased_counts(stranger, user_id="ada", confirm="ada") == {}
    assert hit_ids(http, "rope", "ada") == [event_id]


def test_stored_responses_with_erased_text_are_erased_too(http: Http) -> None:
    """Stored responses are erased too (specification.md#idempotency-forget)."""
    body = {"code": "print('zx91qv77')", "session_id": "s"}
    run = http.post("/api/execute/code", body, headers={"Idempotency-Key": "k"}).json()

    http.delete(f"/api/v7/event/{run['event_id']}")

    assert http.rows()["answers"] == 0


def test_duties_count_the_remaining_turns(http: Http) -> None:
    """15 turns make an L1 due; erased turns do not count (specification.md#forget-duties)."""
    saved = [http.remember(f"q{n}", f"Turn {n} says something.") for n in range(15)]
    http.delete(f"/api/v7/event/{saved[3]['event_id']}")
    summary = {"user_id": "owner", "session_id": "default", "summary_text": "All of it."}

    assert saved[-1]["l1_due"]
    assert http.remember("r", "More.")["l1_due"]
    http.post("/api/v7/memory/summarize", summary)
    http.delete(f"/api/v7/event/{saved[4]['event_id']}")
    due = [http.remember(f"s{n}", f"Again {n}.")["l1_due"] for n in range(15)]
    assert due == [False] * 14 + [True]


def create_file(http: Http, filename: str = "a", content: str = "text") -> Any:
    """Create a text file; return the response body."""
    body = {"filename": filename, "content": content, "type": "txt"}
    return http.post("/api/v7/tools/create-file", body).json()


def test_erased_file_is_gone_and_its_quota_is_freed(http: Http) -> None:
    """Other keys erase nothing (specification.md#forget-files)."""
    body = create_file(http)
    others = (http.as_account("other"), http.as_account("owner", read_only=True))
    assert [one.delete(body["url"]).status_code for one in others] == [404, 403]
    assert http.get(body["url"]).status_code == 200

    receipt = http.delete(body["url"]).json()

    assert receipt == {"erased": True, "filename": body["filename"], "size_bytes": 4}
    assert http.get(body["url"]).status_code == http.delete(body["url"]).status_code == 404
    assert http.with_key(None).get(body["download_url"]).status_code == 404
    usage = http.context.store.read(lambda tx: tx.one("select charged_bytes from file_usage"))
    assert usage.charged_bytes == 0
    blobs = (http.context.settings.data_folder / "blobs").rglob("*")
    assert [path for path in blobs if path.is_file()] == []


class TestReplacing:
    """A replaced draft is erased; its facts and summaries stay.

    See specification.md#remember-replaces.
    """

    def test_new_turn_replaces_the_draft(self, http: Http) -> None:
        fact = "The ferry is daily."
        summary = {"l1_summary": "Ferry at ten."}
        at_ten = http.remember("When?", "At ten, from the pier.", critical=fact, **summary)
        draft = at_ten["event_id"]

        answer = http.remember("When?", "At nine, from the pier.", replaces=draft)

        outcomes = [(part["part"], part["outcome"]) for part in answer["receipts"]]
        assert outcomes == [("turn", "stored"), ("replaces", "erased")]
        assert hit_ids(http, "when") == [answer["event_id"]]
        assert http.get(f"/api/v7/event/{draft}").status_code == 404
        assert fact in http.get("/api/v7/memory/start").json()["prompt_text"]
        counts = http.context.store.read(
            lambda tx: tx.one("select turns, turns_summarised from sessions")
        )
        assert (counts.turns, counts.turns_summarised) == (1, 1)

    def test_only_the_latest_turn_of_the_session_can_be_replaced(self, http: Http) -> None:
        old, other = (http.remember("q", "r", session_id=s)["event_id"] for s in "st")
        http.remember("q2", "r2", session_id="s")
        before, turn = http.rows(), {"query": "q3", "response": "r3", "session_id": "s"}

        answers = [
            http.post("/api/v7/remember", {**turn, "replaces": draft})
            for draft in (old, other, "e_nothing")
        ]

        assert [answer.status_code for answer in answers] == [409, 409, 404]
        assert http.rows() == before


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", FORGET, {"user_id": "owner", "confirm": "owner"}, "filter"),
        ("PATCH", "/api/v7/event/{event_id}", {"withdrawn": True}, "expire_at"),
        ("PATCH", "/api/v7/memory/facts/{fact_id}", {"clear": ["expires_at"]}, "when"),
        ("PUT", "/api/v7/memory/retention", {"events": 1}, "user"),
        ("POST", "/api/v7/sysperm/revoke", {"grant_id": "g_5v0n8k2m4t6wz"}, "path"),
    ],
)
def test_unknown_fields_of_requests_that_erase_are_refused(
    http: Http, method: str, path: str, body: dict[str, Any], field: str
) -> None:
    """Such a field may have been to narrow the request (specification.md#api-unknown-fields)."""
    saved = http.remember("Where is the saw?", "In the shed.", critical="The saw is in the shed.")
    [fact] = http.get("/api/v7/memory/facts").json()["facts"]
    before = http.rows()

    answer = http.ask(
        method,
        path.format(event_id=saved["event_id"], fact_id=fact["fact_id"]),
        json={**body, field: {"project": "x"}},
    )

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [f"/{field}"]
    assert http.rows() == before
