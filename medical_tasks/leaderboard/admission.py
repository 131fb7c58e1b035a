"""The rules of the leaderboard: admission, the queue, decisions, and whose result is shown.

Whoever was accepted first under a name keeps it. A later submission with an
indistinguishable name is shown only if a maintainer decides so (`Event.replaces`), and an
unverified result never replaces a verified one. A replacement holds for the same task and
group, until it is withdrawn.

- The board has its tasks, with the same comparability version `N`, or the package that
  they are of; `data/board.json` lists these. Results whose package was uninstalled are
  kept, and named as not shown.
- It ran on official data: not `demo`, `own`, `fresh`, `twins` or `table`.
- It covers the task's whole split, without `--max-samples` or `--subset`. For
  ArchEHR-QA `dev` counts too, since few people have the key of `test`.
- Its recipe is complete, its intervals are of 95 %, and its headline metric has a value
  and an interval.
- Judged tasks have a judge that understands text, not `lexical`.
- At least 90 % of the items are scored, and the model is not `baseline/reference`,
  which answers with the gold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from medical_tasks.catalog import tasks
from medical_tasks.errors import UsageError
from medical_tasks.io.untrusted import is_number
from medical_tasks.leaderboard.ranking import group_of
from medical_tasks.leaderboard.records import (
    TRANSITIONS,
    EntryState,
    Event,
    Submission,
    check_line,
)
from medical_tasks.leaderboard.storage import AlreadyStoredError
from medical_tasks.leaderboard.submission_package.contents import (
    MIB,
    Package,
    Submitter,
)
from medical_tasks.leaderboard.submission_package.submitters import model_key, name_key
from medical_tasks.report.entries import Entry, Recipe
from medical_tasks.report.tables import reported_text
from medical_tasks.runs.comparability import other_questions
from medical_tasks.runs.recipes import mapping, one_line, short
from medical_tasks.runs.results import Json
from medical_tasks.spec import TaskSpec

LEAST_COVERAGE: Final = 0.90
RANKED_COVERAGE: Final = 0.98
"""Share of the items that must be scored for a rank.

A model must not gain by failing on hard items.
"""

LEAST_IMPORTED: Final = 100
"""Items that must be scored if published answers cover only a part of a split."""

_CONFIDENCE: Final = 0.95
# Configurations that not everybody has: the demo, own questions, and generated ones.
_NOT_SHARED: Final = frozenset({"demo", "own", "fresh", "twins", "fair", "table"})
BASELINE: Final = "baseline/"
"""The prefix of models that are baselines of the suite."""
_GOLD: Final = f"{BASELINE}reference"


class AdmissionError(UsageError):
    """A package is well formed but not admitted; the message is for its submitter."""


def check_admission(package: Package) -> None:
    """Raises `AdmissionError` with every broken rule of each task."""
    specs, entries = tasks(), package.results["tasks"]
    reasons = [
        f"{name}: {reason}"
        for name in package.manifest.tasks
        for reason in _reasons(specs[name], entries[name])
    ]
    if reasons:
        raise AdmissionError("not taken:\n  " + "\n  ".join(reasons))


def marks(entry: Entry) -> list[str]:
    """Lists the reasons, as sentences, why a task's accepted result has no rank."""
    sentences: list[str] = []
    recipe = entry["recipe"]
    asks_nobody = str(mapping(recipe.get("model")).get("name")).startswith(BASELINE)
    share = _share(entry)
    if imported := mapping(recipe.get("imported")):
        sentences.append(_published_words(imported))
        if figures := reported_text(entry):
            sentences.append(f"Reported by the source: {figures}.")

        if share < RANKED_COVERAGE:
            scored, count = entry["coverage"]["scored"], entry["coverage"]["asked"]
            sentences.append(
                f"They are to {scored:,} of {count:,} items, which need not be like the others."
            )

        return sentences

    if recipe.get("prompts") is None and not asks_nobody:
        sentences.append(
            "The answers were made outside this suite: how they were asked for is not known here."
        )

    if share < RANKED_COVERAGE:
        sentences.append(
            f"Only {100 * share:.1f} % of the items have a score, {100 * RANKED_COVERAGE:.0f} % "
            "are needed for a rank."
        )

    return sentences


