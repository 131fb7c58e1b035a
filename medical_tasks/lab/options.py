"""Options of the commands for research on benchmarks and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from medical_tasks.options import (
    BootstrapSeed,
    FiguresFile,
    Option,
    Options,
    WithAttestation,
    WithTables,
)


@dataclass(frozen=True, kw_only=True)
class Errors(WithAttestation):
    """Classify the errors of a MedCalc-Bench run, and report accuracy by number of attributes.

        medical-tasks errors RUN
        medical-tasks errors RUN --judge openai-api/my-host/my-model

    RUN is a folder written by `run` or `score`. Wrong answers on rows whose label the
    published rule confirms are classified by the paper's types: A knowledge, B
    extraction, C computation, D other. Rules classify them by the working in the reply;
    a reply without evidence is "undetermined", which counts in the bounds of each share.
    With --judge, that model classifies them too. For a run of `score`, give the scored
    file with --responses. The results are written to RUN: errors.json, error_items.csv,
    attributes_TASK.csv and two plots.
    """

    run: Annotated[
        Path, Option("folder of a finished run", metavar="RUN", positional=True)
    ]
    judge: Annotated[
        str | None,
        Option(
            "a model that also classifies the errors: hf/PATH, openai-api/HOST/NAME, ...",
            metavar="MODEL",
        ),
    ] = None
    judge_args: Annotated[
        Mapping[str, str], Option("settings of the judge's backend")
    ] = field(default_factory=dict)
    data: Annotated[
        Path | None,
        Option("folder of the built dataset (default: data home)", metavar="DIR"),
    ] = None
    responses: Annotated[
        Path | None, Option("the file of responses that `score` read", metavar="FILE")
    ] = None
    upstream: Annotated[
        Path | None,
        Option(
            "checkout of the authors' repository, for a run with --prompts official",
            metavar="DIR",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Correlate(WithTables):
    r"""Correlate scores: do benchmarks, judges or metrics rank models like clinicians do?

        medical-tasks correlate scores.csv --against clinician
        medical-tasks correlate clinicians.csv benchmarks.csv \
            --against clinician_a,clinician_b --out correlations.csv

    A file has a header and one row per model. The first column of text names the model
    (or --names), the other columns hold scores, and an empty cell is a missing score.
    Several files are joined by the names. Every other column of scores is compared with
    each column of --against: Spearman's rho (tied scores have their average rank),
    Kendall's tau-b, 95 % bootstrap intervals over the rows, and the number of rows with
    both scores. Exit code 5 if a pair has no coefficient: fewer than three rows have both
    scores, or a column is constant.
    """

    scores: Annotated[
        tuple[Path, ...],
        Option(
            "tables of scores, one row per model",
            metavar="SCORES.csv",
            positional=True,
        ),
    ]
    against: Annotated[
        str, Option("columns of scores to compare with", metavar="COLUMN[,COLUMN...]")
    ]
    columns: Annotated[
        str | None,
        Option(
            "columns of scores to compare (default: all columns of numbers)",
            metavar="COLUMN[,...]",
        ),
    ] = None
    names: Annotated[
        str | None,
        Option(
            "columns that name the rows (default: the first column of text)",
            metavar="COLUMN[,...]",
        ),
    ] = None
    seed: BootstrapSeed = 0
    out: Annotated[
        Path | None,
        Option(
            "also write the table to this file, with all digits", metavar="FILE.csv"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Meta(WithTables):
    r"""Evaluate metrics: which agree with people's preferences and scores, and with each other?

        medical-tasks meta outputs.csv --preferences preferences.csv --against claim_recall
        medical-tasks meta outputs.csv --human score_ann,score_ben \
            --metrics claim_recall,rouge --json
        medical-tasks meta a=runs/a b=runs/b human.csv --metrics claim_recall,rouge1 \
            --where section=objective_exam
        medical-tasks meta a@big=runs/a a@small=runs/a-small b@big=runs/b b@small=runs/b-small

    A CSV file has one row per output, with the columns item and system, optionally
    cluster, and scores. Columns that begin with human_ (or --human) are human scores. The
    folder of a run is a system with the metrics of its task; give SYSTEM@LABEL=FOLDER for
    the same outputs scored by several judges. All sources are joined by item and system.
    Preferences are a CSV file with the columns item, system_a, system_b, annotator and
    preferred (one of the two systems, or tie). The command prints Kendall's tau-b for
    every pair of metrics, how often two metrics prefer the same output of a pair, and
    which metric people agree with otherwise; all with 95 % intervals.
    """

    sources: Annotated[
        tuple[str, ...],
        Option(
            "FILE.csv, FOLDER, SYSTEM=FOLDER or SYSTEM@LABEL=FOLDER",
            metavar="SOURCE",
            positional=True,
        ),
    ]
    preferences: Annotated[
        Path | None, Option("people's preferences", metavar="FILE.csv")
    ] = None
    metrics: Annotated[
        str | None,
        Option(
            "columns of metrics (default: all columns of numbers)",
            metavar="COLUMN[,...]",
        ),
    ] = None
    human: Annotated[
        str | None,
        Option(
            "columns of human scores (default: those that begin with human_)",
            metavar="COLUMN[,...]",
        ),
    ] = None
    against: Annotated[
        str | None,
        Option(
            "compare all other metrics with this one (default: every pair)",
            metavar="METRIC",
        ),
    ] = None
    less_is_better: Annotated[
        str | None,
        Option(
            "columns in which lower values are better (known for runs)",
            metavar="COLUMN[,...]",
        ),
    ] = None
    kendall: Annotated[
        Literal["pooled", "item"],
        Option("tau-b over all outputs (default), or within each item and averaged"),
    ] = "pooled"
    where: Annotated[
        tuple[str, ...],
        Option("compare only outputs with this label", metavar="LABEL=TEXT"),
    ] = ()
    task: Annotated[
        str | None, Option("the task to read if a run has several", metavar="NAME")
    ] = None
    epsilon: Annotated[
        float | None,
        Option(
            "treat values this close as a tie (default: 1e-9)",
            metavar="E",
        ),
    ] = None
    seed: BootstrapSeed = 0
    out: FiguresFile = None


@dataclass(frozen=True, kw_only=True)
class Audit(Options):
    """Check a dataset's labels against the published rules.

        medical-tasks audit medcalc --source test_data.csv --out audit.csv
        medical-tasks audit medcalc --source test_data.csv --out audit.csv --corrected CSV

    Each row of the official CSV file (v1.0, v1.2 or Verified) is recomputed from its own
    entities. The output has the columns row, calculator, label, recomputed, verdict and
    reason; the verdict is agrees, wrong, convention (right by a named deviation from the
    published rule) or not computable. The command prints the counts by calculator. Wrong
    labels are a finding, not a failure: the exit code is 0.

    The corrected labels of v1.0, from their file or from the built configuration, add
    three columns: corrected (the label, or N/A if the note does not allow an answer), and
    whether the released label and the recomputed value are right by it.
    """

    dataset: Annotated[
        str,
        Option(
            "medcalc, the only dataset whose labels can be recomputed",
            metavar="DATASET",
            positional=True,
        ),
    ]
    source: Annotated[Path, Option("the official CSV file", metavar="CSV")]
    out: Annotated[Path, Option("file for the audited rows", metavar="CSV")]
    corrected: Annotated[
        Path | None,
        Option(
            "corrected labels of v1.0 (default: the built configuration corrected, if any)",
            metavar="CSV",
        ),
    ] = None
