"""Answers of real runs, marked by clinicians who do not know the models."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.ehrnoteqa.judge_check import read_human_scores
from medical_tasks.cli.entry import main
from medical_tasks.construct.ehrnoteqa.answers import COLUMNS, write_scores
from medical_tasks.io.cells import plain
from medical_tasks.io.tables import write_sheet
from medical_tasks.lab.score_table import read_scores
from tests.case_tables import json_of, tabled
from tests.construct.sheet_files import edit_sheet, read_lines, read_rows, write_rows
from tests.fault_server import FaultServer

MODELS = ["baseline/empty", "baseline/reference", "openai-api/here/m"]
QUESTIONS = 8
ANSWER = "a finding nobody wrote down"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs on the demo: the gold, empty answers, and a model that gives everyone the same answer."""
    folder = tmp_path_factory.mktemp("runs")
    with (
        pytest.MonkeyPatch.context() as patch,
        FaultServer(answer=lambda call: ANSWER) as server,
    ):
        patch.setenv("MEDICAL_TASKS_HOME", str(folder / "home"))
        assert (
            main(
                [
                    "build",
                    "ehrnoteqa",
                    "--config",
                    "demo",
                    "--out",
                    str(folder / "data"),
                ]
            )
            == 0
        )
        for model in MODELS:
            words = [
                "run",
                "--tasks",
                "ehrnoteqa_open_level1",
                "--model",
                model,
                "--judge",
                "lexical",
            ]
            args = (
                []
                if model.startswith("baseline")
                else ["--model-args", f"base_url={server.base_url},max_retries=0"]
            )
            out = str(folder / model.split("/")[1])
            assert (
                main([*words, *args, "--data", str(folder / "data"), "--out", out]) == 0
            )
    return folder


@pytest.fixture(autouse=True)
def home(runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(runs / "home"))
    monkeypatch.chdir(tmp_path)


def answer_sheet(runs: Path, *more: str) -> int:
    folders = [str(runs / name) for name in ("reference", "empty", "here")]
    words = [
        "construct",
        "ehrnoteqa",
        "answer-sheet",
        *folders,
        "--data",
        str(runs / "data"),
        "--out",
        "marks",
    ]
    return main([*words, "--reviewers", "ann,ben", *more])


def scores(*more: str) -> int:
    return main(
        ["construct", "ehrnoteqa", "scores", "marks", "--out", "scores.csv", *more]
    )


def mark_sheets(decide: Callable[[dict[str, str]], str]) -> None:
    for name in ("ann", "ben"):
        edit_sheet(
            Path("marks/sheets") / f"{name}.csv",
            lambda row: row | {"verdict": decide(row)},
        )


def correct_mark(row: dict[str, str]) -> str:
    return "o" if row["response"] == row["right_answer"] else "x"


def test_sheets_are_blind_and_private(runs: Path) -> None:
    assert answer_sheet(runs, "--overlap", "2") == 0
    marks = Path("marks")
    key = json_of(marks / "key.json")
    assert key["models"] == MODELS
    sheets = {
        name: read_rows(marks / "sheets" / f"{name}.csv") for name in ("ann", "ben")
    }
    text = "".join(
        (marks / "sheets" / f"{name}.csv").read_text("utf-8") for name in sheets
    )
    assert not any(model in text for model in MODELS)
    # Two answers for each question, as the third is empty; two of eight questions are for both.
    rows = [
        dict(zip(header, row, strict=True))
        for header, *lines in sheets.values()
        for row in lines
    ]
    assert Counter(Counter(row["id"] for row in rows).values()) == {
        2: QUESTIONS - 2,
        4: 2,
    }
    answers = {
        (answer["id"], str(answer["answer_number"])): answer
        for answer in read_lines(marks / "answers.jsonl")
    }
    assert len(answers) == QUESTIONS * len(MODELS)
    assert all(
        answers[row["id"], row["answer_number"]]["response"] == plain(row["response"])
        for row in rows
    )
    firsts = Counter(
        answer["model"] for (_, number), answer in answers.items() if number == "1"
    )
    assert len(firsts) > 1  # the order is another one for each question
    assert {
        stat.S_IMODE(path.stat().st_mode) for path in marks.rglob("*") if path.is_file()
    } == {0o600}
    before = {path: path.read_bytes() for path in marks.rglob("*.csv")}
    assert answer_sheet(runs, "--overlap", "2") == 0
    assert {path: path.read_bytes() for path in marks.rglob("*.csv")} == before


