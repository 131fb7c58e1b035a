"""The form of a shared file as pydantic models: numbers and short names, nothing else.

Every form is strict and closed, so that no text can leave in an unknown field.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from medical_tasks.io.forms import Count, Form, Hash, Number, Plain

FORMAT: Final = 1
_LONGEST: Final = 80

Name = Annotated[Plain, Field(min_length=1, max_length=_LONGEST)]
NameOrEmpty = Annotated[Plain, Field(max_length=_LONGEST)]
Role = Literal["candidate", "baseline"]


class EstimateForm(Form):
    """A number with its 95 % interval.

    Attributes:
        off: how far the true number may be from `value`, since a cell under five is hidden.
    """

    value: Number
    low: Number
    high: Number
    off: Annotated[float, Field(ge=0.0)] = 0.0

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError("low, value and high must be in this order")
        return self


class FigureForm(Form):
    """A metric of all items of a site, or of a group.

    Attributes:
        by: the breakdown; "" for all items, and then `group` is "" too.
        n: the number of items that count.
        clusters: the number of independent ones, such as patients.
        right: the number of right items, for a metric of right and wrong.
        total: the sum of numerators, for any other metric; `of` is that of denominators.
        estimate: the value; None if a cell of the group is hidden.
    """

    role: Role
    metric: Name
    by: NameOrEmpty
    group: NameOrEmpty
    n: Count
    clusters: Count
    right: Count | None
    total: Number | None
    of: Number | None
    estimate: EstimateForm | None


class DifferenceForm(Form):
    """The candidate less the baseline on their common items."""

    metric: Name
    by: NameOrEmpty
    group: NameOrEmpty
    n: Count
    clusters: Count
    estimate: EstimateForm


class CoverageForm(Form):
    """The numbers of scored and unscored items; None for fewer than five."""

    scored: Count
    missing: Count | None


class CheckForm(Form):
    """The comparison of a judge with people's labels.

    Attributes:
        table: counts by people's class (rows) and the judge's (columns); None if a cell
            is under five.
    """

    judge: Name
    set: Name
    pairs: Count
    clusters: Count
    classes: list[Name]
    table: list[list[Count]] | None

    @model_validator(mode="after")
    def _square(self) -> Self:
        wide = [len(row) for row in self.table or ()]
        if self.table is not None and wide != [len(self.classes)] * len(self.classes):
            raise ValueError("table must have a row and a column for each class")
        return self


class TaskForm(Form):
    """A task of a site.

    Attributes:
        recipe: the parts that decide the numbers, by `runs.recipes.DIFFERENCES`.
        models: the model of each role, without its host or folder.
        hidden: the number of hidden groups in each breakdown.
        by_words: whether a judge that compares words decided judged metrics.
    """

    recipe: dict[Name, Name]
    models: dict[Role, Name]
    coverage: dict[Role, CoverageForm]
    figures: list[FigureForm]
    differences: list[DifferenceForm]
    hidden: dict[Name, Count]
    by_words: bool


class ShareForm(Form):
    """`site_share.json`; `sha256` is the hash of all the rest as canonical JSON."""

    format: Literal[1]
    site: Name
    suite: Name
    date: Annotated[str, Field(alias="made", pattern=r"^\d{4}-\d{2}-\d{2}$")]
    least: Literal[5]
    tasks: dict[Name, TaskForm]
    checks: list[CheckForm]
    sha256: Hash
