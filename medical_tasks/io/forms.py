"""Forms of JSON from untrusted files, as pydantic models.

A form declares a value's type. Nothing is converted: `true` is not a number and `"1"` is not a
count. `complaint` reports the first error in one line, with its path:

    class Answer(Form):
        id: str
        tries: Count

    complaint(Answer, {"id": "7", "tries": -1})
    # 'tries: must be greater than or equal to 0, got -1'

pydantic takes 0.2 s to import, so this module, and every one with forms, is imported inside the
functions that check something.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from medical_tasks.errors import UsageError
from medical_tasks.io.files import read_bytes, readable
from medical_tasks.io.json_records import Field as Rule
from medical_tasks.io.json_records import json_lines
from medical_tasks.io.untrusted import (
    LARGEST_COUNT,
    is_number,
    is_plain,
    shown,
    shown_path,
)

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_OUR_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is no field of this form",
    "model_type": "must be an object",
    "dict_type": "must be an object",
}


class Form(BaseModel):
    """An object with these fields and no other."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


class OpenForm(Form):
    """An object with these fields, and possibly others."""

    model_config = ConfigDict(extra="allow")


_Form = TypeVar("_Form", bound=Form)


def complaint(form: type[Form], value: object) -> str:
    """Reports the first way in which a value breaks a form, as path, rule and value; "" if none."""
    try:
        form.model_validate(value)
    except ValidationError as error:
        return _first(error)
    return ""


def form_lines(path: Path, form: type[_Form], *, again: str) -> Iterator[_Form]:
    """Reads JSON Lines of a form; an error names the line, the path in it and the rule.

    Args:
        path: the file.
        form: the form of each line.
        again: what to do about a file in another form, in one sentence.
    """
    example = f"an object of {', '.join(form.model_fields)}"
    with readable(path):
        content = read_bytes(path)

    for line, value in json_lines(path, content, form=example):
        try:
            yield form.model_validate(value)
        except ValidationError as error:
            raise UsageError(f"{path}, {line}: {_first(error)}. {again}") from None


def _first(error: ValidationError) -> str:
    """Words the first error."""
    first = error.errors(include_url=False, include_context=False)[0]
    return ": ".join(filter(None, (shown_path(*first["loc"]), _rule(first))))


def _rule(first: ErrorDetails) -> str:
    """Words the rule that the first wrong value breaks, without pydantic's Python terms."""
    if first["type"] in _OUR_WORDS:
        return _OUR_WORDS[first["type"]]
    rule = first["msg"].removeprefix("Value error, ")
    for subject in ("Input", "String"):
        rule = rule.replace(f"{subject} should", "must")
    return f"{rule}, got {shown(first['input'])}"


def _plain(text: str) -> str:
    if not is_plain(text):
        raise ValueError(
            "must be one line, without control or bidirectional characters"
        )
    return text


def _finite(value: object) -> object:
    if not is_number(value):
        raise ValueError("must be a number")
    return value


def follows(rule: Rule) -> AfterValidator:
    """Applies a rule that the project's own files follow too."""

    def check(value: object) -> object:
        if not rule.holds(value):
            raise ValueError(f"must be {rule.rule}")
        return value

    return AfterValidator(check)


Plain = Annotated[str, AfterValidator(_plain)]
"""A text of one line without hidden characters."""

Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
Counts = dict[str, Count]
Number = Annotated[Any, AfterValidator(_finite)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
HashOrEmpty = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
