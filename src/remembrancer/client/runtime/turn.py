"""State machine of one turn, without I/O: service lines, saving, and the conversation."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

from ...protocol import limits
from ...protocol.agent import SecondLook, SecondLooked
from ...protocol.constitution import protocol_text
from ...protocol.cubes import CubeMade, CubeVote
from ...protocol.fence import data_line, fenced, indented, new_delimiter, one_line
from ...protocol.line import CubeText
from ...protocol.lines import FAULTS, SECTIONS, LineFault, Lines, parse
from ...protocol.memory import Remembered, Turn
from ...protocol.memory_claims import MemoryClaims, turn_texts
from ...protocol.pasted import REMOVED, pasted_keys, without_keys
from ...protocol.recalled import answer_items, imitated_line
from ...protocol.seal import render
from ...protocol.search import MemoryAnswer
from ...protocol.summaries import MapRequest, StartPack, StartQuery
from ...protocol.text import tokens
from ..errors import (
    ClientError,
    ConflictError,
    InternalError,
    InvalidResponseError,
    MethodNotAllowedError,
    NotFoundError,
    ServiceError,
    TooManyRequestsError,
    UnavailableError,
    UnreachableError,
)
from ..turns import readable
from .session import (
    FULL_PROTOCOL,
    NO_MEMORY,
    CallFailed,
    Draft,
    DraftAttempt,
    DraftRequest,
    ServiceCall,
    SessionState,
    Step,
    TurnReply,
    TurnState,
    recalled_text,
)

# --- Conversion of a draft's service lines into a `remember` request -------------------------
# Each part is sent once per turn and cut to the limits of the service. Everything cut or omitted is
# reported.

NO_ANSWER = "I have no answer to this."
NO_REASON = "the agent did not say"


def remember_body(turn: TurnState, lines: Lines) -> Turn:
    """Return the body that saves a draft, and record its parts as sent."""
    fields: dict[str, Any] = {
        "query": turn.message,
        "response": lines.answer or NO_ANSWER,
        "task_done": True if lines.task_done else None,
    }
    if lines.critical and _is_first(turn, f"critical {lines.critical}"):
        fields["critical"] = cut(turn, "fact", lines.critical, limits.CRITICAL_CHARACTERS_MAX)
        fields["critical_replaces"] = _shown_fact(turn, lines.critical_replaces)
    if lines.l1 and _is_due(turn, "L1", is_wanted=turn.wants_l1):
        fields["l1_summary"] = cut(turn, "L1", lines.l1, limits.L1_CHARACTERS_MAX)
    if lines.l2 and _is_due(turn, "L2", is_wanted=turn.l2_source is not None):
        fields["l2_map"] = cut(turn, "L2", lines.l2, limits.MAP_CHARACTERS_MAX)
    fields |= _cube_fields(turn, lines)
    if turn.options.project:
        fields["metadata"] = {"project": turn.options.project}
    return Turn(user_id=turn.options.user_id, session_id=turn.options.session_id, **fields)


def _shown_fact(turn: TurnState, fact_id: str | None) -> str | None:
    """Return the id of a fact that holds and was shown in this turn; report another one.

    The service would refuse it, and the turn with it.
    """
    shown = turn.recalled.facts if turn.recalled else ()
    if fact_id is None or any(one.fact_id == fact_id and one.status == "current" for one in shown):
        return fact_id
    turn.report(f"The fact replaces nothing: this turn was not shown a current {fact_id}.")
    return None


def _is_first(turn: TurnState, part: str) -> bool:
    """Return True the first time a turn sends this part; record it."""
    is_first = part not in turn.sent_parts
    turn.sent_parts.add(part)
    return is_first


def _is_due(turn: TurnState, part: str, *, is_wanted: bool) -> bool:
    if not is_wanted:
        turn.report(f"The {part} was omitted: none is due in this turn.")
    return is_wanted and _is_first(turn, part)


def _imitates(cube: CubeText) -> bool:
    """Return True if the service would refuse the cube, and the turn with it."""
    return any(imitated_line(text) for text in (cube.topic, cube.essence, cube.rule))


def _cube_fields(turn: TurnState, lines: Lines) -> dict[str, Any]:
    """Return the proposed cube, or the duty that says why there is none.

    Empty if the service received either in this turn.
    """
    if lines.cube and _is_cube_too_soon(turn):
        turn.counts.cubes_refused += _is_first(turn, "refused cube")
        turn.report(
            f"At most one cube in {limits.TURNS_PER_CUBE_MIN} turns: `{lines.cube.topic}` was left "
            "out; propose it again later."
        )
        reason = "a cube was made less than 3 turns ago"
    elif lines.cube and _imitates(lines.cube):
        reason = "the cube has a line that begins like one of the service"
        turn.report(f"The cube was left out: {reason}.")
    elif lines.cube:
        is_first = _is_first(turn, "cube")
        return _proposed_cube(turn, lines.cube, publish=lines.publish) if is_first else {}
    else:
        reason = lines.cube_nothing or NO_REASON
    if "cube" in turn.sent_parts or not _is_first(turn, "cube_nothing"):
        return {}
    reason = cut(turn, "reason", reason, limits.DUTY_REASON_CHARACTERS_MAX)
    return {"duty": "cube_nothing", "duty_reason": reason}


def _is_cube_too_soon(turn: TurnState) -> bool:
    session = turn.session
    if session.last_cube_turn is None:
        return False
    return session.turns_saved + 1 - session.last_cube_turn < limits.TURNS_PER_CUBE_MIN


def _proposed_cube(turn: TurnState, cube: CubeText, *, publish: bool) -> dict[str, Any]:
    topic_max = limits.PUBLISHED_TOPIC_CHARACTERS_MAX
    essence_max = limits.PUBLISHED_ESSENCE_CHARACTERS_MAX
    rules_max = limits.PUBLISHED_RULES_CHARACTERS_MAX
    return {
        "cube_type": cube.kind,
        "cube_topic": cut(turn, "cube's topic", cube.topic, topic_max),
        "cube_essence": cut(turn, "cube's essence", cube.essence, essence_max),
        "cube_rules": cut(turn, "cube's rule", f"- {cube.rule}", rules_max),
        "cube_publish": publish,
    }


def cut(turn: TurnState, part: str, text: str, characters_max: int) -> str:
    """Shorten a text to the limit and report it."""
    if len(text) <= characters_max:
        return text
    turn.report(f"The {part} was cut to {characters_max} characters.")
    return shorten(text, characters_max)


def shorten(text: str, characters_max: int) -> str:
    """Return at most `characters_max` characters, cut after a word in the second half if any."""
    if len(text) <= characters_max:
        return text
    head = text[: characters_max - 1]
    space = max(head.rfind(" "), head.rfind("\n"))
    if not text[characters_max - 1].isspace() and space > characters_max // 2:
        head = head[:space]
    return f"{head.rstrip()}\u2026"


# --- Saving turns in memory: at once, later, or queued until the service is available again --

UNSAVED_MAX = 100  # turns that wait until the service is available again
NOTE_NOT_SAVED = "This turn could not be remembered."
NOTE_SAVED_LATER = "This turn will be remembered when memory is available again."
# Errors that a later attempt may not meet.
TRANSIENT = (UnreachableError, UnavailableError, TooManyRequestsError, InternalError)

T = TypeVar("T")
Steps: TypeAlias = Generator[Step, Any, T]  # of a part of a turn, which returns T


def call(
    turn: TurnState, purpose: str, body: Any, idempotency_key: str | None = None
) -> Steps[Any]:
    """Call the service. Return its answer, or None if the call fails."""
    turn.counts.calls[purpose] += 1
    answer = yield ServiceCall(purpose, body, idempotency_key)
    if not isinstance(answer, CallFailed):
        return answer
    turn.counts.failures[_error_code(answer.error)] += 1
    turn.failures.append(answer.error)
    return None


def _error_code(error: ClientError) -> str:
    if isinstance(error, ServiceError):
        return error.error
    if isinstance(error, UnreachableError):
        return "unreachable"
    return "wrong_answer" if isinstance(error, InvalidResponseError) else "unknown"


def save_late(turn: TurnState) -> Steps[None]:
    """Save the turns that could not be saved earlier, oldest first."""
    unsaved = turn.session.unsaved
    while unsaved:
        body, key = unsaved[0]
        if (yield from call(turn, "remember", body, key)) is None:
            error = turn.failures.pop()
            if isinstance(error, TRANSIENT):
                return
            # A conflict means that the first request did arrive under this key.
            if not isinstance(error, ConflictError):
                turn.remarks.append(
                    f"A turn of {body.occurred_at} could not be remembered: {error}"
                )
                del unsaved[0]
                continue
        turn.counts.turns_saved_late += 1
        del unsaved[0]


def remember(turn: TurnState, attempt: DraftAttempt) -> Steps[None]:
    """Save a draft, in place of an earlier draft of this turn."""
    parts_before = set(turn.sent_parts)
    body, key = remember_body(turn, attempt.lines), turn.session.new_key()
    replacing = body.model_copy(update={"replaces": turn.event_id})
    answer = yield from call(turn, "remember", replacing, key)
    if (
        answer is None
        and turn.event_id
        and isinstance(turn.failures[-1], ConflictError | NotFoundError)
    ):  # another event was saved in between
        turn.failures.pop()
        key = turn.session.new_key()
        answer = yield from call(turn, "remember", body, key)
    if answer is not None:
        _record_save(turn, attempt, body, answer)
        return
    if not turn.is_saved:  # otherwise an earlier draft is saved
        _report_unsaved(turn, body, key)
    turn.sent_parts = parts_before


def _record_save(turn: TurnState, attempt: DraftAttempt, body: Turn, answer: Remembered) -> None:
    session, counts = turn.session, turn.counts
    if not turn.is_saved:
        turn.is_saved = True
        counts.turns_saved += 1
        session.turns_saved += 1
        _forget_postponed(turn)
        turn.notes.clear()
    attempt.is_saved = True
    attempt.event_id = turn.event_id = answer.event_id
    session.l1_due = answer.l1_due
    if body.l1_summary is not None:
        session.characters_since_l1 = 0
    counts.summaries_written += (body.l1_summary is not None) + (body.l2_map is not None)
    if not body.has_cube:
        return
    if isinstance(answer.cube, CubeMade):
        counts.cubes_made += 1
        session.last_cube_turn = session.turns_saved
    else:
        counts.cubes_refused += 1
        turn.report(f"The cube was not made: {answer.cube}")


def _report_unsaved(turn: TurnState, body: Turn, key: str) -> None:
    error = turn.failures[-1]
    turn.remarks.append(f"The turn was not remembered: {error}")
    if isinstance(error, TRANSIENT):
        turn.notes[:] = [NOTE_SAVED_LATER]
        postpone(turn, body, key)
    else:
        turn.notes[:] = [NOTE_NOT_SAVED]


def postpone(turn: TurnState, body: Turn, key: str) -> None:
    """Queue a turn until the service is available again. The oldest are dropped at the limit."""
    unsaved = turn.session.unsaved
    _forget_postponed(turn)
    turn.postponed_keys.add(key)
    unsaved.append((body.model_copy(update={"occurred_at": turn.session.now()}), key))
    while len(unsaved) > UNSAVED_MAX:
        dropped, _ = unsaved.pop(0)
        turn.remarks.append(
            f"More than {UNSAVED_MAX} turns wait for memory; that of {dropped.occurred_at} is "
            "given up."
        )


def _forget_postponed(turn: TurnState) -> None:
    """Remove earlier drafts of this turn from the queue."""
    unsaved = turn.session.unsaved
    unsaved[:] = [entry for entry in unsaved if entry[1] not in turn.postponed_keys]


# --- State machine of one turn, without I/O --------------------------------------------------
# search → draft → remember → second look (→ draft, remember, second look) → votes → reply
#
# `run` yields the steps of a turn, receives their answers, and returns the reply.
# `docs/guides/runtime.md` describes every case; the protocol is
# `docs/reference/specification.md#turn-order`.

# Length of an L1 as a share of the text it summarizes
# (docs/reference/specification.md#l1-ratio).
L1_SHARE = (0.05, 0.08)
L1_CHARACTERS_MIN = 80  # a shorter summary cannot say anything useful

STOPPED = (
    "Memory is not available, so I stopped before answering. Nothing was saved. Please send your "
    "message again later."
)
CHECK_THE_DRAFT = "SECOND LOOK must reason about what DRAFT really says."
NOTE_UNSURE = "This answer may not fully meet the checks."
NOTE_NO_MEMORY = (
    "Memory could not be reached, so this answer was written without it and this turn is not "
    "remembered."
)
NOTE_LATER = (
    "Memory could not be reached, so this answer was written without it. "
    "This turn will be remembered when memory is available again."
)

_REF = re.compile(r"\(ref:[ \t]{0,4}([^\s(),]{1,256})")
_WORD = re.compile(r"(?<!\w)\w*\d\w*|[^\W\d_]{4,}")
_WIDE_PAIR = re.compile("(?=([\u2e80-\ud7ff]{2}))")  # for scripts without spaces


def run(turn: TurnState) -> Steps[TurnReply]:
    """Run a turn; search memory with the seal of the previous one."""
    turn.counts.turns += 1
    query = turn.options.query(turn.message, turn.session.last_seal)
    answer = yield from call(turn, "search", query)
    turn.session.last_seal = None  # a seal is sent once, even if the turn fails
    if answer is not None:
        _take_search(turn, answer)
        yield from save_late(turn)
        yield from _load_start(turn)
    elif turn.options.without_memory == "stop":
        return _stopped(turn)
    _open_messages(turn)
    yield from _draft(turn)
    while turn.attempts[-1].has_problems and len(turn.attempts) <= turn.options.redrafts_max:
        _request_revision(turn)
        yield from _draft(turn)
    best = turn.best
    if turn.recalled is None:
        _end_without_memory(turn)
        return _reply(turn)
    # Memory holds what the user sees.
    if not best.lines.answer or (best.is_saved and best.event_id != turn.event_id):
        yield from remember(turn, best)
    yield from _vote(turn)
    yield from _close_ratings(turn)
    yield from _finish_l2(turn)
    return _reply(turn)


# Search, and what is due before the first draft


def _take_search(turn: TurnState, answer: MemoryAnswer) -> None:
    turn.recalled = answer
    turn.counts.searches += 1
    if answer.duty_error:
        turn.remarks.append(f"The service says: {answer.duty_error}")
    # An agent that resumes a session after a restart learns from the reminders what is due.
    reminders = answer.reminders or []
    turn.session.l1_due |= any("L1 is due" in reminder for reminder in reminders)
    if (source := answer.l2_source) is not None:
        texts = (source.map_text, *(l1.text for l1 in source.summaries))
        turn.l2_source = "\n\n".join(text for text in texts if text)
        turn.counts.summaries_due += 1


def _stopped(turn: TurnState) -> TurnReply:
    """End a turn whose search failed: without memory the agent must not answer."""
    turn.counts.turns_stopped += 1
    error = turn.failures[-1]
    return TurnReply(
        answer=STOPPED,
        remarks=(*turn.remarks, f"The search failed, so the turn was stopped: {error}"),
        failures=tuple(turn.failures),
    )


def _load_start(turn: TurnState) -> Steps[None]:
    """Fetch the start pack in the first turn of a session."""
    if turn.session.start_facts is not None:
        return
    options = turn.options
    query = StartQuery(
        session_id=options.session_id,
        user_id=options.user_id,
        project=options.project,
        format="json",
    )
    pack: StartPack | None = yield from call(turn, "start pack", query)
    if pack is not None and pack.parts is not None:
        turn.session.start_facts = [*pack.parts.instructions, *pack.parts.facts]


# Drafts


def _open_messages(turn: TurnState) -> None:
    """Write the prompt of the first draft: the protocol, search results, and what is due."""
    options, recalled = turn.options, turn.recalled
    full = FULL_PROTOCOL if options.full_protocol else ""
    rules = (options.instructions, protocol_text(options.name), full)
    system = "\n\n".join(part for part in rules if part.strip())
    parts = [NO_MEMORY]
    if recalled is not None:
        facts = _fitting_facts(turn.session.start_facts or [], options.memory_tokens_max)
        parts = [recalled_text(recalled, facts), "\n".join(_requirements(turn, recalled.step))]
    opening = "\n\n".join([*parts, f"The user says:\n{turn.message}"])
    turn.messages = [
        {"role": "system", "content": system},
        *turn.session.history,
        {"role": "user", "content": opening},
    ]
    turn.counts.tokens_in += tokens(system + opening)
    turn.counts.tokens_in -= tokens(options.instructions + turn.message)


def _fitting_facts(facts: list[str], tokens_max: int | None) -> list[str]:
    """Return the facts, newest first, that fit a third of the budget."""
    if tokens_max is None:
        return facts
    sums = accumulate(map(tokens, facts))
    return [fact for fact, size in zip(facts, sums, strict=True) if size <= tokens_max // 3]


def _requirements(turn: TurnState, step: int) -> Iterator[str]:
    """Yield what the agent must write besides its answer, and the notices of earlier turns."""
    session = turn.session
    turn.wants_l1 = session.l1_due
    yield "This turn asks for:"
    if turn.new_cube_ids:
        yield f"- a RATE line for each of these cubes: {', '.join(turn.new_cube_ids)}"
    if turn.wants_l1:
        turn.counts.summaries_due += 1
        least, most = (
            max(L1_CHARACTERS_MIN, int(session.characters_since_l1 * share)) for share in L1_SHARE
        )
        yield (
            "- an L1 line: what was done, what was decided, how it ended, "
            f"in {least} to {max(most, 2 * L1_CHARACTERS_MIN)} characters"
        )
    if turn.l2_source is not None:
        yield "- an L2 line: headlines over these summaries, in about 5 % of their length"
        yield fenced(indented(without_keys(turn.l2_source)), new_delimiter())
    yield from (f"- note: {one_line(notice)}" for notice in session.notices)
    session.notices = []
    yield f"- the seal as its last line: {render(step, turn.options.name)}"


def _draft(turn: TurnState) -> Steps[None]:
    """Request a draft, parse it, save it if it has an answer, and check it."""
    text = yield DraftRequest(list(turn.messages))
    if isinstance(text, Draft):
        turn.tool_results += text.tool_results
        text = text.text
    if not isinstance(text, str):
        raise TypeError(f"a draft must be a string or a Draft, not {type(text).__name__}")
    text = without_keys(readable(text))
    recalled = turn.recalled
    lines = parse(
        text,
        step=recalled.step if recalled else None,
        cubes_shown=[*turn.session.unreasoned, *(cube.cube_id for cube in turn.shared_cubes)]
        if recalled
        else None,
        name=turn.options.name,
    )
    attempt = DraftAttempt(text, lines, faults=_form_faults(turn, lines))
    _count_draft(turn, attempt)
    turn.attempts.append(attempt)
    turn.rates.update((rate.cube_id, rate) for rate in lines.rates)
    _note_unreasoned(turn, lines)
    if recalled is not None and lines.answer:
        yield from remember(turn, attempt)
        if attempt.is_saved:
            yield from _look(turn, attempt)
    sections = lines.sections
    if (
        turn.options.full_protocol
        and sections
        and not _refers_to(sections.get("SECOND LOOK", ""), sections.get("DRAFT", ""))
    ):
        attempt.failed_checks.append(CHECK_THE_DRAFT)


def _note_unreasoned(turn: TurnState, lines: Lines) -> None:
    """Ask for the reasons of ratings in the next turn, which may rate those cubes, too."""
    missing = [fault.about for fault in lines.faults if fault.code == "rate_reason"]
    session = turn.session
    session.unreasoned = [
        cube_id
        for cube_id in dict.fromkeys((*session.unreasoned, *missing))
        if cube_id not in turn.rates
    ]
    for cube_id in missing:
        turn.report(f"The rating -1 of {cube_id} was not counted: write it again, with a reason.")


def _form_faults(turn: TurnState, lines: Lines) -> list[LineFault]:
    """Return the faults of form that require a new draft.

    Other faults are only counted: the user should not wait until a service line is correct.
    """
    faults = [fault for fault in lines.faults if fault.code in ("answer_empty", "sections_order")]
    if (
        turn.options.full_protocol
        and list(lines.sections) != list(SECTIONS)
        and "sections_order" not in lines.errors
    ):
        faults.append(LineFault("sections_order"))
    return faults


def _count_draft(turn: TurnState, attempt: DraftAttempt) -> None:
    counts, lines, is_first = turn.counts, attempt.lines, not turn.attempts
    counts.drafts += 1
    counts.line_faults.update(fault.code for fault in lines.faults)
    counts.tokens_out += tokens(attempt.text) - (tokens(lines.answer) if is_first else 0)
    if REMOVED in attempt.text:
        turn.remarks.append("A key was removed from the agent's draft.")
    if is_first and turn.recalled is not None:
        counts.valid_seals += not any(code.startswith("seal_") for code in lines.errors)


# Second look, and the decision on a draft


def _look(turn: TurnState, attempt: DraftAttempt) -> Steps[None]:
    """Take a second look at a saved draft that claims something from memory."""
    counts, answer = turn.counts, attempt.lines.answer
    if not turn.session.has_second_look:
        counts.looks_missing += 1
        return
    if turn.options.second_look != "always" and not _memory_claims(turn).need_second_look:
        counts.looks_not_needed += 1
        return
    citation = _REF.search(answer)
    span = turn.recalled.total_hits if turn.recalled else 0
    look = SecondLook(draft=answer, event_id=citation[1] if citation else "", span=span)
    result: SecondLooked | None = yield from call(turn, "second look", look)
    if result is None:
        counts.looks_missing += 1
        if isinstance(turn.failures[-1], NotFoundError | MethodNotAllowedError):
            turn.failures.pop()
            turn.session.has_second_look = False
        else:
            turn.remarks.append(f"There was no second look: {turn.failures[-1]}")
        return
    if result.status != "pass":
        attempt.failed_checks = _failed_checks(turn, result)
    attempt.passed = not attempt.failed_checks
    if attempt.passed:
        counts.looks_passed += 1
    else:
        counts.looks_failed += 1


def _memory_claims(turn: TurnState) -> MemoryClaims:
    items = answer_items(turn.recalled.model_dump(mode="json")) if turn.recalled else []
    texts = turn_texts(items, turn.message, reversed(turn.tool_results))
    return MemoryClaims(turn.attempts[-1].lines.answer, texts)


def _failed_checks(turn: TurnState, result: SecondLooked) -> list[str]:
    """Return the failed checks that must be corrected as text, one item for each."""
    failed = [check for check in result.checks if check.status != "pass"]
    if not failed:
        return ["The second look did not pass; it gave no reason."]
    if turn.options.second_look == "recalled":
        claims = _memory_claims(turn)
        failed = [c for c in failed if claims.must_correct(c.check, c.start, c.end)]
    return [
        f"{check.check}: {check.detail}" + (f" ({check.claim})" if check.claim else "")
        for check in failed
    ]


def _request_revision(turn: TurnState) -> None:
    """Ask for another draft, which corrects the failed checks and faults of the latest one."""
    attempt = turn.attempts[-1]
    faults = [fault for fault in attempt.faults if fault.code in FAULTS]
    problems = [
        *attempt.failed_checks,
        *(FAULTS[one.code] + (f" ({one.about})" if one.about else "") for one in faults),
    ]
    listed = "\n".join(map(data_line, dict.fromkeys(problems)))
    request = (
        f"The second look failed:\n{listed}\n\n"
        "Revise the answer and write the complete reply again, with its service lines."
    )
    turn.messages += [
        {"role": "assistant", "content": attempt.text},
        {"role": "user", "content": request},
    ]
    turn.counts.tokens_in += tokens("".join(message["content"] for message in turn.messages))


def _refers_to(look: str, draft: str) -> bool:
    """Return True if a text contains at least one word or number of another."""
    look, draft = look.casefold(), draft.casefold()
    return any(word in look for word in (*_WORD.findall(draft), *_WIDE_PAIR.findall(draft)))


def _end_without_memory(turn: TurnState) -> None:
    """Note that the search failed, so that the service was not called again."""
    error = turn.failures[0]
    turn.remarks.append(f"Memory was not searched: {error}")
    if isinstance(error, TRANSIENT):
        turn.notes.append(NOTE_LATER)
        postpone(turn, remember_body(turn, turn.best.lines), turn.session.new_key())
    else:
        turn.notes.append(NOTE_NO_MEMORY)


# Ratings, the map, and the reply


def _vote(turn: TurnState) -> Steps[None]:
    """Send the ratings of cubes that are votes."""
    new_cubes = turn.new_cube_ids
    turn.counts.cubes_to_rate += len(new_cubes)
    turn.counts.cubes_rated += sum(cube_id in turn.rates for cube_id in new_cubes)
    for rate in [one for one in turn.rates.values() if one.vote]:
        reason = cut(turn, "reason of a vote", rate.reason, limits.REASON_CHARACTERS_MAX) or None
        vote = CubeVote(
            cube_id=rate.cube_id, user_id=turn.options.user_id, vote=rate.vote, reason=reason
        )
        if (yield from call(turn, "vote", vote)) is None:
            turn.remarks.append(f"A vote was not counted: {turn.failures[-1]}")


def _close_ratings(turn: TurnState) -> Steps[None]:
    """Close the duty of all new cubes that were rated 0 or not at all."""
    reasons = {}
    for cube_id in turn.new_cube_ids:
        rate = turn.rates.get(cube_id)
        if rate is None or not rate.vote:
            reasons[cube_id] = NO_REASON if rate is None else rate.reason or "not relevant"
    if not reasons:
        return
    text = "; ".join(f"{cube_id}: {reason}" for cube_id, reason in reasons.items())
    duty = Turn(
        user_id=turn.options.user_id,
        session_id=turn.options.session_id,
        duty="vote_nothing",
        duty_reason=shorten(text, limits.DUTY_REASON_CHARACTERS_MAX),
    )
    if (yield from call(turn, "duty", duty, turn.session.new_key())) is None:
        turn.remarks.append(f"A duty was not closed: {turn.failures[-1]}")
    else:
        turn.counts.cubes_closed += len(reasons)


def _finish_l2(turn: TurnState) -> Steps[None]:
    """Let the service rebuild the map if an L2 is due and the agent wrote none."""
    if turn.l2_source is not None and "L2" not in turn.sent_parts:
        request = MapRequest(user_id=turn.options.user_id)
        yield from call(turn, "map", request, turn.session.new_key())


def _reply(turn: TurnState) -> TurnReply:
    """End the turn: update the session and return the reply."""
    session, best, recalled = turn.session, turn.best, turn.recalled
    answer = best.lines.answer or NO_ANSWER
    if best.has_problems:
        turn.notes.insert(0, NOTE_UNSURE)
    if "L1" not in turn.sent_parts:
        session.characters_since_l1 += len(turn.message) + len(answer)
    session.history += [
        {"role": "user", "content": turn.message},
        {"role": "assistant", "content": answer},
    ]
    del session.history[: -2 * turn.options.history_turns or None]
    seal = render(recalled.step, turn.options.name) if recalled and turn.is_saved else None
    session.last_seal = seal
    return TurnReply(
        answer=answer,
        notes=tuple(turn.notes),
        remarks=tuple(turn.remarks),
        passed=best.passed,
        failed_checks=tuple(best.failed_checks),
        drafts=len(turn.attempts),
        event_id=best.event_id,
        step=recalled.step if recalled else None,
        seal=seal,
        hits=tuple(recalled.hits) if recalled else (),
        cubes=tuple(recalled.shared_cubes) if recalled else (),
        lines=best.lines,
        failures=tuple(turn.failures),
    )


# --- A conversation of one agent: turns without I/O ------------------------------------------

KEY_WARNING = (
    "Your message contains a key or password, so I did not read, forward or save it. Please revoke "
    "that key, create a new one, keep it in an environment variable, and send your message again "
    "without it."
)


class Conversation(SessionState):
    """One session of one agent. Runs one turn at a time."""

    def turn(self, message: str) -> Generator[Step, Any, TurnReply]:
        """Yield the steps of a turn, receive their answers, and return the reply.

        Answer a ServiceCall with its result or CallFailed, a DraftRequest with the model's text.
        Raises ValueError for an empty message.
        """
        if not message.strip():
            raise ValueError("the message is empty")
        if pasted_keys(message):
            self.counts.keys_caught += 1
            return TurnReply(answer=KEY_WARNING)
        return (yield from run(TurnState(self, readable(message))))
