"""Chat with the service's own agent: search, answer, check the answer, seal it, store the turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from ..accounts import may_use_outside_models, require_write, space_user_id
from ..accounts.idempotency import IdempotentRequest, stored_answer
from ..accounts.prompts import prompt_of
from ..claims.extract import find_tags
from ..context import Caller, Context
from ..memory.duties import citable_events
from ..memory.intake import Intake, OnlyEchoedText
from ..memory.recall.recall import recall
from ..memory.write.events import EventUnknown, own_event
from ..memory.write.turns import IncomingTurn, StoredTurn, answers_step, store_turn_idempotently
from ..models import Budget, ModelAttempt, ModelFailed
from ..models.calls import usage_of
from ..models.port import FAILURE_MESSAGES
from ..protocol import limits
from ..protocol.agent import AnswerMode, Chat, ChatAnswer, Check
from ..protocol.fence import new_delimiter
from ..protocol.recalled import cube_lesson, marked
from ..protocol.seal import render
from ..protocol.search import Hit, MemoryAnswer, MemoryQuery
from ..protocol.service_keys import mask_service_keys, service_key_warning
from ..protocol.text import day_of
from ..search import EventText
from ..store import Transaction
from .answers import (
    MODEL_TOPIC,
    NO_MODEL,
    OUTSIDE_NOT_ALLOWED,
    QUOTED_TOPIC,
    Brief,
    RetrievedEvent,
    SendEvent,
    background_items,
    background_quotes,
    has_evidence,
    quoted_answer,
    recent_messages,
    retrieved_event,
    session_messages,
    with_map,
    write_answer,
)

# Beginnings of the reminders that are chat's own work, not its client's (memory/duties.py).
_OWN_WORK = ("Rate ", "A cube is due", "An L1 is due", "An L2 is due", "The last reply cites")
NO_ANSWER = "No language model answered ({reason}), so I can only quote what I remember."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A valid message and the result of its search, ready to be answered."""

    context: Context
    caller: Caller
    request: Chat
    idempotency: IdempotentRequest | None
    search_result: MemoryAnswer

    @property
    def message(self) -> str:
        """The message without the keys of this service, as models and searches read it."""
        return mask_service_keys(self.request.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResult:
    """An answer without its seal."""

    text: str
    mode: AnswerMode
    stored_text: str  # the response to store
    tries: Sequence[ModelAttempt] = ()
    failures: Sequence[Check] = ()
    history_used: int | None = None


def chat(
    context: Context,
    caller: Caller,
    request: Chat,
    idempotency: IdempotentRequest | None = None,
) -> ChatAnswer:
    """Answer one message. The turn is durable and searchable when this returns.

    Raises the errors of `start_chat` and `finish`.
    """
    turn = start_chat(context, caller, request, idempotency)
    return turn if isinstance(turn, ChatAnswer) else finish(turn)


def start_chat(
    context: Context,
    caller: Caller,
    request: Chat,
    idempotency: IdempotentRequest | None = None,
) -> ChatTurn | ChatAnswer:
    """Search memory for a message, which counts a step; or return the stored answer of a retry.

    Raises ReadOnly, Pinned, OnlyEchoedText, Conflict, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, request.user_id)
    if not Intake(settings=context.settings).take(request.message).strip():
        raise OnlyEchoedText
    if idempotency is not None and (first := stored_answer(context, idempotency)) is not None:
        return ChatAnswer.model_validate_json(first)
    query = MemoryQuery(
        session_id=request.session_id,
        query_text=mask_service_keys(request.message)[: limits.QUERY_CHARACTERS_MAX],
        user_id=user_id,
        top_k=limits.UNASKED_HITS_MAX,
        min_answerable=limits.UNASKED_ANSWERABLE_MIN,
        last_seal=request.last_seal,
        seals=request.last_seal is not None,  # the service seals its replies itself
    )
    return ChatTurn(
        context=context,
        caller=caller,
        request=request,
        idempotency=idempotency,
        search_result=with_map(
            context, caller, user_id, request.message, recall(context, caller, query)
        ),
    )


def finish(turn: ChatTurn, send_event: SendEvent | None = None) -> ChatAnswer:
    """Answer the message and store the turn; send progress events to `send_event`.

    Raises the errors of `store_turn_idempotently`.
    """
    if send_event is not None:
        send_event(
            "hits",
            {
                "step": turn.search_result.step,
                "hits": [hit.model_dump() for hit in turn.search_result.hits],
            },
        )
    result = _warned(_create_answer(turn, send_event), turn.request.message, send_event)
    seal = render(turn.search_result.step, turn.context.settings.seal_name)
    topic = MODEL_TOPIC if result.mode == "model" else QUOTED_TOPIC
    event = IncomingTurn(
        user_id=turn.request.user_id,
        session_id=turn.request.session_id,
        text=EventText(
            query=turn.request.message,
            response=result.stored_text,
            topic=topic,
            occurred_ms=turn.context.clock(),
        ),
    )

    def answer(tx: Transaction, stored: StoredTurn, notice: str | None) -> ChatAnswer:
        look = {"passed": int(not result.failures), "now_ms": turn.context.clock()}
        answers_step(tx, turn.caller, stored, look)
        return _chat_answer(turn, result, seal, stored.event_id, notice)

    return store_turn_idempotently(
        turn.context, turn.caller, event, turn.idempotency, ChatAnswer, answer
    )


def _warned(result: ChatResult, message: str, send_event: SendEvent | None) -> ChatResult:
    """Return the answer, with a warning at its end if the user pasted a key of this service.

    The warning is not stored: it is about the message and not an answer to it.
    """
    warning = service_key_warning(message)
    if warning is None:
        return result
    if send_event is not None:
        send_event("delta", {"text": f"\n\n{warning}"})
    return replace(result, text=f"{result.text}\n\n{warning}")


def _chat_answer(
    turn: ChatTurn, result: ChatResult, seal: str, event_id: str, notice: str | None
) -> ChatAnswer:
    search_result = turn.search_result
    return ChatAnswer(
        reply=f"{result.text}\n\n{seal}" if turn.caller.has_protocol else result.text,
        answer_mode=result.mode,
        step=search_result.step,
        hits=search_result.hits,
        refs=list(dict.fromkeys(ref for tag in find_tags(result.text) for ref, _, _ in tag.refs)),
        seal=seal,
        usage=usage_of(result.tries),
        event_id=event_id,
        history_used=result.history_used,
        checks=list(result.failures[: limits.CHECKS_LISTED_MAX]) or None,
        shared_cubes=search_result.shared_cubes or None,
        duty_error=search_result.duty_error,
        reminders=[one for one in search_result.reminders or () if not one.startswith(_OWN_WORK)]
        or None,
        detail=notice,
    )


def _create_answer(turn: ChatTurn, send_event: SendEvent | None) -> ChatResult:
    context = turn.context
    if not context.models.has("chat"):
        return _quote_answer(turn, "extractive", NO_MODEL, (), send_event)
    outside = may_use_outside_models(context, turn.caller)
    if not context.models.has("chat", outside=outside):
        return _quote_answer(turn, "extractive", OUTSIDE_NOT_ALLOWED, (), send_event)
    earlier = turn.request.chat_history or session_messages(
        context, turn.caller, turn.request.user_id, turn.request.session_id
    )
    history = recent_messages(earlier)
    brief = Brief(
        message=turn.message,
        events=[
            *events_of(context, turn.caller, turn.search_result.hits, turn.message),
            *_sources(turn),
        ],
        background=background_items(turn.search_result),
        history=history,
        lessons=[
            marked(cube_lesson(cube.topic, cube.essence, cube.rules_markdown), cube.source)
            for cube in turn.search_result.shared_cubes
        ],
        help=[f"{passage.title}: {passage.text}" for passage in turn.search_result.help_hits or ()],
        own_part=prompt_of(context, turn.caller, turn.request.user_id).user_part,
        delimiter=new_delimiter(),
        day=day_of(context.clock()),
    )
    budget = Budget.of(context.settings)
    try:
        draft = write_answer(context.models, brief, budget, outside=outside, send_event=send_event)
    except ModelFailed as error:
        if send_event is not None:
            send_event("again", {})
        return _quote_answer(
            turn,
            "fallback",
            NO_ANSWER.format(reason=FAILURE_MESSAGES[error.reason]),
            error.tries,
            send_event,
        )
    used = len(history) if turn.request.chat_history else None
    return ChatResult(
        text=draft.text,
        mode="model",
        stored_text=draft.text,
        tries=draft.tries,
        failures=draft.failed,
        history_used=used,
    )


def _sources(turn: ChatTurn) -> list[RetrievedEvent]:
    """Return turns that are no hits: those that facts and instructions came with, and those that
    chat's earlier answers cite.
    """
    answer = turn.search_result
    hits = {hit.event_id for hit in answer.hits}
    earlier = (hit.response for hit in answer.hits if hit.topic in (MODEL_TOPIC, QUOTED_TOPIC))
    cited = (ref for text in earlier for tag in find_tags(text) for ref, _, _ in tag.refs)
    ids = [one for one in (*citable_events(answer), *cited) if one not in hits]
    return _events(turn.context, turn.caller, dict.fromkeys(ids))


def events_of(
    context: Context, caller: Caller, hits: Sequence[Hit], message: str
) -> list[RetrievedEvent]:
    """Return the full events of hits, except those that only repeat the question."""
    return _events(
        context, caller, {hit.event_id: hit for hit in hits if has_evidence(hit, message)}
    )


def _events(
    context: Context, caller: Caller, hits: Mapping[str, Hit | None]
) -> list[RetrievedEvent]:
    """Return the full events of these ids, except those that were deleted meanwhile."""
    events = []
    for event_id, hit in hits.items():
        read = partial(own_event, caller=caller, event_id=event_id)
        with suppress(EventUnknown):
            event = context.store.read(read, account_id=caller.account_id)
            events.append(retrieved_event(event, hit))
    return events


def _quote_answer(
    turn: ChatTurn,
    mode: AnswerMode,
    reason: str,
    tries: Sequence[ModelAttempt],
    send_event: SendEvent | None,
) -> ChatResult:
    """Return an answer of quotes, without a model."""
    text, stored_text = quoted_answer(
        turn.search_result, background_quotes(turn.search_result), turn.message, reason
    )
    if send_event is not None:
        send_event("delta", {"text": text})
    return ChatResult(text=text, mode=mode, stored_text=stored_text, tries=tries)
