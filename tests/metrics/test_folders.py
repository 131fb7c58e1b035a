"""What every metric's folder holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import medical_tasks
import medical_tasks.plugins as plugins
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.catalog import task_spec
from medical_tasks.cli import main
from medical_tasks.errors import UsageError
from tests.support import ROOT

FOLDERS = sorted(path.parent for path in (ROOT / "metrics").glob("*/README.md"))


def test_a_benchmark_needs_no_code_for_its_metric() -> None:
    from medical_tasks.harness.evaluate_metric import benchmark_metric

    assert FOLDERS
    rows = list(MEDCALC.benchmark.source(MEDCALC.dataset).read("demo", "test", {}))[:3]
    golds = [str(row["ground_truth_answer"]) for row in rows]
    metric = benchmark_metric(MEDCALC)()
    result = metric.compute(predictions=[golds[0], golds[1], "none"], references=rows)
    assert (result["accuracy"], result["n"]) == (2 / 3, 3)
    assert metric.info.description.startswith(MEDCALC.title)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_card_is_a_hub_card_and_the_metric_is_found_by_its_name(
    folder: Path, load_metric: Callable[[Path], Any]
) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    header = yaml.safe_load(card.split("---")[1])
    assert (header["sdk"], header["tags"]) == ("gradio", ["evaluate", "metric"])
    assert (folder / header["app_file"]).is_file()
    # `evaluate` reads a metric's dependencies line by line and stumbles over `import a,
    # b`.
    lines = (folder / f"{folder.name}.py").read_text(encoding="utf-8").splitlines()
    imports = [line.split("#")[0] for line in lines if line.startswith("import ")]
    assert imports
    assert not [line for line in imports if "," in line]
    assert load_metric(folder).info.citation.strip() in card
    assert Path(medical_tasks.metric_path(folder.name)) == folder


def test_a_yaml_file_and_a_plugin_have_a_metric(
    here: Path, load_metric: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["new-benchmark", "aid_metric"]) == 0
    metric = load_metric(Path(medical_tasks.metric_path("aid_metric.yaml")))
    with plugins.using(["aid_metric.yaml"]):
        (source,) = task_spec("aid_metric").benchmark.sources()
        rows = list(source.read("own", "test", {}))
    result = metric.compute(
        predictions=["Answer: A", "Answer: B", "Answer: A"], references=rows
    )
    assert (result["accuracy"], result["n"]) == (2 / 3, 3)
    both = [str(ROOT / "examples" / name) for name in ("medical_mcq", "medical_rubric")]
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join(both))
    with pytest.raises(UsageError, match="medical_rubric: a judge decides its answers"):
        medical_tasks.metric_path("medical_rubric")
    plugin = load_metric(Path(medical_tasks.metric_path("medical_mcq")))
    assert plugin.name == "medical_mcq"
    with pytest.raises(UsageError, match="unknown metric 'nothing'"):
        medical_tasks.metric_path("nothing")
