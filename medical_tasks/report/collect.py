"""Reads finished runs into `ReportData`: everything a report shows, checked before a line of it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError
from medical_tasks.guard.policy import text_allowed
from medical_tasks.report.answers import check_places
from medical_tasks.report.cutting import MAX_TEXT_BYTES, FittedItems, fit_texts
from medical_tasks.report.facts import TaskFacts, facts_of, shown_entry
from medical_tasks.report.items import report_items
from medical_tasks.report.notes import report_notes
from medical_tasks.report.page_data import ReportData, ReportItem, ReportTask
from medical_tasks.report.published.figures import published_results
from medical_tasks.report.run_plots import component_plots, judge_plots, level_plots
from medical_tasks.report.runs import FinishedRun, is_unfinished, read_run, short_names, without_repeats
from medical_tasks.report.texts import TaskTexts, TextPlaces, find_texts
from medical_tasks.report.verdicts import verdicts_by_item
from medical_tasks.spec import Plot

__all__ = ["report_data"]

_NO_ITEMS: Final = "Items are left out, as --no-items asks for."
_UNKNOWN: Final = (
    "This version of the suite does not know the task, so that neither its data nor what its metrics mean can be said: the numbers "
    "are as the run wrote them. A report by the version that made the run shows more."
)
_WITHHELD: Final = "The run was kept without texts, as it has credentialed tasks too: ids, scores and hashes are shown."


def report_data(
    folders: Sequence[Path],
    *,
    title: str = "",
    data: Path | None = None,
    source: Path | None = None,
    responses: Sequence[Path] = (),
    upstream: Path | None = None,
    items: bool = True,
    max_text_bytes: int = MAX_TEXT_BYTES,
    tell: Callable[[str], None] | None = None,
) -> ReportData:
    """Reads finished runs.

    Args:
        folders: of the runs; one that is given twice counts once.
        title: heading of the report; made from the runs otherwise.
        data: folder of the built datasets (or of the one that is needed); the user's data home by default.
        source: the one file a dataset of the user's own is made of, for runs on that.
        responses: files that `score` scored, and folders of runs whose answers it scored anew.
        upstream: the authors' checkout, for runs with the official prompts.
        items: whether items are shown.
        max_text_bytes: what all texts of the items may take together.
        tell: is told what the report is without, a line each.

    Returns:
        The report's content. Texts of credentialed data were never read.

    Raises:
        MissingError: A folder holds no finished run, or a file that was named is not there.
        UsageError: A file of a run is damaged, or an option goes with none of the runs.
    """
    if not folders:
        raise UsageError("a report is of one run or more. Give the folders that `medical-tasks run` or `score` wrote.")
    if max_text_bytes < 0:
        raise UsageError(f"--max-text-bytes must be 0 or more, got {max_text_bytes}.")
    shown, again = without_repeats(folders)
    begun = [folder for folder in shown if is_unfinished(folder)]
    if begun and len(begun) < len(shown):
        shown = [folder for folder in shown if folder not in begun]
        if tell is not None:
            tell(f"left out, since these runs have no results yet: {', '.join(map(str, begun))}")
    names = short_names(shown)
    runs = [read_run(folder, name, items=items) for folder, name in zip(shown, names, strict=True)]
    recipes = [entry["recipe"] for run in runs for entry in run.entries.values()]
    check_places(responses, recipes)
    if source is not None and not any(recipe.get("data", {}).get("config") == "own" for recipe in recipes):
        raise UsageError(f"{source}: --source is for runs on data of your own (configuration own). Leave it out.")
    places = TextPlaces(data=data, source=source, responses=responses, upstream=upstream, items=items)
    # Those of one task stand together.
    order = list(dict.fromkeys(name for run in runs for name in run.entries))
    made = [_read_task(name, run, places) for name in order for run in runs if name in run.entries]
    fitted = fit_texts([(each.task.name, each.items) for each in made], max_text_bytes)
    tasks = []
    lacking: dict[str, list[str]] = {}
    for each, part in zip(made, fitted, strict=True):
        short = _said(part, max_text_bytes)
        note = " ".join(filter(None, (each.task.texts, short)))
        tasks.append(replace(each.task, items=part.items, texts=note))
        if lacks := " ".join(filter(None, (each.missing, short))):
            lacking.setdefault(lacks, []).append(f"{each.task.name} ({each.task.run})")
    for said, where in lacking.items():
        if tell is not None:
            tell(f"{', '.join(where)}: {said}")
    return ReportData(
        title=title or (f"Report of {names[0]}" if len(runs) == 1 else f"Report of {len(runs)} runs"),
        tasks=tuple(tasks),
        suite=f"medical-tasks {__version__}",
        notes=report_notes(tasks, again),
    )


@dataclass(frozen=True, kw_only=True)
class _Read:
    """A task of a run, with whole texts, and what it is without."""

    task: ReportTask
    items: tuple[ReportItem, ...]
    missing: str


def _read_task(name: str, run: FinishedRun, places: TextPlaces) -> _Read:
    entry, rows = run.entries[name], run.rows[name]
    facts = facts_of(name, entry, rows)
    texts = TaskTexts(missing=_UNKNOWN)
    if facts.task is not None and facts.dataset is not None:
        withheld = facts.private and text_allowed(facts.dataset)
        where = replace(places, items=False) if withheld else places
        texts = find_texts(facts.task, facts.dataset, entry["recipe"], rows, run.folder, places=where)
        if withheld:
            texts = replace(texts, missing="", remark=_WITHHELD)
    ids = [row["id"] for row in rows]
    shown = ReportTask(
        run=run.name,
        folder=str(run.folder),
        name=name,
        title=facts.title,
        benchmark=facts.benchmark,
        access="credentialed" if facts.private else "open",
        entry=shown_entry(entry, private=facts.private),
        metrics=facts.metrics,
        items=(),
        texts=texts.note if places.items else f"{_NO_ITEMS} {texts.missing}".strip(),
        published=published_results(name),
        plots=_plots(facts, run, name, texts),
    )
    items: tuple[ReportItem, ...] = ()
    if places.items:
        items = report_items(
            rows,
            [metric.name for metric in facts.metrics],
            texts,
            verdicts_by_item(run.verdicts.get(name, ()), ids, private=facts.private),
            note_words=facts.note_words if facts.private else None,
        )
    return _Read(task=shown, items=items, missing=texts.missing)


def _plots(facts: TaskFacts, run: FinishedRun, name: str, texts: TaskTexts) -> tuple[Plot, ...]:
    entry, rows = run.entries[name], run.rows[name]
    plots = component_plots(entry, facts.metrics)
    if facts.task is None:
        return tuple(plots)
    plots += facts.task.benchmark.plots(facts.task, rows, texts.items)
    plots += level_plots(facts.task, run.entries)
    if facts.task.judge:
        plots += judge_plots(facts.task, entry)
    return tuple(plots)


def _said(part: FittedItems, max_bytes: int) -> str:
    said = []
    if part.cut:
        said.append(
            f"Texts of {part.cut:,} of {len(part.items):,} items are cut in their middle to {part.length:,} characters."
        )
    if part.emptied:
        said.append(f"{part.emptied:,} of {len(part.items):,} items, the last ones, are shown without texts.")
    if said:
        said.append(f"All texts of a report take at most {max_bytes:,} bytes (--max-text-bytes).")
    return " ".join(said)
