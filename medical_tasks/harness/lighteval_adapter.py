"""Makes lighteval's configuration from a task of this suite: the same rows, prompts and scorer.

For a model without a chat template lighteval sends the bare question and our runner a
dialogue, so their numbers differ.
"""

from __future__ import annotations

import copy
import itertools
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import (
    SampleLevelMetric,
    SampleLevelMetricGrouping,
)
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

from medical_tasks.data.dataset_store import split_names
from medical_tasks.data.task_data import prompt_set
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import redact_reason, redact_unclear
from medical_tasks.harness.judging import (
    HarnessJudge,
    Weighted,
    harness_request,
    is_pooled,
    metric_value,
    pooled_mean,
    score_checked,
    shown_metrics,
)
from medical_tasks.harness.lighteval_launcher import (
    check_command,
    chosen_config,
    command_line,
    dataset_of,
    require_launcher,
    shown_by_lighteval,
    task_items,
)
from medical_tasks.io.user_folders import datasets_home
from medical_tasks.models.base import ChoiceScores
from medical_tasks.runs.estimation import Estimator
from medical_tasks.spec import (
    Answer,
    Item,
    ItemScore,
    Message,
    MetricSpec,
    PromptSet,
    TaskSpec,
)

logger = logging.getLogger(__name__)

JUDGED = "judged"
"""The metric that is the share of answers with all their verdicts."""


# lighteval computes the standard error from what a function with `mean` in its name
# leaves in the list, so it must hold no nan.
def _mean(values: list[float]) -> float:
    """Returns the mean over the documents with a value; nan marks the others."""
    values[:] = [value for value in values if not math.isnan(value)]
    return sum(values) / len(values) if values else math.nan


def _pooled_mean(values: list[Any]) -> float:
    """Returns the ratio of the sums.

    It leaves the linearised residuals in the list: the standard error of their mean is
    that of the ratio.

    Example:
        values = [Weighted(0.5, 2.0), Weighted(1.0, 1.0)]
        _pooled_mean(values)  # 0.667; values are then -0.222 and 0.222
    """
    total = pooled_mean(values)
    weighted = [value for value in values if value.weight]
    weight = math.fsum(value.weight for value in weighted) / max(len(weighted), 1)
    values[:] = [(value - total) * value.weight / weight for value in weighted]
    return total


class _Score(SampleLevelComputation):
    def __init__(self, task: TaskSpec) -> None:
        self.task = task

    def __str__(self) -> str:
        return f"medical_tasks:{self.task.name}:{self.task.version}"

    @shown_by_lighteval()
    def compute(
        self, doc: Doc, model_response: ModelResponse, **_: object
    ) -> dict[str, float]:
        """Maps metrics to their values for one document; nan where there is none."""
        metrics = shown_metrics(self.task)
        asks_text = self.task.asks == "text"
        texts = (
            [model_response.final_text[0]]
            if asks_text
            else choices_texts(model_response, len(doc.choices))
        )
        # lighteval's command line has no place for settings of the scoring.
        item = _item(self.task, doc.specific)
        answers = [_answer(doc, text) for text in texts]
        scores = score_checked(self.task, [item] * len(texts), answers)
        if asks_text:
            _log_unclear(self.task, scores[0])
            return {
                metric.name: metric_value(metric, scores[0])
                for metric in metrics.values()
            }

        values = agreed([score.values for score in scores], list(metrics))
        lacking = [name for name, value in values.items() if math.isnan(value)]
        if lacking:
            logger.warning(
                "%s: lighteval does not tell enough of a question for %s (a number for each "
                "choice, or how many tokens each has); the mean is over the others",
                self.task.name,
                ", ".join(lacking),
            )

        return values


def _answer(doc: Doc, text: str) -> Answer:
    """Makes an answer with its question; lighteval does not report the finish reason."""
    question = Message(role="user", content=doc.query)
    return Answer(
        text=text, conversation=(question, Message(role="assistant", content=text))
    )


def _log_unclear(task: TaskSpec, score: ItemScore) -> None:
    """Logs that an answer is unclear: lighteval's details have no place for an explanation."""
    if score.unclear:
        words = task.benchmark.note_words()
        reason = redact_unclear(score.unclear, note_words=words)
        logger.info(
            "%s: %s: unclear (%s), counted as not right", task.name, score.id, reason
        )


