"""Options of the commands for finished runs: `report`, `compare`, `plan` and `gate`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options.base import Option, Options
from medical_tasks.options.shared import BuiltData, Config, WithRunData, WithTables


@dataclass(frozen=True, kw_only=True)
class Report(WithRunData, WithTables):
    """Show finished runs: one HTML page that works offline, and Markdown.

        medical-tasks report runs/my-run
        medical-tasks report runs/model-a runs/model-b --out comparison.html --open
        medical-tasks report runs/scored --responses answers.jsonl

    RUN is a folder written by `run` or `score`. The page has the main results of all runs
    with intervals and coverage, breakdowns, plots, published results and how they differ,
    the recipe, and every item: for open data with question, answer, gold answer, decision
    and reason; for credentialed data with ids, scores and hashes only. The page loads
    nothing from any server.

    Without --out, report.html and report.md are written to the folder of the run, or for
    several runs to the current folder. Only an earlier report is ever overwritten.
    """

    runs: Annotated[
        tuple[Path, ...],
        Option("folder of a finished run", metavar="RUN", positional=True),
    ]
    out: Annotated[
        Path | None,
        Option(
            "FILE.html, FILE.md, or a folder for report.html and report.md",
            metavar="PLACE",
        ),
    ] = None
    format: Annotated[
        Literal["html", "markdown", "both"] | None,
        Option("the files to write (default: both, or by the name of --out)"),
    ] = None
    title: Annotated[str, Option("heading of the report", metavar="TEXT")] = ""
    responses: Annotated[
        tuple[Path, ...],
        Option(
            "a file of responses that `score` read, or the folder of a run whose answers it "
            "scored; may be repeated",
            metavar="FILE",
        ),
    ] = ()
    no_items: Annotated[bool, Option("omit the items")] = False
    max_text_bytes: Annotated[
        int | None,
        Option(
            "size limit for the texts of all items (default: 4,000,000); longer texts are "
            "visibly shortened in the middle",
            metavar="N",
        ),
    ] = None
    open: Annotated[bool, Option("open the page in the browser")] = False


SHOWN_FLIPS: Final = 20
"""How many changed items `compare --flips` lists in each direction."""


def _margin(text: str) -> float:
    try:
        margin = float(text)
    except ValueError:
        margin = math.nan
    if not 0.0 < margin < math.inf:
        raise ValueError(
            f"must be a difference above 0, such as 0.03 for three points, got {text!r}"
        )
    return margin


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise ValueError(
            f"must be a number of items, 1 or more, got {text!r}; write it after the runs, or as "
            f"--flips={SHOWN_FLIPS}"
        )
    return int(text[:9])


@dataclass(frozen=True, kw_only=True)
class Compare(Options):
    """Compare runs on the same items: difference, interval, test, flips, detectable difference.

        medical-tasks compare runs/model-a runs/model-b
        medical-tasks compare runs/model-a runs/model-b --by category --flips
        medical-tasks compare runs/model-a runs/model-b runs/model-c --all-pairs --out comparison.md
        medical-tasks compare --memory-gap runs/published runs/fresh

    Tasks with different data, versions, metrics or scoring are refused; other differences
    of the recipes are listed with their relevance. Exit code 2 if nothing can be
    compared; 0 if something can, with the reasons for the rest.
    """

    runs: Annotated[
        tuple[Path, ...],
        Option(
            "folders of two or more runs; the first is A",
            metavar="RUN",
            positional=True,
        ),
    ]
    all_pairs: Annotated[
        bool, Option("compare every pair of runs, not just each run with the first")
    ] = False
    task: Annotated[
        tuple[str, ...],
        Option("compare only this task; may be repeated", metavar="NAME"),
    ] = ()
    metric: Annotated[
        tuple[str, ...],
        Option("compare only this metric; may be repeated", metavar="NAME"),
    ] = ()
    by: Annotated[
        str,
        Option(
            "also compare by group: the name of a breakdown, all, or none (default)",
            metavar="BREAKDOWN",
        ),
    ] = "none"
    flips: Annotated[
        int | None,
        Option(
            "list the changed items, at most N in each direction (default: 20), for --metric or "
            "else the first metric of each task",
            metavar="N",
            bare=SHOWN_FLIPS,
            read=_count,
        ),
    ] = None
    equivalence: Annotated[
        float | None,
        Option(
            "test by two one-sided tests whether the runs are equivalent: whether their "
            "difference is smaller than M (0.03 for three points)",
            metavar="M",
            read=_margin,
        ),
    ] = None
    memory_gap: Annotated[
        bool,
        Option(
            "compare a model's run on published rows with one on fresh rows, to see how much it "
            "remembers"
        ),
    ] = False
    out: Annotated[
        Path | None, Option("also write the comparison as Markdown", metavar="FILE.md")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Plan(Options):
    """Compute the number of items for an interval, difference or gate, from past runs or assumptions.

        medical-tasks plan medcalc --half-width 0.03 --accuracy 0.4
        medical-tasks plan medcalc --difference 0.05 --agreement 0.7
        medical-tasks plan medcalc --difference 0.05 --run runs/model-a runs/model-b
        medical-tasks plan medcalc --at-least 0.8 --accuracy 0.85
        medical-tasks plan medcalc --margin 0.05 --agreement 0.8

    The half-width is the mean one of the 95 % interval that `run` prints. With the
    resulting number of items, and any larger one, the test of `compare` detects the
    difference, and the rule of a gate gives GO, in at least 4 of 5 runs.

    --accuracy is the share of right answers; for --at-least and --at-most, the true value
    that should get GO. --agreement is the share of items on which both models are right
    or both wrong; for --margin, of two equally good models. Assumptions are for
    independent items; past runs show how similar the items of a note are. With several
    runs, those that need the most items count. "The score on these items" is what `run
    --subset N` estimates; everything else is about questions like these, of which the
    whole set is itself a sample.
    """

    task: Annotated[str, Option("the task", metavar="TASK", positional=True)]
    half_width: Annotated[
        float | None,
        Option(
            "half-width of the 95 % interval, such as 0.03 for ±3 points", metavar="W"
        ),
    ] = None
    difference: Annotated[
        float | None,
        Option(
            "difference of two models to detect, such as 0.05 for five points",
            metavar="D",
        ),
    ] = None
    at_least: Annotated[
        float | None,
        Option("limit of a gate that the value must reach", metavar="L"),
    ] = None
    at_most: Annotated[
        float | None,
        Option("limit of a gate that the value must not exceed", metavar="L"),
    ] = None
    margin: Annotated[
        float | None,
        Option(
            "how much worse than another model a gate allows a model to be", metavar="M"
        ),
    ] = None
    metric: Annotated[
        str | None, Option("the metric (default: the task's first)", metavar="NAME")
    ] = None
    run: Annotated[
        tuple[Path, ...],
        Option("past runs of all items to plan from", metavar="RUN", several=True),
    ] = ()
    accuracy: Annotated[
        float | None,
        Option(
            "without past runs: the share of right answers; for a limit, the true value that "
            "should get GO",
            metavar="A",
        ),
    ] = None
    agreement: Annotated[
        float | None,
        Option(
            "without past runs: the share of items on which both models are right or both wrong",
            metavar="G",
        ),
    ] = None
    data: BuiltData = None
    config: Config = None
    split: Annotated[
        str | None,
        Option("split, or a+b for two, instead of the task's own", metavar="NAME"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Gate(Options):
    """Check runs against a policy, for a release: GO, NO-GO or INCONCLUSIVE, with reasons.

        medical-tasks gate policy.toml runs/new

    A policy is a TOML file:

        [tasks.medcalc]           # the results that count: config, split, prompts, least_items, accept;
        config = "v1.0"           # what is omitted is fixed by the task, and printed

        [[rule]]
        task = "medcalc"
        metric = "accuracy"
        at_least = 0.5            # or at_most, width_at_most (of the 95 % interval); by = "category" checks each group

        [[rule]]
        task = "medcalc"
        metric = "accuracy"
        against = "runs/old"      # a folder, relative to the policy
        margin = 0.03             # at most this much worse than the other run, paired by item

        [[rule]]
        task = "kqa"
        coverage_at_least = 0.98  # the share of scored items

        [[rule]]
        task = "kqa"
        check = "checks/kqa/check.json"
        judge_kappa_at_least = 0.6

    Exit code 0 for GO, 6 for NO-GO, 7 for INCONCLUSIVE. See docs/compare.md.
    """

    policy: Annotated[
        Path, Option("the rules, a TOML file", metavar="POLICY", positional=True)
    ]
    runs: Annotated[
        tuple[Path, ...],
        Option("folders of finished runs", metavar="RUN", positional=True),
    ]
