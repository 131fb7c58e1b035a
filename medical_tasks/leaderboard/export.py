"""Exports a finished run in the formats of other tools; `export_formats` lists them.

An export has what a report may show: for credentialed data ids, scores and hashes, and no
text. Paths and addresses of this machine are removed. Fields that the run cannot fill are
left out, or empty if the format requires them, and reported. The templates of the formats
are in `report/templates`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import medical_tasks.plugins as plugins
from medical_tasks.catalog import dataset_spec, tasks
from medical_tasks.errors import MissingError, UsageError, did_you_mean, install_command
from medical_tasks.guard import policy
from medical_tasks.io.cells import table_cell
from medical_tasks.io.files import WholeFile, read_bytes, readable
from medical_tasks.leaderboard.submission_package.privacy import scrub
from medical_tasks.report.collect import report_data
from medical_tasks.report.html_parts import Markup
from medical_tasks.report.markdown import cell, fill_template
from medical_tasks.report.page_data import ReportItem
from medical_tasks.report.report_task import ReportTask
from medical_tasks.report.terminal import entry_notes
from medical_tasks.report.texts import DEFAULT_PLACES, TextPlaces
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.numbers import (
    bounds,
    explanation,
    interval,
    metric_label,
    scored,
    valued,
)
from medical_tasks.runs.recipes import mapping, one_line
from medical_tasks.runs.results import RESULTS_FILE, Json, read_results
from medical_tasks.spec import UNANSWERED, DatasetSpec, MetricSpec

_LONGEST_NAME: Final = 80
_NOT_PORTABLE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_TEXT: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LOCAL: Final = ("hf", "vllm", "ray", "vllm-server", "transformers-server")
_OWNERLESS: Final = ("baseline", "imported", "inspect", "openai-api", "responses")


@dataclass(frozen=True, kw_only=True)
class Run:
    """The public content of a run.

    Attributes:
        tasks: The tasks of the run.
        written: The time of its results.
        named: The model as owner and name, if given by the user.
        left_open: Fields of the format that the run cannot fill.
    """

    tasks: Sequence[ReportTask]
    written: datetime
    named: str = ""
    left_open: list[str] = field(default_factory=list)

    def leave_open(self, name: str) -> str:
        """Leaves a field empty, and records its name."""
        if name not in self.left_open:
            self.left_open.append(name)
        return ""

    def replies(self, task: ReportTask, item: ReportItem) -> list[str]:
        """Returns the scored answer, or none if it is unknown.

        An empty answer would be scored again as wrong.
        """
        if item.answer_sha256 and task.access == "open":
            return [item.answer]

        if not item.unscored.startswith(UNANSWERED):
            why = (
                "of which a score is the mean"
                if "repeats" in task.entry["recipe"]
                else "which are not here"
            )
            self.leave_open(f"{task.name}: the answers, {why}")

        return []

    @cached_property
    def model(self) -> str:
        """The model's name as one line."""
        return one_line(self.named or self.tasks[0].model, _LONGEST_NAME)

    @property
    def local(self) -> bool:
        """Whether the run itself ran the model."""
        return self.tasks[0].model.partition("/")[0] in _LOCAL

    @property
    def owner(self) -> str:
        """The owner of the model; "" if its name does not have one."""
        kind, _, rest = self.model.partition("/")
        if self.local and not self.named:
            kind = rest.rpartition("/")[0]
        return "" if kind in _OWNERLESS else kind

    @property
    def path(self) -> str:
        """The model as owner and name, fit for a path."""
        return f"{_portable(self.owner or 'unknown')}/{_portable(self.model.rpartition('/')[2])}"


@dataclass(frozen=True, kw_only=True)
class ExportFormat:
    """A format for exports; packages can register some (`medical_tasks.exports`).

    Attributes:
        name: Its name in `--to`.
        files: Makes the contents of its files, by path below `--out`.
    """

    name: str
    files: Callable[[Run], Mapping[str, str]]


class Exported(NamedTuple):
    """The outcome of an export."""

    files: list[Path]
    left_open: list[str]  # fields of the format that the run cannot fill


