"""What the command line does with memory: import, with its progress on stderr."""

from __future__ import annotations

from pathlib import Path

from ..accounts import caller_for
from ..context import Context
from ..memory.exchange.importer import read, store
from ..protocol import limits
from ..protocol.errors import InvalidRequest
from .progress import progress


class ImportStopped(Exception):
    """Stopped. What was stored stays; run the same command again to go on."""


def import_into(
    context: Context, path: Path, *, user_id: str | None = None, account: str | None = None
) -> str:
    """Import a file; what to say of it in the end.

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
        source = read(context, caller, path, user_id=user_id)
        with progress("importing", len(source)) as advance:
            done = store(context, caller, source, progress=advance)
    except KeyboardInterrupt as error:
        raise ImportStopped from error
    return (
        f"{done.stored:,} stored, {done.duplicates:,} there already (account {caller.account_name})"
    )
