"""A deleted team leaves nothing, whatever its members write meanwhile.

specification.md#team-delete
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from engines import ENGINES, empty_store
from sandboxes import SharedSandbox
from service import Http, new_key, rows
from starlette.testclient import TestClient
from teams import FERRY, TEAMS, good, join, members, new_team

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.search.embedders.port import Vectors
from remembrancer.server.app import make_app
from remembrancer.store import open_store
from remembrancer.testing import HashEmbedder

WRITERS, BATCHES = 3, 6


class Interrupted(HashEmbedder):
    """Does something once before it embeds: a write was let in, and its transaction comes."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], object] | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts."""
        before, self.before = self.before, None
        if before is not None:
            before()
        return super().encode(texts)


@pytest.fixture
def embedder() -> Interrupted:
    return Interrupted()


@pytest.fixture(params=ENGINES)
def context(
    request: pytest.FixtureRequest, tmp_path: Path, embedder: Interrupted
) -> Iterator[Context]:
    """A service with an empty store of each engine."""
    store = open_store(empty_store(str(request.param), tmp_path), durability="normal")
    with closing(testing.context(tmp_path / "data", store=store, embedder=embedder)) as context:
        yield context


@pytest.fixture
def http(context: Context) -> Iterator[Http]:
    app = make_app(context, sandbox=SharedSandbox(context.settings))
    with TestClient(app, base_url="http://127.0.0.1:8460", raise_server_exceptions=False) as client:
        yield Http(client, context, new_key(context))


def left(context: Context) -> dict[str, int]:
    """Return the tables that have rows of a turn, a fact or an answer."""
    counts = rows(context)
    return {name: counts[name] for name in ("events", "facts", "answers") if counts[name]}


def delete(http: Http, team: str) -> Any:
    return http.delete(f"{TEAMS}/{team}", params={"confirm": "Garden"})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v7/remember", FERRY),
        ("/api/v7/event/write", {**FERRY, "user_id": "ada"}),
        ("/api/v7/memory/batch", {"turns": [FERRY, FERRY]}),
        ("/api/v7/memory/facts", {"text": "The shed is green."}),
    ],
)
def test_write_that_was_let_in_before_the_deletion_is_refused_after_it(
    http: Http, context: Context, embedder: Interrupted, path: str, body: dict[str, Any]
) -> None:
    team = new_team(http)
    ada = join(http, team, "ada", "writer")
    deletions: list[Any] = []
    embedder.before = lambda: deletions.append(good(delete(http, team)))

    late = ada.post(path, {**body, "team": team}, headers={"Idempotency-Key": "k"})

    assert deletions[0]["deleted"]
    assert (late.status_code, late.json()["detail"]) == (
        404,
        "There is no such team, or you are not a member of it.",
    )
    assert left(context) == {}


def test_write_of_a_member_that_is_removed_meanwhile_is_refused(
    http: Http, context: Context, embedder: Interrupted
) -> None:
    team = new_team(http)
    ada = join(http, team, "ada", "writer")
    member = {"member_id": members(http, team)["ada"]["member_id"]}
    embedder.before = lambda: good(http.delete(f"{TEAMS}/{team}/members", params=member))

    late = ada.post("/api/v7/remember", {**FERRY, "team": team})

    assert late.status_code == 404
    assert left(context) == {}


def test_deletion_that_fails_at_its_end_leaves_the_team_whole(http: Http, context: Context) -> None:
    """Erasure and end are one transaction: after a crash, the same request can be repeated."""
    team = new_team(http)
    http.remember(**FERRY, team=team)

    context.store.write(lambda tx: tx.run("alter table team_invitations rename to away"))
    failed = delete(http, team)
    context.store.write(lambda tx: tx.run("alter table away rename to team_invitations"))

    assert failed.status_code >= 500
    assert http.memory("ferry", team=team)["total_hits"] == 1
    assert good(delete(http, team))["counts"]["events"] == 1


def test_nothing_is_left_of_a_team_deleted_while_its_members_write(
    http: Http, context: Context
) -> None:
    """Every acknowledged turn is in the counts of the receipt; every later one is a 404."""
    team = new_team(http)
    batch = {"turns": [FERRY] * 5, "team": team}
    started = threading.Barrier(WRITERS + 1)
    statuses: list[int] = []

    def write(member: Http) -> None:
        started.wait()
        statuses.extend(
            member.post("/api/v7/memory/batch", batch).status_code for _ in range(BATCHES)
        )

    writers = [
        threading.Thread(target=write, args=(join(http, team, f"ada{n}", "writer"),), daemon=True)
        for n in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    started.wait()
    good(http.post("/api/v7/memory/batch", batch))
    answer = good(delete(http, team))
    for writer in writers:
        writer.join()

    assert set(statuses) <= {200, 404}
    assert answer["counts"]["events"] == 5 * (1 + statuses.count(200))
    assert left(context) == {}
