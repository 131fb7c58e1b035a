"""What a report says of a task beside its numbers: titles, access class, the metrics' descriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medical_tasks.benchmarks.catalog import dataset_spec, tasks
from medical_tasks.guard.policy import text_allowed
from medical_tasks.guard.private_store import redact_reason
from medical_tasks.report.items import DIGEST
from medical_tasks.spec import DatasetSpec, MetricSpec, TaskSpec

__all__ = ["TaskFacts", "facts_of", "shown_entry"]


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """A task as a report shows it.

    Attributes:
        task: its spec; None for one that this version does not know.
        dataset: its dataset, likewise.
        title: its title.
        benchmark: its benchmark's title; "" where that is not known.
        private: whether no text of it may be shown.
        metrics: those that are reported, the headline first.
        note_words: words of its own notes, for `redaction.redact_row`.
    """

    task: TaskSpec | None
    dataset: DatasetSpec | None
    title: str
    benchmark: str
    private: bool
    metrics: tuple[MetricSpec, ...]
    note_words: frozenset[str] = frozenset()


def facts_of(name: str, entry: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> TaskFacts:
    """Looks a task up.

    A task that is not known, or whose run was kept without texts, counts as credentialed: what cannot be shown to be open is not.

    Args:
        name: the task.
        entry: its entry of `results.json`.
        rows: its rows of `items.parquet`.
    """
    task = tasks().get(name)
    if task is None:
        return TaskFacts(
            task=None,
            dataset=None,
            title=f"{name} (not known to this version)",
            benchmark="",
            private=True,
            metrics=tuple(_unknown(metric, value) for metric, value in entry["metrics"].items()),
        )
    dataset = dataset_spec(task.dataset)
    private = not text_allowed(dataset) or any(row.get(DIGEST) is not None for row in rows)
    declared = {metric.name: metric for metric in task.metrics if not metric.part}
    reported = [metric for each, metric in declared.items() if each in entry["metrics"]]
    others = [_unknown(each, value) for each, value in entry["metrics"].items() if each not in declared]
    words = task.benchmark.note_words() if private else frozenset()
    return TaskFacts(
        task=task,
        dataset=dataset,
        title=task.title,
        benchmark=task.benchmark.title,
        private=private,
        metrics=(*reported, *others),
        note_words=words,
    )


def _unknown(name: str, value: Mapping[str, Any]) -> MetricSpec:
    """Of a metric that another version reported, no more is known than its entry says."""
    return MetricSpec(name=name, kind="mean", description="", unit=str(value.get("unit", "")))


def shown_entry(entry: Mapping[str, Any], *, private: bool) -> dict[str, Any]:
    """Copies an entry; of credentialed data with its reasons reduced once more to classes that hold no text.

    Args:
        entry: of `results.json`.
        private: whether the data are credentialed.
    """
    made = dict(entry)
    if private:
        coverage = entry["coverage"]
        made["coverage"] = {**coverage, "unscored": _reduced(coverage["unscored"])}
        judge = entry.get("judge")
        if judge is not None:
            verdicts = judge["verdicts"]
            made["judge"] = {**judge, "verdicts": {**verdicts, "unscored": _reduced(verdicts["unscored"])}}
    return made


def _reduced(reasons: Mapping[str, int]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for reason, count in reasons.items():
        counts[redact_reason(reason)] += count
    return dict(sorted(counts.items()))
