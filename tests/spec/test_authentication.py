"""Authentication by API key."""

from __future__ import annotations

import zlib
from typing import Any

from service import Http

from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.context import Context

OPEN = ("/api/v7/status", "/api/v7/receipts/keys")


def refused(answer: Any) -> bool:
    """Return True if the response is a complete 401."""
    text = (answer.status_code, answer.json()["error"], answer.headers["www-authenticate"])
    return text == (401, "unauthorized", "Bearer")


def mistyped(key: str) -> str:
    """Return the key with one character changed."""
    return key[:10] + ("0" if key[10] != "0" else "1") + key[11:]


def unknown() -> str:
    """Return a well-formed key that was never issued."""
    body = "sk_" + "0f" * 28
    return body + f"{zlib.crc32(body.encode()):08x}"


WRONG = {
    "empty": "",
    "scheme alone": "Bearer",
    "scheme and spaces": "Bearer   ",
    "basic": "Basic dXNlcjpwYXNz",
    "another scheme": "Token {key}",
    "no scheme": "{key}",
    "two keys": "Bearer {key} {key}",
    "with a comma": "Bearer {key}, Bearer {key}",
    "quoted": 'Bearer "{key}"',
    "upper case": "Bearer {upper}",
    "mistyped": "Bearer {mistyped}",
    "truncated": "Bearer {short}",
    "one character too long": "Bearer {key}0",
    "without its prefix": "Bearer {bare}",
    "never issued": "Bearer {unknown}",
    "10 KB": "Bearer sk_" + "0" * 10_240,
    "not ASCII": "Bearer sk_é",
    "a tab": "Bearer\t{key}",
}


def test_invalid_authorization_header_is_401(http: Http) -> None:
    """A missing or bad key is a 401 with `WWW-Authenticate` (specification.md#auth-401).

    That none reveals which keys exist: test_rejected_keys_get_one_response_and_a_logged_reason.
    """
    key = str(http.key)
    spellings = {"upper": key.upper(), "mistyped": mistyped(key), "short": key[:-1]}

    for name, written in WRONG.items():
        header = written.format(key=key, bare=key[3:], unknown=unknown(), **spellings)
        headers = {"Authorization": header.encode("latin-1")}
        answer = http.ask("GET", "/api/v7/event/e_1", headers=headers)
        assert refused(answer), name
        assert key not in answer.text, name


def test_authentication_scheme_is_case_insensitive(http: Http) -> None:
    """RFC 9110, 11.1: the scheme is case-insensitive (specification.md#auth-scheme-case)."""
    for scheme in ("Bearer", "bearer", "BEARER", "Bearer  "):
        headers = {"Authorization": f"{scheme} {http.key}"}
        assert http.ask("GET", "/api/v7/event/e_1", headers=headers).status_code == 404


def test_key_in_the_url_is_not_accepted(http: Http) -> None:
    """A key in the URL is not accepted (specification.md#auth-header-only)."""
    for name in ("key=", "api_key=", "authorization=Bearer%20", "access_token="):
        assert refused(http.with_key(None).get(f"/api/v7/event/e_1?{name}{http.key}"))


def test_open_endpoints_ignore_an_invalid_key(http: Http) -> None:
    """Open endpoints ignore a wrong key (specification.md#auth-open-paths)."""
    for path in (*OPEN, "/healthz", "/readyz", "/docs", "/openapi.json", "/"):
        assert http.with_key("sk_wrong").get(path).status_code == 200


class TestKeyExpiry:
    """Expiry and revocation, with a clock that the test moves.

    See specification.md#auth-key-expiry.
    """

    def test_expired_key_is_401(self, http: Http, clock: testing.FrozenClock) -> None:
        """An expired key is a 401 that says so (specification.md#auth-401)."""
        brief = http.as_account("owner", expires_in_ms=1000)
        before = brief.get("/api/v7/event/e_1").status_code
        clock.advance(1000)

        assert before == 404
        assert refused(brief.get("/api/v7/event/e_1"))
        assert http.get("/api/v7/event/e_1").status_code == 404

    def test_revoked_key_is_401_on_the_next_request(self, http: Http, context: Context) -> None:
        other = http.as_account("owner")
        statuses = [other.get("/api/v7/event/e_1").status_code]
        keys.revoke(context, keys.list_keys(context)[-1].id)
        before = http.rows()

        assert refused(other.get("/api/v7/event/e_1"))
        assert refused(other.post("/api/v7/remember", {"query": "a", "response": "b"}))
        assert http.rows() == before
        assert [*statuses, http.get("/api/v7/event/e_1").status_code] == [404, 404]
