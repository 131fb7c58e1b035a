"""`medical-tasks site review`: opens the desk, or imports and exports labels without it."""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.construct.annotation import parse_names
from medical_tasks.errors import MissingError, RefusedError, UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.guard.policy import Subject
from medical_tasks.guard.private_store import in_use
from medical_tasks.io.files import folder_lock, make_folder
from medical_tasks.io.output import tell
from medical_tasks.io.tables import read_sheet as read_table
from medical_tasks.io.user_folders import private_home
from medical_tasks.site.desk.forms import Form, People, form_of
from medical_tasks.site.desk.labels import LabelStore
from medical_tasks.site.desk.options import WithDesk
from medical_tasks.site.desk.serving import (
    LOOPBACK,
    Address,
    Desk,
    listening,
    server_of,
)
from medical_tasks.site.desk.sheets import read_sheet
from medical_tasks.site.desk.tokens import Tokens
from medical_tasks.site.desk.work import COLUMNS, Work, import_labels, write_labels
from medical_tasks.site.folder import Site, note_step, open_site
from medical_tasks.site.options import Review

_SHEETS: Final = "sheets"
_LABELS: Final = "labels"
_DESK: Final = "desk"
_PURPOSE: Final = "the review desk's page"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What is labelled.

    Attributes:
        works: the sheets with their labels, by name.
        folder: the private folder of the addresses.
        subjects: the sources of the sheets' text, for the guard.
        path: the path of `--open`; None in a site.
        form: the form of that path; None in a site.
        site: the site; None with `--open`.
    """

    works: Mapping[str, Work]
    folder: Path
    subjects: Sequence[Subject]
    path: Path | None = None
    form: Form | None = None
    site: Site | None = None


def run(options: Review) -> int:
    """Imports or exports labels, or serves the desk; returns the exit code."""
    if options.export is not None and options.labels_from:
        raise UsageError("--export and --import: give one at a time.")

    opened = _of_file(options) if options.open is not None else _of_site(options)
    with policy.protect(opened.subjects, policy.attestation_from(options)):
        for work in opened.works.values():
            for problem in work.store.problems:
                print(f"note: {problem}", file=sys.stderr)

        if options.labels_from:
            return _import(opened, options)
        if options.export is not None:
            return _export(opened, options.export)

        return _serve(opened, options)


def _of_site(options: Review) -> Opened:
    """The sheets of a site, which its step `make` wrote."""
    extra = {
        "--reviewers": options.reviewers,
        "--adjudicator": options.adjudicator,
        "--overlap": options.overlap,
    }
    if misplaced := [name for name, value in extra.items() if value is not None]:
        raise UsageError(
            f"{', '.join(misplaced)}: a site's reviewers are in its site.toml. Leave it out, or "
            "give --open PATH."
        )

    site = open_site(options.folder)
    files = sorted((site.private / _SHEETS).glob("*.json"))
    paths = {path.stem: path for path in files}
    if not paths:
        raise MissingError(
            f"{site.path}: there is no sheet to label yet. For the next step: medical-tasks site "
            f"status {site.path}"
        )

    names = _chosen(options.sheet, list(paths))
    works = {
        name: Work(
            read_sheet(paths[name]),
            LabelStore(site.private / _LABELS / f"{name}.jsonl"),
        )
        for name in names
    }
    return Opened(
        works=works,
        folder=make_folder(site.private / _DESK),
        subjects=[site.subject],
        site=site,
    )


def _chosen(name: str | None, names: Sequence[str]) -> list[str]:
    if name is None:
        return list(names)
    if name not in names:
        raise UsageError(f"--sheet {name}: there are {', '.join(names)}.")
    return [name]


def _of_file(options: Review) -> Opened:
    """A file or folder from another command."""
    path = (options.open or Path()).expanduser()
    check_least({"--overlap": options.overlap}, 0)
    form = form_of(path)
    people = People(
        raters=parse_names(options.reviewers or "reviewer"),
        adjudicator=options.adjudicator or "",
        overlap=options.overlap,
    )
    sheets = {sheet.name: sheet for sheet in form.make(path, people)}
    folder = make_folder(form.folder(path))
    works = {
        name: Work(sheets[name], LabelStore(folder / f"{name}.jsonl"))
        for name in _chosen(options.sheet, list(sheets))
    }
    for label in form.before(path):
        for work in works.values():
            if work.store.last(label.rater, label.item) is None:
                work.store.add(label)

    return Opened(
        works=works,
        folder=folder,
        subjects=form.subjects(path),
        path=path,
        form=form,
    )


# Labels without the desk


def _import(opened: Opened, options: Review) -> int:
    """Adds the labels of CSV files, each to the sheet that has its items."""
    for path in options.labels_from:
        work = _sheet_of(path, opened.works)
        added = import_labels(path, work)
        tell(f"{path}: {added:,} labels are new in {work.sheet.name}.", added=added)
    _keep(opened)
    return 0


def _sheet_of(path: Path, works: Mapping[str, Work]) -> Work:
    """The sheet that has most items of a file; `import_labels` then names invalid rows."""
    ids = [row.cells["item"].strip() for row in read_table(path, COLUMNS)]
    return max(
        works.values(),
        key=lambda work: sum(identifier in work.sheet.by_id for identifier in ids),
    )


def _export(opened: Opened, out: Path) -> int:
    """Writes labels, in the form of the opened file or as CSV of ids and values."""
    if opened.form is not None and opened.path is not None:
        written = opened.form.write(opened.path, opened.works, out.expanduser())
        decided = [
            bool(decision.value)
            for work in opened.works.values()
            for decision in work.decided()
        ]
        waiting = len(decided) - sum(decided)
        tell(
            f"{', '.join(map(str, written))}: {waiting:,} of {len(decided):,} items are not "
            "decided yet.",
            files=written,
            waiting=waiting,
        )
        return 0

    if len(opened.works) > 1:
        names = ", ".join(opened.works)
        raise UsageError(f"--export {out}: add --sheet, one of {names}.")

    (work,) = opened.works.values()
    rows = write_labels(out.expanduser(), work)
    tell(f"{out}: {rows:,} labels, without texts.", rows=rows)

    return 0


def _keep(opened: Opened) -> None:
    """Writes the labels of a site to its folder `review`, for its other steps."""
    site = opened.site
    if site is None:
        return

    outputs: list[str | Path] = []
    figures: dict[str, object] = {}
    for name, work in opened.works.items():
        path = site.review / f"{name}.csv"
        make_folder(path.parent)
        write_labels(path, work)
        outputs.append(path)
        decided = [bool(decision.value) for decision in work.decided()]
        figures[name] = {"items": len(decided), "decided": sum(decided)}

    note_step(site, "review", outputs=outputs, figures=figures)


# The desk


def _serve(opened: Opened, options: Review) -> int:
    """Serves the desk until it is stopped."""
    tls = _tls(options)
    _check_host(options, tls)
    with (
        _alone(opened.folder),
        listening(options.host, options.port) as listener,
    ):
        port = int(listener.getsockname()[1])
        address = Address(host=options.host, port=port, tls=tls)
        if options.host not in LOOPBACK:
            policy.require_endpoint(address.origin, _PURPOSE)

        tokens = Tokens(opened.folder)
        people = [name for work in opened.works.values() for name in work.people]
        server = server_of(Desk(opened.works, tokens, address))
        # Not before the desk can be served, since addresses are printed only once.
        drawn = tokens.draw(dict.fromkeys(people), anew=options.renew)
        _tell_addresses(opened, address, drawn, options)
        try:
            with contextlib.suppress(KeyboardInterrupt), _stopped_by_term():
                server.run(sockets=[listener])
        finally:
            _keep(opened)

    return 0


def _tls(options: WithDesk) -> tuple[Path, Path] | None:
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert and --tls-key belong together: give both.")
    if options.tls_cert is None or options.tls_key is None:
        return None
    for path in (options.tls_cert, options.tls_key):
        if not path.expanduser().is_file():
            raise MissingError(f"{path}: no such file.")
    return options.tls_cert.expanduser(), options.tls_key.expanduser()


def _check_host(options: WithDesk, tls: tuple[Path, Path] | None) -> None:
    """Refuses hosts by which text could reach others without permission."""
    host = options.host
    if host in LOOPBACK:
        return

    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_unspecified:
            raise UsageError(
                f"--host {host} is every address of this machine. Name the one that reviewers "
                "reach it by."
            )

    if tls is None and policy.protecting():
        raise RefusedError(
            f"--host {host}: the sheets hold credentialed text, which would cross the network in "
            "the clear. Let reviewers come by a tunnel to 127.0.0.1 (ssh -L), or give --tls-cert "
            f"and --tls-key, and {policy.ALLOW} {host} with {policy.ATTEST}."
        )

    print(
        f"note: everybody on the network who reaches {host} can contact this desk; only those with "
        "an address that holds a token get in.",
        file=sys.stderr,
    )


@contextlib.contextmanager
def _stopped_by_term() -> Iterator[None]:
    """Handles SIGTERM like Ctrl-C, so that labels are written when the desk stops."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Locks the labels against a second desk, and their folder against `purge`."""
    store = private_home()
    within = [parent for parent in (folder, *folder.parents) if parent.parent == store]
    with (
        in_use(within[0]) if within else contextlib.nullcontext(),
        folder_lock(folder, wait=False) as locked,
    ):
        if not locked:
            raise UsageError(
                f"{folder}: a desk is open on these labels already. Use that one, or stop it first."
            )

        yield


def _tell_addresses(
    opened: Opened, address: Address, drawn: Mapping[str, str], options: WithDesk
) -> None:
    """Prints each person's address, which is shown only once."""
    lines = [f"review desk: {address.origin}/  (stop it with Ctrl-C; labels are kept)"]
    for work in opened.works.values():
        waiting = sum(not decision.value for decision in work.decided())
        lines.append(
            f"{work.sheet.title}: {waiting:,} of {len(work.sheet.items):,} items wait"
        )

    for name, token in drawn.items():
        lines.append(f"for {name}: {address.origin}/r/{token}")

    if drawn:
        lines.append("Each address is shown this once and is for that person alone.")
    else:
        lines.append(
            "Everybody has an address already; --renew draws new ones for all."
        )

    print("\n".join(lines), flush=True)
