"""The command `errors`; its options are `Errors` in `lab.options`."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NotRequired, TypeAlias, TypedDict

from medical_tasks.benchmarks.medcalc_bench.attributes import (
    X_LABEL,
    Y_LABEL,
    AttributePoint,
    accuracy_by_attributes,
)
from medical_tasks.benchmarks.medcalc_bench.prompts import JUDGE_TEXTS
from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK
from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import asked_part, load_task_data
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.guard import policy
from medical_tasks.io.files import WholeFile, read_text
from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.io.tables import write_table
from medical_tasks.judges.base import (
    Judge,
    JudgeOptions,
    Question,
    Unreadable,
    Unscored,
)
from medical_tasks.judges.reading import (
    free_text,
    one_of,
    quoted,
    read_object,
    schema_of,
)
from medical_tasks.judges.session import open_session
from medical_tasks.lab.error_types import TYPES, Sorted, sort_error
from medical_tasks.lab.options import Errors
from medical_tasks.models.opener import full_name
from medical_tasks.runs.folder import existing_run_folder
from medical_tasks.runs.numbers import bounds as shown_bounds
from medical_tasks.runs.numbers import interval, percent
from medical_tasks.runs.replaying import run_responses
from medical_tasks.runs.results import Json, JsonDict, Results, read_items, read_results
from medical_tasks.scoring.estimates import as_json
from medical_tasks.scoring.intervals import bounds
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.scoring.normal_form import MAX_REPLY
from medical_tasks.spec import Item, Message, Row, TaskSpec

__all__ = ["run"]

SCHEMA_VERSION = 2
MAX_REASON: Final = 400
"""The longest reason of a judge that is stored, in characters."""
_KIND_TITLES = {
    "equation": "Equation-based calculators",
    "rule": "Rule-based calculators",
}


Answer: TypeAlias = tuple[Item, str]
"""A wrong answer, on a row whose label the published rule confirms."""


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """A row of `error_items.csv`.

    `error_type` is "" if `source` gave none; `reason` then says why.
    """

    task: str
    id: str
    error_type: str
    reason: str
    source: str
    cluster: str


def _rows(
    task: str,
    wrong: Sequence[Answer],
    types: Iterable[Sorted | ErrorVerdict],
    source: str,
) -> list[ErrorRow]:
    return [
        ErrorRow(
            task, item.id, error.error_type or "", error.reason, source, item.cluster
        )
        for (item, _), error in zip(wrong, types, strict=True)
    ]


class TypeShare(TypedDict):
    """The share of errors of one type.

    Attributes:
        meaning: The type in words.
        count: The number of errors of this type.
        value: Their share of all errors with a type, from 0 to 1; None without errors.
        ci_low: The lower end of its 95 % interval (Wilson).
        ci_high: The upper end.
        bound_low: The share if all errors without a type were of another type.
        bound_high: The share if all of them were of this type.
    """

    meaning: str
    count: int
    value: float | None
    ci_low: float | None
    ci_high: float | None
    bound_low: float | None
    bound_high: float | None


class TypeCoverage(TypedDict):
    """The number of errors that were examined, and of those with a type.

    Attributes:
        unscored: Reason to number of errors.
    """

    asked: int
    scored: int
    undetermined: int
    unscored: dict[str, int]


class Distribution(TypedDict):
    """The types of errors according to one source."""

    n: int
    coverage: TypeCoverage
    types: dict[str, TypeShare]


class JudgedDistribution(Distribution):
    """The types of errors according to a judge."""

    model: JsonDict
    prompt_sha256: str


class AttributeTable(TypedDict):
    """Accuracy by number of attributes.

    Attributes:
        points: Fields of `AttributePoint`.
    """

    points: list[JsonDict]
    left_out: int


class AnswerCounts(TypedDict):
    """The number of examined answers of a task.

    A wrong answer is left out if the published rule does not confirm the label: the
    label may be wrong there.
    """

    items: int
    wrong: int
    label_not_borne_out: int
    examined: int


class TaskErrors(AnswerCounts):
    """A task's entry of `errors.json`."""

    rules: Distribution
    attributes: AttributeTable
    judge: NotRequired[JudgedDistribution]


class ErrorReport(TypedDict):
    """The content of `errors.json`."""

    schema_version: int
    tasks: dict[str, TaskErrors]


