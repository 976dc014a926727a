"""What is said when a program is run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .files import CreatedFile
from .message import ABSENT_IF_NONE, Id, Message, example
from .text import Telling

Mode = Literal["fix", "optimize", "all"]  # specification, Run code in the sandbox
Strategy = Literal["cascade", "race"]
Status = Literal["ok", "fixed", "failed", "timeout", "killed"]
Level = Literal["gvisor", "ns", "landlock", "unsafe"]
Milliseconds = Annotated[float, Field(ge=0)]
Guard = Literal[  # why what a model wrote is not taken
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


class Execution(Message):
    """Body of `POST /api/execute/code`."""

    model_config = example({"code": "import math\nprint(math.tau)\nmath.pi"})

    code: Annotated[
        Telling, Field(max_length=limits.CODE_CHARACTERS_MAX, description="Python source.")
    ]
    mode: Annotated[
        Mode,
        Field(
            description="What may be done to it: `fix` what fails, `optimize` what works, or `all`."
        ),
    ] = "fix"
    language: Annotated[Literal["python"], Field(description="The language of the source.")] = (
        "python"
    )
    timeout_s: Annotated[
        float | None,
        Field(
            gt=0,
            le=limits.RUN_SECONDS_MAX,
            description="Seconds it may take; the default is a setting of the server.",
        ),
    ] = None
    strategy: Annotated[
        Strategy,
        Field(
            description="How models are asked to fix it: one after another (`cascade`), or all at once (`race`)."
        ),
    ] = "cascade"
    session_id: Annotated[
        Id | None,
        Field(description="Keep the run as an event of this session, to be found and cited."),
    ] = None
    user_id: Annotated[
        Id | None, Field(description="Whose memory that is. Default: the key's own.")
    ] = None


class ExecutionError(Message):
    """Why a program did not end well."""

    type: Annotated[
        str,
        Field(
            description="The exception's name; `Timeout` or `Killed` when it was ended from outside."
        ),
    ]
    message: Annotated[str, Field(description="What it says.")]
    line: Annotated[int | None, Field(description="The line of the source where it happened.")]
    traceback: Annotated[
        str, Field(description="The way to it; empty when it was ended from outside.")
    ]


class ProgramFile(CreatedFile):
    """A file that the program left in its working folder, or a figure that it left open:

    a created file of the account now.
    """

    name: Annotated[
        str, Field(description="What the program called it: its path from the working folder.")
    ]


class FileLeftOut(Message):
    """A file that was not taken."""

    name: Annotated[str, Field(description="Its path; what cannot be shown of it is replaced.")]
    why: Annotated[str, Field(description="Why it was not taken.")]


class RunUsage(Message):
    """What a run took."""

    wall_ms: Annotated[Milliseconds, Field(description="Time from the first line to the end.")]
    cpu_ms: Annotated[Milliseconds, Field(description="Work of the processor.")]
    max_rss_kb: Annotated[
        int, Field(ge=0, description="Memory at its most, the libraries' included.")
    ]


class ExecutionLimits(Message):
    """What a run may take."""

    seconds: Annotated[float, Field(description="Time.")]
    memory_bytes: Annotated[int, Field(description="Memory.")]
    disk_bytes: Annotated[int, Field(description="What it may write, and give back.")]
    files: Annotated[int, Field(description="Files it may give back.")]
    output_bytes: Annotated[int, Field(description="What is kept of each of stdout and stderr.")]
    threads: Annotated[int, Field(description="Threads.")]


class Confinement(Message):
    """How a run was kept from everything else."""

    level: Annotated[
        Level,
        Field(
            description="`gvisor`, `ns` and `landlock` keep it in, the first most strongly; `unsafe` does not."
        ),
    ]
    limits: Annotated[ExecutionLimits, Field(description="What it might take.")]


class Attempt(Message):
    """One run of the program, or of what it was changed to; or what a model proposed, run or not."""

    stage: Annotated[
        Literal["run", "deterministic", "model", "optimize", "tidy"],
        Field(
            description="`run`: as it was sent. `deterministic`: as a rule for programs like it changes it. "
            "`model`, `optimize`, `tidy`: as a model would fix it, make it faster, make it readable."
        ),
    ]
    repair: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="What the rule changed, for `deterministic`.")
    ] = None
    model: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="The model's name; of one that gave no answer, its slot."),
    ] = None
    outcome: Annotated[
        Status | Literal["refused", "unanswered"],
        Field(
            description="How it ended. `refused`: by a guard, which `guard` names. `unanswered`: no model answered, `error` says why."
        ),
    ]
    error: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="The error's type, when there was one.")
    ] = None
    guard: Annotated[
        Guard | None, ABSENT_IF_NONE, Field(description="The guard that refused it.")
    ] = None
    tokens: Annotated[
        int | None, ABSENT_IF_NONE, Field(ge=0, description="What the model read and wrote.")
    ] = None
    ms: Annotated[Milliseconds, Field(description="How long it took.")]


class Optimized(Message):
    """What was measured of a program that a model made faster."""

    cpu_ms_before: Annotated[
        Milliseconds, Field(description="Work of the processor as it was, the median of the runs.")
    ]
    cpu_ms_after: Annotated[Milliseconds, Field(description="The same of the faster one.")]
    pairs: Annotated[int, Field(description="Times that both were run, one after the other.")]
    pairs_won: Annotated[
        int, Field(description="Times that the faster one took at least a tenth less.")
    ]


class Executed(Message):
    """Answer of `POST /api/execute/code`. A program that fails is an answer, too."""

    status: Annotated[
        Status,
        Field(
            description="How it ended. `fixed`: well, once it was changed. `killed`: by a signal or for taking too much."
        ),
    ]
    stdout: Annotated[str, Field(description="What it printed.")]
    stderr: Annotated[str, Field(description="What it printed to standard error.")]
    stdout_truncated: Annotated[bool, Field(description="Whether it printed more than is kept.")]
    stderr_truncated: Annotated[bool, Field(description="The same of standard error.")]
    result: Annotated[
        str | None,
        Field(description="repr of the last expression; null when there is none or it is None."),
    ]
    result_truncated: Annotated[bool, Field(description="Whether the repr is longer than is kept.")]
    error: Annotated[ExecutionError | None, Field(description="Why it did not end well.")]
    code: Annotated[str, Field(description="The source that this is the outcome of.")]
    mode: Annotated[Mode, Field(description="As asked.")]
    fixed: Annotated[bool, Field(description="Whether the source was changed to make it work.")]
    diff: Annotated[str | None, Field(description="What was changed, as `patch` reads it.")]
    verified: Annotated[
        Literal["runs", "tests"] | None,
        ABSENT_IF_NONE,
        Field(
            description="What speaks for a model's fix: it ends well (`runs`), and its own tests, unchanged, are among it (`tests`)."
        ),
    ] = None
    optimized: Annotated[
        Optimized | None,
        ABSENT_IF_NONE,
        Field(description="There when the program was made faster."),
    ] = None
    tidied: Annotated[
        bool | None, ABSENT_IF_NONE, Field(description="True when it was made readable.")
    ] = None
    note: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="What was not tried, and why.")
    ] = None
    attempts: Annotated[list[Attempt], Field(description="The runs, first to last.")]
    files: Annotated[
        list[ProgramFile], Field(description="Files the program left, and figures it left open.")
    ]
    files_left_out: Annotated[list[FileLeftOut], Field(description="Files that were not taken.")]
    files_not_named: Annotated[int, Field(ge=0, description="How many more were not taken.")]
    exit_code: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="Its exit status, when it ended itself.")
    ] = None
    signal: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="The signal that ended it.")
    ] = None
    usage: Annotated[RunUsage, Field(description="What it took.")]
    sandbox: Annotated[Confinement, Field(description="How it was confined.")]
    duration_ms: Annotated[
        Milliseconds, Field(description="All of it: waiting, running, taking the files.")
    ]
    event_id: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="The event it was kept as, when `session_id` was given."),
    ] = None
