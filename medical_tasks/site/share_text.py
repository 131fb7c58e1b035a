"""The content of shared files in words, for those who decide whether they may leave."""

from __future__ import annotations

from collections.abc import Iterator

from medical_tasks.comparison.gating import BY_WORDS
from medical_tasks.report.markdown import markdown_table
from medical_tasks.report.table import Column, Row, Table
from medical_tasks.runs.results import Json

_FIGURES = ("metric", "of whom", "who", "items", "apart", "right", "value", "95 %")
_HEAD = (
    "This is the whole content of `site_share.json` beside this file: counts, shares and "
    "their intervals. There is no text of notes, questions or answers in it, no id, and "
    "no name of a person. Counts under {least} are left out, and so are others from which "
    "these could be worked out. The hash shows that the file is as it was written; it "
    "does not show by whom."
)


def readable_share(content: Json) -> str:
    """All figures of a shared file, as Markdown."""
    return "\n".join(_lines(content)) + "\n"


def difference_text(difference: Json) -> str:
    """A difference between recipes in words."""
    values = "; ".join(
        f"{value} ({', '.join(sites)})" for value, sites in difference["values"].items()
    )
    return f"{difference['task']}: {difference['kind']} differs: {values}"


def _lines(content: Json) -> Iterator[str]:
    yield f"# What leaves: {content['site']}, {content['made']}"
    yield ""
    yield _HEAD.format(least=content["least"])
    yield ""
    yield f"{content['suite']}; SHA-256 {content['sha256']}"
    for name, task in content["tasks"].items():
        yield from ("", f"## {name}", "")
        yield from (f"- {role}: {model}" for role, model in task["models"].items())
        yield from map(_coverage, task["coverage"].items())
        yield from (f"- {kind}: {text}" for kind, text in task["recipe"].items())
        yield from (
            f"- hidden groups of {by}: {count}" for by, count in task["hidden"].items()
        )
        if task["by_words"]:
            yield f"- judged metrics: {BY_WORDS}"

        yield ""
        yield _table("figures", [_figure(figure) for figure in task["figures"]])
        if task["differences"]:
            yield from ("", "Candidate less baseline:", "")
            yield _table(
                "differences", [_figure(figure) for figure in task["differences"]]
            )

    for check in content["checks"]:
        yield from ("", f"## Judge {check['judge']}, checked on {check['set']}", "")
        yield from _check(check)


def _coverage(of_role: tuple[str, Json]) -> str:
    role, counts = of_role
    missing = "fewer than five" if counts["missing"] is None else counts["missing"]
    return f"- {role}: {counts['scored']} items scored, {missing} not"


def _figure(figure: Json) -> Row:
    """A row of the table of figures."""
    estimate = figure["estimate"]
    right = figure.get("right")
    value, ends = "hidden", ""
    if estimate is not None:
        off = f" ± {estimate['off']:g}" if estimate["off"] else ""
        value = f"{estimate['value']:g}{off}"
        ends = f"{estimate['low']:g} to {estimate['high']:g}"

    cells = (
        figure["metric"],
        f"{figure['by']} {figure['group']}".strip() or "all",
        figure.get("role", "difference"),
        str(figure["n"]),
        str(figure["clusters"]),
        "" if right is None else str(right),
        value,
        ends,
    )
    return Row(cells)


def _table(name: str, rows: list[Row]) -> str:
    columns = [Column(name=label, label=label) for label in _FIGURES]
    return markdown_table(Table(id=name, columns=columns, rows=rows))


def _check(check: Json) -> Iterator[str]:
    yield f"{check['pairs']} labelled pairs of {check['clusters']} clusters."
    if check["table"] is None:
        yield "A cell is under five, so that the whole matrix is hidden."
        return

    yield ""
    columns = [Column(name=name, label=name) for name in ("people", *check["classes"])]
    rows = [
        Row((name, *map(str, counts)))
        for name, counts in zip(check["classes"], check["table"], strict=True)
    ]
    yield markdown_table(Table(id="check", columns=columns, rows=rows))
