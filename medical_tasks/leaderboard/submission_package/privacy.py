"""Removes what a package must not reveal: the submitter's machine, and credentialed texts.

Keys, addresses and paths are replaced by words in brackets, and files by their hashes.
Versions and numbers, which make results comparable, are kept. Scrubbing is idempotent,
and a package that it would change is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from medical_tasks.catalog import dataset_spec
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import redact_reason, redact_row, redact_value
from medical_tasks.judges.kinds import KINDS as JUDGE_KINDS
from medical_tasks.leaderboard.submission_package.contents import SHA256, PackageError
from medical_tasks.leaderboard.submission_package.submitters import is_address
from medical_tasks.models.opener import KINDS
from medical_tasks.report.entries import Entry, Recipe
from medical_tasks.runs.results import Json, JsonDict, Row
from medical_tasks.spec import TaskSpec

ADDRESS: Final = "[address]"
HOST: Final = "[host]"
PATH: Final = "[path]"
FILE: Final = "[file]"
SECRET: Final = "[secret]"  # noqa: S105 - stands in the place of one
WITHHELD: Final = "[not told]"

FILE_SETTINGS: Final = frozenset(
    {
        "alignscore", "bertscore", "bleurt", "claims", "clinical_bert", "corrected", "documents",
        "embedder", "output_claims", "punkt", "radgraph", "sentence_bert", "tokenizer", "umls",
    }
)  # fmt: skip
"""Settings of tasks and models whose value is a file or a folder."""

_OWN_WORDS: Final = ("demo",)  # values of such a setting that are not paths
_SECRET_NAMES: Final = frozenset(
    {"api_key", "authorization", "headers", "hf_token", "password", "secret", "token"}
)
_SECRET: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|hf_|ghp_)[A-Za-z0-9_-]{16,}|(?<=--api-key[ =])[^\s]+|(?<=--hf-token[ =])[^\s]+|(?<=Bearer )[^\s\"']+"
)
_FILE_NAMES: Final = frozenset({"file", "folder", "path"})
_KINDS: Final = frozenset({*KINDS, *(kind.name for kind in JUDGE_KINDS)})
_BY_FILE: Final = ("responses", "recorded")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s\"'<>,;()\[\]{}]*")
_IPV4: Final = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.])")
_IPV6: Final = re.compile(r"\[[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.%]*\](?::\d{1,5})?")
_HOST_PORT: Final = re.compile(
    r"(?<![\w.:/-])[A-Za-z0-9][A-Za-z0-9.-]{0,250}:\d{2,5}(?![\w.:])"
)
_WORD: Final = re.compile(r"[^\s\"'=,;()]+")
_HUB_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_SEPARATORS: Final = re.compile(r"[\\/]+")
_HOMES: Final = frozenset({"home", "users", "", "~", ".", ".."})


def scrub(results: Json) -> JsonDict:
    """Removes traces of the submitter's machine from a run's results.

    `items_sha256` is removed as well, since no package has that file.
    """
    tasks = {name: _entry(entry) for name, entry in results["tasks"].items()}
    return {
        **{name: value for name, value in results.items() if name != "items_sha256"},
        "tasks": tasks,
    }


def _entry(entry: Entry) -> JsonDict:
    scrubbed = {**entry, "recipe": scrub_recipe(entry["recipe"])}
    if isinstance(entry.get("judge"), Mapping):
        judge, named = entry["judge"], entry["recipe"].get("judge")
        identity = named if isinstance(named, Mapping) else {}
        name = str(judge.get("name", ""))
        plain = _named(name, identity)
        check = (
            str(judge.get("check", "")).replace(name, plain)
            if name
            else judge.get("check", "")
        )
        trouble = None if judge.get("trouble") is None else WITHHELD
        scrubbed["judge"] = {
            **judge,
            "name": plain,
            "check": _text(check),
            "trouble": trouble,
        }

    return scrubbed


def scrub_recipe(recipe: Recipe) -> JsonDict:
    """Scrubs a task's recipe, or a part of one."""
    return {name: _scrubbed(name, value, recipe) for name, value in recipe.items()}


def _scrubbed(name: str, value: object, recipe: Recipe) -> Any:
    """Scrubs one field of a recipe."""
    if name in ("package", "packages", "python", "suite"):
        return value  # versions, some of which look like addresses
    if not isinstance(value, Mapping):
        return _value(name, value)

    scrubbed = _mapping(value)
    if name == "imported" and (address := published_at(recipe)):
        return {**scrubbed, "address": address}
    if name in ("model", "judge") and "name" in value:
        return {**scrubbed, "name": _named(str(value["name"]), value)}
    if name == "data" and isinstance(value.get("source"), Mapping):
        return {**scrubbed, "source": _scrubbed_source(value["source"])}
    return scrubbed


