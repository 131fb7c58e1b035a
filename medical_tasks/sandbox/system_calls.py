"""The system calls a program in the sandbox may make; the kernel's filter (classic BPF) fails all others with `EPERM`.

Numbers: `asm/unistd_64.h` of Linux for x86_64, `asm-generic/unistd.h` for aarch64.
"""

from __future__ import annotations

import errno
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["ALLOW", "KILL", "MACHINES", "PROGRAM_PID", "Machine", "filter_program", "refuse"]


# By group: the name of a call, its number on x86_64 and on aarch64, null where the machine has no such call. The group `others`
# has the calls that the filter looks into, or that only the making of the sandbox uses.
_CALLS: Final = json.loads(Path(__file__).with_name("system_calls.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A processor the sandbox knows."""

    audit_arch: int  # the kernel's name for it (`linux/audit.h`)
    allowed: Mapping[str, int]  # calls a program may make whatever its arguments, by name
    others: Mapping[str, int]  # calls told apart by their arguments, or made by the sandbox itself
    first_foreign: int | None  # calls from this number on belong to another interface (x32)


def _machine(column: int, audit_arch: int, first_foreign: int | None) -> Machine:
    numbers = {group: {name: both[column] for name, both in calls.items()} for group, calls in _CALLS.items()}
    others = numbers.pop("others")
    allowed = {name: number for calls in numbers.values() for name, number in calls.items() if number is not None}
    return Machine(audit_arch=audit_arch, allowed=allowed, others=others, first_foreign=first_foreign)


MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": _machine(0, 0xC000003E, 0x4000_0000),
    "aarch64": _machine(1, 0xC00000B7, None),
}
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
    """Makes the filter; `clone3` is not implemented, so that the C library falls back to `clone`, which is not allowed."""
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
