"""Retry policy: when a request is sent again, decided without any I/O.

A request is sent again when the service did not process it (429, 503), when the service was not
reached, and, if sending it twice is harmless, when the response was lost. Writes are harmless
because their Idempotency-Key makes the service process them once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from .api_request import ApiRequest
from .errors import (
    ClientError,
    HttpResponse,
    InvalidResponseError,
    UnreachableError,
    error_from_response,
)

A = TypeVar("A")
_UNPROCESSED = (429, 503)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Retry limits: exponential backoff with jitter.

    `times` is the number of retries after the first attempt; 0 disables them. If the service asks
    for a longer wait than `retry_after_s_max`, the error is raised at once.
    """

    times: int = 3
    first_wait_s: float = 0.25
    wait_s_max: float = 8.0
    retry_after_s_max: float = 60.0

    def wait_s(self, attempt: int, retry_after_s: float | None, jitter: float) -> float | None:
        """Return the seconds to wait after an attempt, counted from 1; None to give up.

        `retry_after_s` is the wait the service asked for. `jitter` is random, in [0, 1).
        """
        if attempt > self.times or (retry_after_s or 0.0) > self.retry_after_s_max:
            return None
        backoff_s = min(self.wait_s_max, self.first_wait_s * 2.0 ** min(attempt - 1, 30))
        backoff_s *= 0.5 + jitter / 2
        return backoff_s if retry_after_s is None else retry_after_s + backoff_s * 0.1


@dataclass(frozen=True, slots=True)
class NoResponse:
    """A request without a response. If `was_sent`, the service may have processed it."""

    reason: str
    was_sent: bool


def run_attempts(
    request: ApiRequest[A], retry: Retry, jitter: Callable[[], float]
) -> Generator[float, HttpResponse | NoResponse, A]:
    """Yield the seconds to wait before each attempt; return the parsed response.

    The caller waits, sends the request, and sends the result into the generator. Raises
    ClientError when the request failed for good.
    """
    attempt, wait_s = 0, 0.0
    while True:
        attempt += 1
        result = yield wait_s
        error: ClientError
        if isinstance(result, NoResponse):
            error = UnreachableError(result.reason)
            can_retry = request.is_retry_safe or not result.was_sent
        elif result.status < 300:
            return request.parse(result)
        elif result.status < 400:
            # Redirects are not followed: the key would be sent to an unknown server.
            raise InvalidResponseError(
                f"The service redirected the request (status {result.status}): check the base URL."
            )
        else:
            error, can_retry = error_from_response(result), result.status in _UNPROCESSED
        next_wait_s = retry.wait_s(attempt, error.retry_after_s, jitter()) if can_retry else None
        if next_wait_s is None:
            raise error
        wait_s = next_wait_s
