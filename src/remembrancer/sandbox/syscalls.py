"""System call numbers on x86_64 and aarch64, and the calls that a program may make.

Each entry reads `name x86_64 aarch64`, with `-` where a processor lacks the call. The kernel never
changes these numbers. Source: asm/unistd_64.h and asm-generic/unistd.h of Linux 6.1.
"""

from __future__ import annotations

import platform

_NUMBERS = """
access 21 -; alarm 37 -; arch_prctl 158 -; brk 12 214; capset 126 91; chdir 80 49; chmod 90 -;
clock_getres 229 114; clock_gettime 228 113; clock_nanosleep 230 115; clone 56 220; clone3 435 435;
close 3 57; close_range 436 436; copy_file_range 326 285; creat 85 -; dup 32 23; dup2 33 -;
dup3 292 24; epoll_create 213 -; epoll_create1 291 20; epoll_ctl 233 21; epoll_pwait 281 22;
epoll_pwait2 441 441; epoll_wait 232 -; eventfd 284 -; eventfd2 290 19; exit 60 93;
exit_group 231 94; faccessat 269 48; faccessat2 439 439; fadvise64 221 223; fallocate 285 47;
fchdir 81 50; fchmod 91 52; fchmodat 268 53; fchmodat2 452 452; fcntl 72 25; fdatasync 75 83;
fgetxattr 193 10; flistxattr 196 13; flock 73 32; fremovexattr 199 16; fsetxattr 190 7; fstat 5 80;
fstatfs 138 44; fsync 74 82; ftruncate 77 46; futex 202 98; futex_waitv 449 449; futimesat 261 -;
get_robust_list 274 100; getcpu 309 168; getcwd 79 17; getdents 78 -; getdents64 217 61;
getegid 108 177; geteuid 107 175; getgid 104 176; getgroups 115 158; getitimer 36 102;
getpeername 52 205; getpgid 121 155; getpgrp 111 -; getpid 39 172; getppid 110 173;
getpriority 140 141; getrandom 318 278; getresgid 120 150; getresuid 118 148; getrlimit 97 163;
getrusage 98 165; getsid 124 156; getsockname 51 204; getsockopt 55 209; gettid 186 178;
gettimeofday 96 169; getuid 102 174; getxattr 191 8; ioctl 16 29; kill 62 129;
landlock_add_rule 445 445; landlock_create_ruleset 444 444; landlock_restrict_self 446 446;
lgetxattr 192 9; link 86 -; linkat 265 37; listxattr 194 11; llistxattr 195 12;
lremovexattr 198 15; lseek 8 62; lsetxattr 189 6; lstat 6 -; madvise 28 233; membarrier 324 283;
mincore 27 232; mkdir 83 -; mkdirat 258 34; mmap 9 222; mount_setattr 442 442; mprotect 10 226;
mremap 25 216; msync 26 227; munmap 11 215; nanosleep 35 101; newfstatat 262 79; open 2 -;
openat 257 56; openat2 437 437; pause 34 -; pipe 22 -; pipe2 293 59; pivot_root 155 41; poll 7 -;
ppoll 271 73; prctl 157 167; pread64 17 67; preadv 295 69; preadv2 327 286; prlimit64 302 261;
pselect6 270 72; pwrite64 18 68; pwritev 296 70; pwritev2 328 287; read 0 63; readlink 89 -;
readlinkat 267 78; readv 19 65; recvfrom 45 207; recvmsg 47 212; removexattr 197 14; rename 82 -;
renameat 264 38; renameat2 316 276; restart_syscall 219 128; rmdir 84 -; rseq 334 293;
rt_sigaction 13 134; rt_sigpending 127 136; rt_sigprocmask 14 135; rt_sigreturn 15 139;
rt_sigsuspend 130 133; rt_sigtimedwait 128 137; sched_get_priority_max 146 125;
sched_get_priority_min 147 126; sched_getaffinity 204 123; sched_getparam 143 121;
sched_getscheduler 145 120; sched_yield 24 124; select 23 -; sendfile 40 71; sendmsg 46 211;
sendto 44 206; set_robust_list 273 99; set_tid_address 218 96; setitimer 38 103; setsockopt 54 208;
setxattr 188 5; shutdown 48 210; sigaltstack 131 132; socketpair 53 199; stat 4 -; statfs 137 43;
statx 332 291; symlink 88 -; symlinkat 266 36; sysinfo 99 179; tgkill 234 131; time 201 -;
timer_create 222 107; timer_delete 226 111; timer_getoverrun 225 109; timer_gettime 224 108;
timer_settime 223 110; timerfd_create 283 85; timerfd_gettime 287 87; timerfd_settime 286 86;
times 100 153; tkill 200 130; truncate 76 45; umask 95 166; uname 63 160; unlink 87 -;
unlinkat 263 35; utime 132 -; utimensat 280 88; utimes 235 -; wait4 61 260; write 1 64;
writev 20 66
"""

