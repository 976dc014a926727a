"""The per-turn protocol without any input or output: steps come out, what they gave goes in, a reply comes at the end.

    search → draft → remember → second look (→ mend, remember, look again) → votes → the clean answer

docs/guides/runtime.md shows it at work and says what it does in each case. Source: specification, Per-turn agent protocol.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from ..protocol import limits
from ..protocol.cubes import CubeMade, CubeVote
from ..protocol.lines import SECTIONS, LineFault, Lines, Rate, parse
from ..protocol.memory import MemoryAnswer, Remembered, Turn
from ..protocol.pasted import REMOVED, pasted_keys, without_keys
from ..protocol.seal import render
from ..protocol.second_look import SecondLook, SecondLooked
from ..protocol.summaries import MapRequest, StartPack, StartQuery
from ..protocol.text import tokens
from .errors import (
    ClientError,
    Conflict,
    Internal,
    MethodNotAllowed,
    NotFound,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from .runtime_parts import NO_ANSWER, REASON_NOT_SAID, Parts, shortened
from .runtime_prompts import Asked, mending_message, system_message, user_message
from .runtime_standing import Standing
from .runtime_steps import Call, Draft, Failed, Reply, Step, readable, words_of

L1_SHARE = (0.05, 0.08)  # specification, Service lines: of the raw text
L1_CHARACTERS_MIN = 80  # ours: less cannot say anything
UNSAVED_MAX = 100  # ours: turns that wait for the service to come back

KEY_WARNING = (
    "Your message holds a key or password, so I did not read it, send it on or keep it. Please revoke that key and make a new one, keep "
    "the new one in an environment variable, and send your message again without it."
)
LOOK_AT_THE_DRAFT = "SECOND LOOK must reason about what DRAFT really says."
NOTE_UNSURE = "This answer may not fully meet the checks."
NOTE_NO_MEMORY = "Memory could not be reached, so this answer does without it, and this turn is not remembered."
NOTE_LATER = "Memory could not be reached, so this answer does without it. This turn is remembered once memory is back."
NOTE_NOT_KEPT = "This turn could not be remembered."
NOTE_KEPT_LATER = "This turn is remembered once memory is back."

_REF = re.compile(r"\(ref:[ \t]{0,4}([^\s(),]{1,256})")
_WORD = re.compile(r"\w*\d\w*|[^\W\d_]{4,}")
_WIDE = re.compile("(?=([\u2e80-\ud7ff]{2}))")  # two characters of a script that writes no blanks
_PASSING = (Unreachable, Unavailable, TooManyRequests, Internal)  # what a later try may mend


class Conversation(Standing):
    """One session of one agent. Not to be used by two turns at the same time."""

    def turn(self, message: str) -> Generator[Step, Any, Reply]:
        """One turn. Raises ValueError for a message that says nothing."""
        if not message.strip():
            raise ValueError("the message says nothing")
        if pasted_keys(message):
            self.counts.keys_caught += 1
            return Reply(answer=KEY_WARNING)
        return (yield from _Turn(self, readable(message)).run())


@dataclass(slots=True)
class _Tried:
    """One draft, and what is wrong with it."""

    lines: Lines
    failed: list[str] = field(default_factory=list)  # by the second look
    faults: list[LineFault] = field(default_factory=list)  # in its form
    passed: bool | None = None
    event_id: str | None = None
    is_saved: bool = False

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The less, the better."""
        return not self.lines.answer, not self.is_saved, len(self.failed) + len(self.faults)


