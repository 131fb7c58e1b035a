"""The store of labels, decisions, and CSV files without texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.site.desk.agreement import agreements
from medical_tasks.site.desk.labels import Label, LabelStore
from medical_tasks.site.desk.sheets import Sheet
from medical_tasks.site.desk.work import Work, import_labels, write_labels
from tests.site.desk.desk_sheets import a_sheet

SECRET = "a word of Mrs. Roe"


def a_label(number: int, rater: str, value: str, **more: object) -> Label:
    return Label(
        id=f"{rater}-{number}-{value}",
        item=f"p{number:04}",
        rater=rater,
        value=value,
        at="2026-01-02T03:04:05Z",
        **more,  # type: ignore[arg-type]
    )


def a_work(folder: Path, sheet: Sheet | None = None) -> Work:
    return Work(sheet or a_sheet(), LabelStore(folder / "labels.jsonl"))


def test_a_label_is_written_once_and_is_private(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "deep" / "labels.jsonl")
    label = a_label(1, "ann", "keep", note=SECRET)
    assert store.add(label)
    assert not store.add(label)
    assert store.path.stat().st_mode & 0o077 == 0
    assert store.path.parent.stat().st_mode & 0o077 == 0
    again = LabelStore(store.path)
    assert again.history == [label]
    assert not again.add(label)


def test_a_half_written_line_is_skipped_and_reported(
    tmp_path: Path,
) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    store.add(a_label(1, "ann", "keep"))
    store.add(a_label(2, "ann", "drop"))
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-20])
    again = LabelStore(store.path)
    assert [label.item for label in again.history] == ["p0001"]
    assert "line 2 is not whole" in again.problems[0]
    again.add(a_label(3, "ann", "keep"))
    last = LabelStore(store.path)
    assert [label.item for label in last.history] == ["p0001", "p0003"]


def test_undo_reverts_choices_one_by_one_and_keeps_notes(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    store.add(a_label(1, "ann", "keep", note=SECRET))
    store.add(a_label(2, "ann", "keep"))
    store.add(a_label(1, "ann", "drop", note=SECRET))
    store.add(a_label(3, "ben", "drop"))
    undone = [store.undo(f"u{number}", "ann") for number in range(4)]
    assert [(label.item, label.value) for label in undone if label] == [
        ("p0001", "keep"),
        ("p0002", ""),
        ("p0001", ""),
    ]
    assert undone[3] is None
    last = store.last("ann", "p0001")
    assert last is not None
    assert last.note == SECRET
    assert store.undo("u0", "ann") == undone[0]
    assert len(store.history) == 7


Actions = st.lists(
    st.tuples(
        st.sampled_from(["ann", "ben"]),
        st.sampled_from(["p0000", "p0001"]),
        st.sampled_from(["keep", "drop", "", "undo"]),
    ),
    max_size=12,
)


@given(actions=Actions, cut=st.integers(0, 400))
def test_a_store_is_read_as_it_was_written_except_a_cut_line(
    actions: list[tuple[str, str, str]],
    cut: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("store") / "labels.jsonl"
    store = LabelStore(path)
    for number, (rater, item, value) in enumerate(actions):
        if value == "undo":
            store.undo(str(number), rater)
        else:
            store.add(Label(id=str(number), item=item, rater=rater, value=value))
    again = LabelStore(path)
    assert again.history == store.history
    if store.history:
        content = path.read_bytes()
        path.write_bytes(content[: max(0, len(content) - cut)])
        history = LabelStore(path).history
        assert history == LabelStore(path).history
        lines = [line for line in path.read_bytes().split(b"\n") if line]
        assert len(lines) - len(history) in (0, 1)


def test_decisions_by_agreement_and_adjudication(tmp_path: Path) -> None:
    work = a_work(tmp_path)
    texts = {"question": "Another question?"}
    labels_by_item: dict[int, list[tuple[str, str, dict[str, str]]]] = {
        0: [("ann", "keep", {}), ("ben", "keep", {"question": " What  was 0? "})],
        1: [("ann", "keep", {}), ("ben", "drop", {})],
        2: [("ann", "keep", texts), ("ben", "keep", {}), ("eve", "keep", texts)],
        3: [("ann", "drop", texts)],
    }
    for number, labels in labels_by_item.items():
        for rater, value, edits in labels:
            work.store.add(a_label(number, rater, value, edits=edits))
    decisions = [
        (decision.how, decision.value, decision.disagreed)
        for decision in work.decided()
    ]
    assert decisions == [
        ("agreed", "keep", ()),
        ("disagreed", "", ()),
        ("adjudicated", "keep", ()),
        ("open", "", ()),
    ]
    assert work.decision("p0002").edits == texts
    assert work.items("eve") == ("p0001", "p0002")
    assert (work.progress("eve").done, work.progress("eve").total) == (1, 2)
    work.store.add(a_label(1, "eve", "drop"))
    assert work.decision("p0001").disagreed == ("ann",)


def test_a_single_rater_decides_an_item(tmp_path: Path) -> None:
    work = a_work(tmp_path, a_sheet(2, overlap=0))
    (rater,) = work.sheet.assigned["p0001"]
    work.store.add(a_label(1, rater, "drop"))
    assert work.decision("p0001").how == "single"


def test_the_csv_has_no_text_and_is_imported_without_duplicates(tmp_path: Path) -> None:
    work = a_work(tmp_path)
    edits = {"question": SECRET}
    work.store.add(a_label(1, "ann", "keep", note=SECRET, edits=edits))
    work.store.add(a_label(1, "ben", "drop"))
    work.store.add(a_label(1, "eve", "keep"))
    path = tmp_path / "labels.csv"
    assert write_labels(path, work) == 3
    text = path.read_text(encoding="utf-8-sig")
    assert "Roe" not in text
    assert "Troponin" not in text
    assert text.splitlines()[1:] == [
        "p0001,odd,ann,keep,2026-01-02T03:04:05Z,keep,adjudicated",
        "p0001,odd,ben,drop,2026-01-02T03:04:05Z,keep,adjudicated",
        "p0001,odd,eve,keep,2026-01-02T03:04:05Z,keep,adjudicated",
    ]
    assert import_labels(path, work) == 0
    other = a_work(tmp_path / "other")
    assert import_labels(path, other) == 3
    assert import_labels(path, other) == 0
    assert other.decision("p0001").value == "keep"


def test_invalid_rows_are_reported_together_and_nothing_is_added(
    tmp_path: Path,
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        "item,stratum,rater,value,at,final,how\n"
        "p0001,,ann,keep,,,\np0009,,ann,keep,,,\np0002,,ann,maybe,,,\n"
    )
    work = a_work(tmp_path)
    with pytest.raises(UsageError, match="row 3.*no item of this rater") as caught:
        import_labels(path, work)
    assert "must be one of keep, drop" in str(caught.value)
    assert work.store.history == []


def test_labels_of_strangers_are_refused(tmp_path: Path) -> None:
    LabelStore(tmp_path / "labels.jsonl").add(a_label(1, "zoe", "keep"))
    with pytest.raises(UsageError, match="labels of zoe"):
        a_work(tmp_path)


def test_agreement_by_hand(tmp_path: Path) -> None:
    """Raters agree on four of six items, and each keeps half of them: kappa (4 - 3) / (6 - 3)."""
    work = a_work(tmp_path, a_sheet(6))
    names = {"k": "keep", "x": "drop"}
    for number, (ann, ben) in enumerate(zip("kkxxkx", "kxxxkk", strict=True)):
        work.store.add(a_label(number, "ann", names[ann]))
        work.store.add(a_label(number, "ben", names[ben]))
    (pair,) = agreements(work)
    assert pair.raters == ("ann", "ben")
    assert pair.raw.value == pytest.approx(4 / 6)
    assert pair.counts == {
        ("keep", "keep"): 2,
        ("keep", "drop"): 1,
        ("drop", "drop"): 2,
        ("drop", "keep"): 1,
    }
    assert pair.kappa.value == pytest.approx((4 - 3) / (6 - 3))
    assert -1 <= pair.kappa.ci_low <= pair.kappa.value <= pair.kappa.ci_high <= 1
