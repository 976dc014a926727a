"""Requests that name a team: they work in its space, with the role of the member."""

from __future__ import annotations

from typing import Any

from ..accounts.teams import enter, working_in
from ..context import Caller
from ..memory.recall.teams import TeamAndTeams
from ..memory.write.batch import FAULTS_MAX
from ..protocol.errors import InvalidRequest
from ..protocol.memory_batch import BatchTurn, TurnBatch
from ..protocol.operation import AnyOperation
from ..protocol.search import MemoryQuery
from ..protocol.teams import TeamQuery
from .endpoint import Call
from .parameters import parse_query


def enter_team(operation: AnyOperation, call: Call[Any]) -> None:
    """Let a request that names a team work in it; other requests stay as they are.

    Its `user_id` is then the team's: the user that acts is checked here. Raises PinnedToOtherUser,
    TeamUnknown, TeamAmbiguous, RoleTooLow, TeamAndTeams.
    """
    if call.input is not None:
        call.input = _in_team(operation, call, call.input)
    else:
        _in_team(operation, call, parse_query(TeamQuery, call.request.scope["query_string"]))


def _in_team(operation: AnyOperation, call: Call[Any], request: Any) -> Any:
    if request.team is None:
        return request
    assert operation.team is not None
    user_id = getattr(request, "user_id", None)
    call.caller = enter(call.context, call.caller, request.team, user_id, operation.team)
    call.context = working_in(call.context, call.caller, operation.team)
    changes: dict[str, Any] = {"team": None}
    if hasattr(request, "user_id"):
        changes["user_id"] = call.caller.pinned_user_id
    if isinstance(request, TurnBatch):
        changes["turns"] = _turns_of_member(request, call.caller)
    if isinstance(request, MemoryQuery):
        if request.teams is not None:
            raise TeamAndTeams
        changes |= {"interact": False, "last_seal": None}
    return request.model_copy(update=changes)


def _turns_of_member(batch: TurnBatch, caller: Caller) -> list[BatchTurn]:
    """Return the turns of a batch without the user that acts. Raises InvalidRequest for others."""
    assert caller.member is not None
    user_id = caller.member.user_id
    detail = f"must be absent, or the member that stores the turns: {user_id}"
    faults = [
        {"pointer": f"/turns/{place}/user_id", "detail": detail}
        for place, turn in enumerate(batch.turns)
        if turn.user_id not in (None, user_id)
    ]
    if faults:
        raise InvalidRequest(f"{faults[0]['pointer'][1:]}: {detail}.", errors=faults[:FAULTS_MAX])
    return [turn.model_copy(update={"user_id": None}) for turn in batch.turns]
