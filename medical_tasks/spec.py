"""The contract of a benchmark: its declarations, and its methods (`Benchmark`).

The manifest (`tasks.json`), the cards, `medical-tasks list` and the tables of harnesses
are generated from these objects. Generic code calls them and never imports a benchmark.
This module imports nothing slow: the command line reads every spec at startup.
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
# The prefix of the reason why an item without an answer is unscored.
UNANSWERED: Final = "no answer: "
PARTNER_UNCLEAR: Final = "a reply that it is compared with is unclear"
"""The reason for an undecided item whose own answer is clear, so that nobody needs to read it."""
_NONE: Mapping[str, Never] = {}  # shared by all items without entries

Row: TypeAlias = Mapping[str, Any]
"""A row of a dataset, by column name."""


ResultEntry: TypeAlias = Mapping[str, Any]
"""A task's entry in `results.json`."""


class ToolCall(TypedDict):
    """A model's request to run a tool.

    Attributes:
        id: the id that the message with the result refers to.
        name: the tool's name as the model wrote it; it may not be one that was offered.
        arguments: the arguments of the call; empty if they were no JSON object.
        raw: the model's text in that case.

    Example:
        {"id": "call_1", "name": "body_mass_index", "arguments": {"weight_kg": 70, "height_cm": 175}}
    """

    id: str
    name: str
    arguments: Mapping[str, object]
    raw: NotRequired[str]


