"""Scores EHRNoteQA's answers by a judge, by rules, by words and by probabilities.

Kweon et al. 2024, https://arxiv.org/abs/2402.16040, sections 4.1 and 4.3; reference
implementation: https://github.com/ji-youn-kim/EHRNoteQA, `src/evaluation/evaluate.py`.

    medical-tasks score ehrnoteqa_mc_level1 --responses answers.jsonl --judge JUDGE

A missing verdict decides nothing. `parsed` and `why` quote no answer. A tie of
probabilities is wrong. A choice that a server does not report ranks below all reported
ones, at most at `below`; a metric is decided if that makes it certain.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from medical_tasks.benchmarks.ehrnoteqa.judging import (
    NO_GOLD,
    AnswerVerdict,
    Case,
    gold_texts,
    judge_answers,
)
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.data.task_data import check_lengths, check_scoring_args
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging
from medical_tasks.models.base import ChoiceScores
from medical_tasks.models.embedder import embedder_identity
from medical_tasks.models.text_metrics import similarities
from medical_tasks.scoring.bleu_and_sari import sacrebleu_sentence
from medical_tasks.scoring.choice_orders import is_control, with_order_values
from medical_tasks.scoring.letters import (
    NOT_TAKEN,
    SEVERAL,
    Letter,
    read_letter,
)
from medical_tasks.scoring.reasoning import as_written
from medical_tasks.scoring.rouge import rouge
from medical_tasks.scoring.text_pairs import exact_match
from medical_tasks.spec import (
    Counts,
    Item,
    ItemScore,
    Probabilities,
    TaskSpec,
    Verdicts,
    unclear_limits,
)

NOTE_WORDS: Final = frozenset(f"{SEVERAL} {NOT_TAKEN}".split())
"""The words of the reasons for an unclear answer; they quote no answer."""

_OPEN: Final = (0.0, 1.0)
_LETTER: Final = "letter_accuracy"
_EXACT: Final = 0.01
"""Largest uncertainty of probabilities that are reported."""
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    *,
    judging: Judging | None = None,
    arguments: Mapping[str, str] | None = None,
    readings: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores the answers to a task's items, in order.

    Answers to the probability tasks are `ChoiceScores` as text.

    Args:
        task: one of the benchmark's tasks.
        items: its questions.
        responses: the model's answers, one for each item.
        judging: the judge of written answers.
        arguments: the values of `TaskSpec.scoring_arguments`.
        readings: maps item ids to the choice that a person read in the answer. Such
            items get only the score of the letter; the judge is not asked again.
    """
    check_lengths(task, items, responses)
    if readings is not None:
        answers = [
            readings.get(item.id, text)
            for item, text in zip(items, responses, strict=True)
        ]
        read = list(map(partial(_letter_score, task), items, _letters(items, answers)))
        return with_order_values(task, items, read, right=_LETTER)

    if task.asks == "choices":
        scores = list(map(partial(probability_score, task), items, responses))
        return with_order_values(task, items, scores, right="accuracy")

    if judging is None:
        raise UsageError(
            f"{task.name}: its answers are judged, and there is no judge. Name one with --judge."
        )

    answers = list(map(as_written, responses))
    if task.options["format"] == "mc":
        return _choice_scores(task, items, answers, judging)

    cases = list(map(partial(Case, form="open"), items, answers))
    verdicts = judge_answers(cases, judging)
    answers = list(map(str.strip, answers))
    similar = _similarities(task, items, answers, arguments or {})

    return list(map(open_score, items, answers, verdicts, similar))


def _letters(items: Sequence[Item], answers: Sequence[str]) -> list[Letter | None]:
    choices = [item.fields["choices"] for item in items]
    return list(map(read_letter, answers, choices))


def _choice_scores(
    task: TaskSpec, items: Sequence[Item], answers: Sequence[str], judging: Judging
) -> list[ItemScore]:
    """Scores written choices, by the judge and by the parsed letter."""
    letters = _letters(items, [answer.strip() for answer in answers])
    named = [letter.letter if letter else "" for letter in letters]
    cases = list(map(partial(Case, form="choice"), items, answers, named))
    # A control's accuracy is not reported, so it is not judged.
    judged = [case for case in cases if not is_control(case.item)]
    verdicts = iter(judge_answers(judged, judging))
    scores = [
        _letter_score(task, item, letter)
        if is_control(item)
        else choice_score(task, item, next(verdicts), letter)
        for item, letter in zip(items, letters, strict=True)
    ]

    return with_order_values(task, items, scores, right=_LETTER)


def scoring_identity(
    task: TaskSpec, arguments: Mapping[str, str]
) -> Mapping[str, object]:
    """The identity of everything that determines the metrics of a task's `scoring_arguments`."""
    check_scoring_args(task, arguments)
    return {name: dict(embedder_identity(folder)) for name, folder in arguments.items()}


