"""The report of a run's errors: types by rules and by a judge model, a line an error, accuracy by number of attributes.

The judge (Khandekar et al. 2024, sections 4.1, 4.2) sees the reply as JSON. Attributes: appendix E.1, figures 2 and 3.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from xml.sax.saxutils import escape

from medical_tasks.benchmarks.medcalc_bench.errors import TYPES, sort_error
from medical_tasks.benchmarks.medcalc_bench.gold import MAX_REPLY, entities_of
from medical_tasks.benchmarks.medcalc_bench.prompts import JUDGE_TEXTS
from medical_tasks.calculators import CalculatorInputError
from medical_tasks.data.construction import write_table
from medical_tasks.io.files import WholeFile
from medical_tasks.judges.base import Judge, Question, Unreadable, Unscored
from medical_tasks.judges.reading import free_text, one_of, quoted, read_object, schema_of
from medical_tasks.scoring.intervals import bounds, proportion_interval
from medical_tasks.spec import Item, Message, Plot, PlotPoint

__all__ = [
    "PROMPT_SHA256", "WrongAnswer", "attribute_plots", "distribution", "judge_errors", "rule_rows", "verdict_rows",
    "write_attributes", "write_errors",
]  # fmt: skip

MAX_REASON: Final = 400
"""Longest reason of a judge that is kept, in characters."""
_KIND_TITLES = {"equation": "Equation-based calculators", "rule": "Rule-based calculators"}
_PLOT_TITLES: Final = {"equation": "equations", "rule": "scores"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer:
    """A wrong answer on a row whose label the published rule bears out."""

    task: str
    item: Item
    response: str


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """A line of `error_items.csv`: `error_type` is "" where `source` gave none, and `reason` says why."""

    task: str
    id: str
    error_type: str
    reason: str
    source: str
    cluster: str


def rule_rows(wrong: Iterable[WrongAnswer]) -> list[ErrorRow]:
    """Sorts wrong answers without a judge; what is no error, or has no label to rely on, is a `ValueError`."""
    rows = []
    for each in wrong:
        found = sort_error(each.item.fields, each.response)
        if found is None:
            raise ValueError(f"item {each.item.id}: no wrong answer on a row that can be relied on")
        rows.append(_row(each, found.error_type, found.reason, "rules"))
    return rows


def verdict_rows(wrong: Iterable[WrongAnswer], verdicts: Mapping[str, ErrorVerdict]) -> list[ErrorRow]:
    """The same of a judge's verdicts."""
    found = ((each, verdicts[each.item.id]) for each in wrong)
    return [_row(each, verdict.error_type or "", verdict.reason, "judge") for each, verdict in found]


def _row(wrong: WrongAnswer, error_type: str, reason: str, source: str) -> ErrorRow:
    return ErrorRow(wrong.task, wrong.item.id, error_type, reason, source, wrong.item.cluster)


def distribution(rows: Sequence[ErrorRow]) -> dict[str, Any]:
    """The share of each type, with 95 % interval (Wilson) and bounds: those without a type all of another, or all of this."""
    typed = [row for row in rows if row.error_type in _GIVEN]
    types: dict[str, Any] = {}
    for name in _GIVEN:
        values = [float(row.error_type == name) for row in typed]
        found = proportion_interval(values, clusters=[row.cluster for row in typed])
        low, high = bounds(values, len(rows))
        types[name] = {
            "meaning": TYPES[name],
            "count": int(sum(values)),
            "value": _number(found.value),
            "ci_low": _number(found.ci_low),
            "ci_high": _number(found.ci_high),
            "bound_low": _number(low),
            "bound_high": _number(high),
        }
    missing = Counter(row.reason for row in rows if not row.error_type)
    undetermined = sum(row.error_type == "undetermined" for row in rows)
    coverage = {"asked": len(rows), "scored": len(typed), "undetermined": undetermined}
    return {"n": len(typed), "coverage": {**coverage, "unscored": dict(missing.most_common())}, "types": types}


