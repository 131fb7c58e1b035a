"""What is wrong with a submission to the shared task, case by case, and what the official scorer does about it.

The official scorer gives no score to any case where one is missing, is none of the key's, or cites nothing; and other spellings of
citations than `|1,2|` at the end of a line it reads otherwise than they are meant (`official`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from medical_tasks.archehr_qa.citation_groups import bracket_groups, pipe_groups
from medical_tasks.archehr_qa.official import official_answer
from medical_tasks.archehr_qa.parsing import TOO_LONG, WRONG_FORM, read_answer
from medical_tasks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.archehr_qa.submission_records import Problem, Record, is_number, of_case
from medical_tasks.json_records import is_text

__all__ = ["answer_problems", "check_records", "missing", "too_long"]

_SHOWN: Final = 10
_PIPES: Final = 2
_SPELLINGS: Final = {
    "fence": "is a fence or reasoning, which the official scorer takes for a sentence",
    "alone": "has one | alone, which is no citation",
    "rest": "has text behind the last |, which the official scorer drops",
    "groups": "has several groups of citations, of which the official scorer reads the last",
    "spaces": "has spaces among the ids, which the official scorer takes for a part of them",
    "ids": "has something else than ids with commas between, which the official scorer takes for one id",
    "words": "has citations without a sentence",
    "brackets": "has citations in square brackets, which the official scorer does not read",
}
_ODD: Final = "has a | within a sentence, where no citation is read; write the sentence anew"


def check_records(records: Iterable[Record], cases: Mapping[str, Sequence[str]]) -> list[Problem]:
    """Checks a submission: all cases of a split and no others, each once, with an answer of the official form.

    Args:
        records: of the submission.
        cases: id of each case of the split to the ids of its note's sentences.

    Returns:
        The problems, in the order of the cases, what is of none of them last.
    """
    own: dict[str, list[Problem]] = {case: [] for case in cases}
    others: list[Problem] = []
    places: dict[str, list[int]] = {}
    for record in records:
        case = record.case_id
        if case is not None:
            places.setdefault(case, []).append(record.number)
        if case is None or case not in cases:
            others += record.problems
            continue
        own[case] += record.problems
        if record.answer is not None:
            own[case] += answer_problems(case, record.answer, cases[case])
    for case, numbers in places.items():
        if case not in cases:
            said = f"is none of the {len(cases)} cases of this split; the official scorer refuses the submission"
            others.append(Problem(place=of_case(case), text=said, fatal=True))
        if len(numbers) > 1:
            said = f"stands there {len(numbers)} times (records {', '.join(map(str, numbers))}); the official scorer counts each"
            own.get(case, others).append(Problem(place=of_case(case), text=said))
    for case in cases.keys() - places.keys():
        own[case].append(missing(case))
    return [*(problem for problems in own.values() for problem in problems), *others]


def missing(case: str) -> Problem:
    """The problem of a case without an answer."""
    return Problem(place=of_case(case), text="has no answer; the official scorer refuses the submission", fatal=True)


def too_long(case: str, words: int) -> Problem:
    """The problem of an answer with more words than count."""
    said = f"has {words} words, of which the first {WORD_LIMIT} count; the limit is {WORD_LIMIT}"
    return Problem(place=of_case(case), text=said)


def answer_problems(case: str, answer: str, known_ids: Sequence[str]) -> list[Problem]:
    """Checks an answer.

    Args:
        case: its id.
        answer: its text, as in a submission.
        known_ids: ids of the note's sentences.

    Returns:
        What is wrong with it; nothing where it keeps every rule and the official scorer reads it as it is meant.
    """
    place = of_case(case)
    if not is_text(blank=True).holds(answer):
        return [Problem(place=place, text="has characters that are none (half of a pair); write it anew")]
    meant, official = read_answer(answer, known_ids), official_answer(answer)
    if not official.text:
        return [Problem(place=place, text="has no words; the official scorer ends with an error on it", fatal=True)]
    problems = []
    if not official.citations:
        said = "cites no sentence; the official scorer ends with an AssertionError on it and scores no case at all"
        problems.append(Problem(place=place, text=said, fatal=True))
    if unknown := [cited for cited in meant.citations if cited not in known_ids]:
        problems.append(Problem(place=place, text=_unknown(unknown, known_ids)))
    if TOO_LONG in meant.problems:
        problems.append(too_long(case, meant.words))
    same = TOO_LONG in meant.problems or (meant.citations, meant.text) == (official.citations, official.text)
    lost = any("|" in sentence.text and not sentence.citations for sentence in meant.sentences)
    if WRONG_FORM in meant.problems or lost or not same:
        problems.append(_misspelt(place, answer, known_ids))
    return problems


def _unknown(cited: Sequence[str], known_ids: Sequence[str]) -> str:
    numbers = [each for each in cited if is_number(each)]
    said = numbers[:_SHOWN]
    if len(numbers) > _SHOWN:
        said.append(f"{len(numbers) - _SHOWN} more")
    if len(numbers) < len(cited):
        said.append(f"{len(cited) - len(numbers)} that {'is' if len(cited) == len(numbers) + 1 else 'are'} no number")
    has = f"{known_ids[0]} to {known_ids[-1]}" if known_ids else "no sentences"
    return f"cites {', '.join(said)}, which its note does not have (it has {has})"


def _misspelt(place: str, answer: str, known_ids: Sequence[str]) -> Problem:
    lines = list(_spellings(answer, known_ids))
    if not lines:
        return Problem(place=place, text=_ODD)
    number, why = lines[0]
    others = [str(line) for line, _ in lines[1:]]
    too = f" (line{'s' if len(others) > 1 else ''} {', '.join(others)} too)" if others else ""
    return Problem(place=place, text=f"line {number} {_SPELLINGS[why]}; write it like: A sentence. |1,2|{too}")


def _spellings(answer: str, known_ids: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Numbers of the lines that are not of the form, each with what is wrong."""
    for number, line in enumerate(answer.split("\n"), start=1):
        if why := _spelling(line.strip(), known_ids):
            yield number, why


def _spelling(line: str, known_ids: Sequence[str]) -> str:
    if line.startswith("```") or "think>" in line:
        return "fence"
    parts = line.rsplit("|", _PIPES)
    if len(parts) <= _PIPES:
        return "alone" if "|" in line else "brackets" if bracket_groups(line, known_ids) else ""
    text, ids, rest = parts
    cited = [each for each in ids.split(",") if each.strip()]
    found = {
        "rest": bool(rest.strip()),
        "groups": bool(pipe_groups(text, known_ids)),
        "spaces": any(each != each.strip() and each.strip() in known_ids for each in cited),
        "ids": any(each.strip() not in known_ids and not is_number(each.strip()) for each in cited),
        "words": not text.strip(),
        "brackets": bool(bracket_groups(text, known_ids)),
    }
    return next((why for why, holds in found.items() if holds), "")
