"""Scores answers again by the benchmark's own scorer, with the package's verdicts or its judge.

A verdict is used only for the exact question on which it was given, and the judge's text
is parsed again, so that it contradicts an inverted verdict. Whether the text is the
judge's can only be checked by asking the judge again about a sample (`--judge`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from medical_tasks.errors import UsageError
from medical_tasks.io.store import Store
from medical_tasks.io.untrusted import shown
from medical_tasks.judges.base import (
    Judge,
    JudgeOptions,
    Question,
    Unreadable,
    Unscored,
    Verdict,
)
from medical_tasks.judges.case import UNREADABLE, asked_sha256
from medical_tasks.judges.lexical import decide
from medical_tasks.leaderboard.submission_package.contents import Found, VerifyOptions
from medical_tasks.leaderboard.submission_package.privacy import (
    scrub_recipe,
    texts_allowed,
)
from medical_tasks.leaderboard.submission_package.results import (
    counts_unclear,
    differences,
    entry_differences,
    in_words,
    item_columns,
    without_judged,
)
from medical_tasks.report.entries import Entry, Recipe
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.finishing import finish, score_responses
from medical_tasks.runs.folder import RunFolder
from medical_tasks.runs.judging import RECORDED, JudgeRequest, RunJudge, TaskJudge
from medical_tasks.runs.results import (
    VERDICTS_FILE,
    JsonDict,
    Row,
    read_items,
    read_verdicts,
)
from medical_tasks.spec import TaskSpec

_SHOWN: Final = 3
_BY_WORDS: Final = JudgeRequest(
    name="lexical", args={}, options=JudgeOptions(), mode="single", prompts="own"
)


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The outcome of scoring again.

    `replay` replaced the judge; `left` are the metrics that could not be computed here.
    """

    entry: Entry
    rows: Sequence[Row]
    verdicts: Sequence[Row]
    replay: Replay | None
    left: tuple[str, ...]


def scored_again(
    answered: AnsweredTask,
    reported: TaskSpec,
    verdicts: Sequence[Row],
    options: VerifyOptions,
    scratch: Path,
) -> Scored:
    """Scores answers again in `scratch`, an empty folder.

    `reported` has the metrics that the package reports.
    """
    private = not texts_allowed(answered.task)
    run = RunFolder(scratch / "run", home=scratch if private else None, private=private)
    judge = _rescoring_judge(answered, verdicts, options, scratch)
    with judge or contextlib.nullcontext():
        results = finish([answered], run, judge)

    return Scored(
        entry=results["tasks"][answered.task.name],
        rows=read_items(run.path),
        verdicts=read_verdicts(run.path),
        replay=judge if isinstance(judge, Replay) else None,
        left=tuple(
            metric.name
            for metric in reported.metrics
            if metric.needs and metric.needs not in answered.argument_names
        ),
    )


def _rescoring_judge(
    answered: AnsweredTask,
    verdicts: Sequence[Row],
    options: VerifyOptions,
    scratch: Path,
) -> RunJudge | None:
    """Makes the judge: the lexical one if the package used it, else the package's verdicts."""
    recipe, store = answered.recipe["judge"], scratch / "verdicts.sqlite"
    if recipe is None:
        # A task with a judge cannot be scored without any. Its judged figures are not
        # compared here, so that any judge will do.
        needs_any = answered.task.judge
        return RunJudge(_BY_WORDS, store=store, log_dir=scratch) if needs_any else None

    if recipe["name"] == "lexical":
        request = judge_request(recipe, options, name="lexical")
        return RunJudge(request, store=store, log_dir=scratch)

    file = scratch / VERDICTS_FILE
    file.write_text(
        "".join(f"{json.dumps(dict(row))}\n" for row in verdicts), encoding="ascii"
    )
    request = judge_request(recipe, options, name=f"{RECORDED}{file}")
    replay = Replay(request, store=store, log_dir=scratch)
    # Of several votes, the text in the package may be that of another vote.
    if recipe["votes"] == 1:
        replay.unread = {
            (row["id"], row["sha256"]): row["text"]
            for row in verdicts
            if row.get("unscored") == UNREADABLE and row.get("text")
        }

    return replay


