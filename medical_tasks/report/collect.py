"""Reads finished runs into `ReportData`, and checks everything before a report is written."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from medical_tasks._version import __version__
from medical_tasks.catalog import dataset_spec, tasks
from medical_tasks.errors import UsageError, doing
from medical_tasks.guard.policy import text_allowed
from medical_tasks.guard.private_store import redact_reason, redact_value
from medical_tasks.judges.checks import check_set_of, describe, last_check
from medical_tasks.options import Report
from medical_tasks.report.confidence import confidence_plots
from medical_tasks.report.entries import Entry
from medical_tasks.report.folders import (
    FinishedRun,
    check_answers,
    is_unfinished,
    read_run,
    report_places,
    run_names,
    without_repeats,
    write_report,
)
from medical_tasks.report.page_data import (
    MAX_TEXT_BYTES,
    NOTE_LENGTH,
    FittedItems,
    ReportData,
    ReportItem,
    ReportVerdict,
    cut_middle,
    fit_texts,
)
from medical_tasks.report.plots import point_of
from medical_tasks.report.published.figures import published_results
from medical_tasks.report.report_task import ReportTask
from medical_tasks.report.texts import (
    DEFAULT_PLACES,
    DIGEST,
    TaskTexts,
    TextPlaces,
    check_places,
    find_texts,
    report_items,
)
from medical_tasks.runs.calibrating import SUFFIX
from medical_tasks.runs.recipes import recipe_differences
from medical_tasks.runs.results import Json, JsonDict, Row, item_of
from medical_tasks.spec import DatasetSpec, MetricSpec, Plot, TaskSpec

_NO_ITEMS: Final = "Items are left out, as --no-items asks for."
_UNKNOWN: Final = (
    "This version of the suite does not know the task, so that neither its data nor what its "
    "metrics mean can be said: the numbers are as the run wrote them. A report by the version "
    "that made the run shows more."
)
_WITHHELD: Final = (
    "The run was kept without texts, as it has credentialed tasks too: ids, scores and hashes are "
    "shown."
)


def report(options: Report) -> dict[str, Path]:
    """Writes the report of finished runs; returns its files by format."""
    limit = options.max_text_bytes
    return write_reports(
        options.runs,
        TextPlaces(
            data=options.data,
            source=options.source,
            responses=options.responses,
            upstream=options.upstream,
            items=not options.no_items,
        ),
        out=options.out,
        form=options.format,
        title=options.title,
        max_text_bytes=MAX_TEXT_BYTES if limit is None else limit,
    )


def write_reports(
    folders: Sequence[Path],
    places: TextPlaces = DEFAULT_PLACES,
    *,
    out: Path | None = None,
    form: str | None = None,
    title: str = "",
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> dict[str, Path]:
    """Writes the report of finished runs; returns its files by format.

    Args:
        folders: the runs' folders.
        places: where to find the texts of open data.
        out: a file or a folder; None for the run's own folder or, with several runs, the
            current one.
        form: `html`, `markdown` or `both`; None for both, or for the format that the suffix
            of `out` names.
        title: the report's heading; "" for one that names the models and benchmarks.
        max_text_bytes: the most bytes for the texts of all items together.
    """
    from medical_tasks.report.markdown import render_report
    from medical_tasks.report.page import render_page

    def note(text: str) -> None:
        print(f"note: {text}", file=sys.stderr)

    shown, _ = without_repeats(folders)
    paths = report_places(shown, out, form)
    with doing(f"gather the results and items of {len(shown)} runs"):
        data = report_data(
            folders, places, title=title, max_text_bytes=max_text_bytes, tell=note
        )

    for text in data.notes:
        note(text)

    # Markdown has no items, so it loses none.
    answers = {"html": _answers(data), "markdown": 0}
    for kind, path in paths.items():
        check_answers(path, answers[kind])

    render = {"html": render_page, "markdown": render_report}
    for kind, path in paths.items():
        with doing(f"write {path}"):
            write_report(path, render[kind](data), answers=answers[kind])

    return paths


def _answers(data: ReportData) -> int:
    """Counts the models' answers in a report."""
    return sum(bool(item.answer) for task in data.tasks for item in task.items)


