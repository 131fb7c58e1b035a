"""`medical-tasks import`: the same answers score to the same figures from the files of every harness; odd files are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import medical_tasks as mt
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.prompts import gold_response
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.cli.entry import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import MedicalTasksError
from medical_tasks.runs.results import ENDS
from tests.importing import sources
from tests.importing.sources import Sample
from tests.report.tiny_runs import built


@pytest.fixture(scope="module")
def samples(demos: Path) -> list[Sample]:
    """The demo's questions; every third answer is wrong, one is empty."""
    items = load_task_data(MEDCALC, DATASET, data=demos, config="demo").items
    answers = [gold_response(MEDCALC, item) for item in items]
    answers[::3] = ["The answer is 999999."] * len(answers[::3])
    answers[4] = ""
    return [
        Sample(
            id=item.id,
            note=str(item.fields["patient_note"]),
            question=str(item.fields["question"]),
            answer=answer,
        )
        for item, answer in zip(items, answers, strict=True)
    ]


@pytest.fixture(scope="module")
def scored(
    demos: Path, samples: list[Sample], tmp_path_factory: pytest.TempPathFactory
) -> mt.Results:
    answers = {sample.id: sample.answer for sample in samples}
    out = tmp_path_factory.mktemp("scored") / "run"
    return mt.score("medcalc", answers, data=demos, config="demo", out=out)


def imported(kind: Any, path: Path, demos: Path, out: Path, **more: Any) -> mt.Results:
    return mt.import_run(
        kind, path, "medcalc", data=demos, config="demo", out=out, **more
    )


def figures(results: mt.Results) -> Mapping[str, list[float | None]]:
    metrics = results["medcalc"].entry["metrics"]
    return {name: [metric[end] for end in ENDS] for name, metric in metrics.items()}


