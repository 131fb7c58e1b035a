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
    """Items of a task, and where they come from.

    Attributes:
        revision: what the recipe says of the data: name, configuration, split, version
            and hashes.
        exemplars: rows that worked examples are drawn from, for a task that shows some.
        shard: which part of the items these are, such as 2/8.
        subset: how they were drawn from all.
        found: scoring arguments that lie beside the data, such as a second set of
            labels.
    """

    items: list[Item]
    config: str
    folder: Path
    revision: dict[str, Any]
    exemplars: Sequence[Row] = ()
    shard: str | None = None
    subset: Mapping[str, Any] | None = None
    drawn_from: Sequence[Item] = ()
    found: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, Any]:
        """The revision without the official files' names.

        The same rows are the same data, whatever the file was called.
        """
        return {
            name: value for name, value in self.revision.items() if name != "source"
        }

    @property
    def answerable(self) -> Sequence[Item]:
        """The items to which a file may hold answers: more than a sample."""
        return self.drawn_from or self.items

    @property
    def part(self) -> dict[str, object]:
        """What the recipe says of items that are not all."""
        return {
            name: value
            for name in ("subset", "shard")
            if (value := getattr(self, name)) is not None
        }


def read_shard(text: str | None) -> tuple[int, int]:
    """Reads which of how many parts of a task's items is asked.

    Every n-th item, so that parts take about equally long.
    """
    found = re.fullmatch(
        "([1-9][0-9]{0,5})/([1-9][0-9]{0,5})",
        "1/1" if text is None else str(text),
        re.ASCII,
    )
    if found is None or int(found[1]) > int(found[2]):
        raise UsageError(
            f"--shard must be i/n with i from 1 to n, such as 1/8, got {text!r}."
        )

    return int(found[1]), int(found[2])


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
    """Reads the items of a task, of its own split or of `split`, which can be several with `+` between.

    `data`: folder of the built dataset, or one that holds it under its name; the user's
    data home by default. `drawn`: how many of the items are drawn at random, and the
    seed.
    """
    part, parts = read_shard(shard)
    check_least({"--max-samples": max_samples})
    folder, chosen = obtain(
        task.benchmark,
        spec,
        data,
        config or task.options.get("config"),
    )
    asked = split or task.split
    if task.exemplars in split_names(asked):
        raise UsageError(
            f"{task.name}: its worked examples come from the split {task.exemplars}, so that "
            "cannot be asked. Choose another --split, or a task without examples."
        )

    rows = read_rows(folder, chosen, asked, spec=spec)
    asked = built_split(folder, chosen, asked)
    items = task.benchmark.load_items(task, rows)
    if len({item.id for item in items}) < len(items):
        twice = [
            name
            for name, times in Counter(item.id for item in items).items()
            if times > 1
        ]
        raise UsageError(
            f"{task.name}: {len(twice):,} ids are in more than one of the splits {asked} (the "
            f"first is {twice[0]}), so these are not one set of questions. Ask one at a time."
        )

    if not items:
        raise UsageError(
            f"{task.name}: configuration {chosen} of {spec.name} in {folder} has no question of "
            f"this task among its {len(rows):,} rows. Choose another with --config."
        )

    revision: dict[str, object] = {
        "name": spec.name,
        "config": chosen,
        "split": asked,
        "version": spec.version,
        "source": dict(built_configs(folder)[chosen].source),
        "rows_sha256": recorded_rows_hash(folder, chosen, asked) or rows_hash(rows),
    }
    made_of = built_configs(folder)[chosen].source
    if SWAP in made_of:
        revision["swap"] = {
            "changed": made_of[SWAP],
            "rules": made_of[SWAP_RULES],
            "left_out": sum(
                int(made_of[SWAP_LEFT_OUT.format(name)]) for name in split_names(asked)
            ),
            "of_rows_sha256": [
                made_of[SWAP_OF.format(name)] for name in split_names(asked)
            ],
        }

    made = TaskData(
        items=first_items(task, items, max_samples),
        config=chosen,
        folder=folder,
        revision=revision,
        exemplars=read_rows(folder, chosen, task.exemplars, spec=spec)
        if task.exemplars
        else (),
        found=task.benchmark.found_beside(task, folder, chosen),
    )
    made = draw(task, made, drawn)
    return replace(made, items=_part(task, made.items, part, parts), shard=shard)


def _part(task: TaskSpec, items: Sequence[Item], part: int, parts: int) -> list[Item]:
    """Every n-th item, or every n-th cluster where scores compare the items of one."""
    if not task.drawn_whole:
        return list(items[part - 1 :: parts])
    clusters = list(dict.fromkeys(item.cluster for item in items))
    kept = set(clusters[part - 1 :: parts])
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
    """Loads a task's prompts for a configuration, with what the task takes beside their name."""
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
    """Finds the ids of items whose question shows the item itself, with its answer, as the worked example."""
    if prompts.example is None:
        return []

    found = [item.id for item in items if prompts.example(item).leaks]
    if found and tell:
        print(
            f"note: {task.name}: the worked example ({prompts.name} prompts) is the item itself, "
            f"answer included, for {len(found)} of {len(items)} items: {', '.join(found)}. They "
            "are asked and counted; leaking_examples in the recipe names them.",
            file=sys.stderr,
        )

    return found


