"""Prompts of MedCalc-Bench: direct, chain of thought, one-shot (paper, section 3.1), open book, code (appendix D).

Ours are one user message, as lighteval has no system prompt of a task's own. Exemplars'
keys are no seed of `fresh`.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.corrected import CORRECTED
from medical_tasks.benchmarks.medcalc_bench.official_prompts import (
    OfficialQuestions,
    of_calculator,
    read_code,
    read_corrected_question,
    read_questions,
)
from medical_tasks.calculators.heart import MEN, WOMEN, Coefficients
from medical_tasks.calculators.index import CALCULATORS, AnyCalculator
from medical_tasks.calculators.inputs import REQUIRED, Choice, Flag, Input, Quantity
from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.units import conversion
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged
from medical_tasks.spec import Example, Item, Message, PromptSet, TaskSpec

__all__ = ["JUDGE_TEXTS", "TEXTS", "gold_response", "load_prompts"]


PROMPT_SETS = ("own", "official")

_DATA: Final = packaged(__file__, "prompts.json")
TEXTS: Final[Mapping[str, str]] = _DATA["questions"]
JUDGE_TEXTS: Final[Mapping[str, str]] = _DATA["judge"]


@dataclass(frozen=True, kw_only=True)
class Exemplar:
    note: str
    question: str
    reply: str


def load_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None, *, config: str = ""
) -> PromptSet:
    """Makes the prompts of a task, `own` or from the authors' checkout (`official`).

    Questions of `config` `corrected` also say when the answer is N/A; its authors are
    those of the labels.
    """
    style = task.options["style"]
    if name not in PROMPT_SETS:
        raise UsageError(
            f"unknown prompt set {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}."
        )

    if name == "official":
        return _official(task, upstream, config)

    exemplars: Mapping[str, Exemplar] = own_exemplars() if style == "one_shot" else {}
    forms = {
        "direct": TEXTS["direct"],
        "code": TEXTS["program"],
        "tools": TEXTS["tools"],
    }
    form = forms.get(style, TEXTS["chain_of_thought"])
    rules = [
        TEXTS["introduction"],
        TEXTS["answer_form"],
        *([TEXTS["notices"]] if style == "twins" else []),
        *([TEXTS["not_answerable"]] if config == CORRECTED else []),
        form,
    ]
    texts = [*rules, TEXTS["example"], TEXTS["question"]]
    texts += [
        "\n".join((key, exemplar.note, exemplar.question, exemplar.reply))
        for key, exemplar in sorted(exemplars.items())
    ]
    if style == "code":
        texts += [
            TEXTS[name]
            for name in (
                "program",
                "no_program",
                "no_output",
                "failed",
                "again",
                "nothing_said",
            )
        ]

    if style == "open_book":
        texts += [
            TEXTS["reference"],
            *(f"{key}\n{text}" for key, text in sorted(specifications().items())),
        ]

    def render(item: Item) -> tuple[Message, ...]:
        """The parts of a question by its style, in one message."""
        parts = [*rules]
        if style == "one_shot":
            shown = of_calculator(exemplars, item)
            question = TEXTS["question"].format(
                note=shown.note, question=shown.question
            )
            parts.append(
                TEXTS["example"].format(example=f"{question}\n\nReply:\n{shown.reply}")
            )

        if style == "open_book":
            page = render_specification(int(item.fields["calculator_id"]))
            parts.append(TEXTS["reference"].format(specification=page))

        parts.append(
            TEXTS["question"].format(
                note=item.fields["patient_note"], question=item.fields["question"]
            )
        )
        return ({"role": "user", "content": "\n\n".join(parts)},)

    def example(item: Item) -> Example:
        shown = of_calculator(exemplars, item)
        item_texts = (item.fields["patient_note"], item.fields["question"])
        return Example(
            reply=shown.reply, shown=(shown.note, shown.question), asked=item_texts
        )

    return PromptSet(
        name=name,
        sha256=_digest(texts),
        render=render,
        example=example if style == "one_shot" else None,
    )


_NOT_ASKED_BY_AUTHORS: Final[Mapping[str, str]] = {
    "open_book": "with the calculator's specification",
    "twins": "what a note lacks or contradicts",
    "tools": "a model with calculators as tools",
    "fair": "about families of notes",
}
"""Styles of which the authors have no prompts."""


def _official(task: TaskSpec, upstream: Path | None, config: str) -> PromptSet:
    style = task.options["style"]
    if config == CORRECTED:
        return _of_corrected_labels(task, upstream)

    if style in _NOT_ASKED_BY_AUTHORS:
        what = _NOT_ASKED_BY_AUTHORS[style]
        raise UsageError(
            f"{task.name} has no official prompts: the authors do not ask {what}. Use --prompts "
            "own."
        )

    official = (
        read_code(upstream) if style == "code" else read_questions(style, upstream)
    )
    return PromptSet(
        name="official",
        sha256=_digest(official.texts),
        render=official.render,
        settings={"files": dict(official.files)},
        example=official.example
        if isinstance(official, OfficialQuestions) and style == "one_shot"
        else None,
    )


def _of_corrected_labels(task: TaskSpec, upstream: Path | None) -> PromptSet:
    """The question of the corrected labels' authors, who ask in one way only."""
    if task.options["style"] != "cot":
        raise UsageError(
            f"{task.name} has no official prompts on {CORRECTED}: the labels' authors ask for "
            "reasoning without an example. Use the task medcalc, or --prompts own."
        )

    official = read_corrected_question(upstream)
    return PromptSet(
        name="official",
        sha256=_digest(official.texts),
        render=official.render,
        settings={"files": dict(official.files)},
    )


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@functools.cache
def own_exemplars() -> Mapping[str, Exemplar]:
    """The worked example of each calculator, by its id as text.

    Invented, with the calculator's own answer.
    """
    texts = packaged(__file__, "exemplars.json")
    return MappingProxyType(
        {number: Exemplar(**parts) for number, parts in texts.items()}
    )


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as a model that follows the format would; not every row explains it."""
    reply = {"answer": item.fields["ground_truth_answer"]}
    explanation = item.fields["ground_truth_explanation"]
    if explanation and task.options["style"] not in ("direct", "code", "tools"):
        reply = {"step_by_step_thinking": explanation, **reply}
    return json.dumps(reply, ensure_ascii=False)


BUILDS_ON: Final = {
    2: (6, 10, 62),
    28: (5,),
    43: (5,),
    62: (10,),
    63: (39,),
    64: (39,),
    65: (39,),
    66: (65, 39),
    67: (65, 39),
}
"""Calculator to those whose rules its own rule names without repeating them."""

_RR: Final = "RR in seconds is 60 divided by the heart rate per minute."
_RULE_NOTES: Final = {11: _RR, 56: _RR, 57: _RR}

_DOCSTRING_SECTION = re.compile(r"^(?:Args|Raises|Returns|Source)\b.*$")
# What a docstring says of the function rather than of the rule.
_OF_THE_CODE: Final = (
    (re.compile(r"`None`: "), ""),
    (re.compile(r"(?<=\. )`None`"), "A missing value"),
    (re.compile(r"`None`"), "a missing value"),
    (re.compile(r" \(give one of the two\)"), ""),
    (re.compile(r" which the dataset does not hold,"), ""),
    (re.compile(r"are not among the dataset's inputs"), "do not count"),
)
_RESULT_FORMS: Final = {
    "decimal": "a number",
    "integer": "a whole number",
    "date": "a date",
}


def specifications() -> dict[int, str]:
    return {entry.id: render_specification(entry.id) for entry in CALCULATORS}


@functools.cache
def render_specification(calculator_id: int) -> str:
    """The open book's page of a calculator: rule, inputs with units, result.

    Example: that of calculator 9 (MDRD) gives the equation, `sex: one of male, female`,
    `creatinine: in mg/dL` with the factors from other units, the result's unit and the
    source.
    """
    entries = {entry.id: entry for entry in CALCULATORS}
    if calculator_id not in entries:
        raise UsageError(
            f"there is no calculator {calculator_id}, so the open book has no page for it. Ids: "
            f"{', '.join(map(str, sorted(entries)))}."
        )

    entry = entries[calculator_id]
    parts = [entry.name, _rule(entry)]
    if calculator_id in _RULE_NOTES:
        parts.append(_RULE_NOTES[calculator_id])
    if calculator_id == 46:
        parts.append(_coefficients())

    parts += [
        f"{entries[other].name}: {_rule(entries[other])}"
        for other in BUILDS_ON.get(calculator_id, ())
    ]
    parts.append("\n".join(["Inputs:", *_inputs(entry)]))
    unit = f" in {entry.unit}" if entry.unit else ""
    form = (
        "whole weeks and remaining days"
        if entry.id == 69
        else _RESULT_FORMS[entry.output]
    )
    parts.append(f"Result: {form}{unit}.\nSource: {entry.source}")

    return "\n\n".join(parts)


def _rule(entry: AnyCalculator) -> str:
    """The docstring without what it says of arguments, errors and source.

    Each paragraph and list item on one line.
    """
    paragraphs = [
        list(_rule_lines(text))
        for text in (inspect.getdoc(entry.function) or "").split("\n\n")
    ]
    text = "\n".join(
        "\n".join(lines)
        for lines in paragraphs
        if lines and not _DOCSTRING_SECTION.match(lines[0])
    )
    for pattern, instead in _OF_THE_CODE:
        text = pattern.sub(instead, text)

    return text


def _rule_lines(paragraph: str) -> Iterator[str]:
    line = ""
    for piece in paragraph.split("\n"):
        if piece.startswith("- ") and line:
            yield line
            line = ""
        line = f"{line} {piece.strip()}".strip()
    if line:
        yield line


def _coefficients() -> str:
    """The two columns of numbers that the Framingham equation's docstring leaves to the code."""

    def column(sex: str, table: Coefficients) -> str:
        b = {name: f"{value:.12g}" for name, value in table._asdict().items()}
        squared = f" + ({b['age_squared']}) × ln(age)²" if table.age_squared else ""
        return (
            f"{sex}: L = {b['age']} × ln(age) + {b['cholesterol']} × ln(total cholesterol) + "
            f"({b['hdl']}) × ln(HDL) + {b['systolic']} × ln(systolic pressure) + {b['treated']} if "
            f"blood pressure is treated + {b['smoker']} if a smoker + ({b['age_cholesterol']}) × "
            f"ln(age) × ln(total cholesterol) + ({b['age_smoker']}) × ln(age, at most "
            f"{b['smoker_age_cap']}) if a smoker{squared} + ({b['constant']}); S₀ = "
            f"{b['survival']}."
        )

    return f"{column('Men', MEN)}\n{column('Women', WOMEN)}"


