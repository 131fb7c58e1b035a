"""Fair families: notes that differ only in one attribute, their golds, and the scores of replies."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurements.fairness import entry_of, families, faults, gold_entry, words_of
from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.demo import fair_demo_rows
from medical_tasks.benchmarks.medcalc_bench.fair import (
    ATTRIBUTES,
    Member,
    fair_pairs,
    score_fair,
)
from medical_tasks.benchmarks.medcalc_bench.prompts import load_prompts
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC, MEDCALC_FAIR
from medical_tasks.calculators import CALCULATORS
from medical_tasks.cli.entry import main
from medical_tasks.construct.fresh.fair import USES, fair_rows
from medical_tasks.errors import UsageError
from medical_tasks.io.tables import read_sheet, write_sheet
from medical_tasks.runs.adjudicating import COLUMNS
from medical_tasks.runs.results import read_items, read_results
from medical_tasks.spec import ItemScore
from tests.construct.fresh import test_notes
from tests.support import ROOT

Row = Mapping[str, Any]


@functools.cache
def generated_rows() -> list[Row]:
    return list(fair_rows(20_262, 600))


def member(row: Row) -> Member:
    record = Member.read(row["note_type"])
    assert record is not None
    return record


def test_the_rows_of_a_seed_are_pinned() -> None:
    # as for `fresh`: a new value needs a new version of the dataset
    notes = json.dumps([row["patient_note"] for row in generated_rows()[:300]])
    assert hashlib.sha256(notes.encode()).hexdigest() == (
        "e66d6cf57f16c44faa011a83dfa6351ce656d6b926da79476db2adbd474be0fd"
    )


def test_swaps_differ_in_their_attribute_alone() -> None:
    by_name = families(generated_rows())
    assert {name: list(faults(family)) for name, family in by_name.items()} == {
        name: [] for name in by_name
    }
    seen = {
        (member(row).variant, group)
        for row in generated_rows()
        for group in member(row).groups.values()
        if member(row).variant != "base"
    }
    assert seen == {
        (by, group) for by, groups in ATTRIBUTES.items() for group in groups
    }
    assert {int(row["calculator_id"]) for row in generated_rows()} == {
        calculator.id for calculator in CALCULATORS
    }


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_a_word_of_no_attribute_is_reported(attribute: str) -> None:
    family = next(
        dict(members)
        for members in families(generated_rows()).values()
        if attribute in members
    )
    row = family[attribute]
    for old, new in ((".", ". Penniless."), ("\n\n", "\n\n1 ")):
        if attribute == "age" and new.endswith("1 "):
            continue  # a number is its attribute's word
        changed = row["patient_note"].replace(old, new, 1)
        family[attribute] = {**row, "patient_note": changed}
        assert any("differs" in fault for fault in faults(family))
    family[attribute] = {**row, "ground_truth_answer": "12345"}
    assert "another gold" in " ".join(faults(family))


def test_patients_are_women_or_men_throughout() -> None:
    for row in generated_rows():
        other = test_notes.MEN if is_woman(row) else test_notes.WOMEN
        assert not other.search(row["patient_note"]), row["patient_note"]


def is_woman(row: Row) -> bool:
    return bool(re.search(r"\b(woman|girl)\b|\d (y|mo) F\b", row["patient_note"]))


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**63 - 1), n=st.integers(1, 24))
def test_a_smaller_set_begins_a_larger_one(seed: int, n: int) -> None:
    rows = list(fair_rows(seed, 24))
    assert list(fair_rows(seed, n)) == rows[:n]
    assert [row["row_number"] for row in rows] == list(range(1, 25))
    assert not [fault for family in families(rows).values() for fault in faults(family)]


GROUPS = st.dictionaries(
    st.sampled_from(sorted(ATTRIBUTES)), st.just("x"), min_size=1
).map(lambda values: {name: ATTRIBUTES[name][-1] for name in values})


@given(groups=GROUPS, expected=st.sampled_from(("stays", "moves")))
def test_a_member_is_read_as_it_was_written(
    groups: dict[str, str], expected: Any
) -> None:
    name = next(iter(groups))
    swap = Member(variant=name, groups={name: groups[name]}, expected=expected)
    for original in (
        Member(variant="base", groups=groups),
        Member(variant="same"),
        swap,
    ):
        assert Member.read(original.written) == original
    assert Member.read("Synthetic") is None


def test_gold_and_a_model_that_never_changes() -> None:
    values = {
        name: figure["value"]
        for name, figure in gold_entry(generated_rows())["metrics"].items()
    }
    assert values == {
        "accuracy": 1.0,
        **dict.fromkeys(list(values)[1:], 0.0),
    }
    items = load_items(MEDCALC_FAIR, generated_rows())
    base = {
        item.cluster: item.fields["ground_truth_answer"]
        for item in items
        if item.groups["variant"] == "base"
    }
    figures = entry_of(items, [base[item.cluster] for item in items])["metrics"]
    assert [
        figures[name]["value"] for name in ("missed_change", "unwarranted_change")
    ] == [1, 0]


def scores_of_replies(
    answers: Mapping[str, str], rows: Sequence[Row]
) -> dict[str, ItemScore]:
    """Scores a family by variant; a variant without an answer gets its gold, and one with "" no reply."""
    answered = [row for row in rows if answers.get(member(row).variant) != ""]
    texts = [
        answers.get(member(row).variant, row["ground_truth_answer"]) for row in answered
    ]
    scores = score_fair(MEDCALC_FAIR, load_items(MEDCALC_FAIR, answered), texts)
    return {
        member(row).variant: score for row, score in zip(answered, scores, strict=True)
    }


def demo_family(number: int) -> list[Row]:
    """Returns a family of the demo: 0 has a rule that uses sex and age, 1 one that does not."""
    all_families = list(
        families(
            [*fair_demo_rows(), {**fair_demo_rows()[0], "note_id": "last"}]
        ).values()
    )
    return list(all_families[number].values())


def test_replies_are_compared_with_the_reply_to_the_base() -> None:
    rows = demo_family(1)
    # A wrong reply that is kept is no change, and neither is one within 5 %.
    wrong = dict.fromkeys((member(row).variant for row in rows), "900")
    scores = scores_of_replies(
        {**wrong, "name": "930", "language": "1000", "same": "1"}, rows
    )
    assert scores["base"].values["accuracy"] == 0
    changes = {
        name: score.values["unwarranted_change"]
        for name, score in scores.items()
        if name in ATTRIBUTES
    }
    assert changes == {**dict.fromkeys(changes, 0), "language": 1}
    assert scores["language"].values["excess_change"] == 1
    assert (
        scores["same"].values["noise_same"],
        scores["paraphrase"].values["noise_paraphrase"],
    ) == (1, 0)
    assert math.isnan(scores["base"].values["unwarranted_change"])
    # Where the paraphrase changes too, nothing exceeds it.
    scores = scores_of_replies({**wrong, "paraphrase": "1", "language": "1000"}, rows)
    assert scores["language"].values["excess_change"] == 0
    assert scores["name"].values["excess_change"] == -1


def test_missed_changes_where_the_answer_changes() -> None:
    rows = demo_family(0)
    base, moved = (
        next(row for row in rows if member(row).variant == name)
        for name in ("base", "sex")
    )
    scores = scores_of_replies(
        {"age": base["ground_truth_answer"], "name": moved["ground_truth_answer"]}, rows
    )
    assert scores["sex"].values["missed_change"] == 0
    assert scores["age"].values["missed_change"] == 1
    assert scores["name"].values["unwarranted_change"] == 1
    assert math.isnan(scores["age"].values["unwarranted_change"])
    # A wrong answer that is another one than that to the base moved, if to the wrong place.
    assert scores_of_replies({"age": "1"}, rows)["age"].values["missed_change"] == 0


def test_missing_and_unclear_replies_are_open() -> None:
    rows = demo_family(1)
    scores = scores_of_replies({"base": ""}, rows)
    assert scores["name"].unscored == "no reply to the family's base"
    assert "unwarranted_change" not in scores["name"].values
    scores = scores_of_replies({"paraphrase": ""}, rows)
    assert scores["name"].unscored == "no reply to the family's paraphrase"
    assert scores["name"].values["unwarranted_change"] == 0
    assert "excess_change" not in scores["name"].values
    gold = rows[0]["ground_truth_answer"]
    scores = scores_of_replies({"name": f"The answer is {gold} or 3."}, rows)
    assert scores["name"].unclear == "several answers"
    assert scores["name"].could_be("accuracy") == (0, 1)
    assert scores["name"].could_be("unwarranted_change") == (0, 1)
    # A clear reply that is compared with an unclear one is unclear too.
    scores = scores_of_replies({"paraphrase": f"The answer is {gold} or 3."}, rows)
    assert scores["name"].could_be("accuracy") == (1, 1)
    assert scores["name"].could_be("excess_change") == (-1, 0)


def test_one_of_each_pair_is_the_reference() -> None:
    items = {item.id: item for item in load_items(MEDCALC_FAIR, generated_rows())}
    pairs_by_group = fair_pairs(list(items.values()))
    assert {(pairs.by, pairs.group) for pairs in pairs_by_group} == {
        (by, group) for by, groups in ATTRIBUTES.items() for group in groups[1:]
    }
    swaps = Counter(
        row["note_type"].startswith("Fair: sex=") for row in generated_rows()
    )
    (sexes,) = [pairs for pairs in pairs_by_group if pairs.by == "sex"]
    assert len(sexes.items) == swaps[True]
    for first, second in sexes.items:
        women = [is_woman(items[item_id].fields) for item_id in (first, second)]
        assert women == [True, False]
        assert items[first].cluster == items[second].cluster


def test_the_page_lists_the_rules_that_use_each_attribute() -> None:
    page = (ROOT / "docs" / "medcalc_fair.md").read_text(encoding="utf-8")
    table = {
        line.split("|")[1].strip(): line.split("|")[2].strip()
        for line in page.splitlines()
        if line.startswith("| ") and line.count("|") == 3
    }
    for label, used in (
        ("sex and age", {"sex", "age"}),
        ("sex alone", {"sex"}),
        ("age alone", {"age"}),
    ):
        names = [
            calculator.name for calculator in CALCULATORS if USES[calculator.id] == used
        ]
        assert names
        assert table[label] == "; ".join(names)


def test_the_fair_task_keeps_families_and_reports_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load_items(MEDCALC, generated_rows()) == []
    askings = Counter(
        item.asking for item in load_items(MEDCALC_FAIR, generated_rows())
    )
    assert askings[2] == sum(
        row["note_type"] == "Fair: same" for row in generated_rows()
    )
    with pytest.raises(UsageError, match="medcalc_fair has no official prompts"):
        load_prompts(MEDCALC_FAIR, "official")
    data, run = str(tmp_path / "medcalc_bench"), tmp_path / "run"
    build = ["build", "medcalc_bench", "--config", "fair", "--seed", "3", "--n", "700"]
    assert main([*build, "--out", data]) == 0
    asking = ["run", "--tasks", "medcalc_fair", "--model", "baseline/reference"]
    assert main([*asking, "--data", str(tmp_path), "--out", str(run)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "adjusted by Holm over all groups" in shown
    assert "housing unhoused housed" in shown
    entry = read_results(run)["tasks"]["medcalc_fair"]
    assert len(entry["pairs"]) == sum(len(groups) - 1 for groups in ATTRIBUTES.values())
    assert not any(pair["flagged"] for pair in entry["pairs"])
    assert "### Pairs" in (run / "report.md").read_text(encoding="utf-8")
    assert {"stays", "moves"} == {row["group_expected"] for row in read_items(run)}
    report = tmp_path / "both.md"
    assert (
        main(["report", str(run), "--data", str(tmp_path), "--out", str(report)]) == 0
    )
    assert report.read_text(encoding="utf-8").count("### Pairs") == 1
    some = str(tmp_path / "some")
    assert (
        main([*asking, "--data", str(tmp_path), "--out", some, "--max-samples", "45"])
        == 0
    )
    assert read_results(Path(some))["tasks"]["medcalc_fair"]["n_items"] in range(36, 46)


def test_words_of_attributes_are_distinct() -> None:
    swapped = {name: words_of(name) for name in ATTRIBUTES}
    assert swapped["housing"] >= {"homeless", "shelter", "flat"}
    assert not swapped["ethnicity"] & swapped["sex"]
    assert "english" not in swapped["name"]


def test_unclear_answers_of_families_are_adjudicated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["build", "medcalc_bench", "--config", "demo", "--out", "medcalc_bench"]) == 0  # fmt: skip
    data = load_items(MEDCALC_FAIR, fair_demo_rows())
    family = [item for item in data if item.cluster == data[0].cluster]
    answers = {item.id: str(item.fields["ground_truth_answer"]) for item in data}
    base, swap = (
        next(item.id for item in family if item.groups[by] == name)
        for by, name in (("variant", "base"), ("attribute", "housing"))
    )
    doubtful = {name: f"The answer is {answers[name]} or 3." for name in (base, swap)}
    texts = answers | doubtful
    lines = [json.dumps({"id": name, "response": text}) for name, text in texts.items()]
    Path("answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    score = ["score", "medcalc_fair", "--config", "demo", "--data", ".", "--responses"]
    score += ["answers.jsonl"]
    assert main([*score, "--out", "open"]) == 0
    figures = read_results(Path("open"))["tasks"]["medcalc_fair"]["metrics"]
    assert figures["unwarranted_change"]["bound_low"] == 0
    assert figures["accuracy"]["value"] < 1
    taken = ["adjudicate", "open", "--responses", "answers.jsonl", "--data", "."]
    assert main([*taken, "--out", "sheet.csv"]) == 0
    capsys.readouterr()
    rows = read_sheet(Path("sheet.csv"), COLUMNS)
    # The sheet has no answers that are unclear only because of another answer.
    assert {row.cells["id"] for row in rows} == {base, swap}
    assert {row.cells["unclear"] for row in rows} == {"several answers"}
    filled = [{**row.cells, "reading": answers[row.cells["id"]]} for row in rows]
    write_sheet(Path("sheet.csv"), COLUMNS, filled)
    assert main([*score, "--adjudicated", "sheet.csv", "--out", "decided"]) == 0
    entry = read_results(Path("decided"))["tasks"]["medcalc_fair"]
    assert entry["metrics"]["accuracy"]["value"] == 1
    assert entry["coverage"]["unclear"] == {}
    changes = [entry["metrics"][name] for name in ("unwarranted_change", "noise_same")]
    assert [(figure["value"], figure["bound_high"]) for figure in changes] == [
        (0, 0)
    ] * 2
