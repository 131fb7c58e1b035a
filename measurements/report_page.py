"""The report's page in a browser: its size, how long it takes to open, and how long a filter takes among 2,000 items or rows.

    python measurements/report_page.py [--items 2000] [--repeats 5]

Needs the extra `browser` and Chromium (`CHROMIUM` names it where it is not on the
path). Times are the page's own (`performance.now()`), from the key to the next frame
that is painted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from medical_tasks.report.html_parts import Markup, document, html_table, markup
from medical_tasks.report.page import render_page
from medical_tasks.report.plots import axis_ticks
from medical_tasks.report.table import Column, Row, Table
from medical_tasks.report.tables import metric_cells
from tests.report.page_samples import calculation, metric, sample_report

TYPED = """async ([field, text]) => {
  const input = document.querySelector(field);
  const from = performance.now();
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  const scripted = performance.now() - from;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  return [scripted, performance.now() - from];
}"""
LOADED = """() => { const [entry] = performance.getEntriesByType("navigation");
  return [entry.domContentLoadedEventEnd, entry.loadEventEnd]; }"""


def large_table(rows: int) -> str:
    columns = [
        Column(name="model", label="Model", header=True),
        Column(name="value", label="Value", kind="number"),
        Column(name="plot", label="Interval", kind="plot", axis=axis_ticks),
        Column(name="interval", label="95 % interval", kind="range"),
        Column(name="n", label="n", kind="number"),
        Column(name="group", label="Group", facet=True),
    ]
    table = Table(
        id="large",
        columns=columns,
        rows=[
            Row(
                [
                    f"model-{n:04d}",
                    *metric_cells(metric(n % 97 / 97, 500)),
                    f"group {n % 7}",
                ]
            )
            for n in range(rows)
        ],
        caption="Entries",
        filter_label="Filter",
    )
    body = markup(Markup("<main><h1>Entries</h1>"), html_table(table), "</main>")
    return document("Entries", body)


def typed(page: Any, field: str, texts: list[str], repeats: int) -> str:
    times = [
        page.evaluate(TYPED, [field, text]) for _ in range(repeats) for text in texts
    ]
    scripted, painted = zip(*times, strict=True)
    return (
        f"script {statistics.median(scripted):.0f} ms median, {max(scripted):.0f} ms most; "
        f"to the next frame {statistics.median(painted):.0f} ms median, {max(painted):.0f} ms most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-gpu", "--disable-quic"],
        )
        report = sample_report(items=40)
        large = type(report)(
            title="Large", suite="sample", tasks=[calculation(items=arguments.items)]
        )
        pages = {"sample": report, f"{arguments.items} items": large}
        for name, data in pages.items():
            from_here = time.perf_counter()
            text = render_page(data)
            rendered = time.perf_counter() - from_here
            path = Path(folder, f"{name}.html")
            path.write_text(text, encoding="utf-8")
            page = browser.new_page()
            page.goto(path.as_uri())
            read, loaded = page.evaluate(LOADED)
            print(
                f"{name}: {path.stat().st_size / 1e6:.2f} MB, made in {rendered:.2f} s, read in {read:.0f} ms, "
                f"loaded in {loaded:.0f} ms"
            )
        page.locator("#task-calculate-items").scroll_into_view_if_needed()
        page.locator("#task-calculate-items [role=option]").first.wait_for()
        field = "#task-calculate-items-text"
        print(f"first search: {typed(page, field, ['divide'], 1)}")
        print(
            f"search: {typed(page, field, ['weigh', 'note-00', 'nothing', ''], arguments.repeats)}"
        )
        path = Path(folder, "table.html")
        path.write_text(large_table(arguments.items), encoding="utf-8")
        page = browser.new_page()
        page.goto(path.as_uri())
        print(
            f"table of {arguments.items} rows: {path.stat().st_size / 1e6:.2f} MB, loaded in {page.evaluate(LOADED)[1]:.0f} ms"
        )
        print(
            f"filter of it: {typed(page, '#large-filter', ['model-19', '3', 'nothing', ''], arguments.repeats)}"
        )
        browser.close()


if __name__ == "__main__":
    main()
