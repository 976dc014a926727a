"""Files that an agent keeps under /memories of a space: the commands of the memory tool, each
change a version that stays.

A version stays until it is forgotten (forget.py). A folder is there while there is a file in it.
Texts are given back as they are, to the one who wrote them; what seems to give orders to its
reader, or holds a secret, is marked in the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ...accounts import require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent
from ...context import Caller, Context
from ...protocol import limits
from ...protocol.errors import NotFound
from ...protocol.memory_files import (
    ROOT,
    FileCommand,
    FileDone,
    FileHistory,
    FileQuery,
    FileVersion,
    InvalidMemoryPath,
    memory_path,
)
from ...protocol.text import rfc3339
from ...search.index.entries import INSTRUCTION_LIKE
from ...search.text.screening import instruction_like
from ...store import Row, Transaction, load_queries
from ..spaces import SQL as SPACES
from ..spaces import flag_names
from ..write.turns import Intake
from . import edits as file_texts
from .edits import CommandRefused

SQL = load_queries("remembrancer.memory.files", "files.sql")
PLANS_MAX = 3  # tries before a command is thought through with the others waiting
_NO_END = 1 << 62


class MemoryFileUnknown(NotFound):
    """No memory file is, or was, at this path; paths begin with /memories/. `view` of a folder says
    what is there.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text as it is to be kept, and what was noticed in it."""

    text: str
    flags: tuple[str, ...]
    noticed: str | None
    is_masked: bool

    @property
    def bytes(self) -> int:
        return len(self.text.encode("utf-8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """One more version of a path; `text` None says that nothing is there from then on."""

    path: str
    version: int
    change: str
    text: _Text | None
    other_path: str | None

    @property
    def bytes(self) -> int:
        return self.text.bytes if self.text else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamp:
    """How the files of a space stood. None for `space_id`: there is no space yet."""

    space_id: int | None
    changes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What a command comes to, if the files still stand as they did."""

    stamp: _Stamp
    changes: list[_Change]
    done: FileDone


class _MovedOn(Exception):
    """The files were changed while a command was thought through."""


class _Files:
    """The files of a space as one transaction sees them, and what a command changes of them."""

    def __init__(self, context: Context, tx: Transaction, caller: Caller, user_id: str) -> None:
        self.context, self.tx, self.caller, self.user_id = context, tx, caller, user_id
        self.stamp, self.kept_bytes = _standing(tx, caller, user_id)
        self.space_id = self.stamp.space_id
        rows = [] if self.space_id is None else tx.all(SQL.current_files, space_id=self.space_id)
        self.sizes: dict[str, int] = {row.path: row.bytes for row in rows}
        self.changes: list[_Change] = []

    def below(self, path: str) -> dict[str, int]:
        """The files of a folder with their sizes."""
        return {at: size for at, size in self.sizes.items() if at.startswith(f"{path}/")}

    def is_there(self, path: str) -> bool:
        """Whether a file or folder is at a path."""
        return path == ROOT or path in self.sizes or bool(self.below(path))

    def read(self, path: str) -> Row:
        """The file that is at a path."""
        return self.tx.one(SQL.current_file, space_id=self.space_id, path=path)

    def must_take(self, path: str) -> None:
        """Raises CommandRefused where a part of a new path is a file already."""
        parts = path.split("/")
        for end in range(3, len(parts)):
            if (above := "/".join(parts[:end])) in self.sizes:
                raise CommandRefused(
                    f"Error: The path {above} is a file, so nothing can be kept below it"
                )

    def must_fit(self, added: list[int], *, more_files: int = 0) -> None:
        """Raises CommandRefused where versions of these sizes, or so many more files, are too much."""
        if len(self.sizes) + more_files > limits.MEMORY_FILES_MAX:
            raise CommandRefused(
                f"Error: There are {limits.MEMORY_FILES_MAX:,} files, the most there can be. Delete one that is no longer needed"
            )
        if (
            self.kept_bytes + sum(charge_bytes(size) for size in added)
            > limits.MEMORY_FILES_BYTES_MAX
        ):
            most = file_texts.in_units(limits.MEMORY_FILES_BYTES_MAX)
            raise CommandRefused(
                f"Error: All versions of the files together would be more than {most}. The user can have old ones erased for good (forget)"
            )

    def put(self, path: str, change: str, text: _Text | None, other_path: str | None = None) -> int:
        """One more version of a path, None for that nothing is there; gives its number."""
        version = (
            1
            if self.space_id is None
            else int(self.tx.one(SQL.latest_version, space_id=self.space_id, path=path).version) + 1
        )
        self.changes.append(
            _Change(path=path, version=version, change=change, text=text, other_path=other_path)
        )
        return version


