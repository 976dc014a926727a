"""Try proposals one after another until one runs successfully."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from ...protocol import limits
from . import copied_text, layout, running, syntax
from .source import Failure, ProgramSource, Proposal, Trial, common_prefix_length, split_lines

# Errors that a rule can fix, besides those of syntax.
_RUN_TIME_ERRORS = frozenset({"NameError", "AttributeError", "ImportError", "TypeError"})
# Changed lines to compare. More are shown as one change, because comparing takes quadratic time.
_DIFF_LINES_MAX = 2_000
_LINE = re.compile(r"[^\n]*+\n|[^\n]++\Z")
# The interpreter appends the location to the message of a SyntaxError.
_LOCATION = re.compile(r" \([^()]*, line \d+\)\Z")
_CONTEXT = 3

Rule: TypeAlias = tuple[str, Callable[[ProgramSource, Failure], str]]
INDENTATION_RULES: tuple[Rule, ...] = (*copied_text.RULES, *layout.RULES)
SYNTAX_RULES: tuple[Rule, ...] = (
    *INDENTATION_RULES,
    ("prompts", copied_text.strip_lone_prompts),
    *syntax.RULES,
    ("clause", layout.dedent_clause),
    *syntax.LATE_RULES,
)
RUN_TIME_RULES: tuple[Rule, ...] = (*copied_text.RUN_TIME_RULES, *running.RULES)


def proposals(code: str, failure: Failure) -> Iterator[Proposal]:
    """Yield the proposals of the rules that apply to a failure, most certain first.

    Yields none for an error that no rule fixes, or that the program raises deliberately.
    """
    source = ProgramSource(code)
    rules: tuple[Rule, ...] = ()
    if failure.is_syntax_error:
        rules = SYNTAX_RULES if failure.type == "SyntaxError" else INDENTATION_RULES
    elif failure.type in _RUN_TIME_ERRORS and not _is_deliberate(source, failure):
        rules = RUN_TIME_RULES
    versions = {code}
    for name, rule in rules:
        new_code = rule(source, failure)
        # A program of comments alone always succeeds.
        if new_code not in versions and ProgramSource(new_code).statements:
            versions.add(new_code)
            yield Proposal(name, new_code)


def repair(
    code: str, failure: Failure, attempt: Callable[[Proposal], Trial | None]
) -> Proposal | None:
    """Search depth-first for a sequence of changes after which the program succeeds.

    Return the changed program with the names of all changes, or None. `attempt` runs a proposal; it
    returns None if no more may run. At most REPAIR_RUNS_MAX proposals run, and none twice.
    """
    versions = {code}
    runs_left = limits.REPAIR_RUNS_MAX
    stack = [(Proposal("", code), failure, proposals(code, failure))]
    while stack and runs_left:
        current, current_failure, candidates = stack[-1]
        proposal = next(candidates, None)
        if proposal is None:
            stack.pop()
            continue
        if proposal.code in versions:
            continue
        versions.add(proposal.code)
        runs_left -= 1
        trial = attempt(proposal)
        if trial is None:
            return None
        changed = Proposal(f"{current.name}, {proposal.name}".removeprefix(", "), proposal.code)
        if trial.is_success:
            return changed
        if trial.failure and _is_progress(
            current.code, current_failure, proposal.code, trial.failure
        ):
            stack.append((changed, trial.failure, proposals(proposal.code, trial.failure)))
    return None


def _is_deliberate(source: ProgramSource, failure: Failure) -> bool:
    """Return True if the program raises the error with a `raise` or `assert`."""
    statement = source.statement_at(failure.line or 0)
    return statement is None or any(token.text in ("raise", "assert") for token in statement.tokens)


def _is_progress(old_code: str, old: Failure, new_code: str, new: Failure) -> bool:
    """Return True if the new program fails later: nearer to its end, or after it was parsed."""
    if old.is_syntax_error != new.is_syntax_error:
        return old.is_syntax_error
    if not new.is_syntax_error:
        return (old.type, old.message) != (new.type, new.message)
    before, after = (
        len(split_lines(code)) - (failure.line or 0)
        for code, failure in ((old_code, old), (new_code, new))
    )
    return after < before or (
        after == before and _LOCATION.sub("", old.message) != _LOCATION.sub("", new.message)
    )


def diff(before: str, after: str) -> str:
    """Return a unified diff."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    first = common_prefix_length(old, new)
    last = common_prefix_length(old[first:][::-1], new[first:][::-1])
    if max(len(old), len(new)) - first - last <= _DIFF_LINES_MAX:
        head = max(0, first - _CONTEXT)
        tail = max(0, last - _CONTEXT)
        parts = old[head : len(old) - tail], new[head : len(new) - tail]
        diff_lines = [
            _shift_heading(line, head) if line.startswith("@@ ") else line
            for line in difflib.unified_diff(*parts, "before", "after", n=_CONTEXT)
        ]
    else:
        start, old_end, new_end = first + 1, len(old) - last, len(new) - last
        diff_lines = [
            "--- before\n",
            "+++ after\n",
            f"@@ -{start},{old_end - first} +{start},{new_end - first} @@\n",
        ]
        diff_lines += [
            *(f"-{line}" for line in old[first:old_end]),
            *(f"+{line}" for line in new[first:new_end]),
        ]
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in diff_lines
    )


def _shift_heading(heading: str, lines: int) -> str:
    """Return the heading of a hunk with its line numbers increased by `lines`."""
    return re.sub(r"([-+])(\d+)", lambda match: f"{match[1]}{int(match[2]) + lines}", heading)
