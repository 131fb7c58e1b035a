"""Packages that are not installed: how they are found, and that a faulty one is named and affects no other."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import medical_tasks.plugins as plugins
from medical_tasks.catalog import benchmarks, own_benchmarks, task_spec
from medical_tasks.cli import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.judges.session import judge_kinds, open_judge
from medical_tasks.leaderboard.export import export_formats
from medical_tasks.sandbox import probe
from tests.case_tables import json_of
from tests.support import ROOT

MCQ = ROOT / "examples" / "medical_mcq"
SPEC = (MCQ / "medical_mcq" / "spec.py").read_text(encoding="utf-8")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder for packages with distinct names, since an imported module stays imported."""
    folder = tmp_path / "packages"
    folder.mkdir()
    return folder


def write_package(folder: Path, name: str, spec: str) -> Path:
    """A package without declared entry points, of the example's other modules and another `spec`."""
    package_folder = folder / name
    package_folder.mkdir()
    for module in ("__init__", "data", "declarations", "prompts", "scoring"):
        text = (MCQ / "medical_mcq" / f"{module}.py").read_text(encoding="utf-8")
        package_folder.joinpath(f"{module}.py").write_text(
            renamed(text, name), encoding="utf-8"
        )
    package_folder.joinpath("spec.py").write_text(renamed(spec, name), encoding="utf-8")
    package_folder.joinpath("demo.json").write_bytes(
        (MCQ / "medical_mcq" / "demo.json").read_bytes()
    )
    return package_folder


def renamed(text: str, name: str) -> str:
    return text.replace("medical_mcq", name)


def spec_without(method: str) -> str:
    """The example's `spec` without a method."""
    changed = re.sub(
        rf"    def {method}\(.*?(?=\n    def |\n\nBENCHMARK)", "", SPEC, flags=re.S
    )
    assert changed != SPEC
    return changed


def spec_returning(change: str) -> str:
    """The example's `spec` whose scorer changes what it has `scored`."""
    changed = re.sub(
        r"return (with_order_values\(.*\))\n",
        rf"scored = \1\n        {change}\n        return scored\n",
        SPEC,
    )
    assert changed != SPEC
    return changed


