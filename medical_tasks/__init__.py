"""Medical LLM benchmarks for lighteval, inspect, datasets and evaluate."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError, did_you_mean

__all__ = ["__version__", "dataset_path", "metric_path"]


def metric_path(name: str) -> str:
    """Returns the folder of a metric, for `evaluate.load`.

    Args:
        name: for example `medcalc`.

    Raises:
        UsageError: There is no such metric.
    """
    return _folder("metrics", "medical_tasks.hub_metrics", name)


def dataset_path(name: str) -> str:
    """Returns the folder of a dataset's builder, with its `build.py`, card and Croissant file.

    Args:
        name: for example `medcalc_bench`.

    Raises:
        UsageError: There is no such dataset.
    """
    return _folder("dataset_builders", "medical_tasks.hub_datasets", name)


def _folder(kind: str, package: str, name: str) -> str:
    spec = find_spec(package)
    # Run from a checkout that is not installed, the folders stand beside the package.
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec is not None else []
    places.append(Path(__file__).resolve().parents[1] / kind)
    found: list[str] = []
    for place in places:
        if (place / name / "README.md").is_file():
            return str(place / name)
        found += [card.parent.name for card in place.glob("*/README.md")]
    raise UsageError(
        f"unknown {kind.replace('_', ' ')[:-1]} {name!r}.{did_you_mean(name, found)} "
        f"Known: {', '.join(sorted(set(found))) or 'none'}."
    )
