"""The system calls a program in the sandbox may make, and the kernel's filter (seccomp) that allows no others.

The list is what CPython needs to start, compute, print, sleep and use files in its folder. Anything else fails with `EPERM`:
sockets, new processes and threads, signals to others, tracing, mounts, namespaces, keys, kernel modules, io_uring, and every
call invented later. Numbers: `asm/unistd_64.h` of Linux for x86_64, `asm-generic/unistd.h` for aarch64. The filter is a classic BPF
program, as `prctl(PR_SET_SECCOMP)` takes it.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ["ALLOW", "KILL", "MACHINES", "PROGRAM_PID", "Machine", "filter_program", "refuse"]


# Name, number on x86_64, number on aarch64; None where the machine has no such call.
_ALLOWED: Final[tuple[tuple[str, int | None, int | None], ...]] = (
    # Memory and the start of a program.
    ("arch_prctl", 158, None),
    ("brk", 12, 214),
    ("execve", 59, 221),
    ("exit", 60, 93),
    ("exit_group", 231, 94),
    ("futex", 202, 98),
    ("getrandom", 318, 278),
    ("madvise", 28, 233),
    ("mmap", 9, 222),
    ("mprotect", 10, 226),
    ("mremap", 25, 216),
    ("munmap", 11, 215),
    ("rseq", 334, 293),
    ("set_robust_list", 273, 99),
    ("set_tid_address", 218, 96),
    # Reading and writing what is open.
    ("close", 3, 57),
    ("close_range", 436, 436),
    ("dup", 32, 23),
    ("dup2", 33, None),
    ("dup3", 292, 24),
    ("fcntl", 72, 25),
    ("fdatasync", 75, 83),
    ("flock", 73, 32),
    ("fstat", 5, 80),
    ("fsync", 74, 82),
    ("ftruncate", 77, 46),
    ("lseek", 8, 62),
    ("pread64", 17, 67),
    ("pwrite64", 18, 68),
    ("read", 0, 63),
    ("readv", 19, 65),
    ("sendfile", 40, 71),
    ("write", 1, 64),
    ("writev", 20, 66),
    # Files by name; the file system holds nothing but the runtime and the folder.
    ("access", 21, None),
    ("chdir", 80, 49),
    ("chmod", 90, None),
    ("faccessat", 269, 48),
    ("faccessat2", 439, 439),
    ("fchdir", 81, 50),
    ("fchmod", 91, 52),
    ("fchmodat", 268, 53),
    ("getcwd", 79, 17),
    ("getdents64", 217, 61),
    ("link", 86, None),
    ("linkat", 265, 37),
    ("lstat", 6, None),
    ("mkdir", 83, None),
    ("mkdirat", 258, 34),
    ("newfstatat", 262, 79),
    ("open", 2, None),
    ("openat", 257, 56),
    ("readlink", 89, None),
    ("readlinkat", 267, 78),
    ("rename", 82, None),
    ("renameat", 264, 38),
    ("renameat2", 316, 276),
    ("rmdir", 84, None),
    ("stat", 4, None),
    ("statx", 332, 291),
    ("symlink", 88, None),
    ("symlinkat", 266, 36),
    ("truncate", 76, 45),
    ("umask", 95, 166),
    ("unlink", 87, None),
    ("unlinkat", 263, 35),
    ("utimensat", 280, 88),
    # Time and waiting.
    ("alarm", 37, None),
    ("clock_getres", 229, 114),
    ("clock_gettime", 228, 113),
    ("clock_nanosleep", 230, 115),
    ("getitimer", 36, 102),
    ("gettimeofday", 96, 169),
    ("nanosleep", 35, 101),
    ("pause", 34, None),
    ("poll", 7, None),
    ("ppoll", 271, 73),
    ("pselect6", 270, 72),
    ("restart_syscall", 219, 128),
    ("sched_yield", 24, 124),
    ("select", 23, None),
    ("setitimer", 38, 103),
    ("time", 201, None),
    ("times", 100, 153),
    # Signals to itself.
    ("rt_sigaction", 13, 134),
    ("rt_sigpending", 127, 136),
    ("rt_sigprocmask", 14, 135),
    ("rt_sigreturn", 15, 139),
    ("rt_sigsuspend", 130, 133),
    ("sigaltstack", 131, 132),
    # Who it is, in its own namespaces.
    ("getegid", 108, 177),
    ("geteuid", 107, 175),
    ("getgid", 104, 176),
    ("getgroups", 115, 158),
    ("getpgid", 121, 155),
    ("getpgrp", 111, None),
    ("getpid", 39, 172),
    ("getppid", 110, 173),
    ("getresgid", 120, 150),
    ("getresuid", 118, 148),
    ("getrlimit", 97, 163),
    ("getrusage", 98, 165),
    ("getsid", 124, 156),
    ("gettid", 186, 178),
    ("getuid", 102, 174),
    ("sched_getaffinity", 204, 123),
    ("setrlimit", 160, 164),
    ("uname", 63, 160),
    # There is nobody to wait for; the C library asks all the same.
    ("wait4", 61, 260),
    ("waitid", 247, 95),
)
# Calls that the filter looks into, or that only the making of the sandbox uses.
_OTHERS: Final[tuple[tuple[str, int, int], ...]] = (
    ("capget", 125, 90),
    ("capset", 126, 91),
    ("clone3", 435, 435),
    ("ioctl", 16, 29),
    ("pivot_root", 155, 41),
    ("prlimit64", 302, 261),
    ("tgkill", 234, 131),
    ("tkill", 200, 130),
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A processor the sandbox knows."""

    audit_arch: int  # the kernel's name for it (`linux/audit.h`)
    allowed: Mapping[str, int]  # calls a program may make whatever its arguments, by name
    others: Mapping[str, int]  # calls told apart by their arguments, or made by the sandbox itself
    first_foreign: int | None  # calls from this number on belong to another interface (x32)


