"""Handlers of the permission endpoints; their rows are in http.py."""

from __future__ import annotations

from typing import cast

from ..permissions import grants
from ..permissions.audit import page
from ..permissions.grants import check, grant, log_action, revoke
from ..protocol.permissions import (
    ActionLog,
    ActionLogged,
    AuditPage,
    AuditQuery,
    Granted,
    GrantList,
    GrantRequest,
    GrantRevocation,
    GrantRevoked,
    GrantsQuery,
    PermissionCheck,
    PermissionChecked,
)
from .endpoint import Call


def check_permission(call: Call) -> PermissionChecked:
    """Whether an agent may do this to this path now.

    Ask before each action; without `allowed: true`, an error included, do not do it.
    """
    return check(call.context, call.caller, cast(PermissionCheck, call.body))


def grant_permission(call: Call) -> Granted:
    """Allow an agent some actions on some paths for up to 240 minutes.

    The owner only, with a key neither pinned nor read-only.
    """
    return grant(call.context, call.caller, cast(GrantRequest, call.body), call.once)


def list_grants(call: Call) -> GrantList:
    """The grants in force, newest first, page by page.

    The owner only, with a key neither pinned nor read-only.
    """
    return grants.list_grants(call.context, call.caller, cast(GrantsQuery, call.parameters))


def log_permitted_action(call: Call) -> ActionLogged:
    """Keep what came of an action that a check of this account allowed. 409 when none did."""
    return log_action(call.context, call.caller, cast(ActionLog, call.body), call.once)


def revoke_permission(call: Call) -> GrantRevoked:
    """End a grant, from the next check on.

    The owner only, with a key neither pinned nor read-only.
    """
    return revoke(call.context, call.caller, cast(GrantRevocation, call.body), call.once)


def read_audit(call: Call) -> AuditPage:
    """The audit trail:

    grants, checks, logs and revocations in order. The owner only, with a key neither pinned nor
    read-only.
    """
    return page(call.context, call.caller, cast(AuditQuery, call.parameters))
