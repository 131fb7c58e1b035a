"""Who may open the desk: an address of their own for each person, and no password.

An address holds a random token. The private folder keeps its hash alone, so an address
is shown once, when it is drawn; a lost one is replaced.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, read_text, readable

FILE: Final = "addresses.json"
_AGAIN: Final = "Remove it: the desk then draws a new address for everybody."


class Tokens:
    """The hashes of tokens, by person."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._hashes = self._read()

    def _read(self) -> dict[str, str]:
        if not self._path.exists():
            return {}

        with readable(self._path, missing=_AGAIN, again=_AGAIN):
            text = read_text(self._path)

        try:
            hashes = json.loads(text)
        except ValueError:
            hashes = None

        sound = isinstance(hashes, dict) and all(
            isinstance(each, str) for each in hashes.values()
        )
        if not sound:
            raise UsageError(f"{self._path}: not as medical-tasks wrote it. {_AGAIN}")

        return dict(hashes)

    def draw(self, people: Collection[str], *, anew: bool = False) -> Mapping[str, str]:
        """Draws tokens for those who have none, or `anew` for all; returns the new ones.

        This is the one time that they can be read.
        """
        wanted = [name for name in people if anew or name not in self._hashes]
        drawn = {name: secrets.token_urlsafe(32) for name in wanted}
        if drawn:
            self._hashes |= {name: _hash(token) for name, token in drawn.items()}
            with WholeFile(self._path, private=True) as part:
                part.write(json.dumps(self._hashes, indent=1) + "\n")

        return drawn

    def person(self, token: str) -> str | None:
        """Whose token it is; None for nobody's.

        All are compared, each in a time that says nothing of how much of it was right.
        """
        given = _hash(token)
        found = None
        for name, known in self._hashes.items():
            if hmac.compare_digest(given, known):
                found = name
        return found


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
