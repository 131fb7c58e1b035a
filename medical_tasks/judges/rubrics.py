"""Rubrics: criteria with points, which a judge decides for the reply to a conversation.

The base of benchmarks with a rubric, also in other packages. Such a benchmark derives
from `RubricBenchmark` and names the sources of its rows; the judge's prompts, points,
bounds and figures by tag follow:

    class MyRubric(RubricBenchmark):
        datasets = (DATASET,)
        tags = ("axis:accuracy", "axis:completeness")

        def sources(self) -> tuple[DatasetSource, ...]:
            from my_rubric.data import SOURCES

            return SOURCES

    BENCHMARK = MyRubric()
    MyRubric.tasks = (
        TaskSpec(..., judge=True, metrics=points_metrics(MyRubric.tags)),
    )

Its rows have the columns `CHAT` and `CRITERIA`, and a `reply` that earns all points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypedDict

from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.judges.base import (
    Judge,
    JudgePrompts,
    Pair,
    Question,
    Unscored,
    Verdict,
    verdict_bool,
)
from medical_tasks.judges.judged import count_verdicts, user_message
from medical_tasks.judges.reading import boolean, explanation, object_reader, schema_of
from medical_tasks.judges.rounds import Line, ask_together
from medical_tasks.scoring.reasoning import as_written
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Benchmark,
    Counts,
    Item,
    ItemScore,
    Message,
    MetricSpec,
    PromptSet,
    Scoring,
    TaskSpec,
    Verdicts,
    texts_sha256,
)

if TYPE_CHECKING:
    from medical_tasks.judges.check_figures import CheckPair
    from medical_tasks.judges.check_sets import (
        CheckRequest,
        CheckSet,
        CheckSetSource,
        Mode,
    )

ASK: Final = (
    "Somebody talks with an assistant about health:\n\n{conversation}\n\nLook at the assistant's "
    "last message. Is this true of it? It may be a fault, and is true if the message has the "
    "fault.\n\n{criterion}\n\nReply with a JSON object and nothing else: explanation (a "
    "sentence) and criteria_met (true or false)."
)
"""Our prompt of the judge, used unless the authors' is chosen."""
AGAIN: Final = "That cannot be read ({problem}). Reply with one JSON object: explanation, criteria_met."
FORM: Final = {"explanation": explanation, "criteria_met": boolean}

CHAT: Final = Column(
    name="prompt",
    description="the conversation, which a reply ends",
    dtype="struct",
    repeated=True,
    fields=(
        Column(name="role", description="who says it"),
        Column(name="content", description="what is said"),
    ),
)
CRITERIA: Final = Column(
    name="criteria",
    description="the rubric",
    dtype="struct",
    repeated=True,
    fields=(
        Column(name="text", description="what a reply does"),
        Column(
            name="points",
            description="what it earns; below 0 for a fault",
            dtype="float64",
        ),
        Column(name="tags", description="figures that it counts in", repeated=True),
    ),
)


class Criterion(TypedDict):
    """A line of a rubric."""

    text: str
    points: float
    tags: Sequence[str]


def points_metrics(tags: Iterable[str] = ()) -> tuple[MetricSpec, ...]:
    """The metrics of a rubric: over all criteria, and over those with each tag.

    Example: the metric of `axis:accuracy` is the group `accuracy` of the breakdown
    `axis`.
    """
    whole = MetricSpec(
        name="points",
        kind="mean",
        description="points met over the positive points, cut to 0 to 1",
        limits=(-math.inf, 1.0),
        total=(0.0, 1.0),
        verdict="entailment",
    )
    return (whole, *(_tag_metric(whole, tag) for tag in tags))


def _tag_metric(whole: MetricSpec, tag: str) -> MetricSpec:
    by, _, group = tag.partition(":")
    about = f"the same of criteria with the tag {tag}"
    return replace(
        whole,
        name=tag,
        description=about,
        verdict="",
        part=(by, group),
        whole=whole.name,
    )


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """A criterion, and whether a reply meets it according to people.

    Attributes:
        labels: each person's label; if they are evenly divided, it counts in no
            agreement with the majority.
        group: part of the set with figures of its own; "" for none.
    """

    id: str
    conversation: Sequence[Message]
    reply: str
    criterion: str
    labels: Sequence[bool]
    group: str = ""


