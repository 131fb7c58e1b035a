"""A run's answers as a submission to a shared task: made, read and checked.

It is a JSON list of `{"case_id": "1", "answer": "..."}` (2025) or `{"case_id": "1", "prediction": ...}` (2026, in a zip file).
Answers are read as they are scored here and written anew in the official form, so that the official scorer reads what was scored.
Of 2025 that is a sentence a line with `|1,2|` at its end, which is proved on the written text with the scorer's own reading
(`official`). Of 2026 it is a text of the words that count, a list of ids, or such a list for each sentence of the answer. Nothing
is sent anywhere: `medical-tasks submit` writes a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.official import has_bleu, official_answer
from medical_tasks.benchmarks.archehr_qa.parsing import TOO_LONG, read_answer
from medical_tasks.benchmarks.archehr_qa.prompt_texts import QUESTION_WORDS
from medical_tasks.benchmarks.archehr_qa.reply_text import unfenced
from medical_tasks.benchmarks.archehr_qa.spec import BENCHMARK, WORD_LIMIT
from medical_tasks.benchmarks.archehr_qa.submission_check import (
    Problem,
    answer_problems,
    check_records,
    id_problems,
    link_problems,
    missing,
    of_case,
    text_problems,
    too_long,
    unknown_ids,
)
from medical_tasks.benchmarks.archehr_qa.subtask_replies import read_alignment, read_evidence
from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import open_file
from medical_tasks.io.json_records import json_values
from medical_tasks.runs.responses import LARGEST, unzipped
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.spec import Item, TaskSpec

__all__ = [
    "EVERY_CASE",
    "TASKS",
    "Submission",
    "cases",
    "make_submission",
    "problems_of",
    "read_records",
    "recognised",
    "submission_problems",
    "zipped",
]

TASKS: Final = tuple(task.name for task in BENCHMARK.tasks)
"""The tasks whose answers can be submitted."""

EVERY_CASE: Final = "archehr_question"
"""A task that takes every row of a split, with or without its key."""

_EXAMPLE: Final = (
    '{"case_id": "1", "answer": "A sentence. |1,2|"} (2025) or {"case_id": "1", "prediction": ["1", "2"]} (2026)'
)

_ANSWER: Final = "answer"
_PREDICTION: Final = "prediction"
_ENDS: Final = (".", "!", "?")
_Written = tuple[Any, list[Problem]]


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A submission and what is wrong with it.

    Attributes:
        text: of the file.
        answered: number of cases in it.
        problems: in the order of the cases.
        notes: what of the answers is not in it, likewise.
        rewritten: ids of cases whose answer of 2025 the official scorer, as it was, reads otherwise than it was scored here.
    """

    text: str
    answered: int
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    rewritten: tuple[str, ...]


def make_submission(task: TaskSpec, items: Sequence[Item], responses: Mapping[str, str]) -> Submission:
    """Writes a submission of a run's answers to all cases of a split; those without one are left out.

    Of an answer that is too long it has the words that count.
    """
    form = _form(task)
    records: list[dict[str, Any]] = []
    found: list[Problem] = []
    rewritten: list[str] = []
    for item in items:
        if item.id not in responses:
            found.append(missing(item))
            continue
        value, told = form.write(item, responses[item.id])
        records.append({"case_id": item.id, form.field: value})
        found += [*form.check(item, value), *told]
        if form.field == _ANSWER and official_answer(responses[item.id]) != official_answer(value):
            rewritten.append(item.id)
    return Submission(
        # Escaped to ASCII, so that it is the same text to a reader that takes another encoding for granted.
        text=json.dumps(records, indent=1) + "\n",
        answered=len(records),
        problems=tuple(problem for problem in found if not problem.note),
        notes=tuple(problem for problem in found if problem.note),
        rewritten=tuple(rewritten),
    )


def zipped(task: TaskSpec) -> bool:
    """Says whether the shared task takes a zip file."""
    return _form(task).field == _PREDICTION


def read_records(path: Path) -> tuple[list[Any], list[Problem]]:
    """Reads what stands in a submission's list, and what is wrong with the zip file that it may be in.

    Raises:
        MissingError: There is no such file.
        UsageError: It cannot be read, is too large, or is no JSON list.
    """
    try:
        with open_file(path) as stream:
            content = stream.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise MissingError(f"{path}: no such file. Give a JSON list of records like {_EXAMPLE}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}). Give the file of a submission.") from error
    if len(content) > LARGEST:
        raise UsageError(
            f"{path}: has more than {LARGEST:,} bytes, the most that is read; a submission has some hundred a case. Is it the "
            "right file?"
        )
    folder, content = unzipped(path, content)
    said = "is in a folder of the zip file, where the official scorer does not look for it"
    problems = [Problem(place="submission.json", text=said, fatal=True)] if folder else []
    return json_values(path, content, form=_EXAMPLE), problems


def recognised(path: Path, records: Sequence[Any]) -> str:
    """Finds the task that a submission is of.

    Raises:
        UsageError: It could be of several, or of none.
    """
    found = {names for record in records if (names := _fitting(record))}
    names = found.pop() if len(found) == 1 else ()
    if len(names) != 1:
        known = " or ".join(names) or ", ".join(TASKS)
        raise UsageError(f"{path}: its records do not say which task it is of. Say it with --task: {known}.")
    return names[0]


