"""The corrected labels of v1.0: the file, questions and answers with N/A, golds side by side."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurements.medcalc_physicians import Reviewed, report, reviewed_rows
from medical_tasks.benchmarks.medcalc_bench.corrected import (
    CORRECTED,
    CORRECTED_COLUMNS,
    CORRECTED_PIN,
    CorrectedLabels,
    labels_of_file,
    note_cluster,
    read_corrected_rows,
)
from medical_tasks.benchmarks.medcalc_bench.data import load_items, read_rows
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.golds import golds_of, golds_table
from medical_tasks.benchmarks.medcalc_bench.prompts import (
    TEXTS,
    gold_response,
    load_prompts,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import score_items
from medical_tasks.benchmarks.medcalc_bench.spec import (
    BENCHMARK,
    MEDCALC,
    MEDCALC_DIRECT,
    MEDCALC_ONE_SHOT,
    MEDCALC_OPEN_BOOK,
)
from medical_tasks.cli.entry import main
from medical_tasks.data.task_data import load_task_data, prompt_set
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.lab.label_audit import audit_row, corrected_summary
from medical_tasks.runs.calibrating import raw_name
from medical_tasks.runs.results import read_results
from medical_tasks.spec import Item
from tests.benchmarks.medcalc_bench.official_csv import V1, official_row, write_csv
from tests.support import ROOT, SHARED, needs_shared

LABELS = SHARED / "data" / "medcalc" / "corrected"
FILE = LABELS / "medcalc_v1_corrected.csv"
GAP, AGE, GCS, DUE = (
    "Anion Gap",
    "Estimated Gestational Age",
    "Glasgow Coma Score (GCS)",
    "Estimated Due Date",
)
NOTE = "Sodium 140, chloride 100, bicarbonate 24."


def cells(
    number: int, name: str, answer: str, *limits: str, **more: str
) -> dict[str, str]:
    """Returns a row of the labels' file; without `limits`, both limits are the answer."""
    values = (
        str(number),
        name,
        "How much?",
        NOTE,
        answer,
        *(limits or (answer, answer)),
    )
    return {**dict(zip(CORRECTED_COLUMNS, values, strict=True)), **more}


def write_labels(path: Path, *rows: Mapping[str, str]) -> Path:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(stream.getvalue(), encoding="utf-8")
    return path


def items_of(path: Path, *rows: Mapping[str, str]) -> list[Item]:
    return load_items(MEDCALC, list(read_corrected_rows(write_labels(path, *rows))))


def test_columns_missing_from_the_file_come_from_the_calculator_or_are_empty(
    tmp_path: Path,
) -> None:
    file = write_labels(tmp_path / "x.csv", cells(7, GAP, "16", "15.2", "16.8"))
    (row,) = read_rows(CORRECTED, "test", {"test": file})
    assert row == {
        **official_fields(7, "16"),
        "note_id": note_cluster(NOTE),
        "note_type": "",
        "relevant_entities": "",
        "ground_truth_explanation": "",
        "source_category": "",
    }
    (item,) = load_items(MEDCALC, [row])
    assert (item.id, item.cluster) == ("7", note_cluster(NOTE))


@pytest.mark.parametrize(
    ("name", "answer", "limits", "expected"),
    [
        (GAP, "N/A", ("N/A", "N/A"), ("", "")),
        (GAP, "-6", ("-6.3", "-5.7"), ("-6.3", "-5.7")),
        (GCS, "11", ("10.45", "11.55"), ("11", "11")),
        (DUE, "09/12/2014", ("09/12/2014", "09/12/2014"), ("09/12/2014", "09/12/2014")),
        (AGE, "99", ("94.05", "103.95"), ("99", "99")),
    ],
)
def test_only_measurements_keep_the_limits_of_the_file(
    tmp_path: Path,
    name: str,
    answer: str,
    limits: tuple[str, str],
    expected: tuple[str, str],
) -> None:
    file = write_labels(tmp_path / "x.csv", cells(1, name, answer, *limits))
    (row,) = read_corrected_rows(file)
    assert row["ground_truth_answer"] == answer
    assert (row["lower_limit"], row["upper_limit"]) == expected


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"Unique ID": "x"},
            "Unique ID x, column 'Unique ID': expected a whole number, got 'x'",
        ),
        (
            {"Calculator Name": "Apgar"},
            "column 'Calculator Name': must be one of the 55",
        ),
        ({"Question": " "}, "column 'Question': must not be empty"),
        ({"Patient Note": ""}, "column 'Patient Note': must not be empty"),
        (
            {"Ground Truth Answer": "n/a"},
            "expected a number or N/A, got 'n/a'. Download the file",
        ),
        (
            {"Ground Truth Answer": "N/A"},
            "column 'Lower Limit': must be N/A, as the answer is",
        ),
        (
            {"Upper Limit": "much"},
            "column 'Upper Limit': expected a number, got 'much'",
        ),
        (
            {"Lower Limit": "17"},
            "must lie below the answer 16, and the Upper Limit 16 above it",
        ),
        (
            {"Calculator Name": GCS, "Ground Truth Answer": "3.5"},
            "expected a whole number or N/A",
        ),
        (
            {"Calculator Name": AGE, "Ground Truth Answer": "9w"},
            "whole number of days or N/A",
        ),
        ({"Calculator Name": DUE}, "expected MM/DD/YYYY or N/A, got '16'"),
        (
            {"Difficulty": "hard"},
            "wrong columns for the corrected labels of MedCalc-Bench v1.0",
        ),
    ],
)
def test_rows_that_are_refused(
    tmp_path: Path, changed: dict[str, str], message: str
) -> None:
    file = write_labels(tmp_path / "x.csv", cells(1, GAP, "16", **changed))
    with pytest.raises(UsageError) as caught:
        list(read_corrected_rows(file))
    assert message in str(caught.value)


