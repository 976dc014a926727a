"""The format of packs: what is written is read back, and every damage has its own error."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cubes.agents import KETTLE, Agent
from engines import ENGINES, empty_store
from hypothesis import assume, example, given
from hypothesis import strategies as st
from service import rows

from remembrancer import testing
from remembrancer.accounts import KeyIsReadOnly
from remembrancer.accounts.signing import base64url, public_bytes
from remembrancer.context import Context
from remembrancer.cubes import packs
from remembrancer.cubes.packs import (
    AddedLessons,
    ExportedPack,
    NotAPack,
    Pack,
    PackCountWrong,
    PackCutOff,
    PackFormatUnknown,
    PackLesson,
    PackLineInvalid,
    PackLineRepeated,
    PackRecord,
    PackRefused,
    PackSignatureWrong,
    PackSignerRefused,
    PackStatus,
    PackTooLarge,
    add_starter,
    export_pack,
    import_pack,
    list_cubes,
    parse_pack,
    write_pack,
)
from remembrancer.cubes.starter import load_starter
from remembrancer.memory.remember import remember
from remembrancer.protocol.cubes import CubeStatus
from remembrancer.protocol.line import CubeKind
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.recalled import imitated_line
from remembrancer.protocol.text import is_placeholder
from remembrancer.store import open_store

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
KETTLE_LINE: dict[str, Any] = {
    "cube_id": "c_7k2m9x0v4t8qz",
    "kind": "lifehack",
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
    "rules_markdown": "- MUST boil one part vinegar with two parts water.",
    "evidence_kind": "label",
    "evidence": "tried at home",
    "record": {"useful": 4, "useless": 1, "status": "trusted", "helped": 3, "failed": 2},
}
TEA_LINE = {
    **KETTLE_LINE,
    "cube_id": "c_2",
    "topic": "tea",
    "essence": "Green tea needs 80 degrees.",
}
HEADER = {
    "pack": "kitchen",
    "format": 1,
    "created_at": "2026-03-01T09:30:00Z",
    "lessons": 2,
    "service": "0.1.0",
}


def jsonl(*objects: object) -> bytes:
    """Return objects as JSON lines."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


def signed(*objects: object, key: Ed25519PrivateKey = KEY) -> bytes:
    """Return lines with a valid signature, written without our own code."""
    body = jsonl(*objects)
    public = key.public_key().public_bytes_raw()
    encoded = [
        base64.urlsafe_b64encode(one).decode().rstrip("=") for one in (public, key.sign(body))
    ]
    return body + jsonl({"key": encoded[0], "signature": encoded[1]})


PACK = signed(HEADER, KETTLE_LINE, TEA_LINE)


def _texts(most: int) -> st.SearchStrategy[str]:
    """Return texts that a lesson may have."""
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
    return st.text(characters, min_size=1, max_size=most).filter(
        lambda text: not is_placeholder(text) and not imitated_line(text)
    )


counts = st.integers(0, 1000)
records = st.builds(
    PackRecord,
    useful=counts,
    useless=counts,
    status=st.sampled_from(get_args(CubeStatus)),
    helped=counts,
    failed=counts,
)
proofs = st.none() | st.builds(
    packs.PackProof,
    fails=st.just("assert 0.1 + 0.2 == 0.3"),
    error=st.just("AssertionError"),
    passes=_texts(50),
)
lessons = st.builds(
    PackLesson,
    cube_id=st.from_regex(r"c_[0-9a-z]{13}", fullmatch=True),
    kind=st.sampled_from(get_args(CubeKind)),
    topic=_texts(40),
    essence=_texts(80),
    rules_markdown=_texts(120),
    evidence_kind=st.sampled_from(get_args(packs.EvidenceKind)),
    evidence=st.sampled_from(["docs", "tried at home", "Überall gelesen\nund geprüft"]),
    record=records,
    proof=proofs,
)


@given(
    written=st.lists(
        lessons, max_size=4, unique_by=(lambda one: one.cube_id, lambda one: one.texts)
    ),
    name=st.from_regex(packs.NAME, fullmatch=True),
    created_at=st.integers(0, 1 << 32).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    secret=st.binary(min_size=32, max_size=32),
)
def test_written_pack_is_read_back(
    written: list[PackLesson], name: str, created_at: datetime, secret: bytes
) -> None:
    """Reading restores every field, whatever the texts (specification.md#pack-format)."""
    key = Ed25519PrivateKey.from_private_bytes(secret)
    content = write_pack(key, written, name=name, created_at=created_at, service="0.1.0")

    assert parse_pack(content) == Pack(
        name=name,
        created_at=created_at,
        service="0.1.0",
        lessons=tuple(written),
        key=base64url(public_bytes(key)),
    )
    assert content.count(b"\n") == len(written) + 2


@given(place=st.integers(0, len(PACK) - 1), bit=st.integers(0, 7))
@example(place=len(PACK) - 1, bit=0)
def test_pack_with_a_changed_bit_is_refused(place: int, bit: int) -> None:
    """The signature covers every byte before it (specification.md#pack-signature)."""
    changed = bytearray(PACK)
    changed[place] ^= 1 << bit
    content = bytes(changed)
    # The last character of a base64 text has bits without a meaning.
    assume(_end(content) != _end(PACK) or content[: _body_bytes()] != PACK[: _body_bytes()])

    with pytest.raises(PackRefused):
        parse_pack(content)


def _body_bytes() -> int:
    return PACK.rindex(b"\n", 0, -1) + 1