_GIVEN: Final = tuple(name for name in TYPES if name != "undetermined")


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def write_errors(folder: Path, report: Mapping[str, Any], rows: Sequence[ErrorRow]) -> list[Path]:
    """Writes `error_items.csv`, then `errors.json`, each whole or not at all."""
    items, summary = folder / "error_items.csv", folder / "errors.json"
    cells = ((row.task, row.id, row.error_type, row.reason, row.source) for row in rows)
    write_table(items, (("task", "id", "error_type", "reason", "source"), *cells))
    with WholeFile(summary) as file:
        file.write(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return [summary, items]


def write_attributes(
    folder: Path, task: str, model: str, scored: Iterable[tuple[Mapping[str, Any], bool, str]]
) -> tuple[list[Path], dict[str, Any]]:
    """Writes accuracy by number of attributes as CSV and as two plots; returns the files and the data for `errors.json`."""
    points, left_out = accuracy_by_attributes(scored)
    table = folder / f"attributes_{task}.csv"
    written = [table]
    rows = [asdict(each) for each in points]
    write_table(table, (AttributePoint.__dataclass_fields__, *(each.values() for each in rows)))
    for kind, title in _KIND_TITLES.items():
        own = [each for each in points if each.kind == kind]
        written.append(folder / f"attributes_{task}_{kind}.svg")
        with WholeFile(written[-1]) as file:
            file.write(attributes_svg(own, title=f"{title}: {model}"))
    return written, {"points": rows, "left_out": left_out}


PROMPT_SHA256: Final = hashlib.sha256("\0".join(JUDGE_TEXTS.values()).encode()).hexdigest()
"""Hash of every text of ours that goes into the judge's prompts; part of the report."""

_KEYS: Final = {"error_type": one_of("A", "B", "C", "D"), "reason": free_text}


@dataclass(frozen=True, slots=True)
class ErrorVerdict:
    error_type: str | None  # `A` to `D`; None when unscored
    reason: str  # the judge's reason, or why there is no verdict


def judge_messages(item: Item, response: str) -> tuple[Message, ...]:
    """The judge's question about one wrong answer; the reply's last `MAX_REPLY` characters are shown, as in scoring."""
    texts, fields = JUDGE_TEXTS, item.fields
    case = texts["case"].format(
        question=fields["question"],
        explanation=fields["ground_truth_explanation"],
        gold=fields["ground_truth_answer"],
        reply=quoted(response[-MAX_REPLY:]),
    )
    return (
        {"role": "user", "content": "\n\n".join((texts["task"], texts["types"], texts["quoted"], case, texts["form"]))},
    )


def read_type(text: str) -> str | Unreadable:
    """Reads a verdict: one JSON object, alone or in one fenced block."""
    found = read_object(text, _KEYS)
    return found if isinstance(found, Unreadable) else str(found["error_type"])


def judge_errors(pairs: Sequence[tuple[Item, str]], judge: Judge) -> dict[str, ErrorVerdict]:
    """Asks a judge about wrong answers; item id to verdict, scored or not, for each."""
    questions = [
        Question(
            id=item.id,
            messages=judge_messages(item, response),
            template=PROMPT_SHA256,
            read=read_type,
            again=JUDGE_TEXTS["again"],
            schema=schema_of(_KEYS),
        )
        for item, response in pairs
    ]
    found: dict[str, ErrorVerdict] = {}
    for outcome in judge.ask(questions):
        if isinstance(outcome, Unscored):
            found[outcome.id] = ErrorVerdict(None, outcome.reason)
            continue
        said = read_object(outcome.text, _KEYS)
        reason = "" if isinstance(said, Unreadable) else " ".join(said["reason"].split())[:MAX_REASON]
        found[outcome.id] = ErrorVerdict(outcome.value, reason)
    return found


Kind: TypeAlias = Literal["equation", "rule"]

KINDS: Mapping[Kind, frozenset[str]] = {
    "equation": frozenset({"lab", "physical", "date", "dosage"}),
    "rule": frozenset({"risk", "severity", "diagnosis"}),
}
"""Kind of calculator to its categories (paper, table 1)."""


@dataclass(frozen=True, slots=True)
class AttributePoint:
    kind: Kind
    attributes: int
    n: int  # answers that are scored
    correct: int  # those that are right
    accuracy: float  # their share
    ci_low: float  # lower end of its 95 % interval
    ci_high: float


def kind_of(row: Mapping[str, Any]) -> Kind:
    """The kind of a row's calculator; rows as built have no category but the seven."""
    for kind, categories in KINDS.items():
        if row["category"] in categories:
            return kind
    raise ValueError(f"category {row['category']!r} is none of the seven of MedCalc-Bench")


def count_attributes(row: Mapping[str, Any]) -> int | None:
    """Counts the entities a row gives, as the paper's table 1 does, used by the rule or not; None when they cannot be read."""
    try:
        return len(entities_of(row))
    except CalculatorInputError:
        return None


def accuracy_by_attributes(scored: Iterable[tuple[Mapping[str, Any], bool, str]]) -> tuple[list[AttributePoint], int]:
    """The points by kind and number of attributes, and how many answers could not be counted."""
    groups: dict[tuple[Kind, int], list[tuple[bool, str]]] = {}
    left_out = 0
    for row, right, cluster in scored:
        count = count_attributes(row)
        if count is None:
            left_out += 1
        else:
            groups.setdefault((kind_of(row), count), []).append((right, cluster))
    points = []
    for (kind, count), members in sorted(groups.items()):
        rights = [float(right) for right, _ in members]
        found = proportion_interval(rights, clusters=[cluster for _, cluster in members])
        accuracy = (found.value, found.ci_low, found.ci_high)
        points.append(AttributePoint(kind, count, len(members), int(sum(rights)), *accuracy))
    return points, left_out


def attribute_plots(rows: Sequence[Mapping[str, Any]], items: Mapping[str, Item]) -> list[Plot]:
    """Accuracy by kind of calculator and number of attributes, as `medical-tasks errors` counts them."""
    scored = [
        (items[row["id"]].fields, row["accuracy"] == 1.0, row["cluster"])
        for row in rows
        if row.get("accuracy") is not None and row["id"] in items
    ]
    points, left_out = accuracy_by_attributes(scored)
    note = f"{left_out} answers are left out: the attributes of their questions cannot be read." if left_out else ""
    made = []
    for kind, title in _PLOT_TITLES.items():
        shown = tuple(
            PlotPoint(label=str(each.attributes), value=each.accuracy, low=each.ci_low, high=each.ci_high, n=each.n)
            for each in points
            if each.kind == kind
        )
        if shown:
            title = f"Accuracy by number of attributes, {title}"
            made.append(Plot(title=title, x_label=_X_LABEL, y_label=_Y_LABEL, points=shown, note=note))
    return made


WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 56, 64
_TICKS = (0, 20, 40, 60, 80, 100)
_MOST_LABELS = 20
_X_LABEL, _Y_LABEL = "Number of attributes", "Accuracy"


def attributes_svg(points: Sequence[AttributePoint], *, title: str) -> str:
    """Draws accuracy with bars for its intervals as an SVG document, whose description lists every point in words."""
    ordered = sorted(points, key=lambda point: point.attributes)
    said = "; ".join(f"{point.attributes}: {_words(point)}" for point in ordered) or "no points"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="13">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(f"{_Y_LABEL} by {_X_LABEL}. {said}.")}</desc>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{WIDTH / 2:g}" y="28" text-anchor="middle" font-size="16">{escape(title)}</text>',
    ]
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick in _TICKS:
        y = _y(tick / 100)
        parts.append(f'<line x1="{LEFT}" y1="{y:g}" x2="{right}" y2="{y:g}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end">{tick}%</text>')
    parts.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#333333"/>')
    low, high = (ordered[0].attributes, ordered[-1].attributes) if ordered else (0, 1)
    step = max(1, -(-(high - low + 1) // _MOST_LABELS))
    for number in range(low, high + 1, step):
        x = _x(number, low, high)
        parts.append(f'<line x1="{x:g}" y1="{bottom}" x2="{x:g}" y2="{bottom + 5}" stroke="#333333"/>')
        parts.append(f'<text x="{x:g}" y="{bottom + 20}" text-anchor="middle">{number}</text>')
    for point in ordered:
        x = _x(point.attributes, low, high)
        top_y, low_y = _y(point.ci_high), _y(point.ci_low)
        parts.append(
            f'<g stroke="#1f5a96"><title>{point.attributes}: {_words(point)}</title>'
            f'<path d="M{x:g} {top_y:g}V{low_y:g}M{x - 5:g} {top_y:g}h10M{x - 5:g} {low_y:g}h10" fill="none"/>'
            f'<circle cx="{x:g}" cy="{_y(point.accuracy):g}" r="4.5" fill="#1f5a96"/></g>'
        )
    if not ordered:
        parts.append(f'<text x="{WIDTH / 2:g}" y="{HEIGHT / 2:g}" text-anchor="middle">no points</text>')
    middle = (TOP + bottom) / 2
    parts.append(f'<text x="{(LEFT + right) / 2:g}" y="{HEIGHT - 18}" text-anchor="middle">{_X_LABEL}</text>')
    parts.append(
        f'<text x="20" y="{middle:g}" text-anchor="middle" transform="rotate(-90 20 {middle:g})">{_Y_LABEL}</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def _words(point: AttributePoint) -> str:
    return f"{100 * point.accuracy:.1f}% ({100 * point.ci_low:.1f} to {100 * point.ci_high:.1f}), n = {point.n}"


def _x(number: int, low: int, high: int) -> float:
    inner = WIDTH - LEFT - RIGHT - 60
    return LEFT + 30 + (inner / 2 if high == low else inner * (number - low) / (high - low))


def _y(value: float) -> float:
    return round(TOP + (HEIGHT - BOTTOM - TOP) * (1 - value), 2)
