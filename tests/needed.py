"""Programs that a test needs and that are no Python packages."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str, package: str) -> None:
    """Skip the test where a program is not installed, with a hint how to get it.

    With CI=true the test fails instead: there nothing may go untested.
    """
    if shutil.which(name):
        return
    message = f"needs {name}: make setup-system as root, or apt-get install {package}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
