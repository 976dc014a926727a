"""System programs that a test needs."""

from __future__ import annotations

import os
import shutil

import pytest


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
