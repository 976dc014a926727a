"""The distributions that `make wheel` builds work in empty environments, and `make run` installs
only what serving needs.

Environments are made outside the tree. Without a package index (or a cache of it) these tests are
skipped; with CI=true they fail.
"""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import needed
import pytest
from architecture.tree import ROOT
from command import captured

from remembrancer.search.kernels import LIBRARY

UV = str(Path(sys.executable).with_name("uv"))
CLIENT_BYTES_MAX = 5_000_000
SERVING_BYTES_MAX = 300_000_000
ENVIRONMENT = {  # without what tests and developers set
    **{name: os.environ[name] for name in os.environ if not name.startswith("REMEMBRANCER_")},
    "UV_FIND_LINKS": str(ROOT / "deploy/vendor"),
}
ENVIRONMENT.pop("PYTHONPATH", None)
ENVIRONMENT.pop("VIRTUAL_ENV", None)
CALL = """
import sys
from {package} import AsyncClient, Client
memory = Client()
memory.add("The bicycle is in the cellar.", user_id="mia")
assert "cellar" in memory.search("where is the bicycle", user_id="mia")[0].query
print(*sorted(name.split(".")[1] for name in sys.modules if name.startswith("{top}.")))
"""


def run(*command: str, **variables: str) -> str:
    """Return the output of a command. Raises CalledProcessError."""
    process = captured(command, env={**ENVIRONMENT, **variables}, cwd=ROOT)
    assert process.returncode == 0, process.stderr + process.stdout
    return process.stdout


def environment(folder: Path, *packages: str) -> Path:
    """Return the folder of programs of a new environment with these packages."""
    pins = re.sub(r" \\\n(    --hash=\S+( \\)?\n)+", "\n", (ROOT / "requirements.lock").read_text())
    constraints = folder.with_suffix(".constraints")
    constraints.write_text(pins)
    run(UV, "venv", "--quiet", "--no-project", "--python", sys.executable, str(folder))
    command = [UV, "pip", "install", "--quiet", "--python", str(folder / "bin/python")]
    process = captured([*command, "--constraint", str(constraints), *packages], env=ENVIRONMENT)
    if process.returncode:
        message = f"the package index cannot be used: {process.stderr.strip()[-500:]}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return folder / "bin"