def test_files_that_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = cells(1, GAP, "16")
    with pytest.raises(UsageError, match=r"row 3: Unique ID 1 is already in row 2"):
        list(read_corrected_rows(write_labels(tmp_path / "x.csv", row, row)))

    def refused(source: Path, config: str) -> str:
        where = [
            "--source",
            str(source),
            "--config",
            config,
            "--out",
            str(tmp_path / "out"),
        ]
        assert main(["build", DATASET.name, *where]) == 2
        return capsys.readouterr().err

    short = refused(write_labels(tmp_path / "x.csv", row), CORRECTED)
    assert "split test has 1 rows, 887 were published" in short
    assert "data/medcalc_v1_corrected.csv has SHA-256 f6db9ab8b7bb" in short
    official = write_csv(tmp_path / "v1.csv", [official_row(1)])
    assert "unexpected: 'Row Number'" in refused(official, CORRECTED)
    assert "unexpected: 'Unique ID'" in refused(tmp_path / "x.csv", "v1.0")


def test_prompts_say_what_to_answer_where_there_is_no_answer(tmp_path: Path) -> None:
    """Only those of `corrected`: the digest of v1.0's prompts is older than `corrected`."""
    (item,) = items_of(tmp_path / "x.csv", cells(1, GAP, "N/A"))
    before = "2d7b7ae4ffb9a759cde6a6f48985ae804154dd4383b0ae9243903fe508faf3b7"
    assert load_prompts(MEDCALC).sha256 == before
    for task in (MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT, MEDCALC_OPEN_BOOK):
        plain, corrected = (
            prompt_set(task, "own", None, arguments={}, config=config)
            for config in ("v1.0", CORRECTED)
        )
        (plain_message,) = plain.render(item)
        (corrected_message,) = corrected.render(item)
        plain_text = plain_message["content"]
        corrected_text = corrected_message["content"]
        paragraph = f"{TEXTS['not_answerable']}\n\n"
        assert corrected_text.replace(paragraph, "", 1) == plain_text
        assert paragraph in corrected_text
        assert paragraph not in plain_text
        assert plain.sha256 != corrected.sha256


