"""The work of `remembrancer chat`: a terminal chat on the agent runtime.

Answers and the details of `--show` go to stdout. Errors and the output of slash commands go to
stderr. See docs/guides/chat.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..client import Client, Retry
from ..client.adapters.endpoint import ModelEndpoint, ModelEndpointError
from ..client.adapters.extractive import extractive_answer
from ..client.runtime import (
    CallFailed,
    ChatMessage,
    Conversation,
    DraftRequest,
    RuntimeOptions,
    ServiceCall,
    Step,
    TurnReply,
    run_turn,
    send_call,
)
from ..protocol.search import Hit, MemoryAnswer

PARTS = ("hits", "checks", "votes")
SNIPPET_CHARACTERS_MAX = 100
INSTRUCTIONS = "You answer questions and help with tasks. Be brief and plain."
HELP = """/show hits,checks,votes   show any of these below each answer (/show none: nothing)
/session NAME             switch to another session
/quit                     quit (or Ctrl-D)
//...                     send a message that starts with a slash"""


class Terminal:
    """Standard input and output of the chat, without escape codes if not a terminal."""

    def __init__(self) -> None:
        self.has_styles = sys.stdout.isatty()
        self.is_interactive = self.has_styles and sys.stdin.isatty()
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")

    def lines(self) -> Iterator[str]:
        """Yield the lines of the user until end of file."""
        if self.is_interactive:
            import readline  # noqa: F401 - importing it enables line editing

        while line := self._line():
            yield line.strip()

    def _line(self) -> str:
        """Read a line with its line break. Empty at end of file."""
        if not self.is_interactive:
            return sys.stdin.readline()
        try:
            return f"{input('> ')}\n"
        except EOFError:
            sys.stdout.write("\n")
            return ""

    def answer(self, text: str) -> None:
        """Print an answer."""
        sys.stdout.write(f"{printable(text)}\n")
        sys.stdout.flush()

    def detail(self, text: str) -> None:
        """Print a line of details below an answer."""
        dim, plain = ("\x1b[2m", "\x1b[0m") if self.has_styles else ("", "")
        sys.stdout.write(f"{dim}{printable(text)}{plain}\n")
        sys.stdout.flush()

    def notice(self, text: str) -> None:
        """Print a message that is not part of the conversation."""
        sys.stderr.write(f"{printable(text)}\n")
        sys.stderr.flush()


def printable(text: str) -> str:
    """Replace control characters: text from memory and models must not control the terminal."""
    return "".join(
        character if character in "\n\t" or character.isprintable() else "\ufffd"
        for character in text
    )


