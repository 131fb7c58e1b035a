"""Agreement of `errors` with labels of real replies; `measurements.medcalc_errors --real FOLDER` prints it.

The replies are those of GPT-4 and GPT-3.5 in the history of
github.com/ncbi-nlp/MedCalc-Bench. They are not in this project: the labels name each by
its file in that history, its line and its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.data import read_rows
from medical_tasks.lab.error_types import TYPES, sort_error
from medical_tasks.scoring.agreement import cohen_interval

ROOT = Path(__file__).resolve().parents[1]
LABELS = ROOT / "tests" / "lab" / "test_errors_real.json"
HALVES = ("development", "held out")
LETTERS = tuple(name for name in TYPES if name != "undetermined")


@dataclass(frozen=True)
class Label:
    """The type of the first error of one reply, read without the tool."""

    blob: str  # git's id of the file with the reply
    line: int  # of that file, from 1
    sha256: str  # of the reply
    row: int  # of the test split of v1.0
    half: str  # whether the rules were written with a view to it
    types: str  # the label, then further types that are acceptable
    reason: str


@dataclass(frozen=True)
class Sorting:
    """A label, and the type that the tool assigned."""

    label: Label
    error_type: str
    reason: str

    @property
    def is_acceptable(self) -> bool:
        """Whether the type is the label or another acceptable one."""
        return self.error_type in self.label.types


def labels() -> list[Label]:
    """Reads the labels of the project."""
    entries = json.loads(LABELS.read_text(encoding="utf-8"))["replies"]
    return [Label(**entry) for entry in entries]


def sortings(folder: Path, rows: Path) -> Iterator[Sorting]:
    """Yields every labelled reply with the type that the tool assigns.

    Args:
        folder: a clone of the authors' repository, or a folder with its files named by
            their git ids.
        rows: the CSV file of the test split of v1.0.
    """
    by_number = {
        int(row["row_number"]): row for row in read_rows("v1.0", "test", {"test": rows})
    }
    files: dict[str, list[str]] = {}
    for label in labels():
        if label.blob not in files:
            files[label.blob] = _file(folder, label.blob).split("\n")
        text = reply_of(json.loads(files[label.blob][label.line - 1]), label)
        sorting = sort_error(by_number[label.row], text)
        if sorting is None:
            raise ValueError(f"row {label.row}: the labelled reply is a right answer")
        yield Sorting(label, sorting.error_type, sorting.reason)


def _file(folder: Path, blob: str) -> str:
    for path in sorted(folder.glob(f"{blob}*")):
        return path.read_text(encoding="utf-8")
    command = ["git", "-C", str(folder), "cat-file", "blob", blob]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise FileNotFoundError(
            f"{folder}: neither a file {blob}* nor a git repository with that blob. Clone "
            "https://github.com/ncbi-nlp/MedCalc-Bench with its history and give that folder."
        )
    return done.stdout.decode("utf-8")


def reply_of(line: Mapping[str, Any], label: Label) -> str:
    """Returns the reply in a line of a results file, with its answer; `ValueError` if it is not the labelled one."""
    if "LLM Explanation" in line:
        text = str(line["LLM Explanation"])
    else:
        turns = line["LLM Chat History"]
        text = "\n\n".join(
            turn["content"] for turn in turns if turn["role"] == "assistant"
        )
    digest = hashlib.sha256(text.encode()).hexdigest()
    if digest != label.sha256:
        raise ValueError(
            f"{label.blob}, line {label.line}: SHA-256 {digest}, labelled was {label.sha256}"
        )
    if text.lstrip().startswith("{") and '"answer"' in text:
        return text
    return f"{text}\n\nFinal answer: {line['LLM Answer']}"


def agreement(replies: Sequence[Sorting]) -> str:
    """Writes a row of the table: counts of replies by their type, and kappa over those with a type."""
    typed = [sorting for sorting in replies if sorting.error_type in LETTERS]
    acceptable = sum(sorting.is_acceptable for sorting in typed)
    first = sum(sorting.error_type == sorting.label.types[0] for sorting in typed)
    counts = (acceptable, first, len(typed) - acceptable, len(replies) - len(typed))
    shares = (f"{n} ({100 * n / len(replies):.0f} %)" for n in counts)
    gold = [
        sorting.error_type if sorting.is_acceptable else sorting.label.types[0]
        for sorting in typed
    ]
    kappa = cohen_interval(
        gold,
        [sorting.error_type for sorting in typed],
        classes=LETTERS,
        clusters=[str(sorting.label.row) for sorting in typed],
    )
    return " | ".join(
        (
            str(len(replies)),
            *shares,
            f"{kappa.value:.2f} ({kappa.ci_low:.2f} to {kappa.ci_high:.2f})",
        )
    )


def report(replies: Sequence[Sorting]) -> str:
    """Writes the tables of the document."""
    lines = [
        "| replies | n | acceptable type | the label itself | another type | undetermined | kappa |",
        "|---|---|---|---|---|---|---|",
    ]
    for half in HALVES:
        own = [sorting for sorting in replies if sorting.label.half == half]
        lines.append(f"| {half} | {agreement(own)} |")
    columns = tuple(TYPES)
    counts = Counter(
        (
            sorting.error_type if sorting.is_acceptable else sorting.label.types[0],
            sorting.error_type,
        )
        for sorting in replies
        if sorting.label.half == "held out"
    )
    lines += [
        "",
        f"| held out: label | {' | '.join(columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for letter in LETTERS:
        cells = " | ".join(str(counts[letter, column]) for column in columns)
        lines.append(f"| {letter} | {cells} |")
    return "\n".join(lines)