def checkout(folder: Path, **texts: str) -> Path:
    own = {
        "system_prompt": "Say N/A where nothing can be said.",
        "user_prompt_template": "Note: {patient_note}\nAsked: {question}\n",
    }
    (folder / "data").mkdir(parents=True)
    for name, text in {**own, **texts}.items():
        (folder / "data" / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_official_prompts_of_the_corrected_labels(tmp_path: Path) -> None:
    row = cells(1, GAP, "16", **{"Patient Note": "A {question} in braces."})
    (item,) = items_of(tmp_path / "x.csv", row)
    prompts = load_prompts(
        MEDCALC, "official", checkout(tmp_path / "own"), config=CORRECTED
    )
    system, question = prompts.render(item)
    assert (system["role"], question["role"]) == ("system", "user")
    assert system["content"] == "Say N/A where nothing can be said."
    assert question["content"] == "Note: A {question} in braces.\nAsked: How much?\n"
    assert sorted(prompts.settings["files"]) == [
        "data/system_prompt.txt",
        "data/user_prompt_template.txt",
    ]
    with pytest.raises(
        UsageError, match="medcalc_direct has no official prompts on corrected"
    ):
        load_prompts(MEDCALC_DIRECT, "official", tmp_path / "own", config=CORRECTED)
    with pytest.raises(
        MissingError, match=r"the authors' data/system_prompt.txt is not there"
    ):
        load_prompts(MEDCALC, "official", tmp_path, config=CORRECTED)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"system_prompt": "Be brief."}, "must be a text that says when to answer N/A"),
        (
            {"user_prompt_template": "{question}"},
            "must have {patient_note} and {question} once",
        ),
        (
            {"user_prompt_template": "{question} {patient_note}"},
            "{patient_note} and {question}",
        ),
    ],
)
def test_prompt_files_of_another_form_are_refused(
    tmp_path: Path, texts: dict[str, str], message: str
) -> None:
    with pytest.raises(MissingError) as caught:
        load_prompts(
            MEDCALC, "official", checkout(tmp_path / "own", **texts), config=CORRECTED
        )
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "gold", "reply", "correct"),
    [
        (GAP, "N/A", "N/A", True),
        (GAP, "N/A", "<answer>N/A</answer>", True),
        (
            GAP,
            "N/A",
            '{"step_by_step_thinking": "Sodium 140 alone.", "answer": "N/A"}',
            True,
        ),
        (GAP, "N/A", "The anion gap cannot be calculated from this note.", True),
        (GAP, "N/A", "", False),
        (GAP, "16", '{"answer": "N/A"}', False),
        (GAP, "16", '{"answer": "16"}', True),
        (DUE, "N/A", '{"answer": "09/12/2014"}', False),
        (DUE, "N/A", '{"answer": "N/A"}', True),
        (AGE, "99", '{"answer": "99"}', True),
        (AGE, "99", '{"answer": "99 days"}', True),
        (AGE, "99", '{"answer": "(14 weeks, 1 days)"}', True),
        (AGE, "99", '{"answer": "98"}', False),
        (AGE, "99", '{"answer": "14"}', False),
    ],
)
def test_scoring_by_the_corrected_label(
    tmp_path: Path, name: str, gold: str, reply: str, correct: bool
) -> None:
    (item,) = items_of(tmp_path / "x.csv", cells(1, name, gold))
    (score,) = score_items(MEDCALC, [item], [reply])
    assert score.values["accuracy"] == correct
    assert math.isnan(score.values["accuracy_recomputed"])
    assert math.isnan(score.values["accuracy_agreed"])
    assert "accuracy_corrected" not in score.values


@given(st.integers(-10_000, 10_000).map(lambda tenths: tenths / 10))
def test_no_number_is_right_where_there_is_no_answer(number: float) -> None:
    fields = {
        **official_fields(1, "16"),
        "ground_truth_answer": "N/A",
        "lower_limit": "",
        "upper_limit": "",
    }
    (item,) = load_items(MEDCALC, [fields])
    replies = [
        f"{number}",
        json.dumps({"answer": f"{number}"}),
        f"The answer is {number}.",
    ]
    for score in score_items(MEDCALC, [item] * len(replies), replies):
        assert score.values["accuracy"] == 0.0


def official_fields(number: int, answer: str) -> dict[str, Any]:
    """A row of v1.0 as it is built, an anion gap of 140 - (100 + 24)."""
    low, high = f"{float(answer) * 0.95:g}", f"{float(answer) * 1.05:g}"
    entities = {
        "Sodium": [140, "mEq/L"],
        "Chloride": [100, "mEq/L"],
        "Bicarbonate": [24, "mEq/L"],
    }
    return {
        "row_number": number,
        "calculator_id": 39,
        "calculator_name": GAP,
        "category": "lab",
        "output_type": "decimal",
        "note_id": "1",
        "note_type": "Extracted",
        "patient_note": NOTE,
        "question": "How much?",
        "relevant_entities": json.dumps(entities),
        "ground_truth_answer": answer,
        "lower_limit": low,
        "upper_limit": high,
        "ground_truth_explanation": "140 - 124",
        "source_category": "lab",
    }


def example_labels(path: Path) -> CorrectedLabels:
    """Returns labels of rows 1 to 4: 16, 20, N/A, and one whose note is not that of row 4."""
    return labels_of_file(
        write_labels(
            path,
            cells(1, GAP, "16", "15.2", "16.8"),
            cells(2, GAP, "20", "19", "21"),
            cells(3, GAP, "N/A"),
            cells(4, GAP, "16", **{"Patient Note": "Another note."}),
        )
    )


ROWS = [official_fields(1, "16"), official_fields(2, "20"), official_fields(3, "16")]
ROWS += [official_fields(4, "16")]


