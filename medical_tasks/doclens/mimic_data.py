"""Radiology reports of MIMIC-III: findings in numbered sentences, and the impression that a model is to write of them.

DocLens evaluates 200 reports, drawn in proportion to modality and anatomy (Xie et al. 2024, appendix on the experiments), of the
reports that Van Veen et al. 2023 used (https://aclanthology.org/2023.bionlp-1.42/). Neither their list nor that of DocLens is
released; this is a sample of the same kind, drawn here from the official file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.dataset_source import DatasetSource, OfficialFile
from medical_tasks.doclens.datasets import MIMIC_RRS
from medical_tasks.doclens.mimic_demo import demo_reports
from medical_tasks.doclens.mimic_notes import read_note_rows
from medical_tasks.doclens.mimic_rows import MIMIC_COLUMNS, SPLITS, report_row
from medical_tasks.doclens.mimic_sample import SAMPLE
from medical_tasks.doclens.mimic_table import read_table_rows

__all__ = ["MIMIC_SOURCE", "read_mimic_rows"]


def read_mimic_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Reads the rows of a split.

    Args:
        config: `notes`, `table` or `demo`.
        split: `train` or `test`.
        files: of `notes` and `table` the one file, under their name; empty for `demo`.

    Yields:
        One mapping a report, with the names and types of `MIMIC_COLUMNS`.

    Raises:
        UsageError: The file is not of the form it must be, or has too few reports; messages never hold a report's text.
    """
    if config == "demo":
        yield from map(report_row, demo_reports(split))
    elif config == "table":
        yield from read_table_rows(files["table"], split)
    else:
        yield from read_note_rows(files["notes"])[split]


# Flat in one folder, or below physionet.org/files as wget lays the project out.
_PLACES = tuple(
    f"{folder}{name}" for folder in ("", "1.4/", "mimiciii/1.4/") for name in ("NOTEEVENTS.csv.gz", "NOTEEVENTS.csv")
)

MIMIC_SOURCE = DatasetSource(
    spec=MIMIC_RRS,
    summary=(
        "CT and MR reports of MIMIC-III, each with its findings in numbered sentences and its impression: what a radiologist "
        "concludes from the findings. A generated impression is compared with the reference, and its citations with the sentences "
        "they name. The test split is a sample in proportion to modality and anatomy, as DocLens evaluates; the train split has "
        "what worked examples are drawn from."
    ),
    changes=(
        "Of the notes, radiology reports alone, of CT and MR and of one of seven anatomies; a rule of this package tells this from "
        "their DESCRIPTION.",
        "Findings and impression are found by their headings, and their wrapped lines are joined; else their text is as released, "
        "marks of de-identification included. `sentences` is new: a rule of this package splits the findings.",
        "Reports without both sections, with too short ones, or whose impression only points to the findings are left out.",
        "`test` is 200 reports by a seeded sample, in proportion to modality and anatomy; `train` up to 50 reports of other "
        "patients of each of six kinds. They are not the reports of DocLens's own sample, which is not released.",
        "`demo` is not from the release: it was written for this package, describes nobody, and is under the package's licence, "
        "Apache-2.0.",
    ),
    licence_note="PhysioNet asks that credentialed data go to no service that keeps them.",
    columns=MIMIC_COLUMNS,
    key="id",
    splits=dict.fromkeys(MIMIC_RRS.configs, SPLITS),
    published_rows={
        "notes": {"test": SAMPLE},
        "demo": {split: len(demo_reports(split)) for split in SPLITS},
    },
    files={
        "notes": {"notes": OfficialFile(places=_PLACES, description="MIMIC-III's notes, a CSV file")},
        "table": {
            "table": OfficialFile(
                places=("reports.csv", "reports.jsonl"),
                description="a table of findings and impressions, CSV or JSON Lines",
            )
        },
        "demo": {},
    },
    read=read_mimic_rows,
    published="2016-09-04",
    creators=(
        "Alistair E. W. Johnson",
        "Tom J. Pollard",
        "Lu Shen",
        "Li-wei H. Lehman",
        "Mengling Feng",
        "Mohammad Ghassemi",
        "Benjamin Moody",
        "Peter Szolovits",
        "Leo Anthony Celi",
        "Roger G. Mark",
    ),
    task_categories=("summarization",),
    tags=("medical", "radiology reports", "summarization", "benchmark"),
)
