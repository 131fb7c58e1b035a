"""The filter of system calls, run by a small interpreter here, and the numbers of the calls."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.sandbox.execution import (
    ALLOW,
    KILL,
    MACHINES,
    PROGRAM_PID,
    Machine,
    filter_program,
    refuse,
)
from tests.case_tables import tabled, tables

TABLES: dict[str, Any] = tables(__file__)

X86, ARM = MACHINES["x86_64"], MACHINES["aarch64"]
EPERM = refuse(errno.EPERM)


def decide(
    machine: Machine,
    number: int,
    arguments: tuple[int, ...] = (),
    *,
    arch: int | None = None,
) -> int:
    """Runs the filter on one call, as the kernel does (`struct seccomp_data`)."""
    program = filter_program(machine)
    steps = list(struct.iter_unpack("<HBBI", program))
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack(
        "<IIQ6Q", number, machine.audit_arch if arch is None else arch, 0, *padded
    )
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, value = steps[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x15:
            position += if_true if accumulator == value else if_false
        elif code == 0x35:
            position += if_true if accumulator >= value else if_false
        else:
            assert code == 0x06
            return int(value)


def may_pass(machine: Machine) -> set[int]:
    """Numbers of the calls that pass always, or with some arguments."""
    names = ("ioctl", "prlimit64", "tgkill", "tkill")
    return {*machine.allowed.values(), *(machine.others[name] for name in names)}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_only_the_listed_calls_pass(machine: Machine) -> None:
    assert len(machine.allowed) > 60
    numbers = range(1000)  # more than there are calls
    passing = {number for number in numbers if decide(machine, number) == ALLOW}
    assert set(machine.allowed.values()) <= passing <= may_pass(machine)


def test_refused_calls_and_calls_that_end_the_program() -> None:
    """Numbers from Linux: asm/unistd_64.h and asm-generic/unistd.h."""
    assert (len(TABLES["x86_64"]), len(TABLES["aarch64"])) == (32, 20)
    assert {
        name: decide(X86, number) for name, number in TABLES["x86_64"].items()
    } == dict.fromkeys(TABLES["x86_64"], EPERM)
    assert {decide(ARM, number) for number in TABLES["aarch64"]} == {EPERM}
    assert decide(X86, 1, arch=ARM.audit_arch) == KILL
    assert decide(X86, 1, arch=0x40000003) == KILL  # 32-bit calls on a 64-bit machine
    assert decide(X86, 0x4000_0001) == KILL  # x32
    assert decide(ARM, 64, arch=X86.audit_arch) == KILL


@given(
    st.sampled_from([X86, ARM]),
    st.integers(0, 600) | st.integers(0, 2**32 - 1),  # numbers in use, and any
    st.tuples(*[st.integers(0, 2**64 - 1)] * 6),
)
def test_law_no_other_call_passes_with_any_arguments(
    machine: Machine, number: int, arguments: tuple[int, ...]
) -> None:
    if decide(machine, number, arguments) == ALLOW:
        assert number in may_pass(machine)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_calls_that_pass_with_some_arguments(machine: Machine) -> None:
    others = machine.others
    assert decide(machine, others["ioctl"], (1, 0x5401)) == ALLOW
    # TIOCSTI: types into a terminal
    assert decide(machine, others["ioctl"], (1, 0x5412)) == EPERM
    assert decide(machine, others["ioctl"], (0x5401, 0x5412)) == EPERM
    for name in ("tgkill", "tkill", "prlimit64"):
        assert decide(machine, others[name], (PROGRAM_PID,)) == ALLOW
        assert decide(machine, others[name], (1,)) == EPERM
        assert decide(machine, others[name], (2**32 - 1,)) == EPERM
    assert decide(machine, others["prlimit64"], (0,)) == ALLOW
    assert decide(machine, others["tgkill"], (0,)) == EPERM
    assert decide(machine, others["clone3"]) == refuse(errno.ENOSYS)
    assert (
        decide(machine, others["capset"])
        == decide(machine, others["pivot_root"])
        == EPERM
    )


@tabled("name", "header", "prefixes")
def test_call_numbers_match_the_kernel_headers(
    name: str, header: str, prefixes: tuple[str, ...]
) -> None:
    path = Path(header)
    if not path.is_file():
        pytest.skip(f"{header} is not on this machine (linux-libc-dev)")
    numbers: dict[str, int] = {}
    for prefix, call, number in re.findall(
        r"#define (__NR(?:3264)?_)(\w+)\s+(\d+)", path.read_text()
    ):
        if prefix in prefixes:
            numbers[call] = int(number)
    numbers.setdefault("newfstatat", numbers.get("fstatat", -1))
    machine = MACHINES[name]
    ours = {**machine.allowed, **machine.others}
    assert len(ours) > 70
    assert {call: numbers.get(call) for call in ours} == ours
