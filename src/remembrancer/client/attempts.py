"""When a call is made again, decided without any input or output: what to do comes out, what happened goes in.

A call is made again when the service says that it did nothing (429, 503), when it was not reached at all, and, for
what does no harm when it is done twice, when the answer was lost. A write does no harm: its Idempotency-Key makes the
service do it once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from .asks import Ask
from .errors import Answered, ClientError, Unreachable, WrongAnswer, refusal

A = TypeVar("A")
_REFUSED_FOR_NOW = (429, 503)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How patient to be. The wait doubles each time, and a random part of it is taken, so that many clients do not come at once."""

    times: int = 3  # after the first attempt; 0 = never again
    first_wait_s: float = 0.25
    wait_s_max: float = 8.0
    retry_after_s_max: float = 60.0  # asked to wait longer than this, the error is raised at once

    def wait_s(self, attempt: int, asked_s: float | None, spread: float) -> float | None:
        """How long to wait after the attempt of this number, from 1; None to give up. `spread` is random, in [0, 1)."""
        if attempt > self.times or (asked_s or 0.0) > self.retry_after_s_max:
            return None
        own = min(self.wait_s_max, self.first_wait_s * 2.0 ** min(attempt - 1, 30)) * (0.5 + spread / 2)
        return own if asked_s is None else asked_s + own * 0.1  # never earlier than asked


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came. `was_sent`: the service may have done it all the same."""

    why: str
    was_sent: bool


def attempts(ask: Ask[A], retry: Retry, spread: Callable[[], float]) -> Generator[float, Answered | Lost, A]:
    """Gives how many seconds to wait before the next attempt and takes what came of it; returns the answer.

    Raises ClientError once there is no answer to be hoped for.
    """
    attempt, wait_s = 0, 0.0
    while True:
        attempt += 1
        got = yield wait_s
        error: ClientError
        if isinstance(got, Lost):
            error, may_again = Unreachable(got.why), ask.is_safe_twice or not got.was_sent
        elif got.status < 300:
            return ask.read(got)
        elif got.status < 400:  # not followed: the key would go where nobody meant it to
            raise WrongAnswer(f"The service sent us elsewhere (status {got.status}): is the address right?")
        else:
            error, may_again = refusal(got), got.status in _REFUSED_FOR_NOW
        next_wait_s = retry.wait_s(attempt, error.retry_after_s, spread()) if may_again else None
        if next_wait_s is None:
            raise error
        wait_s = next_wait_s
