"""Reads details of lighteval 0.10 and later: one parquet file a task, and the results of the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json, JsonDict, ReportedFigure

AGAIN: Final = "Give a complete file details_TASK_DATE.parquet written by lighteval --save-details."
_DETAILS: Final = "details_"
_COLUMNS: Final = ["doc", "model_response"]
_DATE: Final = len("2026-01-01T00-00-00.000000")


class Doc(OpenForm):
    """A document: its question, and further data of its task."""

    query: str
    original_query: str | None = None
    id: str | int | None = None
    specific: object = None


class Response(OpenForm):
    """The replies, and the same without reasoning if lighteval removed it."""

    text: list[str | None] | None = None
    text_post_processed: list[str | None] | None = None


def read(path: Path) -> Published:
    """Reads a file of details, or the only file below a folder."""
    files = Files(again=AGAIN)
    if path.is_dir():
        matches = sorted(path.rglob(f"{_DETAILS}*.parquet"))
        path = only_file(
            path,
            matches,
            description="files of details (details_*.parquet)",
            again=AGAIN,
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
    general = mapping(results.get("config_general"))

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
        else ["the results of these details were not found next to them"],
    )


def _rows(path: Path) -> list[JsonDict]:
    """Reads the rows of a file of details after checking its unpacked size."""
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
                        f"{path}: has no column {lacking[0]!r}; its columns are "
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
                f"{path}: not a parquet file ({type(error).__name__}). {AGAIN}"
            ) from error

    return rows


def _answers(
    path: Path, at: str, doc: Doc, response: Response
) -> Iterator[PublishedAnswer]:
    """Yields the answers for one document, one for each repeat."""
    texts = response.text_post_processed or response.text
    if not texts:
        raise UsageError(
            f"{path}, {at}: has probabilities but no text, so nothing can be scored. Give the "
            "details of a task with generated answers."
        )

    specific = _specific(doc.specific)
    # Our own questions and lighteval's are in the document; rows may be stored next to it.
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
    """Returns the further data of a document; lighteval may have written it as text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return mapping(value)


def _results(files: Files, path: Path, date: str) -> JsonDict:
    """Reads the results of the same date: lighteval writes `details` and `results` side by side."""
    for folder in path.parents:
        if folder.name == "details":
            matches = sorted((folder.parent / "results").rglob(f"results_{date}.json"))
            content = files.json(matches[0]) if matches else {}
            return content if isinstance(content, dict) else {}
    return {}


def _folder_model(path: Path) -> str:
    """Returns the model from the folders of lighteval, `details/OWNER/MODEL/DATE`."""
    components = path.parts
    if "details" not in components:
        return ""
    return "/".join(components[components.index("details") + 1 : -2])


def _version(general: Json) -> str:
    sha = str(general.get("lighteval_sha") or "")
    return "" if sha in ("", "?") else sha[:12]


def _settings(general: Json) -> JsonDict:
    config = mapping(general.get("model_config"))
    settings = {
        name: value
        for name, value in mapping(config.get("generation_parameters")).items()
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
    """Yields the figures of a task; its name includes the number of worked examples."""
    figures = mapping(results.get("results"))
    for name, value in mapping(figures.get(task)).items():
        if not name.endswith("_stderr") and is_number(value):
            yield {"metric": name, "value": float(value)}
