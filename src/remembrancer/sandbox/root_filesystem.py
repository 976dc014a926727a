"""The file system that programs see:

libraries, fonts and time zones read-only, five devices, an empty working folder. No /proc.
"""

from __future__ import annotations

from pathlib import Path

from . import kernel
from .plan import INODES_MAX, WORK, SandboxPlan

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_FILES = {
    "etc/passwd": "nobody:x:65534:65534:sandbox:/sandbox:/bin/false\n",
    "etc/group": "nogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}
_SCRATCH = (
    "size=8m,nr_inodes=200,mode=1777"  # where libraries write their caches while they are loaded
)


def build(plan: SandboxPlan) -> None:
    """Build it in `plan.root` and make it this process's root.

    Needs an own mount namespace. Raises OSError.
    """
    root = Path(plan.root)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount(
        "tmpfs",
        plan.root,
        "tmpfs",
        kernel.MS_NOSUID | kernel.MS_NODEV,
        "size=1m,nr_inodes=4k,mode=755",
    )
    for source in plan.visible:
        _show(root, source)
    for folder in ("dev", WORK[1:], "tmp", "etc", "old"):
        (root / folder).mkdir(exist_ok=True)
    for device in DEVICES:
        place = root / device[1:]
        place.touch()
        kernel.mount(device, str(place), None, kernel.MS_BIND)
    for name, text in _FILES.items():
        (root / name).write_text(text, "utf-8")
    inert = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("tmpfs", str(root / WORK[1:]), "tmpfs", inert, _SCRATCH)
    kernel.pivot_root(plan.root, "old")
    kernel.mount(
        "none",
        "/",
        None,
        kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV,
    )


def _show(root: Path, source: str) -> None:
    here, there = Path(source), root / source[1:]
    if not here.exists():
        return
    there.parent.mkdir(parents=True, exist_ok=True)
    if here.is_symlink():  # /lib and /lib64 of a merged /usr
        there.symlink_to(here.readlink())
        return
    if here.is_dir():
        there.mkdir(exist_ok=True)
    else:
        there.touch()
    kernel.bind_read_only(source, str(there))


def give_working_folder(plan: SandboxPlan) -> None:
    """Lay a fresh, bounded, private folder over the working folder, and over /tmp where nothing
    else is shown there.
    """
    inert = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    data = f"size={plan.bounds.disk_bytes},nr_inodes={INODES_MAX},mode=700"
    kernel.mount("tmpfs", WORK, "tmpfs", inert, data)
    if tmp_is_free(plan):
        kernel.mount(WORK, "/tmp", None, kernel.MS_BIND)  # noqa: S108 - the program's own /tmp, which is its working folder


def tmp_is_free(plan: SandboxPlan) -> bool:
    """Whether /tmp can be the working folder: nothing that must be seen lies there."""
    return not any(path.startswith("/tmp/") for path in plan.visible)  # noqa: S108 - compared, not used
