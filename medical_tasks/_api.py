"""The Python API: what the verbs of the command line do, as functions that return what they found.

Every function takes the options of its verb by name, with `_` for `-` (`max_new_tokens=512`); `medical-tasks run --help` has all.
`model_args`, `judge_args` and `task_args` may be dicts. Errors are those of `medical_tasks.errors`, with the
messages of the command line. Folders of runs may be given as paths or as `Results`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import medical_tasks.options as options
from medical_tasks.errors import UsageError, did_you_mean, doing

if TYPE_CHECKING:
    import pandas as pd

    from medical_tasks.calculators import Result
    from medical_tasks.data.building import BuiltDataset
    from medical_tasks.leaderboard.export import Exported
    from medical_tasks.leaderboard.options import Export, Verify
    from medical_tasks.leaderboard.submission_package.contents import Verification
    from medical_tasks.runs.adjudicating import UnclearSheet

    Answers = (
        Mapping[str, str] | Iterable[Mapping[str, Any]] | pd.DataFrame | str | os.PathLike[str]
    )


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
        self.metrics = {metric: _estimate(told) for metric, told in entry["metrics"].items()}

    @cached_property
    def items(self) -> pd.DataFrame:
        """A row an item, as in `items.parquet`."""
        import pandas as pd

        from medical_tasks.runs.results import read_items

        return pd.DataFrame(
            [row for row in read_items(self.folder) if row["task"] == self.name]
        ).dropna(axis=1, how="all")

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
            {"task": each, "metric": name, **vars(told)}
            for each in self
            for name, told in self[each].metrics.items()
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        from medical_tasks.report.terminal import render_table

        return render_table(self.content)

    def _repr_html_(self) -> str:
        return _html(self.table)


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


class TextScores(Comparison):
    """Texts' scores, in the form of `score-text --json`: `metrics`, as a DataFrame `table`, and each row's own in `["rows"]`."""

    @property
    def metrics(self) -> dict[str, Estimate]:
        """By name."""
        return {name: _estimate(told) for name, told in self["metrics"].items()}

    @property
    def table(self) -> pd.DataFrame:
        """A row a metric: value, interval, n."""
        import pandas as pd

        return pd.DataFrame([{"metric": name, **told} for name, told in self["metrics"].items()])

    def _repr_html_(self) -> str:
        return _html(self.table)


def _html(table: pd.DataFrame) -> str:
    return str(table.to_html(index=False, na_rep="n/a", float_format="{:.4g}".format))


def _estimate(told: Mapping[str, Any]) -> Estimate:
    fields: dict[str, Any] = {name: told.get(name) for name in Estimate.__dataclass_fields__}
    return Estimate(**fields)


def run(
    tasks: str,
    model: str,
    *,
    judge: str | None = None,
    max_samples: int | None = None,
    **more: Any,
) -> Results:
    """Evaluates a model, or goes on with a run that was stopped, and writes the run's folder (`out`, default `runs/MODEL-HASH`).

    Items without an answer or a score are in the results' coverage; they raise nothing.
    """
    done = evaluated(
        _options("run", tasks=tasks, model=model, judge=judge, max_samples=max_samples, **more)
    )
    if done is None:
        raise UsageError(
            "mt.run is for one process, and asks a judge. Use `medical-tasks run` under torchrun, or to forecast."
        )
    return done


def evaluated(arguments: options.Run) -> Results | None:
    """Does what `run` is asked for; None after a forecast and in all but the main process."""
    from medical_tasks.catalog import dataset_spec, parse_task_names
    from medical_tasks.runs.evaluating import evaluate

    tasks = parse_task_names(arguments.tasks)
    folder = evaluate(arguments, tasks, {task.name: dataset_spec(task.dataset) for task in tasks})
    return None if folder is None else Results(folder)


def score(
    task: str,
    answers: Answers,
    *,
    judge: str | None = None,
    adjudicated: str | os.PathLike[str] | None = None,
    **more: Any,
) -> Results:
    """Scores answers: a dict of item id to text, records or a DataFrame with `id` and `response`, or a file or a run's folder.

    `adjudicated`: the sheet that `adjudicate` wrote, filled in by a person or a judge.
    """
    from medical_tasks.runs.responses import GivenAnswers

    given = Path(answers) if isinstance(answers, str | os.PathLike) else GivenAnswers.of(answers)
    with _tables(
        "score",
        task=task,
        responses=given.name if isinstance(given, GivenAnswers) else given,
        judge=judge,
        adjudicated=adjudicated,
        **more,
    ) as chosen:
        done = rescored(chosen, given)
    if done is None:
        raise UsageError(
            "mt.score is for one process, and does not forecast. Use `medical-tasks score` for these."
        )
    return done[0]


def rescored(arguments: options.Score, responses: Any = None) -> tuple[Results, bool] | None:
    """Does what `score` is asked for: the results, and whether an item has no answer; None as `evaluated`."""
    from medical_tasks.catalog import dataset_spec, parse_task_names
    from medical_tasks.runs.evaluating import rescore

    tasks = parse_task_names(arguments.task)
    if len(tasks) != 1:
        raise UsageError(
            f"score takes one task, got {arguments.task!r} ({', '.join(task.name for task in tasks)})."
        )
    done = rescore(arguments, tasks[0], dataset_spec(tasks[0].dataset), responses)
    return None if done is None else (Results(done[0]), done[1])


def adjudicate(
    run: Results | str | os.PathLike[str], *, judge: str | None = None, **more: Any
) -> UnclearSheet:
    """Writes the sheet of a run's unclear answers for a person to fill in, or filled in by a judge; `score` takes it.

    Answers that the judge did not read are in the sheet's `failed`; they raise nothing.
    """
    with _tables("adjudicate", run=_folder(run), judge=judge, **more) as chosen:
        done = adjudicated(chosen)
    if done is None:
        raise UsageError("mt.adjudicate is for one process. Call it without torchrun.")
    return done


def adjudicated(arguments: options.Adjudicate) -> UnclearSheet | None:
    """Does what `adjudicate` is asked for; None in all but the main process."""
    from medical_tasks.catalog import dataset_spec, task_spec
    from medical_tasks.runs.adjudicating import adjudicate_as_asked
    from medical_tasks.runs.results import read_results

    tasks = [task_spec(name) for name in read_results(arguments.run)["tasks"]]
    return adjudicate_as_asked(
        arguments, tasks, {task.name: dataset_spec(task.dataset) for task in tasks}
    )


def merge(
    *runs: Results | str | os.PathLike[str], out: str | os.PathLike[str], **more: Any
) -> Results:
    """Makes one run of the parts that `run(..., shard="1/8")` and the others made, in the folder `out`; no model is opened."""
    done = merged(_options("merge", runs=[_folder(each) for each in runs], out=out, **more))
    if done is None:
        raise UsageError("mt.merge is for one process. Call it without torchrun.")
    return done[0]


def merged(arguments: options.Merge) -> tuple[Results, str] | None:
    """Does what `merge` is asked for: the results, and how to get answers that are missing; None as `evaluated`."""
    from medical_tasks.catalog import dataset_spec, parse_task_names
    from medical_tasks.runs.merging import merge_parts, read_parts

    parts = read_parts(arguments.runs)
    tasks = parse_task_names(",".join(parts[0].settings["tasks"]))
    done = merge_parts(
        arguments, parts, tasks, {task.name: dataset_spec(task.dataset) for task in tasks}
    )
    return None if done is None else (Results(done[0]), done[1])


def score_text(
    table: Any,
    references: Iterable[Any] | None = None,
    *,
    metrics: str | Iterable[str] | None = None,
    **more: Any,
) -> TextScores:
    """Scores texts by text metrics: a file, a DataFrame or records, or predictions with their `references`.

    A reference is a text, or a list of texts of which any will do; `source=COLUMN` and the like name columns, as in `score-text`.
    """
    from medical_tasks.cli.score_text import read_rows, scored, table_of

    names = metrics if metrics is None or isinstance(metrics, str) else ",".join(metrics)
    if isinstance(table, str | os.PathLike):
        with _tables("score-text", table=table, metrics=names, **more) as chosen:
            content = scored(chosen, read_rows(chosen.table, chosen))
    else:
        if references is not None:
            told, known = list(table), list(references)
            if len(told) != len(known):
                raise UsageError(
                    f"mt.score_text: {len(told)} predictions, but {len(known)} references. Give one of each."
                )
            table = [
                {"prediction": each, "reference": of} for each, of in zip(told, known, strict=True)
            ]
        if hasattr(table, "to_dict"):  # a DataFrame, in which an empty cell is nothing
            table = table.astype(object).where(table.notna(), None).to_dict("records")
        table = list(table)
        if not all(isinstance(each, Mapping) for each in table):
            raise UsageError(
                "mt.score_text: give a table of predictions and references, or the references as well."
            )
        chosen = _options("score-text", table="texts", metrics=names, **more)
        rows = [(f"row {number}", row) for number, row in enumerate(table, start=1)]
        content = scored(chosen, rows)
    return TextScores(content, table_of(content))


def compare(*runs: Results | str | os.PathLike[str], **more: Any) -> Comparison:
    """Compares two or more runs, item by item; the first is A."""
    return Comparison(*compared(_options("compare", runs=[_folder(each) for each in runs], **more)))


def compared(arguments: options.Compare) -> tuple[dict[str, Any], str]:
    """Does what `compare` is asked for: the content for programs, and the tables."""
    from medical_tasks.comparison.comparing import compare_as_asked

    return compare_as_asked(arguments)


def report(
    runs: Results | str | os.PathLike[str] | Iterable[Results | str | os.PathLike[str]],
    **more: Any,
) -> list[Path]:
    """Writes the report of one or more runs (`out`: a file, or a folder for HTML and Markdown) and returns its files."""
    several = [runs] if isinstance(runs, Results | str | os.PathLike) else list(runs)
    with _tables("report", runs=[_folder(each) for each in several], **more) as chosen:
        return list(reported(chosen).values())


def reported(arguments: options.Report) -> dict[str, Path]:
    """Does what `report` is asked for: the files by format."""
    from medical_tasks.report.collect import write_reports
    from medical_tasks.report.page_data import MAX_TEXT_BYTES
    from medical_tasks.report.texts import TextPlaces

    limit = arguments.max_text_bytes
    return write_reports(
        arguments.runs,
        TextPlaces(
            data=arguments.data,
            source=arguments.source,
            responses=arguments.responses,
            upstream=arguments.upstream,
            items=not arguments.no_items,
        ),
        out=arguments.out,
        form=arguments.format,
        title=arguments.title,
        max_text_bytes=MAX_TEXT_BYTES if limit is None else limit,
    )


def export(
    run: Results | str | os.PathLike[str], *, to: str, out: str | os.PathLike[str], **more: Any
) -> Exported:
    """Writes a run in the form of another tool, `to` as in `export`: its `files`, and the fields that are `left_open`."""
    with _tables("export", run=_folder(run), to=to, out=out, **more) as chosen:
        return exported(chosen)


def exported(arguments: Export) -> Exported:
    """Does what `export` is asked for."""
    from medical_tasks.leaderboard.export import export_run
    from medical_tasks.report.texts import TextPlaces

    places = TextPlaces(
        data=arguments.data,
        source=arguments.source,
        responses=arguments.responses,
        upstream=arguments.upstream,
    )
    return export_run(
        arguments.run,
        arguments.to,
        arguments.out,
        places=places,
        model_name=arguments.model_name,
        force=arguments.force,
    )


def build(
    dataset: str,
    *,
    config: str | None = None,
    source: str | os.PathLike[str] | None = None,
    **more: Any,
) -> BuiltDataset:
    """Builds a dataset from its official files (`source`), or its synthetic demo (`config="demo"`)."""
    with _tables("build", dataset=dataset, config=config, source=source, **more) as chosen:
        return built(chosen)


def built(arguments: options.Build) -> BuiltDataset:
    """Does what `build` is asked for."""
    from medical_tasks.catalog import dataset_spec
    from medical_tasks.data.fetching import build_dataset

    config = arguments.config or dataset_spec(arguments.dataset).default_config
    with doing(f"build {arguments.dataset}, configuration {config}"):
        return build_dataset(
            arguments.dataset,
            source=arguments.source,
            config=config,
            out=arguments.out,
            options={name: getattr(arguments, name) for name in ("seed", "n", "level")},
            partial=arguments.partial,
            fetch=arguments.fetch,
        )


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

    from medical_tasks.catalog import benchmarks, dataset_spec
    from medical_tasks.data.dataset_store import built_configs, read_tables
    from medical_tasks.data.task_data import obtain

    spec = dataset_spec(dataset)
    benchmark = next(each for each in benchmarks() if spec in each.datasets)
    place = None if data is None else Path(data)
    folder, chosen = obtain(
        benchmark,
        spec,
        place,
        config,
        agreed=lambda source, name: name == "demo" or (fetch and bool(source.pins(name))),
    )
    tables = read_tables(
        folder, chosen, split or "+".join(built_configs(folder)[chosen].splits), spec=spec
    )
    found = {name: Dataset(table) for name, table in tables.items()}
    return DatasetDict(found) if split is None else concatenate_datasets(list(found.values()))


def calc(name: int | str, **inputs: Any) -> Result:
    """Calculates: `calc("cha2ds2_vasc", age=72, sex="female")`; values are numbers, `(1.2, "mg/dL")` or `"5 ft 10 in"`."""
    from medical_tasks.calculators import calculate, find

    calculator = find(name)
    given = (
        (key, list(value) if isinstance(value, tuple) else value) for key, value in inputs.items()
    )
    return calculate(calculator, calculator.named(given))


def verify(package: str | os.PathLike[str], **more: Any) -> Verification:
    """Scores a submission package's answers again and says what matches."""
    with _tables("verify", package=package, **more) as chosen:
        return verified(chosen)[1]


