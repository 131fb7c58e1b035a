"""The calculator.

A pure function with its inputs, and the way from a patient's entities to an explained
answer.
"""

from __future__ import annotations

import datetime
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, ParamSpec, TypeAlias, TypeVar

from medical_tasks.calculators.inputs import (
    REQUIRED,
    Flag,
    Input,
    Quantity,
    fold,
    is_missing,
)
from medical_tasks.calculators.shared_inputs import SHARED, read_input
from medical_tasks.calculators.steps import Say, quiet
from medical_tasks.calculators.units import CalculatorInputError
from medical_tasks.io.files import packaged

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

Category: TypeAlias = Literal[
    "lab", "physical", "date", "dosage", "risk", "severity", "diagnosis"
]
Output: TypeAlias = Literal["decimal", "integer", "date"]
Answer: TypeAlias = float | int | str | tuple[str, str]

_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Result:
    """A calculator's result for a patient's entities.

    Attributes:
        calculator_id: the dataset's id of the calculator.
        answer: a number; a date as `MM/DD/YYYY`; or `("15 weeks", "1 days")` for a
            gestational age.
        explanation: the steps, one a line: every value used, every conversion, every
            point, every assumption.
        used: parameter to the value the function got, in the parameter's unit.
        missing_taken_absent: names of inputs that were not given.
        ignored: names among the entities that this calculator does not use.
        source: the rule's guideline or paper.
        warnings: what to know before the answer is used, which the steps say too.
        unit_doubts: those of the warnings that are about a unit; the answer is of the
            unit as given.
    """

    calculator_id: int
    answer: Answer
    explanation: str
    used: Mapping[str, Any]
    missing_taken_absent: tuple[str, ...]
    ignored: tuple[str, ...]
    source: str
    warnings: tuple[str, ...] = ()
    unit_doubts: tuple[str, ...] = ()

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
        absent: parameter to the value taken when its input is missing.
        options: parameters set for the function.
    """

    name: str
    description: str
    absent: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Valid:
    """The range of one input that a rule was published for.

    Outside of it the answer is an extrapolation, and says so.

    `low` and `high` are in the parameter's unit, ages in completed years; `source` says
    so; the range matters `when` these values do, always when None.
    """

    parameter: str
    low: float = -math.inf
    high: float = math.inf
    source: str
    when: Callable[[Mapping[str, Any]], bool] | None = None

    def span(self, unit: str) -> str:
        """The range in words, such as `18 to 70 years`."""
        if self.high == math.inf:
            return f"{self.low:g} {unit} or more"
        return (
            f"{self.high:g} {unit} or less"
            if self.low == -math.inf
            else f"{self.low:g} to {self.high:g} {unit}"
        )

    def warning(self, item: Quantity, values: Mapping[str, Any]) -> str | None:
        """The sentence for a value outside the range, None for one inside."""
        value = values[self.parameter]
        if value is None or (self.when is not None and not self.when(values)):
            return None

        unit = item.measure.unit
        if self.low <= (math.floor(value) if unit == "years" else value) <= self.high:
            return None

        return (
            f"{item.name} {value:.6g} {unit} is outside the range the rule was published for, "
            f"{self.span(unit)} ({self.source}); the answer is an extrapolation."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Calculator(Generic[P, R_co]):
    """One calculator of the index. Calling it calls its function.

    Attributes:
        id: the dataset's calculator id.
        name: the dataset's calculator name.
        category: the dataset's category.
        output: the dataset's output type; a gestational age is an `integer` there.
        function: the rule, pure and keyword-only; its last parameter `say` receives its
            steps.
        inputs: what it needs, in the order of the steps.
        source: guideline or paper of the rule.
        unit: unit of the answer, "" for scores.
        aliases: further names it is found by.
        adapt: joins inputs that belong together.
        conventions: named departures it offers.
        valid: the published ranges of its inputs; empty where the publication limits
            none of them.
        unused: entities that the dataset gives beside the rule's inputs; a person may
            name them too.
    """

    id: int
    name: str
    category: Category
    output: Output
    function: Callable[P, R_co]
    inputs: tuple[Input, ...]
    source: str
    unit: str = ""
    aliases: tuple[str, ...] = ()
    adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    conventions: tuple[Convention, ...] = ()
    valid: tuple[Valid, ...] = ()
    unused: tuple[str, ...] = ()
    _table: Mapping[str, Input] = field(init=False, repr=False)
    _ranges: tuple[tuple[Valid, Quantity], ...] = field(init=False, repr=False)
    _rivals: tuple[Quantity, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile the table of names; two inputs of one name are a fault of this package."""
        table: dict[str, Input] = {}
        for item in self.inputs:
            for name in (item.name, item.parameter, *item.aliases):
                for key in (name, fold(name)):
                    if table.setdefault(key, item) is not item:
                        raise ValueError(
                            f"calculator {self.id}: {name!r} names two inputs"
                        )

        object.__setattr__(self, "_table", table)
        measured = {
            item.parameter: item for item in self.inputs if isinstance(item, Quantity)
        }
        object.__setattr__(
            self,
            "_ranges",
            tuple((valid, measured[valid.parameter]) for valid in self.valid),
        )
        object.__setattr__(
            self,
            "_rivals",
            tuple(item for item in measured.values() if item.rival is not None),
        )
        for name in ("__name__", "__module__"):
            object.__setattr__(self, name, getattr(self.function, name))

        object.__setattr__(
            self, "__doc__", f"{inspect.getdoc(self.function)}\n\nSource: {self.source}"
        )
        # so that help() and signature() show the function
        object.__setattr__(self, "__wrapped__", self.function)

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

    def named(self, inputs: Iterable[tuple[str, object]]) -> dict[str, object]:
        """Entities for `calculate` from what a person names, whose slip must not pass for a missing finding."""
        entities: dict[str, object] = {}
        unused = {fold(name) for name in self.unused}
        for name, value in inputs:
            item = self.input_named(name)
            if item is None and fold(name) not in unused:
                raise CalculatorInputError(f"{self.slug}: {self._unknown(name)}")

            key = name if item is None else item.name
            if key in entities:
                raise CalculatorInputError(
                    f"{self.slug}: {name if item is None else item.key} is given twice; keep one"
                )

            entities[key] = value

        return entities

    def values_by_parameter(self, entities: Mapping[str, object]) -> dict[str, object]:
        """Return the raw value of each parameter that the entities hold.

        Example:
            >>> from medical_tasks.calculators.index import find
            >>> bmi = find("body_mass_index")
            >>> bmi.values_by_parameter({"weight": [70, "kg"], "Pulse": 80})
            {'weight_kg': [70, 'kg']}
        """
        return self._find(entities)[0]

    def shown(self, answer: Answer) -> str:
        """An answer with its unit, such as `24.7 kg/m^2`."""
        return self._shown(answer)

    def _unknown(self, name: str) -> str:
        """The message for an unknown input: names like it, and all names."""
        names = {
            fold(alias): item
            for item in self.inputs
            for alias in (item.name, item.parameter, *item.aliases)
        }
        import difflib  # where a name is not known

        near = difflib.get_close_matches(fold(name), names, n=3)
        hint = ", ".join(dict.fromkeys(names[alias].key for alias in near))
        inputs = ", ".join(item.key for item in self.inputs)

        return f"no input {name!r}{f'; did you mean {hint}?' if hint else ';'} Inputs: {inputs}"

    def calculate(
        self, entities: Mapping[str, object], conventions: frozenset[str] = _NONE
    ) -> Result:
        """Read a patient's entities and apply the rule.

        Conventions of other calculators have no effect here.
        """
        try:
            return self._calculate(entities, conventions)
        except CalculatorInputError as error:
            raise error.within(self.name) from None

    def _calculate(
        self, entities: Mapping[str, object], conventions: frozenset[str]
    ) -> Result:
        """Reads the inputs, applies the rule and keeps every step as a line.

        The lines come in this order: conventions, inputs, entities that are not used,
        warnings, the rule's own steps, the answer.
        """
        raw_values, ignored = self._find(entities)
        lines: list[str] = []
        say = lines.append
        chosen = [
            convention
            for convention in self.conventions
            if convention.name in conventions
        ]
        for convention in chosen:
            say(f"Convention {convention.name}: {convention.description}")

        values, absent, doubts = self._values(raw_values, ignored, chosen, say)
        if ignored:
            say(f"Not used: {', '.join(ignored)}.")

        warnings = (*doubts, *self._warnings(raw_values, values))
        for warning in warnings:
            say(f"Warning: {warning}")

        if self.adapt is not None:
            values = self.adapt(values)

        for convention in chosen:
            values.update(convention.options)

        answer = self._apply(values, say)
        say(f"{self.name} = {self._shown(answer)}.")
        return Result(
            calculator_id=self.id,
            answer=answer,
            explanation="\n".join(lines),
            used=values,
            missing_taken_absent=tuple(absent),
            ignored=tuple(ignored),
            source=self.source,
            warnings=warnings,
            unit_doubts=tuple(doubts),
        )

    def _values(
        self,
        raw_values: Mapping[str, object],
        ignored: Sequence[str],
        conventions: Sequence[Convention],
        say: Say,
    ) -> tuple[dict[str, object], list[str], list[str]]:
        """Each parameter's value, the names of inputs that are absent, and doubts about units."""
        instead = {
            name: value
            for convention in conventions
            for name, value in convention.absent.items()
        }
        values: dict[str, Any] = {}
        absent, required, doubts = list[str](), list[str](), list[str]()
        for item in self.inputs:
            parameter = item.parameter
            if parameter in raw_values:
                values[parameter] = value = item.read(raw_values[parameter], say)
                if (doubt := item.doubt(raw_values[parameter], value)) is not None:
                    doubts.append(doubt)

                continue

            value = instead.get(parameter, item.absent)
            if value is REQUIRED:
                required.append(item.name)
                continue

            values[parameter] = value
            if not item.silent:
                absent.append(item.name)
                say(item.absent_step(value))

        if required:
            also = (
                f"; given but not used: {', '.join(map(repr, ignored))}"
                if ignored
                else ""
            )
            raise CalculatorInputError(
                f"missing required input: {', '.join(required)}{also}"
            )

        return values, absent, doubts

    def _warnings(
        self, raw_values: Mapping[str, object], values: Mapping[str, object]
    ) -> Iterator[str]:
        """What is doubtful of the values that were read.

        They lie outside the range that the rule was published for, or were read by a
        factor on which laboratories do not agree.
        """
        for valid, quantity in self._ranges:
            if (warning := valid.warning(quantity, values)) is not None:
                yield warning

        for quantity in self._rivals:
            if (warning := self._by_rival(quantity, raw_values, values)) is not None:
                yield warning

    def _apply(self, values: Mapping[str, object], say: Say) -> Answer:
        function: Callable[..., object] = self.function
        return _answer(function(**values, say=say))

    def _shown(self, answer: Answer) -> str:
        text = " ".join(answer) if isinstance(answer, tuple) else str(answer)
        return (
            f"{f'{answer:.6g}' if type(answer) is float else text} {self.unit}".rstrip()
        )

    def _by_rival(
        self,
        item: Quantity,
        raw_values: Mapping[str, object],
        values: Mapping[str, object],
    ) -> str | None:
        """What the other factor would make of a value whose conversion laboratories do not agree on."""
        measure, rival, parameter = item.measure, item.rival, item.parameter
        if rival is None or parameter not in raw_values:
            return None

        other = rival.read(raw_values[parameter], item.name)[0]
        if (
            other == values[parameter]
            or measure.substance is None
            or rival.substance is None
        ):
            return None

        return (
            f"{item.name} was converted by {measure.substance.note}; a laboratory that converts by "
            f"{rival.substance.note} would have {other:.6g} {measure.unit}, and the answer would "
            f"be {self._shown(self._apply({**values, parameter: other}, quiet))}. Give "
            f"{measure.unit} where it is reported."
        )

    def _find(
        self, entities: Mapping[str, object]
    ) -> tuple[dict[str, object], list[str]]:
        """Sorts entities: raw values by parameter, and the names that no input has.

        A value that says it is missing is left out. The same input under two names
        counts once; with two values it is refused, since either may be wrong.
        """
        table = self._table
        raw_values: dict[str, object] = {}
        ignored: list[str] = []
        for key, raw in entities.items():
            item = table.get(key) or table.get(fold(key))
            if item is None:
                ignored.append(key)
            elif raw is None or (type(raw) is str and is_missing(raw)):
                continue
            elif item.parameter in raw_values and raw_values[item.parameter] != raw:
                raise CalculatorInputError(
                    f"{item.name}: given twice with different values, {raw_values[item.parameter]!r} "
                    f"and {raw!r}; keep one"
                )
            else:
                raw_values[item.parameter] = raw

        return raw_values, ignored


