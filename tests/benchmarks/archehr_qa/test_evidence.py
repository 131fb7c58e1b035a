"""Similarity of a note's sentences to the questions, by words and by a checkpoint,
and the baseline's answers from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.evidence import (
    Chooser,
    Embeddings,
    Words,
    heuristic_identity,
    heuristic_responses,
    lexical_similarities,
    open_chooser,
    open_similarity,
    questions,
    ranked,
)
from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS
from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.embedder import open_embedder
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.spec import Item
from tests.benchmarks.archehr_qa.archehr_items import HEURISTIC, SENTENCES, TASK, case
from tests.models.tiny_embedder import TEXTS, make_bert


def test_bm25_calculated_by_hand() -> None:
    # Three sentences of 2, 2 and 4 counted words, 8/3 on average; "fever" is in two
    # of them, "stone" in one.
    similarities = lexical_similarities(
        ["Fever, cough.", "No stone passed.", "Fever fell; walked home."],
        ["fever stone?"],
    )
    rare, frequent = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    short, long = (
        1 / (1 + 1.5 * (0.25 + 0.75 * 2 / (8 / 3))),
        1 / (1 + 1.5 * (0.25 + 0.75 * 4 / (8 / 3))),
    )
    assert similarities == pytest.approx(
        [frequent * short, rare * short, frequent * long], abs=1e-6
    )
    assert ranked(similarities) == [1, 0, 2]


def test_words_are_compared_as_stems_without_case_and_function_words() -> None:
    assert lexical_similarities(["Infections."], ["INFECTION?"])[0] > 0
    assert lexical_similarities(["The patient was in it."], ["Why was she in it?"]) == [
        0.0
    ]
    assert lexical_similarities(["Given 1.5 mg."], ["What about 1 or 5?"]) == [0.0]
    # Both questions have the same weight.
    fever = lexical_similarities(["fever", "cough"], ["fever"])
    cough = lexical_similarities(["fever", "cough"], ["cough"])
    both = lexical_similarities(["fever", "cough"], ["fever", "cough"])
    assert both == pytest.approx(
        [(first + second) / 2 for first, second in zip(fever, cough, strict=True)],
        abs=1e-6,
    )


def test_compared_questions_and_empty_texts() -> None:
    empty: list[tuple[list[str], list[str], list[float]]] = [
        ([], ["fever"], []),
        (["fever"], [], [0.0]),
    ]
    for sentences, question_texts, expected in (
        *empty,
        (["", "--"], ["fever"], [0.0] * 2),
        (["fever"], [""], [0.0]),
    ):
        assert lexical_similarities(sentences, question_texts) == expected
    assert questions(case()) == (
        "Why did she have it?",
        "What was the cause of her fever?",
    )
    narrative_questions = questions(
        case(patient_question=" ", patient_narrative="a\n b")
    )
    assert narrative_questions == ("a b", "What was the cause of her fever?")
    assert (
        questions(
            case(patient_question="", patient_narrative="", clinician_question="")
        )
        == ()
    )


@given(similarities=st.lists(st.floats(-1, 1), max_size=20))
def test_a_ranking_is_descending_and_stable(
    similarities: list[float],
) -> None:
    order = ranked(similarities)
    assert sorted(order) == list(range(len(similarities)))
    for first, then in itertools.pairwise(order):
        assert (-similarities[first], first) < (-similarities[then], then)


@given(count=st.integers(1, 8))
@settings(max_examples=8)
def test_a_larger_choice_contains_the_smaller(count: int) -> None:
    fewer, more = (
        Chooser(Words(), count).choose(case()),
        Chooser(Words(), count + 1).choose(case()),
    )
    assert len(fewer) == min(count, 5)
    assert set(fewer) <= set(more)
    assert list(more) == sorted(more, key=int)


class Recorded(Words):
    """Records the items whose sentences are compared."""

    def __init__(self) -> None:
        self.compared_ids: list[str] = []

    def of(self, items: Sequence[Item]) -> list[list[float]]:
        self.compared_ids += [item.id for item in items]
        return super().of(items)


def test_an_item_is_compared_once() -> None:
    measure = Recorded()
    chooser = Chooser(measure, 2)
    first = [
        chooser.choose(case("1")),
        chooser.choose(case("2")),
        chooser.choose(case("1")),
    ]
    assert first == [("2", "5")] * 3
    assert measure.compared_ids == ["1", "2"]
    # An item with the same id and another note is compared again.
    chooser.choose(case("1", sentences=["fever", *"abcd"]))
    assert measure.compared_ids == ["1", "2", "1"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_bert(tmp_path_factory.mktemp("bert") / "tiny"))


def test_embeddings_are_cosines_with_the_questions(checkpoint: str) -> None:
    item = case(
        sentences=list(TEXTS), patient_question=TEXTS[0], clinician_question=TEXTS[1]
    )
    (similarities,) = Embeddings(checkpoint).of([item])
    vectors = open_embedder(checkpoint).embed(TEXTS)
    expected = [
        float(vector @ vectors[0] + vector @ vectors[1]) / 2 for vector in vectors
    ]
    assert similarities == pytest.approx(expected, abs=2e-6)


def test_embeddings_do_not_depend_on_other_items(checkpoint: str) -> None:
    items = [
        case("1"),
        case("2", sentences=[*TEXTS]),
        case("3", sentences=[], sentence_ids=[]),
    ]
    measure = Embeddings(checkpoint)
    together = measure.of(items)
    alone = [measure.of([item])[0] for item in items]
    assert [len(similarities) for similarities in together] == [5, 5, 0]
    for batched, single in zip(together, alone, strict=True):
        assert batched == pytest.approx(single, abs=1e-5)
    assert measure.of([]) == []
    assert measure.of(
        [case(patient_question="", patient_narrative="", clinician_question="")]
    ) == [[0.0] * 5]
    # The baseline's answers with the same similarity.
    responses = heuristic_responses(
        HEURISTIC, [case("1"), case("2")], {"embedder": checkpoint}
    )
    assert responses[0] == responses[1]
    assert responses[0].count("\n") == 4
    assert (
        heuristic_identity(HEURISTIC, {"embedder": checkpoint})["similarity"]["model"]
        == "tiny"
    )
    assert heuristic_identity(HEURISTIC, {})["similarity"]["method"] == "bm25"


def test_a_checkpoint_is_opened_once_for_prompts_and_protocol(
    checkpoint: str, tmp_path: Path
) -> None:
    assert open_similarity(checkpoint) is open_similarity(checkpoint)
    assert open_similarity(checkpoint).identity["kind"] == "embedder"
    assert open_chooser(checkpoint, 3) is open_chooser(checkpoint, 3)
    assert open_chooser(None, 3) is open_chooser(None, 3)
    three, four = open_chooser(checkpoint, 3), open_chooser(checkpoint, 4)
    assert three is not four
    assert isinstance(open_similarity(None), Words)
    with pytest.raises(MissingError, match="no such folder"):
        open_similarity(str(tmp_path / "nothing"))


def answer(item: Item) -> str:
    (response,) = heuristic_responses(HEURISTIC, [item], {})
    return response


def noted(*sentences: str) -> Item:
    return case(
        sentences=list(sentences),
        sentence_ids=[str(10 + n) for n in range(len(sentences))],
        relevance=[],
    )


def long(word: str, words: int) -> str:
    return " ".join([*word.split(), *["filler"] * (words - len(word.split()))])


def test_answers_of_the_baseline_derived_by_hand() -> None:
    whole = "\n".join(
        f"{' '.join(text.split())} |{number}|"
        for number, text in enumerate(SENTENCES, start=1)
    )
    assert whole.startswith(
        "Brief course: |1|\nA stone blocked the duct, and the fever came from it. |2|\n"
    )
    for task in ANSWER_TASKS:
        assert heuristic_responses(task, [case()], {}) == [whole]
    # The answer ends with the last whole sentence within the limit. By similarity: fever
    # and cause (10), cause (12), and the one that shares no word (11): 39 + 30 + 6 words,
    # or 7. A sentence longer than an answer is skipped.
    for last, ids, words in ((6, ("10", "11", "12"), 75), (7, ("10", "12"), 69)):
        item = noted(long("fever, cause", 39), long("nothing", last), long("cause", 30))
        read = read_answer(answer(item), item.fields["sentence_ids"])
        assert (read.citations, read.words, read.problems) == (ids, words, ())
    assert (
        answer(noted(long("fever cause", 76), "The fever fell.", " "))
        == "The fever fell. |11|"
    )
    assert answer(noted(long("fever cause", 75))).endswith("|10|")
    assert answer(noted(long("fever", 76))) == ""
    assert answer(noted()) == ""


@given(lengths=st.lists(st.integers(0, 90), max_size=12), data=st.data())
def test_an_answer_has_the_official_form_and_the_most_similar_sentences(
    lengths: list[int], data: st.DataObject
) -> None:
    vocabulary = ("fever", "cause", "kidney", "walk", "home")
    words = st.sampled_from(vocabulary)
    sentences = [
        " ".join(data.draw(st.lists(words, min_size=n, max_size=n))) for n in lengths
    ]
    item = noted(*sentences)
    read = read_answer(answer(item), item.fields["sentence_ids"])
    usable = [index for index, length in enumerate(lengths) if 0 < length <= 75]
    if not usable:
        assert read.words == 0
        return
    assert read.problems == ()
    (similarities,) = Words().of([item])
    order = [index for index in ranked(similarities) if index in usable]
    count = len(read.citations)
    assert sorted(read.citations) == sorted(str(10 + index) for index in order[:count])
    assert count == len(order) or read.words + lengths[order[count]] > 75


def test_other_tasks_and_settings_have_no_heuristic_baseline(tmp_path: Path) -> None:
    for name in ("question", "evidence", "answer", "alignment"):
        with pytest.raises(
            UsageError,
            match=f"archehr_{name}: baseline/heuristic answers a question with sentences",
        ):
            heuristic_responses(TASK[name], [case()], {})
    with pytest.raises(
        UsageError,
        match="'embedder' is not a setting of this task. Its settings: tries",
    ):
        heuristic_responses(TASK["together"], [case()], {"embedder": "x"})
    # Settings of the model's prompts change nothing.
    assert heuristic_responses(TASK["together"], [case()], {"tries": "2"}) == [
        answer(case())
    ]
    # The run uses the benchmark's own baseline.
    data = TaskData(
        items=[case("1"), case("2")], config="demo", folder=tmp_path, revision={}
    )
    answered = run_baseline("heuristic", HEURISTIC, data, max_samples=None)
    assert answered.responses == {"1": answer(case("1")), "2": answer(case("2"))}
    assert HEURISTIC.baseline == "heuristic"
    with pytest.raises(UsageError, match="there is no baseline/best"):
        run_baseline("best", HEURISTIC, data, max_samples=None)
