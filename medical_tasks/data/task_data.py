"""A task's items from a built dataset: which folder, which configuration, which items."""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.data.dataset_store import (
    built_config,
    built_configs,
    built_name,
    built_split,
    read_rows,
    recorded_rows_hash,
    rows_hash,
    split_names,
)
from medical_tasks.errors import MissingError, UsageError, check_least, doing
from medical_tasks.guard.private_store import scratch
from medical_tasks.io.user_folders import datasets_home
from medical_tasks.options import WithSubset
from medical_tasks.spec import (
    Asking,
    Benchmark,
    DatasetSpec,
    Item,
    MultiStep,
    PromptSet,
    Row,
    TaskSpec,
)

if TYPE_CHECKING:
    from medical_tasks.data.dataset_source import DatasetSource

SWAP: Final = "swap"
"""Key of a built configuration's source: which attribute of the patients was changed, `sex=female`."""
SWAP_OF: Final = "rows before the swap, {}"
"""Likewise, with a split: the hash of the rows that were changed."""
SWAP_LEFT_OUT: Final = "rows left out of the swap, {}"
"""Likewise, with a split: how many rows could not be changed."""
SWAP_RULES: Final = "rules of the swap"
"""Likewise: the version of the rules by which they were."""


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """The items of a task, and their origin.

    Attributes:
        items: the items.
        config: the configuration of the dataset.
        folder: the folder of the built dataset.
        revision: the recipe's description of the data: name, configuration, split, version
            and hashes.
        exemplars: the rows that worked examples are drawn from, for a task that shows some.
        shard: which part of the items these are, such as 2/8.
        subset: how they were drawn from all items.
        drawn_from: all items, if these are a sample.
        scoring_args: scoring arguments stored with the data, such as a second set of labels.
    """

    items: list[Item]
    config: str
    folder: Path
    revision: dict[str, Any]
    exemplars: Sequence[Row] = ()
    shard: str | None = None
    subset: Mapping[str, Any] | None = None
    drawn_from: Sequence[Item] = ()
    scoring_args: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, Any]:
        """The revision without the official files' names: the same rows are the same data."""
        return {
            name: value for name, value in self.revision.items() if name != "source"
        }

    @property
    def answerable(self) -> Sequence[Item]:
        """The items that a file of answers may cover: all of them, even for a sample."""
        return self.drawn_from or self.items

    @property
    def recipe_part(self) -> dict[str, object]:
        """The recipe's description of how these items were selected."""
        return {
            name: value
            for name in ("subset", "shard")
            if (value := getattr(self, name)) is not None
        }


def read_shard(text: str | None) -> tuple[int, int]:
    """Reads the number of a part and the number of parts of a task's items.

    A part has every n-th item, so that parts take about equally long.
    """
    match = re.fullmatch(
        "([1-9][0-9]{0,5})/([1-9][0-9]{0,5})",
        "1/1" if text is None else str(text),
        re.ASCII,
    )
    if match is None or int(match[1]) > int(match[2]):
        raise UsageError(
            f"--shard must be i/n with i from 1 to n, such as 1/8, got {text!r}."
        )

    return int(match[1]), int(match[2])