class _Judged(SampleLevelComputation):
    """One metric of a judged task.

    All metrics share one judging of all documents, in which the judge is asked
    concurrently.
    """

    def __init__(
        self, task: TaskSpec, metric: MetricSpec | None, answers: _JudgedAnswers
    ) -> None:
        self.task, self.metric, self.answers = task, metric, answers

    def __str__(self) -> str:
        name = JUDGED if self.metric is None else self.metric.name
        return f"medical_tasks:{self.task.name}:{self.task.version}:{name}"

    @shown_by_lighteval()
    def compute(
        self, responses: list[ModelResponse], docs: list[Doc], **_: object
    ) -> list[float]:
        """Returns each document's metric, estimated where verdicts are missing, else nan."""
        scores = self.answers.scores(
            docs, [response.final_text[0] for response in responses]
        )
        if self.metric is None:
            return [float(score.unscored is None) for score in scores]
        if self.metric.official:
            return [metric_value(self.metric, score) for score in scores]

        estimator = Estimator(self.task, {score.id: score for score in scores})
        values = [estimator.item_value(self.metric, score) for score in scores]
        return [
            Weighted(*value) if is_pooled(self.metric) else value[0] for value in values
        ]


class _JudgedAnswers:
    """Judges documents once, though lighteval requests their scores for each metric."""

    def __init__(self, task: TaskSpec, judge: HarnessJudge) -> None:
        self.task, self.judge = task, judge
        self._texts: list[str] | None = None
        self._scores: list[ItemScore] = []

    def scores(self, docs: list[Doc], texts: list[str]) -> list[ItemScore]:
        """Returns the scores of these answers, judged once for all metrics.

        A warning counts the answers without a verdict; under the data guard its reasons
        hold no text of theirs.
        """
        keys = [f"{doc.id}\0{text}" for doc, text in zip(docs, texts, strict=True)]
        if keys != self._texts:
            items = [_item(self.task, doc.specific) for doc in docs]
            answers = [
                _answer(doc, text) for doc, text in zip(docs, texts, strict=True)
            ]
            self._scores = self.judge.score(self.task, items, answers)
            self._texts = keys
            shown = redact_reason if policy.protecting() else str
            missing = Counter(
                shown(score.unscored)
                for score in self._scores
                if score.unscored is not None
            )
            if missing:
                counts = ", ".join(
                    f"{count} x {reason}" for reason, count in missing.items()
                )
                logger.warning(
                    "%s: %s of %s answers lack a verdict (%s); known ones replace them, and "
                    "`%s` says how many lack none. Judge them again with: medical-tasks score",
                    self.task.name,
                    sum(missing.values()),
                    len(docs),
                    counts,
                    JUDGED,
                )

        return self._scores


def _judged_metrics(task: TaskSpec, judge: HarnessJudge) -> list[SampleLevelMetric]:
    """Makes a metric of lighteval for each of ours, and one for the judged share."""
    answers = _JudgedAnswers(task, judge)
    return [
        SampleLevelMetric(
            metric_name=name,
            higher_is_better=metric is None or metric.higher_is_better,
            category=SamplingMethod.GENERATIVE,
            sample_level_fn=_Judged(task, metric, answers),
            corpus_level_fn=_mean if metric is None else _aggregate(metric),
            batched_compute=True,
        )
        for name, metric in (
            *shown_metrics(
                task, comparable=judge.comparable, official=judge.official
            ).items(),
            (JUDGED, None),
        )
    ]


def _aggregate(metric: MetricSpec) -> Callable[[list[float]], float]:
    """Returns how the items' values become one number: pooled, limited, or a mean."""
    if metric.total is None:
        return _pooled_mean if is_pooled(metric) else _mean
    low, high = metric.total

    def cut_mean(values: list[float]) -> float:
        value = _mean(values)
        return value if math.isnan(value) else min(max(value, low), high)

    return cut_mean


def _plain_metrics(task: TaskSpec) -> list[SampleLevelMetricGrouping]:
    """Makes one group of metrics, so that an answer is read once for all of them."""
    metrics = shown_metrics(task)
    better = {name: metric.higher_is_better for name, metric in metrics.items()}

    return [
        SampleLevelMetricGrouping(
            metric_name=list(better),
            higher_is_better=better,
            category=SamplingMethod.GENERATIVE
            if task.asks == "text"
            else SamplingMethod.LOGPROBS,
            sample_level_fn=_Score(task),
            corpus_level_fn={
                name: _aggregate(metric) for name, metric in metrics.items()
            },
        )
    ]