def locate(
    spec: DatasetSpec, data: Path | None, config: str | None
) -> tuple[Path, str]:
    """Finds a built dataset and the configuration that is meant, as `load_task_data` does."""
    home = datasets_home() if data is None else data.expanduser()
    folder = (
        home if data is not None and built_name(home) is not None else home / spec.name
    )
    built = list(built_configs(folder))
    if (
        data is not None and config is None and len(built) == 1
    ):  # what is meant by the folder, also when it is the demo
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
    built_config(folder, chosen, spec)  # or says how to get it
    return folder, chosen


def _usual_config(spec: DatasetSpec, built: Sequence[str]) -> str:
    """The default configuration, or the one real one where that is not built."""
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
    """As `locate`.

    What is not built in the user's data home is fetched and built there first, if that
    is agreed; by default who sits at a terminal is asked.
    """
    try:
        return locate(spec, data, config)
    except MissingError:
        if data is not None:
            raise

        # Where all is built, as mostly, nothing of how to build is needed.
        from medical_tasks.data.building import build_source
        from medical_tasks.data.fetching import confirmed, fetch

        source, chosen = benchmark.source(spec.name), config or spec.default_config
        if not (agreed or confirmed)(source, chosen):
            raise

    folder = datasets_home() / spec.name
    place = fetch(source, chosen) if source.files[chosen] else None
    build_source(
        source, place=place, config=chosen, folder=folder, tasks=benchmark.tasks
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
    """Hashes the rows of a built configuration as a recipe does."""
    rows = read_rows(folder, config, split, spec=spec)
    return recorded_rows_hash(folder, config, split) or rows_hash(rows)


def subset(items: Sequence[Item], max_samples: int | None) -> list[Item]:
    """Takes the items whose hashed ids are smallest.

    The same ones whatever the order, and nested for growing numbers.
    """
    if max_samples is None or max_samples >= len(items):
        return list(items)
    ranked = sorted(items, key=lambda item: hashlib.sha256(item.id.encode()).digest())
    kept = {item.id for item in ranked[:max_samples]}
    return [item for item in items if item.id in kept]


def first_items(
    task: TaskSpec, items: Sequence[Item], max_samples: int | None
) -> list[Item]:
    """Takes at most `max_samples` items of a task.

    Whole clusters where its scores compare their items.

    Of families of 7, 7 and 6 items, `max_samples=15` takes the first two, 14 items; a
    larger number takes these and more.
    """
    if not task.drawn_whole or max_samples is None or max_samples >= len(items):
        return subset(items, max_samples)

    sizes = Counter(item.cluster for item in items)
    kept: set[str] = set()
    left = max_samples
    for cluster in sorted(
        sizes, key=lambda name: hashlib.sha256(name.encode()).digest()
    ):
        left -= sizes[cluster]
        if left < 0:
            break

        kept.add(cluster)

    if not kept:
        raise UsageError(
            f"{task.name}: --max-samples {max_samples} is smaller than the first group of items "
            f"that are scored together, which has {max_samples - left}. Give at least "
            f"{max_samples - left}."
        )

    return [item for item in items if item.cluster in kept]


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
            f"--subset {size} draws a random sample, --max-samples takes none. Leave one out."
        )

    check_least({"--subset": size})
    check_least({"--seed": seed}, 0)
    return None if size is None else (size, seed or 0)


def draw(task: TaskSpec, data: TaskData, drawn: Drawn | None) -> TaskData:
    """Draws a stratified random sample of a task's items.

    Whole clusters where its scores compare their items.
    """
    if drawn is None:
        return data

    from medical_tasks.scoring.finite import allocate, cell_of, unit_of

    size, seed = drawn
    if size > len(data.items):
        raise UsageError(
            f"{task.name}: --subset {size} is more than its {len(data.items):,} items "
            f"(configuration {data.config}, split {data.revision['split']}). Give at most that, or "
            "leave it out to take all."
        )

    cells: dict[str, str] = {}  # of each item or cluster
    for item in data.items:
        cells.setdefault(unit_of(task, item), cell_of(task, item))

    wanted = max(1, round(size * len(cells) / len(data.items)))
    ranked = sorted(
        cells, key=lambda unit: hashlib.sha256(f"{seed}\0{unit}".encode()).digest()
    )
    strata, kept = allocate(Counter(cells.values()), wanted), set()
    left = list(strata.drawn)
    for unit in ranked:
        place = strata.of_cell[cells[unit]]
        left[place] -= 1
        if left[place] >= 0:
            kept.add(unit)

    items = [item for item in data.items if unit_of(task, item) in kept]
    told: dict[str, object] = {"asked": size, "seed": seed, "of": len(data.items)}
    told |= {
        "units": "clusters" if task.drawn_whole else "items",
        "drawn": wanted,
        "by": list(task.strata),
    }
    told["ids_sha256"] = hashlib.sha256(
        "\n".join(item.id for item in items).encode()
    ).hexdigest()
    told["strata"] = dict(sorted(Counter(cells.values()).items()))

    return replace(data, items=items, subset=told, drawn_from=data.items)


