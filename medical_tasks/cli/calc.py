"""The command `calc`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.calculators import (
    CALCULATORS,
    AnyCalculator,
    Calculator,
    CalculatorInputError,
    Result,
    calculate,
    check_conventions,
    find,
)
from medical_tasks.calculators.inputs import REQUIRED, Quantity
from medical_tasks.calculators.tools import tool_of
from medical_tasks.errors import IncompleteError, MissingError, UsageError
from medical_tasks.io.files import WholeFile, open_file, readable
from medical_tasks.io.output import tell
from medical_tasks.io.progress import Progress
from medical_tasks.models.tool_calls import offered
from medical_tasks.options import Calc


def run(arguments: Calc) -> int:
    """Calculates, lists or explains; exit code 5 if a line of a batch has no answer."""
    name = arguments.calculator
    if (arguments.batch is None) != (arguments.out is None):
        raise UsageError(
            "--batch and --out need each other: medical-tasks calc --batch IN.jsonl --out OUT.jsonl"
        )

    modes = [
        arguments.list,
        arguments.tools,
        arguments.mcp,
        arguments.batch is not None,
        name is not None,
    ]
    if sum(modes) != 1 or (arguments.show_inputs and name is None):
        raise UsageError(
            "give one of: a calculator's NAME (with key=value, or --inputs), --list, --tools, --mcp, or --batch with --out. "
            "See: medical-tasks calc --help"
        )

    if arguments.mcp:
        from medical_tasks.harness.mcp_server import serve

        serve()
        return 0

    if arguments.tools:
        listed = offered([tool_of(entry) for entry in CALCULATORS])
        tell(json.dumps(listed, indent=1, ensure_ascii=False), listed)
        return 0

    if arguments.list:
        columns = ("id", "slug", "name", "category", "output")
        tell(
            render_list(),
            [{name: getattr(entry, name) for name in columns} for entry in CALCULATORS],
        )
        return 0

    if arguments.batch is not None and arguments.out is not None:
        return _batch(arguments.batch, arguments.out, arguments.convention)

    calculator = find(name or "")
    if arguments.show_inputs or not arguments.inputs:
        tell(render_inputs(calculator), _described(calculator))
        return 0

    return _calculate(calculator, arguments.inputs, arguments.convention)


def _calculate(
    calculator: AnyCalculator, inputs: Sequence[str], conventions: Sequence[str]
) -> int:
    check_conventions(conventions, calculator)
    result = calculate(
        calculator,
        from_arguments(calculator, inputs),
        conventions=frozenset(conventions),
    )
    tell(
        _rendered(calculator, result),
        {"calculator": calculator.slug, **_result(result)},
    )

    return 0


def _rendered(calculator: AnyCalculator, result: Result) -> str:
    """Writes the answer with its warnings, then the steps; the last step is the answer itself."""
    *steps, answer = result.explanation.splitlines()
    warnings = [f"Warning: {warning}" for warning in result.warnings]
    steps = [step for step in steps if step not in warnings]
    lines = [
        answer.removesuffix("."),
        *warnings,
        "",
        "Steps:",
        *(f"  {step}" for step in steps),
    ]
    if result.missing_taken_absent:
        lines += [
            "",
            f"Missing, and assumed as in the steps: {', '.join(result.missing_taken_absent)}",
        ]

    return "\n".join([*lines, "", f"Source: {result.source}"])


def _batch(source: Path, out: Path, conventions: Sequence[str]) -> int:
    """Calculates the lines of a file; lines without an answer have the reason."""
    check_conventions(conventions)
    counts = calculate_batch(source, out, frozenset(conventions))
    tell(None, counts, out=out)
    if counts.errors:
        print(
            f"{counts.errors} of {counts.lines} lines have no answer; {out} has the reasons. "
            f"The first: {counts.first_error}",
            file=sys.stderr,
        )
        return IncompleteError.exit_code
    tell(f"{counts.lines} calculations in {out}")
    return 0


FORM = '{"calculator_id": 2, "inputs": {"sex": "Male", "age": [64, "years"], ...}}'

# The keys of an output; a line that was an output before is calculated again.
_WRITTEN = frozenset({"answer", "explanation", "warnings", "error"})


def from_arguments(
    calculator: int | str | AnyCalculator, arguments: Iterable[str]
) -> dict[str, object]:
    """Parses `key=value` texts to entities for `calculate`; an unknown or repeated key is an error.

    Keys are the inputs' names, parameters or aliases in any case and spacing; values
    are texts such as `72`, `80kg`, `"1.2 mg/dL"`, `"5 ft 10 in"`, `yes`, `05/30/2024`.
    """
    entry = calculator if isinstance(calculator, Calculator) else find(calculator)
    pairs: list[tuple[str, object]] = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or not key.strip():
            raise CalculatorInputError(
                f"{entry.slug}: expected key=value, got {argument!r}; write for example age=72"
            )

        pairs.append((key.strip(), value.strip()))

    return entry.named(pairs)


def render_list() -> str:
    """Lists all calculators, one per line: id, slug, category, output and name."""
    width = max(len(entry.slug) for entry in CALCULATORS)
    lines = [f"{'id':>3}  {'name':<{width}}  {'category':<9}  {'output':<7}  title"]
    lines += [
        f"{entry.id:>3}  {entry.slug:<{width}}  {entry.category:<9}  {entry.output:<7}  {entry.name}"
        for entry in CALCULATORS
    ]
    return "\n".join(lines)


def render_inputs(entry: AnyCalculator) -> str:
    """Describes a calculator: its inputs with accepted units or words, its conventions and its source."""
    keys = [item.key for item in entry.inputs]
    width = max(len(key) for key in keys)
    lines = [f"{entry.name} (id {entry.id}, {entry.slug})"]
    for key, item in zip(keys, entry.inputs, strict=True):
        need = "required" if item.absent is REQUIRED else "optional"
        lines.append(f"  {key:<{width}}  {need}  {item.expects}  [{item.name}]")

    units = {
        item.parameter: item.measure.unit
        for item in entry.inputs
        if isinstance(item, Quantity)
    }
    lines += [
        f"  published for {valid.parameter} {valid.span(units[valid.parameter])} ({valid.source})"
        for valid in entry.valid
    ]
    lines += [
        f"  convention {convention.name}: {convention.description}"
        for convention in entry.conventions
    ]
    lines.append(f"Source: {entry.source}")

    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """The counts of a batch.

    Attributes:
        lines: The number of calculations.
        errors: The number of them with an error instead of an answer.
        first_error: The line number and message of the first error, "" if there is none.
    """

    lines: int
    errors: int
    first_error: str


def calculate_line(
    record: Mapping[str, object], conventions: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Runs the calculation of a line, and adds `answer`, `explanation` and `warnings`, or `error`.

    The calculator may be named by its id, slug, name or alias; `conventions` are
    deviations from the published rules.
    """
    output = {key: value for key, value in record.items() if key not in _WRITTEN}
    try:
        calculator = _calculator(record)
        result = calculator.calculate(calculator.named(_inputs(record)), conventions)
    except CalculatorInputError as error:
        output["error"] = str(error)
        return output

    return {**output, **_result(result)}


