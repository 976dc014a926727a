"""Calls that take no part in the protocol owe nothing: pure reads, pure writes, keys without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from service import Http

from remembrancer.protocol.seal import render

TURNS = 20  # more than make an L1 and a cube due
BATCH = [{"query": f"Question {n}?", "response": f"Answer {n}."} for n in range(TURNS)]


def write_events(http: Http, session_id: str) -> None:
    for turn in BATCH:
        body = {**turn, "user_id": "owner", "session_id": session_id}
        assert http.post("/api/v7/event/write", body).status_code == 200


def write_batch(http: Http, session_id: str) -> None:
    body = {"turns": BATCH, "user_id": "owner", "session_id": session_id}
    assert http.post("/api/v7/memory/batch", body).status_code == 200


def remember_turns(http: Http, session_id: str) -> None:
    for turn in BATCH:
        http.remember(**turn, user_id="owner", session_id=session_id)


def remember_without_protocol(http: Http, session_id: str) -> None:
    remember_turns(http.as_account("owner", has_protocol=False), session_id)


WRITES = [write_events, write_batch, remember_turns, remember_without_protocol]


def compliance(http: Http) -> Any:
    return http.get("/api/v7/agent/compliance").json()


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_pure_writes_leave_no_compliance_figure(
    http: Http, write: Callable[[Http, str], None]
) -> None:
    """Only calls that take part are counted (specification.md#compliance-part)."""
    write(http, "s")
    http.memory("question", session_id="s", interact=False)

    figures = compliance(http)
    assert (figures["total"]["searches"], figures["total"]["turns"]) == (0, 0)
    assert figures["total"]["searched"] == {"done": 0, "of": 0, "share": None}
    assert (figures["agents"], figures["sessions"]) == ([], [])
    assert 'remembrancer_duties_due{duty="searched"} 0.0' in http.get("/metrics").text


@pytest.mark.parametrize(
    "write",
    [write for write in WRITES if write is not remember_turns],
    ids=lambda write: write.__name__,
)
def test_pure_writes_leave_no_duty_to_the_next_counted_search(
    http: Http, write: Callable[[Http, str], None]
) -> None:
    """Neither an L1 nor a cube nor a look is due for them (specification.md#duty-part)."""
    write(http, "s")

    first = http.memory("question", session_id="s")
    http.remember("And now?", "Now too.", session_id="s")
    second = http.memory("question", session_id="s", last_seal=render(first["step"]))

    for answer in (first, second):
        assert "duty_error" not in answer
        assert "reminders" not in answer


def test_turns_of_the_protocol_make_an_l1_and_a_cube_due_among_others(http: Http) -> None:
    """The turns that take part are counted alone (specification.md#duty-part)."""
    write_batch(http, "s")
    for n in range(15):
        step = http.memory(f"turn {n}", session_id="s", last_seal=render(n))["step"]
        http.remember(f"Turn {n}?", f"Part {n}.", session_id="s")
        if n == 1:
            write_batch(http, "s")
    reminders = http.memory("more", session_id="s", last_seal=render(step))["reminders"]

    assert [text.split(":")[0] for text in reminders] == ["A cube is due", "An L1 is due"]
    assert "15 turns are not summarised" in reminders[1]


class TestKeyWithoutProtocol:
    """Every call of such a key is a pure read or write (specification.md#auth-no-protocol)."""

    @pytest.fixture
    def plain(self, http: Http) -> Http:
        return http.as_account("owner", has_protocol=False)

    def test_search_never_interacts_whatever_it_says(self, http: Http, plain: Http) -> None:
        http.memory("one", session_id="s")
        before = {**http.rows(), "session_users": 0}

        answer = plain.memory("one", session_id="s", interact=True, last_seal="sealed!")

        assert answer["step"] == 0
        assert not {"duty_error", "reminders"} & set(answer)
        assert {**http.rows(), "session_users": 0} == before  # whose session it is

    def test_remember_owes_nothing(self, http: Http, plain: Http) -> None:
        """A repeated turn is still stored once."""
        for session_id in ("s", "other"):
            http.memory("one", session_id=session_id)
        for n in range(TURNS):
            answer = plain.remember(f"q{n}", f"r{n} (ref: e_0000000000000).", session_id="s")
        first, again = (plain.remember("q", "r") for _ in range(2))

        assert (answer["step"], answer["l1_due"], answer["l2_due"]) == (0, False, False)
        assert "reminders" not in answer
        assert (first["event_id"], http.rows()["events"]) == (again["event_id"], TURNS + 1)

    def test_start_pack_has_no_protocol(self, http: Http, plain: Http) -> None:
        fact = {"text": "Ada gets seasick.", "user_id": "owner"}
        assert plain.post("/api/v7/memory/facts", fact).status_code == 200

        packs = [one.get("/api/v7/memory/start").json()["prompt_text"] for one in (http, plain)]

        assert ["last_seal" in pack or "Constitution" in pack for pack in packs] == [True, False]
        assert all("Ada gets seasick." in pack for pack in packs)
        protocols = [one.get("/api/v7/key").json()["protocol"] for one in (http, plain)]
        assert protocols == [True, False]

    def test_second_look_is_answered_and_not_counted(self, http: Http, plain: Http) -> None:
        plain.remember("q", "r")

        look = plain.post("/api/v7/agent/second-look", {"draft": "r"})

        assert look.json()["status"] == "pass"
        assert http.rows()["looks"] == 0

    def test_chat_stores_its_turn_without_a_step(self, http: Http, plain: Http) -> None:
        message = {"message": "When does the ferry leave?", "user_id": "owner", "session_id": "s"}

        answer = plain.post("/api/v7/agent/chat", message).json()

        assert "REM |" not in answer["reply"]
        assert (answer["step"], http.rows()["events"], http.rows()["steps"]) == (0, 1, 0)
        assert compliance(http)["total"]["turns"] == 0
