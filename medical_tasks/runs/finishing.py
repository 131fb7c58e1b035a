"""Turns answers into a run's files: scores them, with a judge where a task needs one, and writes the results.

`summary` turns a task's scores into its entry in `results.json`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import medical_tasks.plugins as plugins
from medical_tasks.catalog import package_of
from medical_tasks.errors import UsageError, doing, listed
from medical_tasks.guard.private_store import redact_reason, redact_row, redact_unclear
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.calibrating import Answers, Calibration, Corrections
from medical_tasks.runs.comparability import comparability
from medical_tasks.runs.confidence import (
    confidence_cells,
    confidence_figures,
    with_confidence,
)
from medical_tasks.runs.estimation import Limits
from medical_tasks.runs.folder import RunFolder
from medical_tasks.runs.recipes import mapping, metric_kinds
from medical_tasks.runs.repeating import Scores, Source, over_repeats
from medical_tasks.runs.results import (
    ANSWERED_BY_COLUMNS,
    SCHEMA_VERSION,
    SPENT_COLUMNS,
    ItemsFile,
    JsonDict,
    Results,
    TaskEntry,
    item_rows,
    write_run,
)
from medical_tasks.runs.summary import (
    ScoredTask,
    drawn_from_set,
    not_comparable,
    summary_of,
)
from medical_tasks.spec import Item, ItemScore, Scoring, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.judges.base import Judging
    from medical_tasks.runs.judging import RunJudge, TaskJudge

_BLOCK: Final = 2_000
"""Items scored at once, their texts in memory together, where no judge is asked."""
_NAMED: Final = 5
"""How many items a message names."""
_ROUNDING: Final = 1e-9
"""By how much a value may exceed its limits."""
PACKAGE_FAULT: Final = "a fault of the task's package"
"""The reason why items are unscored when their scorer failed."""


def score_responses(
    answered: AnsweredTask, judging: Judging | None = None
) -> dict[str, ItemScore]:
    """Scores the answered items of a task with the benchmark's own scorer."""
    scores: dict[str, ItemScore] = {}
    for block in _scored_blocks(answered, judging):
        scores |= block.scores
    return scores


@doing("score the answers and write the results")
def finish(
    answered: Sequence[AnsweredTask], folder: RunFolder, judge: RunJudge | None = None
) -> Results:
    """Scores answered tasks, writes the run's results and returns the content of `results.json`."""
    request = None if judge is None else judge.request
    official = request is not None and request.official
    calibration = None if request is None else request.calibration
    evaluations = 1 if request is None else request.options.evaluations
    private = folder.private
    check_evaluations(answered, evaluations)
    tasks = [
        _with_reported_metrics(task, official=official, private=private)
        for task in answered
    ]
    items = ItemsFile(
        name
        for task in tasks
        for name in _columns(task, calibration, private, evaluations)
    )
    entries: dict[str, TaskEntry] = {}
    verdicts: list[JsonDict] = []
    for original, task in zip(answered, tasks, strict=True):
        task_judge = None
        if judge is not None and task.task.judge:
            task_judge = judge.task_judge(task.task)

        recipe = _recipe(task, original.task, task_judge, official=official)
        scoring = _Scoring(
            task, task_judge, calibration, private, alone=len(tasks) == 1
        )
        entry = scoring.write(items, recipe)
        if task_judge is not None:
            task_judge.report(cast(JsonDict, entry), private=private)
            verdicts += task_judge.rows(private=private)

        entry["paper"] = comparability(original.task, entry).as_json()
        entries[task.task.name] = entry

    results: Results = {"schema_version": SCHEMA_VERSION, "tasks": entries}
    write_run(folder.path, results, items, verdicts=verdicts)
    return results


