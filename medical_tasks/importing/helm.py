"""Reads runs of HELM and MedHELM: the folder of a run, with the files that its web pages show.

`display_predictions.json` has the answers, `instances.json` the questions,
`run_spec.json` the settings, and `stats.json` HELM's own figures. `scenario_state.json`
may replace the first two. Each may be packed with gzip (`.json.gz`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.importing.opening import Files
from medical_tasks.importing.published import (
    ERROR,
    NO_ANSWER,
    REDACTED,
    Published,
    PublishedAnswer,
)
from medical_tasks.io.forms import OpenForm
from medical_tasks.io.untrusted import is_number
from medical_tasks.runs.results import JsonDict, ReportedFigure

AGAIN: Final = (
    "Give the folder of a HELM run with display_predictions.json and instances.json (or "
    "scenario_state.json), run_spec.json and stats.json."
)
_SETTINGS: Final = (
    "temperature", "max_tokens", "num_outputs", "num_trials", "max_train_instances",
    "stop_sequences", "model_deployment", "instructions",
)  # fmt: skip
_WITHHELD: Final = ("[redacted]", "[encrypted_text")
_NO_SCORES: Final = (
    "num_", "inference_", "finish_reason", "logprob", "max_prob", "training_", "batch_size",
    "prompt_truncated", "input_", "output_",
)  # fmt: skip
"""Prefixes of HELM's figures that are no scores."""


_Form = TypeVar("_Form", bound=OpenForm)


class Input(OpenForm):
    """A question."""

    text: str = ""
    messages: list[dict[str, object]] | None = None


class Instance(OpenForm):
    """An item of HELM; a perturbed one is a variant made by HELM."""

    id: str | int
    input: Input
    perturbation: object = None


class Prediction(OpenForm):
    """An answer in the files of HELM's pages."""

    instance_id: str | int
    predicted_text: str | None = None
    train_trial_index: int = 0
    perturbation: object = None
    stats: dict[str, object] | None = None


class Completion(OpenForm):
    """One reply."""

    text: str | None = None
    finish_reason: dict[str, object] | None = None


class Result(OpenForm):
    """The result of a request."""

    success: bool = True
    completions: list[Completion] | None = None


class Request(OpenForm):
    """The text of a request."""

    prompt: str = ""


class RequestState(OpenForm):
    """A request and its result."""

    instance: Instance
    train_trial_index: int = 0
    request: Request | None = None
    result: Result | None = None


class Stat(OpenForm):
    """A figure of `stats.json`."""

    name: dict[str, object]
    mean: object = None


class RunSpec(OpenForm):
    """The specification of the run."""

    name: str = ""
    adapter_spec: dict[str, object] | None = None


def read(path: Path) -> Published:
    """Reads the folder of a run, or one of its files."""
    folder = path if path.is_dir() else path.parent
    files = Files(again=AGAIN)
    shown, state = (
        _file(folder, "display_predictions.json"),
        _file(folder, "scenario_state.json"),
    )
    stats: list[Prediction] = []
    states: list[RequestState] = []
    if shown is not None:
        stats = _list(files, Prediction, shown)
        answers = list(_shown_answers(files, folder, stats))
    elif state is not None:
        states = _request_states(files, state)
        answers = list(_state_answers(states))
    else:
        raise MissingError(f"{folder}: has no display_predictions.json. {AGAIN}")

    spec_file, notes = _file(folder, "run_spec.json"), []
    spec = RunSpec()
    if spec_file is None:
        notes.append("run_spec.json is missing: model and settings are unknown")
    else:
        spec = files.check(RunSpec, files.json(spec_file), spec_file)

    if perturbed := sum(1 for record in stats if record.perturbation):
        notes.append(f"{perturbed} answers to questions changed by HELM are left out")

    with_completions = sum(
        1 for record in states if len((record.result or Result()).completions or ()) > 1
    )
    if with_completions:
        notes.append(
            f"{with_completions} answers have several completions; the first is used"
        )

    adapter = spec.adapter_spec or {}
    return Published(
        answers=answers,
        model=str(adapter.get("model") or ""),
        harness="HELM",
        task=spec.name,
        prompts_known=bool(adapter.get("instructions")),
        settings=_settings(adapter),
        reported=list(_reported(files, folder, stats)),
        files=files.sha256,
        notes=notes,
    )