def text_metrics(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Compares the words of an open answer with the most similar of `golds`, or of all joined; nan without gold."""
    if not golds:
        return dict.fromkeys(("rouge_l", "bleu", "exact_match"), math.nan)

    golds = _references(golds)
    return {
        "rouge_l": rouge(answer, golds, variants=("rougeL",))["rougeL"].f1,
        "bleu": max(sacrebleu_sentence(answer, gold).score for gold in golds),
        "exact_match": exact_match(
            _normalised(answer), [_normalised(gold) for gold in golds]
        ),
    }


def open_score(
    item: Item,
    answer: str,
    verdict: AnswerVerdict,
    similar: Mapping[str, float] | None = None,
) -> ItemScore:
    """Scores an open answer.

    The judge decides `accuracy`, which lies between 0 and 1 without its verdict; the
    metrics of words do not need it.
    """
    values = text_metrics(answer, gold_texts(item)) | dict(similar or {})
    return _judged_score(
        item,
        verdict,
        values,
        parsed="" if verdict.right is None else str(int(verdict.right)),
    )


def choice_score(
    task: TaskSpec, item: Item, verdict: AnswerVerdict, letter: Letter | None
) -> ItemScore:
    """Scores a written choice by two independent readings.

    They are the judge's (`accuracy`, the paper's metric) and the letter that rules read
    (`letter_accuracy`), which needs no judge.
    """
    read = _letter_score(task, item, letter)
    judged = _judged_score(
        item, verdict, read.values, parsed=read.parsed, rule=read.why
    )

    return replace(
        judged, unclear=read.unclear, limits={**judged.limits, **read.limits}
    )


def _letter_score(task: TaskSpec, item: Item, letter: Letter | None) -> ItemScore:
    """Scores the parsed letter alone."""
    if letter is None:
        return ItemScore(id=item.id, values={"letter_accuracy": 0.0}, why="no letter")

    values = {"letter_accuracy": float(letter.letter == item.fields["answer"])}
    return ItemScore(
        id=item.id,
        values=values,
        parsed=letter.letter,
        why=letter.why,
        unclear=letter.unclear,
        limits=unclear_limits(task.metrics, values) if letter.unclear else {},
    )


def probability_score(task: TaskSpec, item: Item, response: str) -> ItemScore:
    """Scores `ChoiceScores` as text, the probabilities of the choices; an empty response scores 0."""
    names = [metric.name for metric in task.metrics if not metric.needs]
    gold = item.fields["answer"]
    if not response.strip():
        return ItemScore(
            id=item.id, values=dict.fromkeys(names, 0.0), why="empty answer"
        )

    try:
        scores = ChoiceScores.from_text(response)
        score = score_choices(scores, item.fields["choices"], LETTERS.index(gold))
    except ValueError as error:
        raise UsageError(
            f"{task.name}: the response to item {item.id} is not how probable the choices are: "
            f"{error}. A response of this task "
            'is one line such as {"logprobs": [-1.5, -0.5, -3, -7, -4], "tokens": [1, 1, 1, 1, '
            "1]}, a number a choice."
        ) from error

    values = {
        name: score.metrics[name][0]
        for name in names
        if score.metrics[name][0] == score.metrics[name][1]
    }
    limits = {name: score.metrics[name] for name in names if name not in values}
    unreported = scores.logprobs.count(None)

    return ItemScore.counted(
        {name: _single_count(values.get(name)) for name in names},
        id=item.id,
        values=values,
        parsed="" if score.chosen is None else LETTERS[score.chosen],
        why=f"right: {gold}"
        + (f"; not told: {unreported} of {len(scores.logprobs)}" if unreported else ""),
        unscored=NOT_TOLD if limits else None,
        limits=limits,
        probabilities=_probabilities(scores, LETTERS.index(gold)),
    )


def _probabilities(scores: ChoiceScores, right: int) -> Probabilities | None:
    """The softmax of the sums, on which `accuracy` is based; None if too uncertain.

    The sum of an unreported choice may be anything up to its bound. The bound is used if
    no share can differ by more than `_EXACT`.
    """
    if scores.logprobs.count(None) == len(scores.logprobs):
        return None

    bound = -math.inf if scores.below is None else scores.below
    most, least = (
        _softmax([end if value is None else value for value in scores.logprobs])
        for end in (bound, -math.inf)
    )
    uncertainty = max(abs(high - low) for high, low in zip(most, least, strict=True))
    if uncertainty > _EXACT:
        return None

    return Probabilities(shares=tuple(most), right=right)


def _judged_score(
    item: Item,
    verdict: AnswerVerdict,
    values: Mapping[str, float],
    *,
    parsed: str,
    rule: str = "",
) -> ItemScore:
    """Combines the judge's verdict with values that need no judge.

    Args:
        item: the question.
        verdict: whether the answer is right; if None, `accuracy` is limited to 0 to 1.
        values: the values of the other metrics.
        parsed: the parsed answer.
        rule: how a rule read it, beside the judge.
    """
    right = None if verdict.right is None else float(verdict.right)
    # Empty answers, and answers without gold, must not be used to estimate missing
    # verdicts.
    was_judged = not verdict.how and verdict.reason != NO_GOLD

    return ItemScore.counted(
        {"accuracy": _single_count(right)} if was_judged else {},
        id=item.id,
        values=dict(values) if right is None else {"accuracy": right, **values},
        limits={"accuracy": _OPEN} if right is None else {},
        parsed=parsed,
        why=_why(verdict) + (f"; rule: {rule}" if rule else ""),
        unscored=verdict.reason if right is None else None,
    )


def _single_count(value: float | None) -> Counts:
    return Counts(
        how="count",
        verdicts=(
            Verdicts(
                hits=value or 0.0,
                known=int(value is not None),
                missing=int(value is None),
            ),
        ),
    )


def _why(verdict: AnswerVerdict) -> str:
    """`judge: 1 of votes 1 1 0 1`."""
    if verdict.right is None:
        return "judge: none"
    if not verdict.votes:
        return f"judge: not asked, {verdict.how}"
    return f"judge: {verdict.right:d} of votes {' '.join(str(int(vote)) for vote in verdict.votes)}"


def _similarities(
    task: TaskSpec,
    items: Sequence[Item],
    answers: Sequence[str],
    arguments: Mapping[str, str],
) -> list[dict[str, float]]:
    """The metrics of the scoring arguments for each item, with the most similar of several golds; nan without gold."""
    check_scoring_args(task, arguments)
    metrics: list[dict[str, float]] = [{} for _ in items]
    if not arguments:
        return metrics

    golds = [
        (number, gold)
        for number, item in enumerate(items)
        for gold in _references(gold_texts(item))
    ]
    pairs = [(answers[number], gold) for number, gold in golds]
    for name, folder in arguments.items():
        for row in metrics:
            row[name] = math.nan

        values = similarities(name, folder, pairs) if pairs else ()
        for (number, _), value in zip(golds, values, strict=True):
            row = metrics[number]
            row[name] = value if math.isnan(row[name]) else max(row[name], value)

    return metrics


def _references(golds: Sequence[str]) -> tuple[str, ...]:
    return (*golds, "\n".join(golds)) if len(golds) > 1 else tuple(golds)


def _normalised(text: str) -> str:
    return " ".join(text.lower().translate(_PUNCTUATION).split())


NOT_TOLD: Final = "choice not among the log-probabilities told"

Limits = tuple[float, float]


class ProbabilityScore(NamedTuple):
    """The metrics of one item.

    Attributes:
        metrics: maps each name to the smallest and largest possible value, which are
            equal if the metric is decided.
        chosen: index of the choice with the largest sum; None in a tie, or if
            uncertain.
    """

    metrics: dict[str, Limits]
    chosen: int | None


def score_choices(
    scores: ChoiceScores, choices: Sequence[str], gold: int
) -> ProbabilityScore:
    """Computes every metric of one item from the scores of its choices, in order."""
    count = len(scores.logprobs)
    if count != len(choices):
        raise ValueError(
            f"has {count} log-probabilities, the question {len(choices)} choices"
        )

    ones = [1] * count
    metrics = {
        "accuracy": _leads(scores, ones, gold),
        "accuracy_per_token": _leads(scores, scores.tokens, gold),
        "accuracy_per_character": _leads(
            scores, [max(len(choice.strip()), 1) for choice in choices], gold
        ),
        "gold_probability": _share(scores, gold),
    }
    leading = (choice for choice in range(count) if _leads(scores, ones, choice)[0])
    return ProbabilityScore(metrics, next(leading, None))


def _leads(scores: ChoiceScores, divisors: Sequence[int], choice: int) -> Limits:
    """Whether a choice's divided sum is the largest, as 0 or 1; (0, 1) if uncertain.

    Example: of the log-probabilities -1, -2 and an unreported one, which is at most -5,
    the first surely leads; if the third were at most -0.5, it would be uncertain.
    """
    below = -math.inf if scores.below is None else scores.below
    pairs = list(zip(scores.logprobs, divisors, strict=True))
    reported = [None if value is None else value / divisor for value, divisor in pairs]
    most = [(below if value is None else value) / divisor for value, divisor in pairs]
    own = reported.pop(choice)
    highest = most.pop(choice)
    if any(score is not None and score >= highest for score in reported):
        return 0.0, 0.0

    if own is not None and all(
        score is not None or own >= end
        for score, end in zip(reported, most, strict=True)
    ):
        return 1.0, 1.0

    return 0.0, 1.0


def _share(scores: ChoiceScores, gold: int) -> Limits:
    """The smallest and largest softmax of the sums at the right choice.

    Unreported sums may be anything up to their bound. The share is smallest if the right
    choice's sum is low and the others are high, and largest in the opposite case.
    """
    bound = -math.inf if scores.below is None else scores.below
    highest = [bound if value is None else value for value in scores.logprobs]
    lowest = [-math.inf if value is None else value for value in scores.logprobs]
    least = [*highest[:gold], lowest[gold], *highest[gold + 1 :]]
    most = [*lowest[:gold], highest[gold], *lowest[gold + 1 :]]

    return _softmax(least)[gold], _softmax(most)[gold]


def _softmax(sums: Sequence[float]) -> list[float]:
    """Shares of the exponentials; equal shares if all are 0."""
    top = max(sums)
    weights = [1.0 if value == top else math.exp(value - top) for value in sums]
    total = math.fsum(weights)
    return [weight / total for weight in weights]