class _Turn:
    """One turn on its way."""

    def __init__(self, conversation: Conversation, message: str) -> None:
        self.all, self.habits, self.counts, self.message = conversation, conversation.habits, conversation.counts, message
        self.recalled: MemoryAnswer | None = None
        self.notes: list[str] = []
        self.parts = Parts(conversation)
        self.remarks = self.parts.remarks
        self.failures: list[ClientError] = []
        self.l2_of: str | None = None
        self.rates: dict[str, Rate] = {}
        self.is_kept = False
        self.standing: str | None = None  # the event that stands for this turn in memory: of the latest draft that was kept
        self.held: set[str] = set()  # keys of what could not be kept in this turn

    def run(self) -> Generator[Step, Any, Reply]:
        """The whole of it."""
        self.counts.turns += 1
        self.recalled = yield from self._call("search", self.habits.query(self.message, self.all.last_seal))
        self.all.last_seal = None  # it is used up, whatever becomes of this turn
        if self.recalled is not None:
            self.counts.searched += 1
            self._note_due(self.recalled)
            yield from self._save_late()
            yield from self._gather_l2()
        tries = yield from self._drafts()
        best = min(reversed(tries), key=lambda tried: tried.rank)
        if self.recalled is None:
            self._hold(best)
        else:
            if not best.lines.answer or (best.is_saved and best.event_id != self.standing):  # what the user sees is what is kept
                yield from self._remember(best)
            yield from self._rate()
            yield from self._finish_l2()
        return self._reply(best, len(tries))

    def _call(self, what: str, message: Any, key: str | None = None) -> Generator[Step, Any, Any]:
        """One call of the service; gives None when it failed."""
        self.counts.calls[what] += 1
        got = yield Call(what, message, key)
        if not isinstance(got, Failed):
            return got
        self.counts.failures[words_of(got.error)] += 1
        self.failures.append(got.error)
        return None

    def _note_due(self, recalled: MemoryAnswer) -> None:
        """An agent that comes into a session after a restart learns from the reminders what is due."""
        reminders = recalled.reminders or []
        if recalled.duty_error:
            self.remarks.append(f"The service says: {recalled.duty_error}")
        self.all.l1_due |= any("L1 is due" in text for text in reminders)
        self.all.l2_due |= any("L2 is due" in text for text in reminders)

    def _save_late(self) -> Generator[Step, Any, None]:
        """Turns that could not be remembered when they were held."""
        while self.all.unsaved:
            turn, key = self.all.unsaved[0]
            if (yield from self._call("remember", turn, key)) is None:
                error = self.failures.pop()
                if isinstance(error, _PASSING):
                    return
                if not isinstance(error, Conflict):  # the same key with another body: the first one did arrive
                    self.remarks.append(f"A turn of {turn.occurred_at} could not be remembered: {error}")
                    del self.all.unsaved[0]
                    continue
            self.counts.remembered_late += 1
            del self.all.unsaved[0]

    def _gather_l2(self) -> Generator[Step, Any, None]:
        """What an L2 is to be made of, when one is due."""
        if not self.all.l2_due:
            return
        query = StartQuery(session_id=self.habits.session_id, user_id=self.habits.user_id, format="json")
        pack: StartPack | None = yield from self._call("start pack", query)
        if pack is not None and pack.parts is not None:
            self.l2_of = "\n\n".join(text for text in (pack.parts.map, *reversed(pack.parts.summaries)) if text)
            self.parts.asked_l2 = True
            self.counts.summaries_asked += 1

    def _asked(self) -> Asked | None:
        if self.recalled is None:
            return None
        self.parts.asked_l1 = self.all.l1_due
        self.counts.summaries_asked += self.parts.asked_l1
        told, self.all.to_tell = self.all.to_tell, []
        whole = self.all.raw_characters
        least, most = (max(L1_CHARACTERS_MIN, int(whole * share)) for share in L1_SHARE)
        return Asked(
            step=self.recalled.step,
            name=self.habits.name,
            rate=self._new_cubes(),
            l1_characters=(least, max(most, 2 * L1_CHARACTERS_MIN)) if self.parts.asked_l1 else None,
            l2_of=self.l2_of,
            told=told,
        )

    def _new_cubes(self) -> list[str]:
        return [cube.cube_id for cube in self.recalled.shared_cubes if cube.note.startswith("new")] if self.recalled else []

    def _drafts(self) -> Generator[Step, Any, list[_Tried]]:
        """Drafts until one has nothing wrong with it, at most as many as there may be."""
        opening = user_message(self.message, self.recalled, self._asked())
        first = system_message(self.habits.instructions, self.habits.name, full=self.habits.full_protocol)
        messages = [first, *self.all.history, opening]
        self.counts.tokens_in += tokens(first["content"] + opening["content"]) - tokens(self.habits.instructions + self.message)
        tries: list[_Tried] = []
        while True:
            text: Any = yield Draft(list(messages))
            if not isinstance(text, str):
                raise TypeError(f"a draft is a text, not {type(text).__name__}")
            tried = yield from self._try(self._clean(text), is_first=not tries)
            tries.append(tried)
            if (not tried.failed and not tried.faults) or len(tries) > self.habits.redrafts_max:
                return tries
            self.counts.redrafts += 1
            messages += [{"role": "assistant", "content": self._clean(text)}, mending_message(tried.failed, tried.faults)]
            self.counts.tokens_in += tokens("".join(message["content"] for message in messages))

    def _clean(self, text: str) -> str:
        return without_keys(readable(text))

    def _try(self, text: str, *, is_first: bool) -> Generator[Step, Any, _Tried]:
        """Take a draft apart, remember it, look at it again."""
        shown = None if self.recalled is None else [cube.cube_id for cube in self.recalled.shared_cubes]
        lines = parse(text, step=self.recalled.step if self.recalled else None, cubes_shown=shown, name=self.habits.name)
        tried = _Tried(lines, faults=self._faults(lines))
        self._count_draft(text, lines, is_first=is_first)
        self.rates.update((rate.cube_id, rate) for rate in lines.rates)
        if self.recalled is not None and lines.answer:
            yield from self._remember(tried)
            if tried.is_saved:
                yield from self._look(tried)
        if (
            self.habits.full_protocol
            and lines.sections
            and not _is_about(lines.sections.get("SECOND LOOK", ""), lines.sections.get("DRAFT", ""))
        ):
            tried.failed.append(LOOK_AT_THE_DRAFT)
        return tried

    def _faults(self, lines: Lines) -> list[LineFault]:
        """What must be mended in a draft's form; the rest is only counted: the user need not wait for a line to be written better."""
        faults = [fault for fault in lines.faults if fault.code in ("answer_empty", "sections_order")]
        if self.habits.full_protocol and list(lines.sections) != list(SECTIONS) and not lines.errors.count("sections_order"):
            faults.append(LineFault("sections_order"))
        return faults

    def _count_draft(self, text: str, lines: Lines, *, is_first: bool) -> None:
        self.counts.drafts += 1
        self.counts.line_faults.update(fault.code for fault in lines.faults)
        self.counts.tokens_out += tokens(text) - (tokens(lines.answer) if is_first else 0)
        if REMOVED in text:
            self.remarks.append("A key was taken out of what the agent wrote.")
        if is_first and self.recalled is not None:
            self.counts.sealed += not any(code.startswith("seal_") for code in lines.errors)

    def _remember(self, tried: _Tried) -> Generator[Step, Any, None]:
        """Keep a draft as the turn's answer, with what it says that the service has not got yet."""
        before = set(self.parts.sent)
        turn = self.parts.turn(self.message, tried.lines)
        key = self.all.new_key()
        saved: Remembered | None = yield from self._call("remember", turn.model_copy(update={"replaces": self.standing}), key)
        if saved is None and self.standing and isinstance(self.failures[-1], Conflict | NotFound):  # another came in between
            self.failures.pop()
            saved = yield from self._call("remember", turn, key := self.all.new_key())
        if saved is None:
            if not self.is_kept:  # an earlier draft is there
                self._not_kept(turn, key)
            self.parts.sent = before
            return
        if not self.is_kept:
            self.counts.remembered += 1
            self.all.turns += 1
            self.is_kept = True
            self.all.unsaved = [entry for entry in self.all.unsaved if entry[1] not in self.held]  # an earlier draft of this turn
            self.notes.clear()
        tried.event_id, tried.is_saved, self.standing = saved.event_id, True, saved.event_id
        self.all.l1_due, self.all.l2_due = saved.l1_due, saved.l2_due
        if turn.l1_summary is not None:
            self.all.raw_characters = 0
        self.counts.summaries_given += (turn.l1_summary is not None) + (turn.l2_map is not None)
        if turn.has_cube:
            self._note_cube(saved)

    def _not_kept(self, turn: Turn, key: str) -> None:
        error = self.failures[-1]
        self.remarks.append(f"The turn was not remembered: {error}")
        if isinstance(error, _PASSING):
            self.notes[:] = [NOTE_KEPT_LATER]
            self._keep_for_later(turn, key)
        else:
            self.notes[:] = [NOTE_NOT_KEPT]

    def _keep_for_later(self, turn: Turn, key: str) -> None:
        self.all.unsaved = [entry for entry in self.all.unsaved if entry[1] not in self.held]
        self.held.add(key)
        self.all.unsaved.append((turn.model_copy(update={"occurred_at": self.all.now()}), key))
        while len(self.all.unsaved) > UNSAVED_MAX:
            lost, _ = self.all.unsaved.pop(0)
            self.remarks.append(f"More than {UNSAVED_MAX} turns wait for memory; that of {lost.occurred_at} is given up.")

    def _hold(self, best: _Tried) -> None:
        """There was no search, so the service is left alone for the rest of the turn."""
        error = self.failures[0]
        self.remarks.append(f"Memory was not searched: {error}")
        if isinstance(error, _PASSING):
            self.notes.append(NOTE_LATER)
            self._keep_for_later(self.parts.turn(self.message, best.lines), self.all.new_key())
        else:
            self.notes.append(NOTE_NO_MEMORY)

    def _note_cube(self, saved: Remembered) -> None:
        if isinstance(saved.cube, CubeMade):
            self.counts.cubes_made += 1
            self.all.cube_turn = self.all.turns
        else:
            self.counts.cubes_refused += 1
            self.parts.tell(f"The cube was not made: {saved.cube}")

    def _look(self, tried: _Tried) -> Generator[Step, Any, None]:
        """The second look at a remembered draft."""
        if not self.all.can_look:
            self.counts.looks_missing += 1
            return
        recalled = self.recalled
        assert recalled is not None
        cited = _REF.search(tried.lines.answer)
        look = SecondLook(draft=tried.lines.answer, event_id=cited[1] if cited else "", span=recalled.total_hits)
        looked: SecondLooked | None = yield from self._call("second look", look)
        if looked is None:
            self.counts.looks_missing += 1
            if isinstance(self.failures[-1], NotFound | MethodNotAllowed):
                self.failures.pop()
                self.all.can_look = False  # this service has none; it is not asked again
            else:
                self.remarks.append(f"There was no second look: {self.failures[-1]}")
            return
        tried.passed = looked.status == "pass"
        if tried.passed:
            self.counts.looks_passed += 1
        else:
            self.counts.looks_failed += 1
            tried.failed = _failed(looked) or ["The second look did not pass; it did not say why."]

    def _rate(self) -> Generator[Step, Any, None]:
        """Votes for what was rated, and one duty for all that was not, or with 0."""
        new = self._new_cubes()
        self.counts.cubes_to_rate += len(new)
        self.counts.cubes_rated += sum(cube_id in self.rates for cube_id in new)
        for rate in self.rates.values():
            if rate.vote:
                reason = self.parts.cut("reason of a vote", rate.reason, limits.REASON_CHARACTERS_MAX) or None
                vote = CubeVote(cube_id=rate.cube_id, user_id=self.habits.user_id, vote=rate.vote, reason=reason)
                if (yield from self._call("vote", vote)) is None:
                    self.remarks.append(f"A vote was not counted: {self.failures[-1]}")
        left = [cube_id for cube_id in new if cube_id not in self.rates or not self.rates[cube_id].vote]
        if not left:
            return
        said = (
            f"{cube_id}: {self.rates[cube_id].reason or 'not relevant' if cube_id in self.rates else REASON_NOT_SAID}" for cube_id in left
        )
        reason = shortened("; ".join(said), limits.DUTY_REASON_CHARACTERS_MAX)
        duty = Turn(user_id=self.habits.user_id, session_id=self.habits.session_id, duty="vote_nothing", duty_reason=reason)
        if (yield from self._call("duty", duty, self.all.new_key())) is None:
            self.remarks.append(f"A duty was not closed: {self.failures[-1]}")
        else:
            self.counts.cubes_closed += len(left)

    def _finish_l2(self) -> Generator[Step, Any, None]:
        """An L2 that was asked for and not written is made by the service, of the L1s' own sentences."""
        if self.l2_of is not None and "L2" not in self.parts.sent:
            made = yield from self._call("map", MapRequest(user_id=self.habits.user_id), self.all.new_key())
            self.all.l2_due = made is None

    def _reply(self, best: _Tried, drafts: int) -> Reply:
        answer = best.lines.answer or NO_ANSWER
        if best.failed or best.faults:
            self.notes.insert(0, NOTE_UNSURE)
        self.all.raw_characters += 0 if "L1" in self.parts.sent else len(self.message) + len(answer)
        self.all.history += [{"role": "user", "content": self.message}, {"role": "assistant", "content": answer}]
        del self.all.history[: -2 * self.habits.history_turns or None]
        recalled = self.recalled
        seal = render(recalled.step, self.habits.name) if recalled and self.is_kept else None
        self.all.last_seal = seal
        return Reply(
            answer=answer,
            notes=tuple(self.notes),
            remarks=tuple(self.remarks),
            passed=best.passed,
            failed_checks=tuple(best.failed),
            drafts=drafts,
            event_id=best.event_id,
            step=recalled.step if recalled else None,
            seal=seal,
            hits=tuple(recalled.hits) if recalled else (),
            cubes=tuple(recalled.shared_cubes) if recalled else (),
            lines=best.lines,
            failures=tuple(self.failures),
        )


def _failed(looked: SecondLooked) -> list[str]:
    """What the failed checks say, each in a line."""
    failed = [check for check in looked.checks if check.status != "pass"]
    return [f"{check.check}: {check.detail}" + (f" ({check.claim})" if check.claim else "") for check in failed]


def _is_about(look: str, draft: str) -> bool:
    """Whether a text takes up at least one word or number of another."""
    look, draft = look.casefold(), draft.casefold()
    return any(word in look for word in (*_WORD.findall(draft), *_WIDE.findall(draft)))
