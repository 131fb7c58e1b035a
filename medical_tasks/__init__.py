"""Medical LLM benchmarks for lighteval, inspect, datasets and evaluate."""

from __future__ import annotations

from medical_tasks._version import __version__
from medical_tasks.data.hub_folders import dataset_path, metric_path

__all__ = ["__version__", "dataset_path", "metric_path"]
