"""What `score` and `score-text` take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from medical_tasks.options.base import Option
from medical_tasks.options.shared import (
    Adjudicated,
    BootstrapSeed,
    BuiltData,
    Config,
    FiguresFile,
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
    adjudicated: Adjudicated = None
    out: Annotated[
        Path | None,
        Option("folder for the results (default: runs/RESPONSES-HASH)", metavar="DIR"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ScoreText(WithTables):
    r"""Score texts against references: ROUGE, BLEU, SARI, exact match, and by your checkpoints.

        medical-tasks score-text answers.csv
        medical-tasks score-text notes.xlsx --prediction summary \
            --reference clinician_a,clinician_b --metrics rouge1,rougeL,sacrebleu
        medical-tasks score-text reports.jsonl --metrics bertscore,rougeL_recall \
            --task-args bertscore=models/deberta-xlarge-mnli --json

    A table has a row a text: CSV, XLSX, JSON Lines or parquet. Several columns of
    references, or a list in one of JSON, are references of which any will do. Values
    are means over rows, but for bleu_corpus and sacrebleu_corpus, which are pooled,
    each with its 95 % bootstrap interval. An empty prediction is scored as it is; a row
    without a reference is refused. Output never quotes a text.
    """

    table: Annotated[
        Path,
        Option(
            "CSV, XLSX, JSON Lines or parquet, a row a text",
            metavar="TABLE",
            positional=True,
        ),
    ]
    metrics: Annotated[
        str | None,
        Option(
            "rouge1 ... rouge9, rougeL, rougeLsum (each also with _precision or _recall), bleu,"
            " sacrebleu, bleu_corpus, sacrebleu_corpus, exact_match, sari; bertscore, medcon, "
            "alignscore, bleurt, f1_radgraph, sentence_bert, clinical_bert with --task-args "
            "(default: all that need nothing more)",
            metavar="NAME,...",
        ),
    ] = None
    prediction: Annotated[
        str | None,
        Option(
            "what is scored (default: prediction, response, output...)",
            metavar="COLUMN",
        ),
    ] = None
    reference: Annotated[
        str | None,
        Option(
            "what it is compared with (default: reference, gold...)",
            metavar="COLUMN,...",
        ),
    ] = None
    source: Annotated[
        str | None,
        Option(
            "what it is made from, for sari (default: source, if any)", metavar="COLUMN"
        ),
    ] = None
    cluster: Annotated[
        str | None,
        Option("rows that belong together, such as a patient's", metavar="COLUMN"),
    ] = None
    task_args: Annotated[
        Mapping[str, str],
        Option(
            "checkpoints and indexes: bertscore=FOLDER, umls=FOLDER, alignscore=CKPT:FOLDER, "
            "bleurt=FOLDER, radgraph=FOLDER, sentence_bert=FOLDER, clinical_bert=FOLDER"
        ),
    ] = field(default_factory=dict)
    seed: BootstrapSeed = 0
    out: FiguresFile = None
