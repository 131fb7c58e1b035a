"""Options of several commands: types of single fields, and base classes with their own headings."""

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
        "the completed sheet of `adjudicate`, with the readings of unclear answers",
        metavar="FILE",
    ),
]
BootstrapSeed = Annotated[
    int, Option("seed of the intervals' random draws (default: 0)", metavar="N")
]
FiguresFile = Annotated[
    Path | None,
    Option("also write the JSON output to this file", metavar="FILE.json"),
]
RunFolder = Annotated[
    Path, Option("folder of a finished run", metavar="RUN", positional=True)
]


@dataclass(frozen=True, kw_only=True)
class WithTables(Options, heading="tables"):
    """How tables such as XLSX and CSV files are read."""

    sheet: Annotated[
        tuple[str, ...],
        Option(
            "the sheet of an XLSX file to read, hidden or not (default: the visible sheet with "
            "the required columns); may be repeated for several files",
            metavar="NAME",
        ),
    ] = ()
    decimal: Annotated[
        Literal["comma", "point"] | None,
        Option(
            "comma: read 25,238 as 25.238; point: read cells unchanged (default: detected from "
            "the file; required if it is ambiguous)"
        ),
    ] = None
    dates: Annotated[
        Literal["day-first", "month-first"] | None,
        Option(
            "day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged (default: "
            "as for --decimal)"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithAttestation(Options, heading="credentialed data"):
    """The two options that together allow text of credentialed data to leave this machine."""

    allow_remote: Annotated[
        tuple[str, ...],
        Option(
            "allow this host to receive the text; requires --attest-zero-retention and is logged",
            metavar="HOST",
        ),
    ] = ()
    attest_zero_retention: Annotated[
        bool,
        Option("you attest that no --allow-remote host retains the text it receives"),
    ] = False


JUDGE: Final = "judge"
_FOR_JUDGES: Final = "for tasks whose answers are scored by a judge"


@dataclass(frozen=True, kw_only=True)
class WithJudging(Options, heading=JUDGE, about=_FOR_JUDGES):
    """How a judge of any kind is queried."""

    votes: Annotated[
        int | None,
        Option(
            "votes per verdict; the most frequent one counts (default: the task's own number, or "
            "1 for a deterministic judge)",
            metavar="K",
        ),
    ] = None
    judging: Annotated[
        Literal["single", "batched"] | None,
        Option(
            "one call per statement, or one for all statements of an answer (default: the task's "
            "own mode)"
        ),
    ] = None
    judge_reply_tokens: Annotated[
        int | None,
        Option(
            "longest reply of the judge, instead of the task's own limit; a judge that reasons "
            "needs more, e.g. 4096",
            metavar="N",
        ),
    ] = None
    max_judge_calls: Annotated[
        int | None, Option("stop judging after N requests", metavar="N")
    ] = None
    max_judge_tokens: Annotated[
        int | None, Option("stop judging after N tokens", metavar="N")
    ] = None
    judge_batch: Annotated[
        bool,
        Option(
            "send the judge's requests as batches, which providers answer later at a lower price "
            "(openai-api/ or inspect/)"
        ),
    ] = False
    forecast: Annotated[
        bool,
        Option("only estimate the cost of the requests; sends none"),
    ] = False


_JUDGE_HELP: Final = (
    "openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH, inspect/PROVIDER/NAME, "
    "recorded/FILE, or lexical (default: compares words and needs no model; scores are not "
    "comparable)"
)
_JUDGE_ARGS_HELP: Final = "settings of the judge's backend"


@dataclass(frozen=True, kw_only=True)
class WithJudge(WithJudging, heading=JUDGE, about=_FOR_JUDGES):
    """The judge, and how it is queried."""

    judge: Annotated[str | None, Option(_JUDGE_HELP, metavar="J")] = None
    judge_args: Annotated[Mapping[str, str], Option(_JUDGE_ARGS_HELP)] = field(
        default_factory=dict
    )


@dataclass(frozen=True, kw_only=True)
class WithJudges(WithJudging, heading=JUDGE, about=_FOR_JUDGES):
    """Several judges, queried in turn; their settings are common, or one for each."""

    judge: Annotated[tuple[str, ...], Option(_JUDGE_HELP, metavar="J")] = ()
    judge_args: Annotated[tuple[Mapping[str, str], ...], Option(_JUDGE_ARGS_HELP)] = ()


@dataclass(frozen=True, kw_only=True)
class WithModel(Options, heading="model"):
    """How a model that drafts, expands or extracts is queried."""

    model_args: Annotated[
        Mapping[str, str],
        Option(
            "settings of the model's backend (for generate, the default temperature is 1)"
        ),
    ] = field(default_factory=dict)
    tries: Annotated[
        int | None,
        Option("the most replies for a step or a message (default: 3)", metavar="N"),
    ] = None
    max_new_tokens: Annotated[
        int | None,
        Option("longest reply in tokens (default: 1500, 1000 and 2000)", metavar="N"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithCalibration(Options, heading="calibration"):
    """The known errors of the judge."""

    calibration: Annotated[
        Path | None,
        Option(
            "a result of judge-check (folder or check.json); adds scores corrected for the "
            "judge's errors",
            metavar="CHECK",
        ),
    ] = None
    calibration_from: Annotated[
        Literal["other", "run"],
        Option(
            "whether its labels belong to other answers (default), or to a random sample of this "
            "run's own answers"
        ),
    ] = "other"


@dataclass(frozen=True, kw_only=True)
class WithEvaluations(Options, heading=JUDGE, about=_FOR_JUDGES):
    """The number of times the same answers are judged."""

    evaluations: Annotated[
        int,
        Option(
            "judge the same answers N times with a judge that samples, and report the mean over "
            "the evaluations, their spread, ICC, Krippendorff's alpha and unanimity",
            metavar="N",
        ),
    ] = 1


@dataclass(frozen=True, kw_only=True)
class WithSubset(Options):
    """A random sample instead of all items."""

    subset: Annotated[
        int | None,
        Option(
            "use a stratified random sample of N items per task; values and intervals are "
            "estimates for the whole set",
            metavar="N",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option("seed of the random sample of --subset (default: 0)", metavar="S"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithRunData(Options):
    """Where the data of finished runs are."""

    data: BuiltDatasets = None
    source: Annotated[
        Path | None,
        Option(
            "the file of your own dataset, instead of --data",
            metavar="FILE",
        ),
    ] = None
    upstream: Annotated[
        Path | None,
        Option(
            "checkout of the authors' repository, for runs with --prompts official",
            metavar="DIR",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithCeilings(
    Options,
    heading="ceilings",
    about="limits of answering; all answers are kept, and the same command continues the run",
):
    """Limits for the answers of the model under test and of the models of other roles."""

    max_cost: Annotated[
        float | None,
        Option(
            "send no request that may raise the cost of the run's answers, earlier ones "
            "included, above this sum; needs the prices price_in and price_out",
            metavar="USD",
        ),
    ] = None
    max_tokens_total: Annotated[
        int | None,
        Option(
            "send no request that may raise the run's answers, earlier ones included, above N "
            "input and output tokens",
            metavar="N",
        ),
    ] = None
    max_minutes: Annotated[
        float | None,
        Option(
            "send no request later than M minutes after the start",
            metavar="M",
        ),
    ] = None
