"""System programs and optional packages that a test needs."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from typing import Any

import pytest


def package(name: str, extra: str) -> Any:
    """Return a module, or skip the test if its package is not installed.

    With CI=true the test fails instead.
    """
    if importlib.util.find_spec(name):
        return importlib.import_module(name)
    message = f"needs the package {name}: make setup, or pip install 'remembrancer[{extra}]'"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def program(name: str, package: str) -> None:
    """Skip the test if a program is not installed; the message says how to install it.

    With CI=true the test fails instead.
    """
    if shutil.which(name):
        return
    message = f"needs {name}: make setup-system as root, or apt-get install {package}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def compiled_part() -> None:
    """Skip the test if kernels.c is not compiled, or was when it was another file.

    With CI=true the test fails instead.
    """
    from remembrancer.search.kernels import KERNELS  # imported here: it loads numpy

    if KERNELS is not None:
        return
    message = "needs the compiled part: a C compiler (apt-get install gcc libc6-dev), make setup"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
