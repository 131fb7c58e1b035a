"""The demo of `mimic_rrs`, and what its source declares."""

from __future__ import annotations

from collections import Counter

from medical_tasks.benchmarks.doclens.mimic_data import MIMIC_SOURCE, demo_reports, read_mimic_rows
from medical_tasks.benchmarks.doclens.mimic_report import (
    ANATOMIES,
    MODALITIES,
    TRAIN_KINDS,
    Report,
    check_report,
    read_report,
)
from medical_tasks.benchmarks.doclens.mimic_sample import MIMIC_COLUMNS, SPLITS


def test_the_demo_has_two_reports_of_each_kind_with_a_train_split() -> None:
    assert Counter(each.kind for each in demo_reports("train")) == dict.fromkeys(TRAIN_KINDS, 2)


def test_the_demo_has_every_modality_and_anatomy_and_no_patient_in_both_splits() -> None:
    train, test = (demo_reports(split) for split in SPLITS)
    assert len(test) == 12
    assert {each.kind.modality for each in test} == set(MODALITIES)
    assert {each.kind.anatomy for each in test} == set(ANATOMIES)
    assert {each.patient_id for each in train}.isdisjoint(each.patient_id for each in test)
    assert Counter(Counter(each.patient_id for each in test).values()) == {1: 10, 2: 1}
    assert len({each.id for each in (*train, *test)}) == 24


def test_the_demo_is_of_the_form_that_notes_give() -> None:
    for split in SPLITS:
        rows = list(read_mimic_rows("demo", split, {}))
        assert len(rows) == 12
        for row, candidate in zip(rows, demo_reports(split), strict=True):
            assert list(row) == [column.name for column in MIMIC_COLUMNS]
            assert len(row["sentences"]) >= 5
            assert " ".join(row["sentences"]) == " ".join(row["findings"].split())
            assert check_report(candidate.report) is None
            text = f"FINDINGS: {row['findings']}\n\nIMPRESSION:\n{row['impression']}"
            assert read_report(text) == Report(findings=row["findings"], impression=row["impression"])


def test_the_source() -> None:
    assert MIMIC_SOURCE.spec.access == "credentialed"
    assert MIMIC_SOURCE.splits == dict.fromkeys(("notes", "table", "demo"), ("train", "test"))
    assert MIMIC_SOURCE.published_rows["notes"] == {"test": 200}  # paper, appendix on the experiments
