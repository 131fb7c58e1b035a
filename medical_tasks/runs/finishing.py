"""From answers to results: scoring each task, by a judge where it takes one, and writing the run's files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from medical_tasks.errors import UsageError, doing, listed
from medical_tasks.guard.private_store import redact_reason, redact_row, redact_unclear
from medical_tasks.judges.base import Judging
from medical_tasks.runs.calibrating import Answers, Corrections
from medical_tasks.runs.comparability import comparability
from medical_tasks.runs.estimation import Limits
from medical_tasks.runs.folder import RunFolder
from medical_tasks.runs.judging import RunJudge
from medical_tasks.runs.recipes import mapping, metric_kinds
from medical_tasks.runs.repeating import RepeatedEstimator, Scores, over_repeats
from medical_tasks.runs.results import SCHEMA_VERSION, ItemsFile, item_rows, summarise, write_run
from medical_tasks.runs.runner import AnsweredTask
from medical_tasks.spec import Item, ItemScore, Scoring, TaskSpec

_BLOCK: Final = 2_000
"""Items that are scored at once where no judge is asked: their texts are in memory together."""
_NAMED: Final = 5
"""How many items a message names."""


def score_responses(answered: AnsweredTask, judging: Judging | None = None) -> dict[str, ItemScore]:
    """Scores the answered items of a task with the benchmark's own scorer."""
    return {
        name: score
        for _, scores, _ in _scored_blocks(answered, judging)
        for name, score in scores.items()
    }


def _scored_blocks(
    answered: AnsweredTask, judging: Judging | None, repeat: int = 1
) -> Iterator[tuple[Sequence[Item], dict[str, ItemScore], list[str]]]:
    """Scores a task's items block by block; a judge is asked about all of them together.

    Of each block the items, their scores, and the items whose unclear answers were decided by adjudication.
    """
    task, responses = answered.task, answered.responses
    scoring = Scoring(judging=judging, arguments=answered.scoring_args)
    size = max(1, len(answered.items)) if task.judge else _BLOCK
    end = 0
    while not end or end < len(answered.items):
        start, end = end, end + size
        # Of a cluster that stands together all items are scored at once: some metrics compare them.
        while (
            0 < end < len(answered.items)
            and answered.items[end].cluster == answered.items[end - 1].cluster
        ):
            end += 1
        items = answered.items[start:end]
        asked = [item for item in items if item.id in responses]
        rows: list[dict[str, Any]] = getattr(judging.judge, "rows", []) if judging else []
        before = len(rows)
        with doing(f"score {len(responses):,} answers to {task.name}"):
            answers = [answered.answer(item) for item in asked]
            scores = task.benchmark.score_items(task, asked, answers, scoring)
        for row in rows[before:] if repeat > 1 else ():
            row["repeat"] = repeat
        found = {score.id: score for score in scores}
        decided = _adjudicated(answered, asked, found, scoring)
        yield items, found | decided, list(decided)


def _adjudicated(
    answered: AnsweredTask,
    items: Sequence[Item],
    scores: Scores,
    scoring: Scoring,
) -> dict[str, ItemScore]:
    """Scores unclear answers again by what somebody read in them; a reading of any other answer counts for nothing."""
    if answered.adjudication is None:
        return {}
    texts = answered.adjudication.texts
    unclear = [item for item in items if item.id in texts and scores[item.id].unclear]
    answers = [answered.answer(item) for item in unclear]
    read = answered.task.benchmark.score_items(
        answered.task, unclear, answers, replace(scoring, readings=texts)
    )
    _check_readings(answered.task, texts, read)
    return {score.id: _read_anew(scores[score.id], score) for score in read}


def _check_readings(task: TaskSpec, texts: Mapping[str, str], scores: Sequence[ItemScore]) -> None:
    """Refuses readings in which the task's reader finds no answer, or not one: all of them at once."""
    unread = [each.id for each in scores if texts[each.id] and (each.unclear or not each.parsed)]
    if not unread:
        return
    # Only the items are named: a reading may quote an answer that nobody else may see.
    raise UsageError(
        f"--adjudicated: {len(unread)} readings say no answer to {task.name}, or leave it open: "
        f"those of the items {listed(unread, _NAMED)}. "
        f"In the column 'reading' write {task.reads}; or 'none' where the reply gives none."
    )


