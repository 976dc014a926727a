"""Every page of the console, from the service's own route table."""

from __future__ import annotations

from remembrancer.console.routes import PAGES

RECORDS = {"/console/facts", "/console/sessions"}  # of one record; without its id they redirect
EVERY_PAGE = sorted(
    path
    for path, page in PAGES.items()
    if page.get and not page.is_public and not page.is_download and path not in RECORDS
)  # pages that need a sign-in
EVERY_FORM_OF_A_SESSION = sorted(
    path for path, page in PAGES.items() if page.post and not page.is_public
)
FILES = {path for path, page in PAGES.items() if page.is_download}
FOR_OWNERS = sorted(path for path, page in PAGES.items() if page.owner_only)

# Further views of pages (search results, error pages, …), by the name of their screenshot.
VIEWS = {
    "sign-in": "/console/sign-in",
    "refused": "/console/password?token=none",
    "search": "/console/memory?query=When+is+our+first+gig%3F",
    "search-everyone": "/console/memory?query=ferry&users=everyone",
    "search-teams": "/console/memory?query=ferry&teams=yes",
    "memory-sessions": "/console/memory?kind=session",
    "memory-facts": "/console/memory?kind=fact&status=all",
    "memory-summaries": "/console/memory?kind=summary",
    "knows-proposals": "/console/knows?propose=yes",
    "searches-missed": "/console/searches?order=missed",
    "go-ferry": "/console/go?query=ferry",
    "audit-verified": "/console/audit?verify=all&kind=check",
    "sandbox-plot": "/console/sandbox?example=plot",
}
