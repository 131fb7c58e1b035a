"""A judge asked what the physicians were asked, by the same code and the same questions that score K-QA's answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from medical_tasks.benchmarks.kqa.annotations import Annotation, find_annotations, read_annotations
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.kqa.judging import CANNOT_TELL, Case, StatementVerdict, judge_answers
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.judges.base import Judge, Judging, Label, Unscored
from medical_tasks.judges.check_sets import CheckRequest, CheckSet, CheckSetSource
from medical_tasks.judges.judge_check import CheckPair, subset

__all__ = ["BOTH", "CHECK_SET", "check_pairs", "judge_annotations", "kqa_set"]

BOTH = "judge: entails and contradicts"
"""Reason of a statement on which the authors' two questions contradict each other."""
_NO_REASON = "judge: no verdict"


def check_pairs(annotations: Sequence[Annotation]) -> list[CheckPair]:
    """Makes pairs of the physicians' labels, in order."""
    return [
        CheckPair(id=entry.id, gold=entry.majority, cluster=entry.cluster, ratings=entry.labels)
        for entry in annotations
    ]


def judge_annotations(annotations: Sequence[Annotation], judging: Judging) -> list[Label | Unscored]:
    """Asks a judge for the label of each statement.

    Args:
        annotations: from `annotations.read_annotations`.
        judging: whom to ask, with which texts, one by one or batched (all statements of an answer together).

    Returns:
        A label each, in order; `not_entailment` from judges that know no more.

    Raises:
        UsageError: Official prompts batched.
    """
    # The authors ask of must-have statements alone whether they are entailed; here that is wanted of all.
    official = judging.prompts.name == "official"
    of_answer: dict[str, tuple[list[Annotation], list[Annotation]]] = {}
    for entry in annotations:
        must, nice = of_answer.setdefault(entry.cluster, ([], []))
        (must if official or entry.importance == "Must_have" else nice).append(entry)
    cases = [
        Case(
            id=name,
            question=(must or nice)[0].question,
            answer=(must or nice)[0].answer,
            must_have=tuple(entry.statement for entry in must),
            nice_to_have=tuple(entry.statement for entry in nice),
        )
        for name, (must, nice) in of_answer.items()
    ]
    labels: dict[str, Label | Unscored] = {}
    for (must, nice), answer in zip(of_answer.values(), judge_answers(cases, judging), strict=True):
        for entry, verdict in zip([*must, *nice], answer.statements, strict=True):
            labels[entry.id] = _label(entry, verdict)
    return [labels[entry.id] for entry in annotations]


def _label(entry: Annotation, verdict: StatementVerdict) -> Label | Unscored:
    if verdict.entailed and verdict.contradicted:
        return Unscored(id=entry.id, reason=BOTH)
    if verdict.entailed is False and CANNOT_TELL in verdict.reasons:
        return "not_entailment"
    if verdict.entailed is None or verdict.contradicted is None:
        return Unscored(id=entry.id, reason=next(iter(verdict.reasons), _NO_REASON))
    if verdict.entailed:
        return "entailment"
    return "contradiction" if verdict.contradicted else "neutral"


def kqa_set(
    source: Path | None, *, prompts: str = "own", upstream: Path | None = None, most: int | None = None
) -> CheckSet:
    """The 399 statements that three physicians labelled.

    Args:
        source: the file, its folder, or a checkout of the authors' repository.
        prompts: `own` or `official`.
        upstream: for `official`, the authors' checkout.
        most: how many pairs at most.

    Raises:
        MissingError: A file is not there; says how to get it.
        UsageError: A file is not of its form.
    """
    texts = load_judge_prompts(KQA, prompts, upstream)
    path = find_annotations(source)
    annotations = read_annotations(path)
    pairs = subset(check_pairs(annotations), most)
    kept = {pair.id for pair in pairs}
    wanted = [entry for entry in annotations if entry.id in kept]

    def ask(judge: Judge, mode: Literal["single", "batched"]) -> list[Label | Unscored]:
        return judge_annotations(wanted, Judging(judge=judge, prompts=texts, mode=mode))

    return CheckSet(
        name="kqa",
        pairs=pairs,
        ask=ask,
        ways=3,
        source={path.name: file_sha256(path)},
        prompts={"set": texts.name, "sha256": texts.sha256},
    )


def _read(request: CheckRequest) -> CheckSet:
    return kqa_set(request.source, prompts=request.prompts, upstream=request.upstream, most=request.max_pairs)


CHECK_SET: Final = CheckSetSource(
    read=_read, takes=frozenset({"prompts", "upstream"}), task=lambda form: KQA, batched=True
)
