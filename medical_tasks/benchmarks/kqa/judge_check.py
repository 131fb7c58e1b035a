"""Checks a judge on the statements that K-QA's physicians labelled.

Manes et al. 2024, section 4, "Automatic evaluation": for 399 statements, three
physicians labelled whether one of 50 models' answers entails it, contradicts it, or
neither, to measure how well a judge does the same. The file is
`dataset/NLI_medical_annotator.csv` of https://github.com/Itaymanes/K-QA. The agreement
of the three is the ceiling for any judge. The judge is asked by the same code that
scores K-QA's answers.

    medical-tasks judge-check kqa --source K-QA --judge JUDGE
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.kqa.data import question_form
from medical_tasks.benchmarks.kqa.declarations import DATASET
from medical_tasks.benchmarks.kqa.judge_prompts import VERDICTS, load_judge_prompts
from medical_tasks.benchmarks.kqa.judging import (
    CANNOT_TELL,
    Case,
    StatementVerdict,
    judge_answers,
)
from medical_tasks.data.dataset_source import file_sha256, repository_file
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.csv_files import StreamedRow, read_csv
from medical_tasks.judges.base import Judge, Judging, Label, Unscored
from medical_tasks.judges.check_figures import CheckPair, subset
from medical_tasks.judges.check_sets import (
    CheckRequest,
    CheckSet,
    CheckSetSource,
    Mode,
    cell_error,
    pair_id,
)
from medical_tasks.judges.shuffling import (
    Shuffle,
    Shuffled,
    place_in,
    shuffled,
    shuffled_sentences,
)
from medical_tasks.scoring.agreement import majority
from medical_tasks.spec import TaskSpec

ANNOTATIONS_FILE: Final = "NLI_medical_annotator.csv"
RATERS: Final = 3

_LABELS: Mapping[str, Label] = {
    "Entailment": "entailment",
    "Neutral": "neutral",
    "Contradiction": "contradiction",
}
_LABEL_COLUMNS = tuple(f"label_{rater}" for rater in range(RATERS))
_COLUMNS = (
    "",
    "Question",
    "llm_x",
    "answer",
    "claim",
    "category_x",
    "majority_label",
    *_LABEL_COLUMNS,
)
_IMPORTANCE = ("Must_have", "Nice_to_have")
_RELEASE = "K-QA physicians' labels (dataset/NLI_medical_annotator.csv)"
_STEPS = (
    "The labels are no part of this package. To get them: medical-tasks build kqa --fetch, or "
    "git clone "
    "https://github.com/Itaymanes/K-QA; then give --source that folder (or the path of its "
    f"dataset/{ANNOTATIONS_FILE})."
)


@dataclass(frozen=True, kw_only=True)
class Annotation(CheckPair):
    """A statement about an answer, labelled by three physicians (`ratings`); `gold` is their majority.

    Its id is a hash of question, answer and statement. Its cluster is a hash of question
    and answer, since statements about one answer are not independent.

    Attributes:
        importance: `Must_have` or `Nice_to_have`.
    """

    question: str
    answer: str
    statement: str
    importance: str


def find_annotations(source: Path | None) -> Path:
    """Finds the file: its own path, in its folder, or in a checkout of the authors' repository."""
    if source is None:
        raise MissingError(f"judge-check kqa needs the physicians' labels. {_STEPS}")

    source = source.expanduser()
    if source.is_file():
        return source
    if not source.is_dir():
        raise MissingError(f"{source}: no such file or folder. {_STEPS}")

    try:
        return repository_file(
            source, f"dataset/{ANNOTATIONS_FILE}", repository=DATASET.homepage
        )
    except MissingError:
        raise MissingError(
            f"{source}: no {ANNOTATIONS_FILE} in it, nor in a folder dataset/ of it. {_STEPS}"
        ) from None