SOURCES: dict[str, tuple[str, Callable[[Path, list[Sample]], Path], str, str, str]] = {
    "helm": ("helm", sources.helm, "openai/gpt-4o", "medcalc_bench_accuracy 0.210", "id"),
    "packed": (
        "helm",
        lambda folder, samples: sources.helm(folder, samples, packed=True),
        "openai/gpt-4o", "medcalc_bench_accuracy 0.210", "id",
    ),
    "state": ("helm", sources.helm_state, "openai/gpt-4o", "medcalc_bench_accuracy 0.210", "id"),
    "eval": (
        "inspect",
        lambda folder, samples: sources.inspect_eval(
            folder / "log.eval",
            [sources.inspect_sample(sample, number=n) for n, sample in enumerate(samples, start=1000)],
        ),
        "acme/llm-7b", "match accuracy 0.125", "text",
    ),
    "json": (
        "inspect",
        lambda folder, samples: sources.inspect_json(
            folder / "log.json",
            [sources.inspect_sample(sample, number=n) for n, sample in enumerate(samples, start=1000)],
        ),
        "acme/llm-7b", "match accuracy 0.125", "text",
    ),
    "lm-eval": (
        "lm-eval", sources.lm_eval, "acme/llm-7b",
        "exact_match 0.250, exact_match (number) 0.500", "text",
    ),
    "lighteval": ("lighteval", sources.lighteval, "acme/llm-7b", "em 0.500", "text"),
    "every-eval-ever": (
        "every-eval-ever",
        lambda folder, samples: sources.every_eval_ever(folder / "items.jsonl", samples),
        "acme/llm-7b", "accuracy 0.300", "text",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_the_same_answers_score_to_the_same_figures(
    name: str,
    demos: Path,
    samples: list[Sample],
    scored: mt.Results,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind, write, model, reported, way = SOURCES[name]
    # In another order, and with other blanks than in the dataset.
    theirs = [
        replace(sample, note=sample.note.replace(" ", "\n", 3))
        for sample in reversed(samples)
    ]
    path = write(tmp_path / "theirs", theirs)
    words = ["import", kind, str(path), "--task", "medcalc", "--data", str(demos)]
    assert main([*words, "--config", "demo", "--out", str(tmp_path / "run")]) == 0
    stdout = capsys.readouterr().out
    results = mt.Results(tmp_path / "run")
    assert figures(results) == figures(scored)
    entry = results["medcalc"].entry
    assert entry["recipe"]["model"]["name"] == f"imported/{model}"
    assert entry["recipe"]["imported"]["matched"] == {way: len(samples)}
    assert entry["paper"]["comparable"] is False
    assert f"imported from {kind}, which asked in its own way" in stdout
    # The source's figures are in the results, on the console and in the report.
    assert f"reported by the source: {reported}." in stdout
    metric, value = (entry["reported"][0][name] for name in ("metric", "value"))
    row = [
        line.split("  ")
        for line in stdout.splitlines()
        if f"{metric} (reported" in line
    ]
    assert [line[-1].strip() for line in row] == [f"{value:.3f}"]
    report = (tmp_path / "run" / "report.md").read_text()
    assert f"| {metric} (reported by the source) | {value:.3f} |" in report
    assert f"reported by the source: {reported}." in report


@pytest.mark.parametrize("form", ["inspect-log", "lm-eval-json", "every-eval-ever"])
def test_exports_of_this_suite_are_imported_unchanged(
    form: str, demos: Path, samples: list[Sample], tmp_path: Path
) -> None:
    answers = {sample.id: sample.answer for sample in samples}
    file = tmp_path / "answers.jsonl"
    file.write_text(
        "".join(
            json.dumps({"id": name, "response": text}) + "\n"
            for name, text in answers.items()
        )
    )
    first = mt.score("medcalc", file, data=demos, config="demo", out=tmp_path / "first")
    mt.export(first, to=form, out=tmp_path / form, responses=file, data=demos)
    kind = {"inspect-log": "inspect", "lm-eval-json": "lm-eval"}.get(form, form)
    second = imported(kind, tmp_path / form, demos, tmp_path / "second")
    assert figures(second) == figures(first)
    assert second["medcalc"].recipe["imported"]["matched"] == {"id": len(samples)}
    reported = [entry["value"] for entry in second["medcalc"].entry["reported"]]
    assert first["medcalc"].metrics["accuracy"].value in reported


def test_an_imported_run_is_scored_again_from_its_folder(
    demos: Path, samples: list[Sample], scored: mt.Results, tmp_path: Path
) -> None:
    path = sources.helm(tmp_path / "theirs", samples)
    first = imported("helm", path, demos, tmp_path / "first")
    again = mt.score("medcalc", first.folder, data=demos, out=tmp_path / "again")
    file = first.folder / "responses.jsonl"
    of_file = mt.score(
        "medcalc", file, data=demos, config="demo", out=tmp_path / "file"
    )
    assert figures(again) == figures(of_file) == figures(scored)
    assert again["medcalc"].entry["reported"] == first["medcalc"].entry["reported"]
    assert again["medcalc"].recipe["imported"] == first["medcalc"].recipe["imported"]
    mt.report(first, out=tmp_path / "page.html", data=demos)
    page = (tmp_path / "page.html").read_text()
    assert "medcalc_bench_accuracy (reported by the source)" in page
    assert "The answer is 999999." in page


def test_runs_of_two_harnesses_are_compared_with_a_warning(
    demos: Path, samples: list[Sample], tmp_path: Path
) -> None:
    first = imported(
        "helm", sources.helm(tmp_path / "one", samples), demos, tmp_path / "first"
    )
    second = imported(
        "lm-eval",
        sources.lm_eval(tmp_path / "two", samples),
        demos,
        tmp_path / "second",
    )
    text = str(mt.compare(first, second))
    assert (
        "how the answers were asked for elsewhere differs: kind helm and lm-eval"
        in text
    )


def test_epochs_are_repeats(
    demos: Path, samples: list[Sample], scored: mt.Results, tmp_path: Path
) -> None:
    other = [replace(sample, answer="I cannot say.") for sample in samples]
    log_samples = [
        sources.inspect_sample(sample, epoch=epoch, number=number)
        for epoch, answers in enumerate((samples, other), start=1)
        for number, sample in enumerate(answers, start=1)
    ]
    path = sources.inspect_eval(tmp_path / "log.eval", log_samples)
    results = imported("inspect", path, demos, tmp_path / "run")
    recipe, metric = (
        results["medcalc"].recipe,
        results["medcalc"].entry["metrics"]["accuracy"],
    )
    assert recipe["repeats"] == 2
    assert metric["repeats"]["values"] == [
        scored["medcalc"].metrics["accuracy"].value,
        0.0,
    ]
    again = mt.score("medcalc", results.folder, data=demos, out=tmp_path / "again")
    assert figures(again) == figures(results)


def test_missing_answers_stay_unanswered_with_their_reason(
    demos: Path, samples: list[Sample], tmp_path: Path
) -> None:
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "1", "function": "calc"}],
    }
    nothing: dict[str, Any] = {"choices": [], "completion": ""}
    parts = [
        {"type": "text", "text": "The answer "},
        {"type": "image"},
        {"type": "text", "text": "is 1"},
    ]
    odd: list[Mapping[str, Any]] = [
        {"error": {"message": "no"}, "output": nothing},
        {"output": nothing, "limit": {"type": "time", "limit": 1}},
        {"output": nothing},
        {"output": {"choices": [{"message": call}], "completion": ""}},
        {"output": {"choices": [{"message": {"role": "assistant", "content": parts}}] * 2}},
        {"output": {"choices": [{"message": call | {"content": "7"}, "stop_reason": "max_tokens"}]}},
        {"output": {"completion": "attachment://ab", "choices": [{"message": call}]}, "attachments": {"ab": "8"}},
    ]  # fmt: skip
    answered = [
        replace(sample, more=more) for sample, more in zip(samples, odd, strict=False)
    ]
    log_samples = [
        sources.inspect_sample(sample, number=n)
        for n, sample in enumerate(answered, start=1)
    ]
    path = sources.inspect_eval(tmp_path / "log.eval", log_samples, header=False)
    results = imported("inspect", path, demos, tmp_path / "run")
    entry = results["medcalc"].entry
    assert entry["coverage"]["unscored"] == {
        "no answer: not in the source": len(samples) - len(odd),
        "no answer: source: an error in place of an answer": 1,
        "no answer: source: stopped by a limit": 1,
        "no answer: source: no answer": 1,
        "no answer: source: a tool call without text": 1,
    }
    assert entry["cut_at_length"] == 1
    kept = [
        json.loads(line)
        for line in (tmp_path / "run" / "responses.jsonl").read_text().splitlines()
    ]
    texts = {line["id"]: line["response"] for line in kept}
    assert [texts[sample.id] for sample in answered[4:]] == [
        "The answer is 1",
        "7",
        "8",
    ]


