"""The verb `leaderboard` on the command line; `Leaderboard` in `options` says what it takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
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
# What each verb takes beside --store.
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
    """Does what was asked; its exit code."""
    _check(arguments)
    action, what = arguments.action, arguments.what or ""
    if action == "serve":
        from medical_tasks.leaderboard.serving import serve

        port = 7860 if arguments.port is None else arguments.port
        serve(arguments.store, host=arguments.host or "127.0.0.1", port=port)
        return 0

    board = Board(open_storage(arguments.store))
    if action == "site":
        return _site(board, arguments.out or Path(), uploads=arguments.uploads)

    if action == "list":
        submissions = board.submissions(arguments.state)
        return _shown(
            maintaining.submission_lines(submissions, board.submissions("accepted")),
            board,
        )

    if action == "show":
        submission = board.submission(what)
        package = board.package(submission.id)
        return _shown(
            maintaining.package_lines(
                submission, package, board.submissions("accepted")
            )
        )

    if action == "submit":
        submission = board.submit(package_bytes(Path(what)))
        _told(submission)
        return _notes(name_notes(submission, board.submissions("accepted")))

    if action == "accept":
        return _accept(board, arguments)

    if action == "reject":
        _told(
            board.decide(
                what, "rejected", by=arguments.by or "", reason=arguments.reason or ""
            ),
            "rejected",
        )
        return 0

    if action == "history":
        submissions = board.submissions() if not what else [board.submission(what)]
        return _shown(maintaining.history_lines(submissions), board)

    if action == "entries":
        task = None if arguments.task is None else task_spec(arguments.task)
        entries = [
            entry
            for entry in entries_of(board)
            if task is None or entry.task == task.name
        ]
        return _shown(maintaining.entry_lines(entries), board)

    found = maintaining.check_store(board)
    _shown(maintaining.check_lines(found))
    return 5 if found.problems else 0


def _check(arguments: Leaderboard) -> None:
    """Refuses options of other actions, and names or folders that are missing."""
    action = arguments.action
    for name in dict.fromkeys(name for taken in _TAKES.values() for name in taken):
        if name in set_values(arguments) and name not in _TAKES[action]:
            users = ", ".join(verb for verb, taken in _TAKES.items() if name in taken)
            raise UsageError(
                f"--{name.replace('_', '-')} is for {users}, not for {action}. Leave it out."
            )

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
        raise UsageError(f"{action} takes no {arguments.what!r}. Leave it out.")

    verifying = [
        name for name in (*_VERIFYING, *_GUARD) if name in set_values(arguments)
    ]
    if verifying and arguments.unverified:
        raise UsageError(
            f"--{verifying[0].replace('_', '-')} is for verifying, and --unverified leaves that "
            "out. Give one of them."
        )


def _accept(board: Board, arguments: Leaderboard) -> int:
    """Accepts a submission; what hinders it is checked before it is verified."""
    by, reason, replaces = (
        arguments.by or "",
        arguments.reason or "",
        arguments.replace or "",
    )
    wanted = Event(state="accepted", at="", by=by, reason=reason, replaces=replaces)
    name = arguments.what or ""
    waiting, _ = board.check(name, wanted)
    notes = [] if replaces else name_notes(waiting, board.submissions("accepted"))
    report = (
        None
        if arguments.unverified
        else maintaining.verified_report(board, name, *verification(arguments))
    )
    made = board.decide(
        name, "accepted", by=by, reason=reason, verified=report, replaces=replaces
    )
    place = f", in place of {replaces}" if replaces else ""
    _told(made, f"accepted, {'unverified' if report is None else 'verified'}{place}")

    return _notes(notes)


def _site(board: Board, out: Path, *, uploads: bool) -> int:
    from medical_tasks.leaderboard.site import write_site

    count = write_site(board, out, uploads=uploads)
    tell(
        f"{out}: {count} results; open it with a web server: python -m http.server -b 127.0.0.1 "
        f"-d {out}",
        out=out,
        results=count,
    )
    return _damaged(board)


def _told(made: Submission, state: str = "") -> None:
    last = made.history[-1]
    since = (
        f"{state}, since {last.at} by {last.by}"
        if state
        else f"pending since {last.at}"
    )
    said = f"{made.id}: {since}: {made.submitter.model}, {', '.join(made.tasks)}"
    tell(
        said, id=made.id, state=made.state, model=made.submitter.model, tasks=made.tasks
    )


def _notes(notes: list[str]) -> int:
    tell("\n".join(f"note: {note}" for note in notes) or None, notes=notes)
    return 0


def _shown(told: maintaining.Told, board: Board | None = None) -> int:
    lines, content = told
    tell("\n".join(lines), content)
    return _damaged(board)


def _damaged(board: Board | None) -> int:
    for name, problem in (board.damaged if board is not None else {}).items():
        print(f"note: {name} is left out: {problem}", file=sys.stderr)
    for line in maintaining.unshown_lines(board.unshown if board is not None else ()):
        print(line, file=sys.stderr)
    return 0
