"""The kernel's filter of system calls (seccomp), as the classic BPF program that `prctl(PR_SET_SECCOMP)` takes."""

from __future__ import annotations

import errno
import struct
from typing import Final

from medical_tasks.sandbox.system_calls import Machine

__all__ = ["ALLOW", "KILL", "PROGRAM_PID", "filter_program", "refuse"]

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

    Args:
        machine: the processor.

    Returns:
        The program: calls for another processor or interface kill the process, calls on the list pass, `clone3` is
        not implemented (so that the C library falls back to `clone`, which is not allowed), all others are not permitted.
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
