"""`eval.yaml` of the datasets: what the Hub's specification asks for, what inspect reads, and what the specs say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from inspect_ai._eval.task.hf import HFTask, _record_to_sample_hf

from medical_tasks.benchmarks.catalog import build_dataset, dataset_source, dataset_spec, datasets, task_spec, tasks
from medical_tasks.data.cards import FRAMEWORK, accepted_configs, eval_text, leaderboard_config
from medical_tasks.data.dataset_store import read_rows, split_names
from tests.support import ROOT

# https://github.com/huggingface/huggingface.js/blob/main/packages/tasks/src/eval.ts, of those that ask language models questions.
FRAMEWORKS = {"inspect-ai", "nemo-evaluator", "exgentic", "harbor", "mteb", "math-arena"}
BENCHMARKS = [name for name in datasets() if name != "doclens_own"]


def content(name: str) -> dict[str, object]:
    loaded: dict[str, object] = yaml.safe_load(
        (ROOT / "dataset_builders" / name / "eval.yaml").read_text(encoding="utf-8")
    )
    return loaded


def test_every_dataset_but_ones_own_is_a_benchmark() -> None:
    assert len(BENCHMARKS) == 7
    assert sorted(path.parent.name for path in (ROOT / "dataset_builders").glob("*/eval.yaml")) == sorted(BENCHMARKS)
    assert FRAMEWORK in FRAMEWORKS


def test_every_task_that_asks_a_model_has_one_leaderboard() -> None:
    ids = [task["id"] for name in BENCHMARKS for task in content(name)["tasks"]]  # type: ignore[attr-defined]
    assert ids.count("medcalc") == 1
    assert len(ids) == len(set(ids)) == len(tasks()) - 2
    assert set(tasks()) - set(ids) == {"archehr_heuristic", "doclens_own"}
    # One number a leaderboard, and no way to say that less is better or what it counts.
    assert all(tasks()[name].metrics[0].higher_is_better and tasks()[name].metrics[0].unit == "" for name in ids)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_has_what_the_hub_and_inspect_ask_for(name: str) -> None:
    found = content(name)
    assert list(found) == ["name", "description", "evaluation_framework", "tasks"]
    assert (found["name"], found["evaluation_framework"]) == (datasets()[name].title, FRAMEWORK)
    source, entries = dataset_source(name), found["tasks"]
    assert isinstance(entries, list)
    columns = {column.name for column in source.columns}
    for entry in entries:
        task, read = task_spec(entry["id"]), HFTask.model_validate(entry)
        assert task.dataset == name
        assert (read.split, read.config) == (task.split, leaderboard_config(task, source.spec))
        assert set(split_names(task.split)) <= set(source.splits[entry["config"]])
        named = entry["field_spec"]
        used = {
            named["input"],
            named["target"],
            *named.get("metadata", ()),
            *([named["choices"]] if "choices" in named else []),
        }
        assert used <= columns
        # The Hub takes several tasks only with ids, and inspect several scorers' names only from its list.
        assert read.solvers
        assert read.scorers


@pytest.mark.parametrize("name", ["ehrnoteqa", "aci_bench", "archehr_qa"])
def test_inspect_makes_questions_of_the_rows(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(name)
    build_dataset(name, source=None, config="demo", out=folder)
    assert not (folder / "eval.yaml").exists()  # demo rows are nobody's leaderboard
    for entry in content(name)["tasks"]:  # type: ignore[attr-defined]
        row = read_rows(folder, "demo", entry["split"])[0]
        sample = _record_to_sample_hf(row, HFTask.model_validate(entry).field_spec)
        assert sample.input
        assert sample.target
        assert len(sample.choices or ()) == (5 if "choices" in entry["field_spec"] else 0)


def test_a_built_folder_has_it_for_the_configurations_it_holds() -> None:
    every = tuple(tasks().values())
    spec = dataset_spec("ehrnoteqa")
    assert eval_text(spec, every, built={}) == ""
    assert eval_text(spec, every, built={"demo": ["test"]}) == ""
    ids = [task["id"] for task in yaml.safe_load(eval_text(spec, every, built={"level2": ["test"]}))["tasks"]]
    assert ids == [name for name in tasks() if name.startswith("ehrnoteqa") and name.endswith("level2")]
    assert eval_text(dataset_spec("doclens_own"), every) == ""


def test_a_build_puts_it_beside_the_rows(tmp_path: Path) -> None:
    record = {
        "Free_form_answer": "Late in the day it can be.",
        "Must_have": ["Tea late in the day can disturb sleep."],
        "Nice_to_have": [],
        "Sources": "",
        "ICD_10_diag": "Insomnia",
    }
    lines = [json.dumps({"Question": f"Are {cups} cups of tea bad for sleep?", **record}) for cups in range(201)]
    (tmp_path / "questions_w_answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    built = build_dataset("kqa", source=tmp_path, config="answered", out=tmp_path / "kqa")
    text = (built.folder / "eval.yaml").read_text(encoding="utf-8")
    assert text == (ROOT / "dataset_builders" / "kqa" / "eval.yaml").read_text(encoding="utf-8")


def test_configurations_with_the_same_questions() -> None:
    assert accepted_configs(task_spec("ehrnoteqa_mc_level2"), dataset_spec("ehrnoteqa")) == ("level2", "all")
    assert accepted_configs(task_spec("medcalc"), dataset_spec("medcalc_bench")) == ("v1.0",)
