"""A dataset made of one file of the user's own, for the length of one command: nothing of it is left behind.

Datasets with a configuration `own` that is read from one file can be given so. The rows are built as `medical-tasks build` builds
them, in a folder of the private store that is removed as soon as they are read; what a killed command leaves, `purge` removes.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from medical_tasks.building import build_source, dataset_source
from medical_tasks.dataset_source import DatasetSource
from medical_tasks.errors import UsageError
from medical_tasks.private_store import in_use, new_private_id, private_folder
from medical_tasks.spec import DatasetSpec

__all__ = ["OWN_CONFIG", "built_from", "own_source"]

OWN_CONFIG: Final = "own"


def own_source(spec: DatasetSpec) -> DatasetSource:
    """Finds how a dataset is built from one file.

    Args:
        spec: the dataset.

    Returns:
        Its source.

    Raises:
        UsageError: It has no configuration of that kind.
    """
    if OWN_CONFIG in spec.configs:
        source = dataset_source(spec.name)
        if len(source.files[OWN_CONFIG]) == 1:
            return source
    raise UsageError(
        f"--source: the dataset {spec.name} is not made of one file of your own. Leave it out, and build the dataset first: "
        f"medical-tasks build {spec.name} --help"
    )


@contextlib.contextmanager
def built_from(spec: DatasetSpec, file: Path) -> Iterator[Path]:
    """Builds configuration `own` of a dataset for the length of a `with` block.

    Args:
        spec: the dataset.
        file: what it is made of.

    Yields:
        The folder of the built dataset, closed to everybody else.

    Raises:
        UsageError: It is no such dataset, or the file is not as it must be.
        MissingError: There is no such file.
        RefusedError: The private store cannot be closed to others.
        IncompleteError: The disk is full.
    """
    source = own_source(spec)
    if file.is_dir():
        raise UsageError(f"{file}: is a folder. Give --source the file itself.")
    place = private_folder(new_private_id())
    try:
        with in_use(place):
            folder = place / spec.name
            build_source(source, place=file.expanduser(), config=OWN_CONFIG, folder=folder)
            yield folder
    finally:
        shutil.rmtree(place, ignore_errors=True)
