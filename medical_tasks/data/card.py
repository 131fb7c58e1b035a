"""README card of a dataset: the YAML that `load_dataset` and the Hub read, and the text that people read.

Two uses. In a built folder the card lists what was built, file by file with its sizes. In `dataset_builders/<name>/` it
lists every configuration the dataset has, with file patterns and no sizes, and is checked in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.data.dataset_store import BuiltConfig
from medical_tasks.data.licences import licence
from medical_tasks.io.columns import yaml_features

__all__ = ["card_metadata", "card_text", "file_pattern"]

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LINE = 120

_WHO = {"Full name": "text", "Affiliation": "text"}
_PROMISE = {"I will not pass the text on, nor send it to a service that keeps it": "checkbox"}
GATED_FIELDS = {
    **_WHO,
    "PhysioNet user name": "text",
    "I am a credentialed PhysioNet user and have signed the data use agreement of this dataset": "checkbox",
    **_PROMISE,
}
_OTHER_FIELDS = {**_WHO, "I hold the permission of those whom these texts belong to": "checkbox", **_PROMISE}


def file_pattern(config: str, split: str) -> str:
    """Returns the pattern, relative to the dataset's folder, that the parquet file of a split follows."""
    return f"{config}/{split}-*.parquet"


def card_metadata(source: DatasetSource, built: Mapping[str, BuiltConfig] | None = None) -> dict[str, Any]:
    """Makes the YAML part of a card.

    Args:
        source: the dataset.
        built: what the folder holds; None describes every configuration there can be.

    Returns:
        Values of plain types, in the order they are written.
    """
    spec = source.spec
    terms = licence(spec.licence)
    metadata: dict[str, Any] = {"pretty_name": spec.title, "license": terms.hub_id}
    if terms.hub_id == "other":
        metadata |= {"license_name": spec.licence.lower(), "license_link": terms.url}
    metadata["language"] = list(source.languages)
    if source.task_categories:
        metadata["task_categories"] = list(source.task_categories)
    metadata["tags"] = list(source.tags)
    metadata["size_categories"] = [_size_category(source, built)]
    if spec.access == "credentialed":
        metadata |= _gate(source)
    names = [config for config in spec.configs if built is None or config in built]
    default = _default_config(source, names)
    metadata["configs"] = []
    metadata["dataset_info"] = []
    for config in names:
        splits = built[config].splits if built is not None else None
        files = [
            {"split": split, "path": splits[split].path if splits else file_pattern(config, split)}
            for split in (splits or source.splits[config])
        ]
        entry: dict[str, Any] = {"config_name": config, "data_files": files, "version": spec.version}
        if config == default:
            entry["default"] = True
        metadata["configs"].append(entry)
        info: dict[str, Any] = {"config_name": config, "features": yaml_features(source.columns)}
        if splits:
            info["splits"] = [
                {"name": name, "num_bytes": split.num_bytes, "num_examples": split.rows}
                for name, split in splits.items()
            ]
            info["download_size"] = sum(split.file_bytes for split in splits.values())
            info["dataset_size"] = sum(split.num_bytes for split in splits.values())
        metadata["dataset_info"].append(info)
    return metadata


def card_text(source: DatasetSource, built: Mapping[str, BuiltConfig] | None = None) -> str:
    """Writes a card.

    Args:
        source: the dataset.
        built: what the folder holds; None describes every configuration there can be.

    Returns:
        The text of `README.md`.
    """
    import yaml

    header = yaml.safe_dump(
        card_metadata(source, built), sort_keys=False, allow_unicode=True, width=_LINE, default_flow_style=False
    )
    spec = source.spec
    terms = licence(spec.licence)
    kind = "open" if spec.access == "open" else "credentialed: the files may be used by their credentialed holder alone"
    parts = [
        f"# {spec.title}",
        source.summary,
        f"- Paper: {spec.paper}\n- Official files: {spec.homepage}\n- Access: {kind}\n- Version of this form: {spec.version}",
    ]
    if spec.access == "credentialed":
        parts.append(
            "> The configurations other than `demo` hold text that its licence keeps private. Do not push them to a Hub, "
            "do not send them to a service that stores what it receives, and mind that `load_dataset` keeps a copy in its "
            "cache (`HF_HOME`) unless it streams."
        )
    parts += [
        "## Configurations\n\n" + _config_table(source, built),
        "`demo` is fully synthetic: its records were written for this package and describe no real person."
        + "".join(
            f" `{config}` is generated by this package and describes no real person either; the same options give the same "
            "rows."
            for config in spec.configs
            if config in source.generated and (built is None or config in built)
        ),
        "## Columns\n\n" + _column_table(source),
        "## Build and load\n\n" + _usage(source),
        "## Licence\n\n"
        f"The data is under the [{terms.name}]({terms.url}) licence ({spec.licence}). {source.licence_note}".rstrip()
        + "\n\nWhat this form changes:\n\n"
        + "\n".join(f"- {change}" for change in source.changes),
        f"## Citation\n\n```bibtex\n{spec.citation}\n```",
    ]
    return f"---\n{header}---\n\n" + "\n\n".join(parts) + "\n"


