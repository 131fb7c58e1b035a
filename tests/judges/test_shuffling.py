"""Verdicts with statements and sentences in other orders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.judge_check import check_set
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.cli.entry import main
from medical_tasks.judges.base import Question
from medical_tasks.judges.check_figures import CheckPair
from medical_tasks.judges.check_sets import CheckRequest
from medical_tasks.judges.checks import NLI
from medical_tasks.judges.shuffling import (
    Shuffle,
    order_figures,
    shuffled,
    shuffled_sentences,
)
from tests.benchmarks.kqa.physicians_csv import expected_letter, rows, write
from tests.judges.scripted import TableJudge

LABELS = {"E": "entailment", "N": "neutral", "C": "contradiction"}
STATEMENTS = Shuffle("statements", 1)
SENTENCES = Shuffle("sentences", 1)


@given(st.lists(st.integers(), max_size=6, unique=True), st.integers(1, 50))
def test_shuffling_reorders_items_and_loses_none(
    things: list[int], number: int
) -> None:
    moved = shuffled(things, "name", Shuffle("statements", number))
    assert sorted(moved) == sorted(things)
    assert len(things) < 2 or moved != things
    assert moved == shuffled(things, "name", Shuffle("statements", number))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("One sentence", ["One sentence"]),
        ("It heals. Rest helps!", ["It heals.", "Rest helps!"]),
        ("  - It heals.\n  - Rest helps. Tea too.\n", ["- It heals.", "- Rest helps.", "Tea too."]),
    ],
)  # fmt: skip
def test_sentences_are_reordered_and_the_layout_stays(
    text: str, sentences: list[str]
) -> None:
    moved = shuffled_sentences(text, "name", SENTENCES)
    layout = re.compile("|".join(map(re.escape, sentences)) or "(?!)")
    assert layout.sub("_", moved) == layout.sub("_", text)
    assert sorted(layout.findall(moved)) == sorted(sentences)
    assert (moved == text) == (len(sentences) < 2)


def test_figures_by_hand() -> None:
    gold = ["entailment", "neutral", "entailment", None]
    pairs = [
        CheckPair(id=str(number), gold=label, cluster=str(number))
        for number, label in enumerate(gold)
    ]
    as_given = ["entailment", "neutral", "neutral", "neutral"]
    first = ["entailment", "entailment", "entailment", "neutral"]
    second = ["entailment", None, "entailment", "neutral"]
    places = [[0.1, 0.9, 0.9, 0.5], [0.9, 0.1, 0.1, 0.5]]
    figures = order_figures(pairs, as_given, [first, second], places, NLI[0])
    assert figures["orders"] == 3
    # Flips of the three pairs of orders: 0, 1 of the 1 with both verdicts, 2 of 3, 0.
    assert figures["flips"]["value"] == pytest.approx((0 + 1 + 2 / 3 + 0) / 4)  # type: ignore[index]
    assert figures["bounds"] == pytest.approx([(1 / 3 + 2 / 3) / 4, (1 + 2 / 3) / 4])
    people = [row["accuracy"]["value"] for row in figures["with_people"]]  # type: ignore[attr-defined]
    assert people == pytest.approx([2 / 3, 2 / 3, 1.0])
    by_place = {
        name: (accuracy["value"], accuracy["n"])
        for name, accuracy in figures["by_place"].items()  # type: ignore[attr-defined]
    }
    assert by_place["first third"] == (1.0, 2)
    assert by_place["last third"] == (pytest.approx(2 / 3), 3)
    assert by_place["last less first"][0] == pytest.approx(-1 / 3)


Verdicts = tuple[tuple[str, str], ...]


def _listed(question: Question) -> list[str]:
    """The statements that a question asks about, in their order."""
    content = str(question.messages[0]["content"])
    return [line for line in content.splitlines() if ", judge " in line]


def _by_text(question: Question) -> Verdicts:
    """Labels each statement as its text says."""
    listed = enumerate(_listed(question), start=1)
    return tuple(
        (f"s{number}", LABELS[expected_letter(line)]) for number, line in listed
    )


def _by_place(question: Question) -> Verdicts:
    """Labels the first of a list as entailed, whatever its text."""
    numbers = range(1, len(_listed(question)) + 1)
    labels = {1: "entailment"}
    return tuple((f"s{number}", labels.get(number, "neutral")) for number in numbers)


def test_verdicts_by_text_stay_and_those_by_position_change(tmp_path: Path) -> None:
    file = write(tmp_path / "labels.csv", rows())
    chosen = check_set(KQA).read(CheckRequest(source=file))
    assert chosen.ask_shuffled is not None
    for script, moves in ((_by_text, False), (_by_place, True)):
        judge = TableJudge(script)
        as_given = chosen.ask(judge, "batched", False)
        others = chosen.ask_shuffled(judge, "batched", STATEMENTS)
        assert (list(others.labels) != list(as_given)) == moves
        sentences = chosen.ask_shuffled(judge, "batched", SENTENCES)
        assert list(sentences.labels) == list(as_given)
        assert not sentences.places
    # Three answers, of 3, 3 and 4 statements: positions are those of the prompt.
    labelled = zip(others.places, others.labels, strict=True)
    firsts = sorted(position for position, label in labelled if label == "entailment")
    assert firsts == pytest.approx([1 / 8, 1 / 6, 1 / 6])


@pytest.mark.usefixtures("here")
def test_judge_check_with_orders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "labels.csv", rows())
    command = ["judge-check", "kqa", "--judge", "lexical", "--source", str(file)]
    assert (
        main([*command, "--orders", "3", "--judging", "batched", "--out", "both"]) == 0
    )
    printed = capsys.readouterr().out
    assert re.search(
        r"statements +verdicts that flip, of pairs of 3 orders +0\.000", printed
    )
    assert "accuracy, last less first" in printed
    orders = json.loads(Path("both/check.json").read_text(encoding="utf-8"))["orders"]
    assert [len(row["with_people"]) for row in orders.values()] == [3, 3]
    assert main([*command, "--orders", "2", "--out", "single"]) == 0
    assert (
        "Statements were not shuffled: each statement is judged alone"
        in capsys.readouterr().out
    )
    assert main([*command, "--orders", "1", "--out", "none"]) == 2
    assert "--orders must be 2 or more, got 1" in capsys.readouterr().err
