"""Finds the texts of a report's items, for open data only: question, answer and gold.

The run's results do not hold the texts: questions and gold come from the built dataset, answers
from where the run left them (`run_responses`): its own store, a recomputed baseline, the file
or the run that `score` scored. Texts that cannot be found stay empty, and a note says why and
how to provide them; the report is written nevertheless.

- **question**: from the built dataset, with the run's prompts (their hash must match) and
  truncation; for a baseline or a scored file the suite's own prompt
- **gold**: the benchmark's reference, written as an answer
- **answer**: from the run's store; a baseline is run again; for `score` the scored file
  (matched by SHA-256), or the run whose answers were scored
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.task_data import TaskData, run_data
from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.guard.policy import text_allowed
from medical_tasks.guard.private_store import redact_row
from medical_tasks.report.entries import Recipe
from medical_tasks.report.folders import FinishedRun
from medical_tasks.report.page_data import (
    LENGTHS,
    NOTE_LENGTH,
    ReportItem,
    ReportVerdict,
    cut_middle,
    size_of,
)
from medical_tasks.report.plots import finite
from medical_tasks.runs.confidence import RECIPE_KEY
from medical_tasks.runs.replaying import check_recipe, check_same_data, run_responses
from medical_tasks.runs.results import Json, Row
from medical_tasks.runs.runner import RunOptions, load_task_prompts
from medical_tasks.spec import UNANSWERED, DatasetSpec, Item, Message, Table, TaskSpec

DIGEST = "response_sha256"
_GROUP = "group_"
_SHA256 = re.compile(r"[0-9a-f]{64}")


def report_items(
    rows: Sequence[Row],
    metrics: Collection[str],
    texts: TaskTexts,
    verdicts: Mapping[str, tuple[ReportVerdict, ...]],
    *,
    note_words: Collection[str] | None,
) -> tuple[ReportItem, ...]:
    """Makes the items of one task of one run from its rows of `items.parquet`.

    `note_words`: for credentialed data the words that scoring itself writes into its notes;
    None for open data. Rows of credentialed data are redacted here again, in case the file was
    not.
    """
    items = []
    # Many items share groups, values and notes: each is stored once.
    same_groups: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    same_values: dict[
        tuple[tuple[str, float | None], ...], dict[str, float | None]
    ] = {}
    same_notes: dict[str, str] = {}
    for row in rows:
        cells, digest = dict(row), str(row.get(DIGEST) or "")
        answer = texts.answers.get(row["id"])
        if note_words is not None:
            cells = redact_row(row, None, note_words=note_words)
        elif answer is not None:
            digest = hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()

        groups = tuple(
            (name.removeprefix(_GROUP), str(value))
            for name, value in cells.items()
            if name.startswith(_GROUP) and value is not None
        )
        values = tuple((name, finite(cells[name])) for name in metrics if name in cells)
        notes = (
            cut_middle(str(cells.get(name) or ""), NOTE_LENGTH)
            for name in ("parsed", "why", "unscored", "unclear")
        )
        parsed, why, unscored, unclear = (
            same_notes.setdefault(note, note) for note in notes
        )
        items.append(
            ReportItem(
                id=row["id"],
                groups=same_groups.setdefault(groups, dict(groups)),
                values=same_values.setdefault(values, dict(values)),
                question=texts.questions.get(row["id"], ""),
                answer=_showable(answer or ""),
                gold=texts.golds.get(row["id"], ""),
                parsed=parsed,
                why=why,
                unscored=unscored,
                unclear=unclear,
                answer_sha256=digest if _SHA256.fullmatch(digest) else "",
                verdicts=verdicts.get(row["id"], ()),
            )
        )

    return tuple(items)


def _showable(text: str) -> str:
    """Escapes the lone surrogates that a model's text may hold: a page's UTF-8 cannot encode them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, kw_only=True)
class TextPlaces:
    """Where to find the texts.

    Attributes:
        data: the folder of the built datasets, or of the one needed; None for the user's
            home.
        source: the file of a dataset of the user's own, instead of `data`.
        responses: files that `score` scored, and folders of runs whose answers it scored.
        upstream: the authors' checkout, for runs with the official prompts.
        items: whether items are read; otherwise only the data are, for plots.
    """

    data: Path | None = None
    source: Path | None = None
    responses: Sequence[Path] = ()
    upstream: Path | None = None
    items: bool = True


DEFAULT_PLACES = TextPlaces()


