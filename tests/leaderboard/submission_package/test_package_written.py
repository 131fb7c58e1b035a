"""Packages of runs: reproducible, without details of the submitter's machine or text of credentialed data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from measurements.package_fuzz import members_of
from medical_tasks.catalog import tasks
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import source_files
from medical_tasks.guard.leakcheck import check_leaks
from medical_tasks.leaderboard.submission_package.contents import (
    answer_sha256,
    verdicts_sha256,
)
from medical_tasks.leaderboard.submission_package.privacy import (
    FILE_SETTINGS,
    scrub,
    scrub_recipe,
)
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.leaderboard.submission_package.verifying import verify_package
from medical_tasks.runs.results import read_items
from tests.case_tables import json_of
from tests.leaderboard.made_packages import cases
from tests.leaderboard.submission_package.conftest import (
    CREDENTIALED,
    KQA,
    MEDCALC,
    Runs,
)
from tests.leaderboard.submission_package.forged_packages import Opened, forged

CASES = cases("package_written")

OPEN = ("aci_bench_section", "meqsum", "kqa_rag", "medcalc_code")

TWO_ITEMS = "--model baseline/random --judging single --max-samples 2".split()


def submit(folder: Path, out: Path, *more: str) -> int:
    words = [
        "submit",
        str(folder),
        "--to",
        "space",
        "--model-name",
        "My Model 7B",
        "--out",
        str(out),
        *more,
    ]
    return main(words)


def test_a_run_gives_the_same_bytes_and_its_own_rows(
    runs: Runs, medcalc: bytes, kqa: bytes
) -> None:
    assert runs.package(*MEDCALC) == medcalc
    package = read_package(kqa)
    written = read_items(runs.folder(*KQA))
    for row, packed in zip(written, package.items, strict=True):
        assert {name: repr(value) for name, value in row.items()} == {
            name: repr(packed[name]) for name in row
        }
        assert packed["answer_sha256"] == answer_sha256(
            package.answers["kqa"][row["id"]]
        )
        own = [
            verdict
            for verdict in package.verdicts
            if verdict["id"].startswith(f"{row['id']}/")
        ]
        assert packed["verdicts_sha256"] == verdicts_sha256(own)


def test_open_tasks_verify(runs: Runs) -> None:
    words = (
        ",".join(OPEN),
        *TWO_ITEMS,
    )
    verification = verify_package(read_package(runs.package(*words)))
    assert [check for check in verification.checks if check.outcome != "match"] == []
    assert verification.matches
    assert len(verification.checks) == 1 + 7 * 3 + 6


def test_the_figures_of_a_judge_can_be_left_out(runs: Runs) -> None:
    words = (
        "aci_bench",
        *TWO_ITEMS,
    )
    package = read_package(runs.package(*words, judged=False))
    entry = package.results["tasks"]["aci_bench"]
    free = {metric.name for metric in tasks()["aci_bench"].unjudged().metrics}
    assert entry["metrics"].keys() <= free
    assert {"rouge1", "rougeLsum"} <= entry["metrics"].keys()
    assert entry["recipe"]["judge"] is None
    assert not package.verdicts
    verification = verify_package(package)
    assert [check for check in verification.checks if check.outcome != "match"] == []


def test_answers_are_left_out_only_if_published(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "package.zip"
    assert submit(runs.folder(*MEDCALC), out, "--allow-partial", "--no-answers") == 2
    assert (
        "--no-answers is for imported answers whose recipe says"
        in capsys.readouterr().err
    )
    assert not out.exists()


def test_credentialed_packages_hold_no_text(runs: Runs, tmp_path: Path) -> None:
    members = members_of(runs.package(*CREDENTIALED))
    assert list(members) == [
        "package.json",
        "results.json",
        "items.jsonl",
        "verdicts.jsonl",
    ]
    for name, content in members.items():
        (tmp_path / name).write_bytes(content)
    assert check_leaks(tmp_path, source_files("mimic_rrs")).found == {}
    assert b'"text"' not in members["verdicts.jsonl"]


def test_submit_and_verify_commands(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = runs.folder(*MEDCALC), tmp_path / "made" / "package.zip"
    assert submit(folder, out) == 2
    assert "is not a result over the whole official split" in capsys.readouterr().err
    assert not out.exists()
    more = [
        "--organisation",
        "Lab",
        "--url",
        "https://example.org/m",
        "--open-weights",
        "no",
        "--parameters",
        "7",
    ]
    assert submit(folder, out, "--allow-partial", *more) == 0
    printed = capsys.readouterr()
    assert "medcalc (9 items)" in printed.out
    assert "It ran on the synthetic demo records." in printed.err
    submitter = read_package(out).manifest.submitter
    assert (submitter.organisation, submitter.open_weights, submitter.parameters) == (
        "Lab",
        False,
        7.0,
    )
    assert main(["verify", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] is True
    assert main(["verify", str(out), "--data", str(tmp_path)]) == 5
    assert "not checked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("counts", "step"),
    CASES["a_run_too_large_for_a_package_is_refused_before_its_rows_are_read"],
)
def test_a_run_too_large_for_a_package_is_refused_before_its_rows_are_read(
    runs: Runs,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    counts: dict[str, int],
    step: str,
) -> None:
    results = json_of(runs.folder(*MEDCALC) / "results.json")
    results["tasks"] = {
        name: results["tasks"]["medcalc"] | {"n_items": count}
        for name, count in counts.items()
    }
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert submit(tmp_path, tmp_path / "package.zip") == 2
    stderr = capsys.readouterr().err
    assert (
        "a package holds at most 50,000 items across its tasks, and this run has medcalc"
        in stderr
    )
    assert step in stderr


def test_exit_codes_of_verify(
    credentialed: bytes,
    medcalc: bytes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tests.leaderboard.submission_package.test_package_forged import better_score

    file = tmp_path / "p.zip"
    for content, code, message in (
        (credentialed, 5, "nothing is proven of mimic_rrs"),
        (forged(medcalc, better_score), 6, "It does not match: "),
    ):
        file.write_bytes(content)
        assert main(["verify", str(file)]) == code
        assert message in capsys.readouterr().out
    assert main(["verify", str(file), "--judge", "lexical"]) == 2
    assert "medcalc needs no judge" in capsys.readouterr().err
    file.write_bytes(b"no zip")
    assert main(["verify", str(file)]) == 2
    assert "is not a zip file" in capsys.readouterr().err


def test_runs_that_cannot_be_submitted(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = runs.folder(*MEDCALC)
    for words, code, message in (
        (["--task", "kqa", "--allow-partial"], 2, "has no results of kqa"),
        (
            ["--organisation", "two\nlines", "--allow-partial"],
            2,
            "organisation: must be one line",
        ),
        (["--data", str(tmp_path), "--allow-partial"], 3, "demo is not built in"),
    ):
        assert submit(folder, tmp_path / "p.zip", *words) == code
        assert message in capsys.readouterr().err
    assert submit(tmp_path, tmp_path / "p.zip") == 3
    assert main(["submit", str(folder), "--to", "space"]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("recipe", "kept"), CASES["recipes"])
def test_recipes_do_not_describe_the_machine(
    recipe: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert scrub_recipe(recipe) == kept
    assert scrub_recipe(kept) == kept


def test_troubles_and_paths_of_a_judge_are_removed() -> None:
    judge = {
        "name": "nli//data/true",
        "check": "judge nli//data/true was never checked",
        "trouble": "gpu7 is down",
    }
    results = {
        "items_sha256": "x",
        "tasks": {
            "kqa": {"recipe": {"judge": {"name": "nli//data/true"}}, "judge": judge}
        },
    }
    scrubbed = scrub(results)
    assert "items_sha256" not in scrubbed
    expected = {
        "name": "nli/true",
        "check": "judge nli/true was never checked",
        "trouble": "[not told]",
    }
    assert scrubbed["tasks"]["kqa"]["judge"] == expected


def test_every_setting_that_names_a_file_is_scrubbed() -> None:
    settings = {
        name
        for task in tasks().values()
        for name, text in {**task.arguments, **task.scoring_arguments}.items()
        if any(word in text for word in ("folder", "file", "checkpoint", "FOLDER"))
    }
    assert settings
    assert settings <= FILE_SETTINGS


def test_official_figures_without_their_judge_are_ignored(kqa: bytes) -> None:
    """Earlier versions wrote them, and anybody can mark a result as comparable with the paper."""

    def older(opened: Opened) -> None:
        opened.entry["recipe"]["task_version"] = "2-A"
        opened.entry["paper"] = {"comparable": True, "why": ["it is"]}
        groups = [
            group for by in opened.entry["breakdown"].values() for group in by.values()
        ]
        for metrics in (opened.entry["metrics"], *groups):
            metrics["comprehensiveness_official"] = metrics["comprehensiveness"]
        for row in opened.items:
            row["comprehensiveness_official"] = row["comprehensiveness"]

    package = read_package(forged(kqa, older, totals=False))
    entry = package.results["tasks"]["kqa"]
    assert "_official" not in json.dumps(
        [entry["metrics"], entry["breakdown"], package.items]
    )
    assert entry["paper"]["comparable"] is False