def check_evaluations(answered: Sequence[AnsweredTask], evaluations: int) -> None:
    """Refuses several evaluations of several answers: two things would vary at once."""
    repeated = [task.task.name for task in answered if task.repeats]
    if evaluations > 1 and repeated:
        raise UsageError(
            f"--evaluations {evaluations}: {', '.join(repeated)} was asked several times (--repeats), "
            "so it would be unknown whether answers or verdicts differ. Omit --evaluations, or judge a "
            "run without --repeats; --votes 3 with --repeats reports what the judge adds (sd_judge)."
        )


def _with_reported_metrics(
    answered: AnsweredTask, *, official: bool, private: bool
) -> AnsweredTask:
    """Returns an answered task and its repeats with only the metrics that are reported.

    For private data, reasons are reduced to classes that can hold no source text.
    """
    task = answered.task.reporting(answered.argument_names, official=official)
    arguments = answered.scoring_args
    repeats = [
        replace(repeat, task=task, scoring_args=arguments)
        for repeat in answered.repeats
    ]
    if private:
        repeats = [
            replace(repeat, unanswered=_redacted_reasons(repeat.unanswered))
            for repeat in repeats
        ]
        answered = replace(answered, unanswered=_redacted_reasons(answered.unanswered))

    return replace(answered, task=task, repeats=repeats)


def _redacted_reasons(reasons: Mapping[str, str]) -> dict[str, str]:
    return {item: redact_reason(reason) for item, reason in reasons.items()}


def _columns(
    task: AnsweredTask,
    calibration: Calibration | None,
    private: bool,
    evaluations: int,
) -> list[str]:
    """Names the columns of a task's rows: those of its first row, and those of a judge's errors.

    The file of items has one table for all tasks, so that its columns must be known before
    the first row.
    """
    first = task.items[:1]
    unanswered = replace(task, unanswered={item.id: "" for item in first})
    columns = [
        name for row in _rows(unanswered, first, {}, (), private) for name in row
    ]
    if calibration is not None and task.task.judge:
        columns += calibration.columns(task.task)

    if evaluations > 1 and task.task.judge:
        from medical_tasks.runs.evaluations import sd_columns

        columns += sd_columns(task.task)

    return columns


def _recipe(
    task: AnsweredTask, declared: TaskSpec, judge: TaskJudge | None, *, official: bool
) -> JsonDict:
    """Adds this scoring to the recipe of the answers, instead of any earlier scoring."""
    replaced = ("scoring", "adjudication", "evaluations")
    recipe = {
        name: value for name, value in task.recipe.items() if name not in replaced
    }
    may_report = {*declared.scoring_arguments, *task.argument_names}
    all_metrics = declared.reporting(may_report, official=official)
    recipe["metrics"] = metric_kinds(all_metrics)
    if task.task.scoring_arguments:
        identity = task.task.benchmark.scoring_identity(
            task.task, dict(task.scoring_args)
        )
        recipe |= {"scoring": identity} if identity else {}

    if judge is not None:
        recipe["judge"] = judge.recipe
        evaluations = len(judge.by_evaluation())
        recipe |= {"evaluations": evaluations} if evaluations > 1 else {}

    return recipe


def _add_confidence(entry: TaskEntry, task: AnsweredTask, scored: ScoredTask) -> None:
    """Adds the model's confidence, where it was asked for it or its probabilities tell it."""
    has_probabilities = any(
        score.probabilities for repeat in scored.repeats for score in repeat.values()
    )
    if has_probabilities or task.states_confidence:
        entry["confidence"] = confidence_figures(
            scored.task,
            scored.items,
            scored.repeats,
            source="probabilities" if has_probabilities else "asked",
        )


def _add_asking(entry: TaskEntry, task: AnsweredTask) -> None:
    """Adds figures about the asking: cut answers, usage, shortened questions."""
    repeats = (task, *task.repeats)
    entry["cut_at_length"] = sum(len(repeat.cut) for repeat in repeats)
    if thought_only := sum(len(repeat.thought_only) for repeat in repeats):
        entry["thought_only"] = thought_only
    if task.usage:
        entry["usage"] = task.usage
    if task.role_usage:
        entry["roles"] = dict(task.role_usage)
    if task.reported:
        entry["reported"] = list(task.reported)
    if "truncation" in task.recipe:
        entry["shortened"] = len(task.recipe["truncation"]["words_left_out"])


