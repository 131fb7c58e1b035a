"""The folder of a site: its settings, its places, and the journal of what was done.

    site = open_site(Path("ward-7"))
    site.settings.use            # "chart-qa"
    site.private                 # where text lies
    note_step(site, "sample", inputs=["site.toml:seed"], outputs=["sample/sample.csv"],
              figures={"patients": 60})

The journal is append-only. It says of each finished step what it read and wrote, by
hash, so that a step whose input has changed since is found (`changed`).
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
        settings: what its `site.toml` says.
        private_id: of its part of the private store; "" in a folder of open notes.
    """

    path: Path
    settings: Settings
    private_id: str

    @functools.cached_property
    def private(self) -> Path:
        """Where text lies: the private store, or `work` where notes are open."""
        if self.settings.open:
            return make_folder(self.path / "work")
        return private_folder(self.private_id, run=self.path)

    @property
    def subject(self) -> Subject:
        """Whose text is guarded."""
        return Subject(
            name=f"site {self.settings.use}",
            dataset="site",
            access="open" if self.settings.open else "credentialed",
            rule=_RULE,
        )

    @property
    def notes(self) -> Path:
        """The table of notes, where it lies."""
        return self.seen(self.settings.notes)

    @property
    def plan(self) -> Path:
        """The folder of the plan."""
        return self.path / "plan"

    @property
    def sample(self) -> Path:
        """The table of the patients that were drawn."""
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
        """The folder of what other hospitals may have."""
        return self.path / "share"

    def seen(self, place: str) -> Path:
        """A place that `site.toml` names, seen from the folder."""
        return Path(os.path.normpath(self.path / named_path(place)))

    def located(self, name: str) -> Path:
        """Where a name of the journal lies: `sample/sample.csv`, `private/drafts.jsonl`."""
        first, _, rest = name.partition("/")
        return self.private / rest if first == _PRIVATE else self.path / name

    def named(self, path: Path) -> str:
        """The name that the journal has for a path; one inside says nothing of this machine."""
        for root, prefix in ((self.path, ""), (self.private, f"{_PRIVATE}/")):
            if path.is_relative_to(root):
                return prefix + path.relative_to(root).as_posix()
        return os.fspath(path)


class Done(NamedTuple):
    """A line of the journal.

    Attributes:
        at: when the step ended, as `2026-01-31T12:00:00Z`.
        inputs: the hash of each thing that was read.
        outputs: the hash of each file or folder that was written.
        figures: what the step found, in numbers and words that are no text of notes.
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
        MissingError: there is none.
        UsageError: its `site.toml` is wrong.
    """
    path = path.expanduser()
    settings_file = path / SETTINGS_NAME
    if not settings_file.is_file():
        raise MissingError(
            f"{path}: no {SETTINGS_NAME} in it, so that it is no folder of a site. Name one, or "
            "make one: medical-tasks site new FOLDER --use chart-qa"
        )

    path = path.resolve()
    lines = _lines(path / JOURNAL_NAME)
    begun = next((line for line in lines if line.step == "new"), None)
    if begun is None:
        raise UsageError(
            f"{path / JOURNAL_NAME}: does not begin with `new`, which names the place of the "
            "site's text. Restore it from a copy; site.toml and labels are not touched."
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
    """When a step was last finished, and with what; None if it never was."""
    return next((line for line in reversed(journal(site)) if line.step == step), None)


def note_step(
    site: Site,
    step: str,
    *,
    inputs: Iterable[str | Path] = (),
    outputs: Iterable[str | Path] = (),
    figures: Mapping[str, object] | None = None,
) -> Done:
    """Writes that a step is finished; the line is on the disk when this returns.

    Args:
        site: the site.
        step: its name.
        inputs: what it read: files or folders, or `site.toml:KEY`, `site.toml:TABLE.KEY`
            for a setting.
        outputs: the files or folders that it wrote.
        figures: what it found. No text of notes, and no id that is no pseudonym.
    """
    read, written = (
        {
            name: digest(site, name)
            for name in (
                each if isinstance(each, str) else site.named(each) for each in names
            )
        }
        for names in (inputs, outputs)
    )
    entry = _line(step, read, written, dict(figures or {}))
    _append(site.path / JOURNAL_NAME, entry)

    return _done(entry)


def changed(site: Site, done: Done) -> list[str]:
    """The inputs that are other now than when a step was finished."""
    return [
        name for name, before in done.inputs.items() if digest(site, name) != before
    ]


def digest(site: Site, name: str) -> str:
    """The SHA-256 of a setting, a file, or a folder's files; "" for what is not there."""
    file, _, key = name.partition(":")
    if file == SETTINGS_NAME and key:
        value: object = site.settings
        for part in key.split("."):
            value = getattr(value, part)

        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = dataclasses.asdict(value)

        content = json.dumps(value, sort_keys=True, default=list)
        return hashlib.sha256(content.encode()).hexdigest()

    return _digest_at(site.located(name))


def _digest_at(path: Path) -> str:
    if path.is_dir():
        inside = sorted(
            each
            for each in path.rglob("*")
            if each.is_file() and not each.name.startswith(".")
        )
        whole = hashlib.sha256()
        for each in inside:
            line = f"{each.relative_to(path).as_posix()} {_digest_at(each)}\n"
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
    """Adds a line and waits until it is on the disk."""
    # ASCII: a name may hold signs that readers take for line ends, or bytes of no encoding.
    line = json.dumps(entry, ensure_ascii=True, allow_nan=False).encode()
    try:
        append_line(path, line)
    except OSError as error:
        raise IncompleteError(
            f"{path}: cannot be written ({system_reason(error)}). Free some space or mend the "
            "folder's rights, and give the command again."
        ) from error


def _lines(path: Path) -> list[Done]:
    """The whole lines of a journal; one that a kill left half written is none."""
    try:
        text = read_text(path, errors="replace")
    except FileNotFoundError:
        return []

    found = []
    for line in text.splitlines():
        try:
            found.append(_done(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            continue

    return found


def _done(entry: Json) -> Done:
    return Done(**{name: entry[name] for name in Done._fields})
