"""What each verb takes: a frozen dataclass a verb, with every option's type, default and one line of help.

The command line's parser and the functions of `medical_tasks` in Python are both made
from them, and what does the work takes one:
`runs.evaluating.evaluate(Run(tasks="medcalc", model="baseline/empty"))`.

    @dataclass(frozen=True, kw_only=True)
    class Purge(Options):
        '''Empty the private store.'''      # what `medical-tasks purge --help` says

        dry_run: Annotated[bool, Option("only say what would be deleted")] = False

The type says how a word is read: `bool` is a flag, `Literal` has choices, `tuple[X,
...]` takes several, a `Mapping` is `K=V,...`. A field without a default must be given.
Options that verbs share are base classes (`WithJudge`, `WithTables`), each under a
heading of its own in `--help`.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import get_annotations
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from medical_tasks.errors import UsageError


@dataclass(frozen=True)
class Option:
    """How the command line has a field.

    Attributes:
        help: one line of `--help`.
        metavar: what stands for the value there.
        positional: it is a word of its own, not `--name VALUE`.
        name: the option's name, where it is not the field's.
        several: one `--name` takes several words; else it is repeated, `--name A --name
            B`.
        bare: the value of `--name` without a word behind it; None where it needs one.
        read: makes the value of a word, where the type alone does not; ValueError says
            what is wrong.
    """

    help: str
    metavar: str | None = None
    positional: bool = False
    name: str | None = None
    several: bool = False
    bare: object = None
    read: Callable[[str], object] | None = None


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a verb takes.

    Class arguments: heading: the heading under which `--help` lists the fields of this
        class. about: a line under that heading. usage: the first line of `--help`,
        where the one made from the fields is too long. first: the fields that `--help`
        shows where `--help-all` shows the others too; () is all.
    """

    heading: ClassVar[str] = ""
    about: ClassVar[str] = ""
    usage: ClassVar[str | None] = None
    first: ClassVar[Sequence[str]] = ()

    def __init_subclass__(
        cls,
        heading: str = "",
        about: str = "",
        usage: str | None = None,
        first: Sequence[str] = (),
    ) -> None:
        cls.heading, cls.about, cls.usage, cls.first = heading, about, usage, first


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The forms of a verb that takes other options with another step or target.

    Attributes:
        fields: whose words choose the form: the step of `umls`, the target of `submit
            --to`.
        common: the options that every form has, those fields among them; its docstring
            is the verb's.
        forms: the options by these words.
        apart: `--help` shows the options of the form that is named and no others,
            because they mean something else elsewhere; else it shows those of all
            forms.
    """

    fields: tuple[str, ...]
    common: type[Options]
    forms: Mapping[tuple[str, ...], type[Options]]
    apart: bool = False


def default_of(field: Field[object]) -> object:
    """Returns a field's default; `dataclasses.MISSING` where it must be given."""
    return (
        field.default_factory()
        if field.default_factory is not MISSING
        else field.default
    )


def given(options: Options) -> dict[str, object]:
    """Returns the values that are not the default ones, by field; what must be given is among them."""
    values = {name: getattr(options, name) for name in parameters(type(options))}
    return {
        name: value
        for name, value in values.items()
        if value != parameters(type(options))[name].default
    }


def option_name(field: str) -> str:
    """Returns the command line's name of a field: `--max-samples` for `max_samples`."""
    return f"--{field.replace('_', '-')}"


_BEHIND: Final = re.compile(r"\s*(?:,|$)")
"""What stands behind a value."""
_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"\s*(?:,|$)')


def read_settings(text: str, *, option: str = "--model-args") -> dict[str, str]:
    """Reads `k=v,k=v`; a value with commas stands in double quotes, but for JSON.

    Args:
        text: such as `batch_size=16,stop="a,b",extra_body={"a": 1, "b": 2}`. A double
            quote within double quotes is doubled.
        option: what the text was given to, for messages.
    """
    settings: dict[str, str] = {}
    position = 0
    while text[position:].strip():
        name, equals, _ = text[position:].partition("=")
        if not equals or not name.strip() or "," in name:
            part = text[position:].partition(",")[0]
            raise UsageError(
                f"{option} {text!r}: {part!r} is not of the form name=value."
            )
        value, position = _setting_at(text, position + len(name) + 1, option)
        name = name.strip()
        if name in settings:
            raise UsageError(f"{option} {text!r}: {name!r} is given twice.")
        settings[name] = value
    return settings


