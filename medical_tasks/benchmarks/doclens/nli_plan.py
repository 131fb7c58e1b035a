"""Which entailment questions the citation metrics need, for a judge that answers pairs (DocLens, sections 3.3 and 3.5).

A sentence with citations C has citation recall 1 if C entails it. Then a citation c is precise if c alone entails the sentence, or
if C without c does not. So, asking no more than that:

| step | asked | when |
|---|---|---|
| 1 | all of C together | the sentence says something and cites something that the source has |
| 2 | each c alone | C entails the sentence, and has two or more |
| 3 | C without c | c alone does not entail it; for two citations that is the other one, which step 2 has asked about |

| k citations | not entailed | entailed, at least | entailed, at most |
|---|---|---|---|
| 0 | 0 | | |
| 1 | 1 | 1 | 1 |
| 2 | 1 | 3 | 3 |
| 3 or more | 1 | 1 + k | 1 + 2k |

Questions name sentences by number, so recorded answers hold no text. All sentences go through the steps together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass

from medical_tasks.benchmarks.doclens.citations import Sentence
from medical_tasks.benchmarks.doclens.verdicts import SentenceVerdict, unsupported
from medical_tasks.errors import UsageError

__all__ = ["Answer", "CitationQuestion", "call_bounds", "citation_plan", "judge_sentences", "premise", "replay"]

Ids = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class CitationQuestion:
    """Whether some sentences of the source together entail a sentence of the output.

    Attributes:
        sentence: place of the output's sentence, from 0.
        cited: numbers of the source's sentences, ascending.
    """

    sentence: int
    cited: Ids


Answer = Callable[[Sequence[CitationQuestion]], Sequence[bool | None]]
"""A judge: an answer a question, in order; None where it gives none."""


def premise(question: CitationQuestion, sources: Mapping[int, str]) -> str:
    """Writes the premise of a question: the cited sentences in the source's order, joined by spaces.

    Args:
        question: as asked.
        sources: number to sentence.
    """
    return " ".join(sources[number] for number in question.cited)


def call_bounds(citations: int) -> tuple[int, int]:
    """States how many questions a sentence takes, at least and at most.

    Args:
        citations: how many of what it cites the source has.

    Raises:
        ValueError: A negative number.
    """
    if citations < 0:
        raise ValueError(f"citations must not be negative; got {citations}")
    return min(citations, 1), {0: 0, 1: 1, 2: 3}.get(citations, 1 + 2 * citations)


def citation_plan(
    citations: Ids,
) -> Generator[list[Ids], Mapping[Ids, bool | None], tuple[bool | None, dict[int, bool | None]]]:
    """Asks for one sentence: yields sets of numbers, and is sent what is known of each.

    Args:
        citations: what it cites and the source has, ascending, at least one.

    Returns:
        Whether they entail it together; and for each, if they do, whether it is precise.
    """
    together = (yield [citations])[citations]
    if not together:
        return together, {}
    if len(citations) == 1:
        return True, {citations[0]: True}
    known = dict((yield [(number,) for number in citations]))
    others = {number: tuple(other for other in citations if other != number) for number in citations}
    left = [others[number] for number in citations if known[(number,)] is not True and others[number] not in known]
    if left:
        known |= yield left
    return True, {number: _precise(known[(number,)], known.get(others[number])) for number in citations}


def judge_sentences(sentences: Sequence[Sentence], *, known: Collection[int], answer: Answer) -> list[SentenceVerdict]:
    """Gets the verdicts on the sentences of an output, in at most three rounds.

    Args:
        sentences: as `citations.read_sentences` gives them.
        known: the numbers that the source has.
        answer: the judge. It is called with all questions of a round, never with none.

    Returns:
        A verdict a sentence. One that says nothing, or cites nothing that the source has, is unsupported and not asked about;
        what the source does not have takes no part in the others and is an imprecise citation.

    Raises:
        ValueError: The judge gave another number of answers than there were questions.
    """
    plans = {
        place: citation_plan(cited)
        for place, sentence in enumerate(sentences)
        if sentence.text and (cited := tuple(sorted(number for number in sentence.citations if number in known)))
    }
    found: dict[int, SentenceVerdict] = {}
    waiting = {place: next(plan) for place, plan in plans.items()}
    while waiting:
        questions = [CitationQuestion(sentence=place, cited=ids) for place, wanted in waiting.items() for ids in wanted]
        answers = dict(zip(questions, answer(questions), strict=True))
        asked, waiting = waiting, {}
        for place, wanted in asked.items():
            try:
                waiting[place] = plans[place].send(
                    {ids: answers[CitationQuestion(sentence=place, cited=ids)] for ids in wanted}
                )
            except StopIteration as done:
                found[place] = _verdict(sentences[place], *done.value, known=known)
    return [found.get(place) or unsupported(len(one.citations)) for place, one in enumerate(sentences)]


def replay(recorded: Mapping[CitationQuestion, bool | None]) -> Answer:
    """Makes a judge of recorded answers, to score them again without a model.

    Args:
        recorded: question to answer.

    Returns:
        A judge that raises a `UsageError` for a question that was never asked: another text, or another reading of it.
    """

    def answer(questions: Sequence[CitationQuestion]) -> list[bool | None]:
        missing = [question for question in questions if question not in recorded]
        if missing:
            first = missing[0]
            raise UsageError(
                f"sentence {first.sentence} with {list(first.cited)}: no recorded answer, and {len(missing) - 1} more are "
                "missing. The records are of another output; judge this one."
            )
        return [recorded[question] for question in questions]

    return answer


def _precise(alone: bool | None, without: bool | None) -> bool | None:
    """Whether a citation of a supported sentence is precise; `without` is not asked for where `alone` is true."""
    if alone or without is False:
        return True
    return None if alone is None or without is None else False


def _verdict(
    sentence: Sentence, together: bool | None, precise: Mapping[int, bool | None], *, known: Collection[int]
) -> SentenceVerdict:
    if together is False:
        return unsupported(len(sentence.citations))
    supports = tuple(precise.get(number) if number in known else False for number in sentence.citations)
    return SentenceVerdict(entailed=together, supports=supports)
