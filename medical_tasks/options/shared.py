"""Options that several verbs have: types of one field, and base classes under a heading of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options.base import Option, Options

BuiltData = Annotated[
    Path | None,
    Option(
        "folder of the built dataset (default: the user's data home)", metavar="DIR"
    ),
]
BuiltDatasets = Annotated[
    Path | None,
    Option(
        "folder of the built datasets (default: the user's data home)", metavar="DIR"
    ),
]
Upstream = Annotated[
    Path | None,
    Option(
        "checkout of the authors' repository, for --prompts official", metavar="DIR"
    ),
]
Config = Annotated[str | None, Option("dataset configuration", metavar="NAME")]
Adjudicated = Annotated[
    Path | None,
    Option(
        "the sheet of `adjudicate`, filled in: what its unclear answers are",
        metavar="FILE",
    ),
]
BootstrapSeed = Annotated[
    int, Option("of the intervals' random draws (default 0)", metavar="N")
]
FiguresFile = Annotated[
    Path | None, Option("write what --json prints there too", metavar="FILE.json")
]
RunFolder = Annotated[
    Path, Option("folder of a finished run", metavar="RUN", positional=True)
]


@dataclass(frozen=True, kw_only=True)
class WithTables(Options, heading="tables"):
    """How tables are read: XLSX, CSV and the like, by verbs that may read one."""

    sheet: Annotated[
        tuple[str, ...],
        Option(
            "the sheet of an XLSX file to read, hidden or not (default: the one shown that has "
            "the needed columns); can be repeated, for several files",
            metavar="NAME",
        ),
    ] = ()
    decimal: Annotated[
        Literal["comma", "point"] | None,
        Option(
            "comma: 25,238 is 25.238; point: cells are read as they are (default: as the file "
            "shows; if it does not, you are asked)"
        ),
    ] = None
    dates: Annotated[
        Literal["day-first", "month-first"] | None,
        Option(
            "day-first: 03/04/2020 is 3 April; month-first: cells are read as they are (default "
            "as for --decimal)"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithAttestation(Options, heading="credentialed data"):
    """The two options that together let text of credentialed data leave this machine."""

    allow_remote: Annotated[
        tuple[str, ...],
        Option(
            "this host may get the text; only with --attest-zero-retention; logged",
            metavar="HOST",
        ),
    ] = ()
    attest_zero_retention: Annotated[
        bool, Option("you attest that no --allow-remote host keeps what it is sent")
    ] = False


JUDGE: Final = "judge"
_FOR_JUDGES: Final = "for tasks whose answers a judge scores"


@dataclass(frozen=True, kw_only=True)
class WithJudging(Options, heading=JUDGE, about=_FOR_JUDGES):
    """How a judge is asked, whoever it is."""

    votes: Annotated[
        int | None,
        Option(
            "votes a verdict; the mode decides (default: the task's own number, 1 where a judge "
            "always says the same)",
            metavar="K",
        ),
    ] = None
    judging: Annotated[
        Literal["single", "batched"] | None,
        Option(
            "one call a statement, or all statements of an answer in one (default: the task's "
            "own way)"
        ),
    ] = None
    judge_reply_tokens: Annotated[
        int | None,
        Option(
            "longest reply of the judge, instead of the task's own; give a judge that reasons "
            "room, e.g. 4096",
            metavar="N",
        ),
    ] = None
    max_judge_calls: Annotated[
        int | None, Option("stop asking the judge after N requests", metavar="N")
    ] = None
    max_judge_tokens: Annotated[
        int | None, Option("stop asking the judge after N tokens", metavar="N")
    ] = None
    judge_batch: Annotated[
        bool,
        Option(
            "ask the judge in batches, which a provider answers later for less (openai-api/ or "
            "inspect/)"
        ),
    ] = False
    forecast: Annotated[
        bool,
        Option(
            "only estimate the cost of judging, and of answering for `run`; asks nobody"
        ),
    ] = False


_JUDGE_HELP: Final = (
    "openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH, inspect/PROVIDER/NAME, "
    "recorded/FILE, or lexical (default: needs nothing, compares words, not comparable)"
)
_JUDGE_ARGS_HELP: Final = "settings of the judge's backend"


@dataclass(frozen=True, kw_only=True)
class WithJudge(WithJudging, heading=JUDGE, about=_FOR_JUDGES):
    """Which judge is asked, and how."""

    judge: Annotated[str | None, Option(_JUDGE_HELP, metavar="J")] = None
    judge_args: Annotated[Mapping[str, str], Option(_JUDGE_ARGS_HELP)] = field(
        default_factory=dict
    )


@dataclass(frozen=True, kw_only=True)
class WithJudges(WithJudging, heading=JUDGE, about=_FOR_JUDGES):
    """Which judges are asked one after the other; the settings are one for all, or one for each."""

    judge: Annotated[tuple[str, ...], Option(_JUDGE_HELP, metavar="J")] = ()
    judge_args: Annotated[tuple[Mapping[str, str], ...], Option(_JUDGE_ARGS_HELP)] = ()


@dataclass(frozen=True, kw_only=True)
class WithModel(Options, heading="model"):
    """How a model is asked that drafts, expands or extracts."""

    model_args: Annotated[
        Mapping[str, str],
        Option("settings of its backend (for generate, temperature is 1 if not said)"),
    ] = field(default_factory=dict)
    tries: Annotated[
        int | None,
        Option("most replies of a step, or for a message (default 3)", metavar="N"),
    ] = None
    max_new_tokens: Annotated[
        int | None, Option("longest reply (default 1500, 1000 and 2000)", metavar="N")
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithCalibration(Options, heading="calibration"):
    """What is known of the judge's errors."""

    calibration: Annotated[
        Path | None,
        Option(
            "a result of judge-check (folder or check.json): adds scores corrected for the "
            "judge's errors",
            metavar="CHECK",
        ),
    ] = None
    calibration_from: Annotated[
        Literal["other", "run"],
        Option(
            "its labels belong to other answers (default), or to a random sample of this run's own"
        ),
    ] = "other"