def _machine(column: int, audit_arch: int, first_foreign: int | None) -> Machine:
    allowed = {row[0]: row[column] for row in _ALLOWED}
    return Machine(
        audit_arch=audit_arch,
        allowed=MappingProxyType({name: number for name, number in allowed.items() if isinstance(number, int)}),
        others=MappingProxyType({row[0]: (row[1], row[2])[column - 1] for row in _OTHERS}),
        first_foreign=first_foreign,
    )


MACHINES: Final[Mapping[str, Machine]] = MappingProxyType(
    {"x86_64": _machine(1, 0xC000003E, 0x4000_0000), "aarch64": _machine(2, 0xC00000B7, None)}
)
"""`platform.machine()` to what the sandbox knows of it."""


PROGRAM_PID: Final = 2
"""The program's number in its own process namespace; 1 is the process that waits for it."""

ALLOW: Final = 0x7FFF_0000
KILL: Final = 0x8000_0000
_ERRNO: Final = 0x0005_0000

_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_NOT_LESS: Final = 0x35
_RETURN: Final = 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24  # offsets in `struct seccomp_data`; low words

# TCGETS and TIOCGWINSZ (is this a terminal, and how wide), FIONREAD, FIONBIO, FIOCLEX.
_IOCTLS: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5451)


def refuse(number: int) -> int:
    """The filter's result that makes a call fail with an error number."""
    return _ERRNO | number


def filter_program(machine: Machine) -> bytes:
    """Makes the filter.

    Calls for another processor or interface kill the process, calls on the list pass, `clone3` is not implemented (so that the C
    library falls back to `clone`, which is not allowed), all others are not permitted.
    """
    steps: list[tuple[int, int, int, int]] = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, machine.audit_arch), _end(KILL)]
    steps.append((_LOAD, 0, 0, _NUMBER))
    if machine.first_foreign is not None:
        steps += [(_NOT_LESS, 0, 1, machine.first_foreign), _end(KILL)]
    for number in machine.allowed.values():
        steps += [(_EQUAL, 0, 1, number), _end(ALLOW)]
    others = machine.others
    steps += _only(others["ioctl"], _SECOND_ARGUMENT, _IOCTLS)
    steps += _only(others["prlimit64"], _FIRST_ARGUMENT, (0, PROGRAM_PID))
    # raise() and abort() signal the caller itself.
    steps += _only(others["tgkill"], _FIRST_ARGUMENT, (PROGRAM_PID,))
    steps += _only(others["tkill"], _FIRST_ARGUMENT, (PROGRAM_PID,))
    steps += [(_EQUAL, 0, 1, others["clone3"]), _end(refuse(errno.ENOSYS)), _end(refuse(errno.EPERM))]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _end(result: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, result)


def _only(number: int, argument: int, values: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """A call that passes with one of a few values (all of them 32-bit in the kernel) and is refused with any other."""
    steps = [(_EQUAL, 0, 2 + 2 * len(values), number), (_LOAD, 0, 0, argument)]
    for value in values:
        steps += [(_EQUAL, 0, 1, value), _end(ALLOW)]
    return [*steps, _end(refuse(errno.EPERM))]