def report_data(
    folders: Sequence[Path],
    places: TextPlaces = DEFAULT_PLACES,
    *,
    title: str = "",
    max_text_bytes: int = MAX_TEXT_BYTES,
    tell: Callable[[str], None] = lambda note: None,
) -> ReportData:
    """Reads finished runs.

    Args:
        folders: the runs' folders.
        places: where to find the texts of open data.
        title: the report's heading; "" for one that names the models and benchmarks.
        max_text_bytes: the most bytes for the texts of all items together.
        tell: called with each sentence about what the report lacks.
    """
    if not folders:
        raise UsageError(
            "a report needs at least one run. Give the folders that `medical-tasks run` or `score` "
            "wrote."
        )

    if max_text_bytes < 0:
        raise UsageError(f"--max-text-bytes must be 0 or more, got {max_text_bytes}.")

    shown, repeated = without_repeats(folders)
    runs = _read_runs(_with_results(shown, tell), places)
    # The runs of one task are adjacent.
    order = list(dict.fromkeys(name for run in runs for name in run.entries))
    parts = []
    for name in order:
        for run in (run for run in runs if name in run.entries):
            parts.append(_read_task(name, run, places, max_text_bytes))
            del run.rows[name]  # a large run's rows take more memory than its page

    tasks_shown, tasks_by_gap = _fit_texts_of(parts, max_text_bytes)
    for gap, task_names in tasks_by_gap.items():
        tell(f"{', '.join(task_names)}: {gap}")

    return ReportData(
        title=title or report_title(tasks_shown),
        tasks=tuple(tasks_shown),
        suite=f"medical-tasks {__version__}",
        notes=report_notes(tasks_shown, repeated),
    )


def _with_results(
    folders: Sequence[Path], tell: Callable[[str], None]
) -> Sequence[Path]:
    """Leaves out runs without results, if other runs have some."""
    begun = [folder for folder in folders if is_unfinished(folder)]
    if not begun or len(begun) == len(folders):
        return folders
    tell(
        f"left out, since these runs have no results yet: {', '.join(map(str, begun))}"
    )
    return [folder for folder in folders if folder not in begun]


def _read_runs(folders: Sequence[Path], places: TextPlaces) -> list[FinishedRun]:
    """Reads runs, gives each a unique name, and checks that the places of texts belong to them."""
    loaded = [read_run(folder, items=places.items) for folder in folders]
    names = run_names(loaded)
    runs = [replace(run, name=name) for run, name in zip(loaded, names, strict=True)]
    recipes = [entry["recipe"] for run in runs for entry in run.entries.values()]
    check_places(places.responses, recipes)
    configs = {recipe.get("data", {}).get("config") for recipe in recipes}
    if places.source is not None and "own" not in configs:
        raise UsageError(
            f"{places.source}: --source is for runs on data of your own (configuration own). Leave "
            "it out."
        )

    return runs


_Part = tuple[ReportTask, str, int]
"""A task with whole texts, what is missing, and how many items' texts were not read."""


def _fit_texts_of(
    parts: Sequence[_Part], most: int
) -> tuple[list[ReportTask], dict[str, list[str]]]:
    """Cuts the texts of all tasks to a report's limit; also returns the tasks by what they lack."""
    fitted = fit_texts([(task.name, task.items) for task, _, _ in parts], most)
    fitted_tasks: list[ReportTask] = []
    tasks_by_gap: dict[str, list[str]] = {}
    for (task, missing, unread), items in zip(parts, fitted, strict=True):
        size_note = _left_out_text(items, unread, most)
        texts = " ".join(filter(None, (task.texts, size_note)))
        fitted_tasks.append(replace(task, items=items.items, texts=texts))
        if gap := " ".join(filter(None, (missing, size_note))):
            tasks_by_gap.setdefault(gap, []).append(f"{task.name} ({task.run})")

    return fitted_tasks, tasks_by_gap


def _read_task(name: str, run: FinishedRun, places: TextPlaces, room: int) -> _Part:
    """Reads a task of a run; `room` is the most bytes for its texts."""
    entry, rows = run.entries[name], run.rows[name]
    task = tasks().get(name)
    dataset = None if task is None else dataset_spec(task.dataset)
    # Without proof that it is open a task is private: it is unknown, or its run was kept
    # without texts.
    withheld = any(row.get(DIGEST) is not None for row in rows)
    credentialed = dataset is None or not text_allowed(dataset)
    private = credentialed or withheld
    metrics = _metrics(task, entry)
    texts = TaskTexts(missing=_UNKNOWN)
    plots: list[Plot] = []
    note_words: frozenset[str] | None = frozenset() if private else None
    if task is not None and dataset is not None:
        texts = _texts(task, dataset, run, places, room, withheld=withheld)
        plots += task.benchmark.plots(task, rows, texts.items)
        plots += judge_plots(task, entry) if task.judge else []
        note_words = task.benchmark.note_words() if private else None

    plots += confidence_plots(entry)
    items: tuple[ReportItem, ...] = ()
    if places.items:
        items = _items(
            name, run, metrics, texts, private=private, note_words=note_words
        )

    report_task = ReportTask(
        run=run.name,
        folder=str(run.folder),
        name=name,
        title=f"{name} (not known to this version)" if task is None else task.title,
        benchmark="" if task is None else task.benchmark.title,
        access="credentialed" if credentialed else "open",
        entry=shown_entry(entry, private=private),
        metrics=metrics,
        items=items,
        texts=texts.note if places.items else f"{_NO_ITEMS} {texts.missing}".strip(),
        published=published_results(name),
        views=() if task is None else task.benchmark.views,
        plots=tuple(plots),
        tables=tuple(texts.tables),
    )
    return report_task, texts.missing, texts.unread