@dataclass
class _Scoring:
    """Scores a task block by block, writes the items' rows and keeps what its summary needs.

    Attributes:
        task: the answers, with those of further repeats.
        judge: the judge; None for a task without one.
        calibration: the judge's check by which scores are corrected; None for none.
        private: whether rows may hold no text of the data.
    """

    task: AnsweredTask
    judge: TaskJudge | None
    calibration: Calibration | None
    private: bool
    alone: bool = True
    """Whether it is the only task, so that a fault of its package ends the command."""
    adjudicated: list[str] = field(default_factory=list)
    """Items whose unclear answers were decided by adjudication."""
    corrections: Corrections = field(default_factory=Corrections)

    def write(self, items: ItemsFile, recipe: JsonDict) -> TaskEntry:
        """Scores the task, writes its rows to `items` and returns its entry in `results.json`."""
        task, judge = self.task, self.judge
        scored = self._score(items)
        summary = summary_of(scored, sample=drawn_from_set(recipe))
        if judge is not None and not judge.recipe["comparable"]:
            summary = not_comparable(summary, task.task)

        summary = self.corrections.beside(summary)
        if task.adjudication is not None:
            recipe["adjudication"] = task.adjudication.recipe(self.adjudicated)
            task.adjudication.note_unused(task.task, self.adjudicated)

        entry = summary.as_json(recipe)
        _add_confidence(entry, task, scored)
        _add_asking(entry, task)
        if judge is not None and scored.source == "evaluations":
            from medical_tasks.runs.evaluations import reliability  # slow

            entry["evaluations"] = reliability(scored, summary.metrics, judge.decided)

        return entry

    def _score(self, items: ItemsFile) -> ScoredTask:
        """Scores all repeats of all items, or all evaluations; rows go to `items`.

        All repeats go through the blocks together: a row has the values of each of them, and the
        items' texts need not stay in memory once it is written.
        """
        task = self.task
        judges: list[Judging | None] = [None]
        if self.judge is not None:
            judges = list(self.judge.by_evaluation())

        source: Source = "evaluations" if len(judges) > 1 else "repeats"
        # Either the repeats or the evaluations are one (`check_evaluations`).
        repeats = (task, *task.repeats) * len(judges)
        judges *= 1 + len(task.repeats)
        unanswered = [repeat.unanswered for repeat in repeats]
        limits = _unanswered_limits(task.task, task.items)
        kept: list[dict[str, ItemScore]] = [{} for _ in repeats]
        values: dict[tuple[tuple[str, float], ...], Mapping[str, float]] = {}
        blocks = (
            _scored_blocks(repeat, judging, (source, n), self.private, alone=self.alone)
            for n, (repeat, judging) in enumerate(zip(repeats, judges, strict=True), 1)
        )
        for block, *others in zip(*blocks, strict=True):
            scores = [repeat.scores for repeat in (block, *others)]
            item_scores = over_repeats(task.task, scores, unanswered)
            rows = _rows(task, block.items, item_scores, scores, self.private)
            if self.judge is not None and self.calibration is not None:
                from medical_tasks.runs.correcting import correct  # slow

                # Where a judge is asked, one block holds all items.
                model = str(mapping(task.recipe.get("model")).get("name") or "")
                answers = Answers(task.responses, model)
                self.corrections = correct(
                    self.calibration,
                    task.task,
                    task.items,
                    block.scores,
                    limits,
                    answers,
                )
                rows = self.corrections.added_to(rows)

            if source == "evaluations":
                from medical_tasks.runs.evaluations import with_sd

                rows = with_sd(task.task, rows, scores)

            items.add(rows)
            self.adjudicated += block.adjudicated
            for totals, scored in zip(kept, scores, strict=True):
                totals |= _without_texts(scored, values)

        return ScoredTask(
            task=task.task,
            items=task.items,
            repeats=kept,
            unanswered=unanswered,
            votes=self._by_vote() if source == "repeats" else [],
            source=source,
            limits=limits,
        )

    def _by_vote(self) -> list[list[Scores]]:
        """Returns the scores of each repeat by each of the judge's first two votes; empty without repeats."""
        repeats = (self.task, *self.task.repeats)
        if self.judge is None or len(repeats) == 1:
            return []
        return [
            [score_responses(repeat, vote) for repeat in repeats]
            for vote in self.judge.by_vote()
        ]


