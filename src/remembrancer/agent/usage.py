"""What calls of language models took, as answers tell it."""

from __future__ import annotations

from collections.abc import Sequence

from ..models import ModelAttempt
from ..protocol.usage import ModelTry, ModelUsage


def usage_of(tries: Sequence[ModelAttempt]) -> ModelUsage:
    """What these calls took together."""
    return ModelUsage(
        calls=len(tries),
        prompt_tokens=sum(one.prompt_tokens for one in tries),
        completion_tokens=sum(one.completion_tokens for one in tries),
        ms=round(sum(one.ms for one in tries), 1),
        tries=[
            ModelTry(
                model=one.model,
                outcome=one.outcome,
                ms=one.ms,
                prompt_tokens=one.prompt_tokens,
                completion_tokens=one.completion_tokens,
            )
            for one in tries
        ],
    )
