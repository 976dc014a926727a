"""Packs: the lessons of an account as signed JSON lines, and the lessons of a pack in an account.

The first line names the pack, each further line holds one lesson, and the last one the public key
and the Ed25519 signature (RFC 8032) over all bytes before it. docs/reference/pack-format.md
describes every field. A lesson is recognised by its texts: whatever the account has already is not
stored again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from .. import __version__
from ..accounts import require_write
from ..accounts.signing import base64url, from_base64url, key_id, public_bytes, signing_key, verify
from ..context import Caller, Context, Records
from ..protocol.cubes import CubeStatus, Essence, Evidence, Rules, Topic
from ..protocol.limits import CUBE_EVIDENCE_CHARACTERS_MAX, PUBLISHED_EVIDENCE_CHARACTERS_MAX
from ..protocol.line import CubeKind
from ..protocol.message import Described, first_fault
from ..protocol.text import Moment, Telling, beginning
from ..store import Row, Transaction, load_queries
from ..store.rows import read_row
from . import publishing
from .lessons import Lesson, PreparedCube, prepare_cube, store_cube, visible_evidence
from .starter import EVIDENCE, load_starter

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT = 1
PACK_BYTES_MAX = 16 << 20
PACK_LESSONS_MAX = 2_000
PROGRAM_CHARACTERS_MAX = 20_000  # of each program of a proof
ERROR_CHARACTERS_MAX = 1_000  # of the regular expression of a proof
COUNT_MAX = 1_000_000_000  # of a number in a record
NAME = r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?"

EvidenceKind = Literal["reproduced", "event", "label"]
_Line = TypeVar("_Line", bound=BaseModel)
Program = Annotated[Telling, Field(max_length=PROGRAM_CHARACTERS_MAX)]
Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]
LessonTexts = tuple[str, str, str]
SQL = load_queries("remembrancer.cubes", "packs.sql")
PackStatus = Literal["private", "published", "trusted", "all"]


class PackRefused(Exception):
    """The pack cannot be read, and nothing of it was stored."""


class NotAPack(PackRefused):
    """The file is not a pack of cubes: its first line has no name and format of a pack."""


class PackFormatUnknown(PackRefused):
    """The pack has a format that this version cannot read. Upgrade the service."""


class PackTooLarge(PackRefused):
    """The pack is too large. Export fewer lessons."""


class PackCutOff(PackRefused):
    """The pack ends before its signature. Copy the whole file again."""


class PackSignatureWrong(PackRefused):
    """The signature is not of this pack: it was changed after it was signed."""


class PackSignerRefused(PackRefused):
    """Another key than the required one signed the pack."""


class PackCountWrong(PackRefused):
    """The pack has another number of lessons than its first line says."""


class PackLineInvalid(PackRefused):
    """A line of the pack is not a valid lesson."""


class PackLineRepeated(PackRefused):
    """Two lines of the pack hold the same lesson."""


def _names_no_event(text: str) -> str:
    if visible_evidence(text, is_own=False) != text:
        raise ValueError("the evidence must be a label, without an event_id")
    return text


Label = Annotated[Evidence, AfterValidator(_names_no_event)]


class _PackLine(Described):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class PackRecord(_PackLine):
    """The experience of the exporting account with a lesson. It is no vote elsewhere."""

    useful: Count
    """Accounts that found it useful."""
    useless: Count
    """Accounts that found it useless."""
    status: CubeStatus
    """Its status."""
    helped: Count
    """Turns that used it and ended well."""
    failed: Count
    """Turns that used it and failed."""


class PackProof(_PackLine):
    """A program that fails without the lesson, and one that follows it. An import runs neither."""

    fails: Program
    """A Python program that fails."""
    error: Annotated[Telling, Field(max_length=ERROR_CHARACTERS_MAX)]
    """Regular expression that matches a part of the type and message of its error."""
    passes: Program
    """The same program, following the rules."""


class PackLesson(_PackLine):
    """One lesson of a pack."""

    cube_id: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")]
    """Its id where it was exported."""
    kind: CubeKind
    """Kind of lesson."""
    topic: Topic
    """Topic, in a few words."""
    essence: Essence
    """The lesson, in one sentence."""
    rules_markdown: Rules
    """Rules, as a Markdown list."""
    evidence_kind: EvidenceKind
    """`reproduced`: programs prove it; `event`: a turn of its author; `label`: only what `evidence`
    says."""
    evidence: Label
    """A label, without an event_id."""
    record: PackRecord
    """Experience of the exporting account."""
    proof: PackProof | None = None
    """Programs that prove it, if any."""

    @property
    def texts(self) -> LessonTexts:
        """The texts by which an import recognises the lesson."""
        return lesson_texts(self.topic, self.essence, self.rules_markdown)


class PackHeader(_PackLine):
    """The first line of a pack."""

    pack: Annotated[str, Field(pattern=f"^{NAME}$")]
    """Name of the pack: lower-case letters, digits and hyphens, at most 64."""
    format: Annotated[int, Field(description=f"Version of the format: {FORMAT}.")]
    created_at: Moment
    """Time of the export."""
    lessons: Count
    """Number of lessons."""
    service: Annotated[str, Field(pattern="^[0-9A-Za-z.+-]{1,64}$")]
    """Version of Remembrancer that wrote it."""


class PackSignature(_PackLine):
    """The last line of a pack."""

    key: str
    """Public key: 32 bytes as base64url without padding."""
    signature: str
    """Ed25519 signature over all bytes before this line, as base64url without padding."""


class _AnyHeader(BaseModel):
    """The fields of a first line that tell a pack from other files, in any format."""

    pack: JsonValue
    format: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A pack whose signature is valid."""

    name: str
    created_at: datetime
    service: str  # version that wrote it
    lessons: tuple[PackLesson, ...]
    key: str  # public key that signed it, as base64url

    @property
    def key_id(self) -> str:
        """The first 16 hex digits of the SHA-256 of the key."""
        return key_id(from_base64url(self.key))


