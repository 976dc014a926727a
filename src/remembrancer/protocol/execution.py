"""Messages of the sandbox."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from . import limits
from .files import CreatedFile
from .message import ABSENT_IF_NONE, Body, Id, Message, example
from .text import Telling

Mode = Literal["fix", "optimize", "all"]
Strategy = Literal["cascade", "race"]
Status = Literal["ok", "fixed", "failed", "timeout", "killed"]
Level = Literal["gvisor", "ns", "landlock", "unsafe"]
Milliseconds = Annotated[float, Field(ge=0)]
Guard = Literal[  # reasons to reject a model's proposal
    "no_program",
    "unreadable",
    "repeated",
    "grows",
    "loses_secrets",
    "tests_changed",
    "swallows",
    "exits",
    "drops_definitions",
    "hollows",
    "shrinks",
    "deletes",
    "drops_raise",
    "drops_output",
    "hard_codes",
    "reaches_out",
    "rebinds",
    "unequal",
    "not_faster",
]


_ALIASES = frozenset({"python", "python3", "py"})


def _language(value: Any) -> Any:
    return "python" if isinstance(value, str) and value.strip().casefold() in _ALIASES else value


class Execution(Body):
    """Body of `POST /api/execute/code`."""

    model_config = example({"code": "import math\nprint(math.tau)\nmath.pi"})

    code: Annotated[
        Telling, Field(max_length=limits.CODE_CHARACTERS_MAX, description="Python source.")
    ]
    mode: Annotated[
        Mode,
        Field(
            description="`fix` repairs a failing program, `optimize` speeds up a working one, "
            "`all` does both."
        ),
    ] = "fix"
    language: Annotated[
        Literal["python"],
        BeforeValidator(_language),
        Field(description="Language of the source: `python`, also as `py` or `python3`."),
    ] = "python"
    timeout_s: Annotated[
        float | None,
        Field(
            gt=0,
            le=limits.RUN_SECONDS_MAX,
            description="Time limit in seconds. Default: a setting of the server.",
        ),
    ] = None
    strategy: Annotated[
        Strategy,
        Field(
            description="Order of models in a repair: one after another (`cascade`) or all at "
            "once (`race`)."
        ),
    ] = "cascade"
    session_id: Annotated[
        Id | None,
        Field(
            description="Store the run as an event of this session, so that it can be found and "
            "cited."
        ),
    ] = None
    user_id: Annotated[
        Id | None,
        Field(description="User whose memory stores the run. Default: the user of the key."),
    ] = None


class ExecutionError(Message):
    """Error of a program."""

    type: Annotated[
        str,
        Field(
            description="Name of the exception; `Timeout` or `Killed` if the program was stopped."
        ),
    ]
    message: Annotated[str, Field(description="Message of the exception.")]
    line: Annotated[int | None, Field(description="Line of the source.")]
    traceback: Annotated[str, Field(description="Traceback; empty if the program was stopped.")]


class ProgramFile(CreatedFile):
    """A file left in the working folder or a figure left open, stored as a created file."""

    name: Annotated[str, Field(description="Path relative to the program's working folder.")]


class FileLeftOut(Message):
    """A file that was not returned."""

    name: Annotated[str, Field(description="Path, with unprintable characters replaced.")]
    why: Annotated[str, Field(description="Reason.")]


class RunUsage(Message):
    """Resources that a run used."""

    wall_ms: Annotated[Milliseconds, Field(description="Wall-clock time of the run.")]
    cpu_ms: Annotated[Milliseconds, Field(description="CPU time of the run.")]
    max_rss_kb: Annotated[
        int, Field(ge=0, description="Peak memory, including the preloaded libraries.")
    ]


class ExecutionLimits(Message):
    """Limits of a run."""

    seconds: Annotated[float, Field(description="Time limit.")]
    memory_bytes: Annotated[int, Field(description="Memory limit.")]
    disk_bytes: Annotated[int, Field(description="Limit of written and returned bytes.")]
    files: Annotated[int, Field(description="Limit of returned files.")]
    output_bytes: Annotated[int, Field(description="Bytes kept of stdout and of stderr.")]
    threads: Annotated[int, Field(description="Limit of threads.")]


class Confinement(Message):
    """Isolation of a run."""

    level: Annotated[
        Level,
        Field(
            description="`gvisor`, `ns` and `landlock` confine the program, strongest first; "
            "`unsafe` does not."
        ),
    ]
    limits: Annotated[ExecutionLimits, Field(description="Limits of the run.")]


class Attempt(Message):
    """One run of the program or of a changed version, or one proposal of a model."""

    stage: Annotated[
        Literal["run", "deterministic", "model", "optimize", "tidy"],
        Field(
            description="`run`: the program as sent. `deterministic`: changed by a rule. "
            "`model`, `tidy`: fixed or tidied by a model. `optimize`: sped up by a rule or a model."
        ),
    ]
    repair: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Name of the rule, if a rule made the change."),
    ] = None
    model: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Name of the model, or its slot if it gave no answer."),
    ] = None
    outcome: Annotated[
        Status | Literal["refused", "unanswered"],
        Field(
            description="Outcome. `refused`: a guard rejected it, see `guard`. `unanswered`: no "
            "model answered, see `error`."
        ),
    ]
    error: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Type of the error, if any.")
    ] = None
    guard: Annotated[
        Guard | None, ABSENT_IF_NONE, Field(description="Guard that rejected the proposal.")
    ] = None
    tokens: Annotated[
        int | None, ABSENT_IF_NONE, Field(ge=0, description="Tokens that the model read and wrote.")
    ] = None
    ms: Annotated[Milliseconds, Field(description="Duration in milliseconds.")]


class Optimized(Message):
    """Measurements of a program that a rule or a model made faster."""

    cpu_ms_before: Annotated[
        Milliseconds, Field(description="CPU time before: median of the runs.")
    ]
    cpu_ms_after: Annotated[Milliseconds, Field(description="CPU time after: median of the runs.")]
    pairs: Annotated[int, Field(description="Number of paired runs, before and after in turn.")]
    pairs_won: Annotated[
        int,
        Field(
            description="Number of pairs in which the new program used at least 10 % less CPU time."
        ),
    ]


class Executed(Message):
    """Answer of `POST /api/execute/code`. A failing program is answered with 200 too."""

    status: Annotated[
        Status,
        Field(
            description="Outcome. `fixed`: ran well after a change. `killed`: stopped by a "
            "signal or a limit."
        ),
    ]
    stdout: Annotated[str, Field(description="Standard output.")]
    stderr: Annotated[str, Field(description="Standard error.")]
    stdout_truncated: Annotated[bool, Field(description="True if stdout was cut.")]
    stderr_truncated: Annotated[bool, Field(description="True if stderr was cut.")]
    result: Annotated[
        str | None,
        Field(
            description="repr of the last expression; null if there is none or its value is None."
        ),
    ]
    result_truncated: Annotated[bool, Field(description="True if the repr was cut.")]
    error: Annotated[ExecutionError | None, Field(description="Error, if the program failed.")]
    code: Annotated[str, Field(description="Source whose outcome this is.")]
    mode: Annotated[Mode, Field(description="Mode of the request.")]
    fixed: Annotated[bool, Field(description="True if the source was changed to make it work.")]
    diff: Annotated[str | None, Field(description="Change of the source as a unified diff.")]
    verified: Annotated[
        Literal["runs", "tests"] | None,
        ABSENT_IF_NONE,
        Field(
            description="Evidence for a model's fix: it runs well (`runs`), or its own unchanged "
            "tests pass too (`tests`)."
        ),
    ] = None
    optimized: Annotated[
        Optimized | None,
        ABSENT_IF_NONE,
        Field(description="Measurements, if the program was made faster."),
    ] = None
    tidied: Annotated[
        bool | None, ABSENT_IF_NONE, Field(description="True if the program was tidied.")
    ] = None
    note: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="What was done or not tried, and why."),
    ] = None
    attempts: Annotated[list[Attempt], Field(description="Attempts, in order.")]
    files: Annotated[
        list[ProgramFile], Field(description="Files the program left, and figures it left open.")
    ]
    files_left_out: Annotated[list[FileLeftOut], Field(description="Files that were not returned.")]
    files_not_named: Annotated[
        int, Field(ge=0, description="Number of further files that were not returned.")
    ]
    exit_code: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Exit status, if the program exited by itself."),
    ] = None
    signal: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Signal that stopped the program.")
    ] = None
    usage: Annotated[RunUsage, Field(description="Token usage.")]
    sandbox: Annotated[Confinement, Field(description="Confinement of the run.")]
    duration_ms: Annotated[
        Milliseconds, Field(description="Total time: queue, run and file collection.")
    ]
    event_id: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Event id of the stored run, if `session_id` was given."),
    ] = None