@dataclass(frozen=True, kw_only=True)
class TaskTexts:
    """The texts of one task of one run.

    Attributes:
        items: the dataset's items by id; empty if the run's data are missing.
        questions: the questions as the model saw them, by item id.
        answers: the answers by item id.
        golds: the references by item id.
        tables: the benchmark's tables about the data and the run's numbers.
        missing: sentences that say what is missing and how to provide it; "" if nothing is.
        remark: sentences that say how to read the texts.
        unread: how many items, the last ones, the report has no room for.
    """

    items: Mapping[str, Item] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    golds: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    missing: str = ""
    remark: str = ""
    unread: int = 0

    @property
    def note(self) -> str:
        """All sentences about the texts."""
        return " ".join(filter(None, (self.missing, self.remark)))


def find_texts(
    task: TaskSpec,
    spec: DatasetSpec,
    run: FinishedRun,
    places: TextPlaces,
    *,
    room: int,
) -> TaskTexts:
    """Finds the texts of a task's items in a run, up to `room` bytes; none for credentialed data."""
    entry = run.entries[task.name]
    if not text_allowed(spec):
        return TaskTexts(
            tables=task.benchmark.tables(task, entry, (), {}),
            remark=f"{spec.title}: credentialed data, of which ids, scores and hashes are shown and "
            "no text.",
        )

    recipe = entry["recipe"]
    try:
        check_recipe(run.folder, recipe)
        source = places.source if recipe["data"]["config"] == "own" else None
        # Only the run's own items.
        with run_data(
            task, spec, recipe, data=None if source else places.data, source=source
        ) as data:
            check_same_data(task, data, recipe)
            return _read_texts(task, run, data, places, room)
    except (MissingError, UsageError) as error:
        return TaskTexts(
            missing="The run's data are not here, so questions, answers, gold and plots of them are "
            f"not shown: {public_message(error)}"
        )


def _read_texts(
    task: TaskSpec, run: FinishedRun, data: TaskData, places: TextPlaces, room: int
) -> TaskTexts:
    """Reads the texts of a task's items until they would take more than `room` bytes.

    Texts count at the shortest length that they may be cut to, and a repeated text counts once;
    items after the last that fits have no texts.
    """
    items = {item.id: item for item in data.items}
    tables = task.benchmark.tables(
        task, run.entries[task.name], data.items, data.scoring_args
    )
    if not places.items:
        return TaskTexts(items=items, tables=tables)

    question, no_questions, remark = _questions(
        task, data, run.entries[task.name]["recipe"], places
    )
    questions: dict[str, str] = {}
    golds: dict[str, str] = {}
    seen: set[str] = set()
    for item in data.items:
        questions[item.id], golds[item.id] = (
            question(item),
            _showable(task.benchmark.gold_response(task, item)),
        )
        least = {
            cut_middle(text, LENGTHS[-1])
            for text in (questions[item.id], golds[item.id])
        } - seen
        room -= sum(map(size_of, least))
        seen |= least
        if room < 0:
            break

    answers, no_answers = _answers(task, run, data, places, golds)
    return TaskTexts(
        items=items,
        tables=tables,
        questions=questions,
        answers=answers,
        golds=golds,
        missing=" ".join(filter(None, (no_questions, no_answers))),
        remark=remark,
        unread=len(items) - len(golds),
    )


def _questions(
    task: TaskSpec, data: TaskData, recipe: Recipe, places: TextPlaces
) -> tuple[Callable[[Item], str], str, str]:
    """Returns a function for an item's question, why there is none, and how to read it."""
    recipe_prompts = recipe.get("prompts")
    name = recipe_prompts["set"] if recipe_prompts else "own"
    remark = (
        ""
        if recipe_prompts
        else "No model was asked here: questions are shown as this suite's own prompts put them."
    )
    options = RunOptions(
        prompts=name,
        upstream=places.upstream if name != "own" else None,
        task_args=recipe.get("task_args", {}),
        confidence=recipe.get(RECIPE_KEY, "none"),
    )
    try:
        prompts = load_task_prompts(task, options, data)
    except (MissingError, UsageError) as error:
        return (
            lambda item: "",
            f"Questions are not shown, since they cannot be put again: {public_message(error)}",
            "",
        )

    if recipe_prompts and prompts.sha256 != recipe_prompts["sha256"]:
        why = f"they were put with other prompts, by {recipe.get('suite')}. Use that version."
        return lambda item: "", f"Questions are not shown: {why}", ""

    cut = recipe.get("truncation", {}).get("words_left_out", {})

    def question_text(item: Item) -> str:
        shortened = (
            prompts.shorten(item, cut[item.id])
            if prompts.shorten is not None and item.id in cut
            else item
        )
        return _showable(chat_text(prompts.render(shortened)))

    if "protocol" in recipe:
        several = "Of the several questions about an item the first is shown, and the final answer."
        remark = f"{remark} {several}".strip()

    return question_text, "", remark


