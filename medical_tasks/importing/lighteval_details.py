"""Details of lighteval 0.10 and later: a parquet file a task, with the results of the run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError
from medical_tasks.importing.matching import id_values, text_values
from medical_tasks.importing.opening import MOST_RECORDS, Files, only_file
from medical_tasks.importing.published import NO_ANSWER, Published, PublishedAnswer
from medical_tasks.io.files import readable
from medical_tasks.io.forms import OpenForm
from medical_tasks.io.untrusted import is_number
from medical_tasks.runs.results import Json, JsonDict, ReportedFigure

AGAIN: Final = (
    "Give a file details_TASK_DATE.parquet that lighteval --save-details wrote, whole."
)
_DETAILS: Final = "details_"
_COLUMNS: Final = ["doc", "model_response"]
_DATE: Final = len("2026-01-01T00-00-00.000000")


class Doc(OpenForm):
    """A document: its question, and what its task keeps beside it."""

    query: str
    original_query: str | None = None
    id: str | int | None = None
    specific: object = None


class Response(OpenForm):
    """The replies, and the same without reasoning where lighteval took it out."""

    text: list[str | None] | None = None
    text_post_processed: list[str | None] | None = None


def read(path: Path) -> Published:
    """Reads a file of details, or the one file below a folder."""
    files = Files(again=AGAIN)
    if path.is_dir():
        found = sorted(path.rglob(f"{_DETAILS}*.parquet"))
        path = only_file(
            path, found, wanted="files of details (details_*.parquet)", again=AGAIN
        )

    answers: list[PublishedAnswer] = []
    for number, row in enumerate(_rows(path), start=1):
        at = f"row {number}"
        doc = files.check(Doc, row["doc"], path, at)
        answers += _answers(
            path, at, doc, files.check(Response, row["model_response"], path, at)
        )

    files.sha256[path.name] = file_sha256(path)
    name = path.name.removeprefix(_DETAILS).removesuffix(".parquet")
    task, date = name[: -_DATE - 1], name[-_DATE:]
    results = _results(files, path, date)
    general = _mapping(results.get("config_general"))

    return Published(
        answers=answers,
        model=str(general.get("model_name") or _folder_model(path)),
        harness=f"lighteval {_version(general)}".strip(),
        task=task,
        settings=_settings(general),
        reported=list(_reported(results, task)),
        files=files.sha256,
        notes=[]
        if results
        else ["the results of these details were not found beside them"],
    )


def _rows(path: Path) -> list[JsonDict]:
    """The rows of a file of details, once its size unpacked is known to be bounded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with readable(path, missing=AGAIN, again=AGAIN):
        try:
            with pq.ParquetFile(path) as file:
                lacking = [
                    name for name in _COLUMNS if name not in file.schema_arrow.names
                ]
                if lacking:
                    raise UsageError(
                        f"{path}: has no column {lacking[0]!r}, but "
                        f"{', '.join(file.schema_arrow.names)[:200]}. {AGAIN}"
                    )

                if not 0 < file.metadata.num_rows <= MOST_RECORDS:
                    raise UsageError(
                        f"{path}: has {file.metadata.num_rows:,} rows. {AGAIN}"
                    )

                groups = range(file.metadata.num_row_groups)
                size = sum(
                    file.metadata.row_group(group).total_byte_size for group in groups
                )
                Files(again=AGAIN).check_size(path, size)
                rows: list[JsonDict] = file.read(
                    _COLUMNS, use_threads=False
                ).to_pylist()
        except pa.ArrowException as error:
            raise UsageError(
                f"{path}: no parquet file ({type(error).__name__}). {AGAIN}"
            ) from error

    return rows


def _answers(
    path: Path, at: str, doc: Doc, response: Response
) -> Iterator[PublishedAnswer]:
    """The answers of one document, one for each time it was asked."""
    texts = response.text_post_processed or response.text
    if not texts:
        raise UsageError(
            f"{path}, {at}: has no text but probabilities: nothing was written that could be "
            "scored. Give the details of a task that writes its answers."
        )

    specific = _specific(doc.specific)
    # Our own questions and lighteval's are the document's, and rows may be kept beside
    # it.
    questions = (doc.query, doc.original_query or "", text_values(specific))
    for number, text in enumerate(texts, start=1):
        yield PublishedAnswer(
            at=at,
            ids=id_values(specific),
            questions=tuple(filter(None, questions)),
            text=text,
            reason=NO_ANSWER if text is None else "",
            repeat=number,
        )


def _specific(value: object) -> Json:
    """What a task keeps beside its question; lighteval may have written it as text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return _mapping(value)


def _results(files: Files, path: Path, date: str) -> JsonDict:
    """The results of the same date: lighteval writes `details` and `results` side by side."""
    for folder in path.parents:
        if folder.name == "details":
            found = sorted((folder.parent / "results").rglob(f"results_{date}.json"))
            content = files.json(found[0]) if found else {}
            return content if isinstance(content, dict) else {}
    return {}


def _folder_model(path: Path) -> str:
    """The model, of whose name lighteval makes the folders `details/OWNER/MODEL/DATE`."""
    parts = path.parts
    if "details" not in parts:
        return ""
    return "/".join(parts[parts.index("details") + 1 : -2])


def _version(general: Json) -> str:
    sha = str(general.get("lighteval_sha") or "")
    return "" if sha in ("", "?") else sha[:12]


def _settings(general: Json) -> JsonDict:
    config = _mapping(general.get("model_config"))
    settings = {
        name: value
        for name, value in _mapping(config.get("generation_parameters")).items()
        if value is not None
    }
    for name in (
        "dtype",
        "system_prompt",
        "revision",
        "max_length",
        "override_chat_template",
    ):
        settings |= {name: config[name]} if config.get(name) is not None else {}

    return settings


def _reported(results: Json, task: str) -> Iterator[ReportedFigure]:
    """The figures of a task; its name is written with the number of worked examples."""
    figures = _mapping(results.get("results"))
    for name, value in _mapping(figures.get(task)).items():
        if not name.endswith("_stderr") and is_number(value):
            yield {"metric": name, "value": float(value)}


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}
