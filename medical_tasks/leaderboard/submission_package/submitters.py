"""What a submitter says of a model: checked the same way where it is given and where it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from medical_tasks.io.json_records import Field
from medical_tasks.leaderboard.submission_package.contents import Submitter
from medical_tasks.leaderboard.submission_package.forms import check_fields, line_text, number, true_or_false
from medical_tasks.leaderboard.submission_package.names import name_problem
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError, shown

__all__ = ["SUBMITTER_FIELDS", "read_submitter", "submitter_values"]

_LONGEST_URL: Final = 300
_URL_CHARACTERS: Final = re.compile(r"[A-Za-z0-9._~:/?#@!$&()*+,;=%-]+")
_HOST: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")


def _named(most: int, *, least: int = 0) -> Field:
    form = line_text(most, least=least)
    return Field(
        holds=lambda value: form.holds(value) and value == " ".join(value.split()),
        rule=f"{form.rule}, with no spaces around it or doubled",
    )


def _is_address(value: Any) -> bool:
    if value == "":
        return True
    if not isinstance(value, str) or len(value) > _LONGEST_URL or not _URL_CHARACTERS.fullmatch(value):
        return False
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return False
    host = parts.hostname or ""
    return value.startswith("https://") and "@" not in parts.netloc and port is None and bool(_HOST.fullmatch(host))


SUBMITTER_FIELDS: Final[Mapping[str, Field]] = {
    "model": _named(96, least=1),
    "organisation": _named(96),
    "url": Field(
        holds=_is_address, rule=f"an https:// address of at most {_LONGEST_URL} characters, without a user or a port"
    ),
    "notes": _named(280),
    "open_weights": true_or_false(null=True),
    "parameters": number(1e-6, 1e5, null=True),
}


def submitter_values(submitter: Submitter) -> dict[str, Any]:
    """The same as JSON."""
    return {name: getattr(submitter, name) for name in SUBMITTER_FIELDS}


def read_submitter(where: str, values: Any) -> Submitter:
    """Checks what a submitter says.

    Args:
        where: where it stands, for messages.
        values: as JSON.

    Raises:
        PackageError: It is not of the form.
    """
    checked = check_fields(where, values, SUBMITTER_FIELDS)
    for field in ("model", "organisation"):
        if checked[field] and (problem := name_problem(checked[field])):
            raise PackageError(f"{where}, {field}: {shown(checked[field])} {problem}. {WRITE_AGAIN}")
    parameters = checked["parameters"]
    return Submitter(**{**checked, "parameters": None if parameters is None else float(parameters)})
