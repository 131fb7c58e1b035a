"""Writes a dataset's README card, Croissant file and `eval.yaml` for the Hub.

All are derived from the dataset's source, both for `dataset_builders/` and for built
datasets.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.data.dataset_store import BuiltConfig, split_names
from medical_tasks.io.columns import croissant_fields, yaml_features
from medical_tasks.io.files import packaged, read_text
from medical_tasks.spec import DatasetSpec, HubTask, TaskSpec

_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
_LINE = 120


@dataclass(frozen=True, kw_only=True)
class Licence:
    """A licence, as it is written in cards and Croissant files."""

    hub_id: str  # the Hub's key, `other` for licences it does not know
    name: str
    url: str


_outside = partial(packaged, __file__, "cards.json")
"""The Croissant context (specification 1.1 and mlcroissant's terms), the licences and the texts of gated datasets."""


def licence_names() -> tuple[str, ...]:
    """Returns the names of the supported licences; `other` is for all that are not listed."""
    return tuple(_outside()["licences"])


def licence(name: str) -> Licence:
    """Looks up a licence by `DatasetSpec.licence`.

    An unknown licence is a `ValueError`.
    """
    licences = _outside()["licences"]
    if name not in licences:
        raise ValueError(
            f"licence {name!r} is not in medical_tasks.data.cards; known: {', '.join(licences)}"
        )
    return Licence(**licences[name])


def file_pattern(config: str, split: str) -> str:
    """Returns the pattern of a split's parquet files, relative to the dataset's folder."""
    return f"{config}/{split}-*.parquet"


def card_metadata(
    source: DatasetSource, built: Mapping[str, BuiltConfig] | None = None
) -> dict[str, Any]:
    """Returns the YAML header of a card.

    `built` lists the configurations in the folder; None describes all possible ones.
    """
    spec = source.spec
    terms = licence(spec.licence)
    metadata: dict[str, object] = {"pretty_name": spec.title, "license": terms.hub_id}
    if terms.hub_id == "other":
        metadata |= {"license_name": spec.licence.lower(), "license_link": terms.url}

    metadata["language"] = list(source.languages)
    if source.task_categories:
        metadata["task_categories"] = list(source.task_categories)

    metadata["tags"] = list(source.tags)
    metadata["size_categories"] = [_size_category(source, built)]
    if spec.access == "credentialed":
        metadata |= _gate(source)

    names = _configs(source, built)
    # The spec's default if it is built, else the first real configuration, else the
    # demo.
    default = min(
        names,
        key=lambda name: (name != spec.default_config, name == "demo"),
        default=None,
    )
    configs: list[dict[str, object]] = []
    infos: list[dict[str, object]] = []
    for config in names:
        splits = built[config].splits if built is not None else None
        files = [
            {
                "split": split,
                "path": splits[split].path if splits else file_pattern(config, split),
            }
            for split in (splits or source.splits[config])
        ]
        entry: dict[str, object] = {"config_name": config, "data_files": files}
        entry["version"] = spec.version
        configs.append(entry | ({"default": True} if config == default else {}))
        info: dict[str, object] = {
            "config_name": config,
            "features": yaml_features(source.columns),
        }
        if splits:
            info["splits"] = [
                {"name": name, "num_bytes": split.num_bytes, "num_examples": split.rows}
                for name, split in splits.items()
            ]
            info["download_size"] = sum(split.file_bytes for split in splits.values())
            info["dataset_size"] = sum(split.num_bytes for split in splits.values())

        infos.append(info)

    return {**metadata, "configs": configs, "dataset_info": infos}


def card_text(
    source: DatasetSource, built: Mapping[str, BuiltConfig] | None = None
) -> str:
    """Returns the text of `README.md`; `built` as in `card_metadata`."""
    header = yaml.safe_dump(
        card_metadata(source, built),
        sort_keys=False,
        allow_unicode=True,
        width=_LINE,
        default_flow_style=False,
    )
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 - no HTML
        undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )

    return environment.from_string(
        read_text(Path(__file__).with_name("card.md.jinja"))
    ).render(
        header=header,
        source=source,
        spec=source.spec,
        terms=licence(source.spec.licence),
        built=built,
        configs=_configs(source, built),
        example="demo" if "demo" in source.spec.configs else source.spec.default_config,
        rows_of=_rows,
        made_from=_made_from,
    )