def _result(result: Result) -> dict[str, object]:
    answer = result.answer_text if isinstance(result.answer, tuple) else result.answer
    return {
        "answer": answer,
        "explanation": result.explanation,
        "warnings": list(result.warnings),
    }


def _described(calculator: AnyCalculator) -> dict[str, object]:
    """Returns a calculator's inputs for programs."""
    inputs = [
        {
            "key": item.key,
            "name": item.name,
            "required": item.absent is REQUIRED,
            "expects": item.expects,
        }
        for item in calculator.inputs
    ]
    return {
        "id": calculator.id,
        "slug": calculator.slug,
        "name": calculator.name,
        "inputs": inputs,
        "source": calculator.source,
    }


def _calculator(record: Mapping[str, object]) -> AnyCalculator:
    """Finds the calculator of a line by id or name.

    JSON may have 7.0 for the id 7. `true` is not an id, although it equals 1 in Python.
    """
    if "calculator_id" not in record:
        raise CalculatorInputError(
            f"no 'calculator_id' in the line; got the keys {sorted(record)}. Write {FORM}"
        )

    calculator_id = record["calculator_id"]
    if isinstance(calculator_id, float) and calculator_id.is_integer():
        calculator_id = int(calculator_id)

    if isinstance(calculator_id, bool) or not isinstance(calculator_id, int | str):
        raise CalculatorInputError(
            f"calculator_id: expected a whole number or a name, got {calculator_id!r}"
        )

    return find(calculator_id)


