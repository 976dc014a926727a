"""The account of a request before its key or cookie is checked, so that accounts take turns."""

from __future__ import annotations

import secrets
from hashlib import blake2b

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

_KNOWN_MAX = 10_000  # keys and cookies; above this, all are learned again
_SESSION_COOKIES = ("__Host-session", "session")


class AccountGroups:
    """The accounts of keys, and of browsers, that were valid before. Thread-safe.

    All other requests are one group: a stranger with a thousand invented keys has no more turns
    than one.
    """

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(16)
        self._accounts: dict[bytes, int] = {}

    def of(self, headers: Headers) -> int | None:
        """Return the number of the account, None for strangers."""
        return self._accounts.get(self._digest(headers))

    def learn(self, headers: Headers, account_id: int) -> None:
        """Remember whose key or cookie this is; it has just been checked."""
        digest = self._digest(headers)
        if digest not in self._accounts:
            if len(self._accounts) >= _KNOWN_MAX:
                self._accounts = {}
            self._accounts[digest] = account_id

    def forget(self, headers: Headers) -> None:
        """Forget a key or cookie that is not valid any more."""
        self._accounts.pop(self._digest(headers), None)

    def _digest(self, headers: Headers) -> bytes:
        # Never the key itself, which must not stay in the memory.
        text = headers.get("authorization", "")
        if not text and "cookie" in headers:
            cookies = cookie_parser(headers["cookie"])
            text = next((cookies[name] for name in _SESSION_COOKIES if name in cookies), "")
        return blake2b(text.encode("latin-1", "replace"), key=self._salt, digest_size=16).digest()