class _Block(NamedTuple):
    """Some of a task's items with their scores; a sheet decided the `adjudicated` ones."""

    items: Sequence[Item]
    scores: dict[str, ItemScore]
    adjudicated: list[str]


def _scored_blocks(
    answered: AnsweredTask,
    judging: Judging | None,
    origin: tuple[Source, int] = ("repeats", 1),
    private: bool = False,
    *,
    alone: bool = True,
) -> Iterator[_Block]:
    """Scores a task's items block by block; a judge is asked about all of them together.

    Verdicts of the second repeat or evaluation, and of later ones, are marked with its
    number. Where the task is not `alone`, a fault of its package leaves its items unscored.
    """
    task = answered.task
    scoring = Scoring(judging=judging, arguments=answered.scoring_args)
    for items in _blocks(answered):
        rows: list[JsonDict] = getattr(judging.judge, "rows", []) if judging else []
        before = len(rows)
        try:
            block = _scored_block(answered, items, scoring)
        except plugins.PluginError as error:
            if alone:
                raise

            # The error may quote private text.
            reason = PACKAGE_FAULT if private else error
            print(
                f"{task.name} is left unscored, and the others continue: {reason}",
                file=sys.stderr,
            )
            block = _unscored_block(answered, items)

        source, number = origin
        if number > 1:
            for row in rows[before:]:
                row[source.removesuffix("s")] = number

        if private:
            block = block._replace(scores=_redacted(task, block.scores))

        yield block


def _scored_block(
    answered: AnsweredTask, items: Sequence[Item], scoring: Scoring
) -> _Block:
    """Scores some items, the unclear ones by their adjudication."""
    task, responses = answered.task, answered.responses
    with (
        plugins.attributing_errors(),
        doing(f"score {len(responses):,} answers to {task.name}"),
    ):
        answered_items = [item for item in items if item.id in responses]
        answers = [answered.answer(item) for item in answered_items]
        returned = task.benchmark.score_items(task, answered_items, answers, scoring)
        check_scores(task, answered_items, returned)
        stated = answered.stated_confidences(answered_items)
        scores = {
            score.id: with_confidence(score, stated.get(score.id)) for score in returned
        }
        rescored = _adjudicated(answered, answered_items, scores, scoring)

    readings = answered.adjudication.readings if answered.adjudication else ()
    adjudicated = [
        name for name in rescored if name in readings and scores[name].unclear
    ]
    return _Block(items, scores | rescored, adjudicated)


def _unscored_block(answered: AnsweredTask, items: Sequence[Item]) -> _Block:
    """Leaves some items unscored, by a fault of their task's package."""
    scores = {
        item.id: ItemScore(id=item.id, values={}, unscored=PACKAGE_FAULT)
        for item in items
        if item.id in answered.responses
    }
    return _Block(items, scores, [])


def check_scores(task: TaskSpec, items: Sequence[Item], scores: object) -> None:
    """Checks what a benchmark's scorer returned; the scorer may come from another package.

    Raises:
        PluginError: The scores are not one `ItemScore` for each item, or a value lies
            outside of its metric's limits.
    """
    problem = _scores_problem(task, items, scores)
    if problem:
        package = package_of(task.benchmark)
        raise plugins.PluginError(
            f"{task.name} of the package {package}: score_items {problem}. That is a fault of the "
            "package; nothing was scored."
        )


