"""Runs of answers that another harness collected: what they are made of, and how they are kept.

A source (`PublishedSource`) finds the answers to a task's items in its files. They are
scored as those of any file, and kept in the run's folder, of credentialed data in the
private store, so that they can be scored again without the source.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import WholeFile, read_bytes
from medical_tasks.io.json_records import json_lines
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.folder import RunFolder, existing_run_folder
from medical_tasks.runs.recipes import make_recipe, mapping
from medical_tasks.runs.results import Json, JsonDict, ReportedFigure
from medical_tasks.spec import Item, TaskSpec

IMPORTED: Final = "imported/"
"""Begins the model's name in the recipe of such a run; what follows is the source's name of it."""

MATCHED_BY: Final = ("id", "text", "id and bare question", "id alone")
"""How an answer was matched with its item; in `imported.matched` of a recipe what else is counted was left out."""
NOT_THERE: Final = "not in the source"
_FORM: Final = '{"id": "17", "repeat": 1, "response": "the raw text of the model"}'


@dataclass(frozen=True, kw_only=True)
class FoundAnswers:
    """The answers of one repeat.

    Attributes:
        texts: by item id.
        unanswered: why an item that the source has no answer of it, by id.
        cut: ids of items whose answer was cut at its length limit.
    """

    texts: Mapping[str, str]
    unanswered: Mapping[str, str] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class FoundRun:
    """What a source has of a task.

    Attributes:
        model: as the source names it.
        repeats: the answers of each repeat, one or more.
        origin: where they come from, as the recipe says it.
        reported: the figures that the source reports of them.
    """

    model: str
    repeats: Sequence[FoundAnswers]
    origin: Json
    reported: Sequence[ReportedFigure] = ()


class PublishedSource(ABC):
    """Files in which another harness wrote answers."""

    name: str
    """What tells it from other sources, such as `helm run.json`."""

    @property
    def stem(self) -> str:
        """Begins the name of the default folder."""
        return self.name

    @abstractmethod
    def find(self, task: TaskSpec, items: Sequence[Item]) -> FoundRun:
        """Finds the answers to the items; what they say of the model is not trusted.

        Called where the data guard is on, since messages about texts may be of
        credentialed data.
        """


def answered_of(
    task: TaskSpec, data: TaskData, found: FoundRun, *, scoring_args: Mapping[str, str]
) -> AnsweredTask:
    """Makes what is scored of the answers of a source."""
    model = {"name": f"{IMPORTED}{found.model}"}
    recipe = make_recipe(task, data=data.revision, model=model) | data.part
    recipe["imported"] = dict(found.origin)
    if len(found.repeats) > 1:
        recipe["repeats"] = len(found.repeats)

    answered = _answered(
        task, data, recipe, found.repeats, scoring_args, found.reported
    )
    recipe["model"]["sha256"] = hashlib.sha256(_lines(answered)).hexdigest()
    return answered


def _answered(
    task: TaskSpec,
    data: TaskData,
    recipe: Json,
    found: Sequence[FoundAnswers],
    scoring_args: Mapping[str, str],
    reported: Sequence[ReportedFigure] = (),
) -> AnsweredTask:
    """What a source collected as a task's answers; second answers are repeats."""
    first, *others = (
        AnsweredTask(
            task=task,
            items=data.items,
            responses=each.texts,
            unanswered={
                item.id: each.unanswered.get(item.id, NOT_THERE)
                for item in data.items
                if item.id not in each.texts
            },
            recipe=recipe,
            cut=each.cut & {item.id for item in data.items},
            scoring_args=scoring_args,
            reported=reported,
        )
        for each in found
    )
    return replace(first, repeats=others)


def keep_answers(answered: AnsweredTask, folder: RunFolder) -> None:
    """Writes the answers of an imported run, from which it can be scored again."""
    if not is_imported(answered.recipe):
        return
    with WholeFile(folder.given, private=folder.private) as file:
        file.write_bytes(_lines(answered))


def kept_answers(
    task: TaskSpec, data: TaskData, recipe: Json, folder: Path
) -> AnsweredTask:
    """Reads the answers of an imported run."""
    path = existing_run_folder(folder).given
    again = "Give the folder that `medical-tasks import` wrote, whole, or import again."
    if not path.is_file():
        raise MissingError(f"{path}: not there. {again}")

    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != mapping(recipe["model"]).get("sha256"):
        raise UsageError(
            f"{path}: not the answers that were scored (their sha256 differs). {again}"
        )

    found = [FoundAnswers(texts={}) for _ in range(recipe.get("repeats", 1))]
    texts: list[dict[str, str]] = [{} for _ in found]
    reasons: list[dict[str, str]] = [{} for _ in found]
    cut: list[set[str]] = [set() for _ in found]
    for _, line in json_lines(path, content, form=_FORM):
        number, item = line["repeat"] - 1, line["id"]
        if line["response"] is None:
            reasons[number][item] = line["reason"]
        else:
            texts[number][item] = line["response"]

        if line.get("cut"):
            cut[number].add(item)

    repeats = [
        FoundAnswers(texts=here, unanswered=why, cut=frozenset(ended))
        for here, why, ended in zip(texts, reasons, cut, strict=True)
    ]
    return _answered(task, data, recipe, repeats, data.found)


def is_imported(recipe: Json) -> bool:
    """Whether the answers came from another harness."""
    return str(mapping(recipe.get("model")).get("name")).startswith(IMPORTED)


def _lines(answered: AnsweredTask) -> bytes:
    lines = (
        json.dumps(record, ensure_ascii=True) + "\n" for record in _records(answered)
    )
    return "".join(lines).encode("ascii")


def _records(answered: AnsweredTask) -> Iterator[JsonDict]:
    """A record for each item of each repeat, as `kept_answers` reads them."""
    for number, each in enumerate((answered, *answered.repeats), start=1):
        for item in each.items:
            text = each.responses.get(item.id)
            record: JsonDict = {"id": item.id, "repeat": number, "response": text}
            record |= {"reason": each.unanswered[item.id]} if text is None else {}
            yield record | ({"cut": True} if item.id in each.cut else {})
