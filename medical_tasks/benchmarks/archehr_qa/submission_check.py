"""What is wrong with a submission to the shared tasks, case by case, and what the official scorers do about it.

No case gets a score where one is missing or is none of the key's. In 2025 that is also so where one cites nothing, and other
spellings of citations than `|1,2|` at the end of a line are read otherwise than they are meant (`official`). In 2026 the scorers
end with a ValueError where a text is empty, an id is none of the case's, or a prediction is of another type. Messages hold ids,
places and counts, never a word of an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.citation_groups import bracket_groups, pipe_groups
from medical_tasks.benchmarks.archehr_qa.official import official_answer
from medical_tasks.benchmarks.archehr_qa.parsing import TOO_LONG, WRONG_FORM, read_answer
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.io.json_records import is_text, named, shown
from medical_tasks.spec import Item

__all__ = [
    "Problem",
    "answer_problems",
    "check_records",
    "id_problems",
    "link_problems",
    "missing",
    "of_case",
    "text_problems",
    "too_long",
    "unknown_ids",
]

_LONGEST_NUMBER: Final = 6
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


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is wrong, or worth knowing.

    Attributes:
        place: the case, or the record where no case is named.
        text: what is wrong.
        fatal: whether the official scorer gives no score at all to a submission that has it.
        note: whether it is nothing that has to be mended.
    """

    place: str
    text: str
    fatal: bool = False
    note: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def check_records(
    records: Sequence[Any], cases: Mapping[str, Item], field: str, check: Callable[[Item, Any], Sequence[Problem]]
) -> list[Problem]:
    """Checks that a submission has all cases of a split and no others, each once, with a `field` that passes the `check`.

    Returns:
        The problems, in the order of the cases, what is of none of them last.
    """
    own: dict[str, list[Problem]] = {case: [] for case in cases}
    others: list[Problem] = []
    places: dict[str, list[int]] = {}
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            said = f"must be an object with 'case_id' and {field!r}, got {shown(record)}"
            others.append(Problem(place=f"record {number}", text=said, fatal=True))
            continue
        named_case = record.get("case_id")
        readable = isinstance(named_case, str) or (isinstance(named_case, int) and not isinstance(named_case, bool))
        case = str(named_case) if readable else ""
        place = of_case(case) if readable else f"record {number}"
        problems = own.get(case, others)
        if readable:
            places.setdefault(case, []).append(number)
        if not isinstance(named_case, str):
            got = f"got {shown(named_case)}" if "case_id" in record else "there is none"
            problems.append(Problem(place=place, text=f"its 'case_id' must be a text, {got}", fatal=True))
        if field not in record:
            problems.append(Problem(place=place, text=f"its {field!r} is missing", fatal=True))
        elif readable and case in cases:
            problems += check(cases[case], record[field])
    for case, numbers in places.items():
        if case not in cases:
            said = f"is none of the {len(cases)} cases of this split; the official scorer refuses the submission"
            others.append(Problem(place=of_case(case), text=said, fatal=True))
        if len(numbers) > 1:
            said = f"stands there {len(numbers)} times (records {', '.join(map(str, numbers))}); the official scorer counts each"
            own.get(case, others).append(Problem(place=of_case(case), text=said))
    for case in cases.keys() - places.keys():
        own[case].append(missing(cases[case]))
    return [*(problem for problems in own.values() for problem in problems), *others]


def missing(item: Item) -> Problem:
    """The problem of a case without an answer."""
    return _refused(item, "has no answer")


def of_case(case_id: str) -> str:
    """Names a case in a message."""
    return f"case {case_id if _is_number(case_id) else named(case_id)}"


def too_long(item: Item, words: int, limit: int = WORD_LIMIT, *, note: bool = True) -> Problem:
    """Says that more words than count are there; only a note where the official scorer cuts the text and does nothing else."""
    said = f"has {words} words, of which the first {limit} count; the limit is {limit}"
    return Problem(place=of_case(item.id), text=said, note=note)


def unknown_ids(cited: Sequence[str], known_ids: Sequence[str], *, whose: str = "note") -> str:
    """Names ids that the note, or the answer, does not have: numbers as they are, others by their count."""
    cited = list(dict.fromkeys(cited))
    numbers = [each for each in cited if _is_number(each)]
    said = numbers[:_SHOWN]
    if len(numbers) > _SHOWN:
        said.append(f"{len(numbers) - _SHOWN} more")
    if len(numbers) < len(cited):
        said.append(f"{len(cited) - len(numbers)} that {'is' if len(cited) == len(numbers) + 1 else 'are'} no number")
    has = f"{known_ids[0]} to {known_ids[-1]}" if known_ids else "no sentences"
    return f"cites {', '.join(said)}, which its {whose} does not have (it has {has})"


