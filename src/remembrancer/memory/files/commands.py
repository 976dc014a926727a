"""Memory files under /memories of a space: the commands of the memory tool, and their versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...accounts import require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, write_once
from ...context import Caller, Context
from ...protocol import limits
from ...protocol.errors import NotFound
from ...protocol.files import (
    ROOT,
    FileCommand,
    FileDone,
    FileHistory,
    FileQuery,
    FileVersion,
    InvalidMemoryPath,
    memory_path,
)
from ...screening import instruction_like
from ...search.index.entries import INSTRUCTION_LIKE
from ...store import Row, Transaction, load_queries
from ...store.rows import read_row
from ..intake import Intake
from ..spaces import SQL as SPACES
from ..spaces import flag_names

# --- Text operations and messages of the memory tool, as its documentation specifies them ----
# Pure: no store, no user. Only a line feed ends a line; the text after the last line feed is a line
# of its own, even if it is empty.

LEVELS_SHOWN = 2
CONTEXT_LINES = 2  # shown before and after a replacement
_IGNORED = "node_modules"
_UNITS = "BKMG"


class CommandRefused(Exception):
    """A command failed; the message is the one that the tool documents."""


def contents(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """Return a file with numbered lines, or the lines in `view_range`.

    `view_range` is the first and last line, counted from 1; -1 means the end. Raises
    CommandRefused.
    """
    lines = text.split("\n")
    first, last = view_range or (1, -1)
    if not 1 <= first <= len(lines) or (last != -1 and last < first):
        valid_range = f"the range of lines of the file: [1, {len(lines)}]"
        raise CommandRefused(
            f"Error: Invalid `view_range` parameter: [{first}, {last}]. "
            f"It should be within {valid_range}"
        )
    selection = lines[first - 1 : None if last == -1 else last]
    return f"Here's the content of {path} with line numbers:\n{number_lines(selection, first)}"


def number_lines(lines: Sequence[str], first: int) -> str:
    """Prefix each line with its number, right-aligned in six columns, and a tab."""
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def listing(path: str, sizes: Mapping[str, int]) -> str:
    """Return the items of a folder two levels deep with their sizes, without hidden items.

    `sizes` are the sizes in bytes of all files below the folder.
    """
    total = sum(sizes.values())
    rows = [f"{format_size(total)}\t{path}", *_listing_rows(path, sizes, 1)]
    header = (
        f"Here're the files and directories up to {LEVELS_SHOWN} levels deep in {path}, "
        "excluding hidden items and node_modules:"
    )
    return "\n".join([header, *rows])


def _listing_rows(folder: str, sizes: Mapping[str, int], level: int) -> Iterator[str]:
    items: dict[str, dict[str, int]] = {}
    for path, size in sizes.items():
        name = path[len(folder) + 1 :].partition("/")[0]
        items.setdefault(name, {})[path] = size
    for name in sorted(items):
        if name.startswith(".") or name == _IGNORED:
            continue
        item_path = f"{folder}/{name}"
        is_file = item_path in items[name]
        yield f"{format_size(sum(items[name].values()))}\t{item_path}{'' if is_file else '/'}"
        if not is_file and level < LEVELS_SHOWN:
            yield from _listing_rows(item_path, items[name], level + 1)


def format_size(count: int) -> str:
    """Format a size for people: 512B, 1.5K, 2M."""
    unit = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    size = count / 1024**unit
    return f"{int(size)}{_UNITS[unit]}" if size == int(size) else f"{size:.1f}{_UNITS[unit]}"


def replace(path: str, text: str, old: str, new: str) -> str:
    """Replace `old`, which must occur exactly once in the text. Raises CommandRefused."""
    at = text.find(old)
    if at < 0:
        raise CommandRefused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if text.find(old, at + 1) >= 0:
        line_numbers = _line_numbers(text, old)
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{line_numbers}. Please ensure it is unique"
        )
    return text[:at] + new + text[at + len(old) :]


def _line_numbers(text: str, old: str) -> str:
    lines: list[int] = []
    line, at, counted_to = 1, text.find(old), 0
    while at >= 0:
        line, counted_to = line + text.count("\n", counted_to, at), at
        lines.append(line)
        at = text.find(old, at + 1)
    listed = [str(number) for number in lines[: limits.MEMORY_LINES_NAMED_MAX]]
    omitted = len(lines) - len(listed)
    return ", ".join(listed) + (f" and {omitted:,} more" if omitted else "")


def edit(before: str, after: str) -> str:
    """Return the message for a replacement, with the lines around the first change."""
    old_lines, lines = before.split("\n"), after.split("\n")
    changed = next(
        (at for at, (old, new) in enumerate(zip(old_lines, lines, strict=False)) if old != new),
        min(len(old_lines), len(lines)) - 1,
    )
    first = max(0, changed - CONTEXT_LINES)
    snippet = number_lines(lines[first : changed + CONTEXT_LINES + 1], first + 1)
    return (
        "The memory file has been edited. Here is the snippet showing the change "
        f"(with line numbers):\n{snippet}"
    )


def insert(text: str, line: int, new: str) -> str:
    """Insert lines after a line; 0 inserts at the beginning. The result ends with a line feed.

    Raises CommandRefused.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        valid_range = f"the range of lines of the file: [0, {len(lines)}]"
        raise CommandRefused(
            f"Error: Invalid `insert_line` parameter: {line}. It should be within {valid_range}"
        )
    lines.insert(line, new.removesuffix("\n"))
    return "\n".join(lines) + "\n"


