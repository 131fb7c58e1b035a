"""What this leaderboard accepts, how much may wait, what may be decided, and whose result is shown.

Whoever was accepted first under a name keeps it: a later submission whose name cannot
be told apart gets places only when a maintainer says so (`Event.replaces`), and never
one where a verified result stands and its own is not verified.

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

A model that fails on the hard ones must not win by that.
"""

LEAST_IMPORTED: Final = 100
"""Items that must be scored of published answers which cover a part of a split."""

_CONFIDENCE: Final = 0.95
# Not of a dataset that everybody has: the demo, one's own questions, and generated
# ones.
_NOT_SHARED: Final = frozenset({"demo", "own", "fresh", "twins", "fair", "table"})
BASELINE: Final = "baseline/"
"""What the name of a model begins with that is a baseline of the suite."""
_GOLD: Final = f"{BASELINE}reference"


class AdmissionError(UsageError):
    """A package that is well formed, and that this leaderboard does not take.

    The message is for its submitter.
    """


def check_admission(package: Package) -> None:
    """Raises `AdmissionError`, with every task and rule, for a package that may not be submitted."""
    specs, entries = tasks(), package.results["tasks"]
    reasons = [
        f"{name}: {reason}"
        for name in package.manifest.tasks
        for reason in _reasons(specs[name], entries[name])
    ]
    if reasons:
        raise AdmissionError("not taken:\n  " + "\n  ".join(reasons))


