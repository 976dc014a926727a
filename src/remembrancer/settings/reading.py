"""Read the settings. The only reader of the environment.

Sources of a setting, strongest first: a command-line option, `REMEMBRANCER_<NAME>`, a TOML file
(`REMEMBRANCER_CONFIG`, else `remembrancer.toml` in the data folder), the default of the table.
"""

from __future__ import annotations

import ctypes
import difflib
import math
import os
import resource
import signal
import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from .table import CHOICES, Settings

PREFIX = "REMEMBRANCER_"
# Variables with the prefix that are no settings: those of clients, of hooks and of benchmarks.
_OTHER_VARIABLES = ("CONFIG", "KEY", "KEY_FILE", "URL", "USER")
_OTHER_PREFIXES = ("HOOK_", "BENCH_")


class SettingInvalid(ValueError):
    """A setting has an invalid value. The message gives its name, source and valid values."""


def read(environment: Mapping[str, str] = os.environ, **options: Any) -> Settings:
    """Read the settings; `options` of the command line win (None = not set).

    Raises SettingInvalid for an unknown name and for a value of the wrong type, out of bounds or
    not among the choices.
    """
    _refuse_unknown(environment)
    values = {
        name: (value, "the command line") for name, value in options.items() if value is not None
    }
    for row in fields(Settings):
        if (text := environment.get(PREFIX + row.name.upper())) is not None:
            values.setdefault(row.name, (text, PREFIX + row.name.upper()))
    for name, value in _from_file(environment, values).items():
        values.setdefault(name, value)
    return Settings(
        **{name: _parsed(name, value, source) for name, (value, source) in values.items()}
    )


def _refuse_unknown(env: Mapping[str, str]) -> None:
    known = {row.name.upper() for row in fields(Settings)} | set(_OTHER_VARIABLES)
    for variable in sorted(env):
        name = variable.removeprefix(PREFIX)
        if name != variable and name not in known and not name.startswith(_OTHER_PREFIXES):
            raise SettingInvalid(
                f"there is no setting `{variable}`.{_nearest(name, known, PREFIX)}"
                " See docs/reference/settings.md."
            )


def _nearest(name: str, known: Collection[str], prefix: str = "") -> str:
    """Return a sentence with the name that is most like this one, or an empty text."""
    best = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean `{prefix}{best[0]}`?" if best else ""


def from_environment(name: str) -> str | None:
    """Return a variable that is no setting, such as a client's key; None if unset or empty."""
    return os.environ.get(name) or None


def cache_folder() -> Path:
    """Return the folder for files that can be made again. Raises RuntimeError without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "remembrancer"


def set_variable(name: str, value: str) -> None:
    """Set a variable for a library that has no other way to be configured."""
    os.environ[name] = value


def settings_file(folder: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the settings file for a data folder; there may be none."""
    config = environment.get(PREFIX + "CONFIG")
    return Path(config) if config else folder.expanduser() / "remembrancer.toml"


def _from_file(
    env: Mapping[str, str], values: Mapping[str, tuple[Any, str]]
) -> dict[str, tuple[Any, str]]:
    config = env.get(PREFIX + "CONFIG")
    folder = Path(values["data"][0]) if "data" in values else Settings().data
    path = settings_file(folder, env)
    if not config and not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingInvalid(f"{path} cannot be read as TOML: {error}") from error
    return {name: (value, str(path)) for name, value in table.items()}


def _parsed(name: str, value: Any, source: str) -> Any:
    rows = {row.name: row for row in fields(Settings)}
    if name not in rows:
        raise SettingInvalid(
            f"{source}: there is no setting `{name}`.{_nearest(name, rows)}"
            " See docs/reference/settings.md."
        )
    default, bounds = rows[name].default, rows[name].metadata
    if isinstance(default, int | float):
        return _number(name, value, source, kind=type(default), bounds=bounds)
    if not isinstance(value, str | Path):
        raise SettingInvalid(f"{source}: `{name}` must be a string.")
    if name in CHOICES and value not in CHOICES[name]:
        choices = ", ".join(CHOICES[name])
        raise SettingInvalid(f"{source}: `{name}` must be one of {choices}, not {value!r}.")
    if name == "public_url" and value and not str(value).startswith(("http://", "https://")):
        raise SettingInvalid(
            f"{source}: `{name}` must start with http:// or https://, not {value!r}."
        )
    # absolute from here on: a program in the sandbox has another working folder
    return Path(value).expanduser().absolute() if isinstance(default, Path) else str(value)


def _number(
    name: str, value: Any, source: str, *, kind: type[int | float], bounds: Mapping[str, Any]
) -> int | float:
    try:
        number = kind(value)
    except (TypeError, ValueError):
        expected = "an integer" if kind is int else "a number"
        raise SettingInvalid(f"{source}: `{name}` must be {expected}, not {value!r}.") from None
    least = -math.inf if bounds["least"] is None else bounds["least"]
    most = math.inf if bounds["most"] is None else bounds["most"]
    if not least <= number <= most:  # never true for NaN
        raise SettingInvalid(
            f"{source}: `{name}` must be between {bounds['least']} and {bounds['most']}, "
            f"not {number}."
        )
    return number


_CGROUP = Path("/sys/fs/cgroup")
_MEMORY = Path("/proc/meminfo")
_PR_SET_PDEATHSIG = 1


def processors() -> int:
    """Return how many processors this process may use: by affinity and by its cgroup."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        count = os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = (_CGROUP / "cpu.max").read_text("ascii").split()
        count = min(count, max(round(int(quota) / int(period)), 1))
    return count


def available_bytes() -> int | None:
    """Return how much memory is available, on the machine and in its cgroup; None: unknown."""
    amounts = []
    with suppress(OSError, ValueError, StopIteration):
        lines = _MEMORY.read_text("ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        amounts.append(int(line.split()[1]) * 1024)
    with suppress(OSError, ValueError):  # `max` without a limit
        most = int((_CGROUP / "memory.max").read_text("ascii"))
        amounts.append(most - int((_CGROUP / "memory.current").read_text("ascii")))
    return min(amounts, default=None)


def resident_bytes() -> int:
    """Return how much memory this process has in use; 0 if it is not known."""
    with suppress(OSError, ValueError):
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
        return int(pages) * resource.getpagesize()
    return 0


def end_with(parent: int) -> None:
    """Let this process be killed when its parent ends; end it now if that has happened."""
    with suppress(AttributeError):  # of Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call above
        os._exit(1)