def _standing(tx: Transaction, caller: Caller, user_id: str) -> tuple[_Stamp, int]:
    """How the files of a user stand, and how many bytes all their versions come to."""
    space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=user_id)
    if space is None:
        return _Stamp(space_id=None, changes=0), 0
    charge = tx.one(SQL.charged, space_id=space.id)
    return _Stamp(space_id=space.id, changes=charge.file_changes), charge.file_bytes


def charge_bytes(size: int) -> int:
    """What a version of so many bytes counts towards MEMORY_FILES_BYTES_MAX."""
    return max(size, limits.MEMORY_VERSION_BYTES_MIN)


def run_command(
    context: Context, caller: Caller, asked: FileCommand, given: IdempotentRequest | None = None
) -> FileDone:
    """Carry a command out, and give what the model is to read; what it asks for wrongly is such an
    answer, too.

    Raises ReadOnly for all but `view`, Pinned, Conflict as `once`, StoreUnavailable.
    """
    user_id = space_user_id(caller, asked.user_id)

    def plan(tx: Transaction) -> _Plan:
        files = _Files(context, tx, caller, user_id)
        try:
            done = _COMMANDS[asked.command](files, asked)
        except CommandRefused as refused:
            return _Plan(
                stamp=files.stamp,
                changes=[],
                done=FileDone(text=str(refused), is_error=True, flags=[]),
            )
        return _Plan(stamp=files.stamp, changes=files.changes, done=done)

    if asked.command == "view":
        return context.store.read(plan, account_id=caller.account_id).done
    require_write(caller)
    for _ in range(PLANS_MAX):
        planned = context.store.read(
            plan, account_id=caller.account_id
        )  # a long text is looked through here: no writer waits for that
        try:
            return _carry_out(context, caller, user_id, given, partial(_as_planned, planned))
        except _MovedOn:
            continue
    return _carry_out(
        context, caller, user_id, given, plan
    )  # others are faster each time: now they wait


def _as_planned(planned: _Plan, _tx: Transaction) -> _Plan:
    return planned


def _carry_out(
    context: Context,
    caller: Caller,
    user_id: str,
    given: IdempotentRequest | None,
    plan: Callable[[Transaction], _Plan],
) -> FileDone:
    """Write what is planned, or nothing.

    Raises _MovedOn where the files are not as they were then.
    """

    def write(tx: Transaction) -> str:
        planned = plan(tx)
        if planned.stamp != _standing(tx, caller, user_id)[0]:
            raise _MovedOn
        if planned.changes:
            opened = tx.one(
                SPACES.open_space,
                account_id=caller.account_id,
                user_id=user_id,
                now_ms=context.clock(),
            )
            for change in planned.changes:
                _keep(context, tx, caller, opened.id, change)
        return planned.done.model_dump_json()

    return FileDone.model_validate_json(
        context.store.write(
            lambda tx: idempotent(tx, given, context.clock(), lambda: write(tx)),
            account_id=caller.account_id,
        )
    )


