"""When two submissions are of one model: the same name by the same organisation, however it is spaced or capitalised."""

from __future__ import annotations

import unicodedata

__all__ = ["model_key"]


def model_key(organisation: str, model: str) -> tuple[str, str]:
    """Names a model.

    An organisation's results can be followed up by itself alone: under the same name somebody else's stand beside them.
    """
    return _plain(organisation), _plain(model)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
