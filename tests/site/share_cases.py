"""Shared files of invented hospitals, as `site share` writes them, and checks of a judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medical_tasks.scoring.intervals import wilson
from medical_tasks.site.sharing import content_hash

TASK = "ehrnoteqa_open_level1"
RECIPE = {"version": "3", "prompts": "own 0123456789abcdef", "judge": "lexical"}
Z = 1.959963984540054


def figure(
    right: int,
    n: int,
    *,
    metric: str = "accuracy",
    **more: Any,
) -> dict[str, Any]:
    """A share of right answers with Wilson's interval."""
    low, high = wilson(right / n, n, Z)
    estimate = {"value": right / n, "low": low, "high": high, "off": 0.0}
    return {
        "role": "candidate",
        "metric": metric,
        "by": "",
        "group": "",
        "n": n,
        "clusters": n,
        "right": right,
        "total": None,
        "of": None,
        "estimate": estimate,
        **more,
    }


def difference(value: float, reach: float, n: int = 100) -> dict[str, Any]:
    """A difference to the baseline."""
    ends = {"value": value, "low": value - reach, "high": value + reach, "off": 0.0}
    return {
        "metric": "accuracy",
        "by": "",
        "group": "",
        "n": n,
        "clusters": n,
        "estimate": ends,
    }


def check(table: list[list[int]] | None) -> dict[str, Any]:
    """A judge's check on the task's own set."""
    pairs = sum(map(sum, table or [[100]]))
    return {
        "judge": "lexical",
        "set": "ehrnoteqa_open",
        "pairs": pairs,
        "clusters": pairs,
        "classes": ["correct", "incorrect"],
        "table": table,
    }


def content(
    site: str,
    *figures: dict[str, Any],
    differences: tuple[dict[str, Any], ...] = (),
    checks: tuple[dict[str, Any], ...] = (),
    recipe: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The content of a whole file, with its hash."""
    file_content: dict[str, Any] = {
        "format": 1,
        "site": site,
        "suite": "medical-tasks 0.1.0",
        "made": "2026-11-29",
        "least": 5,
        "tasks": {
            TASK: {
                "recipe": RECIPE if recipe is None else recipe,
                "models": {"candidate": "a-model"},
                "coverage": {"candidate": {"scored": 100, "missing": None}},
                "figures": list(figures),
                "differences": list(differences),
                "hidden": {},
                "by_words": False,
            }
        },
        "checks": list(checks),
    }
    return {**file_content, "sha256": content_hash(file_content)}


def write_check(
    folder: Path, dataset: str, *, gold: Sequence[str], judge: Sequence[str]
) -> Path:
    """Writes the result of `judge-check` for a judge with these labels, into a new folder."""
    check_content = {
        "schema_version": 2,
        "set": dataset,
        "judge": {"name": "openai-api/host/a-judge", "identity": {}},
        "votes": 1,
        "mode": "single",
        "prompts": {"set": "own"},
        "pairs": len(gold),
        "clusters": len(gold),
        "labels": {"gold": gold, "judge": judge, "cluster": list(range(len(gold)))},
    }
    folder.mkdir(parents=True)
    path = folder / "check.json"
    path.write_text(json.dumps(check_content), encoding="utf-8")
    return path


def write(folder: Path, file_content: dict[str, Any]) -> Path:
    """Writes a file that is named after its site."""
    path = folder / f"{file_content['site']}.json"
    path.write_text(json.dumps(file_content), encoding="utf-8")
    return path