def _read_anew(before: ItemScore, read: ItemScore) -> ItemScore:
    """The score of an answer by what somebody read in it; what rests on no reader stays as it was."""
    undecided = {name: each for name, each in before.limits.items() if name not in before.values}
    return replace(
        before,
        values={**before.values, **read.values},
        parsed=read.parsed,
        why=read.why,
        unclear=read.unclear,
        limits={**undecided, **read.limits},
        weights={**before.weights, **read.weights},
        notes=read.notes,
    )


@doing("score the answers and write the results")
def finish(
    answered: Sequence[AnsweredTask], folder: RunFolder, judge: RunJudge | None = None
) -> dict[str, Any]:
    """Scores answered tasks, writes the run's results and returns the content of `results.json`."""
    entries: dict[str, Any] = {}
    verdicts: list[dict[str, Any]] = []
    official = judge is not None and judge.request.official
    parts = [
        replace(each, task=each.task.reporting(each.scoring_args, official=official))
        for each in answered
    ]
    if folder.private:  # reasons are reduced to classes that can hold no text of the source
        parts = list(map(_closed, parts))
    # All rows of a task have the columns of its first, and those of its corrected values.
    firsts = [
        (replace(part, unanswered={item.id: "" for item in part.items[:1]}), part.items[:1])
        for part in parts
    ]
    columns = [
        name
        for each in firsts
        for row in _rows(*each, {}, (), private=folder.private)
        for name in row
    ]
    calibration = None if judge is None else judge.request.calibration
    if calibration is not None:
        columns += [
            name for part in parts if part.task.judge for name in calibration.columns(part.task)
        ]
    items = ItemsFile(columns)
    for part in parts:
        declared = next(each.task for each in answered if each.task.name == part.task.name)
        recipe = dict(part.recipe)
        recipe["metrics"] = metric_kinds(
            declared.reporting(declared.scoring_arguments, official=official)
        )
        for name in ("scoring", "adjudication"):  # of the scoring that a run had before
            recipe.pop(name, None)
        if part.task.scoring_arguments:
            identity = part.task.benchmark.scoring_identity(part.task, dict(part.scoring_args))
            recipe |= {"scoring": identity} if identity else {}
        task_judge = judge.task_judge(part.task) if judge is not None and part.task.judge else None
        if task_judge is not None:
            recipe["judge"] = task_judge.recipe
        limits = _unanswered_limits(part.task, part.items)
        corrections: Corrections | None = None
        judging = None if task_judge is None else task_judge.judging
        every = (
            part,
            *(
                replace(each, task=part.task, scoring_args=part.scoring_args)
                for each in part.repeats
            ),
        )
        kept: list[dict[str, ItemScore]] = [{} for _ in every]
        missing = [each.unanswered for each in every]
        alike: dict[
            Any, Mapping[str, float]
        ] = {}  # equal values are held once, as long as they are few
        decided: list[str] = []
        scored = (_scored_blocks(each, judging, number) for number, each in enumerate(every, 1))
        for blocks in zip(*scored, strict=True):
            founds = [found for _, found, _ in blocks]
            decided += blocks[0][2]
            for found, own in zip(founds, kept, strict=True):
                if folder.private:
                    found |= _closed_reasons(part.task, found)
                for name, score in found.items():
                    key = tuple(score.values.items())
                    few = key in alike or len(alike) < _BLOCK
                    values = alike.setdefault(key, score.values) if few else score.values
                    own[name] = replace(
                        score, values=values, parsed="", why=""
                    )  # its texts stand in its row
            rows = _rows(
                part,
                blocks[0][0],
                over_repeats(part.task, founds, missing),
                founds,
                private=folder.private,
            )
            if (
                task_judge is not None and calibration is not None
            ):  # all items are one block, where a judge is asked
                answers = Answers(
                    part.responses, str(mapping(part.recipe.get("model")).get("name") or "")
                )
                corrections = calibration.correct(part.task, part.items, founds[0], limits, answers)
                told = corrections.columns.items()
                rows = [
                    row | {name: values.get(row["id"]) for name, values in told} for row in rows
                ]
            items.add(rows)
        if part.adjudication is not None:
            recipe["adjudication"] = part.adjudication.recipe(decided)
            part.adjudication.note_unused(part.task, decided)
        scores = over_repeats(part.task, kept, missing)
        known: dict[str, Any] = {"unanswered_limits": limits}
        if part.repeats:
            judgings = task_judge.by_vote() if task_judge is not None else []
            votes = [[score_responses(each, one) for each in every] for one in judgings]
            known["estimator"] = RepeatedEstimator(
                part.task, scores, kept, votes, items=len(part.items), **known
            )
        unanswered = {
            name: reason for name, reason in part.unanswered.items() if name not in scores
        }
        entry = summarise(part.task, part.items, scores, unanswered, recipe=recipe, **known)
        entry["cut_at_length"] = sum(len(each.cut) for each in every)
        if part.usage:
            entry["usage"] = part.usage
        if "truncation" in recipe:
            entry["shortened"] = len(recipe["truncation"]["words_left_out"])
        if task_judge is not None:
            task_judge.report(entry, private=folder.private)
            verdicts.extend(task_judge.rows(private=folder.private))
        if corrections is not None:
            entry["metrics"] = corrections.beside(entry["metrics"])
        entry["paper"] = comparability(declared, entry).as_json()
        entries[part.task.name] = entry
    results = {"schema_version": SCHEMA_VERSION, "tasks": entries}
    write_run(folder.path, results, items, verdicts=verdicts)
    return results


