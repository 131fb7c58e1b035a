"""Words of the command line that end up in a public file: checked before anything is read or written."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from medical_tasks.errors import UsageError

__all__ = ["check_date", "check_line", "check_variant", "dataset_repos", "dataset_revisions", "source_of"]

_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_OWNER: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_LONGEST: Final = 500


def dataset_repos(given: Sequence[str], needed: Collection[str]) -> dict[str, str]:
    """Reads `--dataset-repo`: OWNER/NAME for the one dataset, or DATASET=OWNER/NAME.

    Args:
        given: as on the command line.
        needed: the datasets that the tasks are of.

    Returns:
        Dataset to repository, for each that is needed.

    Raises:
        UsageError: Something is misspelt, missing, needless or said twice.
    """
    repos = _by_dataset("--dataset-repo", given, needed, "OWNER/NAME")
    for repo in repos.values():
        if _REPO.fullmatch(repo) is None or ".." in repo or "--" in repo or repo.endswith(("-", ".", ".git")):
            raise UsageError(f"--dataset-repo {repo!r}: not a repository of the Hub. Write OWNER/NAME.")
    missing = [dataset for dataset in needed if dataset not in repos]
    if missing:
        raise UsageError(
            f"--dataset-repo: which repository of the Hub is the benchmark of {', '.join(missing)}? Give "
            + " ".join(f"--dataset-repo {dataset}=OWNER/NAME" for dataset in missing)
        )
    return repos


def dataset_revisions(given: Sequence[str], needed: Collection[str]) -> dict[str, str]:
    """Reads `--dataset-revision`: a commit for the one dataset, or DATASET=COMMIT.

    Raises:
        UsageError: As `dataset_repos`, or it is no commit.
    """
    revisions = _by_dataset("--dataset-revision", given, needed, "COMMIT")
    for revision in revisions.values():
        if _COMMIT.fullmatch(revision) is None:
            raise UsageError(
                f"--dataset-revision {revision!r}: not a commit of the dataset's repository. Write all of its 40 digits."
            )
    return revisions


def _by_dataset(option: str, given: Sequence[str], needed: Collection[str], form: str) -> dict[str, str]:
    told: dict[str, str] = {}
    for word in given:
        dataset, mark, value = word.partition("=")
        if not mark:
            if len(needed) != 1:
                raise UsageError(
                    f"{option} {word!r}: the tasks are of several datasets ({', '.join(needed)}). Say which with {option} "
                    f"DATASET={form}, once for each."
                )
            dataset, value = next(iter(needed)), word
        if dataset not in needed:
            raise UsageError(f"{option} {word!r}: no task here is of {dataset!r}. They are of {', '.join(needed)}.")
        if dataset in told:
            raise UsageError(f"{option}: given twice for {dataset} ({told[dataset]} and {value}). Give it once.")
        told[dataset] = value
    return told


def check_date(text: str) -> str:
    """Takes a date, or date and time, of ISO 8601 in the form that every reader of it knows.

    Raises:
        UsageError: It is none, or is still to come.
    """
    example = "Write it like 2026-08-31 or 2026-08-31T14:00:00Z."
    if _DATE.fullmatch(text) is None:
        raise UsageError(f"--date {text!r}: not a date. {example}")
    try:
        day = datetime.fromisoformat(text).date()
    except ValueError as error:
        raise UsageError(f"--date {text!r}: not a date ({error}). {example}") from error
    if day > _latest():
        raise UsageError(f"--date {text!r}: lies in the future; it is the day of the run. {example}")
    return text


def _latest() -> date:
    # Somewhere it is tomorrow already.
    return (datetime.now(UTC) + timedelta(days=1)).date()


def _check_url(url: str) -> str:
    """Takes the address of a page.

    Raises:
        UsageError: It is no http or https address.
    """
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        sound = False
    if not sound or any(char.isspace() or not char.isprintable() for char in url):
        raise UsageError(
            f"--source-url {url!r}: not the address of a page. Write it like https://huggingface.co/OWNER/NAME."
        )
    return url


def check_variant(variant: str) -> str:
    """Takes what tells one result of a benchmark from another; it becomes part of a file's name.

    Raises:
        UsageError: It has other characters than a file's name safely has.
    """
    if _VARIANT.fullmatch(variant) is None:
        raise UsageError(f"--variant {variant!r}: up to 40 letters, digits, _ and -, such as with-tools.")
    return variant


def check_line(option: str, text: str) -> str:
    """Takes one line of text.

    Raises:
        UsageError: It is empty, too long, or not one line that can be shown.
    """
    if not text.strip() or len(text) > _LONGEST or not text.isprintable():
        raise UsageError(f"{option}: one line of at most {_LONGEST} characters that can be shown, not {_told(text)}.")
    return text


def _told(text: str) -> str:
    return repr(text) if len(text) <= _LONGEST else f"{len(text)} characters"


def source_of(options: Mapping[str, str | None]) -> dict[str, str]:
    """Puts together where a result is from.

    Args:
        options: `url`, `name`, `user` and `org`, as given.

    Raises:
        UsageError: Something is given without the address that it belongs to, or is not as it should be.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if given and "url" not in given:
        raise UsageError(f"--source-{next(iter(given))}: says whose page it is; give --source-url as well.")
    for name, value in given.items():
        if name == "url":
            _check_url(value)
        elif name == "name":
            check_line("--source-name", value)
        elif _OWNER.fullmatch(value) is None:
            raise UsageError(
                f"--source-{name} {value!r}: not a name of the Hub. Write it as in https://huggingface.co/NAME."
            )
    return given
