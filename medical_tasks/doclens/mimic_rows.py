"""Rows of `mimic_rrs`, and how a stream of reports becomes those of its splits."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from medical_tasks.columns import Column
from medical_tasks.doclens.mimic_left_out import LeftOut
from medical_tasks.doclens.mimic_lines import report_sentences
from medical_tasks.doclens.mimic_sample import Candidate, Sampler
from medical_tasks.errors import UsageError, system_reason

__all__ = ["MIMIC_COLUMNS", "SPLITS", "Rows", "file_stamp", "report_row", "sampled_rows"]

SPLITS = ("train", "test")
Rows = dict[str, tuple[dict[str, Any], ...]]
"""Split to its rows."""

MIMIC_COLUMNS = (
    Column(name="id", description="Of the report: MIMIC-III's ROW_ID, in `table` as the table has it"),
    Column(name="patient_id", description="Whose report it is: MIMIC-III's SUBJECT_ID. Reports share it"),
    Column(name="modality", description="`CT` or `MR`; `unknown` in a table that does not say it"),
    Column(
        name="anatomy",
        description="`head`, `abdomen`, `chest`, `spine`, `neck`, `sinus` or `pelvis`; or `unknown`, likewise",
    ),
    Column(name="findings", description="What was seen: the findings section, its wrapped lines joined"),
    Column(
        name="sentences",
        repeated=True,
        description="Its sentences, each on one line; a sentence's number is its place, from 0",
    ),
    Column(name="impression", description="What it means: the impression section, likewise; the reference"),
)


def report_row(candidate: Candidate) -> dict[str, Any]:
    """Puts a row together, with the columns in their order.

    Args:
        candidate: a report.

    Returns:
        Column name to value.
    """
    return {
        "id": candidate.id,
        "patient_id": candidate.patient_id,
        "modality": candidate.kind.modality,
        "anatomy": candidate.kind.anatomy,
        "findings": candidate.report.findings,
        "sentences": report_sentences(candidate.report.findings),
        "impression": candidate.report.impression,
    }


def file_stamp(path: Path) -> tuple[int, ...]:
    """Tells a file's state from any other it had or will have, as far as its folder knows.

    Args:
        path: the file.

    Returns:
        Bytes first; then device, place on it, and time of the last change.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    return state.st_size, state.st_dev, state.st_ino, state.st_mtime_ns


def sampled_rows(path: Path, reports: Iterable[Candidate | LeftOut], sampler: Sampler, *, advice: str) -> Rows:
    """Draws the splits from a stream of reports, and says on standard error what was left out and why.

    Args:
        path: where they come from, for messages.
        reports: one after another; a reason for each that cannot be used.
        sampler: takes them.
        advice: the next step when there are fewer, a sentence.

    Returns:
        The rows of both splits, by growing id.

    Raises:
        UsageError: There are fewer, or none remain for `train`.
    """
    left_out: Counter[LeftOut] = Counter()
    for report in reports:
        if isinstance(report, LeftOut):
            left_out[report] += 1
        else:
            sampler.add(report)
    told = _told(sampler, left_out)
    if sampler.total < sampler.sample:
        raise UsageError(f"{path}: {told} The sample has {sampler.sample:,}. {advice}")
    drawn = sampler.split()
    if not drawn["train"]:
        raise UsageError(
            f"{path}: {told} Behind the sample of {sampler.sample:,} no report of another patient remains for train. {advice}"
        )
    print(f"note: {path.name}: {told}", file=sys.stderr)
    return {split: tuple(map(report_row, drawn[split])) for split in SPLITS}


def _told(sampler: Sampler, left_out: Counter[LeftOut]) -> str:
    """Counts alone."""
    kinds = ", ".join(f"{' '.join(dict.fromkeys(kind))} {count:,}" for kind, count in sampler.counts.most_common())
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in left_out.most_common())
    return (
        f"{sampler.total:,} reports can be used{f' ({kinds})' if kinds else ''}, {left_out.total():,} are left out"
        f"{f' ({reasons})' if reasons else ''}."
    )
