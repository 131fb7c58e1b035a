"""The answers of a run, wherever it left them: its own store, a baseline made again, the file or the run that `score` scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.runs.responses import run_responses
from medical_tasks.spec import TaskSpec

__all__ = ["answered_ids", "check_places", "find_answers", "said", "scored_file"]

_RESPONSES = "responses/"
_UNANSWERED = "no answer: "


def check_places(places: Sequence[Path], recipes: Sequence[Mapping[str, Any]]) -> None:
    """Refuses files that no run of the report scored, so that a slip is not taken for a missing answer.

    Args:
        places: what the user gave with `--responses`.
        recipes: of all tasks of all runs.

    Raises:
        MissingError: There is no such file.
        UsageError: It is another one than any run scored.
    """
    wanted = {scored_file(recipe) for recipe in recipes} - {""}
    for place in places:
        if place.is_dir():
            continue
        if not place.is_file():
            raise MissingError(
                f"{place}: there is no such file. Give --responses the file that `score` scored, or the folder of the run."
            )
        if file_sha256(place) not in wanted:
            known = "none of the runs scored a file" if not wanted else "its sha256 is of none that these runs scored"
            raise UsageError(f"{place}: {known}. Give --responses the file that was scored, or leave it out.")


def scored_file(recipe: Mapping[str, Any]) -> str:
    """SHA-256 of the file of answers that was scored, "" where a run asked a model or a baseline."""
    model = recipe["model"]
    return str(model.get("sha256", "")) if model["name"].startswith(_RESPONSES) else ""


def answered_ids(rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """Ids of the items that have an answer, by their rows of `items.parquet`."""
    return {row["id"] for row in rows if not str(row.get("unscored") or "").startswith(_UNANSWERED)}


def find_answers(
    task: TaskSpec,
    data: TaskData,
    recipe: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
    *,
    places: Sequence[Path],
    upstream: Path | None,
) -> tuple[dict[str, str], str]:
    """Finds the answers that were scored.

    Args:
        task: the task.
        data: the run's items.
        recipe: the task's recipe.
        rows: its rows of `items.parquet`.
        folder: the run's folder.
        places: files that were scored, and folders of runs whose answers were.
        upstream: the authors' checkout, for runs with the official prompts.

    Returns:
        Item id to text, and a sentence about what is missing ("" for nothing).
    """
    wanted = answered_ids(rows)
    asked = (("prompts", "set"), ("baseline", "prompts"))
    official = any((recipe.get(part) or {}).get(key, "own") != "own" for part, key in asked)
    digest = scored_file(recipe)
    file = next((place for place in places if digest and place.is_file() and file_sha256(place) == digest), None)
    found: dict[str, str] = {}
    reason = ""
    # A run scored anew has its answers in the folder of the first one.
    for place in [folder, *(each for each in places if each.is_dir() and not digest)]:
        try:
            there = run_responses(task, data, recipe, place, responses=file, upstream=upstream if official else None)
        except (MissingError, UsageError) as error:
            reason = reason or said(error)
            continue
        found |= {item: text for item, text in there.items() if item in wanted and item not in found}
        if len(found) == len(wanted):
            return found, ""
    if reason and not found:
        return found, f"Answers are not shown: {reason}"
    return found, (
        f"{len(wanted) - len(found)} of {len(wanted)} answers are not in the run's store. If `score` scored another run's answers, "
        "give that run's folder with --responses; else give the run's command again."
    )


def said(error: MedicalTasksError) -> str:
    """An error's message as a report tells it, which others read: without the user's home."""
    home = str(Path.home())
    return str(error).replace(home, "~") if len(home) > 1 else str(error)
