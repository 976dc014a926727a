"""Delete a team: its memory, its members and its invitations."""

from __future__ import annotations

from dataclasses import replace

from ...accounts import require_write
from ...accounts.idempotency import IdempotentRequest
from ...accounts.teams import caller_in, membership_in, require_role
from ...context import Caller, Context
from ...permissions.teams import end_team
from ...protocol.errors import Conflict
from ...protocol.forget import Forget
from ...protocol.teams import TeamDeleted, TeamDeletion
from ...store import Transaction
from .forget import forget


class TeamNotConfirmed(Conflict):
    """Deleting a team erases its memory. Send the team's name in `confirm` as well."""


def delete_team(
    context: Context,
    caller: Caller,
    team: str,
    request: TeamDeletion,
    _idempotency: IdempotentRequest | None = None,
) -> TeamDeleted:
    """Erase the memory of a team with a signed receipt, and end the team. For its owners.

    Both are one transaction: every write of a member is erased by it, or comes later and is refused
    (accounts.teams.working_in); a crash leaves the whole team, or none. A repeated request finds no
    team: 404. Raises KeyIsReadOnly, TeamUnknown, RoleTooLow, TeamNotConfirmed, StoreUnavailable.
    """
    require_write(caller)
    own = context.store.read(
        lambda tx: membership_in(tx, caller, team), account_id=caller.account_id
    )
    require_role(own.role, "owner")
    if request.confirm != own.name:
        raise TeamNotConfirmed
    everything = replace(caller_in(caller, own), pinned_user_id=None)

    def end(tx: Transaction) -> None:
        current = membership_in(tx, caller, own.team_id)  # another request may have ended it
        require_role(current.role, "owner")
        end_team(tx, caller, current, context.clock())

    erased = forget(context, everything, Forget(account=True, confirm=own.team_id), also=end)
    return TeamDeleted(
        deleted=True, team_id=own.team_id, counts=erased.counts, receipt=erased.receipt
    )
