"""Routes of the console.

Pages are not part of the API: no key opens a page, and no cookie opens the API.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..accounts import NotOwner
from ..http import pages, problems
from ..http.admission import RateLimiter
from ..http.dispatch import Dispatcher, ThreadPool
from ..protocol.errors import NotFound, Problem
from ..sandbox.runner import Cancellation
from ..store import StoreUnavailable
from . import (
    audit,
    connect,
    cubes,
    directory,
    exports,
    facts,
    feedback,
    files,
    health,
    home,
    imports,
    knows,
    layout,
    memory,
    permissions,
    profile,
    sandbox,
    searches,
    sessions,
    sign_in,
    teams,
    usage,
    users,
)
from .browser_session import (
    BrowserRequest,
    Page,
    SignInRequired,
    check_same_origin,
    is_multipart,
    read_form,
    read_multipart,
)

MODULES = (
    home, directory, memory, sessions, users, searches, imports, exports, knows, connect, health,
    facts, cubes, profile, sign_in, files, sandbox, permissions, audit, usage, feedback, teams,
)  # fmt: skip
PAGES: dict[str, Page] = {path: page for module in MODULES for path, page in module.PAGES.items()}


UNKNOWN = "/console/{address:path}"


def routes(dispatcher: Dispatcher) -> list[Route]:
    """Return the routes of all pages."""
    limiter = RateLimiter(
        "sign_in",
        dispatcher.context.settings.rate_sign_in_per_minute,
        store=dispatcher.context.store,
    )
    return [
        Route(pages.PATH, pages.send, methods=["GET", "HEAD"]),
        *(_route(dispatcher, limiter, path, page) for path, page in PAGES.items()),
        _unknown_pages(dispatcher),
    ]


def _unknown_pages(dispatcher: Dispatcher) -> Route:
    """Return the route of all other addresses: a page for people that says so."""

    async def respond(request: Request) -> Response:
        request.scope["endpoint_path"] = UNKNOWN
        browser = BrowserRequest(dispatcher=dispatcher, request=request, page_paths=PAGES)
        work = partial(_error_response, browser, NotFound("There is no page at this address."))
        return await dispatcher.work(ThreadPool.WRITE, work, request, browser.cancellation)

    # not POST: pages that only show something answer it with 405
    return Route(UNKNOWN, respond, methods=["GET"], name=UNKNOWN)


def _route(dispatcher: Dispatcher, limiter: RateLimiter, path: str, page: Page) -> Route:
    async def respond(request: Request) -> Response:
        request.scope["endpoint_path"] = path
        browser = BrowserRequest(dispatcher=dispatcher, request=request, page_paths=PAGES)
        if page.pool is ThreadPool.RUN:
            browser.cancellation = Cancellation()
        raw = b""
        try:
            if request.method == "POST":
                raw = await dispatcher.receive(request, page.form_bytes_max, needs_key=False)
        except Problem as error:
            work = partial(_error_response, browser, error)
        else:
            work = partial(_respond, browser, page, raw, limiter if page.is_rate_limited else None)
        return await dispatcher.work(page.pool, work, request, browser.cancellation)

    return Route(path, respond, methods=page.methods, name=path)


def _respond(
    browser: BrowserRequest, page: Page, raw: bytes, limiter: RateLimiter | None
) -> Response:
    try:
        if browser.request.method == "POST":
            check_same_origin(browser)
            if limiter and page.is_public:
                limiter.take(browser.request.client.host if browser.request.client else "")
            if page.takes_file and is_multipart(browser.request):
                browser.form, browser.upload = read_multipart(browser.request, raw)
            else:
                browser.form = read_form(browser.request, raw)
        if not page.is_public:
            caller = browser.caller()
            browser.dispatcher.groups.learn(browser.request.headers, caller.account_id)
            if page.owner_only and not caller.is_owner:
                raise NotOwner
            if limiter and browser.request.method == "POST":
                # not by address: behind a proxy it is that of every stranger, too
                limiter.take(f"account {caller.account_id}")
        handle = page.post if browser.request.method == "POST" else page.get
        if handle is None:
            return browser.redirect(layout.section_of(browser.request.url.path))
        return handle(browser)
    except SignInRequired:
        browser.dispatcher.groups.forget(browser.request.headers)
        return _redirect_to_sign_in(browser)
    except problems.FORESEEN as error:
        return _error_response(browser, error)


def _redirect_to_sign_in(browser: BrowserRequest) -> Response:
    url = browser.request.url
    if browser.wants_fragment:  # the whole page must go to sign-in, not only the fragment
        return Response(status_code=204, headers={"HX-Redirect": layout.sign_in_for(url.path, "")})
    return browser.redirect(layout.sign_in_for(url.path, url.query))


def _error_response(browser: BrowserRequest, error: Exception) -> Response:
    problem = problems.problem_for(error)
    if problem is None:
        raise error
    texts: dict[str, Any] = {"title": problem.title, "detail": problem.detail}
    try:
        session = browser.find_session()
    except StoreUnavailable:
        session = None
    if browser.wants_fragment:
        return browser.fragment("_error.html", problem=problem, session=session, **texts)
    return browser.page("error.html", problem=problem, session=session, users=None, **texts)
