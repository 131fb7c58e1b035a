"""The Python API: what the verbs of the command line do, as functions that return what they found.

Every function takes the options of its verb by name, with `_` for `-` (`max_new_tokens=512`); `medical-tasks run --help` has all.
`model_args`, `judge_args` and `task_args` may be dicts. Errors are those of `medical_tasks.errors`, with the
messages of the command line. Folders of runs may be given as paths or as `Results`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medical_tasks.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from medical_tasks.calculators import Result
    from medical_tasks.data.building import BuiltDataset
    from medical_tasks.leaderboard.submission_package.contents import Verification

    Answers = Mapping[str, str] | Iterable[Mapping[str, Any]] | pd.DataFrame | str | os.PathLike[str]


@dataclass(frozen=True)
class Estimate:
    """A metric: its value with a 95 % interval, over `n` items, and the bounds that anything missing leaves; None is n/a."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    bound_low: float | None
    bound_high: float | None


class TaskResults:
    """The results of one task of a run."""

    def __init__(self, name: str, entry: Mapping[str, Any], folder: Path) -> None:
        self.name, self.entry, self.folder = name, entry, folder
        self.coverage: Mapping[str, Any] = entry["coverage"]
        self.breakdown: Mapping[str, Any] = entry["breakdown"]
        self.recipe: Mapping[str, Any] = entry["recipe"]
        names = Estimate.__dataclass_fields__
        self.metrics = {
            metric: Estimate(**{name: told.get(name) for name in names}) for metric, told in entry["metrics"].items()
        }

    @cached_property
    def items(self) -> pd.DataFrame:
        """A row an item, as in `items.parquet`."""
        import pandas as pd

        from medical_tasks.runs.results import read_items

        return pd.DataFrame([row for row in read_items(self.folder) if row["task"] == self.name]).dropna(
            axis=1, how="all"
        )

    def __repr__(self) -> str:
        from medical_tasks.report.terminal import render_table

        return render_table({"tasks": {self.name: self.entry}})


class Results(Mapping[str, TaskResults]):
    """The results in a run's folder by task; any spelling of a task's name finds it. It prints as the table of the command line."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        from medical_tasks.runs.results import read_results

        self.folder = Path(folder)
        self.content: Mapping[str, Any] = read_results(self.folder)

    def __getitem__(self, name: str) -> TaskResults:
        tasks: Mapping[str, Any] = self.content["tasks"]
        bare = name.replace("|", ":").removeprefix("medical:").partition(":")[0]
        if bare not in tasks:
            raise KeyError(f"{name}: the run has {', '.join(tasks)}.{did_you_mean(bare, tasks)}")
        return TaskResults(bare, tasks[bare], self.folder)

    def __iter__(self) -> Iterator[str]:
        return iter(self.content["tasks"])

    def __len__(self) -> int:
        return len(self.content["tasks"])

    @property
    def table(self) -> pd.DataFrame:
        """A row a task and metric: value, interval, n, bounds."""
        import pandas as pd

        rows = [
            {"task": each, "metric": name, **vars(told)} for each in self for name, told in self[each].metrics.items()
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        from medical_tasks.report.terminal import render_table

        return render_table(self.content)

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False, na_rep="n/a", float_format="{:.4g}".format))


class Comparison(Mapping[str, Any]):
    """Runs beside one another, in the form of `compare --json`; prints as the command line's tables."""

    def __init__(self, content: Mapping[str, Any], text: str) -> None:
        self.content, self._text = content, text

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)

    def __repr__(self) -> str:
        return self._text


def run(tasks: str, model: str, *, judge: str | None = None, max_samples: int | None = None, **options: Any) -> Results:
    """Evaluates a model, or goes on with a run that was stopped, and writes the run's folder (`out`, default `runs/MODEL-HASH`).

    Items without an answer or a score are in the results' coverage; they raise nothing.
    """
    from medical_tasks.cli.run import evaluate

    done = evaluate(_options("run", tasks=tasks, model=model, judge=judge, max_samples=max_samples, **options))
    if done is None:
        raise UsageError(
            "mt.run is for one process, and asks a judge. Use `medical-tasks run` under torchrun, or to forecast."
        )
    return Results(done[1])


def score(task: str, answers: Answers, *, judge: str | None = None, **options: Any) -> Results:
    """Scores answers: a dict of item id to text, records or a DataFrame with `id` and `response`, or a file or a run's folder."""
    from medical_tasks.cli.score import evaluate

    with tempfile.TemporaryDirectory() as scratch:
        place = Path(answers) if isinstance(answers, str | os.PathLike) else _written(answers, Path(scratch))
        done = evaluate(_options("score", task=task, responses=place, judge=judge, **options))
    if done is None:
        raise UsageError("mt.score is for one process, and does not forecast. Use `medical-tasks score` for these.")
    return Results(done[1])


def compare(*runs: Results | str | os.PathLike[str], **options: Any) -> Comparison:
    """Compares two or more runs, item by item; the first is A."""
    from medical_tasks.cli.compare import compared

    return Comparison(*compared(_options("compare", runs=[_folder(each) for each in runs], **options)))


