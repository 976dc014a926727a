"""Requests of the client about permissions: a part of `requests.py`."""

from __future__ import annotations

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
from .api_request import ApiRequest, get, parse_as, post, write

__all__ = [
    "check_permission",
    "grant_permission",
    "list_grants",
    "log_permitted_action",
    "read_audit",
    "revoke_permission",
]


def check_permission(check: PermissionCheck) -> ApiRequest[PermissionChecked]:
    """Check if an agent may access a path now. Treat any exception as a refusal.

    The request is not retried, because each check is recorded in the audit trail.
    """
    return post(parse_as(PermissionChecked), "/api/v7/sysperm/check", check, is_retry_safe=False)


def grant_permission(
    grant: GrantRequest, *, idempotency_key: str | None = None
) -> ApiRequest[Granted]:
    """Grant an agent a permission for a limited time. Only for the owner."""
    return write(Granted, "/api/v7/sysperm/grant", grant, idempotency_key)


def list_grants(query: GrantsQuery | None = None) -> ApiRequest[GrantList]:
    """List the grants in force, one page at a time. Only for the owner."""
    return get(GrantList, "/api/v7/sysperm/grants", query)


def log_permitted_action(
    log: ActionLog, *, idempotency_key: str | None = None
) -> ApiRequest[ActionLogged]:
    """Record the result of an action that a check allowed."""
    return write(ActionLogged, "/api/v7/sysperm/log", log, idempotency_key)


def revoke_permission(
    revocation: GrantRevocation, *, idempotency_key: str | None = None
) -> ApiRequest[GrantRevoked]:
    """Revoke a grant. Only for the owner."""
    return write(GrantRevoked, "/api/v7/sysperm/revoke", revocation, idempotency_key)


def read_audit(query: AuditQuery | None = None) -> ApiRequest[AuditPage]:
    """List the audit trail, one page at a time. Only for the owner."""
    return get(AuditPage, "/api/v7/sysperm/audit", query)
