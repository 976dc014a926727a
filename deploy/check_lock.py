"""Check the locks with the package index: nothing unused in them, and nothing yanked.

python deploy/check_lock.py

Exits with 1 if something is, and with 0 and a message if the index does not answer.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = [str(Path(sys.executable).with_name("uv")), "pip", "compile", "--universal", "--no-header"]
UV += ["--python-version", "3.11", "--no-annotate", "--no-emit-package", "remembrancer"]
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*==[^\s\\]+)", re.MULTILINE)
LOCKS = {"requirements.lock": [], "requirements-dev.lock": ["--extra", "dev"]}


def compiled(*arguments: str) -> tuple[set[str], str]:
    """Return the pins that the resolver writes, and its messages. Raises CalledProcessError."""
    run = subprocess.run(  # noqa: S603  the project's own files
        [*UV, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(_PIN.findall(run.stdout)), run.stderr


def faults(lock: str, extra: list[str]) -> list[str]:
    """Return the faults of a lock. Raises CalledProcessError."""
    pins = set(_PIN.findall((ROOT / lock).read_text("utf-8")))
    needed, messages = compiled("pyproject.toml", *extra, "--constraint", lock)
    indexed, more = compiled(lock, "--no-deps")
    yanked = [line for line in (messages + more).splitlines() if "yanked" in line]
    unused = [f"{lock}: nothing needs {pin}" for pin in sorted(pins - needed)]
    missing = [f"{lock}: {pin} is not in it" for pin in sorted(needed - pins)]
    not_indexed = [f"{lock}: {pin} is not in the index" for pin in sorted(pins - indexed)]
    return [*yanked, *unused, *missing, *not_indexed]


def main() -> int:
    """Print the faults of all locks."""
    try:
        result = [fault for lock, extra in LOCKS.items() for fault in faults(lock, extra)]
    except subprocess.CalledProcessError as error:
        print(f"not checked, the index does not answer: {error.stderr.strip()[-300:]}")
        return 0
    print("\n".join(result) or "the locks need nothing else and nothing in them is yanked")
    return int(bool(result))


if __name__ == "__main__":
    sys.exit(main())