@dataclass(frozen=True, kw_only=True)
class WithEvaluations(Options, heading=JUDGE, about=_FOR_JUDGES):
    """How often the same answers are judged."""

    evaluations: Annotated[
        int,
        Option(
            "judge the same answers N times by a judge that samples: means over the evaluations, "
            "their spread, ICC, Krippendorff's alpha and how often all say the same",
            metavar="N",
        ),
    ] = 1


@dataclass(frozen=True, kw_only=True)
class WithSubset(Options):
    """A random sample in place of all items."""

    subset: Annotated[
        int | None,
        Option(
            "a random sample of N items a task, stratified; values and intervals are estimates "
            "for the whole set",
            metavar="N",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option("which random sample --subset draws (default 0)", metavar="S"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithRunData(Options):
    """Where the data of finished runs are."""

    data: BuiltDatasets = None
    source: Annotated[
        Path | None,
        Option(
            "the one file a dataset of your own is made of, in place of --data",
            metavar="FILE",
        ),
    ] = None
    upstream: Annotated[
        Path | None,
        Option(
            "the authors' checkout, for runs with --prompts official", metavar="DIR"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithCeilings(
    Options,
    heading="ceilings",
    about="what answering may take; all answers are kept, and the same command goes on",
):
    """What the answers of the model under test, and of the models of roles, may take."""

    max_cost: Annotated[
        float | None,
        Option(
            "ask nothing that may take the run's answers over USD, those of earlier commands "
            "included; needs the prices price_in and price_out",
            metavar="USD",
        ),
    ] = None
    max_tokens_total: Annotated[
        int | None,
        Option(
            "ask nothing that may take the run's answers over N tokens, read and written, those "
            "of earlier commands included",
            metavar="N",
        ),
    ] = None
    max_minutes: Annotated[
        float | None,
        Option("ask nothing more M minutes after this command began", metavar="M"),
    ] = None
