"""What the verbs take that look at finished runs: `report`, `compare`, `plan` and `gate`."""

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

    RUN is the folder that `run` or `score` wrote. The page has the headline of all runs
    with intervals and coverage, breakdowns, plots, published results beside them with
    what is different there, the recipe, and every item: for open data with question,
    answer, gold, decision and why, for credentialed data ids, scores and hashes alone.
    It asks no server for anything.

    Without --out, report.html and report.md go into the run's folder; those of several
    runs into the folder you are in. Only a report is ever overwritten.
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
        Option("what is written (default: both, or what --out names)"),
    ] = None
    title: Annotated[str, Option("heading of the report", metavar="TEXT")] = ""
    responses: Annotated[
        tuple[Path, ...],
        Option(
            "a file that `score` scored, or the folder of a run whose answers it scored; can be"
            " repeated",
            metavar="FILE",
        ),
    ] = ()
    no_items: Annotated[bool, Option("leave the items out")] = False
    max_text_bytes: Annotated[
        int | None,
        Option(
            "what the texts of all items may take (default: 4,000,000); longer ones are cut in "
            "their middle, which is said",
            metavar="N",
        ),
    ] = None
    open: Annotated[bool, Option("show the page in the browser")] = False


SHOWN_FLIPS: Final = 20
"""How many items that changed `compare --flips` lists each way."""


def _margin(text: str) -> float:
    try:
        margin = float(text)
    except ValueError:
        margin = math.nan
    if not 0.0 < margin < math.inf:
        raise ValueError(
            f"takes a difference above 0, such as 0.03 for three points, got {text!r}"
        )
    return margin


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise ValueError(
            f"takes a number of items, 1 or more, got {text!r}; write it behind the runs, or as "
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

    Refuses tasks of different data, versions, metrics or scoring; says other
    differences of their recipes, and why they matter. Exit code 2 when nothing can be
    compared; 0 when something can, with the reasons for the rest.
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
        bool, Option("every two runs, not only each against the first")
    ] = False
    task: Annotated[
        tuple[str, ...], Option("only this task; may be repeated", metavar="NAME")
    ] = ()
    metric: Annotated[
        tuple[str, ...], Option("only this metric; may be repeated", metavar="NAME")
    ] = ()
    by: Annotated[
        str,
        Option(
            "group by group too: a breakdown's name, all, or none (default)",
            metavar="BREAKDOWN",
        ),
    ] = "none"
    flips: Annotated[
        int | None,
        Option(
            "list the items that changed, at most N each way (default 20); of --metric, or of "
            "each task's first one",
            metavar="N",
            bare=SHOWN_FLIPS,
            read=_count,
        ),
    ] = None
    equivalence: Annotated[
        float | None,
        Option(
            "say whether the runs are equivalent: their difference is smaller than M (0.03: "
            "three points), by two one-sided tests",
            metavar="M",
            read=_margin,
        ),
    ] = None
    memory_gap: Annotated[
        bool,
        Option(
            "a model's run on published rows, then on fresh ones: how much it remembers"
        ),
    ] = False
    out: Annotated[
        Path | None, Option("write it as Markdown too", metavar="FILE.md")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Plan(Options):
    """How many items a wanted interval, difference or gate needs, from past runs or assumptions.

        medical-tasks plan medcalc --half-width 0.03 --accuracy 0.4
        medical-tasks plan medcalc --difference 0.05 --agreement 0.7
        medical-tasks plan medcalc --difference 0.05 --run runs/model-a runs/model-b
        medical-tasks plan medcalc --at-least 0.8 --accuracy 0.85
        medical-tasks plan medcalc --margin 0.05 --agreement 0.8

    Half-widths are of the 95 % interval that `run` prints, on average. A difference is
    found by the test of `compare`, and a gate says GO by its own rule, in 4 of 5 runs
    or more, for that number of items and every larger one. --accuracy is the share that
    is right, of --at-least and --at-most the true one that is to get GO; --agreement is
    the share of items on which both models are right or both wrong, for --margin of two
    that are equally good. What is assumed holds for independent items; past runs show
    how alike those of a note are. Of several, what needs most items counts. The score
    on these items alone is what `run --subset N` estimates; everything else is about
    questions like these, of which the whole set is a sample itself.
    """

    task: Annotated[str, Option("the task", metavar="TASK", positional=True)]
    half_width: Annotated[
        float | None,
        Option(
            "half the width of a 95 % interval, such as 0.03 for ±3 points", metavar="W"
        ),
    ] = None
    difference: Annotated[
        float | None,
        Option(
            "a difference of two models to find, such as 0.05 for five points",
            metavar="D",
        ),
    ] = None
    at_least: Annotated[
        float | None, Option("a gate's limit that the value must reach", metavar="L")
    ] = None
    at_most: Annotated[
        float | None,
        Option("a gate's limit that the value must not exceed", metavar="L"),
    ] = None
    margin: Annotated[
        float | None,
        Option("by how much a gate lets a model be worse than another", metavar="M"),
    ] = None
    metric: Annotated[
        str | None, Option("the metric (default: the task's first)", metavar="NAME")
    ] = None
    run: Annotated[
        tuple[Path, ...],
        Option("past runs of all items to learn from", metavar="RUN", several=True),
    ] = ()
    accuracy: Annotated[
        float | None,
        Option(
            "without past runs: the share that is right; for a limit, the true value that is to"
            " get GO",
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
        str | None, Option("split, or a+b, instead of the task's own", metavar="NAME")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Gate(Options):
    """Check runs against a policy: GO, NO-GO or INCONCLUSIVE, with reasons, for a release's checks.

        medical-tasks gate policy.toml runs/new

    A policy is a TOML file:

        [tasks.medcalc]           # which results count: config, split, prompts, least_items, accept;
        config = "v1.0"           # what is left out is fixed by the task, and printed

        [[rule]]
        task = "medcalc"
        metric = "accuracy"
        at_least = 0.5            # or at_most, width_at_most (of the 95 % interval); by = "category" applies it to each group

        [[rule]]
        task = "medcalc"
        metric = "accuracy"
        against = "runs/old"      # a folder, relative to the policy
        margin = 0.03             # no more than this worse than the other run, item by item

        [[rule]]
        task = "kqa"
        coverage_at_least = 0.98  # the share of items that are scored

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
