"""The server in a process of its own, with the environment of a Space; it records every outgoing connection."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import ROOT

__all__ = ["Served", "served"]


@dataclass(frozen=True)
class Served:
    """A running server: its port, and the folder of its temporary files, log and record of outgoing connections."""

    port: int
    folder: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log(self) -> list[str]:
        """Returns the lines logged so far."""
        return (self.folder / "log").read_text(errors="replace").splitlines()


@contextmanager
def served(store: Path, *, folder: Path) -> Iterator[Served]:
    """Serves a store, and fails if the server opened an outgoing connection; `folder` must be empty."""
    (folder / "temporary").mkdir()
    environment = {
        **os.environ,
        "TMPDIR": str(folder / "temporary"),
        "SPACE_ID": "me/board",
    }
    with (folder / "log").open("wb") as errors:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.leaderboard.served_pages",
                str(store),
                str(folder / "requests"),
            ],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            cwd=ROOT,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("leaderboard: http://127.0.0.1:"), (
            folder / "log"
        ).read_text()
        yield Served(int(line.split()[1].strip("/").rsplit(":", 1)[1]), folder)
        assert (folder / "requests").read_text() == ""
        assert process.poll() is None, (folder / "log").read_text()
    finally:
        process.terminate()
        process.wait(timeout=20)
        assert process.stdout is not None
        process.stdout.close()


def main(store: str, requests: Path) -> None:
    """Serves, and records each name that is looked up and each host that is connected to."""
    from medical_tasks.leaderboard import serving

    requests.touch()

    def watch(name: str, owner: Any) -> None:
        real = getattr(owner, name)

        def seen(*words: Any, **named: Any) -> Any:
            with requests.open("a") as file:
                print(name, *words, file=file)
            return real(*words, **named)

        setattr(owner, name, seen)

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        watch(name, socket)
    watch("connect", socket.socket)
    watch("connect_ex", socket.socket)
    serving.serve(store, "127.0.0.1", 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