# --- Memory files under /memories of a space: the commands of the memory tool, with versioning
# Every change adds a version, which stays until it is forgotten (history/forget.py). A folder
# exists as long as there is a file in it. Texts are returned unchanged to their author; the answer
# flags texts that look like prompt injections or contain a secret.

SQL = load_queries("remembrancer.memory.files", "files.sql")
# Attempts to plan a command outside the write transaction; then it is planned inside, and other
# writers wait.
PLAN_ATTEMPTS_MAX = 3


class MemoryFileUnknown(NotFound):
    """There is no memory file at this path, and never was. Paths begin with /memories/. Use `view`
    on a folder to list its files.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text to store, and the findings of its screening."""

    text: str
    flags: Sequence[str]
    notice: str | None = None
    is_masked: bool = False

    @property
    def bytes(self) -> int:
        return len(self.text.encode("utf-8"))


@dataclass(frozen=True, slots=True)
class _Change:
    """One new version of a path. `text` None means that the path is empty from then on."""

    path: str
    version: int
    change: str
    text: _Text | None
    other_path: str | None


@dataclass(frozen=True, slots=True)
class _FilesState:
    """The state of a space's files. `space_id` is None if there is no space yet."""

    space_id: int | None
    changes: int
    bytes: int  # of all versions, as they are charged


class _FilesChanged(Exception):
    """The files changed while a command was being planned."""


