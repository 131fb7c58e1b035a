"""The verb `leaderboard` on the command line; `options.Leaderboard` has its options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from medical_tasks.catalog import task_spec
from medical_tasks.errors import UsageError
from medical_tasks.io.output import tell
from medical_tasks.leaderboard import maintaining
from medical_tasks.leaderboard.admission import name_notes
from medical_tasks.leaderboard.board import Board, entries_of
from medical_tasks.leaderboard.commands import verification
from medical_tasks.leaderboard.options import Leaderboard
from medical_tasks.leaderboard.records import Event, Submission
from medical_tasks.leaderboard.storage import open_storage
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_OPTIONS
from medical_tasks.leaderboard.submission_package.zip_file import package_bytes
from medical_tasks.options import set_values

_VERIFYING: Final = tuple(vars(DEFAULT_OPTIONS))
_GUARD: Final = ("allow_remote", "attest_zero_retention")
# The options of each action besides --store.
_TAKES: Final[Mapping[str, tuple[str, ...]]] = {
    "list": ("state",),
    "show": (),
    "submit": (),
    "accept": ("by", "reason", "replace", "unverified", *_VERIFYING, *_GUARD),
    "reject": ("by", "reason"),
    "history": (),
    "entries": ("task",),
    "check": (),
    "site": ("out", "uploads"),
    "serve": ("host", "port"),
}
_NAMED: Final = {"show": "ID", "submit": "FILE", "accept": "ID", "reject": "ID"}


def run(arguments: Leaderboard) -> int:
    """Runs an action, and returns its exit code."""
    _check_options(arguments)
    if arguments.action == "serve":
        return _serve(arguments)
    return _ACTIONS[arguments.action](Board(open_storage(arguments.store)), arguments)


def _serve(arguments: Leaderboard) -> int:
    """Serves the pages until stopped."""
    from medical_tasks.leaderboard.serving import DEFAULT_PORT, serve

    port = DEFAULT_PORT if arguments.port is None else arguments.port
    serve(arguments.store, host=arguments.host or "127.0.0.1", port=port)
    return 0


def _list(board: Board, arguments: Leaderboard) -> int:
    """Prints submissions, all or those in one state."""
    submissions = board.submissions(arguments.state)
    return _tell_lines(
        maintaining.submission_lines(submissions, board.submissions("accepted")), board
    )


def _show(board: Board, arguments: Leaderboard) -> int:
    """Prints a submission with its metrics."""
    submission = board.submission(arguments.what or "")
    package = board.package(submission.id)
    return _tell_lines(
        maintaining.package_lines(submission, package, board.submissions("accepted"))
    )


def _submit(board: Board, arguments: Leaderboard) -> int:
    """Stores a package as pending, and prints notes on its name."""
    submission = board.submit(package_bytes(Path(arguments.what or "")))
    _tell_submission(submission)
    return _tell_notes(name_notes(submission, board.submissions("accepted")))


def _reject(board: Board, arguments: Leaderboard) -> int:
    """Rejects a pending submission, or withdraws an accepted one."""
    submission = board.decide(
        arguments.what or "",
        "rejected",
        by=arguments.by or "",
        reason=arguments.reason or "",
    )
    _tell_submission(submission, "rejected")
    return 0


def _history(board: Board, arguments: Leaderboard) -> int:
    """Prints the events of one submission or all."""
    submissions = (
        [board.submission(arguments.what)] if arguments.what else board.submissions()
    )
    return _tell_lines(maintaining.history_lines(submissions), board)


def _entries(board: Board, arguments: Leaderboard) -> int:
    """Prints the entries of one task or all."""
    task = None if arguments.task is None else task_spec(arguments.task)
    entries = [
        entry for entry in entries_of(board) if task is None or entry.task == task.name
    ]
    return _tell_lines(maintaining.entry_lines(entries), board)


def _check_store(board: Board, _: Leaderboard) -> int:
    """Prints the problems of the store; exit code 5 if it has any."""
    report = maintaining.check_store(board)
    _tell_lines(maintaining.check_lines(report))
    return 5 if report.problems else 0


def _check_options(arguments: Leaderboard) -> None:
    """Refuses options of other actions, and names or folders that are missing."""
    action = arguments.action
    _check_users(action, set(set_values(arguments)))
    if action == "site" and arguments.out is None:
        raise UsageError(
            "site needs --out, the folder of the pages: medical-tasks leaderboard site --store "
            "... --out site"
        )

    if action in _NAMED and arguments.what is None:
        raise UsageError(
            f"{action} needs {_NAMED[action]}: medical-tasks leaderboard {action} {_NAMED[action]} "
            "--store ..."
        )

    if action not in (*_NAMED, "history") and arguments.what is not None:
        raise UsageError(f"{action} does not accept {arguments.what!r}. Leave it out.")

    verifying = [
        name for name in (*_VERIFYING, *_GUARD) if name in set_values(arguments)
    ]
    if verifying and arguments.unverified:
        raise UsageError(
            f"--{verifying[0].replace('_', '-')} is for verifying, and --unverified leaves that "
            "out. Give one of them."
        )


def _check_users(action: str, options: Collection[str]) -> None:
    """Refuses options that this action does not have but others do."""
    for name in dict.fromkeys(name for names in _TAKES.values() for name in names):
        if name in options and name not in _TAKES[action]:
            users = ", ".join(verb for verb, names in _TAKES.items() if name in names)
            raise UsageError(
                f"--{name.replace('_', '-')} is for {users}, not for {action}. Leave it out."
            )


def _accept(board: Board, arguments: Leaderboard) -> int:
    """Accepts a submission, after checking what would prevent it and verifying it."""
    by, reason = arguments.by or "", arguments.reason or ""
    replaces = arguments.replace or ""
    decision = Event(state="accepted", at="", by=by, reason=reason, replaces=replaces)
    name = arguments.what or ""
    waiting, _ = board.check(name, decision)
    notes = [] if replaces else name_notes(waiting, board.submissions("accepted"))
    report = (
        None
        if arguments.unverified
        else maintaining.verified_report(board, name, *verification(arguments))
    )
    accepted = board.decide(
        name, "accepted", by=by, reason=reason, verified=report, replaces=replaces
    )
    replacing = f", instead of {replaces}" if replaces else ""
    _tell_submission(
        accepted,
        f"accepted, {'unverified' if report is None else 'verified'}{replacing}",
    )

    return _tell_notes(notes)


def _site(board: Board, arguments: Leaderboard) -> int:
    """Writes the pages, and prints how to open them."""
    from medical_tasks.leaderboard.site import write_site

    out = arguments.out or Path()
    count = write_site(board, out, uploads=arguments.uploads)
    tell(
        f"{out}: {count} results; open it with a web server: python -m http.server -b 127.0.0.1 "
        f"-d {out}",
        out=out,
        results=count,
    )
    return _damaged(board)


_ACTIONS: Final[Mapping[str, Callable[[Board, Leaderboard], int]]] = {
    "list": _list,
    "show": _show,
    "submit": _submit,
    "accept": _accept,
    "reject": _reject,
    "history": _history,
    "entries": _entries,
    "check": _check_store,
    "site": _site,
}
"""The actions on a store; `serve` opens it itself."""


def _tell_submission(submission: Submission, state: str = "") -> None:
    """Prints a submission with its state."""
    last = submission.history[-1]
    since = (
        f"{state}, since {last.at} by {last.by}"
        if state
        else f"pending since {last.at}"
    )
    line = f"{submission.id}: {since}: {submission.submitter.model}, {', '.join(submission.tasks)}"
    tell(
        line,
        id=submission.id,
        state=submission.state,
        model=submission.submitter.model,
        tasks=submission.tasks,
    )


def _tell_notes(notes: list[str]) -> int:
    tell("\n".join(f"note: {note}" for note in notes) or None, notes=notes)
    return 0


def _tell_lines(report: maintaining.Listing, board: Board | None = None) -> int:
    """Prints lines for people, or their content as JSON, and what was left out."""
    lines, content = report
    tell("\n".join(lines), content)
    return _damaged(board)


def _damaged(board: Board | None) -> int:
    """Prints what the last listing left out."""
    for name, problem in (board.damaged if board is not None else {}).items():
        print(f"note: {name} is left out: {problem}", file=sys.stderr)
    for line in maintaining.unshown_lines(board.unshown if board is not None else ()):
        print(line, file=sys.stderr)
    return 0
