"""Measure what hooks put into prompts after two weeks of work on two projects.

    python -m bench.two_weeks [--play FILE] [--show] [--beside REVISION]

two_weeks.toml was written by somebody who knew no rule: sessions of an agent in two repositories,
and prompts, of which half need something that was said. The real hooks store every turn, then each
prompt is the first of a session of its own. A prompt that needs something is served if every
string it needs is in the start pack of the session or in what is added to it; one that needs
nothing is quiet if no event, fact, summary or cube is added. `--show` prints what was added.

Beside it: the whole last session of the project, and the five best of a plain fusion of words and
vectors over one memory of both projects; with `--beside HEAD~1`, the hooks and the service of the
commit before.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench.hooks import PROGRAM, PYTHON
from bench.http import Server
from bench.locomo import Conversation, Event
from bench.report import arguments_of, table, write_section
from bench.spaces import ranking, view_of
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.protocol.text import tokens
from remembrancer.search import Known, open_embedder
from remembrancer.search.ranking import untrained
from remembrancer.settings import read

PLAY = Path(__file__).with_name("two_weeks.toml")
FUSED = 5  # events of plain fusion
_HEADS = ("[event ", "[fact ", "[summary ", "[map", "[cube ")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and strings of turns: needed, no longer true, and those of the other project."""

    project: str
    text: str
    needs: list[str]
    outdated: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a session."""

    session: int
    project: str
    user: str
    answer: str


def play(path: Path) -> tuple[list[Turn], list[Prompt]]:
    """Return the turns and the prompts of a file."""
    document = tomllib.loads(path.read_text("utf-8"))
    turns = [
        Turn(number, session["project"], turn["user"], turn["answer"])
        for number, session in enumerate(document["session"])
        for turn in session["turn"]
    ]
    return turns, [Prompt(**prompt) for prompt in document["prompt"]]


class Hooks:
    """The hooks of a coding agent with repositories in a home of its own."""

    def __init__(self, home: Path, server: Server) -> None:
        """Take a server; the hooks use its key."""
        self.home = home
        self.events = 0
        self.environment = {
            "HOME": str(home),
            "REMEMBRANCER_URL": f"http://127.0.0.1:{server.port}",
            "REMEMBRANCER_KEY": server.key,
            "REMEMBRANCER_HOOK_SECONDS": "30",
        }

    def repository(self, name: str) -> Path:
        """Return the folder of a project, with its remote."""
        folder = self.home / name
        if not folder.exists():
            (folder / ".git").mkdir(parents=True)
            url = f"git@git.example.org:ines/{name}.git"
            (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {url}\n', "utf-8")
        return folder

    def send(self, project: str, session: str, event: str, **members: str) -> str:
        """Run the hooks for an event; return the context that they add."""
        body = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(self.repository(project)),
            **members,
        }
        command = [*PYTHON, str(PROGRAM), "claude-code"]
        process = subprocess.run(
            command,
            input=json.dumps(body).encode(),
            env=self.environment,
            check=True,
            capture_output=True,
        )
        self.events += 1
        answer = json.loads(process.stdout) if process.stdout else {}
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def wait(self) -> None:
        """Wait until the hooks have sent what they send in the background."""
        with (self.home / ".local/state/remembrancer/hooks/background").open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


class Added(NamedTuple):
    """Text that is added to a prompt, and to the start of its session."""

    text: str
    start: str = ""


def added_by_hooks(turns: list[Turn], prompts: list[Prompt]) -> tuple[list[Added], float]:
    """Return what is added to each prompt, and the mean CPU milliseconds of a hook."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        records = open_records(read({}, data=data))
        key = keys.create(records, account="ines", label="bench").key.reveal()
        records.close()
        with Server(data, key) as server:
            hooks = Hooks(Path(folder), server)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            added = list(_run(hooks, turns, prompts))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return added, seconds * 1e3 / hooks.events


def _run(hooks: Hooks, turns: list[Turn], prompts: list[Prompt]) -> Iterator[Added]:
    last = -1
    for turn in turns:
        session = f"session {turn.session}"
        if turn.session != last:
            hooks.send(turn.project, session, "SessionStart", source="startup")
            last = turn.session
        hooks.send(turn.project, session, "UserPromptSubmit", prompt=turn.user)
        hooks.send(turn.project, session, "Stop", last_assistant_message=turn.answer)
        hooks.wait()
    for number, prompt in enumerate(prompts):
        session = f"prompt {number}"
        start = hooks.send(prompt.project, session, "SessionStart", source="startup")
        text = hooks.send(prompt.project, session, "UserPromptSubmit", prompt=prompt.text)
        yield Added(text, start)


def added_by_last_session(turns: list[Turn], prompts: list[Prompt]) -> list[Added]:
    """Return the last session of the project of each prompt."""
    result = []
    for prompt in prompts:
        own = [turn for turn in turns if turn.project == prompt.project]
        last = [turn for turn in own if turn.session == own[-1].session]
        result.append(_as_events(last))
    return result


