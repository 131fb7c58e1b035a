"""The folders of a report: finished runs, each with a short name of its own, and where the report is written.

A report is written whole, and never over anything but an older report.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError, doing, system_reason
from medical_tasks.guard.private_store import SETTINGS_FILE
from medical_tasks.io.files import WholeFile, open_file, read_text
from medical_tasks.report.markdown import REPORT_FILE
from medical_tasks.runs.results import RESULTS_FILE, VERDICTS_FILE, read_items, read_results

_ENTRY_PARTS = {"metrics": dict, "coverage": dict, "breakdown": dict, "recipe": dict, "n_items": int}
_USAGE_PARTS = ("requests", "prompt_tokens", "output_tokens", "seconds")
_JUDGE_PARTS = {
    "name": str,
    "check": str,
    "comparable": bool,
    "tokens_estimated": bool,
    "verdicts": dict,
} | dict.fromkeys(("votes", "from_store", "calls", "votes_saved", "prompt_tokens", "output_tokens"), int)
_VALUE_PARTS = ("value", "ci_low", "ci_high", "bound_low", "bound_high")


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """A finished run."""

    name: str  # unique in the report
    folder: Path
    entries: Mapping[str, Mapping[str, Any]]  # of `results.json`, by task
    rows: Mapping[str, Sequence[Mapping[str, Any]]]  # of `items.parquet`, by task
    verdicts: Mapping[str, Sequence[Mapping[str, Any]]]  # of `verdicts.jsonl`, by task


def read_run(folder: Path, name: str, *, items: bool = True) -> FinishedRun:
    """Reads a run's files."""
    entries = read_results(folder)["tasks"]
    if not entries:
        raise _damaged(folder / RESULTS_FILE, "it has no task")
    for task, entry in entries.items():
        _check_entry(folder / RESULTS_FILE, task, entry)
    rows: dict[str, list[Mapping[str, Any]]] = {task: [] for task in entries}
    for row in read_items(folder):
        if row.get("task") in rows and isinstance(row.get("id"), str):
            rows[row["task"]].append(row)
    return FinishedRun(
        name=name,
        folder=folder,
        entries=entries,
        rows=rows,
        verdicts=_read_verdicts(folder / VERDICTS_FILE) if items else {},
    )