def chat_text(messages: Sequence[Message]) -> str:
    """Writes a chat as text: a single user message unchanged, several with their roles."""
    if len(messages) == 1 and messages[0]["role"] == "user":
        return messages[0]["content"]
    return "\n\n".join(
        f"[{message['role']}]\n{message['content']}" for message in messages
    )


_RESPONSES = "responses/"
_BASELINE = "baseline/"


def check_places(places: Sequence[Path], recipes: Sequence[Json]) -> None:
    """Refuses files that no run of the report scored, which are likely mistakes."""
    scored_files = {_scored_file(recipe) for recipe in recipes} - {""}
    for path in places:
        if path.is_dir():
            continue

        if not path.is_file():
            raise MissingError(
                f"{path}: there is no such file. Give --responses the file that `score` scored, "
                "or the folder of the run."
            )

        if file_sha256(path) not in scored_files:
            which = (
                "none of the runs scored a file"
                if not scored_files
                else "its sha256 matches no file that these runs scored"
            )
            raise UsageError(
                f"{path}: {which}. Give --responses the file that was scored, or leave it out."
            )


def _scored_file(recipe: Recipe) -> str:
    """Returns the SHA-256 of the scored file of answers; "" if a model or a baseline answered."""
    model = recipe["model"]
    return str(model.get("sha256", "")) if model["name"].startswith(_RESPONSES) else ""


def _answers(
    task: TaskSpec,
    run: FinishedRun,
    data: TaskData,
    places: TextPlaces,
    item_ids: Collection[str],
) -> tuple[dict[str, str], str]:
    """Returns the scored answers by item id, and a sentence about missing ones."""
    recipe = run.entries[task.name]["recipe"]
    answered = _answered_of(run.rows[task.name], item_ids)
    if not str(recipe["model"]["name"]).startswith((_RESPONSES, _BASELINE)):
        # A store needs only these items; a file, or a baseline that draws on other items,
        # needs all.
        data = replace(data, items=[item for item in data.items if item.id in item_ids])

    upstream = places.upstream if _asked_officially(recipe) else None
    file, others = _answer_places(recipe, places)
    answers: dict[str, str] = {}
    reason = ""
    for folder in (run.folder, *others):
        try:
            stored = run_responses(
                task, data, recipe, folder, responses=file, upstream=upstream
            )
        except (MissingError, UsageError) as error:
            reason = reason or public_message(error)
            continue

        answers = {
            **{item: stored[item] for item in stored if item in answered},
            **answers,
        }
        if len(answers) == len(answered):
            return answers, ""

    if reason and not answers:
        return answers, f"Answers are not shown: {reason}"

    return answers, (
        f"{len(answered) - len(answers)} of {len(answered)} answers are not in the run's store. If "
        "`score` scored another run's answers, give that run's folder with --responses; else give "
        "the run's command again."
    )


def _answered_of(rows: Iterable[Row], item_ids: Collection[str]) -> set[str]:
    """Returns the ids of the items that were answered."""
    return {
        row["id"]
        for row in rows
        if row["id"] in item_ids
        and not str(row.get("unscored") or "").startswith(UNANSWERED)
    }


def _answer_places(
    recipe: Recipe, places: TextPlaces
) -> tuple[Path | None, Sequence[Path]]:
    """Returns the scored file of answers, and the folders of other runs that may hold them.

    The answers of a run that was scored again are in the folder of the first run.
    """
    digest = _scored_file(recipe)
    if not digest:
        return None, [path for path in places.responses if path.is_dir()]
    files = (path for path in places.responses if path.is_file())
    return next((path for path in files if file_sha256(path) == digest), None), ()


def _asked_officially(recipe: Recipe) -> bool:
    """Whether the authors' prompts were used, by a model or by a baseline."""
    prompts = (recipe.get("prompts") or {}).get("set", "own")
    baseline = (recipe.get("baseline") or {}).get("prompts", "own")
    return (prompts, baseline) != ("own", "own")


def public_message(error: MedicalTasksError) -> str:
    """Returns an error's message without the user's home, since others read the report."""
    home = str(Path.home())
    return str(error).replace(home, "~") if len(home) > 1 else str(error)
