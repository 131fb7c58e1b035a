"""What a submission package holds: a zip file of a few files with fixed names, told apart from any other by a content hash.

    package.json     who submits what: `Manifest`; the SHA-256 of every other file, and of all of it together
    results.json     as the run wrote it: metrics with intervals, coverage, breakdowns, recipes
    items.jsonl      a line an item: task, id, cluster, groups, values, `answer_sha256`, `verdicts_sha256`
    answers.jsonl    a line an answer, for open data alone: task, id, response
    verdicts.jsonl   a line a question to the judge, as the run wrote it; without any text for credentialed data

The content hash says that nothing was changed since the package was made. It does not say who made it: whoever changes a number
can make a new hash, and `verifying` finds that by scoring again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = [
    "ANSWERS",
    "FORMAT",
    "ITEMS",
    "MANIFEST",
    "MEMBERS",
    "RESULTS",
    "VERDICTS",
    "Manifest",
    "Package",
    "Submitter",
]

FORMAT: Final = 1

MANIFEST: Final = "package.json"
RESULTS: Final = "results.json"
ITEMS: Final = "items.jsonl"
ANSWERS: Final = "answers.jsonl"
VERDICTS: Final = "verdicts.jsonl"
MEMBERS: Final = (MANIFEST, RESULTS, ITEMS, ANSWERS, VERDICTS)
"""All files a package can have, in the order in which they stand in it."""


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """What a submitter says of the model; shown on the leaderboard as they wrote it.

    Attributes:
        model: name to show, 1 to 96 characters.
        organisation: who submits, "" for nobody named.
        url: page of the model, https only; "" for none.
        notes: one line, at most 280 characters.
        open_weights: whether anybody can have the weights; None when nothing is said.
        parameters: number of parameters in billions; None when nothing is said.
    """

    model: str
    organisation: str = ""
    url: str = ""
    notes: str = ""
    open_weights: bool | None = None
    parameters: float | None = None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """`package.json`.

    Attributes:
        format: `FORMAT`.
        suite: name and version of what made the package.
        submitter: who and what.
        tasks: names of the tasks in it.
        files: name of each other file to `{"bytes": ..., "sha256": ...}`.
        content_sha256: hash over all of the above and below.
        partial: task to the reasons, one sentence each, for which it is not the whole official split that was answered (demo
            records, a part of the items, ...); tasks without any are not in it. `partial.partial_facts` makes it.
    """

    format: int
    suite: str
    submitter: Submitter
    tasks: tuple[str, ...]
    files: Mapping[str, Mapping[str, Any]]
    content_sha256: str
    partial: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Short name of the package: the same content has the same."""
        return self.content_sha256[:16]


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package that was read: of the stated form, its hashes right, every value in its limits.

    Attributes:
        manifest: `package.json`.
        results: `results.json`.
        items: rows of `items.jsonl`.
        answers: task to item id to answer; a task on credentialed data has none.
        verdicts: rows of `verdicts.jsonl`.
    """

    manifest: Manifest
    results: Mapping[str, Any]
    items: Sequence[Mapping[str, Any]]
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    verdicts: Sequence[Mapping[str, Any]] = ()
