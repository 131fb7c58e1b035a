"""Shared helpers: the folder of upstream files, tiny tasks and runs, and counters."""

from __future__ import annotations

import ast
import configparser
import io
import os
import re
import shutil
import stat
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest

from medical_tasks.catalog import own_benchmarks
from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.io.store import Store
from medical_tasks.models.base import Length, Model, OnResult, Request
from medical_tasks.runs import results as run_files
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Benchmark,
    DatasetSpec,
    Item,
    ItemScore,
    MetricSpec,
    PromptSet,
    Scoring,
    TaskSpec,
)

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

PLAIN_INSTALL = """
import sys

class Missing:
    def find_spec(name, *where):
        if name in ("scipy", "transformers"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing)
"""
"""Begins a program that finds none of the two, as after a plain `pip install`: `evaluate` imports them where it can, in seconds."""

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="../shared with the upstream files is not here"
)


class GeneratesOnly(Model):
    """A scripted model of tasks without choices and without long documents."""

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        raise AssertionError("no task here asks for probabilities")

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        return [None for _ in requests]


def code_lines(folder: Path) -> int:
    """Counts the lines of a folder's modules that hold code: no blanks, comments or docstrings."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    assert texts
    return sum(len({*_lines_with_code(text)} - {*_doc_lines(text)}) for text in texts)


def _lines_with_code(text: str) -> Iterator[int]:
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*blank, tokenize.INDENT, tokenize.DEDENT):
            yield from range(token.start[0], token.end[0] + 1)


def _doc_lines(text: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def counts(store: Store, kind: str) -> tuple[int, int]:
    """Counts a store's records of a kind, and how often one was put; equal when nothing was done twice."""
    query = "SELECT COUNT(*), COALESCE(SUM(times), 0) FROM records WHERE kind = ?"
    count, times = store._connection.execute(query, (kind,)).fetchone()
    return count, times


def alive(pid: int) -> bool:
    """Reports whether a process still runs (Linux); one that ended and was not waited for does not."""
    try:
        stat_line = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        # The second error: the process ended after the file was opened.
        return False
    state = stat_line.rpartition(")")[2].split()[0]
    return state != "Z"


class NoBenchmark(Benchmark):
    """The benchmark of tasks that load nothing."""

    name, title, paper, datasets, tasks = "none", "None", "", (), ()

    def sources(self) -> tuple[DatasetSource, ...]:
        return ()

    def load_items(
        self, task: TaskSpec, rows: Sequence[Mapping[str, Any]]
    ) -> list[Item]:
        return []

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        raise NotImplementedError

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        return ""

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        return []


NO_BENCHMARK = NoBenchmark()


def own_tasks() -> dict[str, TaskSpec]:
    """The tasks of the project's own benchmarks, whatever else is installed."""
    tasks = {
        task.name: task for benchmark in own_benchmarks() for task in benchmark.tasks
    }
    assert tasks
    return tasks


def own_datasets() -> dict[str, DatasetSpec]:
    """Their datasets."""
    datasets = {
        spec.name: spec for benchmark in own_benchmarks() for spec in benchmark.datasets
    }
    assert datasets
    return datasets


def toy_task(*metrics: MetricSpec, name: str = "toy", **more: Any) -> TaskSpec:
    """A task that loads nothing."""
    whole: dict[str, Any] = {
        "dataset": "none",
        "split": "test",
        "version": "1-A",
        "generation_size": 8,
        **more,
    }
    return TaskSpec(
        name=name, title="Toy", benchmark=NO_BENCHMARK, metrics=metrics, **whole
    )


def user_message(prompts: PromptSet, item: Item) -> str:
    """The text of the one message that asks an item."""
    messages = prompts.render(item)
    assert [message["role"] for message in messages] == ["user"]
    return messages[0]["content"]


def file_modes(folder: Path) -> set[int]:
    """The permission bits of all files below a folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    assert paths
    return {stat.S_IMODE(path.stat().st_mode) for path in paths}


def setup_config() -> configparser.ConfigParser:
    """Reads the project's `setup.cfg`."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config


def run_python(
    *words: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    code: int = 0,
) -> str:
    """Runs `python WORDS` to its end, checks its exit code, and returns its standard output."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def run_in_shell(
    command: str,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command as a reader types it, in a shell and without an input."""
    return subprocess.run(
        command,
        shell=True,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def install_copies(packages: Mapping[Path, Path], site: Path) -> None:
    """Copies packages' folders to their sources, and installs these into `site`, without the network."""
    for package, source in packages.items():
        shutil.copytree(package, source)
    options = "--quiet --no-deps --no-build-isolation --no-index --no-compile --target"
    sources = [str(source) for source in packages.values()]
    run_python("-m", "pip", "install", *options.split(), str(site), *sources)


def word_runs(text: str, length: int = 8) -> set[tuple[str, ...]]:
    """Returns all runs of `length` words of a text, to check whether another text shares one."""
    words = re.findall(r"\w+", text.lower())
    return {
        tuple(words[start : start + length]) for start in range(len(words) - length + 1)
    }


def write_run(
    folder: Path,
    results: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    **more: Any,
) -> None:
    """Writes a run with invented rows."""
    items = run_files.ItemsFile(name for row in rows for name in row)
    items.add(rows)
    run_files.write_run(folder, cast(run_files.Results, dict(results)), items, **more)
