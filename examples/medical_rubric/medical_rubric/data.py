"""The dataset, and physicians' labels of criteria, from JSON Lines as the authors publish them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_rubric.declarations import DATASET
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.io.files import read_bytes
from medical_tasks.io.json_records import json_lines
from medical_tasks.spec import Row

_TEXT: Final = (str,)
_CHAT: Final = [{"role": _TEXT, "content": _TEXT}]
_RUBRIC: Final = {"criterion": _TEXT, "points": (int, float), "tags": [_TEXT]}
_IDEAL: Final = {"ideal_completion": _TEXT}
CONVERSATION: Final[Mapping[str, object]] = {
    "prompt_id": _TEXT,
    "prompt": _CHAT,
    "rubrics": [_RUBRIC],
    "example_tags": [_TEXT],
}
LABELLED: Final[Mapping[str, object]] = {
    "prompt": _CHAT,
    "completion": _TEXT,
    "rubric": _TEXT,
    "category": _TEXT,
    "binary_labels": [(bool,)],
}


def read_lines(path: Path, form: Mapping[str, object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The places and objects of a file, of which each has at least the fields of a form."""
    for place, record in json_lines(path, read_bytes(path), form=f"an object of {', '.join(form)}"):
        has = record if isinstance(record, dict) else {}
        for name, kind in form.items():
            _check(_fits(has.get(name), kind), path, place, f"{name} must be as published")
        roles = [message["role"] for message in has["prompt"]]
        is_chat = roles[-1:] == ["user"] and {*roles} <= {"system", "user", "assistant"}
        _check(is_chat, path, place, "prompt must be a chat whose last message is the user's")
        yield place, has


def _fits(value: object, form: object) -> bool:
    """Whether a value has a form: one of several types, a list of one form, an object of forms."""
    if isinstance(form, dict):
        return isinstance(value, dict) and all(_fits(value.get(key), form[key]) for key in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_fits(each, form[0]) for each in value)
    return isinstance(form, tuple) and type(value) in form


def _check(holds: bool, path: Path, place: str, rule: str) -> None:
    if not holds:
        raise UsageError(f"{path}, {place}: {rule}. Download the file again.")


def _read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    path = files.get("file", Path(__file__).with_name("demo.jsonl"))
    for place, record in read_lines(path, CONVERSATION):
        points = [rubric["points"] for rubric in record["rubrics"]]
        sound = math.isfinite(math.fsum(points)) and max(points, default=0) > 0
        _check(sound, path, place, "points must be finite numbers, one of them above 0")
        ideal = record.get("ideal_completions_data") or {}
        yield {
            "id": record["prompt_id"],
            "prompt": _only(record["prompt"], _CHAT[0]),
            "rubrics": _only(record["rubrics"], _RUBRIC),
            "example_tags": record["example_tags"],
            "reply": ideal["ideal_completion"] if _fits(ideal, _IDEAL) else "",
        }


def _only(records: Sequence[Row], fields: Mapping[str, object]) -> list[Row]:
    return [{name: record[name] for name in fields} for record in records]


MESSAGE = (Column(name="role", description="who says it"), Column(name="content", description="it"))
CRITERION = (
    Column(name="criterion", description="what a reply does"),
    Column(name="points", description="what it earns; below 0 for a fault", dtype="float64"),
    Column(name="tags", description="axis and level", repeated=True),
)
FILES = {
    "full": "2025-05-07-06-14-12_oss_eval.jsonl",
    "hard": "hard_2025-05-08-21-00-10.jsonl",
    "consensus": "consensus_2025-05-09-20-00-46.jsonl",
}
SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary="Conversations about health, with criteria of a good reply and their points.",
        changes=("Fields beside those of the table are left out. `demo` is invented.",),
        columns=(
            Column(name="id", description="prompt_id of the conversation"),
            Column(
                name="prompt", description="chat", dtype="struct", repeated=True, fields=MESSAGE
            ),
            Column(
                name="rubrics",
                description="criteria",
                dtype="struct",
                repeated=True,
                fields=CRITERION,
            ),
            Column(name="example_tags", description="theme and others", repeated=True),
            Column(name="reply", description="a physician's reply; empty where there is none"),
        ),
        key="id",
        id_names=("prompt_id",),
        splits=dict.fromkeys(DATASET.configs, ("test",)),
        files={"demo": {}}
        | {
            config: {"file": OfficialFile(places=(name,), description="JSON Lines")}
            for config, name in FILES.items()
        },
        read=_read,
        published="2025-05-12",
        creators=("OpenAI",),
    ),
)