def _keep(
    context: Context, tx: Transaction, caller: Caller, space_id: int, change: _Change
) -> None:
    here = {"space_id": space_id, "path": change.path}
    text = change.text
    said = {
        "text": text and text.text,
        "flags": ",".join(text.flags) if text else "",
        "is_current": int(text is not None),
    }
    made = {
        "version": change.version,
        "change": change.change,
        "other_path": change.other_path,
        "bytes": change.bytes,
    }
    tx.run(SQL.outdate_file, **here)
    tx.run(SQL.add_version, **here, **said, **made, key_id=caller.key_id, now_ms=context.clock())
    tx.run(SQL.charge_files, space_id=space_id, bytes=charge_bytes(change.bytes))


def _normal(path: str | None) -> str:
    try:
        return memory_path(path or "")
    except InvalidMemoryPath as unfit:
        raise CommandRefused(f"Error: {unfit}") from None


def _taken(context: Context, text: str) -> _Text:
    if len(text) > limits.MEMORY_FILE_CHARACTERS_MAX:
        most = f"{limits.MEMORY_FILE_CHARACTERS_MAX:,}"
        raise CommandRefused(
            f"Error: The file would have {len(text):,} characters, and {most} are the most. Make another file for what is new"
        )
    intake = Intake(settings=context.settings)
    kept = intake.screen(text)
    marks = (INSTRUCTION_LIKE,) if instruction_like(kept) else ()
    return _Text(
        text=kept, flags=marks + intake.flags, noticed=intake.noticed, is_masked=kept != text
    )


def _done(text: str, path: str, version: int, kept: _Text) -> FileDone:
    said = (
        f"{text}\nNote: {kept.noticed}" if kept.is_masked else text
    )  # a model must know that the file is not what it wrote
    return FileDone(
        text=said,
        is_error=False,
        path=path,
        version=version,
        flags=list(kept.flags),
        noticed=kept.noticed,
    )


def _view(files: _Files, asked: FileCommand) -> FileDone:
    path = _normal(asked.path)
    if path in files.sizes:
        row = files.read(path)
        text = file_texts.contents(path, row.text, asked.view_range)
        return FileDone(
            text=text, is_error=False, path=path, version=row.version, flags=flag_names(row.flags)
        )
    if not files.is_there(path):
        raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
    return FileDone(
        text=file_texts.listing(path, files.below(path)), is_error=False, path=path, flags=[]
    )


def _create(files: _Files, asked: FileCommand) -> FileDone:
    path = _normal(asked.path)
    if files.is_there(path):
        raise CommandRefused(f"Error: File {path} already exists")
    files.must_take(path)
    text = _taken(files.context, asked.file_text or "")
    files.must_fit([text.bytes], more_files=1)
    return _done(
        f"File created successfully at: {path}", path, files.put(path, "create", text), text
    )


def _str_replace(files: _Files, asked: FileCommand) -> FileDone:
    path = _normal(asked.path)
    if path not in files.sizes:
        raise CommandRefused(f"Error: The path {path} does not exist. Please provide a valid path.")
    before: str = files.read(path).text
    text = _taken(
        files.context, file_texts.replace(path, before, asked.old_str or "", asked.new_str or "")
    )
    files.must_fit([text.bytes])
    return _done(
        file_texts.edit(before, text.text), path, files.put(path, "str_replace", text), text
    )


def _insert(files: _Files, asked: FileCommand) -> FileDone:
    path = _normal(asked.path)
    if path not in files.sizes:
        raise CommandRefused(f"Error: The path {path} does not exist")
    text = _taken(
        files.context,
        file_texts.insert(files.read(path).text, asked.insert_line or 0, asked.insert_text or ""),
    )
    files.must_fit([text.bytes])
    return _done(f"The file {path} has been edited.", path, files.put(path, "insert", text), text)


def _delete(files: _Files, asked: FileCommand) -> FileDone:
    path = _normal(asked.path)
    if path == ROOT:
        raise CommandRefused(f"Error: The directory {ROOT} itself cannot be deleted")
    gone = [path] if path in files.sizes else list(files.below(path))
    if not gone:
        raise CommandRefused(f"Error: The path {path} does not exist")
    versions = [
        files.put(one, "delete", None) for one in gone
    ]  # what is deleted must fit no bounds: there must be a way out of them
    return FileDone(
        text=f"Successfully deleted {path}",
        is_error=False,
        path=path,
        version=versions[0] if gone == [path] else None,
        flags=[],
    )