def test_where_golds_agree(tmp_path: Path) -> None:
    """The rule gives 16 for all rows; the label of row 2 is 20, as its corrected one."""
    labels = example_labels(tmp_path / "x.csv")
    golds = [golds_of(row, labels) for row in ROWS]
    agreement = [
        (gold.label_and_rule, gold.label_and_corrected, gold.rule_and_corrected)
        for gold in golds
    ]
    assert agreement == [
        (True, True, True),
        (False, True, False),
        (True, False, False),
        (True, None, None),
    ]
    assert [gold.not_computable for gold in golds] == [False, False, True, False]
    audits = [audit_row(row, labels) for row in ROWS]
    assert [
        (audit.corrected, audit.label_by_corrected, audit.recomputed_by_corrected)
        for audit in audits
    ] == [
        ("16", "right", "right"),
        ("20", "right", "wrong"),
        ("N/A", "wrong", "wrong"),
        ("", "", ""),
    ]
    assert corrected_summary(audits)[1:3] == [
        ("agrees", "2", "1", "1", "1", "2"),
        ("wrong", "1", "0", "1", "0", "1"),
    ]
    assert corrected_summary([audit_row(row) for row in ROWS]) == []


def test_the_table_of_golds(tmp_path: Path) -> None:
    metric = {"value": 0.5, "ci_low": 0.2, "ci_high": 0.8, "n": 3, "unit": ""}
    names = ("accuracy", "accuracy_recomputed", "accuracy_agreed", "accuracy_corrected")
    entry = {"metrics": dict.fromkeys(names, metric)}
    table = golds_table(entry, ROWS, example_labels(tmp_path / "x.csv"))
    assert table is not None
    assert [row[-3:] for row in table.rows] == [
        ("itself", "3 of 4", "2 of 3"),
        ("3 of 4", "itself", "1 of 3"),
        ("all", "all", "1 of 2"),
        ("2 of 3", "1 of 3", "itself"),
    ]
    assert "contradicts both on 1 of 2 rows, on 1 of them with N/A" in table.note
    alone = golds_table({"metrics": {"accuracy": metric}}, ROWS, None)
    assert alone is not None
    assert [row[-3:] for row in alone.rows] == [("itself", "3 of 4", "n/a")]
    assert golds_table(entry, ROWS[:1], None) is None


def test_accuracy_corrected_is_not_taken_for_a_judge_corrected_accuracy() -> None:
    declared = {metric.name for metric in MEDCALC.metrics}
    assert raw_name("accuracy_corrected", declared) == "accuracy_corrected"
    assert raw_name("accuracy_corrected", {"accuracy"}) == "accuracy"


def test_scoring_by_labels_that_are_not_built(tmp_path: Path) -> None:
    (item,) = load_items(MEDCALC, [official_fields(1, "16")])
    with pytest.raises(
        UsageError, match="the configuration corrected of medcalc_bench is not bu"
    ):
        score_items(MEDCALC, [item], ["16"], arguments={"corrected": str(tmp_path)})
    assert BENCHMARK.found_beside(MEDCALC, tmp_path, "v1.0") == {}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """v1.0 and its corrected labels, built beside each other."""
    folder = tmp_path_factory.mktemp("home")
    for config, file in (("v1.0", V1), (CORRECTED, FILE)):
        options = [
            "--config",
            config,
            "--source",
            str(file),
            "--out",
            str(folder / DATASET.name),
        ]
        assert main(["build", DATASET.name, *options]) == 0
    return folder


@needs_shared
@pytest.mark.upstream
def test_golds_score_full_marks_and_n_a_is_right_on_69_rows(home: Path) -> None:
    data = load_task_data(MEDCALC, DATASET, data=home, config=CORRECTED)
    assert (len(data.items), data.scoring_args) == (887, {})
    for task in (MEDCALC, MEDCALC_DIRECT):
        golds = [gold_response(task, item) for item in data.items]
        scores = score_items(task, data.items, golds)
        assert [score.id for score in scores if score.values["accuracy"] != 1.0] == []
        # The script of v1.0 reads no N/A, and no age of one digit.
        assert (
            sum(score.values["accuracy_official"] for score in scores) == 887 - 69 - 1
        )
    for reply in ("N/A", '{"answer": "N/A"}', "<answer>N/A</answer>"):
        scores = score_items(MEDCALC, data.items, [reply] * 887)
        assert sum(score.values["accuracy"] for score in scores) == 69
        assert sum(score.values["accuracy_official"] for score in scores) == 0