@pytest.mark.parametrize(
    ("name", "spec", "reason"),
    [
        (
            "wrong_kind",
            "BENCHMARK = {}",
            "it is a dict, not an object of medical_tasks.spec.Bench",
        ),
        (
            "no_import",
            "import nothing_of_this_name",
            "No module named 'nothing_of_this_name'",
        ),
        ("ends_itself", "raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("no_scorer", spec_without("score_items"), "abstract method '?score_items"),
        (
            "no_judge",
            SPEC.replace("groups=", "judge=True, groups="),
            "the method load_judge_prom",
        ),
        (
            "no_steps",
            SPEC.replace("groups=", "protocol='x', groups="),
            "the method open_protocol",
        ),
        (
            "no_metrics",
            re.sub(r"metrics=\(.*?\n    \),", "metrics=(),", SPEC, flags=re.S),
            "metri",
        ),
        ("no_tasks", SPEC.replace("MedicalMCQ.tasks", "TASKS"), "it has no tasks"),
        (
            "same_name",
            SPEC.replace('name = "medical_mcq"', 'name = "kqa"'),
            "the name kqa is tak",
        ),
    ],
)
def test_a_faulty_package_is_named_and_left_out(
    name: str,
    spec: str,
    reason: str,
    package: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # `doctor` also tries the sandbox, which takes half a second.
    monkeypatch.setattr(probe, "probe", lambda: None)
    monkeypatch.setenv(plugins.VARIABLE, str(write_package(package, name, spec)))
    assert benchmarks() == own_benchmarks()
    (problem,) = plugins.problems()
    assert name in str(problem)
    assert re.search(reason, str(problem))
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert "medical:medcalc" in out
    assert err.count("note: ") == 1
    main(["doctor"])
    assert re.search(rf"plugin .*{name}.*{reason[:20]}", capsys.readouterr().out)


def test_an_error_while_rows_are_built_is_attributed_to_the_package(
    package: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package_folder = write_package(package, "faulty_rows", SPEC)
    text = (package_folder / "data.py").read_text(encoding="utf-8")
    changed = text.replace(
        "    yield from", "    raise ValueError('no rows')\n    yield from"
    )
    (package_folder / "data.py").write_text(changed, encoding="utf-8")
    assert (
        main(
            [
                "--plugin",
                str(package_folder),
                "build",
                "faulty_rows",
                "--config",
                "demo",
            ]
        )
        == 1
    )
    assert (
        "the package faulty_rows failed: ValueError: no rows ("
        in capsys.readouterr().err
    )


def test_an_error_of_a_scorer_is_attributed_to_the_package(
    package: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raising = (
        "from medical_mcq.scoring import score_item\n\n        raise KeyError('dose')\n"
    )
    spec = SPEC.replace("from medical_mcq.scoring import score_item\n", raising)
    path = str(write_package(package, "faulty_scorer", spec))
    words = ["--plugin", path, "build", "faulty_scorer", "--config", "demo"]
    assert main(words) == 0
    run = [
        "run",
        "--tasks",
        "faulty_scorer",
        "--model",
        "baseline/random",
        "--config",
        "demo",
    ]
    assert main(["--plugin", path, *run]) == 1
    stderr = capsys.readouterr().err
    assert re.search(
        r"error: the package faulty_scorer failed: KeyError: 'dose' \(.*spec.py:\d+, in score_items\)",
        stderr,
    )
    assert "Traceback" not in stderr
    # Other tasks of the same command are scored, this one is not.
    assert main(["build", "medcalc_bench", "--config", "demo"]) == 0
    run[2] = "faulty_scorer,medcalc"
    assert main(["--plugin", path, *run, "--out", "both"]) == 5
    stderr = capsys.readouterr().err
    assert (
        "faulty_scorer is left unscored, and the others continue: the package faulty"
        in stderr
    )
    results = json_of(here / "both" / "results.json")["tasks"]
    unscored = results["faulty_scorer"]["coverage"]["unscored"]
    assert unscored == {"a fault of the task's package": 10}
    assert results["medcalc"]["coverage"]["unscored"] == {}


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "scores_none",
            "scored = None",
            "must return a list of ItemScore, got NoneType",
        ),
        (
            "scores_fewer",
            "scored = scored[1:]",
            "one score for each of 10 items, got 9 scores",
        ),
        (
            "scores_beyond",
            "scored[0].values['accuracy'] = 2.0",
            "a value of accuracy outside of the metric's limits: 2, not from 0 to 1",
        ),
    ],
)
def test_invalid_scores_are_reported_as_a_fault_of_the_package(
    name: str,
    change: str,
    message: str,
    package: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = str(write_package(package, name, spec_returning(change)))
    assert main(["--plugin", path, "build", name, "--config", "demo"]) == 0
    run = ["run", "--tasks", name, "--model", "baseline/random", "--config", "demo"]
    assert main(["--plugin", path, *run]) == 1
    stderr = capsys.readouterr().err
    assert f"the package {name}: score_items" in stderr
    assert message in stderr


def test_harnesses_check_scores_too(package: Path, here: Path) -> None:
    pytest.importorskip("lighteval")
    pytest.importorskip("inspect_ai")
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.scorer import Target
    from lighteval.tasks.requests import Doc

    from medical_tasks.harness.inspect_adapter import registered_scorer
    from medical_tasks.harness.lighteval_adapter import task_configs

    spec = spec_returning("scored[0].values['accuracy'] = 2.0")
    message = "the package scores_at_doors: score_items gave item .* outside of the metric's limits"
    with plugins.using([str(write_package(package, "scores_at_doors", spec))]):
        assert main(["build", "scores_at_doors", "--config", "demo"]) == 0
        task = task_spec("scores_at_doors")
        (dataset,) = task.benchmark.datasets
        item = load_task_data(task, dataset, config="demo").items[0]

        (grouping,) = task_configs((task,))[0].metrics
        doc = Doc(query="", choices=[""], gold_index=0, specific=dict(item.fields))
        with pytest.raises(plugins.PluginError, match=message):
            grouping.sample_level_fn.compute(
                doc, SimpleNamespace(final_text=["Answer: A"])
            )

        output = SimpleNamespace(
            completion="Answer: A", choices=["Answer: A"], stop_reason="stop"
        )
        state: Any = SimpleNamespace(
            sample_id=item.id, metadata={}, messages=[], output=output
        )
        score = registered_scorer(task)(config="demo")
        with pytest.raises(PrerequisiteError, match=message):
            asyncio.run(score(state, Target("")))


@pytest.mark.parametrize("form", ["project", "package", "module"])
def test_each_way_to_name_a_package(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(MCQ))
    names = {
        "project": str(MCQ),
        "package": str(MCQ / "medical_mcq"),
        "module": "medical_mcq",
    }
    with plugins.using([names[form]]):
        assert task_spec("medical_mcq").benchmark.title == "Medical MCQ"
        (package,) = plugins.packages()
        assert package.version == ("1.0" if form == "project" else "")
    with pytest.raises(UsageError, match="unknown task 'medical_mcq'"):
        task_spec("medical_mcq")


def test_several_packages_are_passed_to_child_processes(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_package(package, "second_mcq", SPEC)
    monkeypatch.setenv(plugins.VARIABLE, str(other))
    with plugins.using([str(MCQ)]):
        assert os.environ[plugins.VARIABLE] == os.pathsep.join([str(MCQ), str(other)])
        assert {task_spec(name).name for name in ("medical_mcq", "second_mcq")} == {
            "medical_mcq",
            "second_mcq",
        }
    assert plugins.uninstalled_plugins() == str(other)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "no-such-place",
            "plugin no-such-place: no such folder, and no module of this name",
        ),
        ("json", "plugin json: has none of BENCHMARK, EXPORTS, JUDGES, VERBS"),
        (str(ROOT / "docs"), "neither a package .* nor a project"),
    ],
)
def test_an_unusable_plugin_is_a_usage_error(
    name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--plugin", name, "list"]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert plugins.uninstalled_plugins() == ""


def test_verbs_exports_and_judges_of_a_package(
    package: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package_folder = package / "more_doors"
    package_folder.mkdir()
    package_folder.joinpath("__init__.py").write_text(
        '''"""Says hello."""
from dataclasses import dataclass
from typing import Annotated

from medical_tasks.judges.base import JudgeKind
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.leaderboard.export import ExportFormat
from medical_tasks.options import Option, Options
from medical_tasks.plugins import Verb


@dataclass(frozen=True, kw_only=True)
class Hello(Options):
    """Say hello."""

    to: Annotated[str, Option("whom to greet", metavar="NAME")] = "you"


def run(options):
    print(f"hello {options.to}")
    return 0


VERBS = Verb(
    name="hello",
    group="Tools",
    summary="says hello",
    options="more_doors:Hello",
    run="more_doors:run",
)
EXPORTS = ExportFormat(name="names", files=lambda run: {"names.txt": run.tasks[0].name})
JUDGES = JudgeKind(name="mine", summary="mine: words", opener=lambda *_: LexicalJudge(), alone=True)
''',
        encoding="utf-8",
    )
    assert main(["hello"]) == 2
    with plugins.using([str(package_folder)]):
        assert main(["hello", "--to", "all"]) == 0
        assert "hello all" in capsys.readouterr().out
        assert main(["build", "medcalc_bench", "--config", "demo"]) == 0
        run = [
            "--tasks",
            "medcalc",
            "--model",
            "baseline/reference",
            "--config",
            "demo",
        ]
        assert main(["run", *run, "--out", "run"]) == 0
        assert main(["export", "run", "--to", "names", "--out", "out"]) == 0
        assert (here / "out" / "names.txt").read_text() == "medcalc"
        assert open_judge("mine", {}, log_dir=here).name == "lexical"
    assert "mine" not in judge_kinds()
    assert "names" not in export_formats()
    assert main(["export", "run", "--to", "names", "--out", "out"]) == 2
