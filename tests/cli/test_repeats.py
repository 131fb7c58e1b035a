"""Questions that are asked several times: requests, stored answers, and statistics."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

import medical_tasks as mt
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.cli.entry import main
from medical_tasks.comparison.compared import read_compared
from medical_tasks.data.task_data import TaskData, load_task_data, prompt_set
from medical_tasks.io.store import Store
from medical_tasks.models.base import Answer, Failure, OnResult, Request
from medical_tasks.report.collect import report_data
from medical_tasks.report.page_data import decision
from medical_tasks.runs.finishing import finish
from medical_tasks.runs.folder import open_run_folder
from medical_tasks.runs.results import TaskEntry, read_items
from medical_tasks.runs.runner import RunOptions, run_model
from medical_tasks.scoring.bootstrap import repeats
from tests.cli.wrong_use import refuse, wrong_use
from tests.comparison.comparison_cases import compare_results
from tests.fault_server import Call, FaultServer
from tests.run_files import task_entry
from tests.support import GeneratesOnly, counts, user_message

pytestmark = pytest.mark.usefixtures("demo_home")


def answer(call: Call) -> str:
    """A different answer for each seed; a judge whose votes differ."""
    digest = sha256(f"{call.prompt} {call.body['seed']}".encode()).hexdigest()
    if call.body["model"] == "m":
        return f"answer {digest}"
    return json.dumps(
        {
            "reason": "so",
            "verdict": ("entailed", "contradicted", "neither")[int(digest, 16) % 3],
        }
    )


RUN = "run --tasks kqa --config demo --max-samples 4 --model openai-api/test-host/m --model-args temperature=1,seed=7".split()


def test_a_judged_run_of_three_repeats(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = "--judge openai-api/test-host/j --judge-args temperature=1,seed=1 --votes 3".split()
    assert main([*RUN, "--repeats", "3", *judge, "--out", "r"]) == 0
    assert Counter(
        call.body["seed"] for call in server.calls if call.body["model"] == "m"
    ) == {
        7: 4,
        8: 4,
        9: 4,
    }
    assert "comprehensiveness: 3 repeats " in capsys.readouterr().out
    entry = task_entry("r", "kqa")
    for metric in (
        entry["metrics"][name] for name in ("comprehensiveness", "hallucination_rate")
    ):
        repeats = metric["repeats"]
        assert metric["value"] == pytest.approx(fmean(repeats["values"]))
        assert len(set(repeats["values"])) == 3
        assert metric["ci_low"] < metric["value"] < metric["ci_high"]
        assert repeats["sd_judge"] > 0
    rows = [
        json.loads(line) for line in Path("r/verdicts.jsonl").read_text().splitlines()
    ]
    assert len({*Counter(row.get("repeat", 1) for row in rows).values()}) == 1
    # Scored again by the recorded verdicts, all repeats count; without votes the judge's
    # deviation is not reported.
    score = "score kqa --responses r --config demo --out again".split()
    assert main([*score, "--judge", "recorded/r/verdicts.jsonl"]) == 0
    for name, metric in task_entry("again", "kqa")["metrics"].items():
        assert (
            metric["repeats"]["values"] == entry["metrics"][name]["repeats"]["values"]
        )
        assert "sd_judge" not in metric["repeats"]
    # A report names the repeat whose text it shows; an export has no text.
    (task,) = report_data([Path("r")]).tasks
    assert "the first of 3 repeats" in task.texts
    export = mt.export("r", to="lm-eval-json", out="e")
    assert "kqa: the answers, of which a score is the mean" in export.left_open
    assert [
        json.loads(line)["resps"] for line in export.files[1].read_text().splitlines()
    ] == [[[]]] * 4


class Model(GeneratesOnly):
    """Answers with the gold, except every second item of the second repeat; the first item of the third fails."""

    name = "openai-api/scripted/model"
    identity: Mapping[str, str] = {"backend": "scripted"}

    def __init__(
        self, data: TaskData, *, dies_after: int = -1, right: bool = False
    ) -> None:
        prompts = prompt_set(MEDCALC, "own", None, arguments={})
        self.numbers = {
            user_message(prompts, item): number
            for number, item in enumerate(data.items)
        }
        self.golds = [
            MEDCALC.benchmark.gold_response(MEDCALC, item) for item in data.items
        ]
        self.keys: list[str] = []
        self.dies_after, self.right = dies_after, right

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            if len(self.keys) == self.dies_after:
                raise KeyboardInterrupt
            self.keys.append(request.key)
            number = self.numbers[request.messages[-1]["content"]]
            if request.repeat == 3 and number == 0 and not self.right:
                on_result(Failure(key=request.key, reason="http 500", detail="down"))
            else:
                wrong = request.repeat == 2 and number % 2 and not self.right
                on_result(
                    Answer(
                        key=request.key, text="no idea" if wrong else self.golds[number]
                    )
                )


@pytest.fixture
def data(demos: Path) -> TaskData:
    whole = load_task_data(MEDCALC, DATASET, data=demos, config="demo")
    return replace(whole, items=whole.items[:20])


def run(
    model: Model, data: TaskData, k: int, name: str = "run"
) -> tuple[TaskEntry, Path]:
    folder = open_run_folder(Path(name), {"test": 1})
    answered = run_model(
        [MEDCALC], {"medcalc": data}, model, folder, RunOptions(repeats=k)
    )
    assert answered is not None
    return finish(
        [replace(task_answers, usage=None) for task_answers in answered], folder
    )["tasks"]["medcalc"], folder.path


def test_a_run_killed_in_the_second_repeat_asks_nothing_twice(data: TaskData) -> None:
    _, folder = run(first := Model(data), data, 1)
    files = [(folder / name).read_bytes() for name in ("results.json", "items.parquet")]
    with pytest.raises(KeyboardInterrupt):
        run(second := Model(data, dies_after=7), data, 3)
    run(third := Model(data), data, 3)
    # The run without repeats has the first answers.
    assert [len({*model.keys}) for model in (first, second, third)] == [20, 7, 33]
    assert len({*first.keys, *second.keys, *third.keys}) == 60
    run(again := Model(data), data, 3)
    assert len(again.keys) == 1  # the one without an answer
    with Store(folder / "answers.sqlite") as store:
        assert counts(store, "answer") == (59, 59)
    run(Model(data), data, 1)
    assert files == [
        (folder / name).read_bytes() for name in ("results.json", "items.parquet")
    ]


def test_an_item_without_an_answer_in_one_repeat(data: TaskData) -> None:
    entry, folder = run(Model(data), data, 3)
    metric = entry["metrics"]["accuracy"]
    statistics = metric["repeats"]
    assert statistics["values"] == [1.0, 0.5, 1.0]
    assert (
        metric["value"],
        metric["bound_low"],
        metric["bound_high"],
    ) == pytest.approx((5 / 6, 2.45 / 3, 5 / 6))
    assert (statistics["stability"], statistics["sd_run"]) == pytest.approx(
        (9 / 19, math.sqrt(10 / 19 / 3))
    )  # of whole items
    assert entry["coverage"] == {
        "asked": 20,
        "answered": 20,
        "scored": 19,
        "unscored": {"no answer: http 500": 1},
        "unclear": {},
    }
    assert (metric["n"], metric["scored"]) == (20, 19)
    # whole repeats differ
    assert (metric["ci_low"], metric["ci_high"]) == (pytest.approx(0.1, abs=0.1), 1.0)
    rows = read_items(folder)
    assert [rows[0][f"accuracy_repeat_{k}"] for k in (1, 2, 3)] == [1.0, 1.0, None]
    assert [row["accuracy"] for row in rows[:2]] == pytest.approx([1.0, 2 / 3])
    (task,) = report_data([folder]).tasks
    assert [decision(item, task.metrics[0]) for item in task.items[:2]] == [
        "right",
        "partly",
    ]
    _, other = run(Model(data), data, 1, "other")
    both = compare_results(
        read_compared(folder), read_compared(other), {"medcalc": MEDCALC}
    )["medcalc"]
    assert both["metrics"]["accuracy"]["difference"] == pytest.approx(
        1 - (10 + 10 * 2 / 3) / 20
    )
    assert any("repeats differs" in warning for warning in both["warnings"])


@pytest.mark.parametrize(
    ("items", "lowest", "sd_items"), [(1, 0.0, None), (20, 0.8, 0.0)]
)
def test_answers_that_are_all_alike(
    data: TaskData, items: int, lowest: float, sd_items: float | None
) -> None:
    few = replace(data, items=data.items[:items])
    metric = run(Model(data, right=True), few, 3)[0]["metrics"]["accuracy"]
    assert (metric["value"], metric["ci_low"], metric["ci_high"]) == pytest.approx(
        (1.0, lowest, 1.0), abs=0.05
    )
    assert metric["repeats"] == {
        "k": 3,
        "values": [1.0] * 3,
        "sd_items": sd_items,
        "sd_run": 0.0,
        "stability": 1.0,
    }


def test_the_parts_of_the_variance() -> None:
    # By hand: within items 1/2 over 3(2-1); the rest 1/3 over (3-1)(2-1); items' means
    # 1/2 over 3-1, less half of the rest.
    spread = repeats([[[1], [0]], [[1], [1]], [[0], [0]]])
    assert (spread.sd_items**2, spread.sd_run**2, spread.margin) == pytest.approx(
        (1 / 6, 1 / 6, 0.0)
    )
    # Where only repeats differ: the t interval of their mean.
    assert repeats([[[0.1], [0.2], [0.6]]] * 4).margin == pytest.approx(
        4.302653 * math.sqrt(0.07 / 3)
    )
    generator = np.random.default_rng(5)
    clusters = np.repeat(np.arange(800), 3)
    item = generator.normal(0, 0.3, 800)[clusters] + generator.normal(0, 0.2, 2400)
    answers = item[:, None] + generator.normal(0, 0.25, (2400, 4))
    votes = answers[:, :, None] + generator.normal(0, 0.1, (2400, 4, 2))
    split = repeats(votes, clusters=clusters.tolist())
    assert [split.sd_items**2, split.sd_run**2, split.sd_judge**2] == pytest.approx(
        [0.13, 0.0625, 0.01], rel=0.1
    )
    with pytest.raises(
        ValueError,
        match=r"of shape \(items, 2 or more repeats, votes\); got \(2, 1, 1\)",
    ):
        repeats([[[1]], [[0]]])


@wrong_use("repeats")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(line, code, message, capsys)
