"""The folder of a site: its settings, its paths, and the journal of finished steps.

    site = open_site(Path("ward-7"))
    site.settings.use            # "chart-qa"
    site.private                 # the folder of texts
    note_step(site, "sample", inputs=["site.toml:seed"], outputs=["sample/sample.csv"],
              figures={"patients": 60})

The journal is append-only. It records the hashes of what each finished step read and
wrote, so that `changed` finds the inputs that have changed since.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from medical_tasks._version import __version__
from medical_tasks.errors import (
    IncompleteError,
    MissingError,
    UsageError,
    system_reason,
)
from medical_tasks.guard.policy import Subject
from medical_tasks.guard.private_store import new_private_id, private_folder
from medical_tasks.io.files import (
    append_line,
    make_folder,
    named_path,
    read_bytes,
    read_text,
)
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.site.settings import SETTINGS_NAME, Settings, read_settings

JOURNAL_NAME: Final = "journal.jsonl"
_PRIVATE: Final = "private"
_RULE: Final = (
    "notes of a hospital's own are credentialed unless site.toml says open = true"
)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A site's folder.

    Attributes:
        path: the folder.
        settings: the content of its `site.toml`.
        private_id: the id of its part of the private store.
    """

    path: Path
    settings: Settings
    private_id: str

    @functools.cached_property
    def private(self) -> Path:
        """The folder of texts: in the private store, or `work` if the notes are open."""
        if self.settings.open:
            return make_folder(self.path / "work")
        return private_folder(self.private_id, run=self.path)

    @property
    def subject(self) -> Subject:
        """The source of the text, as the guard names it."""
        return Subject(
            name=f"site {self.settings.use}",
            dataset="site",
            access="open" if self.settings.open else "credentialed",
            rule=_RULE,
        )

    @property
    def notes(self) -> Path:
        """The table of notes, at its own place."""
        return self.seen(self.settings.notes)

    @property
    def plan(self) -> Path:
        """The folder of the plan."""
        return self.path / "plan"

    @property
    def sample(self) -> Path:
        """The table of the sampled patients."""
        return self.path / "sample" / "sample.csv"

    @property
    def review(self) -> Path:
        """The folder of labels."""
        return self.path / "review"

    @property
    def runs(self) -> Path:
        """The folder of runs, one folder a role: candidate, baseline."""
        return self.path / "runs"

    @property
    def checks(self) -> Path:
        """The folder of the judge's checks."""
        return self.path / "checks"

    @property
    def policy(self) -> Path:
        """The policy of the gate."""
        return self.path / "policy.toml"

    @property
    def gates(self) -> Path:
        """The history of gates and looks."""
        return self.path / "gates.jsonl"

    @property
    def evidence(self) -> Path:
        """The folder of the evidence."""
        return self.path / "evidence"

    @property
    def monitor(self) -> Path:
        """The folder of later looks."""
        return self.path / "monitor"

    @property
    def share(self) -> Path:
        """The folder of what other hospitals may receive."""
        return self.path / "share"

    def seen(self, name: str) -> Path:
        """The path that `site.toml` names, relative to the folder."""
        return Path(os.path.normpath(self.path / named_path(name)))

    def located(self, name: str) -> Path:
        """The path of a name in the journal: `sample/sample.csv`, `private/drafts.jsonl`."""
        first, _, rest = name.partition("/")
        return self.private / rest if first == _PRIVATE else self.path / name

    def named(self, path: str | Path) -> str:
        """The journal's name for a path, which reveals nothing of this machine if it is inside.

        A setting, such as `site.toml:seed`, is its own name.
        """
        if isinstance(path, str):
            return path
        for root, prefix in ((self.path, ""), (self.private, f"{_PRIVATE}/")):
            if path.is_relative_to(root):
                return prefix + path.relative_to(root).as_posix()
        return os.fspath(path)


class Done(NamedTuple):
    """A line of the journal.

    Attributes:
        at: when the step ended, as `2026-01-31T12:00:00Z`.
        inputs: the hash of each file, folder or setting that was read, by name.
        outputs: the hash of each file or folder that was written, by name.
        figures: the step's results, as numbers and words without text of notes.
    """

    step: str
    at: str
    version: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    figures: Json