def distribution(rows: Sequence[ErrorRow]) -> Distribution:
    """Counts the types of errors.

    Errors without a type are in no share. The bounds are the shares if all of them were
    of another type, or all of this one.

    Example:
        With four errors of type A, four of B and two undetermined, the share of A is
        4/8, at least 4/10 and at most 6/10.
    """
    typed = [row for row in rows if row.error_type in _DETERMINED]
    types: dict[str, TypeShare] = {}
    for name in _DETERMINED:
        values = [float(row.error_type == name) for row in typed]
        share = as_json(
            proportion_interval(values, clusters=[row.cluster for row in typed])
        )
        low, high = (
            None if math.isnan(end) else end for end in bounds(values, len(rows))
        )
        types[name] = {
            "meaning": TYPES[name],
            "count": int(sum(values)),
            "value": share["value"],
            "ci_low": share["ci_low"],
            "ci_high": share["ci_high"],
            "bound_low": low,
            "bound_high": high,
        }

    missing = Counter(row.reason for row in rows if not row.error_type)
    undetermined = sum(row.error_type == "undetermined" for row in rows)
    return {
        "n": len(typed),
        "coverage": {
            "asked": len(rows),
            "scored": len(typed),
            "undetermined": undetermined,
            "unscored": dict(missing.most_common()),
        },
        "types": types,
    }


_DETERMINED: Final = tuple(name for name in TYPES if name != "undetermined")


def write_errors(
    folder: Path, report: ErrorReport, rows: Sequence[ErrorRow]
) -> list[Path]:
    """Writes `error_items.csv`, then `errors.json`, each atomically."""
    items, summary = folder / "error_items.csv", folder / "errors.json"
    cells = ((row.task, row.id, row.error_type, row.reason, row.source) for row in rows)
    write_table(items, (("task", "id", "error_type", "reason", "source"), *cells))
    with WholeFile(summary) as file:
        file.write(
            json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )
    return [summary, items]


def write_attributes(
    folder: Path, task: str, model: str, scored: Iterable[tuple[Row, bool, str]]
) -> tuple[list[Path], AttributeTable]:
    """Writes accuracy by number of attributes as CSV and as two plots.

    Returns the files and the data for `errors.json`.
    """
    points, left_out = accuracy_by_attributes(scored)
    written, rows = (
        [folder / f"attributes_{task}.csv"],
        [asdict(row) for row in points],
    )
    write_table(
        written[0],
        (AttributePoint.__dataclass_fields__, *(row.values() for row in rows)),
    )
    for kind, title in _KIND_TITLES.items():
        own = [row for row in points if row.kind == kind]
        written.append(folder / f"attributes_{task}_{kind}.svg")
        with WholeFile(written[-1]) as file:
            file.write(attributes_svg(own, title=f"{title}: {model}"))

    return written, {"points": rows, "left_out": left_out}


PROMPT_SHA256: Final = hashlib.sha256(
    "\0".join(JUDGE_TEXTS.values()).encode()
).hexdigest()
"""The hash of all our texts in the judge's prompts; part of the report."""

_KEYS: Final = {"error_type": one_of("A", "B", "C", "D"), "reason": free_text}


@dataclass(frozen=True, slots=True)
class ErrorVerdict:
    error_type: str | None  # `A` to `D`; None when unscored
    reason: str  # the judge's reason, or why there is no verdict


def judge_messages(item: Item, response: str) -> tuple[Message, ...]:
    """Returns the judge's question about one wrong answer.

    It shows the reply's last `MAX_REPLY` characters, as in scoring.
    """
    texts, fields = JUDGE_TEXTS, item.fields
    case = texts["case"].format(
        question=fields["question"],
        explanation=fields["ground_truth_explanation"],
        gold=fields["ground_truth_answer"],
        reply=quoted(response[-MAX_REPLY:]),
    )

    return (
        {
            "role": "user",
            "content": "\n\n".join(
                (texts["task"], texts["types"], texts["quoted"], case, texts["form"])
            ),
        },
    )


def read_type(text: str) -> str | Unreadable:
    """Reads a verdict: one JSON object, alone or in one fenced block."""
    verdict = read_object(text, _KEYS)
    return verdict if isinstance(verdict, Unreadable) else str(verdict["error_type"])


def judge_errors(wrong: Sequence[Answer], judge: Judge) -> dict[str, ErrorVerdict]:
    """Asks a judge about wrong answers.

    Returns:
        Item id to verdict; a verdict without a type has the reason.
    """
    questions = [
        Question(
            id=item.id,
            messages=judge_messages(item, response),
            template=PROMPT_SHA256,
            read=read_type,
            again=JUDGE_TEXTS["again"],
            schema=schema_of(_KEYS),
        )
        for item, response in wrong
    ]
    verdicts: dict[str, ErrorVerdict] = {}
    for outcome in judge.ask(questions):
        if isinstance(outcome, Unscored):
            verdicts[outcome.id] = ErrorVerdict(None, outcome.reason)
            continue

        verdict = read_object(outcome.text, _KEYS)
        reason = (
            ""
            if isinstance(verdict, Unreadable)
            else " ".join(verdict["reason"].split())[:MAX_REASON]
        )
        verdicts[outcome.id] = ErrorVerdict(outcome.value, reason)

    return verdicts


