"""Calculate a clinical score or value by its published rule, with every step.

    medical-tasks calc --list
    medical-tasks calc cha2ds2_vasc
    medical-tasks calc cha2ds2_vasc age=72 sex=female hypertension=yes
    medical-tasks calc creatinine_clearance age=64 sex=male weight=176lbs height="5 ft 10 in" creatinine="1.2 mg/dL"
    medical-tasks calc --batch IN.jsonl --out OUT.jsonl

A calculator is named by its id, slug or name; without key=value it says what it takes. Findings that are not given count as
absent, and the answer says which. A value outside the range that the rule was published for, or with a unit that cannot be
meant, is answered with a warning.

A line of --batch is {"calculator_id": 2, "inputs": {...}} with the names of the dataset's Relevant Entities, or those of the
single form. Its line in --out is the same object with "answer", "explanation" and "warnings" (a list), or with "error": a
misspelt input is an error here too, of its line alone. Answers are numbers, dates as MM/DD/YYYY, gestational ages as the dataset
writes them, ('15 weeks', '1 days'). Exit code 5 when any line has an error; a line that is no JSON object ends the command with
exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medical_tasks.calculators import AnyCalculator, Result

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("calculator", nargs="?", metavar="NAME", help="id, slug or name of a calculator")
    parser.add_argument("inputs", nargs="*", metavar="key=value", help='such as age=72 or creatinine="1.2 mg/dL"')
    parser.add_argument("--list", action="store_true", help="all calculators: id, slug, category, output, name")
    parser.add_argument("--inputs", dest="show_inputs", action="store_true", help="what NAME takes, and in which units")
    parser.add_argument("--batch", type=Path, metavar="IN", help="JSON Lines of calculations")
    parser.add_argument("--out", type=Path, metavar="OUT", help="where the lines of --batch go with their answers")
    parser.add_argument(
        "--convention",
        action="append",
        default=[],
        metavar="NAME",
        help="a named departure from the published rule to follow, as --inputs shows them; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Calculates, lists or explains; exit code 5 when a line of a batch has no answer."""
    from medical_tasks.calculators import find
    from medical_tasks.cli.calculator_batch import render_inputs, render_list
    from medical_tasks.errors import UsageError

    name = arguments.calculator
    if (arguments.batch is None) != (arguments.out is None):
        raise UsageError("--batch and --out go together: medical-tasks calc --batch IN.jsonl --out OUT.jsonl")
    asked = [arguments.list, arguments.batch is not None, name is not None]
    if sum(asked) != 1 or (arguments.show_inputs and name is None):
        raise UsageError(
            "give one of: a calculator's NAME (with key=value, or --inputs), --list, or --batch with --out. "
            "See: medical-tasks calc --help"
        )
    if arguments.list:
        print(render_list())
        return 0
    if arguments.batch is not None:
        return _batch(arguments.batch, arguments.out, arguments.convention)
    calculator = find(name)
    if arguments.show_inputs or not arguments.inputs:
        print(render_inputs(calculator))
        return 0
    return _calculate(calculator, arguments.inputs, arguments.convention)


def _calculate(calculator: AnyCalculator, inputs: Sequence[str], conventions: Sequence[str]) -> int:
    from medical_tasks.calculators import calculate
    from medical_tasks.cli.calculator_batch import from_arguments

    _check_conventions(conventions, calculator)
    result = calculate(calculator, from_arguments(calculator, inputs), conventions=frozenset(conventions))
    print(_rendered(calculator, result))
    return 0


def _rendered(calculator: AnyCalculator, result: Result) -> str:
    """The answer first with its warnings, then how it came about; the last step is the answer itself."""
    *steps, answer = result.explanation.splitlines()
    warnings = [f"Warning: {warning}" for warning in result.warnings]
    steps = [step for step in steps if step not in warnings]
    lines = [answer.removesuffix("."), *warnings, "", "Steps:", *(f"  {step}" for step in steps)]
    if result.missing_taken_absent:
        lines += ["", f"Not given, and taken as the steps say: {', '.join(result.missing_taken_absent)}"]
    return "\n".join([*lines, "", f"Source: {result.source}"])


def _batch(source: Path, out: Path, conventions: Sequence[str]) -> int:
    from medical_tasks.cli.calculator_batch import calculate_batch
    from medical_tasks.errors import IncompleteError

    _check_conventions(conventions)
    counts = calculate_batch(source, out, frozenset(conventions))
    if counts.errors:
        print(
            f"{counts.errors} of {counts.lines} lines have no answer; {out} says why for each. "
            f"The first, {counts.first_error}",
            file=sys.stderr,
        )
        return IncompleteError.exit_code
    print(f"{counts.lines} calculations in {out}")
    return 0


def _check_conventions(names: Sequence[str], calculator: AnyCalculator | None = None) -> None:
    """A slip in a convention's name must not pass for the published rule."""
    from medical_tasks.calculators import CALCULATORS
    from medical_tasks.errors import UsageError

    entries = CALCULATORS if calculator is None else (calculator,)
    known = sorted({convention.name for entry in entries for convention in entry.conventions})
    for name in names:
        if name not in known:
            whose = "" if calculator is None else f" of {calculator.slug}"
            raise UsageError(f"unknown convention {name!r}{whose}. Known: {', '.join(known) or 'none'}.")