def export_formats() -> dict[str, ExportFormat]:
    """Returns all formats by name: the project's own, then those of other packages."""
    formats: dict[str, ExportFormat] = {}
    for plugin, form in plugins.objects("medical_tasks.exports", ExportFormat):
        if form.name in formats:
            plugins.leave_out(plugin, f"there is a form {form.name} already")
        else:
            formats[form.name] = form
    return formats


def export_format(name: str) -> ExportFormat:
    """Finds a format by name."""
    formats = export_formats()
    if name not in formats:
        raise UsageError(
            f"--to {name}: no form of this name.{did_you_mean(name, formats)} Forms: "
            f"{', '.join(formats)}."
        )
    return formats[name]


def export_run(
    folder: Path,
    form: str,
    out: Path,
    *,
    places: TextPlaces = DEFAULT_PLACES,
    model_name: str = "",
    force: bool = False,
) -> Exported:
    """Exports a finished run in another tool's format.

    Args:
        folder: The folder of the run.
        form: The name of the format, such as `csv`.
        out: The folder for the files.
        places: Where to look for texts of open data.
        model_name: The model as owner and name, if the run has a path or an address.
        force: Whether to overwrite files with other content.
    """
    folder = folder.expanduser()
    named = [
        tasks()[name].dataset
        for name in read_results(folder)["tasks"]
        if name in tasks()
    ]
    with policy.protect(
        [policy.Subject.of(dataset_spec(name)) for name in dict.fromkeys(named)]
    ):
        data = report_data(
            [folder],
            places,
            max_text_bytes=sys.maxsize,
            tell=lambda note: print(f"note: {note}", file=sys.stderr),
        )
        clean = scrub({"tasks": {task.name: task.entry for task in data.tasks}})[
            "tasks"
        ]
        written = datetime.fromtimestamp(
            int((folder / RESULTS_FILE).stat().st_mtime), UTC
        )
        shown = [
            replace(task, entry=clean[task.name], items=_exported(task))
            for task in data.tasks
        ]
        run = Run(tasks=shown, written=written, named=model_name)
        files = write_files(
            export_format(form).files(run), out, force=force, whole=True
        )

    return Exported(files, run.left_open)


def _exported(task: ReportTask) -> Sequence[ReportItem]:
    """Returns a task's items; without the answer if their scores are means of several."""
    if "repeats" not in task.entry["recipe"]:
        return task.items
    return [
        replace(item, answer="", parsed="", why="", answer_sha256="")
        for item in task.items
    ]


def write_files(
    files: Mapping[str, str], folder: Path, *, force: bool, whole: bool = False
) -> list[Path]:
    """Writes files that do not exist with this content, and returns them, or all if `whole`.

    All are checked before the first is written.
    """
    folder = folder.expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; --out must be a folder.")

    existing = {name: _content(folder / name) for name in files}
    texts = {
        name: text.encode("utf-8", "backslashreplace") for name, text in files.items()
    }
    other = [
        str(folder / name)
        for name, text in texts.items()
        if existing[name] not in (None, text)
    ]
    if other and not force:
        raise UsageError(
            f"{', '.join(other)}: exists with other content. Nothing was written. Remove "
            "it, choose another --out, or give --force to overwrite it."
        )

    for name, text in texts.items():
        if existing[name] != text:
            with WholeFile(folder / name) as file:
                file.write_bytes(text)

    return [
        folder / name for name, text in texts.items() if whole or existing[name] != text
    ]


def _content(path: Path) -> bytes | None:
    with readable(path, again="Choose another --out."):
        return read_bytes(path) if path.exists() else None


def _portable(name: str) -> str:
    """Makes a name that is a valid part of a path on every system."""
    return _NOT_PORTABLE.sub("-", name).strip(".-")[:_LONGEST_NAME] or "unnamed"


def _digest(run: Run, task: ReportTask) -> bytes:
    """Returns a digest that identifies this result in every export."""
    return hashlib.sha256(
        json.dumps(
            [run.model, task.name, task.entry], sort_keys=True, default=str
        ).encode()
    ).digest()


def _dataset(task: ReportTask) -> DatasetSpec | None:
    return dataset_spec(tasks()[task.name].dataset) if task.name in tasks() else None


def _shots(task: ReportTask) -> int:
    return (
        int(tasks()[task.name].options.get("shots", "0")) if task.name in tasks() else 0
    )


