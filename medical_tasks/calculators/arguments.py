"""A person at the command line: `age=72 sex=female` in, the list of calculators and their inputs out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from medical_tasks.calculators.base import Calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.index import CALCULATORS, AnyCalculator, find
from medical_tasks.calculators.inputs import REQUIRED, Input
from medical_tasks.calculators.names import fold

__all__ = ["from_arguments", "render_inputs", "render_list"]


def from_arguments(calculator: int | str | AnyCalculator, arguments: Iterable[str]) -> dict[str, object]:
    """Entities from `key=value` texts.

    Keys are the inputs' names, parameters or aliases in any case and spacing; values are texts such as `72`, `80kg`,
    `"1.2 mg/dL"`, `"5 ft 10 in"`, `yes`, `05/30/2024`. A person's slip must not pass for a missing finding: an unknown
    or repeated key is an error, where `calculate` would ignore it.

    Args:
        calculator: id, slug, name or alias, or a `Calculator`.
        arguments: the texts.

    Returns:
        Entities for `calculate`, under the dataset's names.

    Raises:
        CalculatorInputError: no such calculator, no `=` in a text, an unknown key, or a key given twice.
    """
    entry = calculator if isinstance(calculator, Calculator) else find(calculator)
    entities: dict[str, object] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or not key.strip():
            raise CalculatorInputError(f"{entry.slug}: expected key=value, got {argument!r}; write for example age=72")
        item = entry.input_named(key.strip())
        if item is None:
            raise CalculatorInputError(_unknown(entry, key.strip()))
        if item.name in entities:
            raise CalculatorInputError(f"{entry.slug}: {_key(item)} is given twice; keep one")
        entities[item.name] = value.strip()
    return entities


def _unknown(entry: AnyCalculator, key: str) -> str:
    names = {fold(name): item for item in entry.inputs for name in (item.name, item.parameter, *item.aliases)}
    near = difflib.get_close_matches(fold(key), names, n=3)
    hint = ", ".join(dict.fromkeys(_key(names[name]) for name in near))
    known = ", ".join(_key(item) for item in entry.inputs)
    return f"{entry.slug}: no input {key!r}{f'; did you mean {hint}?' if hint else ';'} Inputs: {known}"


def _key(item: Input) -> str:
    """What a person types: the dataset's name or the first alias that is short and plain, else the parameter."""
    for name in (item.name, *item.aliases[:1]):
        letters = name.replace(" ", "")
        if len(name) <= 24 and letters.isascii() and letters.isalnum():
            return name.lower().replace(" ", "_")
    return item.parameter


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
    keys = [_key(item) for item in entry.inputs]
    width = max(len(key) for key in keys)
    lines = [f"{entry.name} (id {entry.id}, {entry.slug})"]
    for key, item in zip(keys, entry.inputs, strict=True):
        need = "required" if item.absent is REQUIRED else "optional"
        lines.append(f"  {key:<{width}}  {need}  {item.expects}  [{item.name}]")
    lines += [f"  convention {convention.name}: {convention.description}" for convention in entry.conventions]
    lines.append(f"Source: {entry.source}")
    return "\n".join(lines)
