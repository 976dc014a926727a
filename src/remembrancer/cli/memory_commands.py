"""Commands that read and write memory of a running service with a key.

They owe no duties: searches count no step, and turns belong to none.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..protocol.trust import TextSource
from .commands import FilterOptions, ServiceUrl, options_of, service_key, service_url
from .output import AsJson, Commands, Output, OutputFormat, print_answer, print_list, takes_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel

    from ..client import Client, SearchResult
    from ..client.results import OtherMatch
    from ..protocol.search import Hit

STDIN = "-"
User = Annotated[
    str | None,
    typer.Option("--user-id", help="User whose memory to use. Default: the user of the key."),
]
Limit = Annotated[int, typer.Option(min=0, help="Most rows. 0 means all.")]
Team = Annotated[
    str | None, typer.Option("--team", help="Team whose memory to use: its name or id.")
]


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Options that say where a search looks."""

    after: Annotated[str | None, typer.Option(metavar="TIME")] = None
    """Only turns from this day or time (RFC 3339) on."""
    before: Annotated[str | None, typer.Option(metavar="TIME")] = None
    """Only turns before this day or time (RFC 3339)."""
    filters: FilterOptions = None
    min_trust: TextSource | None = None
    """Only what comes from this source or a more trusted one."""
    teams: list[str] | None = None
    """Team to search besides your own memory, or `all`. Can be repeated."""

    def fields(self) -> dict[str, Any]:
        """Return the arguments of `Client.search`."""
        from ..protocol.filters import filters_of

        return {
            "after": self.after,
            "before": self.before,
            "filters": options_of(filters_of, self.filters),
            "min_trust": self.min_trust,
            "teams": "all" if "all" in (self.teams or ()) else self.teams or None,
        }


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """Options that say where and when a turn belongs."""

    session_id: str = "default"
    """Session of the turn."""
    topic: str | None = None
    """Topic: a word or a line."""
    occurred_at: Annotated[str | None, typer.Option(metavar="TIME")] = None
    """Day or time (RFC 3339) that it belongs to. Default: now."""
    metadata: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None
    """Metadata to find it by. Can be repeated."""
    source: TextSource | None = None
    """Who both sides come from. Default: the user, and a model."""
    team: Team = None


@dataclass(frozen=True, slots=True)
class FactsChosen:
    """Options that say which facts to list."""

    status: Literal["current", "superseded", "expired", "removed", "all"] = "current"
    """Only facts with this status."""
    filters: FilterOptions = None
    team: Team = None

    def fields(self) -> dict[str, Any]:
        """Return the arguments of `Client.facts`."""
        from ..protocol.filters import filters_of

        return {
            "status": self.status,
            "filters": options_of(filters_of, self.filters),
            "team": self.team,
        }


def search(
    query: str,
    user_id: User = None,
    top_k: Annotated[int, typer.Option(min=1, max=100)] = 5,
    min_score: Annotated[float, typer.Option(min=0, max=1)] = 0.0,
    scope: SearchScope = SearchScope(),
    url: ServiceUrl = None,
    output: Output = OutputFormat.TABLE,
    as_json: AsJson = False,
) -> None:
    """Search memory, best hit first. Counts no step and owes nothing.

    Facts, instructions and summaries that match follow the turns; `kind` says what a row is. The
    score of a turn is the chance that it answers the query, from 0 to 1.

    Needs a running service and its key (`remembrancer login`).

    Args:
        query: Question or words, in any language.
        top_k: Most hits.
        min_score: Leave out turns with a lower score.
    """
    with service_client(url) as client:
        result = client.search(
            query, user_id=user_id, top_k=top_k, min_score=min_score, **scope.fields()
        )
    answer = result.answer.model_dump(mode="json")
    rows = _matches(result, is_marked=output is OutputFormat.TABLE)
    _print(
        rows,
        ("kind", *(("team",) if scope.teams else ()), "score", "date", "id", "text"),
        output,
        as_json=as_json,
        document={"user_id": result.user_id, **answer},
    )
    if not result.hits:
        print(_without_turns(result, min_score), file=sys.stderr)


def remember(
    text: str,
    response: Annotated[str, typer.Argument(metavar="[RESPONSE]")] = "",
    user_id: User = None,
    turn: TurnOptions = TurnOptions(),
    url: ServiceUrl = None,
    as_json: AsJson = False,
) -> None:
    """Remember a text, or a message with its answer. Prints the id of the turn.

    It belongs to no step and owes nothing. Needs a running service and its key
    (`remembrancer login`).

    Args:
        text: Text to remember, or the user's message. `-` reads stdin.
        response: The answer to it, if there was one.
    """
    from ..protocol.filters import pairs_of

    if text == STDIN:
        text = _stdin()
    with service_client(url) as client:
        added = client.add(
            (text, response),
            user_id=user_id,
            session_id=turn.session_id,
            topic=turn.topic,
            occurred_at=turn.occurred_at,
            metadata=options_of(pairs_of, turn.metadata),
            source=turn.source,
            team=turn.team,
        )
    document = {
        "event_id": added.event_id,
        "user_id": added.user_id,
        "session_id": added.session_id,
        "notes": list(added.notes),
    }
    print_answer(document, added.event_id, *added.notes, as_json=as_json)


