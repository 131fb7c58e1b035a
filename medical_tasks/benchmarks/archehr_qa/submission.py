r"""Writes, reads and checks a submission of a run's answers to a shared task.

Answers are rewritten in the official form, so that the official scorer reads what was
scored. Messages quote no answer.

| shared task | our task | a record: `case_id` and |
|---|---|---|
| 2025 | those that cite | `"answer": "She was given furosemide. \|2,3\|\nIt worked. \|4\|"` |
| 2026, 1 | `archehr_question` | `"prediction": "Why was she given furosemide?"` |
| 2026, 2 | `archehr_evidence` | `"prediction": ["2", "3"]` |
| 2026, 3 | `archehr_answer` | `"prediction": "She was given it for the fluid."` |
| 2026, 4 | `archehr_alignment` | `"prediction": [{"answer_id": "1", "evidence_id": ["2", "3"]}]` |

The official scorer

- refuses a case without an answer, an unknown case, and a record in another form, and
  counts a duplicated case twice;
- ends with an error at some answers;
- reads other citations in a line not of the form (2025), and no `submission.json` in a
  folder of the zip file (2026).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.archehr_qa.declarations import TASK_NAMES, WORD_LIMIT
from medical_tasks.benchmarks.archehr_qa.parsing import (
    SENTENCE_ENDS,
    TOO_LONG,
    WRONG_FORM,
    bracket_groups,
    pipe_groups,
    read_alignment,
    read_answer,
    read_evidence,
    unfenced,
)
from medical_tasks.benchmarks.archehr_qa.prompts import QUESTION_WORDS
from medical_tasks.benchmarks.archehr_qa.scoring import has_bleu, official_answer
from medical_tasks.errors import UsageError
from medical_tasks.io.files import open_file, readable
from medical_tasks.io.json_records import is_text, json_values, named, shown
from medical_tasks.runs.responses import LARGEST, unzipped
from medical_tasks.scoring.reasoning import without_reasoning
from medical_tasks.spec import Item, Row, TaskSpec

_LONGEST_NUMBER: Final = 6
_SHOWN: Final = 10
_PIPES: Final = 2
_SPELLINGS: Final = {
    "fence": "is a fence or reasoning, which the official scorer takes for a sentence",
    "alone": "has one | alone, which is no citation",
    "rest": "has text after the last |, which the official scorer drops",
    "groups": "has several groups of citations, of which the official scorer reads the last",
    "spaces": "has spaces among the ids, which the official scorer takes for a part of them",
    "ids": "has something else than ids with commas between, which the official scorer takes for "
    "one id",
    "words": "has citations without a sentence",
    "brackets": "has citations in square brackets, which the official scorer does not read",
}
_ODD: Final = (
    "has a | within a sentence, where no citation is read; rewrite the sentence"
)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem of a submission, or a note about it.

    Attributes:
        where: the case, or the record if it names no case.
        text: the problem.
        fatal: whether the official scorer gives such a submission no score at all.
        note: whether nothing needs to be corrected.
    """

    where: str
    text: str
    fatal: bool = False
    note: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


def check_records(
    records: Sequence[object],
    cases: Mapping[str, Item],
    field: str,
    check: Callable[[Item, object], Sequence[Problem]],
) -> list[Problem]:
    """Checks that each case has one record, with a `field` that passes the `check`.

    Problems come in the order of the cases; those of other records follow.
    """
    problems: dict[str, list[Problem]] = {case: [] for case in cases}
    others: list[Problem] = []
    numbers: dict[str, list[int]] = {}
    for number, record in enumerate(records, start=1):
        where, own, case = f"record {number}", others, _named_case(record)
        if case is not None:
            where, own = of_case(case), problems.get(case, others)
            numbers.setdefault(case, []).append(number)

        own += _record_problems(where, record, field)
        item = cases.get(case or "")
        if item is not None and isinstance(record, dict) and field in record:
            own += check(item, record[field])

    for case, own_numbers in numbers.items():
        if case not in cases:
            rule = (
                f"is none of the {len(cases)} cases of this split; the official scorer refuses the "
                "submission"
            )
            others.append(Problem(where=of_case(case), text=rule, fatal=True))

        if len(own_numbers) > 1:
            rule = (
                f"stands there {len(own_numbers)} times (records "
                f"{', '.join(map(str, own_numbers))}); the official scorer counts each"
            )
            problems.get(case, others).append(Problem(where=of_case(case), text=rule))

    for case in cases.keys() - numbers.keys():
        problems[case].append(missing(cases[case]))

    return [*chain.from_iterable(problems.values()), *others]


