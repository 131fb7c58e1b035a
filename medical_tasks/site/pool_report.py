"""Renders pooled files as a page with forest plots and as a table for the terminal.

The page is one file that loads nothing. It is built from the report's parts, so it has
both themes, and works with a keyboard and on paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from medical_tasks.comparison.gating import BY_WORDS
from medical_tasks.io.table import align
from medical_tasks.report.html_parts import document, html_table, rendered
from medical_tasks.report.plots import Line, intervals_chart
from medical_tasks.report.table import Column, Row, Table
from medical_tasks.runs.numbers import number
from medical_tasks.runs.results import Json
from medical_tasks.site.share_text import difference_text
from medical_tasks.spec import PlotPoint

_TITLE: Final = "Hospitals together"
_WHO: Final = {
    "difference": "candidate less baseline",
    "candidate": "candidate",
    "baseline": "baseline",
}
_FEW: Final = 5
_HOW: Final = (
    "The mean of hospitals is by random effects (Hartung, Knapp, Sidik, Jonkman), with "
    "weights at the upper limit of how far hospitals vary. A further hospital is one more "
    "that is like these. I² is the share of the spread that is no chance; tau is the "
    "standard deviation of hospitals' true values."
)


def as_text(result: Json) -> str:
    """The table for the terminal."""
    parts = [f"{len(result['sites'])} hospitals: {_names(result)}"]
    parts += [_accepted(difference) for difference in result["accepted"]]
    for name, task in result["tasks"].items():
        header = (
            "of whom",
            "metric",
            "hospitals",
            "together",
            "95 %",
            "a further one",
            "I²",
        )
        whole = [line for line in task["lines"] if not line["by"]]
        rows = [_text_row(line) for line in whole]
        parts.append("\n".join([name, *align(header, rows)]))
        parts += unscored(task)
        parts.append("\n".join(note for line in whole for note in notes(line)))
        if groups := len(task["lines"]) - len(whole):
            parts.append(f"{groups} lines of groups are in the report.")

    if len(result["sites"]) < _FEW:
        parts.append(_few(result))

    return "\n\n".join(parts)


def _few(result: Json) -> str:
    return (
        f"Of {len(result['sites'])} hospitals little can be known about a further one; from "
        f"{_FEW} on the intervals become narrow enough to decide."
    )


def _names(result: Json) -> str:
    return ", ".join(site["site"] for site in result["sites"])


def _accepted(difference: Json) -> str:
    return f"Accepted: {difference_text(difference)}"


def _text_row(line: Json) -> tuple[str, ...]:
    together = line["pooled"]
    return (
        f"{_WHO[line['who']]}, {_group_name(line)}",
        line["metric"],
        str(len(line["sites"])),
        _value(together["value"], line),
        _ends(together, line, "low", "high"),
        _ends(together, line, "new_low", "new_high"),
        f"{100 * together['i2']:.0f} %",
    )


def _group_name(line: Json) -> str:
    return f"{line['by']} {line['group']}" if line["by"] else "all items"


def _value(value: float, line: Json) -> str:
    """A number in the metric's unit; shares in points."""
    text = number(value, line["unit"])
    return f"+{text}" if line["who"] == "difference" and value > 0 else text


def _ends(interval: Json, line: Json, low: str, high: str) -> str:
    return f"{_value(interval[low], line)} to {_value(interval[high], line)}"


def notes(line: Json) -> Iterator[str]:
    """Notes on a line: the largest difference, and which hospitals are left out."""
    if line["by_words"]:
        yield f"{line['metric']} ({_WHO[line['who']]}, {_group_name(line)}): {BY_WORDS}."

    largest = line["largest_difference"]
    largest_text = (
        f"{line['metric']} ({_WHO[line['who']]}, {_group_name(line)}): {largest['first']} and "
        f"{largest['second']} lie furthest apart, by {number(largest['value'], line['unit'])} "
        f"({_ends(largest, {**line, 'who': ''}, 'low', 'high')} with all pairs at once)"
    )
    within = [
        f"within {100 * float(limit):.0f} points: {verdict}"
        for limit, verdict in largest["within"].items()
    ]
    yield "; ".join([largest_text, *within]) + "."
    if alone := line["pooled"]["by_errors_alone"]:
        yield (
            f"{line['metric']} ({_WHO[line['who']]}, {_group_name(line)}): these hospitals lie closer "
            "together than their own errors make likely. By those alone the mean is known to "
            f"{_value(alone[0], line)} to {_value(alone[1], line)}: trust the wider interval."
        )

    for left_out in line["without"]:
        yield f"{line['metric']}: without {left_out['site']}, since {left_out['why']}."

    if hidden := [site["site"] for site in line["sites"] if site["off"]]:
        yield (
            f"{line['metric']}: a cell of {', '.join(hidden)} is under five and hidden; the "
            "interval is the widest of what it may be."
        )


