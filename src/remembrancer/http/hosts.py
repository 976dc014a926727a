"""Host names that the server answers to.

A web page of another site can let its own name resolve to this machine and then read answers as if
they were its own (DNS rebinding). Its requests carry that name in the header `Host`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from ..protocol.errors import MisdirectedRequest
from ..settings import Settings

# This machine, as a container on it calls it: such names never resolve for a web page.
_THIS_MACHINE = ("localhost", "host.docker.internal", "host.containers.internal")
_ANY = "*"
_PORT = re.compile(r":[0-9]{0,5}\Z")


def check_host(headers: Headers, settings: Settings) -> None:
    """Raise MisdirectedRequest if the request names a host that is not this service.

    A request without the header is not from a browser.
    """
    for value in headers.getlist("host"):
        if not _is_allowed(value, settings.host, settings.public_url, settings.hosts):
            raise MisdirectedRequest


@lru_cache(maxsize=256)
def _is_allowed(value: str, bound: str, public_url: str, hosts: str) -> bool:
    name = _PORT.sub("", value.strip()).lower().rstrip(".").strip("[]")
    public = (urlsplit(public_url).hostname or "").rstrip(".")
    listed = {host.strip().lower().rstrip(".") for host in hosts.split(",")}
    if _ANY in listed or name in {*_THIS_MACHINE, bound.lower(), public, *listed} - {""}:
        return True
    if name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    # Pages of other sites have names. A server that only listens on loopback has no other address.
    return address.is_loopback or not _is_loopback(bound)


def _is_loopback(bound: str) -> bool:
    try:
        return ip_address(bound).is_loopback
    except ValueError:
        return bound.lower() == "localhost"
