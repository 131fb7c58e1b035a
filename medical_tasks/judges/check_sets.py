"""The sets of labelled pairs that a judge can be checked on, each with the way it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.benchmarks.ehrnoteqa import checking as ehrnoteqa_checking
from medical_tasks.benchmarks.ehrnoteqa import data as ehrnoteqa_data
from medical_tasks.benchmarks.ehrnoteqa import judge_prompts as ehrnoteqa_prompts
from medical_tasks.benchmarks.ehrnoteqa.human_scores import read_human_scores
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET as EHRNOTEQA
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS as EHRNOTEQA_TASKS
from medical_tasks.benchmarks.kqa.annotations import find_annotations, read_annotations
from medical_tasks.benchmarks.kqa.checking import check_pairs, judge_annotations
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.data.task_data import locate, rows_sha256
from medical_tasks.errors import UsageError
from medical_tasks.guard.policy import Subject
from medical_tasks.judges.base import Judge, Judging, Label, Unscored
from medical_tasks.judges.check_views import CORRECTNESS, NLI, View
from medical_tasks.judges.checks import check_set_of
from medical_tasks.judges.judge_check import CheckPair, subset
from medical_tasks.judges.nli_questions import STYLE, nli_question, template_sha256
from medical_tasks.judges.nli_sets import ROUNDS, LabelledPair, find_anli, find_mednli, read_anli, read_mednli
from medical_tasks.spec import Item, TaskSpec

__all__ = ["SUBJECTS", "CheckSet", "anli_set", "ehrnoteqa_set", "ehrnoteqa_task", "kqa_set", "mednli_set", "nli_set"]

Mode = Literal["single", "batched"]

MEDNLI: Final = "MedNLI"
"""The part of the set of both that MedNLI is; the others are ANLI's rounds."""

_ANLI_AVERAGE: Final = {"ANLI, mean of rounds": ROUNDS}
_AVERAGES: Final = {**_ANLI_AVERAGE, "mean of the four sets": (*ROUNDS, MEDNLI)}


def _mednli_subject(name: str) -> Subject:
    return Subject(
        name=f"judge-check {name}",
        dataset="mednli",
        access="credentialed",
        rule=(
            "MedNLI (PhysioNet-Credentialed, https://physionet.org/content/mednli/): its premises are sentences of MIMIC-III "
            "notes; PhysioNet's rule is to use models on your own machines, and that no third party may keep what it is sent"
        ),
    )


SUBJECTS: Final[Mapping[str, Sequence[Subject]]] = {
    "kqa": (),
    "anli": (),
    "mednli": (_mednli_subject("mednli"),),
    "nli": (_mednli_subject("nli"),),
    "ehrnoteqa": (Subject.of(EHRNOTEQA, task="judge-check ehrnoteqa"),),
}
"""The sets, and what the guard has to know of each."""


@dataclass(frozen=True, kw_only=True)
class CheckSet:
    """Labelled pairs and how a judge is asked about them.

    Attributes:
        name: under which a check is kept.
        pairs: with the labels of people.
        ask: asks a judge, in one of two modes, for the label of each pair in order.
        ways: how many classes the judge is asked for.
        views: the classes in which judge and people are compared.
        source: files with labels, name to SHA-256.
        prompts: `set` and `sha256` of the texts of the question.
        raters: names of those who labelled, where each is compared with the judge.
        averages: name of a mean of several groups' accuracies to the groups.
        about: what else belongs into `check.json`.
    """

    name: str
    pairs: Sequence[CheckPair]
    ask: Callable[[Judge, Mode], Sequence[str | Unscored]]
    ways: int
    views: Sequence[View] = NLI
    source: Mapping[str, str]
    prompts: Mapping[str, Any]
    raters: Sequence[str] = ()
    averages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)


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
        name="kqa",
        pairs=pairs,
        ask=ask,
        ways=3,
        source={path.name: file_sha256(path)},
        prompts={"set": texts.name, "sha256": texts.sha256},
    )


def anli_set(
    source: Path,
    *,
    round_name: str | None = None,
    split: str = "test",
    ways: int = 3,
    style: str = STYLE,
    most: int | None = None,
) -> CheckSet:
    """ANLI, one round or all.

    Args:
        source: a file, the unpacked folder, or the folder of one round.
        round_name: `R1`, `R2` or `R3`; None for all.
        split: `train`, `dev` or `test`.
        ways: 3 for three classes, 2 for entailed or not.
        style: how the reply is asked for.
        most: how many pairs at most.

    Raises:
        MissingError: A file is not there; says how to get it.
        UsageError: A file is not of the official form.
    """
    files = find_anli(source, round_name=round_name, split=split)
    averages = _ANLI_AVERAGE if set(files.values()) == set(ROUNDS) else {}
    pairs = read_anli(files)
    return _nli_set("anli", pairs, ways=ways, style=style, most=most, source=_hashes(files), averages=averages)


def mednli_set(
    source: Path, *, split: str = "test", ways: int = 3, style: str = STYLE, most: int | None = None
) -> CheckSet:
    """MedNLI.

    Args:
        source: the file, or the folder with the files.
        split: `train`, `dev` or `test`.
        ways: 3 for three classes, 2 for entailed or not.
        style: how the reply is asked for.
        most: how many pairs at most.

    Raises:
        MissingError: The file is not there; says how to get it.
        UsageError: It is not of the official form.
    """
    path = find_mednli(source, split=split)
    source_hash = {path.name: file_sha256(path)}
    return _nli_set("mednli", read_mednli(path), ways=ways, style=style, most=most, source=source_hash)


