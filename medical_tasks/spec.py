"""What a benchmark is to the rest of the suite: what it declares, and what it does (`Benchmark`).

The manifest (`tasks.json`), the cards, `medical-tasks list` and the harnesses' tables
are made from these objects. Generic code calls them and never imports a benchmark.
Nothing here imports anything heavy: the command line reads every spec on each start.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Literal,
    Never,
    NotRequired,
    Protocol,
    TypeAlias,
    TypedDict,
)

if TYPE_CHECKING:
    from medical_tasks.data.dataset_source import DatasetSource
    from medical_tasks.data.shared_task import SharedTask
    from medical_tasks.judges.base import JudgePrompts, Judging
    from medical_tasks.judges.check_sets import CheckSetSource

Access = Literal["open", "credentialed"]
MetricKind = Literal["proportion", "mean", "ratio", "average"]
# begins the reason why an item without an answer is unscored
UNANSWERED: Final = "no answer: "
PARTNER_UNCLEAR: Final = "a reply that it is compared with is unclear"
"""Why an item is open whose own answer is clear, so that nobody needs to read it."""
_NONE: Mapping[str, Never] = {}  # one for all items that have none

Row: TypeAlias = Mapping[str, Any]
"""A row of a dataset, by the names of its columns."""


ResultEntry: TypeAlias = Mapping[str, Any]
"""A task's entry in `results.json`."""


class ToolCall(TypedDict):
    """A model's wish to have a tool run.

    Attributes:
        id: names the call to the message that answers it.
        name: of the tool, as the model wrote it; it need not be one that was offered.
        arguments: what the tool is to be run with; empty where that was no JSON object.
        raw: what stood in its place then.

    Example:
        {"id": "call_1", "name": "body_mass_index", "arguments": {"weight_kg": 70, "height_cm": 175}}
    """

    id: str
    name: str
    arguments: Mapping[str, object]
    raw: NotRequired[str]


class Message(TypedDict):
    """One chat message, in the form every chat API takes.

    Attributes:
        role: who says it; `tool` gives the result of a call.
        content: its text, which may be empty beside calls.
        tool_calls: of the assistant, the tools that it wants run.
        tool_call_id: of a tool's message, the call that it answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: NotRequired[Sequence[ToolCall]]
    tool_call_id: NotRequired[str]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that a model is offered.

    Attributes:
        name: letters, digits, `_` and `-`, at most 64.
        description: what it does, as the model reads it.
        parameters: the JSON schema of its arguments, an `object`.

    Example:
        Tool(name="add", description="Adds two numbers.", parameters={"type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}}})
    """

    name: str
    description: str
    parameters: Mapping[str, object]

    @cached_property
    def sha256(self) -> str:
        """Hash of all that the model reads of it."""
        return texts_sha256(
            self.name, self.description, json.dumps(self.parameters, sort_keys=True)
        )


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """A dataset and its official source."""

    name: str  # folder under `dataset_builders/` and argument of `medical-tasks build`
    title: str  # the name people use
    access: Access  # `open`, or `credentialed` when the text of the source must not leave the machine
    licence: str  # SPDX-like id of the data's licence
    homepage: str  # where the official files and their terms are
    paper: str  # link of the paper that describes it
    citation: str  # BibTeX entry
    # configuration names, the synthetic `demo` always among them
    configs: tuple[str, ...]
    default_config: str  # the configuration `run` takes when several are built
    # the steps that bring the official files, one a line, for error messages and `list`
    how_to_get: tuple[str, ...]
    version: str  # version of the built form; changes whenever the same source would give other rows


@dataclass(frozen=True, kw_only=True)
class Official:
    """What the authors' script makes of what is missing.

    Attributes:
        unanswered: an item without an answer is `left out` (their file has no row of
            it), `counts as 0` (they divide by all questions; for a `mean` alone), or
            `ends` the script, so that there is no figure.
        undecided: why there is no figure where an answer has no value, as a reader is
            told it: what in an answer stops the script, or that a judge's reply is
            missing. "" where every answer has a value.
    """

    unanswered: Literal["left out", "counts as 0", "ends"] = "left out"
    undecided: str = ""


JUDGE_REPLY_MISSING: Final = "a judge's reply is missing"
"""`Official.undecided` of a judged metric."""


