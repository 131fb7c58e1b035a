"""Checks the second environment (`make check-vllm`): everything about it that a machine without a GPU can show.

    .env-vllm/bin/python scripts/check_vllm.py

Each step prints one line; the first that fails ends the check with its error. Where
there is a GPU, vLLM itself answers too.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from medical_tasks.errors import MissingError
from medical_tasks.models.base import Answer, Failure, Model, Request

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints-vllm.txt"
WORDS = "The patient reports chest pain on exertion and was given aspirin. Is the dose right? What should be done next?"
LETTERS = "a quick brown fox jumps over the lazy dog while five wizards box and seven judges mix liquor jugs for my sphinx"


def main() -> None:
    """Runs all steps in order."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    with tempfile.TemporaryDirectory() as scratch:
        toy = Path(scratch) / "toy"
        # What is built and downloaded by others stays out of it.
        os.environ.update(
            MEDICAL_TASKS_DATA=str(Path(scratch) / "data"),
            MEDICAL_TASKS_CONFIG="demo",
            HF_HUB_OFFLINE="1",
        )
        steps: list[tuple[str, Callable[[], str]]] = [
            ("installed versions", check_versions),
            ("vLLM", check_import),
            ("model arguments", lambda: check_arguments(toy)),
            ("tasks", check_tasks),
            ("hf/ on the toy", lambda: check_transformers_backend(toy)),
            ("a run", lambda: check_run(toy)),
            ("vllm/ on the toy", lambda: check_vllm_backend(toy)),
        ]
        make_toy(toy)
        for title, step in steps:
            print(f"{title}: {step()}", flush=True)
    print("all well")


def expect(fact: bool, problem: str) -> None:
    """Ends the check when something does not hold."""
    if not fact:
        raise SystemExit(f"check-vllm failed: {problem}")


def make_toy(folder: Path) -> None:
    """Makes the toy here: a tokenizer saved by transformers 5 would not load."""
    from medical_tasks.models.stand_ins import make_toy_model

    make_toy_model(
        folder,
        [
            WORDS,
            LETTERS,
            *(f"{word} {other}" for word in WORDS.split() for other in LETTERS.split()),
        ],
    )


def check_versions() -> str:
    """Compares what is installed with the pinned set, and lets pip check that the packages fit each other."""
    lines = [
        line.strip() for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    ]
    pinned = dict(
        line.split("==", 1) for line in lines if line and not line.startswith("#")
    )
    expect(len(pinned) > 200, f"{CONSTRAINTS.name} names only {len(pinned)} packages")
    versions = {name: installed(name) for name in pinned}
    wrong = [
        f"{name} {versions[name]} instead of {pinned[name]}"
        for name in pinned
        if versions[name] not in (None, pinned[name])
    ]
    expect(not wrong, "; ".join(wrong))
    for name in ("lighteval", "vllm", "transformers", "torch", "huggingface-hub"):
        expect(versions[name] is not None, f"{name} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "check"],
        capture_output=True,
        text=True,
        check=False,
    )
    expect(done.returncode == 0, done.stdout + done.stderr)
    return f"{sum(version is not None for version in versions.values())} packages as pinned, pip check clean"


def installed(name: str) -> str | None:
    """Returns the version of an installed package, without its build tag."""
    try:
        return importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def check_import() -> str:
    """Imports vLLM, and asks lighteval whether it would use it."""
    import torch
    import vllm
    from lighteval.utils.imports import is_package_available

    expect(is_package_available("vllm"), "lighteval does not take this vLLM")
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return f"{vllm.__version__}, lighteval takes it, {gpus} GPUs"


def check_arguments(toy: Path) -> str:
    """Builds lighteval's configuration from our model arguments."""
    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.vllm.vllm_model import VLLMModelConfig

    from medical_tasks.models.checkpoint import find_checkpoint
    from medical_tasks.models.lighteval_models import generation_settings, vllm_settings
    from medical_tasks.models.opener import VLLM_OPTIONS, read_options

    options = {
        "tensor_parallel_size": "2",
        "gpu_memory_utilization": "0.5",
        "max_model_length": "1024",
        "seed": "3",
    }
    values = read_options(options, VLLM_OPTIONS, model="vllm/toy")
    settings = vllm_settings(
        values, find_checkpoint(str(toy), revision=None), name="vllm/toy"
    )
    config = VLLMModelConfig(
        **settings,
        generation_parameters=GenerationParameters(**generation_settings(values)),
    )
    for name, value in options.items():
        expect(
            str(getattr(config, name)) == value,
            f"{name} became {getattr(config, name)!r}",
        )
    expect(
        config.generation_parameters.max_new_tokens is None,
        "max_new_tokens is set for the whole model",
    )
    return "tensor_parallel_size, gpu_memory_utilization, max_model_length and seed reach lighteval"


