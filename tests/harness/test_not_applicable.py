"""A metric without a value on some items has the same mean in every harness: those items are left out."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.prompts import gold_response
from medical_tasks.benchmarks.medcalc_bench.scoring import score_items
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.data.task_data import load_task_data
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item
from tests.support import ROOT
from tests.warm_process import WarmProcess

pytestmark = pytest.mark.slow

COUNTS = {
    "accuracy": 6,
    "right_number_wrong_unit": 5,  # of answers in a unit at all
    "accuracy_official": 6,
    "accuracy_recomputed": 4,
    "accuracy_agreed": 3,
}


@pytest.fixture(scope="module")
def items(demos: Path) -> list[Item]:
    first, second, third, *rest = load_task_data(
        MEDCALC, DATASET, data=demos, config="demo"
    ).items[:6]
    assert third.fields["output_type"] == "decimal"
    # No rule has an answer to the first two, and the label of the third is wrong.
    unruled = [
        replace(item, fields={**item.fields, "relevant_entities": "{}"})
        for item in (first, second)
    ]
    wrong = dict.fromkeys(("ground_truth_answer", "lower_limit", "upper_limit"), "1")
    return [*unruled, replace(third, fields={**third.fields, **wrong}), *rest]


@pytest.fixture(scope="module")
def replies(items: list[Item]) -> list[str]:
    """Right by the label, but for the last one."""
    return [
        *(gold_response(MEDCALC, item) for item in items[:-1]),
        '{"answer": "999999"}',
    ]


@pytest.fixture(scope="module")
def expected(items: list[Item], replies: list[str]) -> dict[str, float]:
    scores = {score.id: score for score in score_items(MEDCALC, items, replies)}
    reported = replace(
        MEDCALC, metrics=tuple(spec for spec in MEDCALC.metrics if not spec.needs)
    )
    metrics = summarise(reported, items, scores, {}, recipe={})["metrics"]
    assert {name: metric["n"] for name, metric in metrics.items()} == COUNTS
    assert [metric["value"] for metric in metrics.values()] == [
        5 / 6,
        0,
        5 / 6,
        2 / 4,
        2 / 3,
    ]
    return {name: metric["value"] for name, metric in metrics.items()}


def test_lighteval(
    items: list[Item], replies: list[str], expected: dict[str, float]
) -> None:
    pytest.importorskip("lighteval")
    from lighteval.metrics.utils.stderr import mean_stderr
    from lighteval.tasks.requests import Doc

    from medical_tasks.harness.judging import Weighted
    from medical_tasks.harness.lighteval_adapter import _pooled_mean, task_configs

    (grouping,) = task_configs((MEDCALC,))[0].metrics

    values: dict[str, list[float]] = {name: [] for name in expected}
    for item, reply in zip(items, replies, strict=True):
        doc = Doc(query="", choices=[""], gold_index=0, specific=dict(item.fields))
        for name, value in grouping.sample_level_fn.compute(
            doc, SimpleNamespace(final_text=[reply])
        ).items():
            values[name].append(value)
    means = {name: grouping.corpus_level_fn[name](values[name]) for name in expected}
    assert means == pytest.approx(expected)
    # lighteval's error of 1, 1, 0: sqrt((1/9 + 1/9 + 4/9) / 2) / sqrt(3).
    assert mean_stderr(values["accuracy_agreed"]) == pytest.approx(1 / 3)
    # Of the ratio 2 of 3, with residuals -1/6 x 2 and 1/3 x 1 over the mean weight 1.5:
    # sqrt(8) / 9 / sqrt(2).
    ratio = [Weighted(0.5, 2.0), Weighted(math.nan, 0.0), Weighted(1.0, 1.0)]
    assert (_pooled_mean(ratio), mean_stderr(ratio)) == pytest.approx((2 / 3, 2 / 9))
    assert math.isnan(grouping.corpus_level_fn["accuracy_agreed"]([math.nan]))
    assert math.isnan(grouping.corpus_level_fn["accuracy_agreed"]([]))


_INSPECT = """
import json, sys
from pathlib import Path
import inspect_ai
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from medical_tasks.harness import inspect_adapter
from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.prompts import load_prompts
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC

given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
outputs = [ModelOutput.from_content("mockllm/model", reply) for reply in given["replies"]]
for output in outputs:
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or it would count, by a download
items = load_items(MEDCALC, given["rows"])
inspect_adapter._items_and_judge = lambda *given: ({item.id: item for item in items}, None)
(log,) = inspect_ai.eval(
    inspect_adapter.inspect_task(
        MEDCALC, items, load_prompts(MEDCALC), {}, inspect_adapter.registered_scorer(MEDCALC)()
    ),
    model=get_model("mockllm/model", custom_outputs=outputs),
    max_connections=1, max_samples=1, display="none", log_dir=sys.argv[2],
)
assert log.status == "success", log.error
print(json.dumps({score.name: [score.metrics["mean"].value, score.scored_samples] for score in log.results.scores}))
"""


def test_inspect(
    items: list[Item],
    replies: list[str],
    expected: dict[str, float],
    tmp_path: Path,
    warm: WarmProcess,
) -> None:
    file, script = tmp_path / "given.json", tmp_path / "asking.py"
    file.write_text(
        json.dumps({"rows": [dict(item.fields) for item in items], "replies": replies}),
        encoding="utf-8",
    )
    script.write_text(_INSPECT, encoding="utf-8")
    # In a separate process: its unclosed streams are warnings, which are errors here.
    done = warm.run([script, file, tmp_path / "logs"], cwd=ROOT, environment=os.environ)
    assert done.returncode == 0, done.stderr[-3000:]
    means = json.loads(done.stdout.splitlines()[-1])
    assert {name: mean for name, (mean, _) in means.items()} == pytest.approx(expected)
    assert {name: n for name, (_, n) in means.items()} == COUNTS
