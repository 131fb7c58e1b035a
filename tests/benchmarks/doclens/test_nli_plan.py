"""Which entailment questions the citation metrics ask: no more than the definition needs, and the verdicts it says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judging import CitationQuestion, call_bounds, judge_sentences, premise, replay
from medical_tasks.benchmarks.doclens.measures import METRICS, Section, SentenceVerdict, section_tallies, unsupported
from medical_tasks.benchmarks.doclens.pieces import read_sentences
from medical_tasks.errors import UsageError

Decide = Callable[[tuple[int, ...]], bool | None]


class _Judge:
    """Says what a function of the numbers says, and keeps what it was asked."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide
        self.rounds: list[list[CitationQuestion]] = []

    def __call__(self, questions: Sequence[CitationQuestion]) -> list[bool | None]:
        self.rounds.append(list(questions))
        return [self.decide(question.cited) for question in questions]

    @property
    def asked(self) -> list[tuple[int, ...]]:
        return [question.cited for each in self.rounds for question in each]


def _one(text: str, decide: Decide) -> tuple[SentenceVerdict, _Judge]:
    judge = _Judge(decide)
    (verdict,) = judge_sentences(read_sentences(text), known=range(20), answer=judge)
    return verdict, judge


def _verdict(entailed: bool | None, *supports: bool | None) -> SentenceVerdict:
    return SentenceVerdict(entailed=entailed, supports=supports)


def test_one_citation_is_one_question() -> None:
    assert _one("Pain [3].", lambda cited: True)[0] == _verdict(True, True)
    verdict, judge = _one("Pain [3].", lambda cited: False)
    assert verdict == _verdict(False, False)
    assert judge.asked == [(3,)]


def test_what_is_not_entailed_is_asked_about_once() -> None:
    verdict, judge = _one("Pain [3][4][5].", lambda cited: False)
    assert verdict == _verdict(False, False, False, False)
    assert judge.asked == [(3, 4, 5)]


def test_two_citations_are_three_questions() -> None:
    # Each is what is left without the other: the third step has nothing to ask.
    for right in itertools.product((True, False), repeat=2):
        alone = dict(zip([(3,), (4,)], right, strict=True))
        verdict, judge = _one("Pain [3][4].", lambda cited, alone=alone: alone.get(cited, True))  # type: ignore[misc]
        assert judge.asked == [(3, 4), (3,), (4,)]
        # 3 alone: 3 is precise, and 4 is of no use. Neither alone: both are needed.
        assert verdict == _verdict(True, alone[(3,)] or not alone[(4,)], alone[(4,)] or not alone[(3,)])


def test_three_that_each_entail_it_are_four_questions() -> None:
    verdict, judge = _one("Pain [3][4][5].", lambda cited: True)
    assert verdict == _verdict(True, True, True, True)
    assert judge.asked == [(3, 4, 5), (3,), (4,), (5,)]


def test_figure_3_of_the_paper() -> None:
    # 21 and 22 together entail it, 23 says nothing of it: 7 questions, 23 is not precise.
    judge = _Judge(lambda cited: {21, 22} <= set(cited))
    (verdict,) = judge_sentences(read_sentences("Stated so [21][22][23]."), known=range(40), answer=judge)
    assert verdict == _verdict(True, True, True, False)
    assert judge.asked == [(21, 22, 23), (21,), (22,), (23,), (22, 23), (21, 23), (21, 22)]
    assert [len(each) for each in judge.rounds] == [1, 3, 3]


def test_the_third_step_asks_only_where_the_second_said_no() -> None:
    verdict, judge = _one("Pain [3][4][5].", lambda cited: 4 in cited)
    assert verdict == _verdict(True, False, True, False)
    assert judge.asked[4:] == [(4, 5), (3, 4)]


def test_nobody_is_asked_where_nothing_can_be_entailed() -> None:
    # No citation; only one that the source does not have; markers and no words.
    judge = _Judge(lambda cited: True)
    verdicts = judge_sentences(read_sentences("Pain. Fever [77]."), known=range(20), answer=judge)
    assert verdicts == [unsupported(), unsupported(1)]
    assert judge_sentences(read_sentences("[3]"), known=range(20), answer=judge) == [unsupported(1)]
    assert judge_sentences([], known=range(20), answer=judge) == []
    assert judge.rounds == []


def test_what_the_source_does_not_have_takes_no_part() -> None:
    verdict, judge = _one("Pain [77][4].", lambda cited: True)
    assert verdict == _verdict(True, False, True)
    assert judge.asked == [(4,)]


@pytest.mark.parametrize(
    ("missing", "verdict"),
    [
        ((3, 4, 5), _verdict(None, None, None, None)),
        ((3,), _verdict(True, True, True, False)),  # without 3 it is not entailed: 3 is needed, whatever it says alone
        ((5,), _verdict(True, True, True, None)),
        ((3, 4), _verdict(True, True, True, None)),
    ],
)
def test_missing_answers_stay_open_where_they_decide(missing: tuple[int, ...], verdict: SentenceVerdict) -> None:
    # 3 and 4 together entail it.
    assert _one("Pain [3][4][5].", lambda cited: None if cited == missing else {3, 4} <= set(cited))[0] == verdict


