"""Packs of real cubes: exported from one account, imported into another, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cubes.agents import KETTLE, Agent
from engines import ENGINES, empty_store
from service import rows

from remembrancer import testing
from remembrancer.accounts import KeyIsReadOnly
from remembrancer.context import Context
from remembrancer.cubes.packs import (
    AddedLessons,
    ExportedPack,
    Pack,
    PackLesson,
    PackRecord,
    PackStatus,
    add_starter,
    export_pack,
    import_pack,
    list_cubes,
    parse_pack,
)
from remembrancer.cubes.starter import load_starter
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.store import open_store

TEA: dict[str, Any] = {
    "topic": "tea",
    "essence": "Green tea needs water of 80 degrees, or it turns bitter.",
}
RICE: dict[str, Any] = {
    "topic": "rice",
    "essence": "Rinsed rice sticks less, because the starch is washed off.",
}


@pytest.fixture(params=ENGINES)
def context(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    """Return a context on each engine in turn."""
    url = empty_store(str(request.param), tmp_path)
    with closing(testing.context(tmp_path, store=open_store(url, durability="normal"))) as opened:
        yield opened


def export(agent: Agent, status: PackStatus | None = None) -> ExportedPack:
    """Export the account of an agent."""
    return export_pack(agent.context, agent.caller, name="kitchen", status=status)


def pack_of(agent: Agent, status: PackStatus | None = None) -> Pack:
    """Return the pack of an agent's account, read back."""
    return parse_pack(export(agent, status).content)


def topics(agent: Agent) -> dict[str, str]:
    """Return the status of each cube of an account by its topic."""
    return {row.topic: row.status for row in list_cubes(agent.context, agent.caller)}


def test_pack_holds_the_lessons_of_a_status(ada: Agent, bob: Agent, cleo: Agent) -> None:
    """Private ones only on request, retired ones never (specification.md#pack-export)."""
    ada.make(**TEA)
    ada.publish()
    retired = ada.publish(**RICE)
    dora = Agent(ada.context, "dora")
    for voter in (bob, cleo, dora):
        voter.vote(retired, -1)

    expected: dict[PackStatus | None, list[str]] = {
        None: ["kettles"],
        "private": ["tea"],
        "published": ["kettles"],
        "trusted": [],
        "all": ["tea", "kettles"],
    }
    assert topics(ada)["rice"] == "retired"
    for status, names in expected.items():
        assert [one.topic for one in pack_of(ada, status).lessons] == names
    assert pack_of(bob, "all").lessons == ()


def test_pack_names_no_event_of_its_author(ada: Agent) -> None:
    """Event ids are replaced by a label (specification.md#pack-evidence)."""
    event_id = remember(ada.context, ada.caller, Turn(query="q", response="r")).event_id
    ada.make(evidence=f"seen in {event_id}")
    exported = export(ada, "private")
    [lesson] = parse_pack(exported.content).lessons

    assert str(event_id).encode() not in exported.content
    assert (lesson.evidence_kind, lesson.evidence) == ("event", "seen in an event of its author")


def test_record_is_shown_as_evidence_and_counts_as_no_vote(
    ada: Agent, bob: Agent, cleo: Agent
) -> None:
    """Votes elsewhere decide nothing here (specification.md#pack-record)."""
    dora = Agent(ada.context, "dora")
    cube_id = ada.publish()
    for voter, vote in ((bob, 1), (cleo, 1), (dora, 1)):
        voter.vote(cube_id, vote)
    pack = pack_of(ada)

    assert pack.lessons[0].record == PackRecord(
        useful=3, useless=0, status="trusted", helped=0, failed=0
    )

    import_pack(bob.context, bob.caller, pack, publish=True)
    [row] = list_cubes(bob.context, bob.caller)
    evidence = [one.evidence for one in cleo.matching_cubes() if one.cube_id == row.cube_id]

    assert (row.status, row.useful, row.useless) == ("published", 0, 0)
    assert evidence == [
        f"tried at home (pack kitchen signed by {pack.key_id}, useful to 3 of 3 accounts)"
    ]


def test_pack_is_imported_once(ada: Agent, bob: Agent) -> None:
    """Equal texts are the same lesson (specification.md#pack-known)."""
    bob.make(**TEA)
    for more in (TEA, RICE):
        ada.publish(**more)
    pack = pack_of(ada)
    first = import_pack(bob.context, bob.caller, pack)
    before = rows(bob.context)
    again = import_pack(bob.context, bob.caller, pack)

    assert [(one.stored, one.present) for one in (first, again)] == [(1, 1), (0, 2)]
    assert rows(bob.context) == before
    assert topics(bob) == {"tea": "private", "rice": "private"}


