from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use
from tests.lab.table_files import write
from tests.support import write_run

pytestmark = pytest.mark.usefixtures("here")

# Three items, three systems. `claims` and `words` by hand below; two annotators score,
# three choose.
OUTPUTS = """item,system,section,claims,words,human_ann,human_ben
v1,x,exam,0.9,0.2,90,80
v1,y,exam,0.5,0.6,60,50
v1,z,exam,0.1,0.1,10,20
v2,x,plan,0.7,0.3,70,80
v2,y,plan,0.7,0.4,60,60
v2,z,plan,0.2,0.5,30,20
v3,x,exam,0.4,0.4,50,40
v3,y,exam,0.8,0.4,70,
v3,z,exam,0.6,,,
"""
PREFERENCES = """item,system_a,system_b,annotator,preferred
v1,x,y,ann,x
v1,x,y,ben,x
v1,x,y,cy,y
v2,z,x,ann,x
v2,z,x,ben,tie
v2,z,x,cy,x
v2,y,z,ann,z
v2,y,z,ben,z
v2,y,z,cy,z
v2,x,y,ann,tie
v2,x,y,ben,tie
v3,x,y,ann,y
v3,x,y,ben,
"""


NONE = {"value": None, "ci_low": None, "ci_high": None, "n": 0}


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    write("outputs.csv", OUTPUTS)
    write("preferences.csv", PREFERENCES)