def lesson_texts(topic: str, essence: str, rules: str) -> LessonTexts:
    """Return the texts of a lesson without differences in case, white space and width (NFKC)."""
    folded = [
        " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        for text in (topic, essence, rules)
    ]
    return folded[0], folded[1], folded[2]


def write_pack(
    key: Ed25519PrivateKey,
    lessons: Sequence[PackLesson],
    *,
    name: str,
    created_at: datetime,
    service: str,
) -> bytes:
    """Return the content of a pack, signed with `key`.

    Raises PackTooLarge, and PackLineRepeated if two lessons have the same id or texts.
    """
    _refuse_many(len(lessons))
    _refuse_repeated(lessons)
    header = PackHeader(
        pack=name, format=FORMAT, created_at=created_at, lessons=len(lessons), service=service
    )
    body = b"".join(map(_line, (header, *lessons)))
    signature = PackSignature(key=base64url(public_bytes(key)), signature=base64url(key.sign(body)))
    content = body + _line(signature)
    _refuse_large(content)
    return content


def parse_pack(content: bytes, *, signer: str | None = None) -> Pack:
    """Return the lessons of a pack after checking all of it.

    `signer` is the public key that must have signed it, as base64url. Lessons are read only after
    the signature over them is verified. Raises PackRefused.
    """
    _refuse_large(content)
    header = _parse_header(content.partition(b"\n")[0])
    body, key = _verified(content)
    if signer is not None and key != signer.rstrip("="):
        raise PackSignerRefused(f"The pack is signed with the key {key}, not the required one.")
    count = body.count(b"\n") - 1
    if count != header.lessons:
        raise PackCountWrong(
            f"The pack has {count:,} lessons; its first line says {header.lessons:,}."
        )
    _refuse_many(count)
    lines = body.split(b"\n")[1:-1]
    lessons = [_parse_line(PackLesson, line, n) for n, line in enumerate(lines, 2)]
    _refuse_repeated(lessons)
    return Pack(
        name=header.pack,
        created_at=header.created_at,
        service=header.service,
        lessons=tuple(lessons),
        key=key,
    )


def _parse_header(line: bytes) -> PackHeader:
    try:
        opening = _AnyHeader.model_validate_json(line)
    except ValidationError as error:
        raise NotAPack from error
    if opening.format != FORMAT:
        raise PackFormatUnknown(
            f"The pack has format {opening.format}; this version reads format {FORMAT}."
        )
    return _parse_line(PackHeader, line, 1)