class RubricBenchmark(Benchmark):
    """A benchmark whose answers earn the points of the criteria that they meet.

    Attributes:
        tags: the criteria's tags that have a metric of their own (`points_metrics`).
        labels: describes the file of `judge-check NAME --source`, for messages; "" if
            no criteria are labelled (`read_labels`).
    """

    tags: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[str] = ""
    prompt_sets: ClassVar[tuple[str, ...]] = ("own",)

    def __init_subclass__(cls) -> None:
        """Declares that an item may have no criterion of a tag."""
        super().__init_subclass__()
        cls.sometimes_counted = cls.tags

    def conversation(self, item: Item) -> tuple[Message, ...]:
        """The conversation before the reply."""
        return tuple(
            Message(role=message["role"], content=message["content"])
            for message in item.fields[CHAT.name]
        )

    def judge_template(self, upstream: Path | None) -> str:
        """The authors' prompt of the judge, with `{conversation}` and `{criterion}`.

        Override it if `official` is one of the prompt sets.
        """
        raise UsageError(f"{self.name} has no official prompts. Use --prompts own.")

    def read_labels(self, path: Path) -> Iterator[Labelled]:
        """Reads criteria that people labelled; override it if there are `labels`."""
        raise NotImplementedError(f"{self.name} has no labels")

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """The conversation unchanged, with any judge's prompts."""
        return PromptSet(
            name=asking.prompts, sha256=texts_sha256(), render=self.conversation
        )

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """The reply in the row."""
        return str(item.fields["reply"])

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """Loads our prompts, or the authors'."""
        ask = ASK if name == "own" else self.judge_template(upstream)
        return JudgePrompts(
            name=name, sha256=texts_sha256(ask, AGAIN), texts={"ask": ask}
        )

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """Has a judge decide each criterion, and adds up the points."""
        judging = scoring.judge
        lines = [
            self._judged(item, as_written(answer.text), judging.prompts)
            for item, answer in zip(items, answers, strict=True)
        ]
        return ask_together(judging.judge, lines)

    def unanswered_limits(
        self, task: TaskSpec, item: Item
    ) -> Mapping[str, tuple[float, float]]:
        """The least and the most that a missing reply could earn, by metric."""
        unjudged = [
            (criterion, _verdict(criterion, None))
            for criterion in item.fields[CRITERIA.name]
        ]
        limits = {
            name: counts.limits for name, counts in self._counts(unjudged).items()
        }
        return {name: ends for name, ends in limits.items() if not math.isnan(ends[0])}

    def check_sets(self) -> Mapping[str, CheckSetSource]:
        """The labelled criteria, if there are any."""
        from medical_tasks.judges.check_sets import CheckSetSource

        if not self.labels:
            return {}

        source = CheckSetSource(
            read=self._check_set,
            takes=frozenset({"prompts", "upstream"}),
            task=lambda _: self.tasks[0],
            commands={self.name: " --source LABELS.jsonl"},
        )
        return {self.name: source}

    def _judged(self, item: Item, reply: str, prompts: JudgePrompts) -> Line[ItemScore]:
        """Has a judge decide the criteria of one item."""
        criteria: Sequence[Criterion] = item.fields[CRITERIA.name]
        chat = self.conversation(item)
        outcomes = yield [
            question(f"{item.id}/{number}", chat, reply, criterion, prompts)
            for number, criterion in enumerate(criteria)
        ]
        judged = [
            (criterion, _verdict(criterion, outcome))
            for criterion, outcome in zip(criteria, outcomes, strict=True)
        ]
        reasons = [
            outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
        ]

        return ItemScore.counted(
            self._counts(judged), id=item.id, unscored=reasons[0] if reasons else None
        )

    def _counts(
        self, judged: Sequence[tuple[Criterion, Verdicts]]
    ) -> dict[str, Counts]:
        """The verdicts of each metric."""
        verdicts = {"points": tuple(verdict for _, verdict in judged)}
        for tag in self.tags:
            verdicts[tag] = tuple(
                verdict for criterion, verdict in judged if tag in criterion["tags"]
            )

        return {
            name: Counts(how="points", verdicts=own) for name, own in verdicts.items()
        }

    def _check_set(self, request: CheckRequest) -> CheckSet:
        """The labelled criteria as pairs, each about a reply of its own."""
        from medical_tasks.data.dataset_source import file_sha256
        from medical_tasks.judges.check_figures import subset
        from medical_tasks.judges.check_sets import CheckSet
        from medical_tasks.judges.checks import TWO_WAY

        path = request.needed(self.name, self.labels).expanduser()
        prompts = self.load_judge_prompts(
            self.tasks[0], request.prompts, request.upstream
        )
        labelled = list(self.read_labels(path))
        rows = {row.id: row for row in labelled}
        if len(rows) < len(labelled):
            raise UsageError(
                f"{path}: two criteria have the same id. Give each its own."
            )

        people = max(len(row.labels) for row in labelled)
        pairs = subset([_pair(row, people) for row in labelled], request.max_pairs)
        chosen = [rows[pair.id] for pair in pairs]
        met, not_met = TWO_WAY.classes

        def ask(judge: Judge, mode: Mode, backwards: bool) -> list[str | Unscored]:
            outcomes = judge.ask(
                [
                    question(
                        row.id, row.conversation, row.reply, row.criterion, prompts
                    )
                    for row in chosen
                ]
            )
            return [
                outcome
                if isinstance(outcome, Unscored)
                else (met if verdict_bool(outcome) else not_met)
                for outcome in outcomes
            ]

        return CheckSet(
            name=self.name,
            pairs=pairs,
            ask=ask,
            ways=len(TWO_WAY.classes),
            views=(TWO_WAY,),
            source={path.name: file_sha256(path)},
            prompts={"set": prompts.name, "sha256": prompts.sha256},
        )


