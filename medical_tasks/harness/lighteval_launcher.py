"""`medical-tasks lighteval`: the stock command with this suite's tasks, checked and guarded before it starts.

lighteval writes questions and answers to disk and may send them away; for credentialed tasks this launcher closes those ways.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.data.dataset_store import built_configs, built_split, datasets_home
from medical_tasks.data.task_data import choose_config
from medical_tasks.errors import MissingError, RefusedError, UsageError, install_command
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import in_use, new_private_id, private_folder
from medical_tasks.io.files import read_text
from medical_tasks.spec import DatasetSpec, TaskSpec

_PROGRAM = "medical-tasks lighteval"


def launch(arguments: Sequence[str], *, custom_tasks: str) -> int:
    """Runs `lighteval ARGUMENTS` in this process."""
    try:
        import lighteval.tasks.registry as registry
    except ModuleNotFoundError as error:
        raise MissingError(
            f"lighteval is not installed ({error.name} is missing). Install it with: {install_command('lighteval')}"
        ) from error
    _register_only(registry.Registry, custom_tasks)
    _switch_cache_off()
    return run_app(load_app(), arguments)


def load_app() -> Any:
    """Imports lighteval's command line, which silences every logger made before, and leaves those of this process working."""
    loggers = logging.Logger.manager.loggerDict.values()
    working = [logger for logger in loggers if isinstance(logger, logging.Logger) and not logger.disabled]
    from lighteval.__main__ import app

    for logger in working:
        logger.disabled = False
    return app


def run_app(app: Any, arguments: Sequence[str]) -> int:
    """Runs a typer application as if it were called with the arguments; an error where it does not know them."""
    wrong_arguments = _wrong_arguments()
    before = sys.argv
    sys.argv = ["lighteval", *arguments]
    try:
        # Without standalone mode a command's own value is returned, and the exit code where it stopped early.
        code = app(prog_name=_PROGRAM, standalone_mode=False)
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


def _wrong_arguments() -> Any:
    """The base of argument errors: click's own, or that of the copy of click which newer versions of typer carry."""
    from typer import BadParameter

    return importlib.import_module(BadParameter.__module__).ClickException


def _register_only(registry: Any, custom_tasks: str) -> None:
    """Replaces the scan of all built-in tasks, which downloads a file when one of them is imported."""

    def load(custom_tasks_given: Any = None, load_multilingual: bool = False, **named: Any) -> Any:
        wanted = named.get("custom_tasks", custom_tasks_given) or custom_tasks
        return registry._extract_configs(registry.create_custom_tasks_module(wanted))

    registry.load_all_task_configs = staticmethod(load)
    named = registry._get_full_task_list_from_input_string

    def in_order(self: Any, tasks: Any) -> list[str]:
        # lighteval takes them out of a set, in another order in each process: ranks would wait for one another for ever.
        return sorted(named(self, tasks))

    registry._get_full_task_list_from_input_string = in_order


def _switch_cache_off() -> None:
    """Its key has the prompt function's name but not its text, and all ranks write one file."""
    from lighteval.pipeline import Pipeline

    original = Pipeline.evaluate

    def evaluate(self: Any) -> Any:
        self.model._cache = None
        return original(self)

    Pipeline.evaluate = evaluate


CONFIG_VARIABLE = "MEDICAL_TASKS_CONFIG"

# Their first positional argument says which weights are loaded here; an endpoint's model_name is a name of its server.
_LOADS_WEIGHTS = ("accelerate", "vllm", "sglang")
_MODEL_NAME = re.compile(r"(?:^|,)model_name=([^,]*)")
# Names on the Hub never begin like this.
_PATH_STARTS = ("./", "../", "/", "~")


def wanted_config() -> str | None:
    """Returns the configuration that the user named, None for the dataset's default one."""
    return os.environ.get(CONFIG_VARIABLE) or None


def dataset_source(spec: DatasetSpec) -> tuple[Path, str]:
    """The built folder and the configuration of which lighteval reads the rows, as `medical-tasks run` would choose them."""
    folder = datasets_home() / spec.name
    return folder, choose_config(spec, folder, wanted_config())