@doing("load the items of the tasks")
def load_task_data(
    task: TaskSpec,
    spec: DatasetSpec,
    *,
    data: Path | None = None,
    config: str | None = None,
    split: str | None = None,
    max_samples: int | None = None,
    shard: str | None = None,
    drawn: Drawn | None = None,
) -> TaskData:
    """Reads the items of a task.

    Args:
        task: the task.
        spec: its dataset.
        data: the folder of the built dataset, or one that holds it under its name; the
            user's data home by default.
        config: the configuration; the dataset's usual one by default.
        split: the split, or several with `+` between; the task's own by default.
        max_samples: the number of items for a quick look.
        shard: which part of the items to read, such as 2/8.
        drawn: the size of a random sample, and its seed.
    """
    shard_number, shard_count = read_shard(shard)
    check_least({"--max-samples": max_samples})
    folder, chosen = obtain(
        task.benchmark,
        spec,
        data,
        config or task.options.get("config"),
    )
    split_asked = split or task.split
    if task.exemplars in split_names(split_asked):
        raise UsageError(
            f"{task.name}: its worked examples come from the split {task.exemplars}, so it cannot "
            "be asked. Choose another --split, or a task without examples."
        )

    rows = read_rows(folder, chosen, split_asked, spec=spec)
    split_asked = built_split(folder, chosen, split_asked)
    items = task.benchmark.load_items(task, rows)
    if len({item.id for item in items}) < len(items):
        repeated = [
            name
            for name, count in Counter(item.id for item in items).items()
            if count > 1
        ]
        raise UsageError(
            f"{task.name}: {len(repeated):,} ids are in more than one of the splits {split_asked} (the "
            f"first is {repeated[0]}), so these are not one set of questions. Ask one at a time."
        )

    if not items:
        raise UsageError(
            f"{task.name}: configuration {chosen} of {spec.name} in {folder} has no question of "
            f"this task among its {len(rows):,} rows. Choose another with --config."
        )

    revision: dict[str, object] = {
        "name": spec.name,
        "config": chosen,
        "split": split_asked,
        "version": spec.version,
        "source": dict(built_configs(folder)[chosen].source),
        "rows_sha256": recorded_rows_hash(folder, chosen, split_asked)
        or rows_hash(rows),
    }
    marker = built_configs(folder)[chosen].source
    if SWAP in marker:
        revision["swap"] = {
            "changed": marker[SWAP],
            "rules": marker[SWAP_RULES],
            "left_out": sum(
                int(marker[SWAP_LEFT_OUT.format(name)])
                for name in split_names(split_asked)
            ),
            "of_rows_sha256": [
                marker[SWAP_OF.format(name)] for name in split_names(split_asked)
            ],
        }

    loaded = TaskData(
        items=first_items(task, items, max_samples),
        config=chosen,
        folder=folder,
        revision=revision,
        exemplars=read_rows(folder, chosen, task.exemplars, spec=spec)
        if task.exemplars
        else (),
        scoring_args=task.benchmark.found_beside(task, folder, chosen),
    )
    loaded = draw(task, loaded, drawn)
    return replace(
        loaded,
        items=_shard_items(task, loaded.items, shard_number, shard_count),
        shard=shard,
    )


def _shard_items(
    task: TaskSpec, items: Sequence[Item], number: int, count: int
) -> list[Item]:
    """Returns every n-th item, or every n-th cluster if scores compare the items of a cluster."""
    if not task.drawn_whole:
        return list(items[number - 1 :: count])
    clusters = list(dict.fromkeys(item.cluster for item in items))
    kept = set(clusters[number - 1 :: count])
    return [item for item in items if item.cluster in kept]


def prompt_set(
    task: TaskSpec,
    name: str,
    upstream: Path | None,
    *,
    arguments: Mapping[str, str],
    config: str = "",
    exemplars: Sequence[Row] = (),
) -> PromptSet:
    """Loads a task's prompts for a configuration, with the task's arguments and exemplars."""
    check_prompt_set(task, name)
    asking = Asking(
        prompts=name,
        upstream=upstream,
        arguments=arguments,
        exemplars=exemplars,
        config=config if config in task.benchmark.asked_otherwise else "",
    )
    return task.benchmark.load_prompts(task, asking)


def leaking_examples(
    task: TaskSpec, prompts: PromptSet, items: Sequence[Item], *, tell: bool = True
) -> list[str]:
    """Finds the items whose worked example is the item itself, with its answer; returns their ids."""
    if prompts.example is None:
        return []

    leaking = [item.id for item in items if prompts.example(item).leaks]
    if leaking and tell:
        print(
            f"note: {task.name}: the worked example ({prompts.name} prompts) is the item itself, "
            f"answer included, for {len(leaking)} of {len(items)} items: {', '.join(leaking)}. They "
            "are asked and counted; leaking_examples in the recipe names them.",
            file=sys.stderr,
        )

    return leaking


