"""Which page is at which path. None is part of the interface for programs: no key opens a page, no cookie the interface."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...protocol.errors import Problem
from ...store import StoreUnavailable
from .. import bodies, problems
from ..door import Door
from ..endpoint import Where
from ..limiter import Limiter
from . import sign_in as act
from .visit import FORM_BYTES_MAX, Handle, Visit, check_is_ours, read_form

PAGES: dict[str, dict[str, Handle]] = {
    act.HOME: {"GET": act.show_home},
    act.SIGN_IN: {"GET": act.show_sign_in, "POST": act.sign_in},
    act.PASSWORD: {"GET": act.show_password, "POST": act.set_password},
    "/console/sign-out": {"POST": act.sign_out},
    "/console/invite": {"POST": act.make_invitation},
}
_GUESSED = {act.SIGN_IN, act.PASSWORD}  # forms that somebody could try many of


def routes(door: Door) -> list[Route]:
    """The routes of all pages."""
    limiter = Limiter("sign_in", door.context.settings.rate_sign_in_per_minute)
    return [_route(door, limiter, path, handles) for path, handles in PAGES.items()]


def _route(door: Door, limiter: Limiter, path: str, handles: dict[str, Handle]) -> Route:
    by_method = handles | ({"HEAD": handles["GET"]} if "GET" in handles else {})

    async def answer(request: Request) -> Response:
        request.scope["endpoint_path"] = path
        visit = Visit(context=door.context, request=request)
        try:
            raw = await bodies.receive(request, FORM_BYTES_MAX) if request.method == "POST" else b""
        except Problem as error:
            return _refused(visit, error)
        tried = limiter if path in _GUESSED and request.method == "POST" else None
        work = partial(_answer, visit, by_method[request.method], raw, tried)
        return await asyncio.get_running_loop().run_in_executor(door.threads(Where.WRITE), work)

    return Route(path, answer, methods=list(by_method), name=path)


def _answer(visit: Visit, handle: Handle, raw: bytes, limiter: Limiter | None) -> Response:
    try:
        if visit.request.method == "POST":
            check_is_ours(visit)
            if limiter:
                limiter.take(visit.request.client.host if visit.request.client else "")
            visit.form = read_form(visit.request, raw)
        return handle(visit)
    except (Problem, StoreUnavailable) as error:
        return _refused(visit, error)


def _refused(visit: Visit, error: Exception) -> Response:
    problem = problems.known(error)
    if problem is None:
        raise error
    answer = visit.page("refused.html", status=problem.status, title=problem.title, detail=problem.detail)
    if "retry_after" in problem.extra:
        answer.headers["Retry-After"] = str(problem.extra["retry_after"])
    return answer