def _named_case(record: object) -> str | None:
    """The case that a record names, if its form is valid."""
    name = record.get("case_id") if isinstance(record, dict) else None
    return (
        str(name)
        if isinstance(name, str | int) and not isinstance(name, bool)
        else None
    )


def _record_problems(where: str, record: object, field: str) -> list[Problem]:
    """The problems of a record's form, without those of its `field`."""
    if not isinstance(record, dict):
        rules = [f"must be an object with 'case_id' and {field!r}, got {shown(record)}"]
    else:
        name, rules = record.get("case_id"), []
        if not isinstance(name, str):
            got = f"got {shown(name)}" if "case_id" in record else "there is none"
            rules.append(f"its 'case_id' must be a text, {got}")

        if field not in record:
            rules.append(f"its {field!r} is missing")

    return [Problem(where=where, text=text, fatal=True) for text in rules]


def missing(item: Item) -> Problem:
    """The problem of a case without an answer."""
    return _refused(item, "has no answer")


def of_case(case_id: str) -> str:
    """Names a case in a message."""
    return f"case {case_id if _is_number(case_id) else named(case_id)}"


def too_long(
    item: Item, words: int, limit: int = WORD_LIMIT, *, note: bool = True
) -> Problem:
    """The problem of too many words; a note if the official scorer only cuts the text."""
    return _about(
        item,
        f"has {words} words, of which the first {limit} count; the limit is {limit}",
        note=note,
    )


def _about(
    item: Item, text: str, *, fatal: bool = False, note: bool = False
) -> Problem:
    return Problem(where=of_case(item.id), text=text, fatal=fatal, note=note)


def unknown_ids(
    cited: Sequence[str], known_ids: Sequence[str], *, whose: str = "note"
) -> str:
    """Describes ids that the note, or the answer, does not have: numbers themselves, others by their count."""
    cited = list(dict.fromkeys(cited))
    numbers = [name for name in cited if _is_number(name)]
    shown_ids = numbers[:_SHOWN]
    if len(numbers) > _SHOWN:
        shown_ids.append(f"{len(numbers) - _SHOWN} more")

    if len(numbers) < len(cited):
        shown_ids.append(
            f"{len(cited) - len(numbers)} that "
            f"{'is' if len(cited) == len(numbers) + 1 else 'are'} no number"
        )

    has = f"{known_ids[0]} to {known_ids[-1]}" if known_ids else "no sentences"
    return (
        f"cites {', '.join(shown_ids)}, which its {whose} does not have (it has {has})"
    )


def text_problems(
    item: Item,
    text: object,
    *,
    limit: int,
    counted: Callable[[str], object] = str.split,
) -> list[Problem]:
    """Checks a predicted text, of which at most `limit` words count; its scorer needs one word or token (`counted`)."""
    if not isinstance(text, str) or not is_text(blank=True).holds(text):
        return _no_text(item, text)
    if not counted(text):
        return [_refused(item, "has no words")]
    words = len(text.split())
    return [too_long(item, words, limit)] if words > limit else []


