"""Programs whose outcome is the same at each level, with what it must be."""

from __future__ import annotations

from remembrancer.sandbox.port import SandboxRun

THREADS = """
import threading
go, threads = threading.Event(), []
try:
    while True:
        threads.append(threading.Thread(target=go.wait))
        threads[-1].start()
except RuntimeError:
    print(len(threads) - 1)
go.set()
"""
FIGURES = """
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.savefig("saved.png")
plt.figure(); plt.plot([2, 1])
plt.figure(); plt.plot([3]); plt.savefig("changed.png"); plt.title("changed after it was saved")
None
"""
WARNINGS = """
import threading, warnings
import matplotlib.pyplot as plt
import numpy as np
np.array([1.0]) / 0
warnings.warn("mine")
plt.figure().text(0, 0, "\\u4e2d")
np.polyfit([1, 1], [1, 1], 1)
thread = threading.Thread(target=lambda: np.linalg.inv(np.zeros((2, 2))))
thread.start(); thread.join()
np.linalg.inv(np.zeros((2, 2)))
"""


def check_threads(run: SandboxRun) -> None:
    """Check that 32 threads of the default stack size start."""
    assert run.stdout == "32\n", run


def check_figures(run: SandboxRun) -> None:
    """Check that a figure which the program has saved does not come back a second time."""
    names = {name for name, _ in run.files}
    assert names == {"saved.png", "changed.png", "figure-1.png", "figure-2.png"}


def check_warnings(run: SandboxRun, *folders: str) -> None:
    """Check that warnings and errors name the files of packages without a path of this machine."""
    assert run.error is not None
    text = f"{run.stderr}\n{run.error['traceback']}"
    assert "main.py:5: RuntimeWarning: divide by zero encountered in divide\n  np.array" in text
    assert "main.py:6: UserWarning: mine\n  warnings.warn" in text
    assert "Exception in thread Thread-" in text
    assert 'File "numpy/linalg/_linalg.py"' in text
    assert [folder for folder in folders if folder in text] == []
