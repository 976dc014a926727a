"""Try proposals one after another until one runs successfully."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator

from ...protocol import limits
from . import conversions, copied_text, keywords, layout, names, punctuation
from .source import Failure, ProgramSource, Proposal, Trial, common_prefix_length, split_lines

# Errors that a rule can fix.
_FIXABLE_ERRORS = frozenset(
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
_VALUE_ERRORS = frozenset({"UnboundLocalError", "IndexError", "ValueError"})
# Changed lines to compare. More are shown as one change, because comparing takes quadratic time.
_DIFF_LINES_MAX = 2_000
_LINE = re.compile(r"[^\n]*+\n|[^\n]++\Z")
# The interpreter appends the location to the message of a SyntaxError.
_LOCATION = re.compile(r" \([^()]*, line \d+\)\Z")
_CONTEXT = 3

Rule = tuple[str, Callable[[ProgramSource, Failure], str]]


def _ignore_failure(
    rule: Callable[[ProgramSource], str],
) -> Callable[[ProgramSource, Failure], str]:
    return lambda source, _: rule(source)


COPIED_TEXT_RULES: tuple[Rule, ...] = (
    ("fences", _ignore_failure(copied_text.strip_fences)),
    ("prompts", _ignore_failure(copied_text.strip_prompts)),
    ("line numbers", _ignore_failure(copied_text.strip_line_numbers)),
    ("invisible characters", _ignore_failure(copied_text.remove_invisible)),
    ("quotes", _ignore_failure(copied_text.straighten_quotes)),
    ("look-alike signs", _ignore_failure(copied_text.replace_lookalikes)),
    ("web page", _ignore_failure(copied_text.unescape_entities)),
    ("notebook", _ignore_failure(copied_text.comment_out_magics)),
    ("chat text", _ignore_failure(copied_text.comment_out_prose)),
)
INDENTATION_RULES: tuple[Rule, ...] = (
    ("dedent", _ignore_failure(copied_text.dedent)),
    ("tabs", layout.expand_tabs),
    ("indentation", layout.fix_stray_indent),
    ("empty block", layout.fill_empty_block),
    ("block", layout.indent_block),
)
SYNTAX_RULES: tuple[Rule, ...] = (
    ("keyword", keywords.join_else_if),
    ("prompts", copied_text.strip_lone_prompts),
    ("keyword", keywords.fix_keyword),
    ("keyword", keywords.rename_keyword),
    ("operator", keywords.replace_operators),
    ("declaration", keywords.remove_declarations),
    ("loop", keywords.complete_for),
    ("import", punctuation.fix_import),
    ("colon", punctuation.add_colons),
    ("colon", punctuation.fix_pairs),
    ("semicolon", punctuation.replace_semicolons),
    ("parameters", keywords.add_parentheses),
    ("parameters", keywords.order_parameters),
    ("parameters", keywords.unpack_parameters),
    ("parentheses", punctuation.parenthesize),
    ("dot", punctuation.fix_dots),
    ("number", punctuation.fix_number),
    ("number", punctuation.replace_fractions),
    ("string", punctuation.close_string),
    ("string", punctuation.close_triple_string),
    ("string", punctuation.make_raw),
    ("f-string", punctuation.replace_escapes),
    ("declaration", keywords.move_declaration),
    ("import", keywords.move_future_import),
    ("clause", layout.dedent_clause),
    ("comparison", punctuation.fix_comparison),
    ("assignment", punctuation.fix_assignment),
    ("operator", keywords.join_operators),
    ("brackets", punctuation.fix_call_brackets),
    ("comma", punctuation.add_commas),
    ("brackets", punctuation.close_brackets),
    ("brackets", punctuation.remove_surplus_bracket),
    ("f-string", punctuation.fix_fstring_quotes),
)
RUN_TIME_RULES: tuple[Rule, ...] = (
    ("JSON words", names.replace_foreign_constants),
    ("imports", names.add_imports),
    ("module", names.fix_module),
    ("self", names.add_self_to_name),
    ("keyword", names.fix_lone_keyword),
    ("name", names.fix_typo),
    ("self", names.add_self),
    ("attribute", names.fix_member),
    ("attribute", names.add_call),
    ("None", names.keep_object),
    ("text", conversions.convert_to_text),
    ("operator", conversions.fix_operators),
    ("range", conversions.add_range),
    ("call", conversions.replace_subscript),
    ("integer", conversions.divide_to_integer),
    ("pairs", conversions.iterate_pairs),
)
# For errors that most often need knowledge of the data: only what the message makes certain.
VALUE_RULES: tuple[Rule, ...] = (
    ("scope", names.declare_global),
    ("range", conversions.shorten_range),
    ("pairs", conversions.iterate_pairs),
)


def proposals(code: str, failure: Failure) -> Iterator[Proposal]:
    """Yield the proposals of the rules that apply to a failure, most certain first.

    Yields none for an error that no rule fixes, or that the program raises deliberately.
    """
    if failure.type not in _FIXABLE_ERRORS | _VALUE_ERRORS:
        return
    source = ProgramSource(code)
    if failure.is_syntax_error:
        rules = (
            (*COPIED_TEXT_RULES, *INDENTATION_RULES, *SYNTAX_RULES)
            if failure.type == "SyntaxError"
            else (*COPIED_TEXT_RULES, *INDENTATION_RULES)
        )
    elif not _is_deliberate(source, failure):
        text_rules = (
            ("chat text", copied_text.comment_out_button),
            ("web page", copied_text.unescape_entity_names),
        )
        is_value = failure.type in _VALUE_ERRORS
        rules = VALUE_RULES if is_value else (*text_rules, *RUN_TIME_RULES)
    else:
        return
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
        lines = list(
            difflib.unified_diff(
                old[head : len(old) - tail],
                new[head : len(new) - tail],
                "before",
                "after",
                n=_CONTEXT,
            )
        )
        diff_lines = [
            _shift_heading(line, head) if line.startswith("@@ ") else line for line in lines
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
