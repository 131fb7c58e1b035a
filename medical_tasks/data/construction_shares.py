"""Who gets which question: equal shares by a seed, and some questions for everybody where agreement is to be seen."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from medical_tasks.errors import UsageError

__all__ = ["checked_seed", "parse_names", "share_out", "sheet_order"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")


def parse_names(text: str, *, option: str = "--reviewers") -> tuple[str, ...]:
    """Reads `NAME,NAME,...`.

    Raises:
        UsageError: A name is not of the form, or stands twice (files on some systems do not tell case).
    """
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{option} {text!r}: {name!r} is no name; up to 30 letters, digits, - and _, such as a,b,c."
            )
    if len({name.casefold() for name in names}) < len(names):
        raise UsageError(f"{option} {text!r}: a name stands twice.")
    return names


def checked_seed(seed: int | None) -> int:
    """Reads `--seed`, 0 where it is not given.

    Raises:
        UsageError: It is less than 0.
    """
    if seed is not None and seed < 0:
        raise UsageError(f"--seed must be 0 or more, got {seed}.")
    return seed or 0


def share_out(ids: Sequence[str], names: Sequence[str], *, overlap: int, seed: int) -> dict[str, tuple[str, ...]]:
    """Shares questions out.

    Args:
        ids: the questions'; their order plays no part.
        names: of the people.
        overlap: how many questions everybody gets.
        seed: decides who gets what.

    Returns:
        Id to names; the first one decides. How many each decides differs by one at most.

    Raises:
        UsageError: The overlap is larger than the number of questions, or needs a second person.
    """
    if not 0 <= overlap <= len(ids):
        raise UsageError(f"--overlap must be from 0 to the number of questions, {len(ids):,}, got {overlap:,}.")
    if overlap and len(names) < 2:
        raise UsageError(f"--overlap {overlap}: there is one name, {names[0]}; agreement needs two.")
    shares: dict[str, tuple[str, ...]] = {}
    for number, identifier in enumerate(sorted(ids, key=lambda each: _rank(f"{seed}:{each}"))):
        first = names[number % len(names)]
        others = [name for name in names if name != first] if number < overlap else []
        shares[identifier] = (first, *others)
    return shares


def sheet_order(shares: dict[str, tuple[str, ...]], name: str, *, seed: int) -> list[str]:
    """Orders the questions of one person, so that those of everybody stand among the others."""
    own = [identifier for identifier, names in shares.items() if name in names]
    return sorted(own, key=lambda each: _rank(f"{seed}:{name}:{each}"))


def _rank(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
