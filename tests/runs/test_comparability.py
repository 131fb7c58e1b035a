"""Whether figures are comparable with the paper's: every reason on its own, and the line that states it."""

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
    """An entry of `results.json` whose recipe is that of the task's paper."""
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


def changed(entry: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The same entry with another value at a path such as `recipe.judge.name`."""
    copy = deepcopy(entry)
    *parents, last = path.split(".")
    target = copy
    for key in parents:
        target = target[key]
    target[last] = value
    return copy


@pytest.mark.parametrize("task", PAPERS, ids=lambda task: task.name)
def test_a_run_with_the_recipe_of_the_paper_is_comparable_unless_the_task_differs(
    task: Any,
) -> None:
    verdict = comparability(task, as_the_paper(task.name))
    assert verdict.comparable == (not task.paper.differs)
    if task.paper.differs:
        assert verdict.reasons == (task.paper.differs,)
    # The paper's configurations and judges are those of the task.
    configs = {name for dataset in task.benchmark.datasets for name in dataset.configs}
    assert set(task.paper.configs) <= configs
    assert bool(task.paper.judges) <= task.judge


def test_the_line_of_a_comparable_run_states_its_recipe() -> None:
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
    ("name", "path", "value", "reason"),
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
def test_each_reason_alone(name: str, path: str, value: Any, reason: str) -> None:
    entry = changed(as_the_paper(name), path, value)
    verdict = comparability(tasks()[name], entry)
    # Missing answers are not scored either.
    reasons = [
        text
        for text in verdict.reasons
        if "answers scored" not in text or path.endswith("scored")
    ]
    assert not verdict.comparable
    assert reasons == [reason]
    assert paper_lines({"paper": verdict.as_json()})[0].startswith(
        "Comparable with the paper: no ("
    )


def test_a_shared_task_accepts_any_prompts_and_its_own_baseline() -> None:
    for prompts, model in ((None, "responses/file"), ({"set": "own"}, "hf/model")):
        entry = as_the_paper("archehr_together", prompts=prompts, model={"name": model})
        assert comparability(tasks()["archehr_together"], entry).comparable
    entry = as_the_paper("archehr_heuristic", model={"name": "baseline/heuristic"})
    assert comparability(tasks()["archehr_heuristic"], entry).comparable


def test_official_figures_by_a_judge_need_the_authors_prompts() -> None:
    own = changed(as_the_paper(), "recipe.judge.prompts", {"set": "own"})
    assert comparability_lines(KQA, own)[1:] == [f"{NO_OFFICIAL_FIGURES}."]
    assert len(comparability_lines(KQA, as_the_paper())) == 1
    # A judge of entailment has no prompts.
    nli = changed(as_the_paper(), "recipe.judge.kind", "nli")
    assert comparability(KQA, nli).official == NO_PROMPTS_READ
    # Only official metrics that a judge decides depend on its prompts.
    for task in tasks().values():
        reported = task.reporting([*task.arguments, *task.scoring_arguments]).metrics
        official = [
            metric for metric in task.metrics if metric.name.endswith("_official")
        ]
        left_out = {metric.name for metric in task.metrics}
        left_out -= {metric.name for metric in reported}
        assert left_out == {
            metric.name for metric in official if task.judge and metric.judged
        }
        assert {metric.name for metric in official} == {
            metric.name for metric in task.metrics if metric.official is not None
        }


def test_tasks_without_a_paper_and_results_of_older_versions() -> None:
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
    # Recipes of others may be malformed.
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
def test_names_of_the_papers_judge(name: str, paper: str, same: bool) -> None:
    assert is_same_model(name, paper) is same
