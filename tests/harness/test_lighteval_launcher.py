"""lighteval's command: what its arguments become, and what is checked before it starts."""

from __future__ import annotations

import copy
import importlib.util
import logging
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import typer
from typer.main import get_command

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK
from medical_tasks.cli.entry import main
from medical_tasks.cli.lighteval import _FLAGS, _read
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.harness import lighteval_launcher
from medical_tasks.harness.examining import examine
from medical_tasks.harness.lighteval_launcher import check_model, load_app, run_app
from tests.case_tables import tables
from tests.warm_process import WarmProcess

CASES = tables(__file__, "lighteval_launcher")


def test_arguments_become_those_of_lighteval() -> None:
    from medical_tasks.lighteval_tasks import TASKS_TABLE

    for words, expected in CASES["test_arguments_become_those_of_lighteval"]:
        assert _read(words.split()).arguments == [
            *expected.split(),
            "--custom-tasks",
            "medical_tasks.lighteval_tasks",
        ]
    for option in (["--custom-tasks", "mine.py"], ["--custom-tasks=mine.py"]):
        words = ["accelerate", "m", "medical:medcalc|0"]
        assert _read(["accelerate", "m", "medical:medcalc", *option]).arguments == [
            *words,
            *option,
        ]
    assert _read([]).arguments == []
    assert _read(["--help"]).arguments == ["--help"]
    named = [
        name.removesuffix("|0")
        for name in _read(["accelerate", "m", "medical"]).arguments[2].split(",")
    ]
    assert named[:2] == ["medical:medcalc", "medical:medcalc_direct"]
    assert named[2:]
    assert set(named) <= {config.name for config in TASKS_TABLE}
    for mistaken, message in CASES["test_mistakes_by_message"]:
        with pytest.raises(UsageError, match=message):
            _read(mistaken)


def test_the_flags_are_lightevals() -> None:
    before = logging.getLogger("medical_tasks.made_before_lighteval")
    accelerate: Any = get_command(load_app()).commands["accelerate"]  # type: ignore[attr-defined]
    flags = {
        name
        for option in accelerate.params
        if getattr(option, "is_flag", False)
        for name in option.opts
    }
    assert flags
    assert {flag for flag in flags if not flag.startswith("--no-")} <= set(_FLAGS)
    assert not before.disabled


