"""Judges' checks on the same pairs side by side, and which judge to take (the rule: docs/judge_check.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError
from medical_tasks.io.table import align, decimals
from medical_tasks.judges.check_figures import rendered
from medical_tasks.judges.checks import VIEWS, View
from medical_tasks.scoring.agreement import cohen_difference
from medical_tasks.scoring.estimates import as_json
from medical_tasks.scoring.paired import ALPHA, holm

COVERED: Final = 0.95
"""The share of pairs on which a judge needs a verdict."""
SAME: Final = 0.9
"""The share of labels that should stay when a judge is asked again, or in reverse order."""
COLUMNS: Final[Mapping[str, tuple[str, str, int]]] = {
    "kappa": ("kappa.value", "z.3f", 1),
    "from": ("kappa.ci_low", "z.3f", 1),
    "to": ("kappa.ci_high", "z.3f", 1),
    "verdicts": ("scored", ",", 1),
    "again": ("again.agreement.value", ".1f", 100),
    "reverse": ("turned.agreement.value", ".1f", 100),
    "longer": ("length.lean.value", "+.1f", 100),
    "family": ("own_model.lean.value", "+.1f", 100),
    "apart": ("apart.difference.value", ".1f", 100),
    "requests": ("spent.requests", ",.0f", 1),
    "tokens in": ("spent.prompt_tokens", ",.0f", 1),
    "tokens out": ("spent.output_tokens", ",.0f", 1),
    "seconds": ("spent.seconds", ",.1f", 1),
    "$": ("spent.cost_usd", ",.4f", 1),
}
"""Of the table: where a figure stands in a judge's row, how it is written, and by what it is multiplied."""
NOTES: Final = (
    "kappa: with people's labels (from, to: 95 % interval). again, reverse: % of labels that stay "
    "when it is asked again, or with verdicts and statements in reverse order. longer, family: "
    "points by which it favours longer answers, and those of models of its family, against "
    "people. apart: the smallest difference of two models, in points, that it finds in 4 of 5 "
    "cases. The rest is for 1,000 verdicts. n/a: not asked for, or unknown; choosing.json says "
    "why."
)


def choose(
    checks: Mapping[str, Mapping[str, Any]], failed: Mapping[str, str]
) -> dict[str, Any]:
    """Compares checks of judges on the same pairs, and recommends one.

    The judge with the highest kappa is best. Those that are worse with statistical
    significance are out; of the others, which the pairs cannot tell apart, the cheapest
    without cautions is taken.

    Args:
        checks: contents of `check.json`, by judge.
        failed: why others have none.
    """
    _require_same_pairs(checks)
    about: Mapping[str, Any] = next(
        iter(checks.values()), dict.fromkeys(("set", "source", "pairs", "clusters"))
    )
    view = next(
        view
        for view in VIEWS
        if all(check["figures"].get(view.key) for check in checks.values())
    )
    rows = {name: _row(check, view) for name, check in checks.items()}
    fit = [name for name, row in rows.items() if not row["against"]]
    fit.sort(key=lambda name: -float(rows[name]["kappa"]["value"]))
    _mark_worse(rows, fit, checks, view)
    alike = [name for name in fit if not rows[name]["against"]]
    by = _sort_by_price(alike, rows)
    for name in alike[1:]:
        rows[name]["against"] = "alike"

    lost = {
        name: {"reason": reason, "against": "failed"} for name, reason in failed.items()
    }
    made = {
        "schema_version": 1,
        "suite_version": __version__,
        **{key: about[key] for key in ("set", "source", "pairs", "clusters")},
        "classes": view.title,
        "judges": rows | lost,
        "recommended": next(iter(alike), None),
        "best": next(iter(fit), None),
        "alike": len(alike),
        "by": by,
        "cleaner": len({bool(rows[name]["cautions"]) for name in alike}) > 1,
    }
    return {**made, "conclusions": rendered("conclusions.jinja", **made).split("\n")}