def check_data(specs: Iterable[DatasetSpec], tasks: Sequence[TaskSpec] = ()) -> None:
    """Checks that datasets are built, in the version that this suite reads and with the splits that are asked."""
    for spec in specs:
        try:
            folder, config = dataset_source(spec)
        except (UsageError, MissingError) as error:
            raise type(error)(
                f"{error}\nlighteval has no --config: the configuration is named by {CONFIG_VARIABLE}, for example "
                f"{CONFIG_VARIABLE}=demo medical-tasks lighteval ..."
            ) from error
        built = built_configs(folder)[config]
        if built.version != spec.version:
            raise UsageError(
                f"{folder}: config {config} was built in version {built.version}, this suite reads {spec.version}. Build "
                f"it again: medical-tasks build {spec.name} --config {config}"
            )
        for task in tasks:
            if task.dataset == spec.name:
                try:
                    built_split(folder, config, task.split, spec=spec)
                except UsageError as error:
                    raise UsageError(
                        f"{task.name}: {error}\nlighteval has no --split: ask another one by medical-tasks run --tasks {task.name}"
                    ) from error


def check_model(positional: Sequence[str]) -> None:
    """Checks the model arguments as far as that needs neither weights nor the Hub; `positional` begins with lighteval's command."""
    if len(positional) < 2 or positional[0] not in _LOADS_WEIGHTS:
        return
    given = positional[1]
    if given.endswith(".yaml"):
        if not Path(given).is_file():
            raise UsageError(f"model arguments {given}: there is no such file.")
        return
    if "=" not in given:
        raise UsageError(
            f"model arguments {given!r} are not of the form NAME=VALUE,... Give for example model_name={given}, or a "
            ".yaml file of lighteval's."
        )
    found = _MODEL_NAME.search(given)
    name = found.group(1) if found else ""
    if not name.startswith(_PATH_STARTS):
        return
    path = Path(name)
    if name == "~" or name.startswith("~/"):
        path = path.expanduser()
        if path.exists():
            raise UsageError(f"model_name={name}: lighteval does not replace ~. Give model_name={path}.")
    if not path.exists():
        raise UsageError(f"model_name={name}: there is no such folder. Give a model's folder, or a name on the Hub.")


_PUSHES = ("--push-to-hub", "--push-to-tensorboard", "--public-run", "--wandb")
_OUTLET = "--save-details"
# They compute in this process, or only look.
_IN_PROCESS = ("accelerate", "vllm", "sglang", "nanotron", "baseline", "tasks")
_PRINTS_SAMPLES = ["tasks", "inspect"]
_ADDRESS = "inference_server_address"
_CACHE_VARIABLE = "HF_DATASETS_CACHE"


def check_arguments(arguments: Sequence[str], positional: Sequence[str]) -> None:
    """Asks the guard about everything that the arguments would do; allows all of it for open data."""
    if not policy.protecting():
        return
    given = {word.partition("=")[0] for word in arguments}
    for option in _PUSHES:
        if option in given:
            policy.require_push(f"lighteval's {option}")
    if _OUTLET in given:
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
        policy.require_visible_endpoint(f"lighteval's `{' '.join(positional[:2])}`", "model")


def _server_address(path: Path) -> str:
    import yaml

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
    """Lets lighteval copy rows only into the private store, for its run: the home's cache is readable as the umask lets."""
    if not policy.protecting():
        yield
        return
    folder = private_folder(new_private_id(), run=Path.cwd())
    before = os.environ.get(_CACHE_VARIABLE)
    config = getattr(sys.modules.get("datasets"), "config", None)
    kept = getattr(config, "HF_DATASETS_CACHE", None)
    os.environ[_CACHE_VARIABLE] = str(folder)
    if config is not None:
        config.HF_DATASETS_CACHE = folder
    try:
        with in_use(folder):
            yield
    finally:
        os.environ.pop(_CACHE_VARIABLE, None)
        if before is not None:
            os.environ[_CACHE_VARIABLE] = before
        # Imported meanwhile, it has read the variable above.
        config = getattr(sys.modules.get("datasets"), "config", None)
        if config is not None:
            config.HF_DATASETS_CACHE = kept or Path(before or config.DEFAULT_HF_DATASETS_CACHE)
        shutil.rmtree(folder)


def require_launcher(task: TaskSpec) -> None:
    """Refuses to put a credentialed task's question where nothing guards it, as under the stock `lighteval` command."""
    spec = next(found for found in task.benchmark.datasets if found.name == task.dataset)
    if policy.text_allowed(spec) or policy.protects(task.name):
        return
    raise RefusedError(
        f"{policy.Subject.of(spec, task=task.name).rule}. {task.harness_name} is not run by the stock lighteval command, which "
        "would write its text into caches and details, and send it anywhere. Use: medical-tasks lighteval accelerate "
        f'"model_name=MODEL" --tasks {task.name}, or: medical-tasks run --tasks {task.name} --model hf/MODEL'
    )