def _verified(content: bytes) -> tuple[bytes, str]:
    """Return the signed bytes, and the key that signed them as base64url."""
    if not content.endswith(b"\n"):
        raise PackCutOff
    start = content.rfind(b"\n", 0, -1) + 1
    body, last = content[:start], content[start:]
    try:
        end = PackSignature.model_validate_json(last)
    except ValidationError as error:
        raise PackCutOff from error
    try:
        public = from_base64url(end.key)
        is_signed = verify(public, from_base64url(end.signature), body)
    except ValueError as error:
        raise PackSignatureWrong from error
    if not is_signed:
        raise PackSignatureWrong
    return body, base64url(public)


def _parse_line(kind: type[_Line], line: bytes, number: int) -> _Line:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        message = f"Line {number} of the pack is invalid: {first_fault(error)}"
        # The name of an unknown field comes from the file.
        raise PackLineInvalid("".join(filter(str.isprintable, message))) from error


def _refuse_many(count: int) -> None:
    if count > PACK_LESSONS_MAX:
        raise PackTooLarge(f"The pack has {count:,} lessons; the maximum is {PACK_LESSONS_MAX:,}.")


def _refuse_repeated(lessons: Iterable[PackLesson]) -> None:
    lines: dict[str | LessonTexts, int] = {}
    for number, lesson in enumerate(lessons, 2):
        for identity in (lesson.cube_id, lesson.texts):
            if identity in lines:
                raise PackLineRepeated(
                    f"Lines {lines[identity]} and {number} of the pack hold the same lesson."
                )
            lines[identity] = number


def _refuse_large(content: bytes) -> None:
    size = len(content)
    if size > PACK_BYTES_MAX:
        raise PackTooLarge(
            f"The pack has {size:,} bytes or more; the maximum is {PACK_BYTES_MAX:,}."
        )


def _line(line: BaseModel) -> bytes:
    return line.model_dump_json(exclude_none=True).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPack:
    """A written pack: its content, the public key that signed it (base64url), and its size."""

    content: bytes
    key: str
    lessons: int
    omitted: tuple[tuple[str, str], ...]  # cube_id and the reason why it is not in the pack


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedLessons:
    """Result of adding lessons to an account: numbers of lessons, and what screening refused."""

    stored: int
    published: int  # of the stored ones
    present: int  # stored before
    refused: tuple[tuple[str, str], ...]  # topic of a stored one, and why it may not be published


def list_cubes(records: Records, caller: Caller, status: str | None = None) -> list[Row]:
    """Return the account's cubes of a status, None for all, oldest first.

    Each row has cube_id, kind, topic, status, useful and useless (accounts), helped and failed
    (turns of the account).
    """
    return records.store.read(
        lambda tx: tx.all(SQL.account_cubes, status=status), account_id=caller.account_id
    )


def export_pack(
    records: Records, caller: Caller, *, name: str, status: PackStatus | None = None
) -> ExportedPack:
    """Return a pack of the account's lessons, signed with the key of the service.

    `status` None means published and trusted ones; `all` adds private ones. Retired lessons, those
    that expire, and those that an import would refuse are left out. Raises PackTooLarge,
    StoreUnavailable.
    """
    lessons: dict[LessonTexts, PackLesson] = {}
    omitted = []
    proofs = _proofs()
    for row in list_cubes(records, caller, None if status == "all" else status):
        if row.status == "retired" or (status is None and row.status == "private"):
            continue
        if row.expires_ms is not None:
            omitted.append((row.cube_id, "it expires"))
            continue
        try:
            lesson = _pack_lesson(row, proofs)
        except ValidationError as error:
            omitted.append((row.cube_id, first_fault(error)))
            continue
        if lesson.texts in lessons:
            omitted.append((row.cube_id, f"it repeats {lessons[lesson.texts].cube_id}"))
            continue
        lessons[lesson.texts] = lesson
    key = records.store.write(lambda tx: signing_key(tx, records.clock()))
    created_at = datetime.fromtimestamp(records.clock() / 1000, UTC)
    return ExportedPack(
        content=write_pack(
            key, list(lessons.values()), name=name, created_at=created_at, service=__version__
        ),
        key=base64url(public_bytes(key)),
        lessons=len(lessons),
        omitted=tuple(omitted),
    )