def _setting_at(text: str, start: int, option: str) -> tuple[str, int]:
    """Reads the value that begins at a position; returns it, and where the next setting begins."""
    while text[start : start + 1] == " ":
        start += 1
    quoted = _QUOTED.match(text, start)
    if quoted:
        return quoted[1].replace('""', '"').strip(), quoted.end()
    if text[start : start + 1] == '"':
        raise UsageError(
            f"{option} {text!r}: a value in double quotes ends with one, and a comma or nothing "
            'behind it. Give k=v,k=v; a double quote within is doubled: k="a ""b"", c".'
        )
    if text[start : start + 1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            _, end = json.JSONDecoder().raw_decode(text, start)
            behind = _BEHIND.match(text, end)
            if behind:
                return text[start:end], behind.end()
    value = text[start:].partition(",")[0]
    return value.strip(), start + len(value) + 1


def settings_text(settings: Mapping[str, str]) -> str:
    """Writes settings so that `read_settings` reads them back."""
    return ",".join(f"{name}={_written(value)}" for name, value in settings.items())


def _written(value: str) -> str:
    """A value as `read_settings` reads it: in double quotes where it needs them."""
    read, _ = _setting_at(value, 0, "") if not value.startswith('"') else ("", 0)
    if read == value:
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A field of a verb's options, read from its type.

    Attributes:
        type: of one value: bool, int, float, str, Path, Mapping or another verb's
            options.
        choices: the values there are; () where any will do.
        many: it is a tuple of such values.
        required: it has no default.
        heading: of the class that declares it; with the line under it.
    """

    name: str
    option: Option
    type: Any
    choices: tuple[str | int, ...]
    many: bool
    required: bool
    default: object
    heading: str
    about: str

    @property
    def words(self) -> str:
        """The name on the command line: `--max-samples`, or what stands for a word of its own."""
        if self.option.positional and self.choices and self.option.metavar is None:
            return f"{{{','.join(map(str, self.choices))}}}"
        if self.option.positional:
            return self.option.metavar or self.name
        return self.option.name or option_name(self.name)


_parameters: dict[type[Options], Mapping[str, Parameter]] = {}


def parameters(options: type[Options]) -> Mapping[str, Parameter]:
    """Returns the fields of a verb's options by name: its own, then those of each base class."""
    if options not in _parameters:
        _parameters[options] = _read_parameters(options)
    return _parameters[options]


def _read_parameters(options: type[Options]) -> Mapping[str, Parameter]:
    hints = get_type_hints(options, include_extras=True)
    declared = {field.name: field for field in fields(options)}
    owners = {
        name: owner
        for owner in reversed(options.__mro__)
        for name in get_annotations(owner)
        if name in declared
    }
    near = {name: options.__mro__.index(owner) for name, owner in owners.items()}
    found = {
        name: _parameter(declared[name], hints[name], owners[name])
        for name in sorted(declared, key=lambda name: near[name])
    }
    # Words of a base class stand before those of the class: `umls STEP TEXT`.
    words = [name for name in found if found[name].option.positional]
    words.sort(key=lambda name: -near[name])
    return {name: found[name] for name in dict.fromkeys([*words, *found])}


def _parameter(field: Field[Any], hint: Any, owner: Any) -> Parameter:
    kind, option = get_args(hint)
    default = default_of(field)
    if get_origin(kind) in (Union, UnionType):  # X | None
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    many = get_origin(kind) is tuple
    if many:
        kind = get_args(kind)[0]
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices:
        kind = type(choices[0])
    return Parameter(
        name=field.name,
        option=option,
        type=get_origin(kind) or kind,
        choices=choices,
        many=many,
        required=default is MISSING,
        default=default,
        heading=owner.heading,
        about=owner.about,
    )


def words_of(options: Options, *, without: Collection[str] = ()) -> list[str]:
    """Writes options as the words of a command; those with their default value are left out.

    Args:
        options: such as `Run(tasks="kqa", model="hf/path", forecast=True)`, whose words
            are `["--tasks", "kqa", "--model", "hf/path", "--forecast"]`.
        without: fields to leave out.
    """
    positional: list[str] = []
    named: list[str] = []
    for name, value in given(options).items():
        parameter = parameters(type(options))[name]
        values = value if isinstance(value, tuple) else (value,)
        texts = [_word(each) for each in values]
        if name in without:
            continue
        if parameter.option.positional:
            positional += texts
        elif parameter.type is bool:
            named.append(parameter.words)
        else:
            # `--name=text` where the text could be taken for an option itself.
            for text in texts:
                named += (
                    [f"{parameter.words}={text}"]
                    if text.startswith("-")
                    else [parameter.words, text]
                )
    return [*positional, *named]


def _word(value: object) -> str:
    return settings_text(value) if isinstance(value, Mapping) else str(value)


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
            "only say what judging would cost, and with `run` what answering would; asks nobody"
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
            "its labels are of other answers (default), or a random sample of this run's own"
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
class List(Options):
    """List every task: is its dataset built here, how to get it, access class, need of a judge."""


@dataclass(frozen=True, kw_only=True)
class Build(WithTables):
    """Build a dataset: parquet, card and Croissant file, for load_dataset and `medical-tasks run`.

    medical-tasks build kqa --fetch
    medical-tasks build medcalc_bench --config demo
    medical-tasks build medcalc_bench --config v1.0 --source DIR_OR_CSV
    medical-tasks build medcalc_bench --config fresh --seed 7 --n 1100
    """

    dataset: Annotated[
        str,
        Option(
            "name of the dataset, as `medical-tasks list` shows it",
            metavar="DATASET",
            positional=True,
        ),
    ]
    source: Annotated[
        Path | None,
        Option("the official file, or the folder that holds it", metavar="PATH"),
    ] = None
    fetch: Annotated[
        bool, Option("fetch the official files of an open dataset, from GitHub")
    ] = False
    config: Annotated[
        str | None,
        Option(
            "configuration to build (default: the dataset's default one)",
            metavar="NAME",
        ),
    ] = None
    seed: Annotated[
        int | None, Option("generated configurations: which set of rows", metavar="S")
    ] = None
    n: Annotated[
        int | None, Option("generated configurations: how many rows", metavar="N")
    ] = None
    level: Annotated[
        int | None,
        Option("generated configurations: how hard the rows are", metavar="L"),
    ] = None
    partial: Annotated[
        bool, Option("build a part of a release that is still corrected, as it is")
    ] = False
    out: Annotated[
        Path | None,
        Option("where to write (default: the user's data home)", metavar="DIR"),
    ] = None


_FIRST_OF_RUN: Final = (
    "tasks", "model", "model_args", "judge", "config", "max_samples", "subset", "max_cost", "out", "forecast",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WithModelSettings(Options, heading="model"):
    """How the model under test is opened and asked."""

    model_args: Annotated[
        Mapping[str, str],
        Option("settings of the model's backend, e.g. batch_size=16,dtype=bfloat16"),
    ] = field(default_factory=dict)
    max_new_tokens: Annotated[
        int | None,
        Option("longest answer, instead of the task's own limit", metavar="N"),
    ] = None
    batch: Annotated[
        bool,
        Option(
            "ask in batches, which a provider answers later for less (openai-api/ or inspect/)"
        ),
    ] = False
    role: Annotated[
        tuple[str, ...],
        Option(
            "who plays another role of a task's protocol, such as patient=openai-api/HOST/NAME; "
            "once for each",
            metavar="ROLE=MODEL[,K=V,...]",
        ),
    ] = ()
    truncate: Annotated[
        Literal["refuse", "notes-from-the-oldest", "unanswered"],
        Option(
            "what to do about questions with documents that do not fit the model's context: "
            "refuse the run (default), leave out the beginning of the oldest notes, or leave "
            "those unanswered"
        ),
    ] = "refuse"


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


@dataclass(frozen=True, kw_only=True)
class WithDataAndPrompts(Options, heading="data and prompts"):
    """What a model is asked, and in which words."""

    shard: Annotated[
        str | None,
        Option(
            "part I of N of the items, for several machines; `medical-tasks merge` joins them",
            metavar="I/N",
        ),
    ] = None
    config: Annotated[
        str | None, Option("dataset configuration, e.g. demo", metavar="NAME")
    ] = None
    split: Annotated[
        str | None,
        Option(
            "split to ask, or a+b for both, instead of the task's own", metavar="NAME"
        ),
    ] = None
    data: BuiltData = None
    prompts: Annotated[str, Option("own (default) or official", metavar="SET")] = "own"
    upstream: Upstream = None
    task_args: Annotated[
        Mapping[str, str],
        Option("settings of the task itself, e.g. documents=FOLDER for kqa_rag"),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Run(
    WithSubset,
    WithModelSettings,
    WithCeilings,
    WithDataAndPrompts,
    WithCalibration,
    WithEvaluations,
    WithJudge,
    WithAttestation,
    usage="medical-tasks run --tasks T --model M [options]",
    first=_FIRST_OF_RUN,
):
    r"""Evaluate a model on tasks; prints the table, writes results.json, items.parquet and report.md.

        medical-tasks run --tasks medcalc --model hf/path/to/model
        medical-tasks run --tasks "medical|medcalc" --model openai-api/local/my-model
        medical-tasks run --tasks medcalc --model baseline/reference --config demo
        medical-tasks run --tasks kqa --model hf/path/to/model \
            --judge openai-api/my-host/judge-model

    The same command goes on with a run that was stopped. Over several GPUs, one model
        copy each: torchrun --nproc_per_node=4 -m medical_tasks run --tasks medcalc
        --model hf/path/to/model
    """

    tasks: Annotated[
        str,
        Option(
            "medcalc, medical:medcalc, medical|medcalc|0, a,b, or medical for all",
            metavar="T",
        ),
    ]
    model: Annotated[
        str,
        Option(
            "hf/PATH, vllm/PATH, ray/PATH, vllm-server/NAME, openai-api/HOST/NAME, "
            "inspect/PROVIDER/NAME or baseline/NAME",
            metavar="M",
        ),
    ]
    max_samples: Annotated[
        int | None,
        Option(
            "at most N items a task, for a quick look: no random sample, and no estimate for "
            "the whole set (see --subset)",
            metavar="N",
        ),
    ] = None
    repeats: Annotated[
        int,
        Option(
            "ask each question K times: means over the repeats, intervals that include the run,"
            " and how much comes of items and of runs",
            metavar="K",
        ),
    ] = 1
    out: Annotated[
        Path | None,
        Option("the run's folder (default: runs/MODEL-HASH)", metavar="DIR"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Merge(WithCalibration, WithEvaluations, WithJudge, WithAttestation):
    """Make one run of the parts that `run --shard` made on several machines; opens no model.

        medical-tasks run --tasks medcalc --model hf/path/to/model --shard 1/2 --out parts/1
        medical-tasks run --tasks medcalc --model hf/path/to/model --shard 2/2 --out parts/2
        medical-tasks merge parts/1 parts/2 --out runs/whole

    The result is that of one run of all items. Parts may overlap and may have been
    stopped half-way; exit code 5 where items are missing, with the parts that would
    bring them. Parts of another model, data or judge are refused.
    """

    runs: Annotated[
        tuple[Path, ...], Option("folders of the parts", metavar="RUN", positional=True)
    ]
    out: Annotated[Path, Option("folder of the whole run", metavar="DIR")]
    data: BuiltData = None
    config: Annotated[
        str | None,
        Option("dataset configuration (default: that of the parts)", metavar="NAME"),
    ] = None
    upstream: Upstream = None
    task_args: Annotated[
        Mapping[str, str],
        Option("settings of the task's scoring, as the parts had them"),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Launch(
    Options,
    usage="medical-tasks launch --print slurm|k8s --shards N [--gpus N] [--image IMAGE] -- run ...",
):
    r"""Print what runs the parts of a run on several machines and merges them; submits nothing.

        medical-tasks launch --print slurm --shards 8 --gpus 1 -- \
            run --tasks medcalc --model hf/path --out runs/my-run > job.sh
        medical-tasks launch --print k8s --shards 8 --gpus 1 --image IMAGE -- \
            run --tasks medcalc --model hf/path --out runs/my-run

    slurm: a script with a job array and the merge behind it. k8s: an Indexed Job. What
    follows -- is the command of `run`, with --out on a file system that all machines
    share; the parts lie beside it, in DIR.parts.
    """

    print: Annotated[
        Literal["slurm", "k8s"], Option("a Slurm job array, or a Kubernetes Job")
    ]
    shards: Annotated[int, Option("how many parts", metavar="N")]
    gpus: Annotated[
        int,
        Option(
            "GPUs of each part (default: none is asked for); hf/ models get a process on each",
            metavar="N",
        ),
    ] = 0
    image: Annotated[
        str | None,
        Option(
            "container image of --print k8s (default: medical-tasks:latest)",
            metavar="IMAGE",
        ),
    ] = None
    run: Annotated[Run, Option("the command of `run`, behind --")]


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
class Adjudicate(WithRunData, WithJudge, WithTables, WithAttestation):
    """List a run's answers that the reader could not tell, for a person or a judge to read.

        medical-tasks adjudicate runs/my-run
        medical-tasks adjudicate runs/my-run --out unclear.xlsx
        medical-tasks adjudicate runs/my-run --judge openai-api/my-host/judge-model

    The sheet has a row for each unclear answer, without the gold. In the column
    `reading` write the final answer that the reply gives, in its own words, or `none`
    where it gives none; an empty cell leaves the answer unclear. With --judge a judge
    model fills the column in. Then score the same answers again:

        medical-tasks score medcalc --responses runs/my-run --adjudicated runs/my-run/unclear.csv

    Of credentialed data the sheet lies in the private store unless --out names another
    place on this machine, and a judge elsewhere is refused. Exit code 5 when the judge
    left answers unread; the same command asks about them again.
    """

    run: RunFolder
    out: Annotated[
        Path | None,
        Option(
            "the sheet, .csv or .xlsx (default: unclear.csv in the run's folder, or in the "
            "private store)",
            metavar="FILE",
        ),
    ] = None
    responses: Annotated[
        Path | None,
        Option(
            "the file that `score` scored, or the folder of the run whose answers it scored",
            metavar="FILE",
        ),
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


@dataclass(frozen=True, kw_only=True)
class JudgeCheck(WithJudges, WithTables, WithAttestation):
    r"""Check judges against people's labels: K-QA's physicians', clinicians', ANLI, MedNLI.

        medical-tasks judge-check kqa --judge openai-api/my-host/my-model --source K-QA
        medical-tasks judge-check kqa --judge nli/path/to/model --source NLI_medical_annotator.csv
        medical-tasks judge-check ehrnoteqa --judge openai-api/my-host/my-model \
            --source scores.csv --raters ann,ben,cy
        medical-tasks judge-check kqa --judge openai-api/my-host/a \
            --judge openai-api/my-host/b --source K-QA --again --sensitivity
        medical-tasks judge-check doclens --judge vllm-server/my-model --source verifact-bhc
        medical-tasks judge-check anli --judge nli/path/to/model --source anli_v1.0 \
            --round R1 --ways 2
        medical-tasks judge-check nli --judge nli/path/to/model --source anli_v1.0 \
            --mednli mli_test_v1.jsonl --ways 2

    kqa asks what scoring K-QA asks, about the 399 statements that three physicians
    labelled, and sets the judge beside them. --source is a checkout of
    https://github.com/Itaymanes/K-QA, or its dataset/NLI_medical_annotator.csv.
    --judging batched asks for all statements of an answer at once, asks singly too, and
    says how often both agree. ehrnoteqa asks what scoring EHRNoteQA asks, about models'
    answers that people scored as correct or not: --source is a CSV file with the
    columns id (the question's in the built dataset), response, perhaps model, and one a
    rater. doclens asks what scoring DocLens asks, about claims that clinicians
    labelled: --source is the folder of VeriFact-BHC or FactEHR's file. anli and mednli
    ask the plain question of entailment, in the --style given; nli is both together,
    with the means of the parts. All but K-QA and ANLI are credentialed, their text
    stays on this machine. Prints the figures and writes check.json; `run` and `score`
    show the last check of the judge they use. Of several judges, and of earlier checks
    (--compare), it prints one table and says which to take and why (choosing.json,
    judges.html). The same command goes on where it stopped; exit code 5 when a judge
    could not be checked, or pairs are without a verdict.
    """

    set: Annotated[
        str,
        Option(
            "kqa, ehrnoteqa, doclens, anli, mednli or nli: whose labels",
            metavar="SET",
            positional=True,
        ),
    ]
    source: Annotated[
        Path | None,
        Option(
            "the official file or the folder that holds it; ehrnoteqa: the scores; doclens: "
            "VeriFact-BHC or FactEHR",
            metavar="PATH",
        ),
    ] = None
    max_pairs: Annotated[
        int | None, Option("at most N pairs, chosen by their ids", metavar="N")
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "folder of the check (default: runs/check-SET-JUDGE-HASH)", metavar="DIR"
        ),
    ] = None
    again: Annotated[
        bool, Option("ask everything a second time: how many labels stay the same")
    ] = False
    sensitivity: Annotated[
        bool, Option("ask everything with verdicts and statements in reverse order too")
    ] = False
    compare: Annotated[
        tuple[Path, ...],
        Option(
            "earlier checks (folder or check.json) for the table of judges",
            metavar="CHECK",
            several=True,
        ),
    ] = ()
    prompts: Annotated[
        str, Option("kqa, ehrnoteqa: own (default) or official", metavar="SET")
    ] = "own"
    upstream: Upstream = None
    format: Annotated[
        Literal["open", "mc"] | None,
        Option("ehrnoteqa: how the models were asked (default open)"),
    ] = None
    raters: Annotated[
        str | None,
        Option(
            "ehrnoteqa: the raters' columns (default: all that begin with rater_)",
            metavar="A,B,...",
        ),
    ] = None
    data: Annotated[
        Path | None,
        Option(
            "ehrnoteqa: folder of the built dataset (default: the user's data home)",
            metavar="DIR",
        ),
    ] = None
    config: Annotated[
        str | None,
        Option(
            "ehrnoteqa: the dataset's configuration, e.g. demo; doclens: demo, invented claims",
            metavar="NAME",
        ),
    ] = None
    ways: Annotated[
        Literal[2, 3] | None,
        Option("anli, mednli, nli: entailed or not, or three classes (default 3)"),
    ] = None
    round: Annotated[
        Literal["R1", "R2", "R3"] | None, Option("anli: one round (default: all three)")
    ] = None
    split: Annotated[
        Literal["train", "dev", "test"] | None,
        Option("anli, mednli, nli: which part (default test)"),
    ] = None
    mednli: Annotated[
        Path | None,
        Option("nli: MedNLI's file; --source is ANLI's folder", metavar="PATH"),
    ] = None
    style: Annotated[
        Literal["json_cot", "json", "cot", "plain"] | None,
        Option(
            "anli, mednli, nli: JSON or a line, after a reason or without (default json_cot)"
        ),
    ] = None


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
    runs into the folder you are in. Nothing but a report is ever written over.
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
    """Hold runs against a policy: GO, NO-GO or INCONCLUSIVE, with reasons, for a release's checks.

        medical-tasks gate policy.toml runs/new

    A policy is a TOML file:

        [tasks.medcalc]           # which results count: config, split, prompts, least_items, accept;
        config = "v1.0"           # what is left out is fixed by the task, and printed

        [[rule]]
        task = "medcalc"
        metric = "accuracy"
        at_least = 0.5            # or at_most, width_at_most (of the 95 % interval); by = "category" holds it against each group

        [[rule]]
        task = "medcalc"
        metric = "accuracy"
        against = "runs/old"      # folders from where the policy lies
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


@dataclass(frozen=True, kw_only=True)
class Leakcheck(Options):
    """Prove that no 12 words in a row of a source's text stand in any file of a run's folder.

        medical-tasks leakcheck RUN --source DATASET
        medical-tasks leakcheck RUN --source FOLDER_WITH_OFFICIAL_FILES

    Every file is looked through, hidden ones too: parquet, Arrow, SQLite, JSON,
    archives, and the bytes of everything else with escapes undone. Exit code 0: none
    stands there. 4: some do; files and row ids are named, never the text. 5: none was
    found, but something could not be looked into.
    """

    run: Annotated[
        Path,
        Option(
            "folder that `run` or `score` wrote, or any other",
            metavar="RUN",
            positional=True,
        ),
    ]
    source: Annotated[
        str,
        Option(
            "a built dataset's name or folder, or csv, jsonl, json, txt or parquet files",
            metavar="DATASET_OR_PATH",
        ),
    ]
    words: Annotated[
        int, Option("words in a row that count (default: 12)", metavar="N")
    ] = 12


@dataclass(frozen=True, kw_only=True)
class Purge(Options):
    """Empty the private store: the answers, verdicts and server logs of tasks on credentialed data.

        medical-tasks purge --dry-run
        medical-tasks purge

    Runs that a command is using are left, and named. Results, reports and the audit log
    are not touched. A run whose answers are gone keeps its numbers; giving its command
    again asks the model again.
    """

    dry_run: Annotated[bool, Option("only say what would be deleted")] = False


@dataclass(frozen=True, kw_only=True)
class Calc(Options):
    r"""Calculate a clinical score or value by its published rule, with every step.

        medical-tasks calc --list
        medical-tasks calc cha2ds2_vasc
        medical-tasks calc cha2ds2_vasc age=72 sex=female hypertension=yes
        medical-tasks calc creatinine_clearance age=64 sex=male weight=176lbs height="5 ft 10 in" creatinine="1.2 mg/dL \
                    medical-tasks calc creatinine_clearance age=64 sex=male weight=176lbs height="5 ft 10 in" creatinine="1.2 mg/dL"
        medical-tasks calc --batch IN.jsonl --out OUT.jsonl

    A calculator is named by its id, slug or name; without key=value it says what it
    takes. Findings that are not given count as absent, and the answer says which. A
    value outside the range that the rule was published for, or with a unit that cannot
    be meant, is answered with a warning.

    A line of --batch is {"calculator_id": 2, "inputs": {...}} with the names of the
    dataset's Relevant Entities, or those of the single form. Its line in --out is the
    same object with "answer", "explanation" and "warnings" (a list), or with "error": a
    misspelt input is an error here too, of its line alone. Answers are numbers, dates
    as MM/DD/YYYY, gestational ages as the dataset writes them, ('15 weeks', '1 days').
    Exit code 5 when any line has an error; a line that is no JSON object ends the
    command with exit code 2, and nothing is written.
    """

    calculator: Annotated[
        str | None,
        Option("id, slug or name of a calculator", metavar="NAME", positional=True),
    ] = None
    inputs: Annotated[
        tuple[str, ...],
        Option(
            'such as age=72 or creatinine="1.2 mg/dL"',
            metavar="key=value",
            positional=True,
        ),
    ] = ()
    list: Annotated[
        bool, Option("all calculators: id, slug, category, output, name")
    ] = False
    show_inputs: Annotated[
        bool, Option("what NAME takes, and in which units", name="--inputs")
    ] = False
    batch: Annotated[
        Path | None, Option("JSON Lines of calculations", metavar="IN")
    ] = None
    out: Annotated[
        Path | None,
        Option("where the lines of --batch go with their answers", metavar="OUT"),
    ] = None
    convention: Annotated[
        tuple[str, ...],
        Option(
            "a named departure from the published rule to follow, as --inputs shows them; may "
            "be repeated",
            metavar="NAME",
        ),
    ] = ()


@dataclass(frozen=True, kw_only=True)
class Umls(Options):
    """Build the index of the UMLS that MEDCON looks concepts up in, and see a text's concepts.

        medical-tasks umls build --source 2022AA/META --out umls-index
        medical-tasks umls find --index umls-index "Heart failure, congestive, and CKD."

    --source holds MRCONSO.RRF and MRSTY.RRF of your own UMLS release, gzip or not; the
    licence is free, and the message about a missing file says how to get it. A build
    that is stopped leaves no index behind; one that is there and of the same files is
    kept. `find` shows what a variant of MEDCON finds; with "-" it reads the text from
    standard input. See docs/medcon.md.
    """

    step: Annotated[
        Literal["build", "find"], Option("build, find", metavar="STEP", positional=True)
    ]


@dataclass(frozen=True, kw_only=True)
class UmlsBuild(Umls, heading="build"):
    """Build an index."""

    source: Annotated[
        Path, Option("folder of MRCONSO.RRF and MRSTY.RRF", metavar="DIR")
    ]
    out: Annotated[Path, Option("folder to make", metavar="INDEX")]
    lowercase: Annotated[bool, Option("fold case, as QuickUMLS does with -L")] = False
    ascii_only: Annotated[
        bool, Option("fold accents and the like, as QuickUMLS does with -U")
    ] = False
    again: Annotated[
        bool, Option("build although there is an index of the same files")
    ] = False


@dataclass(frozen=True, kw_only=True)
class UmlsFind(Umls, heading="find"):
    """Look up which concepts a text has."""

    index: Annotated[Path, Option("folder that build made", metavar="INDEX")]
    text: Annotated[
        str,
        Option(
            'find: the text, or "-" for standard input', metavar="TEXT", positional=True
        ),
    ]
    variant: Annotated[
        str,
        Option(
            "whose rules: aci-bench (default), or archehr with its rules of syntax",
            metavar="NAME",
        ),
    ] = "aci-bench"


UMLS: Final = Choice(
    fields=("step",), common=Umls, forms={("build",): UmlsBuild, ("find",): UmlsFind}
)
"""What `umls` takes, by its step."""


@dataclass(frozen=True, kw_only=True)
class Doctor(Options):
    """Say what is broken and how to mend it, what is here, and what optional is not installed.

    Ends with 0 when nothing will break, with 3 when something will.
    """

    link_lighteval: Annotated[
        bool,
        Option(
            "add a file to lighteval's own tasks, so that its stock command finds this suite's "
            "without --custom-tasks"
        ),
    ] = False
    unlink_lighteval: Annotated[bool, Option("remove that file")] = False


@dataclass(frozen=True, kw_only=True)
class Manifest(Options):
    """Write or check generated files: tasks.json, cards, Croissant files and eval.yaml.

    medical-tasks manifest --check
    medical-tasks manifest --write
    medical-tasks manifest --package FOLDER

    The last writes another package's tasks.json, and in cards/ its datasets' cards;
    FOLDER is named as for --plugin.
    """

    write: Annotated[bool, Option("write the files")] = False
    check: Annotated[bool, Option("fail when one differs from the specs")] = False
    package: Annotated[
        Path | None, Option("write the files of another package", metavar="FOLDER")
    ] = None
    root: Annotated[
        Path, Option("the repository (default: this folder)", metavar="DIR")
    ] = Path()
