"""Measure the agent runtime with scripted models, compliant and not, or with a small real one.

    python -m bench.runtime
    python -m bench.runtime --served-by PYTHON [--turns 6]

Five scripted drafters (bench/drafters.py) answer the forty turns of examples/forty_turns.jsonl
against a running service. The baseline is each drafter's first draft to the same prompts, without
the runtime. With --served-by, a small real model answers instead (bench/small_model.py, run by a
PYTHON that has its packages). It tests the path through a real endpoint and says little about
larger models.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.drafters import DRAFTERS, TURNS, Drafter
from bench.http import Server
from bench.report import table, write_section
from remembrancer.accounts import keys
from remembrancer.client import Client, ClientError
from remembrancer.client.adapters.endpoint import ModelEndpoint, ModelEndpointError
from remembrancer.client.runtime import (
    ChatMessage,
    Conversation,
    DraftRequest,
    Runtime,
    RuntimeOptions,
    TurnReply,
    send_call,
)
from remembrancer.client.turns import readable
from remembrancer.context import open_records
from remembrancer.protocol.line import read_line
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.seal import render
from remembrancer.protocol.second_look import SecondLook
from remembrancer.settings import Settings

HEADS = (
    "drafter",
    "runtime",
    "turns remembered",
    "turns sealed",
    "turns with a second look",
    "failed first drafts",
    "of these, corrected",
    "answers that pass",
    "answers that show service lines",
    "drafts per turn",
    "added tokens per turn, in / out",
    "requests per turn",
    "service ms per turn",
)
WITH, WITHOUT = "yes", "no"  # values of the column `runtime`
NOTES = """\
Without the runtime a draft is shown unchanged, with its service lines; this is why the drafts of
`good` fail. `lying` and `malformed` do not improve in one turn of three. The runtime then shows the
best draft and notes that it may fail the checks. A service line in the middle of a text stays
there, because it may be content. Tokens are estimated. In: additions to the prompts by the protocol
and by memory, and all prompts of revisions. Out: service lines, and all revised drafts.
"""


@dataclass
class Tally:
    """The outcomes of the turns of one drafter."""

    turns: int = 0
    remembered: int = 0
    sealed: int = 0
    checks: int = 0
    failed_first: int = 0
    corrected: int = 0
    passing: int = 0
    leaking: int = 0
    drafts: int = 0
    usage: dict[str, float] = field(default_factory=dict)

    def row(self, name: str, runtime: str) -> list[str]:
        """Return its table row."""
        shares = [
            f"{part / self.turns:.0%}"
            for part in (self.remembered, self.sealed, self.checks, self.failed_first)
        ]
        corrected = f"{self.corrected} of {self.failed_first}" if runtime == WITH else "n/a"
        rest = [
            corrected,
            f"{self.passing / self.turns:.0%}",
            f"{self.leaking / self.turns:.0%}",
            f"{self.drafts / self.turns:.2f}",
        ]
        tokens = f"{self.usage['tokens_in']:,.0f} / {self.usage['tokens_out']:,.0f}"
        return [
            name,
            runtime,
            *shares,
            *rest,
            tokens,
            f"{self.usage['calls']:.1f}",
            f"{self.usage['service_ms']:.0f}",
        ]


def shows_lines(text: str) -> bool:
    """Return True if the text has a service line, which users should not see."""
    return any(read_line(line) is not None for line in text.splitlines())


def led(client: Client, draft: Drafter, user_id: str, turns: int) -> Tally:
    """Run a drafter in the runtime and verify the turns that it reports as stored."""
    options = {"user_id": user_id, "session_id": "exam", "second_look": "always"}
    agent, tally = Runtime(client, draft, **options), Tally()
    for turn in TURNS[:turns]:
        reply: TurnReply = agent.turn(turn["query"])
        tally.turns += 1
        tally.remembered += (
            reply.event_id is not None and client.get_event(reply.event_id).response == reply.answer
        )
        tally.sealed += reply.seal is not None
        tally.checks += reply.passed is not None
        tally.failed_first += reply.drafts > 1
        tally.corrected += reply.drafts > 1 and reply.passed is True
        tally.passing += reply.passed is True
        tally.leaking += shows_lines(reply.text)
        tally.drafts += reply.drafts
    tally.usage = {name: value or 0.0 for name, value in agent.counts.overhead().items()}
    return tally


def alone(client: Client, draft: Drafter, user_id: str, turns: int) -> Tally:
    """Run a drafter with the same prompts but without the runtime.

    The benchmark itself stores and checks each draft, to count those that pass.
    """
    conversation, tally, service_ms = (
        Conversation(RuntimeOptions(user_id=user_id, session_id="exam")),
        Tally(),
        0.0,
    )
    for turn in TURNS[:turns]:
        steps, response, text = conversation.turn(turn["query"]), None, None
        while text is None:
            step = steps.send(response)
            if isinstance(step, DraftRequest):
                text = readable(draft(step.messages))
            else:
                start = time.perf_counter()
                response = send_call(client, step)
                service_ms += (time.perf_counter() - start) * 1000
        seal = render(
            conversation.counts.searches
        )  # the current step: one session, one search per turn
        steps.close()
        tally.turns += 1
        tally.drafts += 1
        tally.sealed += text.rstrip().endswith(seal)
        is_good = _passes(client, user_id, turn["query"], text)
        tally.passing += is_good
        tally.failed_first += not is_good
        tally.leaking += shows_lines(text)
        conversation.state.history += [
            {"role": "user", "content": turn["query"]},
            {"role": "assistant", "content": text},
        ]
        del conversation.state.history[: -2 * conversation.options.history_turns]
    tally.usage = {
        "tokens_in": conversation.counts.tokens_in / turns,
        "tokens_out": 0,
        "calls": 1.0,
        "service_ms": service_ms / turns,
    }
    return tally


def _passes(client: Client, user_id: str, query: str, response: str) -> bool:
    """Return True if a text passes the second look unchanged."""
    try:
        client.remember_turn(
            Turn(user_id=user_id, session_id="exam", query=query, response=response)
        )
        return client.look_again(SecondLook(draft=response, event_id="", span=0)).status == "pass"
    except (ClientError, ValueError):  # an empty text cannot be stored
        return False


@contextmanager
def service() -> Iterator[Client]:
    """Start a server on an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        records = open_records(Settings(data=Path(folder)))
        key = keys.create(records, account="exam", label="exam").key.reveal()
        records.close()
        with (
            Server(Path(folder), key) as server,
            Client(f"http://127.0.0.1:{server.port}", key) as client,
        ):
            yield client


