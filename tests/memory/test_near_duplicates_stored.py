"""Near duplicates in the store: the look-up of a write, renewal, imports."""

from __future__ import annotations

import json
from pathlib import Path

from memory.asking import Concepts, Memory, opened

from remembrancer.memory.exchange import importer
from remembrancer.memory.maintenance import Maintenance
from remembrancer.memory.write.turns import event_detail

RETRY = "Check the queue of the ferry office and report how many bookings wait."
OTHER = "Where is the ferry office with the bookings?"


def test_renewed_entries_keep_their_order(folder: Path) -> None:
    """A change of the embedder renews all entries; a repetition still comes last."""
    with opened(folder, embedder=Concepts()) as memory:
        first = memory.tell(f"[attempt 1/5] {RETRY}", "Four.", session_id="a")
        again = memory.tell(f"[attempt 2/5] {RETRY}", "Four.", session_id="b")
        notice = memory.tell(f"<system-reminder>\n{RETRY}\n</system-reminder>", session_id="c")
        other = memory.tell(OTHER, "At pier 3.", session_id="d")

    with opened(folder, embedder=Concepts("concepts/2")) as memory:
        maintenance = Maintenance(memory.context)
        while maintenance.step():
            pass

        assert memory.hit_ids("queue of the ferry office") == [first, other, again, notice]


def test_import_recognises_notices_and_near_duplicates(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    texts = [
        (RETRY, "Four."),
        (f"(retry 2 of 5) {RETRY}", "Four."),
        ("[Request interrupted by user]", ""),
    ]
    path.write_text(
        "".join(
            json.dumps({"query": query, "response": response, "session_id": f"s{number}"}) + "\n"
            for number, (query, response) in enumerate(texts)
        )
    )
    importer.store(
        memory.context,
        memory.caller,
        importer.read(memory.context, memory.caller, path, user_id="ada"),
    )
    events = memory.context.store.read(
        lambda tx: tx.all("select event_id from events order by id"),
        account_id=memory.caller.account_id,
    )
    flags = [event_detail(memory.context, memory.caller, row.event_id).flags for row in events]

    assert flags == [[], ["near_duplicate"], ["machine_notice"]]