def check_scores(
    reported: TaskSpec,
    entry: Entry,
    rows: Sequence[Row],
    scored: Scored,
) -> Found:
    """Compares items one by one."""
    computed = {row["id"]: row for row in scored.rows}
    columns = _compared_columns(reported, entry, scored)
    wrong = []
    for row in rows:
        stated, own = (
            {name: cells.get(name) for name in columns}
            for cells in (row, computed.get(row["id"], {}))
        )
        difference = next(differences(stated, own, (shown(row["id"]),)), None)
        if difference is None:
            continue

        path = difference[0]
        is_hidden = path[-1] in ("parsed", "why")
        wrong.append(
            f"{', '.join(path)}: reads otherwise" if is_hidden else in_words(difference)
        )

    left = (
        f". Not checked, for want of what they need: {', '.join(scored.left)}"
        if scored.left
        else ""
    )
    if wrong:
        return (
            "mismatch",
            f"{len(wrong)} of {len(rows)} items score otherwise: {'; '.join(wrong[:_SHOWN])}{left}",
        )

    return "match", f"{len(rows):,} items score the same, metric by metric{left}"


def _compared_columns(reported: TaskSpec, entry: Entry, scored: Scored) -> list[str]:
    """The columns of items that were computed here and that the package can have."""
    skipped: set[str] = set()
    if not counts_unclear(entry):
        skipped.add("unclear")
    if reported.judge and entry["recipe"]["judge"] is None:
        skipped |= {"parsed", "why"}

    return [
        name
        for name in item_columns(reported)
        if name not in skipped and (not scored.rows or name in scored.rows[0])
    ]


def check_results(reported: TaskSpec, entry: Entry, scored: Scored) -> Found:
    """Compares metrics, intervals, bounds, breakdowns and coverage."""
    left = {
        *scored.left,
        *(
            metric.whole
            for metric in reported.metrics
            if metric.name in scored.left and metric.whole
        ),
    }
    left |= {
        metric.name
        for metric in reported.metrics
        if metric.kind == "average" and scored.left
    }
    unjudged = reported.judge and entry["recipe"]["judge"] is None
    computed = without_judged(reported, scored.entry) if unjudged else scored.entry
    beyond = frozenset() if counts_unclear(entry) else _beyond_older(reported)
    wrong = [
        difference
        for difference in entry_differences(entry, computed)
        if not left.intersection(difference[0])
        and not beyond.intersection((difference[0][:2], difference[0][-2:]))
    ]
    if wrong:
        return "mismatch", f"{len(wrong)} numbers differ: {in_words(wrong[0])}"

    return "match", "values, intervals, bounds, breakdowns and coverage are the same"


def _beyond_older(task: TaskSpec) -> frozenset[tuple[str, ...]]:
    """Returns the paths of figures about unclear answers, which older packages lack."""
    ends = ("bound_low", "bound_high")
    read = {
        name
        for metric in task.metrics
        if metric.read
        for name in (metric.name, metric.whole)
        if name
    }
    reasons = ("coverage", "unclear")

    return frozenset({reasons, *((name, end) for name in read for end in ends)})


LEAST_AGREEMENT: Final = 0.8
"""If fewer verdicts of a sampling judge are equal, the check fails."""

LEAST_VERDICTS: Final = 20
"""From this number of verdicts on, full agreement with the lexical judge is suspicious."""

_ALWAYS_SAME: Final = ("lexical", "nli")
_FROM_FILE: Final = "recorded"


def judge_request(recipe: Recipe, options: VerifyOptions, *, name: str) -> JudgeRequest:
    """Makes a request like that of a recipe's judge, for the judge `name`."""
    judge_options = JudgeOptions(
        votes=1 if name.startswith(RECORDED) else recipe["votes"],
        reasks=_whole(recipe.get("reasks"), 2),
        reply_tokens=None
        if recipe.get("reply_tokens") is None
        else _whole(recipe["reply_tokens"], 512),
        upstream=options.upstream,
    )
    mode = (
        recipe.get("mode") if recipe.get("mode") in ("single", "batched") else "single"
    )
    args = {} if name == "lexical" or name.startswith(RECORDED) else options.judge_args

    return JudgeRequest(
        name=name,
        args=args,
        options=judge_options,
        mode=mode,
        prompts=str(recipe["prompts"].get("set")),
    )


