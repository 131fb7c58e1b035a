"""Scores texts against references with text metrics (`medical-tasks score-text`)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError, check_least, did_you_mean, listed
from medical_tasks.io.table import align
from medical_tasks.io.tables import column_names, folded, has_columns, read_table
from medical_tasks.options import ScoreText
from medical_tasks.runs.numbers import interval, metric_label, valued
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.scoring.rouge import rouge_tokens

SCHEMA_VERSION = 1
_NAMES = {
    "prediction": ("prediction", "response", "output", "hypothesis", "candidate"),
    "reference": ("reference", "references", "gold", "target"),
    "source": ("source",),
}
_SHOWN = 5
_FORM = '{"prediction": "...", "reference": "..."}'

Sheet: TypeAlias = Sequence[tuple[str, Json]]
"""The rows of a table, each with its position."""


def score_table(arguments: ScoreText, sheet: Sheet) -> JsonDict:
    """Scores the rows of a table; returns the content that --json prints."""
    from medical_tasks.models.text_metrics import (
        MODEL_METRICS,
        chosen_metrics,
        identity_of_models,
        score_texts,
    )
    from medical_tasks.scoring.estimates import as_json

    where, seed = str(arguments.table), arguments.seed
    check_least({"--seed": seed}, 0)
    if not sheet:
        raise UsageError(
            f"{where}: has no rows. It needs a header and a row for each text."
        )

    columns = _all_columns(arguments, sheet)
    requested = column_names("--metrics", arguments.metrics)
    models = dict(arguments.task_args)
    metrics = chosen_metrics(requested, models, sourced=bool(columns["source"]))
    texts = _all_texts(where, sheet, columns)
    predictions = list(map("".join, texts["prediction"]))
    clusters = None
    if columns["cluster"]:
        clusters = [cells[0] for cells in texts["cluster"]]

    estimates, values = score_texts(
        predictions,
        list(map(_without_blanks, texts["reference"])),
        metrics,
        sources=list(map("".join, texts["source"])),
        clusters=clusters,
        arguments=models,
        seed=seed,
    )
    figures: dict[str, JsonDict] = {
        name: {**as_json(estimate)} for name, estimate in estimates.items()
    }
    for metric in MODEL_METRICS.values():
        if metric.unit and metric.name in figures:
            figures[metric.name]["unit"] = metric.unit

    rows = [
        {"row": position} | {name: column[number] for name, column in values.items()}
        for number, (position, _) in enumerate(sheet)
    ]

    return {
        "schema_version": SCHEMA_VERSION,
        "suite_version": __version__,
        "table": where,
        "texts_sha256": hashlib.sha256(json.dumps(texts).encode()).hexdigest(),
        "columns": {name: list(of) for name, of in columns.items() if of},
        "notes": _notes(predictions, texts["reference"], metrics),
        "settings": {"confidence": 0.95, "resamples": 2000, "seed": seed},
        "models": identity_of_models(MODEL_METRICS, models),
        "metrics": figures,
        "rows": rows,
    }


def _without_blanks(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text.strip()]


def _all_columns(arguments: ScoreText, sheet: Sheet) -> dict[str, tuple[str, ...]]:
    """Finds the columns of each role: prediction, reference, source and cluster."""
    where = str(arguments.table)
    columns = {
        name: _columns(where, sheet, name, getattr(arguments, name))
        for name in (*_NAMES, "cluster")
    }
    if columns["prediction"][0] in columns["reference"]:
        raise UsageError(
            f"{where}: {columns['prediction'][0]} is named both as prediction and as reference. Name "
            "two columns."
        )

    return columns


def _all_texts(
    where: str, sheet: Sheet, columns: Mapping[str, Sequence[str]]
) -> dict[str, list[list[str]]]:
    """Reads the texts of each role, row by row."""
    texts = {
        name: [_texts(where, position, row, role_columns) for position, row in sheet]
        for name, role_columns in columns.items()
    }
    for name in ("reference", "cluster"):
        if columns[name]:
            _check_filled(where, sheet, name, columns[name], texts[name])
    return texts


def _check_filled(
    where: str,
    sheet: Sheet,
    name: str,
    columns: Sequence[str],
    texts: Sequence[Sequence[str]],
) -> None:
    """Refuses rows with only blank cells in a role that every row needs."""
    blank = [
        position
        for (position, _), cells in zip(sheet, texts, strict=True)
        if not any(map(str.strip, cells))
    ]
    if blank:
        raise UsageError(
            f"{where}: no {name} in {listed(blank, _SHOWN)} (column {', '.join(columns)}). Every "
            "row needs one: fill it in, or remove the row."
        )


def _notes(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Iterable[str],
) -> list[str]:
    """Lists what a reader of the scores should know about the texts, with their numbers."""
    empty = sum(not text.strip() for text in predictions)
    notes = {"predictions are empty; they are scored as they are.": empty}
    if any(name.startswith("rouge") for name in metrics):
        unread = sum(not any(map(rouge_tokens, texts)) for texts in references)
        notes[
            "references have no letter a to z and no digit; ROUGE reads nothing else, and is 0 "
            "there."
        ] = unread

    return [
        f"{count} of {len(predictions)} {note}"
        for note, count in notes.items()
        if count
    ]


def table_of(content: Json) -> str:
    """Formats the scores as a table for the terminal."""
    (column,) = content["columns"]["prediction"]
    rows = [
        (
            Path(content["table"]).name,
            column,
            metric_label(name, figure),
            valued(figure),
            interval(figure),
            str(figure["n"]),
        )
        for name, figure in content["metrics"].items()
    ]

    return "\n".join(
        [
            *align(("table", "column", "metric", "value", "95 % interval", "n"), rows),
            *content["notes"],
        ]
    )


def _columns(
    where: str,
    sheet: Sheet,
    name: str,
    requested: str | None,
) -> tuple[str, ...]:
    """Finds the columns of a role: the requested ones, or the first with one of its usual names.

    Returns no column for an optional role that the table lacks.
    """
    available = list(dict.fromkeys(column for _, row in sheet for column in row))
    if requested is None:
        by_lower_name = {
            column.strip().lower(): column for column in reversed(available)
        }
        match = next(
            (
                by_lower_name[usual]
                for usual in _NAMES.get(name, ())
                if usual in by_lower_name
            ),
            None,
        )
        if match is None and name in ("prediction", "reference"):
            raise UsageError(
                f"{where}: which column is the {name}? Name it with --{name}. There are "
                f"{', '.join(available)}."
            )

        return () if match is None else (match,)

    names = (
        (requested,)
        if requested in available or name != "reference"
        else column_names("--reference", requested) or ()
    )
    for column in names:
        if column not in available:
            hint = did_you_mean(column, available)
            raise UsageError(
                f"{where}: no column {column!r} (--{name}).{hint} There are {', '.join(available)}."
            )

    return names


def _texts(where: str, position: str, row: Json, columns: Sequence[str]) -> list[str]:
    """Reads the texts in a row's columns; a cell may hold a list of them."""
    texts: list[str] = []
    for column in columns:
        cell = row.get(column)
        for value in cell if isinstance(cell, list | tuple) else [cell]:
            # A whole number is an id, or a text that a spreadsheet took for a number.
            if not isinstance(value, str | int | None):
                raise UsageError(
                    f"{where}, {position}: column {column} holds {type(value).__name__}, not text. "
                    "Write it as text."
                )

            texts.append("" if value is None else str(value))

    return texts


def read_rows(path: Path, arguments: ScoreText) -> list[tuple[str, Json]]:
    """Reads the rows of a table of texts."""
    name_patterns = []
    for role in ("prediction", "reference"):
        names = column_names(f"--{role}", getattr(arguments, role)) or _NAMES[role]
        name_patterns.append("|".join(re.escape(folded(name)) for name in names))
    knows = has_columns(*name_patterns, numbers="|".join(name_patterns))
    table = read_table(path, record=_FORM, knows=knows)
    return [(row.at, row.cells) for row in table.rows]
