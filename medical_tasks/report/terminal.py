"""The result table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.io.output import styled
from medical_tasks.io.table import align
from medical_tasks.report.entry_notes import entry_notes, warning
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label, valued

_HEADER = ("model", "task", "metric", "value", "95 % interval", "n", "scored")


def render_table(*runs: Mapping[str, Any]) -> str:
    """Makes the table of one or more runs (content of each `results.json`): a row a model, task and metric.

    Bounds stand where a judge decided or something is missing; items without a score are named below, with what they could
    change.
    """
    entries = [(name, entry) for results in runs for name, entry in results["tasks"].items()]
    with_bounds = any("judge" in entry or entry["coverage"]["unscored"] for _, entry in entries)
    rows: list[Sequence[str]] = []
    notes: list[str] = []
    for name, entry in entries:
        model = entry["recipe"]["model"]["name"]
        for metric_name, metric in entry["metrics"].items():
            cells = [model, name, metric_label(metric_name, metric), valued(metric)]
            cells += [interval(metric), str(metric["n"]), coverage(entry, metric)]
            rows.append([*cells, bounds(metric)] if with_bounds else cells)
        said = warning(entry)
        if said is not None:
            notes.append(styled(f"{model}, {name}: {said}", "bold"))
        notes += [f"{model}, {name}: {note}" for note in entry_notes(entry)]
        if entry["coverage"]["unscored"]:
            reasons = ", ".join(f"{count} x {reason}" for reason, count in entry["coverage"]["unscored"].items())
            first, metric = next(iter(entry["metrics"].items()))
            notes.append(f"{model}, {name}: not scored: {reasons}. With them {first} is {bounds(metric)}.")
    return "\n".join([*align((*_HEADER, "bounds") if with_bounds else _HEADER, rows), *notes])
