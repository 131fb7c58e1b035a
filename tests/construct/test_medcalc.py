"""`construct medcalc`.

From notes to a scored run with a scripted model, sheets, adjudication, splits, the
guard, the check.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.calculators import CALCULATORS, find
from medical_tasks.cli.entry import main
from medical_tasks.construct.fresh import fresh_row
from medical_tasks.construct.medcalc.extraction import (
    CRITERIA,
    figures,
    lexical,
    shared_attributes,
    usable,
)
from medical_tasks.construct.medcalc.forms import Pair
from medical_tasks.construct.medcalc.steps import split_notes
from medical_tasks.io.store import Store
from tests.case_tables import json_of
from tests.construct.sheet_files import edit_sheet, read_lines, read_rows
from tests.fault_server import Call, FaultServer

pytestmark = pytest.mark.usefixtures("here")

N = 12
ROWS = [fresh_row(7, number) for number in range(1, N + 1)]
TRUTH = {
    row["patient_note"]: (row["calculator_name"], json.loads(row["relevant_entities"]))
    for row in ROWS
}


def answer(call: Call) -> str:
    """Replies as a perfect reader: a note's entities, and eligible only for its own calculator."""
    prompt = next(text["content"] for text in call.body["messages"])
    calculator, entities = TRUTH[
        json.JSONDecoder().raw_decode(prompt.partition("The note:\n")[2])[0]
    ]
    if "is meant for" in prompt:
        return json.dumps(
            {"reason": "so it is", "eligible": f"calculator {calculator} is" in prompt}
        )
    written = {
        name: " ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in entities.items()
    }
    return json.dumps(
        {
            name: written.get(name)
            for name in re.findall(r"^- (.+?): ", prompt, re.MULTILINE)
        }
    )