def asked_part(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Which of its items a recipe's run asked, as `load_task_data` takes it."""
    drawn = recipe.get("subset")
    return {
        "max_samples": recipe.get("max_samples"),
        "shard": recipe.get("shard"),
        "drawn": None if drawn is None else (drawn["asked"], drawn["seed"]),
    }


OWN_CONFIG: Final = "own"


def source_configs(source: DatasetSource) -> tuple[str, ...]:
    """The configurations that `--source` can build, the default one first.

    An error for a dataset that has none.
    """
    if source.quick:
        return source.quick
    if OWN_CONFIG in source.spec.configs and len(source.files[OWN_CONFIG]) == 1:
        return (OWN_CONFIG,)

    name = source.spec.name
    raise UsageError(
        f"--source: the dataset {name} is not made of one file of your own. Leave it out, and "
        f"build the dataset first: medical-tasks build {name} --help"
    )


@contextlib.contextmanager
def built_from(source: DatasetSource, place: Path, config: str) -> Iterator[Path]:
    """Builds a dataset from a file, or the folder of its release, for the length of a `with` block, closed to everybody else."""
    given = place.expanduser()
    if config == OWN_CONFIG and given.is_dir():
        raise UsageError(f"{place}: is a folder. Give --source the file itself.")
    from medical_tasks.data.building import build_source

    with scratch() as home:
        folder = home / source.spec.name
        build_source(source, place=given, config=config, folder=folder, partial=True)
        yield folder


@contextlib.contextmanager
def with_source(
    task: TaskSpec, *, source: Path | None, data: Path | None, config: str | None
) -> Iterator[tuple[Path | None, str | None]]:
    """Builds the dataset from `--source`, where that is given, for a `with` block.

    Args:
        task: whose dataset it is.
        source: the file of one's own, or the folder of the release; None where there is
            none.
        data: the folder of the built dataset that was named, which `source` excludes.
        config: the configuration that was named.

    Yields:
        The folder and the configuration to read: those built from `source`, or those
            named.
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
        except (
            UsageError
        ) as error:  # nobody knows that folder, and it is gone when the message is read
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
    """Reads the data that a run was on, as they are here, for a `with` block.

    `whole`: not only the items that were asked.
    """
    ran = recipe["data"]
    task = task.asked_with(recipe.get("task_args", {}))
    with with_source(task, source=source, data=data, config=ran["config"]) as (
        folder,
        _,
    ):
        part = {} if whole else asked_part(recipe)
        yield load_task_data(
            task,
            spec,
            data=folder,
            config=ran["config"],
            split=ran.get("split"),
            **part,
        )


def check_lengths(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str]
) -> None:
    """Refuses responses that cannot be one for each item."""
    if len(items) != len(responses):
        raise UsageError(
            f"{task.name}: {len(items)} items but {len(responses)} responses. Give one response "
            "for each item."
        )


def check_prompt_set(task: TaskSpec, name: str, *, what: str = "prompt set") -> None:
    """Refuses a set of prompts that there is not."""
    sets = task.benchmark.prompt_sets
    if name not in sets:
        raise UsageError(
            f"unknown {what} {name!r} for {task.name}. Sets: {', '.join(sets)}."
        )


def check_scoring_args(task: TaskSpec, arguments: Mapping[str, str]) -> None:
    """Refuses a setting that a task's scoring does not have."""
    if unknown := [name for name in arguments if name not in task.scoring_arguments]:
        known = ", ".join(task.scoring_arguments) or "none"
        raise UsageError(
            f"{task.name}: its scoring takes no argument {unknown[0]!r}. Arguments: {known}."
        )


def check_settings(task: TaskSpec, arguments: Mapping[str, object]) -> None:
    """Refuses a setting that a task's questions do not have."""
    if unknown := [name for name in arguments if name not in task.arguments]:
        takes = (
            f"It takes: {', '.join(task.arguments)}."
            if task.arguments
            else "It takes none."
        )
        raise UsageError(
            f"{task.name}: {', '.join(map(repr, unknown))} is no setting of this task. {takes}"
        )


def whole_setting(
    task: str, name: str, value: object, *, usual: int, lowest: int = 1, most: int
) -> int:
    """Reads a setting that is a whole number; `usual` where it is not given."""
    if value is None:
        return usual
    text = str(value).strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if not lowest <= number <= most:
        raise UsageError(
            f"{task}: {name} must be a whole number from {lowest} to {most}, got {value!r}."
        )
    return number
