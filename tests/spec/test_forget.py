"""Forget: erase an event, a session, a time range, a user or the account, with a receipt."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

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
            f"Where is the {what}?", f"The {what} is in the shed.", critical=f"{what}: shed"
        )
        for what in ("saw", "axe")
    )
    assert hit_ids(http, "axe shed")[0] == missing["event_id"]

    receipt = http.ask("DELETE", f"/api/v7/event/{missing['event_id']}").json()

    assert (receipt["erased"], receipt["event_id"], receipt["facts"], receipt["told_in"]) == (
        True,
        missing["event_id"],
        1,
        [],
    )
    assert hit_ids(http, "axe shed") == [keep["event_id"]]
    assert http.get(f"/api/v7/event/{missing['event_id']}").status_code == 404
    assert "axe" not in http.get("/api/v7/memory/start").json()["prompt_text"]
    assert http.ask("DELETE", f"/api/v7/event/{missing['event_id']}").status_code == 404


def test_loaded_index_drops_the_event_without_a_reload(http: Http) -> None:
    event_ids = [http.remember(f"q{n}", f"Rope number {n}.")["event_id"] for n in range(3)]
    hit_ids(http, "rope")
    space = http.context.store.read(lambda tx: tx.one("select id from spaces")).id
    index = http.context.index_cache.take(space)
    parts = index.view().size

    http.ask("DELETE", f"/api/v7/event/{event_ids[1]}")

    assert sorted(hit_ids(http, "rope")) == sorted([event_ids[0], event_ids[2]])
    assert (
        index.view().size == parts
    )  # the erased event's parts are only marked; a reload would drop them
    assert index.view().events == 2


def test_erased_text_is_not_left_in_any_file(http: Http) -> None:
    """No erased text stays in the database file (specification.md#forget-no-trace)."""
    answer = http.remember("What is the word?", "The word is zx91qv77.", topic="zx91qv77")

    http.ask("DELETE", f"/api/v7/event/{answer['event_id']}")

    http.context.close()
    assert not [
        path
        for path in http.context.settings.data_folder.rglob("*")
        if path.is_file() and b"zx91qv77" in path.read_bytes()
    ]


def test_l1_about_an_erased_event_is_named_and_kept(http: Http) -> None:
    """L1s that may mention it are named and kept (specification.md#forget-l1-named)."""
    first = http.remember("q1", "The ferry leaves at nine.", session_id="s")
    l1 = http.post(
        "/api/v7/memory/summarize",
        {"user_id": "owner", "session_id": "s", "summary_text": "Ferry at nine."},
    ).json()["l1_id"]
    http.context.clock.advance(1)  # type: ignore[attr-defined]
    later = http.remember("q2", "The train leaves at ten.", session_id="s")

    told_in = [
        http.ask("DELETE", f"/api/v7/event/{one['event_id']}").json()["told_in"]
        for one in (first, later)
    ]

    assert told_in == [[l1], []]
    assert http.rows()["summaries"] == 1


def test_session_is_erased_with_its_summaries_facts_and_maps(http: Http) -> None:
    """A session is erased with its L1s, facts and maps (specification.md#forget-session)."""
    for session in ("trip", "house"):
        http.remember(
            f"q {session}",
            f"In the {session} we need rope.",
            session_id=session,
            critical=f"Rope for the {session}.",
        )
        http.post(
            "/api/v7/memory/summarize",
            {"user_id": "owner", "session_id": session, "summary_text": f"Rope for the {session}."},
        )
    http.post("/api/v7/memory/map", {"user_id": "owner"})

    assert erased_counts(http, session_id="trip") == {
        "events": 1,
        "sessions": 1,
        "summaries": 1,
        "maps": 1,
        "facts": 1,
    }

    pack = http.get("/api/v7/memory/start?session_id=house").json()["prompt_text"]
    assert "trip" not in pack
    assert "Rope for the house." in pack
    assert len(hit_ids(http, "rope")) == 1
    body = http.post("/api/v7/memory/map", {"user_id": "owner"}).json()
    assert (body["l1_count"], "trip" in body["map_text"]) == (1, False)


def test_time_range_erases_by_occurred_at(http: Http) -> None:
    """A time range compares `occurred_at` (specification.md#forget-time-range)."""
    for day in (1, 2, 3):
        http.remember(f"q{day}", f"Rope, day {day}.", occurred_at=f"2026-03-0{day}T12:00:00Z")

    assert erased_counts(http, after="2026-03-02T00:00:00Z", before="2026-03-03T00:00:00Z") == {
        "events": 1
    }

    assert sorted(hit["response"] for hit in http.memory("rope", interact=False)["hits"]) == [
        "Rope, day 1.",
        "Rope, day 3.",
    ]


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
    cube = {
        "topic": "ropes",
        "essence": "Knots slip.",
        "rules_markdown": "- MUST check knots",
        "evidence": "told",
    }
    member.post("/api/v7/experience/create", cube)
    before = http.rows()

    counts = erased_counts(member, account=True, confirm="family")

    assert counts == {"events": 1, "sessions": 1, "files": 1, "cubes": 1, "feedback": 1}
    after = http.rows()
    changed = {
        "events": 1,
        "event_index": 1,
        "sessions": 1,
        "files": 1,
        "cubes": 1,
        "cube_index": 1,
        "feedback": 1,
    }
    assert {name: before[name] - after[name] for name in changed} == changed
    assert len(hit_ids(http, "rope", "ada")) == 1
    assert hit_ids(member, "rope", "ada") == []
    assert member.post("/api/v7/experience/create", cube).status_code == 200


def test_dry_run_counts_and_erases_nothing(http: Http) -> None:
    """A dry run only counts (specification.md#forget-dry-run)."""
    http.remember("q", "Rope.", critical="Rope.")
    before = http.rows()

    answer = http.post(FORGET, {"user_id": "owner", "dry_run": True}).json()

    assert (answer["erased"], answer["counts"]["events"], answer["counts"]["facts"]) == (
        False,
        1,
        1,
    )
    assert http.rows() == before


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"account": True, "user_id": "ada"}, "/account"),
        ({"account": True, "session_id": "s"}, "/account"),
        ({"after": "yesterday"}, "/after"),
        ({"account": "yes"}, "/account"),
    ],
)
def test_contradictory_fields_are_refused(http: Http, wrong: dict[str, Any], pointer: str) -> None:
    """Contradictory fields are a 422 (specification.md#forget-combinations)."""
    http.remember("q", "Rope.", user_id="ada")
    before = http.rows()

    answer = http.post(FORGET, wrong)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
    assert http.rows() == before