def text_problems(item: Item, text: Any, *, limit: int, counted: Callable[[str], object] = str.split) -> list[Problem]:
    """Checks a prediction that is a text, of which so many words count and whose scorer needs a token."""
    if found := _no_text(item, text):
        return found
    if not counted(text):
        return [_refused(item, "has no words")]
    words = len(text.split())
    return [too_long(item, words, limit)] if words > limit else []


def id_problems(item: Item, ids: Any, *, said: str = "its 'prediction'") -> list[Problem]:
    """Checks a prediction that is a list of ids of the note's sentences, or such a list in one."""
    if not isinstance(ids, list):
        return [_refused(item, f"{said} must be a list of sentence ids, got {shown(ids)}")]
    found, known = [], item.fields["sentence_ids"]
    if others := [each for each in ids if not isinstance(each, str)]:
        more = f" and {len(others) - 1} more that are no text" if others[1:] else ""
        found.append(_refused(item, f'{said} must have ids as texts, like "1", got {shown(others[0])}{more}'))
    if unknown := [each for each in ids if isinstance(each, str) and each not in known]:
        found.append(_refused(item, f"{said} {unknown_ids(unknown, known)}"))
    return found


def link_problems(item: Item, links: Any) -> list[Problem]:
    """Checks a prediction that says, of sentences of the answer, which of the note's they rest on."""
    if not isinstance(links, list):
        return [_refused(item, f"its 'prediction' must be a list of objects, got {shown(links)}")]
    found: list[Problem] = []
    known = item.fields["answer_sentence_ids"]
    for number, link in enumerate(links, start=1):
        said = f"object {number} of its 'prediction'"
        if not isinstance(link, dict) or not {"answer_id", "evidence_id"} <= link.keys():
            got = f"keys [{', '.join(map(named, link))}]" if isinstance(link, dict) else shown(link)
            found.append(_refused(item, f"{said} must be an object with 'answer_id' and 'evidence_id', got {got}"))
            continue
        name = link["answer_id"]
        if not isinstance(name, str):
            found.append(_refused(item, f"{said}: its 'answer_id' must be a text, got {shown(name)}"))
        elif name not in known:
            found.append(_refused(item, f"{said} {unknown_ids([name], known, whose='answer')}"))
        found += id_problems(item, link["evidence_id"], said=f"{said}: its 'evidence_id'")
    return found


def answer_problems(item: Item, answer: Any) -> list[Problem]:
    """Checks an answer of 2025: nothing is wrong where the official scorer reads it as it is meant."""
    if found := _no_text(item, answer, field="answer"):
        return found
    place, known_ids = of_case(item.id), item.fields["sentence_ids"]
    meant, official = read_answer(answer, known_ids), official_answer(answer)
    if not official.text:
        return [Problem(place=place, text="has no words; the official scorer ends with an error on it", fatal=True)]
    problems = []
    if not official.citations:
        said = "cites no sentence; the official scorer ends with an AssertionError on it and scores no case at all"
        problems.append(Problem(place=place, text=said, fatal=True))
    if unknown := [cited for cited in meant.citations if cited not in known_ids]:
        problems.append(Problem(place=place, text=unknown_ids(unknown, known_ids)))
    if TOO_LONG in meant.problems:
        problems.append(too_long(item, meant.words, note=False))
    same = TOO_LONG in meant.problems or (meant.citations, meant.text) == (official.citations, official.text)
    lost = any("|" in sentence.text and not sentence.citations for sentence in meant.sentences)
    if WRONG_FORM in meant.problems or lost or not same:
        problems.append(_misspelt(place, answer, known_ids))
    return problems


def _refused(item: Item, said: str) -> Problem:
    return Problem(place=of_case(item.id), text=f"{said}; the official scorer refuses the submission", fatal=True)


def _no_text(item: Item, value: Any, *, field: str = "prediction") -> list[Problem]:
    place = of_case(item.id)
    if not isinstance(value, str):
        return [Problem(place=place, text=f"its {field!r} must be a text, got {shown(value)}", fatal=True)]
    if not is_text(blank=True).holds(value):
        return [Problem(place=place, text="has characters that are none (half of a pair); write it anew")]
    return []


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
        "ids": any(each.strip() not in known_ids and not _is_number(each.strip()) for each in cited),
        "words": not text.strip(),
        "brackets": bool(bracket_groups(text, known_ids)),
    }
    return next((why for why, holds in found.items() if holds), "")


def _is_number(text: str) -> bool:
    """Says whether an id is a number, which a message may show; another may be words of an answer."""
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