class Message(TypedDict):
    """One chat message, in the form of every chat API.

    Attributes:
        role: the author; `tool` is the result of a call.
        content: its text, which may be empty if there are calls.
        tool_calls: for the assistant, the tools that it requests.
        tool_call_id: for a tool, the call with this result.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: NotRequired[Sequence[ToolCall]]
    tool_call_id: NotRequired[str]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that is offered to a model.

    Attributes:
        name: letters, digits, `_` and `-`, at most 64.
        description: its description for the model.
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
        """The hash of everything the model sees of it."""
        return texts_sha256(
            self.name, self.description, json.dumps(self.parameters, sort_keys=True)
        )


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """A dataset and its official source."""

    name: str  # folder under `dataset_builders/` and argument of `medical-tasks build`
    title: str  # the usual name
    access: Access  # `open`, or `credentialed` if the text of the source must not leave the machine
    licence: str  # SPDX-like id of the data's licence
    homepage: str  # where the official files and their terms are
    paper: str  # link to the paper that describes it
    citation: str  # BibTeX entry
    # configuration names, always including the synthetic `demo`
    configs: tuple[str, ...]
    default_config: str  # the configuration `run` uses if several are built
    # the steps to get the official files, one a line, for error messages and `list`
    how_to_get: tuple[str, ...]
    version: str  # version of the built form; changes if the same source would give other rows


@dataclass(frozen=True, kw_only=True)
class Official:
    """How the authors' script treats missing answers and values.

    Attributes:
        unanswered: an item without an answer is `left out` (their file has no row for
            it), `counts as 0` (they divide by all questions; for a `mean` only), or
            `ends` the script, so that there is no figure.
        undecided: the reason why there is no figure if an answer has no value, for
            readers: what in an answer stops the script, or that a judge's reply is
            missing. "" if every answer has a value.
    """

    unanswered: Literal["left out", "counts as 0", "ends"] = "left out"
    undecided: str = ""


JUDGE_REPLY_MISSING: Final = "a judge's reply is missing"
"""`Official.undecided` of a judged metric."""


@dataclass(frozen=True, kw_only=True)
class PaperSetting:
    """How a paper ran a task; a run must match it before their figures can be compared.

    Attributes:
        items: the least number of items of the paper's figure.
        configs: configurations of the dataset with the paper's items.
        prompts: how the model was prompted: with the authors' published prompts
            (`--prompts official`); the `same` as here, whatever the option; or in `any`
            way, if each system has its own prompts (a shared task).
        judges: names of the judge models in the paper; none for a task without a judge.
            Judges that read prompts were given the authors'.
        votes: the least number of replies for a verdict of the paper.
        differs: what no run of this suite can match; "" if a run can match the paper.
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
            interval), `ratio` (pooled: the sum of all items' numerators over the sum of
            their denominators, `ItemScore.weights`; score interval), or `average` (the
            mean of the totals of those of its metrics, `of`, that are reported; items
            have no value).
        limits: the smallest and largest value of an item, for the bounds; infinite if
            there is none.
        total: the range to which the figure of all items, its interval and its bounds
            are clipped; None for no clipping. HealthBench's mean of points, which may be
            negative for an item, is clipped to (0, 1). Comparisons use the means before
            clipping.
        unit: "" for a share, which tables show in percent; otherwise `number` for a
            count, `per answer` for a count per answer, `cosine`, or `score` for any
            other scale.
        needs: the argument (`TaskSpec.arguments` or `scoring_arguments`) without which
            the metric is not reported; "" for none.
        not_by: breakdowns without this metric, because it compares items of several
            groups.
        part: for a metric of one part of each item, such as a section of a note, the
            breakdown and group that report it: `("section", "subjective")`. There it is
            named `whole`.
        verdict: for `--calibration`, the class of verdicts that the metric is a share
            of; `several` for a count of several classes.
        official: for a figure of the authors' script, how that script treats missing
            values; None for all others, whose missing verdicts are estimated. An
            official `average` needs all of its metrics.
        read: whether it depends on the task's parser of answers, so that an unclear
            answer leaves it undecided.
        if_right: for such a metric, whether it counts only for answers that are right,
            or that select a choice: nan for all others, and an unclear one may count.
    """

    name: str  # key in `results.json`
    kind: MetricKind
    description: str  # one line, for cards and the manifest
    higher_is_better: bool = True  # direction, for leaderboards
    limits: tuple[float, float] = (0.0, 1.0)
    total: tuple[float, float] | None = None
    unit: str = ""
    judged: bool = True  # whether it depends on a judge, in a task that has one
    needs: str = ""
    not_by: tuple[str, ...] = ()
    of: tuple[str, ...] = ()  # the metrics of an `average`
    part: tuple[()] | tuple[str, str] = ()
    whole: str = ""  # the corresponding metric of the whole item; "" if `part` is empty
    verdict: str = ""
    official: Official | None = None
    read: bool = False
    if_right: bool = False

    @property
    def best(self) -> float:
        """The best value of an item."""
        return self.limits[1] if self.higher_is_better else self.limits[0]

    @property
    def worst(self) -> float:
        """The value of a wrong answer."""
        return self.limits[0] if self.higher_is_better else self.limits[1]


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task of a benchmark: a dataset, its prompts, and the metrics of the answers.

    Attributes:
        asks: `text` if the model writes its answer; `choices` if only the probability of
            each choice is requested, and the answer is a `models.base.ChoiceScores`
            written as text.
        judging: `single` (one call per statement) or `batched` (one call for all
            statements of an answer), unless the user selects another mode.
        options: settings of the benchmark's own functions (prompt style and the like).
        arguments: settings of this task's questions for the user (`--task-args`), name
            to one line of description.
        item_arguments: those of them that determine the items of a row
            (`Benchmark.asked_with`). lighteval and inspect do not support them.
        scoring_arguments: the same for its scoring.
        exemplars: the split from which worked examples are drawn; "" if the questions
            show none from the dataset.
        baseline: the benchmark's own baseline that answers the task, if no model is
            queried; "" for all others.
        protocol: the name of the task's protocol (`open_protocol`); "" for a single
            question.
        roles: other models of the protocol, such as a simulated patient: name to one
            line of description. The user selects the model (`--role NAME=MODEL`).
        tools: whether tools are offered to the model (`PromptSet.tools`, `Ask.tools`).
        reads: for a task whose parser of answers may be uncertain, one line on what a
            person should write down from an answer; "" for all others. Metrics that
            depend on the parser have `MetricSpec.read`.
        paper: how the paper ran it; None if no paper has the task.
    """

    name: str  # bare name (`medcalc`); the harness name is `medical:<name>`
    title: str  # one line for `list`
    benchmark: Benchmark  # the benchmark of the task
    dataset: str  # name of its `DatasetSpec`
    split: str  # split that is evaluated, or splits with `+` between
    metrics: tuple[MetricSpec, ...]  # the reported metrics, the headline first
    version: str  # `N-X`: `N` changes if scores are no longer comparable, `X` with the interface
    generation_size: int  # the longest answer, in tokens
    groups: tuple[str, ...] = ()  # names of the items' breakdowns
    # those of `groups` by which a random sample is stratified, the coarsest first
    strata: tuple[str, ...] = ()
    # group name whose members are not independent (same note, same patient), or None
    cluster: str | None = None
    drawn_whole: bool = False  # whether samples draw whole clusters, for scores that compare their items
    stop: tuple[str, ...] = ()  # stop sequences
    asks: Literal["text", "choices"] = "text"
    items_a_row: int = 1  # the number of items for each row of the dataset
    judge: bool = False  # whether scoring needs a judge model
    # votes of a judge that samples, unless the user sets another number
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
        """The name in lighteval's form, `superset:task`."""
        return f"medical:{self.name}"

    @property
    def outside_lighteval(self) -> str:
        """Why lighteval, which asks one question per item, cannot run the task; "" if it can."""
        if self.baseline:
            return "no model is asked for this task"
        if self.tools:
            return "lighteval offers a model no tools"
        if self.protocol:
            return "lighteval asks one question an item, and this task continues after the first answer"
        return ""

    def asked_with(self, arguments: Mapping[str, str]) -> TaskSpec:
        """Returns the task with those settings that determine its items."""
        own = {
            name: value
            for name, value in arguments.items()
            if name in self.item_arguments
        }
        return self.benchmark.asked_with(self, own) if own else self

    def scoring_args(self, arguments: Mapping[str, str]) -> dict[str, str]:
        """Selects the settings of its scoring."""
        return {
            name: value
            for name, value in arguments.items()
            if name in self.scoring_arguments
        }

    def needs_official_prompts(self, metric: MetricSpec) -> bool:
        """Whether a metric is the authors' own, decided by a judge with the authors' prompts."""
        return self.judge and metric.judged and metric.official is not None

    def reporting(
        self, arguments: Container[str], *, official: bool = False
    ) -> TaskSpec:
        """Returns the task with the metrics that a run reports.

        Metrics are left out that need a setting which is not in `arguments`, or a judge
        with the authors' prompts (unless `official`).
        """
        metrics = tuple(
            metric
            for metric in self.metrics
            if (not metric.needs or metric.needs in arguments)
            and (official or not self.needs_official_prompts(metric))
        )
        return self if metrics == self.metrics else replace(self, metrics=metrics)

    def unjudged(self) -> TaskSpec:
        """Returns the task with the metrics that need no judge."""
        metrics = tuple(metric for metric in self.metrics if not metric.judged)
        return replace(self, metrics=metrics) if self.judge else self


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One question of a task.

    Attributes:
        groups: breakdown name to this item's group, or groups, for each of
            `TaskSpec.groups`.
        asking: the number of the repeat, if another item has exactly the same question.
            Items with the same question share an answer, but an item with 2 is asked
            again, to check whether a model repeats its answer.
    """

    id: str  # stable id from upstream, never a row position of ours
    fields: Row  # the data for prompts and scoring, by the dataset's column names
    groups: Mapping[str, str | tuple[str, ...]]
    # id of the note, patient or answer that it shares with others, or else its own id
    cluster: str
    asking: int = 1


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Items of a group, paired with items of a reference group.

    A benchmark whose items are in pairs that differ in one respect declares them
    (`Benchmark.pairs`); the difference of each group's headline metric, its interval and
    its test are then part of the results.

    Attributes:
        by: the property that defines the groups, such as `language`.
        group: the tested group.
        reference: the group that it is compared with.
        items: ids of an item of the group and of its partner in the reference group.

    Example: notes of two patients, each also with another first language:

        Pairs(by="language", group="Spanish", reference="English", items=(("1s", "1"), ("2s", "2")))
    """

    by: str
    group: str
    reference: str
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Example:
    """The worked example in an item's question."""

    reply: str  # the reply in the example
    shown: tuple[str, ...]  # its own texts (note and question)
    asked: tuple[str, ...]  # the same texts of the item

    @property
    def leaks(self) -> bool:
        """Whether it is the item itself, up to white space: the question contains its own answer."""
        return [text.split() for text in self.shown] == [
            text.split() for text in self.asked
        ]


