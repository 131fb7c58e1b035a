"""Whether two recipes were judged alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medical_tasks.comparison.wording import differing, mapping, short

__all__ = ["comparable_judges", "judge_differences"]

_SAME_JUDGE = "what differs may be the judges and not the models: have both runs judged by one"


def judge_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Says in which way the judges of two recipes differ, and when their numbers stand for themselves alone.

    Args:
        first: the recipe of the first result.
        second: the recipe of the second.

    Returns:
        Sentences; none for tasks without a judge, or with one judge that was asked alike and understands.
    """
    judges = [mapping(recipe.get("judge")) for recipe in (first, second)]
    said: list[str] = []
    if judges[0] != judges[1]:
        said.append(_difference(judges[0], judges[1]))
    if not comparable_judges(first, second):
        names = ", ".join(
            dict.fromkeys(short(judge.get("name")) for judge in judges if judge and not judge.get("comparable"))
        )
        said.append(f"not comparable with anybody else's numbers: the judge {names} compares words")
    return said


def comparable_judges(*recipes: Mapping[str, Any]) -> bool:
    """Whether the judges of all recipes, where they have one, understand what they judge."""
    return all(bool(judge.get("comparable")) for recipe in recipes if (judge := mapping(recipe.get("judge"))))


def _difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    if first.get("backend") == second.get("backend") == "recorded":
        return (
            "the verdicts of both runs were read from files (--judge recorded/FILE), and nothing here says whether one judge gave "
            f"them: {_SAME_JUDGE}"
        )
    names = [short(judge.get("name")) for judge in (first, second)]
    if names[0] != names[1]:
        return f"the judge differs: {names[0]} and {names[1]}. {_capital(_SAME_JUDGE)} (medical-tasks score TASK --responses RUN)"
    if first.get("votes") != second.get("votes"):
        told = f"{short(first.get('votes'))} and {short(second.get('votes'))} votes a verdict"
        return f"the judge {names[0]} was asked differently: {told}. Fewer votes are noisier: {_SAME_JUDGE} and one --votes"
    return f"the judge {names[0]} was asked differently: {differing(first, second)}. {_capital(_SAME_JUDGE)} in one way"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
