"""Reads logs of inspect, `.eval` (a zip file) or `.json`, without inspect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.importing.matching import id_values
from medical_tasks.importing.opening import Archive, Files, mappings_in, only_file
from medical_tasks.importing.published import (
    ERROR,
    LIMIT,
    NO_ANSWER,
    TOOL_CALL,
    Published,
    PublishedAnswer,
)
from medical_tasks.io.forms import OpenForm
from medical_tasks.io.untrusted import is_number, shown
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json, JsonDict, ReportedFigure

AGAIN: Final = "Give a complete log of inspect (.eval or .json)."
_HEADER: Final = "header.json"
_START: Final = "_journal/start.json"
_SAMPLES: Final = "samples/"
_ATTACHMENT: Final = "attachment://"
_SETTINGS: Final = (
    "temperature", "max_tokens", "top_p", "top_k", "seed", "stop_seqs", "reasoning_effort",
    "reasoning_tokens", "system_message", "num_choices", "frequency_penalty", "presence_penalty",
)  # fmt: skip
_CUT: Final = ("max_tokens", "model_length")


class Message(OpenForm):
    """A message of a chat; its content is a text, or a list of parts that may be texts."""

    role: str
    content: str | list[object] = ""
    tool_calls: list[object] | None = None


class Choice(OpenForm):
    """A reply."""

    message: Message
    stop_reason: str | None = None


class Output(OpenForm):
    """The output of the model."""

    completion: str | None = None
    choices: list[Choice] | None = None
    error: object = None


class Sample(OpenForm):
    """A sample of a log, in one epoch."""

    id: str | int
    epoch: int = 1
    input: str | list[Message]
    output: Output | None = None
    metadata: dict[str, object] | None = None
    attachments: dict[str, str] | None = None
    error: object = None
    limit: object = None


class Eval(OpenForm):
    """The evaluated task and model."""

    task: str
    model: str
    model_generate_config: dict[str, object] | None = None
    task_args: dict[str, object] | None = None
    packages: dict[str, object] | None = None


class Header(OpenForm):
    """A log without its samples."""

    status: str = ""
    eval: Eval
    plan: dict[str, object] | None = None
    results: dict[str, object] | None = None


def read(path: Path) -> Published:
    """Reads a log, or the only log of a folder."""
    files = Files(again=AGAIN)
    if path.is_dir():
        logs = [*path.glob("*.eval"), *path.glob("*.json")]
        path = only_file(
            path, logs, description="logs of inspect (.eval or .json)", again=AGAIN
        )

    if path.suffix == ".eval":
        header, samples = _of_archive(files, Archive(files, path))
    else:
        header, samples = _of_json(files, path)

    answers: list[PublishedAnswer] = []
    with_choices = 0
    # One sample at a time: its events need much memory.
    for number, sample in enumerate(samples, start=1):
        answers.append(_answer(sample, number))
        with_choices += bool(sample.output and len(sample.output.choices or ()) > 1)

    notes = (
        [f"{with_choices} samples have several choices; the first is used"]
        if with_choices
        else []
    )
    if header.status not in ("", "success"):
        notes.append(f"the log's status is {shown(header.status)}")

    packages = header.eval.packages or {}
    version = packages.get("inspect_ai", "")
    return Published(
        answers=answers,
        model=header.eval.model,
        harness=f"inspect_ai {version}".strip(),
        task=header.eval.task,
        settings=_settings(header),
        reported=list(_reported(header.results or {})),
        files=files.sha256,
        notes=notes,
    )


def _of_archive(files: Files, archive: Archive) -> tuple[Header, Iterator[Sample]]:
    """Reads header and samples of a log in inspect's newer form, a zip of JSON files."""
    # A run that was killed has no header.
    header_name = _HEADER if _HEADER in archive else _START
    header = files.check(Header, archive.json(header_name), archive.path, header_name)
    names = archive.names(_SAMPLES)
    if not names:
        raise UsageError(f"{archive.path}: has no samples. {AGAIN}")

    samples = (
        files.check(Sample, archive.json(name), archive.path, f"sample {number}")
        for number, name in enumerate(names, start=1)
    )
    return header, samples


def _of_json(files: Files, path: Path) -> tuple[Header, Iterator[Sample]]:
    """Reads header and samples of a log in inspect's older form, one JSON file."""
    log = files.json(path)
    header = files.check(Header, log, path)
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        raise UsageError(
            f"{path}: has no samples (is it only the header of a log?). {AGAIN}"
        )

    return header, (
        files.check(Sample, sample, path, f"sample {number}")
        for number, sample in enumerate(samples, start=1)
    )


def _answer(sample: Sample, number: int) -> PublishedAnswer:
    metadata = sample.metadata or {}
    question = sample.input if isinstance(sample.input, str) else _chat(sample)
    text, reason, cut = _reply(sample)

    return PublishedAnswer(
        at=f"sample {number} ({sample.id}, epoch {sample.epoch})",
        ids=(str(sample.id), *id_values(metadata)),
        questions=tuple(filter(None, (_with_attachment(sample, question),))),
        repeat=sample.epoch,
        cut=cut,
        text=text,
        reason=reason,
    )


def _reply(sample: Sample) -> tuple[str | None, str, bool]:
    """Returns the text of the answer, the reason if there is none, and whether it was cut off."""
    output = sample.output
    choice = output.choices[0] if output is not None and output.choices else None
    if sample.error is not None or (
        output is not None and output.error and choice is None
    ):
        return None, ERROR, False

    if output is None or choice is None:
        return None, LIMIT if sample.limit else NO_ANSWER, False

    text = output.completion or _text(choice.message)
    if not text and choice.message.tool_calls:
        return None, TOOL_CALL, False

    return _with_attachment(sample, text), "", choice.stop_reason in _CUT


def _text(message: Message) -> str:
    """Joins the texts of a message, without reasoning, images and tools."""
    if isinstance(message.content, str):
        return message.content
    blocks = [block for block in message.content if isinstance(block, Mapping)]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def _chat(sample: Sample) -> str:
    messages = sample.input if isinstance(sample.input, list) else []
    return "\n\n".join(_text(message) for message in messages)


def _with_attachment(sample: Sample, text: str) -> str:
    """Returns the text, from the log's attachments if it refers to one."""
    if text.startswith(_ATTACHMENT):
        return (sample.attachments or {}).get(text.removeprefix(_ATTACHMENT), text)
    return text


def _settings(header: Header) -> JsonDict:
    """Returns the generation settings of the plan, overridden by those of the command."""
    plan = header.plan or {}
    config = {
        **mapping(plan.get("config")),
        **(header.eval.model_generate_config or {}),
    }
    settings: JsonDict = {
        name: config[name] for name in _SETTINGS if config.get(name) is not None
    }
    steps = [step.get("solver") for step in mappings_in(plan.get("steps"))]
    if steps:
        settings["solvers"] = [str(step) for step in steps]

    return settings


def _reported(results: Json) -> Iterator[ReportedFigure]:
    """Yields the metrics of all scorers, without their standard errors."""
    for score in mappings_in(results.get("scores")):
        for name, metric in mapping(score.get("metrics")).items():
            value = mapping(metric).get("value")
            if name not in ("stderr", "std", "var") and is_number(value):
                yield {"metric": f"{score.get('name')} {name}", "value": float(value)}
