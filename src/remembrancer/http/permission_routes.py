"""Endpoints of system permissions: check, grant, log, revoke, audit."""

from __future__ import annotations

from ..permissions.audit import page
from ..permissions.grants import check, grant, list_grants, log_action, revoke
from ..protocol.errors import NotFound
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
from .endpoint import AnyEndpoint, Endpoint, ThreadPool

_OWNER = "Owner only, with a key that is neither pinned nor read-only."

ROUTES: tuple[AnyEndpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v7/sysperm/check",
        operation_id="check_permission",
        summary="Check a permission",
        description="Return whether an agent may perform this action on this path now. Check "
        "before each action, and act only on `allowed: true`; treat an error as a denial.",
        read=check,
        body=PermissionCheck,
        answer=PermissionChecked,
        pool=ThreadPool.WRITE,
        rate_limit="sysperm",
        usage="check",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/sysperm/grant",
        operation_id="grant_permission",
        summary="Grant a permission",
        description="Allow an agent some actions on some paths for up to 240 minutes. " + _OWNER,
        write=grant,
        body=GrantRequest,
        answer=Granted,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="GET",
        path="/api/v7/sysperm/grants",
        operation_id="list_grants",
        summary="List grants in force",
        description="List the grants in force, newest first, in pages. " + _OWNER,
        read=list_grants,
        query=GrantsQuery,
        answer=GrantList,
        pool=ThreadPool.WRITE,
        errors=(NotFound,),
    ),
    Endpoint(
        method="POST",
        path="/api/v7/sysperm/log",
        operation_id="log_permitted_action",
        summary="Log a permitted action",
        description="Record the result of an action that a check of this account allowed. "
        "409 when no check allowed it.",
        write=log_action,
        body=ActionLog,
        answer=ActionLogged,
        pool=ThreadPool.WRITE,
        rate_limit="sysperm",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/sysperm/revoke",
        operation_id="revoke_permission",
        summary="Revoke a permission",
        description="End a grant. The next check denies. " + _OWNER,
        write=revoke,
        body=GrantRevocation,
        answer=GrantRevoked,
        pool=ThreadPool.WRITE,
        errors=(NotFound,),
    ),
    Endpoint(
        method="GET",
        path="/api/v7/sysperm/audit",
        operation_id="read_audit",
        summary="Read the audit trail",
        description="Return the audit trail in order: grants, checks, logs and revocations. "
        + _OWNER,
        read=page,
        query=AuditQuery,
        answer=AuditPage,
        pool=ThreadPool.WRITE,
    ),
)
