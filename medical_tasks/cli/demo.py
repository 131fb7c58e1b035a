"""`make demo`: the whole path on a fresh machine, without any download.

Builds the synthetic MedCalc-Bench records, makes a toy model (random weights, a tokenizer trained on those records), runs
it through lighteval and accelerate, puts two baselines beside it, and shows one table. The toy model knows nothing: its
score is what babbling is worth. `baseline/reference` answers with the gold and must score 100. Then the same for K-QA, whose
answers a judge scores: the lexical one, which needs nothing. Last, all of it on one page.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import medical_tasks
from medical_tasks.benchmarks.catalog import build_dataset, dataset_spec, task_spec
from medical_tasks.data.task_data import TaskData, load_task_data
from medical_tasks.errors import MedicalTasksError

__all__ = ["main"]

FOLDER = Path("demo")
TASK = "medcalc"
MODELS = ("hf/demo/toy-model", "baseline/reference", "baseline/random")
# A random model does not stop by itself; this many tokens show the path.
MAX_NEW_TOKENS = "48"
JUDGED_TASK = "kqa"
JUDGED_MODELS = ("baseline/reference", "baseline/empty")


def main() -> int:
    """Runs the demo; returns its exit code."""
    from medical_tasks.models.stand_ins import make_toy_model
    from medical_tasks.report.terminal import render_table

    data = _built(TASK)
    print(f"1. synthetic data: {len(data.items)} records in {data.folder}", flush=True)
    toy = FOLDER / "toy-model"
    if not toy.is_dir():
        # Made beside its place: a demo that is stopped here begins anew.
        shutil.rmtree(part := FOLDER / "toy-model.part", ignore_errors=True)
        make_toy_model(part, [item.fields["patient_note"] + "\n" + item.fields["question"] for item in data.items])
        part.rename(toy)
    print(f"2. toy model: {toy}", flush=True)
    runs, folders = _run(TASK, MODELS, data, first=3)
    print(f"\n{render_table(*runs)}\n")
    questions = _built(JUDGED_TASK)
    print(f"6. synthetic data: {len(questions.items)} questions in {questions.folder}", flush=True)
    judged, judged_folders = _run(JUDGED_TASK, JUDGED_MODELS, questions, first=7)
    print(f"\n{render_table(*judged)}")
    print(flush=True)
    return _report(folders + judged_folders)


def _report(folders: Sequence[Path]) -> int:
    """Shows all runs on one page."""
    for path in medical_tasks.report(folders, data=FOLDER / "datasets", out=FOLDER):
        print(f"report: {path}")
    return 0


def _built(name: str) -> TaskData:
    """Builds the demo records of a task's dataset, and reads them."""
    task = task_spec(name)
    spec = dataset_spec(task.dataset)
    data = FOLDER / "datasets" / spec.name
    build_dataset(spec.name, source=None, config="demo", out=data)
    return load_task_data(task, spec, data=data, config="demo")


def _run(task: str, models: Sequence[str], data: TaskData, *, first: int) -> tuple[list[Mapping[str, Any]], list[Path]]:
    """Evaluates models; returns their results and folders."""
    from medical_tasks.report.markdown import write_markdown

    # A folder belongs to one command on one set of data; other demo records get other folders.
    stem = "" if task == TASK else f"{task}-"
    folders = [
        FOLDER / "runs" / f"{stem}{model.replace('/', '_')}-{data.revision['rows_sha256'][:8]}" for model in models
    ]
    runs = []
    for number, (model, folder) in enumerate(zip(models, folders, strict=True), start=first):
        print(f"{number}. {task}: {model}", flush=True)
        options: dict[str, Any] = {"max_new_tokens": MAX_NEW_TOKENS} if model.startswith("hf/") else {}
        done = medical_tasks.run(task, model, config="demo", data=data.folder, out=folder, **options)
        write_markdown(done.content, folder)
        runs.append(done.content)
    return runs, folders


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