def _end(content: bytes) -> object:
    """Return the key and the signature as bytes; None if they cannot be read."""
    try:
        last = json.loads(content[_body_bytes() :])
        return [base64.urlsafe_b64decode(last[name] + "==") for name in ("key", "signature")]
    except (ValueError, KeyError):
        return None


@given(bytes_left=st.integers(0, len(PACK) - 1))
def test_pack_that_was_cut_off_is_refused(bytes_left: int) -> None:
    """A part of a pack is no pack (specification.md#pack-errors)."""
    with pytest.raises(PackCutOff if bytes_left > len(jsonl(HEADER)) else PackRefused):
        parse_pack(PACK[:bytes_left])


def lesson(**changed: Any) -> dict[str, Any]:
    """Return the second lesson with other fields."""
    return {**TEA_LINE, **changed}


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", NotAPack, "not a pack"),
        (jsonl({"id": "t1", "query": "q", "response": "r"}), NotAPack, "not a pack"),
        (signed({**HEADER, "format": 2}, KETTLE_LINE, TEA_LINE), PackFormatUnknown, "format 2"),
        (PACK.rstrip(b"\n"), PackCutOff, "ends before"),
        (jsonl(HEADER, KETTLE_LINE, TEA_LINE), PackCutOff, "ends before"),
        (PACK.replace(b"vinegar", b"bleach!"), PackSignatureWrong, "changed after"),
        (PACK.replace(b'"key": "', b'"key": "A'), PackSignatureWrong, "signature"),
        (
            jsonl(HEADER, KETTLE_LINE) + PACK.splitlines(keepends=True)[-1],
            PackSignatureWrong,
            "changed",
        ),
        (
            signed({**HEADER, "lessons": 3}, KETTLE_LINE, TEA_LINE),
            PackCountWrong,
            "has 2 lessons; .* says 3",
        ),
        (
            signed(HEADER, KETTLE_LINE, lesson(cube_id=KETTLE_LINE["cube_id"])),
            PackLineRepeated,
            "2 and 3",
        ),
        (
            signed(HEADER, KETTLE_LINE, {**KETTLE_LINE, "cube_id": "c_2", "topic": " KETTLES\n"}),
            PackLineRepeated,
            "Lines 2 and 3",
        ),
        (signed(HEADER, KETTLE_LINE, lesson(essence="")), PackLineInvalid, "Line 3 .*essence"),
        (signed(HEADER, KETTLE_LINE, lesson(topic="n" * 201)), PackLineInvalid, "Line 3 .*topic"),
        (signed(HEADER, KETTLE_LINE, lesson(kind="joke")), PackLineInvalid, "Line 3 .*kind"),
        (signed(HEADER, KETTLE_LINE, lesson(votes=9)), PackLineInvalid, "Line 3 .*votes"),
        (
            signed(HEADER, KETTLE_LINE, lesson(evidence="e_0123456789abc")),
            PackLineInvalid,
            "a label",
        ),
        (signed(HEADER, KETTLE_LINE, lesson(topic="[event e_1] tea")), PackLineInvalid, "topic"),
        (signed(HEADER, KETTLE_LINE, []), PackLineInvalid, "Line 3"),
        (
            signed({**HEADER, "pack": "Kitchen; rm"}, KETTLE_LINE, TEA_LINE),
            PackLineInvalid,
            "Line 1 .*pack",
        ),
    ],
)
def test_each_damage_has_its_error(content: bytes, error: type[PackRefused], message: str) -> None:
    """Errors say what is wrong and in which line (specification.md#pack-errors)."""
    with pytest.raises(error) as caught:
        parse_pack(content)

    text = str(caught.value) or " ".join(str(error.__doc__).split())
    assert re.search(message, text), text


def test_packs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many bytes or lessons are an error (specification.md#pack-limits)."""
    too_long = PACK + b" " * packs.PACK_BYTES_MAX
    monkeypatch.setattr(packs, "PACK_LESSONS_MAX", 1)

    for content in (too_long, PACK):
        with pytest.raises(PackTooLarge, match="maximum"):
            parse_pack(content)
    with pytest.raises(PackTooLarge, match="maximum"):
        write(parse_lessons())


def parse_lessons() -> list[PackLesson]:
    """Return both lessons."""
    return [PackLesson.model_validate_json(json.dumps(one)) for one in (KETTLE_LINE, TEA_LINE)]


def write(written: list[PackLesson]) -> bytes:
    """Return a pack of these lessons."""
    return write_pack(
        KEY, written, name="kitchen", created_at=datetime(2026, 3, 1, tzinfo=UTC), service="0.1.0"
    )


def test_required_key_refuses_another_signer() -> None:
    """A pack of another signer is refused if a key is required (specification.md#pack-signer)."""
    required = base64url(public_bytes(KEY))

    assert parse_pack(PACK, signer=required).key == required
    with pytest.raises(PackSignerRefused):
        parse_pack(signed(HEADER, KETTLE_LINE, TEA_LINE, key=OTHER_KEY), signer=required)


def test_signature_is_verified_by_others() -> None:
    """Nobody needs our code to verify a pack (specification.md#pack-signature)."""
    content = write(parse_lessons())
    body, last = content[: content.rindex(b"\n", 0, -1) + 1], json.loads(content.splitlines()[-1])
    public = base64.urlsafe_b64decode(last["key"] + "=")
    signature = base64.urlsafe_b64decode(last["signature"] + "==")

    Ed25519PublicKey.from_public_bytes(public).verify(signature, body)  # raises if it is wrong


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
