"""A report as one page: works from a file, offline, on paper, on a phone, in the dark, and without scripts but for items."""

from __future__ import annotations

from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.page_assets import EARLY_SCRIPTS, PAGE_SCRIPTS, PAGE_STYLES
from medical_tasks.report.page_data import ReportData, ReportTask
from medical_tasks.report.page_document import document
from medical_tasks.report.page_overview import headline_section, runs_section
from medical_tasks.report.page_task import section_id, task_section

__all__ = ["render_page"]


def render_page(data: ReportData) -> str:
    """Makes the page.

    Args:
        data: all that it shows.

    Returns:
        An HTML document that can be written as UTF-8. Every text of a model, a judge or a user in it is escaped; it asks for
        nothing from anywhere.
    """
    by_name: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        by_name.setdefault(task.name, []).append(task)
    sections = [(section_id(name, place), tasks) for place, (name, tasks) in enumerate(by_name.items())]
    links = [("#runs-section", "Runs"), ("#overview", "All results")]
    links += [(f"#{base}", tasks[0].name) for base, tasks in sections]
    contents = "".join(f'<li><a href="{address}">{escaped(text)}</a></li>' for address, text in links)
    body = markup(
        '<a class="mt-skip" href="#main">Skip to the results</a>',
        '<header class="mt-header"><div class="mt-header-line">',
        f"<h1>{escaped(data.title)}</h1>",
        '<button type="button" class="mt-button mt-theme" hidden>Dark colours</button></div>',
        f'<p class="mt-lead">Made by {escaped(data.suite)}. Values are in percent with 95 % intervals, unless a unit is named.</p>',
        "</header>",
        f'<div class="mt-layout"><nav class="mt-contents" aria-label="Contents"><ol>{contents}</ol></nav>',
        '<main id="main" tabindex="-1">',
        runs_section(data),
        headline_section(data),
        *(task_section(tasks, base=base) for base, tasks in sections),
        "</main></div>",
        '<footer class="mt-footer"><p>Published results are as their authors report them. ',
        Markup(
            "A number without an interval comes from a paper; n/a is what nobody can compute, never 0.</p></footer>"
        ),
    )
    return document(data.title, body, styles=PAGE_STYLES, scripts=PAGE_SCRIPTS, early=EARLY_SCRIPTS)
