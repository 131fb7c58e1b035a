"""What several pages share: table cells, links within the app, notices, titles, and groups of comparable entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal
from urllib.parse import urlencode

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.leaderboard.ranking import group_label, measure_of
from medical_tasks.leaderboard.records import Entry, EntryState
from medical_tasks.report import page as report_page
from medical_tasks.report.html_parts import Cell, Cells, Markup, Row, assets_text, escaped, markup, rendered, table
from medical_tasks.report.terminal import warning
from medical_tasks.runs.numbers import bounds, interval, valued
from medical_tasks.spec import MetricSpec

ASSETS: Final = "leaderboard/assets"


@cache
def page_data() -> Any:
    """What `assets/pages.json` says of the pages, the states and the tables."""
    return json.loads(assets_text("pages.json", ASSETS))


def page_table(name: str, rows: Iterable[Row | Cells], **more: Any) -> Markup:
    """Renders a table of `assets/pages.json`."""
    return table(page_data(), name, rows, **more)


def filled(template: str, **values: Any) -> Markup:
    """Fills a template of the leaderboard."""
    known = (Address, in_app_link, badge, page_table, notice, yes_no)
    return rendered(template, room="leaderboard", **{each.__name__: each for each in known}, **values)


def metric_cell(metric: Mapping[str, Any] | None, *, state: EntryState, strong: bool = False) -> Cell:
    """Renders a metric's value and interval; the title has number of items and bounds. `strong` marks the ranking metric."""
    if metric is None:
        return Cell("n/a", title="not reported")
    value = metric.get("value")
    if metric.get("ci_low") is None or metric.get("ci_high") is None:
        note = "no interval reported" if state == "reported" else "no interval"
        note = note if value is not None else str(metric.get("reason", ""))
    else:
        note = interval(metric)
    words = []
    if metric.get("n") is not None:
        words.append(f"over {metric['n']:,} items")
    if metric.get("bound_low") is not None and metric.get("bound_high") != metric["bound_low"]:
        words.append(f"bounds, whatever is missing: {bounds({'bound_high': None, **metric})}")
    return Cell(valued(metric), sort=value, note=note, title="; ".join(words), strong=strong)


def coverage_cell(entry: Entry) -> Cell:
    """Writes how many of the items asked were scored, and why the others were not."""
    if entry.coverage is None:
        return Cell("not reported")
    return report_page.coverage_cell({"coverage": {"unscored": {}, **entry.coverage}, "metrics": {}})


def badge(state: str) -> Markup:
    """Writes a state as a word in its colour."""
    return markup(f'<span class="mtl-badge mtl-{escaped(state)}">', escaped(state), "</span>")


def state_cell(state: str) -> Cell:
    """Writes a state, with what it means."""
    return Cell(badge(state), sort=state, title=page_data()["states"].get(state, ""))


def day(moment: str) -> str:
    """The day of a moment in ISO 8601; what is not known is said."""
    return moment[:10] or "not known"


def code_cell(name: str) -> Cell:
    """Writes the id of a submission."""
    return Cell(markup("<code>", escaped(name), "</code>"), sort=name)


def judge_warning(recipe: Mapping[str, Any], about: str = "") -> list[Markup]:
    """Renders what must be said in bold with a recipe's numbers, if there is anything."""
    said = warning({"judge": recipe.get("judge")})
    return [markup(f'<p class="mtl-warning"><strong>{escaped(about + said)}</strong></p>')] if said else []


def yes_no(value: bool | None) -> str:
    """Writes what a submitter says or leaves open."""
    return "not said" if value is None else "yes" if value else "no"


PAGES: Final = ("leaderboard", "model", "compare", "submit", "queue", "about")
_LONGEST_VALUE = 200


@dataclass(frozen=True, kw_only=True)
class Address:
    """A place in the app; empty parts stand for the default. It has `view` since Gradio keeps `page` to itself."""

    view: str = PAGES[0]
    task: str = ""
    metric: str = ""
    group: str = ""
    model: str = ""
    first: str = ""
    second: str = ""

    @property
    def query(self) -> str:
        """The same as `?...`, without what is not said."""
        named = {name: value for name, value in self.__dict__.items() if value}
        if self.view == PAGES[0] or (self.view == "model" and self.model):
            del named["view"]
        return f"?{urlencode(named, errors='replace')}"


def address_of(query: Mapping[str, str]) -> Address:
    """Reads an address that anybody may have written: what is unknown is left out."""
    known = {name: str(query.get(name, ""))[:_LONGEST_VALUE] for name in Address.__dataclass_fields__}
    if known["view"] not in PAGES:
        known["view"] = "model" if known["model"] else "compare" if known["first"] else PAGES[0]
    return Address(**known)


def in_app_link(text: str, address: Address) -> Markup:
    """Makes a link to a place of the app; it works as an address of its own too."""
    return markup(f'<a href="{escaped(address.query)}" data-app-link>', escaped(text), "</a>")


def model_cell(model: str, note: str = "") -> Cell:
    """A model's name, which leads to its page."""
    return Cell(in_app_link(model, Address(view="model", model=model)), sort=model.casefold(), note=note)


def notice(kind: Literal["good", "bad", "note"], heading: str, *texts: str) -> Markup:
    """Renders a box; texts are escaped, unless they are `Markup`."""
    return filled("notice.html", kind=kind, heading=heading, texts=texts)


def task_order(names: Iterable[str]) -> list[str]:
    """Sorts tasks as the documentation does; of others than this version's the board has no entries."""
    return sorted(set(names), key=list(tasks()).index)


def metrics_of(entries: Sequence[Entry]) -> list[MetricSpec]:
    """Lists the declared metrics of a task that at least one of its entries reports, the headline first."""
    reported = {name for entry in entries for name in entry.metrics}
    return [metric for metric in tasks()[entries[0].task].metrics if metric.name in reported] if entries else []


def ranked_metrics(entries: Sequence[Entry]) -> list[MetricSpec]:
    """Lists the metrics that submissions of a task can be ranked by; those of papers where nothing was submitted."""
    return metrics_of([entry for entry in entries if entry.state != "reported"]) or metrics_of(entries)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Entries of one task that are of the same task version, data, prompts, judge and scoring."""

    name: str
    entries: Sequence[Entry]

    @property
    def words(self) -> str:
        """What is common to its entries, in a line."""
        recipe = self.entries[0].recipe
        return f"task version {recipe.get('task_version', 'not known')}, {group_label(recipe)}"


def groups_of(entries: Sequence[Entry]) -> list[Group]:
    """Sorts one task's entries into groups, the largest first; reported results are in none."""
    members: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.state != "reported":
            members.setdefault(entry.group, []).append(entry)
    made = [Group(name=name, entries=of) for name, of in members.items()]
    return sorted(made, key=lambda group: (-len(group.entries), group.name))


def measures_of(group: Group, by: MetricSpec) -> list[Group]:
    """Splits a group by what else one metric's numbers depend on; the largest part first, for most metrics the group alone."""
    members: dict[str, list[Entry]] = {}
    for entry in group.entries:
        members.setdefault(measure_of(by, entry.metrics.get(by.name, {}), entry.recipe), []).append(entry)
    return [Group(name=group.name, entries=of) for of in sorted(members.values(), key=len, reverse=True)]
