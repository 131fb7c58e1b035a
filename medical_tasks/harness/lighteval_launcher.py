"""`medical-tasks lighteval`: the stock command with this suite's tasks, checked and guarded.

lighteval writes questions and answers to disk and may send them away; for credentialed
tasks this launcher prevents that. They run with a model in its process (`accelerate`,
`vllm`, `sglang`, `nanotron`), or with `endpoint tgi` and a local or allowed
`inference_server_address`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast
from unittest import mock

import medical_tasks.plugins as plugins
from medical_tasks.data.task_data import TaskData, load_task_data
from medical_tasks.errors import (
    IncompleteError,
    MedicalTasksError,
    MissingError,
    RefusedError,
    UsageError,
    install_command,
    system_reason,
)
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import in_use, new_private_id, private_folder
from medical_tasks.io.files import WholeFile, read_text
from medical_tasks.models.lighteval_models import CPU_BATCH
from medical_tasks.spec import DatasetSpec, TaskSpec

if TYPE_CHECKING:
    from lighteval.pipeline import Pipeline
    from lighteval.tasks.lighteval_task import LightevalTaskConfig
    from lighteval.tasks.registry import Registry
    from typer import Typer

logger = logging.getLogger(__name__)

_PROGRAM = "medical-tasks lighteval"


def launch(arguments: Sequence[str], *, custom_tasks: str) -> int:
    """Runs `lighteval ARGUMENTS` in this process."""
    try:
        import lighteval.tasks.registry as registry
    except ModuleNotFoundError as error:
        raise _not_installed(str(error.name)) from error
    _register_only(registry.Registry, custom_tasks)
    _prepare_models()
    return run_app(load_app(), arguments)


def _not_installed(name: str = "lighteval") -> MissingError:
    return MissingError(
        f"lighteval is not installed ({name} is missing). Install it with: "
        f"{install_command('lighteval')}"
    )


_LINK = '''"""Tasks of medical-tasks: written by `medical-tasks doctor --link-lighteval`, removed by `--unlink-lighteval`."""
try:
    from medical_tasks.lighteval_tasks import linked
except ModuleNotFoundError as error:
    if error.name != "medical_tasks":
        raise
    TASKS_TABLE = []  # uninstalled
else:
    TASKS_TABLE = linked()
'''


def link_path() -> Path:
    """Returns the file among lighteval's own tasks by which its stock command finds this suite's."""
    spec = importlib.util.find_spec("lighteval")
    if spec is None or not spec.submodule_search_locations:
        raise _not_installed()
    return (
        Path(spec.submodule_search_locations[0])
        / "tasks"
        / "tasks"
        / "medical_tasks_link.py"
    )


def link(enabled: bool) -> str:
    """Writes that file, or removes it; returns a message that says what was done."""
    path = link_path()
    try:
        if os.path.lexists(path) and not read_text(path).startswith(
            _LINK.partition("\n")[0]
        ):
            raise UsageError(
                f"{path}: is not a file that this suite wrote; it stays. Move it away first."
            )

        if not enabled:
            path.unlink(missing_ok=True)
            return f"not linked: the stock lighteval command needs --custom-tasks medical_tasks.lighteval_tasks ({path})"

        path.parent.stat()
        with WholeFile(path) as file:
            file.write(_LINK)
    except (OSError, IncompleteError) as error:
        raise UsageError(
            f"{path}: {system_reason(cast(OSError, error.__cause__ or error))}. Use an environment "
            "that is yours, or lighteval's option --custom-tasks medical_tasks.lighteval_tasks."
        ) from error

    return (
        f'linked by {path}: lighteval accelerate "model_name=MODEL" "medical:medcalc|0"'
    )


def load_app() -> Typer:
    """Imports lighteval's command line, which disables all existing loggers, and enables them again."""
    loggers = logging.Logger.manager.loggerDict.values()
    working = [
        logger
        for logger in loggers
        if isinstance(logger, logging.Logger) and not logger.disabled
    ]
    from lighteval.__main__ import app

    for logger in working:
        logger.disabled = False

    application: Typer = app
    return application


def run_app(app: Typer, arguments: Sequence[str]) -> int:
    """Runs a typer application as if it were called with the arguments.

    Raises:
        UsageError: It does not accept them.
    """
    wrong_arguments = _click("exceptions").ClickException
    before = sys.argv
    sys.argv = ["lighteval", *arguments]
    try:
        # Without standalone mode the command's return value comes back, or its exit code
        # if it stopped early.
        code = app(prog_name=_PROGRAM, standalone_mode=False)
    except MedicalTasksError:
        raise
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except wrong_arguments as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else _PROGRAM
        message = error.format_message().strip().rstrip(".")
        raise UsageError(f"lighteval: {message}. See: {command} --help") from error
    finally:
        sys.argv = before

    return code if isinstance(code, int) else 0


