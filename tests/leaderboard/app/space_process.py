"""The app in a process of its own, with the environment of a Space, which writes down whom it asks for something."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Served", "served"]

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Served:
    """A running app: where it listens and keeps uploads, and every route of the framework behind it, by method and path."""

    port: int
    uploads: Path
    routes: frozenset[tuple[str, str]]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def asked(self) -> list[str]:
        """Names it has looked up and hosts it has spoken to, so far."""
        return self.uploads.with_name("asked").read_text().splitlines()

    def log(self) -> list[str]:
        """Lines it has logged so far."""
        return self.uploads.with_name("log").read_text(errors="replace").splitlines()

    def left(self) -> list[Path]:
        """Files of uploads that are still there."""
        return [path for path in self.uploads.rglob("*") if path.is_file()]


@contextmanager
def served(store: Path, *, folder: Path) -> Iterator[Served]:
    """Serves a store, and fails if the app asked anybody for anything meanwhile; `folder` is an empty one."""
    environment = {**os.environ, "GRADIO_TEMP_DIR": str(folder / "uploads"), "SYSTEM": "spaces", "SPACE_ID": "me/board"}
    with (folder / "log").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.leaderboard.app.space_process", str(store), str(folder)],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            cwd=ROOT,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("leaderboard: http://127.0.0.1:"), (folder / "log").read_text()
        routes = json.loads((folder / "routes").read_text())
        space = Served(
            int(line.split()[1].strip("/").rsplit(":", 1)[1]), folder / "uploads", frozenset(map(tuple, routes))
        )
        yield space
        assert space.asked() == []
        assert process.poll() is None, (folder / "log").read_text()
    finally:
        process.terminate()
        process.wait(timeout=20)
        assert process.stdout is not None
        process.stdout.close()


def table(routes: Any) -> set[tuple[str, str]]:
    """Every route, also of what is mounted and included."""
    found: set[tuple[str, str]] = set()
    for route in routes:
        inner = getattr(route, "original_router", None) or route
        found |= table(inner.routes) if hasattr(inner, "routes") else {(one, route.path) for one in route.methods}
    return found


def main(store: str, folder: Path) -> None:
    """Serves, with every host counting as public: what is refused is refused for another reason."""
    import safehttpx  # type: ignore[import-untyped]

    from medical_tasks.leaderboard.app import serving

    safehttpx.is_public_ip = lambda ip: True
    asked = folder / "asked"
    asked.touch()

    def watch(name: str, owner: Any) -> None:
        real = getattr(owner, name)

        def seen(*words: Any, **named: Any) -> Any:
            with asked.open("a") as file:
                print(name, *words, file=file)
            return real(*words, **named)

        setattr(owner, name, seen)

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        watch(name, socket)
    watch("connect", socket.socket)
    watch("connect_ex", socket.socket)
    made = serving.server_of

    def written_down(place: str) -> Any:
        server = made(place)
        door: Any = server.config.app
        (folder / "routes").write_text(json.dumps(sorted(table(door._app.routes))))
        return server

    serving.server_of = written_down
    serving.serve(store, "127.0.0.1", 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