def _file(folder: Path, name: str) -> Path | None:
    candidates = (folder / name, folder / f"{name}.gz")
    return next((path for path in candidates if path.is_file()), None)


def _list(files: Files, form: type[_Form], path: Path) -> list[_Form]:
    values = files.json(path)
    if not isinstance(values, list) or not values:
        raise UsageError(f"{path}: must be a list of records. {AGAIN}")
    return [
        files.check(form, value, path, f"record {number}")
        for number, value in enumerate(values, start=1)
    ]


def _shown_answers(
    files: Files, folder: Path, predictions: Sequence[Prediction]
) -> Iterator[PublishedAnswer]:
    """Yields the answers on HELM's pages, with the questions of `instances.json`.

    Instances that HELM perturbed (typos, other dialects) are left out.
    """
    path = _file(folder, "instances.json")
    if path is None:
        raise MissingError(f"{folder}: has no instances.json. {AGAIN}")

    instances = {
        str(instance.id): instance
        for instance in _list(files, Instance, path)
        if not instance.perturbation
    }
    for number, prediction in enumerate(predictions, start=1):
        instance = instances.get(str(prediction.instance_id))
        if prediction.perturbation:
            continue

        text, reason = _text(prediction.predicted_text)
        yield PublishedAnswer(
            at=f"prediction {number} ({prediction.instance_id})",
            ids=(str(prediction.instance_id),),
            questions=() if instance is None else tuple(_questions(instance)),
            text=text,
            reason=reason,
            repeat=prediction.train_trial_index + 1,
        )


def _request_states(files: Files, path: Path) -> list[RequestState]:
    content = files.json(path)
    states = content.get("request_states") if isinstance(content, Mapping) else None
    if not isinstance(states, list) or not states:
        raise UsageError(f"{path}: has no request_states. {AGAIN}")
    return [
        files.check(RequestState, value, path, f"request state {number}")
        for number, value in enumerate(states, start=1)
    ]


def _state_answers(states: Sequence[RequestState]) -> Iterator[PublishedAnswer]:
    """Yields the answers of a raw `scenario_state.json`, with the prompts that were sent."""
    for number, state in enumerate(states, start=1):
        if state.instance.perturbation:
            continue

        text, reason, cut = _completed(state.result)
        prompt = state.request.prompt if state.request is not None else ""
        yield PublishedAnswer(
            at=f"request state {number} ({state.instance.id})",
            ids=(str(state.instance.id),),
            questions=tuple(filter(None, (*_questions(state.instance), prompt))),
            text=text,
            reason=reason,
            repeat=state.train_trial_index + 1,
            cut=cut,
        )


def _completed(result: Result | None) -> tuple[str | None, str, bool]:
    """Returns an answer's text, the reason if there is none, and whether it was cut by its length."""
    if result is None or not result.completions:
        return (
            None,
            ERROR if result is not None and not result.success else NO_ANSWER,
            False,
        )
    first = result.completions[0]
    text, reason = _text(first.text)
    return text, reason, (first.finish_reason or {}).get("reason") == "length"


def _text(text: str | None) -> tuple[str | None, str]:
    if text is None:
        return None, NO_ANSWER
    if text.startswith(_WITHHELD):
        return None, REDACTED
    return text, ""


def _questions(instance: Instance) -> Iterator[str]:
    """Yields the text of the question, and the messages of a chat."""
    if instance.input.text:
        yield instance.input.text
    messages = instance.input.messages or []
    chat = "\n\n".join(str(message.get("content") or "") for message in messages)
    if chat:
        yield chat


def _settings(adapter: Mapping[str, object]) -> JsonDict:
    values = {name: adapter.get(name) for name in _SETTINGS}
    return {
        name: value for name, value in values.items() if value not in (None, "", [])
    }


def _reported(
    files: Files, folder: Path, predictions: Sequence[Prediction]
) -> Iterator[ReportedFigure]:
    """Yields HELM's figures over all items: those that its pages show by item, or else all scores."""
    path = _file(folder, "stats.json")
    shown_metrics = {
        name for prediction in predictions for name in prediction.stats or {}
    }
    if path is None:
        return
    for stat in _list(files, Stat, path):
        name = str(stat.name.get("name"))
        is_score = not name.startswith(_NO_SCORES) and (
            not shown_metrics or name in shown_metrics
        )
        if is_score and not stat.name.get("perturbation") and is_number(stat.mean):
            yield {"metric": name, "value": float(stat.mean)}