def added_by_fusion(turns: list[Turn], prompts: list[Prompt]) -> list[Added]:
    """Return the best events of plain fusion for each prompt, over one memory of all turns."""
    events = tuple(
        Event(turn.session, turn.user, turn.answer, (place + 1) * 60_000, (f"{place}",))
        for place, turn in enumerate(turns)
    )
    embedder = open_embedder("multilingual")
    view = view_of(Conversation("two weeks", events, ()), embedder)
    result = []
    for prompt in prompts:
        scores = ranking(view, prompt.text, embedder, untrained()).scores(Known())
        numbers = scores.events.numbers[(-scores.total).argsort(kind="stable")[:FUSED]]
        best = [turns[number] for number in numbers.tolist()]
        result.append(_as_events(best))
    return result


def row_beside(revision: str, path: Path) -> list[str]:
    """Return the row of the hooks of another revision for a play: it plays it in a tree of its own.

    Raises CalledProcessError, also if the revision has no such benchmark.
    """
    git = ["git", "-C", str(PLAY.parent)]
    name = subprocess.run(
        [*git, "rev-parse", "--short", revision], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        subprocess.run(
            [*git, "worktree", "add", "--quiet", "--detach", str(tree), revision], check=True
        )
        try:
            process = subprocess.run(
                [sys.executable, "-m", "bench.two_weeks", "--play", str(path.absolute())],
                cwd=tree,
                env={**os.environ, "PYTHONPATH": f"{tree / 'src'}:{tree}"},
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(tree)], check=True)
    [row] = [line for line in process.stdout.splitlines() if line.startswith("| hooks |")]
    return [f"hooks of {name}", *(cell.strip() for cell in row.split("|")[2:-1])]


def _as_events(turns: list[Turn]) -> Added:
    return Added("\n".join(f"[event ] {turn.user}\n{turn.answer}" for turn in turns))


def is_quiet(added: str) -> bool:
    """Return True if nothing of memory but wishes is added."""
    return not any(line.startswith(_HEADS) for line in added.splitlines())


def row_of(name: str, prompts: list[Prompt], added: list[Added]) -> list[str]:
    """Return the row of the table for one way to choose what is added."""
    pairs = list(zip(prompts, added, strict=True))
    needed = [(prompt, one) for prompt, one in pairs if prompt.needs]
    others = [one for prompt, one in pairs if not prompt.needs]
    served = sum(
        all(part in one.text or part in one.start for part in prompt.needs)
        for prompt, one in needed
    )
    quiet = sum(is_quiet(one.text) for one in others)
    foreign = sum(
        any(_is_unmarked(part, one.text) for part in prompt.foreign) for prompt, one in pairs
    )
    outdated = sum(
        any(_is_first(prompt, part, one.text) for part in prompt.outdated) for prompt, one in needed
    )
    mean = sum(tokens(one.text) for one in added) / len(added)
    counts = [
        f"{served} of {len(needed)}",
        f"{quiet} of {len(others)}",
        str(foreign),
        str(outdated),
    ]
    return [name, *counts, f"{mean:.0f}"]


def _is_unmarked(part: str, text: str) -> bool:
    """Return True if a string of another project is in a line that does not name the project."""
    items = text.replace("\n[", "\0[").split("\0")
    return any(part in item and ", project: " not in item.partition("\n")[0] for item in items)


def _is_first(prompt: Prompt, part: str, text: str) -> bool:
    """Return True if what no longer holds is added unmarked, before or without what holds."""
    items = text.replace("\n[", "\0[").split("\0")
    unmarked = [item for item in items if "superseded by " not in item.partition("\n")[0]]
    places = [place for place, item in enumerate(unmarked) if part in item]
    right = [
        place for place, item in enumerate(unmarked) if any(one in item for one in prompt.needs)
    ]
    return bool(places) and (not right or places[0] < right[0])


def main() -> None:
    """Play the two weeks and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("--play", type=Path, default=PLAY, help="Default: two_weeks.toml")
    parser.add_argument("--show", action="store_true", help="print what is added to each prompt")
    parser.add_argument("--beside", metavar="REVISION", help="also play it with another revision")
    arguments = parser.parse_args()
    turns, prompts = play(arguments.play)
    added, cpu_ms = added_by_hooks(turns, prompts)
    if arguments.show:
        for prompt, one in zip(prompts, added, strict=True):
            print(f"=== {prompt.project}: {prompt.text}\n--- needs {prompt.needs}\n{one.text}\n")
    ways: dict[str, Callable[[list[Turn], list[Prompt]], list[Added]]] = {
        "the whole last session": added_by_last_session,
        "plain fusion, five events": added_by_fusion,
    }
    rows = [row_of("hooks", prompts, added)]
    rows += [row_beside(arguments.beside, arguments.play)] if arguments.beside else []
    rows += [row_of(name, prompts, way(turns, prompts)) for name, way in ways.items()]
    heads = ["", "needed: served", "else: quiet", "foreign, unmarked", "outdated first", "tokens"]
    text = f"{len(turns)} turns.\n\n{table(heads, rows)}\n\nA hook takes {cpu_ms:.0f} ms of CPU."
    if arguments.play == PLAY:
        title = "What hooks add to prompts"
        write_section("two_weeks", title, "python -m bench.two_weeks", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
