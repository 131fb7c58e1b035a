"""Medical LLM benchmarks for lighteval, inspect, datasets and evaluate.

import medical_tasks as mt

results = mt.run("medical|medcalc", model="hf/path/to/model", max_samples=200)
results["medcalc"].metrics["accuracy"]
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from .api import (
        Results,
        adjudicate,
        audit,
        build,
        calc,
        compare,
        construct_benchmark,
        correlate,
        decompose,
        doctor,
        error_report,
        export,
        forecast,
        gate,
        import_run,
        judge_check,
        keep_leaderboard,
        launch,
        leakcheck,
        load,
        merge,
        meta,
        new_benchmark,
        plan,
        purge,
        report,
        run,
        score,
        score_text,
        sheet,
        show_prompt,
        submit_eval_results,
        submit_shared_task,
        submit_space,
        swap,
        tasks,
        umls_build,
        umls_find,
        verify,
    )

__all__ = [
    "Results", "__version__", "adjudicate", "audit", "build", "calc", "compare",
    "construct_benchmark", "correlate", "dataset_path", "decompose", "doctor", "error_report",
    "export", "forecast", "gate", "import_run", "judge_check", "keep_leaderboard", "launch",
    "leakcheck", "load", "merge",
    "meta", "metric_path", "new_benchmark", "plan", "purge", "report", "run", "score", "score_text",
    "sheet", "show_prompt", "submit_eval_results", "submit_shared_task", "submit_space", "swap", "tasks",
    "umls_build",
    "umls_find", "verify",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imports the API when it is used, so that `import medical_tasks` stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("medical_tasks.api"), name)


def __dir__() -> list[str]:
    return __all__


def metric_path(name: str) -> str:
    """Returns the folder of a metric, for `evaluate.load`.

    Args:
        name: for example `medcalc`, a task of another package, or the YAML file of a
            benchmark such as `my_benchmark.yaml`.

    Raises:
        UsageError: There is no such metric.
    """
    try:
        return _folder("metrics", "medical_tasks.hub_metrics", name)
    except UsageError:
        from medical_tasks.harness.metric_folders import metric_folder

        if (folder := metric_folder(name)) is None:
            raise

        return folder


def dataset_path(name: str) -> str:
    """Returns the folder of a dataset's builder, with its `build.py`, card and Croissant file.

    Args:
        name: for example `medcalc_bench`.

    Raises:
        UsageError: There is no such dataset.
    """
    return _folder("dataset_builders", "medical_tasks.hub_datasets", name)


def _folder(kind: str, package: str, name: str) -> str:
    checkout = Path(__file__).resolve().parents[1]
    # The checkout of the imported package takes precedence over an installed one.
    if (checkout / "setup.cfg").is_file():
        folders = [checkout / kind]
    else:
        spec = find_spec(package)
        folders = (
            [Path(folder) for folder in (spec.submodule_search_locations or ())]
            if spec is not None
            else []
        )

    known_names: list[str] = []
    for folder in folders:
        if (folder / name / "README.md").is_file():
            return str(folder / name)

        known_names += [card.parent.name for card in folder.glob("*/README.md")]

    raise UsageError(
        f"unknown {kind.replace('_', ' ')[:-1]} {name!r}.{did_you_mean(name, known_names)} "
        f"Known: {', '.join(sorted(set(known_names))) or 'none'}."
    )
