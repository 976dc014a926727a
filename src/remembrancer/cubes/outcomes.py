"""Record what became of the cubes that a session was shown: their use, and how the turn ended.

A turn is judged when the next search of its session is counted, or an hour later. Signs, all of
them from rows that exist anyway: the user's next message corrects the answer, the last program of
the turn failed or ended well, its last second look failed or passed. One bad sign makes the outcome
bad. A stored turn without any sign ended well: nobody objected. A search without a stored turn has
no outcome.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby

from ..context import Records
from ..protocol.cubes import SharedCube
from ..protocol.tables import read_table
from ..search import normalize
from ..search.text.analysis import identifier_names, words
from ..store import Row, Transaction, load_queries

SQL = load_queries("remembrancer.cubes", "outcomes.sql")
SETTLED_AFTER_MS = 60 * 60 * 1000  # a session without a next search by then has ended
SETTLED_AT_ONCE = 200  # sessions, in one step of maintenance
CHARACTERS_MAX = 20_000  # of each text of a turn that are read for signs of use
FOLLOWED_WORDS_MIN = 4  # content words of the rules in an answer that follows them, and their share
FOLLOWED_SHARE_MIN = 0.4
_LETTERS_MIN = 5  # of a content word
_RUN_ENDED_WELL = ("The program ended: ok.", "The program ended: fixed.")
_OF_RULES = frozenset(
    ["shall", "should", "always", "never", "instead", "before", "after", "every", "which", "where"]
)
_CODE = re.compile(r"`([^`\n]{3,80})`")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """The end of a turn: True for a good one, None if unknown; and the words for what said so."""

    is_good: bool | None
    signals: tuple[str, ...]


def record_exposures(
    tx: Transaction,
    *,
    session: int,
    step: int,
    cubes: Iterable[SharedCube],
    now_ms: int,
) -> None:
    """Record that a session was shown cubes. `session` is a row id; it meets each cube once."""
    rows = [{"cube_id": cube.cube_id, "is_new": int(cube.note.startswith("new"))} for cube in cubes]
    if rows:
        tx.run(SQL.note_shown, session=session, step=step, now_ms=now_ms, cubes=json.dumps(rows))


def settle(
    tx: Transaction, *, session: int, before_step: int, message: str | None, now_ms: int
) -> None:
    """Decide use and outcome of what a session was shown before a step.

    `message` is the user's next one, None if there was none.
    """
    rows = tx.all(SQL.unsettled, session=session, before_step=before_step)
    for step, step_rows in groupby(rows, key=lambda row: row.step):
        is_last = step == before_step - 1
        _settle_step(tx, session, step, list(step_rows), message if is_last else None, now_ms)


def settle_ended(context: Records) -> bool:
    """Decide use and outcome of what ended sessions of all accounts were shown.

    Returns True if there may be more: it decides SETTLED_AT_ONCE sessions. Raises StoreUnavailable.
    """
    now_ms = context.clock()
    shown_before = now_ms - SETTLED_AFTER_MS
    ended = context.store.read(
        lambda tx: tx.all(SQL.ended, shown_before=shown_before, most=SETTLED_AT_ONCE)
    )
    for one in ended:
        settle_session = partial(
            settle, session=one.session, before_step=one.step + 1, message=None, now_ms=now_ms
        )
        context.store.write(settle_session, account_id=one.account_id, flush=False)
    return len(ended) == SETTLED_AT_ONCE


def _settle_step(
    tx: Transaction, session: int, step: int, rows: list[Row], message: str | None, now_ms: int
) -> None:
    place = {"session": session, "step": step, "most": CHARACTERS_MAX}
    turns, runs = tx.all(SQL.turns_of_step, **place), tx.all(SQL.runs_of_step, **place)
    outcome = outcome_of(turns, runs, message)
    answer = "\n".join([*(turn.response for turn in turns), *(run.query for run in runs)])
    question = "\n".join(turn.query for turn in turns)
    for row in rows:
        tx.run(
            SQL.settle,
            session=session,
            cube=row.cube,
            used=_use(row, question, answer),
            outcome=None if outcome.is_good is None else int(outcome.is_good),
            signals=",".join(outcome.signals),
            now_ms=now_ms,
        )


def outcome_of(turns: list[Row], runs: list[Row], message: str | None) -> TurnOutcome:
    """Judge a turn by its rows, its program runs and the user's next message, if there is one."""
    if not turns:
        return TurnOutcome(is_good=None, signals=("no_turn",))
    looks = [turn.last_passed for turn in turns if turn.last_passed is not None]
    signs = {
        "corrected": message is not None and corrects(message),
        "run_failed": bool(runs) and not runs[-1].response.startswith(_RUN_ENDED_WELL),
        "look_failed": bool(looks) and not looks[-1],
    }
    bad = tuple(word for word, applies in signs.items() if applies)
    good = [
        word
        for word, applies in (
            ("run_ended_well", runs and not signs["run_failed"]),
            ("look_passed", looks and not signs["look_failed"]),
        )
        if applies
    ]
    return TurnOutcome(is_good=not bad, signals=bad or tuple(good) or ("no_objection",))


def corrects(message: str) -> bool:
    """Return True if a user's message says that the answer before it was wrong or did not work.

    English, German, French, Spanish, Italian, Russian and Chinese, by the beginning of the message.
    """
    begin = normalize(message.strip()[:200])
    return any(pattern.search(begin) for pattern in _corrections())


@cache
def _corrections() -> tuple[re.Pattern[str], ...]:
    rows = read_table(__package__, "corrections.toml").values()
    return tuple(re.compile(normalize(pattern)) for row in rows for pattern in row)


def _use(row: Row, question: str, answer: str) -> str | None:
    if row.cube_id in answer:
        return "cited"
    if follows(row.rules, question, answer):
        return "followed"
    return "rated" if row.vote == 1 else None


def follows(rules: str, question: str, answer: str) -> bool:
    """Return True if an answer, with its programs, seems to follow rules that the question does not
    mention already.

    By code or an identifier of the rules, or by several of their words.
    """
    answer, question = normalize(answer), normalize(question)
    if not answer:
        return False
    plain = normalize(rules)
    names = {name for one in identifier_names(plain) for name in one.names}
    if any(code in answer and code not in question for code in {*_CODE.findall(plain), *names}):
        return True
    common = set(words(question)) | _OF_RULES
    telling = {word for word in words(plain) if len(word) >= _LETTERS_MIN} - common
    shared = telling & set(words(answer))
    return len(shared) >= max(FOLLOWED_WORDS_MIN, FOLLOWED_SHARE_MIN * len(telling))