def _rename(files: _Files, asked: FileCommand) -> FileDone:
    old, new = _normal(asked.old_path), _normal(asked.new_path)
    if old == ROOT:
        raise CommandRefused(f"Error: The directory {ROOT} itself cannot be renamed")
    moved = [old] if old in files.sizes else list(files.below(old))
    if not moved:
        raise CommandRefused(f"Error: The path {old} does not exist")
    if files.is_there(new):
        raise CommandRefused(f"Error: The destination {new} already exists")
    if new.startswith(f"{old}/"):
        raise CommandRefused(f"Error: {old} cannot be moved into itself")
    files.must_take(new)
    pairs = [
        (one, _normal(new + one[len(old) :])) for one in moved
    ]  # each fits the bounds of a path, too
    files.must_fit([files.sizes[one] for one in moved])
    versions = []
    for one, target in pairs:
        row = files.read(one)
        text = _Text(
            text=row.text, flags=tuple(flag_names(row.flags)), noticed=None, is_masked=False
        )
        files.put(one, "rename", None, target)
        versions.append(files.put(target, "rename", text, one))
    text_ = f"Successfully renamed {old} to {new}"
    return FileDone(
        text=text_,
        is_error=False,
        path=new,
        version=versions[0] if moved == [old] else None,
        flags=[],
    )


_COMMANDS: dict[str, Callable[[_Files, FileCommand], FileDone]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}


def file_history(context: Context, caller: Caller, asked: FileQuery) -> FileHistory:
    """The changes of a path and of what is below it, a page of them, and the text of one version
    where it is a file's.

    Raises FileUnknown, Pinned, StoreUnavailable.
    """
    user_id = space_user_id(caller, asked.user_id)
    try:
        path = memory_path(asked.path)
    except InvalidMemoryPath as unfit:
        raise MemoryFileUnknown from unfit
    most = limits.MEMORY_VERSIONS_LISTED_MAX

    def read(tx: Transaction) -> tuple[list[Row], Row | None]:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=user_id)
        if space is None:
            return [], None
        here = {"space_id": space.id, "path": path}
        latest = int(tx.one(SQL.latest_version, **here).version)
        shown = tx.one_or_none(SQL.version_of, **here, version=asked.version or latest)
        return tx.all(
            SQL.versions_below, **here, below=asked.below or _NO_END, most=most + 1
        ), shown

    rows, shown = context.store.read(read, account_id=caller.account_id)
    if (not rows and asked.below is None and path != ROOT) or (
        asked.version is not None and shown is None
    ):
        raise MemoryFileUnknown
    return FileHistory(
        user_id=user_id,
        path=path,
        version=shown and shown.version,
        text=shown and shown.text,
        versions=[_version(row) for row in rows[:most]],
        next=rows[most - 1].id if len(rows) > most else None,
    )


def _version(row: Row) -> FileVersion:
    told = {
        "path": row.path,
        "version": row.version,
        "change": row.change,
        "other_path": row.other_path,
        "bytes": row.bytes,
    }
    return FileVersion(
        **told,
        is_gone=bool(row.is_gone),
        flags=flag_names(row.flags),
        created_at=rfc3339(row.created_ms),
    )


def erase_files(tx: Transaction, space_id: int, path: str = ROOT) -> int:
    """Erase every version of what is, or was, at or below a path; gives how many versions.

    Of what is no path there are none.
    """
    try:
        where = {"space_id": space_id, "path": memory_path(path)}
    except InvalidMemoryPath:
        return 0
    paths = tx.all(SQL.paths_below, **where, least=limits.MEMORY_VERSION_BYTES_MIN)
    tx.run(SQL.charge_files, space_id=space_id, bytes=-sum(row.bytes for row in paths))
    return tx.run(SQL.erase_files_below, **where)
