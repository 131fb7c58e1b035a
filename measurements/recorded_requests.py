"""What an authors' script and `medical-tasks` ask one server on this machine, compared request by request.

Both sides are programs as they are: the authors' script runs in a Python that has the
client library it was written for, and reaches the server by the environment variables
of that library. The server keeps every request. A request is its roles and its texts;
what else is in a body (model, temperature, limits) is listed by `parameters`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fault_server import Call, FaultServer

SHOWN: Final = 3

_AS_IT_IS: Final = """
import runpy, sys
from unittest.mock import MagicMock

path, absent = sys.argv[1], sys.argv[2].split()
for name in absent:
    sys.modules[name] = MagicMock()
if "tqdm" in absent:
    sys.modules["tqdm"].tqdm = lambda rows: rows
if "transformers" in absent:
    sys.modules["transformers"].StoppingCriteria = object
sys.argv = sys.argv[:1] + sys.argv[3:]
sys.argv[0] = path
sys.path[0] = path.rpartition("/")[0] or "."
runpy.run_path(path, run_name="__main__")
"""


@dataclass(frozen=True)
class Compared:
    """How the requests of two programs differ."""

    equal: int  # different requests that both sent
    only_theirs: tuple[bytes, ...]
    only_ours: tuple[bytes, ...]
    again: tuple[int, int]  # how often theirs, and ours, repeated a request

    @property
    def same(self) -> bool:
        """Whether both sent the same requests."""
        return not self.only_theirs and not self.only_ours

    def __str__(self) -> str:
        text = (
            f"{self.equal} different requests of both (sent again: {self.again[0]} by theirs, {self.again[1]} by ours), "
            f"{len(self.only_theirs)} by theirs alone, {len(self.only_ours)} by ours alone"
        )
        for side, requests in (("theirs", self.only_theirs), ("ours", self.only_ours)):
            for request in requests[:SHOWN]:
                text += f"\n  {side} alone, the end: {request[-300:]!r}"
        return text


def official_options(description: str | None, **numbers: int) -> argparse.Namespace:
    """Reads the command line of a comparison: CHECKOUT --python PYTHON, and numbers with defaults."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=lambda path: Path(path).resolve())
    parser.add_argument(
        "--python", type=lambda path: Path(path).absolute(), required=True
    )
    for name, usual in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    return parser.parse_args()


def content(call: Call) -> bytes:
    """Returns the roles and texts of a request."""
    messages = [
        (message["role"], message["content"]) for message in call.body["messages"]
    ]
    return json.dumps(messages, ensure_ascii=False).encode("utf-8", "surrogatepass")


def compare(
    theirs: Iterable[Call],
    ours: Iterable[Call],
    *,
    by: Callable[[Call], bytes] = content,
) -> Compared:
    """Compares requests by the bytes of their roles and texts, or by what `by` returns."""
    their_counts, our_counts = Counter(map(by, theirs)), Counter(map(by, ours))
    return Compared(
        equal=len(their_counts.keys() & our_counts.keys()),
        only_theirs=tuple(sorted(their_counts.keys() - our_counts.keys())),
        only_ours=tuple(sorted(our_counts.keys() - their_counts.keys())),
        again=(
            their_counts.total() - len(their_counts),
            our_counts.total() - len(our_counts),
        ),
    )


def first(calls: Iterable[Call]) -> list[Call]:
    """Lists the requests that begin a chat: a re-ask of ours continues one."""
    return [call for call in calls if len(call.body["messages"]) == 1]


def parameters(calls: Iterable[Call]) -> str:
    """Lists the other fields of the requests' bodies, each value once: `model gpt-4; temperature 0.0`."""
    values: dict[str, set[str]] = {}
    for call in calls:
        for name, value in call.body.items():
            if name != "messages":
                values.setdefault(name, set()).add(json.dumps(value))
    return "; ".join(
        f"{name} {' or '.join(sorted(values[name]))}" for name in sorted(values)
    )


def recording(answer: Callable[[Call], str]) -> FaultServer:
    """Starts a server that records all requests (`calls`) and replies what `answer` returns."""
    return FaultServer((), answer=answer)


def run_authors(
    python: Path,
    script: Path,
    *arguments: str,
    folder: Path,
    environment: Mapping[str, str],
    absent: Sequence[str] = (),
) -> None:
    """Runs an authors' script as it is; stand-ins replace the modules in `absent`, which it imports and does not use."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    command = [str(python), "-c", _AS_IT_IS, str(script), " ".join(absent), *arguments]
    _run(command, folder, {**kept, "PYTHONUTF8": "1", **environment}, allowed=(0,))


def run_ours(
    *words: str | Path, server: FaultServer | None = None, folder: Path
) -> None:
    """Runs `medical-tasks`; `openai-api/local/NAME` is the server. Unscored items (exit code 5) are part of what is compared."""
    endpoint = (
        {}
        if server is None
        else {"LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": "none"}
    )
    root = str(Path(__file__).resolve().parents[1])
    environment = {
        **os.environ,
        "PYTHONPATH": root,
        "MEDICAL_TASKS_HOME": str(folder),
        **endpoint,
    }
    command = [sys.executable, "-m", "medical_tasks", *map(str, words)]
    _run(command, folder, environment, allowed=(0, 5))


def _run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    allowed: Sequence[int],
) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode not in allowed:
        raise SystemExit(
            f"{' '.join(command[-8:])} ended with {done.returncode}:\n{done.stderr[-4000:]}"
        )


def results_of(folder: Path, task: str) -> dict[str, Any]:
    """Reads the metrics of a task from the results of `medical-tasks`."""
    entry = json.loads((folder / "results.json").read_text(encoding="utf-8"))["tasks"][
        task
    ]
    metrics: dict[str, Any] = entry["metrics"]
    return metrics


def commit_of(checkout: Path) -> str:
    """Returns the first seven digits of a checkout's commit."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "no git checkout"