ACCELERATE = ["lighteval", "accelerate", "model_name=m"]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty data home."""
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "home"))
    monkeypatch.delenv("MEDICAL_TASKS_CONFIG", raising=False)
    return tmp_path / "home"


@pytest.fixture
def demo(home: Path) -> Path:
    """A data home with the demo; its folder."""
    assert main(["build", "medcalc_bench", "--config", "demo"]) == 0
    return home / "medcalc_bench"


@pytest.mark.parametrize(
    "names", [["medical|medcalc"], ["medical"], ["medcalc,medcalc_direct"]]
)
def test_missing_data_are_reported_before_lighteval_starts(
    names: list[str],
    home: Path,
    started: list[list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*ACCELERATE, *names]) == 3
    stderr = capsys.readouterr().err
    assert (
        f"medcalc_bench: config v1.0 is not built in {home / 'medcalc_bench'}" in stderr
    )
    assert "medical-tasks build medcalc_bench --source" in stderr
    assert "MEDICAL_TASKS_CONFIG=demo medical-tasks lighteval" in stderr
    assert started == []


def test_the_configuration_comes_from_the_environment_variable(
    demo: Path,
    started: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [*ACCELERATE, "medical|medcalc"]
    # as where lighteval is not installed
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(words) == 3
    monkeypatch.setenv("MEDICAL_TASKS_CONFIG", "nope")
    assert main(words) == 2
    assert "has no configuration 'nope'" in capsys.readouterr().err
    assert started == []
    monkeypatch.setenv("MEDICAL_TASKS_CONFIG", "demo")
    assert main(words) == 0
    assert [call[2] for call in started] == ["medical:medcalc|0"]


def test_commands_without_tasks_of_this_suite_need_no_data(
    home: Path, started: list[list[str]]
) -> None:
    for number, words in enumerate(
        CASES["test_commands_without_tasks_of_this_suite_need_no_data"], start=1
    ):
        assert main(["lighteval", *words]) == 0
        assert len(started) == number


def test_a_missing_model_folder_is_refused(
    demo: Path,
    started: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for backend, start in (
        ("accelerate", "./"),
        ("vllm", "/nowhere/"),
        ("sglang", "~/"),
    ):
        with pytest.raises(
            UsageError,
            match=f"model_name={start}no-such-model: there is no such folder",
        ):
            check_model(
                [
                    backend,
                    f"dtype=float32,model_name={start}no-such-model,batch_size=1",
                    "medical:medcalc|0",
                ]
            )
    monkeypatch.setenv("MEDICAL_TASKS_CONFIG", "demo")
    words = [
        "lighteval",
        "accelerate",
        "--max-samples",
        "1",
        "model_name=/nowhere/model",
        "--tasks",
        "medcalc",
    ]
    assert main(words) == 2
    assert (
        "error: model_name=/nowhere/model: there is no such folder"
        in capsys.readouterr().err
    )
    assert started == []


def test_other_names_of_models_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model.yaml").write_text("model_parameters: {}", encoding="utf-8")
    for model in (
        f"model_name={tmp_path / 'model'}",
        "model_name=./model,dtype=float32",
        "model_name=o/hub",
        "a=b",
    ):
        check_model(["accelerate", model])
    check_model(["accelerate", "model.yaml"])
    check_model(["endpoint", "litellm", "model_name=/served/name"])
    check_model(["custom", "name", "./no-such-file.py"])
    check_model(["accelerate"])
    check_model([])
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(
        UsageError, match=f"does not replace ~. Give model_name={tmp_path}/model"
    ):
        check_model(["accelerate", "model_name=~/model"])
    for argument, message in CASES["test_model_arguments_of_a_wrong_form"]:
        with pytest.raises(UsageError, match=message):
            check_model(["accelerate", argument, "medical:medcalc|0"])


def _app() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def evaluate(model: str, number: int = 0) -> tuple[str, int]:
        if number:
            raise typer.Exit(number)
        return model, number

    @app.command()
    def leave(code: str) -> None:
        sys.exit(int(code) if code.isdigit() else code)

    @app.command()
    def stop() -> None:
        raise KeyboardInterrupt

    return app


def test_exit_codes_and_wrong_arguments_by_message() -> None:
    before = list(sys.argv)
    for words, code in CASES["test_exit_codes"]:
        assert run_app(_app(), words) == code
        assert sys.argv == before
    for words, message in CASES["test_wrong_arguments_by_message"]:
        with pytest.raises(UsageError, match=message):
            run_app(_app(), words)


_MISTAKES = """
from medical_tasks.cli.entry import main

for words in ([], ["accelerate"], ["--nope"], ["nope"]):
    print("code", main(["lighteval", *words]))
"""


@pytest.mark.slow
def test_wrong_arguments_of_lighteval_itself(
    home: Path, tmp_path: Path, warm: WarmProcess
) -> None:
    script = tmp_path / "mistakes.py"
    script.write_text(_MISTAKES, encoding="utf-8")
    done = warm.run(
        [script], cwd=tmp_path, environment=os.environ | {"HF_HUB_OFFLINE": "1"}
    )
    assert done.stdout.split("\n") == ["code 2"] * 4 + [""]
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 4
    assert "Missing command" in errors[0]
    assert "model_args" in errors[1]


def _adapter(configs: list[Any]) -> typer.Typer:
    """An app that uses the configurations of tasks as lighteval's commands do."""
    app = typer.Typer()

    @app.command()
    def accelerate(model_args: str, max_samples: int | None = None) -> list[str]:
        config = copy.deepcopy(configs[0])
        rows = read_rows(Path(config.hf_repo), config.hf_subset, "test")
        docs = [config.prompt_function(dict(row), config.name) for row in rows]
        return [doc.specific["row_number"] for doc in docs if doc is not None]

    @app.command("eval")
    def evaluate() -> None:
        copy.deepcopy(configs[0])

    return app


