"""Options of `score-text`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from medical_tasks.options.base import Option
from medical_tasks.options.shared import BootstrapSeed, FiguresFile, WithTables


@dataclass(frozen=True, kw_only=True)
class ScoreText(WithTables):
    r"""Score texts against references: ROUGE, BLEU, SARI, exact match, and metrics with checkpoints.

        medical-tasks score-text answers.csv
        medical-tasks score-text notes.xlsx --prediction summary \
            --reference clinician_a,clinician_b --metrics rouge1,rougeL,sacrebleu
        medical-tasks score-text reports.jsonl --metrics bertscore,rougeL_recall \
            --task-args bertscore=models/deberta-xlarge-mnli --json

    The table (CSV, XLSX, JSON Lines or parquet) has one row per text. Several reference
    columns, or a JSON list in one, are alternative references. Values are means over rows,
    except bleu_corpus and sacrebleu_corpus, which are pooled; each has a 95 % bootstrap
    interval. An empty prediction is scored unchanged; a row without a reference is
    refused. The output never quotes a text.
    """

    table: Annotated[
        Path,
        Option(
            "CSV, XLSX, JSON Lines or parquet file with one row per text",
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
            "(default: all that need no --task-args)",
            metavar="NAME,...",
        ),
    ] = None
    prediction: Annotated[
        str | None,
        Option(
            "column of the texts to score (default: prediction, response, output...)",
            metavar="COLUMN",
        ),
    ] = None
    reference: Annotated[
        str | None,
        Option(
            "columns of the references (default: reference, gold...)",
            metavar="COLUMN,...",
        ),
    ] = None
    source: Annotated[
        str | None,
        Option(
            "column of the source texts, for sari (default: source, if any)",
            metavar="COLUMN",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        Option(
            "column that groups related rows, such as those of a patient",
            metavar="COLUMN",
        ),
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