def import_pack(
    context: Context, caller: Caller, pack: Pack, *, publish: bool = False
) -> AddedLessons:
    """Store the lessons of a pack that the account does not have, in one transaction.

    All users of the account see them; with `publish` they are published unless the screening of
    `cube_publish` refuses them. Without it they are screened, too: agents read them, whoever wrote
    them. Their record is part of their evidence and counts as no vote. Raises KeyIsReadOnly,
    StoreUnavailable, EmbedderUnavailable.
    """
    lessons = [
        Lesson(
            kind=one.kind,
            topic=one.topic,
            essence=one.essence,
            rules=one.rules_markdown,
            evidence=_evidence_label(one, pack, is_public=publish),
            publish=publish,
            source="import",
            for_account=True,
        )
        for one in pack.lessons
    ]
    return _add_lessons(context, caller, lessons)


def add_starter(context: Context, caller: Caller) -> AddedLessons:
    """Store and publish the starter pack, as far as the account does not have it.

    Raises KeyIsReadOnly, StoreUnavailable, EmbedderUnavailable.
    """
    return _add_lessons(context, caller, load_starter())


def _add_lessons(context: Context, caller: Caller, lessons: Sequence[Lesson]) -> AddedLessons:
    require_write(caller)

    def known_texts(tx: Transaction) -> dict[LessonTexts, int]:
        return {_texts_of(row): row.id for row in tx.all(SQL.account_texts, after=0)}

    before = context.store.read(known_texts, account_id=caller.account_id)
    newest = max(before.values(), default=0)
    missing = [one for one in lessons if _texts_of(one) not in before]
    prepared = [prepare_cube(context, one) for one in missing]  # slow: outside the transaction

    def store(tx: Transaction) -> list[PreparedCube]:
        # Again, because another import may have run meanwhile, and secrets were masked above.
        existing = {*before, *map(_texts_of, tx.all(SQL.account_texts, after=newest))}
        fresh = []
        for one in prepared:
            if (texts := _texts_of(one.lesson)) not in existing:
                existing.add(texts)
                store_cube(context, tx, user_id=None, session=None, prepared=one)
                fresh.append(one)
        return fresh

    stored = context.store.write(store, account_id=caller.account_id) if prepared else []
    return AddedLessons(
        stored=len(stored),
        published=sum(one.visibility == "published" for one in stored),
        present=len(lessons) - len(stored),
        refused=tuple((one.lesson.topic, why) for one in stored if (why := _refusal(one))),
    )


def _refusal(cube: PreparedCube) -> str | None:
    """Return the reason why a private cube may not be published."""
    if cube.visibility == "published":
        return None
    return cube.refused or publishing.refusal(cube.lesson.texts)


def _texts_of(lesson: Lesson | Row) -> LessonTexts:
    return lesson_texts(lesson.topic, lesson.essence, lesson.rules)


def _proofs() -> dict[LessonTexts, PackProof]:
    """Return the programs that prove the lessons of the starter pack."""
    return {
        _texts_of(one): PackProof(fails=one.fails, error=one.error, passes=one.passes)
        for one in load_starter()
    }


def _pack_lesson(row: Row, proofs: dict[LessonTexts, PackProof]) -> PackLesson:
    """Return a cube as a line of a pack. Raises ValidationError if an import would refuse it."""
    label = visible_evidence(row.evidence, is_own=False)
    kind: EvidenceKind = "label" if label == row.evidence else "event"
    proof = proofs.get(_texts_of(row)) if row.evidence == EVIDENCE else None
    return read_row(
        PackLesson,
        row,
        rules_markdown=row.rules,
        evidence_kind=kind if proof is None else "reproduced",
        evidence=label,
        record=read_row(PackRecord, row),
        proof=proof,
    )


def _evidence_label(lesson: PackLesson, pack: Pack, *, is_public: bool) -> str:
    """Return the evidence of an imported lesson: its own, its origin, and its record there."""
    record = lesson.record
    votes, turns = record.useful + record.useless, record.helped + record.failed
    parts = [f"pack {pack.name} signed by {pack.key_id}"]
    if votes:
        parts.append(f"useful to {record.useful} of {votes} accounts")
    if turns:
        parts.append(f"{record.helped} of {turns} turns ended well")
    origin = f" ({', '.join(parts)})"
    most = PUBLISHED_EVIDENCE_CHARACTERS_MAX if is_public else CUBE_EVIDENCE_CHARACTERS_MAX
    return beginning(lesson.evidence, most - len(origin)) + origin
