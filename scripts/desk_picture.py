"""Makes docs/pictures/review_desk.png: `python scripts/desk_picture.py`.

Shows the review desk on an invented question. Needs `pip install .[browser]` and
Chromium (CHROMIUM=PATH).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from medical_tasks.site.desk.sheets import (
    Choice,
    Field,
    Item,
    Passage,
    Sheet,
    sentences_of,
    sharing_words,
    write_sheet,
)

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "review_desk.png"
NOTE = (
    "Discharge summary (invented)\n\nA 71-year-old woman came with two days of chest pain on "
    "exertion. Troponin rose from 0.04 to 0.81 ng/mL. An echocardiogram showed an ejection "
    "fraction of 45 %.\n\nShe was given aspirin and a statin. Metoprolol was stopped on day 2 "
    "because of a heart rate of 44.\n\nDischarge: home on day 4, follow-up in two weeks.\n"
)
ANSWER = "Metoprolol was stopped because of a slow heart rate of 44."


def sheet() -> Sheet:
    """Makes a sheet of twelve questions; the picture shows the first."""
    sentences = sentences_of(NOTE)
    passage = Passage(
        title="Note 1 of 1",
        sentences=sentences,
        cited=sharing_words(sentences, ANSWER, most=1),
    )
    question = "Why was metoprolol stopped?"
    items = [
        Item(
            id=f"q{number:02}",
            prompt=question,
            passages=(passage,),
            answer=ANSWER,
            editable=(Field(name="question", label="Question", text=question),),
        )
        for number in range(12)
    ]
    return Sheet(
        name="questions",
        title="Questions to check",
        instruction="Keep a question that a clinician would ask and the note answers.",
        choices=(
            Choice(key="k", value="keep", label="Keep"),
            Choice(key="x", value="drop", label="Drop", edits=False),
        ),
        items=tuple(items),
        raters=("ann", "ben"),
        adjudicator="eve",
        marked="they share most words with the answer",
        private=False,
    )


def main() -> None:
    """Opens a desk, labels three questions, and takes the picture."""
    from playwright.sync_api import expect, sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions.json"
        write_sheet(path, sheet())
        command = [sys.executable, "-m", "medical_tasks", "site", "review"]
        desk = subprocess.Popen(
            [*command, "--open", str(path), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            lines = iter(desk.stdout or ())
            address = next(
                match[1] for line in lines if (match := re.match("for ann: (.+)", line))
            )
            with sync_playwright() as playwright:
                chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
                )
                page = browser.new_page(viewport={"width": 1100, "height": 690})
                page.goto(address)
                for number in range(1, 4):
                    expect(page.locator("#place")).to_contain_text(f"Item {number} ")
                    page.keyboard.press("k")
                expect(page.locator("#saved")).to_contain_text("3 of 12")
                page.screenshot(path=PICTURE)
                browser.close()
        finally:
            desk.terminate()
            desk.wait()


if __name__ == "__main__":
    main()