def id_problems(
    item: Item, ids: object, *, name: str = "its 'prediction'"
) -> list[Problem]:
    """Checks a list of ids of the note's sentences, a prediction or part of one (`name`)."""
    if not isinstance(ids, list):
        return [
            _refused(item, f"{name} must be a list of sentence ids, got {shown(ids)}")
        ]

    problems = []
    if others := [cited for cited in ids if not isinstance(cited, str)]:
        more = f" and {len(others) - 1} more that are no text" if others[1:] else ""
        rule = f'{name} must have ids as texts, like "1", got {shown(others[0])}{more}'
        problems.append(_refused(item, rule))

    sentence_ids = item.fields["sentence_ids"]
    texts = [cited for cited in ids if isinstance(cited, str)]
    if unknown := [cited for cited in texts if cited not in sentence_ids]:
        problems.append(_refused(item, f"{name} {unknown_ids(unknown, sentence_ids)}"))

    return problems


def link_problems(item: Item, links: object) -> list[Problem]:
    """Checks a prediction of the evidence for each sentence of the answer."""
    if not isinstance(links, list):
        return [
            _refused(
                item, f"its 'prediction' must be a list of objects, got {shown(links)}"
            )
        ]

    problems: list[Problem] = []
    for number, link in enumerate(links, start=1):
        problems += _link_problems(item, f"object {number} of its 'prediction'", link)

    return problems


def _link_problems(item: Item, where: str, link: object) -> list[Problem]:
    """The problems of one link from an answer's sentence to the note."""
    if not isinstance(link, dict) or not {"answer_id", "evidence_id"} <= link.keys():
        got = (
            f"keys [{', '.join(map(named, link))}]"
            if isinstance(link, dict)
            else shown(link)
        )
        rule = (
            f"{where} must be an object with 'answer_id' and 'evidence_id', got {got}"
        )
        return [_refused(item, rule)]

    problems, name = [], link["answer_id"]
    answer_ids = item.fields["answer_sentence_ids"]
    if not isinstance(name, str):
        rule = f"{where}: its 'answer_id' must be a text, got {shown(name)}"
        problems.append(_refused(item, rule))
    elif name not in answer_ids:
        rule = f"{where} {unknown_ids([name], answer_ids, whose='answer')}"
        problems.append(_refused(item, rule))

    return problems + id_problems(
        item, link["evidence_id"], name=f"{where}: its 'evidence_id'"
    )


def answer_problems(item: Item, answer: object) -> list[Problem]:
    """Checks an answer of 2025; it has no problem if the official scorer reads it as intended.

    The answer is read twice, by this project's rules (`meant`) and by those of the official
    script (`official`). A form that only the first understands would lose citations there.
    """
    if not isinstance(answer, str) or not is_text(blank=True).holds(answer):
        return _no_text(item, answer, field="answer")

    known_ids = item.fields["sentence_ids"]
    meant, official = read_answer(answer, known_ids), official_answer(answer)
    if not official.text:
        rule = "has no words; the official scorer ends with an error on it"
        return [_about(item, rule, fatal=True)]

    problems = []
    if not official.citations:
        rule = (
            "cites no sentence; the official scorer ends with an AssertionError on it and scores "
            "no case at all"
        )
        problems.append(_about(item, rule, fatal=True))

    if unknown := [cited for cited in meant.citations if cited not in known_ids]:
        problems.append(_about(item, unknown_ids(unknown, known_ids)))

    too_many = TOO_LONG in meant.problems
    if too_many:
        problems.append(too_long(item, meant.words, note=False))

    read_alike = (meant.citations, meant.text) == (official.citations, official.text)
    lost = any(
        "|" in sentence.text and not sentence.citations for sentence in meant.sentences
    )
    if WRONG_FORM in meant.problems or lost or not (too_many or read_alike):
        problems.append(_about(item, _misspelt(answer, known_ids)))

    return problems


def _refused(item: Item, problem: str) -> Problem:
    return _about(
        item, f"{problem}; the official scorer refuses the submission", fatal=True
    )