def _scrubbed_source(source: Json) -> JsonDict:
    """Names official files by their hashes alone; keeps a generated dataset's options."""
    hashes = sorted(
        str(setting) for setting in source.values() if SHA256.fullmatch(str(setting))
    )
    options = {
        key: setting
        for key, setting in source.items()
        if not SHA256.fullmatch(str(setting))
    }
    files = {f"file {number}": digest for number, digest in enumerate(hashes, start=1)}
    return {**_mapping(options), **files}


def published_at(recipe: Recipe) -> str:
    """Returns the public address of an imported run's answers; "" if none is stated."""
    imported = recipe.get("imported")
    address = imported.get("address") if isinstance(imported, Mapping) else None
    return address if isinstance(address, str) and is_address(address) else ""


def _mapping(values: Json) -> JsonDict:
    return {name: _value(name, value) for name, value in values.items()}


def _value(name: str, value: object) -> Any:
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, list | tuple):
        return [_value(name, inner) for inner in value]
    if not isinstance(value, str):
        return value
    if name in _SECRET_NAMES:
        return SECRET
    if name in _FILE_NAMES:
        return FILE
    if name in FILE_SETTINGS:
        return value if value in _OWN_WORDS else PATH

    return _text(value)


def _named(name: str, identity: Recipe) -> str:
    """Removes the folder from the name of a model whose weights are local."""
    plain = _text(name)
    kind, slash, rest = plain.partition("/")
    if (
        slash
        and kind in _KINDS
        and "weights" in identity
        and "revision" not in identity
    ):
        return f"{kind}/{rest.rpartition('/')[2]}"
    return plain


def _text(text: str) -> str:
    """Removes keys, addresses and paths from a text."""
    text = _SECRET.sub(SECRET, text)
    if not any(sign in text for sign in "/\\:.~"):
        return text
    plain = _IPV6.sub(ADDRESS, _IPV4.sub(ADDRESS, _URL.sub(ADDRESS, text)))
    return _HOST_PORT.sub(ADDRESS, _WORD.sub(lambda match: _word(match[0]), plain))


def _word(word: str) -> str:
    """Scrubs one word: a model's name keeps its kind, other paths their last part."""
    kind, slash, rest = word.partition("/")
    if not slash or kind not in {*_KINDS, *_BY_FILE, "imported"}:
        return _plain(word)
    if kind in _BY_FILE:
        return f"{kind}/{FILE}"
    if kind == "imported":
        return f"{kind}/{_plain(rest)}"
    if kind == "openai-api":
        return f"{kind}/{HOST}/{_plain(rest.partition('/')[2])}"

    if kind == "inspect":
        provider, _, model = rest.partition("/")
        return f"{kind}/{_plain(provider)}/{_plain(model)}"

    return f"{kind}/{_plain(rest)}"


def _plain(word: str) -> str:
    """Keeps the last part of a path, unless it is a home folder; Hub names are unchanged."""
    if not ("/" in word or "\\" in word or word.startswith("~")) or _HUB_NAME.fullmatch(
        word
    ):
        return word

    parts = _SEPARATORS.split(word.rstrip("/\\"))
    if (
        len(parts) < 2
        or parts[-2].casefold() in _HOMES
        or parts[-1] in _HOMES
        or parts[-2].endswith(":")
    ):
        return PATH

    return parts[-1]


_DIGEST = "response_sha256"
_HASH_FIELDS = frozenset({_DIGEST, "answer_sha256", "verdicts_sha256"})
_MAY_HOLD: Final = (
    "may hold a text, and the data are credentialed. Nothing of it was kept. Make the package "
    "from the run's own folder."
)


def texts_allowed(task: TaskSpec) -> bool:
    """Whether a package may contain answers, and a judge's texts about them."""
    return policy.text_allowed(dataset_spec(task.dataset))


def check_private_row(where: str, row: Row, words: frozenset[str]) -> None:
    """Refuses an item on credentialed data with anything but ids, groups, hashes and numbers.

    Messages never quote it.
    """
    kept = redact_row(
        {name: value for name, value in row.items() if name not in _HASH_FIELDS},
        None,
        note_words=words,
    )
    wrong = [
        name
        for name, value in row.items()
        if name not in _HASH_FIELDS and kept[name] != value and value == value
    ]
    if wrong:
        raise PackageError(f"{where}, {wrong[0]}: {_MAY_HOLD}")

    if row.get("answer_sha256") != row.get(_DIGEST):
        raise PackageError(
            f"{where}: answer_sha256 and {_DIGEST} belong to the same answer and differ."
        )


def check_private_verdict(where: str, row: Row) -> None:
    """Refuses a verdict on credentialed data that may contain a text."""
    sound = all(
        redact_value(row[name]) == row[name]
        for name in ("value", "votes")
        if name in row
    )
    if (
        not sound
        or "text" in row
        or ("unscored" in row and redact_reason(row["unscored"]) != row["unscored"])
    ):
        raise PackageError(f"{where}: {_MAY_HOLD}")