def locate(
    spec: DatasetSpec, data: Path | None, config: str | None
) -> tuple[Path, str]:
    """Finds a built dataset and its configuration, as `load_task_data` does."""
    home = datasets_home() if data is None else data.expanduser()
    folder = (
        home if data is not None and built_name(home) is not None else home / spec.name
    )
    built = list(built_configs(folder))
    if data is not None and config is None and len(built) == 1:
        # The folder implies its only configuration, even the demo.
        config = built[0]
        print(
            f"note: configuration {config}, the only one in {folder}", file=sys.stderr
        )

    if config is not None and config not in spec.configs:
        raise UsageError(
            f"dataset {spec.name} has no configuration {config!r}. It has: "
            f"{', '.join(spec.configs)}."
        )

    if (holds := built_name(folder)) not in (None, spec.name):
        raise UsageError(
            f"{folder}: holds the dataset {holds}, not {spec.name}. Give --data the folder of "
            f"{spec.name}."
        )

    chosen = config or _usual_config(spec, built)
    built_config(folder, chosen, spec)  # raises with the steps to get it
    return folder, chosen


def _usual_config(spec: DatasetSpec, built: Sequence[str]) -> str:
    """Returns the default configuration or, if it is not built, the only real one."""
    real = [config for config in spec.configs if config in built and config != "demo"]
    if spec.default_config in built or not real:
        return spec.default_config
    if len(real) > 1:
        raise UsageError(
            f"dataset {spec.name} is built as {', '.join(real)}. Choose one with --config."
        )
    return real[0]


def obtain(
    benchmark: Benchmark,
    spec: DatasetSpec,
    data: Path | None,
    config: str | None,
    *,
    agreed: Callable[[DatasetSource, str], bool] | None = None,
) -> tuple[Path, str]:
    """Finds a built dataset like `locate`, and builds it if necessary.

    A dataset that is missing in the user's data home is fetched and built there, if `agreed`
    says so; by default a user at a terminal is asked.
    """
    try:
        return locate(spec, data, config)
    except MissingError:
        if data is not None:
            raise

        # Slow, and rarely needed: the dataset is mostly built already.
        from medical_tasks.data.building import build_source
        from medical_tasks.data.fetching import confirmed, fetch

        source, chosen = benchmark.source(spec.name), config or spec.default_config
        if not (agreed or confirmed)(source, chosen):
            raise

    folder = datasets_home() / spec.name
    files_path = fetch(source, chosen) if source.files[chosen] else None
    build_source(
        source,
        source_path=files_path,
        config=chosen,
        folder=folder,
        tasks=benchmark.tasks,
    )

    return folder, chosen


def open_protocol(
    task: TaskSpec,
    arguments: Mapping[str, str],
    *,
    prompts: str = "own",
    upstream: Path | None = None,
) -> MultiStep:
    """Opens the protocol of a task that has one."""
    asking = Asking(prompts=prompts, upstream=upstream, arguments=arguments)
    return task.benchmark.open_protocol(task, asking)


def rows_sha256(folder: Path, config: str, split: str, *, spec: DatasetSpec) -> str:
    """Returns the hash of a built configuration's rows, as in a recipe."""
    rows = read_rows(folder, config, split, spec=spec)
    return recorded_rows_hash(folder, config, split) or rows_hash(rows)


def subset(items: Sequence[Item], max_samples: int | None) -> list[Item]:
    """Selects the items with the smallest hashed ids.

    The selection does not depend on the order, and a larger one includes a smaller one.

    Example:
        >>> items = [Item(id=f"q{n}", fields={}, groups={}, cluster="") for n in range(1, 6)]
        >>> [item.id for item in subset(items, 2)], [item.id for item in subset(items, 3)]
        (['q4', 'q5'], ['q3', 'q4', 'q5'])
    """
    if max_samples is None or max_samples >= len(items):
        return list(items)
    ranked = sorted(items, key=lambda item: hashlib.sha256(item.id.encode()).digest())
    chosen = {item.id for item in ranked[:max_samples]}
    return [item for item in items if item.id in chosen]


def first_items(
    task: TaskSpec, items: Sequence[Item], max_samples: int | None
) -> list[Item]:
    """Selects at most `max_samples` items of a task, in whole clusters if scores compare their items.

    From families of 7, 7 and 6 items, `max_samples=15` selects the first two, 14 items; a larger
    number selects these and more.
    """
    if not task.drawn_whole or max_samples is None or max_samples >= len(items):
        return subset(items, max_samples)

    sizes = Counter(item.cluster for item in items)
    chosen: set[str] = set()
    left = max_samples
    for cluster in sorted(
        sizes, key=lambda name: hashlib.sha256(name.encode()).digest()
    ):
        left -= sizes[cluster]
        if left < 0:
            break

        chosen.add(cluster)

    if not chosen:
        raise UsageError(
            f"{task.name}: --max-samples {max_samples} is smaller than the first group of items "
            f"that are scored together, which has {max_samples - left}. Give at least "
            f"{max_samples - left}."
        )

    return [item for item in items if item.cluster in chosen]


