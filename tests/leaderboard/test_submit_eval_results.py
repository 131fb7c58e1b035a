"""`medical-tasks submit --to eval-results`: a run's headline numbers become the files that the Hub shows on a model's page."""

from __future__ import annotations

import copy
import functools
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import huggingface_hub
import pytest
import yaml

from medical_tasks.benchmarks.medcalc_bench import spec as medcalc_spec
from medical_tasks.cli.entry import main
from medical_tasks.data.fetching import build_dataset
from medical_tasks.runs.numbers import interval
from tests.case_tables import json_of
from tests.leaderboard.made_packages import cases

CASES = cases("submit_eval_results")

VERSION = medcalc_spec.MEDCALC.version
KQA, MEDCALC = (
    "--dataset-repo=kqa=owner/k-qa",
    "--dataset-repo=medcalc_bench=owner/medcalc",
)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of a real run on both demo sets, changed as if a model had answered the released questions and another judged it."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDICAL_TASKS_HOME", str(folder / "home"))
        patch.setenv("MEDICAL_TASKS_DATA", str(folder / "data"))
        for name in ("kqa", "medcalc_bench"):
            build_dataset(name, source=None, config="demo")
        words = [
            "run",
            "--tasks",
            "kqa,medcalc",
            "--config",
            "demo",
            "--judge",
            "lexical",
            "--out",
            str(folder / "run"),
        ]
        assert main([*words, "--model", "baseline/random"]) == 0
    results: dict[str, Any] = json_of(folder / "run" / "results.json")
    for name, config in (("kqa", "answered"), ("medcalc", "v1.0")):
        recipe = results["tasks"][name]["recipe"]
        recipe["data"]["config"] = config
        recipe["model"] = {"name": "hf/owner/model"}
        recipe["prompts"] = {"set": "own", "sha256": "0123456789abcdef" * 4}
        recipe["generation"] = {"max_new_tokens": 10, "stop": []}
    results["tasks"]["kqa"]["judge"]["comparable"] = True
    results["tasks"]["kqa"]["recipe"]["judge"] |= {
        "name": "hf//home/me/models/judge-7b",
        "comparable": True,
        "votes": 5,
    }
    for metric in results["tasks"]["kqa"]["metrics"].values():
        metric.pop("comparable", None)
    results["tasks"]["medcalc"]["metrics"]["accuracy"] |= {
        "value": 0.16514,
        "ci_low": 0.143,
        "ci_high": 0.18855,
        "n": 1047,
    }
    return results


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(
    results: dict[str, Any], *changes: Callable[[dict[str, Any]], object]
) -> None:
    changed = copy.deepcopy(results)
    for change in changes:
        change(changed["tasks"])
    Path("run").mkdir(exist_ok=True)
    Path("run/results.json").write_text(json.dumps(changed), encoding="utf-8")


def submit(*words: str) -> int:
    return main(["submit", "run", "--to", "eval-results", *words])


def read(name: str, folder: str = ".eval_results") -> huggingface_hub.EvalResultEntry:
    (entry,) = huggingface_hub.parse_eval_result_entries(
        yaml.safe_load((Path(folder) / name).read_text(encoding="utf-8"))
    )
    return entry