def _inputs(record: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """Returns the names and values of a line's inputs; `Calculator.named` detects repeated names."""
    inputs = record.get("inputs")
    if not isinstance(inputs, dict):
        got = (
            f"{type(inputs).__name__} {inputs!r}"[:80] if "inputs" in record else "none"
        )
        raise CalculatorInputError(
            f"inputs: expected an object of names and values, got {got}. Write {FORM}"
        )
    return inputs.items()


def calculate_batch(
    source: Path, out: Path, conventions: frozenset[str] = frozenset()
) -> BatchCounts:
    """Runs all calculations of a JSON Lines file, and writes `out` atomically with the same order."""
    if not source.exists():
        raise MissingError(
            f"{source}: no such file. Give --batch a JSON Lines file with lines like {FORM}"
        )

    if source.is_dir():
        raise UsageError(
            f"{source}: is a folder. Give --batch a JSON Lines file with lines like {FORM}"
        )

    if out.exists() and out.samefile(source):
        raise UsageError(f"{out}: is also the input. Give --out another name.")

    lines = errors = 0
    first_error = ""
    with (
        WholeFile(out) as written,
        Progress(
            "calculations", _count(source), quiet=not source.is_file()
        ) as progress,
    ):
        for number, record in _records(source):
            output = calculate_line(record, conventions)
            written.write(_json_line(output))
            lines += 1
            if "error" in output:
                errors += 1
                first_error = first_error or f"line {number}: {output['error']}"

            progress.step()

        if not lines:
            raise UsageError(
                f"{source}: no lines. Write one calculation per line, like {FORM}"
            )

    return BatchCounts(lines=lines, errors=errors, first_error=first_error)


def _count(source: Path) -> int:
    """Counts the lines for the progress; a pipe can be read only once and is not counted."""
    if not source.is_file():
        return 0
    with open_file(source) as stream:
        return sum(1 for line in stream if line.strip())


def _records(source: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yields the objects of a file with their line numbers."""
    with readable(source), open_file(source, stdin=True) as stream:
        for number, raw in enumerate(stream, start=1):
            line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            if line.strip():
                yield number, _record(source, number, line)


def _record(source: Path, number: int, line: bytes) -> dict[str, object]:
    """Parses the JSON object of a line.

    Raises:
        UsageError: it is not UTF-8, not JSON, not an object, or repeats a key. The
            message names file and line.
    """
    try:
        value = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{source}, line {number}: not UTF-8 text ({error.reason}). Save the file as UTF-8."
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{source}, line {number}: not JSON ({error}). A line is like {FORM}"
        ) from error

    if not isinstance(value, dict):
        raise UsageError(
            f"{source}, line {number}: expected a JSON object, got {type(value).__name__}. A line is like {FORM}"
        )

    if isinstance(value, _Repeated):
        raise UsageError(
            f"{source}, line {number}: a key of the line appears twice. Keep one; a line is like {FORM}"
        )

    return value


class _Repeated(dict[str, object]):
    """An object with a repeated key, of which a dict would silently drop the first; it is written unchanged."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Any:
        """All pairs, in the order of the text."""
        return self._pairs


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    return unique if len(unique) == len(pairs) else _Repeated(pairs)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number; write null for an unknown value")


# Created once: json.loads and json.dumps with options create one for each call.
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant
)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _json_line(record: dict[str, object]) -> str:
    text = _ENCODER.encode(record)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            # A lone surrogate, which JSON can escape but UTF-8 cannot encode.
            text = json.dumps(record, allow_nan=False)
    return f"{text}\n"