def _no_text(item: Item, value: object, *, field: str = "prediction") -> list[Problem]:
    if not isinstance(value, str):
        return [
            _about(
                item, f"its {field!r} must be a text, got {shown(value)}", fatal=True
            )
        ]
    return [
        _about(item, "has invalid characters (half of a surrogate pair); rewrite it")
    ]


def _misspelt(answer: str, known_ids: Sequence[str]) -> str:
    lines = enumerate(answer.split("\n"), start=1)
    wrong = {
        number: why
        for number, line in lines
        if (why := _spelling(line.strip(), known_ids))
    }
    if not wrong:
        return _ODD

    (number, why), *rest = wrong.items()
    too = (
        f" (line{'s' if len(rest) > 1 else ''} {', '.join(str(line) for line, _ in rest)} too)"
        if rest
        else ""
    )
    return f"line {number} {_SPELLINGS[why]}; write it like: A sentence. |1,2|{too}"


def _spelling(line: str, known_ids: Sequence[str]) -> str:
    """Why the official scorer misreads a line's citations; "" if it does not.

    Example, with a note of the sentences 1 to 4:

        He bled. |1|           ""
        He bled [1].           brackets
        He bled. |1| more      rest
        He bled. | 1|          spaces
        He bled. |x|           ids
        |1|                    words
        A. |1| B. |2|          groups
    """
    if line.startswith("```") or "think>" in line:
        return "fence"

    pieces = line.rsplit("|", _PIPES)
    if len(pieces) <= _PIPES:
        if "|" in line:
            return "alone"
        return "brackets" if bracket_groups(line, known_ids) else ""

    text, ids, rest = pieces
    cited = [name for name in ids.split(",") if name.strip()]
    faults = {
        "rest": bool(rest.strip()),
        "groups": bool(pipe_groups(text, known_ids)),
        "spaces": any(
            name != name.strip() and name.strip() in known_ids for name in cited
        ),
        "ids": any(
            name.strip() not in known_ids and not _is_number(name.strip())
            for name in cited
        ),
        "words": not text.strip(),
        "brackets": bool(bracket_groups(text, known_ids)),
    }

    return next((why for why, holds in faults.items() if holds), "")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER


TASKS: Final = TASK_NAMES
"""The tasks whose answers can be submitted."""

EVERY_CASE: Final = "archehr_question"
"""A task with an item for every row of a split, with or without a key."""

KEYED_SPLITS: Final = ("dev",)
"""Splits with a public key, which a leaderboard accepts beside the task's own split."""

_EXAMPLE: Final = '{"case_id": "1", "answer": "A sentence. |1,2|"} (2025) or {"case_id": "1", "prediction": ["1", "2"]} (2026)'

_ANSWER: Final = "answer"
_PREDICTION: Final = "prediction"
_Written = tuple[object, list[Problem]]


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A submission and its problems.

    Attributes:
        text: the file's text.
        answered: number of cases in it.
        problems: its problems, in the order of the cases.
        notes: notes about omitted parts of answers, likewise.
        rewritten: cases whose original answer of 2025 the official scorer reads
            differently.
    """

    text: str
    answered: int
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    rewritten: tuple[str, ...]


def make_submission(
    task: TaskSpec, items: Sequence[Item], responses: Mapping[str, str]
) -> Submission:
    """Writes a submission of a run's answers, cut to the words that count, without unanswered cases."""
    form = _form(task)
    records: list[Row] = []
    problems: list[Problem] = []
    rewritten: list[str] = []
    for item in items:
        if item.id not in responses:
            problems.append(missing(item))
            continue

        value, remarks = form.write(item, responses[item.id])
        records.append({"case_id": item.id, form.field: value})
        problems += [*form.check(item, value), *remarks]
        if form.field == _ANSWER:
            before, after = (
                official_answer(text) for text in (responses[item.id], str(value))
            )
            rewritten += [item.id] if before != after else []

    return Submission(
        # Escaped to ASCII, so that readers with any default encoding get the same text.
        text=json.dumps(records, indent=1) + "\n",
        answered=len(records),
        problems=tuple(problem for problem in problems if not problem.note),
        notes=tuple(problem for problem in problems if problem.note),
        rewritten=tuple(rewritten),
    )


