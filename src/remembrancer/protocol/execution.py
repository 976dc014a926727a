"""Messages of the sandbox."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from . import limits
from .files import CreatedFile
from .message import Body, Id, Message, OrAbsent
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
    r"""Body of `POST /api/execute/code`.

    Example: {"code": "import math\nprint(math.tau)\nmath.pi"}
    """

    code: Annotated[Telling, Field(max_length=limits.CODE_CHARACTERS_MAX)]
    """Python source."""
    mode: Mode = "fix"
    """`fix` repairs a failing program, `optimize` speeds up a working one, `all` does both."""
    language: Annotated[Literal["python"], BeforeValidator(_language)] = "python"
    """Language of the source: `python`, also as `py` or `python3`."""
    timeout_s: Annotated[float | None, Field(gt=0, le=limits.RUN_SECONDS_MAX)] = None
    """Time limit in seconds. Default: a setting of the server."""
    strategy: Strategy = "cascade"
    """Order of models in a repair: one after another (`cascade`) or all at once (`race`)."""
    session_id: Id | None = None
    """Store the run as an event of this session, so that it can be found and cited."""
    user_id: Id | None = None
    """User whose memory stores the run. Default: the user of the key."""


class ExecutionError(Message):
    """Error of a program."""

    type: str
    """Name of the exception; `Timeout` or `Killed` if the program was stopped."""
    message: str
    """Message of the exception."""
    line: int | None
    """Line of the source."""
    traceback: str
    """Traceback; empty if the program was stopped."""


class ProgramFile(CreatedFile):
    """A file left in the working folder or a figure left open, stored as a created file."""

    name: str
    """Path relative to the program's working folder."""


class FileLeftOut(Message):
    """A file that was not returned."""

    name: str
    """Path, with unprintable characters replaced."""
    why: str
    """Reason."""


class RunUsage(Message):
    """Resources that a run used."""

    wall_ms: Milliseconds
    """Wall-clock time of the run."""
    cpu_ms: Milliseconds
    """CPU time of the run."""
    max_rss_kb: Annotated[int, Field(ge=0)]
    """Peak memory, including the preloaded libraries."""


class ExecutionLimits(Message):
    """Limits of a run."""

    seconds: float
    """Time limit."""
    memory_bytes: int
    """Memory limit."""
    disk_bytes: int
    """Limit of written and returned bytes."""
    files: int
    """Limit of returned files."""
    output_bytes: int
    """Bytes kept of stdout and of stderr."""
    threads: int
    """Limit of threads."""


class Confinement(Message):
    """Isolation of a run."""

    level: Level
    """`gvisor`, `ns` and `landlock` confine the program, strongest first; `unsafe` does not."""
    limits: ExecutionLimits
    """Limits of the run."""


class Attempt(Message):
    """One run of the program or of a changed version, or one proposal of a model."""

    stage: Literal["run", "deterministic", "model", "optimize", "tidy"]
    """`run`: the program as sent. `deterministic`: changed by a rule. `model`, `tidy`: fixed or
    tidied by a model. `optimize`: sped up by a model."""
    repair: OrAbsent[str] = None
    """Name of the rule, if a rule made the change."""
    model: OrAbsent[str] = None
    """Name of the model, or its slot if it gave no answer."""
    outcome: Status | Literal["refused", "unanswered"]
    """Outcome. `refused`: a guard rejected it, see `guard`. `unanswered`: no model answered, see
    `error`."""
    error: OrAbsent[str] = None
    """Type of the error, if any."""
    guard: OrAbsent[Guard] = None
    """Guard that rejected the proposal."""
    tokens: Annotated[OrAbsent[int], Field(ge=0)] = None
    """Tokens that the model read and wrote."""
    ms: Milliseconds
    """Duration in milliseconds."""


class Optimized(Message):
    """Measurements of a program that a model made faster."""

    cpu_ms_before: Milliseconds
    """CPU time before: median of the runs."""
    cpu_ms_after: Milliseconds
    """CPU time after: median of the runs."""
    pairs: int
    """Number of paired runs, before and after in turn."""
    pairs_won: int
    """Number of pairs in which the new program used at least 10 % less CPU time."""


class Executed(Message):
    """Answer of `POST /api/execute/code`. A failing program is answered with 200 too."""

    status: Status
    """Outcome. `fixed`: ran well after a change. `killed`: stopped by a signal or a limit."""
    stdout: str
    """Standard output."""
    stderr: str
    """Standard error."""
    stdout_truncated: bool
    """True if stdout was cut."""
    stderr_truncated: bool
    """True if stderr was cut."""
    result: str | None
    """repr of the last expression; null if there is none or its value is None."""
    result_truncated: bool
    """True if the repr was cut."""
    error: ExecutionError | None
    """Error, if the program failed."""
    code: str
    """Source whose outcome this is."""
    mode: Mode
    """Mode of the request."""
    fixed: bool
    """True if the source was changed to make it work."""
    diff: str | None
    """Change of the source as a unified diff."""
    verified: OrAbsent[Literal["runs", "tests"]] = None
    """Evidence for a model's fix: it runs well (`runs`), or its own unchanged tests pass too
    (`tests`)."""
    optimized: OrAbsent[Optimized] = None
    """Measurements, if the program was made faster."""
    tidied: OrAbsent[bool] = None
    """True if the program was tidied."""
    note: OrAbsent[str] = None
    """What was done or not tried, and why."""
    attempts: list[Attempt]
    """Attempts, in order."""
    files: list[ProgramFile]
    """Files the program left, and figures it left open."""
    files_left_out: list[FileLeftOut]
    """Files that were not returned."""
    files_not_named: Annotated[int, Field(ge=0)]
    """Number of further files that were not returned."""
    exit_code: OrAbsent[int] = None
    """Exit status, if the program exited by itself."""
    signal: OrAbsent[str] = None
    """Signal that stopped the program."""
    usage: RunUsage
    """Time and memory that the run used."""
    sandbox: Confinement
    """Confinement of the run."""
    duration_ms: Milliseconds
    """Total time: queue, run and file collection."""
    event_id: OrAbsent[str] = None
    """Event id of the stored run, if `session_id` was given."""