@pytest.fixture(autouse=True)
def source(here: Path) -> Path:
    lines = [
        {"Note ID": f"n{number}", "text": row["patient_note"]}
        for number, row in enumerate(ROWS)
    ]
    (here / "notes.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    return here / "notes.jsonl"


def run_step(name: str, *more: str) -> int:
    return main(["construct", "medcalc", name, "--folder", "own", *more])


def extract(url: str, *more: str) -> int:
    model = [
        "--model",
        "openai-api/here/m",
        "--model-args",
        f"base_url={url},max_retries=0,structured=true",
    ]
    chosen = ",".join(str(row["calculator_id"]) for row in ROWS[:6])
    return run_step(
        "extract", "--source", "notes.jsonl", "--calculators", chosen, *model, *more
    )


def reference_accuracy(task: str, *more: str) -> float:
    """Runs the task with its gold answers; returns the accuracy."""
    run = ["run", "--tasks", task, "--model", "baseline/reference", "--out", "run"]
    assert main([*run, *more]) == 0
    metrics = json_of(Path("run/results.json"))["tasks"][task]["metrics"]
    return float(metrics["accuracy"]["value"])


def _with_verdict(own: dict[str, str], row: dict[str, str]) -> dict[str, str]:
    """Returns the row, with the cells set if it is the sheet's first."""
    return row | own if row["index"] == "1" else row


def test_from_notes_to_a_scored_run(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    kept, put = [0], Store.put

    def stopping(self: Store, *record: Any, **more: Any) -> Any:
        kept[0] += 1
        if kept[0] == N + 5:  # in the second pass
            raise KeyboardInterrupt
        return put(self, *record, **more)

    with monkeypatch.context() as killed:
        killed.setattr(Store, "put", stopping)
        assert extract(server.base_url, "--open") == 130
    assert not Path("own/extracted.jsonl").exists()
    stored = kept[0] - 1
    capfd.readouterr()
    assert extract(server.base_url, "--open") == 0
    # No stored answer is requested again.
    assert f" verdicts, {stored - N} in the store" in capfd.readouterr().err
    summary = json_of(Path("own/extract.json"))
    # of the 12 notes six are of other calculators
    assert sum(summary["kept"].values()) == 6
    total = sum(summary["questions"].values())
    assert summary["usage"]["requests"] == total
    assert {call.body["response_format"]["type"] for call in server.calls} == {
        "json_schema"
    }
    calls_before, lines = len(server.calls), Path("own/extracted.jsonl").read_bytes()
    assert extract(server.base_url, "--open") == 0
    assert (len(server.calls), Path("own/extracted.jsonl").read_bytes()) == (
        calls_before,
        lines,
    )

    assert run_step("sheet", "--reviewers", "ann,ben", "--overlap", "6") == 0
    first = read_lines(Path("own/extracted.jsonl"))[0]
    wrong = next(
        name
        for name, value in json.loads(first["entities"]).items()
        if isinstance(value, list)
    )

    def corrected(text: str) -> None:
        def changed(row: dict[str, str]) -> dict[str, str]:
            meant = (row["id"].lstrip("'"), row["attribute"]) == (first["id"], wrong)
            return row | (
                {"verdict": "x", "correction": text} if meant else {"verdict": "o"}
            )

        edit_sheet(Path(sheets[1]), changed)

    sheets = ["own/sheets/ann.csv", "own/sheets/ben.csv"]
    edit_sheet(Path(sheets[0]), lambda row: row | {"verdict": "o"})
    for text, message in {
        "five": "is a unit that is not accepted",
        "?": "is without a value",
    }.items():
        corrected(text)
        assert run_step("import", *sheets) == 2
        assert f"column 'correction': {message}" in capfd.readouterr().err
    corrected("Not  mentioned")
    assert run_step("import", *sheets) == 5
    rows = len(read_rows(Path(sheets[0]))) - 1
    printed = capfd.readouterr()
    # One cell differs. One reviewer's verdicts are all o, so that as much agreement is
    # expected by chance: kappa is 0.
    share = 100 * (rows - 1) / rows
    assert (
        f"on {rows - 1} of {rows} attributes ({share:.1f} %), Cohen's kappa of their verdicts 0.000"
        in printed.out
    )
    assert "1 attributes wait for adjudication" in printed.err
    sheets.append("own/adjudication.csv")
    edit_sheet(
        Path(sheets[2]), lambda row: row | {"verdict": "o", "comment": "on page 2"}
    )
    # the sheet of the first reviewer is missing, but everything was reviewed
    assert run_step("import", "--partial", *sheets[1:]) == 0
    assert "6 of 6 pairs are kept, 0 of them corrected" in capfd.readouterr().out
    for verdict, text, code in (
        ("o", "no", 2),
        ("x", "yes", 2),
        ("x", "No", 5),
    ):  # two contradict themselves
        own = {"index": "1", "verdict": verdict, "correction": text}
        edit_sheet(Path(sheets[0]), partial(_with_verdict, own))
        assert run_step("import", *sheets) == code
    assert run_step("release") == 3  # not of the review before
    listed = read_rows(Path(sheets[2]))[1:]
    assert all(Path("own", row[3]).exists() for row in listed)
    assert sorted((row[9], row[11][-9:]) for row in listed) == [
        ("", " ben: yes"),
        ("o", "on page 2"),
    ]
    edit_sheet(Path(sheets[2]), lambda row: row | {"verdict": "o"})
    assert run_step("import", *sheets) == 0
    assert "6 of 6 pairs are kept, 0 of them corrected" in capfd.readouterr().out
    assert run_step("release", "--train", "0.34") == 0
    test, train = (
        read_lines(Path(f"own/release/{split}.jsonl")) for split in ("test", "train")
    )
    assert (len(test), len(train)) == (4, 2)
    golds = {row["patient_note"]: row["ground_truth_answer"] for row in ROWS}
    assert all(
        str(row["Ground Truth Answer"]) == golds[row["Patient Note"]]
        for row in test + train
    )
    assert len(json_of(Path("own/release/one_shot.json"))) == 2
    for split in ("train", "test"):
        rows_of_split = ["--config", "own", "--source", f"own/release/{split}.jsonl"]
        assert main(["build", "medcalc_bench", *rows_of_split]) == 0
    assert reference_accuracy("medcalc", "--config", "own") == 1.0


def test_credentialed_notes_stay_on_this_machine(
    server: FaultServer, capsys: Any
) -> None:
    assert extract("http://203.0.113.9/v1") == 4
    assert "notes are treated as credentialed unless --open" in capsys.readouterr().err
    assert extract(server.base_url) == 0
    assert ROWS[0]["patient_note"][:40] not in "".join(capsys.readouterr())
    assert run_step("sheet", "--reviewers", "ann") == 0
    assert run_step("import", "--blank-keeps", "own/sheets/ann.csv") == 0
    assert run_step("release") == 0
    rows = ["--config", "own", "--source", "own/release/test.jsonl"]
    assert main(["build", "medcalc_bench", *rows]) == 2
    assert (
        "rows of medcalc_bench go to any model. Build them as medcalc_own"
        in capsys.readouterr().err
    )
    assert main(["build", "medcalc_own", *rows]) == 0
    far = [
        "--model",
        "openai-api/far/m",
        "--model-args",
        "base_url=http://203.0.113.9/v1",
        "--out",
        "sent",
    ]
    assert main(["run", "--tasks", "medcalc_own", *far]) == 4
    assert reference_accuracy("medcalc_own") == 1.0
    capsys.readouterr()
    lines = (
        Path("own/release/test.jsonl")
        .read_text()
        .replace('"Output Type": "', '"Output Type": "secret ')
    )
    Path("bad.jsonl").write_text(lines)
    assert main(["build", "medcalc_own", "--source", "bad.jsonl"]) == 2
    stderr = capsys.readouterr().err
    assert (
        "column 'Output Type': breaks the rule of its column, got a text of" in stderr
    )
    assert "secret" not in stderr
    assert {
        path.stat().st_mode & 0o077
        for path in Path("own").rglob("*.*l")
        if path.is_file()
    } == {0}


def test_wrong_input(source: Path, capsys: Any) -> None:
    words = ["--source", "notes.jsonl", "--model", "m"]
    assert run_step("extract", *words, "--calculators", "2,Bazet") == 2
    assert "no calculator 'Bazet'" in capsys.readouterr().err
    source.write_text('{"id": "1", "words": "x"}\n')
    assert run_step("extract", *words) == 2
    assert (
        "line 1: patient_note or note or text is missing or empty"
        in capsys.readouterr().err
    )
    assert run_step("check", "--source", "none.csv", "--model", "lexical") == 3
    assert "none.csv: no such file. Give a file" in capsys.readouterr().err


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=1),
    st.floats(0, 0.99),
    st.integers(0, 99),
)
def test_no_note_is_in_both_splits(names: list[str], train: float, seed: int) -> None:
    pairs = [
        Pair(
            id=f"{number}",
            note_id=f"{number}",
            calculator=CALCULATORS[0],
            note=f"Note  {name}" if number % 2 else f"note {name} ",
            entities={},
        )
        for number, name in enumerate(names)
    ]
    test, training = split_notes(pairs, train=train, seed=seed).values()
    sides = [
        {" ".join(pair.note.split()).casefold() for pair in side}
        for side in (test, training)
    ]
    assert not sides[0] & sides[1]
    assert len(test) + len(training) == len(pairs)


