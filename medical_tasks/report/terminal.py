"""What stands below a task's numbers wherever they are shown, and the result table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.io.output import styled
from medical_tasks.io.table import align
from medical_tasks.judges.budget import foreseen_said
from medical_tasks.models.usage import usage_said
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.numbers import (
    bounds,
    coverage,
    interval,
    metric_label,
    unclear_counts,
    unclear_notes,
    value_notes,
    valued,
)
from medical_tasks.runs.recipes import NO_SAMPLE
from medical_tasks.spec import UNANSWERED

_HEADER = ("model", "task", "metric", "value", "95 % interval", "n", "scored")


def render_table(*runs: Mapping[str, Any]) -> str:
    """Makes the table of one or more runs (content of each `results.json`): a row a model, task and metric.

    Bounds stand where a judge decided, something is missing or an answer is unclear; items without a score are named below, with
    what they could change.
    """
    entries = [(name, entry) for results in runs for name, entry in results["tasks"].items()]
    with_bounds = any(
        "judge" in entry or entry["coverage"]["unscored"] or unclear_counts(entry)
        for _, entry in entries
    )
    rows: list[Sequence[str]] = []
    notes: list[str] = []
    for name, entry in entries:
        model = entry["recipe"]["model"]["name"]
        for metric_name, metric in entry["metrics"].items():
            cells = [model, name, metric_label(metric_name, metric), valued(metric)]
            cells += [interval(metric), str(metric["n"]), coverage(entry, metric)]
            rows.append([*cells, bounds(metric)] if with_bounds else cells)
        notes += [styled(f"{model}, {name}: {line}", "bold") for line in paper_lines(entry)]
        notes += [f"{model}, {name}: {note}" for note in entry_notes(entry)]
        if entry["coverage"]["unscored"]:
            reasons = ", ".join(
                f"{count} x {reason}" for reason, count in entry["coverage"]["unscored"].items()
            )
            first, metric = next(iter(entry["metrics"].items()))
            with_them = (
                "With them, and whatever is unclear," if unclear_counts(entry) else "With them"
            )
            notes.append(
                f"{model}, {name}: not scored: {reasons}. {with_them} {first} is {bounds(metric)}."
            )
    return "\n".join([*align((*_HEADER, "bounds") if with_bounds else _HEADER, rows), *notes])


def entry_notes(entry: Mapping[str, Any]) -> list[str]:
    """The sentences below a task's numbers, apart from those on items without a score."""
    said = [*_judge(entry), *unclear_notes(entry), *value_notes(entry)]
    if entry.get("usage"):
        said.append(f"model: {usage_said(entry['usage'])}.")
    recipe = entry["recipe"]
    if recipe.get("max_samples") is not None:
        note = recipe.get("max_samples_note") or NO_SAMPLE
        taken = f"--max-samples {recipe['max_samples']} took {entry['n_items']:,} items"
        said.append(f"{taken}, {note} (--subset draws one).")
    if drawn := recipe.get("subset"):
        of = f"{entry['n_items']:,} of {drawn['of']:,} items (seed {drawn['seed']}, strata: {', '.join(drawn['by']) or 'none'})"
        whole = (
            "" if "shard" in recipe else "; values and intervals are of the score on all of them"
        )
        said.append(f"a random sample of {of}{whole}.")
    if shard := recipe.get("shard"):
        said.append(
            f"part {shard} of the items (--shard), and no result of all: `medical-tasks merge` makes one run of the parts."
        )
    if entry.get("cut_at_length"):
        said.append(
            f"{entry['cut_at_length']:,} answers were cut at the length limit (--max-new-tokens)."
        )
    if entry.get("shortened"):
        rule = recipe["truncation"]["rule"]
        said.append(
            f"{entry['shortened']} of {entry['n_items']} questions were shortened to fit the model's context ({rule})."
        )
    return said


def _judge(entry: Mapping[str, Any]) -> list[str]:
    """The judge's coverage, cost and last check; nothing for a task without one."""
    judge = entry.get("judge")
    if judge is None:
        return []
    verdicts = judge["verdicts"]
    missing = ", ".join(f"{count} x {reason}" for reason, count in verdicts["unscored"].items())
    lacking = any(not reason.startswith(UNANSWERED) for reason in entry["coverage"]["unscored"])
    if not missing or lacking:
        said = f"{verdicts['decided']:,} of {verdicts['asked']:,} verdicts" + (
            f" (missing: {missing})" if missing else ""
        )
    else:
        # Asked again in another way, or decided by others.
        said = f"{verdicts['decided']:,} verdicts (no score lacks one; replies that gave none: {missing})"
    parts = [f"judge {judge['name']}: {said}"]
    if judge["from_store"]:
        parts.append(f"{judge['from_store']:,} replies from the store")
    # A judge that asks nobody says so by having no calls.
    if judge["calls"] or not judge["from_store"]:
        parts.append(f"{judge['calls']:,} calls made")
    if judge["votes"] > 1:
        parts.append(f"{judge['votes_saved']:,} votes saved of {judge['votes']} each")
    usage, foreseen = judge.get("usage"), judge.get("forecast")
    notes = ["; ".join(parts) + ".", judge["check"]]
    if usage and usage["requests"]:
        prices = None if usage["price_in"] is None else (usage["price_in"], usage["price_out"])
        forecast = (
            f"; forecast with nothing in the store: {foreseen_said(foreseen, prices)}"
            if foreseen
            else ""
        )
        notes.append(f"judge: {usage_said(usage)}{forecast}.")
    return notes
