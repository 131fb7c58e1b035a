"""Access to the desk: each person has an address of their own, and no password.

An address holds a random token. The private folder stores only its hash, so an address is
shown once, when it is drawn; a lost one is replaced.
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
            isinstance(value, str) for value in hashes.values()
        )
        if not sound:
            raise UsageError(f"{self._path}: not as medical-tasks wrote it. {_AGAIN}")

        return dict(hashes)

    def draw(self, people: Collection[str], *, anew: bool = False) -> Mapping[str, str]:
        """Draws tokens for those who have none, or `anew` for all; returns the new ones.

        They cannot be read again later.
        """
        names = [name for name in people if anew or name not in self._hashes]
        drawn = {name: secrets.token_urlsafe(32) for name in names}
        if drawn:
            self._hashes |= {name: _hash(token) for name, token in drawn.items()}
            with WholeFile(self._path, private=True) as stream:
                stream.write(json.dumps(self._hashes, indent=1) + "\n")

        return drawn

    def person(self, token: str) -> str | None:
        """The owner of a token; None for nobody.

        Compares with all hashes, each in constant time.
        """
        digest = _hash(token)
        owner = None
        for name, stored in self._hashes.items():
            if hmac.compare_digest(digest, stored):
                owner = name
        return owner


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