@dataclass(frozen=True, kw_only=True)
class PaperSetting:
    """How a paper ran a task, which a run must have in common before their figures can be compared.

    Attributes:
        items: how many items the paper's figure is over, at least.
        configs: configurations of the dataset that have the paper's items.
        prompts: how the model was asked: with the authors' published prompts
            (`--prompts official`); the `same` as here, whatever the option says; or in
            `any` way, where how a system asks is its own (a shared task).
        judges: names of the models that judged in the paper; none for a task without a
            judge, and judges that read prompts were asked with the authors'.
        votes: how many replies a verdict of the paper takes, at least.
        differs: what no run of this suite has in common with the paper; "" where a run
            can match it.
    """

    items: int = 0
    configs: tuple[str, ...] = ()
    prompts: Literal["official", "same", "any"] = "official"
    judges: tuple[str, ...] = ()
    votes: int = 1
    differs: str = ""


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """One reported number.

    Attributes:
        kind: `proportion` (item values are 0 or 1; Wilson interval), `mean` (score
            interval), or `ratio`: pooled, the sum of all items' numerators over the sum
            of their denominators (`ItemScore.weights`; score interval), or `average`:
            the mean of those of other metrics' totals (`of`) that are reported; items
            have no value of it.
        limits: smallest and largest value an item can have, for the bounds; infinite
            when there is none.
        total: between which the figure of all items is cut, with the ends of its
            interval and its bounds; None where it is not. HealthBench's mean of points,
            of which an item may have less than none, is cut to (0, 1). Comparisons are
            of the means before they are cut.
        unit: "" for a share, which tables show in percent; else `number` for a count,
            `per answer` for a count per answer, `cosine`, or `score` for any other
            scale.
        needs: the argument (`TaskSpec.arguments` or `scoring_arguments`) without which
            the metric is not reported; "" for none.
        not_by: breakdowns that leave it out, since it compares items of several groups.
        part: for a metric of one part of each item, such as a section of a note, the
            breakdown and group that report it: `("section", "subjective")`. There it is
            named `whole`.
        verdict: for `--calibration`, the class of verdicts that the metric is a share
            of; `several` where a count takes several.
        official: for a figure of the authors' script, what that script makes of what is
            missing; None for all others, whose missing verdicts are estimated. An
            official `average` needs all of its metrics.
        read: whether it rests on the task's reader of answers, so that an unclear
            answer leaves it open.
        if_right: for such a metric, whether it counts only on answers that are right,
            or that choose at all: nan on all others, and an unclear one may come to
            count.
    """

    name: str  # key in `results.json`
    kind: MetricKind
    description: str  # one line, shown in cards and the manifest
    higher_is_better: bool = True  # direction, for leaderboards
    limits: tuple[float, float] = (0.0, 1.0)
    total: tuple[float, float] | None = None
    unit: str = ""
    judged: bool = True  # whether it depends on a judge, in a task that has one
    needs: str = ""
    not_by: tuple[str, ...] = ()
    of: tuple[str, ...] = ()  # the metrics that an `average` is taken of
    part: tuple[()] | tuple[str, str] = ()
    whole: str = ""  # the metric of the whole item that this is a part of; "" where `part` is empty
    verdict: str = ""
    official: Official | None = None
    read: bool = False
    if_right: bool = False

    @property
    def best(self) -> float:
        """The best value that an item can have."""
        return self.limits[1] if self.higher_is_better else self.limits[0]

    @property
    def worst(self) -> float:
        """The value of an answer that is not right."""
        return self.limits[0] if self.higher_is_better else self.limits[1]


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task of a benchmark: a dataset, a way to ask, and the metrics of the answers.

    Attributes:
        asks: `text` when the model writes its answer; `choices` when only the
            probability of each choice is asked for, and the answer is a
            `models.base.ChoiceScores` written as text.
        judging: `single` (one call a statement) or `batched` (all statements of an
            answer in one), unless the user says otherwise.
        options: settings of the benchmark's own functions (prompt style and the like).
        arguments: what the user may set for this task's questions (`--task-args`), name
            to one line of description.
        item_arguments: those of them that decide which items a row makes
            (`Benchmark.asked_with`). lighteval and inspect do not take them.
        scoring_arguments: the same for its scoring.
        exemplars: the split that worked examples are drawn from; "" when the questions
            show none of the dataset's.
        baseline: the benchmark's own baseline that answers the task, for one that asks
            no model; "" for all others.
        protocol: name of the task's protocol (`open_protocol`); "" when it asks a
            single question.
        roles: other models that the protocol asks, such as a simulated patient: name to
            one line of description. The user says which model has the role (`--role
            NAME=MODEL`).
        tools: whether the model is offered tools (`PromptSet.tools`, `Ask.tools`).
        reads: for a task whose reader of answers can be unclear, what a person should
            write down of an answer, one line; "" for all others. Its metrics that rest
            on the reader have `MetricSpec.read`.
        paper: how the paper ran it; None where no paper has the task.
    """

    name: str  # bare name (`medcalc`); the harness name is `medical:<name>`
    title: str  # one line for `list`
    benchmark: Benchmark  # what it belongs to
    dataset: str  # name of its `DatasetSpec`
    split: str  # split that is evaluated, or splits with `+` between
    metrics: tuple[MetricSpec, ...]  # what is reported, the headline first
    version: str  # `N-X`: `N` changes when scores stop being comparable, `X` when the interface does
    generation_size: int  # longest answer asked for, in tokens
    groups: tuple[str, ...] = ()  # names of the breakdowns that items carry
    # those of `groups` by which a random sample is stratified, the coarsest first
    strata: tuple[str, ...] = ()
    # group name whose members are not independent (same note, same patient), or None
    cluster: str | None = None
    drawn_whole: bool = False  # whether a sample takes whole clusters, for scores that compare the items of one
    stop: tuple[str, ...] = ()  # stop sequences
    asks: Literal["text", "choices"] = "text"
    items_a_row: int = 1  # how many items each row of the dataset makes
    judge: bool = False  # whether scoring needs a judge model
    # votes a judge that samples is asked for, unless the user says otherwise
    votes: int = 1
    judging: Literal["single", "batched"] = "single"
    options: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    item_arguments: frozenset[str] = frozenset()
    scoring_arguments: Mapping[str, str] = field(default_factory=dict)
    exemplars: str = ""
    baseline: str = ""
    protocol: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    tools: bool = False
    reads: str = ""
    paper: PaperSetting | None = None

    @property
    def harness_name(self) -> str:
        """Name in lighteval's form, `superset:task`."""
        return f"medical:{self.name}"

    @property
    def outside_lighteval(self) -> str:
        """Why lighteval, which asks one question an item, cannot run it; "" where it can."""
        if self.baseline:
            return "no model is asked for this task"
        if self.tools:
            return "lighteval offers a model no tools"
        if self.protocol:
            return "lighteval asks one question an item, and this task goes on after the first answer"
        return ""

    def asked_with(self, given: Mapping[str, str]) -> TaskSpec:
        """The task as its questions are asked with settings, of which others' are left out."""
        own = {
            name: value for name, value in given.items() if name in self.item_arguments
        }
        return self.benchmark.asked_with(self, own) if own else self

    def scoring_args(self, given: Mapping[str, str]) -> dict[str, str]:
        """Picks those of the settings given that are of its scoring."""
        return {
            name: value
            for name, value in given.items()
            if name in self.scoring_arguments
        }

    def needs_official_prompts(self, metric: MetricSpec) -> bool:
        """Whether a metric is the authors' decision, by a judge who is asked as they asked theirs."""
        return self.judge and metric.judged and metric.official is not None

    def reporting(self, given: Container[str], *, official: bool = False) -> TaskSpec:
        """The task with the metrics that a run reports.

        Left out is what needs a setting that is not `given`, and what only a judge
        decides that is asked with the authors' prompts (`official`).
        """
        metrics = tuple(
            metric
            for metric in self.metrics
            if (not metric.needs or metric.needs in given)
            and (official or not self.needs_official_prompts(metric))
        )
        return self if metrics == self.metrics else replace(self, metrics=metrics)

    def unjudged(self) -> TaskSpec:
        """The task with the metrics that rest on no judge; the task itself where it has none."""
        metrics = tuple(metric for metric in self.metrics if not metric.judged)
        return replace(self, metrics=metrics) if self.judge else self


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One question of a task.

    Attributes:
        groups: breakdown name to this item's group, or groups, for each of
            `TaskSpec.groups`.
        asking: which time its question is asked, where another item asks the very same
            one. Items of one question share an answer, but an item of 2 is asked anew:
            so a task learns whether a model says the same twice.
    """

    id: str  # stable id from upstream, never a row position of ours
    fields: Row  # what prompts and scoring need, by the dataset's column names
    groups: Mapping[str, str | tuple[str, ...]]
    # id of the note, patient or answer it shares with others; else its own id
    cluster: str
    asking: int = 1


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Items of a group, each beside the item of a reference group it is compared with.

    A benchmark whose items come in pairs, alike but for one thing, names them
    (`Benchmark.pairs`); the difference of each group's headline metric, its interval and
    its test are then part of the results.

    Attributes:
        by: what the groups are of, such as `language`.
        group: the group that is tested.
        reference: the group that it is compared with.
        items: ids of an item of the group and of its partner in the reference.

    Example: two patients' notes, each also with another first language:

        Pairs(by="language", group="Spanish", reference="English", items=(("1s", "1"), ("2s", "2")))
    """

    by: str
    group: str
    reference: str
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Example:
    """The worked example that an item's question shows."""

    reply: str  # what it says a model should reply
    shown: tuple[str, ...]  # its own texts (note and question)
    asked: tuple[str, ...]  # the same texts of the item

    @property
    def leaks(self) -> bool:
        """Whether it is the item itself, but for white space: the question holds its own answer."""
        return [text.split() for text in self.shown] == [
            text.split() for text in self.asked
        ]


