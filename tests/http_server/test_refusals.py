"""Callers that are refused again and again wait for their refusals."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer.context import Context
from remembrancer.http.admission import BURST_SECONDS, PER_SECOND, Refusals
from remembrancer.server.app import make_app

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


def test_insistent_callers_wait_and_a_good_key_does_not(context: Context, pauses: Pauses) -> None:
    """Both refusals count: of invented keys by address, and past a rate limit by account.

    See specification.md#rate-insistent.
    """
    settings = replace(context.settings, refusal_seconds=2, rate_memory_per_minute=60)
    service = replace(context, settings=settings)
    with TestClient(make_app(service), base_url="http://127.0.0.1:8460") as client:
        stranger = Http(client, service, "rk_invented")
        assert {stranger.get("/api/v7/memory/facts").status_code for _ in range(BURST + 10)} == {
            401
        }
        by_address = len(pauses.seconds)

        ada = Http(client, service, new_key(service, "ada"))
        answers = [ada.get("/api/v7/memory/facts").status_code for _ in range(60 + BURST + 10)]

    assert by_address >= 5
    assert answers[:60] == [200] * 60
    assert len(pauses.seconds) - by_address >= 5