class TerminalChat:
    """One chat: its conversations by session, and the details to show."""

    def __init__(
        self,
        url: str,
        key: str,
        model: ModelEndpoint | None,
        *,
        user_id: str,
        session_id: str,
        show: str,
    ) -> None:
        """Create a chat with the service at `url`. Raises ValueError for invalid arguments."""
        self.client = Client(url, key, timeout_s=10.0, retry=Retry(times=1))
        self.model, self.terminal = model, Terminal()
        self.user_id, self.show = user_id, parse_details(show)
        self.sessions: dict[str, Conversation] = {}
        self.conversation = self._session(session_id)

    def _session(self, session_id: str) -> Conversation:
        if session_id not in self.sessions:
            options = RuntimeOptions(
                without_memory="continue",  # the user sees a note with each such answer
                user_id=self.user_id,
                session_id=session_id,
                instructions=INSTRUCTIONS,
            )
            if self.model is None:  # a quotation would be the same in every draft
                options = replace(options, redrafts_max=0)
            self.sessions[session_id] = Conversation(options)
        return self.sessions[session_id]

    def run(self) -> int:
        """Chat until the user quits. Return the exit status: 0 if every turn was stored."""
        if self.terminal.is_interactive:
            model = f"model {self.model.model}" if self.model else "no model: answers quote memory"
            session_id = self.conversation.options.session_id
            self.terminal.notice(f"Session {session_id}, {model}. /help lists the commands.")
        try:
            self._read_lines()
            return 0 if self._store_unsaved_turns() else 1
        except BrokenPipeError:
            # The interpreter flushes stdout at exit, which would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        finally:
            self.client.close()
            if self.model is not None:
                self.model.close()

    def _read_lines(self) -> None:
        try:
            for line in self.terminal.lines():
                if line == "/quit":
                    break
                if line.startswith("/") and not line.startswith("//"):
                    self._run_command(line)
                elif line:
                    self._turn(line.removeprefix("/") if line.startswith("//") else line)
        except KeyboardInterrupt:  # at the prompt
            self.terminal.notice("")

    def _run_command(self, line: str) -> None:
        command, _, argument = line.partition(" ")
        argument = argument.strip()
        if command == "/show":
            self._set_details(argument)
        elif command == "/session":
            try:
                self.conversation = self._session(argument) if argument else self.conversation
            except ValueError:
                self.terminal.notice("The session name must be one line of at most 256 characters.")
            self.terminal.notice(f"Session: {self.conversation.options.session_id}")
        else:
            self.terminal.notice(
                HELP if command == "/help" else f"Unknown command {command}.\n{HELP}"
            )

    def _set_details(self, argument: str) -> None:
        try:
            self.show = parse_details(argument) if argument else self.show
        except ValueError as error:
            self.terminal.notice(str(error))
        self.terminal.notice(f"Details: {', '.join(self.show) or 'none'}")

    def _turn(self, message: str) -> None:
        try:
            reply = self._reply(message)
        except KeyboardInterrupt:
            self.terminal.notice("Interrupted. This turn may not be stored.")
            return
        self.terminal.answer(reply.text)
        for error in reply.failures:
            self.terminal.notice(f"remembrancer: {error}")
        for line in render(reply, self.show):
            self.terminal.detail(line)

    def _reply(self, message: str) -> TurnReply:
        hits: Sequence[Hit] | None = None

        def run_step(step: Step) -> Any:
            nonlocal hits
            if isinstance(step, DraftRequest):
                return self._draft(step.messages, message, hits)
            result = send_call(self.client, step)
            hits = result.hits if isinstance(result, MemoryAnswer) else hits
            return result

        return run_turn(self.conversation, message, run_step)

    def _draft(self, messages: list[ChatMessage], message: str, hits: Sequence[Hit] | None) -> str:
        if self.model is not None:
            try:
                return self.model(messages)
            except ModelEndpointError as error:
                self.terminal.notice(f"remembrancer: {error}")
        return extractive_answer(message, hits)

    def _store_unsaved_turns(self) -> bool:
        """Retry the turns that could not be stored. Return True if none is lost."""
        lost = 0
        for conversation in self.sessions.values():
            for turn, key in conversation.unsaved:
                lost += isinstance(
                    send_call(self.client, ServiceCall("remember", turn, key)), CallFailed
                )
        if lost:
            self.terminal.notice(
                f"remembrancer: {lost} turn{'s were' if lost > 1 else ' was'} not stored: "
                "the service is unreachable."
            )
        return not lost


def parse_details(text: str) -> tuple[str, ...]:
    """Return the details to show, from names separated by commas or spaces, or `none`.

    Raises ValueError.
    """
    words = text.replace(",", " ").split()
    if words == ["none"]:
        return ()
    if unknown := [word for word in words if word not in PARTS]:
        raise ValueError(f"`{unknown[0]}` must be one of {','.join(PARTS)}, or none")
    return tuple(part for part in PARTS if part in words)


def render(reply: TurnReply, parts: Sequence[str]) -> Iterator[str]:
    """Yield the lines of details of a turn."""
    if "hits" in parts:
        for hit in reply.hits:
            snippet = " ".join(f"{hit.query} / {hit.response}".split())
            if len(snippet) > SNIPPET_CHARACTERS_MAX:
                snippet = f"{snippet[:SNIPPET_CHARACTERS_MAX]}\u2026"
            yield f"hit    {hit.event_id}  {hit.score:.2f}  {hit.occurred_at[:10]}  {snippet}"
        if not reply.hits:
            yield "hit    none"
    if "checks" in parts:
        state = {True: "pass", False: "fail", None: "none"}[reply.passed]
        drafts = f"{reply.drafts} draft{'s' if reply.drafts != 1 else ''}"
        yield f"check  {state} ({drafts}), seal: {reply.seal or 'none'}"
        yield from (f"check  {check}" for check in reply.failed_checks)
        yield from (f"remark {remark}" for remark in reply.remarks)
    if "votes" in parts:
        rates = {rate.cube_id: rate for rate in reply.lines.rates} if reply.lines else {}
        for cube in reply.cubes:
            rate = rates.get(cube.cube_id)
            if rate is None:
                vote = "not rated"
            else:
                vote = f"{rate.vote:+d} {rate.reason}".strip() if rate.vote else "0"
            yield f"vote   {cube.cube_id} ({cube.topic}): {vote}"
        if not reply.cubes:
            yield "vote   none: no lessons returned"


def chat_model(name: str | None, base_url: str | None, key: str | None) -> ModelEndpoint | None:
    """Return the model of the options, or None. Raises ValueError for incomplete options."""
    if name and base_url:
        return ModelEndpoint(base_url, name, key)
    if name or base_url or key:
        raise ValueError(
            "a model needs both --model and --base-url; --key-env names the variable with its key, "
            "if it needs one"
        )
    return None
