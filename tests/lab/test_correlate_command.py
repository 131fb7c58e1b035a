from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from tests.cli.wrong_use import CASES, refuse
from tests.lab.table_files import write
from tests.support import SHARED, needs_shared

pytestmark = pytest.mark.usefixtures("here")

TABLES = SHARED / "data" / "paper_tables"
SCORES = """model,clinician,exam,recall
aspen,61,70.3,0.41
birch,52,66.0,0.38
cedar,75,71.8,0.44
elder,40,58.1,
hazel,58,69.9,0.29
maple,66,64.2,0.47
oak,81,77.5,0.52
pine,47,61.0,0.33
rowan,52,60.4,0.36
willow,70,73.9,0.35
"""


def correlated_pairs(
    capsys: pytest.CaptureFixture[str], *words: str, code: int = 0
) -> dict[tuple[str, str], dict[str, Any]]:
    assert main(["correlate", *words, "--json"]) == code
    report = json.loads(capsys.readouterr().out)
    return {(pair["score"], pair["against"]): pair for pair in report["pairs"]}


def test_a_table_and_its_json_with_the_recipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["correlate", write("a.csv", SCORES), "--against", "clinician"]
    assert main(words) == 0
    output = capsys.readouterr().out
    lines = [line.split() for line in output.splitlines()]
    assert lines[0][:4] == ["score", "against", "rows", "rho"]
    # By hand: clinician and exam differ in ranks by squares of 18.5 in all, one tie of
    # two in clinician; of 45 pairs 39 in order, 5 not, 1 tied.
    assert lines[2][:4] == ["exam", "clinician", "10", "0.888"]
    assert f"{(39 - 5) / (44 * 45) ** 0.5:.3f}" in lines[2]
    assert lines[3][:6] == ["recall", "clinician", "9", "of", "10", "0.661"]
    assert "They do not include the uncertainty of each score" in output
    assert main([*words, "--json", "--seed", "3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["files"] == {"a.csv": hashlib.sha256(SCORES.encode()).hexdigest()}
    assert (report["rows"], report["against"]) == (10, ["clinician"])
    assert report["intervals"] == {
        "method": "bootstrap of rows",
        "confidence": 0.95,
        "resamples": 2000,
        "seed": 3,
    }
    recall = report["pairs"][1]
    assert (recall["n"], recall["missing"], recall["undefined"]) == (9, 1, None)
    for name in ("spearman", "kendall"):
        assert (
            -1
            <= recall[name]["ci_low"]
            < recall[name]["value"]
            < recall[name]["ci_high"]
            <= 1
        )


def test_the_same_command_gives_the_same_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [write("a.csv", SCORES), "--against", "clinician"]
    assert correlated_pairs(capsys, *words) == correlated_pairs(capsys, *words)
    other = correlated_pairs(capsys, *words, "--seed", "9")[("exam", "clinician")][
        "spearman"
    ]
    assert (
        other["value"]
        == correlated_pairs(capsys, *words)[("exam", "clinician")]["spearman"]["value"]
    )
    assert other != correlated_pairs(capsys, *words)[("exam", "clinician")]["spearman"]
    rows = SCORES.splitlines()
    shuffled = write("b.csv", "\r\n".join([rows[0], *reversed(rows[1:])]))
    assert correlated_pairs(
        capsys, shuffled, "--against", "clinician"
    ) == correlated_pairs(capsys, *words)


def test_pairs_and_the_output_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write("a.csv", SCORES)
    both = correlated_pairs(
        capsys, path, "--against", "clinician,exam", "--out", "made/out.csv"
    )
    assert list(both) == [
        ("clinician", "exam"),
        ("exam", "clinician"),
        ("recall", "clinician"),
        ("recall", "exam"),
    ]
    with Path("made/out.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["score"], row["against"]) for row in rows] == list(both)
    for row, pair in zip(rows, both.values(), strict=True):
        assert float(row["kendall"]) == pair["kendall"]["value"]
        assert float(row["spearman_low"]) == pair["spearman"]["ci_low"]
        assert (int(row["n"]), int(row["missing"])) == (pair["n"], pair["missing"])
    assert (
        both["clinician", "exam"]["spearman"] == both["exam", "clinician"]["spearman"]
    )
    assert list(
        correlated_pairs(capsys, path, "--against", "clinician", "--columns", "recall")
    ) == [("recall", "clinician")]
    assert list(
        correlated_pairs(capsys, path, "--columns", "recall,exam", "--against", "exam")
    ) == [("recall", "exam")]


def test_names_of_rows_and_joined_files(capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        "names.csv",
        'way,model,size,"a, b",x\np,a,7B,1,2\np,b,8B,2,1\nq,a,7B,3,3\nq,b,-,4,4\n',
    )
    assert main(["correlate", path, "--against", "x"]) == 2
    assert "row 2 and row 3 are both named 'p'" in capsys.readouterr().err
    assert main(["correlate", path, "--against", '"a, b"', "--names", "way,model"]) == 0
    output = capsys.readouterr().out
    assert "note: not compared, because they hold text: 'size'." in output
    assert output.count("\nx") == 1
    # Numbers can name rows too.
    numbered = write("numbered.csv", "id,x,y\n1,1,1\n2,2,2\n3,3,3\n")
    assert list(
        correlated_pairs(capsys, numbered, "--against", "x", "--names", "id")
    ) == [("y", "x")]
    a = write("a.csv", "model,clinician\na,1\nb,2\nc,3\nd,4\ne,5\n")
    b = write(
        "b.csv", "\ufeffmodel ,exam, judge\n d ,8,1\nc,7,\nb,9,n/a\nx,1,2\na,6,0\n"
    )
    assert main(["correlate", a, b, "--against", "clinician"]) == 5
    printed = capsys.readouterr()
    assert "note: 2 of 6 rows are not in all files: 'e', 'x'." in printed.out
    assert (
        "1 of 2 pairs have no coefficient: 'judge' against 'clinician' (2 rows with both scores, "
        "3 are needed)" in printed.err
    )
    coefficients = correlated_pairs(capsys, a, b, "--against", "clinician", code=5)
    exam = coefficients["exam", "clinician"]
    # a b c d: 6 9 7 8 against 1 2 3 4: 4 pairs in order, 2 not; squared differences of
    # ranks 0 4 1 1.
    assert (exam["n"], exam["missing"]) == (4, 2)
    assert exam["kendall"]["value"] == pytest.approx(2 / 6)
    assert exam["spearman"]["value"] == pytest.approx(1 - 6 * 6 / 60)
    judge = coefficients["judge", "clinician"]
    assert (
        judge["n"],
        judge["missing"],
        judge["spearman"]["value"],
        judge["kendall"]["ci_low"],
    ) == (2, 4, None, None)


def test_a_column_without_variation_has_no_coefficient(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write("a.csv", "model,x,y,z\na,1,5,3\nb,2,5,1\nc,3,5,2\n")
    assert main(["correlate", path, "--against", "x", "--out", "out.csv"]) == 5
    printed = capsys.readouterr()
    assert "'y' against 'x' (one of the two is the same in all rows)" in printed.err
    assert "n/a" in printed.out
    with Path("out.csv").open(newline="") as stream:
        rows = {row["score"]: row for row in csv.DictReader(stream)}
    assert (rows["y"]["spearman"], rows["y"]["kendall_low"], rows["y"]["n"]) == (
        "",
        "",
        "3",
    )
    assert float(rows["z"]["spearman"]) == pytest.approx(-0.5)


@pytest.mark.parametrize(("text", "line", "message"), CASES["correlate"])
def test_wrong_use(
    text: str, line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCORES if text == "SCORES" else text
    write("a.csv", text)
    refuse(line, 2, message, capsys)
    assert Path("a.csv").read_text() == text


def test_unreadable_files_and_files_that_do_not_match(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write("a.csv", SCORES)
    large = "model,clinician,y\n" + "".join(f"m{i},{i},{i}\n" for i in range(2001))
    note = "The patient was admitted with chest pain and seen by cardiology."
    Path("mac.csv").write_bytes("model,größe\na,1\n".encode("mac-roman"))
    for files, code, message in (
        (
            [path, write("b.csv", "model,exam\naspen,1\n")],
            2,
            "column 'exam' is in a.csv and in b.csv",
        ),
        ([write("d.csv", large)], 2, "2,001 rows; a table of scores"),
        (
            [path, write("c.csv", "model,other\nAspen,1\n")],
            2,
            "c.csv: none of its rows has the name of a row of a.csv; it begins with 'Aspen'",
        ),
        (["nowhere.csv"], 3, "nowhere.csv: no such file. Give a table of scores"),
        (["."], 2, ".: cannot be read"),
        (["mac.csv"], 2, "not UTF-8 text"),
        # Long texts are not quoted.
        (
            [write("n.csv", f"model,clinician,y\na,1,2\nb,{note},3\n")],
            2,
            "holds 'The patient was admitted with chest",
        ),
    ):
        assert main(["correlate", *files, "--against", "clinician"]) == code
        stderr = capsys.readouterr().err
        assert message in stderr
        assert "cardiology" not in stderr


@pytest.mark.upstream
@needs_shared
def test_correlations_of_the_paper(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # EHRNoteQA, table 5 from tables 13, 14 and 15. Exact match, Sentence-BERT and
    # ClinicalBERT cannot be computed: the paper does not print the models' scores on
    # these three.
    files = [str(TABLES / f"ehrnoteqa_table{number}.csv") for number in (13, 14, 15)]
    coefficients = correlated_pairs(
        capsys, *files, "--against", "clinician_a,clinician_b,clinician_c"
    )
    with (TABLES / "ehrnoteqa_table5.csv").open(newline="") as stream:
        published = list(csv.DictReader(stream))
    computed, without = {}, set()
    for row in published:
        for column, value in row.items():
            if column == "score" or not value:
                continue
            against, _, coefficient = column.rpartition("_")
            pair = coefficients.get((row["score"], against))
            if pair is None:
                without.add(row["score"])
                continue
            assert (pair["n"], pair["missing"]) == (19, 0)
            computed[row["score"], column] = (
                f"{pair[coefficient]['value']:.3f}",
                value,
            )
    assert len(computed) == 138
    assert {key: both for key, both in computed.items() if both[0] != both[1]} == {}
    assert without == {
        "open_ended_exact_match",
        "open_ended_sentencebert",
        "open_ended_clinicalbert",
    }
    assert len(coefficients) == 69
