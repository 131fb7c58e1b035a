"""Several evaluations by a judge that samples: agreement compared with theory, and the requests that the judge receives.

    OMP_NUM_THREADS=1 python measurements/evaluations.py [simulations per row]
    OMP_NUM_THREADS=1 python measurements/evaluations.py many [simulations per row]

`many` computes coverage of ICC and alpha alone, without items and scores, of the first
500 simulations and of all. Without it two parts:

1. Simulated verdicts, scored and summarised by the code of `--evaluations`. Each of
   `items` answers has 3 to 13 statements; an answer entails a statement with a chance
   of its own (beta, of mean 2/3), and each evaluation returns the opposite with chance
   `flip`, by itself. Then, with p the share of statements that a judge finds entailed:

   - alpha of verdicts is 1 - flip (1 - flip) / (p (1 - p)),
   - all N evaluations agree on a share (1 - flip)^N + flip^N of the verdicts,
   - ICC(2,1) of the answers' shares is between / (between + within), of
     within = flip (1 - flip) E[1 / statements] and between = (1 - 2 flip)^2 Var(true share).

   Printed are means of the estimates beside these numbers, how often their 95 %
   intervals hold them, and how often that of the score holds its own expectation.

2. A real judge behind HTTP that flips so: `medical-tasks score` is killed on the way
   (SIGKILL) and given again. Printed are the requests that the server received, how
   many of them twice (those in flight at the kill at most), and agreement computed from
   the server's own log beside `results.json`.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations, product
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.runs.evaluations import reliability
from medical_tasks.runs.repeating import RepeatedEstimator, over_repeats
from medical_tasks.runs.summary import ScoredTask
from medical_tasks.scoring.reliability import interval_alpha, intraclass_interval
from medical_tasks.spec import Item, ItemScore

METRIC = next(metric for metric in KQA.metrics if metric.name == "comprehensiveness")
TASK = replace(KQA, metrics=(METRIC,), groups=())
BETA = (2.4, 1.2)
STATEMENTS = (3, 14)
FLIPS = (0.0, 0.05, 0.2)
CONCURRENCY = 4
FEW = 500
"""The first simulations, whose share is reported beside that of all."""

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


def main(simulations: int) -> None:
    """Prints both parts."""
    print(
        "items  N flip | ICC, theory, held | alpha, theory, held | identical, theory, held | score's interval held"
    )
    generator = np.random.default_rng(20260129)
    for items in (50, 150):
        for evaluations in (5, 25):
            for flip in FLIPS:
                row = simulated(generator, simulations, items, evaluations, flip)
                figures = " | ".join(
                    f"{value:.3f} {theory:.3f} {held:.3f}"
                    for value, theory, held in row[:3]
                )
                print(
                    f"{items:5} {evaluations:2} {flip:.2f} | {figures} | {row[3][2]:.3f}",
                    flush=True,
                )
    print(
        "\nflip | received  of  twice | alpha by its log, in results | identical | score, in results"
    )
    for flip in FLIPS:
        print(served(flip), flush=True)


def many(simulations: int) -> None:
    """Prints how often the intervals of ICC and alpha hold them."""
    print("items  N flip | ICC held, of 500 / of all | alpha held")
    for items, evaluations, flip in product((20, 50, 150), (5, 25), FLIPS[1:]):
        shares = held_by(items, evaluations, flip, simulations)
        print(f"{items:5} {evaluations:2} {flip:.2f} | {shares}", flush=True)


def held_by(items: int, evaluations: int, flip: float, simulations: int) -> str:
    """The shares of intervals of ICC and alpha that hold them, of some simulations and of all."""
    generator = np.random.default_rng(items + evaluations)
    truth = theory(flip, evaluations)[:2]
    held = np.empty((simulations, 2))
    for number in range(simulations):
        counts, verdicts = drawn_verdicts(generator, items, evaluations, flip)
        starts = np.cumsum(counts) - counts
        shares = np.add.reduceat(verdicts.astype(float), starts) / counts[:, np.newaxis]
        answers = np.repeat(np.arange(items), counts).tolist()
        # Of two classes, counted as 0 and 1, it is alpha of nominal ratings.
        alpha = interval_alpha(verdicts.astype(float), clusters=answers)
        pairs = zip((intraclass_interval(shares), alpha), truth, strict=True)
        held[number] = [
            interval.ci_low <= true <= interval.ci_high for interval, true in pairs
        ]
    few, every = 100 * held[:FEW].mean(axis=0), 100 * held.mean(axis=0)
    return " | ".join(f"{a:.1f} / {b:.1f}" for a, b in zip(few, every, strict=True))


def drawn_verdicts(
    generator: np.random.Generator, items: int, evaluations: int, flip: float
) -> tuple[Integers, Booleans]:
    """Draws how many statements each answer has, and the verdict of each evaluation on each."""
    counts = generator.integers(*STATEMENTS, size=items)
    chances = np.repeat(generator.beta(*BETA, size=items), counts)
    truth = generator.random(len(chances)) < chances
    flipped = generator.random((len(truth), evaluations)) < flip
    return counts, truth[:, np.newaxis] ^ flipped


def theory(flip: float, evaluations: int) -> tuple[float, float, float, float]:
    """ICC, alpha, share of identical verdicts, and the score."""
    a, b = BETA
    mean = a / (a + b)
    spread = a * b / ((a + b) ** 2 * (a + b + 1))
    inverse = fmean(1.0 / count for count in range(*STATEMENTS))
    noise = flip * (1.0 - flip)
    within = noise * inverse
    between = (1.0 - 2.0 * flip) ** 2 * (
        spread + (mean * (1.0 - mean) - spread) * inverse
    )
    entailed = mean * (1.0 - flip) + (1.0 - mean) * flip
    return (
        between / (between + within),
        1.0 - noise / (entailed * (1.0 - entailed)),
        (1.0 - flip) ** evaluations + flip**evaluations,
        entailed,
    )


def simulated(
    generator: np.random.Generator,
    simulations: int,
    items: int,
    evaluations: int,
    flip: float,
) -> list[tuple[float, float, float]]:
    """Simulates ICC, alpha, identical verdicts and score; returns mean, theory and coverage of each."""
    expected = theory(flip, evaluations)
    values, held = np.empty((simulations, 4)), np.empty((simulations, 4))
    for number in range(simulations):
        simulation = one_simulation(generator, items, evaluations, flip)
        for column, (estimate, truth) in enumerate(
            zip(simulation, expected, strict=True)
        ):
            value, low, high = estimate
            values[number, column] = value
            held[number, column] = low - 1e-9 <= truth <= high + 1e-9
    means, shares = values.mean(axis=0), held.mean(axis=0)
    return list(zip(means.tolist(), expected, shares.tolist(), strict=True))


def one_simulation(
    generator: np.random.Generator, items: int, evaluations: int, flip: float
) -> list[tuple[float, float, float]]:
    """Value and interval of ICC, alpha, identical verdicts and score in one set of verdicts."""
    counts, verdicts = drawn_verdicts(generator, items, evaluations, flip)
    names = [f"i{number}" for number in range(items)]
    entries = [Item(id=name, fields={}, groups={}, cluster=name) for name in names]
    scored = ScoredTask(
        task=TASK,
        items=entries,
        repeats=[scores_of(names, counts, verdicts[:, n]) for n in range(evaluations)],
        unanswered=[{}] * evaluations,
        source="evaluations",
    )
    together = over_repeats(TASK, scored.repeats, scored.unanswered)
    estimator = RepeatedEstimator(
        TASK, together, scored.repeats, [], "evaluations", items=items
    )
    figure = estimator.entry(METRIC, entries)
    entry = reliability(scored, {METRIC.name: figure}, rows_of(names, counts, verdicts))
    metric, agreement = entry["metrics"][METRIC.name], entry["verdicts"]
    estimates = (
        metric["icc"],
        agreement["alpha"],
        agreement["exact_agreement"],
        figure,
    )
    return [
        (estimate["value"], estimate["ci_low"], estimate["ci_high"])
        for estimate in estimates
    ]


def scores_of(
    names: Sequence[str], counts: Integers, verdicts: Booleans
) -> dict[str, ItemScore]:
    """The scores of one evaluation: each answer's share of statements found entailed."""
    ends = np.cumsum(counts)
    shares = np.add.reduceat(verdicts.astype(float), ends - counts) / counts
    return {
        name: ItemScore(id=name, values={METRIC.name: float(share)})
        for name, share in zip(names, shares, strict=True)
    }


