"""More hostile programs, in addition to hostile-programs.json; each prints ESCAPE on a breach."""

from __future__ import annotations

import json
from pathlib import Path

_FIRST = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
through = []
def attempt(name, act):
    try:
        if act() is not False: through.append(name)
    except (OSError, MemoryError, ValueError, AttributeError, OverflowError): pass
def call(name, *arguments):
    return getattr(libc, name)(*arguments) >= 0
def end():
    if through: print("ESCAPE", through, flush=True)
    else: print("BLOCKED", flush=True)
"""

# name -> code of programs that end by themselves or fail; those in LASTING run until stopped
ENDING = {
    "zygote poison (1: poison)": """
import builtins, gc, json, math, numpy
builtins.POISON = math.pi = 3; json.dumps = str; numpy.ones = lambda n: "x"; os.environ["POISON"] = "1"; sys.setrecursionlimit(77)
for folder in (".", "/tmp"): attempt("x", lambda: open(folder + "/poison.txt", "w").write("x"))
through.clear()""",
    "set the clock": """
import time
attempt("settime", lambda: time.clock_settime(time.CLOCK_REALTIME, 0)); attempt("adjtime", lambda: call("adjtime", bytes(16), None))""",
    "rename the machine": """
attempt("sethostname", lambda: call("sethostname", b"x", 1)); attempt("domain", lambda: call("setdomainname", b"x", 1))""",
    "restart the machine": 'attempt("reboot", lambda: call("reboot", 0)); attempt("swapoff", lambda: call("swapoff", b"/dev/vda"))',
    "change the root": 'attempt("chroot", lambda: os.chroot(".")); attempt("acct", lambda: call("acct", None))',
    "become root": """
for name in ("setuid", "setgid", "seteuid", "setegid"): attempt(name, lambda: getattr(os, name)(0))
attempt("groups", lambda: os.setgroups([0]))""",
    "undo the confinement": """
for option, value in ((4, 1), (1, 0), (22, 1), (38, 0), (24, 21), (47, 2), (35, 1)):
    attempt(option, lambda: call("prctl", option, value, 0, 0, 0))""",
    "a filter of its own": 'attempt("seccomp", lambda: call("syscall", 317, 1, 0, bytes(16)))',
    "raise the limits": """
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    hard = resource.getrlimit(kind)[1]
    attempt(kind, lambda: resource.setrlimit(kind, (hard + 1, hard + 1)))""",
    "another personality": 'attempt("personality", lambda: call("personality", 0x0400000))',
    "read memory of another process": """
class V(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
held = ctypes.create_string_buffer(8); here = V(ctypes.addressof(held), 8); there = V(ctypes.addressof(held), 8)
for pid in (1, 2, os.getppid(), @SPID@, @PID@):
    attempt(pid, lambda: call("process_vm_readv", pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))""",
    "open a pidfd of another process": """
for pid in (@SPID@, @PID@): attempt(pid, lambda: os.pidfd_open(pid))""",
    "signal all processes": """
for pid in (@PID@, @SPID@, -@PID@): attempt(pid, lambda: os.kill(pid, 0))
attempt("thread", lambda: call("syscall", 234, @PID@, @PID@, 0))""",
    "queue a signal": 'attempt("sigqueue", lambda: call("sigqueue", @PID@, 10, None))',
    "watch files": 'attempt("inotify", lambda: call("inotify_init1", 0)); attempt("fanotify", lambda: call("fanotify_init", 0, 0))',
    "open by handle": """
attempt("name", lambda: call("name_to_handle_at", -100, b"/", bytes(136), ctypes.byref(ctypes.c_int()), 0))
attempt("open", lambda: call("open_by_handle_at", -100, bytes(136), 0))""",
    "shared memory of the machine": """
attempt("shm", lambda: call("shmget", 0, 4096, 0o1600)); attempt("msg", lambda: call("msgget", 0, 0o1600))
attempt("sem", lambda: call("semget", 0, 1, 0o1600)); attempt("mq", lambda: call("mq_open", b"/x", 0o102, 0o600, None))""",
    "pieces of memory moved": 'r, w = os.pipe(); attempt("vmsplice", lambda: call("vmsplice", w, bytes(16), 1, 0))',
    "mount with the new API": """
for number in (430, 428, 429, 432, 442): attempt(number, lambda: call("syscall", number, b"tmpfs", 0, 0, 0, 0))""",
    "change the libraries": """
place = os.path.dirname(os.__file__)
attempt("unlink", lambda: os.unlink(place + "/this.py")); attempt("rename", lambda: os.rename(place + "/this.py", place + "/that.py"))
attempt("write", lambda: open(place + "/this.py", "a")); attempt("folder", lambda: os.mkdir(place + "/x"))""",
    "a link to a secret": """
os.symlink("@C@/server.db", "out.txt")
attempt("link", lambda: open("out.txt").read()); attempt("hard", lambda: os.link("@C@/server.db", "two"))""",
    "leave the folder": """
here = os.open(".", os.O_RDONLY)
attempt("dots", lambda: os.open("../" * 20 + "@C@/server.db".lstrip("/"), os.O_RDONLY, dir_fd=here)); os.chdir("/")
attempt("path", lambda: os.open("@C@/server.db", os.O_PATH) and False)
attempt("exchange", lambda: os.rename("@C@/server.db", "./x"))""",
    "kernel files": """
for name in ("/proc/self/mem", "/proc/1/root", "/proc/self/maps", "/proc/sys/kernel/hostname", "/sys/kernel", "/proc/kcore", "/dev/mem"):
    attempt(name, lambda: os.open(name, os.O_RDONLY))""",
    "make a device": 'attempt("mknod", lambda: os.close(os.open(os.mknod("d", 0o20600, os.makedev(1, 1)) or "d", os.O_RDONLY)))',
    "run anonymous memory": """
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("48c7c03b0000004831ff4831f64831d20f05c3"))  # execve(0, 0, 0)
run = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
attempt("execve", lambda: -run() in (errno.EFAULT, errno.ENOENT, 0))""",
    "zip bomb": """