def test_precision_and_recall_by_hand() -> None:
    """Gold: 2 + 2 + 2 numbers. Predicted: both right in other units; one of two wrong;
    one right, and one that is no input.
    """
    gold = [{"weight": [70, "kg"], "height": [170, "cm"]}] * 3
    predictions = [
        {"weight": [154.32, "lb"], "height": [1.7, "m"]},
        {"weight": [77, "kg"], "height": [170, "cm"]},
        {"height": [170, "cm"], "age": [3, "years"]},
    ]
    rows = [
        {
            "calculator_id": 6,
            "note_id": f"p{n}",
            "patient_note": "",
            "relevant_entities": json.dumps(values),
        }
        for n, values in enumerate(gold)
    ]
    numeric = figures(rows, predictions)["numeric"]
    assert [round(figure.value, 3) for figure in numeric.values()] == [
        1.0,
        0.833,
        0.8,
        0.667,
    ]  # 5/5, 5/6, 4/5, 4/6
    assert figures(rows, predictions)["date"]["value recall"].n == 0


def test_lexical_extraction() -> None:
    note = "A 61-year-old woman. BP 150/90 mmHg. Creatinine was 1.4 mg/dL. Weight 70 kg, height 5 ft 4 in. She denies diabetes."
    assert lexical(note, find("mean_arterial_pressure")) == {
        "Systolic Blood Pressure": [150.0, "mm Hg"],
        "Diastolic Blood Pressure": [90.0, "mm Hg"],
    }
    entities = lexical(note, find("creatinine_clearance"))
    assert [entities["sex"], entities["creatinine"], entities["weight"]] == [
        "female",
        [1.4, "mg/dL"],
        [70.0, "kg"],
    ]
    texts = {
        "1,2 mg/dL": None,
        "0,125 mg/dL": None,
        "1.25 mg/dL": [1.25, "mg/dL"],
        "1,200 µmol/L": [1200.0, "µmol/L"],
    }
    creatinine: Any = find("creatinine_clearance").input_named("creatinine")
    assert {text: usable(creatinine, text)[0] for text in texts} == texts
    assert lexical("INR 1,7. A 2,5-year-old girl.", find("meld_na")) == {}


def test_every_calculator_has_criteria() -> None:
    assert len(CRITERIA) == 55
    assert CRITERIA.keys() == {calculator.slug for calculator in CALCULATORS}
    assert all(
        set(criterion) == {"for", "source"} and criterion["for"].endswith(".")
        for criterion in CRITERIA.values()
    )
    names = shared_attributes(CALCULATORS)
    assert all(
        any(item.name in names for item in calculator.inputs)
        for calculator in CALCULATORS
    )


def test_extraction_without_a_model(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--source", "notes.jsonl", "--model", "lexical", "--open"]
    assert run_step("extract", *words) == 0
    assert "No model judges eligibility" in capsys.readouterr().out
    pairs = read_lines(here / "own" / "extracted.jsonl")
    assert pairs
    for pair in pairs:
        entities = lexical(pair["note"], find(pair["calculator"]))
        assert entities
        assert json.dumps(entities) == pair["entities"]
    facts = json_of(here / "own" / "extract.json")
    assert (facts["model"], facts["usage"], facts["questions"]) == (
        {"name": "lexical"},
        None,
        {},
    )
    assert run_step("sheet", "--reviewers", "ann") == 0
    assert run_step("extract", *words, "--forecast") == 2
    assert "--forecast: --model lexical asks no model" in capsys.readouterr().err
    assert run_step("extract", *words, "--calculators", "2") == 2
    assert "pairs were extracted there with other settings" in capsys.readouterr().err
