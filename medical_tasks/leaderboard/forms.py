"""Forms of untrusted files: the members of a submission package, and the events of a store.

Every form is strict and closed, so that unknown fields are refused. `json_reader` has
limited sizes, depth and hidden characters before. The reader of a package checks how
values relate to one another, and what no package may reveal.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)

from medical_tasks.io.forms import (
    Count,
    Counts,
    Form,
    Hash,
    HashOrEmpty,
    Number,
    OpenForm,
    Plain,
    complaint,
)
from medical_tasks.io.untrusted import is_one_line
from medical_tasks.leaderboard.submission_package.contents import NAN, not_sound
from medical_tasks.leaderboard.submission_package.submitters import (
    is_address,
    name_problem,
)
from medical_tasks.report import forms as results
from medical_tasks.runs.results import SCHEMA_VERSION, JsonDict, weight_column
from medical_tasks.spec import MetricSpec, TaskSpec

LONGEST_ID: Final = 200
LARGEST: Final = 1e9
"""The largest value, and denominator, of an item on an unbounded metric."""

_LONGEST_NOTE: Final = 200_000
_LONGEST_ANSWER: Final = 1_000_000
_LONGEST_URL: Final = 300


def check(where: str, form: type[Form], value: object) -> JsonDict:
    """Returns an object of a package unchanged; raises `PackageError` if it breaks its form."""
    if problem := complaint(form, value):
        raise not_sound(f"{where}, {problem}")
    return cast(JsonDict, value)


Id = Annotated[Plain, Field(min_length=1, max_length=LONGEST_ID)]
TaskName = Annotated[Plain, Field(min_length=1, max_length=64)]
Suite = Annotated[str, Field(pattern=r"^medical-tasks [0-9][0-9A-Za-z.+-]{0,30}$")]
Settings = dict[str, Any]


# --- package.json


def _tidy(text: str) -> str:
    if text != " ".join(text.split()):
        raise ValueError("must have no spaces around it or doubled")
    return text


def _name(text: str) -> str:
    if text and (problem := name_problem(text)):
        raise ValueError(problem)
    return text


def _address(text: str) -> str:
    if text and not is_address(text):
        raise ValueError("must be an https:// address, without a user or a port")
    return text


Tidy = Annotated[Plain, AfterValidator(_tidy)]
Name = Annotated[Tidy, AfterValidator(_name)]


class SubmitterForm(Form):
    """The submitter's statements about the model; `parameters` are in billions."""

    model: Name = Field(min_length=1, max_length=96)
    organisation: Name = Field(max_length=96)
    url: Annotated[str, Field(max_length=_LONGEST_URL), AfterValidator(_address)]
    notes: Tidy = Field(max_length=280)
    open_weights: bool | None
    parameters: Annotated[float, Field(ge=1e-6, le=1e5)] | None
    licence: Annotated[Tidy, Field(min_length=1, max_length=64)] = Field(default="")


class FileFacts(Form):
    """Length and hash of a member."""

    bytes: Count
    sha256: Hash


class ManifestForm(Form):
    """`package.json`, of the format that this version reads."""

    format: int
    suite: Suite
    submitter: SubmitterForm
    tasks: list[TaskName]
    partial: dict[str, list[str]]
    files: dict[str, FileFacts]
    content_sha256: Hash


# --- results.json


class Coverage(results.Coverage):
    """The coverage of a run; its numbers are computed again from the items."""

    asked: Count = Field(ge=1)

    @model_validator(mode="after")
    def _unclear_are_answered(self) -> Self:
        if sum(self.unclear.values()) > self.answered:
            raise ValueError("has more unclear answers than answers")
        return self


class Data(Form):
    """The data of a run."""

    name: TaskName
    config: TaskName
    split: str = Field(pattern=r"^[A-Za-z0-9_-]+(\+[A-Za-z0-9_-]+)*$", max_length=64)
    version: Plain = Field(min_length=1, max_length=16)
    source: Settings
    rows_sha256: Hash


class Prompts(OpenForm):
    """Which prompts were used."""

    set: Literal["own", "official"]
    sha256: Hash


class Model(OpenForm):
    """The model that answered."""

    name: Plain = Field(min_length=1, max_length=300)


class JudgePrompts(OpenForm):
    """Which prompts the judge was given."""

    sha256: Hash


class AskedJudge(OpenForm):
    """The judge as the recipe names it."""

    name: Id
    comparable: bool
    votes: int = Field(ge=1, le=99)
    prompts: JudgePrompts


class Truncation(OpenForm):
    """How questions were shortened: item id to how many words were left out."""

    words_left_out: Settings = Field({})


