"""The root file system of programs.

It has libraries, fonts and time zones (read-only), five devices and an empty working folder. It has
no /proc.
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
_PLAIN = kernel.MS_NOSUID | kernel.MS_NODEV
_INERT = _PLAIN | kernel.MS_NOEXEC
# Libraries write their caches here while the zygote loads them.
_SCRATCH = "size=8m,nr_inodes=200,mode=1777"


def build(plan: SandboxPlan) -> None:
    """Build the root file system in `plan.root` and make it this process's root.

    Needs a mount namespace of its own. Raises OSError.
    """
    root = Path(plan.root)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", plan.root, "tmpfs", _PLAIN, "size=1m,nr_inodes=4k,mode=755")
    for source in plan.visible:
        if Path(source).exists() and make_mount_point(root, source):
            kernel.bind_read_only(source, str(root / source[1:]))
    for folder in ("dev", WORK[1:], "tmp", "etc", "old"):
        (root / folder).mkdir(exist_ok=True)
    for device in DEVICES:
        mount_point = root / device[1:]
        mount_point.touch()
        kernel.mount(device, str(mount_point), None, kernel.MS_BIND)
    for name, text in _FILES.items():
        (root / name).write_text(text, "utf-8")
    kernel.mount("tmpfs", str(root / WORK[1:]), "tmpfs", _INERT, _SCRATCH)
    kernel.pivot_root(plan.root, "old")
    read_only = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _PLAIN
    kernel.mount("none", "/", None, read_only)


def make_mount_point(root: Path, source: str) -> bool:
    """Make the file or folder below `root` on which a path is mounted, or its copy for a link.

    Return False for a link: there is nothing to mount.
    """
    path, mount_point = Path(source), root / source[1:]
    mount_point.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():  # /lib and /lib64 of a merged /usr
        mount_point.symlink_to(path.readlink())
        return False
    if path.is_dir():
        mount_point.mkdir(exist_ok=True)
    else:
        mount_point.touch()
    return True


def mount_working_folder(plan: SandboxPlan) -> None:
    """Mount a new, size-limited, private working folder, and bind it to /tmp if that is free."""
    data = f"size={plan.bounds.disk_bytes},nr_inodes={INODES_MAX},mode=700"
    kernel.mount("tmpfs", WORK, "tmpfs", _INERT, data)
    if tmp_is_free(plan):
        kernel.mount(WORK, "/tmp", None, kernel.MS_BIND)  # noqa: S108 - the program's private /tmp


def tmp_is_free(plan: SandboxPlan) -> bool:
    """Return True if no visible file lies in /tmp, so that it can be the working folder."""
    return not any(path.startswith("/tmp/") for path in plan.visible)  # noqa: S108 - only compared
