"""`site pool`: what it refuses, what it pools, and what the page and the table say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from medical_tasks.site.pool_report import as_text, page
from medical_tasks.site.pooling import pool, read_share
from medical_tasks.site.sharing import content_hash
from medical_tasks.site.site_effects import Effect, on_scale
from tests.site.share_cases import (
    RECIPE,
    TASK,
    check,
    content,
    difference,
    figure,
    write,
)

RIGHT = ((34, 40), (60, 80), (110, 150), (200, 240), (290, 400))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Five hospitals whose judge errs alike, by large matrices."""
    return [
        write(
            tmp_path,
            content(
                f"h{at}",
                figure(right, n),
                differences=(difference(0.02 * at - 0.03, 0.08),),
                checks=(check([[180, 20], [30, 170]]),),
            ),
        )
        for at, (right, n) in enumerate(RIGHT)
    ]


def line(result: dict[str, Any], who: str, metric: str) -> dict[str, Any]:
    found = [
        each
        for each in result["tasks"][TASK]["lines"]
        if (each["who"], each["metric"]) == (who, metric)
    ]
    (only,) = found
    assert isinstance(only, dict)
    return only


def test_the_command_writes_a_page_that_asks_for_nothing(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["site", "pool", *map(str, files), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "5 hospitals: h0, h1, h2, h3, h4" in said
    assert "within 10 points: not decided" in said
    page = (out / "pool.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "a further hospital" in page
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    result = json.loads((out / "pool.json").read_text(encoding="utf-8"))
    found = line(result, "candidate", "accuracy")
    pooled = found["pooled"]
    assert pooled["new_low"] < pooled["low"] < pooled["value"] < pooled["high"]
    assert sum(each["weight"] for each in found["sites"]) == pytest.approx(1.0)
    assert len(found["leave_one_out"]) == 5
    assert line(result, "difference", "accuracy")["pooled"]["value"] == pytest.approx(
        0.01
    )


def test_shared_matrices_correct_the_judge(files: list[Path]) -> None:
    result = pool([read_share(path) for path in files])
    found = line(result, "candidate", "accuracy_corrected")
    # Rogan and Gladen: (p + specificity - 1) / (sensitivity + specificity - 1).
    wanted = [(right / n - 0.15) / 0.75 for right, n in RIGHT]
    assert [each["value"] for each in found["sites"]] == pytest.approx(wanted)
    assert {each["how"] for each in found["sites"]} == {"corrected here"}
    raw = {
        each["site"]: each for each in line(result, "candidate", "accuracy")["sites"]
    }
    for each in found["sites"]:
        before = raw[each["site"]]
        assert each["high"] - each["low"] > before["high"] - before["low"]


def test_a_sites_own_correction_wins_and_who_has_none_is_named(tmp_path: Path) -> None:
    own = figure(70, 100, metric="accuracy_corrected")
    shares = [
        read_share(write(tmp_path, each))
        for each in (
            content("a", figure(80, 100), own, checks=(check([[180, 20], [30, 170]]),)),
            content("b", figure(60, 100), checks=(check([[180, 20], [30, 170]]),)),
            content("c", figure(70, 100), checks=(check(None),)),
        )
    ]
    found = line(pool(shares), "candidate", "accuracy_corrected")
    assert [each["how"] for each in found["sites"]] == [
        "corrected there",
        "corrected here",
    ]
    assert found["sites"][0]["value"] == 0.7
    assert found["without"] == [
        {"site": "c", "why": "its confusion matrix has a cell under five"}
    ]


def test_what_weakens_a_hospitals_figures_is_said(tmp_path: Path) -> None:
    first, second = content("a", figure(80, 100)), content("b", figure(60, 100))
    of_task = first["tasks"][TASK]
    of_task["coverage"]["candidate"] = {"scored": 100, "missing": 60}
    of_task["by_words"] = True
    first["sha256"] = content_hash(first)
    result = pool([read_share(write(tmp_path, each)) for each in (first, second)])
    for said in (as_text(result), page(result)):
        assert "a, candidate: 60 of 160 items have no score." in said
        assert "a judge by words: its numbers stand for nothing" in said
    assert "b, candidate" not in as_text(result)


def test_a_hidden_cell_widens_the_interval(tmp_path: Path) -> None:
    hidden = {**figure(98, 100), "right": None}
    hidden["estimate"] |= {"value": 0.98, "off": 0.02}
    exact = content("a", figure(98, 100))
    others = [content("b", figure(90, 100)), content("c", figure(95, 100))]
    widths = []
    for first in (exact, content("a", hidden)):
        shares = [read_share(write(tmp_path, each)) for each in (first, *others)]
        ends = line(pool(shares), "candidate", "accuracy")["pooled"]
        widths.append(ends["high"] - ends["low"])
    assert widths[1] > widths[0]


def test_the_same_figures_under_two_names_are_one_site(tmp_path: Path) -> None:
    shares = [
        read_share(write(tmp_path, content(name, figure(80, 100)))) for name in "ab"
    ]
    with pytest.raises(UsageError, match="hold the same figures"):
        pool(shares)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prompts": "own fedcba9876543210"}, "prompts differs"),
        ({"judge": "a-judge"}, "judge differs"),
        ({"version": "4"}, "version differs"),
    ],
)
def test_other_recipes_are_named_refused_and_accepted(
    tmp_path: Path, change: dict[str, str], said: str
) -> None:
    shares = [
        read_share(write(tmp_path, each))
        for each in (
            content("a", figure(80, 100)),
            content("b", figure(70, 100), recipe={**RECIPE, **change}),
        )
    ]
    (kind,) = change
    with pytest.raises(UsageError, match=said) as refused:
        pool(shares)
    assert f"--accept {kind}" in str(refused.value)
    result = pool(shares, accept=[kind])
    assert result["accepted"][0]["kind"] == kind
    with pytest.raises(UsageError, match="Did you mean 'prompts'"):
        pool(shares, accept=["prompt"])


def test_what_is_no_shared_file_is_told_in_one_message(tmp_path: Path) -> None:
    good = content("a", figure(80, 100))
    changed = json.loads(json.dumps(good))
    changed["tasks"][TASK]["figures"][0]["right"] = 90
    with pytest.raises(UsageError, match="was changed after the site wrote it"):
        read_share(write(tmp_path, changed))
    with pytest.raises(UsageError, match="notes: is no field of this form"):
        read_share(write(tmp_path, {**good, "notes": "a text"}))
    path = tmp_path / "x.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="not JSON"):
        read_share(path)
    one = read_share(write(tmp_path, good))
    with pytest.raises(UsageError, match="at least two sites, got 1"):
        pool([one])
    with pytest.raises(UsageError, match="are of one site"):
        pool([one, one])


@pytest.mark.parametrize(("right", "n"), [(8, 10), (50, 50), (0, 7), (333, 400)])
def test_an_interval_gives_back_its_number_of_items(right: int, n: int) -> None:
    made = figure(right, n)["estimate"]
    effect = Effect(site="a", n=n, **made)
    assert effect.items == pytest.approx(n)
    _, variances = on_scale([effect], "share")
    assert variances[0] == pytest.approx(1 / (4 * n + 2))


def test_hospitals_that_are_alike_by_chance_are_told_with_their_own_errors(
    tmp_path: Path,
) -> None:
    shares = [
        read_share(write(tmp_path, content(f"h{at}", figure(*counts))))
        for at, counts in enumerate([(32, 40), (80, 100), (81, 101)])
    ]
    pooled = line(pool(shares), "candidate", "accuracy")["pooled"]
    low, high = pooled["by_errors_alone"]
    assert low < pooled["low"] < pooled["high"] < high
