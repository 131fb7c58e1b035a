"""The process that makes the sandbox, and the one inside it that waits for the program.

A clean interpreter loads this module alone. Standard input brings the plan in its first
line; when it closes, process 1 of the sandbox is killed, and everything with it.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn, TypedDict

__all__ = ["main"]


# User, mount, process, network, IPC and host name namespaces (linux/sched.h).
NAMESPACES: Final = (
    0x1000_0000 | 0x0002_0000 | 0x2000_0000 | 0x4000_0000 | 0x0800_0000 | 0x0400_0000
)

# linux/mount.h
MOUNT_READ_ONLY: Final = 1
MOUNT_NOSUID: Final = 2
MOUNT_NODEV: Final = 4
MOUNT_NOEXEC: Final = 8
MOUNT_REMOUNT: Final = 32
MOUNT_BIND: Final = 4096
MOUNT_RECURSIVE: Final = 16384
MOUNT_PRIVATE: Final = 1 << 18
_DETACH: Final = 2

# linux/prctl.h, linux/capability.h, linux/seccomp.h
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_SECCOMP: Final = 22
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_SECCOMP_MODE_FILTER: Final = 2
_CAPABILITY_VERSION_3: Final = 0x2008_0522
_MOST_CAPABILITIES: Final = 64

_libc = ctypes.CDLL(None, use_errno=True)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_void_p))


def _done(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def mount(
    source: str | None,
    target: str,
    kind: str | None,
    flags: int,
    options: str | None = None,
) -> None:
    """Mounts through the C library, since Python cannot; an error names both paths."""
    texts = [
        None if text is None else os.fsencode(text)
        for text in (source, target, kind, options)
    ]
    result = _libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    _done(result, f"mount {source} on {target}" if source else f"mount on {target}")


def swap_root(folder: str, pivot_root: int) -> None:
    """Makes a mounted folder the root of this mount namespace, and unmounts the old root."""
    os.chdir(folder)
    _done(_libc.syscall(ctypes.c_long(pivot_root), b".", b"."), "pivot_root")
    # Both roots are now mounted on the same folder, the old one on top.
    _done(_libc.umount2(b".", ctypes.c_int(_DETACH)), "umount of the old root")
    os.chdir("/")


def _prctl(option: int, *arguments: int) -> int:
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return int(_libc.prctl(ctypes.c_int(option), *words))


def drop_bounding_set() -> None:
    """Gives up every capability that a new program could gain."""
    for capability in range(_MOST_CAPABILITIES):
        if _prctl(_PR_CAPBSET_DROP, capability) != 0:
            if ctypes.get_errno() != errno.EINVAL or capability == 0:
                _done(-1, "capability bounding set")
            break  # the kernel has no further capabilities


def drop_capabilities(capset: int) -> None:
    _done(_prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL), "ambient capabilities")
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _done(_libc.syscall(ctypes.c_long(capset), header, nothing), "capset")


def no_new_privileges() -> None:
    """Ensures that no program started from now on gains privileges by being set-user-ID."""
    _done(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")


def install_filter(program: bytes) -> None:
    """Installs the filter of system calls (classic BPF, eight bytes per instruction).

    It cannot be removed again.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    argument = _Filter(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _done(
        _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(argument)),
        "seccomp",
    )


NOBODY: Final = 65_534
FOLDER: Final = "/tmp"  # noqa: S108 - of the sandbox, not of the machine
PROGRAM: Final = "/program.py"

_HOST_NAME: Final = b"sandbox"
_LIFELINE: Final = 0
_FIXED: Final = MOUNT_READ_ONLY | MOUNT_NOSUID | MOUNT_NODEV
_BARE: Final = MOUNT_NOSUID | MOUNT_NODEV | MOUNT_NOEXEC
# Flags that a bind mount inherits and must keep, by their values in statvfs, with their
# values for mount.
_TIMES: Final = {1024: 1024, 2048: 2048, 4096: 1 << 21}
_MIB: Final = 1 << 20


