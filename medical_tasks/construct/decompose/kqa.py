"""`medical-tasks decompose kqa`: free-form answers decomposed into statements by a judge.

Paper, section 3.2, appendices B.1 and D.1. There, physicians amended such a list from a
model: they changed, removed or added 6.86 % of the statements, and decided which are
must-have and which are nice to have. So the output here is a draft for a clinician. By
default every statement is a must-have, unsorted; the judge's sorting is used only on
request.

The instructions are ours, from the facts of the guidelines, with one worked example of
our own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.benchmarks.kqa.abstention import abstention
from medical_tasks.benchmarks.kqa.data import question_id
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.construct.contract import Decomposition
from medical_tasks.construct.decompose import asking
from medical_tasks.construct.options import Decompose
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.io.files import packaged
from medical_tasks.io.json_records import (
    Field,
    is_list_of,
    is_text,
    is_text_or_null,
    optional,
    read_records,
)
from medical_tasks.io.output import tell
from medical_tasks.judges.base import Judge, Question, Unreadable, Unscored
from medical_tasks.judges.reading import quoted, read_json
from medical_tasks.spec import texts_sha256

MAX_CHARS: Final = 600
"""Longest statement; a longer one was not decomposed."""
MAX_TOKENS: Final = 4096
"""Longest reply, enough for `MAX_STATEMENTS` of the usual length in JSON."""
MAX_STATEMENTS: Final = 60
"""Most statements of one answer; the released file has 19 at most."""

Importance = Literal["must", "judge"]
"""`must`: all statements are must-have, for a clinician to sort; `judge`: as sorted by the judge."""

MUST: Final = "must_have"
NICE: Final = "nice_to_have"

_TEXTS: Final[Mapping[str, Any]] = packaged(__file__, "kqa.json")
AGAIN: Final[str] = _TEXTS["again"]

_APOLOGY: Final = re.compile(
    r"(?:i am|i['’]m|we are)?\s*(?:so |very )?(?:sorry|apologi[sz]e)\b|as an ai\b",
    re.IGNORECASE,
)
_ANSWER_FIELDS: Mapping[str, Field] = {
    "Question": is_text(),
    "Free_form_answer": is_text(),
    # Accepted so that the dataset's own file can be decomposed again; its statements are
    # not read.
    "Must_have": optional(is_list_of(is_text(blank=True), null=True)),
    "Nice_to_have": optional(is_list_of(is_text(blank=True), null=True)),
    "Sources": optional(is_text_or_null()),
    "ICD_10_diag": optional(is_text_or_null()),
}


@dataclass(frozen=True, kw_only=True)
class FreeAnswer:
    """A question with its free-form answer, and its line in the file."""

    id: str
    line: int
    question: str
    answer: str
    sources: str = ""
    diagnosis: str | None = None


Statements = list[tuple[str, str]]
"""An answer's statements, each with its importance."""


def read_answers(path: Path) -> list[FreeAnswer]:
    """Reads questions with free-form answers.

    The file is JSON Lines with `Question` and `Free_form_answer`, or in the dataset's own
    format.
    """
    form = 'A line is like {"Question": "...", "Free_form_answer": "..."}.'
    answers: list[FreeAnswer] = []
    lines: dict[str, int] = {}
    for record in read_records(
        path, _ANSWER_FIELDS, release="file of free-form answers", again=form
    ):
        values = record.values
        name = question_id(values["Question"])
        record.check_unique("Question", name, lines)
        answers.append(
            FreeAnswer(
                id=name,
                line=record.line,
                question=values["Question"],
                answer=values["Free_form_answer"],
                sources=values.get("Sources") or "",
                diagnosis=values.get("ICD_10_diag"),
            )
        )

    return answers


def decompose_question(source: FreeAnswer, importance: Importance = "must") -> Question:
    """Makes the question that asks for an answer's statements.

    The value of its verdict is JSON: a list of [statement, importance].
    """
    pair = _TEXTS["pair"].format(
        question=quoted(source.question), answer=quoted(source.answer)
    )
    content = "\n\n".join((*_instructions(importance), "Now the material.", pair))

    return Question(
        id=source.id,
        messages=({"role": "user", "content": content},),
        template=template_sha256(importance),
        read=partial(_read, importance=importance),
        again=AGAIN,
        max_tokens=MAX_TOKENS,
    )


def decompose(
    answers: Sequence[FreeAnswer], judge: Judge, *, importance: Importance = "must"
) -> list[Statements | Unscored]:
    """Decomposes answers, and returns one outcome for each answer in order.

    The judge must be one that reads prompts.
    """
    verdicts = judge.ask([decompose_question(source, importance) for source in answers])
    return [
        verdict
        if isinstance(verdict, Unscored)
        else [(text, kind) for text, kind in json.loads(verdict.value)]
        for verdict in verdicts
    ]


def official_line(source: FreeAnswer, statements: Statements) -> str:
    """Formats an answer as a line of the dataset's own format, without the line end."""
    values = {
        "Question": source.question,
        "Free_form_answer": source.answer,
        "Must_have": [text for text, kind in statements if kind == MUST],
        "Nice_to_have": [text for text, kind in statements if kind == NICE],
        "Sources": source.sources,
        "ICD_10_diag": source.diagnosis,
    }
    return json.dumps(values, ensure_ascii=False)