@dataclass(frozen=True, kw_only=True)
class PromptSet:
    """How a task's questions are worded.

    Attributes:
        settings: what else determines the questions (retrieval, its documents' hashes);
            part of the recipe. JSON values.
        sources: names what a question contains besides the item itself (retrieved
            chunks), for `items.parquet`; None for nothing.
        continuations: for a task that asks `choices`, the texts that may follow the
            chat, in the order of the item's choices; the model is asked for the
            probability of each.
        shorten: for a task whose items can exceed a model's context, returns the item
            without the given number of words of its documents, the oldest first, and
            otherwise unchanged. It takes any number from 0 and removes at most all
            words.
        example: the worked example that an item's question shows, for a task whose
            questions show one.
        tools: the tools offered with an item's first question; a protocol offers them
            with later ones (`Ask.tools`). What decides them is part of `settings`.
    """

    name: str  # `own`, or `official` when the authors' files are used
    sha256: str  # hash of every text in the questions besides the item's own; part of the recipe
    render: Callable[[Item], tuple[Message, ...]]  # makes the chat for one item
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: Callable[[Item], tuple[str, ...]] | None = None
    continuations: Callable[[Item], tuple[str, ...]] | None = None
    shorten: Callable[[Item, int], Item] | None = None
    example: Callable[[Item], Example] | None = None
    tools: Callable[[Item], tuple[Tool, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """A judge's verdicts of one kind on one answer, as a metric adds them up.

    Attributes:
        kind: what they have in common, from general to specific (`subjective`,
            `subjective/entailed`). Missing verdicts are estimated from known ones of
            their kind and of kinds within it.

    Example: an answer has five statements that must be in it. The judge said of two
    that they are, of one that it is not, and nothing that can be read of the other two:

        Verdicts(kind="must_have", hits=2, known=3, missing=2)

    Had the answer been empty, no judge would have been asked: `Verdicts(unasked=5)`.
    """

    kind: str = ""
    hits: float = 0  # known verdicts that count
    known: int = 0  # known verdicts
    missing: int = 0  # missing ones; each may be a hit or not
    # no hits, known without a judge; they count, but missing verdicts are not estimated
    # from them
    unasked: int = 0
    more: int = 0  # the most items that a list which could not be made may have
    weight: float = 1.0  # what a hit adds
    # known ones by class, of a judge that tells several
    classes: Mapping[str, int] = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """From a judge's verdicts to a metric's value, and its limits, on one answer.

    Attributes:
        how: `share` of hits, `count` of hits, `any`: 1 with at least one hit; or
            `points`: the sum of the weights of hits over the sum of the positive
            weights, as rubrics with points for what must be said and minus points for
            what must not be said have it.
        told: False where a judge's labels lack a verdict ("contradicted"), so that
            known verdicts say nothing about missing ones.

    Example: the five statements of `Verdicts`, of which two hold and two have no
    verdict. As a `share` the value is at least 2/5 and at most 4/5, as a `count` from 2
    to 4. As `any` it is 1 already, whatever the missing verdicts are: the item is
    decided.
    """

    how: Literal["share", "count", "any", "points"]
    verdicts: tuple[Verdicts, ...]  # by kind
    told: bool = True

    @property
    def is_share(self) -> bool:
        """Whether the value is a share of `of`."""
        return self.how in ("share", "points")

    @property
    def known(self) -> int:
        """Known verdicts."""
        return sum(one.known for one in self.verdicts)

    @property
    def of(self) -> float:
        """The largest denominator of a share, or that of points."""
        return math.fsum(
            one.weight * (one.known + one.missing + one.unasked + one.more)
            for one in self.verdicts
            if self.how != "points" or one.weight > 0
        )

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest value: equal where it is decided, both nan for a share of nothing.

        Each missing verdict may be a hit: one of negative weight lowers the value.

        Example: 5 points for advice that was given, 3 for one that nobody judged, -4
        for a mistake that nobody judged: from 1/8 to 8/8.
        """
        low = math.fsum(
            one.weight * one.hits + min(one.weight, 0.0) * (one.missing + one.more)
            for one in self.verdicts
        )
        high = math.fsum(
            one.weight * one.hits + max(one.weight, 0.0) * (one.missing + one.more)
            for one in self.verdicts
        )
        if self.is_share:
            return (low / self.of, high / self.of) if self.of else (math.nan, math.nan)

        return (low, high) if self.how == "count" else (min(low, 1.0), min(high, 1.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Probabilities:
    """How probable a model finds each choice of a question, of a task that asks `choices`.

    Attributes:
        shares: one a choice, which add up to 1, of the very sums by which the headline
            metric decides which choice leads.
        right: the place of the right one.
    """

    shares: tuple[float, ...]
    right: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemScore:
    """The score of one answered item.

    Attributes:
        values: metric name to value; `nan` where the metric has no denominator on this
            item. An undecided metric is absent, and `unscored` has the reason.
        unscored: None, or why some metric is undecided (never a verdict on the model).
        unclear: "", or why the reader could not tell what the answer is. The answer
            counts as not right, and `limits` says what it could count as:
            `unclear_limits` makes them.
        limits: the smallest and largest value that absent metrics can have, and of an
            unclear answer those that rest on the reader; of a pooled share they may lie
            outside the metric's, where its denominator is as open.
        weights: the denominator of each `ratio` metric on this item; for an absent one
            the largest possible, `inf` (or no entry) when unknown.
        notes: what a reader should know of this answer, each a word, optionally with
            details behind a colon; `results.json` counts the words.
        counts: for each judged metric, decided or not, its verdicts; none for answers
            decided without a judge (empty ones).
        probabilities: of a task that asks `choices`; None where a server does not say
            them all.
        confidence: how probable the model itself finds it that the answer is right,
            from 0 to 1: the largest of `probabilities`, or what it stated. None where
            nobody knows. Scorers leave it out.

    Example: an answer that is right, one that nobody can tell, and one that the judge
    did not judge:

        ItemScore(id="1", values={"accuracy": 1.0}, parsed="24.7")
        ItemScore(id="2", values={"accuracy": 0.0}, unclear="two values", limits={"accuracy": (0, 1)})
        ItemScore(id="3", values={}, unscored="judge: no verdict", limits={"accuracy": (0, 1)})
    """

    id: str  # the item's id
    values: Mapping[str, float]
    parsed: str = ""  # the final answer as it was read, for a person to check; "" when none was found
    why: str = ""  # one line that says how the decision came about
    unscored: str | None = None
    unclear: str = ""
    limits: Mapping[str, tuple[float, float]] = field(default_factory=lambda: _NONE)
    weights: Mapping[str, float] = field(default_factory=lambda: _NONE)
    notes: tuple[str, ...] = ()
    counts: Mapping[str, Counts] = field(default_factory=lambda: _NONE)
    probabilities: Probabilities | None = None
    confidence: float | None = None

    def could_be(self, metric: str) -> tuple[float, float]:
        """The smallest and largest value of a decided metric: its value, unless the answer is unclear.

        Both are nan where the metric does not count on this item, whatever the answer
        is.
        """
        value = self.values.get(metric, math.nan)
        if not self.unclear or metric not in self.limits:
            return value, value
        low, high = self.limits[metric]
        return (low, high) if math.isnan(value) else (min(low, value), max(high, value))

    def weight(self, metric: MetricSpec) -> float:
        """The denominator with which the item counts, or would count, in a metric."""
        return self.weights.get(metric.name, 0.0) if metric.kind == "ratio" else 1.0

    @classmethod
    def counted(
        cls,
        counts: Mapping[str, Counts],
        *,
        id: str,  # noqa: A002 - its name here
        **named: Any,
    ) -> ItemScore:
        """Makes a score of what a judge's verdicts add up to.

        Values and limits in `named` go before what follows from the verdicts.
        """
        values, limits = dict(named.pop("values", {})), dict(named.pop("limits", {}))
        for name, one in counts.items():
            if name not in values and name not in limits:
                low, high = one.limits
                # Without a denominator both limits are nan, which equals nothing.
                if low == high or math.isnan(low):
                    values[name] = low
                else:
                    limits[name] = (low, high)

        return cls(id=id, values=values, limits=limits, counts=counts, **named)


def unclear_limits(
    metrics: Sequence[MetricSpec], values: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """The limits of an answer that the reader could not tell: it counts as wrong, and may be right.

    Example: `accuracy` rests on the reader, `accuracy_official` does not, and
    `accuracy_agreed` does not count on this item.

        >>> unclear_limits(metrics, {"accuracy": 0.0, "accuracy_official": 1.0, "accuracy_agreed": nan})
        {"accuracy": (0.0, 1.0)}
    """
    limits: dict[str, tuple[float, float]] = {}
    for metric in metrics:
        if not metric.read or metric.name not in values:
            continue

        value = values[metric.name]
        if not math.isnan(value):
            limits[metric.name] = (min(value, metric.best), max(value, metric.best))
        elif metric.if_right:
            limits[metric.name] = metric.limits

    return limits


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A model's answer about one item, as a scorer gets it.

    Attributes:
        text: the final answer.
        conversation: what was asked and said, the final answer last; empty where only
            texts are known, such as those of a file.
        finish: why the model ended its last reply (`stop`, `length`); "" where nobody
            knows.
        prompt_tokens: tokens that the model read for all its replies; None where not
            told.
        output_tokens: tokens that it wrote, those of reasoning included; likewise.
        reasoning: what it thought before the final answer, where that is told apart
            from it.
        reasoning_tokens: how many of the output tokens are reasoning; None where not
            told.
        cached_tokens: how many of the prompt tokens the provider's cache held;
            likewise.
        provider: who gave the final answer, where a router names the provider behind
            it.
        served_model: the model that it names, which may be dated.
        tool_calls: the tools that the last reply wants run; those of earlier ones stand
            in the conversation.
    """

    text: str
    conversation: tuple[Message, ...] = ()
    finish: str = ""
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    reasoning: str = ""
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    provider: str = ""
    served_model: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """An item and what was said about it so far.

    Attributes:
        item: the item.
        opening: the first question, as the task's prompts render it.
        answers: those of the model under test, the latest last; never empty.
        replies: those of the other models by role (`TaskSpec.roles`), the latest last.
        calls: the tools that each of the `answers` wants run, in the same order; for
            tasks with tools.
    """

    item: Item
    opening: tuple[Message, ...]
    answers: tuple[str, ...]
    replies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    calls: tuple[tuple[ToolCall, ...], ...] = ()


@dataclass(frozen=True)
class Ask:
    """The next question.

    Attributes:
        messages: a whole chat, which ends with a message of the user, of a tool, or of
            the model asked to let it go on. A model of another role sees the chat from its side:
            what it said itself are the messages of the assistant.
        role: who is asked: the model under test, or one of `TaskSpec.roles`.
        tools: what the model may call.
    """

    messages: tuple[Message, ...]
    role: str = ""
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True)
class Done:
    """The end of a dialogue.

    Attributes:
        text: the final answer, which is scored.
        conversation: the whole dialogue as scorers get it; by default the last chat
            that the model under test was asked with, and its reply.
    """

    text: str
    conversation: tuple[Message, ...] = ()


Turn: TypeAlias = Ask | Done


class Records(Protocol):
    """Where finished work is kept between runs; `store.Store` is one."""

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Reads the records that are there."""

    def put(self, kind: str, key: str, payload: Mapping[str, object]) -> None:
        """Keeps one record."""


class MultiStep(Protocol):
    """A task's protocol.

    Attributes:
        identity: what of it decides the final answers (limits, versions); part of the
            recipe. JSON values.
    """

    identity: Mapping[str, object]

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Says how each dialogue goes on.

        Given the same dialogues and records it says the same; it must come to an end
        with every dialogue.
        """


@dataclass(frozen=True)
class Baseline:
    """A baseline of a benchmark's own, run as `--model baseline/NAME`.

    Attributes:
        respond: answers a task's items, with the task's arguments.
        identity: what decides the answers; part of the recipe. JSON values.
    """

    respond: Callable[[TaskSpec, Sequence[Item], Mapping[str, str]], list[str]]
    identity: Callable[[TaskSpec, Mapping[str, str]], Mapping[str, object]]


@dataclass(frozen=True, kw_only=True)
class PlotPoint:
    """A point of a plot with its 95 % interval."""

    label: str  # what it stands for
    # a share, else in the metric's unit; None where nobody can compute it
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None  # how many observations
    published: bool = False  # whether it is a paper's, which gets a mark of its own
    few: bool = False  # whether its items are too few to tell
    detail: str = ""  # shown when it is pointed at and said in the description
    across: float | None = (
        None  # of a curve, where it stands from left to right; a share
    )


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A plot that a report draws: a row a point, or a curve of points that stand `across`.

    Attributes:
        diagonal: of a curve, whether the line on which both shares are equal is drawn.
    """

    title: str
    x_label: str
    y_label: str
    points: tuple[PlotPoint, ...]
    note: str = ""
    diagonal: bool = False

    @property
    def is_curve(self) -> bool:
        """Whether it is a curve."""
        return any(point.across is not None for point in self.points)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of words that a report shows beside a run's numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the first cell names the row
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class View:
    """A table or figure of the paper as reports draw it of all runs.

    A row of marks each, or a plane.
    """

    title: str
    # each has its row; of a plane the first goes across, the second up
    metrics: tuple[str, ...]
    by: str = ""  # breakdown whose groups have rows of their own
    # likewise tasks, with the label of each (a level)
    tasks: Mapping[str, str] = field(default_factory=dict)
    plane: bool = False


@dataclass(frozen=True, kw_only=True)
class PublishedAnswer:
    """An answer in a file as a benchmark's authors write it.

    Attributes:
        item: the item's id, or its question.
        text: what the model replied; None where it did not.
        asked: fields that the item must have with these values, so that an id of
            another release is not mistaken; None fits all.
    """

    item: str
    text: object
    asked: Mapping[str, object] = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How a task's questions are to be worded.

    Attributes:
        prompts: name of the prompt set, `own` or `official`.
        upstream: the authors' checkout, from which `official` prompts are read.
        arguments: those of `TaskSpec.arguments` that the user set.
        exemplars: rows of the split `TaskSpec.exemplars`.
        config: the dataset's configuration, where it is one of
            `Benchmark.asked_otherwise`; else "".
    """

    prompts: str = "own"
    upstream: Path | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    exemplars: Sequence[Row] = ()
    config: str = ""


OWN_PROMPTS: Final = Asking()


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What scoring takes beside the answers.

    Attributes:
        judging: of a task with `TaskSpec.judge`.
        arguments: those of `TaskSpec.scoring_arguments` that the user set.
        readings: of a task with `TaskSpec.reads`, item id to the final answer as a
            person or a judge read it; "" where the reply gives none. Other answers are
            read by the task's own reader.
    """

    judging: Judging | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    readings: Mapping[str, str] | None = None

    @property
    def judge(self) -> Judging:
        """How answers are judged, for a task that cannot be scored without."""
        if self.judging is None:
            raise TypeError("a task with a judge is scored with Scoring(judging=...)")
        return self.judging


PLAIN_SCORING: Final = Scoring()


@dataclass(frozen=True, kw_only=True)
class PersonQuestion:
    """An item as a person is asked it, in a sheet to fill in.

    Attributes:
        question: what is asked, with its choices; "" where the text says it.
        to_read: what is needed to answer, such as a note; "" for nothing.
        choices: what may stand in the answer's cell; () for any text.
    """

    question: str
    to_read: str = ""
    choices: tuple[str, ...] = ()


class Rows(Protocol):
    """How a benchmark's datasets are built, and which items their rows make."""

    @abstractmethod
    def sources(self) -> tuple[DatasetSource, ...]:
        """How each of its datasets is built."""

    @abstractmethod
    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """Makes the items of built rows that belong to a task."""

    def keeps(self, task: TaskSpec, row: Row) -> bool:
        """Whether a row is one of the task's; only asked where `Benchmark.mixed_rows`."""
        return True


class Prompts(Protocol):
    """What a model is asked, and what a right answer to it looks like."""

    @abstractmethod
    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """Makes the prompts of a task.

        Raises:
            UsageError: A name or setting is not allowed.
            MissingError: Something is not there.
        """

    def person_questions(
        self, task: TaskSpec, items: Sequence[Item], asking: Asking = OWN_PROMPTS
    ) -> list[PersonQuestion]:
        """Puts items to a person, who fills in a sheet; by default in a model's prompts."""
        render = self.load_prompts(task, asking).render
        return [
            PersonQuestion(
                question=str(item.fields.get("question", "")),
                to_read="\n\n".join(message["content"] for message in render(item)),
            )
            for item in items
        ]

    @abstractmethod
    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """Writes an item's gold as a model's answer, which scores the maximum."""

    def gold_answer(self, task: TaskSpec, item: Item) -> Answer:
        """An item's gold with what led to it, for a task that scores more than the text."""
        return Answer(text=self.gold_response(task, item))

    @abstractmethod
    def open_protocol(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> MultiStep:
        """Opens the protocol of a task with `TaskSpec.protocol`; errors as `load_prompts`."""


class Scorer(Protocol):
    """From answers to scores."""

    @abstractmethod
    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """Scores answers, one for each item.

        With `Scoring.readings`, scores hold at least the metrics that rest on the
        reader.
        """

    def scoring_identity(
        self, task: TaskSpec, arguments: Mapping[str, str]
    ) -> Mapping[str, object]:
        """Says what decides the metrics that scoring arguments add, for the recipe. JSON values."""
        return {}

    def note_words(self) -> frozenset[str]:
        """The words of `parsed` and `why` that are kept for credentialed data."""
        return frozenset()

    def unanswered_limits(
        self, task: TaskSpec, item: Item
    ) -> Mapping[str, tuple[float, float]]:
        """Smallest and largest value, without an answer, of metrics that lack a limit."""
        return {}


class JudgeTexts(Protocol):
    """The texts that a judge is asked with."""

    @abstractmethod
    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """Loads the texts of a task with a judge; errors as `load_prompts`."""


class Benchmark(Rows, Prompts, Scorer, JudgeTexts, ABC):
    """A benchmark; an entry point registers its one instance (`plugins`).

    A benchmark has the abstract methods of the four parts, and those others that it
    needs; `judges.rubrics` has the class of those with a rubric. They import the
    modules they call when they run, since every command reads all benchmarks:

        def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
            from my_package.data import load_items

            return load_items(task, rows)

    Attributes:
        sometimes_counted: metrics that count only on some items, so that an unanswered
            item may not count at all.
        asked_otherwise: configurations whose questions are worded otherwise than the
            rest; only for these are prompts loaded with `Asking.config`.
        check_set: the set of labelled pairs on which judges of all its tasks are
            checked; by default each dataset has its own.
    """

    name: ClassVar[str]  # what everything calls it; that of its first dataset
    title: ClassVar[str]  # the paper's name for it; likewise
    paper: ClassVar[str]  # link of the paper; likewise
    datasets: ClassVar[tuple[DatasetSpec, ...]]  # what its tasks ask about
    # set when they are made, since each names its benchmark
    tasks: ClassVar[tuple[TaskSpec, ...]]
    # whether a task leaves out rows of its dataset (`keeps`)
    mixed_rows: ClassVar[bool] = False
    sometimes_counted: ClassVar[tuple[str, ...]] = ()
    asked_otherwise: ClassVar[frozenset[str]] = frozenset()
    check_set: ClassVar[str] = ""
    # what `--prompts` takes
    prompt_sets: ClassVar[tuple[str, ...]] = "own", "official"
    position: ClassVar[int] = 1000  # where lists have it: the project's own come first
    # breakdown within which published rows and fresh ones pair (`compare --memory-gap`)
    gap_group: ClassVar[str] = ""
    # what a report draws of its tasks, where they report it
    views: ClassVar[tuple[View, ...]] = ()
    short: ClassVar[str] = ""  # what command-line verbs call it; `name` where empty

    def __init_subclass__(cls) -> None:
        """Names the benchmark, after its first dataset where it has no name of its own."""
        super().__init_subclass__()
        for dataset in getattr(cls, "datasets", ())[:1]:
            cls.name = getattr(cls, "name", dataset.name)
            cls.title = getattr(cls, "title", dataset.title)
            cls.paper = getattr(cls, "paper", dataset.paper)
        cls.short = cls.short or getattr(cls, "name", "")

    def __repr__(self) -> str:
        return f"<benchmark {self.name}>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """Makes the items of built rows that belong to a task; by default one a row.

        Its id is the dataset's key, its groups are the columns that `TaskSpec.groups`
        names, and its cluster is the column `cluster`, where there is one.
        """
        key = self.source(task.dataset).key
        return [
            Item(
                id=str(row[key]),
                fields=row,
                groups={name: _group(row[name]) for name in task.groups},
                cluster=str(row.get("cluster", row[key])),
            )
            for row in rows
        ]

    def asked_with(self, task: TaskSpec, arguments: Mapping[str, str]) -> TaskSpec:
        """The task whose rows make other items, by its `TaskSpec.item_arguments`.

        `load_items` gets what this returns, and so do prompts and scoring. Its name and
        metrics stay.
        """
        return task

    def open_protocol(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> MultiStep:
        """Opens the protocol of a task; needed where one has `TaskSpec.protocol`."""
        raise NotImplementedError(f"{task.name} has no protocol")

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """Loads a judge's texts; needed where a task has `TaskSpec.judge`."""
        raise NotImplementedError(f"{task.name} has no judge")

    def source(self, name: str) -> DatasetSource:
        """How one of its datasets is built."""
        return next(source for source in self.sources() if source.spec.name == name)

    def found_beside(
        self, task: TaskSpec, folder: Path, config: str
    ) -> Mapping[str, str]:
        """Scoring arguments that the built dataset in `folder` brings by itself."""
        return {}

    def lasting_reasons(self) -> Mapping[str, str]:
        """Reasons why an answer stays without a score however often it is scored, and what helps."""
        return {}

    def published_answers(
        self, task: TaskSpec, record: Mapping[str, object]
    ) -> Sequence[PublishedAnswer]:
        """Takes a model's answers out of a record of the authors' own files (`score --responses`).

        Nothing comes of a record of another form. Files with id or example_id beside
        response or output are read without this, and one with a response is never asked
        about.

        Example: K-QA's script reads `{"Question": "Is it safe?", "result": "Yes."}`, of
        which comes `PublishedAnswer(item="Is it safe?", text="Yes.")`.
        """
        return ()

    def baselines(self) -> Mapping[str, Baseline]:
        """Baselines of its own, by name."""
        return {}

    def check_sets(self) -> Mapping[str, CheckSetSource]:
        """Answers that people judged, on which judges can be checked, by the name of `judge-check`."""
        return {}

    def submission_check(
        self, task: TaskSpec, items: Sequence[Item]
    ) -> Callable[[Sequence[object]], list[str]] | None:
        """With a shared task, what says what is wrong with the records of a submission."""
        return None

    def shared_task(self) -> SharedTask | None:
        """The module that knows the form of submissions to its shared task; None without one."""
        return None

    def pairs(self, task: TaskSpec, items: Sequence[Item]) -> Sequence[Pairs]:
        """Pairs of items whose scores are compared, by group; Holm's correction is over all groups.

        Only for items that were asked; a pair without two scores is left out of the
        figures and counted.
        """
        return ()

    def plots(
        self, task: TaskSpec, rows: Sequence[Row], items: Mapping[str, Item]
    ) -> list[Plot]:
        """Plots of a report.

        Args:
            task: the task.
            rows: those of `items.parquet`.
            items: by id; none where the data are not here.
        """
        return []

    def tables(
        self,
        task: TaskSpec,
        entry: ResultEntry,
        items: Sequence[Item],
        found: Mapping[str, str],
    ) -> list[Table]:
        """Tables of a report, of its entry in the results and of what `found_beside` found.

        Of credentialed data there are no items.
        """
        return []

    def eval_fields(self, task: TaskSpec) -> HubTask:
        """What `eval.yaml` says of a task to inspect (`hub_question`).

        Empty if it is not on the Hub.
        """
        return {}


def _group(value: object) -> str | tuple[str, ...]:
    """The group, or groups, of an item, from the cell of its row."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(str(each) for each in value)
    return str(value)


class HubColumns(TypedDict):
    """Which columns of a dataset hold what inspect reads of a row."""

    input: str
    target: str
    metadata: NotRequired[list[str]]
    choices: NotRequired[Sequence[str]]


class HubTask(TypedDict, total=False):
    """A task in a dataset's `eval.yaml`; empty for one that is not on the Hub."""

    field_spec: HubColumns
    solvers: list[Mapping[str, object]]
    scorers: list[Mapping[str, object]]


class HubQuestion(TypedDict):
    """Arguments of `hub_question` that a benchmark declares of a dataset."""

    asked: str
    target: str
    template: str
    metadata: NotRequired[Sequence[str]]


def hub_question(
    asked: str,
    target: str,
    *,
    template: str = "",
    scorer: Mapping[str, object],
    metadata: Sequence[str] = (),
) -> HubTask:
    """Describes a plain question with a plain grade for `Benchmark.eval_fields`.

    The Hub takes only solvers and scorers that inspect has built in. `asked` and
    `target` are columns; `template` has `{prompt}` and columns of `metadata` in braces
    ("" for the column alone); `scorer` is inspect's, by name and arguments.
    """
    fields: HubColumns = {"input": asked, "target": target}
    if metadata:
        fields["metadata"] = list(metadata)

    before: list[Mapping[str, object]] = (
        [{"name": "prompt_template", "args": {"template": template}}]
        if template
        else []
    )
    return {
        "field_spec": fields,
        "solvers": [*before, {"name": "generate"}],
        "scorers": [dict(scorer)],
    }


def texts_sha256(*texts: str) -> str:
    """Hashes texts that are sent to a model, one after the other."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
