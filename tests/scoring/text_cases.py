"""Texts that several tests of text overlap share."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.case_tables import json_of, tables
from tests.support import SHARED

CASES = tables(__file__, "text_cases")

WORDS = CASES["WORDS"]

TEXTS = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from([" ", " ", "", "\n", "\t"])).map(
        "".join
    ),
    max_size=24,
).map("".join)
"""Texts of few words, so that they share some, with line breaks and marks."""

ANY_TEXTS = st.text(max_size=40)

EMPTY = ["", " ", "\n", "\t\n ", "<skipped>"]
"""Texts without a token of 13a."""


@cache
def triples() -> list[dict[str, Any]]:
    """Returns recorded texts: prediction, references, source and the scores of the reference implementations."""
    file = SHARED / "fixtures" / "metrics.json"
    rows: list[dict[str, Any]] = json_of(file)["text_overlap"]["triples"]
    assert len(rows) >= 26
    return rows
