"""The work of `remembrancer import`, with progress on stderr."""

from __future__ import annotations

from pathlib import Path

from ..accounts import caller_for
from ..context import Context
from ..memory.exchange.archive import is_export
from ..memory.exchange.importer import read, store
from ..protocol import limits
from ..protocol.errors import InvalidRequest
from .exchange import restore_from
from .progress import progress


class ImportStopped(Exception):
    """Interrupted. The stored events remain. Run the same command again to continue."""


def import_into(
    context: Context, path: Path, *, user_id: str | None = None, account: str | None = None
) -> str:
    """Import a file and return a summary.

    Raises ImportRefused, AccountUnknown, InvalidRequest, ImportStopped.
    """
    if user_id is not None and (
        not 1 <= len(user_id) <= limits.ID_CHARACTERS_MAX
        or "\0" in user_id
        or not user_id.isprintable()
    ):
        raise InvalidRequest(
            f"--user-id must be one line of 1 to {limits.ID_CHARACTERS_MAX} characters"
        )
    caller = caller_for(context, account)
    try:
        if is_export(path):
            return restore_from(context, caller, path, user_id=user_id)
        source = read(context, caller, path, user_id=user_id)
        with progress("importing", len(source)) as advance:
            result = store(context, caller, source, progress=advance)
    except KeyboardInterrupt as error:
        raise ImportStopped from error
    return (
        f"{result.stored:,} stored, {result.duplicates:,} already present "
        f"(account {caller.account_name})"
    )
