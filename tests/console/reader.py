"""A fast client that reads pages and sends their forms without a real browser."""

from __future__ import annotations

import re
from functools import cached_property
from html.parser import HTMLParser
from typing import Any

from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer.accounts import NO_KEY
from remembrancer.accounts import sign_in as sessions
from remembrancer.accounts.accounts import ensure_account
from remembrancer.context import Caller, Context

ORIGIN = "http://127.0.0.1:8460"


def enter(context: Context, account: str) -> tuple[Caller, str]:
    """Sign in to an account, creating it if needed; return the caller and the session token."""
    row = context.store.write(lambda tx: ensure_account(tx, account, context.clock()))
    caller = Caller(
        account_id=row.id, account_name=row.name, is_owner=row.role == "owner", key_id=NO_KEY
    )
    return caller, sessions.sign_in(context, row.id)


class Reader:
    """A client that is signed in to an account, which is created if needed.

    It does not follow redirects.
    """

    def __init__(self, client: TestClient, context: Context, account: str = "owner") -> None:
        self.client, self.context = client, context
        self.caller, token = enter(context, account)
        self.cookies = {"session": token}

    @property
    def form_token(self) -> str:
        """The form token of this session; empty if the session has ended."""
        session = sessions.find_session(self.context, self.cookies["session"])
        return session.form_token if session else ""

    @cached_property
    def http(self) -> Http:
        """An API client with a key of this account."""
        return Http(self.client, self.context, new_key(self.context, self.caller.account_name))

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """Send a request with the stored cookies. `options` go to the HTTP client."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"cookie": cookie, **options.pop("headers", {})}
        answer = self.client.request(
            method, path, headers=headers, follow_redirects=False, **options
        )
        for set_cookie in answer.headers.get_list("set-cookie"):
            name, _, value = set_cookie.partition(";")[0].partition("=")
            self.cookies.pop(name, None)
            if value:
                self.cookies[name] = value
        return answer

    def get(self, path: str, *, swap: bool = False) -> Any:
        """Get a page; with `swap`, request only a fragment, as htmx does."""
        return self.ask("GET", path, headers={"hx-request": "true"} if swap else {})

    def send(self, path: str, /, **form: str) -> Any:
        """Send a form with this session's token."""
        return self.send_as(self.form_token, path, **form)

    def send_as(self, form_token: str, path: str, /, **form: str) -> Any:
        """Send a form with this token."""
        return self.ask(
            "POST",
            path,
            data={"form_token": form_token, **form},
            headers={"sec-fetch-site": "same-origin"},
        )

    def followed(self, answer: Any) -> Any:
        """Return the page that a redirect leads to."""
        assert answer.status_code == 303, answer.text
        return self.get(answer.headers["location"])


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def words_of(page: str) -> str:
    """Return the visible text of a page with its white space folded."""
    parser = _Words()
    parser.feed(page)
    return re.sub(r"\s+", " ", " ".join(parser.words)).strip()
