"""What `score-text` takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from medical_tasks.options.base import Option
from medical_tasks.options.shared import BootstrapSeed, FiguresFile, WithTables


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