class _Files:
    """The files of a space as one transaction sees them, and the outcome of a command.

    The outcome is valid as long as the files are unchanged.
    """

    answer: FileDone

    def __init__(self, context: Context, tx: Transaction, caller: Caller, user_id: str) -> None:
        self.context, self.tx, self.caller, self.user_id = context, tx, caller, user_id
        self.state = _current_state(tx, user_id)
        self.space_id = self.state.space_id
        rows = [] if self.space_id is None else tx.all(SQL.current_files, space_id=self.space_id)
        self.sizes: dict[str, int] = {row.path: row.bytes for row in rows}
        self.changes: list[_Change] = []

    def below(self, path: str) -> dict[str, int]:
        """Return the files below a folder with their sizes."""
        return {one: size for one, size in self.sizes.items() if one.startswith(f"{path}/")}

    def exists(self, path: str) -> bool:
        """Return True if there is a file or folder at a path."""
        return path == ROOT or path in self.sizes or bool(self.below(path))

    def read(self, path: str) -> Row:
        """Return the current file at a path."""
        return self.tx.one(SQL.current_file, space_id=self.space_id, path=path)

    def check_parents(self, path: str) -> None:
        """Raise CommandRefused if a parent of a new path is a file."""
        parts = path.split("/")
        for end in range(3, len(parts)):
            if (parent := "/".join(parts[:end])) in self.sizes:
                raise CommandRefused(
                    f"Error: The path {parent} is a file, so it cannot contain other files"
                )

    def check_limits(self, added: list[int], *, more_files: int = 0) -> None:
        """Raise CommandRefused if versions of these sizes, or more files, exceed a limit."""
        if len(self.sizes) + more_files > limits.MEMORY_FILES_MAX:
            raise CommandRefused(
                f"Error: The limit of {limits.MEMORY_FILES_MAX:,} files is reached. "
                "Delete one that is no longer needed"
            )
        charged = self.state.bytes + sum(map(charge_bytes, added))
        if charged > limits.MEMORY_FILES_BYTES_MAX:
            limit = format_size(limits.MEMORY_FILES_BYTES_MAX)
            raise CommandRefused(
                f"Error: All versions of the files together would exceed {limit}. "
                "The user can erase old versions (forget)"
            )

    def put(self, path: str, change: str, text: _Text | None, other_path: str | None = None) -> int:
        """Add a version of a path and return its number. `text` None means deleted."""
        version = 1
        if self.space_id is not None:
            latest = self.tx.one(SQL.latest_version, space_id=self.space_id, path=path)
            version += int(latest.version)
        self.changes.append(_Change(path, version, change, text, other_path))
        return version

    def store(
        self, path: str, change: str, text: _Text, message: str, *, added: int = 0
    ) -> FileDone:
        """Add a version of a path, which `added` more files have; return its answer.

        Raises CommandRefused for what exceeds a limit.
        """
        self.check_limits([text.bytes], more_files=added)
        # The model must know that the file differs from what it wrote.
        message = f"{message}\nNote: {text.notice}" if text.is_masked else message
        return _answer(message, path, self.put(path, change, text), text.flags, text.notice)

    def existing(self, path: str) -> list[str]:
        """Return the file at a path, or the files below it. Raises CommandRefused for none."""
        paths = [path] if path in self.sizes else list(self.below(path))
        if not paths:
            raise CommandRefused(f"Error: The path {path} does not exist")
        return paths


def _current_state(tx: Transaction, user_id: str) -> _FilesState:
    """Return the state of a user's files."""
    space = tx.one_or_none(SPACES.space_of, user_id=user_id)
    if space is None:
        return _FilesState(None, 0, 0)
    charge = tx.one(SQL.file_usage, space_id=space.id)
    return _FilesState(space.id, charge.file_changes, charge.file_bytes)


def charge_bytes(size: int) -> int:
    """Return what a version of this size counts towards MEMORY_FILES_BYTES_MAX."""
    return max(size, limits.MEMORY_VERSION_BYTES_MIN)


def run_command(
    context: Context,
    caller: Caller,
    request: FileCommand,
    idempotency: IdempotentRequest | None = None,
) -> FileDone:
    """Run a command and return the message for the model; a failed command returns one too.

    Raises KeyIsReadOnly for every command except `view`, PinnedToOtherUser, IdempotencyKeyReused,
    StoreUnavailable.
    """
    user_id = space_user_id(caller, request.user_id)

    def plan(tx: Transaction) -> _Files:
        files = _Files(context, tx, caller, user_id)
        try:
            files.answer = _COMMANDS[request.command](files, request)
        except CommandRefused as error:
            files.changes.clear()
            files.answer = FileDone(text=str(error), is_error=True, flags=[])
        return files

    if request.command == "view":
        return context.store.read(plan, account_id=caller.account_id).answer
    require_write(caller)
    for _ in range(PLAN_ATTEMPTS_MAX):
        # Screening a long text takes time, so it happens here, where no writer waits for it.
        prepared = context.store.read(plan, account_id=caller.account_id)
        with suppress(_FilesChanged):
            return _write_plan(context, caller, user_id, idempotency, prepared)
    # Other writers were faster each time; now they wait.
    return _write_plan(context, caller, user_id, idempotency, plan)