def marks(entry: Entry) -> list[str]:
    """Says why a task's accepted result has no rank, a sentence each.

    Nothing for one that is ranked.
    """
    sentences: list[str] = []
    recipe = entry["recipe"]
    asks_nobody = str(mapping(recipe.get("model")).get("name")).startswith(BASELINE)
    share = _share(entry)
    if imported := mapping(recipe.get("imported")):
        sentences.append(_published_words(imported))
        if figures := reported_text(entry):
            sentences.append(f"Reported by the source: {figures}.")

        if share < RANKED_COVERAGE:
            scored, asked = entry["coverage"]["scored"], entry["coverage"]["asked"]
            sentences.append(
                f"They are to {scored:,} of {asked:,} items, which need not be like the others."
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
    told = "; ".join(filter(None, facts))
    return f"Answers that others published, scored here{f' ({told})' if told else ''}."


def is_earlier(task: TaskSpec, recipe: Recipe) -> bool:
    """Whether a result is of an earlier version of its task, whose numbers are others."""
    made_with = str(recipe["task_version"])
    return made_with.partition("-")[0] != task.version.partition("-")[0]


def _reasons(task: TaskSpec, entry: Entry) -> Iterator[str]:
    recipe, judge = entry["recipe"], entry["recipe"]["judge"]
    config, split = recipe["data"]["config"], recipe["data"]["split"]
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

    if config in _NOT_SHARED:
        yield (
            f"its data is the configuration {config}, which not everybody has alike. Run it on the "
            "official data."
        )
    elif split not in _splits(task):
        yield f"its split is {short(split)}, this leaderboard takes {task.split}."

    for reason in other_questions(task, recipe):
        yield f"{reason}. Run it on the dataset as it was released, without these settings."

    imported = bool(mapping(recipe.get("imported")))
    if (
        imported
        and entry["coverage"]["scored"] < LEAST_IMPORTED
        and _share(entry) < LEAST_COVERAGE
    ):
        yield (
            f"{entry['coverage']['scored']} of {entry['coverage']['asked']} items have a score; of "
            f"published answers at least {LEAST_IMPORTED} items or {100 * LEAST_COVERAGE:.0f} % "
            "are needed."
        )

    if not imported and _share(entry) < LEAST_COVERAGE:
        yield (
            f"{entry['coverage']['scored']} of {entry['coverage']['asked']} items have a score, "
            f"{100 * LEAST_COVERAGE:.0f} % are needed. Give the run's command again: what is "
            "missing is asked for again."
        )

    # Published answers that nobody judged are shown by what needs no judge.
    unjudged = imported and task.judge and judge is None
    name = (task.unjudged() if unjudged else task).metrics[0].name
    headline = mapping(entry["metrics"].get(name))
    if any(not is_number(headline.get(key)) for key in ("value", "ci_low", "ci_high")):
        yield f"its headline, {name}, has no value with an interval."


def is_official(task: TaskSpec, recipe: Recipe) -> bool:
    """Whether a result is on data that everybody has alike, and on the split of its task."""
    data = mapping(recipe.get("data"))
    split = data.get("split")
    return data.get("config") not in _NOT_SHARED and split in _splits(task)


def _splits(task: TaskSpec) -> tuple[str, ...]:
    """The task's split, and another where that one has no key that everybody can have."""
    shared = task.benchmark.shared_task()
    return (task.split, *(shared.KEYED_SPLITS if shared else ()))


def _share(entry: Entry) -> float:
    count, scored = entry["coverage"]["asked"], entry["coverage"]["scored"]
    return float(scored / count) if count else 0.0


class QueueFullError(UsageError):
    """Too much is pending already; nothing of the package was kept."""


@dataclass(frozen=True, kw_only=True)
class QueueLimits:
    """How much may be pending at the same time.

    `of_submitter` counts one organisation, or one model where none is named.
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
    """Raises `QueueFullError` where one more package of this size may not wait."""
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
    submission: Submission, wanted: Event, same_name: Sequence[Submission]
) -> Event:
    """Makes the event of a decision as it is stored.

    `same_name` are the accepted submissions of its name, the first in front.
    """
    before, state, verified = submission.history[-1], wanted.state, wanted.verified
    if state not in TRANSITIONS[before.state]:
        choices = " or ".join(TRANSITIONS[before.state])
        raise UsageError(
            f"{submission.id}: is {before.state} since {before.at} (by "
            f"{before.by or 'the submitter'}) and cannot become {state}. It can become {choices}."
        )

    who = check_line("--by", wanted.by, longest=_LONGEST_BY, needed=True)
    needed = not (before.state == "pending" and state == "accepted")
    why = check_line("--reason", wanted.reason, longest=_LONGEST_REASON, needed=needed)
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

    # Who was first keeps the name, unless it is said who takes it.
    if state == "accepted" and same_name and not wanted.replaces:
        first = same_name[0]
        raise UsageError(
            f"{named(submission)}: its name is taken: it cannot be told apart from {named(first)}, "
            f"accepted {first.history[-1].at}. Nothing was changed. If it is a result of that "
            f"model, by the same people, accept it with --replace {first.id}: on the same task in "
            "the same setting it takes that one's place. Otherwise reject it, and ask for another "
            "name."
        )

    if wanted.replaces and wanted.replaces not in [
        accepted.id for accepted in same_name
    ]:
        choices = ", ".join(map(named, same_name)) or "none; leave it out"
        raise UsageError(
            f"{submission.id}: --replace takes the id of an accepted submission of the same name, "
            f"got {wanted.replaces[:60]!a}. There is {choices}."
        )

    # Whatever the clock says, not before the last.
    return replace(wanted, at=max(wanted.at, before.at), by=who, reason=why)


Row = tuple[str, str]
"""A task, and the group of the result on it."""


def key_of(submission: Submission) -> tuple[str, str]:
    """Names the model that a submission says it is of."""
    return model_key(submission.submitter.organisation, submission.submitter.model)


def rows_of(submission: Submission, results: Json) -> list[Row]:
    """The rows that a submission's results would have, of tasks that this version has."""
    specs = tasks()
    return [
        (name, group_of(specs[name], results["tasks"][name]["recipe"]))
        for name in submission.tasks
        if name in specs
    ]


def state_of(submission: Submission, task: str) -> EntryState:
    """What is shown of a task.

    Verified only where nothing of it rests on the submitter's word for what a judge
    said.
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
    """Says whose result stands where: model and row to the submission that is shown there."""
    held: dict[tuple[tuple[str, str], Row], Submission] = {}
    taken: set[tuple[str, str]] = set()
    for submission, rows in sorted(accepted, key=lambda pair: _order_accepted(pair[0])):
        key = key_of(submission)
        if key in taken and not submission.history[-1].replaces:
            continue  # two were accepted at the same moment

        taken.add(key)
        for row in rows:
            before = held.get((key, row))
            if (
                before is None
                or state_of(before, row[0]) != "verified"
                or state_of(submission, row[0]) == "verified"
            ):
                held[key, row] = submission

    return held


def holders(submission: Submission, others: Iterable[Submission]) -> list[Submission]:
    """Those accepted under a name that cannot be told apart from this one's, the first in front."""
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
    """Says what a maintainer must know of a submission's name.

    Whose it is already, or who else has results under it.
    """
    taken = holders(submission, others)
    if submission.state == "pending":
        if taken:
            return [
                f"its name is taken: it cannot be told apart from {named(taken[0])}"
            ]

        name = name_key(submission.submitter.model)
        same = [
            other
            for other in others
            if _is_other(other, submission) and name_key(other.submitter.model) == name
        ]
        listed = ", ".join(map(named, same))
        return (
            [f"under this model's name another organisation has results: {listed}"]
            if same
            else []
        )

    hidden = submission.state == "accepted" and not submission.history[-1].replaces
    if hidden and taken and _order_accepted(taken[0]) < _order_accepted(submission):
        return [f"it is not shown: its name was taken before by {named(taken[0])}"]

    return []


def named(submission: Submission) -> str:
    """A submission for a message: its id, and the name it has."""
    who = submission.submitter
    organisation = one_line(who.organisation) or "no organisation named"
    return f"{submission.id} ({one_line(who.model)}, {organisation})"


def _is_other(other: Submission, submission: Submission) -> bool:
    return other.state == "accepted" and other.id != submission.id


def _order_accepted(submission: Submission) -> tuple[str, bool, str, str]:
    """The order in which submissions were accepted.

    Within one second whoever takes another's place comes later.
    """
    last = submission.history[-1]
    return last.at, bool(last.replaces), submission.history[0].at, submission.id