def _items(
    name: str,
    run: FinishedRun,
    metrics: Sequence[MetricSpec],
    texts: TaskTexts,
    *,
    private: bool,
    note_words: frozenset[str] | None,
) -> tuple[ReportItem, ...]:
    """Makes the items of a task of a run, with their texts and verdicts."""
    rows = run.rows[name]
    ids = [row["id"] for row in rows]
    verdicts = verdicts_by_item(run.verdicts.get(name, ()), ids, private=private)
    metric_names = [metric.name for metric in metrics]
    return report_items(rows, metric_names, texts, verdicts, note_words=note_words)


def _metrics(task: TaskSpec | None, entry: Entry) -> tuple[MetricSpec, ...]:
    """Returns the metrics that an entry reports: the declared ones, then those of other versions."""
    metrics = () if task is None else task.metrics
    declared = {metric.name: metric for metric in metrics if not metric.part}
    reported = entry["metrics"]
    declared_metrics = [metric for name, metric in declared.items() if name in reported]
    others = [name for name in reported if name not in declared]
    return (
        *declared_metrics,
        *(_other_versions_metric(name, reported[name], declared) for name in others),
    )


def _texts(
    task: TaskSpec,
    dataset: DatasetSpec,
    run: FinishedRun,
    places: TextPlaces,
    room: int,
    *,
    withheld: bool,
) -> TaskTexts:
    """Finds the texts of a task's items; if they are `withheld`, only the plots' data are read."""
    withheld = withheld and text_allowed(dataset)
    text_places = replace(places, items=False) if withheld else places
    texts = find_texts(task, dataset, run, text_places, room=room)
    if withheld:
        texts = replace(texts, missing="", remark=_WITHHELD)

    repeats = run.entries[task.name]["recipe"].get("repeats")
    evaluations = run.entries[task.name]["recipe"].get("evaluations")
    if repeats or evaluations:
        first = f"Answers, readings and verdicts are those of the first of {repeats} repeats"
        if evaluations:
            first = f"Readings and verdicts are those of the first of {evaluations} evaluations"

        remark = f"{texts.remark} {first}, values are means over all.".strip()
        texts = replace(texts, remark=remark)

    return texts


def _left_out_text(fitted: FittedItems, unread: int, max_bytes: int) -> str:
    sentences = []
    if fitted.cut:
        sentences.append(
            f"Texts of {fitted.cut:,} of {len(fitted.items):,} items are cut in their middle to "
            f"{fitted.length:,} characters."
        )

    if emptied := fitted.emptied + unread:
        sentences.append(
            f"{emptied:,} of {len(fitted.items):,} items, the last ones, are shown without texts."
        )

    if sentences:
        sentences.append(
            f"All texts of a report take at most {max_bytes:,} bytes (--max-text-bytes)."
        )

    return " ".join(sentences)


def _other_versions_metric(
    name: str, value: Json, declared: Mapping[str, MetricSpec]
) -> MetricSpec:
    """Describes a metric that another version reported, by its entry or by its raw metric."""
    raw = declared.get(name.removesuffix(SUFFIX))
    if raw is not None:
        return replace(
            raw, name=name, description=f"{raw.name}, corrected for the judge's errors."
        )

    return MetricSpec(
        name=name, kind="mean", description="", unit=str(value.get("unit", ""))
    )


def shown_entry(entry: Entry, *, private: bool) -> JsonDict:
    """Copies an entry; private data's reasons are reduced again to classes that hold no text."""
    if not private:
        return dict(entry)

    shown = {**entry, "coverage": _reduced(entry["coverage"])}
    if (judge := entry.get("judge")) is not None:
        shown["judge"] = {**judge, "verdicts": _reduced(judge["verdicts"])}

    return shown


def _reduced(counted: Json) -> JsonDict:
    counts: Counter[str] = Counter()
    for reason, count in counted["unscored"].items():
        counts[redact_reason(reason)] += count
    return {**counted, "unscored": dict(sorted(counts.items()))}


