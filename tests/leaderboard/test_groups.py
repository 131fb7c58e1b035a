from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import task_spec
from medical_tasks.leaderboard.ranking import group_label, group_of, setting_of
from medical_tasks.runs.recipes import recipe_differences
from tests.leaderboard.made_packages import recipe_of

KQA, MEDCALC = task_spec("kqa"), task_spec("medcalc")
JUDGE = {
    "name": "openai-api/[host]/judge",
    "comparable": True,
    "votes": 5,
    "prompts": {"set": "own", "sha256": "cd" * 32},
}


def other(key: str, **changes: Any) -> dict[str, Any]:
    return {key: {**recipe_of(MEDCALC)[key], **changes}}


@pytest.mark.parametrize(
    "changes",
    [
        {"suite": "medical-tasks 9"},
        {"task_version": "2-B"},
        {"model": {"name": "another"}},
        {"python": "3.12.0", "packages": {}},
        other("data", source={"renamed.csv": "c2" * 32}),
        other("generation", max_new_tokens=9, model_args={"temperature": "1"}),
        {"truncation": {"words_left_out": {"a": 3}}},
        {"scoring": {"sentence_bert": {"sha256": "a"}}},
    ],
)
def test_what_belongs_to_the_model_does_not_separate(changes: dict[str, Any]) -> None:
    task = task_spec("ehrnoteqa_open_level1")
    assert group_of(task, recipe_of(MEDCALC)) == group_of(task, recipe_of(MEDCALC, **changes))
    assert not recipe_differences("medcalc", recipe_of(MEDCALC), recipe_of(MEDCALC, **changes)).refused


@pytest.mark.parametrize(
    "changes",
    [
        {"task_version": "1-A"},
        other("data", rows_sha256="77" * 32),
        other("data", config="v1.2"),
        other("data", split="dev"),
        {"metrics": {"accuracy": {"kind": "mean"}}},
        {"prompts": {"set": "own", "sha256": "77" * 32}},
        {"prompts": {"set": "own", "sha256": "ab" * 32, "settings": {"top_k": 5}}},
        {"prompts": None},
        {"protocol": {"tries": 3}},
        {"baseline": {"embedder": "words"}},
        {"judge": JUDGE},
        {"judge": {**JUDGE, "votes": 1}},
        {"scoring": {"claims": {"file": "a", "sha256": "b"}}},
    ],
)
def test_what_decides_the_numbers_separates(changes: dict[str, Any]) -> None:
    assert group_of(KQA, recipe_of(MEDCALC)) != group_of(KQA, recipe_of(MEDCALC, **changes))
    assert group_of(KQA, recipe_of(MEDCALC)) != group_of(MEDCALC, recipe_of(MEDCALC))
    # Nothing that `compare` refuses or warns of for such a reason is ranked together.
    found = recipe_differences("medcalc", recipe_of(MEDCALC), recipe_of(MEDCALC, **changes))
    assert found.refused or found.warned or "baseline" in changes


def test_files_are_known_by_their_hashes() -> None:
    def group(**scoring: Any) -> str:
        return group_of(KQA, recipe_of(KQA, scoring=scoring))

    assert group(claims={"file": "a", "sha256": "b"}) == group(claims={"file": "c", "sha256": "b"})
    assert group(claims={"file": "a", "sha256": "b"}) != group(claims={"file": "a", "sha256": "c"})
    # Each model's answers have claims of their own; how they were made is another thing.
    assert group(output_claims={"sha256": "b"}) == group(output_claims={"sha256": "c"}) != group(output_claims="judge")


def test_in_words() -> None:
    recipe = recipe_of(KQA, judge=JUDGE)
    said = "answered test (9595959595), prompts own (ababababab), judge openai-api/[host]/judge, 5 votes"
    assert group_label(recipe) == setting_of(KQA, recipe) == said
    more = {
        "task_args": {"tries": "3"},
        "truncation": {"words_left_out": {"a": 1, "b": 2}},
        "generation": {"max_new_tokens": 99},
    }
    assert (
        setting_of(KQA, {**recipe, **more}) == f"{said}, tries=3, answers of at most 99 tokens, 2 questions shortened"
    )
    assert group_label({}) == "None None (None)"  # odd recipes never end a page