def _scores_problem(task: TaskSpec, items: Sequence[Item], scores: object) -> str:
    """Describes what is wrong with the scores, as the end of a sentence; "" where nothing is."""
    if not isinstance(scores, Sequence) or not all(
        isinstance(score, ItemScore) for score in scores
    ):
        return f"must return a list of ItemScore, got {type(scores).__name__} of something else"

    ids = sorted(score.id for score in scores)
    if ids != sorted(item.id for item in items):
        return f"must return one score for each of {len(items)} items, got {len(ids)} scores"

    limits = {metric.name: metric.limits for metric in task.metrics}
    for score in scores:
        for name, value in score.values.items():
            low, high = limits.get(name, (-math.inf, math.inf))
            if (
                not math.isnan(value)
                and not low - _ROUNDING <= value <= high + _ROUNDING
            ):
                return (
                    f"gave item {score.id} a value of {name} outside of the metric's limits: "
                    f"{value:g}, not from {low:g} to {high:g}"
                )

    return ""


def _blocks(answered: AnsweredTask) -> Iterator[Sequence[Item]]:
    """Cuts a task's items into blocks; a task without items has one empty block.

    Adjacent items of one cluster are scored at once, since some metrics compare them.

    Example: with blocks of two, items of the clusters a, a, a, b are the blocks (a, a, a) and
    (b). A judge is asked about all items at once: they are one block.
    """
    items = answered.items
    size = max(1, len(items)) if answered.task.judge else _BLOCK
    start = 0
    while not start or start < len(items):
        end = start + size
        while end < len(items) and items[end].cluster == items[end - 1].cluster:
            end += 1

        yield items[start:end]
        start = end


def _adjudicated(
    answered: AnsweredTask,
    items: Sequence[Item],
    scores: Scores,
    scoring: Scoring,
) -> dict[str, ItemScore]:
    """Scores unclear answers again by their readings; readings of other answers are ignored."""
    if answered.adjudication is None:
        return {}

    texts, task = answered.adjudication.texts, answered.task
    unclear = [item for item in items if item.id in texts and scores[item.id].unclear]
    readings = {item.id: texts[item.id] for item in unclear}
    rescored_items = unclear
    if task.drawn_whole:  # a metric that compares answers needs the whole cluster
        clusters = {item.cluster for item in unclear}
        rescored_items = [item for item in items if item.cluster in clusters]

    answers = [answered.answer(item) for item in rescored_items]
    rescored = task.benchmark.score_items(
        task, rescored_items, answers, replace(scoring, readings=readings)
    )
    check_scores(task, rescored_items, rescored)
    _check_readings(task, readings, rescored)
    return {score.id: _with_reading(scores[score.id], score) for score in rescored}


def _check_readings(
    task: TaskSpec, readings: Mapping[str, str], rescored: Sequence[ItemScore]
) -> None:
    """Refuses readings in which the task's reader finds no clear answer."""
    unreadable = [
        score.id
        for score in rescored
        if readings.get(score.id) and (score.unclear or not score.parsed)
    ]
    if unreadable:
        # Names only the items: a reading may quote private text.
        raise UsageError(
            f"--adjudicated: {len(unreadable)} readings give no answer to {task.name}, or leave it "
            f"open: those of the items {listed(unreadable, _NAMED)}. In the column 'reading' write "
            f"{task.reads}; or 'none' where the reply gives none."
        )


def _with_reading(before: ItemScore, rescored: ItemScore) -> ItemScore:
    """Updates an answer's score by its reading; parts that no reading decides stay."""
    undecided = {
        name: limits
        for name, limits in before.limits.items()
        if name not in before.values
    }
    return replace(
        before,
        values={**before.values, **rescored.values},
        parsed=rescored.parsed,
        why=rescored.why,
        unclear=rescored.unclear,
        limits={**undecided, **rescored.limits},
        weights={**before.weights, **rescored.weights},
        notes=rescored.notes,
    )