facts_app = Commands(invoke_without_command=True)


@facts_app.callback()
@takes_options
def facts(
    context: typer.Context,
    user_id: User = None,
    instructions: bool = False,
    chosen: FactsChosen = FactsChosen(),
    limit: Limit = 50,
    url: ServiceUrl = None,
    output: Output = OutputFormat.TABLE,
    as_json: AsJson = False,
) -> None:
    """List what memory knows about a user, newest first.

    Needs a running service and its key (`remembrancer login`).

    Args:
        instructions: List standing instructions and preferences instead.
    """
    if context.invoked_subcommand is not None:
        return
    with service_client(url) as client:
        items = client.instructions if instructions else client.facts
        listed = _first(items(user_id=user_id, **chosen.fields()), limit)
    rows = [{**fact, "date": fact["valid_from"][:10]} for fact in listed]
    if not rows:
        print("There are no such facts of this user.", file=sys.stderr)
    _print(rows, ("date", "fact_id", "status", "text"), output, as_json=as_json, document=listed)


@facts_app.command("add")
def add_fact(
    text: str,
    user_id: User = None,
    valid_from: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    metadata: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None,
    team: Team = None,
    url: ServiceUrl = None,
    as_json: AsJson = False,
) -> None:
    """Store a fact without a turn. Prints its id.

    Needs a running service and its key (`remembrancer login`).

    Args:
        text: The fact, as one statement.
        valid_from: Day or time since which it holds. Default: now.
        metadata: Metadata to find it by. Can be repeated.
    """
    from ..protocol.filters import pairs_of

    fields: dict[str, Any] = {
        "valid_from": valid_from,
        "metadata": options_of(pairs_of, metadata),
        "team": team,
    }
    with service_client(url) as client:
        stored = client.add_fact(text, user_id=user_id, **fields)
    notes = [stored.detail] if stored.detail else []
    document = stored.model_dump(mode="json")
    print_answer(document, stored.fact.fact_id, *notes, as_json=as_json)


@facts_app.command("move")
def move_fact(
    fact_id: str,
    project: Annotated[str | None, typer.Argument()] = None,
    user_id: User = None,
    team: Team = None,
    url: ServiceUrl = None,
) -> None:
    """Let a fact or a wish belong to a project, or to the person.

    Needs a running service and its key (`remembrancer login`).

    Args:
        fact_id: Id of the fact or wish.
        project: Project that it belongs to. Default: every project.
    """
    from ..protocol.facts import FactChange
    from ..protocol.search import in_project

    with service_client(url) as client:
        fact = client.get(fact_id, user_id=user_id, team=team)
        change = FactChange(metadata=in_project(fact.metadata, project), team=team)
        client.change_fact(fact_id, change)
    print(f"{fact_id} belongs to {'every project' if project is None else project}.")


def delete(
    item_id: Annotated[str, typer.Argument(metavar="ID")],
    team: Team = None,
    url: ServiceUrl = None,
    as_json: AsJson = False,
) -> None:
    """Erase one turn, or one fact with its versions, for good.

    Needs a running service and its key (`remembrancer login`).

    Args:
        item_id: Id of a turn (`e_…`) or of a fact (`f_…`).
    """
    with service_client(url) as client:
        erased = client.delete(item_id, team=team)
    print_answer(erased.model_dump(mode="json"), f"Erased {item_id}.", as_json=as_json)


def forget(
    user_id: Annotated[str, typer.Option("--user-id")],
    session_id: str | None = None,
    filters: FilterOptions = None,
    yes: bool = False,
    url: ServiceUrl = None,
    as_json: AsJson = False,
) -> None:
    """Erase a user's memory, or a part of it, for good.

    Asks before it erases. Needs a running service and its key (`remembrancer login`).

    Args:
        user_id: User whose memory to erase.
        session_id: Only this session. Default: the whole memory.
        yes: Do not ask.
    """
    what = "the whole memory" if session_id is None and not filters else "that part of the memory"
    if not yes:
        typer.confirm(f"Erase {what} of {user_id} for good?", abort=True, err=True)
    from ..protocol.filters import filters_of

    with service_client(url) as client:
        forgotten = client.delete_all(
            user_id=user_id, session_id=session_id, filters=options_of(filters_of, filters)
        )
    document = forgotten.model_dump(mode="json")
    counts = ", ".join(f"{n:,} {name}" for name, n in document["counts"].items() if n)
    print_answer(document, f"Erased: {counts or 'nothing was stored'}.", as_json=as_json)


def users(url: ServiceUrl = None, as_json: AsJson = False) -> None:
    """List the users of your account that have a memory, by name.

    Needs a running service and its key (`remembrancer login`).
    """
    with service_client(url) as client:
        names = list(client.users())
    print_answer(names, "\n".join(names) or "This account has no users yet.", as_json=as_json)