@contextmanager
def served(command: list[str], folder: Path) -> Iterator[dict[str, str]]:
    """Start a service in a new data folder; yield the variables with its address and key."""
    variables = {"HOME": str(folder), "REMEMBRANCER_DATA": str(folder / "data")}
    process = subprocess.Popen(
        command,
        env={**ENVIRONMENT, **variables},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        text = ""
        while "owner's key: " not in text:
            line = process.stdout.readline()
            assert line, f"the service ended: {text}"
            text += line
        [address] = re.findall(r"listens on (\S+)", text)
        [key] = re.findall(r"owner's key: (\S+)", text)
        yield {**variables, "REMEMBRANCER_URL": address, "REMEMBRANCER_KEY": key}
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that `make wheel` writes. The environment of the tests stays as it is."""
    folder = tmp_path_factory.mktemp("dist")
    make = ["make", "--no-print-directory", "--old-file", ".venv/.ready", "wheel"]
    subprocess.run([*make, f"DIST={folder}"], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def programs(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with the wheel of the service alone."""
    [wheel] = dist.glob("remembrancer-*.whl")
    return environment(tmp_path_factory.mktemp("installed") / "service", str(wheel))


@pytest.fixture(scope="module")
def service(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Serve with the installed wheel. Yield the variables with its address and key."""
    command = [str(programs / "remembrancer"), "serve", "--port", "0"]
    with served(command, tmp_path_factory.mktemp("served")) as variables:
        yield variables


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def built(source: Path, folder: Path, **variables: str) -> Path:
    """Return the wheel that a source distribution builds in an empty folder."""
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    [unpacked] = folder.iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=unpacked,
        env={**ENVIRONMENT, **variables},
        check=True,
        capture_output=True,
    )
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.mark.parametrize("name", ["remembrancer", "remembrancer_client"])
def test_source_distribution_builds_the_same_wheel(name: str, dist: Path, tmp_path: Path) -> None:
    [wheel], [source] = dist.glob(f"{name}-*.whl"), dist.glob(f"{name}-*.tar.gz")

    again = built(source, tmp_path)

    assert again.name == wheel.name
    assert contents(again) == contents(wheel)


def test_wheel_has_the_compiled_part_of_its_platform(dist: Path, tmp_path: Path) -> None:
    """Without a compiler it is a wheel for any platform, where numpy takes its place."""
    needed.program("cc", "gcc libc6-dev")
    [wheel], [source] = dist.glob("remembrancer-*.whl"), dist.glob("remembrancer-*.tar.gz")
    library = f"remembrancer/search/{LIBRARY.name}"

    plain = built(source, tmp_path, CC="no-such-compiler")

    assert not wheel.name.endswith("-any.whl")
    assert library in contents(wheel)
    assert plain.name.endswith("-py3-none-any.whl")
    assert library not in contents(plain)


def hook_answer(settings: Path, **variables: str) -> str:
    """Return the answer of the first hook of a new session, run as Claude Code runs it."""
    hooks = json.loads(settings.read_text("utf-8"))["hooks"]["SessionStart"]
    process = captured(
        ["sh", "-c", hooks[0]["hooks"][0]["command"]],
        input='{"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}',
        env={**ENVIRONMENT, **variables},
        check=True,
    )
    return process.stdout


def test_installed_wheel_serves_adds_and_searches(programs: Path, service: dict[str, str]) -> None:
    program = str(programs / "remembrancer")

    event_id = run(program, "remember", "The bicycle is in the cellar.", **service).strip()
    answer = run(program, "search", "where is the bicycle", "--json", **service)
    call = CALL.format(package="remembrancer.client", top="remembrancer")
    modules = run(str(programs / "python"), "-c", call, **service)
    run(program, "install", "claude-code", "--yes", **service)
    started = hook_answer(Path(service["HOME"], ".claude", "settings.json"), **service)

    assert re.fullmatch(r"\d+\.\d+\.\d+", run(program, "--version").strip())
    assert event_id in answer
    assert modules.split()[0] == "client"
    assert "constitution" in started


def test_client_is_small_and_needs_no_server(
    dist: Path, service: dict[str, str], tmp_path: Path
) -> None:
    """It depends on httpx2 and pydantic, and calls a service that runs elsewhere."""
    [wheel] = dist.glob("remembrancer_client-*.whl")
    files = contents(wheel)
    [metadata] = [data for name, data in files.items() if name.endswith("METADATA")]
    own = environment(tmp_path / "client", str(wheel))
    call = CALL.format(package="remembrancer_client", top="remembrancer_client")

    modules = run(str(own / "python"), "-c", call, **service)
    installed = run(UV, "pip", "list", "--python", str(own / "python"), "--format", "freeze")

    needed = email.message_from_bytes(metadata).get_all("Requires-Dist") or []
    assert sorted(re.split(r"[><=]", one)[0] for one in needed) == ["httpx2", "pydantic"]
    assert sum(map(len, files.values())) < CLIENT_BYTES_MAX
    assert set(modules.split()) == {"client", "protocol"}
    assert "remembrancer==" not in installed
    assert not [name for name in ("starlette", "uvicorn", "numpy") if f"{name}==" in installed]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the files of the repository, without an environment."""
    tree = tmp_path / "tree"
    tracked = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    return tree


def installed(make: list[str], target: str, **variables: str) -> None:
    """Make a target that installs packages. Without a package index the test is skipped."""
    process = captured([*make, target], env={**ENVIRONMENT, **variables})
    if process.returncode and os.environ.get("CI") != "true":
        pytest.skip(f"the package index cannot be used: {process.stderr.strip()[-500:]}")
    assert process.returncode == 0, process.stderr


def test_make_run_installs_what_serving_needs_and_no_more(tree: Path, tmp_path: Path) -> None:
    make = ["make", "--no-print-directory", "-C", str(tree)]
    planned = run(*make, "--dry-run", "run")
    installed(make, ".venv/.serves")

    with served([*make, "run", "PORT=0"], tmp_path):
        size = sum(
            path.lstat().st_blocks * 512
            for path in (tree / ".venv").rglob("*")
            if not path.is_dir()
        )
    python = str(tree / ".venv/bin/python")
    packages = run(UV, "pip", "list", "--python", python, "--format", "freeze")

    assert planned.startswith('echo "Installing what serving needs')  # the first thing it prints
    assert size <= SERVING_BYTES_MAX
    assert not [name for name in ("pytest", "mypy", "pandas") if f"{name}==" in packages]
    # `make test` completes this environment, and then it also serves
    assert "requirements-dev.lock" in run(*make, "--dry-run", "setup")
    (tree / ".venv/.ready").touch()
    assert "Installing" not in run(*make, "--dry-run", "run")
