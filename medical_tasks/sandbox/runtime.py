"""The part of this machine's Python that a program in the sandbox sees: interpreter, standard library, their C libraries.

An empty folder is mounted over each place inside the standard library's folder where site packages can be.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import MissingError

__all__ = ["INTERPRETER", "Runtime", "find_runtime"]

INTERPRETER: Final = "/usr/bin/python3"
"""Where a program sees the interpreter; the same on every machine, so that error messages are too."""

_LIBRARIES: Final = "/lib"
_LOADER = re.compile(r"ld[-.6].*\.so")
_WITHHELD: Final = ("site-packages", "dist-packages")
_PATIENCE_S: Final = 60

# Prints what the interpreter maps once the standard library's compiled modules are loaded: their C libraries among it.
# Modules that need large libraries and no calculation needs (ssl, sqlite3, curses, tkinter) stay without theirs.
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
    """What is mounted, read-only."""

    version: str
    binds: tuple[tuple[str, str], ...]  # place on this machine to place in the sandbox
    withheld: tuple[str, ...]  # folders in the sandbox over which nothing is mounted
    links: tuple[tuple[str, str], ...]  # name in the sandbox's library folder to the library it stands for
    command: tuple[str, ...]


@functools.cache
def find_runtime() -> Runtime:
    """Looks up the running interpreter's parts, once a process."""
    interpreter = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    found = _look(interpreter)
    library, libdir, version, mapped = Path(found[0]), str(found[1]), [int(part) for part in found[2]], found[3]
    libraries = [Path(name) for name in mapped if ".so" in Path(name).name and not Path(name).is_relative_to(library)]
    loaders = [path for path in libraries if _LOADER.match(path.name)]
    if len(loaders) > 1:
        raise MissingError(
            f"sandbox: {interpreter} maps several dynamic loaders ({', '.join(map(str, loaders))}); expected one. Run "
            "medical-tasks with a Python of your distribution."
        )
    home = f"/usr/{libdir}/python{version[0]}.{version[1]}"
    binds = [(str(interpreter), INTERPRETER), (str(library), home)]
    binds += [(str(path), f"{_LIBRARIES}/{path.name}") for path in libraries]
    start = [f"{_LIBRARIES}/{loaders[0].name}", "--library-path", _LIBRARIES] if loaders else []
    # -P and -s keep folders of this machine off the path, -B writes no compiled files.
    options = ["-P", "-s", "-B", "-X", "utf8"]
    return Runtime(
        version=".".join(map(str, version)),
        binds=tuple(binds),
        withheld=tuple(f"{home}/{name}" for name in _WITHHELD if (library / name).is_dir()),
        links=tuple(_links(libraries)),
        command=(*start, INTERPRETER, *options),
    )


def _look(interpreter: Path) -> list[Any]:
    command = [str(interpreter), "-I", "-S", "-X", "utf8", "-c", _LOOK]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env={}, timeout=_PATIENCE_S, check=True, stdin=subprocess.DEVNULL
        )
        found: list[Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
        raise MissingError(
            f"sandbox: {interpreter} does not start by itself ({error}), so no program can run with it. Run medical-tasks "
            "with a Python of your distribution or of python.org."
        ) from error
    return found


def _links(libraries: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """The other names of the libraries: `libz.so.1` for `libz.so.1.2.13`."""
    for path in libraries:
        stem = path.name.split(".so")[0]
        for other in sorted(path.parent.glob(f"{stem}.so*")):
            if other.name != path.name and other.is_symlink() and other.resolve() == path:
                yield other.name, path.name
