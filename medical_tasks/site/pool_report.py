"""What pooled files say, as a page with forest plots and as a table for the terminal.

The page is one file without requests, made of the report's parts: both themes, a
keyboard and a printer do.
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
    parts += [_accepted(each) for each in result["accepted"]]
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
    return ", ".join(each["site"] for each in result["sites"])


def _accepted(difference: Json) -> str:
    values = "; ".join(
        f"{value} ({', '.join(sites)})" for value, sites in difference["values"].items()
    )
    return f"Accepted: {difference['task']}: {difference['kind']} differs: {values}"


def _text_row(line: Json) -> tuple[str, ...]:
    found = line["pooled"]
    return (
        f"{_WHO[line['who']]}, {_place(line)}",
        line["metric"],
        str(len(line["sites"])),
        _value(found["value"], line),
        _ends(found, line, "low", "high"),
        _ends(found, line, "new_low", "new_high"),
        f"{100 * found['i2']:.0f} %",
    )


def _place(line: Json) -> str:
    return f"{line['by']} {line['group']}" if line["by"] else "all items"


def _value(value: float, line: Json) -> str:
    """A number in the metric's unit; shares in points."""
    text = number(value, line["unit"])
    return f"+{text}" if line["who"] == "difference" and value > 0 else text


def _ends(found: Json, line: Json, low: str, high: str) -> str:
    return f"{_value(found[low], line)} to {_value(found[high], line)}"


def notes(line: Json) -> Iterator[str]:
    """What a reader must know of a line: the largest difference, and who is left out."""
    if line["by_words"]:
        yield f"{line['metric']} ({_WHO[line['who']]}, {_place(line)}): {BY_WORDS}."

    largest = line["largest_difference"]
    said = (
        f"{line['metric']} ({_WHO[line['who']]}, {_place(line)}): {largest['first']} and "
        f"{largest['second']} lie furthest apart, by {number(largest['value'], line['unit'])} "
        f"({_ends(largest, {**line, 'who': ''}, 'low', 'high')} with all pairs at once)"
    )
    held = [
        f"within {100 * float(limit):.0f} points: {verdict}"
        for limit, verdict in largest["within"].items()
    ]
    yield "; ".join([said, *held]) + "."
    if alone := line["pooled"]["by_errors_alone"]:
        yield (
            f"{line['metric']} ({_WHO[line['who']]}, {_place(line)}): these hospitals lie closer "
            "together than their own errors make likely. By those alone the mean is known to "
            f"{_value(alone[0], line)} to {_value(alone[1], line)}: trust the wider interval."
        )

    for each in line["without"]:
        yield f"{line['metric']}: without {each['site']}, since {each['why']}."

    if hidden := [each["site"] for each in line["sites"] if each["off"]]:
        yield (
            f"{line['metric']}: a cell of {', '.join(hidden)} is under five and hidden; the "
            "interval is the widest of what it may be."
        )


def unscored(task: Json) -> Iterator[str]:
    """Which hospitals have items without a score, as far as their files tell."""
    for site, roles in task["coverage"].items():
        for role, counts in roles.items():
            if missing := counts["missing"]:
                asked = counts["scored"] + missing
                yield f"{site}, {role}: {missing:,} of {asked:,} items have no score."


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
        rows=[Row([each[name] for name in names]) for each in result["sites"]],
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
        "lines": [_line(f"{base}-{at}", each) for at, each in enumerate(task["lines"])],
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
    """A metric: forest plot, notes, and what each hospital does to it."""
    found = line["pooled"]
    unit = line["unit"]
    title = f"{line['metric']}, {_WHO[line['who']]}, {_place(line)}"
    spread = (
        f"I² {100 * found['i2']:.0f} % ({100 * found['i2_low']:.0f} to "
        f"{100 * found['i2_high']:.0f}); tau {number(found['tau'], unit)} "
        f"({number(found['tau_low'], unit)} to {number(found['tau_high'], unit)}); "
        f"Q {found['q']:.1f}, p {found['q_p']:.3f}."
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
    """A row a hospital, then all together, then a further one."""
    found = line["pooled"]
    rows = [
        Line(
            each["site"],
            [
                PlotPoint(
                    label=each["site"],
                    value=each["value"],
                    low=each["low"],
                    high=each["high"],
                    n=each["n"],
                    detail=f"{each['how']}, weight {100 * each['weight']:.0f} %",
                )
            ],
            heading="Each hospital",
        )
        for each in line["sites"]
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
                    label=label, value=found["value"], low=found[low], high=found[high]
                )
            ],
            heading="Together",
        )
        for label, low, high in ends
    ]

    return rows


def _influence(base: str, line: Json) -> Table:
    """What the mean is without each hospital."""
    without = {each["site"]: each for each in line["leave_one_out"]}
    rows = []
    for each in line["sites"]:
        left = without.get(each["site"])
        rows.append(
            Row(
                [
                    each["site"],
                    str(each["n"]),
                    _value(each["value"], line),
                    _ends(each, line, "low", "high"),
                    each["how"],
                    f"{100 * each['weight']:.0f} %",
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