def read_annotations(path: Path) -> list[Annotation]:
    """Reads the official CSV file, in order."""
    annotations = [
        _annotation(path, row) for row in read_csv(path, _COLUMNS, release=_RELEASE)
    ]
    lines: dict[str, int] = {}
    for number, entry in enumerate(annotations, start=1):
        if entry.id in lines:
            raise UsageError(
                f"{path}: rows {lines[entry.id]} and {number} are the same statement about the "
                "same answer. Each is labelled "
                "once in the released file; remove one of them."
            )

        lines[entry.id] = number

    return annotations


def _annotation(path: Path, row: StreamedRow) -> Annotation:
    """Reads a row, whose majority must be that of its three labels."""
    cells = row.cells
    for name in ("Question", "answer", "claim"):
        if not cells[name].strip():
            raise cell_error(path, row, name, "empty; every row has a text there")

    labels = tuple(_label(path, row, name) for name in _LABEL_COLUMNS)
    stated = _label(path, row, "majority_label")
    if majority(labels) != stated:
        listed = ", ".join(cells[name] for name in _LABEL_COLUMNS)
        rule = f"{cells['majority_label']!r} is not what at least two of the three labels say ({listed})"
        raise cell_error(path, row, "majority_label", rule)

    if cells["category_x"] not in _IMPORTANCE:
        raise cell_error(
            path,
            row,
            "category_x",
            f"must be {' or '.join(_IMPORTANCE)}, got {cells['category_x']!r}",
        )

    return Annotation(
        id=pair_id(cells["Question"], cells["answer"], cells["claim"]),
        question=cells["Question"],
        answer=cells["answer"],
        statement=cells["claim"],
        importance=cells["category_x"],
        ratings=labels,
        gold=stated,
        cluster=pair_id(cells["Question"], cells["answer"]),
        model=cells["llm_x"].strip(),
        words=len(cells["answer"].split()),
        groups={"question_form": question_form(cells["Question"])},
    )


def _label(path: Path, row: StreamedRow, name: str) -> Label:
    text = row.cells[name]
    if text not in _LABELS:
        raise cell_error(path, row, name, f"must be {', '.join(_LABELS)}, got {text!r}")
    return _LABELS[text]


BOTH = "judge: entails and contradicts"
"""Reason for a statement on which the verdicts of the authors' two questions contradict each other."""


def judge_annotations(
    annotations: Sequence[Annotation],
    judging: Judging,
    *,
    backwards: bool = False,
    shuffle: Shuffle | None = None,
) -> list[Label | Unscored]:
    """Asks a judge for a label of each statement, in order.

    Two-way judges give `not_entailment`.

    Args:
        annotations: the statements, with the answers that they are about.
        judging: the judge, and its prompts and mode.
        backwards: whether an answer's statements are in reverse order.
        shuffle: how an answer's statements or sentences are shuffled.
    """
    official = judging.prompts.name == "official"
    shuffles = shuffle is not None and shuffle.what == "statements"
    groups: list[list[Annotation]] = []
    cases: list[Case] = []
    for name, group in _by_answer(annotations).items():
        group = group if official else _must_have_first(group)
        group = group[::-1] if backwards else group
        if shuffle is not None and shuffles:
            group = shuffled(group, name, shuffle)

        # In another order, all count as must-have statements. So they do with the
        # official prompts, which ask for the entailment of these alone.
        all_must_have = official or backwards or shuffles
        must_haves = sum(_is_must_have(entry) for entry in group)
        end = len(group) if all_must_have else must_haves
        statements = tuple(entry.statement for entry in group)
        groups.append(group)
        cases.append(
            Case(
                id=name,
                question=group[0].question,
                answer=_answer(group[0], shuffle),
                must_have=statements[:end],
                nice_to_have=statements[end:],
            )
        )

    labels: dict[str, Label | Unscored] = {}
    for group, answer in zip(groups, judge_answers(cases, judging), strict=True):
        for entry, verdict in zip(group, answer.statements, strict=True):
            labels[entry.id] = _judged_label(entry, verdict)

    return [labels[entry.id] for entry in annotations]


