"""Reads samples of lm-evaluation-harness: the files of `--log_samples`, and the results next to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.importing.matching import id_values, text_values
from medical_tasks.importing.opening import Files, only_file
from medical_tasks.importing.published import NO_ANSWER, Published, PublishedAnswer
from medical_tasks.io.forms import OpenForm
from medical_tasks.io.untrusted import is_number
from medical_tasks.runs.results import Json, JsonDict, ReportedFigure

AGAIN: Final = (
    "Give a complete file samples_TASK_DATE.jsonl written by lm_eval --log_samples."
)
_SAMPLES: Final = "samples_"
_RESULTS: Final = "results_"
_DATE: Final = len("2026-01-01T00-00-00.000000")
_NO_SCORES: Final = ("alias", "sample_len", "sample_count", "name")


class Sample(OpenForm):
    """A line: a document, the requests, and the replies to each before and after filters."""

    doc_id: int | str
    doc: object = None
    arguments: object = None
    resps: list[object]
    filter: str = "none"


def read(path: Path) -> Published:
    """Reads a file of samples, or the only file of a folder."""
    files = Files(again=AGAIN)
    if path.is_dir():
        matches = sorted(
            [*path.glob(f"{_SAMPLES}*.jsonl"), *path.glob(f"*/{_SAMPLES}*.jsonl")]
        )
        path = only_file(
            path, matches, description="files of samples (samples_*.jsonl)", again=AGAIN
        )

    answers: list[PublishedAnswer] = []
    filters: dict[str, None] = {}
    for at, line in files.lines(path):
        sample = files.check(Sample, line, path, at)
        filters.setdefault(sample.filter)
        # Each filter has lines with the same replies.
        if sample.filter == next(iter(filters)):
            answers += _answers(sample, path, at)

    if not answers:
        raise UsageError(f"{path}: has no samples. {AGAIN}")

    task, date = _named(path)
    results = _results(files, path.parent, task, date)
    config = _entry(results, "configs", task)

    return Published(
        answers=answers,
        model=_model(results),
        harness=f"lm_eval {results.get('lm_eval_version') or ''}".strip(),
        task=task,
        settings=_settings(results, config, task),
        reported=list(_reported(_entry(results, "results", task))),
        files=files.sha256,
        notes=[]
        if results
        else ["no results_*.json of these samples was found next to them"],
    )


def _answers(sample: Sample, path: Path, at: str) -> Iterator[PublishedAnswer]:
    """Yields the answers of one sample, one for each repeat; its document has the question."""
    doc = sample.doc if isinstance(sample.doc, Mapping) else {}
    questions = [text_values(doc), *_prompts(sample.arguments)]
    for number, text in enumerate(_texts(sample.resps, path, at), start=1):
        yield PublishedAnswer(
            at=f"{at} (doc_id {sample.doc_id})",
            ids=id_values(doc),
            questions=tuple(filter(None, questions)),
            text=text,
            reason=NO_ANSWER if text is None else "",
            repeat=number,
        )


def _texts(replies: Sequence[Any], path: Path, at: str) -> Sequence[str | None]:
    """Returns the replies to the only request of a sample, several if it was repeated."""
    first = replies[0] if len(replies) == 1 else None
    texts = first if isinstance(first, list) else [first]
    if len(replies) != 1 or not all(
        text is None or isinstance(text, str) for text in texts
    ):
        raise UsageError(
            f"{path}, {at}: has probabilities instead of the text of one reply, or replies to "
            f"{len(replies)} requests, so nothing can be scored. Give samples of a task with "
            "output_type generate_until."
        )

    return texts


def _prompts(arguments: Any) -> Iterator[str]:
    """Yields the whole prompt, which may also contain worked examples."""
    requests = arguments.values() if isinstance(arguments, Mapping) else arguments or ()
    for request in requests:
        values = request.values() if isinstance(request, Mapping) else request
        yield from (value for value in values if isinstance(value, str))


def _named(path: Path) -> tuple[str, str]:
    """Returns the task and the date from a file's name."""
    name = path.name.removeprefix(_SAMPLES).partition(".jsonl")[0]
    return name[: -_DATE - 1], name[-_DATE:]


def _results(files: Files, folder: Path, task: str, date: str) -> JsonDict:
    """Reads the results of the same date, or else the only ones next to the samples."""
    candidates = sorted(folder.glob(f"{_RESULTS}*.json"))
    of_date = [path for path in candidates if path.name == f"{_RESULTS}{date}.json"]
    if not of_date and len(candidates) == 1:
        of_date = candidates
    content = files.json(of_date[0]) if of_date else {}
    return content if isinstance(content, dict) else {}


def _entry(results: Json, name: str, task: str) -> Json:
    section = results.get(name)
    entry = section.get(task) if isinstance(section, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


def _model(results: Json) -> str:
    """Returns the model; older versions have it among the arguments."""
    name = results.get("model_name")
    config = results.get("config")
    if not name and isinstance(config, Mapping):
        name = config.get("model_args") or config.get("model")
    return name if isinstance(name, str) else ""


def _settings(results: Json, config: Json, task: str) -> JsonDict:
    """Returns the settings that affect an answer, as far as the files have them."""
    generation = config.get("generation_kwargs")
    settings: JsonDict = dict(generation) if isinstance(generation, Mapping) else {}
    shots = results.get("n-shot")
    settings |= {"num_fewshot": shots.get(task)} if isinstance(shots, Mapping) else {}
    for name in ("chat_template_sha", "system_instruction_sha", "git_hash"):
        settings |= {name: results[name]} if results.get(name) else {}
    return settings


def _reported(results: Json) -> Iterator[ReportedFigure]:
    """Yields the figures of a task, such as `exact_match,none`, without their standard errors."""
    for name, value in results.items():
        metric, _, filter_name = name.partition(",")
        if metric.endswith("_stderr") or metric in _NO_SCORES or not is_number(value):
            continue
        metric_name = (
            metric if filter_name in ("", "none") else f"{metric} ({filter_name})"
        )
        yield {"metric": metric_name, "value": float(value)}