def _published_words(imported: Json) -> str:
    unknown = ", ".join(short(name) for name in imported.get("unknown") or ())
    licence = short(imported["licence"]) if imported.get("licence") else ""
    facts = [licence and f"licence {licence}", unknown and f"not known: {unknown}"]
    facts_text = "; ".join(filter(None, facts))
    return f"Answers that others published, scored here{f' ({facts_text})' if facts_text else ''}."


def is_earlier(task: TaskSpec, recipe: Recipe) -> bool:
    """Whether a result is from an earlier version of its task, which is not comparable."""
    made_with = str(recipe["task_version"])
    return made_with.partition("-")[0] != task.version.partition("-")[0]


def _reasons(task: TaskSpec, entry: Entry) -> Iterator[str]:
    """Yields every rule that a task's result breaks, with the next step."""
    yield from _recipe_reasons(task, entry["recipe"])
    yield from _data_reasons(task, entry["recipe"])
    yield from _coverage_reasons(entry)

    # Published answers that nobody judged are shown by a metric that needs no judge.
    unjudged = _is_imported(entry) and task.judge and entry["recipe"]["judge"] is None
    name = (task.unjudged() if unjudged else task).metrics[0].name
    headline = mapping(entry["metrics"].get(name))
    if any(not is_number(headline.get(key)) for key in ("value", "ci_low", "ci_high")):
        yield f"its headline, {name}, has no value with an interval."


def _recipe_reasons(task: TaskSpec, recipe: Recipe) -> Iterator[str]:
    """Yields what is wrong with the version, the settings, the model and the judge."""
    judge = recipe["judge"]
    if not recipe["metrics"]:
        yield "its recipe lacks metrics. Run it again with this version of medical-tasks."

    if is_earlier(task, recipe):
        yield (
            f"task version {recipe['task_version']}, this leaderboard takes {task.version}. Run it "
            "again with this version."
        )

    if recipe["max_samples"] is not None:
        yield (
            f"only {recipe['max_samples']} items were asked (--max-samples). Run it on the whole "
            "split."
        )

    if recipe["statistics"].get("confidence") != _CONFIDENCE:
        yield "its intervals are not of 95 %."
    if recipe["model"]["name"] == _GOLD:
        yield f"{_GOLD} answers with the gold: it tests the scorer and is no model."

    if judge is not None and not judge["comparable"]:
        yield (
            f"its judge, {short(judge['name'])}, compares words: nobody else's numbers can be set "
            "beside these. Score it with a judge that understands: medical-tasks score ... "
            "--judge JUDGE"
        )


def _data_reasons(task: TaskSpec, recipe: Recipe) -> Iterator[str]:
    """Yields what makes the questions other than those of the leaderboard."""
    config, split = recipe["data"]["config"], recipe["data"]["split"]
    if config in _NOT_SHARED:
        yield (
            f"its data is the configuration {config}, which not everybody has alike. Run it on the "
            "official data."
        )
    elif split not in _splits(task):
        yield f"its split is {short(split)}, this leaderboard takes {task.split}."

    for reason in other_questions(task, recipe):
        yield f"{reason}. Run it on the dataset as it was released, without these settings."


def _coverage_reasons(entry: Entry) -> Iterator[str]:
    """Yields why too few items have a score; published answers may cover fewer."""
    if _share(entry) >= LEAST_COVERAGE:
        return

    scored, count = entry["coverage"]["scored"], entry["coverage"]["asked"]
    if not _is_imported(entry):
        yield (
            f"{scored} of {count} items have a score, {100 * LEAST_COVERAGE:.0f} % are needed. "
            "Give the run's command again: what is missing is asked for again."
        )
    elif scored < LEAST_IMPORTED:
        yield (
            f"{scored} of {count} items have a score; of published answers at least "
            f"{LEAST_IMPORTED} items or {100 * LEAST_COVERAGE:.0f} % are needed."
        )


def _is_imported(entry: Entry) -> bool:
    return bool(mapping(entry["recipe"].get("imported")))


def is_official(task: TaskSpec, recipe: Recipe) -> bool:
    """Whether a result is on shared data and on the split of its task."""
    data = mapping(recipe.get("data"))
    split = data.get("split")
    return data.get("config") not in _NOT_SHARED and split in _splits(task)


def _splits(task: TaskSpec) -> tuple[str, ...]:
    """Returns the task's split, and those with a public key if its own key is not public."""
    shared = task.benchmark.shared_task()
    return (task.split, *(shared.KEYED_SPLITS if shared else ()))


