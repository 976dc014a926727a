"""A real S3 server for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

from needed import package

BUCKET = "files"


@contextmanager
def s3_server() -> Iterator[str]:
    """Yield the address of an S3 server with the bucket `files`."""
    package("obstore", "s3")
    server = package("moto.server", "dev").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    try:
        make_bucket(address)
        yield address
    finally:
        server.stop()


def make_bucket(address: str) -> None:
    """Create the bucket `files`."""
    with urlopen(Request(f"{address}/{BUCKET}", method="PUT")):  # noqa: S310 - our own address
        pass


def s3_variables(address: str) -> dict[str, str]:
    """Return the variables that S3 tools read."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT": address,
        "AWS_ALLOW_HTTP": "true",
    }
