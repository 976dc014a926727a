"""A database that hangs, breaks connections or refuses them: 503 in time, no restart."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from engines import server as postgresql
from faults.proxy import Proxy
from faults.service import Service
from faults.shim import Shim
from psycopg.conninfo import conninfo_to_dict

CALLS = 6
SETTINGS = {
    "REMEMBRANCER_STORE_CONNECTIONS": "4",
    "REMEMBRANCER_STORE_STATEMENT_SECONDS": "1",
    "REMEMBRANCER_STORE_CONNECT_SECONDS": "2",
}


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    """Yield a proxy in front of the database server."""
    with Proxy(f"{postgresql().folder}/.s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture(scope="module")
def service(proxy: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield a server that reaches its database through the proxy."""
    folder, options = tmp_path_factory.mktemp("postgresql"), conninfo_to_dict(postgresql().schema())
    url = (
        f"postgresql://{options['user']}@127.0.0.1:{proxy.port}/{options['dbname']}"
        f"?options={quote(str(options['options']))}"
    )
    settings = {**SETTINGS, "REMEMBRANCER_STORE": url}
    with Shim(folder) as shim, Service(folder / "data", shim, **settings) as service:
        yield service


@pytest.mark.parametrize("kind", ["hangs", "refuses"])
def test_requests_are_503_while_the_database_is_away_and_work_afterwards(
    service: Service, proxy: Proxy, word: str, kind: str
) -> None:
    """More requests than connections. The database's own time limits do not bound one that hangs.

    See specification.md#error-503-names-part.
    """
    first = service.remember(f"first{word}")
    away = proxy.hanging() if kind == "hangs" else proxy.refusing()
    with away, ThreadPoolExecutor(CALLS) as clients:
        refused = list(
            clients.map(lambda n: service.remember(word, once=f"{word}{n}"), range(CALLS))
        )
        ready, alive = service.readiness(), service.server.get("/healthz").status
    proxy.reset()
    again = service.remember(word, once=f"{word}0")

    assert {answer.status for answer in refused} == {503}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert (ready[0], alive) == (503, 200)
    assert again.status == 200, again.body
    assert service.events_with(f"first{word}") == [first.body["event_id"]]
    assert service.events_with(word) == [again.body["event_id"]]
    assert service.readiness()[0] == 200


def test_reset_of_idle_connections_is_not_noticed(
    service: Service, proxy: Proxy, word: str
) -> None:
    assert service.readiness()[0] == 200
    proxy.reset()

    assert service.remember(word).status == 200


def test_commit_without_a_response_has_an_unknown_outcome(
    service: Service, proxy: Proxy, word: str
) -> None:
    """The write is stored, the answer lost: a retry gets the first answer.

    See specification.md#error-outcome-unknown.
    """
    with proxy.hanging_after(f"Note {word}".encode(), b"COMMIT\0"):
        refused = service.remember(word, once=word)
    proxy.reset()
    again = service.remember(word, once=word)

    assert refused.status == 503
    assert "stored completely or not at all" in refused.body["detail"]
    assert (again.status, again.headers["idempotent-replayed"]) == (200, "true")
    assert service.events_with(word) == [again.body["event_id"]]