def _share(entry: Entry) -> float:
    count, scored = entry["coverage"]["asked"], entry["coverage"]["scored"]
    return float(scored / count) if count else 0.0


class QueueFullError(UsageError):
    """The queue is full; nothing of the package was kept."""


@dataclass(frozen=True, kw_only=True)
class QueueLimits:
    """How much may be pending at the same time.

    Attributes:
        count: the submissions of everybody.
        total_bytes: the size of their packages together.
        of_submitter: the submissions of one organisation, or of one model if none is named.
    """

    count: int = 500
    total_bytes: int = 2048 * MIB
    of_submitter: int = 50


DEFAULT_QUEUE: Final = QueueLimits()


def check_room(
    submitter: Submitter,
    size: int,
    waiting: Sequence[tuple[Submitter, int]],
    limits: QueueLimits,
) -> None:
    """Raises `QueueFullError` if there is no room for a package of this size."""
    later = "Nothing of this package was kept: submit it again when a maintainer has decided some."

    def name(of: Submitter) -> tuple[str, str]:
        return model_key(of.organisation, "" if of.organisation.strip() else of.model)

    own = sum(name(entry) == name(submitter) for entry, _ in waiting)
    if own >= limits.of_submitter:
        shown = submitter.organisation or submitter.model
        raise QueueFullError(
            f"{own} submissions of {shown} are pending, {limits.of_submitter} may be. {later}"
        )

    if len(waiting) >= limits.count:
        raise QueueFullError(
            f"{len(waiting)} submissions are pending, {limits.count} may be. {later}"
        )

    taken = sum(entry for _, entry in waiting)
    if taken + size > limits.total_bytes:
        raise QueueFullError(
            f"the pending submissions have {taken:,} bytes and this package {size:,}, "
            f"{limits.total_bytes:,} may be together. {later}"
        )


_LONGEST_BY: Final = 96
_LONGEST_REASON: Final = 500


class AlreadySubmittedError(AlreadyStoredError):
    """The same package was submitted before; nothing was changed."""

    def __init__(self, submission: Submission) -> None:
        last = submission.history[-1]
        why = f": {last.reason}" if last.reason else ""
        super().__init__(
            f"this package was submitted before, {submission.history[0].at}, as {submission.id}; "
            f"it is {submission.state} since {last.at}{why}. Nothing needs to be done; another run "
            "of the model makes another package."
        )
        self.submission = submission


def check_decision(
    submission: Submission, decision: Event, same_name: Sequence[Submission]
) -> Event:
    """Checks a decision, and returns the event to store.

    `same_name` are the accepted submissions of the same name, the earliest first.

    `records.TRANSITIONS` says what may follow. Every decision needs a name, and all but the
    first acceptance of a pending submission need a reason.

    Example:
        A pending submission of the taken name "GPT 4" by the same organisation is accepted
        only with `replaces`, the id of an accepted one of that name.
    """
    before, state, verified = submission.history[-1], decision.state, decision.verified
    if state not in TRANSITIONS[before.state]:
        choices = " or ".join(TRANSITIONS[before.state])
        raise UsageError(
            f"{submission.id}: is {before.state} since {before.at} (by "
            f"{before.by or 'the submitter'}) and cannot become {state}. It can become {choices}."
        )

    who = check_line("--by", decision.by, longest=_LONGEST_BY, needed=True)
    needed = not (before.state == "pending" and state == "accepted")
    why = check_line(
        "--reason", decision.reason, longest=_LONGEST_REASON, needed=needed
    )
    if verified is not None and (
        state != "accepted"
        or verified.get("package") != submission.id
        or verified.get("matches") is not True
    ):
        raise UsageError(
            f"{submission.id}: accepting needs a verification of this package that matches; "
            f"this one verifies {ascii(verified.get('package'))[:40]} and matches: "
            f"{ascii(verified.get('matches'))[:10]}. See: medical-tasks verify"
        )

    # The first submission keeps the name, unless the decision names it as replaced.
    if state == "accepted" and same_name and not decision.replaces:
        first = same_name[0]
        raise UsageError(
            f"{named(submission)}: its name is taken: it cannot be distinguished from {named(first)}, "
            f"accepted {first.history[-1].at}. Nothing was changed. If it is a result of that "
            f"model, by the same people, accept it with --replace {first.id}: on the same task in "
            "the same setting it replaces that one. Otherwise reject it, and ask for another "
            "name."
        )

    if decision.replaces and decision.replaces not in [
        accepted.id for accepted in same_name
    ]:
        choices = ", ".join(map(named, same_name)) or "none; leave it out"
        raise UsageError(
            f"{submission.id}: --replace needs the id of an accepted submission with the same name, "
            f"got {decision.replaces[:60]!a}. There is {choices}."
        )

    # Not before the preceding event, even if the clock was set back.
    return replace(decision, at=max(decision.at, before.at), by=who, reason=why)


