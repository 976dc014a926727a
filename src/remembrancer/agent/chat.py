"""Chat with the service's own agent:

search, answer from what was found, look at the answer again, seal it, and remember the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..accounts import may_use_outside_models, require_write, space_user_id
from ..accounts.idempotency import IdempotentRequest, stored_answer
from ..accounts.prompts import prompt_of
from ..claims.tags import find_tags
from ..context import Caller, Context
from ..memory.recall.recall import recall
from ..memory.spaces import SQL as SPACES
from ..memory.write.events import EventUnknown, event_detail
from ..memory.write.turns import (
    EventPlace,
    Intake,
    OnlyEchoedText,
    StoredTurn,
    store_turn_idempotently,
)
from ..models import Budget, ModelAttempt, ModelFailed
from ..models.calls import usage_of
from ..models.port import WHY
from ..protocol import limits
from ..protocol.chat import AnswerMode, Chat, ChatAnswer
from ..protocol.fence import new_delimiter
from ..protocol.memory import Hit, MemoryAnswer, MemoryQuery
from ..protocol.seal import render
from ..protocol.second_look import Check
from ..protocol.text import day_of
from ..search import EventText
from ..store import Transaction
from .drafts import Brief, RetrievedEvent, Tell, recent_messages, retrieved_event, written
from .extractive_answer import QUOTED_TOPIC, bears_on, quotes

MODEL_TOPIC = "chat"
NO_MODEL = "No language model is configured, so I can only quote what I remember."
NOT_ALLOWED = "This account lets no language model on another machine read its memory, so I can only quote what I remember."
NO_ANSWER = "No language model answered ({why}), so I can only quote what I remember."
BEST = "These stored turns match best:"
NOTHING = "Nothing that is stored matches."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A message whose search is done:

    nothing can be wrong with it any more, and it can be answered.
    """

    context: Context
    caller: Caller
    asked: Chat
    given: IdempotentRequest | None
    found: MemoryAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResult:
    """What to say, without the seal."""

    text: str
    mode: AnswerMode
    kept: str  # the response that is remembered
    tries: Sequence[ModelAttempt] = ()
    failed: Sequence[Check] = ()
    history_used: int | None = None


def chat(
    context: Context, caller: Caller, asked: Chat, given: IdempotentRequest | None = None
) -> ChatAnswer:
    """Answer one message; the turn is durable and searchable when it returns.

    Raises as `begin` and `finish`.
    """
    begun = start_chat(context, caller, asked, given)
    return begun if isinstance(begun, ChatAnswer) else finish(begun)


