"""docs/guides/upgrade.md: its commands, on a service that has a turn."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

from architecture.blocks import blocks
from architecture.test_deploy import COMPOSE
from architecture.tree import ROOT
from command import captured, rows_of
from journeys.clones import NOTHING_INSTALLED, earlier_clone_of, run_as, served, user_of

from remembrancer.client import Client

PAGE = (ROOT / "docs" / "guides" / "upgrade.md").read_text("utf-8")
RECIPES = {one.title: one.text for one in blocks(PAGE, "upgrade.md") if one.title}
MAKE = shlex.join(["make", *NOTHING_INSTALLED])
ADDED = "remembrancer/of_the_earlier_version.txt"


def store_turn(address: str, key: str) -> None:
    """Store the turn that the upgraded service must have."""
    with Client(address, key) as memory:
        memory.add(("Where is the saw?", "In the shed."), user_id="mia")


def turns_about_the_saw(address: str, key: str) -> list[str]:
    """Return the responses that a search finds."""
    with Client(address, key) as memory:
        return [hit.response for hit in memory.search("saw", user_id="mia")]


def environment_with_pip(folder: Path) -> Path:
    """Return the programs of a new environment that has the packages of this one, but not ours."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (packages := folder / "packages").mkdir()
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if "remembrancer" not in one.name:
            (packages / one.name).symlink_to(one)
    [own] = folder.glob("lib/python*/site-packages")
    (own / "packages.pth").write_text(str(packages), "utf-8")
    return folder / "bin"


def test_upgrade_of_a_clone(tmp_path: Path) -> None:
    """What an earlier commit stored is found by the newest one."""
    clone = earlier_clone_of(tmp_path)
    user = user_of(tmp_path, PYTHONPATH=str(clone / "src"))
    with served(f"{MAKE} run", clone, user) as service:
        key = service.key
        store_turn(service.address, key)
    recipe = RECIPES["A clone"].replace("make", MAKE)
    with served(recipe, clone, user) as service:
        answers = turns_about_the_saw(service.address, key)

    assert answers == ["In the shed."]
    newest = run_as(user, "git rev-parse HEAD", cwd=ROOT)
    assert run_as(user, "git rev-parse HEAD", cwd=clone) == newest


def test_upgrade_of_a_wheel_with_the_same_version(tmp_path: Path) -> None:
    """The wheel of an earlier commit is replaced by that of the newest, without an index."""
    clone = earlier_clone_of(tmp_path)
    (clone / "src" / ADDED).write_text("so that the two wheels differ", "utf-8")
    bin_folder = environment_with_pip(tmp_path / "installed")
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    user = user_of(tmp_path, PATH=path, PIP_NO_INDEX="1", PYTHONPATH="")
    wheel = f"{MAKE} wheel; {RECIPES['A wheel']}"
    with served(wheel, clone, user) as service:
        key = service.key
        store_turn(service.address, key)
    [installed] = bin_folder.parent.glob(f"lib/python*/site-packages/{ADDED}")

    run_as(user, f"rm src/{ADDED}; git pull --quiet", cwd=clone)
    with served(wheel, clone, user) as service:
        answers = turns_about_the_saw(service.address, key)
        run_as(user, f"echo {key} | remembrancer login --url {service.address}")
        doctor = rows_of(captured(["sh", "-ec", "remembrancer doctor"], env=user))

    assert answers == ["In the shed."]
    assert not installed.exists()
    # The sandbox does not have the packages, which are links here.
    broken = [row for row in doctor if row["state"] != "ok" and row["part"] != "sandbox"]
    assert broken == [], doctor


def test_recipes_of_images_name_what_the_files_of_deploy_have() -> None:
    """Not run: that needs an engine of containers. Image, volume and port are the same names."""
    container, compose = RECIPES["A container"], RECIPES["Compose"]
    head = (ROOT / "deploy" / "Containerfile").read_text("utf-8").partition("\nFROM ")[0]
    guide = (ROOT / "docs" / "guides" / "deploy.md").read_text("utf-8")
    build, run = (line for line in container.splitlines() if line.split()[1] in ("build", "run"))

    assert build in guide
    assert run in guide
    assert build.removeprefix("docker ") in head
    assert run.partition("-p ")[2] in head
    assert compose.splitlines()[-1] in guide
    assert COMPOSE["services"]["server"]["build"]["dockerfile"] in build
    assert COMPOSE["services"]["server"]["image"].partition(":")[0] == run.split()[-1]
    grace = int(container.partition("stop -t ")[2].split()[0])
    assert COMPOSE["services"]["server"]["stop_grace_period"] == f"{grace}s"
