"""The work of `remembrancer demo`: import a conversation and search it over HTTP."""

from __future__ import annotations

import shlex
import socket
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ..accounts import OWNER, caller_for, keys
from ..client import Client
from ..context import Context, assemble
from ..memory.exchange.importer import read, store
from ..protocol.errors import message_of
from ..protocol.search import Hit, reason_line
from ..server.app import make_app
from ..server.run import uvicorn_server
from ..settings import Settings

CONVERSATION = Path(__file__).parent.parent / "memory" / "exchange" / "sample.jsonl"
HITS = 2  # for each question
WIDTH = 100
_LANGUAGES = "six sessions over seven weeks, four in English, one in German, one in Japanese"


class FolderInUse(Exception):
    """The demo needs a new or empty folder."""


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question and what it demonstrates."""

    text: str
    explanation: str
    focus_words: tuple[str, ...] = ()


QUESTIONS = (
    DemoQuestion(
        "What does the allotment cost me a year?",
        "Plain English. The memory has two answers in other words, weeks apart: the rent and the "
        "new rent.",
    ),
    DemoQuestion(
        "What is still to be settled with the others?",
        "A vague question. A focus word ranks turns with that exact word higher.",
        ("Tomasz",),
    ),
    DemoQuestion(
        "What food must my mother avoid?",
        "An English question about a Japanese turn: 'Mother is allergic to buckwheat'.",
    ),
)


def run_demo(say: Callable[[str], None], keep: Path | None = None) -> None:
    """Run the demo and pass each line to `say`. Without `keep`, the memory is deleted afterwards.

    Raises FolderInUse, and what opening the store or the embedder raises.
    """
    if keep is None:
        with TemporaryDirectory(prefix="remembrancer-demo-") as temporary:
            _tour(say, Path(temporary))
        say("The memory of the demo is deleted.")
        say(_steps("remembrancer", "make run"))
        return
    folder = keep.expanduser().absolute()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise FolderInUse(f"{folder} is in use. {message_of(FolderInUse)}")
    _tour(say, folder)
    command = f"remembrancer --data {shlex.quote(str(folder))}"
    say(f"The memory is in {folder}.")
    say(_steps(command, f"{command} serve"))


def _tour(say: Callable[[str], None], folder: Path) -> None:
    say("1. Start the service with an empty memory.\n")
    # Default settings, not the user's: the demo must not write into a memory that is in use.
    with closing(assemble(Settings(data=folder, port=0))) as context:
        key = keys.create(context, account=OWNER, label="demo").key.reveal()
        with serving(context) as address:
            say(f"   It listens on {address}\n")
            say("2. Import a small conversation between a user and an assistant.\n")
            caller = caller_for(context)
            result = store(context, caller, read(caller, CONVERSATION))
            say(f"   Stored {result.stored} turns: {_LANGUAGES}\n")
            say("3. Search, as an agent would, with POST /api/v7/memory.")
            say("   'why' lists the signals that found a turn, with its rank by each signal.\n")
            with Client(address, key, user_id=OWNER) as client:
                for question in QUESTIONS:
                    words = list(question.focus_words)
                    answer = client.search(question.text, top_k=HITS, focus_words=words)
                    say(_render(question, answer.hits))


@contextmanager
def serving(context: Context) -> Iterator[str]:
    """Serve from a thread on a free port. Yields the address."""
    listener = socket.create_server(("127.0.0.1", 0))  # early requests wait in its backlog
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


def _render(question: DemoQuestion, hits: Sequence[Hit]) -> str:
    focus = f"   focus word: {', '.join(question.focus_words)}\n" if question.focus_words else ""
    head = f"   ? {question.text}\n{focus}     {question.explanation}\n"
    return "\n".join([head, *(_render_hit(rank, hit) for rank, hit in enumerate(hits, 1))])


def _render_hit(rank: int, hit: Hit) -> str:
    sides = (("query", hit.query), ("response", hit.response))
    texts = [_wrap(f"{name + ':':<10}", text) for name, text in sides if text]
    head = f"   {rank}. {hit.occurred_at[:10]}, session {hit.session_id}, score {hit.score:.2f}"
    return "\n".join([head, *texts, _wrap(f"{'why:':<10}", reason_line(hit.why)), ""])


def _wrap(label: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=f"      {label}", subsequent_indent=" " * 16)


def _steps(command: str, serve: str) -> str:
    return "\n".join(
        [
            "",
            "Next:",
            f"  {serve:<40} start your own server (prints its address, the key and next steps)",
            f"  {command + ' keys create --account NAME':<40} create a key for an agent",
            f"  {command + ' import FILE':<40} import conversations (docs/guides/import.md)",
        ]
    )