def test_each_task_has_a_file_that_the_hub_reads(
    scored: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    write(scored)
    assert submit(KQA, MEDCALC) == 0
    assert sorted(path.name for path in Path(".eval_results").iterdir()) == [
        "kqa.yaml",
        "medcalc.yaml",
    ]
    medcalc, kqa = read("medcalc.yaml"), read("kqa.yaml")
    assert (medcalc.dataset_id, medcalc.task_id, medcalc.value) == (
        "owner/medcalc",
        "medcalc",
        16.51,
    )
    assert (kqa.dataset_id, kqa.task_id) == ("owner/k-qa", "kqa")
    assert kqa.value == round(
        100 * scored["tasks"]["kqa"]["metrics"]["comprehensiveness"]["value"], 2
    )
    assert medcalc.notes == (
        f"accuracy in %, 95 % CI 14.3 to 18.9, n 1047, scored 31/31; medical-tasks 0.1.0, task medcalc {VERSION}; "
        f"prompts own 0123456789ab; data v1.0 1.5.0, rows {scored['tasks']['medcalc']['recipe']['data']['rows_sha256'][:12]}"
    )
    assert kqa.notes is not None
    assert interval(scored["tasks"]["kqa"]["metrics"]["comprehensiveness"]) in kqa.notes
    assert "judge hf/[judge-7b], mode of 5 votes, prompts own" in kqa.notes
    optional = (
        "dataset_revision",
        "verify_token",
        "date",
        "source_url",
        "source_name",
        "source_user",
        "source_org",
    )
    assert [getattr(medcalc, name) for name in optional] == [None] * 7
    output = capsys.readouterr().out
    assert (
        ".eval_results/medcalc.yaml: medcalc 16.51 % on owner/medcalc, written"
        in output
    )
    assert "Nothing was sent anywhere" in output
    text = "".join(
        path.read_text(encoding="utf-8") for path in Path(".eval_results").iterdir()
    )
    assert "/home/me" not in text
    assert "owner/model" not in text


def test_the_file_follows_the_format(scored: dict[str, Any]) -> None:
    write(scored)
    words = [
        "--source-url=https://example.org/r",
        "--source-name=Report: ours",
        "--source-org=owner",
        "--date=2026-08-31",
    ]
    revision = "0123456789" * 4
    more = [
        f"--dataset-revision={revision}",
        "--notes=# no tools: 'x'",
        "--variant=no-tools",
        "--out=deep/.eval_results",
    ]
    assert (
        submit("--tasks=medical:medcalc", "--dataset-repo=owner/medcalc", *words, *more)
        == 0
    )
    assert [path.name for path in Path("deep/.eval_results").iterdir()] == [
        "medcalc_no-tools.yaml"
    ]
    text = Path("deep/.eval_results/medcalc_no-tools.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == [
        {
            "dataset": {
                "id": "owner/medcalc",
                "task_id": "medcalc",
                "revision": revision,
            },
            "value": 16.51,
            "date": "2026-08-31",
            "source": {
                "url": "https://example.org/r",
                "name": "Report: ours",
                "org": "owner",
            },
            "notes": read("medcalc_no-tools.yaml", "deep/.eval_results").notes,
        }
    ]
    assert text.count("\n") == len(text.splitlines()) == 11
    assert "notes: 'no-tools; # no tools: ''x''; accuracy in %" in text


def test_a_file_with_other_content_is_kept(
    scored: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    write(scored)
    assert submit(KQA, MEDCALC) == 0
    first = Path(".eval_results/kqa.yaml").stat().st_mtime_ns
    assert submit(KQA, MEDCALC) == 0
    assert capsys.readouterr().out.count("says so already") == 2
    assert Path(".eval_results/kqa.yaml").stat().st_mtime_ns == first
    Path(".eval_results/medcalc.yaml").write_text("mine")
    Path(".eval_results/kqa.yaml").unlink()
    assert submit(KQA, MEDCALC) == 2
    assert (
        ".eval_results/medcalc.yaml: exists with other content. Nothing was written."
        in capsys.readouterr().err
    )
    assert not Path(".eval_results/kqa.yaml").exists()
    assert Path(".eval_results/medcalc.yaml").read_text() == "mine"
    assert submit(KQA, MEDCALC, "--force") == 0
    assert read("medcalc.yaml").value == 16.51
    for name in ("kqa.yaml", "medcalc.yaml"):
        Path(".eval_results", name).unlink()
    Path(".eval_results/medcalc.yaml").mkdir()
    assert submit(KQA, MEDCALC, "--force") == 2
    assert (
        ".eval_results/medcalc.yaml: cannot be read (Is a directory). Choose another --out."
        in capsys.readouterr().err
    )
    assert list(Path(".eval_results").iterdir()) == [Path(".eval_results/medcalc.yaml")]


def medcalc_change(change: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Returns a change of the task's results: new entries of sections by path, or the name of an entry to remove."""

    def make(tasks: dict[str, Any]) -> None:
        for path, value in change.items():
            section = functools.reduce(
                dict.__getitem__, path.split(".") if path else [], tasks["medcalc"]
            )
            if isinstance(value, str):
                section.pop(value)
            else:
                section.update(value)

    return make


WRONG: list[Any] = [
    (words, {}, re.escape(message)) for words, message in CASES["wrong_use"]
]
MISLEADING = [
    (["--tasks=medcalc", MEDCALC], change, message)
    for change, message in CASES["misleads"]
]


@pytest.mark.parametrize(("words", "change", "message"), [*WRONG, *MISLEADING])
def test_wrong_use_and_misleading_numbers(
    scored: dict[str, Any],
    words: list[str],
    change: dict[str, Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(scored, medcalc_change(change))
    assert submit(*words) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not Path(".eval_results").exists()


def test_a_lexical_judge_is_refused_without_override(
    scored: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    metric = scored["tasks"]["kqa"]["metrics"]["comprehensiveness"]
    write(
        scored,
        lambda tasks: tasks["kqa"]["judge"].update(name="lexical", comparable=False),
        lambda tasks: tasks["kqa"]["metrics"].update(
            comprehensiveness={**metric, "comparable": False}
        ),
    )
    assert submit(KQA, MEDCALC, "--allow-partial", "--force") == 2
    stderr = capsys.readouterr().err
    assert (
        "kqa: its comprehensiveness stands for itself alone: a judge that compares words decided"
        in stderr
    )
    assert "The others can be written with --tasks medcalc" in stderr
    assert not Path(".eval_results").exists()
    assert submit("--tasks=medcalc", "--dataset-repo=owner/medcalc") == 0


def test_notes_state_partial_results_and_settings_without_paths(
    scored: dict[str, Any],
) -> None:
    write(scored, medcalc_change(CASES["partial"]))
    assert submit("--tasks=medcalc", MEDCALC, "--allow-partial") == 0
    notes = read("medcalc.yaml").notes
    assert notes is not None
    assert (
        "scored 30/31; PARTIAL: what is missing is estimated or left out; whatever it is, the value lies in 16.0 to 19.0; "
        in notes
    )
    settings = {
        "task_args": {"documents": "/srv/secret/corpus", "top_k": "7"},
        "prompts": None,
    }
    write(
        scored,
        lambda tasks: tasks["kqa"]["recipe"].update(settings),
        lambda tasks: tasks["kqa"]["recipe"]["model"].update(
            name="responses/answers.jsonl"
        ),
        lambda tasks: tasks["kqa"].update(cut_at_length=3),
        lambda tasks: tasks["kqa"]["recipe"].update(
            suite="medical-tasks\nvalue: 9\u202e"
        ),
    )
    assert submit("--tasks=kqa", KQA) == 0
    notes = read("kqa.yaml").notes
    assert notes is not None
    assert (
        "answers made outside the suite, prompts unknown; settings documents=[corpus] top_k=7; judge"
        in notes
    )
    assert "; 3 answers were cut at the length limit; data answered" in notes
    assert "secret" not in notes
    assert notes.isprintable()


def test_missing_requirements_are_reported(
    scored: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["submit", "--to", "eval-results"]) == 2
    assert (
        "submit --to eval-results needs RUN. See: medical-tasks submit --to eval-results --help"
        in capsys.readouterr().err
    )
    assert submit(KQA) == 3
    assert "run: no results.json there" in capsys.readouterr().err
    write(scored)
    older = ModuleType("huggingface_hub")
    older.__version__ = "0.36.2"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", older)
    assert submit(KQA, MEDCALC) == 3
    assert (
        "need huggingface_hub 1.4 or newer; here it is 0.36.2"
        in capsys.readouterr().err
    )
    assert not Path(".eval_results").exists()
