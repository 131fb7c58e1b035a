"""Whether figures may stand beside the paper's: each reason by itself, and the one line that says it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from medical_tasks.catalog import tasks
from medical_tasks.runs.comparability import (
    NO_OFFICIAL_FIGURES,
    NO_PROMPTS_READ,
    comparability,
    comparability_lines,
    is_comparable,
    is_same_model,
    paper_lines,
)

KQA = tasks()["kqa"]
PAPERS = [task for task in tasks().values() if task.paper is not None]


def as_the_paper(name: str = "kqa", **recipe: Any) -> dict[str, Any]:
    """An entry of `results.json` of a run that did what the task's paper did."""
    task = tasks()[name]
    assert task.paper is not None
    paper, items = task.paper, task.paper.items
    judge = {
        "name": f"openai-api/host/{paper.judges[0]}" if paper.judges else "",
        "comparable": True,
        "votes": paper.votes,
        "prompts": {"set": "official"},
    }
    return {
        "n_items": items,
        "metrics": {metric.name: {"value": 0.5} for metric in task.metrics},
        "coverage": {"asked": items, "answered": items, "scored": items},
        "recipe": {
            "model": {"name": "hf/model"},
            "prompts": {"set": "own" if paper.prompts == "same" else "official"},
            "judge": judge if paper.judges else None,
            "data": {"config": next(iter(paper.configs), "demo"), "split": task.split},
            **recipe,
        },
    }