def test_marks_become_tables_for_other_commands(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer_sheet(runs, "--overlap", "2") == 0
    mark_sheets(correct_mark)
    assert scores() == 0
    assert ANSWER not in capsys.readouterr().out
    table = read_scores([Path("scores.csv")])
    assert table.names == tuple(MODELS)
    assert table.scores == {"ann": (0.0, 100.0, 0.0), "ben": (0.0, 100.0, 0.0)}
    assert main(["correlate", "scores.csv", "--against", "ann"]) == 0
    ratings = read_human_scores(Path("marks/ratings.csv"))
    assert ratings.raters == ("rater_ann", "rater_ben")
    assert len(ratings.rows) == QUESTIONS * 2
    assert Counter(row.model for row in ratings.rows) == {
        MODELS[1]: QUESTIONS,
        MODELS[2]: QUESTIONS,
    }
    for row in ratings.rows:
        assert {verdict for verdict in row.correct if verdict is not None} == {
            row.model == MODELS[1]
        }
    assert sum(None not in row.correct for row in ratings.rows) == 2 * 2
    assert stat.S_IMODE(Path("marks/ratings.csv").stat().st_mode) == 0o600


@tabled("cells", "message")
def test_wrong_sheets(
    runs: Path, capsys: pytest.CaptureFixture[str], cells: dict[str, str], message: str
) -> None:
    assert answer_sheet(runs) == 0
    mark_sheets(correct_mark)
    header, *rows = read_rows(Path("marks/sheets/ann.csv"))
    rows[1] = [
        cells.get(name, cell) for name, cell in zip(header, rows[1], strict=True)
    ]
    write_rows(Path("marks/sheets/ann.csv"), header, rows)
    assert scores() == 2
    stderr = capsys.readouterr().err
    assert message in stderr
    assert ANSWER not in stderr
    assert not Path("scores.csv").exists()


def test_missing_repeated_and_unmarked_rows(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer_sheet(runs) == 0
    assert scores("--partial") == 2
    assert "nothing is marked yet" in capsys.readouterr().err
    mark_sheets(lambda row: correct_mark(row) if row["reviewer"] == "ann" else "")
    assert scores("--partial") == 0
    assert Path("scores.csv").read_text() == "model,ann,ben\n" + "".join(
        f"{model},{value},\n"
        for model, value in zip(MODELS, ("0.00", "100.00", "0.00"), strict=True)
    )
    assert read_human_scores(Path("marks/ratings.csv")).raters == ("rater_ann",)
    header, *rows = read_rows(Path("marks/sheets/ann.csv"))
    write_rows(Path("marks/sheets/ann.csv"), header, rows[1:])
    assert scores("--partial") == 2
    assert "the sheet of ann: 1 rows are lost" in capsys.readouterr().err
    write_rows(Path("marks/sheets/ann.csv"), header, [*rows, rows[0]])
    assert scores("--partial") == 2
    assert "appears twice" in capsys.readouterr().err


def marked_by_hand(
    folder: Path, models: list[str], responses: list[str], verdicts: list[str]
) -> Path:
    """Writes one clinician's sheet; `responses` are all models' answers; empty ones are not on the sheet."""
    ids = [f"p{number}" for number in range(len(responses) // len(models))]
    places = [(name, number) for name in ids for number in range(1, len(models) + 1)]
    answers = [
        {
            "id": name,
            "answer_number": number,
            "model": models[number - 1],
            "response": text,
        }
        for (name, number), text in zip(places, responses, strict=True)
    ]
    construction.write_lines(folder / "answers.jsonl", answers)
    key = {
        "models": models,
        "answers_sha256": construction.lines_sha256(answers),
        "sheets": {"ann": ids},
    }
    construction.write_json(folder / "key.json", key)
    rows = [
        dict.fromkeys(COLUMNS, "")
        | {
            "index": ids.index(str(answer["id"])) + 1,
            "reviewer": "ann",
            "verdict": verdict,
        }
        | answer
        for answer, verdict in zip(
            [answer for answer in answers if answer["response"]], verdicts, strict=True
        )
    ]
    write_sheet(
        folder / "sheets" / "ann.csv",
        COLUMNS,
        [{name: row[name] for name in COLUMNS} for row in rows],
    )
    return folder


def test_empty_answers_count_only_for_marked_questions(tmp_path: Path) -> None:
    # p0 is marked, p1 and p2 are not yet, p3 has no answer to mark. The second model
    # answers only p0.
    responses = ["a", "b", "a", "", "a", "", "", ""]
    folder = marked_by_hand(
        tmp_path / "marks", ["one", "two"], responses, ["1.0", "0", "", ""]
    )
    _, rows = write_scores(folder, tmp_path / "scores.csv", partial=True)
    assert rows == [("one", "50.00"), ("two", "0.00")]


def test_models_with_long_paths_are_distinct_in_the_ratings(tmp_path: Path) -> None:
    models = [f"hf//models/{letter}/{'x' * 60}" for letter in "ab"]
    response = "- a list\n- that a spreadsheet program takes for a formula"
    folder = marked_by_hand(
        tmp_path / "marks", models, [response, response], ["o", "x"]
    )
    _, rows = write_scores(folder, tmp_path / "scores.csv")
    assert rows == [(models[0], "100.00"), (models[1], "0.00")]
    ratings = read_human_scores(folder / "ratings.csv")
    assert len({row.model for row in ratings.rows}) == 2
    assert all(row.model.endswith("x" * 40) for row in ratings.rows)
    assert {row.response for row in ratings.rows} == {response}
    assert (folder / "ratings.csv").read_text().count("\"'- a list") == 2


def test_other_settings_and_changed_files_are_refused(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer_sheet(runs, "--max-samples", "0") == 2
    assert "--max-samples must be 1 or more" in capsys.readouterr().err
    assert answer_sheet(runs, "--max-samples", "3") == 0
    assert len(json_of(Path("marks/key.json"))["first"]) == 3
    assert answer_sheet(runs, "--max-samples", "4") == 2
    assert (
        "holds sheets of other answers or with other settings"
        in capsys.readouterr().err
    )
    changed = Path("marks/answers.jsonl")
    changed.write_text(changed.read_text().replace(ANSWER, "another"))
    assert scores() == 2
    assert "was changed since it was written" in capsys.readouterr().err