def _pair(row: Labelled, people: int) -> CheckPair:
    """A labelled criterion, its ratings filled up with None to the number of people."""
    from medical_tasks.judges.check_figures import CheckPair
    from medical_tasks.judges.checks import TWO_WAY
    from medical_tasks.scoring.agreement import majority

    met, not_met = TWO_WAY.classes
    ratings = [met if label else not_met for label in row.labels]
    unrated = [None] * (people - len(ratings))

    return CheckPair(
        id=row.id,
        gold=majority(ratings),
        ratings=(*ratings, *unrated),
        cluster=texts_sha256(*(message["content"] for message in row.conversation)),
        group=row.group,
        words=len(row.reply.split()),
    )


def question(
    name: str,
    conversation: Sequence[Message],
    reply: str,
    criterion: Criterion | str,
    prompts: JudgePrompts,
) -> Question:
    """Asks whether the reply to a conversation meets a criterion.

    The points come before the criterion if they are known: `[-5] Names no dose`. An
    entailment model, which reads no prompt, decides by the reply alone.
    """
    if isinstance(criterion, str):
        text = shown = criterion
    else:
        text = criterion["text"]
        shown = f"[{criterion['points']:g}] {text}"

    chat = (*conversation, Message(role="assistant", content=reply))
    transcript = "\n\n".join(
        f"{message['role']}: {message['content']}" for message in chat
    )
    values = {"conversation": transcript, "criterion": shown}

    return Question(
        id=name,
        messages=user_message(prompts.texts["ask"], values),
        template=prompts.sha256,
        read=object_reader(FORM, lambda reply: reply["criteria_met"]),
        again=AGAIN,
        pair=Pair(premise=reply, hypothesis=text),
        schema=schema_of(FORM),
    )


def _verdict(criterion: Criterion, outcome: Verdict | Unscored | None) -> Verdicts:
    """A judge's verdict on a criterion, with its sign and weight; None for a missing one."""
    met = verdict_bool(outcome) if isinstance(outcome, Verdict) else None
    kind = "plus" if criterion["points"] > 0 else "minus"
    return count_verdicts([met], kind, weight=criterion["points"])
