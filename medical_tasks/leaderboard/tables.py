"""What the maintainer's command line prints: submissions, their history, entries, the state of the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.io.table import align
from medical_tasks.leaderboard.checking import StoreCheck
from medical_tasks.leaderboard.places import name_notes
from medical_tasks.leaderboard.ranking import RankRange, rank_ranges
from medical_tasks.leaderboard.records import Entry, Submission
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.runs.numbers import coverage, interval, metric_label, valued
from medical_tasks.runs.recipe_differences import one_line

__all__ = ["check_lines", "entry_lines", "history_lines", "package_lines", "submission_lines"]


def submission_lines(submissions: Sequence[Submission], accepted: Sequence[Submission], *, as_json: bool) -> list[str]:
    """A line a submission, as a table with what is to be known of their names, or as one JSON list."""
    if as_json:
        return _json([{**_submission(one), "notes": name_notes(one, accepted)} for one in submissions])
    if not submissions:
        return ["no submissions"]
    rows = [
        (
            one.id,
            one.state,
            one_line(one.submitter.model),
            one_line(one.submitter.organisation),
            one.history[0].at,
            *_tasks(one),
        )
        for one in submissions
    ]
    notes = [f"note: {one.id}: {note}" for one in submissions for note in name_notes(one, accepted)]
    return [*align(("id", "state", "model", "organisation", "handed in", "tasks"), rows), *notes]


def history_lines(submissions: Sequence[Submission], *, as_json: bool) -> list[str]:
    """A line an event, the newest submission first."""
    if as_json:
        return _json([_submission(one) for one in submissions])
    lines: list[str] = []
    for one in submissions:
        lines.append(f"{one.id}: {one.submitter.model}, {', '.join(one.tasks)}")
        for event in one.history:
            by = f" by {event.by}" if event.by else ""
            verified = "" if event.state != "accepted" else " (unverified)" if event.verified is None else " (verified)"
            place = f" in place of {event.replaces}" if event.replaces else ""
            why = f": {event.reason}" if event.reason else ""
            lines.append(f"  {event.at} {event.state}{verified}{place}{by}{why}")
    return lines or ["no submissions"]


def package_lines(
    submission: Submission, package: Package, accepted: Sequence[Submission], *, as_json: bool
) -> list[str]:
    """What a submission is, what is to be known of its name, and its headline numbers."""
    notes = name_notes(submission, accepted)
    if as_json:
        more = {"notes": notes, "results": package.results, "suite": package.manifest.suite}
        return _json({**_submission(submission), **more})
    who = submission.submitter
    said = {
        "organisation": who.organisation,
        "page": who.url,
        "notes": who.notes,
        "open weights": {None: "", True: "yes", False: "no"}[who.open_weights],
        "parameters": "" if who.parameters is None else f"{who.parameters:g} billion",
        "made by": package.manifest.suite,
        "content": package.manifest.content_sha256,
    }
    lines = history_lines([submission], as_json=False)
    lines += [f"  {key}: {value}" for key, value in said.items() if value]
    lines += [f"  note: {note}" for note in notes]
    rows = []
    for name in package.manifest.tasks:
        entry = package.results["tasks"][name]
        for metric_name, metric in entry["metrics"].items():
            value = valued(metric)
            cells = (name, metric_label(metric_name, metric), one_line(str(entry["recipe"]["data"]["config"])))
            rows.append((*cells, value, interval(metric), str(metric["n"]), coverage(entry, metric)))
    return [*lines, *align(("task", "metric", "data", "value", "95 % interval", "n", "scored"), rows)]


def entry_lines(entries: Sequence[Entry], *, as_json: bool) -> list[str]:
    """A line an entry, by its task's headline, with its places."""
    headlines = {name: task.metrics[0] for name, task in tasks().items()}
    places: dict[int, RankRange | None] = {}
    for name, headline in headlines.items():
        of_task = [entry for entry in entries if entry.task == name]
        places |= zip(map(id, of_task), rank_ranges(of_task, headline), strict=True)
    if as_json:
        return _json(
            [{**asdict(entry), "rank": asdict(place) if (place := places[id(entry)]) else None} for entry in entries]
        )
    rows = []
    notes: dict[str, None] = {}
    for entry in entries:
        headline_name = headlines[entry.task].name
        counted = _counted(entry, headline_name)
        metric = entry.metrics.get(counted)
        if entry.state == "reported":
            notes["reported: of papers, not verified, without a rank; how each differs: `differences` of --json"] = None
        if counted != headline_name:
            notes[f"{counted}: what a paper reports beside {headline_name}; the two do not count alike"] = None
        told = ("n/a", "n/a") if metric is None else (valued(metric), interval(metric))
        scored = (
            "n/a"
            if entry.coverage is None
            else coverage({"coverage": entry.coverage, "metrics": entry.metrics}, metric)
        )
        place = places[id(entry)]
        names = (entry.task, one_line(entry.model, 40), entry.state)
        rows.append((*names, counted, *told, scored, str(place or "n/a"), entry.group))
    header = ("task", "model", "state", "metric", "value", "95 % interval", "scored", "rank", "group")
    return [*align(header, rows), *(f"note: {note}" for note in notes)] if rows else ["no entries"]


def _counted(entry: Entry, headline: str) -> str:
    """The metric that stands under a headline: of a published result the one that its authors count by, where it lacks ours."""
    if headline in entry.metrics:
        return headline
    return next(
        (theirs for theirs, ours in entry.beside.items() if ours == headline and theirs in entry.metrics), headline
    )


def check_lines(found: StoreCheck) -> list[str]:
    """What is wrong with a store, or that nothing is."""
    lines = [f"problem: {problem}" for problem in found.problems]
    lines += [
        f"note: {each}: its event was not written; it is pending, and gets it when it is listed"
        for each in found.waiting
    ]
    lines += [f"note: {each}: is no file of a leaderboard; nobody reads it" for each in found.strangers]
    state = "the store is whole" if not found.problems else f"the store is not whole: {len(found.problems)} problems"
    return [*lines, f"{found.packages} packages, {found.events} events: {state}."]


def _submission(one: Submission) -> dict[str, Any]:
    return {
        "id": one.id,
        "state": one.state,
        "submitter": asdict(one.submitter),
        "tasks": one.tasks,
        "history": _events(one),
    }


def _events(one: Submission) -> list[dict[str, Any]]:
    return [{**asdict(event), "verified": event.verified} for event in one.history]


def _tasks(one: Submission) -> tuple[str]:
    shown = ", ".join(one.tasks[:3])
    return (shown if len(one.tasks) <= 3 else f"{shown} and {len(one.tasks) - 3} more",)


def _json(value: Any) -> list[str]:
    return [json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)]
