"""What stands below the numbers of a judged task: how far the judge got, what it cost, and how far it is to be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["judge_notes", "warning"]


def warning(entry: Mapping[str, Any]) -> str | None:
    """The sentence that goes, in bold, with numbers of a judge that nobody else's can be set beside; None for others."""
    judge = entry.get("judge")
    if judge is None or judge["comparable"]:
        return None
    return (
        f"Not comparable: the judge {judge['name']} compares words and understands nothing. Use these numbers to see that a "
        "run works, never beside published ones."
    )


def judge_notes(entry: Mapping[str, Any]) -> list[str]:
    """Writes the judge's coverage, cost and last check.

    Args:
        entry: a task's entry of `results.json`.

    Returns:
        Sentences; none for a task without a judge.
    """
    judge = entry.get("judge")
    if judge is None:
        return []
    verdicts = judge["verdicts"]
    missing = ", ".join(f"{count} x {reason}" for reason, count in verdicts["unscored"].items())
    lacking = any(not reason.startswith("no answer: ") for reason in entry["coverage"]["unscored"])
    if not missing or lacking:
        said = f"{verdicts['decided']:,} of {verdicts['asked']:,} verdicts" + (
            f" (missing: {missing})" if missing else ""
        )
    else:
        # Asked again in another way, or decided by others.
        said = f"{verdicts['decided']:,} verdicts (no score lacks one; replies that gave none: {missing})"
    parts = [f"judge {judge['name']}: {said}"]
    if judge["from_store"]:
        parts.append(f"{judge['from_store']:,} replies from the store")
    # A judge that asks nobody says so by having no calls.
    if judge["calls"] or not judge["from_store"]:
        parts.append(f"{judge['calls']:,} calls made")
    if judge["votes"] > 1:
        parts.append(f"{judge['votes_saved']:,} votes saved of {judge['votes']} each")
    tokens = judge["prompt_tokens"] + judge["output_tokens"]
    if tokens:
        parts.append(f"{tokens:,} tokens" + (" (partly estimated)" if judge["tokens_estimated"] else ""))
    return ["; ".join(parts) + ".", judge["check"]]
