"""What `score` takes, and `sheet`, which writes what it scores for people to fill in."""

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
    r"""Score answers you already have; no model is run.

        medical-tasks score medcalc --responses answers.csv
        medical-tasks score kqa --responses answers.xlsx --judge openai-api/my-host/judge-model
        medical-tasks score kqa --responses runs/my-run --judge nli/path/to/model
        medical-tasks score doclens_own --source notes.json --responses outputs.json \
            --judge openai-api/my-host/judge-model
        medical-tasks score archehr_together --source RELEASE --split dev \
            --responses submission.json
        medical-tasks score archehr_evidence --source RELEASE --split dev --responses submission.zip

    The file is a table (CSV, XLSX, parquet) with the columns id and response, or JSON
    Lines with one line an item, {"id": "17", "response": "the model's raw text"}. Ids
    are the dataset's own (for MedCalc-Bench the `Row Number`, which a table's column
    may be called too); where each item has a question of its own, a column `question`
    names it as well. A JSON list of such records may have the names example_id and
    output, or those of a submission to ArchEHR-QA's shared tasks: case_id and answer
    (2025), or case_id and prediction (2026), zipped or not, which is scored only if it
    has no problems. Result files of the other benchmarks' authors are taken as they
    are: K-QA's (Question, result), EHRNoteQA's (a column called as the model),
    MedCalc-Bench's (Row Number, LLM Answer), DocLens's (also by section). Items without
    an answer are reported as unanswered, never counted as wrong. Instead of a file, the
    folder of a run can be given: its answers are scored anew, by another judge for
    example.

    Your own questions or notes (K-QA, MedCalc-Bench, DocLens) need no build: --source
    takes the file that configuration `own` is built from. For ArchEHR-QA it takes the
    folder of the release.
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
            "CSV, XLSX, parquet, JSON Lines or a JSON list, with id and response (other names: "
            "see above), or a run",
            metavar="FILE",
        ),
    ]
    source: Annotated[
        Path | None,
        Option(
            "the one file a dataset of your own is made of, or ArchEHR-QA's folder, in place of"
            " --data",
            metavar="FILE",
        ),
    ] = None
    split: Annotated[
        str | None,
        Option(
            "split that was answered, or a+b, instead of the task's own", metavar="NAME"
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
            "asked: the file's answers end with a line `Confidence: N%`, which is taken off and "
            "reported"
        ),
    ] = "none"
    adjudicated: Adjudicated = None
    out: Annotated[
        Path | None,
        Option("folder for the results (default: runs/RESPONSES-HASH)", metavar="DIR"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Sheet(WithSubset):
    """Write a task's questions as a spreadsheet to fill in; `score` takes it back.

        medical-tasks sheet kqa --out kqa.xlsx
        medical-tasks score kqa --responses kqa.xlsx
        medical-tasks sheet medcalc --subset 50 --out medcalc.xlsx
        medical-tasks sheet ehrnoteqa_mc_level1 --config demo --out choices.csv

    A row a question: its id, the question, what is needed to answer it (`to_read`), and
    an empty column `answer`. In an XLSX file all else is locked, without a password,
    and where the answer is a letter the cell offers those there are. Rows may be left
    empty, sorted or taken out. A sheet in which somebody wrote is never overwritten. Of
    credentialed data it is for its owner alone, and is in no run's folder or git work
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
    out: Annotated[Path, Option("the sheet, .xlsx or .csv", metavar="FILE")]
    max_samples: Annotated[
        int | None,
        Option("at most N questions: no random sample (see --subset)", metavar="N"),
    ] = None
    source: Annotated[
        Path | None,
        Option(
            "the one file a dataset of your own is made of, or ArchEHR-QA's folder, in place of"
            " --data",
            metavar="FILE",
        ),
    ] = None
    config: Config = None
    split: Annotated[
        str | None,
        Option("split to take, or a+b, instead of the task's own", metavar="NAME"),
    ] = None
    data: BuiltData = None
