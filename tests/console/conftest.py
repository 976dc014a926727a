"""Fixtures for pages: fast clients that read them, and a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import needed
import pytest
from console.reader import ORIGIN, Reader
from console.window import Site, launch
from playwright.sync_api import Browser, Page, sync_playwright
from service import Http, serving
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer.context import Context


@pytest.fixture
def changed(changed: dict[str, Any]) -> dict[str, Any]:
    """No rate limits, unless the test sets them."""
    limits = ("sign_in", "feedback", "sysperm", "sandbox")
    return {f"rate_{name}_per_minute": 0 for name in limits} | changed


@pytest.fixture
def read_as(app: Starlette, context: Context) -> Iterator[Callable[[str], Reader]]:
    """Return a function that signs in to an account by name; the first account is the owner."""
    with TestClient(app, base_url=ORIGIN) as client:
        yield lambda account: Reader(client, context, account)


@pytest.fixture
def owner(read_as: Callable[[str], Reader]) -> Reader:
    """The owner, signed in."""
    return read_as("owner")


@pytest.fixture
def http(owner: Reader) -> Http:
    """An API client of the owner, who is signed in."""
    return owner.http


@pytest.fixture
def ada(owner: Reader, read_as: Callable[[str], Reader]) -> Reader:
    """A member, signed in."""
    return read_as("ada")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, started for the first test of a module that needs it.

    It ends with the module: Playwright keeps an event loop running in this thread, and other tests
    run their own there.
    """
    needed.program("chromium", "chromium")
    with sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


@pytest.fixture
def site(app: Starlette, context: Context, browser: Browser) -> Iterator[Site]:
    """The service on a real port.

    The test fails if a browser window reported an error.
    """
    with serving(app) as port:
        result = Site(f"http://127.0.0.1:{port}", browser, context)
        yield result
    for watch in result.watches:
        watch.check()


@pytest.fixture
def page(site: Site) -> Iterator[Page]:
    """A page in a new window, signed in as the owner; `page.goto` takes paths of the service."""
    with site.window("owner") as result:
        yield result
