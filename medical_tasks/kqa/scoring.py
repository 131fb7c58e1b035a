"""Scores answers of K-QA by a judge's verdicts on their statements (Manes et al. 2024, section 4).

Comprehensiveness is the share of must-have statements that the answer entails (equation 1), hallucination rate the number of
statements, of either importance, that it contradicts (equation 2). The `_official` metrics are the authors' script's decisions
(`official`): by its reading of the judge's texts when the judge was asked with the authors' prompts, by the same labels as the
sane metrics when it was asked with ours.

A verdict that is missing decides nothing: the metrics it could change are absent, with the limits that they can have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging
from medical_tasks.kqa.judging import judge_answers
from medical_tasks.kqa.verdicts import AnswerVerdict, Case, StatementVerdict
from medical_tasks.spec import Item, ItemScore, TaskSpec

__all__ = ["NOT_ON_EVERY_ITEM", "item_score", "metric_limits", "score_items", "spoken", "unanswered_limits"]

Limits = tuple[float, float]

NOT_ON_EVERY_ITEM = ("hallucination_rate_answered",)
"""Counts that abstentions are without; an item that is not answered may be one."""

_NOT_APPLICABLE: Limits = (math.nan, math.nan)
_OFFICIAL_COUNTS = ("hallucination_official", "hallucination_norm_official")


def score_items(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], *, judging: Judging
) -> list[ItemScore]:
    """Scores the answers to a task's items.

    Args:
        task: any task of the benchmark; all are scored alike.
        items: the items, with `question`, `must_have` and `nice_to_have` in `fields`.
        responses: the model's raw text for each item, in the same order.
        judging: who decides, and how it is asked. All questions go to it together.

    Returns:
        A score an item. `parsed` counts statements, `why` names them by importance and number, as the judge's questions do.

    Raises:
        UsageError: There are not as many responses as items, or the judge's prompts do not go with its mode.
    """
    if len(items) != len(responses):
        raise UsageError(
            f"{task.name}: {len(items)} items but {len(responses)} responses. Give one response for each item."
        )
    cases = [_case(item, response) for item, response in zip(items, responses, strict=True)]
    verdicts = judge_answers(cases, judging)
    most = max((_n_stated(verdict) for verdict in verdicts), default=0)
    official = judging.prompts.name == "official"
    return [
        item_score(case, verdict, most_statements=most, by_texts=official)
        for case, verdict in zip(cases, verdicts, strict=True)
    ]


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, Limits]:
    """What metrics could be on an item without an answer, where that is less than the metric's own limits.

    Args:
        task: any task of the benchmark.
        item: the item.

    Returns:
        Metric name to limits, for the counts of statements. The item is taken as one that would have been answered; had the
        model abstained, the mean over answered questions would stay as it is. How many words there would have been, nobody
        knows.
    """
    texts = [*item.fields["must_have"], *item.fields["nice_to_have"]]
    stated = float(sum(bool(text.strip()) for text in texts))
    sane = dict.fromkeys(("hallucination_rate", "hallucination_rate_answered"), (0.0, stated))
    return sane | dict.fromkeys(_OFFICIAL_COUNTS, (0.0, float(len(texts))))


def spoken(response: str) -> str:
    """The answer as it is, but without reasoning between <think> tags, and nothing where that never ends."""
    if response.lstrip().startswith("<think>"):
        return response.partition("</think>")[2].strip()
    _, mark, answer = response.rpartition("</think>")
    return answer.strip() if mark else answer


def metric_limits(
    verdict: AnswerVerdict, *, words: int, most_statements: int, by_texts: bool = False
) -> dict[str, Limits]:
    """Computes every metric of one answer as smallest and largest value, given what is known.

    Args:
        verdict: what is known.
        words: words of the answer.
        most_statements: of all answers scored together; a mean over answered questions cannot be larger.
        by_texts: whether the authors' prompts were used. They ask about blank statements too; nobody else does.

    Returns:
        Metric name to limits: equal where it is decided, both nan where it has no denominator.
    """
    stated = [one for one in verdict.statements if one.stated]
    comp = _share([one.entailed for one in stated if one.must])
    hall = _count(one.contradicted for one in stated) if stated else _NOT_APPLICABLE
    asked = verdict.statements if by_texts else stated
    comp_official = _share([one.entailed_official for one in asked if one.must])
    hall_official = _count(one.contradicted_official for one in asked)
    metrics = {
        "comprehensiveness": comp,
        "hallucination_rate": hall,
        "comprehensiveness_answered": comp,
        "hallucination_rate_answered": hall,
        "contradicted": (min(hall[0], 1.0), min(hall[1], 1.0)) if stated else _NOT_APPLICABLE,
        "answered": (1.0, 1.0),
        "words": (float(words), float(words)),
        # A question without must-have statements adds nothing to the authors' sum, and is divided by all the same.
        "comprehensiveness_official": (0.0, 0.0) if math.isnan(comp_official[0]) else comp_official,
        "comprehensiveness_norm_official": comp_official,
        **dict.fromkeys(_OFFICIAL_COUNTS, hall_official),
    }
    if verdict.answered is False:
        metrics["answered"] = (0.0, 0.0)
        names = ("comprehensiveness_answered", "hallucination_rate_answered", "words")
        metrics |= dict.fromkeys(names, _NOT_APPLICABLE)
    elif verdict.answered is None:
        # Whether it counts at all is open: limits wide enough for the mean of the others to stay as it is.
        open_limits = {
            "comprehensiveness_answered": (0.0, 1.0),
            "hallucination_rate_answered": (0.0, float(most_statements)),
            "words": (0.0, math.inf),
        }
        metrics |= {name: limits for name, limits in open_limits.items() if not math.isnan(metrics[name][0])}
        metrics["answered"] = (0.0, 1.0)
    return metrics


def _case(item: Item, response: str) -> Case:
    return Case(
        id=item.id,
        question=str(item.fields["question"]),
        answer=spoken(response),
        must_have=tuple(item.fields["must_have"]),
        nice_to_have=tuple(item.fields["nice_to_have"]),
    )


def item_score(case: Case, verdict: AnswerVerdict, *, most_statements: int, by_texts: bool = False) -> ItemScore:
    """Makes an item's score of what is known of its answer.

    Args:
        case: the answer.
        verdict: what is known of it.
        most_statements: of all answers scored together.
        by_texts: whether the authors' prompts were used.
    """
    # Words as the paper counts them: what stands between white space (its physicians' 88.52 an answer).
    words = len(case.answer.split())
    metrics = metric_limits(verdict, words=words, most_statements=most_statements, by_texts=by_texts)
    # Without a denominator both limits are nan, which equals nothing.
    values = {name: low for name, (low, high) in metrics.items() if low == high or math.isnan(low)}
    limits = {name: known for name, known in metrics.items() if name not in values}
    return ItemScore(
        id=case.id,
        values=values,
        parsed=_parsed(verdict, by_texts=by_texts),
        why=_why(verdict, by_texts=by_texts),
        unscored=verdict.reason if limits else None,
        limits=limits,
    )


def _n_stated(verdict: AnswerVerdict) -> int:
    return sum(one.stated for one in verdict.statements)


def _share(known: Sequence[bool | None]) -> Limits:
    if not known:
        return _NOT_APPLICABLE
    low, high = _count(known)
    return low / len(known), high / len(known)


def _count(known: Iterable[bool | None]) -> Limits:
    outcomes = list(known)
    low = float(outcomes.count(True))
    return low, low + outcomes.count(None)


def _parsed(verdict: AnswerVerdict, *, by_texts: bool) -> str:
    """`must 3/4, nice 1/3, contradicted 0`; the authors' prompts do not ask whether nice-to-have statements are entailed."""
    stated = [one for one in verdict.statements if one.stated]
    must, nice = [one for one in stated if one.must], [one for one in stated if not one.must]
    parts = [f"must {_tally(must)}"]
    if not by_texts:
        parts.append(f"nice {_tally(nice)}")
    low, high = _count(one.contradicted for one in stated)
    parts.append(f"contradicted {low:.0f}" + (f" to {high:.0f}" if high > low else ""))
    return ", ".join(parts)


def _tally(statements: Sequence[StatementVerdict]) -> str:
    low, high = _count(one.entailed for one in statements)
    return f"{low:.0f}{f' to {high:.0f}' if high > low else ''}/{len(statements)}"


def _why(verdict: AnswerVerdict, *, by_texts: bool) -> str:
    stated = [one for one in verdict.statements if one.stated]
    named = {
        "missed": [one.name for one in stated if one.must and one.entailed is False],
        "contradicted": [one.name for one in stated if one.contradicted],
        "without a verdict": [one.name for one in stated if one.reasons],
        "official differs": [one.name for one in verdict.statements if _differs(one)],
        "blank": [one.name for one in verdict.statements if not one.stated],
    }
    parts = [verdict.how] if verdict.how else []
    parts += ["answered or not: open"] if verdict.answered is None else []
    parts += [f"{what}: {' '.join(names)}" for what, names in named.items() if names]
    parts.append("official: by the authors' reading" if by_texts else "official: by label")
    return "; ".join(parts)


def _differs(one: StatementVerdict) -> bool:
    """Whether the authors' reading decides otherwise."""
    entailed = one.must and one.entailed != one.entailed_official
    return one.stated and (entailed or one.contradicted != one.contradicted_official)
