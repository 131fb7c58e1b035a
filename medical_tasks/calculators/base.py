"""The calculator: a pure function with its inputs, and the way from a patient's entities to an explained answer."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, ParamSpec, TypeAlias, TypeVar

from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.inputs import REQUIRED, Input
from medical_tasks.calculators.names import fold, is_missing

__all__ = ["Answer", "Calculator", "Category", "Convention", "Output", "Result", "calculator"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

Category: TypeAlias = Literal["lab", "physical", "date", "dosage", "risk", "severity", "diagnosis"]
Output: TypeAlias = Literal["decimal", "integer", "date"]
Answer: TypeAlias = float | int | str | tuple[str, str]

_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Result:
    """What a calculator made of a patient's entities.

    Attributes:
        calculator_id: the dataset's id of the calculator.
        answer: a number; a date as `MM/DD/YYYY`; or `("15 weeks", "1 days")` for a gestational age.
        explanation: the steps, one a line: every value used, every conversion, every point, every assumption.
        used: parameter to the value the function got, in the parameter's unit.
        missing_taken_absent: names of inputs that were not given and what the steps say was taken instead.
        ignored: names among the entities that this calculator does not use.
        source: the rule's guideline or paper.
    """

    calculator_id: int
    answer: Answer
    explanation: str
    used: Mapping[str, Any]
    missing_taken_absent: tuple[str, ...]
    ignored: tuple[str, ...]
    source: str

    @property
    def answer_text(self) -> str:
        """The answer as the dataset writes it, for example `4`, `05/30/2024` or `('15 weeks', '1 days')`."""
        return str(self.answer)


@dataclass(frozen=True, kw_only=True)
class Convention:
    """A named departure from the published rule that a caller may ask for; never on by itself.

    Attributes:
        name: how it is asked for.
        description: what it changes, for a person and for the steps.
        absent: parameter to the value taken when its input is missing, instead of the input's own.
        options: parameters set for the function.
    """

    name: str
    description: str
    absent: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Calculator(Generic[P, R_co]):
    """One calculator of the index. Calling it calls its function.

    Attributes:
        id: the dataset's calculator id.
        name: the dataset's calculator name.
        category: the dataset's category.
        output: the dataset's output type; a gestational age is an `integer` there.
        unit: unit of the answer, "" for scores.
        function: the rule, a pure keyword-only function whose last parameter `say` receives its steps.
        inputs: what it needs, in the order of the steps.
        source: guideline or paper of the rule.
        aliases: further names it is found by.
        adapt: joins inputs that belong together, for functions whose parameters are not one to one with entities.
        conventions: named departures it offers.
    """

    id: int
    name: str
    category: Category
    output: Output
    unit: str
    function: Callable[P, R_co]
    inputs: tuple[Input, ...]
    source: str
    aliases: tuple[str, ...] = ()
    adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    conventions: tuple[Convention, ...] = ()
    _table: Mapping[str, Input] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile the table of names; two inputs of one name are a fault of this package."""
        table: dict[str, Input] = {}
        for item in self.inputs:
            for name in (item.name, item.parameter, *item.aliases):
                for key in (name, fold(name)):
                    if table.setdefault(key, item) is not item:
                        raise ValueError(f"calculator {self.id}: {name!r} names two inputs")
        object.__setattr__(self, "_table", table)
        for name in ("__doc__", "__name__", "__module__"):
            object.__setattr__(self, name, getattr(self.function, name))
        object.__setattr__(self, "__wrapped__", self.function)  # so that help() and signature() show the function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The bare rule: see `function`."""
        return self.function(*args, **kwargs)

    @property
    def slug(self) -> str:
        """Name for the command line and for files: the function's own."""
        return self.function.__name__

    @property
    def tolerance(self) -> float:
        """Relative tolerance of the dataset's scoring: 0.05 for decimals, 0 (exact) otherwise."""
        return 0.05 if self.output == "decimal" else 0.0

    def input_named(self, name: str) -> Input | None:
        """The input that a name or alias stands for, or None."""
        return self._table.get(name) or self._table.get(fold(name))

    def calculate(self, entities: Mapping[str, object], conventions: frozenset[str] = _NONE) -> Result:
        """Read a patient's entities and apply the rule.

        Args:
            entities: name to value, as in the dataset's `Relevant Entities`.
            conventions: names of `Convention`s to follow; those of other calculators have no effect here.

        Raises:
            CalculatorInputError: required inputs are missing, or a value cannot be read or is impossible.
        """
        try:
            return self._calculate(entities, conventions)
        except CalculatorInputError as error:
            raise error.within(self.name) from None

    def _calculate(self, entities: Mapping[str, object], conventions: frozenset[str]) -> Result:
        found, ignored = self._find(entities)
        lines: list[str] = []
        say = lines.append
        instead: Mapping[str, object] = {}
        options: Mapping[str, object] = {}
        if conventions:
            for convention in self.conventions:
                if convention.name in conventions:
                    instead, options = {**instead, **convention.absent}, {**options, **convention.options}
                    say(f"Convention {convention.name}: {convention.description}")
        values: dict[str, Any] = {}
        absent: list[str] = []
        required: list[str] = []
        for item in self.inputs:
            parameter = item.parameter
            if parameter in found:
                values[parameter] = item.read(found[parameter], say)
                continue
            value = instead.get(parameter, item.absent) if instead else item.absent
            if value is REQUIRED:
                required.append(item.name)
                continue
            values[parameter] = value
            if item.silent:
                continue
            absent.append(item.name)
            say(item.absent_line if value is item.absent else f"{item.name}: not mentioned, taken as {value}.")
        if required:
            also = f"; given but not used: {', '.join(map(repr, ignored))}" if ignored else ""
            raise CalculatorInputError(f"missing required input: {', '.join(required)}{also}")
        if ignored:
            say(f"Not used: {', '.join(ignored)}.")
        if self.adapt is not None:
            values = self.adapt(values)
        if options:
            values.update(options)
        function: Callable[..., object] = self.function
        answer = _answer(function(**values, say=say))
        shown = f"{answer:.6g}" if type(answer) is float else _spoken(answer)
        say(f"{self.name} = {shown} {self.unit}.".replace(" .", "."))
        return Result(self.id, answer, "\n".join(lines), values, tuple(absent), tuple(ignored), self.source)

    def _find(self, entities: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
        table = self._table
        found: dict[str, object] = {}
        ignored: list[str] = []
        for key, raw in entities.items():
            item = table.get(key) or table.get(fold(key))
            if item is None:
                ignored.append(key)
            elif raw is None or (type(raw) is str and is_missing(raw)):
                continue
            elif item.parameter in found and found[item.parameter] != raw:
                raise CalculatorInputError(
                    f"{item.name}: given twice with different values, {found[item.parameter]!r} and {raw!r}; keep one"
                )
            else:
                found[item.parameter] = raw
        return found, ignored


def _answer(value: object) -> Answer:
    """The function's value in the dataset's form."""
    if type(value) is int:
        return value
    if isinstance(value, float):
        return round(value, 10) + 0.0  # binary noise of sums: 1.8e-15 is a gap of 0, and -0.0 is 0
    if isinstance(value, datetime.date):
        return f"{value:%m/%d/%Y}"
    if isinstance(value, tuple):
        weeks, days = value
        return f"{weeks} weeks", f"{days} days"
    raise TypeError(f"a calculator returned {value!r}; expected an int, float, date or (weeks, days)")


def _spoken(answer: Answer) -> str:
    return " ".join(answer) if isinstance(answer, tuple) else str(answer)


def calculator(
    *,
    id: int,  # noqa: A002 - the dataset's word
    name: str,
    category: Category,
    output: Output,
    inputs: tuple[Input, ...],
    source: str,
    unit: str = "",
    aliases: tuple[str, ...] = (),
    adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    conventions: tuple[Convention, ...] = (),
) -> Callable[[Callable[P, R_co]], Calculator[P, R_co]]:
    """Make a calculator of a function; see `Calculator` for the arguments."""

    def wrap(function: Callable[P, R_co]) -> Calculator[P, R_co]:
        return Calculator(
            id=id,
            name=name,
            category=category,
            output=output,
            unit=unit,
            function=function,
            inputs=inputs,
            source=source,
            aliases=aliases,
            adapt=adapt,
            conventions=conventions,
        )

    return wrap
