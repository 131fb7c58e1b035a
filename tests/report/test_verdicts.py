from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.report.collect import owner_of, verdicts_by_item

IDS = frozenset({"1", "DEMO/1", "DEMO/1/plan", "a b"})


@pytest.mark.parametrize(
    ("verdict", "owner"),
    [
        ("1/must/0", "1"),
        ("1", "1"),
        ("DEMO/1/recall/0", "DEMO/1"),
        ("DEMO/1/plan/recall/0", "DEMO/1/plan"),  # the longest
        ("DEMO/1/plans/recall", "DEMO/1"),
        ("a b/open", "a b"),
        ("10/must/0", None),  # no part of a name is a name
        ("DEMO", None),
        ("", None),
        ("/", None),
    ],
)
def test_a_verdict_belongs_to_the_longest_id_before_its_slash(verdict: str, owner: str | None) -> None:
    assert owner_of(verdict, IDS) == owner


def line(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"task": "t", "id": name, "value": value, "votes": [value], "text": "It says so.", **more}


def test_verdicts_of_open_data_keep_their_words() -> None:
    lines = [
        line("1/must/0", "entailment", votes=["entailment", "neutral"]),
        line("1/must/1", None, unscored="judge: http 500"),
        line("1/open", True),
        line("2/must/0", "neutral"),
    ]
    (owner,) = (found := verdicts_by_item(lines, ["1"], private=False))
    assert owner == "1"
    assert [(each.id, each.value, each.unscored) for each in found["1"]] == [
        ("must/0", "entailment", ""),
        ("must/1", "", "judge: http 500"),
        ("open", "true", ""),
    ]
    assert found["1"][0].votes == ("entailment", "neutral")
    assert found["1"][2].votes == ()  # one vote says nothing more
    assert {each.text for each in found["1"]} == {"It says so."}


def test_verdicts_of_credentialed_data_lose_every_word_even_from_a_file_that_has_them() -> None:
    lines = [
        line("1/a", "The patient, 63, came with chest pain."),
        line("1/b", "entailment", votes=["He said", "x"], unscored="judge: he wrote a letter"),
    ]
    verdicts = verdicts_by_item(lines, ["1"], private=True)["1"]
    assert [(each.value, each.text) for each in verdicts] == [("", ""), ("entailment", "")]
    assert verdicts[1].votes == ("", "x")
    assert verdicts[1].unscored == "judge: other"
