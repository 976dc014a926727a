"""A chat on the terminal, or through pipes, that the agent runtime leads.
docs/guides/terminal-chat.md shows it.

Answers go to stdout, what `--show` asks for below them. What went wrong, and answers to words such
as /show, go to stderr.
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
from ..protocol.memory import Hit, MemoryAnswer

SERVICE_URL = (
    "http://127.0.0.1:8460"  # where `remembrancer serve` listens when nobody says otherwise
)
PARTS = ("hits", "checks", "votes")
SNIPPET_CHARACTERS_MAX = 100
INSTRUCTIONS = "You answer questions and help with tasks. Be brief and plain."
WORDS = """/show hits,checks,votes   show these below each answer (any of them; /show none: nothing)
/session NAME             go on in another session
/quit                     end, as Ctrl-D does
//...                     a message that begins with one slash"""


class Terminal:
    """Where the chat is held: lines in, answers and asides out. Plain where it is no terminal."""

    def __init__(self) -> None:
        self.is_drawn = sys.stdout.isatty()
        self.is_talk = self.is_drawn and sys.stdin.isatty()
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")

    def lines(self) -> Iterator[str]:
        """What the user types, line by line, until the end of it."""
        if self.is_talk:
            import readline  # noqa: F401 - being imported, it lets a line be edited as it is typed

        while line := self._line():
            yield line.strip()

    def _line(self) -> str:
        """The next line with its end; nothing when there is none."""
        if not self.is_talk:
            return sys.stdin.readline()
        try:
            return f"{input('> ')}\n"
        except EOFError:
            sys.stdout.write("\n")
            return ""

    def answer(self, text: str) -> None:
        """The answer."""
        sys.stdout.write(f"{printable(text)}\n")
        sys.stdout.flush()

    def beside(self, text: str) -> None:
        """What stands below an answer because it was asked for."""
        dim, plain = ("\x1b[2m", "\x1b[0m") if self.is_drawn else ("", "")
        sys.stdout.write(f"{dim}{printable(text)}{plain}\n")
        sys.stdout.flush()

    def aside(self, text: str) -> None:
        """What is no part of the conversation."""
        sys.stderr.write(f"{printable(text)}\n")
        sys.stderr.flush()


def printable(text: str) -> str:
    """The text without what would steer a terminal: memory and models may say anything."""
    return "".join(
        character if character in "\n\t" or character.isprintable() else "\ufffd"
        for character in text
    )


class TerminalChat:
    """One chat: a conversation for each session of it, and what is to be shown."""

    def __init__(
        self,
        client: Client,
        model: ModelEndpoint | None,
        terminal: Terminal,
        *,
        user_id: str,
        session_id: str,
        show: Sequence[str],
    ) -> None:
        """Raises ValueError for ids that the service would not take."""
        self.client, self.model, self.terminal, self.user_id, self.show = (
            client,
            model,
            terminal,
            user_id,
            tuple(show),
        )
        self.sessions: dict[str, Conversation] = {}
        self.conversation = self._session(session_id)

    def _session(self, session_id: str) -> Conversation:
        if session_id not in self.sessions:
            habits = RuntimeOptions(
                user_id=self.user_id, session_id=session_id, instructions=INSTRUCTIONS
            )
            quoting = replace(habits, redrafts_max=0)  # a quotation comes out the same each time
            self.sessions[session_id] = Conversation(habits if self.model else quoting)
        return self.sessions[session_id]

    def hold(self) -> bool:
        """Talk until the user ends it; whether every turn was kept that could be."""
        lines = self.terminal.lines()
        try:
            for line in lines:
                if line == "/quit":
                    break
                if line.startswith("/") and not line.startswith("//"):
                    self._word(line)
                elif line:
                    self._turn(line.removeprefix("/") if line.startswith("//") else line)
        except KeyboardInterrupt:  # at the prompt
            self.terminal.aside("")
        return self._keep_what_waits()

    def _word(self, line: str) -> None:
        word, _, said = line.partition(" ")
        said = said.strip()
        if word == "/show":
            self._show(said)
        elif word == "/session":
            try:
                self.conversation = self._session(said) if said else self.conversation
            except ValueError:
                self.terminal.aside("A session's name is one line of at most 256 characters.")
            self.terminal.aside(f"Session: {self.conversation.options.session_id}")
        else:
            self.terminal.aside(WORDS if word == "/help" else f"There is no {word}.\n{WORDS}")

    def _show(self, said: str) -> None:
        try:
            self.show = prompt_parts(said) if said else self.show
        except ValueError as error:
            self.terminal.aside(str(error))
        self.terminal.aside(f"Shown: {', '.join(self.show) or 'nothing'}")

    def _turn(self, message: str) -> None:
        try:
            reply = self._led(message)
        except KeyboardInterrupt:
            self.terminal.aside("Stopped. This turn may not be remembered.")
            return
        self.terminal.answer(reply.text)
        for error in reply.failures:
            self.terminal.aside(f"remembrancer: {error}")
        for line in render(reply, self.show):
            self.terminal.beside(line)

    def _led(self, message: str) -> TurnReply:
        hits: Sequence[Hit] | None = None

        def take(step: Step) -> Any:
            nonlocal hits
            if isinstance(step, DraftRequest):
                return self._draft(step.messages, message, hits)
            got = send_call(self.client, step)
            hits = got.hits if isinstance(got, MemoryAnswer) else hits
            return got

        return run_turn(self.conversation, message, take)

    def _draft(self, messages: list[ChatMessage], message: str, hits: Sequence[Hit] | None) -> str:
        if self.model is not None:
            try:
                return self.model(messages)
            except ModelEndpointError as error:
                self.terminal.aside(f"remembrancer: {error}")
        return extractive_answer(message, hits)

    def _keep_what_waits(self) -> bool:
        """One more try for the turns that wait for the service."""
        lost = 0
        for conversation in self.sessions.values():
            for turn, key in conversation.unsaved:
                lost += isinstance(
                    send_call(self.client, ServiceCall("remember", turn, key)), CallFailed
                )
        if lost:
            self.terminal.aside(
                f"remembrancer: {lost} turn{'s are' if lost > 1 else ' is'} not remembered: the service could not be reached."
            )
        return not lost


