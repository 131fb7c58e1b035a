"""Compares judges' checks on the same pairs, and recommends a judge.

- A judge is excluded if it lacks 5 % of the verdicts, is not comparable, may be guessing, or
  agrees significantly less than the best (paired tests, Holm).
- Judges that keep under 90 % of their labels (`--again`, `--sensitivity`), or whose
  interval of `longer` or `family` excludes 0, come last.
- Then price decides, or speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError
from medical_tasks.io.table import align, decimals
from medical_tasks.judges.check_figures import rendered
from medical_tasks.judges.checks import VIEWS, JudgeCheck, View
from medical_tasks.scoring.agreement import cohen_difference
from medical_tasks.scoring.estimates import as_json
from medical_tasks.scoring.paired import ALPHA, holm

Row: TypeAlias = dict[str, Any]
"""A judge's figures, and what counts against it: its entry in `choosing.json`."""

COVERED: Final = 0.95
"""The share of pairs on which a judge needs a verdict."""
SAME: Final = 0.9
"""The share of labels that should stay the same when a judge is asked again, or in reverse order."""
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
"""The table's columns: a figure's path in a judge's row, its format and its factor."""
NOTES: Final = (
    "kappa: with people's labels (from, to: 95 % interval). again, reverse: % of labels that stay "
    "when it is asked again, or with verdicts and statements in reverse order. longer, family: "
    "points by which it favours longer answers, and those of models of its family, against "
    "people. apart: the smallest difference of two models, in points, that it finds in 4 of 5 "
    "cases. The rest is for 1,000 verdicts. n/a: not asked for, or unknown; choosing.json says "
    "why."
)


def choose(
    checks: Mapping[str, JudgeCheck], failed: Mapping[str, str]
) -> dict[str, Any]:
    """Compares checks of judges on the same pairs, and recommends one.

    The judge with the highest kappa is best. Judges that are significantly worse are
    out. Of the others, which the pairs cannot distinguish, the cheapest without cautions
    is recommended.

    Args:
        checks: contents of `check.json`, by judge.
        failed: why other judges have no check.
    """
    _require_same_pairs(checks)
    about: JudgeCheck = next(
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
    choice = {
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
    conclusions = rendered("conclusions.jinja", **choice)
    return {**choice, "conclusions": conclusions.split("\n")}


def _require_same_pairs(checks: Mapping[str, JudgeCheck]) -> None:
    """Refuses checks on different pairs, which cannot say which judge is better."""
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
                f"{name}: was checked on other pairs than {first}. Check it on the same pairs."
            )


def _mark_worse(
    rows: Mapping[str, Row],
    fit: Sequence[str],
    checks: Mapping[str, JudgeCheck],
    view: View,
) -> None:
    """Adds to the rows of all judges but the best, the first of `fit`, how far below it they are.

    Several judges are compared with one, so that p-values are adjusted by Holm's method.
    """
    below = {
        name: _below(checks[name]["labels"], checks[fit[0]]["labels"], view)
        for name in fit[1:]
    }
    p_values = holm([difference["p_value"] for difference in below.values()])
    for name, p in zip(below, p_values, strict=True):
        rows[name]["below"] = below[name] | {"p_value": p}
        rows[name]["against"] = "worse" if p <= ALPHA else ""


def _sort_by_price(names: list[str], rows: Mapping[str, Row]) -> str:
    """Sorts judges in place: those without cautions first, then by price.

    Returns:
        The price's name in a row: money if it is known of all, else time.
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


def _row(check: JudgeCheck, view: View) -> Row:
    """A judge's figures, and the reasons and cautions against it."""
    copied = (
        "votes",
        "mode",
        "scored",
        "again",
        "turned",
        "length",
        "own_model",
        "apart",
    )
    figures = check["figures"][view.key]
    row = {
        **{key: check.get(key) for key in copied},
        **{key: figures[key] for key in ("kappa", "accuracy")},
        "below": None,
        "reason": None,
        "spent": _spent(check),
    }
    return {**row, "against": _against(check, row), "cautions": _cautions(row)}


def _spent(check: JudgeCheck) -> dict[str, float | None]:
    """What a judge takes for 1,000 verdicts."""
    usage = check.get("verdict_usage") or {}
    names = ("requests", "prompt_tokens", "output_tokens", "seconds", "cost_usd")
    return {
        name: None
        if usage.get(name) is None
        else 1000 * usage[name] / max(1, check["scored"])
        for name in names
    }


def _against(check: JudgeCheck, row: Row) -> str:
    """The first reason not to use a judge at all; "" if there is none."""
    if check["scored"] < COVERED * check["pairs"]:
        return "coverage"
    if not check["judge"]["comparable"]:
        return "not comparable"
    if (_at(row, "kappa.ci_low") or 0.0) <= 0.0:
        return "chance"

    detects_nothing = _at(row, "apart.difference.value") is None
    return "apart" if row["apart"] is not None and detects_nothing else ""


def _cautions(row: Row) -> list[str]:
    """The figures of a judge that call for caution."""
    cautions = []
    for key in ("again", "turned"):
        share = _at(row, f"{key}.agreement.value")
        if share is not None and share < SAME:
            cautions.append(key)

    for key in ("length", "own_model"):
        low = _at(row, f"{key}.lean.ci_low") or 0.0
        high = _at(row, f"{key}.lean.ci_high") or 0.0
        if low > 0.0 or high < 0.0:
            cautions.append(key)

    return cautions


def _below(
    labels: Mapping[str, Any], best: Mapping[str, Any], view: View
) -> dict[str, Any]:
    """How far a judge's kappa is below the best one's, on the pairs that both labelled."""
    columns = zip(
        labels["gold"], labels["judge"], best["judge"], labels["cluster"], strict=True
    )
    rows = [row for row in columns if None not in row[:3]]
    gold, own, others = ([view.of(row[column]) for row in rows] for column in range(3))
    estimate = cohen_difference(
        gold, own, others, classes=view.classes, clusters=[row[3] for row in rows]
    )
    return {"value": estimate.difference, **as_json(estimate)}


def _at(row: Any, path: str) -> Any:
    """The value in nested mappings at a dotted path; None if there is none."""
    for key in path.split("."):
        row = (row or {}).get(key)
    return row


def cells(row: Mapping[str, object]) -> list[tuple[str, float | None]]:
    """The cells of a judge in the table, as texts and numbers."""
    columns = [
        (_at(row, path), form, factor) for path, form, factor in COLUMNS.values()
    ]
    return [
        (decimals(value and factor * value, form), value)
        for value, form, factor in columns
    ]


def render_choice(choice: Mapping[str, Any]) -> str:
    """Formats the result of `choose` as text."""
    rows = [
        (name, "", "", *(text for text, _ in cells(row)))
        for name, row in choice["judges"].items()
    ]
    table = align((f"on {choice['set']}, {choice['classes']}", "", "", *COLUMNS), rows)
    return "\n\n".join(("\n".join(table), NOTES, "\n".join(choice["conclusions"])))
