"""Runs of answers that another harness collected: their parts, and how they are stored.

A source (`PublishedSource`) finds the answers to a task's items in its files. They are scored
like those of any file, and kept in the run's folder, or for credentialed data in the private
store, so that they can be scored again without the source.
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
"""The prefix of the model's name in the recipe of such a run; the source's name for it follows."""

MATCHED_BY: Final = ("id", "text", "id and bare question", "id alone")
"""How an answer was matched with its item; other counts in a recipe's `imported.matched` were left out."""
NOT_THERE: Final = "not in the source"
_FORM: Final = '{"id": "17", "repeat": 1, "response": "the raw text of the model"}'


@dataclass(frozen=True, kw_only=True)
class SourceAnswers:
    """The answers of one repeat.

    Attributes:
        texts: the answers by item id.
        unanswered: why the source has no answer to an item, by id.
        cut: ids of items whose answer was cut at its length limit.
    """

    texts: Mapping[str, str]
    unanswered: Mapping[str, str] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class SourceRun:
    """A source's answers to a task.

    Attributes:
        model: the source's name for the model.
        repeats: the answers of each repeat, one or more.
        origin: where they come from, for the recipe.
        reported: the figures that the source reports for them.
    """

    model: str
    repeats: Sequence[SourceAnswers]
    origin: Json
    reported: Sequence[ReportedFigure] = ()


class PublishedSource(ABC):
    """Files in which another harness wrote answers."""

    name: str
    """The source's name, such as `helm run.json`."""

    @property
    def stem(self) -> str:
        """The beginning of the default folder's name."""
        return self.name

    @abstractmethod
    def find_answers(self, task: TaskSpec, items: Sequence[Item]) -> SourceRun:
        """Finds the answers to the items; their statements about the model are not trusted.

        It is called under the data guard, since messages may quote credentialed data.
        """


def answered_task(
    task: TaskSpec, data: TaskData, run: SourceRun, *, scoring_args: Mapping[str, str]
) -> AnsweredTask:
    """Makes a task with its answers from a source's run."""
    model = {"name": f"{IMPORTED}{run.model}"}
    recipe = make_recipe(task, data=data.revision, model=model) | data.recipe_part
    recipe["imported"] = dict(run.origin)
    if len(run.repeats) > 1:
        recipe["repeats"] = len(run.repeats)

    answered = _answered_task(
        task, data, recipe, run.repeats, scoring_args, run.reported
    )
    recipe["model"]["sha256"] = hashlib.sha256(_lines(answered)).hexdigest()
    return answered


def _answered_task(
    task: TaskSpec,
    data: TaskData,
    recipe: Json,
    answer_sets: Sequence[SourceAnswers],
    scoring_args: Mapping[str, str],
    reported: Sequence[ReportedFigure] = (),
) -> AnsweredTask:
    """Makes a task's answers from the sets that a source collected; further sets are repeats."""
    first, *others = (
        AnsweredTask(
            task=task,
            items=data.items,
            responses=answers.texts,
            unanswered={
                item.id: answers.unanswered.get(item.id, NOT_THERE)
                for item in data.items
                if item.id not in answers.texts
            },
            recipe=recipe,
            cut=answers.cut & {item.id for item in data.items},
            scoring_args=scoring_args,
            reported=reported,
        )
        for answers in answer_sets
    )
    return replace(first, repeats=others)


def keep_answers(answered: AnsweredTask, folder: RunFolder) -> None:
    """Stores the answers of an imported run, so that it can be scored again."""
    if not is_imported(answered.recipe):
        return
    with WholeFile(folder.imported_answers, private=folder.private) as file:
        file.write_bytes(_lines(answered))


def kept_answers(
    task: TaskSpec, data: TaskData, recipe: Json, folder: Path
) -> AnsweredTask:
    """Reads the stored answers of an imported run."""
    path = existing_run_folder(folder).imported_answers
    advice = (
        "Give the folder that `medical-tasks import` wrote, whole, or import again."
    )
    if not path.is_file():
        raise MissingError(f"{path}: not there. {advice}")

    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != mapping(recipe["model"]).get("sha256"):
        raise UsageError(
            f"{path}: not the answers that were scored (their sha256 differs). {advice}"
        )

    answer_sets = [SourceAnswers(texts={}) for _ in range(recipe.get("repeats", 1))]
    texts: list[dict[str, str]] = [{} for _ in answer_sets]
    reasons: list[dict[str, str]] = [{} for _ in answer_sets]
    cut: list[set[str]] = [set() for _ in answer_sets]
    for _, line in json_lines(path, content, form=_FORM):
        number, item = line["repeat"] - 1, line["id"]
        if line["response"] is None:
            reasons[number][item] = line["reason"]
        else:
            texts[number][item] = line["response"]

        if line.get("cut"):
            cut[number].add(item)

    repeats = [
        SourceAnswers(texts=responses, unanswered=unanswered, cut=frozenset(cut_items))
        for responses, unanswered, cut_items in zip(texts, reasons, cut, strict=True)
    ]
    return _answered_task(task, data, recipe, repeats, data.scoring_args)


def is_imported(recipe: Json) -> bool:
    """Whether the answers came from another harness."""
    return str(mapping(recipe.get("model")).get("name")).startswith(IMPORTED)


def _lines(answered: AnsweredTask) -> bytes:
    lines = (
        json.dumps(record, ensure_ascii=True) + "\n" for record in _records(answered)
    )
    return "".join(lines).encode("ascii")


def _records(answered: AnsweredTask) -> Iterator[JsonDict]:
    """Yields a record for each item of each repeat, as `kept_answers` reads them."""
    for number, answers in enumerate((answered, *answered.repeats), start=1):
        for item in answers.items:
            text = answers.responses.get(item.id)
            record: JsonDict = {"id": item.id, "repeat": number, "response": text}
            record |= {"reason": answers.unanswered[item.id]} if text is None else {}
            yield record | ({"cut": True} if item.id in answers.cut else {})
