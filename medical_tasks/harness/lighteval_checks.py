"""What can be told before lighteval starts, which takes long and ends with a traceback: missing data, a missing model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from medical_tasks.data.dataset_store import built_configs, built_split, datasets_home
from medical_tasks.data.task_data import choose_config
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.spec import DatasetSpec, TaskSpec

__all__ = ["CONFIG_VARIABLE", "check_data", "check_model", "dataset_source", "wanted_config"]

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
    """Says where lighteval reads the rows of a dataset.

    Args:
        spec: the dataset.

    Returns:
        The built folder, and the configuration `medical-tasks run` would take.

    Raises:
        UsageError: There is no such configuration, the marker is damaged, or several are built and none is the default.
        MissingError: It is not built; the message holds the steps.
    """
    folder = datasets_home() / spec.name
    return folder, choose_config(spec, folder, wanted_config())


def check_data(specs: Iterable[DatasetSpec], tasks: Sequence[TaskSpec] = ()) -> None:
    """Checks that datasets are built, in the version that this suite reads and with the splits that are asked.

    Args:
        specs: the datasets of the tasks that will be run.
        tasks: these tasks.

    Raises:
        UsageError: As `dataset_source`, the dataset was built by another version, or a task's split is not built.
        MissingError: One is not built; the message holds the steps.
    """
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
    """Checks the model arguments as far as that needs neither weights nor the Hub.

    Args:
        positional: lighteval's positional arguments, the command first.

    Raises:
        UsageError: The form is wrong, or a path that is named does not exist.
    """
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