@pytest.mark.parametrize(
    "unsure",
    [
        {"account": True, "confirm": "another"},
        {"user_id": "ada", "confirm": "Ada"},
        {"account": True},
    ],
)
def test_missing_or_wrong_confirm_is_409(http: Http, unsure: dict[str, Any]) -> None:
    """Without the right `confirm`: 409 (specification.md#forget-confirm)."""
    http.remember("q", "Rope.", user_id="ada")
    before = http.rows()

    answer = http.post(FORGET, unsure)

    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert http.rows() == before


def test_reversed_time_range_erases_nothing(http: Http) -> None:
    """A reversed time range is empty (specification.md#forget-time-range)."""
    http.remember("q", "Rope.")

    assert erased_counts(http, after="2026-03-02T00:00:00Z", before="2026-03-01T00:00:00Z") == {}


def test_erasing_absent_turns_counts_zero(http: Http) -> None:
    """Absent turns give zero counts (specification.md#forget-nothing-there)."""
    assert erased_counts(http, session_id="never") == {}
    assert erased_counts(http, user_id="nobody", confirm="nobody") == {}


def test_key_erases_only_data_that_it_can_write(http: Http) -> None:
    """A key erases only what it may write (specification.md#forget-permissions)."""
    answer = http.remember("q", "Rope.", user_id="ada")["event_id"]
    reader, pinned, stranger = (
        http.as_account("owner", read_only=True),
        http.as_account("owner", user_id="bob"),
        http.as_account("other"),
    )

    refused = [
        one.ask("DELETE", f"/api/v7/event/{answer}").status_code
        for one in (reader, pinned, stranger)
    ]
    refused += [
        one.post(FORGET, {"user_id": "ada", "session_id": "default"}).status_code
        for one in (reader, pinned)
    ]
    refused += [pinned.post(FORGET, {"account": True, "confirm": "owner"}).status_code]

    assert refused == [403, 404, 404, 403, 403, 403]
    assert erased_counts(stranger, user_id="ada", confirm="ada") == {}
    assert hit_ids(http, "rope", "ada") == [answer]


def test_stored_responses_with_erased_text_are_erased_too(http: Http) -> None:
    """Stored responses are erased too (specification.md#idempotency-forget)."""
    body = {"code": "print('zx91qv77')", "session_id": "s"}
    answer = http.post("/api/execute/code", body, headers={"Idempotency-Key": "k"}).json()[
        "event_id"
    ]

    http.ask("DELETE", f"/api/v7/event/{answer}")

    assert http.rows()["answers"] == 0


def test_name_of_a_user_who_only_voted_is_erased(http: Http) -> None:
    """Its vote counts without its name, also in responses (specification.md#forget-votes)."""
    lesson = {
        "cube_topic": "kettles",
        "cube_essence": "Vinegar takes lime off the kettle.",
        "cube_rules": "- MUST rinse it twice",
        "cube_publish": True,
    }
    cube_id = http.as_account("bob").remember("q", "r", **lesson)["cube"]["cube_id"]
    body = {"cube_id": cube_id, "user_id": "anna", "vote": 1, "reason": "It worked for Anna."}
    http.post("/api/v7/experience/vote", body, headers={"Idempotency-Key": "k"})

    erased_counts(http, user_id="anna", confirm="anna")

    [row] = http.context.store.read(lambda tx: tx.all("select user_id, reason from ratings"))
    assert row.user_id.startswith("erased_")
    assert row.reason is None
    assert http.rows()["answers"] == 0


