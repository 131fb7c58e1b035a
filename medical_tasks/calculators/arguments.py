"""A person at the command line: `age=72 sex=female` in, the list of calculators and their inputs out."""

from __future__ import annotations

from collections.abc import Iterable

from medical_tasks.calculators.base import Calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.index import CALCULATORS, AnyCalculator, find
from medical_tasks.calculators.inputs import REQUIRED, Quantity

__all__ = ["from_arguments", "render_inputs", "render_list"]


def from_arguments(calculator: int | str | AnyCalculator, arguments: Iterable[str]) -> dict[str, object]:
    """Entities from `key=value` texts.

    Keys are the inputs' names, parameters or aliases in any case and spacing; values are texts such as `72`, `80kg`,
    `"1.2 mg/dL"`, `"5 ft 10 in"`, `yes`, `05/30/2024`. An unknown or repeated key is an error (`Calculator.named`).

    Args:
        calculator: id, slug, name or alias, or a `Calculator`.
        arguments: the texts.

    Returns:
        Entities for `calculate`, under the dataset's names.

    Raises:
        CalculatorInputError: no such calculator, no `=` in a text, an unknown key, or a key given twice.
    """
    entry = calculator if isinstance(calculator, Calculator) else find(calculator)
    pairs: list[tuple[str, object]] = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or not key.strip():
            raise CalculatorInputError(f"{entry.slug}: expected key=value, got {argument!r}; write for example age=72")
        pairs.append((key.strip(), value.strip()))
    return entry.named(pairs)


def render_list() -> str:
    """All calculators, one a line: id, slug, category, output and name."""
    width = max(len(entry.slug) for entry in CALCULATORS)
    lines = [f"{'id':>3}  {'name':<{width}}  {'category':<9}  {'output':<7}  title"]
    lines += [
        f"{entry.id:>3}  {entry.slug:<{width}}  {entry.category:<9}  {entry.output:<7}  {entry.name}"
        for entry in CALCULATORS
    ]
    return "\n".join(lines)


def render_inputs(calculator: int | str | AnyCalculator) -> str:
    """What one calculator needs: its inputs with accepted units or words, its conventions and its source."""
    entry = calculator if isinstance(calculator, Calculator) else find(calculator)
    keys = [item.key for item in entry.inputs]
    width = max(len(key) for key in keys)
    lines = [f"{entry.name} (id {entry.id}, {entry.slug})"]
    for key, item in zip(keys, entry.inputs, strict=True):
        need = "required" if item.absent is REQUIRED else "optional"
        lines.append(f"  {key:<{width}}  {need}  {item.expects}  [{item.name}]")
    units = {item.parameter: item.measure.unit for item in entry.inputs if isinstance(item, Quantity)}
    lines += [
        f"  published for {valid.parameter} {valid.span(units[valid.parameter])} ({valid.source})"
        for valid in entry.valid
    ]
    lines += [f"  convention {convention.name}: {convention.description}" for convention in entry.conventions]
    lines.append(f"Source: {entry.source}")
    return "\n".join(lines)
