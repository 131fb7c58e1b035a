"""Items of a task as JSON in the page, and the frame that `items.js` fills with them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from medical_tasks.report.html_parts import Markup, escaped, isolated, markup
from medical_tasks.report.metric_tables import spec_of
from medical_tasks.report.page_data import ReportItem, ReportTask
from medical_tasks.runs.numbers import metric_label
from medical_tasks.spec import MetricSpec

_LONE = re.compile("[\ud800-\udfff]")
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def script_json(value: Any) -> Markup:
    """Writes JSON that can stand in a `<script>` element and in UTF-8, and reads back equal."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_IN_SCRIPT)
    return Markup(_LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


class _Strings:
    """Texts by number, each stored once; 0 is the empty one."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def decision(item: ReportItem, metric: MetricSpec | None) -> str:
    """Sorts an item under one word by the metric that decides.

    Returns:
        `right` or `wrong` for a metric that is one or the other; `full`, `partly` or `zero` for a share; `scored` for a count;
        `unscored` where a reason says why there is no value, `no value` where the metric has no denominator.
    """
    value = _known(item.values.get(metric.name)) if metric is not None else None
    if value is None or metric is None:
        return "unscored" if item.unscored else "no value"
    low, high = metric.limits
    if metric.unit or math.isinf(high):
        return "scored"
    best, worst = (high, low) if metric.higher_is_better else (low, high)
    if metric.kind == "proportion":
        return "right" if value == best else "wrong"
    return "full" if value == best else "zero" if value == worst else "partly"


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def items_json(tasks: Sequence[ReportTask]) -> dict[str, Any]:
    """What the page holds of a task's items.

    Returns:
        `task`; `metrics` (those that items have values of: `label`, `unit`); `groups` (names of breakdowns); `strings`; `runs`,
        each with `name`, `texts` (why there are none) and `items`. An item holds, of what is not empty, numbers of strings: `i`
        id, `g` its groups (a list a breakdown), `q` question, `a` answer, `e` gold, `p` parsed, `w` why, `u` unscored, `h`
        hash; and `s` its decision (a string's number), `v` its values in the order of `metrics`, `d` verdicts as `[id, value,
        unscored, text, votes]`.
    """
    strings = _Strings()
    items = [item for task in tasks for item in task.items]
    # `average` metrics are of totals: no item has them.
    names = [name for name in _metric_names(tasks) if any(name in item.values for item in items)]
    groups = list(dict.fromkeys(name for item in items for name in item.groups))
    runs = []
    for task in tasks:
        decides = spec_of(task, names[0]) if names else None
        runs.append(
            {
                "name": task.run,
                "texts": task.texts,
                "items": [
                    _item(item, task, strings, names=names, groups=groups, decides=decides) for item in task.items
                ],
            }
        )
    return {
        "task": tasks[0].name,
        "metrics": [_metric(tasks, name) for name in names],
        "groups": groups,
        "strings": list(strings.numbers),
        "runs": runs,
    }


def _metric_names(tasks: Sequence[ReportTask]) -> list[str]:
    declared = [spec.name for task in tasks for spec in task.metrics]
    return list(dict.fromkeys([*declared, *(name for task in tasks for item in task.items for name in item.values)]))


def _metric(tasks: Sequence[ReportTask], name: str) -> dict[str, str]:
    reported: Mapping[str, Any] = next(
        (task.entry["metrics"][name] for task in tasks if name in task.entry["metrics"]), {}
    )
    return {"label": metric_label(name, reported), "unit": str(reported.get("unit", ""))}


def _item(
    item: ReportItem,
    task: ReportTask,
    strings: _Strings,
    *,
    names: Sequence[str],
    groups: Sequence[str],
    decides: MetricSpec | None,
) -> dict[str, Any]:
    number = strings.number
    row: dict[str, Any] = {
        "i": number(item.id),
        "s": number(decision(item, decides)),
        "v": [_rounded(item.values.get(name)) for name in names],
        "g": [[number(group) for group in _groups(item, task, by)] for by in groups],
        "q": number(item.question),
        "a": number(item.answer),
        "e": number(item.gold),
        "p": number(item.parsed),
        "w": number(item.why),
        "u": number(item.unscored),
        "h": number(item.answer_sha256),
        "d": [
            [number(v.id), number(v.value), number(v.unscored), number(v.text), [number(vote) for vote in v.votes]]
            for v in item.verdicts
        ],
    }
    return {key: value for key, value in row.items() if value not in (0, [])}


def _rounded(value: float | None) -> float | None:
    known = _known(value)
    return None if known is None else round(known, 6)


def _groups(item: ReportItem, task: ReportTask, by: str) -> Iterable[str]:
    """The groups an item is in. Several come joined by a blank, which can stand in a group's name as well."""
    joined = item.groups.get(by, "")
    known: Mapping[str, Any] = task.entry["breakdown"].get(by, {})
    if not joined or joined in known:
        return [joined] if joined else []
    words = joined.split(" ")
    found = []
    while words:
        length = next((size for size in range(len(words), 0, -1) if " ".join(words[:size]) in known), 0)
        if not length:
            return [joined]
        found.append(" ".join(words[:length]))
        words = words[length:]
    return found


def browser(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    """The item browser of a task: its data, and the frame that the page's script fills."""
    count = sum(len(task.items) for task in tasks)
    if not count:
        return markup('<h3>Items</h3><p class="mt-quiet">This report holds no items of this task.</p>')
    said = "".join(f'<p class="mt-callout">{reason}</p>' for reason in _reasons(tasks))
    name = escaped(tasks[0].name)
    return markup(
        f'<h3 id="{base}-h">Items</h3>',
        said,
        f'<noscript><p class="mt-quiet">The {count:,} items can be looked at where scripts may run; everything else '
        "on this page is here without them.</p></noscript>",
        f'<div class="mt-items" id="{base}" data-task="{name}" hidden>',
        f'<div class="mt-controls mt-item-controls" role="search" aria-label="Items of {name}">',
        _field(
            base,
            "text",
            "Search in ids and texts",
            '<input id="{id}" type="search" autocomplete="off" spellcheck="false">',
            "mt-grow",
        ),
        _field(base, "run", "Run", '<select id="{id}"></select>') if len(tasks) > 1 else "",
        _field(base, "state", "Decision", '<select id="{id}"></select>'),
        '<span class="mt-item-groups"></span>',
        _field(base, "order", "Order", '<select id="{id}"></select>'),
        f'<div class="mt-field mt-check"><input id="{base}-down" type="checkbox">'
        f'<label for="{base}-down">descending</label></div></div>',
        f'<p class="mt-status" id="{base}-status" role="status"></p>',
        '<div class="mt-item-panes"><div class="mt-item-side">',
        f'<ul class="mt-item-list" id="{base}-list" role="listbox" tabindex="0" aria-labelledby="{base}-h" '
        f'aria-describedby="{base}-keys"></ul>',
        '<div class="mt-pager"><button type="button" class="mt-button mt-before">Previous page</button>'
        '<span class="mt-page-number"></span><button type="button" class="mt-button mt-after">Next page</button></div>',
        f'<p class="mt-quiet mt-keys" id="{base}-keys">Arrow keys move, Enter opens, Escape goes back to the list.</p></div>',
        f'<div class="mt-item-detail" id="{base}-detail" role="region" aria-label="Item" tabindex="-1"></div></div>',
        f'<script type="application/json" id="{base}-data">{script_json(items_json(tasks))}</script></div>',
    )


def _reasons(tasks: Sequence[ReportTask]) -> list[Markup]:
    """What to know of the texts; with the runs it is true of, where it is not of all."""
    runs: dict[str, list[str]] = {}
    for task in tasks:
        runs.setdefault(task.texts, []).append(task.run)
    every = len(runs) == 1
    return [
        escaped(reason) if every else markup(", ".join(map(isolated, names)), ": ", escaped(reason))
        for reason, names in runs.items()
        if reason
    ]


def _field(base: str, name: str, label: str, control: str, kind: str = "") -> str:
    made = f"{base}-{name}"
    named = f"mt-field {kind}".strip()
    return f'<div class="{named}"><label for="{made}">{label}</label>{control.replace("{id}", made)}</div>'