def rows_of(
    names: Sequence[str], counts: Integers, verdicts: Booleans
) -> list[dict[str, object]]:
    """The verdicts as a judge's session has them."""
    questions = [
        f"{name}/must/{index}"
        for name, count in zip(names, counts.tolist(), strict=True)
        for index in range(count)
    ]
    return [
        {"id": question, "sha256": "", "value": bool(value), "evaluation": number}
        for number, column in enumerate(verdicts.T, start=1)
        for question, value in zip(questions, column, strict=True)
    ]


def share(text: str) -> float:
    """Maps a text to a number from 0 to 1."""
    return int(sha256(text.encode()).hexdigest()[:8], 16) / 2**32


@contextmanager
def judge_server(flip: float) -> Iterator[tuple[str, list[tuple[str, int, bool]]]]:
    """Starts a judge; its log has each prompt with the vote's seed and the verdict."""
    log: list[tuple[str, int, bool]] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt, seed = body["messages"][-1]["content"], body["seed"]
            entailed = share(prompt) < 2 / 3
            decision = entailed != (share(f"{prompt} {seed}") < flip)
            with lock:
                log.append((prompt, seed, decision))
            verdict = "entailed" if decision else "neither"
            text = json.dumps({"reason": "so", "verdict": verdict})
            choice = {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
            reply = json.dumps({"model": "j", "choices": [choice]}).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)
            except OSError:
                pass  # the client was killed

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Ignores connections that end with a killed process."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", log
    finally:
        server.shutdown()
        server.server_close()


