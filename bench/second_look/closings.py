"""Measure when the runtime and the hooks ask for a second look, and what it sends back.

    python -m bench.second_look.closings

A case is a closing message with the user's message, the results of the turn's tools and what memory
returned. In the files it is one line, `label | message | results | reply`, in which `;;` separates
results, `-` means none and `⏎` is a line break. Labels:

- `none`: claims nothing from memory. Asking is a false alarm.
- `right`: cites memory correctly. Must be asked and pass.
- `bare`: repeats memory without a ref. Must be asked and fail.
- `wrong`: cites or repeats memory wrongly. Must be asked and fail.

"Before" is the rule until now: ask if memory returned anything, and correct every failed check. The
files `reports_*` have work reports of coding agents. Their hooks send back only what contradicts
memory: of all labels, `wrong` alone. The held-out cases were written before the code and never used
for tuning.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from bench.report import arguments_of, table, write_section
from remembrancer.claims.evidence import EventEvidence
from remembrancer.claims.review import CitedEvent, parse_draft, review
from remembrancer.protocol.agent import Check
from remembrancer.protocol.memory_claims import MemoryClaims, TurnTexts, turn_texts

FOLDER = Path(__file__).parent
SETS = {"held out": "closings_held_out.toml", "tuned on": "closings_tuned.toml"}
REPORTS = {"held out": "reports_held_out.toml", "tuned on": "reports_tuned.toml"}
DAY = date(2026, 11, 20)  # the day of all replies
FIGURES = ("cases", "sent back before", "asked", "sent back", "contradicting")
LABELS = ("none", "right", "bare", "wrong")


@dataclass(frozen=True, slots=True)
class Closing:
    """One closing message with its label and the texts of its turn."""

    label: str
    reply: str
    texts: TurnTexts
    cited: dict[str, CitedEvent]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Failed checks of a closing message that must be corrected; None if it is not checked."""

    failed: list[Check] | None

    @property
    def is_asked(self) -> bool:
        """True if a second look is requested."""
        return self.failed is not None

    @property
    def is_sent_back(self) -> bool:
        """True if the reply must be corrected."""
        return bool(self.failed)


def closings(file: str) -> Iterator[Closing]:
    """Yield the cases of a file."""
    for project in tomllib.loads((FOLDER / file).read_text("utf-8"))["project"]:
        events = project["memory"]
        memory = [
            f"[event {one['id']}] {one['at']}\nuser: {one['query']}\nanswer: {one['response']}"
            for one in events
        ]
        cited = {
            one["id"]: CitedEvent(
                "shown",
                EventEvidence(
                    one["id"],
                    f"{one['query']}\n\n{one['response']}",
                    datetime.fromisoformat(one["at"]).astimezone(UTC).date(),
                ),
            )
            for one in events
        }
        for line in project["cases"].strip().splitlines():
            label, message, results, reply = line.split(" | ")
            tool_results = [] if results == "-" else results.split(" ;; ")
            texts = turn_texts(memory, message, tool_results)
            yield Closing(label, reply.replace(" ⏎ ", "\n"), texts, cited)


def outcome(case: Closing) -> Outcome:
    """Return what the runtime and the hooks do with a closing message."""
    claims = MemoryClaims(case.reply, case.texts)
    if not claims.need_second_look:
        return Outcome(None)
    failed = failures(case)
    return Outcome([c for c in failed if claims.must_correct(c.check, c.start, c.end)])


def is_contradicting(case: Closing) -> bool:
    """Return True if the hooks of a coding agent send a closing message back."""
    claims = MemoryClaims(case.reply, case.texts)
    failed = failures(case) if claims.cites else []
    return bool(claims.contradictions) or any(claims.contradicts(c.check, c.end) for c in failed)


def failures(case: Closing) -> list[Check]:
    """Return the failed checks of a second look at a closing message."""
    draft = parse_draft(case.reply, DAY)
    cited = {ref: case.cited.get(ref, CitedEvent("unknown")) for ref in draft.refs}
    return [check for check in review(draft, cited, "") if check.status == "fail"]


def counts(cases: list[Closing]) -> dict[str, Counter[str]]:
    """Return for each label the number of cases, of those asked and of those sent back."""
    result = {label: Counter[str]() for label in LABELS}
    for case in cases:
        now = outcome(case)
        row = result[case.label]
        row["cases"] += 1
        row["asked"] += now.is_asked
        row["sent back"] += now.is_sent_back
        row["contradicting"] += is_contradicting(case)
        row["sent back before"] += bool(failures(case))
    return result


def main() -> None:
    """Print the table and keep it in bench/results.md."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, help="not used: the cases stand beside this file")
    parser.add_argument("--show", choices=list(SETS), help="print the wrong outcomes of one set")
    arguments = parser.parse_args()
    if arguments.show:
        show(list(closings(SETS[arguments.show])))
        return
    rows = []
    for kind, files in (("any agent", SETS), ("coding agent", REPORTS)):
        for name, file in files.items():
            for label, row in counts(list(closings(file))).items():
                figures = [row[what] for what in FIGURES]
                if row["cases"]:
                    rows.append([f"{kind}, {name}", f"`{label}`", *map(str, figures)])
    heads = ["closing messages", "label", *FIGURES[:-1], "sent back by hooks"]
    write_section(
        "closings",
        "Second look at closing messages",
        "python -m bench.second_look.closings",
        table(heads, rows),
    )


def show(cases: list[Closing]) -> None:
    """Print the cases with another outcome than their label says."""
    for case in cases:
        now = outcome(case)
        expected = {"none": (False, False), "right": (True, False)}.get(case.label, (True, True))
        if (now.is_asked, now.is_sent_back) != expected:
            print(case.label, "|", case.texts.message, "|", case.reply)
            for check in now.failed or ():
                print("   ", check.check, check.claim)
            for start, end in MemoryClaims(case.reply, case.texts).spans:
                print("    from memory:", case.reply[start:end])


if __name__ == "__main__":
    main()