def _rows(
    part: AnsweredTask,
    items: Sequence[Item],
    scores: Scores,
    repeats: Sequence[Scores],
    *,
    private: bool,
) -> list[dict[str, Any]]:
    made = item_rows(
        part.task, items, scores, part.unanswered, sources=part.sources, asked=part.asked
    )
    for row, metric in (
        (row, each)
        for row in made
        for each in part.task.metrics
        if part.repeats and each.name in row
    ):
        for number in range(1 + len(part.repeats)):
            score = repeats[number].get(row["id"]) if repeats else None
            row[f"{metric.name}_repeat_{number + 1}"] = (
                None if score is None else score.values.get(metric.name)
            )
    if private:
        words = part.task.benchmark.note_words()
        made = [redact_row(row, part.responses.get(row["id"]), note_words=words) for row in made]
    return made


def _closed(part: AnsweredTask) -> AnsweredTask:
    return replace(
        part, unanswered=_redacted(part.unanswered), repeats=list(map(_closed, part.repeats))
    )


def _redacted(reasons: Mapping[str, str]) -> dict[str, str]:
    return {item: redact_reason(reason) for item, reason in reasons.items()}


def _closed_reasons(task: TaskSpec, scores: Scores) -> dict[str, ItemScore]:
    """The scores that have a reason, reduced to what can hold no text of the source."""
    words = task.benchmark.note_words()
    made: dict[str, ItemScore] = {}
    for name, score in scores.items():
        if score.unscored is not None or score.unclear:
            unscored = None if score.unscored is None else redact_reason(score.unscored)
            unclear = redact_unclear(score.unclear, note_words=words)
            made[name] = replace(score, unscored=unscored, unclear=unclear)
    return made


def _unanswered_limits(task: TaskSpec, items: Sequence[Item]) -> Limits | None:
    if all(math.isfinite(limit) for metric in task.metrics for limit in metric.limits):
        return None
    known = task.benchmark.unanswered_limits
    # An item that may not count at all must be able to leave the mean of the others where it is, and that of any of them.
    widest: dict[str, tuple[float, float]] = {}
    for name in task.benchmark.sometimes_counted:
        each = [known(task, item)[name] for item in items if name in known(task, item)]
        if each:
            widest[name] = (min(low for low, _ in each), max(high for _, high in each))
    return lambda item: {**known(task, item), **widest}
