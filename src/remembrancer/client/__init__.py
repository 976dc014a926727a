"""The other side of the service: typed calls to every endpoint. Imports only `protocol`; docs/guides/client.md shows it."""

from .api import AsyncClient, Client
from .attempts import Retry
from .errors import ClientError, Refused, Unreachable, WrongAnswer

__all__ = ["AsyncClient", "Client", "ClientError", "Refused", "Retry", "Unreachable", "WrongAnswer"]