def unscored(task: Json) -> Iterator[str]:
    """The hospitals that have items without a score, where their files give the number."""
    for site, roles in task["coverage"].items():
        for role, counts in roles.items():
            if missing := counts["missing"]:
                total = counts["scored"] + missing
                yield f"{site}, {role}: {missing:,} of {total:,} items have no score."


def page(result: Json) -> str:
    """The page, as one HTML document."""
    remarks = [_HOW, *map(_accepted, result["accepted"])]
    if len(result["sites"]) < _FEW:
        remarks.append(_few(result))

    return document(
        _TITLE,
        rendered(
            "pool.html",
            room="site",
            title=_TITLE,
            lead=f"{_names(result)}. Made by {result['suite']}.",
            notes=remarks,
            tasks=[
                _task(f"t{at}", name, task)
                for at, (name, task) in enumerate(result["tasks"].items())
            ],
            files=html_table(_sites(result)),
        ),
    )


def _sites(result: Json) -> Table:
    names = ("site", "suite", "made", "sha256")
    return Table(
        id="sites",
        columns=[
            Column(name=name, label=label, header=name == "site")
            for name, label in zip(
                names, ("Hospital", "Version", "Written", "SHA-256"), strict=True
            )
        ],
        rows=[Row([site[name] for name in names]) for site in result["sites"]],
        caption="The shared files",
    )


def _task(base: str, name: str, task: Json) -> Mapping[str, object]:
    """The section of a task."""
    return {
        "id": base,
        "name": name,
        "title": f"{task['title']} ({name})",
        "unscored": list(unscored(task)),
        "overview": html_table(_overview(f"{base}-all", task["lines"])),
        "lines": [_line(f"{base}-{at}", line) for at, line in enumerate(task["lines"])],
    }


def _overview(base: str, lines: Sequence[Json]) -> Table:
    heads = (
        "Of whom",
        "Metric",
        "Hospitals",
        "Together",
        "95 %",
        "A further one",
        "I²",
    )
    kinds: Mapping[int, str] = {2: "number", 3: "number", 4: "range", 5: "range"}
    return Table(
        id=base,
        columns=[
            Column(
                name=f"c{at}",
                label=head,
                header=at == 0,
                kind="number" if at in kinds else "text",
            )
            for at, head in enumerate(heads)
        ],
        rows=[Row(_text_row(line)) for line in lines],
        caption="All figures",
    )


def _line(base: str, line: Json) -> Mapping[str, object]:
    """A metric: forest plot, notes, and the influence of each hospital."""
    together = line["pooled"]
    unit = line["unit"]
    title = f"{line['metric']}, {_WHO[line['who']]}, {_group_name(line)}"
    spread = (
        f"I² {100 * together['i2']:.0f} % ({100 * together['i2_low']:.0f} to "
        f"{100 * together['i2_high']:.0f}); tau {number(together['tau'], unit)} "
        f"({number(together['tau_low'], unit)} to {number(together['tau_high'], unit)}); "
        f"Q {together['q']:.1f}, p {together['q_p']:.3f}."
    )

    return {
        "title": title,
        "forest": intervals_chart(
            _forest(line), id=f"{base}-forest", title="95 % intervals", unit=unit
        ),
        "notes": [spread, *notes(line)],
        "influence": html_table(_influence(base, line)),
    }


def _forest(line: Json) -> list[Line]:
    """A row for each hospital, then their mean, then a further hospital."""
    together = line["pooled"]
    rows = [
        Line(
            site["site"],
            [
                PlotPoint(
                    label=site["site"],
                    value=site["value"],
                    low=site["low"],
                    high=site["high"],
                    n=site["n"],
                    detail=f"{site['how']}, weight {100 * site['weight']:.0f} %",
                )
            ],
            heading="Each hospital",
        )
        for site in line["sites"]
    ]
    ends = (
        ("mean of hospitals", "low", "high"),
        ("a further hospital", "new_low", "new_high"),
    )
    rows += [
        Line(
            label,
            [
                PlotPoint(
                    label=label,
                    value=together["value"],
                    low=together[low],
                    high=together[high],
                )
            ],
            heading="Together",
        )
        for label, low, high in ends
    ]

    return rows


def _influence(base: str, line: Json) -> Table:
    """Each hospital, and the mean without it."""
    without = {site["site"]: site for site in line["leave_one_out"]}
    rows = []
    for site in line["sites"]:
        left = without.get(site["site"])
        rows.append(
            Row(
                [
                    site["site"],
                    str(site["n"]),
                    _value(site["value"], line),
                    _ends(site, line, "low", "high"),
                    site["how"],
                    f"{100 * site['weight']:.0f} %",
                    "" if left is None else _value(left["value"], line),
                    "" if left is None else _ends(left, line, "low", "high"),
                ]
            )
        )

    heads = (
        "Hospital", "Items", "Value", "95 %", "How", "Weight", "Mean without it", "95 % of that",
    )  # fmt: skip
    return Table(
        id=f"{base}-sites",
        columns=[
            Column(name=f"c{at}", label=head, header=at == 0)
            for at, head in enumerate(heads)
        ],
        rows=rows,
        caption="Each hospital, and the mean without it",
    )
