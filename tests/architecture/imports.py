"""The import rule: a package imports only packages to its left in IMPORT_RULE.

Exceptions are listed below the rule.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from architecture.tree import PACKAGE, Source

IMPORT_RULE = (
    "protocol < settings, fair_queue, screening < store, search, models < context < accounts < permissions"
    " < sandbox, files, feedback < backup < repair < cubes < memory < claims < agent < status"
    " < http < console, mcp, install < server < cli"
)
# The order of the modules and packages inside `memory`, in the same notation.
MEMORY_RULE = (
    "changes, instructions, spaces < filters, intake, projects < layers < links < facts < tasks"
    " < duties, files, write < history < recall < summaries < remember < maintenance < exchange"
)


def _levels(rule: str) -> dict[str, int]:
    return {
        package.strip(): level
        for level, packages in enumerate(rule.split("<"))
        for package in packages.split(",")
    }


LEVELS = _levels(IMPORT_RULE)
MEMORY_LEVELS = _levels(MEMORY_RULE)
ENTRY_POINTS = {"http", "console", "mcp", "install", "server", "cli"}
# Packages with their own list: `claims` stays pure, `client` runs without the server, `testing` is
# for tests (ours and users').
ONLY = {
    "claims": {"protocol", "screening", "search"},
    "client": {"protocol"},
    "testing": set(LEVELS) - ENTRY_POINTS,
    "__main__": {"cli", "client"},
}
CLIENT_USERS = {
    "http",
    "mcp",
    "cli",
}  # the tool list, MCP and `remembrancer chat` use the service as any client does
PACKAGES = {*LEVELS, *ONLY}


def imported_modules(source: Source) -> Iterator[tuple[int, str]]:
    """Yield every import in the file, also within functions: line and absolute dotted name."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = source.module.split(".") if source.is_package else source.module.split(".")[:-1]
            above = parts[: len(parts) - (node.level - 1)] if node.level else []
            whole = ".".join([*above, *([node.module] if node.module else [])])
            if whole in (PACKAGE, f"{PACKAGE}.memory"):  # the names may be packages
                yield from ((node.lineno, f"{whole}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, whole


def imported_packages(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the packages of ours that a file imports from: line and package."""
    for line, module in imported_modules(source):
        first, _, rest = module.partition(".")
        package = rest.partition(".")[0]
        if first == PACKAGE and package in PACKAGES:
            yield line, package


def may_import(package: str, other: str) -> bool:
    """Return True if the rule lets `package` import `other`."""
    if package == other:
        return True
    if package in ONLY:
        return other in ONLY[package]
    if other == "client":
        return package in CLIENT_USERS
    return other in LEVELS and LEVELS[other] < LEVELS[package]


def violations(files: Iterable[Source]) -> list[str]:
    """Return the imports that break the rule, one line each; the package's own `__init__` may
    import nothing.
    """
    broken = []
    for source in files:
        if source.package and source.package not in PACKAGES:
            broken.append(f"{source.name} is in no package that the import rule names")
            continue
        for line, other in imported_packages(source):
            if not source.package or not may_import(source.package, other):
                broken.append(f"{source.name}:{line} imports {other}")
    return broken


def memory_violations(files: Iterable[Source]) -> list[str]:
    """Return the imports that break the order inside `memory`, one line each."""
    broken = []
    for source in files:
        part = _memory_part(source.module)
        if part is None:
            continue
        if part not in MEMORY_LEVELS:
            broken.append(f"{source.name} is in no part that the order of `memory` names")
            continue
        for line, module in imported_modules(source):
            other = _memory_part(module)
            if other is None or other == part:
                continue
            if MEMORY_LEVELS.get(other, len(MEMORY_LEVELS)) >= MEMORY_LEVELS[part]:
                broken.append(f"{source.name}:{line} imports {other}")
    return broken


def _memory_part(module: str) -> str | None:
    """Return the module or package directly inside `memory` that a module belongs to, or None."""
    parts = module.split(".")
    return parts[2] if parts[:2] == [PACKAGE, "memory"] and len(parts) > 2 else None
