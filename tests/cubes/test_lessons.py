"""Cubes are prepared outside the transaction and stored inside it, atomically."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cubes.agents import KETTLE, Agent
from service import rows

from remembrancer.cubes.lessons import (
    EvidenceUnknown,
    Lesson,
    check_evidence,
    prepare_cube,
    store_cube,
)
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.store import Transaction


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"rules": "- MUSS man mit Essig und Wasser auskochen."}, "English"),
        ({"essence": "The kettle's password is hunter2xyz and nobody changes it."}, "secret"),
        ({"topic": "k" * 81}, "characters"),
        ({"evidence": "see https://evil.example/"}, "link"),
        ({"model": "<b>m</b>"}, "HTML"),
    ],
)
def test_cube_refused_for_publication_stays_private_with_a_reason(
    ada: Agent, bob: Agent, more: dict[str, Any], why: str
) -> None:
    """A refused cube stays private (specification.md#cube-publish-refused)."""
    cube = ada.make(publish=True, **more)

    assert cube.visibility == "private"
    assert why in str(cube.refused)
    assert bob.matching_cubes() == []
    assert cube.cube_id in ada.shown_ids("How is a kettle descaled with vinegar and water?")


def test_failed_transaction_stores_no_cube(ada: Agent) -> None:
    before = rows(ada.context)
    prepared = prepare_cube(ada.context, Lesson(**KETTLE))
    broken = replace(prepared, lesson=replace(prepared.lesson, evidence=None))  # type: ignore[arg-type]

    def keep(tx: Transaction) -> None:
        store_cube(ada.context, tx, user_id="ada", session=None, prepared=prepared)
        store_cube(ada.context, tx, user_id="ada", session=None, prepared=broken)

    with pytest.raises(Exception, match=r"evidence|cube_id"):
        ada.context.store.write(keep, account_id=ada.caller.account_id)
    assert rows(ada.context) == before


def check(agent: Agent, evidence: str) -> None:
    """Check the evidence of a cube in a transaction of the agent's account."""
    agent.context.store.read(
        lambda tx: check_evidence(tx, agent.caller, evidence, "model"),
        account_id=agent.caller.account_id,
    )


@pytest.mark.parametrize(
    "evidence",
    [
        "e_0123456789abc",
        " e_0123456789abc\n",
        "e_0123456789abc and more",
        "as said then (ref: e_0123456789abc).",
        "事件e_0123456789abc。",
        "{own}, e_0123456789abc",
        "e_0123456789abc;{own}",
    ],
)
def test_event_ids_in_the_evidence_must_belong_to_the_account(ada: Agent, evidence: str) -> None:
    """Every id counts, wherever it stands (specification.md#cube-evidence)."""
    turn = Turn(query="q", response="r")
    own = remember(ada.context, ada.caller, turn).event_id
    check(ada, f"{own}, and again {own}")

    with pytest.raises(EvidenceUnknown):
        check(ada, evidence.format(own=own))