def check_tasks() -> str:
    """Builds the synthetic data, and lets lighteval find our tasks and make their questions, without its own tasks."""
    command("build", "medcalc_bench", "--config", "demo")
    from lighteval.tasks.lighteval_task import LightevalTask
    from lighteval.tasks.registry import Registry

    import medical_tasks.lighteval_tasks as ours

    configs = Registry._extract_configs(
        Registry.create_custom_tasks_module("medical_tasks.lighteval_tasks")
    )
    names = [config.name for config in ours.TASKS_TABLE]
    expect(
        "medical:medcalc" in configs, f"medical:medcalc is not among {sorted(configs)}"
    )
    expect(
        set(configs) == set(names),
        f"lighteval finds {sorted(configs)}, the table has {sorted(names)}",
    )
    task = LightevalTask(configs["medical:medcalc"])
    LightevalTask.load_datasets({task.full_name: task})
    docs = task.get_docs(3)
    expect(len(docs) == 3, f"{len(docs)} questions instead of 3")
    return f"lighteval finds all {len(names)} names and makes questions"


def check_run(toy: Path) -> str:
    """Runs a task on the toy by our own command."""
    out = toy.parent / "run"
    limits = ["--max-samples", "4", "--max-new-tokens", "16"]
    command(
        "run",
        "--tasks",
        "medcalc",
        "--config",
        "demo",
        "--model",
        f"hf/{toy}",
        "--out",
        str(out),
        *limits,
    )
    coverage = json.loads((out / "results.json").read_text(encoding="utf-8"))["tasks"][
        "medcalc"
    ]["coverage"]
    expect(coverage["answered"] == 4, f"coverage {coverage}")
    return f"medical-tasks run answered {coverage['answered']} of {coverage['asked']} questions"


def command(*arguments: str) -> None:
    """Runs `medical-tasks` with this Python."""
    done = subprocess.run(
        [sys.executable, "-m", "medical_tasks", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    expect(
        done.returncode == 0,
        f"medical-tasks {' '.join(arguments)}: {done.stdout}{done.stderr}",
    )


def check_transformers_backend(toy: Path) -> str:
    """Answers a few questions on lighteval's transformers backend."""
    from medical_tasks.models.lighteval_models import open_hf

    model = open_hf(f"hf/{toy}", options={"batch_size": "4"})
    before = sorted(toy.rglob("*"))
    first, second = ask(model), ask(model)
    expect(first == second, "the same questions got other answers")
    expect(
        sorted(toy.rglob("*")) == before, "files were written into the model's folder"
    )
    expect(any(answer.text for answer in first), "all answers are empty")
    model.close()
    return f"{len(first)} answers, {sum(answer.output_tokens or 0 for answer in first)} tokens; {model.identity['engine']}"


def check_vllm_backend(toy: Path) -> str:
    """Answers on vLLM where there is a GPU; else checks the error that reports the missing GPU."""
    import torch

    from medical_tasks.models.lighteval_models import open_vllm

    options = {
        "gpu_memory_utilization": "0.2",
        "max_model_length": "1024",
        "dtype": "float16",
    }
    if torch.cuda.is_available():
        model = open_vllm(f"vllm/{toy}", options=options)
        answers = ask(model)
        model.close()
        return f"{len(answers)} answers, {sum(answer.output_tokens or 0 for answer in answers)} tokens"
    try:
        open_vllm(f"vllm/{toy}", options=options)
    except MissingError as error:
        expect("needs a GPU" in str(error), str(error))
        return f"refused in plain words, for there is no GPU here ({error})"
    raise SystemExit("check-vllm failed: vllm/ opened without a GPU")


def ask(model: Model) -> Sequence[Answer]:
    """Asks nine questions, all of which must be answered."""
    words = WORDS.split()
    requests = [
        Request(
            key=f"q{count}",
            messages=({"role": "user", "content": " ".join(words[:count])},),
            max_new_tokens=16,
        )
        for count in range(1, 10)
    ]
    results: list[Answer | Failure] = []
    model.generate(requests, results.append)
    answers = sorted(
        (result for result in results if isinstance(result, Answer)),
        key=lambda answer: answer.key,
    )
    expect(
        len(answers) == len(requests),
        f"{len(requests)} questions got {len(answers)} answers: {results}",
    )
    return answers


if __name__ == "__main__":
    main()
