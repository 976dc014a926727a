"""The demo: the real service over a fresh folder, a small conversation imported, three questions
asked over HTTP.
"""

from __future__ import annotations

import json
import shlex
import socket
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from ..accounts import OWNER, caller_for, keys
from ..context import Context, assemble
from ..memory.exchange.importer import ImportResult, read, store
from ..protocol.errors import message_of
from ..server.app import make_app
from ..server.run import uvicorn_server
from ..settings import Settings

CONVERSATION = Path(__file__).with_name("conversation.jsonl")
HITS = 2  # shown for each question
WIDTH = 100
_LANGUAGES = "six sessions over seven weeks, four in English, one in German, one in Japanese"
_REASONS = {  # what a signal means to somebody who never saw one
    "text": "same words",
    "dense": "close in meaning",
    "focus": "holds the focus word",
    "session": "its session fits",
    "neighbour": "what was said beside it fits",
    "date": "it is of that time",
    "speaker": "that person said it",
}


class FolderInUse(Exception):
    """The demo wants a folder of its own: one that is empty or not there yet."""


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question, and what it shows."""

    text: str
    shows: str
    focus_words: tuple[str, ...] = ()


QUESTIONS = (
    DemoQuestion(
        "What does the allotment cost me a year?",
        "Plain English. It was said twice, weeks apart and in other words: the rent, and the new rent.",
    ),
    DemoQuestion(
        "What is still to be settled with the others?",
        "A vague question, made sharp by a focus word: what holds that exact word is lifted.",
        ("Tomasz",),
    ),
    DemoQuestion(
        "What food must my mother avoid?",
        "Asked in English, and it was said in Japanese: 'Mother is allergic to buckwheat'.",
    ),
)


def run_demo(say: Callable[[str], None], keep: Path | None = None) -> None:
    """Give the demo, line by line to `say`; the memory is kept in the folder `keep`, else it is
    deleted.

    Raises FolderInUse, and what opening the store or the embedder raises.
    """
    if keep is None:
        with TemporaryDirectory(prefix="remembrancer-demo-") as folder:
            _tour(say, Path(folder))
        say("This memory was for the demo only, and is gone.")
        say(_steps("remembrancer", "make run"))
        return
    folder_kept = keep.expanduser().absolute()
    if folder_kept.exists() and not (folder_kept.is_dir() and not any(folder_kept.iterdir())):
        raise FolderInUse(f"{folder_kept} is in use. {message_of(FolderInUse)}")
    _tour(say, folder_kept)
    command = f"remembrancer --data {shlex.quote(str(folder_kept))}"
    say(f"This memory is kept in {folder_kept}.")
    say(_steps(command, f"{command} serve"))


def _tour(say: Callable[[str], None], folder: Path) -> None:
    say("1. Start the service with an empty memory.\n")
    # Settings of its own, not those in force: the demo must not write into a memory that is in use.
    with closing(assemble(Settings(data=folder, port=0))) as context:
        key = keys.create(context, account=OWNER, label="demo").key.reveal()
        with serving(context) as address:
            say(f"   It listens on {address}\n")
            say("2. Import a small conversation between a person and an assistant.\n")
            done = _import(context)
            say(f"   {done.stored} turns are stored: {_LANGUAGES}\n")
            say("3. Ask, as an agent would, with POST /api/v7/memory.")
            say(
                "   'why' says which signals found a turn, and which place it has by that signal alone.\n"
            )
            for asked in QUESTIONS:
                say(_told(asked, _answer(f"{address}/api/v7/memory", key, asked)))


def _import(context: Context) -> ImportResult:
    caller = caller_for(context)
    return store(context, caller, read(context, caller, CONVERSATION))


@contextmanager
def serving(context: Context) -> Iterator[str]:
    """Serve from a thread on a free port, as `serve` does; gives the address."""
    listener = socket.create_server(
        ("127.0.0.1", 0)
    )  # listens from here on: who asks early is served a little later
    server = uvicorn_server(make_app(context))
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="remembrancer-demo"
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def _answer(url: str, key: str, asked: DemoQuestion) -> list[dict[str, Any]]:
    body: dict[str, Any] = {
        "query_text": asked.text,
        "user_id": OWNER,
        "top_k": HITS,
        "focus_words": asked.focus_words,
    }
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Connection": "close",
    }
    direct = build_opener(ProxyHandler({}))  # a proxy of this machine is not for its own addresses
    with direct.open(Request(url, json.dumps(body).encode(), headers)) as answer:  # noqa: S310 - our own address
        hits: list[dict[str, Any]] = json.load(answer)["hits"]
        return hits


def _told(asked: DemoQuestion, hits: Sequence[dict[str, Any]]) -> str:
    focus = f"   focus word: {', '.join(asked.focus_words)}\n" if asked.focus_words else ""
    head = f"   ? {asked.text}\n{focus}     {asked.shows}\n"
    return "\n".join([head, *(_hit(place, hit) for place, hit in enumerate(hits, 1))])


def _hit(place: int, hit: dict[str, Any]) -> str:
    sides = (("said", hit["query"]), ("answered", hit["response"]))
    told = [_wrapped(f"{who + ':':<10}", text) for who, text in sides if text]
    head = f"   {place}. {hit['occurred_at'][:10]}, session {hit['session_id']}, score {hit['score']:.2f}"
    return "\n".join(
        [head, *told, _wrapped(f"{'why:':<10}", "; ".join(map(_reason, hit["why"]))), ""]
    )


def _reason(signal: dict[str, Any]) -> str:
    rank = signal.get("rank")
    meant = _REASONS.get(signal["signal"], signal["signal"])
    return meant if rank is None else f"{meant} (place {rank})"


def _wrapped(label: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=f"      {label}", subsequent_indent=" " * 16)


def _steps(command: str, serve: str) -> str:
    return "\n".join(
        [
            "",
            "Next:",
            f"  {serve:<40} serve a memory of your own (it prints its address and a curl line to try)",
            f"  {command + ' keys create --account NAME':<40} give an agent a key",
            f"  {command + ' import FILE':<40} bring in what was said elsewhere (docs/guides/import.md)",
        ]
    )