def zipped(task: TaskSpec) -> bool:
    """Whether the shared task expects a zip file."""
    return _form(task).field == _PREDICTION


def read_records(path: Path) -> tuple[list[object], list[Problem]]:
    """Reads the records of a submission, and the problems of its zip file if it has one."""
    missing = f"Give a JSON list of records like {_EXAMPLE}"
    with (
        readable(path, missing=missing, again="Give the file of a submission."),
        open_file(path) as stream,
    ):
        content = stream.read(LARGEST + 1)

    if len(content) > LARGEST:
        raise UsageError(
            f"{path}: has more than {LARGEST:,} bytes, the most that is read; a submission has "
            "some hundred a case. Is it the "
            "right file?"
        )

    folder, content = unzipped(path, content)
    rule = (
        "is in a folder of the zip file, where the official scorer does not look for it"
    )
    problems = (
        [Problem(where="submission.json", text=rule, fatal=True)] if folder else []
    )

    return json_values(path, content, form=_EXAMPLE), problems


def recognised(path: Path, records: Sequence[object]) -> str:
    """Finds the task of a submission by its records."""
    tasks = {names for record in records if (names := _fitting(record))}
    names = tasks.pop() if len(tasks) == 1 else ()
    if len(names) != 1:
        choices = " or ".join(names) or ", ".join(TASKS)
        raise UsageError(
            f"{path}: its records do not name a task. Name it with --task: {choices}."
        )
    return names[0]


def cases(task: TaskSpec, items: Sequence[Item]) -> list[Item]:
    """The cases of `EVERY_CASE` that a submission must have."""
    needed = _form(task).needed
    needed_cases = [item for item in items if item.fields[needed]]
    if not needed_cases:
        raise UsageError(
            f"{task.name}: none of the {len(items)} cases has {needed}. Choose another --split "
            "or --config."
        )
    return needed_cases


def problems_of(
    task: TaskSpec, items: Sequence[Item], records: Sequence[object]
) -> list[Problem]:
    """The problems of a submission's records, case by case."""
    form = _form(task)
    if not any(isinstance(record, dict) and form.field in record for record in records):
        rule = f"none has {form.field!r}, which a submission to {task.name} has beside 'case_id'"
        return [Problem(where=f"its {len(records)} records", text=rule, fatal=True)]
    return check_records(
        records, {item.id: item for item in items}, form.field, form.check
    )


def submission_problems(
    task: TaskSpec, items: Sequence[Item], records: Sequence[object]
) -> list[str]:
    """The problems for which a submission is not scored, as texts; see `spec`."""
    return [
        str(problem)
        for problem in problems_of(task, items, records)
        if not problem.note
    ]


def _fitting(record: object) -> tuple[str, ...]:
    value = record.get(_PREDICTION) if isinstance(record, dict) else None
    if isinstance(value, str):
        return ("archehr_question", "archehr_answer")
    if isinstance(value, list) and value:
        return (
            ("archehr_alignment",)
            if isinstance(value[0], dict)
            else ("archehr_evidence",)
        )
    return (TASKS[0],) if isinstance(record, dict) and _ANSWER in record else ()


def _cited(item: Item, reply: str) -> _Written:
    """An answer in the submission's form, and its problems.

    The written text is read again by the official rules, so that a user learns of any
    difference before submitting.
    """
    answer = read_answer(reply, item.fields["sentence_ids"])
    written = "\n".join(
        _line(sentence.text, sentence.citations) for sentence in answer.sentences
    )
    problems = (
        [too_long(item, answer.words, note=False)]
        if TOO_LONG in answer.problems
        else []
    )
    official = official_answer(written)
    # If an answer is cut within a sentence, the official scorer adds a point.
    expected = (
        answer.text
        if answer.text.endswith(SENTENCE_ENDS) or not problems
        else f"{answer.text}."
    )
    if (official.text, official.citations) != (expected, answer.citations):
        rule = "cannot be written so that the official scorer reads it as it was scored here; look at it"
        problems.append(_about(item, rule))

    return written, problems


