"""From answers to a run's files: scoring, by a judge where a task takes one, and results.

What happens to the scores of a task on their way to `results.json` is in `summary`.
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
"""Items that are scored at once where no judge is asked: their texts are in memory together."""
_NAMED: Final = 5
_ROUNDING: Final = 1e-9  # by which a value may exceed its limits
"""How many items a message names."""
PACKAGE_FAULT: Final = "a fault of the task's package"
"""Why items are unscored whose scorer failed."""


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
    tasks = [_reported(each, official=official, private=private) for each in answered]
    items = ItemsFile(
        name
        for task in tasks
        for name in _columns(task, calibration, private, evaluations)
    )
    entries: dict[str, TaskEntry] = {}
    verdicts: list[JsonDict] = []
    for original, task in zip(answered, tasks, strict=True):
        task_judge = (
            judge.task_judge(task.task)
            if judge is not None and task.task.judge
            else None
        )
        recipe = _recipe(task, original.task, task_judge, official=official)
        scoring = _Scoring(
            task, task_judge, calibration, private, alone=len(tasks) == 1
        )
        scored = scoring.run(items)
        summary = summary_of(scored, sample=drawn_from_set(recipe))
        if task_judge is not None and not task_judge.recipe["comparable"]:
            summary = not_comparable(summary, task.task)

        summary = scoring.corrections.beside(summary)
        if task.adjudication is not None:
            recipe["adjudication"] = task.adjudication.recipe(scoring.adjudicated)
            task.adjudication.note_unused(task.task, scoring.adjudicated)

        entry = summary.as_json(recipe)
        _add_confidence(entry, task, scored)
        _add_asking(entry, task)
        if task_judge is not None and scored.source == "evaluations":
            from medical_tasks.runs.evaluations import (
                reliability,
            )  # for these runs alone

            entry["evaluations"] = reliability(
                scored, summary.metrics, task_judge.decided
            )

        if task_judge is not None:
            task_judge.report(cast(JsonDict, entry), private=private)
            verdicts += task_judge.rows(private=private)

        entry["paper"] = comparability(original.task, entry).as_json()
        entries[task.task.name] = entry

    results: Results = {"schema_version": SCHEMA_VERSION, "tasks": entries}
    write_run(folder.path, results, items, verdicts=verdicts)
    return results


def check_evaluations(answered: Sequence[AnsweredTask], evaluations: int) -> None:
    """Refuses several evaluations of several answers: what varies would be two things at once."""
    repeated = [each.task.name for each in answered if each.repeats]
    if evaluations > 1 and repeated:
        raise UsageError(
            f"--evaluations {evaluations}: {', '.join(repeated)} was asked several times (--repeats), "
            "and it would not be known whether answers or verdicts differ. Leave it out, or judge a "
            "run without --repeats; --votes 3 with --repeats says what the judge adds (sd_judge)."
        )


def _reported(answered: AnsweredTask, *, official: bool, private: bool) -> AnsweredTask:
    """An answered task, and its repeats, with the metrics that are reported.

    Of private data reasons are reduced to classes that can hold no text of the source.
    """
    task = answered.task.reporting(answered.given, official=official)
    arguments = answered.scoring_args
    repeats = [
        replace(each, task=task, scoring_args=arguments) for each in answered.repeats
    ]
    if private:
        repeats = [
            replace(each, unanswered=_closed(each.unanswered)) for each in repeats
        ]
        answered = replace(answered, unanswered=_closed(answered.unanswered))

    return replace(answered, task=task, repeats=repeats)


def _closed(reasons: Mapping[str, str]) -> dict[str, str]:
    return {item: redact_reason(reason) for item, reason in reasons.items()}


def _columns(
    task: AnsweredTask,
    calibration: Calibration | None,
    private: bool,
    evaluations: int,
) -> list[str]:
    """The columns of a task's rows: those of its first, and those of a judge's errors."""
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
    """The recipe of the answers, and of this scoring in place of one that a run had before."""
    before = ("scoring", "adjudication", "evaluations")
    recipe = {name: value for name, value in task.recipe.items() if name not in before}
    may_report = {*declared.scoring_arguments, *task.given}
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
    """Adds how sure the model was, where it was asked or its probabilities say it."""
    known = any(
        score.probabilities for repeat in scored.repeats for score in repeat.values()
    )
    if known or task.states_confidence:
        entry["confidence"] = confidence_figures(
            scored.task,
            scored.items,
            scored.repeats,
            source="probabilities" if known else "asked",
        )


def _add_asking(entry: TaskEntry, task: AnsweredTask) -> None:
    """Adds what asking took: cut answers, usage, shortened questions."""
    repeats = (task, *task.repeats)
    entry["cut_at_length"] = sum(len(each.cut) for each in repeats)
    if thought_only := sum(len(each.thought_only) for each in repeats):
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
    """Scores a task block by block, writes the items' rows, and keeps what a summary needs."""

    task: AnsweredTask
    judge: TaskJudge | None
    calibration: Calibration | None
    private: bool
    alone: bool = True
    """Whether no other task waits, so that a fault of the task's package ends the command."""
    adjudicated: list[str] = field(default_factory=list)
    """Items whose unclear answers were decided by adjudication."""
    corrections: Corrections = field(default_factory=Corrections)

    def run(self, items: ItemsFile) -> ScoredTask:
        """Scores all repeats of all items, or all evaluations; rows go to `items`."""
        task = self.task
        judges: list[Judging | None] = [None]
        if self.judge is not None:
            judges = list(self.judge.by_evaluation())

        source: Source = "evaluations" if len(judges) > 1 else "repeats"
        # One of the two is of length 1 (`check_evaluations`).
        repeats = (task, *task.repeats) * len(judges)
        judges *= 1 + len(task.repeats)
        unanswered = [repeat.unanswered for repeat in repeats]
        limits = _unanswered_limits(task.task, task.items)
        kept: list[dict[str, ItemScore]] = [{} for _ in repeats]
        values: dict[tuple[tuple[str, float], ...], Mapping[str, float]] = {}
        blocks = (
            _scored_blocks(each, judging, (source, n), self.private, alone=self.alone)
            for n, (each, judging) in enumerate(zip(repeats, judges, strict=True), 1)
        )
        for block, *others in zip(*blocks, strict=True):
            scores = [each.scores for each in (block, *others)]
            together = over_repeats(task.task, scores, unanswered)
            rows = _rows(task, block.items, together, scores, self.private)
            if self.judge is not None and self.calibration is not None:
                from medical_tasks.runs.correcting import correct  # slow

                # Where a judge is asked, all items are one block.
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
            for own, scored in zip(kept, scores, strict=True):
                own |= _without_texts(scored, values)

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
        """The scores of each repeat by each of the judge's first votes; none without repeats."""
        repeats = (self.task, *self.task.repeats)
        if self.judge is None or len(repeats) == 1:
            return []
        return [
            [score_responses(repeat, vote) for repeat in repeats]
            for vote in self.judge.by_vote()
        ]


