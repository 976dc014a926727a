"""Store turns, erase some and write segments until killed; print each finished write on a line."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.context import new_id
from remembrancer.memory.history.forget import erase_event
from remembrancer.memory.maintenance import check_segments, write_segments
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.search import SegmentFolder
from remembrancer.settings import Settings

folder, url, run = sys.argv[1:]
settings = Settings(data=Path(folder), store=url, embedder="none", durability="normal")
context = testing.context(Path(folder), settings=settings, ids=new_id)
assert context.store.index_folder is not None
segments = SegmentFolder(context.store.index_folder, sizes=(16, 4))
context = replace(context, segments=segments)
caller = caller_for(context)
check_segments(context)
query = MemoryQuery(query_text="locker", user_id="ada", interact=False)

for n in range(1_000_000):
    word = f"zx{run}q{n}v"
    turn = Turn(query=f"What opens locker {n}?", response=f"The word {word}.", user_id="ada")
    event_id = remember(context, caller, turn).event_id
    os.write(1, f"stored {word} {event_id}\n".encode())
    recall(context, caller, query)
    write_segments(context)
    if n % 7 == 6:
        assert event_id is not None
        os.write(1, f"erasing {word} {event_id}\n".encode())
        erase_event(context, caller, event_id)
        os.write(1, f"erased {word} {event_id}\n".encode())
