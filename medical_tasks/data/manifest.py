"""Generates files: `tasks.json`, for programs that do not run Python; cards; README's table.

They are generated from the specs, checked in, and never read at run time. The project's files
describe its own benchmarks, whatever else is installed; `write_package` makes those of another
package.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from medical_tasks._version import __version__
from medical_tasks.catalog import own_benchmarks
from medical_tasks.data.cards import card_text, croissant_text, eval_text
from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.io.files import read_text
from medical_tasks.spec import Benchmark, DatasetSpec, TaskSpec

__all__ = [
    "check_cards",
    "check_manifest",
    "manifest_text",
    "text_problems",
    "write_cards",
    "write_manifest",
    "write_package",
    "write_texts",
]


MANIFEST_FILE = "tasks.json"
_MANIFEST_VERSION = 1


def manifest_text(benchmarks: Sequence[Benchmark] | None = None) -> str:
    """Returns the content of `tasks.json`, by default that of the project's own benchmarks."""
    content = {
        "manifest_version": _MANIFEST_VERSION,
        "suite": "medical-tasks",
        "version": __version__,
        "benchmarks": [
            _benchmark(benchmark) for benchmark in benchmarks or own_benchmarks()
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _benchmark(benchmark: Benchmark) -> dict[str, object]:
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "paper": benchmark.paper,
        "datasets": [_dataset(dataset) for dataset in benchmark.datasets],
        "tasks": [_task(task) for task in benchmark.tasks],
    }


def _dataset(dataset: DatasetSpec) -> dict[str, object]:
    entry = dataclasses.asdict(dataset)
    entry["builder"] = f"dataset_builders/{dataset.name}/build.py"
    return entry


def _task(task: TaskSpec) -> dict[str, object]:
    """Describes a task for `tasks.json`."""
    return {
        "name": task.name,
        "lighteval": None if task.outside_lighteval else f"{task.harness_name}|0",
        "inspect": f"medical_tasks/{task.name}",
        "title": task.title,
        "version": task.version,
        "dataset": task.dataset,
        "split": task.split,
        "judge": task.judge,
        "votes": task.votes if task.judge else None,
        "asks": task.asks,
        "generation_size": task.generation_size,
        "stop": list(task.stop),
        "metrics": [dataclasses.asdict(metric) for metric in task.metrics],
        "groups": list(task.groups),
        "strata": list(task.strata),
        "cluster": task.cluster,
        "options": dict(task.options),
        "arguments": {**task.arguments, **task.scoring_arguments},
        "protocol": task.protocol or None,
        "roles": dict(task.roles),
        "baseline": task.baseline or None,
    }


def write_package(folder: Path, benchmarks: Sequence[Benchmark]) -> list[Path]:
    """Writes another package's `tasks.json`, and in `cards/` a folder for each of its datasets.

    Returns what changed.
    """
    texts = {folder / MANIFEST_FILE: manifest_text(benchmarks)}
    for benchmark in benchmarks:
        for source in benchmark.sources():
            texts |= _generated(folder / "cards", source, benchmark)
    return write_texts(texts)


def write_manifest(root: Path) -> list[Path]:
    """Writes the project's `tasks.json`, the packages of `setup.cfg`, README's table.

    Returns what changed.
    """
    return write_texts(_of_project(root))


def check_manifest(root: Path) -> list[str]:
    """Compares `tasks.json`, the packages of `setup.cfg` and README's table with the specs.

    Returns a line for each problem.
    """
    return text_problems(_of_project(root))


def write_texts(texts: Mapping[Path, str]) -> list[Path]:
    """Writes the generated files that differ from their texts; returns their paths."""
    changed = [
        path
        for path, text in texts.items()
        if not path.is_file() or read_text(path) != text
    ]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
    return changed


def text_problems(texts: Mapping[Path, str]) -> list[str]:
    """Compares generated files with their texts; a line for each that is wrong."""
    problems = []
    for path, text in texts.items():
        if not path.is_file():
            problems.append(f"{path}: is missing. Write it with: make manifest")
        elif read_text(path) != text:
            problems.append(
                f"{path}: differs from the specs. Write it again with: make manifest"
            )
    return problems


def _of_project(root: Path) -> dict[Path, str]:
    """Returns the texts generated outside the Hub folders.

    In a folder without the project's files, that is only `tasks.json`.
    """
    texts = {root / MANIFEST_FILE: manifest_text()}
    for name, generated in (("setup.cfg", _with_packages), ("README.md", _with_table)):
        if (root / name).is_file():
            texts[root / name] = generated(read_text(root / name), root)
    return texts


def _with_packages(text: str, root: Path) -> str:
    """Updates the list of packages in `setup.cfg` from the folders."""
    folders = sorted(
        path.parent for path in (root / "medical_tasks").rglob("__init__.py")
    )
    names = [".".join(folder.relative_to(root).parts) for folder in folders]
    listed = "".join(
        f"    {name}\n"
        for name in (*names, "medical_tasks.hub_datasets", "medical_tasks.hub_metrics")
    )
    return re.sub(r"(?m)^packages =\n(?:    .*\n)+", f"packages =\n{listed}", text)


_SHOWN = 4


def _with_table(text: str, root: Path) -> str:
    """Updates the table of benchmarks in README from the catalog."""
    rows = ["| benchmark | tasks | data |", "|---|---|---|"]
    for benchmark in own_benchmarks():
        first = ", ".join(f"`{task.name}`" for task in benchmark.tasks[:_SHOWN])
        more = (
            f" and {len(benchmark.tasks) - _SHOWN} more"
            if len(benchmark.tasks) > _SHOWN
            else ""
        )
        terms = dict.fromkeys(
            f"{spec.access}, {spec.licence}" for spec in benchmark.datasets
        )
        rows.append(
            f"| [{benchmark.title}]({benchmark.paper}) | {first}{more} | {'; '.join(terms)} |"
        )

    table = "\n".join(rows)
    return re.sub(
        r"(?s)(<!-- tasks: make manifest -->\n).*?(?=\n<!-- end of tasks -->)",
        lambda m: m[1] + table,
        text,
    )


def check_cards(root: Path | None = None) -> list[str]:
    """Compares the Hub folders, by default those that ship with the package, with the sources.

    Returns a line for each problem.
    """
    problems: list[str] = []
    folder = root or _shipped()
    sources = _own_sources()
    for name, (source, benchmark) in sources.items():
        script = folder / name / "build.py"
        if not script.is_file():
            problems.append(
                f"{script}: missing; every dataset has its builder class there"
            )

        texts = _generated(folder, source, benchmark)
        problems += text_problems(texts)
        leaderboards = folder / name / "eval.yaml"
        if leaderboards.is_file() and leaderboards not in texts:
            problems.append(
                f"{leaderboards}: the dataset has no leaderboard; remove it"
            )

    unknown = [
        path.parent
        for path in sorted(folder.glob("*/README.md"))
        if path.parent.name not in sources
    ]
    return [
        *problems,
        *(f"{folder}: belongs to no dataset of the suite" for folder in unknown),
    ]


def write_cards(root: Path | None = None) -> list[Path]:
    """Writes the generated files of the Hub folders that differ from the sources.

    Returns their paths.
    """
    return [
        path
        for source, benchmark in _own_sources().values()
        for path in write_texts(_generated(root or _shipped(), source, benchmark))
    ]


def _own_sources() -> dict[str, tuple[DatasetSource, Benchmark]]:
    return {
        source.spec.name: (source, benchmark)
        for benchmark in own_benchmarks()
        for source in benchmark.sources()
    }


def _shipped() -> Path:
    return Path(str(files("medical_tasks.hub_datasets")))


def _generated(
    root: Path, source: DatasetSource, benchmark: Benchmark
) -> dict[Path, str]:
    """Returns the texts of a dataset's generated files, by path."""
    texts = {
        "README.md": card_text(source),
        "croissant.json": croissant_text(source),
        "eval.yaml": eval_text(source.spec, benchmark.tasks),
    }
    return {
        root / source.spec.name / file: text for file, text in texts.items() if text
    }