_PLACE = "__place"
"""The column with the index of the item, for rows with several."""


class _PartDoc(Doc):
    """A question about one of several items of a row, with the item's id.

    Lighteval's own id is the row's number, the same for all of them.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name == "id":
            value = self.specific["__id"]
        super().__setattr__(name, value)


_TURNS = "__turns"
"""The column with the pairs of question and answer before the last message of a chat."""


class _ChatDoc(Doc):
    """The last message of a chat; lighteval shows worked examples as the turns before a question."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "fewshot_samples":
            turns = (self.specific or {}).get(_TURNS, ())
            value = [
                Doc(query=question, choices=[answer], gold_index=0)
                for question, answer in turns
            ]
        super().__setattr__(name, value)


def _earlier_turns(
    task: TaskSpec, item: Item, chat: Sequence[Message]
) -> list[tuple[str, str]]:
    """Returns the pairs of question and answer before the last message of a chat."""
    roles = [message["role"] for message in chat]
    if roles != [("user", "assistant")[position % 2] for position in range(len(chat))]:
        raise UsageError(
            f"{task.name}: lighteval asks users' messages and shows models' answers in turns, and "
            f"the chat of item {item.id} has the roles {', '.join(roles)}. Use: medical-tasks run --tasks "
            f"{task.name}"
        )
    texts = [message["content"] for message in chat[:-1]]
    return list(zip(texts[::2], texts[1::2], strict=True))


def _item(task: TaskSpec, row: Mapping[str, Any]) -> Item:
    return task.benchmark.load_items(task, [row])[int(row.get(_PLACE, 0))]


class _Prompt:
    """lighteval's prompt function of a task.

    The worked examples are read with the first question.
    """

    def __init__(self, task: TaskSpec, judge: HarnessJudge | None) -> None:
        """Gives the object a name, as functions have."""
        self.task, self.judge = task, judge
        # ids of the items to ask about; None for all
        self.item_ids: frozenset[str] | None = None
        # the chosen configuration, then that of the data
        self.config = chosen_config() or ""
        self._prompts: PromptSet | None = None
        self._met: Counter[str] = Counter()
        self.__name__ = f"{task.benchmark.name}.{task.name}.{task.version}"

    def _prompt_set(self) -> PromptSet:
        if self._prompts is None:
            examples = task_items(self.task).exemplars if self.task.exemplars else ()
            self._prompts = prompt_set(
                self.task,
                "own",
                None,
                arguments={},
                config=self.config,
                exemplars=examples,
            )

        return self._prompts

    @shown_by_lighteval()
    def __call__(self, line: dict[str, object], task_name: str) -> Doc | None:
        """Converts a row to lighteval's document; None for a row that is left out.

        If a row has several items, lighteval gets the row as often, and each call
        returns the next item.
        """
        if line.pop("__few_shots", False):
            # lighteval would draw the examples from the questions themselves.
            raise UsageError(
                f"{task_name}: worked examples are part of a task here. Ask for "
                f"{self.task.harness_name}|0, or for the task that shows one "
                "(medical:medcalc_one_shot|0 for medical:medcalc)."
            )

        require_launcher(self.task)
        if self.judge is not None:
            self.judge.check(self.task)
            self.judge = None  # checked once

        line.pop("__index", None)
        several = self.task.items_a_row > 1
        if several:
            row = json.dumps(line, sort_keys=True, default=str)
            line[_PLACE] = self._met[row] % self.task.items_a_row
            self._met[row] += 1

        item = _item(self.task, line)
        if self.item_ids is not None and item.id not in self.item_ids:
            return None  # lighteval leaves the row out
        if several:
            line["__id"] = item.id

        prompts = self._prompt_set()
        *_, message = chat = prompts.render(item)
        turns = _earlier_turns(self.task, item, chat)
        gold = self.task.benchmark.gold_response(self.task, item)
        choices, right = [gold], 0
        if prompts.continuations is not None:
            choices, right = list(prompts.continuations(item)), _most_probable(gold)

        make = _PartDoc if several else Doc
        if turns:
            make, line[_TURNS] = _ChatDoc, turns

        return make(
            query=message["content"],
            choices=choices,
            gold_index=right,
            specific=line,
            task_name=task_name,
        )


