"""The same answers judged several times: the judge's calls and their cost, and the reported agreement."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from statistics import fmean, stdev

import pytest

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.runs.results import read_items
from tests.conftest import Serving
from tests.fault_server import Call, FaultServer
from tests.run_files import task_entry

pytestmark = pytest.mark.usefixtures("demo_home")

N = 3
FLIPS = 0.2
STATEMENTS = 80  # of the 13 questions of the demo
SEED = 100


def share(text: str) -> float:
    """A number from 0 to 1 that depends on the text alone."""
    return int(sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def says_entailed(prompt: str, seed: int) -> bool:
    """Whether a vote finds a statement entailed: two in three statements are, and some votes are flipped."""
    flipped = share(f"{prompt} {seed}") < FLIPS
    return (share(prompt) < 2 / 3) != flipped


def answer(call: Call) -> str:
    verdict = "entailed" if says_entailed(call.prompt, call.body["seed"]) else "neither"
    return json.dumps({"reason": "so", "verdict": verdict})


def request_counts(server: FaultServer) -> Counter[tuple[str, int]]:
    """How often each question was asked with each seed; every vote has a seed of its own."""
    return Counter((call.prompt, call.body["seed"]) for call in server.calls)


SCORE = (
    "score kqa --config demo --responses answers.csv --judge openai-api/test-host/j"
).split()
SAMPLING = ["--judge-args", f"temperature=1,seed={SEED}"]
SEVERAL = [*SCORE, *SAMPLING, "--evaluations", str(N)]


@pytest.fixture
def server(serving: Serving, demos: Path) -> Iterator[FaultServer]:
    rows = mt.load("kqa", config="demo", data=demos / "kqa")["test"]
    with Path("answers.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["question", "answer"])
        table.writerows([row["question"], "It depends on the dose."] for row in rows)
    with serving() as opened:
        yield opened


def test_each_evaluation_is_paid_once_and_their_agreement_is_that_of_the_replies(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    # Judging that stopped midway resumes.
    assert main([*SEVERAL, "--max-judge-calls", "100", "--out", "r"]) == 5
    figure = task_entry("r", "kqa")["metrics"]["comprehensiveness"]
    assert figure["bound_low"] < figure["value"] < figure["bound_high"]
    assert len(server.calls) == 100
    capsys.readouterr()
    assert main([*SEVERAL, "--out", "r"]) == 0
    assert set(request_counts(server).values()) == {1}
    by_seed = Counter(seed for _, seed in request_counts(server))
    assert by_seed == dict.fromkeys(range(SEED, SEED + N), STATEMENTS)
    evaluations = task_entry("r", "kqa")["evaluations"]
    assert task_entry("r", "kqa")["recipe"]["evaluations"] == evaluations["n"] == N
    judge_entry = task_entry("r", "kqa")["judge"]
    assert judge_entry["from_store"] == 100
    assert judge_entry["calls"] == N * STATEMENTS - 100

    # The judge's verdicts on each statement, in all evaluations.
    prompts = {prompt for prompt, _ in request_counts(server)}
    votes = [
        [says_entailed(prompt, SEED + number) for number in range(N)]
        for prompt in prompts
    ]
    verdicts = evaluations["verdicts"]
    assert verdicts["questions"] == STATEMENTS
    unanimous = fmean(len(set(item_votes)) == 1 for item_votes in votes)
    assert verdicts["exact_agreement"]["value"] == pytest.approx(unanimous)
    # Krippendorff's alpha by its definition, pair by pair.
    disagreement = fmean(
        item_votes[i] != item_votes[j]
        for item_votes in votes
        for i in range(N)
        for j in range(N)
        if i != j
    )
    entailed, total = sum(map(sum, votes)), sum(map(len, votes))
    chance = 2 * entailed * (total - entailed) / (total * (total - 1))
    assert verdicts["alpha"]["value"] == pytest.approx(1 - disagreement / chance)

    metric = evaluations["metrics"]["comprehensiveness"]
    figure = task_entry("r", "kqa")["metrics"]["comprehensiveness"]
    assert metric["mean"] == figure["value"] == pytest.approx(fmean(metric["values"]))
    assert metric["sd"] == pytest.approx(stdev(metric["values"]))
    rows = read_items(Path("r"))
    spreads = [row["comprehensiveness_evaluation_sd"] for row in rows]
    assert metric["within_item_sd"] == pytest.approx(fmean(spreads))
    assert "| verdicts |" in Path("r/report.md").read_text()
    assert f"The same answers judged {N} times." in capsys.readouterr().out
    mt.report("r", out="r.html")
    mt.report("r", out="r.md")
    for page in ("r.html", "r.md"):
        assert "Evaluations by the judge" in Path(page).read_text()


def test_the_first_evaluation_equals_a_single_scoring(server: FaultServer) -> None:
    """A run that was judged once pays only for the other evaluations."""
    assert main([*SCORE, *SAMPLING, "--out", "r"]) == 0
    once = task_entry("r", "kqa")["metrics"]["comprehensiveness"]["value"]
    assert "evaluations" not in task_entry("r", "kqa")["recipe"]
    assert main([*SEVERAL, "--out", "r"]) == 0
    assert len(server.calls) == N * STATEMENTS
    values = task_entry("r", "kqa")["evaluations"]["metrics"]["comprehensiveness"][
        "values"
    ]
    assert values[0] == once
    # A file of verdicts has those of the first evaluation.
    recorded = [*SCORE[:-1], "recorded/r/verdicts.jsonl", "--out", "again"]
    assert main(recorded) == 0
    assert task_entry("again", "kqa")["metrics"]["comprehensiveness"]["value"] == once
    # After a single scoring nothing of the evaluations is left.
    assert main([*SCORE, *SAMPLING, "--out", "r"]) == 0
    assert (
        "evaluations" not in task_entry("r", "kqa") | task_entry("r", "kqa")["recipe"]
    )


def test_each_evaluation_takes_its_own_votes(server: FaultServer) -> None:
    words = [*SCORE, *SAMPLING, "--evaluations", "2", "--votes", "3", "--out", "r"]
    assert main(words) == 0
    assert set(request_counts(server).values()) == {1}
    for prompt in {prompt for prompt, _ in request_counts(server)}:
        seeds = sorted(
            seed - SEED for other, seed in request_counts(server) if other == prompt
        )
        # Two votes that agree decide, else a third is taken.
        assert seeds in (
            [0, 1, 3, 4],
            [0, 1, 2, 3, 4],
            [0, 1, 3, 4, 5],
            [0, 1, 2, 3, 4, 5],
        )
    assert task_entry("r", "kqa")["judge"]["votes_saved"] == 6 * STATEMENTS - len(
        server.calls
    )
    # Two evaluations are enough for an interval: an evaluation has no error of its own.
    figure = task_entry("r", "kqa")["metrics"]["comprehensiveness"]
    assert figure["ci_high"] - figure["ci_low"] < 0.6


def test_a_forecast_covers_all_evaluations(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SEVERAL, "--forecast", "--out", "r"]) == 0
    assert f"{N * STATEMENTS} to {3 * N * STATEMENTS} calls" in capsys.readouterr().err
    assert not server.calls


def test_comparisons_take_the_means_of_evaluations(server: FaultServer) -> None:
    assert main([*SEVERAL, "--out", "a"]) == 0
    assert main([*SCORE, *SAMPLING, "--out", "b"]) == 0
    compared = mt.compare("a", "b")["kqa"]
    assert any("evaluations differs" in text for text in compared["warnings"])
    value = task_entry("a", "kqa")["metrics"]["comprehensiveness"]["value"]
    difference = compared["metrics"]["comprehensiveness"]
    assert difference["value_a"] == pytest.approx(value)


J = "openai-api/test-host/j"
REFUSED = [
    (
        "--judge lexical --evaluations 3",
        "lexical gives the same reply each time, so that its",
    ),
    ("--judge recorded/v.jsonl --evaluations 3", "its evaluations cannot differ"),
    (f"--judge {J} --judge-args temperature=0 --evaluations 3", "cannot differ"),
    (f"--judge {J} --evaluations 0", "--evaluations"),
    (
        f"--judge {J} --evaluations 3 --calibration check",
        "--calibration and --evaluations",
    ),
    (f"--judge {J} --evaluations 3 --subset 5", "--subset and --evaluations"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_evaluations_that_cannot_differ_are_refused_before_any_call(
    words: str,
    message: str,
    server: FaultServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("v.jsonl").write_text("")
    assert main([*SCORE[:-2], *words.split(), "--out", "r"]) == 2
    assert message in capsys.readouterr().err
    assert not server.calls


def test_repeats_are_not_evaluated_several_times(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model = f"run --tasks kqa --config demo --max-samples 2 --model {J}".split()
    words = ["--judge", J, *SAMPLING, "--repeats", "2"]
    assert main([*model, *words, "--evaluations", "2", "--out", "r"]) == 2
    assert "--repeats and --evaluations" in capsys.readouterr().err
    assert (
        main([*model, *words, "--model-args", "temperature=1,seed=1", "--out", "r"])
        == 0
    )
    score = ["score", "kqa", "--config", "demo", "--responses", "r", "--judge", J]
    assert main([*score, "--evaluations", "2", "--out", "s"]) == 2
    assert "--repeats and --evaluations" in capsys.readouterr().err
