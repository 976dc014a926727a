"""Run the steps of the Containerfile without a container engine and print what they add.

    python deploy/image_size.py [DRIVERS=yes]

Each stage is an overlay over the root of this machine, with its own Python in place of the image's;
the RUN steps are executed in it with chroot. It prints the bytes that the last stage adds to its
base image, and those of the largest packages, and runs `remembrancer demo` as the image's user. It
needs Linux, root and the package index. Exit status 75: it cannot run here, and a line says why.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "deploy" / "Containerfile"
CANNOT_RUN = 75
BASE_BYTES = 125_000_000  # python:3.13-slim-bookworm for amd64, uncompressed, by `docker images`
LARGEST = 16
USER = 10001  # of the image


@dataclass(slots=True)
class Stage:
    """One stage of the file: its folders, and what its steps set."""

    folder: Path
    workdir: str = "/"
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """Return the root folder of the stage, over which the overlay is mounted."""
        return self.folder / "root"

    @property
    def added(self) -> Path:
        """Return the folder with the files that the steps added."""
        return self.folder / "added"


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Containerfile: word and rest, with continued lines joined."""
    joined = re.sub(r"\\\n", " ", "\n".join(re.findall(r"^(?!#).*$", text, re.MULTILINE)))
    for line in filter(str.strip, joined.splitlines()):
        word, _, rest = line.strip().partition(" ")
        yield word, " ".join(rest.split()) if word != "RUN" else rest.strip()


def begin(folder: Path) -> Stage:
    """Mount a stage over the root of this machine."""
    stage = Stage(folder)
    for path in (stage.root, stage.added, folder / "work"):
        path.mkdir(parents=True)
    options = f"lowerdir=/,upperdir={stage.added},workdir={folder / 'work'}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, stage.root], check=True)  # noqa: S603, S607
    for name in ("proc", "dev"):
        subprocess.run(["mount", "--rbind", f"/{name}", stage.root / name], check=True)  # noqa: S603, S607
    return stage


def copy(stage: Stage, rest: str, stages: dict[str, Stage]) -> None:
    """Run a COPY instruction."""
    *sources, target = shlex.split(rest)
    into = stage.root / str(Path(stage.workdir, target)).lstrip("/")
    if sources[0].startswith("--from="):
        root = stages[sources.pop(0).removeprefix("--from=")].root
        shutil.copytree(root / sources[0].lstrip("/"), into, symlinks=True, dirs_exist_ok=True)
        return
    context = ROOT
    for source in sources:
        path = context / source
        if source == ".":
            for name in tracked():
                (into / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(context / name, into / name)
        elif path.is_dir():
            shutil.copytree(path, into, dirs_exist_ok=True)
        else:
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, into)


def tracked() -> list[str]:
    """Return the files of the build context (Containerfile.dockerignore)."""
    rules = FILE.with_name("Containerfile.dockerignore").read_text("utf-8").splitlines()
    patterns = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    listed = subprocess.run(  # noqa: S603
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],  # noqa: S607
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def run(stage: Stage, script: str) -> None:
    """Run a RUN instruction. Raises CalledProcessError."""
    inner = f"cd {shlex.quote(stage.workdir)} && {script}"
    subprocess.run(["chroot", stage.root, "sh", "-ec", inner], check=True, env=_environment(stage))  # noqa: S603, S607


def _environment(stage: Stage) -> dict[str, str]:
    path = f"{sys.base_exec_prefix}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    own = {
        name: text
        for name, text in os.environ.items()
        if name != "VIRTUAL_ENV" and not name.startswith(("PYTHON", "REMEMBRANCER"))
    }
    set_here = {name: text.replace("$PATH", path) for name, text in stage.variables.items()}
    return {**own, "PATH": path, "TMPDIR": "/tmp", "HOME": "/tmp", **set_here}  # noqa: S108


def build(folder: Path, arguments: dict[str, str]) -> Stage:
    """Run all stages and return the last one. Raises CalledProcessError."""
    stages: dict[str, Stage] = {}
    stage = Stage(folder)
    for word, rest in instructions(FILE.read_text("utf-8")):
        if word == "FROM":
            name = rest.partition(" AS ")[2] or "image"
            stages[name] = stage = begin(folder / name)
        elif word == "WORKDIR":
            stage.workdir = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word in ("ENV", "ARG"):
            pairs = dict(part.split("=", 1) for part in shlex.split(rest))
            stage.variables |= {name: arguments.get(name, value) for name, value in pairs.items()}
        elif word == "COPY":
            copy(stage, rest, stages)
        elif word == "RUN":
            run(stage, rest)
    return stage


def sizes(folder: Path) -> tuple[int, Counter[str]]:
    """Return the bytes of the regular files, and those of each package."""
    packages: Counter[str] = Counter()
    total = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            size = path.stat().st_blocks * 512
            total += size
            inner = (
                path.parts[path.parts.index("site-packages") + 1 :]
                if ("site-packages" in path.parts)
                else ()
            )
            packages[inner[0] if inner else "other"] += size
    return total, packages


def main() -> int:
    """Build in a mount namespace of its own, which ends with this process."""
    parser = argparse.ArgumentParser(description="Measure what the Containerfile installs.")
    parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help="Build arguments.")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside is not None:
        stage = build(options.inside, dict(one.split("=", 1) for one in options.arguments))
        total, packages = sizes(stage.added)
        for name, size in packages.most_common(LARGEST):
            print(f"{size / 1e6:8.1f} MB  {name}", flush=True)
        print(f"{total / 1e6:8.1f} MB  added to the base image")
        print(
            f"{(total + BASE_BYTES) / 1e6:8.1f} MB  with the base image of {BASE_BYTES / 1e6:.0f}"
        )
        run(stage, f"setpriv --reuid {USER} --regid {USER} --clear-groups remembrancer demo")
        return 0
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        print("needs Linux and root: the steps run in a chroot", file=sys.stderr)
        return CANNOT_RUN
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        probe = subprocess.run(
            ["unshare", "--mount", "true"],  # noqa: S607
            check=False,
            capture_output=True,
        )
        if probe.returncode:
            print("needs mount namespaces, which this machine forbids", file=sys.stderr)
            return CANNOT_RUN
        command = [sys.executable, __file__, "--inside", folder, *options.arguments]
        return subprocess.run(["unshare", "--mount", *command], check=False).returncode  # noqa: S603, S607


if __name__ == "__main__":
    sys.exit(main())
