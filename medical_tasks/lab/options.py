"""What the verbs of research on benchmarks and metrics take."""

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
    """Sort the errors of a MedCalc-Bench run by kind, and accuracy by the number of attributes.

        medical-tasks errors RUN
        medical-tasks errors RUN --judge openai-api/my-host/my-model

    RUN is the folder that `run` or `score` wrote. Wrong answers on rows whose label the
    published rule bears out are sorted into the paper's types: A knowledge, B
    extraction, C computation, D other; without a judge from what the reply shows (what
    shows nothing is "undetermined": counted, and in the bounds of each share), with
    --judge by that model too. For a run of `score` give the file that was scored with
    --responses. Written into RUN: errors.json, error_items.csv, attributes_TASK.csv and
    two plots.
    """

    run: Annotated[
        Path, Option("folder of a finished run", metavar="RUN", positional=True)
    ]
    judge: Annotated[
        str | None,
        Option(
            "model that sorts them too: hf/PATH, openai-api/HOST/NAME, ...",
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
        Path | None, Option("the file that `score` scored", metavar="FILE")
    ] = None
    upstream: Annotated[
        Path | None, Option("authors' checkout, of --prompts official", metavar="DIR")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Correlate(WithTables):
    r"""Correlate scores: do benchmarks, judges or metrics order models as clinicians do?

        medical-tasks correlate scores.csv --against clinician
        medical-tasks correlate clinicians.csv benchmarks.csv \
            --against clinician_a,clinician_b --out correlations.csv

    A file has a header and a row a model; the first column that holds text names the
    model (or --names), the others hold scores, and an empty cell is a missing one.
    Several files are joined by those names. Every other column of scores is set against
    each one given: Spearman's rho (equal scores share the mean of their ranks),
    Kendall's tau-b, 95 % bootstrap intervals over the rows, and how many rows have both
    scores. Exit code 5 when a pair has no coefficient: fewer than three rows with both
    scores, or a column that is the same in all of them.
    """

    scores: Annotated[
        tuple[Path, ...],
        Option(
            "tables of scores, a row a model", metavar="SCORES.csv", positional=True
        ),
    ]
    against: Annotated[
        str, Option("the scores to compare with", metavar="COLUMN[,COLUMN...]")
    ]
    columns: Annotated[
        str | None,
        Option(
            "the scores to compare (default: all columns of numbers)",
            metavar="COLUMN[,...]",
        ),
    ] = None
    names: Annotated[
        str | None,
        Option(
            "what names a row (default: the first column of text)",
            metavar="COLUMN[,...]",
        ),
    ] = None
    seed: BootstrapSeed = 0
    out: Annotated[
        Path | None, Option("write the table there too, all digits", metavar="FILE.csv")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Meta(WithTables):
    r"""Evaluate metrics: which agree with people's preferences and scores, and with each other.

        medical-tasks meta outputs.csv --preferences preferences.csv --against claim_recall
        medical-tasks meta outputs.csv --human score_ann,score_ben \
            --metrics claim_recall,rouge --json
        medical-tasks meta a=runs/a b=runs/b human.csv --metrics claim_recall,rouge1 \
            --where section=objective_exam
        medical-tasks meta a@big=runs/a a@small=runs/a-small b@big=runs/b b@small=runs/b-small

    A CSV file has a row an output, with the columns item and system, perhaps cluster,
    and scores; human scores are the columns that begin with human_ (or --human). A
    run's folder is a system with the metrics of its task; SYSTEM@LABEL=FOLDER for the
    same outputs scored by several judges. All sources are joined by item and system.
    Preferences are a CSV file with the columns item, system_a, system_b, annotator and
    preferred (one of the two systems, or tie). Prints Kendall's tau-b of every two
    metrics, on how many pairs of outputs two metrics prefer the same one, and whom
    people side with where they do not; all with 95 % intervals.
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
        Path | None, Option("what people prefer", metavar="FILE.csv")
    ] = None
    metrics: Annotated[
        str | None,
        Option("the metrics (default: all columns of numbers)", metavar="COLUMN[,...]"),
    ] = None
    human: Annotated[
        str | None,
        Option(
            "human scores (default: columns that begin with human_)",
            metavar="COLUMN[,...]",
        ),
    ] = None
    against: Annotated[
        str | None,
        Option(
            "compare all others with this one (default: every two)", metavar="METRIC"
        ),
    ] = None
    less_is_better: Annotated[
        str | None, Option("turn these round (of runs: known)", metavar="COLUMN[,...]")
    ] = None
    kendall: Annotated[
        Literal["pooled", "item"],
        Option(
            "tau-b over all outputs (default), or among each item's outputs, averaged"
        ),
    ] = "pooled"
    where: Annotated[
        tuple[str, ...], Option("only outputs with this label", metavar="LABEL=TEXT")
    ] = ()
    task: Annotated[
        str | None, Option("the task, where a run has several", metavar="NAME")
    ] = None
    epsilon: Annotated[
        float | None, Option("values this close are a tie (default 1e-9)", metavar="E")
    ] = None
    seed: BootstrapSeed = 0
    out: FiguresFile = None


@dataclass(frozen=True, kw_only=True)
class Audit(Options):
    """Check a dataset's labels against the published rules.

        medical-tasks audit medcalc --source test_data.csv --out audit.csv
        medical-tasks audit medcalc --source test_data.csv --out audit.csv --corrected CSV

    Each row of the official CSV file (v1.0, v1.2 or Verified) is recomputed from its
    own entities. The output has the columns row, calculator, label, recomputed, verdict
    and reason; the verdict is agrees, wrong, convention (right by a named departure
    from the published rule) or not computable. The counts by calculator are printed.
    Wrong labels are a finding and no failure: the exit code is 0.

    The corrected labels of v1.0, from their file or from the built configuration, fill
    three more columns: corrected (the label, N/A where the note does not allow an
    answer), and whether the released label and the recomputed value are right by it.
    """

    dataset: Annotated[
        str,
        Option(
            "medcalc: the one whose labels can be recomputed",
            metavar="DATASET",
            positional=True,
        ),
    ]
    source: Annotated[Path, Option("the official file", metavar="CSV")]
    out: Annotated[Path, Option("where the audited rows go", metavar="CSV")]
    corrected: Annotated[
        Path | None,
        Option(
            "the corrected labels of v1.0; by default the built configuration corrected, if any",
            metavar="CSV",
        ),
    ] = None