@dataclass(frozen=True, kw_only=True)
class PromptSet:
    """The prompts of a task's questions.

    Attributes:
        settings: what else determines the questions (retrieval, hashes of documents);
            part of the recipe. JSON values.
        sources: returns what a question contains besides the item itself (retrieved
            chunks), for `items.parquet`; None for nothing.
        continuations: for a task that asks `choices`, the texts that may follow the
            chat, in the order of the item's choices; the probability of each is
            requested from the model.
        shorten: for a task whose items may exceed a model's context, returns the item
            without the given number of words of its documents, the oldest first, and
            otherwise unchanged. It accepts any number from 0 and removes at most all
            words.
        example: the worked example in an item's question, for a task with examples.
        tools: the tools offered with an item's first question; a protocol offers them
            with later ones (`Ask.tools`). `settings` includes what determines them.
    """

    name: str  # `own`, or `official` if the authors' files are used
    sha256: str  # hash of every text in the questions besides the item's own; part of the recipe
    render: Callable[[Item], tuple[Message, ...]]  # renders the chat for one item
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: Callable[[Item], tuple[str, ...]] | None = None
    continuations: Callable[[Item], tuple[str, ...]] | None = None
    shorten: Callable[[Item, int], Item] | None = None
    example: Callable[[Item], Example] | None = None
    tools: Callable[[Item], tuple[Tool, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """A judge's verdicts of one kind on one answer, as summed by a metric.

    Attributes:
        kind: their kind, from general to specific (`subjective`,
            `subjective/entailed`). Missing verdicts are estimated from known ones of
            the same kind and of its sub-kinds.

    Example: five statements must be in an answer. By the judge two are in it and one is
    not; its replies on the other two could not be parsed:

        Verdicts(kind="must_have", hits=2, known=3, missing=2)

    For an empty answer the judge is not queried: `Verdicts(unasked=5)`.
    """

    kind: str = ""
    hits: float = 0  # known verdicts that count
    known: int = 0  # known verdicts
    missing: int = 0  # missing verdicts; each may be a hit or not
    # no hits, known without a judge; they count, but missing verdicts are not estimated
    # from them
    unasked: int = 0
    more: int = 0  # the most items of a list that could not be produced
    weight: float = 1.0  # the contribution of a hit
    # known verdicts by class, for a judge with several classes
    classes: Mapping[str, int] = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Converts a judge's verdicts to a metric's value and its limits on one answer.

    Attributes:
        how: `share` of hits; `count` of hits; `any`: 1 with at least one hit; or
            `points`: the sum of the weights of hits over the sum of the positive
            weights, for rubrics with points for required statements and negative points
            for forbidden ones.
        told: False if a judge's labels lack a verdict ("contradicted"), so that known
            verdicts give no information on missing ones.

    Example: two of the five statements of `Verdicts` hold and two have no verdict. As a
    `share` the value is between 2/5 and 4/5, as a `count` between 2 and 4. As `any` it
    is 1 whatever the missing verdicts are: the item is decided.
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
        """The number of known verdicts."""
        return sum(group.known for group in self.verdicts)

    @property
    def of(self) -> float:
        """The largest denominator of a share, or the denominator of points."""
        return math.fsum(
            group.weight * (group.known + group.missing + group.unasked + group.more)
            for group in self.verdicts
            if self.how != "points" or group.weight > 0
        )

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and largest value: equal if it is decided, both nan for an empty share.

        Each missing verdict may be a hit; a hit with a negative weight lowers the value.

        Example: 5 points for advice in the answer, 3 for advice without a verdict, -4
        for a mistake without a verdict: from 1/8 to 8/8.
        """
        low = math.fsum(
            group.weight * group.hits
            + min(group.weight, 0.0) * (group.missing + group.more)
            for group in self.verdicts
        )
        high = math.fsum(
            group.weight * group.hits
            + max(group.weight, 0.0) * (group.missing + group.more)
            for group in self.verdicts
        )
        if self.is_share:
            return (low / self.of, high / self.of) if self.of else (math.nan, math.nan)

        return (low, high) if self.how == "count" else (min(low, 1.0), min(high, 1.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Probabilities:
    """A model's probability of each choice of a question, for a task that asks `choices`.

    Attributes:
        shares: one per choice, adding up to 1, from the same sums by which the headline
            metric selects a choice.
        right: the index of the right choice.
    """

    shares: tuple[float, ...]
    right: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemScore:
    """The score of one answered item.

    Attributes:
        values: metric name to value; `nan` if the metric has no denominator for this
            item. An undecided metric is absent, and `unscored` has the reason.
        unscored: None, or why a metric is undecided (never a verdict on the model).
        unclear: "", or why the answer could not be parsed. The answer counts as wrong,
            and `limits` has its possible values, from `unclear_limits`.
        limits: the smallest and largest value of absent metrics, and for an unclear
            answer those that depend on the parser; for a pooled share they may be
            outside the metric's limits, if its denominator is undecided as well.
        weights: the denominator of each `ratio` metric for this item; for an absent one
            the largest possible, `inf` (or no entry) if unknown.
        notes: remarks on this answer, each a word, optionally with details after a
            colon; `results.json` counts the words.
        counts: for each judged metric, decided or not, its verdicts; none for answers
            decided without a judge (empty ones).
        probabilities: for a task that asks `choices`; None if a server does not return
            all of them.
        confidence: the model's own probability that the answer is right, from 0 to 1:
            the largest of `probabilities`, or the stated one. None if unknown. Scorers
            omit it.

    Example: a right answer, an unclear one, and one without a judge's verdict:

        ItemScore(id="1", values={"accuracy": 1.0}, parsed="24.7")
        ItemScore(id="2", values={"accuracy": 0.0}, unclear="two values", limits={"accuracy": (0, 1)})
        ItemScore(id="3", values={}, unscored="judge: no verdict", limits={"accuracy": (0, 1)})
    """

    id: str  # the item's id
    values: Mapping[str, float]
    parsed: str = (
        ""  # the parsed final answer, for a person to check; "" if none was found
    )
    why: str = ""  # one line that explains the decision
    unscored: str | None = None
    unclear: str = ""
    limits: Mapping[str, tuple[float, float]] = field(default_factory=lambda: _NONE)
    weights: Mapping[str, float] = field(default_factory=lambda: _NONE)
    notes: tuple[str, ...] = ()
    counts: Mapping[str, Counts] = field(default_factory=lambda: _NONE)
    probabilities: Probabilities | None = None
    confidence: float | None = None

    def could_be(self, metric: str) -> tuple[float, float]:
        """Returns the smallest and largest value of a decided metric: its value, unless unclear.

        Both are nan if the metric does not count for this item, whatever the answer.
        """
        value = self.values.get(metric, math.nan)
        if not self.unclear or metric not in self.limits:
            return value, value
        low, high = self.limits[metric]
        return (low, high) if math.isnan(value) else (min(low, value), max(high, value))

    def weight(self, metric: MetricSpec) -> float:
        """Returns the denominator of the item in a metric, even if it is undecided."""
        return self.weights.get(metric.name, 0.0) if metric.kind == "ratio" else 1.0

    @classmethod
    def counted(
        cls,
        counts: Mapping[str, Counts],
        *,
        id: str,  # noqa: A002 - its name here
        **named: Any,
    ) -> ItemScore:
        """Builds a score from a judge's verdicts.

        Values and limits in `named` take precedence over those from the verdicts.
        """
        values, limits = dict(named.pop("values", {})), dict(named.pop("limits", {}))
        for name, metric_counts in counts.items():
            if name not in values and name not in limits:
                low, high = metric_counts.limits
                # Without a denominator both limits are nan, which is not equal to itself.
                if low == high or math.isnan(low):
                    values[name] = low
                else:
                    limits[name] = (low, high)

        return cls(id=id, values=values, limits=limits, counts=counts, **named)


def unclear_limits(
    metrics: Sequence[MetricSpec], values: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Returns the limits of an answer that could not be parsed: it counts as wrong but may be right.

    Example: `accuracy` depends on the parser, `accuracy_official` does not, and
    `accuracy_agreed` does not count for this item.

        values = {"accuracy": 0.0, "accuracy_official": 1.0, "accuracy_agreed": nan}
        unclear_limits(metrics, values) == {"accuracy": (0.0, 1.0)}
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
    """A model's answer to one item, for a scorer.

    Attributes:
        text: the final answer.
        conversation: all messages, the final answer last; empty if only texts are known,
            such as those of a file.
        finish: why the model ended its last reply (`stop`, `length`); "" if unknown.
        prompt_tokens: the number of input tokens of all its replies; None if unknown.
        output_tokens: the number of output tokens, including reasoning; None if unknown.
        reasoning: the reasoning before the final answer, if it is separate.
        reasoning_tokens: the number of output tokens of reasoning; None if unknown.
        cached_tokens: the number of input tokens from the provider's cache; None if
            unknown.
        provider: the provider of the final answer, if a router names it.
        served_model: the model that the provider names, possibly with a date.
        tool_calls: the tools that the last reply requests; those of earlier replies are
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
    """An item and the dialogue about it so far.

    Attributes:
        item: the item.
        opening: the first question, as rendered by the task's prompts.
        answers: the replies of the model under test, the latest last; never empty.
        replies: the replies of the other models by role (`TaskSpec.roles`), the latest
            last.
        calls: the tools that each of the `answers` requests, in the same order; for
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
        messages: a complete chat, which ends with a message of the user, of a tool, or
            of the queried model for it to continue. A model of another role sees the
            chat from its own side: its own messages are those of the assistant.
        role: the queried model: "" for the model under test, or one of
            `TaskSpec.roles`.
        tools: the tools that the model may call.
    """

    messages: tuple[Message, ...]
    role: str = ""
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True)
class Done:
    """The end of a dialogue.

    Attributes:
        text: the final answer, which is scored.
        conversation: the complete dialogue for scorers; by default the last chat of the
            model under test, with its reply.
    """

    text: str
    conversation: tuple[Message, ...] = ()


Turn: TypeAlias = Ask | Done


class Records(Protocol):
    """A store of finished work between runs, such as `store.Store`."""

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Reads the existing records."""

    def put(self, kind: str, key: str, payload: Mapping[str, object]) -> None:
        """Stores one record."""


class MultiStep(Protocol):
    """A task's protocol.

    Attributes:
        identity: its settings that affect the final answers (limits, versions); part of
            the recipe. JSON values.
    """

    identity: Mapping[str, object]

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Returns the next turn of each dialogue.

        It must be deterministic for the same dialogues and records, and end every
        dialogue.
        """


@dataclass(frozen=True)
class Baseline:
    """A baseline of a benchmark, run as `--model baseline/NAME`.

    Attributes:
        respond: answers a task's items, with the task's arguments.
        identity: returns what determines the answers; part of the recipe. JSON values.
    """

    respond: Callable[[TaskSpec, Sequence[Item], Mapping[str, str]], list[str]]
    identity: Callable[[TaskSpec, Mapping[str, str]], Mapping[str, object]]


@dataclass(frozen=True, kw_only=True)
class PlotPoint:
    """A point of a plot with its 95 % interval."""

    label: str  # its label
    # a share, or else in the metric's unit; None if it cannot be computed
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None  # the number of observations
    published: bool = False  # whether it is from a paper, which has its own mark
    few: bool = False  # whether there are too few items
    detail: str = ""  # shown on hover and in the description
    across: float | None = (
        None  # of a curve, where it stands from left to right; a share
    )


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A plot in a report: one row per point, or a curve of points with `across`.

    Attributes:
        diagonal: for a curve, whether to draw the line of equal shares.
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
    """A table in a report, next to a run's numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the first cell names the row
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class View:
    """A table or figure of the paper that reports draw for all runs: rows of marks, or a plane."""

    title: str
    # one row each; for a plane, the horizontal and the vertical axis
    metrics: tuple[str, ...]
    by: str = ""  # breakdown whose groups have their own rows
    # tasks with their own rows, and the label of each (a level)
    tasks: Mapping[str, str] = field(default_factory=dict)
    plane: bool = False


@dataclass(frozen=True, kw_only=True)
class PublishedAnswer:
    """An answer in a file of a benchmark's authors.

    Attributes:
        item: the item's id, or its question.
        text: the model's reply; None if there is none.
        asked: fields of the item that must have these values, to detect ids from another
            release; None matches any value.
    """

    item: str
    text: object
    asked: Mapping[str, object] = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, kw_only=True)
class Asking:
    """The settings of a task's prompts.

    Attributes:
        prompts: the name of the prompt set, `own` or `official`.
        upstream: the checkout of the authors' repository with the `official` prompts.
        arguments: those of `TaskSpec.arguments` that the user set.
        exemplars: rows of the split `TaskSpec.exemplars`.
        config: the dataset's configuration if it is one of `Benchmark.asked_otherwise`,
            otherwise "".
    """

    prompts: str = "own"
    upstream: Path | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    exemplars: Sequence[Row] = ()
    config: str = ""


OWN_PROMPTS: Final = Asking()


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """The settings of scoring, besides the answers.

    Attributes:
        judging: the judge, for a task with `TaskSpec.judge`.
        arguments: those of `TaskSpec.scoring_arguments` that the user set.
        readings: for a task with `TaskSpec.reads`, item id to the final answer as read
            by a person or a judge; "" if the reply gives none. Other answers are parsed
            by the task.
    """

    judging: Judging | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    readings: Mapping[str, str] | None = None

    @property
    def judge(self) -> Judging:
        """The judge, for a task that cannot be scored without one."""
        if self.judging is None:
            raise TypeError("a task with a judge is scored with Scoring(judging=...)")
        return self.judging


PLAIN_SCORING: Final = Scoring()


@dataclass(frozen=True, kw_only=True)
class PersonQuestion:
    """An item in a sheet for people's answers.

    Attributes:
        question: the question with its choices; "" if the text contains it.
        to_read: the material to answer it, such as a note; "" for none.
        choices: the allowed answers; () for any text.
    """

    question: str
    to_read: str = ""
    choices: tuple[str, ...] = ()


class Rows(Protocol):
    """How a benchmark's datasets are built, and the items of their rows."""

    @abstractmethod
    def sources(self) -> tuple[DatasetSource, ...]:
        """Returns how each of its datasets is built."""

    @abstractmethod
    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """Returns the items of built rows that belong to a task."""

    def keeps(self, task: TaskSpec, row: Row) -> bool:
        """Whether a row belongs to the task; only called with `Benchmark.mixed_rows`."""
        return True


class Prompts(Protocol):
    """The prompts for a model, and the gold answers."""

    @abstractmethod
    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """Loads the prompts of a task.

        Raises:
            UsageError: A name or setting is not allowed.
            MissingError: A required file is missing.
        """

    def person_questions(
        self, task: TaskSpec, items: Sequence[Item], asking: Asking = OWN_PROMPTS
    ) -> list[PersonQuestion]:
        """Returns the items as questions for a person; by default the prompts for a model."""
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
        """Writes an item's gold as a model's answer, which must have the maximum score."""

    def gold_answer(self, task: TaskSpec, item: Item) -> Answer:
        """Returns an item's gold as an `Answer`, for a task that scores more than its text."""
        return Answer(text=self.gold_response(task, item))

    @abstractmethod
    def open_protocol(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> MultiStep:
        """Opens the protocol of a task with `TaskSpec.protocol`; raises like `load_prompts`."""


class Scorer(Protocol):
    """Scores answers."""

    @abstractmethod
    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """Scores answers, one per item.

        With `Scoring.readings`, scores must have at least the metrics that depend on the
        parser.
        """

    def scoring_identity(
        self, task: TaskSpec, arguments: Mapping[str, str]
    ) -> Mapping[str, object]:
        """Returns what determines the metrics of scoring arguments, for the recipe. JSON values."""
        return {}

    def note_words(self) -> frozenset[str]:
        """Returns the words of `parsed` and `why` that may be stored for credentialed data."""
        return frozenset()

    def unanswered_limits(
        self, task: TaskSpec, item: Item
    ) -> Mapping[str, tuple[float, float]]:
        """Returns the smallest and largest value without an answer, for metrics without limits."""
        return {}


class JudgeTexts(Protocol):
    """The prompts for a judge."""

    @abstractmethod
    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """Loads the prompts of a task with a judge; raises like `load_prompts`."""


class Benchmark(Rows, Prompts, Scorer, JudgeTexts, ABC):
    """A benchmark; an entry point registers its only instance (`plugins`).

    A benchmark implements the abstract methods of the four base classes, and others as
    needed; `judges.rubrics` has a class for benchmarks with rubrics. Methods import their
    modules when they run, since every command loads all benchmarks:

        def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
            from my_package.data import load_items

            return load_items(task, rows)

    Attributes:
        sometimes_counted: metrics that count only for some items, so that an unanswered
            item may not count at all.
        asked_otherwise: configurations whose prompts differ from the rest; only for
            these are prompts loaded with `Asking.config`.
        check_set: the set of labelled pairs for checking judges of all its tasks; by
            default each dataset has its own.
    """

    name: ClassVar[str]  # its name; by default that of its first dataset
    title: ClassVar[str]  # the paper's name for it; likewise
    paper: ClassVar[str]  # link to the paper; likewise
    datasets: ClassVar[tuple[DatasetSpec, ...]]  # the datasets of its tasks
    # assigned after the class, since each task refers to its benchmark
    tasks: ClassVar[tuple[TaskSpec, ...]]
    # whether a task excludes rows of its dataset (`keeps`)
    mixed_rows: ClassVar[bool] = False
    sometimes_counted: ClassVar[tuple[str, ...]] = ()
    asked_otherwise: ClassVar[frozenset[str]] = frozenset()
    check_set: ClassVar[str] = ""
    # the values of `--prompts`
    prompt_sets: ClassVar[tuple[str, ...]] = "own", "official"
    position: ClassVar[int] = 1000  # its position in lists: the project's own are first
    # breakdown within which published and fresh rows are paired (`compare --memory-gap`)
    gap_group: ClassVar[str] = ""
    # figures that a report draws for its tasks, if they report the metrics
    views: ClassVar[tuple[View, ...]] = ()
    short: ClassVar[str] = ""  # its name in commands; `name` if empty

    def __init_subclass__(cls) -> None:
        """Names the benchmark, by default after its first dataset."""
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
        """Returns the items of built rows that belong to a task; by default one per row.

        The id is the dataset's key, the groups are the columns in `TaskSpec.groups`, and
        the cluster is the column `cluster`, if there is one.
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
        """Returns the task with other items for its rows, by its `TaskSpec.item_arguments`.

        `load_items`, prompts and scoring receive this task. Its name and metrics must not
        change.
        """
        return task

    def open_protocol(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> MultiStep:
        """Opens the protocol of a task; required if one has `TaskSpec.protocol`."""
        raise NotImplementedError(f"{task.name} has no protocol")

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """Loads a judge's prompts; required if a task has `TaskSpec.judge`."""
        raise NotImplementedError(f"{task.name} has no judge")

    def source(self, name: str) -> DatasetSource:
        """Returns how one of its datasets is built."""
        return next(source for source in self.sources() if source.spec.name == name)

    def found_beside(
        self, task: TaskSpec, folder: Path, config: str
    ) -> Mapping[str, str]:
        """Returns scoring arguments from the built dataset in `folder`."""
        return {}

    def lasting_reasons(self) -> Mapping[str, str]:
        """Returns reasons for a missing score that repeating does not resolve, and what helps."""
        return {}

    def published_answers(
        self, task: TaskSpec, record: Mapping[str, object]
    ) -> Sequence[PublishedAnswer]:
        """Extracts a model's answers from a record of the authors' own files (`score --responses`).

        A record in another form has none. Files with id or example_id and response or
        output are read without this method, which is never called for a record with a
        response.

        Example: K-QA's script reads `{"Question": "Is it safe?", "result": "Yes."}`, which
        gives `PublishedAnswer(item="Is it safe?", text="Yes.")`.
        """
        return ()

    def baselines(self) -> Mapping[str, Baseline]:
        """Returns its own baselines, by name."""
        return {}

    def check_sets(self) -> Mapping[str, CheckSetSource]:
        """Returns sets of answers with people's labels to check judges, by name in `judge-check`."""
        return {}

    def submission_check(
        self, task: TaskSpec, items: Sequence[Item]
    ) -> Callable[[Sequence[object]], list[str]] | None:
        """Returns the check for problems in the records of a submission to a shared task."""
        return None

    def shared_task(self) -> SharedTask | None:
        """Returns the format of submissions to its shared task; None without one."""
        return None

    def pairs(self, task: TaskSpec, items: Sequence[Item]) -> Sequence[Pairs]:
        """Returns pairs of items to compare, by group; Holm's correction is over all groups.

        Only for items of the run; a pair without two scores is left out and counted.
        """
        return ()

    def plots(
        self, task: TaskSpec, rows: Sequence[Row], items: Mapping[str, Item]
    ) -> list[Plot]:
        """Returns plots for a report.

        Args:
            task: the task.
            rows: the rows of `items.parquet`.
            items: the items by id; none if the data are not available.
        """
        return []

    def tables(
        self,
        task: TaskSpec,
        entry: ResultEntry,
        items: Sequence[Item],
        found: Mapping[str, str],
    ) -> list[Table]:
        """Returns tables for a report from its entry in the results, and from `found_beside`.

        For credentialed data there are no items.
        """
        return []

    def eval_fields(self, task: TaskSpec) -> HubTask:
        """Returns a task's fields in `eval.yaml` for inspect (`hub_question`).

        Empty if it is not on the Hub.
        """
        return {}


def _group(value: object) -> str | tuple[str, ...]:
    """Returns the group or groups of an item from the cell of its row."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(str(group) for group in value)
    return str(value)


class HubColumns(TypedDict):
    """The columns of a dataset that inspect reads."""

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
    """Arguments of `hub_question` that a benchmark declares for a dataset."""

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

    The Hub supports only solvers and scorers that are built into inspect. `asked` and
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
    """Hashes the texts that are sent to a model, in order."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