Row = tuple[str, str]
"""A task, and the group of the result on it."""


def key_of(submission: Submission) -> tuple[str, str]:
    """Returns the key of the model that a submission names."""
    return model_key(submission.submitter.organisation, submission.submitter.model)


def rows_of(submission: Submission, results: Json) -> list[Row]:
    """Returns the rows of a submission's results, for tasks that this version has."""
    specs = tasks()
    return [
        (name, group_of(specs[name], results["tasks"][name]["recipe"]))
        for name in submission.tasks
        if name in specs
    ]


def state_of(submission: Submission, task: str) -> EntryState:
    """Returns the state shown for a task.

    It is verified only if no verdict of a judge rests on the submitter's word.
    """
    verified = submission.history[-1].verified
    return (
        "unverified"
        if verified is None or task in verified.get("on_trust", ())
        else "verified"
    )


def places(
    accepted: Iterable[tuple[Submission, Sequence[Row]]],
) -> dict[tuple[tuple[str, str], Row], Submission]:
    """Decides which submission is shown for each model and row.

    Submissions are read in the order of acceptance. A later one of the same name is shown
    if it replaces an earlier one, and then on the rows that both have only if it is
    verified or the earlier one is not.

    Args:
        accepted: each accepted submission with its rows.

    Example:
        A, accepted first, has results on medcalc (verified) and kqa (unverified). B
        replaces A with unverified results on both: medcalc stays A's, kqa becomes B's.
    """
    shown_at: dict[tuple[tuple[str, str], Row], Submission] = {}
    keys_seen: set[tuple[str, str]] = set()
    for submission, rows in sorted(accepted, key=lambda pair: _order_accepted(pair[0])):
        key = key_of(submission)
        if key in keys_seen and not submission.history[-1].replaces:
            continue  # two were accepted at the same moment

        keys_seen.add(key)
        for row in rows:
            current = shown_at.get((key, row))
            if (
                current is None
                or state_of(current, row[0]) != "verified"
                or state_of(submission, row[0]) == "verified"
            ):
                shown_at[key, row] = submission

    return shown_at


def holders(submission: Submission, others: Iterable[Submission]) -> list[Submission]:
    """Lists the accepted submissions with an indistinguishable name, the earliest first."""
    key = key_of(submission)
    return sorted(
        (
            other
            for other in others
            if _is_other(other, submission) and key_of(other) == key
        ),
        key=_order_accepted,
    )


def name_notes(submission: Submission, others: Sequence[Submission]) -> list[str]:
    """Lists notes for maintainers if somebody else has a submission's name."""
    earlier_holders = holders(submission, others)
    if submission.state == "pending":
        if earlier_holders:
            return [
                f"its name is taken: it cannot be distinguished from {named(earlier_holders[0])}"
            ]

        name = name_key(submission.submitter.model)
        alike = [
            other
            for other in others
            if _is_other(other, submission) and name_key(other.submitter.model) == name
        ]
        listed = ", ".join(map(named, alike))
        return (
            [f"under this model's name another organisation has results: {listed}"]
            if alike
            else []
        )

    hidden = submission.state == "accepted" and not submission.history[-1].replaces
    if (
        hidden
        and earlier_holders
        and _order_accepted(earlier_holders[0]) < _order_accepted(submission)
    ):
        return [
            f"it is not shown: its name was taken before by {named(earlier_holders[0])}"
        ]

    return []


def named(submission: Submission) -> str:
    """Formats a submission for a message: its id and name."""
    who = submission.submitter
    organisation = one_line(who.organisation) or "no organisation named"
    return f"{submission.id} ({one_line(who.model)}, {organisation})"


def _is_other(other: Submission, submission: Submission) -> bool:
    return other.state == "accepted" and other.id != submission.id


def _order_accepted(submission: Submission) -> tuple[str, bool, str, str]:
    """Orders submissions by acceptance; within one second, replacements come last."""
    last = submission.history[-1]
    return last.at, bool(last.replaces), submission.history[0].at, submission.id
