"""All endpoints, in the order of the documentation."""

from __future__ import annotations

from . import (
    agent_routes,
    docs_routes,
    fact_routes,
    memory_routes,
    permission_routes,
    system_routes,
    team_routes,
    tool_routes,
)
from .endpoint import AnyEndpoint

ROUTES: tuple[AnyEndpoint, ...] = (
    *memory_routes.ROUTES,
    *fact_routes.ROUTES,
    *team_routes.ROUTES,
    *agent_routes.ROUTES,
    *tool_routes.ROUTES,
    *permission_routes.ROUTES,
    *system_routes.ROUTES,
    *docs_routes.ROUTES,
)
