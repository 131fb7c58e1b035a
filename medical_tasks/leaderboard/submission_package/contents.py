"""The contents of a submission package, a zip file, and the outcome of verifying one.

The content hash detects changes but does not authenticate the author: whoever changes a
number can compute a new hash.

In `items.jsonl` `"nan"` is a value without a denominator, and `null` one not decided
(reason in `unscored`). `answer_sha256` is over the answer as UTF-8; `verdicts_sha256`
over the item's lines of `verdicts.jsonl`, each as JSON with sorted names, without
spaces and with a line feed. `content_sha256` is over `package.json` in that form,
without itself; its first 16 digits are the package's id.

- `package.json`: format, suite, submitter, tasks, why tasks are partial, length and
  SHA-256 of every other file, `content_sha256`
- `results.json`: metrics with intervals and bounds, coverage, breakdowns and recipes
- `items.jsonl`: each item's columns of `items.parquet` (without `sources`),
  `answer_sha256`, `verdicts_sha256`
- `answers.jsonl`: answers (`task`, `id`, `response`), for open data only, unless they
  are published elsewhere
- `verdicts.jsonl`: questions to the judge; for credentialed data without text
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Literal

from medical_tasks.errors import UsageError
from medical_tasks.runs.results import Json, JsonDict, Row

FORMAT: Final = 1
SHA256: Final = re.compile(r"[0-9a-f]{64}")

MANIFEST: Final = "package.json"
RESULTS: Final = "results.json"
ITEMS: Final = "items.jsonl"
ANSWERS: Final = "answers.jsonl"
VERDICTS: Final = "verdicts.jsonl"
MEMBERS: Final = (MANIFEST, RESULTS, ITEMS, ANSWERS, VERDICTS)
"""All files that a package can have, in order."""


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """The submitter's statements about the model, shown unchanged.

    `parameters` are in billions; "" and None mean not stated.
    """

    model: str
    organisation: str = ""
    url: str = ""
    notes: str = ""
    open_weights: bool | None = None
    parameters: float | None = None
    licence: str = ""

    def stated(self) -> JsonDict:
        """Returns the form in `package.json`.

        An empty licence is left out, since older packages lack the field.
        """
        return {
            name: value
            for name, value in asdict(self).items()
            if (name, value) != ("licence", "")
        }


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """`package.json`.

    `partial` has the reasons, as sentences, why a task's result is not over the whole
    official split.
    """

    suite: str
    submitter: Submitter
    tasks: tuple[str, ...]
    content_sha256: str
    partial: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The short id of the package; equal contents have equal ids."""
        return self.content_sha256[:16]


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package that was read and is sound.

    `answers` maps tasks on open data to item ids to answers.
    """

    manifest: Manifest
    results: Json
    items: Sequence[Row]
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    verdicts: Sequence[Row] = ()


WRITE_AGAIN: Final = (
    "Write the package again: medical-tasks submit RUN --to space --model-name NAME"
)
NAN: Final = "nan"
"""A value without a denominator in `items.jsonl`, since JSON lacks `nan`.

null is an undecided value.
"""


class PackageError(UsageError):
    """A package was refused.

    The message quotes it only shortened and in plain ASCII, safe for a terminal.
    """


class UnknownTaskError(PackageError):
    """A package has results of a task that is not installed."""


def not_sound(what: str) -> PackageError:
    """Makes the error for a package that `submit` would not write."""
    return PackageError(f"{what}. {WRITE_AGAIN}")


MIB: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """Limits of a package."""

    package_bytes: int = 32 * MIB
    member_bytes: int = 64 * MIB
    total_bytes: int = 96 * MIB
    ratio: int = 200
    line_bytes: int = MIB
    tasks: int = 64
    items: int = 50_000
    verdicts: int = 300_000
    groups: int = 400
    item_groups: int = 10
    depth: int = 24
    number_characters: int = 40
    values: int = 400_000
    line_values: int = 5_000
    total_values: int = 3_000_000


DEFAULT_LIMITS: Final = ReadLimits()


def canonical(value: object) -> str:
    """Returns canonical JSON: names sorted, no spaces, ASCII.

    Raises `ValueError` for a number that JSON does not have.
    """
    return json.dumps(
        value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False
    )


def answer_sha256(text: str | None) -> str:
    """Returns the SHA-256 of a model's text as UTF-8, with lone surrogates passed through.

    "" for an item without an answer.
    """
    return (
        ""
        if text is None
        else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    )


def verdicts_sha256(rows: Iterable[Row]) -> str:
    """Returns the SHA-256 of an item's verdicts in order, each `canonical` with a line feed.

    "" if there are none.
    """
    digest, some = hashlib.sha256(), False
    for row in rows:
        some = True
        digest.update(f"{canonical(row)}\n".encode())
    return digest.hexdigest() if some else ""


def file_facts(content: bytes) -> JsonDict:
    """Returns the facts about a file in `package.json`: `bytes` and `sha256`."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def content_sha256(manifest: Json) -> str:
    """Returns the SHA-256 of `package.json` as `canonical`, without `content_sha256` itself.

    It covers the other files by their hashes.
    """
    stated = {
        name: value for name, value in manifest.items() if name != "content_sha256"
    }
    return hashlib.sha256(canonical(stated).encode()).hexdigest()


