"""Many submissions at the same time, writers killed in the middle, and how long a large board takes to read.

    python -m measurements.leaderboard_store --submissions 200 --kills 10 --entries 2000

First every package is submitted twice, by processes of several threads each: none may
be lost, none doubled. Then processes that submit packages are killed (SIGKILL) at
moments drawn from a seed, and the store must be whole after each. Last a board of many
accepted submissions is read anew, as after a restart. Prints the figures; exit code 1
when anything is not as it must be.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

from medical_tasks.leaderboard.admission import AlreadySubmittedError
from medical_tasks.leaderboard.board import Board, entries_of
from medical_tasks.leaderboard.maintaining import check_store
from medical_tasks.leaderboard.storage import LocalStorage
from tests.leaderboard.made_packages import package

_PROCESSES = 4
_THREADS = 8
_HANDS_IN = """
import sys
from pathlib import Path
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.storage import LocalStorage
from tests.leaderboard.made_packages import package
board = Board(LocalStorage(Path(sys.argv[1])))
for number in range(1_000_000):
    print(board.submit(package(f"{sys.argv[2]} {number}", organisation=f"{sys.argv[2]} {number // 10}")).id, flush=True)
"""


def _board(folder: Path) -> Board:
    return Board(LocalStorage(folder))


def _submit(folder: Path, content: bytes) -> str:
    try:
        return _board(folder).submit(content).id
    except AlreadySubmittedError:
        return ""


def _share(folder: Path, contents: list[bytes]) -> list[str]:
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(lambda content: _submit(folder, content), contents))


def _at_once(folder: Path, count: int) -> bool:
    contents = [
        package(f"model {number}", organisation=f"organisation {number // 10}")
        for number in range(count)
    ]
    twice = [*contents, *contents]
    random.Random(0).shuffle(twice)
    start = time.perf_counter()
    with ProcessPoolExecutor(
        _PROCESSES, mp_context=multiprocessing.get_context("spawn")
    ) as processes:
        results = processes.map(
            _share,
            [folder] * _PROCESSES,
            [twice[start::_PROCESSES] for start in range(_PROCESSES)],
        )
        taken = [name for names in results for name in names if name]
    seconds = time.perf_counter() - start
    check = check_store(_board(folder))
    stored = {submission.id for submission in _board(folder).submissions()}
    sound = (
        len(taken) == len(set(taken)) == count
        and stored == set(taken)
        and not check.problems
        and not check.waiting
    )
    print(
        f"{count} packages, each submitted twice by {_PROCESSES} processes of {_THREADS} threads: {len(taken)} taken, "
        f"{len(stored)} in the store, {len(twice) - len(taken)} refused as duplicates, {check.events} events, "
        f"{len(check.problems)} problems; {seconds:.1f} s"
    )
    return sound


def _killed(folder: Path, count: int) -> bool:
    moments = random.Random(1)
    lost = problems = waiting = accepted = 0
    for number in range(count):
        command = [sys.executable, "-c", _HANDS_IN, str(folder), f"writer {number}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            if writer.stdout is None:
                raise RuntimeError("no pipe")
            names = [writer.stdout.readline().strip()]
            time.sleep(moments.uniform(0.0, 0.3))
            writer.kill()
            names += writer.stdout.read().split()
        names = [name for name in names if len(name) == 16]
        check = check_store(_board(folder))
        stored = {submission.id for submission in _board(folder).submissions()}
        accepted, lost = accepted + len(names), lost + len(set(names) - stored)
        problems, waiting = problems + len(check.problems), waiting + len(check.waiting)
    check = check_store(_board(folder))
    print(
        f"{count} writers killed: {accepted} submissions reported as taken, {lost} of them lost, "
        f"{check.packages} packages, {check.events} events; {waiting} packages without an event, mended; {problems} problems"
    )
    return lost == 0 and problems == 0 and check.packages == check.events


def _read(folder: Path, count: int) -> bool:
    board = _board(folder)
    start = time.perf_counter()
    for number in range(count):
        board.decide(
            board.submit(package(f"model {number}")).id, "accepted", by="benchmark"
        )
    filled = time.perf_counter() - start
    fresh = _board(folder)
    start = time.perf_counter()
    entries = entries_of(fresh, published=False)
    first = time.perf_counter() - start
    start = time.perf_counter()
    entries_of(fresh, published=False)
    again = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count} accepted submissions: submitted and accepted in {filled:.1f} s, read anew in {first:.2f} s, again in "
        f"{again:.2f} s; {peak:.0f} MiB at most"
    )
    return len(entries) == count


def main() -> int:
    """Runs all parts; 1 if any result is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--entries", type=int, default=2000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [
            _at_once(Path(folder, "once"), arguments.submissions),
            _killed(Path(folder, "killed"), arguments.kills),
            _read(Path(folder, "large"), arguments.entries),
        ]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