import zlib
small = zlib.compress(bytes(1 << 20)); text = b""
attempt("inflate", lambda: [zlib.decompress(small) for _ in range(1024)])""",
    "numpy out of bounds": """
import numpy
numpy.lib.stride_tricks.as_strided(numpy.zeros(1), (1 << 30,), (1 << 20,))[-1] = 1
through.append("wrote beyond the array")""",
    "source too deep": """
for depth in (5000, 100000):
    try: eval("(" * depth + ")" * depth)
    except (SyntaxError, MemoryError, RecursionError): pass""",
    "lock its own folder": 'os.chmod(".", 0); os.chdir("/")',
    "remove file permissions": 'open("closed.txt", "w").write("x"); os.chmod("closed.txt", 0); os.mkdir("shut"); os.chmod("shut", 0)',
    "ten thousand files": """
def fill():
    for number in range(10000): open(f"f{number}", "w").close()
attempt("fill", fill)""",
    "malicious file names": """
for name in ("new\\nline", "esc\\x1b[2J", "-rf", "a" * 255, "\\u202e.txt", b"\\xff\\xfe".decode("utf-8", "surrogateescape")):
    try: open(name, "w").write("x")
    except OSError: pass""",
    "pipe instead of a file": 'os.mkfifo("out.txt"); os.mkfifo("figure-1.png")',
    "inherited descriptors": """
import gc, socket
found = [one.fileno() for one in gc.get_objects() if isinstance(one, socket.socket) and one.fileno() > 2]
attempt("send", lambda: [os.write(one, b"x") for one in found] or False)""",
    "raise the priority": """
attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))
attempt("rt", lambda: os.sched_setscheduler(0, 1, os.sched_param(1)))""",
    "ports of the machine": 'attempt("ioperm", lambda: call("ioperm", 0x80, 1, 1)); attempt("iopl", lambda: call("iopl", 3))',
    "request tracing": 'attempt("traceme", lambda: call("ptrace", 0, 0, 0, 0))',
    "output closed": "os.close(1); os.close(2)",
    "deeply nested report": 'os.write(3, b"[" * 60000); os._exit(0)',
    "forged report": """
os.write(3, b'{"result": 5, "error": [], "files": [["/etc/passwd", 999999999]], "exit_code": 0}'); os._exit(9)""",
    "error whose text fails": 'raise type("E", (Exception,), {"__str__": lambda self: 1 / 0})()',
    "deeply nested error": """
error = ValueError("x")
for _ in range(3000): error = ExceptionGroup("g", [error])
raise error""",
    "all signals at once": """
import signal
for number in range(1, 65):
    try: signal.signal(number, lambda *_: None)
    except (OSError, ValueError): pass
signal.setitimer(signal.ITIMER_REAL, 0.00001, 0.00001)
for _ in range(100000): pass
signal.setitimer(signal.ITIMER_REAL, 0)""",
}
LASTING = {
    "endless thread": "import threading\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()",
    "endless exit handler": "import atexit\natexit.register(lambda: [None for _ in iter(int, 1)])",
    "endless repr": "class R:\n    def __repr__(self):\n        while True: pass\nR()",
    "huge number": "(1 << (1 << 24)) ** (1 << 24)",
    "stop itself": "import signal\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass",
    "endless regex": "import re\nre.match(r'(a|aa)+$', 'a' * 60 + 'b')",
}
PLOTTING = {
    "huge figure": "import matplotlib.pyplot as plt\nplt.figure(figsize=(100000, 100000)); plt.plot([1, 2])",
    "huge image": "import matplotlib.pyplot as plt, numpy\nplt.imshow(numpy.zeros((60000, 60000, 4)))",
    "show replaced": "import matplotlib.pyplot as plt\nplt.savefig = plt.close = None\nplt.plot([1, 2])",
}
SLOW = {
    "cpu spin in C (numpy/regex, GIL held)",
    "sleep tarpit ignoring SIGTERM",
    "infinite output no newline",
}


def programs(*, plotting: bool) -> list[tuple[str, str, bool]]:
    """Return name, code and True if it runs until stopped; the programs of the file come first.

    `plotting`: include programs that need matplotlib.
    """
    entries = json.loads((Path(__file__).parent / "hostile-programs.json").read_text("utf-8"))[
        "snippets"
    ]
    from_file = [(one["name"], one["code"], one["name"] in SLOW) for one in entries]
    poison = next(place for place, (name, *_) in enumerate(from_file) if "2: check" in name)
    own = [
        (name, f"{_FIRST}{code}\nend()\n", False)
        for name, code in {**ENDING, **(PLOTTING if plotting else {})}.items()
    ]
    own += [(name, _FIRST + code, True) for name, code in LASTING.items()]
    return [*from_file[:poison], own[0], *from_file[poison:], *own[1:]]