@dataclass
class _Checked:
    """A judge from a file whose texts are parsed again. Implements `judges.base.Judge`.

    Attributes:
        judge: the judge that looks up the verdicts.
        unread: replies that the package calls unreadable, by question and hash.
        texts: how many verdicts have a text.
        contradicted: questions whose text says another verdict, or one although unreadable.
        silent: questions whose verdict has no text.
        keys_asked: question and hash of everything that scoring asks.
        by_words: for each verdict on entailment, whether comparing words gives the same.
        values: the different values of these verdicts.
    """

    judge: Judge
    unread: Mapping[tuple[str, str], str]
    texts: int = 0
    contradicted: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    keys_asked: set[tuple[str, str]] = field(default_factory=set)
    by_words: list[bool] = field(default_factory=list)
    values: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.name, self.comparable = self.judge.name, self.judge.comparable
        self.reads: Literal["prompt", "pair"] = self.judge.reads

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        outcomes = self.judge.ask(questions)
        for question, outcome in zip(questions, outcomes, strict=True):
            paired = question.pair if self.reads == "pair" else None
            key = (question.id, asked_sha256(paired or question.messages))
            self.keys_asked.add(key)
            if not isinstance(outcome, Verdict):
                if key in self.unread and not isinstance(
                    question.read(self.unread[key]), Unreadable
                ):
                    self.contradicted.append(question.id)

                continue

            if question.pair is not None:
                verdict = decide(question.pair.premise, question.pair.hypothesis)
                self.by_words.append(
                    verdict in question.pair.values
                    and question.pair.values[verdict] == outcome.value
                )
                self.values.add(repr(outcome.value))

            if self.reads == "prompt":
                self.texts += bool(outcome.text)
                if question.read(outcome.text) != outcome.value:
                    (self.contradicted if outcome.text else self.silent).append(
                        question.id
                    )

        return outcomes


class Replay(RunJudge):
    """Replays the verdicts of a package instead of the judge.

    `request` is for `recorded/FILE`, and nothing is kept.
    """

    checked: _Checked | None = None
    unread: Mapping[tuple[str, str], str] = {}
    """Question and hash to a reply that is unreadable according to the package."""

    def task_judge(self, task: TaskSpec, store: Store | None = None) -> TaskJudge:
        """Makes a judge that looks up the verdict on each question."""
        task_judge = super().task_judge(task, store)
        self.checked = _Checked(task_judge.judging.judge, self.unread)
        task_judge.judging = replace(task_judge.judging, judge=self.checked)
        return task_judge


def check_verdicts(
    judge: str, rows: Sequence[Row], verdicts: Sequence[Row], replay: Replay | None
) -> Found:
    """Compares the verdicts of a package with those of scoring again.

    `replay` is None if the judge was asked again.
    """
    if replay is None:
        if wrong_here := [
            in_words(difference)
            for difference in differences(_by_id(rows), _by_id(verdicts))
        ]:
            return (
                "mismatch",
                f"{len(wrong_here)} differ from what the judge says: {wrong_here[0]}",
            )

        return "match", f"the judge, asked again, gave the same {len(rows):,}"

    checked = replay.checked
    if checked is None:
        return "not checked", "no question was asked"
    if wrong := list(_unsound(judge, rows, checked)):
        return "mismatch", f"{len(wrong)} are not sound: {wrong[0]}"

    if len(rows) != len(verdicts):
        return (
            "mismatch",
            f"{len(rows):,} verdicts on the {len(verdicts):,} questions that are asked",
        )

    by_words = checked.by_words
    # If all verdicts are the same, agreement says nothing.
    if all(by_words) and len(by_words) >= LEAST_VERDICTS and len(checked.values) > 1:
        return (
            "not checked",
            f"all {len(by_words):,} on entailment are what the judge that compares words says; "
            f"--judge asks {judge}",
        )

    read = (
        f"; {checked.texts:,} are what the judge's text says" if checked.texts else ""
    )
    return (
        "match",
        f"{len(rows):,} verdicts were given on these very questions and answers{read}",
    )


