"""Measure how well replies and summaries of a small model are grounded, raw and filtered.

    python -m bench.grounded --data locomo-dev.json --served-by PYTHON [--questions 24]
        [--sessions 8]

Not part of `make bench`: `make exam-model` creates the environment of PYTHON with the model
(bench/small_model.py) and runs it. Each turn is an event of a real store. A reply is grounded if it
cites an event that it received and the second look finds no error. The model is far smaller than
models in real use: the results show how the service handles a model that often errs, not how often
larger models err.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bench.chat import UNANSWERED, chat_quotes, store_conversation
from bench.headlines import content
from bench.locomo import Conversation, Question, conversations
from bench.report import table, write_section
from bench.runtime import small_model
from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.agent.answers import Brief
from remembrancer.agent.chat import chat, events_of
from remembrancer.agent.summarize import draft_summary
from remembrancer.claims.review import CHECK_BY_KIND, CitedEvent, parse_draft, review
from remembrancer.context import Context, without_secrets
from remembrancer.memory.summaries.extractive import sentences
from remembrancer.models import Budget, ModelAttempt, ModelRequest, ModelResponse, Models, Slot
from remembrancer.models.calls import ConfiguredModels
from remembrancer.models.port import OnDelta, OnText
from remembrancer.protocol.chat import Chat
from remembrancer.protocol.fence import new_delimiter
from remembrancer.protocol.summaries import SummaryAsked
from remembrancer.protocol.text import day_of
from remembrancer.search import open_embedder
from remembrancer.settings import Settings

SEED = 7
TOKENS_MAX = 160  # per answer; a small model repeats itself in longer ones
_EVENT_ID = re.compile(r"\be_[0-9a-z]{13}\b")


@dataclass
class RecordingModels:
    """Models that record the answers before they are filtered."""

    models: Models
    texts: list[str] = field(default_factory=list)

    def ask(
        self,
        request: ModelRequest,
        budget: Budget,
        on_text: OnText | None = None,
        on_delta: OnDelta | None = None,
    ) -> ModelResponse:
        """Delegate to the wrapped models."""
        reply = self.models.ask(request, budget, on_text, on_delta)
        self.texts.append(reply.text)
        return reply

    def names(self, slot: Slot, *, outside: bool = True) -> tuple[str, ...]:
        """Delegate to the wrapped models."""
        return self.models.names(slot, outside=outside)

    def has(self, slot: Slot, *, outside: bool = True) -> bool:
        """Delegate to the wrapped models."""
        return self.models.has(slot, outside=outside)

    def watch(self, watcher: Callable[[ModelAttempt], None]) -> None:
        """Delegate to the wrapped models."""
        self.models.watch(watcher)

    def close(self) -> None:
        """Delegate to the wrapped models."""
        self.models.close()


@dataclass(frozen=True)
class Judged:
    """The scores of one reply."""

    grounded: bool  # cites an event it received, and all checks pass
    cites: bool
    invented: int  # ids of unknown events
    claims: int
    backed: int  # claims that their ref supports
    words: float  # share of the gold-answer words


def judged(text: str, brief: Brief, expected: set[str]) -> Judged:
    """Judge a reply."""
    draft = parse_draft(text, brief.day)
    cited = set(draft.refs) | set(_EVENT_ID.findall(text))
    existing = {event.event_id: CitedEvent("shown", event) for event in brief.evidence}
    checks = review(
        draft, {ref: existing.get(ref, CitedEvent("unknown")) for ref in draft.refs}, ""
    )
    return Judged(
        grounded=bool(cited & brief.ids) and all(check.status == "pass" for check in checks),
        cites=bool(cited & brief.ids),
        invented=len(cited - brief.ids),
        claims=sum(check.check == "claim_marked" for check in checks),
        backed=sum(
            check.check in CHECK_BY_KIND.values() and check.status == "pass" for check in checks
        ),
        words=len(expected & content(text)) / len(expected),
    )


def replies(
    conversation: Conversation,
    context: Context,
    models: RecordingModels,
    questions: Sequence[Question],
) -> Iterator[list[Judged]]:
    """Yield the scores of each question: the raw draft, the reply, and quotes without a model."""
    caller = caller_for(context)
    for number, one in enumerate(questions):
        models.texts.clear()
        session = f"chat-{number}"
        answer = chat(
            context, caller, Chat(user_id=conversation.name, message=one.text, session_id=session)
        )
        events = events_of(context, caller, answer.hits, one.text)
        brief = Brief(
            message=one.text, events=events, delimiter=new_delimiter(), day=day_of(context.clock())
        )
        expected = content(one.answer)
        reply = answer.reply.removesuffix(answer.seal).strip()
        yield [
            judged(text, brief, expected)
            for text in (
                models.texts[0] if models.texts else "",
                reply,
                chat_quotes(answer.hits, one.text),
            )
        ]
        print(
            (
                f"{conversation.name}, question {number}: {answer.answer_mode}, {len(answer.refs)} "
                "refs"
            ),
            flush=True,
        )


@dataclass(frozen=True)
class Drafted:
    """The scores of one L1."""

    written: int  # sentences of the model
    dropped: int  # sentences that the filter removed
    by_model: bool  # False if the result is only extractive
    fits: bool  # has the required length
    words: float  # share of the evidence words of later questions
    baseline: float  # the same, of an extractive summary


def drafts(
    conversation: Conversation, context: Context, plain: Context, models: RecordingModels, most: int
) -> Iterator[Drafted]:
    """Summarize the first sessions of a conversation, one L1 each."""
    caller = caller_for(context)
    for session in sorted({event.session for event in conversation.events})[:most]:
        turns = {
            turn: f"{e.query} {e.response}"
            for e in conversation.events
            if e.session == session
            for turn in e.turns
        }
        expected = {
            word
            for q in conversation.questions
            for turn in q.evidence & turns.keys()
            for word in content(turns[turn])
        }
        models.texts.clear()
        request = SummaryAsked(user_id=conversation.name, session_id=str(session))
        draft, baseline = (
            draft_summary(context, caller, request),
            draft_summary(plain, caller, request),
        )
        yield Drafted(
            written=sum(len(sentences(text)) for text in models.texts),
            dropped=len(draft.dropped),
            by_model=draft.made_by == "model",
            fits=draft.warning is None,
            words=len(expected & content(draft.summary_text)) / max(len(expected), 1),
            baseline=len(expected & content(baseline.summary_text)) / max(len(expected), 1),
        )
        print(
            (
                f"{conversation.name}, session {session}: {draft.made_by}, "
                f"{len(draft.dropped)} sentences removed"
            ),
            flush=True,
        )


def tables(figures: Sequence[list[Judged]], l1s: Sequence[Drafted]) -> str:
    """Return both tables."""
    names = ("raw model output", "after filtering by the service", "baseline: quotes, no model")
    rows = []
    for at, name in enumerate(names):
        column = [row[at] for row in figures]
        is_quoted = at == len(names) - 1  # verbatim, each quote with its ref
        backed = f"{sum(one.backed for one in column)} of {sum(one.claims for one in column)}"
        shares = [
            f"{np.mean([getattr(one, share) for one in column]):.2f}"
            for share in ("cites", "grounded")
        ]
        rows.append([name, *(("1.00", "1.00", "-") if is_quoted else (*shares, backed))])
        rows[-1] += [
            str(sum(one.invented for one in column)),
            f"{np.mean([one.words for one in column]):.3f}",
        ]
    heads = [
        "reply",
        "cites an event",
        "cites an event and passes all checks",
        "claims supported by their ref",
        "invented ids",
        "share of gold-answer words",
    ]
    model_written = [one for one in l1s if one.by_model]
    about = [
        ["sentences written by the model", str(sum(one.written for one in l1s))],
        ["removed: a value is not in the source", str(sum(one.dropped for one in l1s))],
        ["L1s with sentences of the model", f"{len(model_written)} of {len(l1s)}"],
        [
            "L1s with a length of 5 to 8 % of the source",
            f"{sum(one.fits for one in l1s)} of {len(l1s)}",
        ],
        [
            "share of evidence words of later questions",
            f"{np.mean([one.words for one in l1s]):.3f}",
        ],
        [
            "baseline: extractive summary, same share",
            f"{np.mean([one.baseline for one in l1s]):.3f}",
        ],
    ]
    return (
        f"{len(figures)} questions.\n\n{table(heads, rows)}\n\n"
        f"{table(['session summaries', 'result'], about)}"
    )


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument(
        "--served-by", metavar="PYTHON", required=True, help="interpreter that serves the model"
    )
    parser.add_argument("--questions", type=int, default=24, help="Default: 24")
    parser.add_argument("--sessions", type=int, default=8, help="Default: 8")
    options = parser.parse_args()
    figures: list[list[Judged]] = []
    l1s: list[Drafted] = []
    conversation = conversations(options.data)[0]
    answerable = [
        one for one in conversation.questions if one.category != UNANSWERED and content(one.answer)
    ]
    questions = random.Random(SEED).sample(answerable, options.questions)
    with tempfile.TemporaryDirectory() as folder, small_model(options.served_by) as model:
        named = f"small@{model.url.removesuffix('/chat/completions')}"
        settings = Settings(
            data=Path(folder),
            durability="normal",
            model_seconds=600,
            model_tokens_max=TOKENS_MAX,
            model_temperature=0.0,
            model_chat=named,
            model_summarize=named,
        )
        with closing(
            testing.context(Path(folder), settings=settings, embedder=open_embedder("multilingual"))
        ) as plain:
            models = RecordingModels(plain.models)
            context = replace(plain, models=models)
            extractive = replace(
                plain, models=ConfiguredModels(Settings(data=Path(folder)), without_secrets)
            )
            store_conversation(conversation, context)
            l1s += drafts(conversation, context, extractive, models, options.sessions)
            figures += replies(conversation, context, models, questions)
    write_section(
        "grounded",
        "Grounding of a small real model",
        "make exam-model",
        tables(figures, l1s),
    )


if __name__ == "__main__":
    main()
