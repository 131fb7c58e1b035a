"""The form of a YAML file that describes a benchmark.

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
"""The columns of a row with the right answer."""
NAME: Final = r"^[a-z][a-z0-9_]{1,47}$"
_ENDINGS: Final[dict[Kind, str]] = {
    "exact": "{question}\n\nEnd with a line of the form: Answer: ...",
    "choice": "{question}\n\n{choices}\n\nEnd with a line of the form: Answer: B",
    "number": "{question}\n\nEnd with a line of the form: Answer: 12.5",
    "rubric": "{question}",
}
"""The default instructions."""


class Columns(Form):
    """The columns of the table.

    Attributes:
        id: names the question; the default is a hash of the question.
        choices: the column of all choices, or one column for each.
        criteria: the column of a rubric, with lines of points and criteria.
        groups: the columns by which figures are broken down.
        cluster: the column whose equal values mark dependent rows, such as the patient.
    """

    id: Column = ""
    question: Column = "question"
    answer: Column = "answer"
    choices: Column | list[Column] = "choices"
    criteria: Column = "criteria"
    groups: list[Column] = Field(default_factory=list)
    cluster: Column = ""


class Tolerance(Form):
    """The allowed distance from the right number; the wider of the two counts."""

    abs: float = Field(default=0, ge=0, allow_inf_nan=False, strict=False)
    rel: float = Field(default=0, ge=0, le=1, allow_inf_nan=False, strict=False)


class Described(Form):
    """A benchmark, as its file describes it.

    Attributes:
        version: a whole number, incremented when scores are no longer comparable.
        instructions: the prompt, with columns in braces.
        fold_case: whether exact answers ignore upper and lower case.
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
    def template(self) -> str:
        """The prompt, with columns in braces."""
        return self.instructions or _ENDINGS[self.answer]

    @property
    def folds(self) -> bool:
        """Whether upper and lower case are the same."""
        return self.fold_case is not False

    def digest(self, table: bytes) -> int:
        """A number that changes with the table and with the rules of reading it."""
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
    line = f", line {mark.line + 1}" if mark else ""
    return f"{getattr(error, 'problem', None) or type(error).__name__}{line}"


def _no_mapping(content: object) -> str:
    return (
        ""
        if isinstance(content, dict)
        else "must be keys and values, such as name: first_aid"
    )


def _hint(problem: str) -> str:
    """The field that an unknown key may mean, and all fields; "" for other problems."""
    where, _, rule = problem.rpartition(": ")
    if rule != "is no field of this form":
        return ""
    outer, _, name = where.rpartition(", ")
    forms: dict[str, type[Form]] = {"columns": Columns, "tolerance": Tolerance}
    fields = forms.get(outer, Described).model_fields
    return f"{did_you_mean(name, fields)} It takes: {', '.join(fields)}."


def _contradiction(form: Described, content: dict[str, object]) -> str:
    """The first key that does not fit the kind of answer; "" if all fit."""
    only = {"tolerance": "number", "fold_case": "exact"}
    for name, kind in only.items():
        if name in content and form.answer != kind:
            return f"{name}: is for answer: {kind} alone, and answer is {form.answer}. Leave it out."

    if form.licence not in licence_names():
        allowed = ", ".join(licence_names())
        return f"licence: must be one of {allowed}, got {form.licence!r}. Write other for any other."

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
    """The first column that is used where it must not be; "" if there is none."""
    slots = SLOT.findall(form.template)
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
