"""Makes docs/report.png, the first screen of a report: `python scripts/report_picture.py [--data DIR]`.

Shows README's own two results: `baseline/random` and examples/answers.csv, on
MedCalc-Bench v1.0, which must be built (`medical-tasks build medcalc_bench --fetch`).
Needs `pip install .[browser] pillow` and Chromium (CHROMIUM=PATH). Beside the picture lies
docs/report.sha256: a hash of what the report is made from, by which a test checks
that the picture is up to date.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import shutil
import tempfile
from pathlib import Path

import medical_tasks as mt

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "report.png"
HASHES = ROOT / "docs" / "report.sha256"
SIZE = {"width": 1200, "height": 690}
SCALE = 1.35
"""Pixels of the picture for one of the page, so that it is sharp on a phone."""


def sources() -> list[Path]:
    """Lists the files that determine how the report looks."""
    report = ROOT / "medical_tasks" / "report"
    paths = sorted([*report.glob("templates/*.html"), *report.glob("assets/*")])
    if not paths:
        raise FileNotFoundError(f"{report}: no templates")
    return paths


def digest(paths: list[Path]) -> str:
    """Hashes files, their names included."""
    hashed = hashlib.sha256()
    for path in paths:
        hashed.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()


def hashes() -> str:
    """Returns what docs/report.sha256 must hold: the hash of the sources, and of the picture."""
    return (
        f"{digest(sources())}  medical_tasks/report (templates, assets)\n"
        f"{digest([PICTURE])}  docs/report.png\n"
    )


def report_page(folder: Path, data: Path | None) -> Path:
    """Scores both, and writes their report."""
    random = mt.run("medcalc", "baseline/random", out=folder / "random", data=data)
    answers = ROOT / "examples" / "answers.csv"
    sample = mt.score("medcalc", answers, out=folder / "sample", data=data)
    page = folder / "report.html"
    mt.report([sample, random], out=page, data=data)
    return page


def photograph(page: Path) -> None:
    """Takes the first screen, in light colours."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(
            viewport=SIZE,
            device_scale_factor=SCALE,
            color_scheme="light",
            reduced_motion="reduce",
        )
        shown = context.new_page()
        shown.goto(page.as_uri())
        taken = shown.screenshot()
        browser.close()
    # The page has few colours; 64 of them are a third of the bytes.
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(64).save(
        PICTURE, optimize=True
    )


def main() -> None:
    """Makes the picture, and the hashes beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the built dataset")
    with tempfile.TemporaryDirectory() as scratch:
        photograph(report_page(Path(scratch), parser.parse_args().data))
    HASHES.write_text(hashes(), encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
