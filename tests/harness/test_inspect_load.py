"""Mistakes as errors of inspect, and checks of a judge before a model answers."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import json
import math
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.markup import render

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.catalog import dataset_source, dataset_spec, tasks
from medical_tasks.cli.entry import main
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.harness.judging import HarnessJudge, harness_request
from medical_tasks.runs.results import read_items
from medical_tasks.spec import TaskSpec
from tests.case_tables import tables
from tests.harness.commands import demo_environment
from tests.support import ROOT
from tests.warm_process import WarmProcess

CASES = tables(__file__, "inspect_load")


@pytest.mark.parametrize(
    ("config", "prompts", "message"),
    CASES["test_a_users_mistake_is_reported_as_an_error_of_inspect"],
)
def test_a_users_mistake_is_reported_as_an_error_of_inspect(
    tmp_path: Path, config: str, prompts: str, message: str
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks.harness.inspect_adapter import load

    folder = tmp_path / "with [brackets]"
    assert (
        main(["build", "medcalc_bench", "--config", "demo", "--out", str(folder)]) == 0
    )
    with pytest.raises(PrerequisiteError) as caught:
        load(
            MEDCALC,
            DATASET,
            config=config,
            data=str(folder),
            prompts=prompts,
            upstream=None,
        )
    # As inspect prints it: rich drops square brackets that are not escaped.
    text = render(str(caught.value.message)).plain
    assert message.format(folder=folder) in text
    assert "written -T config=demo" in text


@pytest.mark.parametrize("task", [MEDCALC, tasks()["medcalc_fair"]])
def test_max_samples_selects_the_same_items_as_run(
    demos: Path, tmp_path: Path, task: TaskSpec
) -> None:
    from medical_tasks import _registry

    loaded = getattr(_registry, task.name)(
        config="demo", data=str(demos), max_samples=12
    )
    out = ["--config", "demo", "--data", str(demos), "--out", str(tmp_path / "run")]
    words = ["run", "--tasks", task.name, "--model", "baseline/empty", *out]
    assert main([*words, "--max-samples", "12"]) == 0
    ids = [row["id"] for row in read_items(tmp_path / "run")]
    assert len(ids) > 3
    assert [sample.id for sample in loaded.dataset] == ids


@pytest.mark.parametrize(
    ("name", "confidence", "message"),
    [
        ("medcalc_code", "asked", "medcalc_code continue after the first answer"),
        ("medcalc", "yes", "confidence must be none or asked; got 'yes'"),
    ],
)
def test_an_unsupported_confidence_is_refused(
    name: str, confidence: str, message: str
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks import _registry
    from medical_tasks.harness.inspect_adapter import registered_scorer

    for make in (getattr(_registry, name), registered_scorer(tasks()[name])):
        with pytest.raises(PrerequisiteError, match=message):
            make(config="demo", confidence=confidence)


def test_credentialed_tasks_and_their_scorers_are_refused_before_anything_is_read(
    tmp_path: Path,
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks import _registry
    from medical_tasks.harness.inspect_adapter import registered_scorer

    assert [name for name in tasks() if not hasattr(_registry, name)] == []
    closed = [
        task for task in tasks().values() if dataset_spec(task.dataset).access != "open"
    ]
    assert {"ehrnoteqa", "archehr_qa", "mimic_rrs"} <= {task.dataset for task in closed}
    for task in closed:
        refused = rf"(?s){dataset_spec(task.dataset).title}.*inspect's logs.*medical-tasks run --tasks {task.name} --model"
        for make in (getattr(_registry, task.name), registered_scorer(task)):
            with pytest.raises(PrerequisiteError, match=refused):
                make(config="demo", data=str(tmp_path / "nothing"))


def test_a_missing_reply_is_unscored_and_a_log_of_other_data_is_refused(
    tmp_path: Path,
) -> None:
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import ModelName, ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    from medical_tasks.harness.inspect_adapter import load, registered_scorer

    options: dict[str, Any] = {
        "config": "demo",
        "data": str(tmp_path / "medcalc_bench"),
    }
    assert (
        main(["build", "medcalc_bench", "--config", "demo", "--out", options["data"]])
        == 0
    )
    sample = load(MEDCALC, DATASET, **options, prompts="own", upstream=None).dataset[0]
    score = registered_scorer(MEDCALC)(**options)

    def scored(
        output: ModelOutput,
        target: str = str(sample.target),
        metadata: Any = sample.metadata,
    ) -> Any:
        state = TaskState(
            model=ModelName("mockllm/model"),
            sample_id=str(sample.id),
            epoch=1,
            input="",
            messages=[],
        )
        state.output, state.metadata = output, dict(metadata)
        return asyncio.run(score(state, Target(target)))

    assert (
        scored(ModelOutput.from_content("m", str(sample.target))).value["accuracy"] == 1
    )
    # an empty reply is one
    assert scored(ModelOutput.from_content("m", "")).value["accuracy"] == 0
    bound = scored(ModelOutput.from_content("m", "The answer is at least 5."))
    assert (bound.value["accuracy"], "; unclear: a bound" in bound.explanation) == (
        0,
        True,
    )
    none = scored(ModelOutput(model="m"), "")
    assert all(map(math.isnan, none.value.values()))
    assert none.explanation == "unscored: no answer"
    # Metadata of a log of inspect, and of an exported one.
    for metadata in (sample.metadata, {"response_sha256": ""}):
        with pytest.raises(
            PrerequisiteError,
            match="of the log is on other data, its answer key differs",
        ):
            scored(ModelOutput.from_content("m", "1"), "another key", metadata)


def test_tasks_with_probabilities_are_refused_by_inspect(tmp_path: Path) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks.harness.inspect_adapter import load

    asking = [task for task in tasks().values() if task.asks == "choices"]
    assert len(asking) == 4
    for task in asking:
        # the refusal is not the guard's
        spec = dataclasses.replace(dataset_spec(task.dataset), access="open")
        with pytest.raises(
            PrerequisiteError, match=f"{task.name}: asks how probable each choice is"
        ):
            load(
                task,
                spec,
                config=None,
                data=str(tmp_path),
                prompts="own",
                upstream=None,
            )


@pytest.mark.slow
def test_the_command_shows_no_traceback(tmp_path: Path, warm: WarmProcess) -> None:
    words = [
        "-m",
        "inspect_ai",
        "eval",
        "medical_tasks/medcalc",
        "--model",
        "mockllm/model",
        "-T",
        "config=nope",
    ]
    done = warm.run(words, cwd=tmp_path, environment=demo_environment(tmp_path))
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert "Traceback" not in output
    assert "has no configuration 'nope'" in " ".join(output.split())


def test_the_register_folder_loads_and_pins_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    folder = ROOT / "examples" / "inspect_register"
    module = runpy.run_path(str(folder / "tasks.py"))
    assets = yaml.safe_load((folder / "ASSETS.yaml").read_text(encoding="utf-8"))
    assert list(assets) == ["medcalc", "kqa", "aci_bench", "meqsum"]
    for name, files in assets.items():
        source = dataset_source(tasks()[name].dataset)
        config = inspect.signature(module[name]).parameters["config"].default
        pins = [
            (f"https://github.com/{pin.repository}", pin.commit, pin.path, pin.sha256)
            for pin in source.pins(config)
        ]
        assert (
            [
                (file["source"], file["commit"], file["path"], file["sha256"])
                for file in files
            ]
            == pins
            != []
        )
        assert len(module[name](config="demo").dataset)


def test_the_lm_eval_task_scores_like_this_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    module = runpy.run_path(str(ROOT / "examples" / "lm_eval" / "medcalc.py"))
    rows = list(module["rows"](config="demo")["test"])
    assert len(rows) == 31
    for row in rows:
        assert row["patient_note"] in module["question"](row)
        assert module["scored"](row, [module["gold"](row)]) == {
            "accuracy": 1.0,
            "accuracy_official": 1.0,
        }
        assert module["scored"](row, [""])["accuracy"] == 0.0


def test_a_judged_task_takes_its_documents_judge_and_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks import _registry

    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "kqa"
    assert main(["build", "kqa", "--config", "demo", "--out", str(folder)]) == 0
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "one.txt").write_text(
        "Ibuprofen and lisinopril together can harm the kidneys.\n"
    )
    task = _registry.kqa_rag(
        config="demo", data=str(folder), documents=str(tmp_path / "documents"), top_k=1
    )
    assert any("harm the kidneys" in str(sample.input) for sample in task.dataset)
    with pytest.raises(PrerequisiteError, match="top_k"):
        _registry.kqa_rag(config="demo", data=str(folder), top_k=0)
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE_VOTES", "none")
    with pytest.raises(
        PrerequisiteError,
        match="MEDICAL_TASKS_JUDGE_VOTES must be a whole number from 1, got 'none'",
    ):
        _registry.kqa(config="demo", data=str(folder))


def judge() -> HarnessJudge:
    return HarnessJudge(harness_request())


def test_recorded_verdicts_are_as_comparable_as_their_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not judge().comparable
    file = tmp_path / "verdicts.jsonl"
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", f"recorded/{file}")
    for about, comparable in (({"comparable": False}, False), ({}, True)):
        file.write_text(
            json.dumps({"id": "i/must/0", "value": "neutral", **about}),
            encoding="utf-8",
        )
        assert judge().comparable is comparable


def test_an_unusable_judge_is_refused_before_the_model_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path))
    default = judge()
    default.check(KQA)
    assert copy.deepcopy(default) is default
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE_VOTES", "3")
    with pytest.raises(UsageError, match="gives the same reply each time"):
        judge().check(KQA)
    monkeypatch.delenv("MEDICAL_TASKS_JUDGE_VOTES")
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", "openai-api/no-such-host/model")
    with pytest.raises(MissingError, match="NO_SUCH_HOST_BASE_URL"):
        judge().check(KQA)
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", f"recorded/{tmp_path / 'none.jsonl'}")
    with pytest.raises(MissingError, match="cannot read the recorded verdicts"):
        judge().check(KQA)