_MOST_LABELS = 20


def attributes_svg(points: Sequence[AttributePoint], *, title: str) -> str:
    """Draws accuracy with its intervals as an SVG document."""
    from jinja2 import Environment

    ordered = sorted(points, key=lambda point: point.attributes)
    low, high = (ordered[0].attributes, ordered[-1].attributes) if ordered else (0, 1)
    template = Environment(autoescape=True).from_string(
        read_text(Path(__file__).with_name("attributes.svg.jinja"))
    )

    return template.render(
        title=title,
        points=[(point, _words(point)) for point in ordered],
        low=low,
        high=high,
        step=max(1, -(-(high - low + 1) // _MOST_LABELS)),
        x_label=X_LABEL,
        y_label=Y_LABEL,
    )


def _words(point: AttributePoint) -> str:
    ends = f"{100 * point.ci_low:.1f} to {100 * point.ci_high:.1f}"
    return f"{100 * point.accuracy:.1f}% ({ends}), n = {point.n}"


_FAMILIES: Final = ("twins", "fair")
"""Styles of tasks whose replies are compared within families of items."""


def run(arguments: Errors) -> int:
    """Runs the command; exit code 5 if the judge left errors without a verdict."""
    folder: Path = arguments.run
    results = read_results(folder)
    task_specs = map(task_spec, results["tasks"])
    medcalc_specs = [
        spec
        for spec in task_specs
        if spec.benchmark == BENCHMARK and spec.options["style"] not in _FAMILIES
    ]
    if not medcalc_specs:
        raise UsageError(
            f"{folder}: the run has no task of MedCalc-Bench other than twins and fair families "
            f"({', '.join(results['tasks'])}); errors of other tasks have no types."
        )

    if arguments.responses is not None and len(medcalc_specs) > 1:
        names = ", ".join(spec.name for spec in medcalc_specs)
        raise UsageError(
            f"{folder}: --responses is for a run of one task, but this run has {names}."
        )

    subjects = [
        policy.Subject.of(dataset_spec(spec.dataset), task=spec.name)
        for spec in medcalc_specs
    ]
    with policy.protect(subjects, policy.attestation_from(arguments)):
        return _sorted_errors(arguments, medcalc_specs, results)


def _sorted_errors(
    arguments: Errors, specs: Sequence[TaskSpec], results: Results
) -> int:
    """Classifies the wrong answers of each task by rules, then by a judge if one is given.

    Answers whose label the published rule does not confirm are only counted.
    """
    folder: Path = arguments.run
    items = read_items(folder)
    report: ErrorReport = {"schema_version": SCHEMA_VERSION, "tasks": {}}
    rows, paths, wrong = [], [], dict[str, list[Answer]]()
    for spec in specs:
        entry = results["tasks"][spec.name]
        own = [row for row in items if row["task"] == spec.name]
        wrong[spec.name], by_id, counts = _wrong_answers(
            spec, entry["recipe"], own, arguments
        )
        decided = (row for row in own if row["accuracy"] is not None)
        scored = [
            (by_id[row["id"]].fields, row["accuracy"] == 1.0, row["cluster"])
            for row in decided
        ]
        written, attributes = write_attributes(
            folder, spec.name, entry["recipe"]["model"]["name"], scored
        )
        paths += written
        by_rules = _rows(
            spec.name, wrong[spec.name], map(_sorted, wrong[spec.name]), "rules"
        )
        rows += by_rules
        report["tasks"][spec.name] = {
            "items": counts["items"],
            "wrong": counts["wrong"],
            "label_not_borne_out": counts["label_not_borne_out"],
            "examined": counts["examined"],
            "rules": distribution(by_rules),
            "attributes": attributes,
        }

    if arguments.judge is not None:
        rows += _judge(arguments, wrong, report)

    paths = [*write_errors(folder, report, rows), *paths]
    tell("\n".join([*_tables(report), "", *map(str, paths)]), report)
    return _finish(report)


def _wrong_answers(
    spec: TaskSpec,
    recipe: Json,
    own: Sequence[Json],
    arguments: Errors,
) -> tuple[list[Answer], dict[str, Item], AnswerCounts]:
    """Returns the wrong answers to examine, all items by id, and the counts.

    Answers to rows whose label the published rule does not confirm are left out.
    """
    selection = {key: recipe["data"][key] for key in ("config", "split")}
    dataset = dataset_spec(spec.dataset)
    data = load_task_data(
        spec, dataset, data=arguments.data, **selection, **asked_part(recipe)
    )
    responses = run_responses(
        spec,
        data,
        recipe,
        arguments.run,
        responses=arguments.responses,
        upstream=arguments.upstream,
    )
    by_id = {item.id: item for item in data.items}
    wrong = [row for row in own if row["accuracy"] == 0.0]
    # nan (a wrong label, or one that the rule cannot confirm) stays nan in parquet.
    examined = [row for row in wrong if row["accuracy_agreed"] == 0.0]
    lost = [row["id"] for row in examined if row["id"] not in responses]
    if lost:
        raise UsageError(
            f"{arguments.run}: {len(lost)} scored answers of {spec.name} are not in its store "
            f"(first: item {lost[0]}). Give the unchanged folder of `medical-tasks run`, or repeat "
            "that command and try again."
        )

    answers = [(by_id[row["id"]], responses[row["id"]]) for row in examined]
    left_out = len(wrong) - len(examined)
    counts: AnswerCounts = {
        "items": len(own),
        "wrong": len(wrong),
        "label_not_borne_out": left_out,
        "examined": len(answers),
    }

    return answers, by_id, counts


def _sorted(answer: Answer) -> Sorted:
    item, response = answer
    error = sort_error(item.fields, response)
    if error is None:
        raise ValueError(
            f"item {item.id}: not a wrong answer on a row with a confirmed label"
        )
    return error


def _judge(
    arguments: Errors, wrong: Mapping[str, Sequence[Answer]], report: ErrorReport
) -> list[ErrorRow]:
    run = existing_run_folder(arguments.run)
    rows = []
    with open_session(
        full_name(arguments.judge or ""),
        dict(arguments.judge_args),
        JudgeOptions(),
        store=run.answers,
        log_dir=run.logs,
        label="errors",
        must_read=True,
    ) as judge:
        for name, answers in wrong.items():
            verdicts = judge_errors(answers, judge)
            judged = _rows(
                name, answers, (verdicts[item.id] for item, _ in answers), "judge"
            )
            rows += judged
            report["tasks"][name]["judge"] = {
                "model": {"name": judge.name, **judge.identity},
                "prompt_sha256": PROMPT_SHA256,
                **distribution(judged),
            }

    return rows


def _tables(report: ErrorReport) -> list[str]:
    """Returns the report as lines: types with shares, accuracy by number of attributes."""
    lines: list[str] = []
    for name, entry in report["tasks"].items():
        lines.append(
            f"{name}: {entry['wrong']} of {entry['items']} wrong; {entry['examined']} examined, "
            f"{entry['label_not_borne_out']} left out (label not borne out by the published rule)"
        )
        rows, notes = [], []
        for source, figures in (
            ("rules", entry["rules"]),
            ("judge", entry.get("judge")),
        ):
            if figures is None:
                continue

            for kind, share in figures["types"].items():
                shares = (percent(share["value"]), interval(share), shown_bounds(share))
                rows.append(
                    (source, kind, share["meaning"], str(share["count"]), *shares)
                )

            if figures["coverage"]["undetermined"]:
                notes.append(
                    f"{source}: {figures['coverage']['undetermined']} of {figures['coverage']['asked']} "
                    f"answers are undetermined. Shares are over the other {figures['n']}; the bounds "
                    "are for all, whatever type the undetermined ones have."
                )

        lines += [
            *align(
                (
                    "source",
                    "type",
                    "meaning",
                    "n",
                    "share %",
                    "95 % interval",
                    "bounds %",
                ),
                rows,
            ),
            *notes,
        ]
        lines.append("")
        points = [
            (
                p["kind"],
                str(p["attributes"]),
                "",
                percent(p["accuracy"]),
                interval(p),
                str(p["n"]),
            )
            for p in entry["attributes"]["points"]
        ]
        lines += align(
            ("kind", "attributes", "", "accuracy %", "95 % interval", "n"), points
        )
        lines.append("")

    return lines[:-1]


def _finish(report: ErrorReport) -> int:
    missing = []
    for name, entry in report["tasks"].items():
        if "judge" not in entry:
            continue

        if reasons := entry["judge"]["coverage"]["unscored"]:
            missing.append(
                f"{name}: "
                + ", ".join(f"{count} x {reason}" for reason, count in reasons.items())
            )

    if missing:
        raise IncompleteError(
            f"the judge gave no verdict on every error ({'; '.join(missing)}). The shares are over "
            "those it gave, with bounds for the rest. Give the same command again to ask for the "
            "missing ones."
        )

    return 0