def test_duties_count_the_remaining_turns(http: Http) -> None:
    """15 turns make an L1 due; erased turns do not count (specification.md#forget-duties)."""
    saved = [http.remember(f"q{n}", f"Turn {n} says something.") for n in range(15)]
    http.ask("DELETE", f"/api/v7/event/{saved[3]['event_id']}")

    assert saved[-1]["l1_due"]
    assert [http.remember(f"r{n}", f"More {n}.")["l1_due"] for n in range(1)] == [True]
    http.post(
        "/api/v7/memory/summarize",
        {"user_id": "owner", "session_id": "default", "summary_text": "All of it."},
    )
    http.ask("DELETE", f"/api/v7/event/{saved[4]['event_id']}")
    assert [http.remember(f"s{n}", f"Again {n}.")["l1_due"] for n in range(15)] == [False] * 14 + [
        True
    ]


class TestFiles:
    """Erasing a file frees its quota (specification.md#forget-files)."""

    def test_erased_file_is_gone_and_its_quota_is_freed(self, http: Http) -> None:
        body = http.post(
            "/api/v7/tools/create-file", {"filename": "a", "content": "text", "type": "txt"}
        ).json()

        receipt = http.ask("DELETE", body["url"]).json()

        assert receipt == {"erased": True, "filename": body["filename"], "size_bytes": 4}
        assert [http.get(body["url"]).status_code, http.ask("DELETE", body["url"]).status_code] == [
            404,
            404,
        ]
        assert http.with_key(None).get(body["download_url"]).status_code == 404
        assert (
            http.context.store.read(
                lambda tx: tx.one("select charged_bytes from file_usage")
            ).charged_bytes
            == 0
        )
        assert [
            path
            for path in (http.context.settings.data_folder / "blobs").rglob("*")
            if path.is_file()
        ] == []

    def test_content_shared_with_another_file_stays(self, http: Http) -> None:
        one, other = (
            http.post(
                "/api/v7/tools/create-file", {"filename": n, "content": "same", "type": "txt"}
            ).json()
            for n in "ab"
        )

        http.ask("DELETE", one["url"])

        assert http.get(other["url"]).content == b"same"

    def test_file_cannot_be_erased_by_other_or_read_only_keys(self, http: Http) -> None:
        body = http.post(
            "/api/v7/tools/create-file", {"filename": "a", "content": "text", "type": "txt"}
        ).json()

        refused = [
            one.ask("DELETE", body["url"]).status_code
            for one in (http.as_account("other"), http.as_account("owner", read_only=True))
        ]

        assert refused == [404, 403]
        assert http.get(body["url"]).status_code == 200


class TestReplacing:
    """A replaced draft is erased; its facts and summaries stay.

    See specification.md#remember-replaces.
    """

    def test_new_turn_replaces_the_draft(self, http: Http) -> None:
        draft = http.remember("When?", "At ten.", critical="The ferry is daily.", session_id="s")[
            "event_id"
        ]

        answer = http.remember("When?", "At nine.", session_id="s", replaces=draft)

        assert [(part["part"], part["outcome"]) for part in answer["receipts"]] == [
            ("turn", "stored"),
            ("replaces", "erased"),
        ]
        assert hit_ids(http, "when") == [answer["event_id"]]
        assert http.get(f"/api/v7/event/{draft}").status_code == 404
        assert "The ferry is daily." in http.get("/api/v7/memory/start").json()["prompt_text"]
        assert http.context.store.read(lambda tx: tx.one("select turns from sessions")).turns == 1

    def test_only_the_latest_turn_of_the_session_can_be_replaced(self, http: Http) -> None:
        old, other = (
            http.remember("q1", "r1", session_id="s")["event_id"],
            http.remember("q", "r", session_id="t")["event_id"],
        )
        http.remember("q2", "r2", session_id="s")
        before = http.rows()

        refused = [
            http.post(
                "/api/v7/remember",
                {"query": "q3", "response": "r3", "session_id": "s", "replaces": which},
            ).status_code
            for which in (old, other, "e_nothing")
        ]

        assert refused == [409, 409, 404]
        assert http.rows() == before

    def test_replaces_without_a_turn_is_skipped(self, http: Http) -> None:
        draft = http.remember("q", "r")["event_id"]

        body = http.post(
            "/api/v7/remember", {"critical": "The ferry is daily.", "replaces": draft}
        ).json()

        assert [(part["part"], part["outcome"]) for part in body["receipts"]] == [
            ("replaces", "skipped"),
            ("critical", "stored"),
        ]
        assert http.get(f"/api/v7/event/{draft}").status_code == 200

    def test_replacing_a_summarised_draft_keeps_it_summarised(self, http: Http) -> None:
        draft = http.remember(
            "q",
            "The ferry leaves at ten from the pier.",
            session_id="s",
            l1_summary="Ferry at ten.",
        )["event_id"]

        http.remember(
            "q", "The ferry leaves at nine from the pier.", session_id="s", replaces=draft
        )

        counts = http.context.store.read(
            lambda tx: tx.one("select turns, turns_summarised from sessions")
        )
        assert (counts.turns, counts.turns_summarised) == (1, 1)


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", FORGET, {"user_id": "owner", "confirm": "owner"}, "filters"),
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
