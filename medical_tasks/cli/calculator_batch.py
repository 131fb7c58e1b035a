"""Calculations that a person asks for: `age=72 sex=female` texts, or a file of JSON Lines with answers and steps out.

A line in is `{"calculator_id": 2, "inputs": {...}}`, the inputs named as in the dataset's `Relevant Entities` or on the command
line. A line out is the same object with `answer`, `explanation` and `warnings` (a list, empty where there is nothing to know
before the answer is used), or with `error` where the calculation cannot be made: an input is missing, unreadable, impossible,
misspelt or named twice. Answers are numbers
(decimals as floats, scores as integers), dates as `MM/DD/YYYY`, and gestational ages as the dataset writes them,
`('15 weeks', '1 days')`. The lines are streamed: a file of any size takes the memory of one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.calculators import CALCULATORS, AnyCalculator, Calculator, CalculatorInputError, find
from medical_tasks.calculators.inputs import REQUIRED, Quantity
from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import WholeFile, open_file
from medical_tasks.io.progress import Progress

__all__ = ["BatchCounts", "calculate_batch", "calculate_line", "from_arguments", "render_inputs", "render_list"]

FORM = '{"calculator_id": 2, "inputs": {"sex": "Male", "age": [64, "years"], ...}}'

# What this writes; a line that was an output before is calculated anew.
_WRITTEN = frozenset({"answer", "explanation", "warnings", "error"})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """What came of a file.

    Attributes:
        lines: calculations asked for.
        errors: how many of them have an error in place of an answer.
        first_error: line number and message of the first one, "" when there is none.
    """

    lines: int
    errors: int
    first_error: str


def calculate_line(record: Mapping[str, Any], conventions: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Makes the calculation that one line asks for.

    Args:
        record: the line's object; further keys are kept. The calculator may also be named by its slug, name or alias.
        conventions: names of departures from the published rules to follow; calculators without them are as ever.

    Returns:
        The same keys with `answer`, `explanation` and `warnings`, or with `error`.
    """
    made = {key: value for key, value in record.items() if key not in _WRITTEN}
    try:
        calculator = _calculator(record)
        result = calculator.calculate(calculator.named(_inputs(record)), conventions)
    except CalculatorInputError as error:
        made["error"] = str(error)
        return made
    made["answer"] = result.answer_text if isinstance(result.answer, tuple) else result.answer
    made["explanation"] = result.explanation
    made["warnings"] = list(result.warnings)
    return made


def _calculator(record: Mapping[str, Any]) -> AnyCalculator:
    if "calculator_id" not in record:
        raise CalculatorInputError(f"no 'calculator_id' in the line; got the keys {sorted(record)}. Write {FORM}")
    wanted = record["calculator_id"]
    if isinstance(wanted, float) and wanted.is_integer():
        wanted = int(wanted)
    if isinstance(wanted, bool) or not isinstance(wanted, int | str):
        raise CalculatorInputError(f"calculator_id: expected a whole number or a name, got {wanted!r}")
    return find(wanted)


def _inputs(record: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    inputs = record.get("inputs")
    if not isinstance(inputs, dict):
        got = f"{type(inputs).__name__} {inputs!r}"[:80] if "inputs" in record else "none"
        raise CalculatorInputError(f"inputs: expected an object of names and values, got {got}. Write {FORM}")
    return inputs.items()


def calculate_batch(source: Path, out: Path, conventions: frozenset[str] = frozenset()) -> BatchCounts:
    """Makes all calculations of a file.

    Args:
        source: JSON Lines, UTF-8; empty lines are passed over.
        out: where the lines go, in the same order; it appears when it is whole.
        conventions: as for `calculate_line`.

    Returns:
        How many there were, and how many could not be made.

    Raises:
        MissingError: There is no such file.
        UsageError: A line is no JSON object, the file has no lines or is the output itself; nothing is written then.
        IncompleteError: The output cannot be written.
    """
    if not source.exists():
        raise MissingError(f"{source}: no such file. Give --batch a JSON Lines file with lines like {FORM}")
    if source.is_dir():
        raise UsageError(f"{source}: is a folder. Give --batch a JSON Lines file with lines like {FORM}")
    if out.exists() and out.samefile(source):
        raise UsageError(f"{out}: is the input too. Give --out another name.")
    lines = errors = 0
    first_error = ""
    with WholeFile(out) as written, Progress("calculations", _count(source), quiet=not source.is_file()) as progress:
        for number, record in _records(source):
            made = calculate_line(record, conventions)
            written.write(_json_line(made))
            lines += 1
            if "error" in made:
                errors += 1
                first_error = first_error or f"line {number}: {made['error']}"
            progress.step()
        if not lines:
            raise UsageError(f"{source}: no lines. Give one calculation a line, like {FORM}")
    return BatchCounts(lines=lines, errors=errors, first_error=first_error)


def _count(source: Path) -> int:
    """How many lines there are to go through, for the progress; a pipe can be read only once and is not counted."""
    if not source.is_file():
        return 0
    with open_file(source) as stream:
        return sum(1 for line in stream if line.strip())


def _records(source: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers."""
    try:
        with open_file(source, stdin=True) as stream:
            for number, raw in enumerate(stream, start=1):
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if line.strip():
                    yield number, _record(source, number, line)
    except OSError as error:
        raise UsageError(f"{source}: cannot be read ({system_reason(error)}).") from error


def _record(source: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{source}, line {number}: not UTF-8 text ({error.reason}). Save the file as UTF-8."
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source}, line {number}: not JSON ({error}). A line is like {FORM}") from error
    if not isinstance(value, dict):
        raise UsageError(
            f"{source}, line {number}: expected a JSON object, got {type(value).__name__}. A line is like {FORM}"
        )
    if isinstance(value, _Repeated):
        raise UsageError(f"{source}, line {number}: a key of the line stands twice. Keep one; a line is like {FORM}")
    return value


class _Repeated(dict[str, Any]):
    """An object that has a name twice. A dict would lose the first without a word; this one is written as it was read."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Any:
        """All pairs, in the order of the text."""
        return self._pairs


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else _Repeated(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number; write null for a value that is not known")


# Made once: with options of their own, json.loads and json.dumps make one for each line.
_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _json_line(made: dict[str, Any]) -> str:
    text = _ENCODER.encode(made)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:  # half a character pair, which JSON can carry as an escape and UTF-8 cannot
            text = json.dumps(made, allow_nan=False)
    return f"{text}\n"
