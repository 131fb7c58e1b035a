"""Answers without a model: which sentences are taken, and where it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.evidence import (
    Words,
    heuristic_identity,
    heuristic_responses,
    ranked,
)
from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS
from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import UsageError
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.spec import Item
from tests.benchmarks.archehr_qa.asked_items import HEURISTIC, SENTENCES, case, task_of
from tests.models.tiny_embedder import make_bert


def answer(item: Item) -> str:
    (made,) = heuristic_responses(HEURISTIC, [item], {})
    return made


def noted(*sentences: str) -> Item:
    return case(sentences=list(sentences), sentence_ids=[str(10 + n) for n in range(len(sentences))], relevance=[])


def long(word: str, words: int) -> str:
    return " ".join([*word.split(), *["filler"] * (words - len(word.split()))])


def test_a_short_note_is_cited_whole_and_in_its_order() -> None:
    whole = "\n".join(f"{' '.join(text.split())} |{number}|" for number, text in enumerate(SENTENCES, start=1))
    assert whole.startswith("Brief course: |1|\nA stone blocked the duct, and the fever came from it. |2|\n")
    for task in ANSWER_TASKS:
        assert heuristic_responses(task, [case()], {}) == [whole]


@pytest.mark.parametrize(("last", "ids", "words"), [(6, ("10", "11", "12"), 75), (7, ("10", "12"), 69)])
def test_the_limit_ends_it_at_a_whole_sentence(last: int, ids: tuple[str, ...], words: int) -> None:
    # By likeness: fever and cause (10), cause (12), and the one that shares nothing (11): 39 + 30 + 6 words, or 7.
    item = noted(long("fever, cause", 39), long("nothing", last), long("cause", 30))
    read = read_answer(answer(item), item.fields["sentence_ids"])
    assert (read.citations, read.words, read.problems) == (ids, words, ())


def test_a_sentence_longer_than_an_answer_is_passed_over() -> None:
    assert answer(noted(long("fever cause", 76), "The fever fell.", " ")) == "The fever fell. |11|"
    assert answer(noted(long("fever cause", 75))).endswith("|10|")
    assert answer(noted(long("fever", 76))) == ""
    assert answer(noted()) == ""


@given(lengths=st.lists(st.integers(0, 90), max_size=12), data=st.data())
@settings(max_examples=60, deadline=None)
def test_an_answer_is_official_and_takes_the_most_similar(lengths: list[int], data: st.DataObject) -> None:
    vocabulary = ("fever", "cause", "kidney", "walk", "home")
    words = st.sampled_from(vocabulary)
    sentences = [" ".join(data.draw(st.lists(words, min_size=n, max_size=n))) for n in lengths]
    item = noted(*sentences)
    read = read_answer(answer(item), item.fields["sentence_ids"])
    usable = [place for place, length in enumerate(lengths) if 0 < length <= 75]
    if not usable:
        assert read.words == 0
        return
    assert read.problems == ()
    (similarities,) = Words().of([item])
    order = [place for place in ranked(similarities) if place in usable]
    count = len(read.citations)
    assert sorted(read.citations) == sorted(str(10 + place) for place in order[:count])
    assert count == len(order) or read.words + lengths[order[count]] > 75


def test_by_embeddings(tmp_path: Path) -> None:
    checkpoint = str(make_bert(tmp_path / "tiny"))
    items = [case("1"), case("2")]
    made = heuristic_responses(HEURISTIC, items, {"embedder": checkpoint})
    assert made[0] == made[1]
    assert made[0].count("\n") == 4
    identity = heuristic_identity(HEURISTIC, {"embedder": checkpoint})
    assert identity["similarity"]["model"] == "tiny"
    assert heuristic_identity(HEURISTIC, {})["similarity"]["method"] == "bm25"


def test_what_is_refused(tmp_path: Path) -> None:
    for name in ("question", "evidence", "answer", "alignment"):
        with pytest.raises(UsageError, match=f"archehr_{name}: baseline/heuristic answers a question with sentences"):
            heuristic_responses(task_of(name), [case()], {})
    with pytest.raises(UsageError, match="takes no argument 'embedder'. Arguments: tries"):
        heuristic_responses(task_of("together"), [case()], {"embedder": "x"})
    # What the model's questions take has no part in it.
    assert heuristic_responses(task_of("together"), [case()], {"tries": "2"}) == [answer(case())]
    # It is the benchmark's own baseline.
    data = TaskData(items=[case("1"), case("2")], config="demo", folder=tmp_path, revision={})
    made = run_baseline("heuristic", HEURISTIC, data, max_samples=None)
    assert made.responses == {"1": answer(case("1")), "2": answer(case("2"))}
    assert HEURISTIC.baseline == "heuristic"
    with pytest.raises(UsageError, match="there is no baseline/best"):
        run_baseline("best", HEURISTIC, data, max_samples=None)