def served(flip: float, evaluations: int = 5) -> str:
    """Writes one row of the second part."""
    with tempfile.TemporaryDirectory() as scratch, judge_server(flip) as (url, log):
        folder = Path(scratch)
        settings = {
            **os.environ,
            "MEDICAL_TASKS_DATA": str(folder / "data"),
            "MEDICAL_TASKS_HOME": str(folder / "home"),
            "HERE_BASE_URL": url,
            "HERE_API_KEY": "k",
        }
        program = [sys.executable, "-m", "medical_tasks"]

        def run(*words: str) -> None:
            subprocess.run(
                [*program, *words], env=settings, check=True, capture_output=True
            )

        run("build", "kqa", "--config", "demo")
        write_answers(folder)
        words = ["score", "kqa", "--config", "demo", "--judge", "openai-api/here/j"]
        words += ["--responses", str(folder / "given.csv"), "--out", str(folder / "r")]
        words += ["--judge-args", f"temperature=1,seed=0,concurrency={CONCURRENCY}"]
        words += ["--evaluations", str(evaluations)]
        killed = subprocess.Popen(
            [*program, *words],
            env=settings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while len(log) < 150 and killed.poll() is None:
            time.sleep(0.001)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        run(*words)
        entry = json.loads((folder / "r/results.json").read_text())["tasks"]["kqa"]
    times = Counter((prompt, seed) for prompt, seed, _ in log)
    verdict_of = {(prompt, seed): verdict for prompt, seed, verdict in log}
    prompts = dict.fromkeys(prompt for prompt, _, _ in log)
    units = [
        [verdict_of[prompt, seed] for seed in range(evaluations)] for prompt in prompts
    ]
    apart = fmean(a != b for unit in units for a, b in combinations(unit, 2))
    every = [verdict for unit in units for verdict in unit]
    yes, of = sum(every), len(every)
    alpha = 1.0 - apart / (2.0 * yes * (of - yes) / (of * (of - 1)))
    alike = fmean(len(set(unit)) == 1 for unit in units)
    verdicts = entry["evaluations"]["verdicts"]
    figure = entry["metrics"]["comprehensiveness"]
    means = entry["evaluations"]["metrics"]["comprehensiveness"]["values"]
    twice = sum(count - 1 for count in times.values())
    return (
        f"{flip:.2f} | {len(log):8} {len(units) * evaluations:4} {twice:4} | {alpha:.4f} "
        f"{verdicts['alpha']['value']:.4f} | {alike:.4f} {verdicts['exact_agreement']['value']:.4f}"
        f" | {fmean(means):.4f} {figure['value']:.4f}"
    )


def write_answers(folder: Path) -> None:
    """Writes one answer to every question of the demo."""
    import medical_tasks as mt

    rows = mt.load("kqa", config="demo", data=folder / "data/kqa")["test"]
    with (folder / "given.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["question", "answer"])
        table.writerows([row["question"], "It depends on the dose."] for row in rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["many"]:
        many(int(sys.argv[2]) if len(sys.argv) > 2 else 4000)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