class _Block(NamedTuple):
    """Some of a task's items with their scores; `adjudicated` are those that a sheet decided."""

    items: Sequence[Item]
    scores: dict[str, ItemScore]
    adjudicated: list[str]


def _scored_blocks(
    answered: AnsweredTask,
    judging: Judging | None,
    of: tuple[Source, int] = ("repeats", 1),
    private: bool = False,
    *,
    alone: bool = True,
) -> Iterator[_Block]:
    """Scores a task's items block by block; a judge is asked about all of them together.

    Verdicts of the second repeat or evaluation, and of later ones, are marked with its
    number. Where the task is not `alone`, a fault of its package leaves its items unscored.
    """
    task, responses = answered.task, answered.responses
    scoring = Scoring(judging=judging, arguments=answered.scoring_args)
    for items in _blocks(answered):
        answered_items = [item for item in items if item.id in responses]
        rows: list[JsonDict] = getattr(judging.judge, "rows", []) if judging else []
        before = len(rows)
        decided: dict[str, ItemScore] = {}
        try:
            with (
                plugins.telling(),
                doing(f"score {len(responses):,} answers to {task.name}"),
            ):
                answers = [answered.answer(item) for item in answered_items]
                scored = task.benchmark.score_items(
                    task, answered_items, answers, scoring
                )
                check_scores(task, answered_items, scored)
                stated = answered.stated_confidences(answered_items)
                scores = {
                    score.id: with_confidence(score, stated.get(score.id))
                    for score in scored
                }
                decided = _adjudicated(answered, answered_items, scores, scoring)
        except plugins.PluginError as error:
            if alone:
                raise

            # of private data it may hold a text
            said = PACKAGE_FAULT if private else error
            print(
                f"{task.name} is left unscored, and the others go on: {said}",
                file=sys.stderr,
            )
            scores = {
                item.id: ItemScore(id=item.id, values={}, unscored=PACKAGE_FAULT)
                for item in answered_items
            }

        source, number = of
        for row in rows[before:] if number > 1 else ():
            row[source.removesuffix("s")] = number

        read = () if answered.adjudication is None else answered.adjudication.readings
        adjudicated = [
            name for name in decided if name in read and scores[name].unclear
        ]
        scores |= decided
        yield _Block(items, _redacted(task, scores) if private else scores, adjudicated)


def check_scores(task: TaskSpec, items: Sequence[Item], scores: object) -> None:
    """Checks what a benchmark's scorer returned, which may be another package's.

    Raises:
        PluginError: The scores are not one `ItemScore` for each item, or a value lies
            outside of its metric's limits.
    """
    problem = _scores_problem(task, items, scores)
    if problem:
        package = package_of(task.benchmark)
        raise plugins.PluginError(
            f"{task.name} of the package {package}: score_items {problem}. That is a fault of the "
            "package, and nothing was scored."
        )