def report(
    runs: Results | str | os.PathLike[str] | Iterable[Results | str | os.PathLike[str]], **options: Any
) -> list[Path]:
    """Writes the report of one or more runs (`out`: a file, or a folder for HTML and Markdown) and returns its files."""
    from medical_tasks.cli.report import write

    several = [runs] if isinstance(runs, Results | str | os.PathLike) else list(runs)
    return list(write(_options("report", runs=[_folder(each) for each in several], **options)).values())


def build(
    dataset: str, *, config: str | None = None, source: str | os.PathLike[str] | None = None, **options: Any
) -> BuiltDataset:
    """Builds a dataset from its official files (`source`), or its synthetic demo (`config="demo"`)."""
    from medical_tasks.cli.build import built

    return built(_options("build", dataset=dataset, config=config, source=source, **options))


def load(
    dataset: str,
    *,
    config: str | None = None,
    split: str | None = None,
    data: str | os.PathLike[str] | None = None,
    fetch: bool = True,
) -> Any:
    """Loads a dataset: a `datasets.Dataset`, or without `split` a `DatasetDict`.

    What is not built is built first: `demo` from this package, an open dataset from its official files, which are fetched
    unless `fetch` is False. The rows are read into memory: no copy of them is left in a cache.
    """
    from datasets import Dataset, DatasetDict, concatenate_datasets

    from medical_tasks.benchmarks.catalog import BENCHMARKS, dataset_spec
    from medical_tasks.data.dataset_store import built_configs, read_tables
    from medical_tasks.data.task_data import obtain

    spec = dataset_spec(dataset)
    benchmark = next(each for each in BENCHMARKS if spec in each.datasets)
    place = None if data is None else Path(data)
    folder, chosen = obtain(
        benchmark,
        spec,
        place,
        config,
        agreed=lambda source, name: name == "demo" or (fetch and bool(source.pins(name))),
    )
    tables = read_tables(folder, chosen, split or "+".join(built_configs(folder)[chosen].splits), spec=spec)
    found = {name: Dataset(table) for name, table in tables.items()}
    return DatasetDict(found) if split is None else concatenate_datasets(list(found.values()))


def calc(name: int | str, **inputs: Any) -> Result:
    """Calculates: `calc("cha2ds2_vasc", age=72, sex="female")`; values are numbers, `(1.2, "mg/dL")` or `"5 ft 10 in"`."""
    from medical_tasks.calculators import calculate, find

    calculator = find(name)
    given = ((key, list(value) if isinstance(value, tuple) else value) for key, value in inputs.items())
    return calculate(calculator, calculator.named(given))


def verify(package: str | os.PathLike[str], **options: Any) -> Verification:
    """Scores a submission package's answers again and says what matches."""
    from medical_tasks.cli.verify import verified

    return verified(_options("verify", package=package, **options))[1]


def _options(verb: str, **given: Any) -> argparse.Namespace:
    """The verb's options as the command line has them, by their own declarations."""
    from medical_tasks.cli.entry import verb_module

    parser = argparse.ArgumentParser()
    verb_module(verb).add_arguments(parser)
    known = {action.dest: action for action in parser._actions if action.dest != "help"}
    chosen = argparse.Namespace(**{name: action.default for name, action in known.items()})
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"mt.{verb} takes no {name!r}.{did_you_mean(name, known)} It takes: {', '.join(known)}.")
        if value is not None:
            setattr(chosen, name, _value(verb, known[name], value))
    return chosen


def _value(verb: str, action: argparse.Action, value: Any) -> Any:
    several = isinstance(action.default, list) or action.nargs == "+"
    if several:
        return [_value_of(action, each) for each in ([value] if isinstance(value, str | os.PathLike) else value)]
    if isinstance(value, Mapping):
        return ",".join(f'{name}="{each}"' if "," in str(each) else f"{name}={each}" for name, each in value.items())
    if action.choices is not None and value not in action.choices:
        raise UsageError(f"mt.{verb}: {action.dest} is one of {', '.join(map(str, action.choices))}, got {value!r}.")
    return _value_of(action, value)


def _value_of(action: argparse.Action, value: Any) -> Any:
    return Path(value) if action.type is Path else value


def _folder(run: Results | str | os.PathLike[str]) -> Path:
    return run.folder if isinstance(run, Results) else Path(run)


def _written(answers: Any, folder: Path) -> Path:
    """Writes answers as the lines that `score` reads (and refuses, if need be), in a file named by its content."""
    if isinstance(answers, Mapping):
        answers = [{"id": name, "response": text} for name, text in answers.items()]
    elif hasattr(answers, "to_dict"):
        answers = answers.astype(object).where(answers.notna(), None).to_dict("records")  # an empty cell is no answer
    text = "".join(json.dumps(each, default=_plain) + "\n" for each in answers)
    path = folder / f"answers-{hashlib.sha256(text.encode()).hexdigest()[:8]}.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def _plain(value: Any) -> Any:
    """A number of numpy; anything else is no answer, and must not be scored as a text."""
    if hasattr(value, "item"):
        return value.item()
    raise UsageError(f"mt.score: an answer is a text, or None for no answer; got {type(value).__name__}.")