def _line(text: str, citations: Sequence[str]) -> str:
    if citations:
        return f"{text} |{','.join(citations)}|"
    # The official scorer reads the text after the last but one | as ids: an empty group
    # keeps the sentence whole.
    return f"{text} ||" if "|" in text else text


def _question(item: Item, reply: str) -> _Written:
    words = unfenced(without_reasoning(reply).strip()).split()
    remarks = (
        [too_long(item, len(words), QUESTION_WORDS)]
        if len(words) > QUESTION_WORDS
        else []
    )
    return " ".join(words[:QUESTION_WORDS]), remarks


def _plain(item: Item, reply: str) -> _Written:
    answer = read_answer(reply, item.fields["sentence_ids"])
    return answer.text, [
        too_long(item, answer.words)
    ] if TOO_LONG in answer.problems else []


def _evidence(item: Item, reply: str) -> _Written:
    sentence_ids = item.fields["sentence_ids"]
    read = read_evidence(reply, sentence_ids)
    cited = [name for name in sentence_ids if name in read.cited]
    left_out = _left_out(item, read.cited, sentence_ids)
    return cited, left_out + _notes(item, *read.problems)


def _alignment(item: Item, reply: str) -> _Written:
    sentence_ids = item.fields["sentence_ids"]
    answer_ids = item.fields["answer_sentence_ids"]
    read = read_alignment(reply, sentence_ids, answer_ids)
    links = [
        {
            "answer_id": name,
            "evidence_id": [
                cited_id for cited_id in sentence_ids if (name, cited_id) in read.cited
            ],
        }
        for name in answer_ids
    ]
    left_out = _left_out(item, [cited for _, cited in read.cited], sentence_ids)
    left_out += _left_out(
        item, [name for name, _ in read.cited], answer_ids, whose="answer"
    )

    return links, left_out + _notes(item, *read.problems)


def _left_out(
    item: Item, cited: Sequence[str], existing: Sequence[str], *, whose: str = "note"
) -> list[Problem]:
    """A note about cited ids that do not exist, if there are any."""
    unknown = [name for name in cited if name not in existing]
    if not unknown:
        return []
    return _notes(
        item, f"{unknown_ids(unknown, existing, whose=whose)}; that is left out"
    )


def _notes(item: Item, *texts: str) -> list[Problem]:
    return [_about(item, text, note=True) for text in texts]


@dataclass(frozen=True)
class _Form:
    field: str  # field of a record, beside `case_id`
    # writes the field's value for a reply, with the problems
    write: Callable[[Item, str], _Written]
    check: Callable[[Item, object], list[Problem]]
    needed: str = "sentence_ids"  # the column that a case of the task must have


_FORMS: Final[Mapping[str, _Form]] = {
    "cited": _Form(_ANSWER, _cited, answer_problems),
    "question": _Form(
        _PREDICTION,
        _question,
        partial(text_problems, limit=QUESTION_WORDS),
        needed="id",
    ),
    "evidence": _Form(_PREDICTION, _evidence, id_problems),
    # BLEU of a text without its tokens, such as <skipped>, divides by zero.
    "answer": _Form(
        _PREDICTION, _plain, partial(text_problems, limit=WORD_LIMIT, counted=has_bleu)
    ),
    "alignment": _Form(
        _PREDICTION, _alignment, link_problems, needed="answer_sentence_ids"
    ),
}
"""A form for the tasks that answer with citations, and one for each subtask of 2026."""


def _form(task: TaskSpec) -> _Form:
    return _FORMS["cited" if "steps" in task.options else task.options["form"]]
