"""Makes a benchmark's metric for `evaluate` from its task and its scorer.

    # metrics/<benchmark>/<benchmark>.py
    Metric = benchmark_metric(TASK)

References are rows of the built dataset. With `row` and `columns` they may be smaller:
rows with the metric's own names, or with the dataset's official columns. Other columns
are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final, Literal, TypeAlias

import datasets  # noqa: TID253 - only metrics that `evaluate` loads import this module
import evaluate  # noqa: TID253

import medical_tasks.plugins as plugins
from medical_tasks.catalog import task_spec
from medical_tasks.harness.evaluate_rows import Columns, Row, read_row
from medical_tasks.io.columns import hub_features
from medical_tasks.scoring.means import mean_interval, proportion_interval
from medical_tasks.spec import Answer, Item, TaskSpec

ValueType: TypeAlias = Literal["text", "texts", "number"]
"""The type of a value of a reference: a text, a list of texts or a whole number."""

Score: TypeAlias = Callable[..., Mapping[str, object]]
"""Computes what `compute` returns from answers, references and the metric's options."""


def benchmark_metric(
    task: TaskSpec,
    *,
    description: str = "",
    inputs: str = "",
    columns: Columns | None = None,
    row: Mapping[str, ValueType] | None = None,
    score: Score | None = None,
    or_text: bool = False,
) -> type[evaluate.Metric]:
    """Makes the class that `evaluate.load` finds in a metric's module.

    Args:
        task: the task; its dataset provides citation and links.
        description: what the metric measures; by default the task's title and metrics.
        inputs: a description of arguments and results; by default that of `score_rows`.
        columns: the sources of each value of a reference; by default the column with
            its name.
        row: the values of a reference, with their types; by default the columns of the
            built dataset.
        score: computes the figures; by default `score_rows` of the task.
        or_text: whether a reference may also be a text.

    Example:
        Kqa = benchmark_metric(KQA, ..., score=score_answers)
        Kqa().compute(predictions=[answer], references=[row], verdicts=[["entailment"]])
    """
    dataset = next(
        candidate
        for candidate in task.benchmark.datasets
        if candidate.name == task.dataset
    )
    text = datasets.Value("string")
    types = {
        "text": text,
        "texts": datasets.Sequence(text),
        "number": datasets.Value("int64"),
    }
    fields = (
        dict(hub_features(task.benchmark.source(task.dataset).columns))
        if row is None
        else {name: types[kind] for name, kind in row.items()}
    )
    forms = [
        datasets.Features({"predictions": text, "references": form})
        for form in ((fields, text) if or_text else (fields,))
    ]
    information = evaluate.MetricInfo(
        description=description or _described(task),
        citation=dataset.citation,
        inputs_description=inputs or _INPUTS,
        features=forms if or_text else forms[0],
        homepage=dataset.homepage,
        reference_urls=[dataset.paper],
    )

    compute = score or partial(score_rows, task.reporting(()))

    def computed(
        _: object,
        *,
        predictions: Sequence[str],
        references: Sequence[Row],
        **options: object,
    ) -> Mapping[str, object]:
        return compute(predictions, references, **options)

    sources = dict.fromkeys(fields, ()) if columns is None else columns
    members = {"columns": sources, "_info": lambda _: information, "_compute": computed}

    return type(task.benchmark.name.title().replace("_", ""), (_DatasetRows,), members)


def plugin_metric(name: str, places: Sequence[str]) -> type[evaluate.Metric]:
    """Makes the metric of a task from another package or a YAML file.

    `medical_tasks.metric_path` writes the module that calls this.
    """
    with plugins.using(places):
        return benchmark_metric(task_spec(name))


_INPUTS: Final = """\
Args:
    predictions: list of str, the models' texts.
    references: list of dicts, one for each prediction: rows of the built dataset.
    confidence: float, of the intervals. Default 0.95.
Returns:
    each metric: float, nan without rows; with _ci_low and _ci_high, which take the rows as
        independent.
    n: int, number of rows.
"""


def _described(task: TaskSpec) -> str:
    return "\n".join(
        [
            task.title,
            *(f"{metric.name}: {metric.description}" for metric in task.metrics),
        ]
    )


def score_rows(
    task: TaskSpec,
    predictions: Sequence[str],
    references: Sequence[Row],
    *,
    confidence: float = 0.95,
    fields: Callable[[Row], Row] | None = None,
) -> dict[str, float]:
    """Scores answers by the task's own scorer; the rows count as independent.

    Args:
        task: one without a judge, with the metrics to return.
        predictions: the model's texts.
        references: one for each text.
        confidence: of the intervals.
        fields: makes the fields that the scorer reads of a reference; by default
            references are rows of the built dataset.

    Returns:
        Each metric's mean, nan without rows, and the ends of its interval, `_ci_low`
        and `_ci_high`; and `n`, the number of rows.
    """
    if fields is None:
        items = task.benchmark.load_items(task, references)
    else:
        items = [
            Item(
                id=str(number), fields=fields(reference), groups={}, cluster=str(number)
            )
            for number, reference in enumerate(references)
        ]

    answers = [Answer(text=text) for text in predictions]
    scores = task.benchmark.score_items(task, items, answers)
    result: dict[str, float] = {}
    for metric in task.metrics:
        values = [score.values[metric.name] for score in scores]
        if metric.kind == "proportion":
            estimate = proportion_interval(values, confidence=confidence)
        else:
            estimate = mean_interval(
                values, confidence=confidence, limits=metric.limits
            )

        result[metric.name] = estimate.value
        result[f"{metric.name}_ci_low"] = estimate.ci_low
        result[f"{metric.name}_ci_high"] = estimate.ci_high

    return {**result, "n": len(items)}


def reporting_only(task: TaskSpec, *names: str) -> TaskSpec:
    """Returns the task with some of its metrics."""
    return replace(
        task, metrics=tuple(metric for metric in task.metrics if metric.name in names)
    )


class _DatasetRows(evaluate.Metric):  # type: ignore[misc]
    """Converts references before `evaluate` sees them, which accepts only its features."""

    columns: ClassVar[Columns]

    def add_batch(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[object] | None = None,
        **inputs: object,
    ) -> None:
        """Adds predictions and rows; `compute` calls it too."""
        if references is not None:
            references = [
                read_row(row, self.columns, f"references[{number}]")
                for number, row in enumerate(references)
            ]
        super().add_batch(predictions=predictions, references=references, **inputs)

    def add(
        self,
        *,
        prediction: str | None = None,
        reference: object = None,
        **inputs: object,
    ) -> None:
        """Adds a prediction and its row."""
        row = read_row(reference, self.columns, "reference")
        super().add(prediction=prediction, reference=row, **inputs)