Drawn = tuple[int, int]
"""The size of a random sample, and its seed."""


def read_drawn(
    arguments: WithSubset, *, max_samples: int | None = None
) -> Drawn | None:
    """Reads `--subset` and `--seed`, which `--max-samples` excludes."""
    size, seed = arguments.subset, arguments.seed
    if size is None and seed is not None:
        raise UsageError(
            f"--seed {seed} belongs to --subset N, which is missing. Give both, or neither."
        )

    if size is not None and max_samples is not None:
        raise UsageError(
            f"--subset {size} draws a random sample, --max-samples does not. Leave one out."
        )

    check_least({"--subset": size})
    check_least({"--seed": seed}, 0)
    return None if size is None else (size, seed or 0)


def draw(task: TaskSpec, data: TaskData, drawn: Drawn | None) -> TaskData:
    """Draws a stratified random sample of a task's items, in whole clusters if scores compare them.

    The units (items or clusters) are ordered by the hash of seed and id, and each stratum
    takes the first of its own, so that the sample depends on neither the order of the rows
    nor the version of Python.

    Returns:
        The data of the sample; `subset` is the recipe's record of the draw, with the sizes
        of all strata, from which the whole set is estimated.
    """
    if drawn is None:
        return data

    from medical_tasks.scoring.finite import allocate, cell_of, unit_of

    size, seed = drawn
    if size > len(data.items):
        raise UsageError(
            f"{task.name}: --subset {size} is more than its {len(data.items):,} items "
            f"(configuration {data.config}, split {data.revision['split']}). Give at most that, or "
            "leave it out to use all."
        )

    cells: dict[str, str] = {}  # by item or cluster
    for item in data.items:
        cells.setdefault(unit_of(task, item), cell_of(task, item))

    n_units = max(1, round(size * len(cells) / len(data.items)))
    ranked = sorted(
        cells, key=lambda unit: hashlib.sha256(f"{seed}\0{unit}".encode()).digest()
    )
    strata, drawn_units = allocate(Counter(cells.values()), n_units), set()
    left = list(strata.drawn)
    for unit in ranked:
        stratum = strata.of_cell[cells[unit]]
        left[stratum] -= 1
        if left[stratum] >= 0:
            drawn_units.add(unit)

    items = [item for item in data.items if unit_of(task, item) in drawn_units]
    recipe_part: dict[str, object] = {
        "asked": size,
        "seed": seed,
        "of": len(data.items),
    }
    recipe_part |= {
        "units": "clusters" if task.drawn_whole else "items",
        "drawn": n_units,
        "by": list(task.strata),
    }
    recipe_part["ids_sha256"] = hashlib.sha256(
        "\n".join(item.id for item in items).encode()
    ).hexdigest()
    recipe_part["strata"] = dict(sorted(Counter(cells.values()).items()))

    return replace(data, items=items, subset=recipe_part, drawn_from=data.items)


