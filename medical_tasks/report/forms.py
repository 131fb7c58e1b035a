"""The form of a task's entry in `results.json`, as far as reports and leaderboards need it."""

from __future__ import annotations

from typing import Annotated, Any, Self, cast

from pydantic import Field, model_validator

from medical_tasks.io.forms import Count, Counts, Number, OpenForm, follows
from medical_tasks.models.usage import FORECAST, USAGE

Usage = Annotated[Any, follows(USAGE)]
Forecast = Annotated[Any, follows(FORECAST)]


class AgreementEstimate(OpenForm):
    """An agreement with its interval; null if nothing varies."""

    n: Count
    value: Number | None
    ci_low: Number | None
    ci_high: Number | None


class Repeats(OpenForm):
    """The additions of `--repeats` to a metric: its value in each repeat, and their spread."""

    __pydantic_extra__: dict[str, Number | None]
    values: list[Number | None]


class Agreement(OpenForm):
    """How far evaluations of one metric, or of verdicts, agree."""

    __pydantic_extra__: dict[str, Any]
    values: list[Number | None] = Field([])
    mean: Number | None = None
    sd: Number | None = None
    min: Number | None = None
    max: Number | None = None
    within_item_sd: Number | None = None
    items: Count = 0
    questions: Count = 0
    icc: AgreementEstimate | None = None
    alpha: AgreementEstimate | None = None
    exact_agreement: AgreementEstimate | None = None


class Evaluations(OpenForm):
    """The additions of `--evaluations` to a task."""

    n: Count
    metrics: dict[str, Agreement]
    verdicts: Agreement


class Estimate(OpenForm):
    """A metric with its interval; null if it cannot be computed.

    Attributes:
        n: the number of items.
        value: their mean.
        ci_low: the lower end of the 95 % interval.
        ci_high: the upper end.
        bound_low: the smallest possible value, whatever is missing or unclear.
        bound_high: the largest possible value.
        repeats: the spread over several answers to each item.
    """

    n: Count
    value: Number | None
    ci_low: Number | None
    ci_high: Number | None
    bound_low: Number | None
    bound_high: Number | None
    repeats: Repeats = cast(Repeats, None)


class Coverage(OpenForm):
    """How many items were asked, answered and scored, and why the others were not.

    Attributes:
        asked: the number of all items of the task.
        answered: the number of items with an answer.
        scored: the number of items without a missing part.
        unscored: reason to number of items.
        unclear: reason to number of items whose answer can be read in several ways.
    """

    asked: Count
    answered: Count
    scored: Count
    unscored: Counts
    unclear: Counts = Field({})


class Verdicts(OpenForm):
    """How many questions went to the judge, and how many it decided."""

    asked: Count
    decided: Count
    unscored: Counts


class Judge(OpenForm):
    """A judge's work in a run."""

    name: str
    check: str
    comparable: bool
    votes: Count
    from_store: Count
    calls: Count
    votes_saved: Count
    usage: Usage = None
    forecast: Forecast = None
    verdicts: Verdicts


class Model(OpenForm):
    """The model that was asked."""

    name: str


class Truncation(OpenForm):
    """How questions were shortened to fit a model's context."""

    rule: Any = None


class Recipe(OpenForm):
    """The recipe of a result, on which it depends."""

    model: Model
    truncation: Truncation | None = None


Estimates = dict[str, Estimate]
Breakdown = dict[str, dict[str, Estimates]]


class Entry(OpenForm):
    """The result of one task."""

    n_items: Count
    metrics: Estimates
    coverage: Coverage
    breakdown: Breakdown
    recipe: Recipe
    cut_at_length: Count = 0
    thought_only: Count = 0
    shortened: Count = 0
    usage: Usage | None = None
    judge: Judge | None = None
    evaluations: Evaluations | None = None

    @model_validator(mode="after")
    def _counts_agree(self) -> Self:
        if self.coverage.scored > self.coverage.asked:
            counts = (
                f"{self.coverage.scored} scored items of {self.coverage.asked} asked"
            )
            raise ValueError(f"has {counts}")
        if self.shortened and (self.recipe.truncation or Truncation()).rule is None:
            raise ValueError(
                "has shortened questions, and its recipe has no truncation"
            )
        return self