def prompt_parts(said: str) -> tuple[str, ...]:
    """The parts to show, from words with commas or blanks between them; `none` is none.

    Raises ValueError.
    """
    words = said.replace(",", " ").split()
    if words == ["none"]:
        return ()
    if wrong := [word for word in words if word not in PARTS]:
        raise ValueError(
            f"there is no `{wrong[0]}` to show: it is any of {','.join(PARTS)}, or none"
        )
    return tuple(part for part in PARTS if part in words)


def render(reply: TurnReply, parts: Sequence[str]) -> Iterator[str]:
    """What is to be shown of a turn, line by line."""
    if "hits" in parts:
        for hit in reply.hits:
            said = " ".join(f"{hit.query} / {hit.response}".split())
            said = (
                said
                if len(said) <= SNIPPET_CHARACTERS_MAX
                else f"{said[:SNIPPET_CHARACTERS_MAX]}\u2026"
            )
            yield f"hit    {hit.event_id}  {hit.score:.2f}  {hit.occurred_at[:10]}  {said}"
        if not reply.hits:
            yield "hit    none"
    if "checks" in parts:
        state = {True: "pass", False: "fail", None: "none"}[reply.passed]
        yield f"check  {state} ({reply.drafts} draft{'s' if reply.drafts != 1 else ''}), seal: {reply.seal or 'none'}"
        yield from (f"check  {told}" for told in reply.failed_checks)
        yield from (f"remark {told}" for told in reply.remarks)
    if "votes" in parts:
        rates = {rate.cube_id: rate for rate in reply.lines.rates} if reply.lines else {}
        for cube in reply.cubes:
            rate = rates.get(cube.cube_id)
            said = (
                f"{rate.vote:+d} {rate.reason}".strip()
                if rate and rate.vote
                else "not rated now"
                if not rate
                else "0"
            )
            yield f"vote   {cube.cube_id} ({cube.topic}): {said}"
        if not reply.cubes:
            yield "vote   none: no lesson was shown"


def chat_model(name: str | None, base_url: str | None, key: str | None) -> ModelEndpoint | None:
    """The model that the command line names, if any. Raises ValueError for half of one."""
    if name and base_url:
        return ModelEndpoint(base_url, name, key)
    if name or base_url or key:
        raise ValueError(
            "a model needs both --model and --base-url; --key-env names the variable with its key where it needs one"
        )
    return None


def terminal_chat(
    url: str, key: str, model: ModelEndpoint | None, *, user_id: str, session_id: str, show: str
) -> TerminalChat:
    """A chat with the service at `url`. Raises ValueError for words that cannot be right."""
    client = Client(url, key, timeout_s=10.0, retry=Retry(times=1))
    return TerminalChat(
        client, model, Terminal(), user_id=user_id, session_id=session_id, show=prompt_parts(show)
    )


def run_chat(chat: TerminalChat) -> int:
    """Hold a chat to its end; the exit status."""
    if chat.terminal.is_talk:
        who = f"model {chat.model.model}" if chat.model else "no model: memory is quoted"
        chat.terminal.aside(
            f"Session {chat.conversation.options.session_id}, {who}. /help lists what else can be said."
        )
    try:
        return 0 if chat.hold() else 1
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # so that the interpreter's last flush has somewhere to go
        return 1
