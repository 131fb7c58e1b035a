"""The authors' reading of claims that a model wrote, bug for bug (their `claim_evaluation/generate_subclaims.py`).

Line feeds are deleted, with nothing in their place, then the text is cut at `Claim 1: `, `Claim 2: ` and so on. What stands before
the first is dropped; small letters, a missing space or a claim that speaks of `Claim 2: ` are not seen or cut; nothing keeps the
number of claims to 30. An empty text is not asked about and has no claims.
"""

from __future__ import annotations

import re

__all__ = ["official_claims"]

_MARK = re.compile("Claim [0-9]+: ")


def official_claims(reply: str) -> list[str]:
    """Reads a reply as they do.

    Args:
        reply: the model's raw text.

    Returns:
        The claims, white space at their ends included; maybe none, maybe blank ones.
    """
    return _MARK.split(reply.replace("\n", ""))[1:]
