"""`site pool`: refused files, pooled figures, and the page and table of results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from medical_tasks.site.pool_report import as_text, page
from medical_tasks.site.pooling import Shared, pool, read_share
from medical_tasks.site.sharing import content_hash
from medical_tasks.site.site_effects import Effect, on_scale
from tests.case_tables import json_of
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
    """Five hospitals whose judge has the same error rates, in large matrices."""
    return [
        write(
            tmp_path,
            content(
                f"h{number}",
                figure(right, n),
                differences=(difference(0.02 * number - 0.03, 0.08),),
                checks=(check([[180, 20], [30, 170]]),),
            ),
        )
        for number, (right, n) in enumerate(RIGHT)
    ]


def read_all(folder: Path, *contents: dict[str, Any]) -> list[Shared]:
    """Writes and reads the files of several sites."""
    return [read_share(write(folder, file_content)) for file_content in contents]


def line(result: dict[str, Any], who: str, metric: str) -> dict[str, Any]:
    (match,) = (
        entry
        for entry in result["tasks"][TASK]["lines"]
        if (entry["who"], entry["metric"]) == (who, metric)
    )
    assert isinstance(match, dict)
    return match


def test_the_command_writes_a_page_without_external_resources(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["site", "pool", *map(str, files), "--out", str(out)]) == 0
    output = capsys.readouterr().out
    assert "5 hospitals: h0, h1, h2, h3, h4" in output
    assert "within 10 points: not decided" in output
    page = (out / "pool.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "a further hospital" in page
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    result = json_of(out / "pool.json")
    accuracy = line(result, "candidate", "accuracy")
    pooled = accuracy["pooled"]
    assert pooled["new_low"] < pooled["low"] < pooled["value"] < pooled["high"]
    assert sum(site["weight"] for site in accuracy["sites"]) == pytest.approx(1.0)
    assert len(accuracy["leave_one_out"]) == 5
    pooled_difference = line(result, "difference", "accuracy")["pooled"]
    assert pooled_difference["value"] == pytest.approx(0.01)


def test_shared_matrices_correct_the_judge(files: list[Path]) -> None:
    result = pool([read_share(path) for path in files])
    corrected = line(result, "candidate", "accuracy_corrected")
    # Rogan and Gladen: (p + specificity - 1) / (sensitivity + specificity - 1).
    expected = [(right / n - 0.15) / 0.75 for right, n in RIGHT]
    assert [site["value"] for site in corrected["sites"]] == pytest.approx(expected)
    assert {site["how"] for site in corrected["sites"]} == {"corrected here"}
    raw_sites = line(result, "candidate", "accuracy")["sites"]
    for site, raw in zip(corrected["sites"], raw_sites, strict=True):
        assert site["site"] == raw["site"]
        assert site["high"] - site["low"] > raw["high"] - raw["low"]


def test_a_sites_own_correction_is_preferred_and_sites_without_one_are_named(
    tmp_path: Path,
) -> None:
    own = figure(70, 100, metric="accuracy_corrected")
    shares = read_all(
        tmp_path,
        content("a", figure(80, 100), own, checks=(check([[180, 20], [30, 170]]),)),
        content("b", figure(60, 100), checks=(check([[180, 20], [30, 170]]),)),
        content("c", figure(70, 100), checks=(check(None),)),
    )
    corrected = line(pool(shares), "candidate", "accuracy_corrected")
    assert [site["how"] for site in corrected["sites"]] == [
        "corrected there",
        "corrected here",
    ]
    assert corrected["sites"][0]["value"] == 0.7
    assert corrected["without"] == [
        {"site": "c", "why": "its confusion matrix has a cell under five"}
    ]


def test_weaknesses_of_a_hospitals_figures_are_reported(tmp_path: Path) -> None:
    first, second = content("a", figure(80, 100)), content("b", figure(60, 100))
    task_content = first["tasks"][TASK]
    task_content["coverage"]["candidate"] = {"scored": 100, "missing": 60}
    task_content["by_words"] = True
    first["sha256"] = content_hash(first)
    result = pool(read_all(tmp_path, first, second))
    for text in (as_text(result), page(result)):
        assert "a, candidate: 60 of 160 items have no score." in text
        assert "a judge by words: its numbers stand for nothing" in text
    assert "b, candidate" not in as_text(result)


def test_a_hidden_cell_widens_the_interval(tmp_path: Path) -> None:
    hidden = {**figure(98, 100), "right": None}
    hidden["estimate"] |= {"value": 0.98, "off": 0.02}
    exact = content("a", figure(98, 100))
    others = [content("b", figure(90, 100)), content("c", figure(95, 100))]
    widths = []
    for first in (exact, content("a", hidden)):
        shares = read_all(tmp_path, first, *others)
        ends = line(pool(shares), "candidate", "accuracy")["pooled"]
        widths.append(ends["high"] - ends["low"])
    assert widths[1] > widths[0]


def test_the_same_figures_under_two_names_are_one_site(tmp_path: Path) -> None:
    shares = read_all(tmp_path, *(content(name, figure(80, 100)) for name in "ab"))
    with pytest.raises(UsageError, match="hold the same figures"):
        pool(shares)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompts": "own fedcba9876543210"}, "prompts differs"),
        ({"judge": "a-judge"}, "judge differs"),
        ({"version": "4"}, "version differs"),
    ],
)
def test_other_recipes_are_refused_by_name_unless_accepted(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    shares = read_all(
        tmp_path,
        content("a", figure(80, 100)),
        content("b", figure(70, 100), recipe={**RECIPE, **change}),
    )
    (kind,) = change
    with pytest.raises(UsageError, match=message) as refused:
        pool(shares)
    assert f"--accept {kind}" in str(refused.value)
    result = pool(shares, accept=[kind])
    assert result["accepted"][0]["kind"] == kind
    with pytest.raises(UsageError, match="Did you mean 'prompts'"):
        pool(shares, accept=["prompt"])


def test_invalid_shared_files_are_refused(tmp_path: Path) -> None:
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
    share = read_share(write(tmp_path, good))
    with pytest.raises(UsageError, match="at least two sites, got 1"):
        pool([share])
    with pytest.raises(UsageError, match="are of one site"):
        pool([share, share])


@pytest.mark.parametrize(("right", "n"), [(8, 10), (50, 50), (0, 7), (333, 400)])
def test_the_number_of_items_is_recovered_from_an_interval(right: int, n: int) -> None:
    estimate = figure(right, n)["estimate"]
    effect = Effect(site="a", n=n, **estimate)
    assert effect.items == pytest.approx(n)
    _, variances = on_scale([effect], "share")
    assert variances[0] == pytest.approx(1 / (4 * n + 2))


def test_hospitals_that_agree_by_chance_also_have_the_interval_of_their_own_errors(
    tmp_path: Path,
) -> None:
    counts = [(32, 40), (80, 100), (81, 101)]
    shares = read_all(
        tmp_path,
        *(
            content(f"h{number}", figure(right, n))
            for number, (right, n) in enumerate(counts)
        ),
    )
    pooled = line(pool(shares), "candidate", "accuracy")["pooled"]
    low, high = pooled["by_errors_alone"]
    assert low < pooled["low"] < pooled["high"] < high
