"""The format of packs: what is written is read back, and every damage has its own error."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import assume, example, given
from hypothesis import strategies as st

from remembrancer.accounts.signing import base64url, public_bytes
from remembrancer.cubes import packs
from remembrancer.cubes.packs import (
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
    PackTooLarge,
    parse_pack,
    write_pack,
)
from remembrancer.protocol.cubes import CubeStatus
from remembrancer.protocol.line import CubeKind
from remembrancer.protocol.recalled import imitated_line
from remembrancer.protocol.text import is_placeholder

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
KETTLE: dict[str, Any] = {
    "cube_id": "c_7k2m9x0v4t8qz",
    "kind": "lifehack",
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
    "rules_markdown": "- MUST boil one part vinegar with two parts water.",
    "evidence_kind": "label",
    "evidence": "tried at home",
    "record": {"useful": 4, "useless": 1, "status": "trusted", "helped": 3, "failed": 2},
}
TEA = {**KETTLE, "cube_id": "c_2", "topic": "tea", "essence": "Green tea needs 80 degrees."}
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


PACK = signed(HEADER, KETTLE, TEA)


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
    return {**TEA, **changed}


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", NotAPack, "not a pack"),
        (jsonl({"id": "t1", "query": "q", "response": "r"}), NotAPack, "not a pack"),
        (signed({**HEADER, "format": 2}, KETTLE, TEA), PackFormatUnknown, "format 2"),
        (PACK.rstrip(b"\n"), PackCutOff, "ends before"),
        (jsonl(HEADER, KETTLE, TEA), PackCutOff, "ends before"),
        (PACK.replace(b"vinegar", b"bleach!"), PackSignatureWrong, "changed after"),
        (PACK.replace(b'"key": "', b'"key": "A'), PackSignatureWrong, "signature"),
        (jsonl(HEADER, KETTLE) + PACK.splitlines(keepends=True)[-1], PackSignatureWrong, "changed"),
        (signed({**HEADER, "lessons": 3}, KETTLE, TEA), PackCountWrong, "has 2 lessons; .* says 3"),
        (signed(HEADER, KETTLE, lesson(cube_id=KETTLE["cube_id"])), PackLineRepeated, "2 and 3"),
        (
            signed(HEADER, KETTLE, {**KETTLE, "cube_id": "c_2", "topic": " KETTLES\n"}),
            PackLineRepeated,
            "Lines 2 and 3",
        ),
        (signed(HEADER, KETTLE, lesson(essence="")), PackLineInvalid, "Line 3 .*essence"),
        (signed(HEADER, KETTLE, lesson(topic="n" * 201)), PackLineInvalid, "Line 3 .*topic"),
        (signed(HEADER, KETTLE, lesson(kind="joke")), PackLineInvalid, "Line 3 .*kind"),
        (signed(HEADER, KETTLE, lesson(votes=9)), PackLineInvalid, "Line 3 .*votes"),
        (signed(HEADER, KETTLE, lesson(evidence="e_0123456789abc")), PackLineInvalid, "a label"),
        (signed(HEADER, KETTLE, lesson(topic="[event e_1] tea")), PackLineInvalid, "topic"),
        (signed(HEADER, KETTLE, []), PackLineInvalid, "Line 3"),
        (signed({**HEADER, "pack": "Kitchen; rm"}, KETTLE, TEA), PackLineInvalid, "Line 1 .*pack"),
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
    return [PackLesson.model_validate_json(json.dumps(one)) for one in (KETTLE, TEA)]


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
        parse_pack(signed(HEADER, KETTLE, TEA, key=OTHER_KEY), signer=required)


def test_signature_is_verified_by_others() -> None:
    """Nobody needs our code to verify a pack (specification.md#pack-signature)."""
    content = write(parse_lessons())
    body, last = content[: content.rindex(b"\n", 0, -1) + 1], json.loads(content.splitlines()[-1])
    public = base64.urlsafe_b64decode(last["key"] + "=")
    signature = base64.urlsafe_b64decode(last["signature"] + "==")

    Ed25519PublicKey.from_public_bytes(public).verify(signature, body)  # raises if it is wrong
