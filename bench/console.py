"""Measure the console in a real browser: bytes and first paint of each page, and live search.

    python -m bench.console --data locomo10.json

The browser is Debian's Chromium. Each first load uses a new window with an empty cache. The table
shows the goals in its last row.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from bench.http import Server
from bench.report import table, write_section
from remembrancer.accounts import caller_for, keys
from remembrancer.accounts import sign_in as sessions
from remembrancer.console.routes import PAGES
from remembrancer.context import assemble
from remembrancer.memory.exchange.importer import read as read_import
from remembrancer.memory.exchange.importer import store
from remembrancer.settings import read

LOADS = 7
SEARCHES = 30
BYTES_MAX, PAINT_MS_MAX, SWAP_MS_MAX = 150_000, 500, 150
EXPLORER = "/console/memory"
WORDS = (
    "support group",
    "painting",
    "adoption agency",
    "camping trip",
    "birthday",
    "what did she read",
    "necklace",
    "new job",
    "pottery class",
)

_LOADED = """() => new Promise(done => new PerformanceObserver(painted => {
    const first = painted.getEntriesByName("first-contentful-paint")[0];
    if (!first) return;
    const parts = ["navigation", "resource"].flatMap(one => performance.getEntriesByType(one));
    const bytes = parts.reduce((sum, one) => sum + one.transferSize, 0);
    done({bytes: bytes, parts: parts.length, paint: first.startTime});
}).observe({type: "paint", buffered: true}))"""
_SWAPPED = """words => new Promise(done => {
    const field = document.querySelector("input[type=search]");
    let start;
    const once = {once: true};
    const end = () => done(performance.now() - start);
    document.addEventListener("htmx:before:request", () => { start = performance.now(); }, once);
    document.addEventListener("htmx:after:swap", () => requestAnimationFrame(end), once);
    field.value = words;
    field.dispatchEvent(new Event("input", {bubbles: true}));
})"""


def fill(folder: Path, data: Path) -> tuple[str, str, int]:
    """Import all conversations for the owner; return a key, a session token and the number of
    turns.
    """
    context = assemble(read(data=folder, durability="normal"))
    try:
        key = keys.create(context, account="owner", label="bench").key.reveal()
        caller = caller_for(context)
        result = store(context, caller, read_import(context, caller, data, user_id="owner"))
        return key, sessions.sign_in(context, caller.account_id), result.stored
    finally:
        context.close()


def first_load(browser: Browser, server: Server, token: str, path: str) -> dict[str, Any]:
    """Return the bytes and milliseconds of a page with an empty cache."""
    with window(browser, server, token) as fresh:
        page = fresh.new_page()
        page.goto(path, wait_until="load")
        measures: dict[str, Any] = page.evaluate(_LOADED)
        return measures


def window(browser: Browser, server: Server, token: str) -> BrowserContext:
    """Open a new browser window, signed in as the owner."""
    origin = f"http://127.0.0.1:{server.port}"
    browser_context = browser.new_context(base_url=origin, viewport={"width": 1280, "height": 800})
    browser_context.add_cookies(
        [{"name": "session", "value": token, "url": origin, "httpOnly": True, "sameSite": "Strict"}]
    )
    return browser_context


def swaps(browser: Browser, server: Server, token: str) -> list[float]:
    """Return the milliseconds of live searches, from the request until the hits are painted.

    The delay before the request, while it waits for more input, is not included.
    """
    with window(browser, server, token) as browser_context:
        page = browser_context.new_page()
        page.goto(EXPLORER)
        return [page.evaluate(_SWAPPED, f"{WORDS[n % len(WORDS)]} {n}") for n in range(SEARCHES)]


def launch(playwright: Any) -> Browser:
    """Start the installed Chromium."""
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    browser: Browser = playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--disable-dev-shm-usage", *as_root]
    )
    return browser


def rows_of(browser: Browser, server: Server, token: str) -> list[list[str]]:
    """Return one row per page."""
    rows = []
    first_load(browser, server, token, "/console")  # warm-up: includes the start of Chromium
    for path, page in PAGES.items():
        if page.get is None or page.is_public or page.is_download:
            continue
        loads = [first_load(browser, server, token, path) for _ in range(LOADS)]
        paints = [one["paint"] for one in loads]
        rows.append(
            [
                f"`{path}`",
                f"{loads[0]['bytes']:,}",
                str(loads[0]["parts"]),
                f"{statistics.median(paints):.0f}",
                f"{max(paints):.0f}",
            ]
        )
    return rows


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    data = parser.parse_args().data
    if shutil.which("chromium") is None:
        raise SystemExit(
            "Chromium is missing: run `make setup-system` as root, or `apt-get install chromium`."
        )
    with tempfile.TemporaryDirectory() as name:
        key, token, turns = fill(Path(name), data)
        with Server(Path(name), key) as server, sync_playwright() as playwright:
            server.settle()
            browser = launch(playwright)
            rows = rows_of(browser, server, token)
            took = sorted(swaps(browser, server, token)) if EXPLORER in PAGES else []
            browser.close()
    rows.append(["goal", f"≤ {BYTES_MAX:,}", "", f"≤ {PAINT_MS_MAX}", ""])
    text = table(
        [
            "page",
            "bytes, first load",
            "requests",
            "first contentful paint, p50 ms",
            "first contentful paint, max ms",
        ],
        rows,
    )
    if took:
        figures = (
            f"p50 {took[len(took) // 2]:.0f} ms, p95 {took[int(len(took) * 0.95)]:.0f} ms; goal ≤ "
            f"{SWAP_MS_MAX} ms"
        )
        text += (
            f"\n\nLatency of live search among {turns:,} turns, from the request until the hits "
            f"are painted, {len(took)} searches: {figures}."
        )
    write_section("console", "Console pages in a browser", "python -m bench.console", text)


if __name__ == "__main__":
    main()
