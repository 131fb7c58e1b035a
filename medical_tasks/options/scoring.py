"""Options of `score`, and of `sheet`, which writes a spreadsheet for people's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options.base import Option
from medical_tasks.options.shared import (
    Adjudicated,
    BuiltData,
    Config,
    Upstream,
    WithAttestation,
    WithCalibration,
    WithEvaluations,
    WithJudge,
    WithSubset,
    WithTables,
)

_FIRST_OF_SCORE: Final = (
    "task", "responses", "source", "config", "split", "subset", "judge", "judge_args", "out",
    "forecast",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Score(
    WithSubset,
    WithCalibration,
    WithEvaluations,
    WithJudge,
    WithTables,
    WithAttestation,
    first=_FIRST_OF_SCORE,
):
    r"""Score existing answers; no model is run.

        medical-tasks score medcalc --responses answers.csv
        medical-tasks score kqa --responses answers.xlsx --judge openai-api/my-host/judge-model
        medical-tasks score kqa --responses runs/my-run --judge nli/path/to/model
        medical-tasks score doclens_own --source notes.json --responses outputs.json \
            --judge openai-api/my-host/judge-model
        medical-tasks score archehr_together --source RELEASE --split dev \
            --responses submission.json
        medical-tasks score archehr_evidence --source RELEASE --split dev --responses submission.zip

    The file is a table (CSV, XLSX, parquet) with the columns id and response, or JSON
    Lines with one line per item: {"id": "17", "response": "the model's raw text"}. Ids
    are those of the dataset (for MedCalc-Bench the `Row Number`, which is also accepted as
    the name of the column). If each item has its own question, a column `question`
    identifies it as well.

    A JSON list of such records may use the names example_id and output, or those of a
    submission to the shared tasks of ArchEHR-QA: case_id and answer (2025), or case_id
    and prediction (2026), zipped or not; a submission is scored only if it is valid. The
    result files of the other benchmarks' authors are also accepted: K-QA (Question,
    result), EHRNoteQA (a column with the name of the model), MedCalc-Bench (Row Number,
    LLM Answer), DocLens (also by section).

    Items without an answer are reported as unanswered and never counted as wrong. Instead
    of a file, the folder of a run may be given to score its answers again, for example
    with another judge.

    Your own questions or notes (K-QA, MedCalc-Bench, DocLens) need no build: --source is
    the file for the configuration `own`. For ArchEHR-QA it is the folder of the release.
    """

    task: Annotated[
        str,
        Option(
            "medcalc, medical:medcalc or medical|medcalc",
            metavar="TASK",
            positional=True,
        ),
    ]
    responses: Annotated[
        Path,
        Option(
            "CSV, XLSX, parquet, JSON Lines or a JSON list with id and response (for other names "
            "see above), or the folder of a run",
            metavar="FILE",
        ),
    ]
    source: Annotated[
        Path | None,
        Option(
            "the file of your own dataset, or the folder of ArchEHR-QA's release, instead of "
            "--data",
            metavar="FILE",
        ),
    ] = None
    split: Annotated[
        str | None,
        Option(
            "the answered split, or a+b for two, instead of the task's own",
            metavar="NAME",
        ),
    ] = None
    data: BuiltData = None
    config: Config = None
    prompts: Annotated[
        str, Option("the judge's prompts: own (default) or official", metavar="SET")
    ] = "own"
    upstream: Upstream = None
    task_args: Annotated[
        Mapping[str, str],
        Option("settings of the task's scoring, e.g. sentence_bert=FOLDER"),
    ] = field(default_factory=dict)
    confidence: Annotated[
        Literal["none", "asked"],
        Option(
            "asked: the answers end with a line `Confidence: N%`, which is removed and reported"
        ),
    ] = "none"
    adjudicated: Adjudicated = None
    out: Annotated[
        Path | None,
        Option("folder for the results (default: runs/RESPONSES-HASH)", metavar="DIR"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Sheet(WithSubset):
    """Write a task's questions as a spreadsheet for people's answers, which `score` reads.

        medical-tasks sheet kqa --out kqa.xlsx
        medical-tasks score kqa --responses kqa.xlsx
        medical-tasks sheet medcalc --subset 50 --out medcalc.xlsx
        medical-tasks sheet ehrnoteqa_mc_level1 --config demo --out choices.csv

    Each row has a question with its id, the material to read (`to_read`), and an empty
    column `answer`. In an XLSX file all other cells are locked, without a password, and
    if the answer is a letter, the cell offers the choices. Rows may be left empty, sorted
    or deleted. A sheet with answers is never overwritten. A sheet of credentialed data is
    readable by its owner only, and cannot be in the folder of a run or in a git work
    tree.
    """

    task: Annotated[
        str,
        Option(
            "medcalc, medical:medcalc or medical|medcalc",
            metavar="TASK",
            positional=True,
        ),
    ]
    out: Annotated[Path, Option("the sheet to write, .xlsx or .csv", metavar="FILE")]
    max_samples: Annotated[
        int | None,
        Option(
            "use at most N questions: not a random sample (see --subset)", metavar="N"
        ),
    ] = None
    source: Annotated[
        Path | None,
        Option(
            "the file of your own dataset, or the folder of ArchEHR-QA's release, instead of "
            "--data",
            metavar="FILE",
        ),
    ] = None
    config: Config = None
    split: Annotated[
        str | None,
        Option(
            "split to use, or a+b for two, instead of the task's own", metavar="NAME"
        ),
    ] = None
    data: BuiltData = None
