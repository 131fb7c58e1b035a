"""Tasks by name, rows of their demos, and rows of radiology reports and own texts."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.data import (
    load_items,
    read_aci_rows,
    read_meqsum_rows,
)
from medical_tasks.benchmarks.doclens.measures import Section, SentenceVerdict
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.spec import Item, Row, TaskSpec
from tests.case_tables import checked_table, tables


def cases(name: str, test: str = "", *, tuples: bool = False) -> Any:
    """The content of `cases/NAME.json`, or the rows of one test in it."""
    content = tables(__file__, name)
    if not test:
        return content
    rows = [tuple(row) for row in checked_table(content[test], test)]
    assert rows, test
    rows = [as_tuples(row) for row in rows] if tuples else rows
    return rows if len(rows[0]) > 1 else [row[0] for row in rows]


def official_notes(path: Path) -> dict[str, str]:
    """The notes of a CSV file of ACI-BENCH, by visit."""
    with path.open(encoding="utf-8", newline="") as stream:
        return {
            row["encounter_id"]: row["note"]
            for row in csv.DictReader(stream, strict=True)
        }


def as_tuples(value: Any) -> Any:
    """A copy with tuples in place of lists."""
    if isinstance(value, dict):
        return {name: as_tuples(item) for name, item in value.items()}
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


BY_NAME = {task.name: task for task in TASKS}

KINDS = (
    ("CT", "abdomen"),
    ("CT", "chest"),
    ("CT", "head"),
    ("CT", "spine"),
    ("MR", "head"),
    ("MR", "spine"),
)


def report(
    number: int, modality: str = "CT", anatomy: str = "head", *, patient: str = ""
) -> dict[str, Any]:
    sentences = [
        f"There is a lesion of {number} mm in the left lobe.",
        "No effusion.",
        "The bones are normal.",
    ]
    return {
        "id": str(number),
        "patient_id": patient or f"p{number}",
        "modality": modality,
        "anatomy": anatomy,
        "findings": " ".join(sentences),
        "sentences": sentences,
        "impression": f"1. Lesion of {number} mm, left lobe.\n2. No effusion.",
    }


def reports(split: str) -> list[dict[str, Any]]:
    """Three of each kind for `train`, one for `test`."""
    first, per_kind = (100, 3) if split == "train" else (900, 1)
    return [
        report(first + 10 * kind_number + more, *kind)
        for kind_number, kind in enumerate(KINDS)
        for more in range(per_kind)
    ]


def own_rows() -> list[dict[str, Any]]:
    sentences = ["Seen for gout.", "Uric acid is 9.", "Allopurinol was started."]
    return [
        {
            "id": "a",
            "source": " ".join(sentences),
            "sentences": sentences,
            "reference": "Gout. Allopurinol started.",
        },
        {
            "id": "b",
            "source": "x",
            "sentences": ["x"],
            "reference": "Cited already [0]. Gout.",
        },
        {"id": "c", "source": "x", "sentences": ["x"], "reference": " "},
    ]


def demo_rows(task: TaskSpec, split: str) -> list[dict[str, Any]]:
    read: Mapping[str, Callable[[], Iterable[Row]]] = {
        "aci_bench": lambda: read_aci_rows("demo", split, {}),
        "meqsum": lambda: read_meqsum_rows("demo", split, {}),
        "mimic_rrs": lambda: reports(split),
    }
    return [dict(row) for row in read.get(task.dataset, own_rows)()]


def exemplar_rows(task: TaskSpec) -> list[dict[str, Any]]:
    return demo_rows(task, task.exemplars) if task.exemplars else []


def items_of(name: str) -> list[Item]:
    task = BY_NAME[name]
    return load_items(task, demo_rows(task, task.split))


OUTCOMES = st.sampled_from([True, False, None])


@st.composite
def sentences(draw: st.DrawFn) -> SentenceVerdict:
    """Possible verdicts on sentences."""
    entailed = draw(OUTCOMES)
    supports = draw(
        st.lists(st.just(False) if entailed is False else OUTCOMES, max_size=3)
    )
    return SentenceVerdict(entailed=entailed, supports=tuple(supports))


CLAIM_LISTS = st.one_of(st.none(), st.lists(OUTCOMES, max_size=5).map(tuple))
SECTION_VERDICTS = st.builds(
    Section,
    reference_claims=CLAIM_LISTS,
    output_claims=CLAIM_LISTS,
    sentences=st.lists(sentences(), max_size=4).map(tuple),
)
