"""A `datasets` builder class for any `DatasetSource`.

The class is made by a function because `datasets` is imported late: listing tasks must not pay for it. The `build.py` of
each Hub folder is this call with its source; `medical-tasks build` uses the same class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.data.build_options import chosen_options
from medical_tasks.data.dataset_source import DatasetSource, find_files
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import hub_features

__all__ = ["builder_class"]


def builder_class(source: DatasetSource) -> Any:
    """Makes the builder class of a dataset.

    An instance takes `config_name`, and as `data_dir` the folder of the official files (none for `demo`); for a generated
    configuration its options as well, such as `seed=7, n=500`. Then `download_and_prepare()` and `as_dataset()`, or
    `as_streaming_dataset(split=...)`.

    Args:
        source: the dataset.

    Returns:
        A subclass of `datasets.GeneratorBasedBuilder`. Its generation raises `datasets.exceptions.DatasetGenerationError`
        from our own error when the official files are not as they should be.
    """
    import datasets

    spec = source.spec
    version = datasets.Version(spec.version)
    # The options of generated configurations are fields of the config: that is how `datasets` passes a builder's arguments
    # on, and how it tells one build in its cache from another.
    names_of_options = sorted({option.name for entry in source.generated.values() for option in entry.options})
    config_class = dataclasses.make_dataclass(
        "SourceConfig",
        [(name, "int | None", dataclasses.field(default=None)) for name in names_of_options],
        bases=(datasets.BuilderConfig,),
    )
    configs = [
        config_class(name=config, version=version, description=f"{spec.title}, {config}") for config in spec.configs
    ]
    names = [column.name for column in source.columns]

    class SourceBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]  # datasets ships no types
        """Builds one configuration from its official files."""

        VERSION = version
        BUILDER_CONFIG_CLASS = config_class
        BUILDER_CONFIGS = configs
        DEFAULT_CONFIG_NAME = spec.default_config

        def __init__(self, *args: Any, dataset_name: str | None = None, **kwargs: Any) -> None:
            super().__init__(*args, dataset_name=dataset_name or spec.name, **kwargs)

        def _info(self) -> Any:
            return datasets.DatasetInfo(
                description=source.summary,
                features=hub_features(source.columns),
                homepage=spec.homepage,
                citation=spec.citation,
                license=spec.licence,
            )

        def _split_generators(self, dl_manager: Any) -> list[Any]:
            place = Path(dl_manager.manual_dir) if dl_manager.manual_dir else None
            here = source.placed(self.config.name, place)
            files = find_files(here, self.config.name, place)
            self._options()  # a wrong one is refused before anything is written
            return [
                datasets.SplitGenerator(name=split, gen_kwargs={"split": split, "files": files})
                for split in here.splits[self.config.name]
            ]

        def _options(self) -> dict[str, int]:
            given = {name: getattr(self.config, name) for name in names_of_options}
            return chosen_options(
                f"{spec.name}, config {self.config.name}", source.generated.get(self.config.name), given
            )

        def _rows(self, split: str, files: Mapping[str, Path]) -> Iterator[Mapping[str, Any]]:
            generated = source.generated.get(self.config.name)
            return generated.rows(split, self._options()) if generated else source.read(self.config.name, split, files)

        def _generate_examples(self, split: str, files: Mapping[str, Path]) -> Iterator[tuple[Any, dict[str, Any]]]:
            seen: set[Any] = set()
            for row in self._rows(split, files):
                if row[source.key] in seen:
                    raise UsageError(
                        f"{spec.name}, config {self.config.name}, split {split}: two rows have {source.key} "
                        f"{row[source.key]!r}; it must be unique. Download the official files again."
                    )
                seen.add(row[source.key])
                if list(row) != names:  # datasets would fill a forgotten column with nulls
                    raise ValueError(f"{spec.name}: row {row[source.key]!r} has columns {list(row)}, declared {names}")
                yield row[source.key], dict(row)

    return SourceBuilder