def _by_answer(annotations: Sequence[Annotation]) -> dict[str, list[Annotation]]:
    by_answer: dict[str, list[Annotation]] = {}
    for entry in annotations:
        by_answer.setdefault(entry.cluster, []).append(entry)
    return by_answer


def _is_must_have(entry: Annotation) -> bool:
    return entry.importance == "Must_have"


def _must_have_first(entries: Sequence[Annotation]) -> list[Annotation]:
    return sorted(entries, key=_is_must_have, reverse=True)


def _answer(entry: Annotation, shuffle: Shuffle | None) -> str:
    if shuffle is None or shuffle.what != "sentences":
        return entry.answer
    return shuffled_sentences(entry.answer, entry.cluster, shuffle)


def _places(annotations: Sequence[Annotation], shuffle: Shuffle) -> list[float]:
    """The position of each statement among those of its answer, after a shuffle."""
    places: dict[str, float] = {}
    for name, entries in _by_answer(annotations).items():
        group = shuffled(_must_have_first(entries), name, shuffle)
        for number, entry in enumerate(group):
            places[entry.id] = place_in(number, len(group))

    return [places[entry.id] for entry in annotations]


def _judged_label(entry: Annotation, verdict: StatementVerdict) -> Label | Unscored:
    """The judge's two verdicts on a statement as one label, like those that people gave.

    `not_entailment` is from a judge that tells no more than entailed or not. Unscored if a
    verdict is missing, or if the statement is both entailed and contradicted.
    """
    if verdict.entailed and verdict.contradicted:
        return Unscored(id=entry.id, reason=BOTH)
    if verdict.entailed is False and CANNOT_TELL in verdict.reasons:
        return "not_entailment"

    if verdict.entailed is None or verdict.contradicted is None:
        return Unscored(
            id=entry.id, reason=next(iter(verdict.reasons), "judge: no verdict")
        )

    if verdict.entailed:
        return "entailment"

    return "contradiction" if verdict.contradicted else "neutral"


def _read(task: TaskSpec, request: CheckRequest) -> CheckSet:
    """Reads the labelled statements, as many as requested."""
    texts = load_judge_prompts(task, request.prompts, request.upstream)
    path = find_annotations(request.source)
    annotations = read_annotations(path)
    pairs = subset(annotations, request.max_pairs)
    chosen = {pair.id for pair in pairs}
    entries = [entry for entry in annotations if entry.id in chosen]

    def ask(judge: Judge, mode: Mode, backwards: bool) -> list[Label | Unscored]:
        prompts = texts.turned(VERDICTS) if backwards else texts
        return judge_annotations(
            entries,
            Judging(judge=judge, prompts=prompts, mode=mode),
            backwards=backwards,
        )

    def ask_shuffled(judge: Judge, mode: Mode, shuffle: Shuffle) -> Shuffled:
        judging = Judging(judge=judge, prompts=texts, mode=mode)
        labels = judge_annotations(entries, judging, shuffle=shuffle)
        of_statements = shuffle.what == "statements"
        return Shuffled(labels, _places(entries, shuffle) if of_statements else ())

    return CheckSet(
        name="kqa",
        pairs=pairs,
        ask=ask,
        ask_shuffled=ask_shuffled,
        answers=201,
        whole=True,
        ways=3,
        source={path.name: file_sha256(path)},
        prompts={"set": texts.name, "sha256": texts.sha256},
    )


def check_set(task: TaskSpec) -> CheckSetSource:
    """The set of labelled statements for checking a judge of `task`."""
    return CheckSetSource(
        read=partial(_read, task),
        takes=frozenset({"prompts", "upstream"}),
        task=lambda form: task,
        batched=True,
        commands={"kqa": ""},
    )
