"""`make demo`: the whole path on a fresh machine, from data to a report.

Builds the invented records of four open tasks, lets a model answer a sample of each,
puts baselines beside it, and shows one table and one page. The model is a real one,
SmolLM2-135M-Instruct from a package index, whose answers are right and wrong; where the
index cannot be reached, or with REAL=0, it is a toy with random weights, whose score is
what babbling is worth. `baseline/reference` answers with the gold and must score 100 %.
What needs a judge is judged by comparing words.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import medical_tasks as mt
from medical_tasks.catalog import task_spec
from medical_tasks.errors import MedicalTasksError
from medical_tasks.models.stand_ins import make_toy_model
from medical_tasks.report.terminal import render_table

FOLDER = Path("demo")
# How many of a task's questions a model answers, and in how many tokens at most:
# minutes on two cores.
SAMPLES = {
    "medcalc_direct": (12, 64),
    "kqa": (4, 96),
    "meqsum": (6, 32),
    "aci_bench": (1, 192),
}
BASELINES = ("baseline/reference", "baseline/empty")


def real_model() -> str:
    """Makes the real model's checkpoint, once; prints why and returns "" if it is not available."""
    folder = FOLDER / "smollm2-135m-instruct"
    if os.environ.get("REAL") == "0":
        print("   REAL=0: no real model", flush=True)
        return ""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("real_model.py"), folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        print(
            f"   no real model ({errors[-1] if errors else 'its package could not be had'})",
            flush=True,
        )
        return ""
    return f"hf/{folder}"


def toy_model(texts: list[str]) -> str:
    """Makes the toy under another name first, so that a demo that is stopped here makes it again."""
    toy = FOLDER / "toy-model"
    if not toy.is_dir():
        shutil.rmtree(unfinished := FOLDER / "toy-model.part", ignore_errors=True)
        make_toy_model(unfinished, texts)
        unfinished.rename(toy)
    return f"hf/{toy}"


def headlines(results: mt.Results) -> dict[str, Any]:
    """Reduces results to each task's first metric."""
    tasks = {}
    for name, entry in results.content["tasks"].items():
        first = task_spec(name).metrics[0].name
        tasks[name] = {**entry, "metrics": {first: entry["metrics"][first]}}
    return {"tasks": tasks}


def main() -> None:
    """Runs the demo."""
    datasets = dict.fromkeys(task_spec(name).dataset for name in SAMPLES)
    for dataset in datasets:
        mt.build(dataset, config="demo", out=FOLDER / "datasets" / dataset)
    print(
        f"1. invented records of {', '.join(datasets)} in {FOLDER / 'datasets'}",
        flush=True,
    )
    print("2. a model", flush=True)
    notes = mt.load(
        "medcalc_bench", data=FOLDER / "datasets", config="demo", split="test"
    )["patient_note"]
    model = real_model() or toy_model(list(notes))
    print(f"   {model}", flush=True)
    runs: list[mt.Results] = []
    options: dict[str, Any] = {"data": FOLDER / "datasets", "config": "demo"}
    for number, (task, (sample, tokens)) in enumerate(SAMPLES.items(), start=3):
        print(
            f"{number}. {task}: a sample of {sample} to {', '.join((model, *BASELINES))}",
            flush=True,
        )
        for name in (model, *BASELINES):
            out = FOLDER / "runs" / f"{task}-{name.rpartition('/')[2]}"
            # other records or another model of that name
            shutil.rmtree(out, ignore_errors=True)
            limit = tokens if name == model else None
            runs.append(
                mt.run(
                    task,
                    name,
                    max_samples=sample,
                    max_new_tokens=limit,
                    out=out,
                    **options,
                )
            )
    table = render_table(*map(headlines, runs)).splitlines()
    # the notes of each run are in the report
    print("\n" + "\n".join(table[: 2 + len(runs)]))
    print(
        "The judge of these compares words and understands nothing: they show that a run works. A real one is named with --judge.\n"
    )
    for path in mt.report(runs, data=FOLDER / "datasets", out=FOLDER):
        print(f"report: {path}")


if __name__ == "__main__":
    try:
        main()
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
