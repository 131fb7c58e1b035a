"""Speed of judging over HTTP, against a local server that takes 200 ms a reply.

    python measurements/judge_throughput.py [--questions 1589] [--concurrency 32] [--latency 0.2] [--full]

1,589 is the number of statements of K-QA's answered questions (892 of them must-haves).
The server runs in a process of its own. A sequential client stands beside, measured on
50 questions and extrapolated; `--full` measures all of them, which takes over five
minutes. Then the same questions again, from the store alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions, Question, Unreadable, Verdict
from medical_tasks.judges.session import JudgeSession, open_judge
from tests.fault_server import FaultServer

ROOT = Path(__file__).resolve().parents[1]
FILLER = "The patient asks what to do about it and gets an answer of some length. " * 12


def read(text: str) -> Any | Unreadable:
    value = json.loads(text)
    return value["verdict"]


def make_questions(count: int) -> list[Question]:
    """Prompts about as long as those of a judged statement."""
    return [
        Question(
            id=str(number),
            messages=(
                {
                    "role": "user",
                    "content": f"{FILLER}\nDoes statement {number} follow? Answer in JSON.",
                },
            ),
            template="t",
            read=read,
            again="{problem}",
            max_tokens=64,
        )
        for number in range(count)
    ]


def serve(latency: float) -> None:
    """Serves until standard input ends, then prints how many requests came, and the most at once."""
    with FaultServer(
        answer=lambda call: '{"verdict": "entailment"}', latency=latency
    ) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
    print(len(server.calls), server.most_at_once, flush=True)


@contextmanager
def judge_server(latency: float) -> Iterator[tuple[str, list[int]]]:
    """Starts a server in its own process; yields its base URL, and after the block its requests and the most at once."""
    command = [sys.executable, __file__, "--serve", "--latency", str(latency)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the server has no pipes")
        counts: list[int] = []
        yield process.stdout.readline().strip(), counts
        process.stdin.close()
        counts += [int(word) for word in process.stdout.readline().split()]


def judge(url: str, store: Path, questions: list[Question], concurrency: int) -> float:
    """Returns the seconds from opening the store to the last verdict."""
    options = {"base_url": url, "concurrency": str(concurrency)}
    backend = open_judge("openai-api/local/m", options, log_dir=store.parent)
    began = time.perf_counter()
    with Store(store) as opened:
        outcomes = JudgeSession(backend, JudgeOptions(), opened, quiet=True).ask(
            questions
        )
    backend.close()
    took = time.perf_counter() - began
    if sum(isinstance(outcome, Verdict) for outcome in outcomes) != len(questions):
        raise RuntimeError("not every question has a verdict")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=1589)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument(
        "--full", action="store_true", help="measure the sequential client whole"
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.latency)
        return
    questions = make_questions(options.questions)
    with tempfile.TemporaryDirectory() as folder:
        with judge_server(0.0) as (url, _):
            # the client library's import is not what is measured
            judge(url, Path(folder, "warm"), questions[:1], 1)

        few = questions if options.full else questions[:50]
        with judge_server(options.latency) as (url, counts):
            took = judge(url, Path(folder, "sequential"), few, 1)
        alone = took / len(few) * len(questions)
        how = (
            "measured"
            if options.full
            else f"extrapolated from {len(few)} in {took:.2f} s"
        )
        print(
            f"sequential: {alone:.1f} s for {len(questions)} ({how}); requests at once: {counts[1]}",
            flush=True,
        )

        with judge_server(options.latency) as (url, counts):
            store = Path(folder, "store")
            took = judge(url, store, questions, options.concurrency)
            again = judge(url, store, questions, options.concurrency)
        bound = len(questions) * options.latency / options.concurrency
        print(
            f"concurrency {options.concurrency}: {took:.2f} s for {len(questions)} (bound {bound:.2f} s), "
            f"{alone / took:.1f} times faster; requests {counts[0]}, at once {counts[1]}"
        )
        print(
            f"again, from the store: {again:.2f} s, {counts[0] - len(questions)} requests"
        )
        print(f"store: {store.stat().st_size / 2**20:.1f} MiB")
    print(
        f"peak memory of the client: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()