class _Report:
    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def send(self, **entry: object) -> None:
        os.write(self.pipe, json.dumps(entry).encode() + b"\n")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Reports an error under the name of its stage, and ends the process."""
        try:
            yield
        except (OSError, ValueError) as error:
            number, text = None, str(error)
            if isinstance(error, OSError) and error.strerror:
                number, text = error.errno, f"{error.strerror} ({error.filename})"
            self.send(failed=name, number=number, text=text)
            os._exit(1)


class PlanLimits(TypedDict):
    """What a program may use of the machine."""

    cpu_seconds: int
    memory_mb: int
    folder_mb: int
    open_files: int


class Plan(TypedDict):
    """What is made and run: the first line that the starter sends.

    Attributes:
        base: a folder to mount on; its content is hidden in the sandbox only.
        binds: files and folders of the machine, each with its path in the sandbox.
        withheld: folders inside these that are covered by an empty one.
        links: symbolic links in `/lib`, by name and target.
        program: the model's code.
        pivot_root: the number of that system call.
        several_users: whether the starter is root, so that users can be changed.
        capset: the number of that system call.
        filter: the filter of system calls, in hexadecimal.
        limits: of the program.
        command: what runs it.
        environment: all of its variables.
    """

    base: str
    binds: list[tuple[str, str]]
    withheld: list[str]
    links: list[tuple[str, str]]
    program: str
    pivot_root: int
    several_users: bool
    capset: int
    filter: str
    limits: PlanLimits
    command: list[str]
    environment: dict[str, str]


def main() -> NoReturn:
    """Runs one program; the only argument is the number of the status pipe."""
    report = _Report(int(sys.argv[-1]))
    os.set_inheritable(report.pipe, False)
    plan: Plan = json.loads(_line())
    with report.stage("kill me first when memory is short"):
        Path("/proc/self/oom_score_adj").write_text("1000")

    with report.stage("namespaces"):
        _done(_libc.unshare(ctypes.c_int(NAMESPACES)), "unshare")

    report.send(unshared=True)
    if _line() != b"go\n":
        os._exit(1)

    with report.stage("process 1"):
        watch, alive = os.pipe()
        init = os.fork()

    if init == 0:
        os.close(alive)
        _init(plan, report, watch)

    for number in (1, 2, watch, report.pipe):
        os.close(number)

    ended = os.pidfd_open(init)
    select.select([_LIFELINE, ended], [], [])
    os.kill(init, signal.SIGKILL)
    # Returns when the kernel has killed and reaped every process of the sandbox.
    os.waitpid(init, 0)
    os._exit(0)


def _line() -> bytes:
    """Reads the next line of the lifeline, and nothing beyond it; exits if the starter is gone."""
    text = bytearray()
    while not text.endswith(b"\n"):
        chunk = os.read(_LIFELINE, 65_536)
        if not chunk:
            os._exit(1)
        text += chunk
    return bytes(text)


def _init(plan: Plan, report: _Report, watch: int) -> NoReturn:
    """Runs as process 1 of the sandbox: builds it, starts the program, waits, and reports.

    Privileges are dropped only after everything is built. The program's input is empty,
    and its output is closed here, so that the starter sees its end.
    """
    with report.stage("host name"):
        _done(
            _libc.sethostname(_HOST_NAME, ctypes.c_size_t(len(_HOST_NAME))),
            "sethostname",
        )

    with report.stage("file system"):
        _build(plan)

    with report.stage("user and capabilities"):
        _become_nobody(plan)

    with report.stage("lifeline"):
        # The kernel drops this setting when the user id changes, so it comes now.
        _done(_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL), "parent death signal")
        # The parent may have ended before that: then the other end of this pipe is
        # closed.
        if select.select([watch], [], [], 0)[0]:
            os._exit(1)

    report.send(running=True)
    with report.stage("the program's process"):
        silence, other = os.pipe()
        os.close(other)
        program = os.fork()

    if program == 0:
        with report.stage("start of the program"):
            _become_program(plan, silence)

    for number in (1, 2, silence):
        os.close(number)

    _, status, usage = os.wait4(program, 0)
    report.send(
        code=os.waitstatus_to_exitcode(status), cpu=usage.ru_utime + usage.ru_stime
    )
    os._exit(0)


def _build(plan: Plan) -> None:
    """Mounts an empty root with the runtime, the program and an empty folder, and switches to it."""
    mount(None, "/", None, MOUNT_RECURSIVE | MOUNT_PRIVATE)
    base = Path(plan["base"])
    mount(
        "tmpfs",
        str(base),
        "tmpfs",
        _BARE & ~MOUNT_NOEXEC,
        "size=4m,nr_inodes=2048,mode=0755",
    )
    for source, target in plan["binds"]:
        _bind(Path(source), base / target.lstrip("/"))

    for target in plan["withheld"]:
        mount(
            "tmpfs",
            str(base / target.lstrip("/")),
            "tmpfs",
            _BARE | _FIXED,
            "size=4k,nr_inodes=1,mode=0555",
        )

    for name, target in plan["links"]:
        (base / "lib" / name).symlink_to(target)

    program = base / PROGRAM.lstrip("/")
    program.write_bytes(plan["program"].encode("utf-8", "surrogatepass"))
    program.chmod(0o444)
    folder = base / FOLDER.lstrip("/")
    folder.mkdir()
    size = plan["limits"]["folder_mb"]
    options = f"size={size}m,nr_inodes=1024,mode=0700,uid={NOBODY},gid={NOBODY}"
    mount("tmpfs", str(folder), "tmpfs", _BARE, options)
    mount(None, str(base), None, MOUNT_REMOUNT | MOUNT_BIND | _FIXED)
    swap_root(str(base), plan["pivot_root"])


def _bind(source: Path, target: Path) -> None:
    """Shows a file or folder of the machine in the sandbox, read-only.

    Flags of a bind mount take effect only by a remount, which the kernel refuses in a
    user namespace if a flag of the original is missing.
    """
    if source.is_dir():
        target.mkdir(parents=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()

    inherited = os.statvfs(source).f_flag
    mount(str(source), str(target), None, MOUNT_BIND)
    flags = (
        _FIXED
        | (inherited & MOUNT_NOEXEC)
        | sum(flag for bit, flag in _TIMES.items() if inherited & bit)
    )
    mount(None, str(target), None, MOUNT_REMOUNT | MOUNT_BIND | flags)


def _become_nobody(plan: Plan) -> None:
    """Drops all privileges for good, and checks that they are gone."""
    no_new_privileges()
    drop_bounding_set()
    if plan["several_users"]:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)

    drop_capabilities(plan["capset"])
    if os.getresuid() != (NOBODY,) * 3 or os.getresgid() != (NOBODY,) * 3:
        raise ValueError(
            f"user {os.getresuid()} and group {os.getresgid()} instead of {NOBODY}"
        )


def _become_program(plan: Plan, silence: int) -> NoReturn:
    """Sets the limits, then the filter of system calls, and becomes the program.

    The filter comes last, since the other steps may need calls that it forbids.
    """
    os.dup2(silence, _LIFELINE)
    os.chdir(FOLDER)
    os.umask(0o077)
    limits = plan["limits"]
    seconds, memory, size = (
        limits["cpu_seconds"],
        limits["memory_mb"] * _MIB,
        limits["folder_mb"] * _MIB,
    )
    for kind, soft, hard in (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_FSIZE, size, size),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
        (resource.RLIMIT_NPROC, 1, 1),
        (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        (resource.RLIMIT_AS, memory, memory),
    ):
        resource.setrlimit(kind, (soft, hard))

    command = [*plan["command"], PROGRAM]
    install_filter(bytes.fromhex(plan["filter"]))
    os.execve(command[0], command, plan["environment"])  # noqa: S606 - a program of the runtime, no shell