def _read(text: str, importance: Importance) -> str | Unreadable:
    """Reads all statements of a judge's reply, or says why it is unusable.

    One invalid statement makes the reply unusable, so that it is requested again: without
    that statement, the gold answer would be too easy. Statements that differ only in case
    or a full stop are duplicates.
    """
    value = read_json(text)
    if isinstance(value, Unreadable):
        return value

    if (
        not isinstance(value, dict)
        or set(value) != {"statements"}
        or not isinstance(value["statements"], list)
    ):
        return Unreadable(
            "it is not one object with the key statements, a list, and no other key"
        )

    entries = value["statements"]
    if not 1 <= len(entries) <= MAX_STATEMENTS:
        return Unreadable(
            f"there are {len(entries)} statements, not 1 to {MAX_STATEMENTS}"
        )

    statements: list[tuple[str, str]] = []
    seen: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        statement = _statement(entry, importance)
        if isinstance(statement, Unreadable):
            return Unreadable(f"statement {number} {statement.problem}")

        key = statement[0].casefold().rstrip(".")
        if key in seen:
            return Unreadable(f"statement {number} appears twice")

        seen.add(key)
        statements.append(statement)

    return json.dumps(statements)


def _statement(entry: Any, importance: Importance) -> tuple[str, str] | Unreadable:
    """Reads one statement with its importance, or says what is wrong with it.

    All are must-have unless the judge was asked to sort them.
    """
    kind: Any = MUST
    if importance == "judge":
        if not isinstance(entry, dict) or set(entry) != {"text", "importance"}:
            return Unreadable("is not an object with the keys text and importance")

        entry, kind = entry["text"], entry["importance"]
        if kind not in (MUST, NICE):
            return Unreadable(f"has an importance that is not {MUST} or {NICE}")

    if not isinstance(entry, str):
        return Unreadable("is not a text")

    text = " ".join(entry.split())
    if not is_text().holds(text):
        return Unreadable("is empty, or has invalid characters")

    if abstention(text) == "sure" or _APOLOGY.match(text):
        return Unreadable(
            "says that the judge does not answer, and nothing of the answer"
        )

    if len(text) > MAX_CHARS:
        return Unreadable(f"is longer than {MAX_CHARS} characters; take it apart")

    return text, kind


def template_sha256(importance: Importance) -> str:
    """Returns the hash of all our texts in the question, part of the key of a kept reply."""
    return texts_sha256(*_instructions(importance), _TEXTS["pair"], AGAIN)


def _instructions(importance: Importance) -> tuple[str, ...]:
    """Returns the paragraphs that precede the answer."""
    statements: list[Any] = [text for text, _ in _TEXTS["example_statements"]]
    if importance == "judge":
        statements = [
            {"text": text, "importance": kind}
            for text, kind in _TEXTS["example_statements"]
        ]

    pair = _TEXTS["pair"].format(
        question=quoted(_TEXTS["example_question"]),
        answer=quoted(_TEXTS["example_answer"]),
    )
    example = f"An example.\n\n{pair}\n\n{json.dumps({'statements': statements})}"
    sorting = (_TEXTS["sorting"],) if importance == "judge" else ()

    return (
        _TEXTS["task"],
        _TEXTS["rules"],
        *sorting,
        _TEXTS["form"] + _TEXTS["forms"][importance],
        example,
    )


def run(arguments: Decompose) -> int:
    """Decomposes the answers.

    If the judge did not decompose some answers, the others are written and the step ends
    with exit code 5. The same command then asks for the missing ones alone.
    """
    if arguments.source is None:
        raise UsageError(
            "decompose kqa needs --source, a file of questions with free-form answers. See: --help"
        )

    request = asking.read_request(arguments, KQA, texts="answers")
    answers = read_answers(arguments.source)
    importance: Importance = arguments.importance or "must"
    destination = asking.destination_of(arguments, private=arguments.credentialed)
    with policy.protect(
        asking.credentialed_subjects(arguments, named=""),
        policy.attestation_from(arguments),
    ):
        settings = {"importance": importance}
        with asking.open_judge(
            request, destination, settings, texts="answers", sources=[arguments.source]
        ) as judge:
            outcomes = decompose(answers, judge, importance=importance)

        if request.options.forecast:
            tell(asking.NOT_ASKED)
            return 0

        answered = list(zip(answers, outcomes, strict=True))
        done = [
            (source, outcome)
            for source, outcome in answered
            if not isinstance(outcome, Unscored)
        ]
        failed = {
            f"line {source.line}": outcome.reason
            for source, outcome in answered
            if isinstance(outcome, Unscored)
        }
        if done:
            asking.write_draft(
                destination,
                "".join(
                    f"{official_line(source, outcome)}\n" for source, outcome in done
                ),
            )
            statements = sum(len(outcome) for _, outcome in done)
            summary = f"{len(done)} answers taken apart into {statements} statements, in {destination.out}"
            tell(summary, answers=len(done), statements=statements, out=destination.out)
            if importance == "must":
                tell(
                    "All of them are under Must_have. Which are a must and which are nice to "
                    "have is for a clinician to decide: check each statement, then move what is only "
                    "nice to have."
                )
            else:
                tell(
                    "A model sorted them; in the paper physicians did. Have a clinician check both."
                )

        if failed:
            raise asking.not_taken_apart(
                failed, len(outcomes), texts="answers", some_done=bool(done)
            )

        return 0


DECOMPOSITION = Decomposition(
    options=("importance",),
    run=run,
)
