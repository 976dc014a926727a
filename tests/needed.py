"""What a test needs that is no Python package."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str, package: str) -> None:
    """Skip the test where a program is not installed, saying how to get it; with CI=true fail it:

    there nothing may go untested.
    """
    if shutil.which(name):
        return
    said = f"needs {name}: make setup-system as root, or apt-get install {package}"
    if os.environ.get("CI") == "true":
        pytest.fail(said)
    pytest.skip(said)
