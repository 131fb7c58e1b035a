"""What a report shows: everything it needs, read and checked before a line is written.

`run_report` fills these from run folders, the page and the Markdown are made of them and of nothing else. Where a dataset is
credentialed, texts are "" here already: what renders a report cannot leak what it was never given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medical_tasks.report.published.records import PublishedResult
from medical_tasks.spec import MetricSpec, Plot

__all__ = ["ReportData", "ReportItem", "ReportTask", "ReportVerdict"]


@dataclass(frozen=True, kw_only=True)
class ReportVerdict:
    """One decision of the judge on an item.

    Attributes:
        id: which question to the judge it is (`must/0`).
        value: the verdict as text (`entailment`, `true`), "" where there is none.
        unscored: why there is none, "" otherwise.
        text: the judge's words; "" for credentialed data.
        votes: the votes as texts; empty with one.
    """

    id: str
    value: str
    unscored: str = ""
    text: str = ""
    votes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReportItem:
    """One item of a task in one run.

    Attributes:
        id: the item's id.
        groups: breakdown name to its group (several are joined by a space).
        values: metric name to value; None where it has no decision or no denominator.
        question: what was asked, as the model saw it; "" for credentialed data, or where the data are not on this machine.
        answer: the model's text; "" likewise, or unanswered.
        gold: the reference answer; "" likewise.
        parsed: the final answer as it was read.
        why: one line that says how the decision came about.
        unscored: the reason for which something of it has no score, "" for none.
        answer_sha256: hash of the answer, "" for none.
        verdicts: the judge's decisions on it.
    """

    id: str
    groups: Mapping[str, str]
    values: Mapping[str, float | None]
    question: str = ""
    answer: str = ""
    gold: str = ""
    parsed: str = ""
    why: str = ""
    unscored: str = ""
    answer_sha256: str = ""
    verdicts: tuple[ReportVerdict, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReportTask:
    """One task of one run.

    Attributes:
        run: short name of the run, unique in the report.
        folder: its folder as the user gave it.
        name: the task.
        title: its title.
        benchmark: title of its benchmark.
        access: `open` or `credentialed`.
        entry: the task's entry of `results.json`: `metrics`, `coverage`, `breakdown`, `recipe`, `judge`.
        metrics: the declared metrics, the headline first, for directions, units and descriptions; those that `entry` reports.
        items: in the dataset's order.
        texts: why items have no texts, for the reader; "" when they have.
        published: results of papers on this task.
        plots: more plots of it.
    """

    run: str
    folder: str
    name: str
    title: str
    benchmark: str
    access: str
    entry: Mapping[str, Any]
    metrics: Sequence[MetricSpec]
    items: Sequence[ReportItem]
    texts: str = ""
    published: Sequence[PublishedResult] = ()
    plots: Sequence[Plot] = ()


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """A report.

    Attributes:
        title: its heading.
        tasks: every task of every run: those of one task stand together, in the order of the runs.
        suite: name and version of what wrote it.
        notes: what a reader must know of all of it, a sentence each (runs that cannot be compared, and why).
    """

    title: str
    tasks: Sequence[ReportTask]
    suite: str
    notes: Sequence[str] = field(default_factory=tuple)