def _inputs(entry: AnyCalculator) -> Iterator[str]:
    """A line an input, but one for all the findings that are absent when nothing is said of them."""
    findings = [
        item.name
        for item in entry.inputs
        if isinstance(item, Flag) and item.absent is False
    ]
    yield from (_input(item) for item in entry.inputs if item.name not in findings)
    if findings:
        yield f"- findings, each there or not, and not there when the note does not mention it: {'; '.join(findings)}"


def _input(item: Input) -> str:
    if isinstance(item, Quantity):
        form = _units(item.measure)
    elif isinstance(item, Flag):
        form = "yes or no"
    elif isinstance(item, Choice):
        form = f"one of {item.expects.replace(chr(39), '')}"
    else:
        form = item.expects.split(", such as")[0]
    return f"- {item.name}: {form}{_when_missing(item)}"


def _when_missing(item: Input) -> str:
    if item.absent is REQUIRED or item.silent:
        return ""
    when_absent = item.absent_line.removeprefix(f"{item.name}: ").rstrip(".")
    if when_absent == "not given":
        return "; may be missing"
    needed_only = when_absent.removeprefix("not given, counted only")
    return (
        f"; counted only{needed_only}"
        if needed_only != when_absent
        else f"; when {when_absent}"
    )


def _units(measure: Measure) -> str:
    if not measure.unit:
        return "a number"
    others: list[str] = []
    for unit in measure.accepts:
        way = conversion(unit, measure.unit, substance=measure.substance).text.split(
            " ("
        )[0]
        others.append(f"{unit}{way}" if way else f"{unit} is the same")
    unit = measure.unit if measure.unit.startswith("per ") else f"in {measure.unit}"
    return unit + (f" ({'; '.join(others)})" if others else "")
