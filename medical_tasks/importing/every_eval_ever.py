"""Reads instance records of Every Eval Ever (schema 0.2 and 0.3).

They are JSON Lines with one record for each sample and metric.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.importing.opening import Files, mappings_in, only_file
from medical_tasks.importing.published import (
    ERROR,
    NO_ANSWER,
    TOOL_CALL,
    Published,
    PublishedAnswer,
)
from medical_tasks.io.forms import OpenForm
from medical_tasks.io.untrusted import is_number
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json, JsonDict, ReportedFigure

AGAIN: Final = (
    "Give a complete file of instance records of Every Eval Ever (JSON Lines)."
)


class Input(OpenForm):
    """The question, bare and as the model saw it."""

    raw: str | list[str] = ""
    formatted: str | None = None


class Output(OpenForm):
    """The replies, without reasoning."""

    raw: str | list[str] | None = None


class Message(OpenForm):
    """A turn of a dialogue."""

    role: str
    content: str | None = None
    tool_calls: list[object] | None = None


class Record(OpenForm):
    """An instance record."""

    evaluation_id: str
    model_id: str
    evaluation_name: str = ""
    evaluation_result_id: str | None = None
    sample_id: str
    input: Input
    output: Output | None = None
    messages: list[Message] | None = None
    error: str | None = None


def read(path: Path, *, model: str | None = None) -> Published:
    """Reads a file, or the only file of a folder; `model` selects one of several models."""
    files = Files(again=AGAIN)
    if path.is_dir():
        path = only_file(
            path, sorted(path.rglob("*.jsonl")), description="JSON Lines", again=AGAIN
        )

    records = [
        (at, files.check(Record, line, path, at)) for at, line in files.lines(path)
    ]
    models = list(dict.fromkeys(record.model_id for _, record in records))
    if not records:
        raise UsageError(f"{path}: has no records. {AGAIN}")

    selected = model or models[0]
    if selected not in models or (model is None and len(models) > 1):
        raise UsageError(
            f"{path}: has answers of {', '.join(models[:5])}{', ...' * (len(models) > 5)}. Select "
            "one: --model NAME"
        )

    selected_records = [
        (at, record) for at, record in records if record.model_id == selected
    ]
    evaluations = list(
        dict.fromkeys(record.evaluation_id for _, record in selected_records)
    )
    if len(evaluations) > 1:
        raise UsageError(
            f"{path}: has records of {len(evaluations)} evaluations of {selected}. Give a file of one."
        )

    aggregate = _aggregate(files, path, evaluations[0])
    library = mapping(aggregate.get("eval_library"))
    names = [str(library.get(name) or "") for name in ("name", "version")]
    names = [name for name in names if name != "unknown"]

    return Published(
        answers=list(_answers(selected_records)),
        model=selected,
        harness=" ".join(filter(None, names)) or "Every Eval Ever",
        task=selected_records[0][1].evaluation_name,
        prompts_known=all(record.input.formatted for _, record in selected_records),
        settings=_settings(aggregate),
        reported=list(_reported(aggregate)),
        files=files.sha256,
        notes=[]
        if aggregate
        else ["the evaluation's own record (JSON) was not found next to the file"],
    )


def _answers(records: list[tuple[str, Record]]) -> Iterator[PublishedAnswer]:
    """Yields the answers, once for a sample with a record for each of several metrics."""
    metrics_of: dict[tuple[str, str], set[str]] = {}
    for at, record in records:
        metric = record.evaluation_result_id or record.evaluation_name
        texts = _texts(record)
        metrics = metrics_of.setdefault((record.sample_id, repr(texts)), set())
        if metrics and metric not in metrics:
            metrics.add(metric)
            continue

        metrics.add(metric)
        raw = record.input.raw
        bare = raw if isinstance(raw, str) else "\n".join(raw)
        for number, (text, reason) in enumerate(texts, start=1):
            yield PublishedAnswer(
                at=f"{at} ({record.sample_id})",
                ids=(record.sample_id,),
                questions=tuple(filter(None, (bare, record.input.formatted or ""))),
                text=text,
                reason=reason,
                repeat=number,
            )


def _texts(record: Record) -> list[tuple[str | None, str]]:
    """Returns the replies of a sample, or the reason why there is none."""
    if record.error:
        return [(None, ERROR)]

    if record.messages:
        replies = [
            message for message in record.messages if message.role == "assistant"
        ]
        last = replies[-1] if replies else None
        if last is None or not (last.content or last.tool_calls):
            return [(None, NO_ANSWER)]

        return [(last.content, "")] if last.content else [(None, TOOL_CALL)]

    raw = record.output.raw if record.output is not None else None
    texts = [raw] if isinstance(raw, str) else raw
    return [(text, "") for text in texts] if texts else [(None, NO_ANSWER)]


def _aggregate(files: Files, path: Path, evaluation: str) -> JsonDict:
    """Reads the record of the evaluation, next to its instances or in the folder above."""
    for folder in (path.parent, path.parent.parent):
        for other in sorted(folder.glob("*.json"))[:100]:
            content = Files(again=AGAIN).json(other)
            if isinstance(content, dict) and content.get("evaluation_id") == evaluation:
                files.read(other)
                return content
    return {}


def _settings(aggregate: Json) -> JsonDict:
    settings: JsonDict = {}
    for result in _results(aggregate):
        config = mapping(result.get("generation_config"))
        settings |= mapping(config.get("generation_args"))
        settings |= mapping(config.get("additional_details"))
    return {name: value for name, value in settings.items() if value is not None}


def _reported(aggregate: Json) -> Iterator[ReportedFigure]:
    for result in _results(aggregate):
        value = mapping(result.get("score_details")).get("score")
        metric = mapping(result.get("metric_config")).get("metric_name")
        name = metric or result.get("evaluation_name")
        if is_number(value):
            yield {"metric": str(name), "value": float(value)}


def _results(aggregate: Json) -> list[Json]:
    return mappings_in(aggregate.get("evaluation_results"))