def test_unmatched_answers_are_named_and_left_out(
    demos: Path,
    samples: list[Sample],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs = [
        *samples[3:],
        replace(samples[0], question="What is the patient's favourite colour?"),
        replace(samples[1], id="x1", note="Another note."),
        replace(samples[2], id="x2", question=f"{samples[2].question} {samples[3].note} {samples[3].question}"),
    ]  # fmt: skip
    path = sources.helm(tmp_path / "theirs", theirs)
    results = imported("helm", path, demos, tmp_path / "run")
    assert results["medcalc"].recipe["imported"]["matched"] == {
        "id": len(samples) - 3, "asks otherwise": 1, "unknown": 1, "ambiguous": 1,
    }  # fmt: skip
    n = len(theirs)
    assert (
        f"answers are left out: 1 fit several items (prediction {n} (x2)); 1 have another question "
        f"than the item of their id (prediction {n - 2} ({samples[0].id})); 1 fit no item of the "
        f"task (prediction {n - 1} (x1))"
    ) in capsys.readouterr().err


def test_texts_of_credentialed_data_are_kept_in_the_private_store_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medical_tasks.benchmarks.ehrnoteqa.spec import BENCHMARK
    from medical_tasks.catalog import dataset_spec, task_spec

    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "private"))
    data = built(tmp_path / "data", BENCHMARK.datasets[0].name)
    task = task_spec("ehrnoteqa_mc_level1")
    items = load_task_data(
        task, dataset_spec(task.dataset), data=data, config="demo"
    ).items
    samples = [
        Sample(
            id=item.id,
            note="",
            question=str(item.fields["question"]),
            answer="B. SECRETTEXT",
            more={"sample_id": item.id},
        )
        for item in items
    ]
    path = sources.every_eval_ever(tmp_path / "items.jsonl", samples)
    options: dict[str, Any] = {"data": data, "config": "demo"}
    results = mt.import_run(
        "every-eval-ever", path, task.name, out=tmp_path / "run", **options
    )
    written = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert written
    assert not [file for file in written if b"SECRETTEXT" in file.read_bytes()]
    kept = list((tmp_path / "private").rglob("responses.jsonl"))
    assert [b"SECRETTEXT" in file.read_bytes() for file in kept] == [True]
    assert results[task.name].recipe["imported"]["matched"] == {
        "id and bare question": len(items)
    }
    odd = [replace(samples[0], more={"messages": "SECRETTEXT"})]
    sources.every_eval_ever(tmp_path / "odd.jsonl", odd)
    with pytest.raises(MedicalTasksError) as caught:
        mt.import_run(
            "every-eval-ever",
            tmp_path / "odd.jsonl",
            task.name,
            out=tmp_path / "odd",
            **options,
        )
    assert "line 1: messages" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    again = mt.score(task.name, results.folder, data=data, out=tmp_path / "again")
    assert again[task.name].entry["metrics"] == results[task.name].entry["metrics"]


@pytest.mark.parametrize(
    ("kind", "write", "more", "message"),
    [
        (
            "helm",
            lambda tmp, samples: sources.helm(tmp, [*samples, samples[2]]),
            {},
            "prediction 3 (3) and prediction 32 (3) both answer item 3, but one answer per item "
            "and repeat is scored. Remove one of them, or give the files of one run.",
        ),
        (
            "helm",
            lambda tmp, samples: sources.helm(
                tmp, [replace(samples[0], note="", question="Who?")]
            ),
            {},
            "none of its 1 answers of 'medcalc_bench:model=openai_gpt-4o' fits an item of medcalc: "
            "1 have another question than the item of their id (prediction 1 (1)). Check task "
            "and config.",
        ),
        (
            "helm",
            sources.helm,
            {"model": "acme/x"},
            "the files name the model openai/gpt-4o.",
        ),
        (
            "helm",
            sources.helm,
            {"address": "http://x"},
            "must begin with https:",
        ),
        (
            "inspect",
            lambda tmp, samples: tmp / "none.eval",
            {},
            "none.eval: no such file or folder.",
        ),
    ],
)
def test_invalid_imports_are_refused(
    kind: str,
    write: Any,
    more: dict[str, str],
    message: str,
    demos: Path,
    samples: list[Sample],
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "theirs", samples)
    with pytest.raises(MedicalTasksError) as caught:
        imported(kind, path, demos, tmp_path / "run", **more)
    assert message in str(caught.value)
    assert not (tmp_path / "run").exists()
