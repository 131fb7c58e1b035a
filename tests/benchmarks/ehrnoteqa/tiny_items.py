"""Small items written by hand, and a file in the authors' form with texts of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.data import load_items, read_rows
from medical_tasks.benchmarks.ehrnoteqa.notes import prepared_text
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.spec import Item, Row, TaskSpec
from tests.case_tables import cases

BY_NAME = {task.name: task for task in TASKS}
FORMATS = ("open", "mc", "mc_prob_index", "mc_prob_value")


def task_of(form: str, level: int = 1) -> TaskSpec:
    return BY_NAME[f"ehrnoteqa_{form}_level{level}"]


def demo_items(task: TaskSpec) -> list[Item]:
    return load_items(task, list(read_rows("demo", "test", {})))


def note(
    body: str, *, hadm_id: str = "21", date: str = "2150-01-02", header: bool = True
) -> dict[str, str]:
    charttime = f"{date} 00:00:00"
    text = (
        prepared_text("", patient_id="100", hadm_id=hadm_id, charttime=charttime)
        if header
        else ""
    ) + body
    return {
        "note_id": f"100-DS-{hadm_id}",
        "hadm_id": hadm_id,
        "charttime": charttime,
        "text": text,
    }


def item(*notes: Row, **columns: Any) -> Item:
    """A question about a marble, by default with two notes."""
    two = [
        note("Swallowed a marble."),
        note("Well\nagain.", hadm_id="22", date="2150-03-04"),
    ]
    fields = {**cases(__file__, "item"), "notes": list(notes) or two}
    return Item(id="100", fields=fields | columns, groups={}, cluster="100")


OPEN_TEMPLATE = "Notes {{all}}:\n{note}\nAsked: {question}\nSay it:"
CHOICE_TEMPLATE = "{note}\n{question}\n(a) {choice_a}\n(b) {choice_b}\n(c) {choice_c}\n(d) {choice_d}\n(e) {choice_e}\nPick:"


def authors_source(
    open_template: str = OPEN_TEMPLATE, choice_template: str = CHOICE_TEMPLATE
) -> str:
    """A file in the authors' form: imports, a dict of adjacent strings, a function."""

    def halves(text: str) -> str:
        middle = len(text) // 2
        return f"(\n            {text[:middle]!r}\n            {text[middle:]!r}\n        )"

    return (
        "import nothing_that_exists\n\n"
        "PROMPT_DICT = {\n"
        f'    "openended": {{"gpt": {halves(open_template)}, "llama-2-chat": "[INST] {{note}} '
        f'{{question}} [/INST]"}},\n'
        f'    "multichoice": {{"gpt": {halves(choice_template)}, "llama-2-chat": ""}},\n'
        "}\n\n\ndef make(note):\n    raise SystemExit\n"
    )


def write_checkout(folder: Path, source: str, *, subfolder: str = "generation") -> Path:
    """Writes the file to its path in a checkout."""
    (folder / "src" / subfolder).mkdir(parents=True, exist_ok=True)
    (folder / "src" / subfolder / "utils.py").write_text(source, encoding="utf-8")
    return folder