@needs_shared
@pytest.mark.upstream
def test_the_authors_files_render_every_question(home: Path) -> None:
    data = load_task_data(MEDCALC, DATASET, data=home, config=CORRECTED, max_samples=50)
    prompts = load_prompts(MEDCALC, "official", LABELS, config=CORRECTED)
    system_prompt = (LABELS / "system_prompt.txt").read_text(encoding="utf-8")
    for item in data.items:
        system, user = prompts.render(item)
        note, question = item.fields["patient_note"], item.fields["question"]
        assert system["content"] == system_prompt
        assert (
            user["content"]
            == f"Patient Note: {note}\n\nQuestion: {question}\n\nResponse:"
        )


@needs_shared
@pytest.mark.upstream
def test_a_run_on_v1_is_also_scored_by_the_corrected_labels(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(home))

    def run(config: str, *more: str) -> dict[str, Any]:
        folder = tmp_path / config
        options = [
            "--tasks",
            "medcalc",
            "--model",
            "baseline/reference",
            "--config",
            config,
        ]
        assert main(["run", *options, *more, "--out", str(folder)]) == 0
        return dict(read_results(folder)["tasks"]["medcalc"])

    entry = run("v1.0")
    metric = entry["metrics"]["accuracy_corrected"]
    assert (round(metric["value"] * 887), metric["n"]) == (608, 887)
    assert entry["recipe"]["scoring"] == {"corrected": {"sha256": CORRECTED_PIN.sha256}}
    for form in ("html", "markdown"):
        page = tmp_path / f"report.{form}"
        options = ["--format", form, "--out", str(page)]
        assert main(["report", str(tmp_path / "v1.0"), *options]) == 0
        text = page.read_text(encoding="utf-8")
        figures = (
            "608 of 887",
            "691 of 873",
            "603 of 734",
            "both on 131 of 734 rows, on 50 of",
        )
        assert [figure for figure in figures if figure not in text] == []
    package = str(tmp_path / "package.zip")
    options = [
        "--to",
        "space",
        "--model-name",
        "m",
        "--organisation",
        "o",
        "--open-weights",
        "no",
    ]
    assert main(["submit", str(tmp_path / "v1.0"), *options, "--out", package]) == 0
    assert main(["verify", package]) == 0
    labels = f"corrected={home / DATASET.name}"
    assert main(["verify", package, "--task-args", labels]) == 0
    both = [str(tmp_path / "v1.0")] * 2
    assert main(["compare", *both, "--metric", "accuracy_corrected"]) == 0
    # Other configurations have no second labels.
    assert "accuracy_corrected" not in run(CORRECTED, "--max-samples", "5")["metrics"]


@needs_shared
@pytest.mark.upstream
def test_the_documents_figures_are_the_measured_ones() -> None:
    """By the authors' criterion 10 and 37 of 50 agree, as their own script prints."""
    physicians = LABELS / "y_new_and_sampled_MD_evals.xlsx"
    rows = {row["row_number"]: row for row in read_rows("v1.0", "test", {"test": V1})}
    reviewed = reviewed_rows(physicians, rows)
    assert len(reviewed) == 50

    assert sum(row.agrees_loosely(row.original) for row in reviewed) == 10
    assert sum(row.agrees_loosely(row.pipeline) for row in reviewed) == 37
    assert sum(row.agrees_loosely(row.physicians) for row in reviewed) == 50
    document = " ".join(
        (ROOT / "measurements" / "README.md").read_text(encoding="utf-8").split()
    )
    lines = [" ".join(line.split()) for line in report(V1, FILE, physicians)]
    assert [line for line in lines if line not in document] == []


def test_physicians_agreement_by_hand() -> None:
    score_row = {"calculator_id": 21}
    measurement_row = {"calculator_id": 39}
    coma = Reviewed(row=score_row, physicians=8.0, original=11.0, pipeline=9.0)
    assert [coma.agrees(value) for value in (8.0, 9.0, None)] == [True, False, False]
    assert [coma.agrees_loosely(value) for value in (9.0, 7.0, 10.0)] == [
        True,
        True,
        False,
    ]
    gap = Reviewed(row=measurement_row, physicians=-3.0, original=2.1, pipeline=-3.0)
    assert [gap.agrees(value) for value in (-3.15, -2.86, -3.2)] == [True, True, False]
    unanswerable = Reviewed(
        row=measurement_row, physicians=None, original=2.0, pipeline=None
    )
    assert [unanswerable.agrees(value) for value in (None, 2.0)] == [True, False]
    assert not unanswerable.agrees_loosely(2.0)