def _gate(source: DatasetSource) -> dict[str, object]:
    """Returns the fields of the access request that the Hub shows for a gated dataset."""
    spec, terms = source.spec, licence(source.spec.licence)
    kind = "published" if spec.licence.startswith("PhysioNet") else "other"
    prompt = _outside()["texts"][f"gate_{kind}"]

    return {
        "extra_gated_heading": f"Ask for access to {spec.title}",
        "extra_gated_prompt": prompt.format(
            title=spec.title, name=terms.name, url=terms.url, homepage=spec.homepage
        ),
        "extra_gated_fields": dict(_outside()["gated_fields"][kind]),
        "extra_gated_button_content": "I hold the permission and ask for access",
    }


def _configs(
    source: DatasetSource, built: Mapping[str, BuiltConfig] | None
) -> list[str]:
    return [
        config for config in source.spec.configs if built is None or config in built
    ]


def _rows(
    source: DatasetSource, config: str, built: Mapping[str, BuiltConfig] | None
) -> dict[str, int | None]:
    """Returns the number of rows by split: the built ones, or the published ones if known."""
    if built is not None:
        return {name: split.rows for name, split in built[config].splits.items()}
    return {
        split: source.published_rows.get(config, {}).get(split)
        for split in source.splits[config]
    }


def _size_category(
    source: DatasetSource, built: Mapping[str, BuiltConfig] | None
) -> str:
    """Returns the Hub's size category of the configuration with the most rows."""
    configs = source.spec.configs if built is None else built
    largest = max(
        (
            sum(rows or 0 for rows in _rows(source, config, built).values())
            for config in configs
        ),
        default=0,
    )
    return next((name for limit, name in _SIZES if largest < limit), "n>1M")


def _made_from(
    source: DatasetSource, config: str, built: Mapping[str, BuiltConfig] | None
) -> str:
    """Describes the files of a configuration, for the table of the card."""
    files = (
        ", ".join(file.description for file in source.files[config].values())
        or "this package"
    )
    if config not in source.generated:
        return files
    if built is None:
        return f"{files}, from {', '.join(f'`--{option.name}`' for option in source.generated[config].options)}"
    return f"{files}, with {', '.join(f'{name} {value}' for name, value in built[config].source.items())}"


_PARQUET = "application/x-parquet"


def croissant_metadata(
    source: DatasetSource, built: Mapping[str, BuiltConfig] | None = None
) -> dict[str, Any]:
    """Returns the dataset's description as JSON-LD, with record sets `<config>/<split>`.

    `built` as in `card_metadata`.
    """
    spec = source.spec
    distribution: list[dict[str, object]] = []
    record_sets: list[dict[str, object]] = []
    splits = [
        (config, split)
        for config in _configs(source, built)
        for split in _rows(source, config, built)
    ]
    for config, split in splits:
        name, file_id = f"{config}/{split}", f"{config}-{split}-parquet"
        if built is None:
            kind = "FileSet"
            file = {"encodingFormat": _PARQUET, "includes": file_pattern(config, split)}
        else:
            kind = "FileObject"
            entry = built[config].splits[split]
            file = {
                "contentUrl": entry.path,
                "contentSize": f"{entry.file_bytes} B",
                "encodingFormat": _PARQUET,
                "sha256": entry.sha256,
            }

        distribution.append(
            {"@type": f"cr:{kind}", "@id": file_id, "name": file_id, **file}
        )
        reference = {f"file{kind.removeprefix('File')}": {"@id": file_id}}
        record_sets.append(
            {
                "@type": "cr:RecordSet",
                "@id": name,
                "name": name,
                "description": f"{spec.title}, configuration {config}, split {split}",
                "key": {"@id": f"{name}/{source.key}"},
                "field": croissant_fields(source.columns, name, reference),
            }
        )

    specifications = ["1.1", "RAI/1.0"] if source.responsible_ai else ["1.1"]
    metadata: dict[str, object] = {
        "@context": _outside()["croissant_context"],
        "@type": "sc:Dataset",
        "name": spec.name,
        "alternateName": spec.title,
        "description": source.summary,
        "conformsTo": [
            f"http://mlcommons.org/croissant/{name}" for name in specifications
        ],
        "license": licence(spec.licence).url,
        "url": spec.homepage,
        "sameAs": spec.paper,
        "version": spec.version,
        "datePublished": source.published,
        "creator": [{"@type": "sc:Person", "name": name} for name in source.creators],
        "keywords": list(source.tags),
        "inLanguage": list(source.languages),
        "citeAs": spec.citation,
    }
    metadata |= {f"rai:{name}": value for name, value in source.responsible_ai.items()}
    if spec.access == "credentialed":
        metadata["conditionsOfAccess"] = (
            f"Credentialed; permission is given by the publisher: {spec.homepage}"
        )

    return {**metadata, "distribution": distribution, "recordSet": record_sets}