def _reported(task: ReportTask) -> list[tuple[MetricSpec, Json]]:
    """The metrics that have a value, the headline first."""
    pairs = ((spec, task.entry["metrics"][spec.name]) for spec in task.metrics)
    return [(spec, metric) for spec, metric in pairs if metric["value"] is not None]


def _decided(task: ReportTask) -> list[tuple[int, ReportItem, dict[str, float]]]:
    """Lists the items that have a value, with index and values; a missing value is not 0."""
    decided = (
        {_named(task, name): v for name, v in item.values.items() if v is not None}
        for item in task.items
    )
    return [
        (n, item, values)
        for n, (item, values) in enumerate(zip(task.items, decided, strict=True))
        if values
    ]


def _named(task: ReportTask, name: str) -> str:
    """Returns a metric's name, marked as in the harnesses if it is not comparable."""
    comparable = task.entry["metrics"].get(name, {}).get("comparable", True)
    return name if comparable else f"{name}_not_comparable"


def _strings(values: Json) -> dict[str, str]:
    """Converts values to texts, for formats with texts only; leaves out empty values."""
    kept = {name: value for name, value in values.items() if value not in (None, "")}
    return {
        name: v if isinstance(v, str) else json.dumps(v, default=str, sort_keys=True)
        for name, v in kept.items()
    }


_PART: Final = ("max_samples", "subset", "shard", "repeats", "evaluations")
_SETTINGS: Final = (
    "task_version",
    "prompts",
    "generation",
    "judge",
    *_PART,
    "task_args",
    "scoring",
    "adjudication",
    "data",
)


def _settings(task: ReportTask) -> dict[str, str]:
    """Returns the relevant settings of the recipe."""
    return _strings({name: task.entry["recipe"].get(name) for name in _SETTINGS})


def _facts(task: ReportTask) -> dict[str, str]:
    """Describes an untrusted recipe in phrases, "unknown" for missing fields."""
    recipe = task.entry["recipe"]
    data = mapping(recipe.get("data"))
    parts = [
        str(data.get("name")),
        *(
            f"{key} {data[key]}"
            for key in ("version", "config", "split")
            if key in data
        ),
    ]
    clusters = str(mapping(recipe.get("statistics")).get("cluster") or "nothing")
    names = ("suite", "task_version", "generation", "prompts")
    facts = {name: _strings(recipe).get(name, "unknown") for name in names}

    return {
        **facts,
        "data": ", ".join(parts),
        "rows": str(data.get("rows_sha256", "unknown")),
        "clusters": clusters,
    }


def _sha256(text: str) -> str:
    return (
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        if text
        else ""
    )


_NAMES: Final[Json] = {
    function.__name__.lstrip("_"): function
    for function in (
        *(
            bounds,
            entry_notes,
            explanation,
            interval,
            mapping,
            metric_label,
            paper_lines,
            valued,
        ),
        *(
            _dataset,
            _decided,
            _facts,
            _named,
            _reported,
            _settings,
            _sha256,
            _shots,
            _strings,
        ),
    )
}
"""The functions that templates call."""


def _inert(value: object) -> Any:
    """Escapes a value for XML and Markdown."""
    return value if isinstance(value, Markup) else str(cell(value))


def _text(run: Run, *, name: str) -> dict[str, str]:
    text = fill_template(
        name, finalize=_inert if name.endswith(".xml") else None, run=run, **_NAMES
    )
    return {name: _NOT_TEXT.sub("\ufffd", text)}


def _values(name: str, run: Run, **more: Any) -> Any:
    return json.loads(fill_template(name, run=run, **more, **_NAMES))


def _json(value: object) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def _lines(rows: Iterable[Any]) -> str:
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def _every_eval_ever(run: Run) -> dict[str, str]:
    """Makes a record for each task in the datastore's folders, and a line for each item."""
    files = {}
    for task in run.tasks:
        path = f"data/{_portable(task.name)}/{run.path}/{uuid.UUID(bytes=_digest(run, task)[:16], version=4)}"
        filled_in = _values(
            "every_eval_ever.json",
            run,
            task=task,
            stamp=str(int(run.written.timestamp())),
        )
        if filled_in["items"]:
            lines = _lines(filled_in["items"])
            files[f"{path}_samples.jsonl"] = lines
            about = {
                "format": "jsonl",
                "file_path": f"{path}_samples.jsonl",
                "total_rows": len(filled_in["items"]),
            }
            about |= {"hash_algorithm": "sha256", "checksum": _sha256(lines)}
            filled_in["record"]["detailed_evaluation_results"] = about

        files[f"{path}.json"] = _json(filled_in["record"])

    return files