def _write_plan(
    context: Context,
    caller: Caller,
    user_id: str,
    idempotency: IdempotentRequest | None,
    plan: _Files | Callable[[Transaction], _Files],
) -> FileDone:
    """Write a plan's changes, or nothing.

    Raises _FilesChanged if the files are no longer in the state the plan was made for.
    """

    def write(tx: Transaction) -> FileDone:
        planned = plan if isinstance(plan, _Files) else plan(tx)
        if planned.state != _current_state(tx, user_id):
            raise _FilesChanged
        if planned.changes:
            space = tx.one(SPACES.open_space, user_id=user_id, now_ms=context.clock())
            for change in planned.changes:
                _store_change(context, tx, caller, space.id, change)
        return planned.answer

    return write_once(context, caller.account_id, idempotency, FileDone, write)


def _store_change(
    context: Context, tx: Transaction, caller: Caller, space_id: int, change: _Change
) -> None:
    location, text = {"space_id": space_id, "path": change.path}, change.text
    size = text.bytes if text else 0
    tx.run(SQL.outdate_file, **location)
    tx.run(
        SQL.add_version,
        **location,
        text=text and text.text,
        flags=",".join(text.flags) if text else "",
        is_current=int(text is not None),
        version=change.version,
        change=change.change,
        other_path=change.other_path,
        bytes=size,
        key_id=caller.key_id,
        now_ms=context.clock(),
    )
    tx.run(SQL.charge_files, space_id=space_id, bytes=charge_bytes(size))


def _normalize(path: str | None) -> str:
    try:
        return memory_path(path or "")
    except InvalidMemoryPath as error:
        raise CommandRefused(f"Error: {error}") from None


def _screened(context: Context, text: str) -> _Text:
    if len(text) > limits.MEMORY_FILE_CHARACTERS_MAX:
        limit = f"{limits.MEMORY_FILE_CHARACTERS_MAX:,}"
        raise CommandRefused(
            f"Error: The file would have {len(text):,} characters; the limit is {limit}. "
            "Create another file for the new text"
        )
    intake = Intake(settings=context.settings)
    stored = intake.screen(text)
    injection_flags = (INSTRUCTION_LIKE,) if instruction_like(stored) else ()
    return _Text(
        text=stored,
        flags=(*injection_flags, *intake.flags),
        notice=intake.notice,
        is_masked=stored != text,
    )


def _answer(
    text: str,
    path: str,
    version: int | None = None,
    flags: Sequence[str] = (),
    notice: str | None = None,
) -> FileDone:
    return FileDone(
        text=text, is_error=False, path=path, version=version, flags=list(flags), noticed=notice
    )


def _view(files: _Files, request: FileCommand) -> FileDone:
    path = _normalize(request.path)
    if path in files.sizes:
        row = files.read(path)
        text = contents(path, row.text, request.view_range)
        return _answer(text, path, row.version, flag_names(row.flags))
    if not files.exists(path):
        raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
    return _answer(listing(path, files.below(path)), path)


def _create(files: _Files, request: FileCommand) -> FileDone:
    path = _normalize(request.path)
    if files.exists(path):
        raise CommandRefused(f"Error: File {path} already exists")
    files.check_parents(path)
    text = _screened(files.context, request.file_text or "")
    return files.store(path, "create", text, f"File created successfully at: {path}", added=1)


def _str_replace(files: _Files, request: FileCommand) -> FileDone:
    path = _normalize(request.path)
    if path not in files.sizes:
        raise CommandRefused(f"Error: The path {path} does not exist. Please provide a valid path.")
    before: str = files.read(path).text
    after = replace(path, before, request.old_str or "", request.new_str or "")
    text = _screened(files.context, after)
    return files.store(path, "str_replace", text, edit(before, text.text))


