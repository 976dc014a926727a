"""Calls of the system permissions for tests."""

from __future__ import annotations

from typing import Any

from service import Http, body_of

PERM = "/api/v7/sysperm"
NGINX: dict[str, Any] = {
    "scope": "/etc/nginx/*.conf",
    "ttl_minutes": 30,
    "actions": ["read", "write"],
    "agent": "robot",
}
NOTHING = {"grants": 0, "allowed_checks": 0, "audit": 0}
WRITE: dict[str, Any] = {"path": "/etc/nginx/nginx.conf", "action": "write", "agent": "robot"}


def create_grant(http: Http, **other: Any) -> str:
    """Grant as the owner; return the grant_id."""
    return str(body_of(http.post(f"{PERM}/grant", {**NGINX, **other}))["grant_id"])


def check(http: Http, **other: Any) -> dict[str, Any]:
    return dict(body_of(http.post(f"{PERM}/check", {**WRITE, **other})))


def log_action(http: Http, grant_id: str, **other: Any) -> Any:
    """Log the action that WRITE asks for; return the response."""
    return http.post(
        f"{PERM}/log",
        {"grant_id": grant_id, "path": WRITE["path"], "action": "write", "result": "done", **other},
    )


def audit(http: Http, **parameters: Any) -> dict[str, Any]:
    return dict(http.get(f"{PERM}/audit", params=parameters).json())


def stored_counts(http: Http) -> dict[str, int]:
    """Return the row counts of the permission tables."""
    return {table: n for table, n in http.rows().items() if table in NOTHING}
