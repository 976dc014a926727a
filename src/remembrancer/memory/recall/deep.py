"""Deep search: a reranker orders the best hits again, outside of any transaction."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt

from ...accounts import may_use_outside_models
from ...context import Caller, Context
from ...models import ModelFailed
from ...protocol.errors import InvalidRequest
from ...protocol.search import Hit, MemoryAnswer, MemoryQuery, Signal
from ...search import RerankerUnavailable
from ..changes import names_history
from .outcome import LayerHits, TokenBudget

HITS_READ = 40  # ordered again: they have .61 to .99 of the evidence (bench/results.md)
# Share of the reranker in the order; the rest is the score of the fast search. Best on average of
# three development sets; chosen on two and reported on the third in bench/results.md.
RERANKER_SHARE = 0.75
_log = logging.getLogger(__name__)


class RerankerNotConfigured(InvalidRequest):
    """This server has no reranker. Set `REMEMBRANCER_RERANKER`, or leave `depth` out."""

    def __init__(self) -> None:
        """Name the field."""
        super().__init__(
            " ".join((type(self).__doc__ or "").split()),
            errors=[{"pointer": "/depth", "detail": "`deep` needs a reranker"}],
        )


def widened(context: Context, query: MemoryQuery) -> MemoryQuery:
    """Return the query whose hits the reranker reads: more of them, and without a budget.

    Raises RerankerNotConfigured.
    """
    if context.reranker is None:
        raise RerankerNotConfigured
    return query.model_copy(
        update={"top_k": max(query.top_k, HITS_READ), "max_tokens": None, "depth": "fast"}
    )


def reranked(
    context: Context, caller: Caller, query: MemoryQuery, answer: MemoryAnswer
) -> MemoryAnswer:
    """Return the answer of a widened query with its hits in a better order, cut to the query.

    If the reranker does not answer, or too many deep searches run, the hits keep their order, and
    `depth` says `fast`. Raises StoreUnavailable.
    """
    assert context.reranker is not None
    hits, depth = answer.hits, "fast"
    if len(hits) > 1:
        texts = [f"{hit.query}\n{hit.response}".strip() for hit in hits]
        outside = may_use_outside_models(context, caller)
        try:
            scores = context.reranker.scores(query.query_text, texts, outside=outside)
            hits = ordered(hits, scores, asks_history=_asks_history(query.query_text, query.as_of))
            depth = "deep"
        except (RerankerUnavailable, ModelFailed) as error:
            _log.warning("a deep search keeps its fast order: %s", error)
    else:
        depth = "deep"
    layers = LayerHits(facts=answer.facts, instructions=answer.instructions)
    budget = TokenBudget(query.max_tokens, layers)
    chosen: list[Hit] = []
    for hit in hits[: query.top_k]:
        if not budget.spend(hit.query, hit.response, always=not chosen):
            break
        chosen.append(hit)
    layers.summaries = answer.summaries
    return answer.model_copy(
        update={
            "hits": chosen,
            "facts": layers.facts,
            "instructions": layers.instructions,
            "summaries": budget.fitting_summaries(layers),
            "depth": depth,
        }
    )


def ordered(hits: Sequence[Hit], scores: npt.ArrayLike, *, asks_history: bool) -> list[Hit]:
    """Return hits, best first, in the order of their scores and those of a reranker together.

    Both, the fast ones in log odds, are stretched to mean 0 and deviation 1. The scores of the
    answer stay in descending order: a hit that moves takes the score of its new place. A turn whose
    value was replaced stays below the turn that replaced it, unless the query asks about an earlier
    time.
    """
    chances = np.clip([hit.score for hit in hits], 1e-4, 1 - 1e-4)
    fast = _standardized(np.log(chances / (1 - chances)))
    slow = _standardized(scores)
    together = (1 - RERANKER_SHARE) * fast + RERANKER_SHARE * slow
    order = [int(place) for place in np.argsort(-together, kind="stable")]
    if not asks_history:
        order = _newer_first(hits, order)
    ranks = np.empty(len(hits), int)
    ranks[np.argsort(-np.asarray(scores), kind="stable")] = np.arange(1, len(hits) + 1)
    share = np.asarray(scores, np.float64) - np.min(scores)
    share /= share.max() or 1.0
    return [
        hits[place].model_copy(
            update={
                "score": top.score,
                "why": [
                    *hits[place].why,
                    Signal(
                        signal="reranked",
                        rank=int(ranks[place]),
                        value=round(float(share[place]), 4),
                    ),
                ],
            }
        )
        for top, place in zip(hits, order, strict=True)
    ]


def _newer_first(hits: Sequence[Hit], order: list[int]) -> list[int]:
    """Move each hit below the hit that replaced its value, if that is among them."""
    places = {hits[place].event_id: place for place in order}
    result = list(order)
    for place in order:
        successor = places.get(hits[place].superseded_by or "")
        if successor is not None and result.index(successor) > result.index(place):
            result.remove(place)
            result.insert(result.index(successor) + 1, place)
    return result


def _standardized(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    result: npt.NDArray[np.float64] = (array - array.mean()) / (array.std() or 1.0)
    return result


def _asks_history(text: str, as_of: datetime | None) -> bool:
    return as_of is not None or names_history(text)
