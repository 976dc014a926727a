"""The frame of every page: navigation, sign-in redirects, and signed notices."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import quote

NOTICE_CHARACTERS_MAX = 300
_LOCAL_PATH = re.compile(r"/(?:console|profile)(?:/[a-z-]+)*(?:\?[!-~]{0,2000})?")


@dataclass(frozen=True, slots=True)
class MenuSection:
    """One entry of the navigation."""

    path: str
    name: str
    group: str
    about: str
    owner_only: bool = False


# One row a page: to add a page to the menu, add its row. `about` is shown in the directory.
SECTIONS = (
    MenuSection("/console", "Overview", "", "Whether memory is alive and useful"),
    MenuSection("/console/go", "Go to", "", "Every page and action; press / or Ctrl+K"),
    MenuSection("/console/memory", "Search", "Memory", "Find a turn, and see why it is a hit"),
    MenuSection("/console/sessions", "Sessions", "Memory", "Conversations of agents with users"),
    MenuSection("/console/timeline", "Timeline", "Memory", "A year of memory by day and month"),
    MenuSection("/console/facts", "Facts", "Memory", "Facts and instructions, with their history"),
    MenuSection("/console/map", "Profile", "Memory", "What agents know before they search"),
    MenuSection("/console/cubes", "Lessons", "Memory", "What agents learned, and its use"),
    MenuSection("/console/users", "Users", "Memory", "Whose memory is stored"),
    MenuSection("/console/searches", "Searches", "Tools", "Traces: stages, times, near misses"),
    MenuSection("/console/import", "Import", "Tools", "Chats and memories of other products"),
    MenuSection("/console/files", "Files", "Tools", "Files that agents created"),
    MenuSection("/console/sandbox", "Sandbox", "Tools", "Run a Python program"),
    MenuSection(
        "/console/permissions", "Permissions", "Admin", "Grants on system files", owner_only=True
    ),
    MenuSection(
        "/console/audit", "Audit trail", "Admin", "Grants and checks, verified", owner_only=True
    ),
    MenuSection("/console/usage", "Usage", "Admin", "Requests by day and key"),
    MenuSection("/console/feedback", "Feedback", "Admin", "Reports of agents and people"),
    MenuSection("/console/teams", "Teams", "Account", "Shared memory: members and invitations"),
    MenuSection("/profile", "Keys and settings", "Account", "Keys, setup of agents, password"),
)


def sections(page_paths: Container[str], *, is_owner: bool) -> dict[str, list[MenuSection]]:
    """Return the menu: existing sections that this user may open, by group."""
    groups: dict[str, list[MenuSection]] = {}
    for section in SECTIONS:
        if section.path in page_paths and (is_owner or not section.owner_only):
            groups.setdefault(section.group, []).append(section)
    return groups


def section_of(path: str) -> str:
    """Return the path of the section that a page belongs to, or an empty string."""
    candidates = [
        section.path
        for section in SECTIONS
        if path == section.path or path.startswith(f"{section.path}/")
    ]
    return max(candidates, key=len, default="") if path != "/console" else path


def local_path(address: str, default: str) -> str:
    """Return `address` if it is a console path, else `default`. Prevents open redirects."""
    return address if _LOCAL_PATH.fullmatch(address) else default


def sign_in_for(path: str, query: str) -> str:
    """Return the sign-in address that leads back to a page."""
    back = local_path(f"{path}?{query}" if query else path, "")
    return (
        f"/console/sign-in?next={quote(back, safe='/')}"
        if back and back != "/console"
        else "/console/sign-in"
    )


def seal(text: str, token: str) -> str:
    """Return a notice as a cookie value, signed with the session token but not encrypted."""
    encoded = base64.urlsafe_b64encode(text[:NOTICE_CHARACTERS_MAX].encode()).decode().rstrip("=")
    return f"{encoded}.{signature(encoded, token)}"


def unseal(sealed: str, token: str) -> str:
    """Return the notice, or an empty string if this session did not sign it."""
    encoded, _, code = sealed.partition(".")
    if not token or not hmac.compare_digest(
        code.encode("utf-8", "replace"), signature(encoded, token).encode()
    ):
        return ""
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:  # not base64, or not UTF-8: the browser's user can sign anything
        return ""


def signature(encoded: str, token: str) -> str:
    """Return the signature of an encoded notice with a session token, in hex."""
    message = f"notice {encoded}".encode("utf-8", "replace")
    return hmac.digest(token.encode("utf-8", "replace"), message, "sha256").hex()