def _require_same_pairs(checks: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuses checks on different pairs, which say nothing of which judge is better."""
    pairs = {
        name: (
            check["set"],
            check["source"],
            check["labels"]["gold"],
            check["labels"]["cluster"],
        )
        for name, check in checks.items()
    }
    first = next(iter(pairs), "")
    for name in pairs:
        if pairs[name] != pairs[first]:
            raise UsageError(
                f"{name}: is checked on other pairs than {first}. Check it on the same ones."
            )


def _mark_worse(
    rows: Mapping[str, dict[str, Any]],
    fit: Sequence[str],
    checks: Mapping[str, Mapping[str, Any]],
    view: View,
) -> None:
    """Says in the rows of all judges but the best, the first of `fit`, how far below it they are.

    Several judges are compared with one, so that p-values are Holm's.
    """
    below = {
        name: _below(checks[name]["labels"], checks[fit[0]]["labels"], view)
        for name in fit[1:]
    }
    for name, p in zip(
        below, holm([each["p_value"] for each in below.values()]), strict=True
    ):
        rows[name]["below"] = below[name] | {"p_value": p}
        rows[name]["against"] = "worse" if p <= ALPHA else ""


def _sort_by_price(names: list[str], rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Sorts judges: without cautions first, then the cheaper; returns what was taken for the price.

    That is money where it is known of all, else time.
    """
    priced = all(rows[name]["spent"]["cost_usd"] is not None for name in names)
    by = "cost_usd" if priced else "seconds"
    spent = {name: rows[name]["spent"][by] for name in names}
    names.sort(
        key=lambda name: (
            bool(rows[name]["cautions"]),
            spent[name] is None,
            spent[name] or 0.0,
        )
    )

    return by


def _row(check: Mapping[str, Any], view: View) -> dict[str, Any]:
    """What is known of a judge, and what speaks against it."""
    usage, scored = check.get("verdict_usage") or {}, check["scored"]
    row = {
        key: check.get(key)
        for key in (
            "votes",
            "mode",
            "scored",
            "again",
            "turned",
            "length",
            "own_model",
            "apart",
        )
    }
    row |= {key: check["figures"][view.key][key] for key in ("kappa", "accuracy")} | {
        "below": None,
        "reason": None,
    }
    names = ("requests", "prompt_tokens", "output_tokens", "seconds", "cost_usd")
    row["spent"] = {
        name: None if usage.get(name) is None else 1000 * usage[name] / max(1, scored)
        for name in names
    }
    against = {
        "coverage": scored < COVERED * check["pairs"],
        "not comparable": not check["judge"]["comparable"],
        "chance": (_at(row, "kappa.ci_low") or 0.0) <= 0.0,
        "apart": row["apart"] is not None
        and _at(row, "apart.difference.value") is None,
    }
    row["against"] = next((reason for reason, holds in against.items() if holds), "")
    same = {key: _at(row, f"{key}.agreement.value") for key in ("again", "turned")}
    cautions = [
        key for key, share in same.items() if share is not None and share < SAME
    ]
    for key in ("length", "own_model"):
        low, high = (
            _at(row, f"{key}.lean.{end}") or 0.0 for end in ("ci_low", "ci_high")
        )
        cautions += [key] * (low > 0.0 or high < 0.0)

    return {**row, "cautions": cautions}


def _below(
    labels: Mapping[str, Any], best: Mapping[str, Any], view: View
) -> dict[str, Any]:
    """How far the kappa of a judge's labels is below that of the best one's, on the pairs that both label."""
    columns = zip(
        labels["gold"], labels["judge"], best["judge"], labels["cluster"], strict=True
    )
    kept = [row for row in columns if None not in row[:3]]
    gold, own, other = ([view.of(row[place]) for row in kept] for place in range(3))
    found = cohen_difference(
        gold, own, other, classes=view.classes, clusters=[row[3] for row in kept]
    )
    return {"value": found.difference, **as_json(found)}


def _at(row: Any, path: str) -> Any:
    """What stands in nested mappings under names with points between them.

    None where nothing does.
    """
    for key in path.split("."):
        row = (row or {}).get(key)
    return row


def cells(row: Mapping[str, object]) -> list[tuple[str, float | None]]:
    """A judge's row of the table, as texts and numbers."""
    found = [(_at(row, path), form, times) for path, form, times in COLUMNS.values()]
    return [
        (decimals(value and times * value, form), value) for value, form, times in found
    ]


def render_choice(choice: Mapping[str, Any]) -> str:
    """Formats what `choose` gives as text."""
    rows = [
        (name, "", "", *(text for text, _ in cells(row)))
        for name, row in choice["judges"].items()
    ]
    table = align((f"on {choice['set']}, {choice['classes']}", "", "", *COLUMNS), rows)
    return "\n\n".join(("\n".join(table), NOTES, "\n".join(choice["conclusions"])))