Outcome = Literal["match", "mismatch", "not checked"]
Found = tuple[Outcome, str]
"""The outcome of a comparison, and a line about it."""


@dataclass(frozen=True)
class Check:
    """One comparison (`medcalc: scores`).

    `detail` is one line without any text of credentialed data.
    """

    name: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """All checks of a package, named by its id.

    Example:
        The scores are the same, and the judge was not asked again. The package matches, and
        the task's verdicts are taken on trust:

        >>> scores = Check("kqa: scores", "match", "201 items score the same")
        >>> judge = Check("kqa: judge", "not checked", "give --judge to ask it again")
        >>> outcome = Verification(package="0123456789abcdef", checks=[scores, judge])
        >>> outcome.matches, outcome.unproven, outcome.on_trust
        (True, (), ('kqa',))
    """

    package: str
    checks: Sequence[Check]

    @property
    def matches(self) -> bool:
        """Whether nothing differs, and the scores of every task were computed again."""
        return not self.differs and not self.unproven

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return any(check.outcome == "mismatch" for check in self.checks)

    @property
    def unproven(self) -> tuple[str, ...]:
        """Tasks whose scores could not be computed again.

        The hash of an answer says nothing about its score.
        """
        proven: dict[str, bool] = {}
        for check in self.checks:
            task, colon, what = check.name.partition(": ")
            if colon:
                proven[task] = proven.get(task, False) or (
                    what == "scores" and check.outcome != "not checked"
                )

        return tuple(task for task, done in proven.items() if not done)

    @property
    def on_trust(self) -> tuple[str, ...]:
        """Tasks whose verdicts are not checked, as their judge was not asked again."""
        names = (
            check.name.partition(": ")
            for check in self.checks
            if check.outcome == "not checked"
        )
        return tuple(task for task, _, what in names if what == "judge")

    def as_json(self) -> JsonDict:
        """Returns JSON: `package`, `matches`, `on_trust`, and `checks`."""
        about = {
            "package": self.package,
            "matches": self.matches,
            "on_trust": list(self.on_trust),
        }
        return {**about, "checks": [asdict(check) for check in self.checks]}


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """What a package is made from, or checked against.

    Attributes:
        data: the folder of the built dataset; None for the data home.
        source: the user's own file, or the folder of the release, instead of `data`.
        responses: a file of answers, or the folder of a run.
        adjudicated: the sheet of adjudicated answers.
        upstream: a clone of the authors' repository, with their prompts.
        task_args: settings of tasks that are files or folders here.
        judge: the judge to ask again; "" to leave it out.
        judge_args: its settings.
        sample: how many items of a task the judge is asked about again.
        seed: the seed of that sample.
    """

    data: Path | None = None
    source: Path | None = None
    responses: Path | None = None
    adjudicated: Path | None = None
    upstream: Path | None = None
    task_args: Mapping[str, str] = field(default_factory=dict)
    judge: str = ""
    judge_args: Mapping[str, str] = field(default_factory=dict)
    sample: int = 20
    seed: int = 0


DEFAULT_OPTIONS: Final = VerifyOptions()