def _redacted(task: TaskSpec, scores: Scores) -> dict[str, ItemScore]:
    """Returns the scores with their reasons reduced to classes that can hold no source text."""
    words = task.benchmark.note_words()
    return {
        name: replace(
            score,
            unscored=None if score.unscored is None else redact_reason(score.unscored),
            unclear=redact_unclear(score.unclear, note_words=words),
        )
        for name, score in scores.items()
    }


def _without_texts(
    scores: Scores, values: dict[tuple[tuple[str, float], ...], Mapping[str, float]]
) -> dict[str, ItemScore]:
    """Returns the scores without their texts, which are in the items' rows.

    Equal values are stored once, in `values`, as long as they are few, so that 50,000 items
    fit in memory.
    """
    light: dict[str, ItemScore] = {}
    for name, score in scores.items():
        key = tuple(score.values.items())
        few = key in values or len(values) < _BLOCK
        shared = values.setdefault(key, score.values) if few else score.values
        light[name] = replace(score, values=shared, parsed="", why="")

    return light


def _rows(
    task: AnsweredTask,
    items: Sequence[Item],
    scores: Scores,
    repeats: Sequence[Scores],
    private: bool,
) -> list[JsonDict]:
    """Makes the rows of some items, with the values of each repeat besides their mean."""
    rows = item_rows(
        task.task,
        items,
        scores,
        task.unanswered,
        sources=task.sources,
        question_counts=task.question_counts,
    )
    scores_by_repeat = repeats or [{}] * (1 + len(task.repeats))
    if task.states_confidence or task.task.asks == "choices":
        for row in rows:
            row |= confidence_cells(row["id"], scores_by_repeat)

    if task.repeats:
        for row in rows:
            row |= _repeat_cells(task.task, row, scores_by_repeat)

    if any(repeat.details for repeat in (task, *task.repeats)):
        for row, item in zip(rows, items, strict=True):
            row |= _spent_cells(task, item)

    if private:
        words = task.task.benchmark.note_words()
        rows = [
            redact_row(row, task.responses.get(row["id"]), note_words=words)
            for row in rows
        ]

    return rows


def _repeat_cells(task: TaskSpec, row: JsonDict, repeats: Sequence[Scores]) -> JsonDict:
    """Returns the values of an item's metrics in each repeat; None where it has no score."""
    scores = [repeat.get(row["id"]) for repeat in repeats]
    return {
        f"{metric.name}_repeat_{number}": score.values.get(metric.name)
        if score
        else None
        for metric in task.metrics
        if metric.name in row
        for number, score in enumerate(scores, 1)
    }


def _spent_cells(task: AnsweredTask, item: Item) -> JsonDict:
    """Sums the usage of an item's answers over repeats and names who gave them; None if unreported."""
    all_details = [
        details
        for repeat in (task, *task.repeats)
        if (details := repeat.details_of(item))
    ]
    cells: JsonDict = {}
    for name in SPENT_COLUMNS:
        counts = [details.get(name) for details in all_details]
        reported = [count for count in counts if count is not None]
        cells[name] = (
            sum(reported) if reported and len(reported) == len(counts) else None
        )

    for name in ANSWERED_BY_COLUMNS:
        names = dict.fromkeys(
            details[name] for details in all_details if details.get(name)
        )
        cells[name] = ", ".join(names) or None

    return cells


def _unanswered_limits(task: TaskSpec, items: Sequence[Item]) -> Limits | None:
    """Returns what metrics without limits of their own could be on an unanswered item."""
    if all(math.isfinite(limit) for metric in task.metrics for limit in metric.limits):
        return None

    limits_of = task.benchmark.unanswered_limits
    # An item may not count at all: its limits must allow any value that leaves the mean of
    # the other items, whichever they are, unchanged.
    widest: dict[str, tuple[float, float]] = {}
    for name in task.benchmark.sometimes_counted:
        limits = [
            item_limits[name]
            for item in items
            if name in (item_limits := limits_of(task, item))
        ]
        if limits:
            widest[name] = (
                min(low for low, _ in limits),
                max(high for _, high in limits),
            )

    return lambda item: {**limits_of(task, item), **widest}