def sessions(
    session_id: Annotated[str | None, typer.Argument(metavar="[SESSION_ID]")] = None,
    user_id: User = None,
    team: Team = None,
    limit: Limit = 50,
    url: ServiceUrl = None,
    output: Output = OutputFormat.TABLE,
    as_json: AsJson = False,
) -> None:
    """List the sessions of a user, or read one.

    Sessions are listed latest turn first, the turns of one oldest first. Needs a running service
    and its key (`remembrancer login`).

    Args:
        session_id: Session to read. Default: list all sessions.
    """
    with service_client(url) as client:
        if session_id is None:
            listed = _first(client.sessions(user_id=user_id, team=team), limit)
        else:
            turns = client.events(user_id=user_id, session_id=session_id, order="oldest", team=team)
            listed = _first(turns, limit)
    if not listed:
        what = "sessions" if session_id is None else "turns of this session"
        print(f"This user has no {what}.", file=sys.stderr)
    if session_id is None:
        rows = [
            {**one, "date": one["last_turn_at"][:10], "text": one["topic"] or one["query"]}
            for one in listed
        ]
        columns: tuple[str, ...] = ("date", "turns", "session_id", "text")
    else:
        rows = [
            {**one, "date": one["occurred_at"][:10], "text": _both(one["query"], one["response"])}
            for one in listed
        ]
        columns = ("date", "event_id", "text")
    _print(rows, columns, output, as_json=as_json, document=listed)


def _stdin() -> str:
    """Return the text on stdin. Raises SettingInvalid for bytes that are no text."""
    from ..settings import SettingInvalid

    raw = sys.stdin.buffer.read()
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise SettingInvalid(
            f"stdin is not text in UTF-8: byte {error.start + 1} is 0x{raw[error.start]:02x}. "
            "Nothing was stored."
        ) from error


@contextmanager
def service_client(url: str | None) -> Iterator[Client]:
    """Yield a client of the service. Raises SettingInvalid for arguments that it refuses."""
    from ..client import Client, Retry
    from ..settings import SettingInvalid

    key = service_key()
    try:
        with Client(service_url(url), key, retry=Retry(times=1)) as client:
            yield client
    except (ValueError, TypeError) as error:
        raise SettingInvalid(str(error)) from error


def _matches(result: SearchResult, *, is_marked: bool) -> list[dict[str, Any]]:
    """Return a row for each turn, then for each fact, instruction and summary.

    A superseded fact says so in its text if texts are marked.
    """
    turns = [
        _row(hit, hit.occurred_at)
        | {"kind": "turn", "id": hit.event_id, "query": hit.query, "response": hit.response}
        | {"text": _both(hit.query, hit.response)}
        for hit in result
    ]
    others = [
        _row(one, one.time)
        | {"kind": one.kind, "id": one.id, "status": one.status}
        | {"text": one.marked_text if is_marked else one.text}
        for one in result.others
    ]
    return [*turns, *others]


def _row(match: Hit | OtherMatch, time: str | None) -> dict[str, Any]:
    """Return the cells that all matches have, in the order of the columns of CSV."""
    return {
        "kind": None,
        "id": None,
        "score": None if match.score is None else f"{match.score:.2f}",
        "date": time and time[:10],
        "occurred_at": time,
        "session_id": match.session_id,
        "topic": match.topic,
        "team": match.memory and match.memory.team,
        "status": None,
        "query": None,
        "response": None,
        "text": None,
    }


def _without_turns(result: SearchResult, min_score: float) -> str:
    """Return a sentence that no turn matches, and what does."""
    none = f"No turn scores {min_score:g} or more" if min_score else "No turn matches"
    counts = Counter(one.kind for one in result.others)
    if not counts:
        return f"{none}."
    plurals = {"summary": "summaries"}
    parts = [
        f"{count} {kind if count == 1 else plurals.get(kind, f'{kind}s')}"
        for kind, count in counts.items()
    ]
    *first, last = parts
    named = f"{', '.join(first)} and {last}" if first else last
    verb = "matches" if counts.total() == 1 else "match"
    return f"{none}; {named} {verb}."


def _first(items: Iterable[BaseModel], limit: int) -> list[dict[str, Any]]:
    """Return the first items as JSON; say on stderr if there are more."""
    listed = [one.model_dump(mode="json") for one in islice(items, limit + 1 if limit else None)]
    if limit and len(listed) > limit:
        print(f"The first {limit} are listed. --limit 0 lists all.", file=sys.stderr)
        return listed[:limit]
    return listed


def _print(
    rows: list[dict[str, Any]],
    columns: tuple[str, ...],
    output: OutputFormat,
    *,
    as_json: bool,
    document: Any,
) -> None:
    if output is OutputFormat.CSV and not as_json:
        # The column `date` is made for a table, and so is `text` where each row has two sides.
        has_sides = bool(rows) and "query" in rows[0] and "kind" not in rows[0]
        drops = {"date", "text"} if has_sides else {"date"}
        rows = [{name: row[name] for name in row if name not in drops} for row in rows]
    print_list(rows, columns, OutputFormat.JSON if as_json else output, document=document)


def _both(query: str, response: str) -> str:
    return " \u2192 ".join(side for side in (query, response) if side)
