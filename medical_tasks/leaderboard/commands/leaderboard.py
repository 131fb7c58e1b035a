"""Keep a leaderboard: see what was submitted, accept or reject it, check the store, show the pages.

    medical-tasks leaderboard list --store my-store --state pending
    medical-tasks leaderboard show ID --store my-store
    medical-tasks leaderboard submit package.zip --store my-store
    medical-tasks leaderboard accept ID --store my-store --by NAME --data datasets
    medical-tasks leaderboard reject ID --store my-store --by NAME --reason TEXT
    medical-tasks leaderboard history --store my-store
    medical-tasks leaderboard entries --store my-store --task medcalc
    medical-tasks leaderboard check --store my-store
    medical-tasks leaderboard site --store my-store --out site
    medical-tasks leaderboard serve --store my-store --port 7860

--store is a folder, or hub:OWNER/NAME for a dataset repository of the Hub (with HF_TOKEN). accept
takes a pending submission, or a rejected one again; reject takes a pending one, or withdraws an
accepted one. accept scores the answers again first, and what does not match is not accepted;
--unverified accepts without that, and the entry says so. Whoever was accepted first under a name
keeps it: --replace ID says that a submission is of the same model and takes that one's place. check
exits with 5 when the store is not whole. site writes the pages as files for any web server; serve
makes and serves them, and takes packages.
"""

from __future__ import annotations

import argparse
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
from medical_tasks.leaderboard.commands.verify import verification
from medical_tasks.leaderboard.records import Event, Submission
from medical_tasks.leaderboard.storage import open_storage
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_OPTIONS
from medical_tasks.leaderboard.submission_package.zip_file import package_bytes

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


def run(arguments: argparse.Namespace) -> int:
    """Does what was asked; its exit code."""
    _check(arguments)
    action, what = arguments.action, arguments.what
    if action == "serve":
        from medical_tasks.leaderboard.serving import serve

        port = 7860 if arguments.port is None else arguments.port
        serve(arguments.store, host=arguments.host or "127.0.0.1", port=port)
        return 0
    board = Board(open_storage(arguments.store))
    if action == "site":
        return _site(board, arguments.out, uploads=arguments.uploads)
    if action == "list":
        submissions = board.submissions(arguments.state)
        return _shown(
            maintaining.submission_lines(submissions, board.submissions("accepted")), board
        )
    if action == "show":
        submission = board.submission(what)
        package = board.package(submission.id)
        return _shown(maintaining.package_lines(submission, package, board.submissions("accepted")))
    if action == "submit":
        submission = board.submit(package_bytes(Path(what)))
        _told(submission)
        return _notes(name_notes(submission, board.submissions("accepted")))
    if action == "accept":
        return _accept(board, arguments)
    if action == "reject":
        _told(
            board.decide(what, "rejected", by=arguments.by or "", reason=arguments.reason or ""),
            "rejected",
        )
        return 0
    if action == "history":
        submissions = board.submissions() if what is None else [board.submission(what)]
        return _shown(maintaining.history_lines(submissions), board)
    if action == "entries":
        task = None if arguments.task is None else task_spec(arguments.task)
        entries = [entry for entry in entries_of(board) if task is None or entry.task == task.name]
        return _shown(maintaining.entry_lines(entries), board)
    found = maintaining.check_store(board)
    _shown(maintaining.check_lines(found))
    return 5 if found.problems else 0


def _check(arguments: argparse.Namespace) -> None:
    action = arguments.action
    for name in dict.fromkeys(name for taken in _TAKES.values() for name in taken):
        if getattr(arguments, name) not in (None, False, []) and name not in _TAKES[action]:
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
    given = [
        name for name in (*_VERIFYING, *_GUARD) if getattr(arguments, name) not in (None, False, [])
    ]
    if given and arguments.unverified:
        raise UsageError(
            f"--{given[0].replace('_', '-')} is for verifying, and --unverified leaves that out. "
            "Give one of them."
        )


def _accept(board: Board, arguments: argparse.Namespace) -> int:
    by, reason, replaces = arguments.by or "", arguments.reason or "", arguments.replace or ""
    wanted = Event(state="accepted", at="", by=by, reason=reason, replaces=replaces)
    waiting, _ = board.check(arguments.what, wanted)
    notes = [] if replaces else name_notes(waiting, board.submissions("accepted"))
    report = (
        None
        if arguments.unverified
        else maintaining.verified_report(board, arguments.what, *verification(arguments))
    )
    made = board.decide(
        arguments.what, "accepted", by=by, reason=reason, verified=report, replaces=replaces
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
    since = f"{state}, since {last.at} by {last.by}" if state else f"pending since {last.at}"
    said = f"{made.id}: {since}: {made.submitter.model}, {', '.join(made.tasks)}"
    tell(said, id=made.id, state=made.state, model=made.submitter.model, tasks=made.tasks)


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
    return 0