def cases(task: TaskSpec, items: Sequence[Item]) -> list[Item]:
    """Picks the cases that a submission must have, of those of `EVERY_CASE`.

    Raises:
        UsageError: There are none.
    """
    needed = _form(task).needed
    found = [item for item in items if item.fields[needed]]
    if not found:
        raise UsageError(
            f"{task.name}: none of the {len(items)} cases has {needed}. Choose another --split or --config."
        )
    return found


def problems_of(task: TaskSpec, items: Sequence[Item], records: Sequence[Any]) -> list[Problem]:
    """Says what is wrong with the records of a submission that must have these cases, case by case."""
    form = _form(task)
    if not any(isinstance(record, dict) and form.field in record for record in records):
        said = f"none has {form.field!r}, which a submission to {task.name} has beside 'case_id'"
        return [Problem(place=f"its {len(records)} records", text=said, fatal=True)]
    return check_records(records, {item.id: item for item in items}, form.field, form.check)


def submission_problems(task: TaskSpec, items: Sequence[Item], records: Sequence[Any]) -> list[str]:
    """Says for which problems a submission is not scored; see `spec`."""
    return [str(problem) for problem in problems_of(task, items, records) if not problem.note]


def _fitting(record: Any) -> tuple[str, ...]:
    """The tasks that a record can be of; none where it says nothing."""
    value = record.get(_PREDICTION) if isinstance(record, dict) else None
    if isinstance(value, str):
        return ("archehr_question", "archehr_answer")
    if isinstance(value, list) and value:
        return ("archehr_alignment",) if isinstance(value[0], dict) else ("archehr_evidence",)
    return (TASKS[0],) if isinstance(record, dict) and _ANSWER in record else ()


def _cited(item: Item, reply: str) -> _Written:
    answer = read_answer(reply, item.fields["sentence_ids"])
    written = "\n".join(_line(sentence.text, sentence.citations) for sentence in answer.sentences)
    problems = [too_long(item, answer.words, note=False)] if TOO_LONG in answer.problems else []
    official = official_answer(written)
    # Where an answer is cut within a sentence, the official scorer sets a point behind its last word.
    meant = answer.text if answer.text.endswith(_ENDS) or not problems else f"{answer.text}."
    if (official.text, official.citations) != (meant, answer.citations):
        said = "cannot be written so that the official scorer reads it as it was scored here; look at it"
        problems.append(Problem(place=of_case(item.id), text=said))
    return written, problems


def _line(text: str, citations: Sequence[str]) -> str:
    if citations:
        return f"{text} |{','.join(citations)}|"
    # The official scorer takes what is behind the last but one | for ids: an empty group keeps the sentence whole.
    return f"{text} ||" if "|" in text else text


def _question(item: Item, reply: str) -> _Written:
    words = unfenced(spoken(reply).strip()).split()
    told = [too_long(item, len(words), QUESTION_WORDS)] if len(words) > QUESTION_WORDS else []
    return " ".join(words[:QUESTION_WORDS]), told


def _plain(item: Item, reply: str) -> _Written:
    answer = read_answer(reply, item.fields["sentence_ids"])
    return answer.text, [too_long(item, answer.words)] if TOO_LONG in answer.problems else []


def _evidence(item: Item, reply: str) -> _Written:
    known = item.fields["sentence_ids"]
    read = read_evidence(reply, known)
    cited = [each for each in known if each in read.ids]
    return cited, _left_out(item, read.ids, known) + _told(item, *read.problems)


def _alignment(item: Item, reply: str) -> _Written:
    known, answer_ids = item.fields["sentence_ids"], item.fields["answer_sentence_ids"]
    read = read_alignment(reply, known, answer_ids)
    links = [
        {"answer_id": name, "evidence_id": [each for each in known if (name, each) in read.pairs]}
        for name in answer_ids
    ]
    left_out = _left_out(item, [cited for _, cited in read.pairs], known)
    left_out += _left_out(item, [name for name, _ in read.pairs], answer_ids, whose="answer")
    return links, left_out + _told(item, *read.problems)


def _left_out(item: Item, cited: Sequence[str], known: Sequence[str], *, whose: str = "note") -> list[Problem]:
    unknown = [each for each in cited if each not in known]
    return _told(item, f"{unknown_ids(unknown, known, whose=whose)}; that is left out") if unknown else []


def _told(item: Item, *said: str) -> list[Problem]:
    return [Problem(place=of_case(item.id), text=text, note=True) for text in said]


@dataclass(frozen=True)
class _Form:
    field: str  # of a record, beside `case_id`
    write: Callable[[Item, str], _Written]  # its value, made of a reply, and what is to be told of it
    check: Callable[[Item, Any], list[Problem]]
    needed: str = "sentence_ids"  # the column that a case of the task has


_FORMS: Final[Mapping[str, _Form]] = {
    "cited": _Form(_ANSWER, _cited, answer_problems),
    "question": _Form(_PREDICTION, _question, partial(text_problems, limit=QUESTION_WORDS), needed="id"),
    "evidence": _Form(_PREDICTION, _evidence, id_problems),
    # BLEU of a text without its tokens, such as <skipped>, divides by zero.
    "answer": _Form(_PREDICTION, _plain, partial(text_problems, limit=WORD_LIMIT, counted=has_bleu)),
    "alignment": _Form(_PREDICTION, _alignment, link_problems, needed="answer_sentence_ids"),
}
"""A form for the tasks that answer with citations, and one for each subtask of 2026."""


def _form(task: TaskSpec) -> _Form:
    return _FORMS["cited" if "steps" in task.options else task.options["form"]]
