"""What stands around every page: the sections to go to, the theme, and what was done last."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import quote

TOLD_CHARACTERS_MAX = 300
_WITHIN = re.compile(r"/(?:console|profile)(?:/[a-z-]+)*(?:\?[!-~]{0,2000})?")


@dataclass(frozen=True, slots=True)
class MenuSection:
    """One entry of the navigation."""

    path: str
    name: str
    group: str
    owner_only: bool = False


SECTIONS = (
    MenuSection("/console", "Overview", ""),
    MenuSection("/console/memory", "Memory", "Kept"),
    MenuSection("/console/sessions", "Sessions", "Kept"),
    MenuSection("/console/map", "Map", "Kept"),
    MenuSection("/console/cubes", "Cubes", "Kept"),
    MenuSection("/console/files", "Files", "Kept"),
    MenuSection("/console/sandbox", "Sandbox", "Done"),
    MenuSection("/console/permissions", "Permissions", "Done", owner_only=True),
    MenuSection("/console/audit", "Audit trail", "Done", owner_only=True),
    MenuSection("/console/usage", "Usage", "Service"),
    MenuSection("/console/feedback", "Feedback", "Service"),
    MenuSection("/profile", "Keys and profile", "You"),
)


def sections(there: Container[str], *, is_owner: bool) -> dict[str, list[MenuSection]]:
    """The navigation by its groups:

    of the pages that are there, those that this reader may open.
    """
    groups: dict[str, list[MenuSection]] = {}
    for section in SECTIONS:
        if section.path in there and (is_owner or not section.owner_only):
            groups.setdefault(section.group, []).append(section)
    return groups


def section_of(path: str) -> str:
    """The path of the section that a page belongs to; empty for one of none."""
    below = [
        section.path
        for section in SECTIONS
        if path == section.path or path.startswith(f"{section.path}/")
    ]
    return max(below, key=len, default="") if path != "/console" else path


def section_context(address: str, otherwise: str) -> str:
    """`address` when it is one of a page of ours, else `otherwise`:

    nobody is sent on to another origin.
    """
    return address if _WITHIN.fullmatch(address) else otherwise


def sign_in_for(path: str, query: str) -> str:
    """The address of the sign-in that leads back to a page."""
    back = section_context(f"{path}?{query}" if query else path, "")
    return (
        f"/console/sign-in?next={quote(back, safe='/')}"
        if back and back != "/console"
        else "/console/sign-in"
    )


def seal(text: str, token: str) -> str:
    """A sentence for the next page as a cookie holds it:

    readable by all, made only by who knows the session's token.
    """
    words = base64.urlsafe_b64encode(text[:TOLD_CHARACTERS_MAX].encode()).decode().rstrip("=")
    return f"{words}.{_sign(words, token)}"


def unseal(sealed: str, token: str) -> str:
    """The sentence; empty when it was not sealed by this session."""
    words, _, sign = sealed.partition(".")
    if not token or not hmac.compare_digest(
        sign.encode("utf-8", "replace"), _sign(words, token).encode()
    ):
        return ""
    return base64.urlsafe_b64decode(words + "=" * (-len(words) % 4)).decode()


def _sign(words: str, token: str) -> str:
    return hmac.digest(
        token.encode("utf-8", "replace"), f"told {words}".encode("utf-8", "replace"), "sha256"
    ).hex()
