"""Verifying: whose answers are scored again, and are they those whose hashes are told?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.leaderboard.submission_package.hashes import answer_sha256
from medical_tasks.leaderboard.submission_package.problems import shown
from medical_tasks.leaderboard.submission_package.run_answers import answers_of_run
from medical_tasks.leaderboard.submission_package.verification import Check
from medical_tasks.leaderboard.submission_package.verify_options import VerifyOptions
from medical_tasks.runs.responses import read_responses
from medical_tasks.runs.results import read_results
from medical_tasks.spec import TaskSpec

__all__ = ["check_answers"]


def check_answers(
    package: Package, task: TaskSpec, rows: Sequence[Mapping[str, Any]], options: VerifyOptions
) -> tuple[Check, Mapping[str, str] | None]:
    """Compares the answers with their hashes.

    Args:
        package: with the answers to open data.
        task: the task.
        rows: its items.
        options: with the answers to credentialed data, or those of open data from elsewhere.

    Returns:
        The check, and item id to answer; None where there are none to score.
    """
    title = f"{task.name}: answers"
    answers: Mapping[str, str] | None = package.answers.get(task.name)
    source = "of the package"
    if options.responses is not None:
        try:
            answers = _given(task, rows, options.responses, options)
        except (MissingError, UsageError) as error:
            return Check(name=title, outcome="not checked", detail=str(error).split("\n", 1)[0]), answers
        source = "given here"
    if answers is None:
        detail = "the data are credentialed and the package holds no answers; give them with --responses FILE or RUN"
        return Check(name=title, outcome="not checked", detail=detail), None
    told = {row["id"]: row["answer_sha256"] for row in rows}
    wrong = [each for each in told if answer_sha256(answers.get(each)) != told[each]]
    wrong += [each for each in answers if each not in told]
    if wrong:
        detail = (
            f"{len(wrong)} of {len(told)} {source} are not those whose hash is told: {', '.join(map(shown, wrong[:3]))}"
        )
        return Check(name=title, outcome="mismatch", detail=detail), None
    unanswered = sum(not digest for digest in told.values())
    detail = f"{len(answers):,} {source} have the hash that is told" + (
        f", {unanswered} items have none" if unanswered else ""
    )
    return Check(name=title, outcome="match", detail=detail), answers


def _given(task: TaskSpec, rows: Sequence[Mapping[str, Any]], place: Path, options: VerifyOptions) -> Mapping[str, str]:
    if not place.is_dir():
        return read_responses(place, [row["id"] for row in rows])
    entries = read_results(place)["tasks"]
    if task.name not in entries:
        raise UsageError(f"{place}: has no answers to {task.name}, but to {', '.join(entries)}.")
    recipe = entries[task.name]["recipe"]
    return answers_of_run(
        task, recipe, place, responses=None, data=options.data, source=options.source, upstream=options.upstream
    )
