"""Medical LLM benchmarks for lighteval, inspect, datasets and evaluate."""

from medical_tasks._version import __version__

__all__ = ["__version__"]
