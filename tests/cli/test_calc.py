from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.calculators import CALCULATORS, calculate
from medical_tasks.cli.calc import calculate_batch, calculate_line
from medical_tasks.cli.entry import main
from tests.case_tables import tabled
from tests.cli.wrong_use import CASES, refuse, wrong_use
from tests.support import ROOT

KIDNEY = {"sex": "Male", "age": [64, "years"], "creatinine": [1.2, "mg/dL"]}
PREGNANCY = {"Current Date": "06/20/2023", "Last menstrual date": "03/01/2023"}
PATCH = {
    "FentANYL patch Dose": [50, "mg"],
    "FentANYL patch Dose Per Day": [2, "per day"],
}


def write_input(*records: object) -> None:
    Path("in.jsonl").write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records),
        encoding="utf-8",
    )


def read_output(path: str = "out.jsonl") -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()
    ]


BATCH = ["calc", "--batch", "in.jsonl", "--out", "out.jsonl"]


# One person, one calculation.


def test_an_answer_with_its_steps_assumptions_and_source(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Lip 2010: 65 to 74 years 1, female 1, hypertension 1.
    assert (
        main(["calc", "cha2ds2_vasc", "age=72", "sex=female", "hypertension=yes"]) == 0
    )
    output = capsys.readouterr().out.splitlines()
    assert output[0] == "CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk = 3"
    assert "  Age 72 is 65 to 74: +1, total 1." in output
    (absent,) = [
        line
        for line in output
        if line.startswith("Missing, and assumed as in the steps: ")
    ]
    assert "Stroke" in absent
    assert "Hypertension" not in absent
    assert output[-1] == "Source: Lip GYH et al. Chest 2010;137:263-272."


def test_an_answer_has_its_unit(capsys: pytest.CaptureFixture[str]) -> None:
    # (120 + 2 x 75) / 3 = 90
    inputs = ["Systolic Blood Pressure=120 mm Hg", "diastolic_blood_pressure=75"]
    assert main(["calc", "MAP", *inputs]) == 0
    output = capsys.readouterr().out.splitlines()
    assert output[0] == "Mean Arterial Pressure (MAP) = 90 mm Hg"


@tabled("words")
def test_a_convention_is_followed_and_named(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calc", *words]) == 0  # 50 x 2 x 2.4 = 240
    output = capsys.readouterr().out
    assert output.startswith(
        "Morphine Milligram Equivalents (MME) Calculator = 240 mg/day\n"
    )
    assert "Convention fentanyl-patch-by-dose: " in output


def test_the_list_has_every_calculator_and_each_lists_its_inputs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["calc", "--list"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["id", "name", "category", "output", "title"]
    assert len(rows) == len(CALCULATORS) == 55
    title = "CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk"
    assert rows[2].split(maxsplit=4) == ["4", "cha2ds2_vasc", "risk", "integer", title]
    assert main(["calc", "mme"]) == 0
    inputs = capsys.readouterr().out
    assert "codeine_dose" in inputs
    assert "convention fentanyl-patch-by-dose" in inputs
    assert main(["calc", "mme", "codeine=30 mg", "--inputs"]) == 0
    assert capsys.readouterr().out == inputs


@wrong_use("calc")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(line, code, message, capsys)


# A file of calculations.


def test_a_batch_keeps_its_lines_and_adds_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records: list[dict[str, Any]] = [
        {"calculator_id": 3, "inputs": KIDNEY, "id": "a"},
        {"calculator_id": 4, "inputs": {"age": [72, "years"], "sex": "Female"}},
        {
            "calculator_id": 13,
            "inputs": {"Last menstrual date": "12/11/2013", "cycle length": 22},
        },
        {"calculator_id": 69, "inputs": PREGNANCY},
        {
            "calculator_id": "cha2ds2_vasc",
            "inputs": {"age": [72, "years"], "sex": "Female"},
        },
    ]
    write_input(*records)
    assert main(BATCH) == 0
    lines = read_output()
    assert [
        {key: line[key] for key in record}
        for line, record in zip(lines, records, strict=True)
    ] == records
    assert [
        set(line) - set(record) for line, record in zip(lines, records, strict=True)
    ] == [{"answer", "explanation", "warnings"}] * 5
    # A decimal, an integer, a date and a gestational age, each as the dataset writes
    # it. 12/11/2013 + 280 - 6 days.
    kidney = calculate(3, KIDNEY)
    assert lines[0]["answer"] == kidney.answer
    assert lines[0]["explanation"] == kidney.explanation
    assert [type(line["answer"]) for line in lines] == [float, int, str, str, int]
    assert [line["answer"] for line in lines[1:]] == [
        2,
        "09/11/2014",
        "('15 weeks', '6 days')",
        2,
    ]
    assert capsys.readouterr().out == "5 calculations in out.jsonl\n"


def test_bad_lines_are_errors_in_their_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad, messages = zip(*CASES["calc_lines"], strict=True)
    write_input({"calculator_id": 3, "inputs": KIDNEY}, *bad)
    assert main(BATCH) == 5
    valid, *failed = read_output()
    assert "answer" in valid
    assert not any("answer" in line or "explanation" in line for line in failed)
    for line, message in zip(failed, messages, strict=True):
        assert message in line["error"]
    assert "10 of 11 lines have no answer" in capsys.readouterr().err


def test_a_line_with_a_repeated_name_is_kept_as_written() -> None:
    text = '{"calculator_id": 4, "inputs": {"age": [70, "years"], "age": 3, "sex": "Male"}}'
    Path("in.jsonl").write_text(f"{text}\n", encoding="utf-8")
    assert main(BATCH) == 5
    written = Path("out.jsonl").read_text(encoding="utf-8")
    assert (
        written
        == text[:-1] + ', "error": "cha2ds2_vasc: age is given twice; keep one"}\n'
    )
    assert main(["calc", "--batch", "out.jsonl", "--out", "again.jsonl"]) == 5
    assert Path("again.jsonl").read_text(encoding="utf-8") == written


def test_a_warning_is_printed_and_written_into_the_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warning = (
        "age 5 years is outside the range the rule was published for, 18 years or more (Inker 2021: developed in adults); "
        "the answer is an extrapolation."
    )
    assert (
        main(
            ["calc", "ckd_epi_2021", "sex=male", "age=5 years", "creatinine=0.9 mg/dL"]
        )
        == 0
    )
    answer, *details = capsys.readouterr().out.splitlines()
    assert (
        answer
        == "CKD-EPI Equations for Glomerular Filtration Rate = 137.652 mL/min/1.73 m^2"
    )  # 142 × 0.9938^5
    assert details[0] == f"Warning: {warning}"
    assert sum("Warning" in line for line in details) == 1
    write_input(
        {
            "calculator_id": 3,
            "inputs": {
                "sex": "Male",
                "age": [5, "years"],
                "creatinine": [0.9, "mg/dL"],
            },
        }
    )
    assert main(BATCH) == 0
    (line,) = read_output()
    assert (round(line["answer"], 3), line["warnings"]) == (137.652, [warning])
    assert f"Warning: {warning}" in line["explanation"].splitlines()


def test_an_output_can_be_the_input_of_another_batch() -> None:
    write_input(
        {"calculator_id": 49, "inputs": PATCH}, {"calculator_id": 3, "inputs": KIDNEY}
    )
    assert main(BATCH) == 5
    first = read_output()
    assert main(["calc", "--batch", "out.jsonl", "--out", "again.jsonl"]) == 5
    assert read_output("again.jsonl") == first
    Path("in.jsonl").write_bytes(Path("out.jsonl").read_bytes())
    assert main([*BATCH, "--convention", "fentanyl-patch-by-dose"]) == 0
    assert "error" not in read_output()[0]
    assert [line["answer"] for line in read_output()] == [
        240.0,
        calculate(3, KIDNEY).answer,
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "in.jsonl: no lines"),
        (b"\n  \n", "in.jsonl: no lines"),
        (b"{}\n\nnope\n", "in.jsonl, line 3: not JSON"),
        (b"{}\n[1]\n", "in.jsonl, line 2: expected a JSON object, got list"),
        (
            b'{"calculator_id": 3, "inputs": {"age": NaN}}\n',
            "line 1: not JSON (NaN is not a JSON number; write null",
        ),
        (
            b'{"calculator_id": ' + b"9" * 5000 + b"}\n",
            "line 1: not JSON (Exceeds the limit",
        ),
        (b'{"a": "\xff"}\n', "in.jsonl, line 1: not UTF-8 text"),
        (b"[" * 100_000, "in.jsonl, line 1: not JSON"),
        (
            b'{"inputs": {}, "inputs": {"age": 3}}\n',
            "in.jsonl, line 1: a key of the line appears twice",
        ),
    ],
)
def test_input_that_is_not_json_objects_is_refused_and_nothing_written(
    content: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.jsonl").write_bytes(content)
    Path("out.jsonl").write_text("older\n")
    assert main(BATCH) == 2
    assert message in capsys.readouterr().err
    assert Path("out.jsonl").read_text() == "older\n"
    assert sorted(path.name for path in Path().iterdir()) == ["in.jsonl", "out.jsonl"]


def test_unusable_files_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BATCH) == 3
    assert "in.jsonl: no such file" in capsys.readouterr().err
    write_input({"calculator_id": 3, "inputs": KIDNEY})
    Path("folder").mkdir()
    assert main(["calc", "--batch", "folder", "--out", "o"]) == 2
    assert (
        "folder: is a folder. Give --batch a JSON Lines file" in capsys.readouterr().err
    )
    assert main(["calc", "--batch", "in.jsonl", "--out", "folder"]) == 2
    assert "folder: is a folder or a device" in capsys.readouterr().err
    assert main(["calc", "--batch", "in.jsonl", "--out", "./in.jsonl"]) == 2
    assert "is also the input" in capsys.readouterr().err
    assert main(["calc", "--batch", "in.jsonl", "--out", "in.jsonl/below.jsonl"]) == 5
    assert "below.jsonl: cannot be written" in capsys.readouterr().err
    assert main(["calc", "--batch", "in.jsonl", "--out", "new/folder/out.jsonl"]) == 0
    assert len(read_output("new/folder/out.jsonl")) == 1


def test_odd_text_survives() -> None:
    record = {
        "calculator_id": 3,
        "inputs": KIDNEY,
        "note": "Grüße, 腎",
        "half": "\ud800",
    }
    Path("in.jsonl").write_text(
        "\ufeff"
        + json.dumps(record)
        + "\r\n"
        + json.dumps({**record, "half": 1})
        + "\n"
    )
    assert calculate_batch(Path("in.jsonl"), Path("out.jsonl")).errors == 0
    lines = read_output()
    assert [line["half"] for line in lines] == ["\ud800", 1]
    assert "Grüße, 腎" in Path("out.jsonl").read_text(encoding="utf-8")


def test_a_pipe_can_be_the_input() -> None:
    command = "-m medical_tasks calc --batch /dev/stdin --out out.jsonl".split()
    record = json.dumps({"calculator_id": 3, "inputs": KIDNEY})
    process = subprocess.run(
        [sys.executable, *command],
        input=f"{record}\n{record}\n",
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert process.returncode == 0, process.stderr
    assert len(read_output()) == 2


@pytest.mark.parametrize("value", [*CASES["calc_values"], "x" * 5000])
def test_no_value_breaks_a_line(value: object) -> None:
    for entry in CALCULATORS:
        for name in ("age", "sex", entry.inputs[0].name, entry.inputs[-1].name):
            line = calculate_line({"calculator_id": entry.id, "inputs": {name: value}})
            assert ("answer" in line) != ("error" in line)


def test_an_unexpected_error_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fault of this package must not look like a bad line."""

    def broken(self: object, entities: object, conventions: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("medical_tasks.calculators.base.Calculator.calculate", broken)
    with pytest.raises(ZeroDivisionError):
        calculate_line({"calculator_id": 3, "inputs": KIDNEY})
