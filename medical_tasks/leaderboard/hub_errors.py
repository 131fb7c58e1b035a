"""What goes wrong with the Hub, told with the next step; what passes by itself is told apart from what does not."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Conflict", "Passing", "Trouble", "outside_errors", "told"]

_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})
_CONFLICT: Final = frozenset({409, 412})
_SECRET: Final = re.compile(r"hf_\w+|Bearer \S+")


class Conflict(Exception):  # noqa: N818 - not an error: it is tried again
    """Another commit came first."""


class Trouble(Exception):  # noqa: N818 - a message for `MissingError`
    """What a user is told; trying again at once would not help."""


class Passing(Trouble):
    """Trouble that may be over soon.

    Args:
        message: what a user is told when it is not.
        after_s: how long the Hub asks to wait.
    """

    def __init__(self, message: str, *, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


def outside_errors() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises when the Hub or the way to it is in trouble."""
    import httpx

    # Its HTTP errors and time limits are OSErrors; replies it cannot read, and refused uploads, ValueErrors; hf_xet's own are
    # RuntimeErrors.
    return (OSError, ValueError, RuntimeError, httpx.HTTPError, Conflict)


def told(error: Exception, *, doing: str, repo: str) -> Trouble:
    """Says what happened.

    Args:
        error: one of `outside_errors`.
        doing: what was being done (`store NAME`).
        repo: the repository.
    """
    about = f"dataset repository {repo} of the Hub, {doing}"
    if isinstance(error, Conflict):
        return Passing(
            f"{about}: others stored files all the time. Nothing was changed; do the same again in a minute."
        )
    if isinstance(error, _offline()):
        return Trouble(
            f"{about}: HF_HUB_OFFLINE is set, so nothing is asked of the Hub. Unset it, or use a folder as store."
        )
    status = _status(error)
    if status in (401, 403):
        return Trouble(
            f"{about}: refused ({status}). Set HF_TOKEN to a token that may write to {repo}, or log in with `hf auth login`."
        )
    if status == 404:
        return Trouble(
            f"{about}: not found (404), or not to be seen with this token. See the name; a new store is an empty dataset "
            f"repository (`hf repos create {repo} --type dataset --private`), and HF_TOKEN a token that may write to it."
        )
    if status in _CONFLICT:
        return Passing(
            f"{about}: others stored files all the time. Nothing was changed; do the same again in a minute."
        )
    if status in _PASSING:
        return Passing(
            f"{about}: the Hub is in trouble or asks for patience ({status}). {_UNSURE}", after_s=_after(error)
        )
    if status:
        return Trouble(f"{about}: refused ({status}: {_reason(error)}).")
    return Passing(f"{about}: the Hub is not reached ({_reason(error)}). {_UNSURE}")


def _offline() -> type[Exception]:
    from huggingface_hub.errors import OfflineModeIsEnabled

    return OfflineModeIsEnabled


_UNSURE: Final = "Do the same again later: what was stored all the same is found then, and nothing is stored twice."


def _status(error: BaseException) -> int:
    status = int(getattr(getattr(error, "response", None), "status_code", 0) or 0)
    # A failed upload is told as a RuntimeError whose cause has the answer.
    return status or (0 if error.__cause__ is None else _status(error.__cause__))


def _after(error: Exception) -> float:
    headers = getattr(getattr(error, "response", None), "headers", {})
    value = str(headers.get("retry-after", "0"))
    return float(value) if value.isdecimal() else 0.0


def _reason(error: Exception) -> str:
    """The first line of what it says, without anything like a token in it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return _SECRET.sub("...", f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__)[:200]