def test_all_sentences_go_together_in_three_rounds() -> None:
    judge = _Judge(lambda cited: len(cited) > 1)
    sentences = read_sentences("Pain [3][4]. Fever. Cough [5][6][7]. Rash [8].")
    judge_sentences(sentences, known=range(20), answer=judge)
    assert [[question.sentence for question in each] for each in judge.rounds] == [
        [0, 2, 3],
        [0, 0, 2, 2, 2],
        [2, 2, 2],
    ]


def test_recorded_answers_score_again_without_a_judge() -> None:
    sentences = read_sentences("Pain [3][4][5]. Cough [6].")
    judge = _Judge(lambda cited: None if cited == (5,) else len(cited) > 1)
    first = judge_sentences(sentences, known=range(20), answer=judge)
    recorded = {question: judge.decide(question.cited) for each in judge.rounds for question in each}
    assert judge_sentences(sentences, known=range(20), answer=replay(recorded)) == first
    with pytest.raises(UsageError, match=r"sentence 0 with \[1\]: no recorded answer, and 0 more are missing"):
        judge_sentences(read_sentences("Pain [1]."), known=range(20), answer=replay(recorded))


def test_a_judge_that_leaves_answers_out_is_a_fault() -> None:
    with pytest.raises(ValueError, match="zip"):
        judge_sentences(read_sentences("Pain [1]."), known=range(20), answer=lambda questions: [])


def test_the_premise_is_in_the_order_of_the_source() -> None:
    judge = _Judge(lambda cited: True)
    judge_sentences(read_sentences("Pain [2][0]."), known=range(3), answer=judge)
    assert premise(judge.rounds[0][0], {0: "A.", 1: "B.", 2: "C."}) == "A. C."


@pytest.mark.parametrize(("citations", "bounds"), [(0, (0, 0)), (1, (1, 1)), (2, (1, 3)), (3, (1, 7)), (10, (1, 21))])
def test_bounds(citations: int, bounds: tuple[int, int]) -> None:
    assert call_bounds(citations) == bounds


def test_bounds_of_fewer_than_none() -> None:
    with pytest.raises(ValueError, match="citations must not be negative; got -1"):
        call_bounds(-1)


@given(st.lists(st.integers(0, 4), max_size=5, unique=True), st.data())
@settings(deadline=None, max_examples=200)
def test_the_definition_within_the_bounds(numbers: list[int], data: st.DataObject) -> None:
    table: dict[tuple[int, ...], bool] = {}

    def decide(cited: tuple[int, ...]) -> bool:
        if cited not in table:
            table[cited] = data.draw(st.booleans())
        return table[cited]

    text = "Pain " + "".join(f"[{number}]" for number in numbers)
    verdict, judge = _one(text, decide)
    low, high = call_bounds(len(numbers))
    assert low <= len(judge.asked) <= high
    assert len(set(judge.asked)) == len(judge.asked)
    every = tuple(sorted(numbers))
    entailed = bool(numbers) and decide(every)
    assert verdict.entailed is entailed
    for number, supports in zip(numbers, verdict.supports, strict=True):
        others = tuple(other for other in every if other != number)
        # Section 3.3; of one citation nothing is left, and nothing entails nothing.
        assert supports is (entailed and (decide((number,)) or not others or not decide(others)))


@given(st.permutations([1, 2, 3]), st.lists(st.booleans(), min_size=8, max_size=8))
@settings(deadline=None, max_examples=50)
def test_the_order_of_citations_changes_nothing(numbers: list[int], said: list[bool]) -> None:
    def decide(cited: tuple[int, ...]) -> bool:
        return said[sum(1 << (number - 1) for number in cited)]

    verdict, _ = _one("Pain " + "".join(f"[{number}]" for number in numbers), decide)
    plain, _ = _one("Pain [1][2][3]", decide)
    assert verdict.entailed == plain.entailed
    assert dict(zip(numbers, verdict.supports, strict=True)) == dict(zip([1, 2, 3], plain.supports, strict=True))


def test_gold_with_a_perfect_judge_is_1_in_all_four() -> None:
    # Each sentence of the source, cited by itself: a judge to whom a sentence entails itself.
    source = ["Pain for two days.", "No fever.", "Aspirin 81 mg daily."]
    gold = " ".join(f"{sentence[:-1]} [{number}]." for number, sentence in enumerate(source))
    sentences = read_sentences(gold)
    sources = dict(enumerate(source))

    def perfect(questions: Sequence[CitationQuestion]) -> list[bool]:
        return [sentences[one.sentence].text in premise(one, sources) for one in questions]

    section = Section(
        reference_claims=(True,) * 3,
        output_claims=(True,) * 3,
        sentences=tuple(judge_sentences(sentences, known=sources, answer=perfect)),
    )
    tallies = section_tallies(section)
    assert {name: tallies[name].limits for name in METRICS} == dict.fromkeys(METRICS, (1.0, 1.0))