def nli_set(
    anli: Path, mednli: Path, *, split: str = "test", ways: int = 3, style: str = STYLE, most: int | None = None
) -> CheckSet:
    """ANLI's three rounds and MedNLI together, with the means that DocLens reports (tables 1 and 4).

    Args:
        anli: the unpacked folder.
        mednli: the file, or the folder with the files.
        split: `train`, `dev` or `test`.
        ways: 3 for three classes, 2 for entailed or not.
        style: how the reply is asked for.
        most: how many pairs at most.

    Raises:
        MissingError: A file is not there; says how to get it.
        UsageError: A file is not of the official form, or ANLI is not there in three rounds.
    """
    files, path = find_anli(anli, split=split), find_mednli(mednli, split=split)
    if set(files.values()) != set(ROUNDS):
        raise UsageError(f"{anli}: judge-check nli takes all three rounds of ANLI. Give the unpacked folder anli_v1.0.")
    pairs = [*read_anli(files), *(replace(pair, group=MEDNLI) for pair in read_mednli(path))]
    if len({pair.id for pair in pairs}) < len(pairs):
        raise UsageError(f"{path}: has ids of {anli}. Give MedNLI's own file to --mednli.")
    hashes = {**_hashes(files), path.name: file_sha256(path)}
    return _nli_set("nli", pairs, ways=ways, style=style, most=most, source=hashes, averages=_AVERAGES)


def _hashes(files: Mapping[Path, str]) -> dict[str, str]:
    return {"/".join(filter(None, (group, path.name))): file_sha256(path) for path, group in files.items()}


def ehrnoteqa_task(form: str) -> TaskSpec:
    """The task whose answers of a format, `open` or `mc`, a judge is checked on; its level plays no part."""
    return next(task for task in EHRNOTEQA_TASKS if task.options["format"] == form)


def ehrnoteqa_set(
    source: Path,
    *,
    form: str = "open",
    raters: Sequence[str] = (),
    data: Path | None = None,
    config: str | None = None,
    prompts: str = "own",
    upstream: Path | None = None,
    most: int | None = None,
) -> CheckSet:
    """Answers to EHRNoteQA's questions that people scored.

    Args:
        source: CSV file of scores (`ehrnoteqa.human_scores`).
        form: `open` or `mc`: what the models were asked.
        raters: the raters' columns; by default all that begin with `rater_`.
        data: folder of the built dataset; the user's data home by default.
        config: its configuration.
        prompts: `own` or `official`.
        upstream: for `official`, the authors' checkout.
        most: how many answers at most.

    Raises:
        MissingError: The file, the dataset or the prompts are not there.
        UsageError: A file is not of its form, or names questions that are not in the dataset.
    """
    task = ehrnoteqa_task(form)
    texts = ehrnoteqa_prompts.load_judge_prompts(task, prompts, upstream)
    scores = read_human_scores(source.expanduser(), raters)
    items, revision = _questions(task, data, config)
    found = ehrnoteqa_checking.scored_items(scores, items, where=f"configuration {revision['config']}, format {form},")
    every = ehrnoteqa_checking.check_pairs(scores, found)
    pairs = subset(every, most)
    kept = {pair.id for pair in pairs}
    asked = [(item, row.response) for item, row in zip(found, scores.rows, strict=True) if row.id in kept]

    def ask(judge: Judge, mode: Mode) -> Sequence[str | Unscored]:
        judging = Judging(judge=judge, prompts=texts, mode=mode)
        return ehrnoteqa_checking.judge_scored(task, asked, judging)

    return CheckSet(
        name=check_set_of(task),
        pairs=pairs,
        ask=ask,
        ways=len(CORRECTNESS.classes),
        views=(CORRECTNESS,),
        source={scores.path.name: file_sha256(scores.path)},
        prompts={"set": texts.name, "sha256": texts.sha256},
        raters=scores.raters,
        about={"data": revision, "format": form, "rows_nobody_scored": scores.unscored},
    )


def _questions(task: TaskSpec, data: Path | None, config: str | None) -> tuple[list[Item], dict[str, Any]]:
    """The questions of one format and all levels, and what they are."""
    folder, chosen = locate(EHRNOTEQA, data, config)
    rows = read_rows(folder, chosen, task.split, spec=EHRNOTEQA)
    levels = [each for each in EHRNOTEQA_TASKS if each.options["format"] == task.options["format"]]
    items = {item.id: item for each in levels for item in ehrnoteqa_data.load_items(each, rows)}
    revision = {
        "name": EHRNOTEQA.name,
        "config": chosen,
        "version": EHRNOTEQA.version,
        "rows_sha256": rows_sha256(folder, chosen, task.split, spec=EHRNOTEQA),
    }
    return list(items.values()), revision


def _nli_set(
    name: str,
    labelled: Sequence[LabelledPair],
    *,
    ways: int,
    style: str,
    most: int | None,
    source: Mapping[str, str],
    averages: Mapping[str, Sequence[str]] | None = None,
) -> CheckSet:
    # Hypotheses about one premise are not independent.
    every = [
        CheckPair(id=pair.id, gold=pair.label, cluster=pair.premise, group=pair.group, ratings=()) for pair in labelled
    ]
    pairs = subset(every, most)
    kept = {pair.id for pair in pairs}
    questions = [nli_question(pair, ways=ways, style=style) for pair in labelled if pair.id in kept]

    def ask(judge: Judge, mode: Mode) -> list[Label | Unscored]:
        return [outcome if isinstance(outcome, Unscored) else outcome.value for outcome in judge.ask(questions)]

    return CheckSet(
        name=name,
        pairs=pairs,
        ask=ask,
        ways=ways,
        source=source,
        # A check of another style is filed apart: it says little about the way benchmarks ask.
        prompts={"set": "own" if style == STYLE else f"own_{style}", "sha256": template_sha256(style)},
        averages=averages or {},
        about={"style": style},
    )