def _click(module: str) -> ModuleType:
    """Imports a module of click, or of its copy in newer versions of typer."""
    from typer import BadParameter

    return importlib.import_module(
        BadParameter.__module__.removesuffix("exceptions") + module
    )


def command_line() -> dict[str, object]:
    """Returns the parameters of lighteval's command; empty if it is used as a library."""
    context = _click("globals").get_current_context(silent=True)
    return {} if context is None else {"command": context.info_name, **context.params}


@contextlib.contextmanager
def shown_by_lighteval() -> Iterator[None]:
    """Makes errors of this suite a type that lighteval's command shows without a traceback."""
    try:
        with plugins.attributing_errors():
            yield
    except MedicalTasksError as error:
        shown = type(
            type(error).__name__, (type(error), _click("exceptions").ClickException), {}
        )
        raise shown(str(error)) from error


def check_command(task: TaskSpec) -> None:
    """Rejects the command that cannot run a task, and warns once about a search that takes minutes."""
    options = command_line()
    if options.get("command") == "eval":
        raise UsageError(
            "lighteval eval, its inspect backend, runs no tasks but lighteval's own (lighteval "
            f"0.13.0, issue 1327). Use: inspect eval medical_tasks/{task.name} --model MODEL"
        )
    if options.get("command") == "accelerate":
        _warn_of_search(options["model_args"])


@functools.cache
def _warn_of_search(model: str) -> None:
    import torch

    model_args = read_text(Path(model)) if model.endswith(".yaml") else model
    if "batch_size" not in model_args and not torch.accelerator.is_available():
        logger.warning(
            "no GPU and no batch_size: the stock command tries sizes for minutes. Add "
            "batch_size=%s to the model's arguments, which is the default of medical-tasks "
            "lighteval",
            CPU_BATCH,
        )


def _register_only(registry: type[Registry], custom_tasks: str) -> None:
    """Replaces the scan of all built-in tasks, one of which downloads a file."""

    def load(
        custom_tasks_given: str | None = None,
        load_multilingual: bool = False,
        **named: object,
    ) -> dict[str, LightevalTaskConfig]:
        module_name = named.get("custom_tasks", custom_tasks_given) or custom_tasks
        module = registry.create_custom_tasks_module(module_name)
        configs: dict[str, LightevalTaskConfig] = registry._extract_configs(module)
        return configs

    registry.load_all_task_configs = staticmethod(load)
    named = registry._get_full_task_list_from_input_string

    def in_order(self: Registry, tasks: str) -> list[str]:
        # lighteval iterates over a set, whose order differs between processes: ranks
        # would wait for one another for ever.
        return sorted(named(self, tasks))

    registry._get_full_task_list_from_input_string = in_order


def _prepare_models() -> None:
    """Disables the response cache.

    Its key holds the prompt function's name but not its text, and all ranks write the
    same file.
    """
    import torch
    from lighteval.pipeline import Pipeline

    original = Pipeline.evaluate

    def evaluate(self: Pipeline) -> object:
        self.model._cache = None
        if (
            getattr(self.model.config, "batch_size", 0) is None
            and not torch.accelerator.is_available()
        ):
            self.model.config.batch_size = CPU_BATCH

        returned: object = original(self)
        return returned

    Pipeline.evaluate = evaluate


CONFIG_VARIABLE = "MEDICAL_TASKS_CONFIG"

# Their first positional argument names the weights to load; an endpoint's model_name is
# a name on its server.
_LOADS_WEIGHTS = ("accelerate", "vllm", "sglang")
_MODEL_NAME = re.compile(r"(?:^|,)model_name=([^,]*)")
# Names on the Hub never start like this.
_PATH_STARTS = ("./", "../", "/", "~")


def chosen_config() -> str | None:
    """Returns the configuration that the user chose; None for the dataset's default."""
    return os.environ.get(CONFIG_VARIABLE) or None


def task_items(task: TaskSpec, most: int | None = None) -> TaskData:
    """Returns the items of a task that `medical-tasks run` would ask about; raises what it raises."""
    try:
        return load_task_data(
            task, dataset_of(task), config=chosen_config(), max_samples=most
        )
    except (UsageError, MissingError) as error:
        raise type(error)(
            f"{task.name}: {error}\nlighteval has no --config and no --split: {CONFIG_VARIABLE} "
            f"names a configuration ({CONFIG_VARIABLE}=demo medical-tasks lighteval ...); another "
            f"split is for medical-tasks run --tasks {task.name}"
        ) from error


