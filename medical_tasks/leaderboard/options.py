"""The options of the verbs for submissions and leaderboards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from medical_tasks.options import (
    Adjudicated,
    BuiltData,
    BuiltDatasets,
    Option,
    Options,
    RunFolder,
    WithAttestation,
    WithRunData,
    WithTables,
)

_ScoredFile = Annotated[
    Path | None, Option("for a run of `score`: the file that it scored", metavar="FILE")
]
_Checkout = Annotated[
    Path | None,
    Option("the authors' checkout, if the run used --prompts official", metavar="DIR"),
]
_OwnSource = Annotated[
    Path | None,
    Option(
        "file from which your own dataset is built, instead of --data", metavar="FILE"
    ),
]


@dataclass(frozen=True, kw_only=True)
class Submit(Options, usage="medical-tasks submit RUN --to TARGET [options]"):
    """Write a finished run for a leaderboard, the Hub or a shared task. Nothing is sent anywhere.

        medical-tasks submit runs/my-run --to space --out my-model.zip
        medical-tasks submit runs/my-run --to eval-results --out .eval_results
        medical-tasks submit runs/my-run --to archehr --out submission.json

    space: a package for the leaderboard Space, which `medical-tasks verify` checks.
    eval-results: the YAML files that the Hub shows on a model's page. archehr: the
    shared tasks of ArchEHR-QA. Each has options of its own: medical-tasks submit --to
    TARGET --help.
    """

    to: Annotated[str, Option("the recipient")]


@dataclass(frozen=True, kw_only=True)
class SubmitSpace(Submit):
    """A package for the leaderboard Space, which `medical-tasks verify` checks."""

    run: RunFolder
    model_name: Annotated[
        str | None,
        Option("name of the model, as the leaderboard shows it", metavar="N"),
    ] = None
    organisation: Annotated[str, Option("who submits it", metavar="O")] = ""
    url: Annotated[str, Option("https:// page of the model", metavar="U")] = ""
    notes: Annotated[
        str, Option("one line about it, at most 280 characters", metavar="T")
    ] = ""
    open_weights: Annotated[
        Literal["yes", "no"] | None, Option("whether anybody can have the weights")
    ] = None
    parameters: Annotated[
        float | None, Option("number of parameters in billions, such as 7", metavar="B")
    ] = None
    out: Annotated[
        Path | None, Option("the package (default: submission.zip)", metavar="FILE.zip")
    ] = None
    licence: Annotated[str, Option("of the weights, as apache-2.0", metavar="L")] = ""
    task: Annotated[
        tuple[str, ...], Option("only this task; may be repeated", metavar="NAME")
    ] = ()
    responses: _ScoredFile = None
    data: BuiltData = None
    source: _OwnSource = None
    upstream: _Checkout = None
    allow_partial: Annotated[
        bool, Option("also of demo records, another split, or a part of the items")
    ] = False
    no_answers: Annotated[
        bool,
        Option(
            "include only the hashes of imported answers, and where these are published"
        ),
    ] = False
    no_judge: Annotated[
        bool,
        Option("without the figures that rest on a judge, and without its verdicts"),
    ] = False


@dataclass(frozen=True, kw_only=True)
class SubmitSharedTask(Submit):
    """A submission to a benchmark's shared task."""

    run: Annotated[
        Path | None, Option("folder of a finished run", metavar="RUN", positional=True)
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "the submission (default: submission.json, or submission.zip for 2026)",
            metavar="FILE",
        ),
    ] = None
    allow_problems: Annotated[bool, Option("write it with the problems it has")] = False
    task: Annotated[
        str | None,
        Option("the task, where the run or the file leaves it open", metavar="NAME"),
    ] = None
    responses: _ScoredFile = None
    upstream: _Checkout = None
    check: Annotated[
        Path | None,
        Option("check this submission instead, write nothing", metavar="FILE"),
    ] = None
    data: BuiltData = None
    source: Annotated[
        Path | None,
        Option("folder of the dataset's release, instead of --data", metavar="DIR"),
    ] = None
    config: Annotated[
        str | None, Option("with --check: dataset configuration", metavar="NAME")
    ] = None
    split: Annotated[
        str | None,
        Option("with --check: split, instead of the task's own", metavar="NAME"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SubmitEvalResults(Submit):
    """The YAML files that the Hub shows on a model's page."""

    run: RunFolder
    dataset_repo: Annotated[
        tuple[str, ...],
        Option(
            "the dataset repository whose eval.yaml has the tasks; once for each dataset",
            metavar="[DATASET=]OWNER/NAME",
        ),
    ] = ()
    tasks: Annotated[
        str | None,
        Option("those of the run's tasks to write (default: all)", metavar="NAMES"),
    ] = None
    out: Annotated[
        Path | None,
        Option("where the files go (default: .eval_results)", metavar="DIR"),
    ] = None
    dataset_revision: Annotated[
        tuple[str, ...],
        Option(
            "commit of that repository with the rows the run was on",
            metavar="[DATASET=]COMMIT",
        ),
    ] = ()
    date: Annotated[
        str | None,
        Option("when it was run (default: left to the commit)", metavar="ISO"),
    ] = None
    source_url: Annotated[
        str | None,
        Option("a page that says more, such as the run's report", metavar="URL"),
    ] = None
    source_name: Annotated[
        str | None, Option("how the page is called", metavar="TEXT")
    ] = None
    source_user: Annotated[
        str | None, Option("user of the Hub whose page it is", metavar="NAME")
    ] = None
    source_org: Annotated[
        str | None, Option("organisation of the Hub whose page it is", metavar="NAME")
    ] = None
    notes: Annotated[
        str | None,
        Option("one line of your own, before what is always noted", metavar="TEXT"),
    ] = None
    variant: Annotated[
        str | None,
        Option(
            "tells it from another result of the same benchmark, in file name and notes",
            metavar="NAME",
        ),
    ] = None
    allow_partial: Annotated[
        bool, Option("also where items have no score; the notes say so")
    ] = False
    force: Annotated[bool, Option("overwrite files with other content")] = False


@dataclass(frozen=True, kw_only=True)
class Export(WithRunData, WithTables):
    """Write a finished run in the form of another tool or standard. Nothing is sent anywhere.

        medical-tasks export runs/my-run --to every-eval-ever --out eee
        medical-tasks export runs/my-run --to csv --out tables

    every-eval-ever: records of its datastore. chai-card: a CHAI Applied Model Card
    (XML). tripod-llm: the 19 items of the reporting guideline, answered as far as a run
    can. inspect-log, lm-eval-json: what inspect and lm-evaluation-harness write. csv:
    two tables.

    Of open data the texts go along; of credentialed data ids, scores and hashes alone.
    What a form asks for and the run does not know is left open, and named in the
    output, for you to fill in. See docs/eval_results.md.
    """

    run: RunFolder
    to: Annotated[
        str,
        Option(
            "the form to write: every-eval-ever, chai-card, tripod-llm, inspect-log, "
            "lm-eval-json, csv, or one that a package registers",
            metavar="FORM",
        ),
    ]
    out: Annotated[Path, Option("folder for the files", metavar="DIR")]
    model_name: Annotated[
        str,
        Option(
            "the model's name, where the run has a path or an address",
            metavar="OWNER/NAME",
        ),
    ] = ""
    responses: Annotated[
        tuple[Path, ...],
        Option(
            "a file that `score` scored, or the folder of a run whose answers it scored; can be"
            " repeated",
            metavar="FILE",
        ),
    ] = ()
    force: Annotated[bool, Option("overwrite files with other content")] = False


@dataclass(frozen=True, kw_only=True)
class WithVerification(
    WithAttestation, heading="verification", about="what the answers are scored against"
):
    """What a package's answers are scored against, and who judges them again."""

    data: BuiltDatasets = None
    source: _OwnSource = None
    responses: Annotated[
        Path | None,
        Option(
            "the answers to credentialed data: a file, or the folder of the run",
            metavar="FILE",
        ),
    ] = None
    adjudicated: Adjudicated = None
    upstream: Annotated[
        Path | None,
        Option(
            "the authors' checkout, for results with official prompts", metavar="DIR"
        ),
    ] = None
    task_args: Annotated[
        Mapping[str, str],
        Option("folders and files that the run used, e.g. documents=FOLDER"),
    ] = field(default_factory=dict)
    judge: Annotated[
        str | None,
        Option("ask the package's own judge again, about a sample", metavar="J"),
    ] = None
    judge_args: Annotated[
        Mapping[str, str], Option("settings of the judge's backend")
    ] = field(default_factory=dict)
    sample: Annotated[
        int, Option("items to ask it about (default: 20)", metavar="N")
    ] = 20
    seed: Annotated[int, Option("which ones (default: 0)", metavar="S")] = 0


@dataclass(frozen=True, kw_only=True)
class Verify(WithVerification, WithTables):
    """Check a submission package: its answers are scored again, and all in it is compared.

        medical-tasks verify my-model.zip
        medical-tasks verify my-model.zip --data DIR --json
        medical-tasks verify my-model.zip --responses runs/my-run
        medical-tasks verify my-model.zip --judge openai-api/my-host/judge-model --sample 50

    Checked are the content's hash, the data's revision, every item with its groups, the
    recipe against this version, the answers' hashes, their scores item by item, the
    verdicts, and every number of the results. Each is reported as `match`, `mismatch` or
    `not checked`, with what was compared or is missing. Data are those built here, or
    --source. A package on credentialed data holds no answers: --responses gives them.
    The judge that compares words is asked again; what another judge said is
    compared with its texts, and --judge asks it about a sample.

    Exit codes: 0 nothing differs, and the scores of every task were computed again; 5
    nothing differs, but of some task they could not be, so that nothing is proven; 6
    something differs; 2 it is no package; 3 the judge that was named is not there.
    """

    package: Annotated[
        Path,
        Option(
            "what `submit RUN --to space` wrote", metavar="PACKAGE", positional=True
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class Leaderboard(WithVerification, WithTables):
    """Keep a leaderboard: what was submitted, accept or reject, check the store, show the pages.

        medical-tasks leaderboard list --store my-store --state pending
        medical-tasks leaderboard show ID --store my-store
        medical-tasks leaderboard submit package.zip --store my-store
        medical-tasks leaderboard accept ID --store my-store --by NAME --data datasets
        medical-tasks leaderboard reject ID --store my-store --by NAME --reason TEXT
        medical-tasks leaderboard history --store my-store
        medical-tasks leaderboard entries --store my-store --task medcalc
        medical-tasks leaderboard check --store my-store
        medical-tasks leaderboard site --store my-store --out site
        medical-tasks leaderboard serve --store my-store --port 7860

    --store is a folder, or hub:OWNER/NAME for a dataset repository of the Hub (with
    HF_TOKEN). accept admits a pending submission, or a rejected one; reject
    refuses a pending one, or withdraws an accepted one. accept scores the answers again first,
    and what does not match is not accepted; --unverified accepts without that, and the
    entry says so. Whoever was accepted first under a name keeps it: --replace ID says
    that a submission has the same model and replaces that one. check exits with
    5 when the store is not whole. site writes the pages as files for any web server;
    serve makes and serves them, and accepts packages.
    """

    action: Annotated[
        Literal[
            "list",
            "show",
            "submit",
            "accept",
            "reject",
            "history",
            "entries",
            "check",
            "site",
            "serve",
        ],
        Option(
            "list, show, submit, accept, reject, history, entries, check, site, serve",
            metavar="VERB",
            positional=True,
        ),
    ]
    what: Annotated[
        str | None,
        Option(
            "a submission's id; submit: the package", metavar="ID|FILE", positional=True
        ),
    ] = None
    store: Annotated[str, Option("a folder, or hub:OWNER/NAME", metavar="PLACE")]
    state: Annotated[
        Literal["pending", "accepted", "rejected"] | None, Option("list: only these")
    ] = None
    task: Annotated[str | None, Option("entries: of one task", metavar="NAME")] = None
    by: Annotated[
        str | None,
        Option("accept, reject: who decides; kept in the history", metavar="NAME"),
    ] = None
    reason: Annotated[
        str | None,
        Option("accept, reject: why, one line; kept in the history", metavar="TEXT"),
    ] = None
    replace: Annotated[
        str | None,
        Option(
            "accept: the submission has the same model as this accepted one, and replaces it",
            metavar="ID",
        ),
    ] = None
    out: Annotated[Path | None, Option("site: folder of the pages", metavar="DIR")] = (
        None
    )
    uploads: Annotated[
        bool, Option("site: the server of the pages accepts packages")
    ] = False
    host: Annotated[
        str | None,
        Option("serve: where it listens (default 127.0.0.1)", metavar="ADDRESS"),
    ] = None
    port: Annotated[
        int | None,
        Option("serve: at which port (default 7860; 0 picks a free one)", metavar="N"),
    ] = None
    unverified: Annotated[bool, Option("accept without scoring the answers again")] = (
        False
    )
