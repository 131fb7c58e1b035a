"""Small files in the official formats of the paper's other sets, with text of our own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.ehrnoteqa.twin_files import SECRET

DISCQ_COLUMNS = ("id", "question", "reasoning", "start_index", "end_index")
NOTE = f"Admitted after he {SECRET}.\nGiven  aspirin 81 mg daily.\n"


def squad_question(
    number: int | str | None = 1, *texts: str, **changes: Any
) -> dict[str, Any]:
    answers = [
        {"text": text, "answer_start": 0} for text in texts or ("aspirin 81 mg",)
    ]
    return {
        "id": number,
        "question": f"What was given after he {SECRET}?",
        "answers": answers,
    } | changes


def squad_entry(
    title: Any, *questions: Mapping[str, Any], context: Any = NOTE, **more: Any
) -> dict[str, Any]:
    return {
        "title": title,
        "paragraphs": [{"context": context, "qas": list(questions)} | more],
    }


def write_squad(path: Path, *entries: Any, **options: Any) -> Path:
    path.write_text(
        json.dumps({"version": "1.1", "data": list(entries)}, **options),
        encoding="utf-8",
    )
    return path


def discq_row(name: str = "12_34.txt", **changes: str) -> dict[str, str]:
    fields = dict(
        zip(
            DISCQ_COLUMNS,
            (name, "Were interventions done?", f"he {SECRET}", "12", "34"),
            strict=True,
        )
    )
    return fields | changes


def write_discq(
    folder: Path,
    rows: Iterable[Mapping[str, str]],
    *,
    columns: tuple[str, ...] = DISCQ_COLUMNS,
    texts: Mapping[str, str] | None = None,
    line_end: str = "\r\n",
    byte_order_mark: str = "",
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(
        stream, columns, lineterminator=line_end, extrasaction="ignore"
    )
    writer.writeheader()
    writer.writerows(rows)
    path = folder / "discq_questions_final.csv"
    path.write_bytes((byte_order_mark + stream.getvalue()).encode())
    for name, text in (
        {"relations_txt/12_34.txt": NOTE} if texts is None else texts
    ).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return path