def changed(entry: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """The same entry with another value at a place such as `recipe.judge.name`."""
    made = deepcopy(entry)
    *path, last = place.split(".")
    target = made
    for part in path:
        target = target[part]
    target[last] = value
    return made


@pytest.mark.parametrize("task", PAPERS, ids=lambda task: task.name)
def test_a_run_that_did_what_the_paper_did_is_comparable_where_one_can_be(
    task: Any,
) -> None:
    found = comparability(task, as_the_paper(task.name))
    assert found.comparable == (not task.paper.differs)
    if task.paper.differs:
        assert found.reasons == (task.paper.differs,)
    # What a run is held against is what the task has.
    configs = {name for each in task.benchmark.datasets for name in each.configs}
    assert set(task.paper.configs) <= configs
    assert bool(task.paper.judges) <= task.judge


def test_what_makes_it_so_is_said() -> None:
    (line,) = comparability_lines(KQA, as_the_paper())
    assert line == (
        "Comparable with the paper: yes (by the metrics that end in _official; the authors' prompts; judge "
        "openai-api/host/gpt-4; votes: 1; all 201 items)."
    )
    ehrnoteqa = tasks()["ehrnoteqa_mc_level1"]
    assert (
        "votes: 5"
        in comparability_lines(ehrnoteqa, as_the_paper("ehrnoteqa_mc_level1"))[0]
    )


@pytest.mark.parametrize(
    ("name", "place", "value", "reason"),
    [
        ("kqa", "recipe.prompts", None, "unknown prompts"),
        ("medcalc", "recipe.prompts", {"set": "own"}, "own prompts"),
        ("medcalc", "recipe.model.name", "baseline/reference", "no model answered"),
        ("kqa", "recipe.judge.prompts", {"set": "own"}, "the judge was asked with own prompts"),
        ("kqa", "recipe.judge.name", "openai/gpt-4o", "judge openai/gpt-4o, the paper's is gpt-4 or gpt-4-8k"),
        ("kqa", "recipe.judge.backend", "recorded", "judge openai-api/host/gpt-4, the paper's is gpt-4 or gpt-4-8k"),
        ("ehrnoteqa_mc_level1", "recipe.judge.votes", 1, "1 votes, the paper has 5"),
        ("kqa", "recipe.data.config", "own", "configuration own, the paper's is answered"),
        ("kqa", "recipe.data.swap", {"changed": "sex=female"}, "the patients were changed, sex=female"),
        ("archehr_together", "recipe.data.swap", {"changed": "sex=male"}, "the patients were changed, sex=male"),
        ("ehrnoteqa_mc_level1", "recipe.task_args", {"order": "all"}, "other questions by order"),
        ("aci_bench", "recipe.data.split", "test2", "split test2, the paper's is test1"),
        ("kqa", "coverage.answered", 48, "48 of 201 items answered"),
        ("kqa", "coverage.scored", 198, "198 of 201 answers scored"),
        ("ehrnoteqa_open_level1", "shortened", 3, "3 questions shortened"),
        ("archehr_together", "metrics", {"factuality_official": {"value": None}}, "no figure by the authors' script"),
        ("aci_bench", "metrics", {}, "no figure by the authors' script"),
    ],
)  # fmt: skip
def test_each_reason_alone(name: str, place: str, value: Any, reason: str) -> None:
    entry = changed(as_the_paper(name), place, value)
    found = comparability(tasks()[name], entry)
    # Of answers that are not there none is scored.
    reasons = [
        each
        for each in found.reasons
        if "answers scored" not in each or place.endswith("scored")
    ]
    assert (found.comparable, reasons) == (False, [reason])
    assert paper_lines({"paper": found.as_json()})[0].startswith(
        "Comparable with the paper: no ("
    )


def test_a_shared_task_takes_any_prompts_and_its_own_baseline() -> None:
    for prompts, model in ((None, "responses/file"), ({"set": "own"}, "hf/model")):
        entry = as_the_paper("archehr_together", prompts=prompts, model={"name": model})
        assert comparability(tasks()["archehr_together"], entry).comparable
    entry = as_the_paper("archehr_heuristic", model={"name": "baseline/heuristic"})
    assert comparability(tasks()["archehr_heuristic"], entry).comparable


def test_official_figures_by_a_judge_need_the_authors_prompts() -> None:
    own = changed(as_the_paper(), "recipe.judge.prompts", {"set": "own"})
    assert comparability_lines(KQA, own)[1:] == [f"{NO_OFFICIAL_FIGURES}."]
    assert len(comparability_lines(KQA, as_the_paper())) == 1
    # A judge of entailment is asked with nobody's prompts.
    nli = changed(as_the_paper(), "recipe.judge.kind", "nli")
    assert comparability(KQA, nli).official == NO_PROMPTS_READ
    # Only what a judge decides depends on how it is asked.
    for task in tasks().values():
        left_out = {each.name for each in task.metrics} - {
            each.name
            for each in task.reporting(
                [*task.arguments, *task.scoring_arguments]
            ).metrics
        }
        assert left_out == {
            each.name
            for each in task.metrics
            if each.name.endswith("_official") and task.judge and each.judged
        }
        official = {each.name for each in task.metrics if each.official is not None}
        assert official == {
            each.name for each in task.metrics if each.name.endswith("_official")
        }


def test_what_no_paper_has_and_what_is_not_known() -> None:
    own = tasks()["doclens_own"]
    entry = {
        "recipe": {
            "judge": {"name": "lexical", "comparable": False, "prompts": {"set": "own"}}
        }
    }
    assert comparability_lines(own, entry) == [
        "Comparable with the paper: no (no paper has this task; judge lexical compares words).",
        f"{NO_OFFICIAL_FIGURES}.",
    ]
    for older in ({}, {"paper": None}, {"paper": "yes"}):
        assert "not known" in paper_lines(older)[0]
        assert not is_comparable(older)
    # Recipes come from anybody.
    assert not comparability(
        KQA, {"recipe": {"judge": "gpt-4", "data": [], "prompts": 1}}
    ).comparable


@pytest.mark.parametrize(
    ("name", "paper", "same"),
    [
        ("gpt-4", "gpt-4", True),
        ("openai-api/host/gpt-4-0613", "gpt-4", True),
        ("openai-api/router/openai/GPT-4", "gpt-4", True),
        ("gpt-4-2023-06-13", "gpt-4", True),
        ("inspect/openai/gpt-4o", "gpt-4", False),
        ("gpt-4-turbo", "gpt-4", False),
        ("gpt-4-1106-preview", "gpt-4", False),
        ("gpt-4.1", "gpt-4", False),
        ("not-gpt-4", "gpt-4", False),
        ("gpt-4/other", "gpt-4", False),
        ("nli/models/t5_xxl_true_nli_mixture", "t5_xxl_true_nli_mixture", True),
        ("", "gpt-4", False),
    ],
)
def test_which_judge_is_the_papers(name: str, paper: str, same: bool) -> None:
    assert is_same_model(name, paper) is same