def _answer(value: object) -> Answer:
    """The function's value in the dataset's form."""
    if type(value) is int:
        return value

    if isinstance(value, float):
        return (
            round(value, 10) + 0.0
        )  # binary noise of sums: 1.8e-15 is a gap of 0, and -0.0 is 0

    if isinstance(value, datetime.date):
        return f"{value:%m/%d/%Y}"

    if isinstance(value, tuple):
        weeks, days = value
        return f"{weeks} weeks", f"{days} days"

    raise TypeError(
        f"a calculator returned {value!r}; expected an int, float, date or (weeks, days)"
    )


_CATALOG: Final[dict[str, dict[str, Any]]] = packaged(__file__, "catalog.json")

Adapt: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Joins the values of inputs that belong together into the function's parameters."""

Holds: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Whether a rule's published range matters for these values."""


def calculator(
    *,
    source: str,
    inputs: tuple[Input | str, ...] = (),
    adapt: Adapt | None = None,
    conventions: tuple[Convention, ...] = (),
    valid_when: Mapping[str, Holds] = MappingProxyType({}),
) -> Callable[[Callable[P, R_co]], Calculator[P, R_co]]:
    """Makes a calculator of a function; the rest of its description is in `catalog.json`.

    Args:
        source: the paper of the rule.
        inputs: read the parameters of their names; any other is read by the input or
            finding of its name in the catalog, else by the shared input. With `adapt`
            they are all that there are, in their order, and a name is of a shared
            input.
        adapt: joins inputs.
        conventions: departures from the rule that a caller may ask for.
        valid_when: for which values the published range of a parameter matters, where
            it does not always.
    """

    def wrap(function: Callable[P, R_co]) -> Calculator[P, R_co]:
        """Joins a function with its facts of `catalog.json` and a reader a parameter.

        With `adapt` the inputs are not the function's parameters: it makes these of
        those.
        """
        facts = dict(_CATALOG[function.__name__])
        readers = _readers(facts.pop("inputs", {}), facts.pop("findings", {}), inputs)
        if adapt is None:
            names = [
                name for name in inspect.signature(function).parameters if name != "say"
            ]
        else:
            names = [
                item.parameter if isinstance(item, Input) else item for item in inputs
            ]

        if unread := [name for name in names if name not in readers]:
            raise ValueError(
                f"calculator {function.__name__}: no input reads {', '.join(unread)}; see `inputs`"
            )

        ranges = [
            Valid(**limits, when=valid_when.get(limits["parameter"]))
            for limits in facts.pop("valid", ())
        ]
        return Calculator(
            function=function,
            inputs=tuple(readers[name] for name in names),
            source=source,
            adapt=adapt,
            conventions=conventions,
            valid=tuple(ranges),
            aliases=tuple(facts.pop("aliases", ())),
            unused=tuple(facts.pop("unused", ())),
            **facts,
        )

    return wrap


def _readers(
    forms: Mapping[str, Mapping[str, object]],
    findings: Mapping[str, Sequence[str]],
    inputs: Iterable[Input | str],
) -> Mapping[str, Input]:
    """What reads each parameter: the decorator's inputs, the catalog's, the shared ones."""
    readers = dict(SHARED)
    for parameter, form in forms.items():
        readers[parameter] = read_input(parameter, form, SHARED)

    for parameter, (name, *aliases) in findings.items():
        readers[parameter] = Flag(
            parameter=parameter, name=name, aliases=tuple(aliases)
        )

    return readers | {
        item.parameter: item for item in inputs if isinstance(item, Input)
    }