def _unsound(judge: str, rows: Sequence[Row], checked: _Checked) -> Iterator[str]:
    """Yields why verdicts cannot be of this judge on these questions."""
    for question in checked.contradicted:
        yield f"{shown(question)} contradicts the judge's own text"

    kind = judge.partition("/")[0]
    from_file = kind == _FROM_FILE
    # Verdicts on credentialed data have no texts.
    has_texts = all("text" in row for row in rows)
    for question in () if from_file or not has_texts else checked.silent:
        yield f"{shown(question)} has no text of a judge that says why"

    questions = {question for question, _ in checked.keys_asked}
    for row in rows:
        name = shown(row["id"])
        if not from_file and ("reads" in row) != (kind == "nli"):
            yield f"{name} is not by a judge of that kind"

        if row["id"] not in questions:
            yield f"{name} is a verdict on no question"
        elif (row["id"], row["sha256"]) not in checked.keys_asked:
            yield f"{name} was given on another question or answer"

    for question in sorted(questions - {row["id"] for row in rows}):
        yield f"{shown(question)} has no verdict"


def ask_again(
    answered: AnsweredTask, rows: Sequence[Row], options: VerifyOptions, scratch: Path
) -> Found:
    """Asks the recipe's judge again about a sample of items.

    Raises `UsageError` if the given judge is another one.
    """
    recipe = answered.recipe["judge"]
    if not options.judge:
        return (
            "not checked",
            f"{recipe['name']} was not asked again; give --judge (and --judge-args) to ask it "
            "about a sample",
        )

    request = judge_request(recipe, options, name=options.judge)
    with RunJudge(request, store=scratch / "asked.sqlite", log_dir=scratch) as judge:
        task_judge = judge.task_judge(answered.task)
        difference = next(
            differences(
                recipe, scrub_recipe({"judge": task_judge.recipe})["judge"], ("judge",)
            ),
            None,
        )
        if difference is not None:
            raise UsageError(
                f"--judge {options.judge}: is another judge than that of {answered.task.name}: "
                f"{in_words(difference)}. Give the same one, with the same --judge-args, or leave "
                "it out."
            )

        sample = _sampled(answered, options)
        score_responses(sample, task_judge.judging)
        verdicts = task_judge.rows(private=not all("text" in row for row in rows))

    stated = {(row["id"], row["sha256"]): row.get("value") for row in rows}
    decided = [
        ((row["id"], row["sha256"]), json.loads(json.dumps(row["value"])))
        for row in verdicts
        if "value" in row
    ]
    pairs = [(stated[key], value) for key, value in decided if key in stated]
    about = f"asked again about {len(sample.items)} items"
    if not pairs:
        return "not checked", f"{about}, and got no verdict"

    same = sum(before == now for before, now in pairs)
    detail = f"{about}: {same:,} of {len(pairs):,} verdicts are the same"
    if len(pairs) < len(decided):
        detail += f"; {len(decided) - len(pairs)} are on questions that the package has no verdict on"

    least = 1.0 if recipe.get("kind") in _ALWAYS_SAME else LEAST_AGREEMENT
    return "match" if same >= least * len(pairs) else "mismatch", detail


def _sampled(answered: AnsweredTask, options: VerifyOptions) -> AnsweredTask:
    """Samples items by the hash of seed and id, which is the same for everybody."""
    ids = [item.id for item in answered.items if item.id in answered.responses]
    ids.sort(
        key=lambda item_id: hashlib.sha256(
            f"{options.seed}:{item_id}".encode()
        ).digest()
    )
    chosen = set(ids[: options.sample])
    items = [item for item in answered.items if item.id in chosen]

    return replace(
        answered,
        items=items,
        responses={item.id: answered.responses[item.id] for item in items},
        unanswered={},
    )


def _by_id(rows: Sequence[Row]) -> JsonDict:
    return {f"{row['id']} {row['sha256'][:12]}": row for row in rows}


def _whole(value: object, default: int) -> int:
    return (
        value
        if isinstance(value, int)
        and not isinstance(value, bool)
        and 0 <= value <= 100_000
        else default
    )
