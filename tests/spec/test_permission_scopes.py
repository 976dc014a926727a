"""A scope with and without its final slash: grant and check say what it covers."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http
from spec.permission_calls import NGINX, PERM, check, create_grant


@pytest.fixture
def agent(http: Http) -> Http:
    """Provide an agent with a key of its own account."""
    return http.as_account("robots")


@pytest.mark.parametrize(
    ("scope", "path", "hint"),
    [
        ("/srv/app", "/srv/app/config.toml", "the scope for that is /srv/app/"),
        ("/srv/app", "/srv/app/deep/er/x", "the scope for that is /srv/app/"),
        ("/srv/app.d", "/srv/app.d/x", "the scope for that is /srv/app.d/"),
        ("/srv/app/", "/srv/app", "its scope is /srv/app"),
    ],
)
def test_scope_without_slash_never_covers_a_folder(
    http: Http, agent: Http, scope: str, path: str, hint: str
) -> None:
    """Grant and check say which scope does (specification.md#sysperm-one-path)."""
    grant = http.post(f"{PERM}/grant", {**NGINX, "scope": scope}).json()
    answer = check(agent, path=path)

    assert answer["allowed"] is False
    assert hint in answer["reason"]
    assert grant["grant_id"] in answer["reason"]
    if not scope.endswith("/"):
        assert f"grant {scope}/ to cover what is below it" in grant["note"]
        assert check(agent, path=scope)["allowed"] is True
    assert http.get(f"{PERM}/audit").json()["chain_valid"] is True


@pytest.mark.parametrize(
    "grant",
    [
        {"scope": "/srv/app2"},
        {"scope": "/srv/ap"},
        {"scope": "/srv/app", "agent": "another"},
        {"scope": "/srv/app", "actions": ["exec"]},
        {"scope": "/srv/ap*"},
    ],
)
def test_denial_names_only_a_grant_that_almost_allows_it(
    http: Http, agent: Http, grant: dict[str, Any]
) -> None:
    """Other grants are not named (specification.md#sysperm-one-path)."""
    denied = check(agent, path="/srv/app/x")["reason"]
    http.post(f"{PERM}/grant", {**NGINX, **grant})

    assert check(agent, path="/srv/app/x")["reason"] == denied


def test_denial_names_no_ended_grant(http: Http, agent: Http) -> None:
    """Only a grant in force is named (specification.md#sysperm-one-path)."""
    denied = check(agent, path="/srv/app/x")["reason"]
    grant_id = create_grant(http, scope="/srv/app")
    http.post(f"{PERM}/revoke", {"grant_id": grant_id})

    assert check(agent, path="/srv/app/x")["reason"] == denied
