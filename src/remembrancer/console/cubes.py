"""The board of lessons by where they stand, and one of them with its votes."""

from __future__ import annotations

from typing import Any, cast, get_args

from starlette.responses import Response

from ..cubes import board
from ..cubes.board import Card
from ..cubes.votes import vote
from ..protocol.cubes import CubeStatus, CubeVote
from ..protocol.errors import InvalidRequest
from ..protocol.line import CubeKind
from . import parameters as given
from .browser_session import BrowserRequest, Page
from .parameters import link_to

HERE = "/console/cubes"
KINDS: tuple[CubeKind, ...] = get_args(CubeKind)
STANDINGS: tuple[CubeStatus, ...] = ("trusted", "published", "private", "retired")


def show(visit: BrowserRequest) -> Response:
    """Lessons by where they stand; one with `cube_id`."""
    asked, context, caller = visit.request.query_params, visit.context, visit.caller()
    if cube_id := given.ident(asked, "cube_id"):
        return _one(visit, cube_id)
    kind, standing = (
        _one_of(asked.get("kind", ""), KINDS),
        _one_of(asked.get("status", ""), STANDINGS),
    )
    own, below = asked.get("own") == "yes", given.number(asked, "below")
    sections = []
    for status in [cast(CubeStatus, standing)] if standing else STANDINGS:
        page = board.page(
            context,
            caller,
            status,
            kind=cast(CubeKind, kind) if kind else None,
            own=own,
            below=below,
        )
        more = (
            link_to(HERE, status=status, kind=kind, own="yes" if own else "", below=page.next)
            if page.next
            else None
        )
        sections.append((status, page.cards, more))
    counts = board.counts(context, caller)
    chosen = {"kind": kind, "status": standing, "own": own}
    return visit.page(
        "cubes.html",
        sections=sections,
        counts=counts,
        kinds=KINDS,
        standings=STANDINGS,
        chosen=chosen,
    )


def _one_of(word: str, words: tuple[Any, ...]) -> str:
    if word and word not in words:
        raise InvalidRequest(f"There is no {word[:40]!r} here: it is one of {', '.join(words)}.")
    return word


def _one(
    visit: BrowserRequest, cube_id: str, *, status: int = 200, error: str | None = None
) -> Response:
    whole = board.cube_detail(visit.context, visit.caller(), cube_id)
    bar = _bar(whole.card)
    return visit.page(
        "cube.html",
        status=status,
        whole=whole,
        card=whole.card,
        bar=bar,
        error=error,
        reason=visit.form.get("reason", ""),
    )


def _bar(card: Card) -> tuple[float, float, float]:
    """Where on a bar of 200 units the bounds of the useful share are, and the share itself."""
    low, high = card.bounds
    votes = card.useful + card.useless
    return (
        round(200 * low, 1),
        round(200 * (high - low), 1),
        round(200 * card.useful / votes, 1) if votes else -10,
    )


def rate_cube(visit: BrowserRequest) -> Response:
    """Vote on a lesson."""
    form, caller = visit.form, visit.caller()
    cube_id = given.ident(form, "cube_id")
    values = {
        "cube_id": cube_id,
        "user_id": caller.account_name,
        "vote": {"useful": 1, "useless": -1}.get(form.get("vote", ""), 0),
        "reason": form.get("reason", "").strip() or None,
    }
    try:
        asked = given.message(CubeVote, values)
    except InvalidRequest as error:
        return _one(visit, cube_id, status=422, error=error.detail)
    done = vote(visit.context, caller, asked)
    return visit.go(
        link_to(HERE, cube_id=cube_id), told=f"Voted. The lesson is {done.cube_status}."
    )


PAGES = {HERE: Page(get=show), f"{HERE}/vote": Page(post=rate_cube)}
