"""A leaderboard of many entries: how long its page takes to make and to filter, and how large it is.

    python benchmarks/leaderboard_page.py [ENTRIES] [--chromium /usr/bin/chromium]

Makes ENTRIES (2,000) entries of one task in one group, writes the page's HTML as the app does, and opens it in Chromium with the
app's own styles and scripts: time to draw and make it sortable, to filter by one letter after the other, by state and to sort.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from medical_tasks.leaderboard.app.serving import head  # noqa: E402
from medical_tasks.leaderboard.app.tables import task_page  # noqa: E402
from medical_tasks.scoring.intervals import wilson_interval  # noqa: E402
from tests.leaderboard.app.page_samples import board, entry, submission  # noqa: E402

SEED = 7
ITEMS = 1047


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("entries", nargs="?", type=int, default=2000)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    arguments = parser.parse_args()
    draw = random.Random(SEED)
    entries = []
    for number in range(arguments.entries):
        right = draw.randrange(ITEMS)
        low, high = wilson_interval(right, ITEMS)
        metric = {"value": right / ITEMS, "ci_low": low, "ci_high": high, "n": ITEMS}
        names = ("accuracy", "accuracy_official", "accuracy_recomputed", "accuracy_agreed")
        entries.append(
            entry(
                f"Organisation {number % 97}/Model {number}",
                0.5,
                metrics=dict.fromkeys(names, metric),
                organisation=f"Organisation {number % 97}",
                state=draw.choice(("accepted", "verified")),
            )
        )
    known = tuple(submission(one.submission, one.model, open_weights=draw.random() < 0.5) for one in entries)
    snapshot = board(*entries, submissions=known)
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        html = task_page(snapshot, "medcalc")
        seconds.append(time.perf_counter() - began)
    print(
        f"{arguments.entries:,} entries: page made in {1000 * statistics.median(seconds):.0f} ms, {len(html) / 1e6:.2f} MB"
    )
    if arguments.chromium is None:
        print("no chromium: not measured in a browser")
        return
    in_browser(html, arguments.chromium)


def in_browser(html: str, chromium: str) -> None:
    """Times what a visitor does, layout included."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "page.html"
        page_file.write_text(
            f"<!doctype html><meta charset=utf-8><head>{head()}</head><body><div id=place></div>"
            f"<template id=held><div class='mt mtl'>{html}</div></template></body>",
            encoding="utf-8",
        )
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(page_file.as_uri())
        # As `space.js` does; the time includes layout.
        drawn = page.evaluate(
            """() => { const began = performance.now(); const place = document.getElementById('place');
            place.innerHTML = document.getElementById('held').innerHTML; medicalTasksTables.enhanceAll(place);
            place.offsetHeight; return performance.now() - began; }"""
        )
        print(f"drawn and made sortable: {drawn:.0f} ms")
        acts = {
            "filter by 'm'": "f.value = 'm'",
            "filter by 'model 12'": "f.value = 'model 12'",
            "filter by a word nobody has": "f.value = 'qqqq'",
            "filter emptied": "f.value = ''",
        }
        for name, act in acts.items():
            print(f"{name}: {_timed(page, act):.0f} ms")
        print(f"state verified: {_state(page, 'verified'):.0f} ms, all again: {_state(page, ''):.0f} ms")
        sorting = page.evaluate(
            """() => { const began = performance.now(); document.querySelectorAll('.mt-sort')[1].click();
            document.body.offsetHeight; return performance.now() - began; }"""
        )
        print(f"sort by model: {sorting:.0f} ms")
        browser.close()


def _timed(page: Any, act: str) -> float:
    return float(
        page.evaluate(
            f"""() => {{ const f = document.getElementById('board-0-filter'); const began = performance.now(); {act};
        f.dispatchEvent(new Event('input')); document.body.offsetHeight; return performance.now() - began; }}"""
        )
    )


def _state(page: Any, value: str) -> float:
    return float(
        page.evaluate(
            """value => { const s = document.getElementById('board-0-facet-state');
        const began = performance.now(); s.value = value;
        s.dispatchEvent(new Event('input')); document.body.offsetHeight; return performance.now() - began; }""",
            value,
        )
    )


if __name__ == "__main__":
    main()
