"""What missing verdicts do to a value: bias of the printed estimate and of the mean over complete items, on simulated runs.

    python measurements/missing_verdicts.py [simulations per row]

Prints a Markdown table. Each simulated run is scored twice by the suite's own code,
whole and with verdicts lost: each by itself (`each`), more of them the longer an answer
is (`long`: in proportion to its length), or all of an answer at once (`answers`). Bias
is the mean of the difference to the same run's whole value. `cover`: how often the 95 %
interval holds the value of the population.

The runs: 201 questions of K-QA with 1 to 14 statements, longer answers contradicting
more, a twentieth of them empty; 137 questions of EHRNoteQA, 21 of them empty; 100
outputs of DocLens with 2 to 24 claims.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from medical_tasks.benchmarks.doclens.judging import UnitVerdict
from medical_tasks.benchmarks.doclens.measures import Section, SentenceVerdict
from medical_tasks.benchmarks.doclens.scoring import item_score as doclens_score
from medical_tasks.benchmarks.doclens.spec import TASKS as DOCLENS
from medical_tasks.benchmarks.ehrnoteqa.judging import AnswerVerdict as RightVerdict
from medical_tasks.benchmarks.ehrnoteqa.scoring import open_score
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS as EHRNOTEQA
from medical_tasks.benchmarks.kqa.judging import (
    AnswerVerdict,
    Case,
    StatementVerdict,
    statement_verdict,
)
from medical_tasks.benchmarks.kqa.scoring import item_score as kqa_score
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.runs.estimation import Estimator
from medical_tasks.spec import Item, ItemScore, TaskSpec

Generator = np.random.Generator
Lost = Callable[[int, int], np.ndarray]
"""Which of an answer's verdicts are lost: of the answer's place and its number of verdicts."""

RATES = (0.03, 0.1, 0.2)
REASON = "judge: http 500"


def kqa(
    generator: Generator, lost: Lost
) -> tuple[dict[str, ItemScore], dict[str, ItemScore]]:
    whole: dict[str, ItemScore] = {}
    holed: dict[str, ItemScore] = {}
    for index in range(201):
        must, nice = int(generator.integers(1, 9)), int(generator.integers(0, 7))
        case = Case(
            id=str(index),
            question="",
            answer="a",
            must_have=("m",) * must,
            nice_to_have=("n",) * nice,
        )
        names = list(case.statements)
        right = generator.beta(2.0, 1.4)
        wrong = generator.beta(0.15, 0.15 * (1 / (0.01 + 0.006 * len(names)) - 1))
        draws = generator.random(len(names))
        labels = [
            "contradiction"
            if x < wrong
            else "entailment"
            if x < wrong + (1 - wrong) * right
            else "neutral"
            for x in draws
        ]
        gone = lost(index, len(names))
        empty = generator.random() < 0.05
        for scores, missing in (
            (whole, np.zeros(len(names), dtype=bool)),
            (holed, gone),
        ):
            if empty:
                verdict = AnswerVerdict(
                    statements=tuple(StatementVerdict(name=name) for name in names),
                    answered=False,
                    how="empty",
                    judged=False,
                )
            else:
                verdict = AnswerVerdict(
                    statements=tuple(
                        statement_verdict(
                            name,
                            None if absent else label,  # type: ignore[arg-type]
                            reason=REASON,
                        )
                        for name, label, absent in zip(
                            names, labels, missing, strict=True
                        )
                    )
                )
            scores[case.id] = kqa_score(case, verdict, most_statements=14)
    return whole, holed


def ehrnoteqa(
    generator: Generator, lost: Lost
) -> tuple[dict[str, ItemScore], dict[str, ItemScore]]:
    whole: dict[str, ItemScore] = {}
    holed: dict[str, ItemScore] = {}
    fields = {"choices": [], "evidence": ["b"], "answer": ""}
    for index in range(137):
        item = Item(id=str(index), fields=fields, groups={}, cluster=str(index))
        right = bool(generator.random() < 0.365)
        verdict = (
            RightVerdict(right=False, how="empty answer")
            if index < 21
            else RightVerdict(right=right, votes=(right,))
        )
        whole[item.id] = open_score(item, "a", verdict)
        absent = index >= 21 and lost(index, 1)[0]
        holed[item.id] = open_score(
            item, "a", RightVerdict(right=None, reason=REASON) if absent else verdict
        )
    return whole, holed


def doclens(
    generator: Generator, lost: Lost
) -> tuple[dict[str, ItemScore], dict[str, ItemScore]]:
    whole: dict[str, ItemScore] = {}
    holed: dict[str, ItemScore] = {}
    for index in range(100):
        claims, sentences = (
            int(generator.integers(2, 25)),
            int(generator.integers(1, 11)),
        )
        chance = generator.beta(3.0, 1.5 + claims / 12)
        entailed = generator.random(claims) < chance
        cited = [
            (
                bool(generator.random() < chance),
                generator.random(int(generator.integers(0, 4))) < 0.8,
            )
            for _ in range(sentences)
        ]
        gone = lost(index, claims + sentences)
        for scores, missing in (
            (whole, np.zeros(claims + sentences, dtype=bool)),
            (holed, gone),
        ):
            section = Section(
                reference_claims=tuple(
                    None if absent else bool(is_entailed)
                    for is_entailed, absent in zip(
                        entailed, missing[:claims], strict=True
                    )
                ),
                output_claims=(True,),
                sentences=tuple(
                    SentenceVerdict(entailed=False, supports=(False,) * len(supports))
                    if (not right and not absent) or not len(supports)
                    else SentenceVerdict(
                        entailed=None if absent else True,
                        supports=tuple(
                            None if absent else bool(support) for support in supports
                        ),
                    )
                    for (right, supports), absent in zip(
                        cited, missing[claims:], strict=True
                    )
                ),
            )
            verdict = UnitVerdict(section=section, reasons=(REASON,))
            scores[str(index)] = doclens_score(str(index), {"full": verdict})
    return whole, holed


def losing(generator: Generator, how: str, rate: float, mean: float) -> Lost:
    if how == "answers":
        return lambda index, count: np.full(count, generator.random() < rate)
    if how == "long":
        return lambda index, count: (
            generator.random(count) < min(0.9, rate * count / mean)
        )
    return lambda index, count: generator.random(count) < rate


def complete_case(
    metric: str, scores: Mapping[str, ItemScore], *, pooled: bool
) -> float:
    pairs = [
        (score.values[metric], score.weights[metric] if pooled else 1.0)
        for score in scores.values()
        if metric in score.values and score.values[metric] == score.values[metric]
    ]
    weight = sum(of for _, of in pairs)
    return sum(value * of for value, of in pairs) / weight if weight else float("nan")


RUNS: dict[
    str,
    tuple[
        TaskSpec,
        Callable[..., tuple[dict[str, ItemScore], dict[str, ItemScore]]],
        float,
        tuple[str, ...],
    ],
] = {
    "K-QA": (
        KQA,
        kqa,
        7.5,
        ("comprehensiveness", "hallucination_rate", "contradicted"),
    ),
    "EHRNoteQA": (
        next(task for task in EHRNOTEQA if task.judge),
        ehrnoteqa,
        1.0,
        ("accuracy",),
    ),
    "DocLens": (
        next(task for task in DOCLENS if task.name == "mimic_rrs"),
        doclens,
        18.5,
        ("claim_recall", "citation_recall", "citation_precision"),
    ),
}


def main(simulations: int) -> None:
    print(
        "| run | metric | lost | rate | items undecided | true value | complete items' bias | estimate's bias | cover |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for run, (task, make, mean, names) in RUNS.items():
        task = replace(task, cluster=None, groups=())
        metrics = {
            name: next(metric for metric in task.metrics if metric.name == name)
            for name in names
        }
        truth = dict.fromkeys(names, 0.0)
        generator = np.random.default_rng(7)
        for _ in range(200):
            scores, _ = make(generator, losing(generator, "each", 0.0, mean))
            for name in names:
                truth[name] += (
                    complete_case(name, scores, pooled=metrics[name].kind == "ratio")
                    / 200
                )
        for how in ("each", "long", "answers") if run != "EHRNoteQA" else ("each",):
            for rate in RATES:
                figures = {name: np.zeros((simulations, 5)) for name in names}
                generator = np.random.default_rng(11)
                for number in range(simulations):
                    scores, holed = make(generator, losing(generator, how, rate, mean))
                    items = [
                        Item(id=name, fields={}, groups={}, cluster=name)
                        for name in scores
                    ]
                    estimator = Estimator(task, holed, items=len(items))
                    for name, metric in metrics.items():
                        pooled = metric.kind == "ratio"
                        entry = estimator.entry(metric, items)
                        value = complete_case(name, scores, pooled=pooled)
                        figures[name][number] = (
                            1 - entry.get("scored", len(items)) / len(items),
                            value,
                            complete_case(name, holed, pooled=pooled) - value,
                            entry["value"] - value,
                            entry["ci_low"] <= truth[name] <= entry["ci_high"],
                        )
                for name in names:
                    share, value, complete, bias, held = figures[name].mean(axis=0)
                    print(
                        f"| {run} | {name} | {how} | {rate:.0%} | {share:.0%} | {value:.3f} "
                        f"| {complete:+.3f} ({complete / value:+.1%}) "
                        f"| {bias:+.4f} ({bias / value:+.1%}) | {held:.0%} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
