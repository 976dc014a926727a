"""The cubes page: lessons by status, and one lesson with its votes and its use."""

from __future__ import annotations

from typing import cast, get_args

from starlette.responses import Response

from ..cubes import board
from ..cubes.board import Card
from ..cubes.lessons import vote
from ..protocol.cubes import CubeStatus, CubeVote
from ..protocol.errors import InvalidRequest
from ..protocol.line import CubeKind
from . import layout
from .browser_session import BrowserRequest, Page
from .layout import link_to

PATH = "/console/cubes"
KINDS: tuple[CubeKind, ...] = get_args(CubeKind)
STATUSES: tuple[CubeStatus, ...] = ("trusted", "published", "private", "retired")
SIGNALS = {
    "corrected": "the user corrected the answer",
    "run_failed": "the last program failed",
    "look_failed": "the second look failed",
    "run_ended_well": "the last program ended well",
    "look_passed": "the second look passed",
    "no_objection": "no objection",
    "no_turn": "no turn was saved",
}  # by the words that `cubes.outcomes` stores
USES = {"cited": "cited", "followed": "rules followed", "rated": "rated useful"}


def show(browser: BrowserRequest) -> Response:
    """Show lessons grouped by status, or one lesson with `?cube_id`."""
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    if cube_id := layout.identifier(params, "cube_id"):
        return _one(browser, cube_id)
    kind = layout.one_of(params, "kind", KINDS)
    chosen_status = layout.one_of(params, "status", STATUSES)
    own, below = params.get("own") == "yes", layout.number(params, "below")
    sections = []
    for status in [cast(CubeStatus, chosen_status)] if chosen_status else STATUSES:
        cards, following = board.page(
            context,
            caller,
            status,
            kind=cast(CubeKind, kind) if kind else None,
            own=own,
            below=below,
        )
        more = (
            link_to(PATH, status=status, kind=kind, own="yes" if own else "", below=following)
            if following
            else None
        )
        sections.append((status, cards, more))
    counts = board.counts(context, caller)
    chosen = {"kind": kind, "status": chosen_status, "own": own}
    return browser.page(
        "cubes.html",
        sections=sections,
        counts=counts,
        kinds=KINDS,
        statuses=STATUSES,
        chosen=chosen,
    )


def _one(
    browser: BrowserRequest, cube_id: str, *, status: int = 200, error: str | None = None
) -> Response:
    detail = board.cube_detail(*browser.arguments, cube_id)
    bar = _bar(detail.card)
    return browser.page(
        "cube.html",
        status=status,
        detail=detail,
        card=detail.card,
        bar=bar,
        uses=USES,
        signals=SIGNALS,
        error=error,
        reason=browser.form.get("reason", ""),
    )


def _bar(card: Card) -> tuple[float, float, float]:
    """Return start and width of the confidence interval and the useful share, on a 200-unit bar."""
    low, high = card.bounds
    votes = card.useful + card.useless
    return (
        round(200 * low, 1),
        round(200 * (high - low), 1),
        round(200 * card.useful / votes, 1) if votes else -10,
    )


def rate_cube(browser: BrowserRequest) -> Response:
    """Vote on a lesson as the chosen user, by default the one named like the account."""
    form, caller = browser.form, browser.caller()
    cube_id = layout.identifier(form, "cube_id")
    user_id = layout.identifier(form, "user_id") or caller.account_name
    values = {
        "cube_id": cube_id,
        "user_id": user_id,
        "vote": {"useful": 1, "useless": -1}.get(form.get("vote", ""), 0),
        "reason": form.get("reason", "").strip() or None,
    }
    try:
        request = layout.parse(CubeVote, values)
    except InvalidRequest as error:
        return _one(browser, cube_id, status=422, error=error.detail)
    receipt = vote(browser.context, caller, request)
    return browser.redirect(
        link_to(PATH, cube_id=cube_id, user_id=form.get("user_id", "").strip()),
        notice=f"Vote saved. The lesson is {receipt.cube_status}.",
    )


PAGES = {PATH: Page(get=show), f"{PATH}/vote": Page(post=rate_cube)}
