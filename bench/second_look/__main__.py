"""Measure precision, recall and latency of the second look.

    python -m bench.second_look

Every draft is reviewed as one stored answer; all events of its conversation count as shown. A label
is detected if a failed check of its kind overlaps it. A failed check that matches no label is a
false positive. The held-out drafts were written before the code and never used for tuning.
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

from bench.report import arguments_of, table, write_section
from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.agent.second_look import second_look
from remembrancer.claims.evidence import EventEvidence
from remembrancer.claims.review import CitedEvent, parse_draft, review
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.protocol.agent import Check, SecondLook
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery

FOLDER = Path(__file__).parent
SETS = {"held-out": "held_out.toml", "tuning": "tuned.toml"}
WRITTEN = date(2026, 11, 20)  # the date of all drafts
_LABEL = re.compile(r"\{(?P<sort>[!?#])(?P<words>[^{}]+)\}")
SORTS = {
    "!": "value is in the cited event",
    "?": "claim is marked",
    "#": "ref exists and was shown",
}
_SORT_OF = {"claim_marked": "?", "ref_exists": "#", "ref_shown": "#"}
ROUNDS = 20


class Label(NamedTuple):
    """A wrong part of a draft and the kind of error."""

    sort: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Case:
    """One draft with its labels and the events it may cite."""

    language: str
    kind: str
    text: str
    labels: tuple[Label, ...]
    cited: dict[str, CitedEvent]


def cases(file: str) -> Iterator[Case]:
    """Return the drafts of a file."""
    for conversation in tomllib.loads((FOLDER / file).read_text("utf-8"))["talk"]:
        cited = {
            one["id"]: CitedEvent(
                "shown",
                EventEvidence(
                    one["id"],
                    f"{one['query']}\n\n{one['response']}",
                    datetime.fromisoformat(one["at"]).astimezone(UTC).date(),
                ),
            )
            for one in conversation["events"]
        }
        for line in conversation["drafts"].strip().splitlines():
            kind, _, labelled = line.partition(": ")
            yield Case(conversation["language"], kind, *unlabelled(labelled), cited)


def unlabelled(labelled: str) -> tuple[str, tuple[Label, ...]]:
    """Return a draft as an agent sends it, and the positions of its labels."""
    text, at, labels = "", 0, []
    for match in _LABEL.finditer(labelled):
        text += labelled[at : match.start()]
        labels.append(Label(match["sort"], len(text), len(text) + len(match["words"])))
        text += match["words"]
        at = match.end()
    return text + labelled[at:], tuple(labels)


@dataclass(slots=True)
class Score:
    """Detected and missed labels, and false positives, by kind of label and by check."""

    met: Counter[str]
    missed: Counter[str]
    false_positives: Counter[str]
    detected: Counter[str]

    def row(self, name: str, keys: list[str]) -> list[str]:
        """Return precision and recall over some keys."""
        met, missed, false_positives, detected = (
            sum(counter[key] for key in keys)
            for counter in (self.met, self.missed, self.false_positives, self.detected)
        )
        precision = (
            f"{detected / (detected + false_positives):.3f}" if detected + false_positives else "-"
        )
        recall = f"{met / (met + missed):.3f}" if met + missed else "-"
        return [name, str(met + missed), precision, recall, f"{false_positives} / {missed}"]


def scored(cases: list[Case], *, show: bool = False) -> Score:
    """Review all drafts."""
    score = Score(Counter(), Counter(), Counter(), Counter())
    for case in cases:
        draft = parse_draft(case.text, WRITTEN)
        cited = {ref: case.cited.get(ref, CitedEvent("unknown")) for ref in draft.refs}
        failed = [check for check in review(draft, cited, "") if check.status == "fail"]
        met = _count_checks(score, case, failed, show=show)
        _count_labels(score, case, failed, met, show=show)
    return score


def _overlap(label: Label, check: Check) -> bool:
    return label.start < (check.end or 0) and (check.start or 0) < label.end


def _count_checks(score: Score, case: Case, failed: list[Check], *, show: bool) -> set[Label]:
    """Count failed checks as detections or false positives; return the detected labels."""
    met: set[Label] = set()
    for check in failed:
        sort = _SORT_OF.get(check.check, "!")
        labels = {label for label in case.labels if label.sort == sort and _overlap(label, check)}
        met |= labels
        counter = score.detected if labels else score.false_positives
        for key in (check.check, sort, f"{case.language}{sort}"):
            counter[key] += 1
        if show and not labels:
            claim = (check.check, check.claim, "|", check.detail)
            print("FALSE POSITIVE", case.language, case.text, "|", *claim)
    return met


def _count_labels(
    score: Score, case: Case, failed: list[Check], met: set[Label], *, show: bool
) -> None:
    for label in case.labels:
        words = case.text[label.start : label.end]
        kinds = [check.check for check in failed if label in met and _overlap(label, check)]
        matching = [kind for kind in kinds if _SORT_OF.get(kind, "!") == label.sort]
        counter = score.met if label in met else score.missed
        counter[label.sort] += 1
        counter[matching[0] if matching else kind_of(words, label.sort)] += 1
        counter[f"{case.language}{label.sort}"] += 1
        if show and label not in met:
            print("FALSE NEGATIVE", case.language, case.text, "|", words)


def kind_of(words: str, sort: str) -> str:
    """Return the check that should detect a label."""
    if sort != "!":
        return {"?": "claim_marked", "#": "ref_exists"}[sort]
    if "://" in words:
        return "url_in_ref"
    claims = parse_draft(words, WRITTEN).claims
    return f"{claims[0].kind}_in_ref" if claims else "number_in_ref"


def latencies() -> list[float]:
    """Return the sorted milliseconds of second looks with a real store.

    Each draft has four sentences about three events.
    """
    conversation = tomllib.loads((FOLDER / "tuned.toml").read_text("utf-8"))["talk"][0]
    with tempfile.TemporaryDirectory() as folder:
        context = testing.context(Path(folder))
        caller = caller_for(context)
        ids = {}
        for one in conversation["events"]:
            stored = remember(
                context,
                caller,
                Turn(
                    query=one["query"],
                    response=one["response"],
                    occurred_at=datetime.fromisoformat(one["at"]),
                ),
            )
            ids[one["id"]] = stored.event_id or ""
            recall(context, caller, MemoryQuery(query_text=one["query"], user_id="owner"))
        lines = [
            unlabelled(line.partition(": ")[2])[0]
            for line in conversation["drafts"].strip().splitlines()
        ]
        for name, event_id in ids.items():
            lines = [line.replace(f"ref: {name})", f"ref: {event_id})") for line in lines]
        drafts = [" ".join(lines[at : at + 4]) for at in range(0, len(lines) - 4, 4)]
        for draft in drafts:
            remember(context, caller, Turn(query="And?", response=draft))
        times = []
        for _ in range(ROUNDS):
            for draft in drafts:
                begin = time.perf_counter()
                second_look(context, caller, SecondLook(draft=draft))
                times.append((time.perf_counter() - begin) * 1e3)
        context.close()
        print(f"{statistics.mean(map(len, drafts)):.0f} characters per draft")
        return sorted(times[len(drafts) :])


def main() -> None:
    """Measure and write the tables."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, help="ignored")
    parser.add_argument(
        "--show",
        choices=list(SETS),
        help="only print the false positives and false negatives of one set",
    )
    arguments = parser.parse_args()
    if arguments.show:
        score = scored(list(cases(SETS[arguments.show])), show=True)
        print(
            table(
                ["", "labels", "precision", "recall", "false positives / negatives"],
                [score.row(name, [sort]) for sort, name in SORTS.items()],
            )
        )
        return
    rows = []
    for name, file in SETS.items():
        values = list(cases(file))
        score = scored(values)
        rows += [
            [f"{name}, {len(values)} drafts", *score.row(label, [sort])]
            for sort, label in SORTS.items()
        ]
        rows += [
            [name, *score.row(f"`{check}`", [check])]
            for check in ("number_in_ref", "date_in_ref", "name_in_ref", "url_in_ref")
        ]
        rows += [
            [name, *score.row(f"values, {code}", [f"{code}!"])]
            for code in ("en", "de", "fr", "es", "ru", "zh")
        ]
    times = latencies()
    speed = (
        f"Latency of a draft with four sentences, including the store: "
        f"p50 {statistics.median(times):.2f} ms, "
        f"p99 {times[int(len(times) * 0.99)]:.2f} ms."
    )
    heads = [
        "drafts", "check", "labels", "precision", "recall", "false positives / negatives",
    ]  # fmt: skip
    write_section(
        "second_look",
        "Second look",
        "python -m bench.second_look",
        f"{table(heads, rows)}\n\n{speed}",
    )


if __name__ == "__main__":
    main()
