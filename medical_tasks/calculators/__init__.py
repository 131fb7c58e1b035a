"""The 55 clinical calculators of MedCalc-Bench: published rules, any unit, and every step shown.

    from medical_tasks.calculators import calculate

    result = calculate("cha2ds2_vasc", {"age": [72, "years"], "sex": "Female", "Hypertension
    history": True}) result.answer        # 3 result.explanation   # one step a line result.source
    # Lip GYH et al. Chest 2010;137:263-272.

`calculate` takes a calculator (id, slug, name or alias) and the dataset's `Relevant
Entities`: names of v1.0 and v1.2 in any case and spacing, `[value, unit]` pairs or bare
numbers. Missing findings count as absent and are listed; missing required inputs,
unknown units and impossible values are a `CalculatorInputError`. See
docs/calculators.md.

How to add a calculator
-----------------------
1. Write a pure keyword-only function in the module of its family: its name is the slug, units end
the parameters' names
   (`creatinine_mg_dl`), in the order of the steps, `say: Say = quiet` last, the rule with its
   thresholds in the docstring. It returns `float` (decimal), `int` (integer), `datetime.date`, or
   `(weeks, days)`, and rounds only where the published rule does.
2. Decorate it with `@calculator(source=)`, the paper, and describe it in `catalog.json` under its
slug: `id`, `name`, `category`,
   `output` and `unit` are the dataset's; `aliases`; `unused`, what the dataset gives beside the
   inputs; `findings`, for each parameter that is a finding (absent when not mentioned) the
   dataset's name and aliases; `valid`, the ranges that the rule was published for. A parameter of
   `shared_inputs.json` needs no more; what is read otherwise stands in `inputs`, in the form of
   that file (see `read_input`), an input of a class of its own in the decorator's. Entities that
   are not one to one with parameters go through `adapt=` (see `drugs`).
3. Values are already said when the function is called; it says what it does with them: `points =
Points(say)`,
   `points.add("Age 72 is 65 to 74", 1)`, `points.flag("Hypertension", hypertension)`, also when it
   gives 0; equations say formula, numbers and result in one line. Use f-strings, and no loops over
   names: a calculation should take well under 50 microseconds.
4. What cannot be answered is `raise CalculatorInputError("<input>: <rule>; got <value>. <next
step>")`. 5. A named departure from the rule is a `Convention` in `conventions=`; it is off unless
asked for. 6. List a new family in `index.py`, and write `tests/golden/calculators/<slug>.json` (its
form: `tests/calculators/test_golden.py`)
   until `python -m measurements.calculator_mutations MODULE.FUNCTION` says that every constant is
   noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from medical_tasks.calculators.base import Answer, Calculator, Convention, Result
from medical_tasks.calculators.index import CALCULATORS, AnyCalculator, find
from medical_tasks.calculators.units import CalculatorInputError, UnitError

__all__ = [
    "CALCULATORS",
    "Answer",
    "AnyCalculator",
    "Calculator",
    "CalculatorInputError",
    "Convention",
    "Result",
    "UnitError",
    "calculate",
    "check_conventions",
    "find",
]


def calculate(
    calculator: int | str | AnyCalculator,
    entities: Mapping[str, object],
    *,
    conventions: frozenset[str] = frozenset(),
) -> Result:
    """Apply a calculator to a patient's entities.

    `conventions` names departures from the published rules to follow.
    """
    entry = calculator if isinstance(calculator, Calculator) else find(calculator)
    check_conventions(conventions)
    return entry.calculate(entities, conventions)


def check_conventions(
    names: Iterable[str], calculator: AnyCalculator | None = None
) -> None:
    """A slip in a convention's name must not pass for the published rule."""
    if not names:
        return

    entries = CALCULATORS if calculator is None else (calculator,)
    valid_names = sorted(
        {convention.name for entry in entries for convention in entry.conventions}
    )
    for name in names:
        if name not in valid_names:
            whose = "" if calculator is None else f" of {calculator.slug}"
            raise CalculatorInputError(
                f"unknown convention {name!r}{whose}. Known: {', '.join(valid_names) or 'none'}."
            )
