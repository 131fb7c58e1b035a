"""Rubrics: criteria with points, each decided by a judge on a conversation and the reply.

What benchmarks with a rubric have in common, those of other packages too. Such a
benchmark derives from `RubricBenchmark` and says where its rows come from; what a judge
is asked, points, bounds and figures by tag follow:

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

Its rows have the columns `CHAT` and `CRITERIA`, and `reply`, which earns all points.
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
"""What a judge is asked, if it is not asked with the authors' text."""
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
    """The figures of a rubric: of all criteria, and of those with each tag.

    Example: that of `axis:accuracy` is the group `accuracy` of the breakdown `axis`.
    """
    whole = MetricSpec(
        name="points",
        kind="mean",
        description="points met over the positive points, cut to 0 to 1",
        limits=(-math.inf, 1.0),
        total=(0.0, 1.0),
        verdict="entailment",
    )
    return (whole, *(_part(whole, tag) for tag in tags))


def _part(whole: MetricSpec, tag: str) -> MetricSpec:
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
    """A criterion of which people said whether a reply meets it.

    Attributes:
        labels: of each person; where they are evenly divided the judge is not compared.
        group: part of the set that has a figure of its own; "" for none.
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
        tags: of criteria, those that have a figure of their own; so do the metrics
            (`points_metrics`).
        labels: what `judge-check NAME --source` reads, for people; "" where no
            criteria are labelled (`read_labels`).
    """

    tags: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[str] = ""
    prompt_sets: ClassVar[tuple[str, ...]] = ("own",)

    def __init_subclass__(cls) -> None:
        """Says that not every item has a criterion of each tag."""
        super().__init_subclass__()
        cls.sometimes_counted = cls.tags

    def conversation(self, item: Item) -> tuple[Message, ...]:
        """What was said before the reply."""
        messages = item.fields[CHAT.name]
        return tuple(
            Message(role=each["role"], content=each["content"]) for each in messages
        )

    def judge_template(self, upstream: Path | None) -> str:
        """The authors' question to a judge, with `{conversation}` and `{criterion}`.

        Needed where `official` is one of the prompt sets.
        """
        raise UsageError(f"{self.name} has no official prompts. Use --prompts own.")

    def read_labels(self, path: Path) -> Iterator[Labelled]:
        """Reads criteria that people labelled; needed where there are `labels`."""
        raise NotImplementedError(f"{self.name} has no labels")

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """The conversation as it is, whoever judges the reply."""
        return PromptSet(
            name=asking.prompts, sha256=texts_sha256(), render=self.conversation
        )

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """The reply of the row."""
        return str(item.fields["reply"])

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """Ours, or the authors'."""
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
        """Has each criterion decided, and adds points up."""
        judging = scoring.judge
        lines = [
            self._judged(item, as_written(answer.text), judging.prompts)
            for item, answer in zip(items, answers, strict=True)
        ]
        return ask_together(judging.judge, lines)

    def unanswered_limits(
        self, task: TaskSpec, item: Item
    ) -> Mapping[str, tuple[float, float]]:
        """Of a conversation without a reply, all that a reply could earn or lose."""
        unjudged = [(one, _verdict(one, None)) for one in item.fields[CRITERIA.name]]
        limits = {name: one.limits for name, one in self._counts(unjudged).items()}
        return {name: ends for name, ends in limits.items() if not math.isnan(ends[0])}

    def check_sets(self) -> Mapping[str, CheckSetSource]:
        """The labelled criteria, where there are some."""
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
        """Has the criteria of one item decided."""
        criteria: Sequence[Criterion] = item.fields[CRITERIA.name]
        chat = self.conversation(item)
        outcomes = yield [
            question(f"{item.id}/{n}", chat, reply, one, prompts)
            for n, one in enumerate(criteria)
        ]
        judged = [
            (one, _verdict(one, outcome))
            for one, outcome in zip(criteria, outcomes, strict=True)
        ]
        reasons = [each.reason for each in outcomes if isinstance(each, Unscored)]

        return ItemScore.counted(
            self._counts(judged), id=item.id, unscored=reasons[0] if reasons else None
        )

    def _counts(
        self, judged: Sequence[tuple[Criterion, Verdicts]]
    ) -> dict[str, Counts]:
        """The verdicts of each metric."""
        of_all = {"points": tuple(verdict for _, verdict in judged)}
        by_tag = {
            tag: tuple(verdict for one, verdict in judged if tag in one["tags"])
            for tag in self.tags
        }
        return {
            name: Counts(how="points", verdicts=verdicts)
            for name, verdicts in {**of_all, **by_tag}.items()
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
        rows = {one.id: one for one in labelled}
        if len(rows) < len(labelled):
            raise UsageError(
                f"{path}: two criteria have the same id. Give each its own."
            )

        people = max(len(one.labels) for one in rows.values())
        pairs = subset([_pair(one, people) for one in rows.values()], request.max_pairs)
        met, not_met = TWO_WAY.classes

        def ask(judge: Judge, mode: Mode, backwards: bool) -> list[str | Unscored]:
            wanted = [rows[pair.id] for pair in pairs]
            outcomes = judge.ask(
                [
                    question(
                        one.id, one.conversation, one.reply, one.criterion, prompts
                    )
                    for one in wanted
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


def _pair(one: Labelled, people: int) -> CheckPair:
    """A labelled criterion with as many ratings as the others have."""
    from medical_tasks.judges.check_figures import CheckPair
    from medical_tasks.judges.checks import TWO_WAY
    from medical_tasks.scoring.agreement import majority

    met, not_met = TWO_WAY.classes
    ratings = [met if label else not_met for label in one.labels]
    unrated = [None] * (people - len(ratings))

    return CheckPair(
        id=one.id,
        gold=majority(ratings),
        ratings=(*ratings, *unrated),
        cluster=texts_sha256(*(message["content"] for message in one.conversation)),
        group=one.group,
        words=len(one.reply.split()),
    )


def question(
    name: str,
    conversation: Sequence[Message],
    reply: str,
    criterion: Criterion | str,
    prompts: JudgePrompts,
) -> Question:
    """Asks whether the reply to a conversation meets a criterion.

    The points stand in front of it where they are known: `[-5] Names no dose`. A judge
    of entailment, which reads no prompt, decides it on the reply alone.
    """
    shown = text = criterion if isinstance(criterion, str) else criterion["text"]
    if not isinstance(criterion, str):
        shown = f"[{criterion['points']:g}] {text}"

    said = (*conversation, Message(role="assistant", content=reply))
    talk = "\n\n".join(f"{each['role']}: {each['content']}" for each in said)
    values = {"conversation": talk, "criterion": shown}

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
    """What a judge said of a criterion, with its sign and weight; None for nothing."""
    met = verdict_bool(outcome) if isinstance(outcome, Verdict) else None
    kind = "plus" if criterion["points"] > 0 else "minus"
    return count_verdicts([met], kind, weight=criterion["points"])
