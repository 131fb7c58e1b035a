"""The physicians' labels, and a judge's labels of the same statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from medical_tasks.benchmarks.kqa.judge_check import (
    ANNOTATIONS_FILE,
    BOTH,
    Annotation,
    find_annotations,
    judge_annotations,
    read_annotations,
)
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.base import (
    JudgeOptions,
    JudgePrompts,
    Judging,
    Question,
    Unscored,
)
from tests.benchmarks.common import judge_session
from tests.benchmarks.kqa.physicians_csv import expected_letter, rows, write
from tests.case_tables import tabled
from tests.judges.scripted import ScriptedBackend, TableJudge
from tests.support import SHARED, needs_shared


def test_rows_become_annotations(tmp_path: Path) -> None:
    annotations = read_annotations(write(tmp_path / "labels.csv", rows()))
    assert len(annotations) == 10
    entry = annotations[1]
    assert entry.question == "What helps against complaint 0?"
    assert entry.answer.startswith("Rest helps against complaint 0.")
    assert entry.statement == "Remedy 1 helps against complaint 0 (EEN, judge N)"
    assert (entry.ratings, entry.gold) == (
        ("entailment", "entailment", "neutral"),
        "entailment",
    )
    assert entry.importance == "Nice_to_have"
    assert annotations[0].cluster == entry.cluster != annotations[3].cluster
    assert len({entry.id for entry in annotations}) == 10
    forward = read_annotations(write(tmp_path / "a.csv", rows()))
    backward = read_annotations(write(tmp_path / "b.csv", rows()[::-1]))
    assert [entry.id for entry in forward] == [entry.id for entry in backward[::-1]]


def test_the_file_is_found_in_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(
        MissingError, match="git clone https://github.com/Itaymanes/K-QA"
    ):
        find_annotations(None)
    with pytest.raises(MissingError, match="no NLI_medical_annotator.csv in it"):
        find_annotations(tmp_path)
    with pytest.raises(MissingError, match="no such file or folder"):
        find_annotations(tmp_path / "nowhere")
    (tmp_path / "dataset").mkdir()
    path = write(tmp_path / "dataset" / ANNOTATIONS_FILE, rows())
    assert (
        find_annotations(tmp_path)
        == find_annotations(tmp_path / "dataset")
        == find_annotations(path)
        == path
    )


@tabled("column", "value", "message")
def test_a_wrong_cell_is_named(
    tmp_path: Path, column: str, value: str, message: str
) -> None:
    table = rows()
    table[1][column] = value
    with pytest.raises(UsageError, match=message):
        read_annotations(write(tmp_path / "labels.csv", table))


def test_a_repeated_statement_and_a_wrong_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rows 1 and 11 are the same statement"):
        read_annotations(write(tmp_path / "labels.csv", [*rows(), rows()[0]]))
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(
        UsageError, match="wrong columns for the K-QA physicians' labels"
    ):
        read_annotations(other)


@pytest.mark.upstream
@needs_shared
def test_the_released_file() -> None:
    annotations = read_annotations(find_annotations(SHARED / "data" / "kqa"))
    assert len(annotations) == 399
    assert Counter(entry.gold for entry in annotations) == {
        "neutral": 234,
        "entailment": 153,
        "contradiction": 12,
    }
    # paper, section 4: 50 questions and answers
    assert len({entry.cluster for entry in annotations}) == 50
    assert sum(len(set(entry.ratings)) == 1 for entry in annotations) == 312
    assert len({entry.id for entry in annotations}) == 399


LABELS = {"E": "entailment", "N": "neutral", "C": "contradiction"}


@pytest.fixture
def labelled(tmp_path: Path) -> list[Annotation]:
    return read_annotations(write(tmp_path / "labels.csv", rows()))


def hypothesis_of(question: Question) -> str:
    assert question.pair is not None
    return question.pair.hypothesis


def by_pair(question: Question) -> Any:
    """The verdict written in the statement, in the form of the question's values."""
    if question.pair is None:
        return None
    values: Mapping[str, Any] = dict(question.pair.values.items())
    return values[LABELS[expected_letter(question.pair.hypothesis)]]


def official(tmp_path: Path) -> JudgePrompts:
    for name in ("is_entails.txt", "is_contradict.txt"):
        (tmp_path / name).write_text(
            f"{name} {{question}} {{llm_answer}} {{answer}}", encoding="utf-8"
        )
    return load_judge_prompts(KQA, "official", tmp_path)


@pytest.mark.parametrize("prompts", ["own", "official"])
def test_labels_come_back_in_order(
    labelled: list[Annotation], prompts: str, tmp_path: Path
) -> None:
    texts = official(tmp_path) if prompts == "official" else load_judge_prompts(KQA)
    labels = judge_annotations(
        labelled, Judging(judge=TableJudge(by_pair), prompts=texts)
    )
    assert labels == [LABELS[expected_letter(entry.statement)] for entry in labelled]
    # Whatever the rows' order.
    back = judge_annotations(
        labelled[::-1], Judging(judge=TableJudge(by_pair), prompts=texts)
    )
    assert back == labels[::-1]


@pytest.mark.parametrize("prompts", ["own", "official"])
def test_a_judge_of_two_classes(
    labelled: list[Annotation], prompts: Literal["own", "official"], tmp_path: Path
) -> None:
    def two_way(call: Any) -> str:
        return (
            "entailment"
            if expected_letter(call.question.pair.hypothesis) == "E"
            else "not_entailment"
        )

    texts = official(tmp_path) if prompts == "official" else load_judge_prompts(KQA)
    backend = ScriptedBackend(two_way, reads="pair")
    with judge_session(tmp_path, backend, JudgeOptions()) as session:
        labels = judge_annotations(labelled, Judging(judge=session, prompts=texts))
    expected = [
        "entailment" if expected_letter(entry.statement) == "E" else "not_entailment"
        for entry in labelled
    ]
    assert labels == expected


def test_a_missing_verdict_has_a_reason(
    labelled: list[Annotation], tmp_path: Path
) -> None:
    silent = TableJudge(
        lambda question: (
            None if "Remedy 1" in hypothesis_of(question) else by_pair(question)
        )
    )
    labels = judge_annotations(
        labelled, Judging(judge=silent, prompts=load_judge_prompts(KQA))
    )
    missing = [label for label in labels if isinstance(label, Unscored)]
    assert [label.reason for label in missing] == ["judge: http 500"] * 3
    assert [label.id for label in missing] == [
        entry.id for entry in labelled if "Remedy 1" in entry.statement
    ]
    labels = judge_annotations(
        labelled,
        Judging(judge=TableJudge(lambda question: True), prompts=official(tmp_path)),
    )
    assert {label.reason for label in labels if isinstance(label, Unscored)} == {BOTH}
    assert len(labels) == 10