def _most_probable(gold: str) -> int:
    logprobs = [
        -math.inf if logprob is None else logprob
        for logprob in ChoiceScores.from_text(gold).logprobs
    ]
    return logprobs.index(max(logprobs))


class _Config(LightevalTaskConfig):
    """Finds its rows when lighteval copies it, which it does for the chosen tasks only."""

    @shown_by_lighteval()
    def __deepcopy__(self, memo: dict[int, object]) -> _Config:
        """Returns a copy with the rows that `medical-tasks run` asks about."""
        copied, prompt = copy.copy(self), copy.copy(self.prompt_function)
        check_command(prompt.task)
        # lighteval would draw a different sample than `medical-tasks run`.
        limit = command_line().get("max_samples")
        data = task_items(prompt.task, limit if isinstance(limit, int) else None)
        copied.hf_repo, copied.hf_subset, copied.prompt_function = (
            str(data.folder),
            data.config,
            prompt,
        )
        prompt.item_ids = frozenset(item.id for item in data.items)
        prompt.config = data.config

        return copied


def task_configs(tasks: Sequence[TaskSpec]) -> list[LightevalTaskConfig]:
    """Makes a configuration of each task under its harness name, and a copy under its bare name.

    The copy is for `medical|NAME`, of which lighteval drops the prefix.
    """
    config = chosen_config()
    return [
        _config(task, name, config)
        for task in tasks
        for name in (task.harness_name, task.name)
    ]


def _config(task: TaskSpec, name: str, config: str | None) -> LightevalTaskConfig:
    """Makes lighteval's configuration of a task, under one of its names."""
    spec = dataset_of(task)
    judge = HarnessJudge(harness_request(task=task)) if task.judge else None
    mixed = task.benchmark.mixed_rows

    return _Config(
        name=name,
        prompt_function=_Prompt(task, judge),
        hf_repo=str(datasets_home() / spec.name),
        hf_subset=config if config in spec.configs else spec.default_config,
        hf_filter=partial(task.benchmark.keeps, task) if mixed else None,
        metrics=_plain_metrics(task) if judge is None else _judged_metrics(task, judge),
        hf_avail_splits=split_names(task.split),
        # lighteval asks each row once.
        evaluation_splits=split_names(task.split) * task.items_a_row,
        generation_size=task.generation_size,
        stop_sequence=list(task.stop),
        version=int(task.version.split("-")[0]),
    )


_MOST: Final = 5000  # possible answers; five choices have nine at most


def choices_texts(response: ModelResponse, choices: int) -> list[str]:
    """Writes a response's log-probabilities as `ChoiceScores`.

    Returns:
        One text; several if some token counts are unknown, and none for nan.
    """
    logprobs, rows = response.logprobs, response.output_tokens
    # transformers: a tensor whose rows are padded with -1
    is_table = hasattr(rows, "tolist")
    counts = [
        sum(int(token) >= 0 for token in row)
        for row in (rows.tolist() if is_table else rows)
    ]
    missing = choices - len(counts)
    if (
        len(logprobs) != choices
        or not counts
        or missing < 0
        or (missing and not is_table)
    ):
        raise UsageError(
            f"lighteval's backend gives {len(logprobs)} log-probabilities and the tokens of "
            f"{len(counts)} continuations for a question of {choices} choices. Its `accelerate` "
            "and `vllm` give both; so does medical-tasks run."
        )

    if any(math.isnan(logprob) for logprob in logprobs):
        return []

    longest = len(counts)
    if longest**missing > _MOST:
        raise UsageError(
            f"lighteval does not say how many tokens {missing} of {choices} choices have. Use: "
            "medical-tasks run"
        )

    capped = tuple(min(float(logprob), 0.0) for logprob in logprobs)
    return [
        ChoiceScores(logprobs=capped, tokens=(*counts, *rest)).to_text()
        for rest in itertools.product(range(1, longest + 1), repeat=missing)
    ]


def agreed(
    scores: Sequence[Mapping[str, float]], names: Sequence[str]
) -> dict[str, float]:
    """Returns the values on which all scores of a document agree, else nan."""
    values_of = {
        name: {score.get(name, math.nan) for score in scores} for name in names
    }
    return {
        name: next(iter(values)) if len(values) == 1 else math.nan
        for name, values in values_of.items()
    }
