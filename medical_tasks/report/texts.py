"""The items of a report with their texts: question, answer and gold. Of open data alone.

The texts are not in the run's results: questions and gold come from the built dataset,
answers from where the run left them (`run_responses`): its own store, a baseline made
again, the file or the run that `score` scored. Whatever cannot be found is left empty,
and a note says why and what would bring it; the report is made all the same.
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

    `note_words`: for credentialed data the words that scoring itself writes into its
    notes; None for open data. Rows of credentialed data are reduced here once more, so
    that a file that was not cannot give a text away.
    """
    items = []
    # Many items are in the same groups, and have the same values and notes.
    same_groups: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    same_values: dict[
        tuple[tuple[str, float | None], ...], dict[str, float | None]
    ] = {}
    same_notes: dict[str, str] = {}
    for row in rows:
        shown, digest = dict(row), str(row.get(DIGEST) or "")
        answer = texts.answers.get(row["id"])
        if note_words is not None:
            shown = redact_row(row, None, note_words=note_words)
        elif answer is not None:
            digest = hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()

        groups = tuple(
            (name.removeprefix(_GROUP), str(value))
            for name, value in shown.items()
            if name.startswith(_GROUP) and value is not None
        )
        values = tuple((name, finite(shown[name])) for name in metrics if name in shown)
        notes = (
            cut_middle(str(shown.get(name) or ""), NOTE_LENGTH)
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
    """A page is UTF-8, which cannot carry the lone surrogates that a model's text may hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, kw_only=True)
class TextPlaces:
    """Where texts are looked for.

    Attributes:
        data: folder of the built datasets, or of the one that is needed; None for the
            user's home.
        source: the one file that a dataset of the user's own is made of, in place of
            `data`.
        responses: files that `score` scored, and folders of runs whose answers it
            scored.
        upstream: the authors' checkout, for runs with the official prompts.
        items: whether items are read; without them only the data are, for plots.
    """

    data: Path | None = None
    source: Path | None = None
    responses: Sequence[Path] = ()
    upstream: Path | None = None
    items: bool = True


DEFAULT_PLACES = TextPlaces()


@dataclass(frozen=True, kw_only=True)
class TaskTexts:
    """What was found for one task of one run.

    Attributes:
        items: the dataset's, by id; none where the run's data are not here.
        questions: as the model saw them, by item.
        answers: by item.
        golds: by item.
        tables: the benchmark's, about the data and the run's numbers.
        missing: sentences that say what is not there and what would bring it; "" when
            all is.
        remark: sentences that say how to read what is there.
        unread: how many items, the last ones, a report has no room for.
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
        """All there is to say."""
        return " ".join(filter(None, (self.missing, self.remark)))


def find_texts(
    task: TaskSpec,
    spec: DatasetSpec,
    run: FinishedRun,
    places: TextPlaces,
    *,
    room: int,
) -> TaskTexts:
    """Finds the texts of a task's items in a run, of as many as `room` bytes may hold.

    Of credentialed data nothing is read.
    """
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
        # The run's own items, and no others.
        with run_data(
            task, spec, recipe, data=None if source else places.data, source=source
        ) as data:
            check_same_data(task, data, recipe)
            return _found(task, run, data, places, room)
    except (MissingError, UsageError) as error:
        return TaskTexts(
            missing="The run's data are not here, so questions, answers, gold and plots of them are "
            f"not shown: {said(error)}"
        )


def _found(
    task: TaskSpec, run: FinishedRun, data: TaskData, places: TextPlaces, room: int
) -> TaskTexts:
    """The texts of a task's items, until they would take more than `room` bytes.

    Each item is counted at the shortest length that texts are cut to, and a text that
    appears twice counts once; the items behind the last that fits go without texts.
    """
    items = {item.id: item for item in data.items}
    tables = task.benchmark.tables(task, run.entries[task.name], data.items, data.found)
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
    """What says what was asked about an item, why it is not there, and how to read it."""
    stated = recipe.get("prompts")
    name = stated["set"] if stated else "own"
    remark = (
        ""
        if stated
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
            f"Questions are not shown, since they cannot be put again: {said(error)}",
            "",
        )

    if stated and prompts.sha256 != stated["sha256"]:
        why = f"they were put with other prompts, by {recipe.get('suite')}. Use that version."
        return lambda item: "", f"Questions are not shown: {why}", ""

    cut = recipe.get("truncation", {}).get("words_left_out", {})

    def asked_of(item: Item) -> str:
        put = (
            prompts.shorten(item, cut[item.id])
            if prompts.shorten is not None and item.id in cut
            else item
        )
        return _showable(chat_text(prompts.render(put)))

    if "protocol" in recipe:
        several = "Of the several questions about an item the first is shown, and the final answer."
        remark = f"{remark} {several}".strip()

    return asked_of, "", remark


def chat_text(messages: Sequence[Message]) -> str:
    """Writes a chat as text.

    A single message of the user as it is, several with their roles before them.
    """
    if len(messages) == 1 and messages[0]["role"] == "user":
        return messages[0]["content"]
    return "\n\n".join(
        f"[{message['role']}]\n{message['content']}" for message in messages
    )


_RESPONSES = "responses/"
_BASELINE = "baseline/"


def check_places(places: Sequence[Path], recipes: Sequence[Json]) -> None:
    """Refuses files that no run of the report scored: a slip is no missing answer."""
    wanted = {_scored_file(recipe) for recipe in recipes} - {""}
    for path in places:
        if path.is_dir():
            continue

        if not path.is_file():
            raise MissingError(
                f"{path}: there is no such file. Give --responses the file that `score` scored, "
                "or the folder of the run."
            )

        if file_sha256(path) not in wanted:
            which = (
                "none of the runs scored a file"
                if not wanted
                else "its sha256 is of none that these runs scored"
            )
            raise UsageError(
                f"{path}: {which}. Give --responses the file that was scored, or leave it out."
            )


def _scored_file(recipe: Recipe) -> str:
    """SHA-256 of the file of answers that was scored; "" where a model or a baseline was asked."""
    model = recipe["model"]
    return str(model.get("sha256", "")) if model["name"].startswith(_RESPONSES) else ""


def _answers(
    task: TaskSpec,
    run: FinishedRun,
    data: TaskData,
    places: TextPlaces,
    shown: Collection[str],
) -> tuple[dict[str, str], str]:
    """The answers that were scored, by id of the items shown, and what is missing of them."""
    recipe = run.entries[task.name]["recipe"]
    wanted = _answered_of(run.rows[task.name], shown)
    if not str(recipe["model"]["name"]).startswith((_RESPONSES, _BASELINE)):
        # A store is asked for these alone; a file, or a baseline that draws on other
        # items, goes with all.
        data = replace(data, items=[item for item in data.items if item.id in shown])

    upstream = places.upstream if _asked_officially(recipe) else None
    file, others = _answer_places(recipe, places)
    answers: dict[str, str] = {}
    reason = ""
    for folder in (run.folder, *others):
        try:
            there = run_responses(
                task, data, recipe, folder, responses=file, upstream=upstream
            )
        except (MissingError, UsageError) as error:
            reason = reason or said(error)
            continue

        answers = {**{item: there[item] for item in there if item in wanted}, **answers}
        if len(answers) == len(wanted):
            return answers, ""

    if reason and not answers:
        return answers, f"Answers are not shown: {reason}"

    return answers, (
        f"{len(wanted) - len(answers)} of {len(wanted)} answers are not in the run's store. If "
        "`score` scored another run's answers, give that run's folder with --responses; else give "
        "the run's command again."
    )


def _answered_of(rows: Iterable[Row], shown: Collection[str]) -> set[str]:
    """The ids of the items shown that were answered."""
    return {
        row["id"]
        for row in rows
        if row["id"] in shown
        and not str(row.get("unscored") or "").startswith(UNANSWERED)
    }


def _answer_places(
    recipe: Recipe, places: TextPlaces
) -> tuple[Path | None, Sequence[Path]]:
    """The file of answers that was scored, and the folders of other runs that may hold them.

    A run scored anew has its answers in the folder of the first one.
    """
    digest = _scored_file(recipe)
    if not digest:
        return None, [path for path in places.responses if path.is_dir()]
    files = (path for path in places.responses if path.is_file())
    return next((path for path in files if file_sha256(path) == digest), None), ()


def _asked_officially(recipe: Recipe) -> bool:
    """Whether the authors' prompts were put, to a model or by a baseline that goes by them."""
    prompts = (recipe.get("prompts") or {}).get("set", "own")
    baseline = (recipe.get("baseline") or {}).get("prompts", "own")
    return (prompts, baseline) != ("own", "own")


def said(error: MedicalTasksError) -> str:
    """An error's message as a report tells it, which others read: without the user's home."""
    home = str(Path.home())
    return str(error).replace(home, "~") if len(home) > 1 else str(error)
