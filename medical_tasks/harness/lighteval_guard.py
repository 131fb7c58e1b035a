"""The data guard around lighteval: what of its command line may be used while it holds credentialed text.

lighteval asks models by itself, so its arguments are read before it starts. What is not known to stay on this machine is
refused, whether or not it would leave.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.errors import RefusedError
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import in_use, new_private_id, private_folder
from medical_tasks.io.files import read_text
from medical_tasks.spec import TaskSpec

__all__ = ["check_arguments", "private_dataset_cache", "require_launcher"]

_PUSHES = ("--push-to-hub", "--push-to-tensorboard", "--public-run", "--wandb")
_OUTLETS = ("--save-details",)
# They compute in this process, or only look.
_IN_PROCESS = ("accelerate", "vllm", "sglang", "nanotron", "baseline", "tasks")
_PRINTS_SAMPLES = ["tasks", "inspect"]
_ADDRESS = "inference_server_address"
_CACHE_VARIABLE = "HF_DATASETS_CACHE"


def check_arguments(arguments: Sequence[str], positional: Sequence[str]) -> None:
    """Asks the guard about everything that the arguments would do; allows all of it for open data.

    Args:
        arguments: lighteval's arguments.
        positional: those that are neither options nor their values, the command first.

    Raises:
        RefusedError: Something would publish or write texts, or the model is not on this machine or cannot be seen.
        UsageError: The file with the model's arguments cannot be read.
    """
    if not policy.protecting():
        return
    given = {word.partition("=")[0] for word in arguments}
    for option in _PUSHES:
        if option in given:
            policy.require_push(f"lighteval's {option}")
    for option in _OUTLETS:
        if option in given:
            policy.require_text_outlet(f"lighteval's {option}")
    if list(positional[:2]) == _PRINTS_SAMPLES:
        policy.require_text_outlet("lighteval's `tasks inspect` (it prints samples)")
    command = positional[0] if positional else ""
    if command in _IN_PROCESS:
        policy.require_endpoint(None, "model")
    elif list(positional[:2]) == ["endpoint", "tgi"] and len(positional) > 2:
        policy.require_endpoint(_server_address(Path(positional[2])), "model")
    elif list(positional[:2]) == ["endpoint", "litellm"]:
        policy.require_text_outlet(
            "lighteval's `endpoint litellm` (it keeps questions and answers in ./.litellm_cache)"
        )
    else:
        policy.require_visible_endpoint(f"lighteval's `{' '.join(positional[:2])}`", "model")


def _server_address(path: Path) -> str:
    import yaml

    from medical_tasks.errors import UsageError

    try:
        content: Any = yaml.safe_load(read_text(path))
        address = content["model_parameters"][_ADDRESS]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path}: the address of the server cannot be read from it ({type(error).__name__}); a YAML file with "
            f"model_parameters and, in it, {_ADDRESS}: http://127.0.0.1:PORT is expected."
        ) from error
    return str(address)


@contextlib.contextmanager
def private_dataset_cache() -> Iterator[None]:
    """Lets lighteval copy credentialed rows only into the private store, and removes them when it has ended.

    `datasets` copies what it loads into a cache in the user's home, readable by whoever the umask lets in.
    """
    if not policy.protecting():
        yield
        return
    folder = private_folder(new_private_id(), run=Path.cwd())
    before = os.environ.get(_CACHE_VARIABLE)
    config = getattr(sys.modules.get("datasets"), "config", None)
    kept = None if config is None else config.HF_DATASETS_CACHE
    os.environ[_CACHE_VARIABLE] = str(folder)
    if config is not None:
        config.HF_DATASETS_CACHE = folder
    try:
        with in_use(folder):
            yield
    finally:
        if before is None:
            os.environ.pop(_CACHE_VARIABLE, None)
        else:
            os.environ[_CACHE_VARIABLE] = before
        # Imported meanwhile, it has read the variable above.
        config = getattr(sys.modules.get("datasets"), "config", None)
        if config is not None:
            config.HF_DATASETS_CACHE = kept or Path(before or config.DEFAULT_HF_DATASETS_CACHE)
        shutil.rmtree(folder)


def require_launcher(task: TaskSpec) -> None:
    """Refuses to put a credentialed task's question where nothing guards it, as under the stock `lighteval` command.

    Args:
        task: the task whose question is about to be made.

    Raises:
        RefusedError: The task's dataset is credentialed, and no `guard.protect` block knows the task.
    """
    spec = next(found for found in task.benchmark.datasets if found.name == task.dataset)
    if policy.text_allowed(spec) or policy.protects(task.name):
        return
    raise RefusedError(
        f"{policy.Subject.of(spec, task=task.name).rule}. {task.harness_name} is not run by the stock lighteval command, which "
        "would write its text into caches and details, and send it anywhere. Use: medical-tasks lighteval accelerate "
        f'"model_name=MODEL" --tasks {task.name}, or: medical-tasks run --tasks {task.name} --model hf/MODEL'
    )
