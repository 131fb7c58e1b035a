"""What a YAML file says of a benchmark.

    name: first_aid
    file: first_aid.csv
    licence: CC-BY-4.0
    answer: number
    tolerance: {rel: 0.05}

pydantic takes 0.2 s to import: import this module inside a function.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated, Final, Literal

import yaml
from pydantic import Field

from medical_tasks.data.cards import licence_names
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.io.files import read_text, readable
from medical_tasks.io.forms import Form, Plain, complaint

Kind = Literal["exact", "choice", "number", "rubric"]
Text = Annotated[Plain, Field(min_length=1, max_length=300)]
Column = Annotated[Plain, Field(min_length=1, max_length=80)]

GUIDE: Final = "docs/benchmark_of_your_own.md shows a whole one; so does medical-tasks new-benchmark."
SLOT: Final = re.compile(r"\{(\w+)\}")
"""A column in the instructions."""
_RIGHT: Final = frozenset({"answer", "accepted", "low", "high", "criteria"})
"""What rows have of the right answer."""
NAME: Final = r"^[a-z][a-z0-9_]{1,47}$"
_ENDINGS: Final[dict[Kind, str]] = {
    "exact": "{question}\n\nEnd with a line of the form: Answer: ...",
    "choice": "{question}\n\n{choices}\n\nEnd with a line of the form: Answer: B",
    "number": "{question}\n\nEnd with a line of the form: Answer: 12.5",
    "rubric": "{question}",
}
"""How a question is asked where the file has no instructions."""


class Columns(Form):
    """Which columns of the table hold what.

    Attributes:
        id: the question's name; without one it is named by a hash of the question.
        choices: the column of all choices, or a column for each.
        criteria: of a rubric, lines of points and what earns them.
        groups: those by which figures are broken down.
        cluster: whose rows are not independent, such as the patient.
    """

    id: Column = ""
    question: Column = "question"
    answer: Column = "answer"
    choices: Column | list[Column] = "choices"
    criteria: Column = "criteria"
    groups: list[Column] = Field(default_factory=list)
    cluster: Column = ""


class Tolerance(Form):
    """How far from the right number an answer may be: the wider of the two counts."""

    abs: float = Field(default=0, ge=0, allow_inf_nan=False, strict=False)
    rel: float = Field(default=0, ge=0, le=1, allow_inf_nan=False, strict=False)


class Described(Form):
    """A benchmark, as its file describes it.

    Attributes:
        version: a whole number, raised when scores stop being comparable.
        instructions: what a model is asked, with columns in braces.
        fold_case: whether large and small letters are alike in exact answers.
    """

    name: Annotated[str, Field(pattern=NAME)]
    file: Text
    answer: Kind
    licence: Text
    title: Text = ""
    access: Literal["open", "credentialed"] = "open"
    version: Annotated[int, Field(ge=1, le=9999)] = 1
    homepage: Annotated[str, Field(pattern=r"^https?://\S+$")] = ""
    citation: str = ""
    instructions: Annotated[str, Field(min_length=1)] = ""
    columns: Columns = Columns()
    tolerance: Tolerance | None = None
    fold_case: bool | None = None
    max_new_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 1024

    @property
    def asked(self) -> str:
        """What a model is asked, with columns in braces."""
        return self.instructions or _ENDINGS[self.answer]

    @property
    def folds(self) -> bool:
        """Whether large and small letters are alike."""
        return self.fold_case is not False

    def digest(self, table: bytes) -> int:
        """A number that another table, or another reading of it, changes."""
        rules = self.model_dump_json(
            include={"answer", "columns", "instructions", "tolerance", "fold_case"}
        )
        return int(hashlib.sha256(rules.encode() + b"\0" + table).hexdigest()[:7], 16)


def read_form(path: Path) -> Described:
    """Reads a YAML file.

    Raises:
        UsageError: It is no YAML, or breaks a rule of the form.
        MissingError: It is not there.
    """
    with readable(path, missing=GUIDE, again="Save it as YAML, UTF-8."):
        text = read_text(path, encoding="utf-8-sig")

    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}: is no YAML ({_yaml_problem(error)}). {GUIDE}"
        ) from error

    if problem := _no_mapping(content) or complaint(Described, content):
        raise UsageError(f"{path}: {problem}.{_hint(problem)} {GUIDE}")

    form = Described.model_validate(content)
    if problem := _contradiction(form, content):
        raise UsageError(f"{path}: {problem}")

    return form


def _yaml_problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f", line {mark.line + 1}" if mark else ""
    return f"{getattr(error, 'problem', None) or type(error).__name__}{place}"


def _no_mapping(content: object) -> str:
    return (
        ""
        if isinstance(content, dict)
        else "must be keys and values, such as name: first_aid"
    )


def _hint(problem: str) -> str:
    """What a key that is no field may have been meant as."""
    where, _, rule = problem.rpartition(": ")
    if rule != "is no field of this form":
        return ""
    outer, _, name = where.rpartition(", ")
    forms: dict[str, type[Form]] = {"columns": Columns, "tolerance": Tolerance}
    known = forms.get(outer, Described).model_fields
    return f"{did_you_mean(name, known)} It takes: {', '.join(known)}."


def _contradiction(form: Described, content: dict[str, object]) -> str:
    """A key that means nothing for the kind of answer; "" where all fit."""
    only = {"tolerance": "number", "fold_case": "exact"}
    for name, kind in only.items():
        if name in content and form.answer != kind:
            return f"{name}: is for answer: {kind} alone, and answer is {form.answer}. Leave it out."

    if form.licence not in licence_names():
        known = ", ".join(licence_names())
        return f"licence: must be one of {known}, got {form.licence!r}. Write other for any other."

    if (
        isinstance(form.columns.choices, list)
        and not 2 <= len(form.columns.choices) <= 10
    ):
        return f"columns, choices: 2 to 10 columns are needed, got {len(form.columns.choices)}."

    if form.access == "credentialed" and not form.columns.id:
        return (
            "columns, id: credentialed questions need a column of ids, since a hash of the question "
            "would stand in results. Name one."
        )

    return _misused(form)


def _misused(form: Described) -> str:
    """A column that stands where it cannot; "" where none does."""
    slots = SLOT.findall(form.asked)
    if not slots:
        return (
            "instructions: must have a column in braces, such as {question}, got none."
        )

    right = _RIGHT | {form.columns.answer, form.columns.criteria}
    if shown := sorted(right & set(slots)):
        return (
            f"instructions: {{{shown[0]}}} says what is right, which a model must not see. Leave it "
            "out, or rename the column if it is another."
        )

    taken = right | {"id", "question", "choices", "cluster", form.columns.question}
    if grouped := sorted(taken & set(form.columns.groups)):
        return (
            f"columns, groups: {grouped[0]} has a meaning of its own, and figures are not broken "
            "down by it. Leave it out, or rename the column if it is another."
        )

    return ""