def _gate(source: DatasetSource) -> dict[str, Any]:
    spec = source.spec
    terms = licence(spec.licence)
    published = spec.licence.startswith("PhysioNet")
    return {
        "extra_gated_heading": f"Ask for access to {spec.title}",
        "extra_gated_prompt": (
            f"{spec.title} is made from credentialed health data under the {terms.name} ({terms.url}). Access is given to "
            f"people who hold their own permission from the publisher: {spec.homepage}"
            if published
            else f"{spec.title}: health data that belongs to somebody. Access is given to people who hold its owner's permission."
        ),
        "extra_gated_fields": dict(GATED_FIELDS if published else _OTHER_FIELDS),
        "extra_gated_button_content": "I hold the permission and ask for access",
    }


def _default_config(source: DatasetSource, names: list[str]) -> str | None:
    """The spec's default where it is there, else the first real configuration, else the demo."""
    if source.spec.default_config in names:
        return source.spec.default_config
    real = [name for name in names if name != "demo"]
    return next(iter(real or names), None)


def _rows(source: DatasetSource, config: str, split: str, built: Mapping[str, BuiltConfig] | None) -> int | None:
    if built is not None:
        return built[config].splits[split].rows
    return source.published_rows.get(config, {}).get(split)


def _splits(source: DatasetSource, config: str, built: Mapping[str, BuiltConfig] | None) -> Iterable[str]:
    """Those that were built, or those there can be."""
    return source.splits[config] if built is None else built[config].splits


def _size_category(source: DatasetSource, built: Mapping[str, BuiltConfig] | None) -> str:
    configs = source.spec.configs if built is None else tuple(built)
    largest = max(
        (
            sum(_rows(source, config, split, built) or 0 for split in _splits(source, config, built))
            for config in configs
        ),
        default=0,
    )
    return next((name for limit, name in _SIZES if largest < limit), "n>1M")


def _config_table(source: DatasetSource, built: Mapping[str, BuiltConfig] | None) -> str:
    lines = ["| configuration | split | rows | made from |", "|---|---|---|---|"]
    for config in source.spec.configs:
        if built is not None and config not in built:
            continue
        files = ", ".join(file.description for file in source.files[config].values()) or _made_here(
            source, config, built
        )
        for split in _splits(source, config, built):
            rows = _rows(source, config, split, built)
            lines.append(f"| `{config}` | `{split}` | {'' if rows is None else f'{rows:,}'} | {files} |")
    return "\n".join(lines)


def _made_here(source: DatasetSource, config: str, built: Mapping[str, BuiltConfig] | None) -> str:
    """Says which options a generated configuration was, or is to be, made with."""
    if config not in source.generated:
        return "this package"
    if built is None:
        return f"this package, from {', '.join(f'`--{option.name}`' for option in source.generated[config].options)}"
    return f"this package, with {', '.join(f'{name} {value}' for name, value in built[config].source.items())}"


def _column_table(source: DatasetSource) -> str:
    lines = ["| column | type | what it holds |", "|---|---|---|"]
    lines += [f"| `{column.name}` | {column.type_name} | {column.description} |" for column in source.columns]
    return "\n".join(lines)


def _usage(source: DatasetSource) -> str:
    spec = source.spec
    steps = "\n".join(f"- {step}" for step in spec.how_to_get)
    return (
        f"{steps}\n\n"
        "```python\n"
        "from datasets import load_dataset\n\n"
        f'rows = load_dataset("<folder of the built dataset>", "demo", split="{source.splits["demo"][0]}")\n'
        "```"
    )