def test_import_during_another_one_stores_nothing_twice(ada: Agent, bob: Agent) -> None:
    """Another import ends while this one prepares its cubes (specification.md#pack-known)."""
    ada.publish()
    pack = pack_of(ada)
    others: list[AddedLessons] = []

    def interrupted_ids(prefix: str) -> str:
        if not others:
            others.append(import_pack(bob.context, bob.caller, pack))
        return bob.context.ids(prefix)

    late = import_pack(replace(bob.context, ids=interrupted_ids), bob.caller, pack)

    assert [(one.stored, one.present) for one in (*others, late)] == [(1, 0), (0, 1)]
    assert len(list_cubes(bob.context, bob.caller)) == 1


@pytest.mark.parametrize("publish", [True, False])
def test_imported_lesson_is_screened(ada: Agent, bob: Agent, *, publish: bool) -> None:
    """A refused lesson stays private, with the reason (specification.md#pack-screening)."""
    with_link = _lesson(topic="links", rules_markdown="- MUST read https://x.example/")
    pack = _with(pack_of(ada), _lesson(), with_link)
    added = import_pack(bob.context, bob.caller, pack, publish=publish)

    assert topics(bob) == {"kettles": "published" if publish else "private", "links": "private"}
    assert (added.stored, added.published) == (2, int(publish))
    assert added.refused == (("links", "Kept private: its rules contains a link or an address."),)


def test_failed_import_stores_nothing(
    ada: Agent, bob: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One transaction stores a pack: its second cube gets the id of its first one
    (specification.md#pack-import).
    """
    pack = _with(pack_of(ada), _lesson(), _lesson(topic="tea"))
    before = rows(bob.context)
    same_ids = replace(bob.context, ids=lambda prefix: f"{prefix}0123456789abc")

    with pytest.raises(Exception, match="cube_id"):
        import_pack(same_ids, bob.caller, pack)
    assert rows(bob.context) == before


def test_read_only_caller_imports_nothing(ada: Agent) -> None:
    with pytest.raises(KeyIsReadOnly):
        add_starter(ada.context, replace(ada.caller, read_only=True))


def test_lessons_that_expire_or_repeat_are_left_out(ada: Agent) -> None:
    """The reasons are named (specification.md#pack-export)."""
    first, second = ada.publish(), ada.publish(rules=str(KETTLE["rules"]).upper())
    turn = {
        "query": "q",
        "response": "r",
        "cube_topic": "milk",
        "cube_essence": "Milk burns at the bottom of a pan that nobody stirs.",
        "cube_rules": "- MUST stir it.",
        "cube_expires_at": "2099-01-01T00:00:00Z",
    }
    remember(ada.context, ada.caller, Turn.model_validate(turn))
    exported = export(ada, "all")

    assert exported.lessons == 1
    assert dict(exported.omitted)[second] == f"it repeats {first}"
    assert [why for _, why in exported.omitted] == [f"it repeats {first}", "it expires"]


def test_starter_pack_is_added_once_and_published(ada: Agent, bob: Agent) -> None:
    """Its lessons are published at once (specification.md#pack-starter)."""
    count = len(load_starter())
    first, again = (add_starter(ada.context, ada.caller) for _ in range(2))

    assert (first.stored, first.published, first.refused) == (count, count, ())
    assert (again.stored, again.present) == (0, count)
    assert set(topics(ada).values()) == {"published"}
    assert "heapq" in bob.matching_cubes("heapq raises TypeError for equal priorities")[0].essence


def _lesson(**changed: str) -> PackLesson:
    """Return a lesson as another installation writes it."""
    fields = {
        "cube_id": f"c_{changed.get('topic', 'kettles')}",
        "kind": "lifehack",
        "topic": "kettles",
        "essence": KETTLE["essence"],
        "rules_markdown": KETTLE["rules"],
        "evidence_kind": "label",
        "evidence": "tried at home",
        "record": PackRecord(useful=0, useless=0, status="private", helped=0, failed=0),
        **changed,
    }
    return PackLesson.model_validate(fields)


def _with(pack: Pack, *lessons: PackLesson) -> Pack:
    """Return the pack with other lessons."""
    return replace(pack, lessons=lessons)
