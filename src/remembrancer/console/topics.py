"""The page of people and topics: what is mentioned together, drawn as a map, with the sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from ..memory.associations import AssociationMap, MapNode, association_map
from ..protocol.text import beginning
from . import parameters
from .browser_session import BrowserRequest, Page

PATH = "/console/topics"
WIDTH, HEIGHT, MARGIN_X, MARGIN_Y = 900.0, 560.0, 80.0, 46.0
RADIUS_MIN, RADIUS_MAX = 5.0, 22.0
LABEL_CHARACTERS_MAX = 22
_STEPS = 220
_SPREADS = 120
_LETTER, _LABEL_HEIGHT = 6.6, 18.0  # of a label
FloatArray: TypeAlias = NDArray[np.float64]
_STRETCH = 1.6  # labels are wide, so neighbours keep more distance sideways


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNode:
    """A node and its place in the picture."""

    node: MapNode
    label: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLink:
    """A line between two nodes; `width` grows with the turns that have both."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    label: str


def show(browser: BrowserRequest) -> Response:
    """Show the map of a user."""
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    users = parameters.users(context, caller, params)
    subjects = association_map(context, caller, users.chosen)
    nodes, lines = draw(subjects)
    partners: dict[int, list[tuple[str, int]]] = {}
    for link in sorted(subjects.links, key=lambda link: -link.turns):
        for one, other in ((link.one, link.other), (link.other, link.one)):
            partners.setdefault(one, []).append((subjects.nodes[other].text, link.turns))
    return browser.page(
        "topics.html",
        users=users,
        nodes=nodes,
        lines=lines,
        partners=[partners.get(place, [])[:4] for place in range(len(nodes))],
        width=int(WIDTH),
        height=int(HEIGHT),
    )


def draw(subjects: AssociationMap) -> tuple[list[DrawnNode], list[DrawnLink]]:
    """Place the nodes of a map: linked ones near each other. The same map gives the same picture.

    Source: Fruchterman and Reingold, Software: Practice and Experience 21, 1991.
    """
    count = len(subjects.nodes)
    if not count:
        return [], []
    most = max(node.turns for node in subjects.nodes)
    labels = [beginning(node.text, LABEL_CHARACTERS_MAX) for node in subjects.nodes]
    radii = [
        round(max(RADIUS_MAX * (node.turns / most) ** 0.5, RADIUS_MIN), 1)
        for node in subjects.nodes
    ]
    halves = np.array(
        [
            [max(radius, _LETTER * len(label) / 2) + 4, radius + _LABEL_HEIGHT / 2]
            for label, radius in zip(labels, radii, strict=True)
        ]
    )
    places = _spread(_layout(count, [(link.one, link.other) for link in subjects.links]), halves)
    nodes = [
        DrawnNode(node=node, label=label, x=round(float(x), 1), y=round(float(y), 1), radius=radius)
        for node, label, radius, (x, y) in zip(subjects.nodes, labels, radii, places, strict=True)
    ]
    strongest = max((link.turns for link in subjects.links), default=1)
    lines = [
        DrawnLink(
            x1=nodes[link.one].x,
            y1=nodes[link.one].y,
            x2=nodes[link.other].x,
            y2=nodes[link.other].y,
            width=round(0.7 + 3.0 * link.turns / strongest, 2),
            label=f"{nodes[link.one].node.text} and {nodes[link.other].node.text}: {link.turns:,}",
        )
        for link in subjects.links
    ]
    return nodes, lines


def _layout(count: int, links: list[tuple[int, int]]) -> FloatArray:
    """Return a position for each node, float64 (count, 2), within the picture."""
    angle = np.arange(count) * 2.399963  # the golden angle: no two nodes begin at one place
    radius = np.sqrt(np.arange(count) + 0.5) / np.sqrt(count)
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    ideal = 1.0 / np.sqrt(count)
    joined = np.zeros((count, count))
    for one, other in links:
        joined[one, other] = joined[other, one] = 1.0
    stretch = np.array([1.0 / _STRETCH, 1.0])
    for step in range(_STEPS):
        apart = (places[:, None] - places[None]) * stretch
        distance = np.sqrt((apart**2).sum(axis=2)) + 1e-6
        push = ideal**2 / distance**2 - joined * distance / ideal
        move = (apart * push[..., None]).sum(axis=1) - places * 0.4
        length = np.sqrt((move**2).sum(axis=1, keepdims=True)) + 1e-9
        places += move / length * np.minimum(length, 0.12 * (1.0 - step / _STEPS))
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.where(high - low < 1e-6, 1.0, high - low)
    room = np.array([WIDTH - 2 * MARGIN_X, HEIGHT - 2 * MARGIN_Y])
    unit = (places - low) / span if count > 1 else np.full((1, 2), 0.5)
    result: FloatArray = unit * room + np.array([MARGIN_X, MARGIN_Y])
    return result


def _spread(places: FloatArray, halves: FloatArray) -> FloatArray:
    """Move nodes apart whose boxes overlap. `halves`: half width and half height of each box."""
    least = halves[:, None] + halves[None]  # distances at which two boxes touch
    low = np.array([MARGIN_X, MARGIN_Y])
    high = np.array([WIDTH, HEIGHT]) - low
    for _ in range(_SPREADS):
        apart = places[:, None] - places[None]
        overlap = least - np.abs(apart)
        np.einsum("iij->ij", overlap)[:] = -1.0  # a node does not overlap itself
        is_over = (overlap > 0).all(axis=2)
        if not is_over.any():
            break
        # along the axis with the smaller overlap; nodes at one place part by their order
        axis = overlap.argmin(axis=2)
        order = np.sign(np.arange(len(places))[:, None] - np.arange(len(places))[None])
        for side in (0, 1):
            sign = np.where(apart[..., side] == 0, order, np.sign(apart[..., side]))
            push = np.where(is_over & (axis == side), overlap[..., side] * sign * 0.3, 0.0)
            places[:, side] += push.sum(axis=1)
        places = np.clip(places, low, high)
    return places


PAGES = {PATH: Page(get=show)}
