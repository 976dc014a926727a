"""Remember turns or import a file until killed; print each finished write on a line."""

import os
import sys
import threading
from functools import partial
from pathlib import Path

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.context import new_id
from remembrancer.memory.exchange.importer import read, store
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.search.embedders.port import NoEmbedder
from remembrancer.settings import Settings

folder, url, what = sys.argv[1:]
settings = Settings(data=Path(folder), store=url, embedder="none", durability="normal")
context = testing.context(Path(folder), settings=settings, ids=new_id, embedder=NoEmbedder())
caller = caller_for(context)


def tell(thread: int) -> None:
    """Remember turns, each with a unique word."""
    for n in range(1_000_000):
        word = f"zx{what}q{thread}q{n}v"
        turn = Turn(
            query=f"What opens locker {n}?",
            response=f"The word {word}.",
            user_id="ada",
            session_id=f"s{thread}",
        )
        event_id = remember(context, caller, turn).event_id
        os.write(1, f"{word} {event_id}\n".encode())


def report_progress(counts: list[int], step: int) -> None:
    """Write the number of events of the file that are processed."""
    counts[0] += step
    os.write(1, f"{counts[0]}\n".encode())


if what.endswith(".jsonl"):
    store(context, caller, read(caller, Path(what)), progress=partial(report_progress, [0]))
    context.close()
else:
    for thread in range(3):
        threading.Thread(target=tell, args=(thread,)).start()