def meta(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["meta", *words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_figures_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    report = meta(capsys, "outputs.csv", "--preferences", "preferences.csv")
    assert [
        report[key] for key in ("items", "systems", "outputs", "pairs", "clusters")
    ] == [
        3,
        3,
        9,
        9,
        3,
    ]
    (compared,) = report["comparisons"]
    assert (compared["one"], compared["other"]) == ("claims", "words")
    # v1: x-y opposite, x-z and y-z same. v2: x-y tied in claims, x-z and y-z opposite.
    # v3: x-y tied in words, two missing.
    pairs = compared["pairs"]
    assert [pairs[key] for key in ("same", "opposite", "tied", "missing")] == [
        2,
        3,
        2,
        2,
    ]
    assert (pairs["share_opposite"]["value"], pairs["share_opposite"]["n"]) == (
        pytest.approx(3 / 7),
        7,
    )
    assert (pairs["share_decided"]["value"], pairs["share_decided"]["n"]) == (
        pytest.approx(2 / 5),
        5,
    )
    # People on the three opposite pairs: v1 x-y x, v2 x-z x, v2 y-z z. Claims prefers x,
    # x, y; words y, z, z.
    claims_side, words_side = (
        compared["preferences"]["one"],
        compared["preferences"]["other"],
    )
    assert (
        claims_side["same"],
        claims_side["opposite"],
        claims_side["share"]["value"],
    ) == (
        2,
        1,
        pytest.approx(2 / 3),
    )
    assert (
        words_side["same"],
        words_side["opposite"],
        words_side["share"]["value"],
    ) == (
        1,
        2,
        pytest.approx(1 / 3),
    )
    # On all annotated pairs: on v3 x-y people agree with claims, and words is tied; on v2
    # x-y people see no difference.
    claims, words = (metric["preferences"] for metric in report["alone"])
    assert (
        claims["same"],
        claims["opposite"],
        claims["metric_tied"],
        claims["human_tied"],
    ) == (
        3,
        1,
        0,
        1,
    )
    assert (
        words["same"],
        words["opposite"],
        words["metric_tied"],
        words["not_annotated"],
    ) == (
        1,
        2,
        1,
        4,
    )
    assert report["preferences"] == {
        "annotators": 3,
        "answers": 12,
        "blank": 1,
        "elsewhere": 0,
        "pairs": 5,
    }


def test_scores_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    report = meta(capsys, "outputs.csv")
    (compared,) = report["comparisons"]
    assert compared["preferences"] is None
    # Outputs in opposite pairs: v1 x y, v2 x y z. Means 85 55 75 60 25; claims .9 .5 .7
    # .7 .2, words .2 .6 .3 .4 .5.
    scores = compared["scores"]
    # Claims: all pairs are in order but v2 x-y, a tie in claims.
    assert scores["one"]["kendall"]["value"] == pytest.approx(9 / math.sqrt(9 * 10))
    # Words: ranks 1 5 2 3 4 against 5 2 4 3 1; 1 pair in order (v1 y, v2 z), 9 not;
    # squares 16 + 9 + 4 + 0 + 9.
    assert scores["other"]["kendall"]["value"] == pytest.approx((1 - 9) / 10)
    assert scores["other"]["spearman"]["value"] == pytest.approx(1 - 6 * 38 / 120)
    assert scores["one"]["spearman"]["n"] == 5
    # Two annotators, each against the other: the same coefficient twice. 90 60 70 60 30
    # and 80 50 80 60 20: 8 pairs in order, one tied in each.
    annotators = scores["annotators"]["kendall"]
    assert (annotators["value"], annotators["n"]) == (
        pytest.approx(8 / math.sqrt(9 * 9)),
        5,
    )
    assert report["annotators"]["kendall"]["n"] == 7  # v3 x has both, v3 y one of them
    assert [metric["scores"]["kendall"]["n"] for metric in report["alone"]] == [8, 8]
    # Tau over outputs, or within items: v1 (2 - 1) / 3; v2 -2 / sqrt(2 * 3); v3 has no
    # variation in words.
    (pooled,) = report["kendall"]
    (within,) = meta(capsys, "outputs.csv", "--kendall", "item")["kendall"]
    assert (pooled["n"], within["n"]) == (8, 2)
    assert within["value"] == pytest.approx((1 / 3 - 2 / math.sqrt(6)) / 2)
    assert -1 <= pooled["ci_low"] < pooled["value"] < pooled["ci_high"] <= 1
    # A part of the outputs, and other pairs of metrics.
    exam = meta(
        capsys,
        "outputs.csv",
        "--where",
        "section=exam",
        "--preferences",
        "preferences.csv",
    )
    assert (exam["outputs"], exam["preferences"]["elsewhere"]) == (6, 8)
    three = write("three.csv", "item,system,a,b,c\nv,x,1,2,3\nv,y,2,1,5\n")
    against = meta(capsys, three, "--against", "b")["comparisons"]
    assert [(pair["one"], pair["other"]) for pair in against] == [
        ("b", "a"),
        ("b", "c"),
    ]
    every = meta(capsys, three)["comparisons"]
    assert [(pair["one"], pair["other"]) for pair in every] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    assert every[1]["pairs"]["same"] == 1
    turned = meta(capsys, three, "--less-is-better", "b")
    assert [pair["pairs"]["same"] for pair in turned["comparisons"]] == [1, 1, 1]
    assert turned["less_is_better"] == ["b"]


def test_printed_tables(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "meta",
        "outputs.csv",
        "--preferences",
        "preferences.csv",
        "--out",
        "made/meta.json",
    ]
    assert main(words) == 0
    output = capsys.readouterr().out
    assert output.startswith(
        "9 outputs of 3 systems for 3 items: 9 pairs of outputs of one item.\n"
    )
    rows = [line.split() for line in output.splitlines()]
    assert ["claims", "not", "words", "66.7"] in [row[:4] for row in rows]
    assert ["words", "not", "claims", "33.3"] in [row[:4] for row in rows]
    assert "Preferences: 12 answers of 3 annotators on 5 pairs, 1 blank." in output
    assert output.endswith("made/meta.json\n")
    assert json_of(Path("made/meta.json")) == meta(capsys, *words[1:4])


def test_shares_of_no_disagreement_are_nan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(
        "a.csv", "item,system,a,b,human_1\nv,x,1,2,5\nv,y,2,3,6\nw,x,1,1,\nw,y,1,1,\n"
    )
    write("p.csv", "item,system_a,system_b,annotator,preferred\nv,x,y,ann,y\n")
    report = meta(capsys, "a.csv", "--preferences", "p.csv")
    (compared,) = report["comparisons"]
    assert compared["pairs"]["share_opposite"]["value"] == 0.0
    assert compared["preferences"]["one"]["share"] == NONE
    assert compared["scores"]["one"]["kendall"] == NONE
    assert report["annotators"]["spearman"] == NONE  # one annotator
    assert report["alone"][0]["preferences"]["share"]["value"] == 1.0
    # Two outputs with human scores: any two scores would agree wholly, or not at all.
    assert report["alone"][0]["scores"]["spearman"] == {**NONE, "n": 2}
    assert main(["meta", "a.csv", "--preferences", "p.csv"]) == 0
    output = capsys.readouterr().out
    assert (
        "n/a: no correlation is computed of fewer than 3 outputs; two are always in the same "
        "order or the opposite one." in output
    )
    assert main(["meta", "outputs.csv"]) == 0
    assert "no correlation is computed" not in capsys.readouterr().out


def kqa_run(folder: str, values: list[float], **recipe: Any) -> None:
    full_recipe = {
        "task_version": "1-A",
        "data": {"name": "kqa", "rows_sha256": "a"},
        **recipe,
    }
    rows = [
        {
            "task": "kqa",
            "id": f"q{n}",
            "cluster": f"q{n}",
            "comprehensiveness": value,
            "words": 5.0,
        }
        for n, value in enumerate(values)
    ]
    write_run(
        Path(folder),
        {"schema_version": 1, "tasks": {"kqa": {"recipe": full_recipe}}},
        rows,
    )


def test_runs_with_two_judges_and_human_scores(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for system, judge, values in (
        ("a", "big", [0.9, 0.2, 0.5]),
        ("a", "small", [0.1, 0.1, 0.5]),
        ("b", "big", [0.3, 0.4, 0.5]),
        ("b", "small", [0.2, 0.2, 0.5]),
    ):
        kqa_run(f"{system}-{judge}", values)
    write("human.csv", "item,system,human_ann\nq0,a,90\nq0,b,40\nq9,a,1\n")
    runs = [
        f"{system}@{judge}={system}-{judge}"
        for system in "ab"
        for judge in ("big", "small")
    ]
    columns = "comprehensiveness@big,comprehensiveness@small"
    report = meta(capsys, *runs, "human.csv", "--metrics", columns)
    # q9 is not in the runs
    assert (report["outputs"], report["pairs"], report["human"]) == (
        6,
        3,
        ["human_ann"],
    )
    pairs = report["comparisons"][0]["pairs"]
    assert [pairs[key] for key in ("same", "opposite", "tied")] == [1, 1, 1]
    # They disagree on one pair, and of its two outputs there is no correlation.
    scores = report["comparisons"][0]["scores"]
    assert [
        (scores[side]["kendall"]["n"], scores[side]["kendall"]["value"])
        for side in ("one", "other")
    ] == [
        (2, None),
        (2, None),
    ]
    assert report["tasks"] == {name.partition("=")[0]: "kqa" for name in runs}
    assert len(report["sources"]) == 5
    assert main(["meta", *runs, write("other.csv", "item,system,human\nQ0,a,1\n")]) == 2
    assert (
        "other.csv: none of its rows is an output of the runs; it begins with item 'Q0'"
        in capsys.readouterr().err
    )


@wrong_use("meta")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(line, code, message, capsys)


def test_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", write("one.csv", "item,system,a\nv,x,1\nv,y,2\n")]) == 2
    assert "one metric and no human scores or preferences" in capsys.readouterr().err
    many = write(
        "many.csv",
        f"item,system,{','.join(f'm{n}' for n in range(13))}\nv,x{',1' * 13}\n",
    )
    assert main(["meta", many]) == 2
    assert "13 columns of numbers" in capsys.readouterr().err
    large = write(
        "large.csv",
        "item,system,a,b,part\n"
        + "".join(f"v{n},x,1,2,{n % 2}p\n" for n in range(2001)),
    )
    assert main(["meta", large]) == 2
    assert (
        "2,001 outputs in 2,001 clusters (by default, an item is a cluster)"
        in capsys.readouterr().err
    )
    assert meta(capsys, large, "--where", "part=1p")["outputs"] == 1000