def asked_part(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Returns which items a recipe's run asked, as arguments of `load_task_data`."""
    drawn = recipe.get("subset")
    return {
        "max_samples": recipe.get("max_samples"),
        "shard": recipe.get("shard"),
        "drawn": None if drawn is None else (drawn["asked"], drawn["seed"]),
    }


OWN_CONFIG: Final = "own"


def source_configs(source: DatasetSource) -> tuple[str, ...]:
    """Returns the configurations that `--source` can build, the default one first.

    Raises:
        UsageError: the dataset has none.
    """
    if source.quick:
        return source.quick
    if OWN_CONFIG in source.spec.configs and len(source.files[OWN_CONFIG]) == 1:
        return (OWN_CONFIG,)

    name = source.spec.name
    raise UsageError(
        f"--source: the dataset {name} is not made from one file of your own. Leave it out, and "
        f"build the dataset first: medical-tasks build {name} --help"
    )


@contextlib.contextmanager
def built_from(source: DatasetSource, source_path: Path, config: str) -> Iterator[Path]:
    """Builds a private dataset from a file, or the folder of its release, for a `with` block."""
    expanded = source_path.expanduser()
    if config == OWN_CONFIG and expanded.is_dir():
        raise UsageError(f"{source_path}: is a folder. Give --source the file itself.")
    from medical_tasks.data.building import build_source

    with scratch() as home:
        folder = home / source.spec.name
        build_source(
            source, source_path=expanded, config=config, folder=folder, partial=True
        )
        yield folder


@contextlib.contextmanager
def with_source(
    task: TaskSpec, *, source: Path | None, data: Path | None, config: str | None
) -> Iterator[tuple[Path | None, str | None]]:
    """Builds the dataset from `--source`, if it is given, for a `with` block.

    Args:
        task: the task whose dataset it is.
        source: the user's own file, or the folder of the release; None for a built dataset.
        data: the given folder of the built dataset, which excludes `source`.
        config: the given configuration.

    Yields:
        The folder and the configuration to read: those built from `source`, or the given
            ones.
    """
    if source is None:
        yield data, config
        return

    dataset = task.benchmark.source(task.dataset)
    configs = source_configs(dataset)
    for name, value, allowed in (("data", data, ()), ("config", config, configs)):
        if value is not None and value not in allowed:
            raise UsageError(
                f"--source and --{name} {value}: the data are one or the other. Leave one out."
            )

    chosen = config or configs[0]
    with built_from(dataset, source, chosen) as folder:
        try:
            yield folder, chosen
        except UsageError as error:
            # The temporary folder is gone when the user reads the message.
            raise UsageError(str(error).replace(str(folder), str(source))) from error


@contextlib.contextmanager
def run_data(
    task: TaskSpec,
    spec: DatasetSpec,
    recipe: Mapping[str, Any],
    *,
    data: Path | None,
    source: Path | None,
    whole: bool = False,
) -> Iterator[TaskData]:
    """Reads the data of a run from this machine, for a `with` block.

    `whole`: whether to read all items, not only those that were asked.
    """
    data_recipe = recipe["data"]
    task = task.asked_with(recipe.get("task_args", {}))
    with with_source(task, source=source, data=data, config=data_recipe["config"]) as (
        folder,
        _,
    ):
        asked_items = {} if whole else asked_part(recipe)
        yield load_task_data(
            task,
            spec,
            data=folder,
            config=data_recipe["config"],
            split=data_recipe.get("split"),
            **asked_items,
        )


def check_lengths(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str]
) -> None:
    """Refuses responses whose number differs from the items'."""
    if len(items) != len(responses):
        raise UsageError(
            f"{task.name}: {len(items)} items but {len(responses)} responses. Give one response "
            "for each item."
        )


def check_prompt_set(task: TaskSpec, name: str, *, what: str = "prompt set") -> None:
    """Refuses an unknown set of prompts."""
    sets = task.benchmark.prompt_sets
    if name not in sets:
        raise UsageError(
            f"unknown {what} {name!r} for {task.name}. Sets: {', '.join(sets)}."
        )


def check_scoring_args(task: TaskSpec, arguments: Mapping[str, str]) -> None:
    """Refuses a setting that the task's scoring does not have."""
    if unknown := [name for name in arguments if name not in task.scoring_arguments]:
        arguments_known = ", ".join(task.scoring_arguments) or "none"
        raise UsageError(
            f"{task.name}: its scoring has no argument {unknown[0]!r}. Arguments: {arguments_known}."
        )


def check_settings(task: TaskSpec, arguments: Mapping[str, object]) -> None:
    """Refuses a setting that the task's questions do not have."""
    if unknown := [name for name in arguments if name not in task.arguments]:
        settings = (
            f"Its settings: {', '.join(task.arguments)}."
            if task.arguments
            else "It has none."
        )
        raise UsageError(
            f"{task.name}: {', '.join(map(repr, unknown))} is not a setting of this task. {settings}"
        )


def whole_setting(
    task: str, name: str, value: object, *, usual: int, lowest: int = 1, most: int
) -> int:
    """Reads a setting that is a whole number; `usual` if it is not given."""
    if value is None:
        return usual
    text = str(value).strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if not lowest <= number <= most:
        raise UsageError(
            f"{task}: {name} must be a whole number from {lowest} to {most}, got {value!r}."
        )
    return number
