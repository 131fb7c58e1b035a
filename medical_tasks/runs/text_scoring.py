"""Scores of texts against references, by text metrics."""

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
"""The rows of a table, each with its place."""


def scored(arguments: ScoreText, sheet: Sheet) -> JsonDict:
    """Scores the rows of a table, each with its place; what --json prints."""
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
        raise UsageError(f"{where}: has no rows. It needs a header and a row a text.")

    columns = _all_columns(arguments, sheet)
    named = column_names("--metrics", arguments.metrics)
    models = dict(arguments.task_args)
    metrics = chosen_metrics(named, models, sourced=bool(columns["source"]))
    texts = _all_texts(where, sheet, columns)
    predictions = ["".join(found) for found in texts["prediction"]]
    estimates, values = score_texts(
        predictions,
        [[one for one in found if one.strip()] for found in texts["reference"]],
        metrics,
        sources=["".join(found) for found in texts["source"]],
        clusters=[found[0] for found in texts["cluster"]]
        if columns["cluster"]
        else None,
        arguments=models,
        seed=seed,
    )
    units = {
        metric.name: metric.unit for metric in MODEL_METRICS.values() if metric.unit
    }
    figures = {
        name: as_json(estimate) | ({"unit": units[name]} if name in units else {})
        for name, estimate in estimates.items()
    }
    rows = [
        {"row": place} | {name: column[number] for name, column in values.items()}
        for number, (place, _) in enumerate(sheet)
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


def _all_columns(arguments: ScoreText, sheet: Sheet) -> dict[str, tuple[str, ...]]:
    """The columns of each part: prediction, reference, source and cluster."""
    where = str(arguments.table)
    columns = {
        name: _columns(where, sheet, name, getattr(arguments, name))
        for name in (*_NAMES, "cluster")
    }
    if columns["prediction"][0] in columns["reference"]:
        raise UsageError(
            f"{where}: {columns['prediction'][0]} is named as prediction and as reference. Name "
            "two columns."
        )

    return columns


def _all_texts(
    where: str, sheet: Sheet, columns: Mapping[str, Sequence[str]]
) -> dict[str, list[list[str]]]:
    """The texts of each part, those of a row together."""
    texts = {
        name: [_texts(where, place, row, of) for place, row in sheet]
        for name, of in columns.items()
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
    """Refuses rows whose cells of a part that every row needs are blank."""
    blank = [
        place
        for (place, _), cells in zip(sheet, texts, strict=True)
        if not any(map(str.strip, cells))
    ]
    if blank:
        raise UsageError(
            f"{where}: no {name} in {listed(blank, _SHOWN)} (column {', '.join(columns)}). Every "
            "row needs one: fill it in, or take the row out."
        )


def _notes(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Iterable[str],
) -> list[str]:
    """What a reader of the scores should know of the texts, each with how many it is true of."""
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
    """Makes the table on the terminal."""
    (column,) = content["columns"]["prediction"]
    rows = [
        (
            Path(content["table"]).name,
            column,
            metric_label(name, each),
            valued(each),
            interval(each),
            str(each["n"]),
        )
        for name, each in content["metrics"].items()
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
    given: str | None,
) -> tuple[str, ...]:
    """The columns of a part: those given, or the first of its usual names.

    None of a part that may be absent.
    """
    there = list(dict.fromkeys(column for _, row in sheet for column in row))
    if given is None:
        small = {column.strip().lower(): column for column in reversed(there)}
        found = next(
            (small[usual] for usual in _NAMES.get(name, ()) if usual in small), None
        )
        if found is None and name in ("prediction", "reference"):
            raise UsageError(
                f"{where}: which column is the {name}? Name it with --{name}. There are "
                f"{', '.join(there)}."
            )

        return () if found is None else (found,)

    names = (
        (given,)
        if given in there or name != "reference"
        else column_names("--reference", given) or ()
    )
    for each in names:
        if each not in there:
            hint = did_you_mean(each, there)
            raise UsageError(
                f"{where}: no column {each!r} (--{name}).{hint} There are {', '.join(there)}."
            )

    return names


def _texts(where: str, place: str, row: Json, columns: Sequence[str]) -> list[str]:
    """The texts of a row by its columns; a cell may hold a list of them."""
    found: list[str] = []
    for column in columns:
        cell = row.get(column)
        for each in cell if isinstance(cell, list | tuple) else [cell]:
            if not isinstance(
                each, str | int | None
            ):  # a whole number is an id, or a text that a spreadsheet took for one
                raise UsageError(
                    f"{where}, {place}: column {column} holds {type(each).__name__}, not text. "
                    "Write it as text."
                )

            found.append("" if each is None else str(each))

    return found


def read_rows(path: Path, arguments: ScoreText) -> list[tuple[str, Json]]:
    """Reads a table of texts, a record a row."""
    compared = []
    for part in ("prediction", "reference"):
        names = column_names(f"--{part}", getattr(arguments, part)) or _NAMES[part]
        compared.append("|".join(re.escape(folded(name)) for name in names))
    knows = has_columns(*compared, numbers="|".join(compared))
    table = read_table(path, record=_FORM, knows=knows)
    return [(row.at, row.cells) for row in table.rows]