def _lm_eval(run: Run) -> dict[str, str]:
    """Makes a file of results, and a file of samples for each task."""
    filled_in = _values("lm_eval.json", run)
    folder, day = (
        run.path.replace("/", "__"),
        run.written.strftime("%Y-%m-%dT%H-%M-%S.%f"),
    )
    samples = {
        f"{folder}/samples_{_portable(name)}_{day}.jsonl": _lines(rows)
        for name, rows in filled_in["samples"].items()
    }

    return {f"{folder}/results_{day}.json": _json(filled_in["results"]), **samples}


def _inspect(run: Run) -> dict[str, str]:
    """Makes a log for each task."""
    try:
        from medical_tasks.harness.inspect_adapter import eval_log
    except ModuleNotFoundError as error:
        raise MissingError(
            "--to inspect-log needs inspect_ai, which is not installed: "
            f"{install_command('inspect')}"
        ) from error

    day = run.written.strftime("%Y-%m-%dT%H-%M-%S+00-00")
    return {
        f"{day}_{_portable(task.name)}_{_digest(run, task).hex()[:22]}.json": eval_log(
            _values("inspect_log.json", run, task=task)
        )
        for task in run.tasks
    }


_ENDS: Final = ("value", "ci_low", "ci_high", "n", "bound_low", "bound_high")


def _csv(run: Run) -> dict[str, str]:
    """Makes two tables: the metrics with their breakdowns, and the items."""
    numbers: list[dict[str, object]] = []
    items: list[dict[str, object]] = []
    for task in run.tasks:
        entry = task.entry
        facts, judge = (
            _facts(task),
            mapping(task.entry["recipe"].get("judge")).get("name", ""),
        )
        recipe = {
            name: facts[name]
            for name in ("suite", "task_version", "data", "rows", "prompts")
        } | {"judge": judge}
        recipe |= _strings({name: mapping(entry["recipe"]).get(name) for name in _PART})
        groups = [
            (by, name, metrics)
            for by, parts in entry["breakdown"].items()
            for name, metrics in parts.items()
        ]
        for by, group, metrics in [("", "", entry["metrics"]), *groups]:
            for name, metric in metrics.items():
                row = {
                    "model": run.model,
                    "task": task.name,
                    "metric": name,
                    "by": by,
                    "group": group,
                }
                row |= {
                    **{end: metric[end] for end in _ENDS},
                    "unit": metric.get("unit", ""),
                }
                counts = {
                    "asked": entry["coverage"]["asked"],
                    "scored": scored(entry, metric),
                }
                numbers.append(
                    {
                        **row,
                        "comparable": metric.get("comparable", True),
                        **counts,
                        **recipe,
                    }
                )

        for item in task.items:
            row = {
                "task": task.name,
                "id": item.id,
                **{f"group_{by}": name for by, name in item.groups.items()},
            }
            row |= {
                **item.values,
                "parsed": item.parsed,
                "why": item.why,
                "unscored": item.unscored,
                "unclear": item.unclear,
            }
            texts = {
                "question": item.question,
                "answer": "".join(run.replies(task, item)),
                "gold": item.gold,
            }
            items.append({**row, **texts, "response_sha256": item.answer_sha256})

    return {"metrics.csv": _table(numbers), "items.csv": _table(items)}


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(
        [
            map(table_cell, columns),
            *(map(table_cell, map(row.get, columns)) for row in rows),
        ]
    )
    return _NOT_TEXT.sub("\ufffd", text.getvalue())


EXPORTS: Final = (
    ExportFormat(name="every-eval-ever", files=_every_eval_ever),
    ExportFormat(name="chai-card", files=partial(_text, name="chai_card.xml")),
    ExportFormat(name="tripod-llm", files=partial(_text, name="tripod_llm.md")),
    ExportFormat(name="inspect-log", files=_inspect),
    ExportFormat(name="lm-eval-json", files=_lm_eval),
    ExportFormat(name="csv", files=_csv),
)
"""The project's own formats, as it registers them."""
