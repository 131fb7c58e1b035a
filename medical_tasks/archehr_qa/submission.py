"""A run's answers as a submission to the shared task: a JSON list of `{"case_id": "1", "answer": "..."}`, checked.

Answers are read as they are scored here (`parsing`) and written anew in the official form, a sentence a line with `|1,2|` at its
end, so that the official scorer reads what was scored; that is proved on the written text with its own reading (`official`).
Nothing is sent anywhere: `medical-tasks submit` writes a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.archehr_qa.official import official_answer
from medical_tasks.archehr_qa.parsing import TOO_LONG, Answer, read_answer
from medical_tasks.archehr_qa.spec import ANSWER_TASKS
from medical_tasks.archehr_qa.submission_check import answer_problems, check_records, missing, too_long
from medical_tasks.archehr_qa.submission_records import Problem, of_case, read_records
from medical_tasks.spec import Item

__all__ = ["TASKS", "Submission", "answer_text", "check_file", "make_submission"]

TASKS: Final = tuple(task.name for task in ANSWER_TASKS)
"""The tasks whose answers can be submitted."""

_ENDS: Final = (".", "!", "?")


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A submission and what is wrong with it.

    Attributes:
        text: of the file.
        answered: number of cases in it.
        problems: in the order of the cases.
        rewritten: ids of cases whose answer as it was the official scorer reads otherwise than it was scored here.
    """

    text: str
    answered: int
    problems: tuple[Problem, ...]
    rewritten: tuple[str, ...]


def make_submission(items: Sequence[Item], responses: Mapping[str, str]) -> Submission:
    """Writes a submission of a run's answers.

    Args:
        items: all cases of the split.
        responses: id of the case to the model's text, for each that is answered; others are left out.

    Returns:
        It, with its problems. Of an answer that is too long it has the words that count.
    """
    cases = _cases(items)
    read = {case: read_answer(responses[case], known) for case, known in cases.items() if case in responses}
    records = [{"case_id": case, "answer": answer_text(answer)} for case, answer in read.items()]
    # Escaped to ASCII, so that it is the same text to a reader that takes another encoding for granted.
    text = json.dumps(records, indent=1) + "\n"
    problems: list[Problem] = []
    written = {record["case_id"]: record["answer"] for record in json.loads(text)}
    for case, known in cases.items():
        problems += _problems(case, read[case], written[case], known) if case in read else [missing(case)]
    return Submission(
        text=text,
        answered=len(records),
        problems=tuple(problems),
        rewritten=tuple(case for case in read if official_answer(responses[case]) != official_answer(written[case])),
    )


def answer_text(answer: Answer) -> str:
    """Writes an answer in the official form.

    Args:
        answer: as it was read.
    """
    return "\n".join(_line(sentence.text, sentence.citations) for sentence in answer.sentences)


def check_file(path: Path, items: Sequence[Item]) -> list[Problem]:
    """Checks a submission that is there.

    Args:
        path: its file.
        items: all cases of the split.

    Returns:
        What is wrong with it, case by case.

    Raises:
        MissingError: There is no such file.
        UsageError: It is no list of records.
    """
    return check_records(read_records(path), _cases(items))


def _cases(items: Sequence[Item]) -> dict[str, tuple[str, ...]]:
    return {item.id: tuple(item.fields["sentence_ids"]) for item in items}


def _line(text: str, citations: Sequence[str]) -> str:
    if citations:
        return f"{text} |{','.join(citations)}|"
    # The official scorer takes what is behind the last but one | for ids: an empty group keeps the sentence whole.
    return f"{text} ||" if "|" in text else text


def _problems(case: str, answer: Answer, written: str, known_ids: Sequence[str]) -> list[Problem]:
    problems = answer_problems(case, written, known_ids)
    if TOO_LONG in answer.problems:
        problems.append(too_long(case, answer.words))
    official = official_answer(written)
    # Where an answer is cut within a sentence, the official scorer sets a point behind its last word.
    meant = answer.text if answer.text.endswith(_ENDS) or TOO_LONG not in answer.problems else f"{answer.text}."
    if (official.text, official.citations) != (meant, answer.citations):
        said = "cannot be written so that the official scorer reads it as it was scored here; look at it"
        problems.append(Problem(place=of_case(case), text=said))
    return problems