def report_title(shown: Sequence[ReportTask]) -> str:
    """Names the models and the benchmarks."""
    kinds = (
        ("runs", [task.run for task in shown]),
        ("benchmarks", [task.benchmark or task.name for task in shown]),
    )
    parts = []
    for kind, names_of_kind in kinds:
        names = list(dict.fromkeys(names_of_kind))
        *first, last = names
        parts.append(
            f"{len(names)} {kind}"
            if len(names) > 3
            else f"{', '.join(first)} and {last}"
            if first
            else last
        )

    return " on ".join(parts)


def report_notes(
    shown: Sequence[ReportTask], repeated: Sequence[Path]
) -> tuple[str, ...]:
    """Returns the sentences that apply to the whole report."""
    notes = [
        f"{folder} was given more than once and is shown once." for folder in repeated
    ]
    by_name: dict[str, list[ReportTask]] = {}
    for task in shown:
        by_name.setdefault(task.name, []).append(task)

    for name, runs in by_name.items():
        for later in runs[1:]:
            notes += _differences(name, runs[0], later)

    return tuple(notes)


def _differences(name: str, first: ReportTask, second: ReportTask) -> list[str]:
    """Words the differences between two runs of a task, the first being the reference."""
    differences = recipe_differences(
        name,
        first.entry["recipe"],
        second.entry["recipe"],
        metrics=tuple(first.metrics),
    )
    pair = f"{name}, {first.run} and {second.run}"
    sentences = (*differences.refused, *(warned.text for warned in differences.warned))
    notes = [f"{pair}: {sentence}" for sentence in sentences]
    for setting, why in differences.left_out.items():
        names = ", ".join(
            metric.name for metric in first.metrics if metric.needs == setting
        )
        notes.append(f"{pair}: {names or setting} cannot be compared: {why}")

    return notes


def verdicts_by_item(
    lines: Iterable[Row], ids: Iterable[str], *, private: bool
) -> dict[str, tuple[ReportVerdict, ...]]:
    """Gives each item its verdicts."""
    item_ids = frozenset(ids)
    by_item: dict[str, list[ReportVerdict]] = {}
    for line in lines:
        item = item_of(line["id"], item_ids)
        # The report shows the texts of the first repeat or evaluation.
        if item is not None and not {"repeat", "evaluation"} & line.keys():
            by_item.setdefault(item, []).append(_verdict(line, item, private=private))
    return {item: tuple(verdicts) for item, verdicts in by_item.items()}


def _verdict(line: Row, item: str, *, private: bool) -> ReportVerdict:
    """Makes one verdict for the browser of items; private data have no texts."""
    value, votes = line.get("value"), line.get("votes")
    unscored, text = _text(line.get("unscored")), _text(line.get("text"))
    if private:
        value, votes, text = redact_value(value), redact_value(votes), ""
        unscored = unscored and redact_reason(unscored)

    several: Sequence[object] = (
        votes if isinstance(votes, list) and len(votes) > 1 else ()
    )
    return ReportVerdict(
        id=line["id"][len(item) :].strip("/"),
        value=cut_middle(_text(value), NOTE_LENGTH),
        unscored=unscored,
        text=text,
        votes=tuple(map(_text, several)),
    )


def _text(value: object) -> str:
    """Writes a value for people: a text unchanged, None as "", all else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_JUDGE_RECIPE: Final = frozenset(
    {"name", "comparable", "votes", "reasks", "reply_tokens", "mode", "prompts"}
)
"""The fields of a judge's recipe that are not part of its identity."""


def judge_plots(task: TaskSpec, entry: Entry) -> list[Plot]:
    """Plots how well the run's judge agrees with people, by its last check on this machine."""
    judge = entry["recipe"].get("judge")
    if not isinstance(judge, Mapping) or not isinstance(judge.get("prompts"), Mapping):
        return []

    identity = {
        name: value for name, value in judge.items() if name not in _JUDGE_RECIPE
    }
    setting = {
        "votes": judge.get("votes", 1),
        "mode": judge.get("mode", "single"),
        "prompts": judge["prompts"].get("set", "own"),
        "name": check_set_of(task),
    }
    check = last_check(identity, **setting)
    if check is None or "problem" in check:
        return []

    measures = {
        name: {**check[name], "n": check["scored"]} for name in ("accuracy", "kappa")
    }
    if not (
        points := tuple(
            point_of(name, figures)
            for name, figures in measures.items()
            if figures["ci_low"] is not None
        )
    ):
        return []

    return [
        Plot(
            title="Agreement of the judge with people",
            x_label="Measure",
            y_label="Agreement",
            points=points,
            note=describe(check, judge=str(judge.get("name")), **setting) + ".",
        )
    ]