def _insert(files: _Files, request: FileCommand) -> FileDone:
    path = _normalize(request.path)
    if path not in files.sizes:
        raise CommandRefused(f"Error: The path {path} does not exist")
    before = files.read(path).text
    after = insert(before, request.insert_line or 0, request.insert_text or "")
    text = _screened(files.context, after)
    return files.store(path, "insert", text, f"The file {path} has been edited.")


def _delete(files: _Files, request: FileCommand) -> FileDone:
    path = _normalize(request.path)
    if path == ROOT:
        raise CommandRefused(f"Error: The directory {ROOT} itself cannot be deleted")
    paths = files.existing(path)
    # No limits apply to deleting, so that a full space can be cleaned up.
    versions = [files.put(deleted_path, "delete", None) for deleted_path in paths]
    version = versions[0] if paths == [path] else None
    return _answer(f"Successfully deleted {path}", path, version)


def _rename(files: _Files, request: FileCommand) -> FileDone:
    old, new = _normalize(request.old_path), _normalize(request.new_path)
    if old == ROOT:
        raise CommandRefused(f"Error: The directory {ROOT} itself cannot be renamed")
    paths = files.existing(old)
    if files.exists(new):
        raise CommandRefused(f"Error: The destination {new} already exists")
    if new.startswith(f"{old}/"):
        raise CommandRefused(f"Error: {old} cannot be moved into itself")
    files.check_parents(new)
    # _normalize also checks that each new path is valid.
    pairs = [(source, _normalize(new + source[len(old) :])) for source in paths]
    files.check_limits([files.sizes[source] for source in paths])
    versions = []
    for source, target in pairs:
        row = files.read(source)
        text = _Text(text=row.text, flags=flag_names(row.flags))
        files.put(source, "rename", None, target)
        versions.append(files.put(target, "rename", text, source))
    version = versions[0] if paths == [old] else None
    return _answer(f"Successfully renamed {old} to {new}", new, version)


_COMMANDS: dict[str, Callable[[_Files, FileCommand], FileDone]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}


# --- Versions of the memory files: their history, and erasing them ---------------------------

_NO_END = 1 << 62


def file_history(context: Context, caller: Caller, request: FileQuery) -> FileHistory:
    """Return a page of the changes at and below a path, and the text of one version.

    The text is None for a folder. Raises MemoryFileUnknown, PinnedToOtherUser, StoreUnavailable.
    """
    user_id = space_user_id(caller, request.user_id)
    try:
        path = memory_path(request.path)
    except InvalidMemoryPath as error:
        raise MemoryFileUnknown from error
    page_size = limits.MEMORY_VERSIONS_LISTED_MAX

    def read(tx: Transaction) -> tuple[list[Row], Row | None]:
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        if space is None:
            return [], None
        location = {"space_id": space.id, "path": path}
        latest = int(tx.one(SQL.latest_version, **location).version)
        selected = tx.one_or_none(SQL.version_of, **location, version=request.version or latest)
        return tx.all(
            SQL.versions_below, **location, below=request.below or _NO_END, most=page_size + 1
        ), selected

    rows, selected = context.store.read(read, account_id=caller.account_id)
    if (not rows and request.below is None and path != ROOT) or (
        request.version is not None and selected is None
    ):
        raise MemoryFileUnknown
    return FileHistory(
        user_id=user_id,
        path=path,
        version=selected and selected.version,
        text=selected and selected.text,
        versions=[read_row(FileVersion, row) for row in rows[:page_size]],
        next=rows[page_size - 1].id if len(rows) > page_size else None,
    )


def erase_files(tx: Transaction, space_id: int, path: str = ROOT) -> int:
    """Erase every version at or below a path and return how many there were.

    Returns 0 for an invalid path.
    """
    try:
        location = {"space_id": space_id, "path": memory_path(path)}
    except InvalidMemoryPath:
        return 0
    paths = tx.all(SQL.paths_below, **location, least=limits.MEMORY_VERSION_BYTES_MIN)
    tx.run(SQL.charge_files, space_id=space_id, bytes=-sum(row.bytes for row in paths))
    return tx.run(SQL.erase_files_below, **location)
