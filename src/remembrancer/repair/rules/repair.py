"""Try proposals one after another until a program ends well; what does not is as it was."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator

from ...protocol import limits
from . import characters, indentation, names, python2, syntax
from . import copied_text as pasted
from .proposal import Failure, Proposal, Trial
from .source import ProgramSource, common, split_lines

# What a program may end with that a rule can mend. All else is its own affair.
_MENDABLE = frozenset(
    {
        "SyntaxError",
        "IndentationError",
        "TabError",
        "NameError",
        "AttributeError",
        "ImportError",
        "ModuleNotFoundError",
        "TypeError",
    }
)
# of changed lines; more are shown as one change, as finding the least one takes their number
# squared
_COMPARED_LINES_MAX = 2_000
_LINE = re.compile(r"[^\n]*+\n|[^\n]++\Z")
_PLACE = re.compile(
    r" \([^()]*, line \d+\)\Z"
)  # what the interpreter adds to the message of a SyntaxError
_CONTEXT = 3

Family = tuple[str, Callable[[ProgramSource, Failure], str]]


def _of_text(family: Callable[[ProgramSource], str]) -> Callable[[ProgramSource, Failure], str]:
    return lambda source, _: family(source)


PASTED: tuple[Family, ...] = (
    ("fences", _of_text(pasted.fences)),
    ("prompts", _of_text(pasted.prompts)),
    ("line numbers", _of_text(pasted.numbers)),
    ("invisible characters", _of_text(characters.visible)),
    ("quotes", _of_text(characters.quotes)),
    ("look-alike signs", _of_text(characters.signs)),
    ("web page", _of_text(characters.entities)),
    ("notebook", _of_text(pasted.magics)),
    ("chat text", _of_text(pasted.talk)),
)
INDENTED: tuple[Family, ...] = (
    ("dedent", _of_text(pasted.dedent)),
    ("tabs", indentation.tabs),
    ("indentation", indentation.stray),
    ("empty block", indentation.empty_block),
)
WRITTEN: tuple[Family, ...] = (
    ("python 2", _of_text(python2.python2)),
    ("colon", syntax.colons),
    ("comparison", syntax.equals),
    ("brackets", syntax.brackets),
    ("f-string", syntax.fstring_quotes),
)
NAMED: tuple[Family, ...] = (
    ("JSON words", names.words),
    ("imports", names.imports),
    ("python 2", _of_text(python2.names)),
    ("python 2", python2.streams),
    ("name", names.slip),
    ("self", syntax.missing_self),
)


def proposals(code: str, failure: Failure) -> Iterator[Proposal]:
    """What the program may have been meant to be, surest first; none for a failure that no rule
    mends, or that the program wanted.
    """
    if failure.type not in _MENDABLE:
        return
    source = ProgramSource(code)
    if failure.is_of_syntax:
        families = (
            (*PASTED, *INDENTED, *WRITTEN)
            if failure.type == "SyntaxError"
            else (*PASTED, *INDENTED)
        )
    elif not _is_wanted(source, failure):
        web = (("chat text", pasted.buttons), ("web page", characters.entity_names))
        families = (*web, *NAMED)
    else:
        return
    seen = {code}
    for name, family in families:
        proposed = family(source, failure)
        if (
            proposed not in seen and ProgramSource(proposed).statements
        ):  # comments alone always end well
            seen.add(proposed)
            yield Proposal(name, proposed)


def repair(
    code: str, failure: Failure, attempt: Callable[[Proposal], Trial | None]
) -> Proposal | None:
    """The program changed so that it ends well, and the names of all changes; None when no proposal
    and no row of them leads there.

    `attempt` runs a proposal; None from it means that no more may be run. At most REPAIR_RUNS_MAX
    are, and none twice.
    """
    tried = {code}
    left = limits.REPAIR_RUNS_MAX
    waiting = [(Proposal("", code), failure, proposals(code, failure))]
    while waiting and left:
        done, failed, more = waiting[-1]
        proposal = next(more, None)
        if proposal is None:
            waiting.pop()
            continue
        if proposal.code in tried:
            continue
        tried.add(proposal.code)
        left -= 1
        trial = attempt(proposal)
        if trial is None:
            return None
        so_far = Proposal(f"{done.name}, {proposal.name}".removeprefix(", "), proposal.code)
        if trial.good:
            return so_far
        if trial.failure and _is_further(done.code, failed, proposal.code, trial.failure):
            waiting.append((so_far, trial.failure, proposals(proposal.code, trial.failure)))
    return None


def _is_wanted(source: ProgramSource, failure: Failure) -> bool:
    """Whether the program raises it in so many words."""
    statement = source.statement_at(failure.line or 0)
    return statement is None or any(token.text in ("raise", "assert") for token in statement.tokens)


def _is_further(code: str, failed: Failure, changed: str, fails: Failure) -> bool:
    """Whether it fails later than before:

    nearer to its end, or when it runs and no longer when it is read.
    """
    if failed.is_of_syntax != fails.is_of_syntax:
        return failed.is_of_syntax
    if not fails.is_of_syntax:
        return (failed.type, failed.message) != (fails.type, fails.message)
    before, after = (
        len(split_lines(text)) - (one.line or 0) for text, one in ((code, failed), (changed, fails))
    )
    return after < before or (
        after == before and _PLACE.sub("", failed.message) != _PLACE.sub("", fails.message)
    )


def diff(before: str, after: str) -> str:
    """What was changed, as `patch` and `git apply` read it."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    first = common(old, new)
    last = common(old[first:][::-1], new[first:][::-1])
    if max(len(old), len(new)) - first - last <= _COMPARED_LINES_MAX:
        head = max(0, first - _CONTEXT)
        tail = max(0, last - _CONTEXT)
        lines = list(
            difflib.unified_diff(
                old[head : len(old) - tail],
                new[head : len(new) - tail],
                "before",
                "after",
                n=_CONTEXT,
            )
        )
        shown = [_moved(line, head) if line.startswith("@@ ") else line for line in lines]
    else:
        start, until, until_new = first + 1, len(old) - last, len(new) - last
        shown = [
            "--- before\n",
            "+++ after\n",
            f"@@ -{start},{until - first} +{start},{until_new - first} @@\n",
        ]
        shown += [
            *(f"-{line}" for line in old[first:until]),
            *(f"+{line}" for line in new[first:until_new]),
        ]
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in shown
    )


def _moved(heading: str, lines: int) -> str:
    """The heading of a part, so many lines further down."""
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + lines}", heading)