def verified(arguments: Verify) -> tuple[str, Verification]:
    """Does what `verify` is asked for: the name of the package's model, and what was found."""
    from medical_tasks.leaderboard.commands import verification
    from medical_tasks.leaderboard.submission_package.reading import read_package
    from medical_tasks.leaderboard.submission_package.verifying import verify_guarded

    package = read_package(arguments.package)
    options, attestation = verification(arguments)
    return package.manifest.submitter.model, verify_guarded(package, options, attestation)


@contextlib.contextmanager
def _tables(verb: str, **given: Any) -> Iterator[Any]:
    """The verb's options; within the block tables are read as they say."""
    from medical_tasks.cli.entry import table_choice
    from medical_tasks.io.cell_forms import reading_tables

    chosen = _options(verb, **given)
    with reading_tables(table_choice(chosen, python=True)):
        yield chosen


def _options(verb: str, **given: Any) -> Any:
    from medical_tasks.cli.entry import verbs
    from medical_tasks.cli.parser import loaded

    kind: Any = loaded(verbs()[verb])
    known = options.parameters(kind)
    values = {}
    for name, value in given.items():
        if name not in known:
            raise UsageError(
                f"mt.{verb} takes no {name!r}.{did_you_mean(name, known)} It takes: {', '.join(known)}."
            )
        if value is not None:
            values[name] = _value(verb, known[name], value)
    return kind(**values)


def _value(verb: str, parameter: Any, value: Any) -> Any:
    if parameter.many:
        several = [value] if isinstance(value, str | os.PathLike | Mapping) else value
        return tuple(_value_of(parameter, each) for each in several)
    if parameter.choices and value not in parameter.choices:
        raise UsageError(
            f"mt.{verb}: {parameter.name} is one of {', '.join(map(str, parameter.choices))}, got {value!r}."
        )
    return _value_of(parameter, value)


def _value_of(parameter: Any, value: Any) -> Any:
    if parameter.type is Mapping:
        if isinstance(value, str):
            return options.read_settings(value, option=parameter.name)
        return {str(name): str(each) for name, each in value.items()}
    return Path(value) if parameter.type is Path else value


def _folder(run: Results | str | os.PathLike[str]) -> Path:
    return run.folder if isinstance(run, Results) else Path(run)
