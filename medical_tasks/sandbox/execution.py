"""Runs one program in the sandbox: its limits, its Python, its system calls, its start and its end."""

from __future__ import annotations

import dataclasses
import errno
import functools
import json
import os
import platform
import re
import selectors
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal

from medical_tasks.errors import MissingError, UsageError, system_reason

SANDBOX_VERSION: Final = 1
"""Changes whenever the same program could end differently."""

MAX_PROGRAM_BYTES: Final = 1 << 20

Exit = Literal["ok", "error", "timeout", "memory", "output"]
_NO_MESSAGE: Final = "object type name: MemoryError"


# the others must be at least 1
_LEAST: Final = {"wall_seconds": 0.1, "memory_mb": 64, "open_files": 16}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one program may use.

    Attributes:
        cpu_seconds: processor time.
        wall_seconds: from start to end, waiting included.
        memory_mb: address space in MiB, the interpreter's own included.
        output_bytes: of standard output, and of standard error.
        folder_mb: of all files that it writes, in MiB; they are in memory.
        open_files: file descriptors.
    """

    cpu_seconds: int = 5
    wall_seconds: float = 20.0
    memory_mb: int = 512
    output_bytes: int = 65_536
    folder_mb: int = 8
    open_files: int = 32

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if not value >= (smallest := _LEAST.get(name, 1)):
                raise UsageError(
                    f"sandbox limit {name} must be {smallest} or more, got {value}."
                )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a program ended."""

    stdout: str  # up to the limit
    stderr_tail: str  # with the reason why a program was stopped
    exit: Exit
    seconds: float


# Hashes of strings are the same in every run, so that a program prints a set in the same
# order each time.
_ENVIRONMENT: Final = {"PYTHONHASHSEED": "0"}
# Only the module that makes the sandbox is loaded into its process: stubs replace the
# packages around it.
_START: Final = """
import sys, types
for name, place in (("medical_tasks", sys.argv[1]), ("medical_tasks.sandbox", sys.argv[2])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [place]
from medical_tasks.sandbox.jail import main
main()
"""
_NOBODY: Final = 65_534
_SETUP_S: Final = 60.0
_END_S: Final = 30.0
_TAIL: Final = 4_000
_PIECE: Final = 65_536


class SandboxError(MissingError):
    """The sandbox could not be made, and no program was run.

    Attributes:
        stage: at which it failed.
        reason: why.
        number: the system's error number, if any.
    """

    def __init__(self, stage: str, reason: str, number: int | None = None) -> None:
        super().__init__(
            f"the sandbox could not be made ({stage}: {reason}), so a program was not run. What "
            "was finished before is kept: give the same command again to continue."
        )
        self.stage, self.reason, self.number = stage, reason, number


def run_code(code: str, *, limits: Limits | None = None) -> Outcome:
    """Runs a program in isolation, and leaves nothing behind; thread-safe.

    Raises:
        MissingError: No sandbox can be made, and the program was not run.
    """
    chosen = limits or Limits()
    if len(code.encode("utf-8", "surrogatepass")) > MAX_PROGRAM_BYTES:
        reason = (
            f"The program is longer than {MAX_PROGRAM_BYTES} bytes and was not run."
        )
        return Outcome(stdout="", stderr_tail=reason, exit="error", seconds=0.0)

    with _Run(code, chosen) as run:
        run.start()
        run.watch()
        run.end()
        return run.outcome()


@functools.cache
def _fixed_plan() -> Mapping[str, object]:
    """Returns the part of a plan that is the same for every program on this machine.

    Raises:
        SandboxError: The system is not supported, or there is no folder to mount on that
            hides nothing of Python.
    """
    machine = MACHINES.get(platform.machine())
    if platform.system() != "Linux" or machine is None:
        raise SandboxError(
            "this system",
            f"is {platform.system()} on {platform.machine()}, expected Linux on "
            f"{' or '.join(MACHINES)}",
        )

    runtime = find_runtime()
    # The folder to mount on, in a mount namespace of its own, must hold none of the
    # sources.
    sources = [Path(source) for source, _ in runtime.binds]
    names = ("/tmp", "/mnt", "/srv", "/media", "/sys", "/dev")  # noqa: S108 - not written
    folders = [Path(name) for name in names]
    usable = (
        folder
        for folder in folders
        if folder.is_dir()
        and not any(source.is_relative_to(folder) for source in sources)
    )
    base = next(usable, None)
    if base is None:
        raise SandboxError(
            "place",
            f"none of {', '.join(map(str, folders))} is a folder without Python in it",
        )

    return {
        "base": str(base),
        **dataclasses.asdict(runtime),
        "environment": _ENVIRONMENT,
        "filter": filter_program(machine).hex(),
        "capset": machine.others["capset"],
        "pivot_root": machine.others["pivot_root"],
    }