# Allowed with any arguments. None of these opens a socket, starts a process or changes the user.
_UNCONDITIONAL = """
read write close fstat stat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
rt_sigreturn pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 access pipe select
sched_yield mremap msync mincore madvise dup dup2 pause nanosleep getitimer alarm setitimer getpid
sendto recvfrom sendmsg recvmsg shutdown getsockname getpeername setsockopt getsockopt exit wait4
uname flock fsync fdatasync truncate ftruncate getdents getdents64 getcwd chdir fchdir rename mkdir
rmdir creat link unlink symlink readlink umask gettimeofday getrlimit getrusage sysinfo times
getuid getgid geteuid getegid getppid getpgrp getgroups getresuid getresgid getpgid getsid
sigaltstack rt_sigpending rt_sigtimedwait rt_sigsuspend statfs fstatfs arch_prctl gettid time futex
futex_waitv sched_getaffinity epoll_create set_tid_address restart_syscall fadvise64 timer_create
timer_settime timer_gettime timer_getoverrun timer_delete clock_gettime clock_getres
clock_nanosleep exit_group epoll_wait epoll_ctl openat open mkdirat unlinkat renameat renameat2
linkat symlinkat readlinkat faccessat faccessat2 newfstatat pselect6 ppoll set_robust_list
get_robust_list epoll_pwait epoll_pwait2 timerfd_create timerfd_settime timerfd_gettime eventfd
eventfd2 epoll_create1 dup3 pipe2 getcpu getrandom membarrier statx rseq close_range sched_getparam
sched_getscheduler sched_get_priority_max sched_get_priority_min getpriority sendfile
copy_file_range fallocate
"""

# Changes of file metadata, allowed where a mount namespace contains only the program's own files.
# Landlock does not govern them, so without namespaces they report success and do nothing.
_METADATA = """
chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat
"""

# Extended attributes, which functions such as shutil.copy2 copy if they can. They fail with
# EOPNOTSUPP, which callers handle.
_ATTRIBUTES = """
getxattr lgetxattr fgetxattr setxattr lsetxattr fsetxattr listxattr llistxattr flistxattr
removexattr lremovexattr fremovexattr
"""

UNCONDITIONAL = tuple(_UNCONDITIONAL.split())
METADATA = tuple(_METADATA.split())
ATTRIBUTES = tuple(_ATTRIBUTES.split())
MACHINES = {"x86_64": 0, "aarch64": 1}  # machine names as in uname, and their columns of the table
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH constants (linux/audit.h)


def machine() -> str:
    """Return the name of this machine's processor, which may not be in MACHINES."""
    return platform.machine()


def numbers(machine_name: str) -> dict[str, int]:
    """Return the numbers of the system calls that the machine has, by name.

    Raises KeyError for a machine that is not in MACHINES.
    """
    column = MACHINES[machine_name]
    rows = (row.split() for row in _NUMBERS.replace("\n", " ").split(";"))
    return {name: int(columns[column]) for name, *columns in rows if columns[column] != "-"}
