"""Callers that are refused again and again wait for their refusals."""

from __future__ import annotations

import asyncio

import pytest
from service import Http

from remembrancer.http.admission import BURST_SECONDS, PER_SECOND, Refusals

BURST = int(BURST_SECONDS * PER_SECOND)


class Pauses:
    """The pauses that would have been made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds: list[float] = []
        monkeypatch.setattr(asyncio, "sleep", self)

    async def __call__(self, seconds: float) -> None:
        """Note a pause."""
        self.seconds.append(seconds)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    """Pauses that take no time."""
    return Pauses(monkeypatch)


def refuse(refusals: Refusals, *callers: str) -> None:
    """Refuse one caller after the other."""

    async def all_of_them() -> None:
        for caller in callers:
            await refusals.delay(caller)

    asyncio.run(all_of_them())


def test_refusals_of_one_caller_delay_no_other(pauses: Pauses) -> None:
    refuse(Refusals(2), *["ada"] * 50, "bob")
    count = len(pauses.seconds)

    refuse(Refusals(2), *["ada"] * 50)

    assert len(pauses.seconds) - count == count


@pytest.mark.settings(refusal_seconds=2, rate_memory_per_minute=60)
def test_insistent_callers_wait_and_a_good_key_does_not(http: Http, pauses: Pauses) -> None:
    """Both refusals count: of invented keys by address, and past a rate limit by account.

    See specification.md#rate-insistent.
    """
    stranger, ada = http.with_key("rk_invented"), http.as_account("ada")
    refused = [stranger.get("/api/v7/memory/facts").status_code for _ in range(BURST + 10)]
    by_address = len(pauses.seconds)
    answers = [ada.get("/api/v7/memory/facts").status_code for _ in range(60 + BURST + 10)]

    assert set(refused) == {401}
    assert by_address >= 5
    assert answers[:60] == [200] * 60
    assert len(pauses.seconds) - by_address >= 5