def open_site(path: Path) -> Site:
    """Opens the folder of a site.

    Raises:
        MissingError: the folder has no `site.toml`.
        UsageError: its `site.toml` or journal is invalid.
    """
    path = path.expanduser()
    settings_file = path / SETTINGS_NAME
    if not settings_file.is_file():
        raise MissingError(
            f"{path}: no {SETTINGS_NAME} in it, so it is not the folder of a site. Name one, or "
            "make one: medical-tasks site new FOLDER --use chart-qa"
        )

    path = path.resolve()
    lines = _lines(path / JOURNAL_NAME)
    begun = next((line for line in lines if line.step == "new"), None)
    if begun is None:
        raise UsageError(
            f"{path / JOURNAL_NAME}: does not begin with `new`, which names the folder of the "
            "site's text. Restore it from a copy; site.toml and labels are unchanged."
        )

    return Site(
        path=path,
        settings=read_settings(path / SETTINGS_NAME),
        private_id=str(begun.figures.get("private_id", "")),
    )


def begin(path: Path) -> None:
    """Writes the first line of a new folder's journal, which names its part of the private store."""
    _append(
        path / JOURNAL_NAME,
        _line("new", {}, {}, {"private_id": new_private_id()}),
    )


def journal(site: Site) -> list[Done]:
    """The finished steps, the oldest first."""
    return _lines(site.path / JOURNAL_NAME)


def last(site: Site, step: str) -> Done | None:
    """The journal's last line of a step; None if it was never finished."""
    return next((line for line in reversed(journal(site)) if line.step == step), None)


def note_step(
    site: Site,
    step: str,
    *,
    inputs: Iterable[str | Path] = (),
    outputs: Iterable[str | Path] = (),
    figures: Mapping[str, object] | None = None,
) -> Done:
    """Records that a step is finished; the line is on the disk when this returns.

    Args:
        site: the site.
        step: its name.
        inputs: the files and folders that it read; `site.toml:KEY` or
            `site.toml:TABLE.KEY` for a setting.
        outputs: the files or folders that it wrote.
        figures: its results, without text of notes, and without ids but pseudonyms.
    """
    hashes = (_digests(site, inputs), _digests(site, outputs))
    entry = _line(step, *hashes, dict(figures or {}))
    _append(site.path / JOURNAL_NAME, entry)

    return _done(entry)


def _digests(site: Site, paths: Iterable[str | Path]) -> dict[str, str]:
    """The hash of each file, folder or setting, by its name in the journal."""
    return {name: digest(site, name) for name in map(site.named, paths)}


def changed(site: Site, done: Done) -> list[str]:
    """The inputs that have changed since a step was finished."""
    return [
        name for name, before in done.inputs.items() if digest(site, name) != before
    ]


def digest(site: Site, name: str) -> str:
    """The SHA-256 of a setting, a file, or a folder's files; "" if it does not exist.

    A folder's digest covers the names and contents of its files, not hidden ones, so that it
    changes with each file that is added, removed or changed.

    Args:
        site: the site.
        name: a path as the journal has it, or `site.toml:KEY` or `site.toml:TABLE.KEY`.
    """
    file, _, key = name.partition(":")
    if file == SETTINGS_NAME and key:
        value: object = site.settings
        for attribute in key.split("."):
            value = getattr(value, attribute)

        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = dataclasses.asdict(value)

        content = json.dumps(value, sort_keys=True, default=list)
        return hashlib.sha256(content.encode()).hexdigest()

    return _digest_at(site.located(name))


def _digest_at(path: Path) -> str:
    if path.is_dir():
        inside = sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not file.name.startswith(".")
        )
        whole = hashlib.sha256()
        for file in inside:
            line = f"{file.relative_to(path).as_posix()} {_digest_at(file)}\n"
            whole.update(line.encode("utf-8", "surrogateescape"))

        return whole.hexdigest() if inside else ""

    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except OSError:
        return ""


def _line(
    step: str,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    figures: Mapping[str, object],
) -> JsonDict:
    return {
        "step": step,
        "at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "version": __version__,
        "inputs": dict(inputs),
        "outputs": dict(outputs),
        "figures": dict(figures),
    }


def _append(path: Path, entry: Mapping[str, object]) -> None:
    """Adds a line, and returns when it is on the disk."""
    # ASCII: a file's name may hold other line ends, or bytes that UTF-8 does not have.
    line = json.dumps(entry, ensure_ascii=True, allow_nan=False).encode()
    try:
        append_line(path, line)
    except OSError as error:
        raise IncompleteError(
            f"{path}: cannot be written ({system_reason(error)}). Free some space or correct the "
            "folder's rights, and give the command again."
        ) from error


def _lines(path: Path) -> list[Done]:
    """The whole lines of a journal; a half-written one, as a kill leaves it, is skipped."""
    try:
        text = read_text(path, errors="replace")
    except FileNotFoundError:
        return []

    entries = []
    for line in text.split("\n"):
        try:
            entries.append(_done(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            continue

    return entries


def _done(entry: Json) -> Done:
    return Done(**{name: entry[name] for name in Done._fields})
