"""Which page is at which path.

None is part of the interface for programs: no key opens a page, no cookie the interface.
"""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..accounts import NotOwner
from ..http import assets, bodies, problems
from ..http.dispatch import Dispatcher
from ..http.rate_limiter import RateLimiter
from ..protocol.errors import Problem
from ..search import EmbedderUnavailable
from ..store import StoreUnavailable
from . import (
    audit,
    cubes,
    feedback,
    files,
    maps,
    memory,
    overview,
    permissions,
    profile,
    sandbox,
    sessions,
    sign_in,
    usage,
)
from . import (
    layout as frame,
)
from .browser_session import BrowserRequest, Page, SignInFirst, check_is_ours, read_form

PAGES: dict[str, Page] = {
    **overview.PAGES,
    **memory.PAGES,
    **sessions.PAGES,
    **maps.PAGES,
    **cubes.PAGES,
    **profile.PAGES,
    **sign_in.PAGES,
    **files.PAGES,
    **sandbox.PAGES,
    **permissions.PAGES,
    **audit.PAGES,
    **usage.PAGES,
    **feedback.PAGES,
}


def routes(dispatcher: Dispatcher) -> list[Route]:
    """The routes of all pages."""
    limiter = RateLimiter(
        "sign_in",
        dispatcher.context.settings.rate_sign_in_per_minute,
        store=dispatcher.context.store,
    )
    return [
        Route(assets.PATH, assets.send, methods=["GET", "HEAD"]),
        *(_route(dispatcher, limiter, path, page) for path, page in PAGES.items()),
    ]


def _route(dispatcher: Dispatcher, limiter: RateLimiter, path: str, page: Page) -> Route:
    async def answer(request: Request) -> Response:
        request.scope["endpoint_path"] = path
        visit = BrowserRequest(dispatcher=dispatcher, request=request, there=PAGES)
        raw = b""
        try:
            if request.method == "POST":
                raw = await bodies.receive(request, page.form_bytes_max)
        except Problem as error:
            work = partial(_refused, visit, error)
        else:
            work = partial(_answer, visit, page, raw, limiter if page.guessed else None)
        return await dispatcher.start(page.where, work)

    return Route(path, answer, methods=page.methods, name=path)


def _answer(visit: BrowserRequest, page: Page, raw: bytes, limiter: RateLimiter | None) -> Response:
    try:
        if visit.request.method == "POST":
            check_is_ours(visit)
            if limiter:
                limiter.take(visit.request.client.host if visit.request.client else "")
            visit.form = read_form(visit.request, raw)
        if not page.anybody:
            may = visit.caller()
            if page.owner_only and not may.is_owner:
                raise NotOwner
        handle = page.post if visit.request.method == "POST" else page.get
        return handle(visit) if handle else visit.go(frame.section_of(visit.request.url.path))
    except SignInFirst:
        return _sign_in_first(visit)
    except (Problem, StoreUnavailable, EmbedderUnavailable) as error:
        return _refused(visit, error)


def _sign_in_first(visit: BrowserRequest) -> Response:
    here = visit.request.url
    if visit.is_swap:  # the page around the part has to go, too
        return Response(status_code=204, headers={"HX-Redirect": frame.sign_in_for(here.path, "")})
    return visit.go(frame.sign_in_for(here.path, here.query))


def _refused(visit: BrowserRequest, error: Exception) -> Response:
    problem = problems.problem_for(error)
    if problem is None:
        raise error
    status, said = problem.status, {"title": problem.title, "detail": problem.detail}
    try:
        who = visit.signed_in()
    except StoreUnavailable:
        who = None
    if visit.is_swap:
        answer = visit.fragment("_refused.html", status=status, who=who, **said)
    else:
        answer = visit.page(
            "refused_within.html" if who else "refused.html", status=status, who=who, **said
        )
    if "retry_after" in problem.extra:
        answer.headers["Retry-After"] = str(problem.extra["retry_after"])
    return answer
