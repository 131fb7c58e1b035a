"""The sets of labelled pairs that a judge can be checked on, each with the way it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from medical_tasks.dataset_source import file_sha256
from medical_tasks.guard import Subject
from medical_tasks.judge_check import CheckPair, subset
from medical_tasks.judges.base import Judge, Judging, Label, Unscored
from medical_tasks.kqa.annotations import find_annotations, read_annotations
from medical_tasks.kqa.checking import check_pairs, judge_annotations
from medical_tasks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.kqa.spec import KQA
from medical_tasks.nli_questions import TEMPLATE_SHA256, nli_question
from medical_tasks.nli_sets import LabelledPair, find_anli, find_mednli, read_anli, read_mednli

__all__ = ["CheckSet", "anli_set", "kqa_set", "mednli_set"]

Mode = Literal["single", "batched"]

MEDNLI = Subject(
    name="judge-check mednli",
    dataset="mednli",
    access="credentialed",
    rule=(
        "MedNLI (PhysioNet-Credentialed, https://physionet.org/content/mednli/): its premises are sentences of MIMIC-III notes; "
        "PhysioNet's rule is to use models on your own machines, and that no third party may keep what it is sent"
    ),
)


@dataclass(frozen=True, kw_only=True)
class CheckSet:
    """Labelled pairs and how a judge is asked about them.

    Attributes:
        pairs: with the labels of people.
        ask: asks a judge, in one of two modes, for the label of each pair in order.
        ways: 3, or 2 when only entailed or not is asked.
        source: official files, name to SHA-256.
        prompts: `set` and `sha256` of the texts of the question.
        subjects: what the guard has to know.
    """

    pairs: Sequence[CheckPair]
    ask: Callable[[Judge, Mode], list[Label | Unscored]]
    ways: int
    source: Mapping[str, str]
    prompts: Mapping[str, Any]
    subjects: Sequence[Subject] = ()

    @property
    def private(self) -> bool:
        """Whether replies may quote credentialed text, and lie in the private store."""
        return any(subject.access != "open" for subject in self.subjects)


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

    def ask(judge: Judge, mode: Mode) -> list[Label | Unscored]:
        return judge_annotations(wanted, Judging(judge=judge, prompts=texts, mode=mode))

    return CheckSet(
        pairs=pairs,
        ask=ask,
        ways=3,
        source={path.name: file_sha256(path)},
        prompts={"set": texts.name, "sha256": texts.sha256},
    )


def anli_set(
    source: Path, *, round_name: str | None = None, split: str = "test", ways: int = 3, most: int | None = None
) -> CheckSet:
    """ANLI, one round or all.

    Args:
        source: a file, the unpacked folder, or the folder of one round.
        round_name: `R1`, `R2` or `R3`; None for all.
        split: `train`, `dev` or `test`.
        ways: 3 for three classes, 2 for entailed or not.
        most: how many pairs at most.

    Raises:
        MissingError: A file is not there; says how to get it.
        UsageError: A file is not of the official form.
    """
    files = find_anli(source, round_name=round_name, split=split)
    hashes = {"/".join(filter(None, (group, path.name))): file_sha256(path) for path, group in files.items()}
    return _nli_set(read_anli(files), ways=ways, most=most, source=hashes)


def mednli_set(source: Path, *, split: str = "test", ways: int = 3, most: int | None = None) -> CheckSet:
    """MedNLI, under the guard.

    Args:
        source: the file, or the folder with the files.
        split: `train`, `dev` or `test`.
        ways: 3 for three classes, 2 for entailed or not.
        most: how many pairs at most.

    Raises:
        MissingError: The file is not there; says how to get it.
        UsageError: It is not of the official form.
    """
    path = find_mednli(source, split=split)
    found = _nli_set(read_mednli(path), ways=ways, most=most, source={path.name: file_sha256(path)})
    return replace(found, subjects=(MEDNLI,))


def _nli_set(labelled: Sequence[LabelledPair], *, ways: int, most: int | None, source: Mapping[str, str]) -> CheckSet:
    # Hypotheses about one premise are not independent.
    every = [
        CheckPair(id=pair.id, gold=pair.label, cluster=pair.premise, group=pair.group, ratings=()) for pair in labelled
    ]
    pairs = subset(every, most)
    kept = {pair.id for pair in pairs}
    questions = [nli_question(pair, ways=ways) for pair in labelled if pair.id in kept]

    def ask(judge: Judge, mode: Mode) -> list[Label | Unscored]:
        return [outcome if isinstance(outcome, Unscored) else outcome.value for outcome in judge.ask(questions)]

    return CheckSet(
        pairs=pairs,
        ask=ask,
        ways=ways,
        source=source,
        prompts={"set": "own", "sha256": TEMPLATE_SHA256},
    )
