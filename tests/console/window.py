"""Chromium, and a watch that records every error in its pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from console.reader import enter
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    expect,
)

from remembrancer.context import Context

# Chromium refuses to start its sandbox as root; containers have a small /dev/shm; host names must
# not be resolved. Its own protection of local networks is off, so that tests exercise ours.
_FLAGS = [
    "--disable-dev-shm-usage",
    "--disable-features=LocalNetworkAccessChecks",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


PATIENCE_MS = 15_000  # for a machine that is busy with other tests
expect.set_options(timeout=PATIENCE_MS)


def launch(playwright: Playwright) -> Browser:
    """Start the installed Chromium."""
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=_FLAGS + as_root
    )


@dataclass
class Watch:
    """Errors in the pages of one browser window:

    console errors, including violations of the content security policy; scripts; foreign requests.
    """

    origin: str
    wrong: list[str] = field(default_factory=list)

    def over(self, window: BrowserContext) -> None:
        """Watch all pages of a window."""
        window.on("console", self._console)
        window.on("weberror", lambda error: self.wrong.append(f"a script failed: {error.error}"))
        window.on("request", self._request)

    def check(self) -> None:
        """Raise AssertionError if an error occurred."""
        assert self.wrong == [], self.wrong

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"{message.type} in the console: {message.text}")

    def _request(self, request: Request) -> None:
        query = urlsplit(request.url)
        if f"{query.scheme}://{query.netloc}" != self.origin:
            self.wrong.append(f"a request to {request.url[:200]}")


@dataclass
class Site:
    """The service at a real address, and the browser that opens its pages."""

    address: str
    browser: Browser
    context: Context
    watches: list[Watch] = field(default_factory=list)

    @contextmanager
    def window(self, account: str | None = None, **how: Any) -> Iterator[Page]:
        """Open a window, signed in if an account is given. `how` goes to Chromium (`color_scheme`)."""
        result = self.browser.new_context(
            base_url=self.address,
            locale="en-GB",
            timezone_id="Europe/Berlin",
            **{"viewport": {"width": 1280, "height": 800}, **how},
        )
        watch = Watch(self.address)
        watch.over(result)
        self.watches.append(watch)
        result.set_default_timeout(PATIENCE_MS)
        if account is not None:
            _, token = enter(self.context, account)
            cookie: Any = {"name": "session", "value": token, "url": self.address}
            result.add_cookies([cookie | {"httpOnly": True, "sameSite": "Strict"}])
        try:
            yield result.new_page()
        finally:
            result.close()

    @property
    def watch(self) -> Watch:
        """The watch of the newest window."""
        return self.watches[-1]
