"""The lexical judge: labels by hand, laws, and its agreement with the pairs of physicians."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.judges.base import LABELS, Backend, NoReply, Reply
from medical_tasks.judges.lexical import LexicalJudge, Sentence, decide
from medical_tasks.scoring.agreement import accuracy_interval, cohen_interval
from tests.case_tables import tables
from tests.judges.tiny_nli import answers
from tests.support import ROOT, SHARED, needs_shared

CASES = tables(__file__, "lexical")

TEXT = st.text(max_size=60) | st.lists(
    st.sampled_from(
        "safe unsafe not no 5 mg 1. - * . ! \n \u2028 \x1c The patient 2,000 % 。 I'd ’ \ud800".split(
            " "
        )
    ),
    max_size=12,
).map(" ".join)


@pytest.mark.parametrize(("premise", "hypothesis", "label"), CASES["labels"])
def test_labels_by_hand(premise: str, hypothesis: str, label: str) -> None:
    assert decide(premise, hypothesis) == label


@pytest.mark.parametrize(
    "premise", CASES["a_line_or_sentence_that_is_the_hypothesis_entails_it"]
)
def test_a_line_or_sentence_that_is_the_hypothesis_entails_it(premise: str) -> None:
    assert decide(premise, "Aspirin thins the blood.") == "entailment"


def test_a_part_of_a_sentence_is_no_sentence_and_long_texts_are_read() -> None:
    assert (
        decide(
            "It is not true that aspirin thins the blood.", "Aspirin thins the blood."
        )
        == "contradiction"
    )
    assert decide("You never need aspirin 5 mg.", "need aspirin 5") != "entailment"
    # Quadratic time would exceed the time limit of a test.
    assert decide("a" * 500_000 + " ." * 25_000, "a " * 15_000) in (
        "entailment",
        "neutral",
    )
    assert decide("a. " * 25_000, "a. " * 15_000 + "b") in ("entailment", "neutral")


@given(before=TEXT, hypothesis=TEXT, after=TEXT)
def test_law_a_line_entails_itself(before: str, hypothesis: str, after: str) -> None:
    if hypothesis.strip():
        assert decide(f"{before}\n{hypothesis}\n{after}", hypothesis) == "entailment"
        assert (
            decide(f"{before}\n  {hypothesis}\t\r\n{after}", f" {hypothesis}\n")
            == "entailment"
        )


@given(
    before=TEXT,
    words=st.lists(
        st.sampled_from("no pain 5 mg not safe for children aged two".split()),
        min_size=1,
        max_size=6,
    ),
    end=st.sampled_from([".", "!", "?", ""]),
    after=TEXT,
)
def test_law_a_sentence_entails_itself_whatever_its_case_and_blanks(
    before: str, words: list[str], end: str, after: str
) -> None:
    spread = " \t ".join(word.upper() for word in words)
    assert decide(f"{before}. {spread}. {after}", " ".join(words) + end) == "entailment"


@given(premise=TEXT, hypothesis=TEXT)
def test_law_any_text_has_one_label(premise: str, hypothesis: str) -> None:
    label = decide(premise, hypothesis)
    assert label in ("entailment", "neutral", "contradiction")
    assert decide(premise, hypothesis) == label
    assert decide("", hypothesis) == "neutral"
    assert not Sentence(premise).clashes(Sentence(premise))
    assert isinstance(Sentence(premise).clashes(Sentence(hypothesis)), bool)


def test_labels_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import random; from medical_tasks.judges.lexical import decide\n"
        "words = 'safe unsafe not pain mild severe 5 10 mg rises falls recommended children adults daily'.split()\n"
        "chance = random.Random(3)\n"
        "text = lambda n: ' '.join(chance.choice(words) + chance.choice(['', '', '.']) for _ in range(n))\n"
        "print(''.join(decide(text(20), text(6))[0] for _ in range(400)))\n"
    )
    outputs = set()
    for seed in ("0", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        process = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            check=True,
        )
        outputs.add(process.stdout)
    assert len(outputs) == 1
    assert set(outputs.pop().decode().strip()) == {"e", "n", "c"}


def test_the_lexical_judge_is_a_backend() -> None:
    judge: Backend = LexicalJudge()
    assert (judge.name, judge.comparable, judge.samples, judge.endpoint, judge.reads) == (
        "lexical", False, False, None, "pair",
    )  # fmt: skip
    assert all(isinstance(value, str) for value in judge.identity.values())
    assert {"version", "entails_from", "same_from", "window", "stem"} <= set(
        judge.identity
    )
    outcomes = answers(
        judge, [("Rest helps.", "Rest helps."), None, ("", "Rest helps.")]
    )
    assert outcomes == [
        Reply(key="key 0", label="entailment", attempts=0),
        NoReply(key="key 1", reason="no pair"),
        Reply(key="key 2", label="neutral", attempts=0),
    ]
    judge.close()


@pytest.mark.upstream
@needs_shared
def test_agreement_with_physicians_is_as_documented() -> None:
    # Parameters were chosen on the questions at even positions of this order alone
    # (docs/judges_local.md has the figures).
    with (SHARED / "data" / "kqa" / "NLI_medical_annotator.csv").open(
        encoding="utf-8", newline=""
    ) as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 399
    questions = sorted(
        {row["Question"] for row in rows},
        key=lambda text: hashlib.sha256(text.encode()).hexdigest(),
    )
    chosen_on = set(questions[::2])
    halves = {
        True: [row for row in rows if row["Question"] in chosen_on],
        False: [row for row in rows if row["Question"] not in chosen_on],
    }
    assert [len(halves[True]), len(halves[False])] == [207, 192]
    figures = {half: _agreement(pairs) for half, pairs in halves.items()}
    assert figures == {True: (0.705, 0.413), False: (0.677, 0.372)}
    assert _agreement(rows) == (0.692, 0.393)
    text = (ROOT / "docs" / "judges_local.md").read_text(encoding="utf-8")
    documented = [
        json.dumps(number)
        for half in (*figures.values(), _agreement(rows))
        for number in half
    ]
    assert [number for number in documented if number not in text] == []


def _agreement(rows: Sequence[dict[str, str]]) -> tuple[float, float]:
    gold, labels = zip(
        *(
            (row["majority_label"].casefold(), decide(row["answer"], row["claim"]))
            for row in rows
        ),
        strict=True,
    )
    kappa = cohen_interval(gold, labels, classes=LABELS[:3], resamples=100)
    return round(accuracy_interval(gold, labels).value, 3), round(kappa.value, 3)