def croissant_text(
    source: DatasetSource, built: Mapping[str, BuiltConfig] | None = None
) -> str:
    """Returns the text of `croissant.json`; `built` as in `card_metadata`."""
    return (
        json.dumps(croissant_metadata(source, built), ensure_ascii=False, indent=2)
        + "\n"
    )


FRAMEWORK: Final = "inspect-ai"
"""The only framework on the Hub's list that can run these tasks."""

_HEAD: Final = """\
# Makes this repository a benchmark of the Hub: https://huggingface.co/docs/hub/eval-results
# Solvers and scorers have to be ones that inspect has built in. They put the question and grade the answer in a plain way, and
# their numbers are not those of the tasks, whose own prompts, protocols and metrics are run by:
#   inspect eval medical_tasks/{task}        or        medical-tasks run --tasks {task} --model MODEL
# With the package installed, this scores the answers of such a log with the task's metrics:
#   inspect score LOG --scorer medical_tasks/{task} -S config={config}
"""


class _Dumper(yaml.SafeDumper):
    """Writes multi-line strings as blocks."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def leaderboard_config(task: TaskSpec, spec: DatasetSpec) -> str:
    """Returns the configuration that has only the task's questions."""
    level = f"level{task.options.get('level')}"
    return level if level in spec.configs else spec.default_config


def accepted_configs(task: TaskSpec, spec: DatasetSpec) -> tuple[str, ...]:
    """Returns the configurations whose questions are those of the leaderboard."""
    return tuple(dict.fromkeys((leaderboard_config(task, spec), spec.default_config)))


def eval_text(
    spec: DatasetSpec,
    tasks: Sequence[TaskSpec],
    *,
    built: Mapping[str, Collection[str]] | None = None,
) -> str:
    """Returns the text of a dataset's `eval.yaml`, "" without a leaderboard.

    `built` maps configurations to splits; None means all.
    """
    chosen = [
        task
        for task in tasks
        if task.dataset == spec.name
        and spec.default_config != "own"
        and not task.baseline
        and "config"
        not in task.options  # generated, with a different seed for each user
        and (
            built is None
            or set(split_names(task.split))
            <= set(built.get(leaderboard_config(task, spec), ()))
        )
    ]
    if not chosen:
        return ""

    metadata = {
        "name": spec.title,
        "description": f"{spec.title} as medical-tasks asks and scores it: {spec.paper}",
        "evaluation_framework": FRAMEWORK,
        "tasks": [
            {
                "id": task.name,
                "config": leaderboard_config(task, spec),
                "split": task.split,
                **_eval_fields(task),
            }
            for task in chosen
        ],
    }
    body = yaml.dump(
        metadata, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_LINE
    )
    return (
        _HEAD.format(task=chosen[0].name, config=leaderboard_config(chosen[0], spec))
        + body
    )


def _eval_fields(task: TaskSpec) -> HubTask:
    """Returns the task's fields and the key column, by which its scorer finds the item."""
    # Without a copy, YAML would write the second task's fields as an alias of the first's.
    fields = copy.deepcopy(task.benchmark.eval_fields(task))
    if fields and task.items_a_row == 1:
        columns = fields["field_spec"]
        columns["metadata"] = [
            *columns.get("metadata", ()),
            task.benchmark.source(task.dataset).key,
        ]
    return fields
