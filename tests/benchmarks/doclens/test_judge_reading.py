"""How strictly replies to our prompts and to the authors' are read; `cases/judge_replies.json` has replies by reader."""

from __future__ import annotations

import inspect
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens import judge_prompts
from medical_tasks.benchmarks.doclens.judge_prompts import (
    read_cited_lines,
    read_cited_object,
    read_official_cited,
    read_official_cited_lines,
)
from medical_tasks.judges.base import Unreadable
from tests.benchmarks.doclens.doclens_judges import cited
from tests.benchmarks.doclens.task_items import as_tuples, cases

READERS = {
    name: read
    for name, read in vars(judge_prompts).items()
    if name.startswith("read_") and hasattr(read, "__wrapped__")
}
GIVEN: dict[str, Any] = {"explained": True, "ids": ["c1"], "numbers": [3, 5], "claims": ["a"], "claim": "a"}


def test_every_reader_has_cases() -> None:
    assert len(READERS) == 13
    assert {group["reader"] for group in cases("judge_replies")} == set(READERS) - {"read_official_only"}


@pytest.mark.parametrize("group", cases("judge_replies"), ids=lambda group: group["reader"])
def test_replies(group: dict[str, Any]) -> None:
    read = partial(READERS[group["reader"]], **group["given"])
    for reply, wanted in group["cases"]:
        found = read(reply)
        if isinstance(wanted, dict):
            assert isinstance(found, Unreadable), reply
            assert wanted["problem"] in found.problem
        else:
            assert found == as_tuples(wanted), reply
            assert type(found) is type(as_tuples(wanted))


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=4),
    st.lists(st.integers(0, 9999), min_size=1, max_size=4),
    st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_a_number_that_was_not_shown_makes_a_reply_unreadable(
    shown: list[int], named: list[int], entailed: bool
) -> None:
    lines = f"provenance: {', '.join(map(str, named))}\n"
    official = json.dumps({"provenance": named, "entailment_prediction": int(entailed)})
    numbered = {
        "own": read_cited_object(cited(entailed, *named), shown, explained=True),
        "lines": read_cited_lines(f"{lines}entailed: {'yes' if entailed else 'no'}", shown),
        "official": read_official_cited(official, shown),
    }
    places = read_official_cited_lines(f"{lines}entailment_prediction: {int(entailed)}", shown)
    assert {isinstance(value, Unreadable) for value in numbered.values()} == {not set(named) <= set(shown)}
    assert isinstance(places, Unreadable) is (max(named) >= len(shown))


NAMES = ["verdicts", "id", "explanation", "entailed", "provenance", "claims", "claim", "prediction"]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES, st.text(max_size=30) | st.text(alphabet='[]{}":,01 \nclaimprdto_', max_size=60))
@settings(deadline=None, max_examples=100)
def test_readers_never_raise_and_what_they_read_can_be_kept(value: Any, rest: str) -> None:
    for read in READERS.values():
        options = {name: GIVEN[name] for name in inspect.signature(read).parameters if name in GIVEN}
        for text in (json.dumps(value), f"provenance: {rest}\nentailed: yes", rest):
            found = read(text, **options)
            assert isinstance(found, Unreadable) or hash(found) == hash(found)


def test_readers_are_linear() -> None:
    long = "provenance: " + "[ 1 , " * 50_000 + "\nentailed: yes"
    assert isinstance(read_cited_lines(long, [1, 2]), tuple | Unreadable)
    assert isinstance(read_cited_lines("* " * 100_000, [1, 2]), Unreadable)
