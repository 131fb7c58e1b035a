"""The process that makes the sandbox, and the one inside that waits for the program.

Started anew for each program, by a clean interpreter. It moves into fresh namespaces, waits until its starter has written
its user ids, and forks; the child is process 1 of the sandbox. That one builds the file system, gives up every right,
forks again, and waits. The grandchild limits itself, installs the filter of system calls and becomes the program.

Standard input is the lifeline: its first line is the plan; when its other end closes, because the starter wants the
program's end or has itself ended, process 1 is killed, and with it the kernel kills all that is in the sandbox. Progress,
failures and the program's end go to a pipe as lines of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

from medical_tasks.sandbox import linux

__all__ = ["FOLDER", "NOBODY", "PROGRAM", "main"]

NOBODY: Final = 65_534
FOLDER: Final = "/tmp"  # noqa: S108 - of the sandbox, not of the machine
PROGRAM: Final = "/program.py"

_LIFELINE: Final = 0
_FIXED: Final = linux.MOUNT_READ_ONLY | linux.MOUNT_NOSUID | linux.MOUNT_NODEV
_BARE: Final = linux.MOUNT_NOSUID | linux.MOUNT_NODEV | linux.MOUNT_NOEXEC
# What a bind mount inherits and must keep; statvfs names these two otherwise than mount does.
_TIMES: Final = {1024: 1024, 2048: 2048, 4096: 1 << 21}
_MIB: Final = 1 << 20


class _Report:
    """The pipe to the starter, and what is being done."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def send(self, **entry: object) -> None:
        os.write(self.pipe, json.dumps(entry).encode() + b"\n")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Tells a failure and ends the process."""
        try:
            yield
        except (OSError, ValueError) as error:
            number, text = None, str(error)
            if isinstance(error, OSError) and error.strerror:
                number, text = error.errno, f"{error.strerror} ({error.filename})"
            self.send(failed=name, number=number, text=text)
            os._exit(1)


def main() -> NoReturn:
    """Runs one program; the one argument is the number of the status pipe."""
    report = _Report(int(sys.argv[-1]))
    os.set_inheritable(report.pipe, False)
    plan: dict[str, Any] = json.loads(_line())
    with report.stage("kill me first when memory is short"):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with report.stage("namespaces"):
        linux.unshare(linux.NAMESPACES)
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
    poll = select.poll()
    poll.register(_LIFELINE, select.POLLIN)
    poll.register(ended, select.POLLIN)
    poll.poll()
    os.kill(init, signal.SIGKILL)
    # Returns when the kernel has killed and reaped every process of the sandbox.
    os.waitpid(init, 0)
    os._exit(0)


def _line() -> bytes:
    """The next line of the lifeline; nothing is read ahead. Empty when the starter is gone."""
    text = bytearray()
    while not text.endswith(b"\n"):
        part = os.read(_LIFELINE, 65_536)
        if not part:
            os._exit(1)
        text += part
    return bytes(text)


def _init(plan: dict[str, Any], report: _Report, watch: int) -> NoReturn:
    with report.stage("host name"):
        linux.set_host_name("sandbox")
    with report.stage("file system"):
        _build(plan)
    with report.stage("user and capabilities"):
        _become_nobody(plan)
    with report.stage("lifeline"):
        linux.end_with_parent(signal.SIGKILL)
        # The parent may have ended before it could be told: then nobody holds the other end of this pipe.
        gone = select.poll()
        gone.register(watch, select.POLLHUP)
        if gone.poll(0):
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
    report.send(code=os.waitstatus_to_exitcode(status), cpu=usage.ru_utime + usage.ru_stime)
    os._exit(0)


def _build(plan: dict[str, Any]) -> None:
    """Mounts an empty root with the runtime, the program and the empty folder, and makes it the only thing there is."""
    linux.mount(None, "/", None, linux.MOUNT_RECURSIVE | linux.MOUNT_PRIVATE)
    base = Path(plan["base"])
    linux.mount("tmpfs", str(base), "tmpfs", _BARE & ~linux.MOUNT_NOEXEC, "size=4m,nr_inodes=2048,mode=0755")
    for source, place in plan["binds"]:
        _bind(Path(source), base / place.lstrip("/"))
    for place in plan["withheld"]:
        linux.mount("tmpfs", str(base / place.lstrip("/")), "tmpfs", _BARE | _FIXED, "size=4k,nr_inodes=1,mode=0555")
    for name, target in plan["links"]:
        (base / "lib" / name).symlink_to(target)
    program = base / PROGRAM.lstrip("/")
    program.write_bytes(plan["program"].encode("utf-8", "surrogatepass"))
    program.chmod(0o444)
    folder = base / FOLDER.lstrip("/")
    folder.mkdir()
    size = plan["limits"]["folder_mb"]
    options = f"size={size}m,nr_inodes=1024,mode=0700,uid={NOBODY},gid={NOBODY}"
    linux.mount("tmpfs", str(folder), "tmpfs", _BARE, options)
    linux.mount(None, str(base), None, linux.MOUNT_REMOUNT | linux.MOUNT_BIND | _FIXED)
    linux.swap_root(str(base), plan["pivot_root"])


def _bind(source: Path, place: Path) -> None:
    if source.is_dir():
        place.mkdir(parents=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    kept = os.statvfs(source).f_flag
    linux.mount(str(source), str(place), None, linux.MOUNT_BIND)
    flags = _FIXED | (kept & linux.MOUNT_NOEXEC) | sum(flag for bit, flag in _TIMES.items() if kept & bit)
    linux.mount(None, str(place), None, linux.MOUNT_REMOUNT | linux.MOUNT_BIND | flags)


def _become_nobody(plan: dict[str, Any]) -> None:
    linux.no_new_privileges()
    linux.drop_bounding_set()
    if plan["several_users"]:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    linux.drop_capabilities(plan["capset"])
    if os.getresuid() != (NOBODY,) * 3 or os.getresgid() != (NOBODY,) * 3:
        raise ValueError(f"user {os.getresuid()} and group {os.getresgid()} instead of {NOBODY}")


def _become_program(plan: dict[str, Any], silence: int) -> NoReturn:
    os.dup2(silence, _LIFELINE)
    os.chdir(FOLDER)
    os.umask(0o077)
    limits = plan["limits"]
    seconds, memory, size = limits["cpu_seconds"], limits["memory_mb"] * _MIB, limits["folder_mb"] * _MIB
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
    linux.install_filter(bytes.fromhex(plan["filter"]))
    os.execve(command[0], command, plan["environment"])  # noqa: S606 - a program of the runtime, no shell
