"""The maintainers' tools: verification before accepting, checks of the store, and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from medical_tasks.catalog import tasks
from medical_tasks.errors import MissingError, UsageError, listed
from medical_tasks.guard.policy import Attestation
from medical_tasks.io.table import align
from medical_tasks.leaderboard.admission import name_notes
from medical_tasks.leaderboard.board import (
    EVENT,
    PACKAGE,
    Board,
    event_name,
    package_name,
)
from medical_tasks.leaderboard.ranking import RankRange, rank_ranges
from medical_tasks.leaderboard.records import Entry, Submission, Unshown
from medical_tasks.leaderboard.submission_package.contents import (
    Package,
    UnknownTaskError,
    VerifyOptions,
)
from medical_tasks.runs.numbers import coverage, interval, metric_label, valued
from medical_tasks.runs.recipes import one_line
from medical_tasks.runs.results import JsonDict

_ENTRY_HEADER: Final = (
    "task",
    "model",
    "organisation",
    "state",
    "metric",
    "value",
    "95 % interval",
    "scored",
    "rank",
    "group",
)
_REPORTED: Final = "reported: of papers, not verified, without a rank; how each differs: `differences` of --json"

Listing = tuple[list[str], Any]
"""Lines for people, and what `--json` prints."""


def verified_report(
    board: Board, name: str, options: VerifyOptions, attestation: Attestation
) -> Mapping[str, object]:
    """Verifies a submission's package and returns the report.

    Raises `UsageError` unless it matches.
    """
    from medical_tasks.leaderboard.submission_package.verifying import verify_guarded

    verification = verify_guarded(board.package(name), options, attestation)
    problems = "\n".join(
        f"  {check.outcome}: {check.name}: {check.detail}"
        for check in verification.checks
        if check.outcome != "match"
    )
    if verification.differs:
        raise UsageError(
            f"{name}: does not match, and was not accepted. Nothing was changed; reject it, or ask "
            f"its submitter.\n{problems}"
        )

    # Matching hashes of the package's own answers prove nothing without scoring them.
    if verification.unproven:
        raise UsageError(
            f"{name}: {', '.join(verification.unproven)} could not be scored again, and it was not "
            f"accepted. Give what is missing, or accept it with --unverified.\n{problems}"
        )

    return verification.as_json()


@dataclass(frozen=True, kw_only=True)
class StoreCheck:
    """The content of a store.

    Attributes:
        packages: The number of packages.
        events: The number of events.
        problems: What is wrong with the store.
        strangers: Files that do not belong to a store.
        waiting: Ids of packages without an event.
        unread: Ids of intact packages with a task that is not installed, whose numbers
            cannot be checked.
    """

    packages: int
    events: int
    problems: tuple[str, ...]
    strangers: tuple[str, ...]
    waiting: tuple[str, ...]
    unread: tuple[str, ...] = ()


def check_store(board: Board) -> StoreCheck:
    """Checks the whole store without changing it."""
    names = board.storage.names()
    packages, events = (
        [match[1] for file in names if (match := form.fullmatch(file))]
        for form in (PACKAGE, EVENT)
    )
    waiting = tuple(sorted({*packages} - {*events}))
    problems, unread = [], []
    for name in (*sorted({*packages, *events} - {*waiting}), *waiting):
        try:
            if name in waiting:
                board.orphan(name)
                continue

            # A package must agree with the event of its submission.
            submission, manifest = board.submission(name), board.package(name).manifest
            if manifest.id != name:
                problems.append(f"{package_name(name)}: is the package {manifest.id}.")

            if (
                manifest.submitter != submission.submitter
                or manifest.tasks != submission.tasks
            ):
                problems.append(
                    f"{event_name(name, 1)}: names another submitter or other tasks than the "
                    "package."
                )
        except UnknownTaskError:
            unread.append(name)
        except (UsageError, MissingError) as error:
            problems.append(f"{name}: {error}")

    return StoreCheck(
        packages=len(packages),
        events=len(events),
        problems=tuple(problems),
        strangers=tuple(
            file
            for file in names
            if not (PACKAGE.fullmatch(file) or EVENT.fullmatch(file))
        ),
        waiting=waiting,
        unread=tuple(unread),
    )


def submission_lines(
    submissions: Sequence[Submission], accepted: Sequence[Submission]
) -> Listing:
    """Formats submissions as a table, with notes on their names."""
    notes_of = {
        submission.id: name_notes(submission, accepted) for submission in submissions
    }
    content = [
        {**_submission(submission), "notes": notes_of[submission.id]}
        for submission in submissions
    ]
    if not submissions:
        return ["no submissions"], content

    rows = [
        (
            submission.id,
            submission.state,
            one_line(submission.submitter.model),
            one_line(submission.submitter.organisation),
            submission.history[0].at,
            listed(submission.tasks, 3),
        )
        for submission in submissions
    ]
    notes = [
        f"note: {name}: {note}" for name, notes in notes_of.items() for note in notes
    ]
    return [
        *align(("id", "state", "model", "organisation", "submitted", "tasks"), rows),
        *notes,
    ], content


def history_lines(submissions: Sequence[Submission]) -> Listing:
    """Formats the events of submissions, one a line, the newest submission first."""
    lines: list[str] = []
    for submission in submissions:
        lines.append(
            f"{submission.id}: {submission.submitter.model}, {', '.join(submission.tasks)}"
        )
        for event in submission.history:
            by = f" by {event.by}" if event.by else ""
            verified = ""
            if event.state == "accepted":
                verified = " (unverified)" if event.verified is None else " (verified)"

            replaced = f" instead of {event.replaces}" if event.replaces else ""
            why = f": {event.reason}" if event.reason else ""
            lines.append(f"  {event.at} {event.state}{verified}{replaced}{by}{why}")

    return lines or ["no submissions"], [
        _submission(submission) for submission in submissions
    ]


def package_lines(
    submission: Submission, package: Package, accepted: Sequence[Submission]
) -> Listing:
    """Formats a submission: its facts, notes on its name, and its metrics."""
    notes = name_notes(submission, accepted)
    more = {"notes": notes, "results": package.results, "suite": package.manifest.suite}
    who = submission.submitter
    facts = {
        "organisation": who.organisation,
        "page": who.url,
        "notes": who.notes,
        "open weights": {None: "", True: "yes", False: "no"}[who.open_weights],
        "parameters": "" if who.parameters is None else f"{who.parameters:g} billion",
        "made by": package.manifest.suite,
        "content": package.manifest.content_sha256,
    }
    lines, _ = history_lines([submission])
    lines += [f"  {key}: {value}" for key, value in facts.items() if value]
    lines += [f"  note: {note}" for note in notes]
    rows = []
    for name in package.manifest.tasks:
        entry = package.results["tasks"][name]
        config = one_line(str(entry["recipe"]["data"]["config"]))
        for key, metric in entry["metrics"].items():
            counts = (str(metric["n"]), coverage(entry, metric))
            rows.append(
                (
                    name,
                    metric_label(key, metric),
                    config,
                    valued(metric),
                    interval(metric),
                    *counts,
                )
            )

    header = ("task", "metric", "data", "value", "95 % interval", "n", "scored")
    return [*lines, *align(header, rows)], {**_submission(submission), **more}


def entry_lines(entries: Sequence[Entry]) -> Listing:
    """Formats entries as a table, with the headline metric of their task and their ranks."""
    ranks = _ranks(entries)
    content = [
        {**asdict(entry), "rank": rank and asdict(rank)} for entry, rank in ranks
    ]
    if not entries:
        return ["no entries"], content

    rows = []
    notes: dict[str, None] = {}
    for entry, rank in ranks:
        headline = tasks()[entry.task].metrics[0].name
        counted = entry.counted_by(headline)
        metric = entry.metrics.get(counted)
        if entry.state == "reported":
            notes[_REPORTED] = None

        if counted != headline:
            beside = f"{counted}: what a paper reports beside {headline}"
            notes[f"{beside}; the two do not count alike"] = None

        figures = (
            ("n/a", "n/a") if metric is None else (valued(metric), interval(metric))
        )
        counts = {"coverage": entry.coverage, "metrics": entry.metrics}
        scored = "n/a" if entry.coverage is None else coverage(counts, metric)
        names = (
            one_line(entry.model, 40),
            one_line(entry.organisation, 40),
            entry.state,
        )
        rank_text = str(rank or "n/a")
        rows.append(
            (entry.task, *names, counted, *figures, scored, rank_text, entry.group)
        )

    return [*align(_ENTRY_HEADER, rows), *(f"note: {note}" for note in notes)], content


def _ranks(entries: Sequence[Entry]) -> list[tuple[Entry, RankRange | None]]:
    """Returns entries with their ranks by the headline metric, in their order."""
    ranks: dict[int, RankRange | None] = {}
    for name, task in tasks().items():
        of_task = [entry for entry in entries if entry.task == name]
        ranks |= zip(
            map(id, of_task), rank_ranges(of_task, task.metrics[0]), strict=True
        )
    return [(entry, ranks[id(entry)]) for entry in entries]


def unshown_lines(unshown: Sequence[Unshown]) -> list[str]:
    """Says why each unshown result is not in the tables, and how to show it again."""
    return [
        f"note: {result.task} of {one_line(result.model, 40)} ({result.submission}) is kept and not shown: "
        f"nothing here has this task. Install {result.package or 'its package'}, or name it in "
        "MEDICAL_TASKS_PLUGINS, to show it again."
        for result in unshown
    ]


def check_lines(check: StoreCheck) -> Listing:
    """Lists the problems of a store, and its state."""
    lines = [f"problem: {problem}" for problem in check.problems]
    lines += [
        f"note: {name}: its event was not written; it is pending, and gets it when it is listed"
        for name in check.waiting
    ]
    lines += [
        f"note: {name}: is no file of a leaderboard; nobody reads it"
        for name in check.strangers
    ]
    lines += [
        f"note: {name}: is the file that was submitted; a task of it is not known here, so "
        "that its numbers were not checked"
        for name in check.unread
    ]
    state = (
        "the store is whole"
        if not check.problems
        else f"the store is not whole: {len(check.problems)} problems"
    )

    return [
        *lines,
        f"{check.packages} packages, {check.events} events: {state}.",
    ], asdict(check)


def _submission(submission: Submission) -> JsonDict:
    return {"id": submission.id, "state": submission.state, **asdict(submission)}