def check_model(positional: Sequence[str]) -> None:
    """Checks the model arguments as far as possible without weights and without the Hub.

    `positional` starts with lighteval's command.
    """
    if len(positional) < 2 or positional[0] not in _LOADS_WEIGHTS:
        return

    model_args = positional[1]
    if model_args.endswith(".yaml"):
        if not Path(model_args).is_file():
            raise UsageError(f"model arguments {model_args}: there is no such file.")

        return

    if "=" not in model_args:
        raise UsageError(
            f"model arguments {model_args!r} are not of the form NAME=VALUE,... Give for example "
            f"model_name={model_args}, or a .yaml file of lighteval's."
        )

    match = _MODEL_NAME.search(model_args)
    name = match.group(1) if match else ""
    if not name.startswith(_PATH_STARTS):
        return

    path = Path(name)
    if name == "~" or name.startswith("~/"):
        path = path.expanduser()
        if path.exists():
            raise UsageError(
                f"model_name={name}: lighteval does not replace ~. Give model_name={path}."
            )

    if not path.exists():
        raise UsageError(
            f"model_name={name}: there is no such folder. Give a model's folder, or a name on the "
            "Hub."
        )


_PUSHES = ("--push-to-hub", "--push-to-tensorboard", "--public-run", "--wandb")
_OUTLET = "--save-details"
# These compute in this process, or only read.
_IN_PROCESS = ("accelerate", "vllm", "sglang", "nanotron", "baseline", "tasks")
_PRINTS_SAMPLES = ["tasks", "inspect"]
_ADDRESS = "inference_server_address"
_CACHE_VARIABLE = "HF_DATASETS_CACHE"


def check_arguments(arguments: Sequence[str], positional: Sequence[str]) -> None:
    """Checks everything that the arguments would do with the guard; open data may do it all."""
    if not policy.protecting():
        return

    options = {word.partition("=")[0] for word in arguments}
    for option in _PUSHES:
        if option in options:
            policy.require_push(f"lighteval's {option}")

    if _OUTLET in options:
        policy.require_text_outlet(f"lighteval's {_OUTLET}")
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
        policy.require_visible_endpoint(
            f"lighteval's `{' '.join(positional[:2])}`", "model"
        )


def _server_address(path: Path) -> str:
    """Returns the server's address in a YAML file of lighteval."""
    import yaml

    try:
        content: dict[str, dict[str, str]] = yaml.safe_load(read_text(path))
        address = content["model_parameters"][_ADDRESS]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path}: the address of the server cannot be read from it ({type(error).__name__}); a "
            f"YAML file with model_parameters and, in it, {_ADDRESS}: http://127.0.0.1:PORT is "
            "expected."
        ) from error

    return str(address)


@contextlib.contextmanager
def private_dataset_cache() -> Iterator[None]:
    """Makes lighteval copy rows into the private store only, for the duration of its run.

    By the umask, others might read the cache in the home folder.
    """
    if not policy.protecting():
        yield
        return

    import datasets

    folder = private_folder(new_private_id(), run=Path.cwd())
    # for processes that it starts
    variable = mock.patch.dict(os.environ, {_CACHE_VARIABLE: str(folder)})
    try:
        with (
            in_use(folder),
            variable,
            mock.patch.object(datasets.config, _CACHE_VARIABLE, folder),
        ):
            yield
    finally:
        shutil.rmtree(folder)


def dataset_of(task: TaskSpec) -> DatasetSpec:
    """Returns the dataset of a task."""
    return next(
        dataset for dataset in task.benchmark.datasets if dataset.name == task.dataset
    )


def require_launcher(task: TaskSpec) -> None:
    """Refuses a credentialed task outside the guard, as under the stock `lighteval` command."""
    spec = dataset_of(task)
    if policy.text_allowed(spec) or policy.protects(task.name):
        return
    raise RefusedError(
        f"{policy.Subject.of(spec, task=task.name).rule}. {task.harness_name} is not run by the stock lighteval command, which "
        "would write its text into caches and details, and send it anywhere. Use: medical-tasks lighteval accelerate "
        f'"model_name=MODEL" --tasks {task.name}, or: medical-tasks run --tasks {task.name} --model hf/MODEL'
    )
