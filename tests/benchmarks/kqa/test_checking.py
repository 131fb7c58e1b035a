from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest

from medical_tasks.benchmarks.kqa.annotations import BOTH, Annotation, check_pairs, judge_annotations, read_annotations
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions, JudgePrompts, Judging, Question, Unscored
from medical_tasks.judges.session import JudgeSession
from tests.benchmarks.kqa.physicians_csv import JUDGED, rows, said, write
from tests.judges.scripted import ScriptedBackend, TableJudge

LABELS = {"E": "entailment", "N": "neutral", "C": "contradiction"}


@pytest.fixture
def labelled(tmp_path: Path) -> list[Annotation]:
    return read_annotations(write(tmp_path / "labels.csv", rows()))


def by_pair(question: Question) -> Any:
    """Says what is written in the statement, as the question's values put it."""
    return question.pair and question.pair.values[LABELS[said(question.pair.hypothesis)]]  # type: ignore[index]


def official(tmp_path: Path) -> JudgePrompts:
    for name in ("is_entails.txt", "is_contradict.txt"):
        (tmp_path / name).write_text(f"{name} {{question}} {{llm_answer}} {{answer}}", encoding="utf-8")
    return load_judge_prompts(KQA, "official", tmp_path)


def test_pairs_carry_the_physicians_labels(labelled: list[Annotation]) -> None:
    pairs = check_pairs(labelled)
    assert [pair.id for pair in pairs] == [entry.id for entry in labelled]
    assert Counter(pair.gold for pair in pairs) == {"entailment": 4, "neutral": 4, "contradiction": 2}
    assert pairs[1].ratings == ("entailment", "entailment", "neutral")


@pytest.mark.parametrize("prompts", ["own", "official"])
def test_labels_come_back_in_order(labelled: list[Annotation], prompts: str, tmp_path: Path) -> None:
    texts = official(tmp_path) if prompts == "official" else load_judge_prompts(KQA)
    labels = judge_annotations(labelled, Judging(judge=TableJudge(by_pair), prompts=texts))
    assert labels == [LABELS[said(entry.statement)] for entry in labelled]
    # Whatever the rows' order.
    back = judge_annotations(labelled[::-1], Judging(judge=TableJudge(by_pair), prompts=texts))
    assert back == labels[::-1]


@pytest.mark.parametrize("prompts", ["own", "official"])
def test_a_judge_of_two_classes(
    labelled: list[Annotation], prompts: Literal["own", "official"], tmp_path: Path
) -> None:
    def two_way(call: Any) -> str:
        return "entailment" if said(call.question.pair.hypothesis) == "E" else "not_entailment"

    texts = official(tmp_path) if prompts == "official" else load_judge_prompts(KQA)
    with Store(tmp_path / "store.sqlite") as store:
        session = JudgeSession(ScriptedBackend(two_way, reads="pair"), JudgeOptions(), store, quiet=True)
        labels = judge_annotations(labelled, Judging(judge=session, prompts=texts))
    wanted = ["entailment" if JUDGED.search(e.statement)[2] == "E" else "not_entailment" for e in labelled]  # type: ignore[index]
    assert labels == wanted


def test_what_has_no_verdict_has_a_reason(labelled: list[Annotation]) -> None:
    silent = TableJudge(lambda question: None if "Remedy 1" in question.pair.hypothesis else by_pair(question))  # type: ignore[union-attr]
    labels = judge_annotations(labelled, Judging(judge=silent, prompts=load_judge_prompts(KQA)))
    missing = [label for label in labels if isinstance(label, Unscored)]
    assert [label.reason for label in missing] == ["judge: http 500"] * 3
    assert [label.id for label in missing] == [entry.id for entry in labelled if "Remedy 1" in entry.statement]


def test_both_questions_of_the_authors_said_yes(labelled: list[Annotation], tmp_path: Path) -> None:
    labels = judge_annotations(labelled, Judging(judge=TableJudge(lambda question: True), prompts=official(tmp_path)))
    assert {label.reason for label in labels if isinstance(label, Unscored)} == {BOTH}
    assert len(labels) == 10