class _Run:
    """One run of one program, from the start of its sandbox to the end of everything in it."""

    def __init__(self, code: str, limits: Limits) -> None:
        """Prepares the plan; nothing is started yet.

        As root, the program gets a user of its own; otherwise the current user appears
        as nobody.
        """
        self.limits = limits
        own = {
            "limits": dataclasses.asdict(limits),
            "program": code,
            "several_users": os.geteuid() == 0,
        }
        self.plan = {**_fixed_plan(), **own}
        self.texts: dict[str, bytearray] = {
            "stdout": bytearray(),
            "stderr": bytearray(),
            "status": bytearray(),
        }
        self.stopped: Exit | None = None
        self.seconds = 0.0
        self.process: subprocess.Popen[bytes] | None = None
        self.selector = selectors.DefaultSelector()
        self.status: int | None = None

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            self.selector.close()
            if self.status is not None:
                os.close(self.status)

            if self.process is not None:
                for pipe in (
                    self.process.stdin,
                    self.process.stdout,
                    self.process.stderr,
                ):
                    _close(pipe)

    def start(self) -> None:
        """Starts the process that makes the sandbox, and returns when the program runs.

        It unshares first, then waits until its users are mapped from outside. It reports
        each step on the status pipe before the next.
        """
        here = Path(__file__).resolve().parent
        self.status, theirs = os.pipe()
        try:
            interpreter = getattr(sys, "_base_executable", "") or sys.executable
            self.process = subprocess.Popen(
                [
                    interpreter,
                    "-I",
                    "-S",
                    "-X",
                    "utf8",
                    "-c",
                    _START,
                    str(here.parent),
                    str(here),
                    str(theirs),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={},
                cwd="/",
                pass_fds=(theirs,),
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError("start", system_reason(error), error.errno) from error
        finally:
            os.close(theirs)

        for name, pipe in (
            ("stdout", self.process.stdout),
            ("stderr", self.process.stderr),
            ("status", self.status),
        ):
            if pipe is not None:
                self.selector.register(pipe, selectors.EVENT_READ, name)

        deadline = time.monotonic() + _SETUP_S
        self._write(json.dumps(self.plan).encode() + b"\n")
        self._await("unshared", deadline)
        self._map_users()
        self._write(b"go\n")
        self._await("running", deadline)

    def _write(self, line: bytes) -> None:
        pipe = self.process.stdin if self.process is not None else None
        try:
            while pipe is not None and line:
                line = line[pipe.write(line) or 0 :]
        except BrokenPipeError:
            return  # it ended; the reason is in the status or on standard error

    def _map_users(self) -> None:
        """Maps the sandbox's users to this machine's: root and nobody for root, else nobody alone."""
        if self.process is None:
            return

        proc = Path("/proc") / str(self.process.pid)
        try:
            users = groups = f"0 0 1\n{_NOBODY} {_NOBODY} 1\n"
            if not self.plan["several_users"]:
                (proc / "setgroups").write_text("deny")
                users, groups = (
                    f"{_NOBODY} {own} 1\n" for own in (os.geteuid(), os.getegid())
                )

            (proc / "uid_map").write_text(users)
            (proc / "gid_map").write_text(groups)
        except OSError as error:
            raise SandboxError(
                "users of the namespace", system_reason(error), error.errno
            ) from error

    def _await(self, word: str, deadline: float) -> None:
        """Waits until a word arrives on the status pipe.

        Raises:
            SandboxError: The process ended, or took too long; with its last line of
                standard error.
        """
        while not any(word in entry for entry in self._entries()):
            if not self._read(deadline - time.monotonic()):
                lines = (
                    self.texts["stderr"].decode("utf-8", "replace").strip().splitlines()
                )
                reason = f"ended before it was ready ({lines[-1] if lines else 'without a word'})"
                raise SandboxError(
                    "start", reason if time.monotonic() < deadline else "took too long"
                )

    def _entries(self) -> list[dict[str, object]]:
        entries = [
            json.loads(line) for line in bytes(self.texts["status"]).split(b"\n")[:-1]
        ]
        for entry in entries:
            if "failed" in entry:
                raise SandboxError(entry["failed"], entry["text"], entry["number"])
        return entries

    def _read(self, patience: float) -> bool:
        """Reads what has arrived; returns False if nothing came in time, or nothing more can."""
        if not self.selector.get_map() or patience <= 0:
            return False

        events = self.selector.select(patience)
        for key, _ in events:
            piece = os.read(key.fd, _PIECE)
            if piece:
                self.texts[key.data] += piece
            else:
                self.selector.unregister(key.fileobj)

        return bool(events)

    def watch(self) -> None:
        """Reads the program's output until it ends or exceeds a limit."""
        started = time.monotonic()
        deadline = started + self.limits.wall_seconds
        while self.selector.get_map() and not any(
            "code" in entry for entry in self._entries()
        ):
            if any(
                len(self.texts[name]) > self.limits.output_bytes
                for name in ("stdout", "stderr")
            ):
                self.stopped = "output"
                break

            if not self._read(deadline - time.monotonic()) and self.selector.get_map():
                self.stopped = "timeout"
                break

        self.seconds = time.monotonic() - started

    def end(self) -> None:
        """Kills whatever is left, and returns when the kernel reports that nothing is.

        Safe to call twice.
        """
        process = self.process
        if process is None or process.returncode is not None:
            return

        _close(process.stdin)
        deadline = time.monotonic() + _END_S
        most = self.limits.output_bytes + _PIECE
        while self._read(deadline - time.monotonic()):
            for text in (self.texts["stdout"], self.texts["stderr"]):
                del text[most:]

        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            # It is stuck in the kernel and does not see the lifeline; process 1 ends with
            # it.
            process.kill()
            process.wait()

    def outcome(self) -> Outcome:
        """Returns how the program ended, with its output cut at the limit and its last errors.

        The limit is checked again: it may have written too much and ended at once.
        """
        ended = next((entry for entry in self._entries() if "code" in entry), None)
        if ended is None and self.stopped is None:
            raise SandboxError(
                "program",
                "the process that waits for it was killed from outside the sandbox",
            )

        limits = self.limits
        if any(
            len(self.texts[name]) > limits.output_bytes for name in ("stdout", "stderr")
        ):
            self.stopped = "output"

        stdout = bytes(self.texts["stdout"][: limits.output_bytes]).decode(
            "utf-8", "replace"
        )
        stderr = bytes(self.texts["stderr"]).decode("utf-8", "replace")[-_TAIL:]
        kind, reason = self._exit_and_reason(ended, stderr)
        tail = f"{stderr.rstrip()}\n{reason}".lstrip() if reason else stderr

        return Outcome(stdout=stdout, stderr_tail=tail, exit=kind, seconds=self.seconds)

    def _exit_and_reason(
        self, ended: Mapping[str, Any] | None, stderr: str
    ) -> tuple[Exit, str]:
        """Returns how it ended, and a sentence that says why it was stopped, if it was.

        A signal alone does not tell which limit it was: exhausted processor time also
        kills. So time is checked first, then Python's own `MemoryError`, then a kill.
        """
        limits = self.limits
        if self.stopped == "output":
            return "output", f"Stopped: it wrote more than {limits.output_bytes} bytes."

        if self.stopped == "timeout" or ended is None:
            return (
                "timeout",
                f"Stopped: it had not ended after {limits.wall_seconds:g} seconds.",
            )

        code = int(ended["code"])
        if code == 0:
            return "ok", ""

        # The system may send its signal slightly before the reported time is up.
        early = limits.cpu_seconds / 2 if code == -signal.SIGXCPU else 0.1
        if code < 0 and ended["cpu"] >= limits.cpu_seconds - early:
            return (
                "timeout",
                f"Stopped: it used more than {limits.cpu_seconds} seconds of processor time.",
            )

        last = stderr.rstrip().rsplit("\n", 1)[-1]
        # Without memory even for the message, Python 3.13 prints the error's type.
        if last.startswith("MemoryError") or _NO_MESSAGE in stderr:
            return "memory", f"It needed more than {limits.memory_mb} MiB of memory."
        if code == -9:
            return "memory", "Stopped: the machine ran out of memory."

        return "error", f"It was ended by signal {-code}." if code < 0 else ""


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None and not pipe.closed:
        pipe.close()


# A program sees this machine's interpreter, standard library and their C libraries. An
# empty folder is mounted over each folder of site packages in the standard library.

INTERPRETER: Final = "/usr/bin/python3"
"""The interpreter's path in the sandbox; the same on every machine, so that error messages are too."""

_LIBRARIES: Final = "/lib"
_LOADER = re.compile(r"ld[-.6].*\.so")
_WITHHELD: Final = ("site-packages", "dist-packages")
_LOOK_S: Final = 60

# Prints the files that the interpreter maps once the standard library's compiled modules
# are loaded, their C libraries included. Modules with large libraries that no calculation
# needs (ssl, sqlite3, curses, tkinter) are left out.
_LOOK: Final = """
import json, os, sys
for name in (
    "_bisect _bz2 _contextvars _csv _ctypes _datetime _decimal _elementtree _heapq _json _lsprof _lzma _multiprocessing "
    "_opcode _pickle _posixsubprocess _queue _random _socket _statistics _struct _zoneinfo array binascii cmath fcntl grp "
    "math mmap pyexpat resource select syslog termios unicodedata zlib"
).split():
    try:
        __import__(name)
    except ImportError:
        pass
with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
    lines = [line.rstrip("\\n").split(None, 5) for line in maps]
files = sorted({line[5] for line in lines if len(line) == 6 and line[5].startswith("/")})
version = [*sys.version_info[:3]]
print(json.dumps([os.path.dirname(os.path.realpath(os.__file__)), sys.platlibdir, version, files]))
"""


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """What is mounted, read-only.

    Attributes:
        version: of Python.
        binds: paths on this machine, each with its path in the sandbox.
        withheld: folders in the sandbox that are covered by an empty one.
        links: names in the sandbox's library folder, each with its library.
        command: how a program is started.
    """

    version: str
    binds: tuple[tuple[str, str], ...]
    withheld: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    command: tuple[str, ...]


@functools.cache
def find_runtime() -> Runtime:
    """Finds the files of the running interpreter, once per process."""
    interpreter = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    details = _inspect_interpreter(interpreter)
    library, libdir, version, mapped = (
        Path(details[0]),
        str(details[1]),
        [int(number) for number in details[2]],
        details[3],
    )
    libraries = [
        Path(name)
        for name in mapped
        if ".so" in Path(name).name and not Path(name).is_relative_to(library)
    ]
    loaders = [path for path in libraries if _LOADER.match(path.name)]
    if len(loaders) > 1:
        raise MissingError(
            f"sandbox: {interpreter} maps several dynamic loaders "
            f"({', '.join(map(str, loaders))}); expected one. Run medical-tasks with a Python of "
            "your distribution."
        )

    home = f"/usr/{libdir}/python{version[0]}.{version[1]}"
    binds = [(str(interpreter), INTERPRETER), (str(library), home)]
    binds += [(str(path), f"{_LIBRARIES}/{path.name}") for path in libraries]
    start = (
        [f"{_LIBRARIES}/{loaders[0].name}", "--library-path", _LIBRARIES]
        if loaders
        else []
    )
    # -P and -s keep this machine's folders off the path, -B writes no compiled files.
    options = ["-P", "-s", "-B", "-X", "utf8"]

    return Runtime(
        version=".".join(map(str, version)),
        binds=tuple(binds),
        withheld=tuple(
            f"{home}/{name}" for name in _WITHHELD if (library / name).is_dir()
        ),
        links=tuple(_links(libraries)),
        command=(*start, INTERPRETER, *options),
    )


def _inspect_interpreter(interpreter: Path) -> list[Any]:
    """Starts a Python by itself, and returns its files and version."""
    command = [str(interpreter), "-I", "-S", "-X", "utf8", "-c", _LOOK]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={},
            timeout=_LOOK_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        details: list[Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
        raise MissingError(
            f"sandbox: {interpreter} does not start by itself ({error}), so no program can run "
            "with it. Run medical-tasks with a Python of your distribution or of python.org."
        ) from error

    return details


def _links(libraries: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yields the other names of the libraries: `libz.so.1` for `libz.so.1.2.13`."""
    for path in libraries:
        stem = path.name.split(".so")[0]
        for other in sorted(path.parent.glob(f"{stem}.so*")):
            if (
                other.name != path.name
                and other.is_symlink()
                and other.resolve() == path
            ):
                yield other.name, path.name


# The system calls a program may make; the kernel's filter (classic BPF) fails all
# others with `EPERM`. Numbers: `asm/unistd_64.h` of Linux for x86_64,
# `asm-generic/unistd.h` for aarch64.

# By group: the name of a call, with its numbers on x86_64 and on aarch64, null where the
# machine has no such call. The group `others` has the calls whose arguments the filter
# checks, or that only the making of the sandbox uses.
_CALLS: Final = json.loads(
    Path(__file__).with_name("system_calls.json").read_text(encoding="utf-8")
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A supported processor.

    Attributes:
        audit_arch: the kernel's name for it (`linux/audit.h`).
        allowed: calls that a program may make with any arguments, by name.
        others: calls that depend on their arguments, or that only the sandbox makes.
        first_foreign: calls from this number on belong to another interface (x32).
    """

    audit_arch: int
    allowed: Mapping[str, int]
    others: Mapping[str, int]
    first_foreign: int | None


def _machine(column: int, audit_arch: int, first_foreign: int | None) -> Machine:
    """Selects the system calls of one processor.

    Args:
        column: of the table of calls, with None where a processor lacks a call.
        audit_arch: the processor in the kernel's filter.
        first_foreign: the first number of calls of another processor mode.
    """
    numbers = {
        group: {name: both[column] for name, both in calls.items()}
        for group, calls in _CALLS.items()
    }
    others = numbers.pop("others")
    allowed = {
        name: number
        for calls in numbers.values()
        for name, number in calls.items()
        if number is not None
    }

    return Machine(
        audit_arch=audit_arch,
        allowed=allowed,
        others=others,
        first_foreign=first_foreign,
    )


MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": _machine(0, 0xC000003E, 0x4000_0000),
    "aarch64": _machine(1, 0xC00000B7, None),
}
"""Supported processors, by `platform.machine()`."""


PROGRAM_PID: Final = 2
"""The program's process id in its own namespace; 1 is the process that waits for it."""

ALLOW: Final = 0x7FFF_0000
KILL: Final = 0x8000_0000
_ERRNO: Final = 0x0005_0000

_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_NOT_LESS: Final = 0x35
_RETURN: Final = 0x06
# offsets in `struct seccomp_data`; low words
_NUMBER, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24

# TCGETS and TIOCGWINSZ (is this a terminal, and how wide), FIONREAD, FIONBIO, FIOCLEX.
_IOCTLS: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5451)


def refuse(number: int) -> int:
    """Returns the filter's result that makes a call fail with an error number."""
    return _ERRNO | number


def filter_program(machine: Machine) -> bytes:
    """Makes the filter.

    `clone3` appears not to be implemented, so that the C library falls back to `clone`,
    which is not allowed.
    """
    steps: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, machine.audit_arch),
        _end(KILL),
    ]
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
    steps += [
        (_EQUAL, 0, 1, others["clone3"]),
        _end(refuse(errno.ENOSYS)),
        _end(refuse(errno.EPERM)),
    ]

    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _end(result: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, result)


def _only(
    number: int, argument: int, values: tuple[int, ...]
) -> list[tuple[int, int, int, int]]:
    """Allows a call with one of a few values (32-bit in the kernel) and refuses it with any other."""
    steps = [(_EQUAL, 0, 2 + 2 * len(values), number), (_LOAD, 0, 0, argument)]
    for value in values:
        steps += [(_EQUAL, 0, 1, value), _end(ALLOW)]
    return [*steps, _end(refuse(errno.EPERM))]
