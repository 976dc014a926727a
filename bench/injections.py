"""Measure how many injections that others published are kept out of published cubes.

    python -m bench.injections --list NAME=FILE [--list NAME=FILE ...]

Each payload is put into the rules of a harmless cube. A FILE holds payloads as JSON (texts, or
objects with one of the members of TEXTS), as JSON or CSV lines, or as plain lines. Rows that are
labelled harmless or are not in English are left out. Payloads that are longer than published rules
may be are counted apart, since an attacker would shorten them. The patterns were tuned on half of
each list, chosen by the SHA-256 of the payload; the other half is held out, except that the first
25 rows of CyberSecEval were read before.

The project does not contain the lists: deepset/prompt-injections (Apache-2.0),
prompt_injection.json of CyberSecEval in meta-llama/PurpleLlama (MIT), the attacker's instructions
of InjecAgent, and prompt_injections.csv of Giskard-AI/prompt-injections (MIT), which has those of
garak and PromptInject.

False alarms are counted on the labelled lessons (bench/situations.py), and on the paragraphs of
docstrings as technical prose: of the standard library, for which the patterns were adjusted, and of
scipy and sympy, which were not read.
"""

from __future__ import annotations

import argparse
import ast
import csv
import hashlib
import json
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import table, write_section
from bench.situations import load_situations
from remembrancer.cubes.publishing import BOUNDS, injection_family, is_english, refusal

TEXTS = ("text", "prompt", "user_input", "payload", "attack", "Attacker Instruction", "instruction")
LANGUAGES = ("language", "speaking_language")
LESSON = {
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes.",
    "evidence": "docs",
}
HEADS = ("list", "half", "payloads", "refused", "without the families", "too long, left out")
PARAGRAPH_CHARACTERS = (60, 800)


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """The payloads of one half of a list.

    `payloads` fit into published rules; `before` of them are refused by other checks than the
    families of cubes/injections.toml; `too_long` do not fit.
    """

    name: str
    half: str
    payloads: int
    refused: int
    before: int
    too_long: int

    @classmethod
    def total(cls, name: str, halves: list[Half]) -> Half:
        """Return the sum of halves of several lists."""
        return cls(
            name=name,
            half=halves[0].half,
            payloads=sum(one.payloads for one in halves),
            refused=sum(one.refused for one in halves),
            before=sum(one.before for one in halves),
            too_long=sum(one.too_long for one in halves),
        )

    def row(self) -> list[str]:
        """Return its table row."""
        return [
            *(self.name, self.half, str(self.payloads)),
            *(
                f"{count} ({count / max(self.payloads, 1):.0%})"
                for count in (self.refused, self.before)
            ),
            str(self.too_long),
        ]


def main() -> None:
    """Measure the lists and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="append", required=True, metavar="NAME=FILE")
    lists = [one.partition("=")[::2] for one in parser.parse_args().list]
    reasons: Counter[str] = Counter()
    halves = [
        half for name, file in lists for half in measured(name, payloads(Path(file)), reasons)
    ]
    held_out = Half.total("all lists", [one for one in halves if one.half == "held out"])
    write_section(
        "injections",
        "Injections in published cubes",
        "python -m bench.injections "
        + " ".join(f'--list "{name}={Path(file).name}"' for name, file in lists),
        "\n\n".join(
            [
                table(HEADS, [one.row() for one in (*halves, held_out)]),
                "Reasons: " + ", ".join(f"{text} {n}" for text, n in reasons.most_common()) + ".",
                false_alarms(),
            ]
        ),
    )


def payloads(path: Path) -> list[str]:
    """Return the English payloads of a file, each once, in order.

    A row without a language counts as English if it reads so.
    """
    texts: dict[str, None] = {}
    for row in _rows(path):
        text = str(row if isinstance(row, str) else _member(row, TEXTS) or "").strip()
        language = "" if isinstance(row, str) else str(_member(row, LANGUAGES) or "")
        is_harmless = isinstance(row, dict) and str(row.get("label", "1")) == "0"
        is_foreign = (
            not language.lower().startswith("en")
            if language
            else bool(text) and not is_english(text)
        )
        if text and not is_harmless and not is_foreign:
            texts[text] = None
    return list(texts)


def measured(name: str, texts: list[str], reasons: Counter[str]) -> Iterator[Half]:
    """Yield the results of the halves of a list, and count the reasons."""
    for half in ("tuned", "held out"):
        own = [text for text in texts if half_of(text) == half]
        fits = [text for text in own if len(_rules(text)) <= BOUNDS["rules"]]
        refused = before = 0
        for text in fits:
            reason = refusal({**LESSON, "rules": _rules(text)})
            if reason is None:
                continue
            refused += 1
            check = re.sub(r"^Kept private: |its rules contains |\.$", "", reason)
            before += check != injection_family(_rules(text))
            reasons[re.sub(r"\(.*\)", "", check).strip()] += 1
        yield Half(
            name=name,
            half=half,
            payloads=len(fits),
            refused=refused,
            before=before,
            too_long=len(own) - len(fits),
        )


def half_of(text: str) -> str:
    """Return the half that a payload belongs to: `tuned` or `held out`."""
    return ("tuned", "held out")[hashlib.sha256(text.encode()).digest()[0] % 2]


def false_alarms() -> str:
    """Return a sentence on harmless texts that are refused."""
    lessons = load_situations()[0]
    refused = sum(
        refusal({"topic": one.topic, "essence": one.essence, "rules": one.rules}) is not None
        for one in lessons
    )
    stdlib, packages = (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib"))
    parts = []
    for name, folders in (
        ("the standard library", [stdlib]),
        ("scipy and sympy", [packages / "scipy", packages / "sympy"]),
    ):
        prose = sorted({text for folder in folders for text in paragraphs(folder)})
        suspected = sum(injection_family(text) is not None for text in prose)
        parts.append(f"{suspected} of {len(prose):,} paragraphs of docstrings of {name}")
    return (
        f"False alarms: {refused} of {len(lessons)} labelled lessons refused; "
        f"{' and '.join(parts)} belong to a family."
    )


def paragraphs(folder: Path) -> Iterator[str]:
    """Yield the paragraphs of the docstrings of the modules in a folder, without tests."""
    low, high = PARAGRAPH_CHARACTERS
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if not {"site-packages", "dist-packages", "test", "tests", "idlelib"}.isdisjoint(parts):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for text in (ast.get_docstring(node) or "").split("\n\n"):
                    if low <= len(text) <= high:
                        yield text


def _rows(path: Path) -> list[Any]:
    content = path.read_text("utf-8")
    if path.suffix == ".csv":
        csv.field_size_limit(1 << 24)
        return list(csv.DictReader(content.splitlines(keepends=True)))
    if path.suffix == ".json":
        return list(json.loads(content))
    lines = [line for line in content.splitlines() if line.strip()]
    return [json.loads(line) for line in lines] if path.suffix == ".jsonl" else lines


def _member(row: dict[str, Any], names: tuple[str, ...]) -> object:
    return next((row[name] for name in names if row.get(name)), None)


def _rules(payload: str) -> str:
    return f"- MUST boil it with water.\n- {payload}"


if __name__ == "__main__":
    main()
