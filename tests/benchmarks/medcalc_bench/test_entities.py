from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.gold import MAX_ENTITIES_CHARS, canonical_entities, parse_entities


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("{'sex': 'Male', 'age': [87, 'years']}", '{"age":[87,"years"],"sex":"Male"}'),
        ('{"sex": "Male", "age": [87, "years"]}', '{"age":[87,"years"],"sex":"Male"}'),
        ("{'a': (1.0, 'mg'), 'b': True, 'c': None}", '{"a":[1.0,"mg"],"b":true,"c":null}'),
        ('{"b": true, "c": null}', '{"b":true,"c":null}'),
        ("  {'x': -0.5}\n", '{"x":-0.5}'),
        ("{}", "{}"),
        ("{'Symptom onset ≤3 days': False, 'it\\'s': 'µL'}", '{"Symptom onset ≤3 days":false,"it\'s":"µL"}'),
        ("{'input steroid': ['Dexamethasone PO', 7.96, 'mg']}", '{"input steroid":["Dexamethasone PO",7.96,"mg"]}'),
        ("{'path': 'a\\d'}", '{"path":"a\\\\d"}'),
        ("{'n': {'deep': [1, [2]]}}", '{"n":{"deep":[1,[2]]}}'),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert canonical_entities(text) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "neither a JSON object nor a Python dict literal"),
        ("   ", "neither a JSON object nor a Python dict literal"),
        ("{'a': 1", "neither a JSON object nor a Python dict literal"),
        ("{'a': nan}", "neither a JSON object nor a Python dict literal"),
        ("{'a': 1 + 1}", "neither a JSON object nor a Python dict literal"),
        ("{'a': open('x')}", "neither a JSON object nor a Python dict literal"),
        ("__import__('os').getcwd()", "neither a JSON object nor a Python dict literal"),
        ("{**{'a': 1}}", "neither a JSON object nor a Python dict literal"),
        ("[1, 2]", "a mapping of entity names is expected, got list"),
        ("'text'", "a mapping of entity names is expected, got str"),
        ("17", "a mapping of entity names is expected, got int"),
        ("null", "a mapping of entity names is expected, got NoneType"),
        ("{'a': 1, 'a': 2}", "the name 'a' stands twice"),
        ('{"a": 1, "a": 2}', "the name 'a' stands twice"),
        ("{1: 2}", "names are text, got 1"),
        ("{'a': {2: 3}}", "names are text, got 2"),
        ("{'a': {1, 2}}", "a value of type set"),
        ("{'a': b'x'}", "a value of type bytes"),
        ("{'a': 1+2j}", "a value of type complex"),
        ("{'a': 1e999}", "inf is not a number"),
        ('{"a": 1e999}', "inf is not a number"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
        ("{'a': " + "[" * 20 + "]" * 20 + "}", "nested too deeply"),
        ("{'a': '\\ud800'}", "lone surrogate"),
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
