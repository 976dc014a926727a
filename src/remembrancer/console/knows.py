"""The page of what an agent knows: the start pack line by line, and proposals for more.

Proposals are computed when the page is shown and stored nowhere, until a person accepts one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from starlette.responses import Response

from ..agent.summarize import draft_summary, make_map
from ..http.dispatch import ThreadPool
from ..memory.facts.life import add_fact, list_facts
from ..memory.history import browse
from ..memory.summaries.l1 import NothingToSummarise, summarize
from ..memory.summaries.maps import headlines, sentences
from ..memory.summaries.start_pack import start_pack
from ..protocol import limits
from ..protocol.constitution import ClientKind
from ..protocol.errors import InvalidRequest
from ..protocol.facts import Fact, FactAdd, FactsQuery
from ..protocol.memory import EventsQuery
from ..protocol.recalled import marked
from ..protocol.summaries import MapRequest, StartPack, StartQuery, Summary, SummaryAsked
from . import layout
from .browser_session import BrowserRequest, Page
from .layout import link_to

PATH = "/console/knows"
CLIENTS: tuple[ClientKind, ...] = get_args(ClientKind)
SESSIONS_READ, SUMMARIES_PROPOSED, FACTS_PROPOSED = 30, 3, 8
TURNS_READ = 100  # newest of the user, for proposals of facts
_STATEMENT = re.compile(
    r"\b(?:I|I'm|I've|my|we|our|ich|mein\w*|wir|unser\w*|je|mon|ma|mes|yo|mi|mis|io|mio)\b|我|私|僕",
    re.IGNORECASE,
)
_STATEMENT_CHARACTERS = range(20, 240)


@dataclass(frozen=True, slots=True)
class KnownLine:
    """A line of the start pack. `fact` is the fact that it is, to be changed here."""

    text: str
    is_read: bool  # False: it did not fit
    fact: Fact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeProposal:
    """A fact or a summary that is not stored yet, and where it is from."""

    kind: str
    text: str
    session_id: str
    event_id: str = ""
    day: str = ""


def show(browser: BrowserRequest) -> Response:
    """Show the start pack of a user, project and client; with `propose`, proposals below it."""
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    user_id = browser.users.chosen
    client = layout.one_of(params, "client", CLIENTS) or "hooks"
    project = layout.text(params, "project", limits.METADATA_TEXT_CHARACTERS_MAX)
    request = {"user_id": user_id, "client": client, "project": project or None, "format": "json"}
    pack = start_pack(context, caller, layout.parse(StartQuery, request))
    query = FactsQuery(user_id=user_id, which="all", limit=limits.FACTS_LISTED_MAX)
    facts = list_facts(context, caller, query).facts
    sections = list(_sections(pack, facts))
    counts = browse.user_counts(context, caller, user_id)
    # A page with nothing on it says what it could hold.
    is_bare = bool(counts.events) and not (counts.facts or counts.summaries or counts.maps)
    wants = params.get("propose") == "yes"
    return browser.page(
        "knows.html",
        pack=pack,
        sections=sections,
        counts=counts,
        client=client,
        clients=CLIENTS,
        project=project,
        projects=browse.turn_places(context, caller, user_id).projects,
        proposals=propose(browser, user_id, facts) if wants or is_bare else [],
        wants=wants or is_bare,
        has_model=context.models.has("summarize"),
        here=link_to(PATH, user_id=user_id, client=client, project=project),
    )


def _sections(pack: StartPack, facts: list[Fact]) -> Iterator[tuple[str, list[KnownLine]]]:
    parts = pack.parts
    assert parts is not None
    by_line = {f"{one.valid_from[:10]} {marked(one.text or '', one.source)}": one for one in facts}
    by_line |= {f"{one.valid_from[:10]} {one.text}": one for one in facts}
    read = pack.prompt_text.replace("\n  ", "\n")
    for title, lines in (
        ("Wishes", parts.instructions),
        ("Facts", parts.facts),
        ("Profile", [line for line in parts.map.splitlines() if line.strip()]),
        ("Summaries of this session", parts.summaries),
        ("Decided here last", parts.decisions or []),
        ("How the last session ended", [parts.last_session] if parts.last_session else []),
        ("Files and commands of several sessions", [parts.names] if parts.names else []),
        ("Lessons", parts.cubes),
    ):
        pack_lines = [
            KnownLine(line, line.strip().splitlines()[0] in read, by_line.get(line))
            for line in lines
        ]
        if pack_lines:
            yield title, pack_lines


def propose(browser: BrowserRequest, user_id: str, facts: list[Fact]) -> list[KnowledgeProposal]:
    """Return facts that the user states in the newest turns, and summaries of sessions without one.

    Facts are sentences of the turns; summaries are drafts of the model, without one extractive.
    """
    proposals = []
    own_texts = {(fact.text or "").casefold() for fact in facts}
    query = EventsQuery(user_id=user_id, limit=TURNS_READ)
    stated = {
        sentence: event
        for event in browse.list_events(*browser.arguments, query).events
        for sentence in sentences(event.query)
        if len(sentence) in _STATEMENT_CHARACTERS
        and not sentence.endswith(("?", "？"))
        and _STATEMENT.search(sentence)
        and sentence.casefold() not in own_texts
    }
    texts = list(stated)
    for one in headlines(texts, 120 * FACTS_PROPOSED, each=1)[:FACTS_PROPOSED] if texts else ():
        event = stated[texts[one.text]]
        proposals.append(
            KnowledgeProposal(
                kind="fact",
                text=texts[one.text],
                session_id=event.session_id,
                event_id=event.event_id,
                day=event.occurred_at[:10],
            )
        )
    listed, _ = browse.list_sessions(*browser.arguments, user_id, size=SESSIONS_READ)
    bare = sorted((one for one in listed if not one.summaries), key=lambda one: -one.turns)
    for session in bare[:SUMMARIES_PROPOSED]:
        request = SummaryAsked(user_id=user_id, session_id=session.session_id)
        try:
            draft = draft_summary(*browser.arguments, request)
        except NothingToSummarise:
            continue
        text, session_id = draft.summary_text, session.session_id
        proposals.append(KnowledgeProposal(kind="summary", text=text, session_id=session_id))
    return proposals


def accept(browser: BrowserRequest) -> Response:
    """Store one proposal, as it was edited."""
    form, user_id = browser.form, browser.users.chosen
    text = layout.lines(form, "text")
    if layout.one_of(form, "kind", ("fact", "summary")) == "summary":
        values = {"user_id": user_id, "session_id": form.get("session_id"), "summary_text": text}
        summarize(*browser.arguments, layout.parse(Summary, values))
        notice = "The summary is stored."
    else:
        fact = {"user_id": user_id, "text": text, "valid_from": layout.parse_day(form, "day")}
        add_fact(*browser.arguments, layout.parse(FactAdd, fact))
        notice = "The fact is stored."
    return browser.redirect(link_to(PATH, user_id=user_id, propose="yes"), notice=notice)


def rebuild(browser: BrowserRequest) -> Response:
    """Rebuild the profile from the stored summaries."""
    user_id = browser.users.chosen
    result = make_map(*browser.arguments, layout.parse(MapRequest, {"user_id": user_id}))
    if not result.l1_count:
        raise InvalidRequest("There are no summaries yet.")
    notice = (
        f"Version {result.version} of the profile is created from {result.l1_count:,} summaries."
        if result.updated
        else "Nothing changed: the profile is up to date."
    )
    return browser.redirect(link_to(PATH, user_id=user_id), notice=notice)


PAGES = {
    PATH: Page(get=show, pool=ThreadPool.TALK),
    f"{PATH}/accept": Page(post=accept, form_bytes_max=1 << 18),
    f"{PATH}/rebuild": Page(post=rebuild, pool=ThreadPool.TALK),
}
