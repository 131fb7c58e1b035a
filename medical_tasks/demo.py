"""`make demo`: the whole path on a fresh machine, without any download.

Builds the synthetic MedCalc-Bench records, makes a toy model (random weights, a tokenizer trained on those records), runs
it through lighteval and accelerate, puts two baselines beside it, and shows one table. The toy model knows nothing: its
score is what babbling is worth. `baseline/reference` answers with the gold and must score 100.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from medical_tasks.errors import MedicalTasksError

__all__ = ["main"]

FOLDER = Path("demo")
TASK = "medcalc"
MODELS = ("hf/demo/toy-model", "baseline/reference", "baseline/random")
# A random model does not stop by itself; this many tokens show the path.
MAX_NEW_TOKENS = "48"


def main() -> int:
    """Runs the demo; returns its exit code."""
    from medical_tasks.building import build_dataset
    from medical_tasks.catalog import dataset_spec, task_spec
    from medical_tasks.commands import run as run_command
    from medical_tasks.models.toy import make_toy_model
    from medical_tasks.report.markdown import REPORT_FILE, write_markdown
    from medical_tasks.report.table import render_table
    from medical_tasks.task_data import load_task_data

    task = task_spec(TASK)
    spec = dataset_spec(task.dataset)
    data = FOLDER / "datasets" / spec.name
    build_dataset(spec.name, source=None, config="demo", out=data)
    loaded = load_task_data(task, spec, data=data, config="demo")
    items = loaded.items
    print(f"1. synthetic data: {len(items)} records in {data}", flush=True)
    toy = FOLDER / "toy-model"
    if not toy.is_dir():
        # Made beside its place: a demo that is stopped here begins anew.
        shutil.rmtree(part := FOLDER / "toy-model.part", ignore_errors=True)
        make_toy_model(part, [item.fields["patient_note"] + "\n" + item.fields["question"] for item in items])
        part.rename(toy)
    print(f"2. toy model: {toy}", flush=True)
    # A folder belongs to one command on one set of data; other demo records get other folders.
    folders = [FOLDER / "runs" / f"{model.replace('/', '_')}-{loaded.revision['rows_sha256'][:8]}" for model in MODELS]
    runs = []
    for number, (model, folder) in enumerate(zip(MODELS, folders, strict=True), start=3):
        print(f"{number}. {TASK}: {model}", flush=True)
        words = ["--tasks", TASK, "--model", model, "--config", "demo", "--data", str(data), "--out", str(folder)]
        if model.startswith("hf/"):
            words += ["--max-new-tokens", MAX_NEW_TOKENS]
        results, _ = run_command.evaluate(run_command.parse(words)) or ({}, folder)
        write_markdown(results, folder)
        runs.append(results)
    print(f"\n{render_table(*runs)}")
    print("\nreports:", *(f"  {folder / REPORT_FILE}" for folder in folders), sep="\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