@contextmanager
def small_model(python: str) -> Iterator[ModelEndpoint]:
    """Start the model of bench/small_model.py on a local port."""
    command = [python, str(Path(__file__).with_name("small_model.py"))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            sys.exit(
                f"{python} cannot run bench/small_model.py: `make exam-model` installs its packages"
            )
        try:
            yield ModelEndpoint(
                f"{url}/v1",
                "small",
                timeout_s=300,
                temperature=0,
                max_tokens=160,
                repeat_penalty=1.1,
            )
        finally:
            process.kill()


def _empty_on_error(model: ModelEndpoint) -> Drafter:
    """Wrap a model so that a failure counts as an empty draft."""

    def draft(messages: list[ChatMessage]) -> str:
        start = time.perf_counter()
        try:
            text = model(messages)
        except ModelEndpointError as error:
            print(f"no draft: {error}", file=sys.stderr)
            return ""
        print(
            f"draft: {len(text)} characters in {time.perf_counter() - start:.0f} s",
            file=sys.stderr,
        )
        return text

    return draft


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="ignored")
    parser.add_argument(
        "--served-by",
        metavar="PYTHON",
        help="interpreter that serves the small real model. Default: scripted drafters",
    )
    parser.add_argument("--turns", type=int, default=6, help="turns with a real model. Default: 6")
    options = parser.parse_args()
    with service() as client:
        if options.served_by:
            with small_model(options.served_by) as model:
                draft = _empty_on_error(model)
                rows = [
                    alone(client, draft, "alone", options.turns).row(
                        "SmolLM2-135M-Instruct", WITHOUT
                    )
                ]
                rows.append(
                    led(client, draft, "led", options.turns).row("SmolLM2-135M-Instruct", WITH)
                )
                usage = (
                    f"{model.tokens['prompt_tokens']:,} prompt tokens, "
                    f"{model.tokens['completion_tokens']:,} completion tokens."
                )
            write_section(
                "runtime-model",
                "Agent runtime with a small real model",
                "make exam-model",
                f"{options.turns} turns.\n\n{table(HEADS, rows)}\n\n{usage}",
            )
            return
        rows = []
        for name, drafter in DRAFTERS.items():
            rows.append(alone(client, drafter, f"{name}-alone", len(TURNS)).row(name, WITHOUT))
            rows.append(led(client, drafter, f"{name}-led", len(TURNS)).row(name, WITH))
    write_section(
        "runtime",
        "Agent runtime with scripted models",
        "python -m bench.runtime",
        f"{table(HEADS, rows)}\n\n{NOTES}",
    )


if __name__ == "__main__":
    main()