def _scores_problem(task: TaskSpec, items: Sequence[Item], scores: object) -> str:
    """What is wrong with the scores of items, as the end of a sentence; "" where nothing is."""
    if not isinstance(scores, Sequence) or not all(
        isinstance(each, ItemScore) for each in scores
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
    """Cuts a task's items into blocks; one without items is a block too.

    Of a cluster that stands together all items are scored at once: some metrics compare
    them.
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
    """Scores unclear answers again by what somebody read in them.

    Other readings count for nothing.
    """
    if answered.adjudication is None:
        return {}

    texts, task = answered.adjudication.texts, answered.task
    unclear = [item for item in items if item.id in texts and scores[item.id].unclear]
    readings = {item.id: texts[item.id] for item in unclear}
    again = unclear
    if task.drawn_whole:  # what compares an answer with others is theirs as well
        clusters = {item.cluster for item in unclear}
        again = [item for item in items if item.cluster in clusters]

    answers = [answered.answer(item) for item in again]
    read = task.benchmark.score_items(
        task, again, answers, replace(scoring, readings=readings)
    )
    check_scores(task, again, read)
    unread = [
        score.id
        for score in read
        if readings.get(score.id) and (score.unclear or not score.parsed)
    ]
    if unread:
        # Only the items are named: a reading may quote an answer that nobody else may
        # see.
        raise UsageError(
            f"--adjudicated: {len(unread)} readings say no answer to {task.name}, or leave it "
            f"open: those of the items {listed(unread, _NAMED)}. In the column 'reading' write "
            f"{task.reads}; or 'none' where the reply gives none."
        )

    return {score.id: _read_anew(scores[score.id], score) for score in read}


def _read_anew(before: ItemScore, read: ItemScore) -> ItemScore:
    """The score of an answer by what somebody read in it; what rests on no reader stays."""
    undecided = {
        name: limits
        for name, limits in before.limits.items()
        if name not in before.values
    }
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


def _redacted(task: TaskSpec, scores: Scores) -> dict[str, ItemScore]:
    """The scores with reasons reduced to what can hold no text of the source."""
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
    """The scores without their texts, which stand in the items' rows.

    Equal values are held once, in `values`, as long as they are few: 50,000 items fit
    in memory.
    """
    small: dict[str, ItemScore] = {}
    for name, score in scores.items():
        key = tuple(score.values.items())
        few = key in values or len(values) < _BLOCK
        own = values.setdefault(key, score.values) if few else score.values
        small[name] = replace(score, values=own, parsed="", why="")

    return small


def _rows(
    task: AnsweredTask,
    items: Sequence[Item],
    scores: Scores,
    repeats: Sequence[Scores],
    private: bool,
) -> list[JsonDict]:
    """The rows of some items, with the values of each repeat beside their mean."""
    rows = item_rows(
        task.task,
        items,
        scores,
        task.unanswered,
        sources=task.sources,
        asked=task.asked,
    )
    if task.states_confidence or task.task.asks == "choices":
        for row in rows:
            given = repeats or [{}] * (1 + len(task.repeats))
            row |= confidence_cells(row["id"], given)

    metrics = task.task.metrics if task.repeats else ()
    for row in rows:
        for name in [metric.name for metric in metrics if metric.name in row]:
            for number in range(1 + len(task.repeats)):
                score = repeats[number].get(row["id"]) if repeats else None
                row[f"{name}_repeat_{number + 1}"] = (
                    score.values.get(name) if score else None
                )

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


def _spent_cells(task: AnsweredTask, item: Item) -> JsonDict:
    """What an item's answers took, all repeats together, and who gave them; None where not told."""
    told = [details for each in (task, *task.repeats) if (details := each.told(item))]
    cells: JsonDict = {}
    for name in SPENT_COLUMNS:
        counts = [details.get(name) for details in told]
        known = [count for count in counts if count is not None]
        cells[name] = sum(known) if known and len(known) == len(counts) else None

    for name in ANSWERED_BY_COLUMNS:
        names = dict.fromkeys(details[name] for details in told if details.get(name))
        cells[name] = ", ".join(names) or None

    return cells


def _unanswered_limits(task: TaskSpec, items: Sequence[Item]) -> Limits | None:
    """What metrics without limits of their own could be on an unanswered item."""
    if all(math.isfinite(limit) for metric in task.metrics for limit in metric.limits):
        return None

    limits_of = task.benchmark.unanswered_limits
    # An item that may not count at all must be able to leave the mean of the others
    # where it is, and that of any of them.
    widest: dict[str, tuple[float, float]] = {}
    for name in task.benchmark.sometimes_counted:
        limits = [
            each[name] for item in items if name in (each := limits_of(task, item))
        ]
        if limits:
            widest[name] = (
                min(low for low, _ in limits),
                max(high for _, high in limits),
            )

    return lambda item: {**limits_of(task, item), **widest}