def test_only_a_task_that_runs_reports_its_missing_data(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from medical_tasks.harness.lighteval_adapter import task_configs

    tasks = tuple(
        task
        for task in BENCHMARK.tasks
        if not task.protocol and task.dataset == DATASET.name
    )
    configs = task_configs(tasks)
    assert len(configs) == 2 * len(tasks) > 2
    assert {(config.hf_repo, config.hf_subset) for config in configs} == {
        (str(home / "medcalc_bench"), "v1.0")
    }
    assert caplog.messages == []
    with pytest.raises(
        MissingError,
        match=r"(?s)config v1\.0 is not built in .*MEDICAL_TASKS_CONFIG=demo",
    ) as caught:
        run_app(_adapter(configs), ["accelerate", "model_name=m"])
    # lighteval's own command shows this kind, and gives its exit code.
    shown = caught.value.format_message()  # type: ignore[attr-defined]
    assert (shown, caught.value.exit_code) == (str(caught.value), 3)
    with pytest.raises(
        UsageError, match="issue 1327.*inspect eval medical_tasks/medcalc --model"
    ):
        run_app(_adapter(configs), ["eval"])


def test_max_samples_selects_the_items_of_our_own_runner(
    demo: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from medical_tasks.harness.lighteval_adapter import task_configs

    monkeypatch.setenv("MEDICAL_TASKS_CONFIG", "demo")
    monkeypatch.setattr("torch.accelerator.is_available", lambda: False)
    app = get_command(_adapter(task_configs(BENCHMARK.tasks[:1])))
    for most in (1, 7, 100):
        words = ["accelerate", "model_name=sampled", "--max-samples", str(most)]
        ours = load_task_data(
            BENCHMARK.tasks[0], DATASET, config="demo", max_samples=most
        ).items
        assert app.main(words, standalone_mode=False) == [
            item.fields["row_number"] for item in ours
        ]
    assert [line.partition(": ")[0] for line in caplog.messages] == [
        "no GPU and no batch_size"
    ]


@pytest.mark.parametrize(
    ("gpu", "batch_size", "expected"),
    [(True, None, None), (False, None, 8), (False, 2, 2)],
)
def test_a_batch_size_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
    gpu: bool,
    batch_size: int | None,
    expected: int | None,
) -> None:
    from lighteval.pipeline import Pipeline

    monkeypatch.setattr("torch.accelerator.is_available", lambda: gpu)
    monkeypatch.setattr(Pipeline, "evaluate", lambda self: self.model.config.batch_size)
    lighteval_launcher._prepare_models()
    model = SimpleNamespace(
        config=SimpleNamespace(batch_size=batch_size), _cache="kept"
    )
    assert (Pipeline.evaluate(SimpleNamespace(model=model)), model._cache) == (
        expected,
        None,
    )


def test_the_link_is_written_followed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from medical_tasks.lighteval_tasks import TASKS_TABLE

    path = tmp_path / "medical_tasks_link.py"
    monkeypatch.setattr(lighteval_launcher, "link_path", lambda: path)
    for _ in range(2):
        assert main(["doctor", "--link-lighteval"]) == 0
    assert (
        f"finds this suite's tasks by {path}"
        in {finding.subject: finding.text for finding in examine()}["lighteval link"]
    )
    assert runpy.run_path(str(path))["TASKS_TABLE"] is TASKS_TABLE
    # lighteval refuses a task that it meets twice.
    monkeypatch.setattr(
        "medical_tasks.lighteval_tasks.command_line",
        lambda: {"custom_tasks": "medical_tasks.lighteval_tasks"},
    )
    assert runpy.run_path(str(path))["TASKS_TABLE"] == []
    for _ in range(2):
        assert main(["doctor", "--unlink-lighteval"]) == 0
        assert not path.exists()
    path.write_text("# somebody's", encoding="utf-8")
    for words in (["doctor", "--link-lighteval"], ["doctor", "--unlink-lighteval"]):
        assert main(words) == 2
    assert path.read_text(encoding="utf-8") == "# somebody's"
    path.unlink()
    monkeypatch.setattr(Path, "replace", Mock(side_effect=PermissionError(13, "")))
    assert main(["doctor", "--link-lighteval"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert [line.partition(f"{path}: ")[2].partition(".")[0] for line in errors] == [
        *["is not a file that this suite wrote; it stays"] * 2,
        "Permission denied",
    ]
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["doctor", "--link-lighteval"]) == 3
    assert "lighteval is not installed" in capsys.readouterr().err
