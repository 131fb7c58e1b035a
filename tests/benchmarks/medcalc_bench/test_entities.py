from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.gold import MAX_ENTITIES_CHARS, canonical_entities, parse_entities

TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "canonical"), TABLES["canonical_form"])
def test_canonical_form(text: str, canonical: str) -> None:
    assert canonical_entities(text) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *TABLES["refused"],
        ("{'a': '" + "x" * MAX_ENTITIES_CHARS + "'}", f"characters, at most {MAX_ENTITIES_CHARS} are read"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        canonical_entities(text)


@pytest.mark.parametrize(
    "text",
    [
        "-" * (MAX_ENTITIES_CHARS - 1) + "1",
        "[" * MAX_ENTITIES_CHARS,
        "[" * (MAX_ENTITIES_CHARS // 2) + "]" * (MAX_ENTITIES_CHARS // 2),
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        "{'a': " + "1+" * 30_000 + "1}",
        "{'a': " + "9" * 60_000 + "}",
        '{"a": ' + "9" * 60_000 + "}",
        "{'a': " + "not " * 16_000 + "1}",
        "(" * 150 + ")" * 150,
    ],
    ids=lambda text: text[:8],
)
def test_texts_made_to_exhaust_the_parser_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"neither a JSON|nested too deeply|a mapping of|Exceeds the limit"):
        canonical_entities(text)


@pytest.mark.filterwarnings("error")
def test_an_odd_backslash_does_not_warn() -> None:
    assert parse_entities(r"{'a': '\d'}") == {"a": "\\d"}


def test_tuples_become_lists_and_order_is_kept() -> None:
    parsed = parse_entities("{'b': (1, ('x', 2)), 'a': 0}")
    assert list(parsed) == ["b", "a"]
    assert parsed["b"] == [1, ["x", 2]]


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
entities = st.dictionaries(
    st.text(max_size=12),
    scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.text(max_size=5), scalars, max_size=2),
    max_size=6,
)


@settings(deadline=None, max_examples=200)
@given(value=entities)
def test_both_notations_mean_the_same(value: dict[str, Any]) -> None:
    canonical = canonical_entities(repr(value))
    assert (
        canonical == canonical_entities(json.dumps(value)) == canonical_entities(json.dumps(value, ensure_ascii=False))
    )
    assert same(json.loads(canonical), value)
    assert canonical_entities(canonical) == canonical


def same(one: Any, two: Any) -> bool:
    """Equality that tells 1, 1.0 and True apart, and 0.0 from -0.0."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, float):
        return one == two and math.copysign(1, one) == math.copysign(1, two)
    return bool(one == two)
