"""The memories that a search of the console covers: of one user or all, and of teams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..accounts.teams import ALL_TEAMS, enter_all
from ..context import Caller
from ..memory.history import activity
from .browser_session import BrowserRequest

EVERYONE = "everyone"  # value of `users`: search the memory of all users
WITH_TEAMS = "yes"  # value of `teams`: search the memory of the account's teams, too
USERS_SEARCHED_MAX = 20  # those that were active last


@dataclass(frozen=True, slots=True)
class SearchedMemory:
    """A memory, and the caller that reads it. `team` is the name of the team that it belongs to."""

    caller: Caller
    user_id: str
    team: str | None = None


@dataclass(frozen=True, slots=True)
class SearchReach:
    """The memories to search. `is_cut`: there are more users."""

    memories: list[SearchedMemory]
    is_cut: bool = False

    @property
    def users(self) -> int:
        """The number of users among the memories."""
        return sum(one.team is None for one in self.memories)

    @property
    def teams(self) -> int:
        """The number of teams among the memories."""
        return len(self.memories) - self.users


def search_scope(browser: BrowserRequest, user_id: str, params: Mapping[str, str]) -> SearchReach:
    """Return the memories that `users` and `teams` of a page name. Default: that of `user_id`.

    Raises TooManyTeams.
    """
    context, caller = browser.context, browser.caller()
    names, is_cut = [user_id], False
    if params.get("users") == EVERYONE:
        active = activity.active_users(context, caller, most=USERS_SEARCHED_MAX + 1)
        names = [user.user_id for user in active[:USERS_SEARCHED_MAX]]
        is_cut = len(active) > USERS_SEARCHED_MAX
    memories = [SearchedMemory(caller, name) for name in names]
    if params.get("teams") == WITH_TEAMS:
        for member in enter_all(context, caller, [ALL_TEAMS], None):
            assert member.member is not None
            team = member.member
            memories.append(SearchedMemory(member, team.team_id, team.team_name))
    return SearchReach(memories, is_cut)