def without_repeats(folders: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Parts folders into those that are new and those that were given before, however they were written."""
    first: list[Path] = []
    again: list[Path] = []
    known: set[Path] = set()
    for folder in folders:
        place = folder.expanduser().resolve()
        (again if place in known else first).append(folder)
        known.add(place)
    return first, again


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is of a run that was begun and has no results: stopped, or still under way."""
    place = folder.expanduser()
    return (place / SETTINGS_FILE).is_file() and not (place / RESULTS_FILE).exists()


def short_names(folders: Sequence[Path]) -> list[str]:
    """Names each folder by the last part of its path, and by as many more as tell it from the others."""
    parts = [[part for part in folder.expanduser().resolve().parts if part != "/"] for folder in folders]
    names: list[str] = []
    for own in parts:
        size = 1
        while size < len(own) and sum(other[-size:] == own[-size:] for other in parts) > 1:
            size += 1
        names.append("/".join(own[-size:]) or "/")
    return names


def _check_entry(path: Path, task: str, entry: Mapping[str, Any]) -> None:
    for part, kind in _ENTRY_PARTS.items():
        if not isinstance(entry.get(part), kind):
            raise _damaged(path, f"{part!r} of {task} is missing")
    model = entry["recipe"].get("model")
    if not isinstance(model, dict) or not isinstance(model.get("name"), str):
        raise _damaged(path, f"the recipe of {task} names no model")
    counts = entry["coverage"]
    numbers = all(isinstance(counts.get(name), int) for name in ("asked", "answered", "scored"))
    if not numbers or not isinstance(counts.get("unscored"), dict):
        raise _damaged(path, f"the coverage of {task} is not whole")
    if not all(isinstance(entry.get(part, 0), int) for part in ("cut_at_length", "shortened")):
        raise _damaged(path, f"a count of {task} is no number")
    if not _is_usage(entry.get("usage")):
        raise _damaged(path, f"the usage of {task} is not whole")
    if not _is_judge(entry.get("judge")):
        raise _damaged(path, f"the judge of {task} is not whole")
    truncation = entry["recipe"].get("truncation")
    if entry.get("shortened") and not (isinstance(truncation, dict) and "rule" in truncation):
        raise _damaged(path, f"the recipe of {task} does not say how questions were shortened")
    groups = [
        group for by in entry["breakdown"].values() for group in (by.values() if isinstance(by, dict) else [None])
    ]
    for metrics in (entry["metrics"], *groups):
        if not isinstance(metrics, dict) or not all(_is_estimate(value) for value in metrics.values()):
            raise _damaged(path, f"a metric of {task} is not whole")


def _is_usage(usage: Any) -> bool:
    if usage is None:
        return True
    numbers = [usage.get(part, "") for part in _USAGE_PARTS] if isinstance(usage, dict) else [""]
    return all(each is None or isinstance(each, int | float) for each in numbers) and numbers[0] is not None


def _is_judge(judge: Any) -> bool:
    if judge is None:
        return True
    if not isinstance(judge, dict) or not all(isinstance(judge.get(part), kind) for part, kind in _JUDGE_PARTS.items()):
        return False
    verdicts = judge["verdicts"]
    counts = all(isinstance(verdicts.get(part), int) for part in ("asked", "decided"))
    return counts and isinstance(verdicts.get("unscored"), dict)


def _is_estimate(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("n"), int):
        return False
    numbers = [value.get(part, "") for part in _VALUE_PARTS]
    return all(each is None or (isinstance(each, int | float) and math.isfinite(each)) for each in numbers)


def _read_verdicts(path: Path) -> dict[str, list[Mapping[str, Any]]]:
    """The lines by task; none where there is no such file."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = system_reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _damaged(path, reason) from error
    found: dict[str, list[Mapping[str, Any]]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _damaged(path, f"line {number} is not JSON") from error
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("task", "id")):
            raise _damaged(path, f"line {number} is no verdict")
        found.setdefault(row["task"], []).append(row)
    return found


def _damaged(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path}: damaged ({reason}). Give the run's command again to write it anew: finished answers are kept."
    )


HTML_FILE: Final = "report.html"
MARK: Final = "<!-- medical-tasks report -->"
"""First line of every report, by which it is known again."""
_OF_A_RUN: Final = re.compile(r"# Results\n\n## ")
"""How the Markdown begins that `run` and `score` write."""
_SUFFIXES: Final = {"html": (".html", ".htm"), "markdown": (".md", ".markdown")}
_OTHER_SUFFIX: Final = re.compile(r"\.[a-z]{2,5}")
"""Of a file of another kind: folders that are not there yet may have a dot, but hardly a word behind it."""
_NAMES: Final = {"html": HTML_FILE, "markdown": REPORT_FILE}


def report_places(folders: Sequence[Path], out: Path | None, wanted: str | None) -> dict[str, Path]:
    """Says which files are written.

    `out`: what the user gave: a file (by its suffix), or a folder; None for the run's folder, or, with several, this one.
    `wanted`: `html`, `markdown`, `both`; None for both, or for what the suffix of `out` says.

    Raises:
        UsageError: The suffix is of the other format, or something there is not a report.
    """
    place = out.expanduser() if out is not None else folders[0].expanduser() if len(folders) == 1 else Path()
    named = next((form for form, suffixes in _SUFFIXES.items() if place.suffix.lower() in suffixes), None)
    if out is not None and named is None and not place.is_dir() and _OTHER_SUFFIX.fullmatch(place.suffix.lower()):
        raise UsageError(
            f"--out {out}: a report is HTML (.html) or Markdown (.md), not {place.suffix}. Give such a name, or a folder."
        )
    if out is None or place.is_dir() or named is None:
        forms = tuple(_NAMES) if wanted in (None, "both") else (str(wanted),)
        places = {form: place / _NAMES[form] for form in forms}
    elif wanted not in (None, named):
        raise UsageError(
            f"--out {out}: by its suffix it is {named}, but --format is {wanted}. Give a folder, or leave one of the two out."
        )
    else:
        places = {named: place}
    for path in places.values():
        check_place(path)
    return places


def check_place(path: Path) -> None:
    """Refuses to write over what is not a report."""
    if not path.exists():
        return
    try:
        with open_file(path) as file:
            head = file.read(len(MARK.encode()) + 64).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(
            f"{path}: is there and cannot be read ({system_reason(error)}). Choose another --out."
        ) from error
    if not (head.startswith(MARK) or _OF_A_RUN.match(head)):
        raise UsageError(
            f"{path}: is there and is no report of this suite, so it is not written over. Choose another --out, or remove it."
        )


def write_report(path: Path, text: str) -> None:
    """Writes a report, whole or not at all."""
    with WholeFile(path) as file:
        file.write(f"{MARK}\n{text}")


def report_as_asked(arguments: argparse.Namespace) -> dict[str, Path]:
    """Writes the report with the options of the verb; returns its files by format."""
    from medical_tasks.report.collect import report_data
    from medical_tasks.report.markdown import render_report
    from medical_tasks.report.page import render_page
    from medical_tasks.report.page_data import MAX_TEXT_BYTES

    folders, _ = without_repeats(arguments.runs)
    places = report_places(folders, arguments.out, arguments.format)
    limit = arguments.max_text_bytes
    with doing(f"gather the results and items of {len(folders)} runs"):
        data = report_data(
            arguments.runs,
            title=arguments.title,
            data=arguments.data,
            source=arguments.source,
            responses=arguments.responses,
            upstream=arguments.upstream,
            items=not arguments.no_items,
            max_text_bytes=MAX_TEXT_BYTES if limit is None else limit,
            tell=lambda said: print(f"note: {said}", file=sys.stderr),
        )
    for note in data.notes:
        print(f"note: {note}", file=sys.stderr)
    render = {"html": render_page, "markdown": render_report}
    for form, path in places.items():
        with doing(f"write {path}"):
            write_report(path, render[form](data))
    return places
