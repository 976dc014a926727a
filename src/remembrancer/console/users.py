"""The users page: the users of the account, the one with the latest turn first."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from ..context import Caller, Context
from ..memory.history import activity, browse
from ..protocol.limits import ID_CHARACTERS_MAX
from . import layout
from .browser_session import BrowserRequest, Page

PATH = "/console/users"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRow:
    """A user with the amount of data stored."""

    user_id: str
    last_ms: int
    counts: browse.UserCounts


def show(browser: BrowserRequest) -> Response:
    """Show the users that were active last, or those whose names begin with `prefix`."""
    prefix = layout.text(browser.request.query_params, "prefix", ID_CHARACTERS_MAX)
    rows = list_rows(*browser.arguments, prefix)
    return browser.page(
        "users.html", rows=rows, prefix=prefix, is_cut=len(rows) >= activity.ACTIVE_USERS_MAX
    )


def list_rows(context: Context, caller: Caller, prefix: str) -> list[UserRow]:
    """Return the users of the page. Raises StoreUnavailable."""
    return [
        UserRow(
            user_id=user.user_id,
            last_ms=user.last_ms,
            counts=browse.user_counts(context, caller, user.user_id),
        )
        for user in activity.active_users(context, caller, prefix=prefix)
    ]


PAGES = {PATH: Page(get=show)}
