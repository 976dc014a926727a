"""A bucket that hangs, refuses or fails: files are refused, memory goes on, no restart."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from buckets import make_bucket, s3_variables
from faults.proxy import Proxy
from faults.service import Service
from faults.shim import Shim
from needed import package

from remembrancer.files.blobs import BlobsUnavailable, S3Blobs

CALLS = 12  # more than the server has threads for files
REASON = "the bucket does not work"


class Bucket:
    """A real S3 server that can answer every request with 500, behind a proxy."""

    def __init__(self, application: Any) -> None:
        self._application, self.fails = application, False

    def __call__(self, environ: Any, start: Any) -> Any:
        if self.fails:
            start("500 Internal Server Error", [("Content-Length", "0")])
            return [b""]
        return self._application(environ, start)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Answer every request with 500 within the block."""
        self.fails = True
        try:
            yield
        finally:
            self.fails = False


def address_of(proxy: Proxy) -> str:
    """Return the address of the S3 server behind a proxy."""
    return f"http://127.0.0.1:{proxy.port}"


@pytest.fixture(scope="module")
def bucket() -> Iterator[tuple[Bucket, Proxy]]:
    """Yield an S3 server with the bucket `files`, and the proxy in front of it."""
    package("obstore", "s3")
    package("moto", "dev")
    server = package("moto.server", "dev")
    serving = package("werkzeug.serving", "dev")
    failing = Bucket(server.DomainDispatcherApplication(server.create_backend_app))
    running = serving.make_server("127.0.0.1", 0, failing, threaded=True)
    with ThreadPoolExecutor(1) as thread, Proxy(running.server_port) as proxy:
        thread.submit(running.serve_forever)
        make_bucket(f"http://127.0.0.1:{running.server_port}")
        yield failing, proxy
        running.shutdown()


@pytest.fixture(scope="module")
def service(
    bucket: tuple[Bucket, Proxy], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Yield a server whose files are in the bucket."""
    folder = tmp_path_factory.mktemp("s3")
    settings = {"REMEMBRANCER_BLOBS": "s3://files/a", **s3_variables(address_of(bucket[1]))}
    with Shim(folder) as shim, Service(folder / "data", shim, **settings) as service:
        yield service


@pytest.mark.parametrize("kind", ["refuses", "fails"])
def test_files_are_refused_while_the_bucket_is_away_and_memory_goes_on(
    service: Service, bucket: tuple[Bucket, Proxy], word: str, kind: str
) -> None:
    """See specification.md#status-readyz."""
    first = _new_file(service, f"first{word}")
    with bucket[1].refusing() if kind == "refuses" else bucket[0].failing():
        refused = [service.create_file(word), service.download(first)]
        turn = service.remember(word)
        ready, state = service.readiness(), service.state()
    second = _new_file(service, f"second{word}")

    assert (turn.status, service.events_with(word)) == (200, [turn.body["event_id"]])
    assert {answer.status for answer in refused} == {503}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert all(REASON in answer.body["detail"] for answer in refused)
    assert (ready[0], ready[1]["files"]) == (200, f"the storage for files does not work: {REASON}")
    assert (state, service.state()) == ("degraded", "ok")
    assert service.download(first).body == f"first{word}".encode() * 1000
    assert service.download(second).body == f"second{word}".encode() * 1000


def test_no_turn_waits_for_a_bucket_that_hangs(
    service: Service, bucket: tuple[Bucket, Proxy], word: str
) -> None:
    """More files than any pool has threads of an account, small ones and large ones."""
    with ThreadPoolExecutor(CALLS) as clients:
        with bucket[1].hanging():
            files = [clients.submit(service.create_file, f"{word}{n}" * n) for n in range(1, CALLS)]
            turn = service.remember(word)
            long = service.remember(f"{word} {'drawer ' * 2000}")
            events = service.events_with(word)
            waiting = not any(file.done() for file in files)
        answers = [file.result() for file in files]

    assert waiting
    assert (turn.status, long.status, events) == (200, 200, [turn.body["event_id"]])
    assert {answer.status for answer in answers} == {200}


def test_bucket_that_hangs_is_given_up_and_asked_again(
    service: Service, bucket: tuple[Bucket, Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_variables(address_of(bucket[1])).items():
        monkeypatch.setenv(name, value)
    blobs = S3Blobs("s3://files/b", seconds=2)
    with bucket[1].hanging():
        for _ in range(3):  # the first waits, the others are refused at once
            with pytest.raises(BlobsUnavailable, match="s3:"), blobs.hold(b"a"):
                pytest.fail("a hanging bucket accepted a blob")
        failure = blobs.failure
    name = _stored_name(blobs)

    assert failure == REASON
    assert (blobs.failure, b"".join(blobs.read(name, 0, 1))) == ("", b"a")


def _stored_name(blobs: S3Blobs) -> str:
    """Store a blob as soon as the bucket is asked again; return its name."""
    while True:
        with suppress(BlobsUnavailable), blobs.hold(b"a") as name:
            return name


def _new_file(service: Service, word: str) -> str:
    """Create a file, also after some refusals; return its name.

    The server asks a bucket that has failed again only after a pause, as clients do after 503.
    """
    answer = service.create_file(word)
    while answer.status == 503:
        answer = service.create_file(word)
    assert answer.status == 200, answer.body
    return str(answer.body["filename"])