class Imported(OpenForm):
    """The source of answers that were not generated with this suite."""

    address: Annotated[
        str, Field(max_length=_LONGEST_URL), AfterValidator(_address)
    ] = ""
    licence: Annotated[Plain, Field(max_length=64)] = ""
    files: dict[str, Hash] = Field({})
    unknown: list[Plain] = Field([], max_length=20)
    matched: Counts = Field({})


class RegisteredBy(Form):
    """The package that provides the task; the version is "" if none is stated."""

    name: Plain = Field(min_length=1, max_length=100)
    version: Plain = Field(max_length=64)


class Recipe(Form):
    """What the numbers depend on; older suites and some tasks lack the optional fields."""

    suite: Suite
    task: TaskName
    task_version: Plain = Field(min_length=1, max_length=16)
    data: Data
    prompts: Prompts | None
    generation: Settings | None
    max_samples: Annotated[int, Field(ge=1)] | None
    max_samples_note: Annotated[Plain, Field(max_length=200)] | None = None
    metrics: Settings
    statistics: Settings
    model: Model
    judge: AskedJudge | None
    python: Plain = Field(max_length=40)
    packages: Settings
    task_args: dict[str, str] = Field({})
    protocol: Settings = Field({})
    truncation: Truncation = Field(Truncation(words_left_out={}))
    baseline: Settings = Field({})
    leaking_examples: list[Any] = Field([])
    scoring: Settings = Field({})
    adjudication: Settings = Field({})
    imported: Imported = cast(Imported, None)
    package: RegisteredBy = cast(RegisteredBy, None)


class Judge(results.Judge):
    """What the judge did; only older suites state its tokens here."""

    model_config = ConfigDict(extra="forbid")

    name: Id
    votes: int = Field(ge=1, le=99)
    reasked: Count
    prompt_tokens: Count = 0
    output_tokens: Count = 0
    tokens_estimated: bool = False
    trouble: str | None


class ReportedFigure(Form):
    """A figure reported by the source of imported answers."""

    metric: Id
    value: Number


class EntryForm(Form):
    """A task's result. Its numbers are computed again from the items."""

    n_items: Count = Field(ge=1)
    metrics: Settings
    coverage: Coverage
    breakdown: dict[str, dict[str, Settings]]
    recipe: Recipe
    cut_at_length: Count
    shortened: Count = 0
    usage: results.Usage = None
    judge: Judge = cast(Judge, None)
    notes: Counts = Field({})
    paper: Settings = Field({})
    reported: list[ReportedFigure] = Field([])

    @model_validator(mode="after")
    def _counts_agree(self) -> Self:
        cut = self.recipe.truncation.words_left_out
        if self.cut_at_length > self.coverage.answered or self.shortened != len(cut):
            raise ValueError(
                "cut_at_length or shortened is not of as many items as it can be"
            )
        return self


class ResultsForm(Form):
    """`results.json`."""

    schema_version: int = Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)
    tasks: dict[str, EntryForm]


# --- items.jsonl, answers.jsonl, verdicts.jsonl


def _whole_text(value: object) -> object:
    # pydantic's str refuses half of a surrogate pair, which a model may write.
    if not isinstance(value, str) or len(value) > _LONGEST_ANSWER:
        raise ValueError(f"must be a text of at most {_LONGEST_ANSWER:,} characters")
    return value


def _not_null(value: object) -> object:
    if value is None:
        raise ValueError("must be JSON that is not null")
    return value


Whole = Annotated[Any, AfterValidator(_whole_text)]
Note = Annotated[str, Field(max_length=_LONGEST_NOTE)]


class AnswerForm(Form):
    """A line of `answers.jsonl`."""

    task: TaskName
    id: Id
    response: Whole


class PrivateVerdict(Form):
    """A line of `verdicts.jsonl` on credentialed data: without what the judge wrote."""

    task: TaskName
    id: Annotated[Plain, Field(min_length=1, max_length=2 * LONGEST_ID)]
    sha256: Hash
    votes: list[Any] = Field(max_length=99)
    value: Annotated[Any, AfterValidator(_not_null)] = None
    unscored: Id = ""
    comparable: Literal[False] = False
    reads: Literal["pair"] = "pair"


class VerdictForm(PrivateVerdict):
    """A line of `verdicts.jsonl`."""

    text: Whole