def start_chat(
    context: Context, caller: Caller, asked: Chat, given: IdempotentRequest | None = None
) -> ChatTurn | ChatAnswer:
    """Search for what a message needs, which counts a step; or give the answer it had before, when
    it was sent again.

    Raises ReadOnly, Pinned, NothingOfItsOwn, Conflict as `once`, StoreUnavailable,
    EmbedderUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, asked.user_id)
    if not Intake(settings=context.settings).take(asked.message).strip():
        raise OnlyEchoedText
    if given is not None and (first := stored_answer(context, given)) is not None:
        return ChatAnswer.model_validate_json(first)
    query = MemoryQuery(
        query_text=asked.message,
        user_id=user_id,
        session_id=asked.session_id,
        top_k=limits.CHAT_HITS_MAX,
        last_seal=asked.last_seal,
    )
    return ChatTurn(
        context=context,
        caller=caller,
        asked=asked,
        given=given,
        found=recall(context, caller, query),
    )


def finish(begun: ChatTurn, tell: Tell | None = None) -> ChatAnswer:
    """Answer the message and remember the turn; `tell` is told how it comes along.

    Raises as `keep_once`.
    """
    if tell is not None:
        tell(
            "hits",
            {"step": begun.found.step, "hits": [hit.model_dump() for hit in begun.found.hits]},
        )
    answered = _answered(begun, tell)
    seal = render(begun.found.step, begun.context.settings.seal_name)
    place = EventPlace(user_id=begun.asked.user_id, session_id=begun.asked.session_id)
    topic = MODEL_TOPIC if answered.mode == "model" else QUOTED_TOPIC
    turn = EventText(
        query=begun.asked.message,
        response=answered.kept,
        topic=topic,
        occurred_ms=begun.context.clock(),
    )

    def answer(tx: Transaction, kept: StoredTurn, noticed: str | None) -> str:
        tx.run(SPACES.note_remembered, session=kept.session.id, task_open=1)
        return _told(begun, answered, seal, kept.event_id, noticed).model_dump_json()

    return ChatAnswer.model_validate_json(
        store_turn_idempotently(begun.context, begun.caller, place, turn, begun.given, answer)
    )


def _told(
    begun: ChatTurn, answered: ChatResult, seal: str, event_id: str, noticed: str | None
) -> ChatAnswer:
    found = begun.found
    return ChatAnswer(
        reply=f"{answered.text}\n\n{seal}",
        answer_mode=answered.mode,
        step=found.step,
        hits=found.hits,
        refs=list(dict.fromkeys(ref for tag in find_tags(answered.text) for ref, _, _ in tag.refs)),
        seal=seal,
        usage=usage_of(answered.tries),
        event_id=event_id,
        history_used=answered.history_used,
        checks=list(answered.failed[: limits.CHECKS_LISTED_MAX]) or None,
        shared_cubes=found.shared_cubes or None,
        duty_error=found.duty_error,
        reminders=found.reminders,
        detail=noticed,
    )


def _answered(begun: ChatTurn, tell: Tell | None) -> ChatResult:
    context = begun.context
    if not context.models.has("chat"):
        return _quoted(begun, "extractive", NO_MODEL, (), tell)
    outside = may_use_outside_models(context, begun.caller)
    if not context.models.has("chat", outside=outside):
        return _quoted(begun, "extractive", NOT_ALLOWED, (), tell)
    history = recent_messages(begun.asked.chat_history or ())
    brief = Brief(
        message=begun.asked.message,
        events=events_of(context, begun.caller, begun.found.hits, begun.asked.message),
        history=history,
        lessons=[
            f"{cube.topic}: {cube.essence}\n{cube.rules_markdown}"
            for cube in begun.found.shared_cubes
        ],
        help=[f"{passage.title}: {passage.text}" for passage in begun.found.help_hits or ()],
        own_part=prompt_of(context, begun.caller, begun.asked.user_id).user_part,
        delimiter=new_delimiter(),
        day=day_of(context.clock()),
    )
    budget = Budget.of(context.settings)
    try:
        draft = written(context.models, brief, budget, outside=outside, tell=tell)
    except ModelFailed as error:
        if tell is not None:
            tell("again", {})
        return _quoted(
            begun, "fallback", NO_ANSWER.format(why=WHY[error.reason]), error.tries, tell
        )
    used = len(history) if begun.asked.chat_history else None
    return ChatResult(
        text=draft.text,
        mode="model",
        kept=draft.text,
        tries=draft.tries,
        failed=draft.failed,
        history_used=used,
    )


def events_of(
    context: Context, caller: Caller, hits: Sequence[Hit], message: str
) -> list[RetrievedEvent]:
    """The whole events behind hits, without those that only ask what is asked now."""
    events = []
    for hit in hits:
        if not bears_on(hit, message):
            continue
        try:
            event = event_detail(context, caller, hit.event_id)
        except EventUnknown:  # erased a moment ago
            continue
        events.append(retrieved_event(event, hit))
    return events


def _quoted(
    begun: ChatTurn, mode: AnswerMode, why: str, tries: Sequence[ModelAttempt], tell: Tell | None
) -> ChatResult:
    """The answer that needs no model.

    Of it only its refs are remembered: what it quotes is there already.
    """
    found = quotes(begun.found.hits, begun.asked.message)
    lines = [f"{why} {BEST}", "", *map(str, found)] if found else [f"{why} {NOTHING}"]
    if begun.found.help_hits:
        lines += ["", *(f"The help says: {passage.text}" for passage in begun.found.help_hits[:1])]
    kept = (
        f"{why} {BEST} (ref: {', '.join(quote.event_id for quote in found)})"
        if found
        else f"{why} {NOTHING}"
    )
    text = "\n".join(lines)
    if tell is not None:
        tell("delta", {"text": text})
    return ChatResult(text=text, mode=mode, kept=kept, tries=tries)