def item_form(task: TaskSpec, *, private: bool) -> type[Form]:
    """Makes the form of a task's lines in `items.jsonl`, with its metrics and groups."""
    group = Annotated[Plain, Field(max_length=2 * LONGEST_ID)]
    columns: dict[str, Any] = {"task": TaskName, "id": Id, "cluster": Id}
    columns |= {f"group_{name}": group for name in task.groups}
    for metric in task.metrics:
        if metric.kind != "average":
            columns[metric.name] = _value_of(metric)

        if metric.kind == "ratio":
            columns[weight_column(metric.name)] = (
                Annotated[float, Field(ge=0, le=LARGEST)] | None
            )

    columns |= dict.fromkeys(("parsed", "why"), Note)
    columns |= {
        "unscored": Id | None,
        "answer_sha256": HashOrEmpty,
        "verdicts_sha256": HashOrEmpty,
    }
    columns |= {"response_sha256": HashOrEmpty} if private else {}
    unclear = (
        Annotated[Plain, Field(max_length=LONGEST_ID)] if task.reads else Literal[""]
    )
    # Older suites lack `unclear`, and only partial runs have `asked`.
    sometimes = {
        "unclear": unclear,
        "asked": Annotated[float, Field(ge=0, le=1e6)] | None,
    }
    # With aliases, since a metric may have the name of a method of pydantic's models.
    fields = {
        f"f{n}": (kind, Field(alias=name))
        for n, (name, kind) in enumerate(columns.items())
    }
    fields |= {
        f"f_{name}": (kind, Field(None, alias=name)) for name, kind in sometimes.items()
    }
    name = f"Item of {task.name}"

    return create_model(name, __base__=Form, **fields)  # type: ignore[call-overload, no-any-return]


def _value_of(metric: MetricSpec) -> object:
    """A metric's value: null if undecided, the text `nan` if it has no denominator."""
    low, high = metric.limits
    step = 1 if metric.kind == "proportion" else None
    number = Annotated[
        float, Field(ge=max(low, -LARGEST), le=min(high, LARGEST), multiple_of=step)
    ]
    return Annotated[
        number | None, BeforeValidator(lambda value: None if value == NAN else value)
    ]


# --- events of a store


def _one_line(text: str) -> str:
    if not is_one_line(text):
        raise ValueError("must be one line without control characters")
    return text


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Line = Annotated[str, Field(max_length=1000), AfterValidator(_one_line)]
Moment = Annotated[
    str,
    Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"),
    AfterValidator(_moment),
]


class StoredSubmitter(Form):
    """A submitter as stored by any version."""

    model: Line
    organisation: Line = ""
    url: Line = ""
    notes: Line = ""
    open_weights: bool | None = None
    parameters: Number | None = None
    licence: Line = ""


class SubmittedForm(Form):
    """What was submitted."""

    submitter: StoredSubmitter
    tasks: list[Line] = Field(min_length=1)
    package_bytes: Number
    package_sha256: Hash


class Verified(OpenForm):
    """The report of a verification that matches."""

    matches: Literal[True]
    on_trust: list[Any] = Field([])


class EventForm(Form):
    """An event of a submission, of the format that this version reads."""

    format: int
    state: Literal["pending", "accepted", "rejected"]
    at: Moment
    by: Line
    reason: Line
    verified: Verified | None
    replaces: str = Field(pattern=r"^([0-9a-f]{16})?$")

    @model_validator(mode="after")
    def _of_one_accepted(self) -> Self:
        if self.state != "accepted" and (self.verified or self.replaces):
            raise ValueError("only what was accepted is verified, or replaces another")
        return self


class FirstEventForm(EventForm):
    """The first event of a submission."""

    submission: SubmittedForm


class StoredCoverage(OpenForm):
    """How many items of a stored result were scored."""

    asked: Count
    scored: Count


class StoredEntry(OpenForm):
    """A task's result as stored by any version: what the tables need."""

    metrics: dict[str, Settings]
    breakdown: dict[str, dict[str, dict[str, Settings]]]
    coverage: StoredCoverage
    recipe: Settings


# --- a run's own results, of which a number is published


class PublishedData(OpenForm):
    """The data of a run, as a note on a result names them."""

    config: str
    split: str
    version: str
    rows_sha256: str


class NamedPrompts(OpenForm):
    """Prompts, as a note on a result names them."""

    set: Any
    sha256: Any


class NamedJudge(OpenForm):
    """The judge, as a note on a result names it."""

    name: Any
    votes: Any
    prompts: NamedPrompts | None = None


class PublishableRecipe(results.Recipe):
    """A recipe that says where a number is from."""

    suite: str
    task_version: str
    data: PublishedData
    prompts: NamedPrompts | None = None
    judge: NamedJudge | None


class PublishableEntry(results.Entry):
    """An entry of `results.json` whose headline can be published."""

    recipe: PublishableRecipe
