from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import (
    MARKER,
    BuiltConfig,
    BuiltSplit,
    built_configs,
    marker_text,
)
from medical_tasks.harness import examining
from medical_tasks.harness.examining import examine
from medical_tasks.plugins import version_of
from medical_tasks.sandbox.probe import probe
from tests.case_tables import tabled
from tests.support import ROOT


@pytest.fixture(scope="module", autouse=True)
def sandbox_tried_once() -> Iterator[None]:
    """The sandbox is tried out once, a second's work, and not by each of these tests."""
    tried = probe()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("medical_tasks.sandbox.probe.probe", lambda: tried)
        yield


@pytest.fixture(autouse=True)
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Package versions that the examined environment pretends to have; None is absent.

    The suite also runs with newer ones than the pinned (`make check-newest`).
    """
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    hub = re.findall(r"(?m)^huggingface_hub==(.+)$", pins)
    pretended: dict[str, str | None] = {"huggingface-hub": hub[0]}

    def version(package: str) -> str:
        if package in pretended:
            return pretended[package] or ""
        return version_of(package)

    monkeypatch.setattr(examining, "version_of", version)
    return pretended


def texts(level: str) -> dict[str, str]:
    return {
        finding.subject: finding.text for finding in examine() if finding.level == level
    }


@tabled("package", "version", "subject", "step")
def test_versions_that_break_are_warned_of(
    versions: dict[str, str | None], package: str, version: str, subject: str, step: str
) -> None:
    versions[package] = version
    assert step in texts("warning")[subject]
    assert main(["doctor"]) == 3


def test_the_pinned_versions_give_no_warning_and_what_is_not_built_is_told() -> None:
    assert texts("warning") == {}
    assert (
        "the steps: medical-tasks build medcalc_bench"
        in texts("optional")["dataset medcalc_bench"]
    )


@tabled("package", "extra", "step")
def test_a_missing_part_is_named_with_the_way_to_get_it(
    versions: dict[str, str | None], package: str, extra: str, step: str
) -> None:
    versions[package] = None
    assert texts("optional")[extra].startswith(package)
    assert step in texts("optional")[extra].partition("): ")[2]


SPLIT = BuiltSplit(
    path="x/test.parquet", rows=1, sha256="0" * 64, file_bytes=1, num_bytes=1
)
CURRENT = BuiltConfig(
    version=DATASET.version, suite="0", source={}, splits={"test": SPLIT}
)
FROM_FILE = dataclasses.replace(CURRENT, source={"test_data.csv": "a" * 64})
GENERATED = dataclasses.replace(CURRENT, source={"seed": "7", "n": "1100"})


def outdated(made: BuiltConfig) -> BuiltConfig:
    return dataclasses.replace(made, version="0.0.1")


@pytest.fixture
def folder(here: Path) -> Path:
    """Where the dataset is looked for."""
    made = here / "home" / DATASET.name
    made.mkdir(parents=True)
    return made


def mark(folder: Path, **configs: BuiltConfig) -> None:
    (folder / MARKER).write_text(marker_text(DATASET.name, configs), encoding="utf-8")
    assert set(built_configs(folder)) == set(configs)


@pytest.mark.parametrize(
    ("config", "made", "command"),
    [
        (
            "own",
            FROM_FILE,
            "medical-tasks build medcalc_bench --config own --source FOLDER_OR_FILE",
        ),
        (
            "fresh",
            GENERATED,
            "medical-tasks build medcalc_bench --config fresh --seed 7 --n 1100",
        ),
        ("demo", CURRENT, "medical-tasks build medcalc_bench --config demo"),
    ],
)
def test_data_of_an_older_version_is_warned_of(
    folder: Path, config: str, made: BuiltConfig, command: str
) -> None:
    mark(folder, **{config: outdated(made)})
    told = texts("warning")["dataset medcalc_bench"]
    assert "built in version 0.0.1" in told
    assert told.endswith(f"Build it again: {command}")
    assert "dataset medcalc_bench" not in texts("ok")
    assert main(["doctor"]) == 3


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What `list` says of the dataset's tasks."""
    assert main(["list", "--json"]) == 0
    entries = [
        entry
        for entry in json.loads(capsys.readouterr().out)
        if entry["dataset"] == DATASET.name
    ]
    assert entries
    return entries


def test_an_outdated_configuration_beside_a_current_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark(folder, verified=FROM_FILE, demo=CURRENT)
    assert texts("ok")["dataset medcalc_bench"] == f"demo, verified in {folder}"
    assert "dataset medcalc_bench" not in texts("warning") | texts("optional")
    mark(folder, fresh=GENERATED, verified=outdated(FROM_FILE))
    assert texts("warning")["dataset medcalc_bench"].startswith("verified in ")
    assert texts("ok")["dataset medcalc_bench"] == f"fresh in {folder}"
    assert all(
        entry["built"] == ["fresh", "verified"] and entry["damaged"] == ""
        for entry in listed(capsys)
    )


def test_a_damaged_dataset_is_told_and_does_not_hide_the_other_findings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / MARKER).write_text("{", encoding="utf-8")
    assert f"{folder / MARKER}: damaged" in texts("warning")["dataset medcalc_bench"]
    assert main(["doctor"]) == 3
    printed = capsys.readouterr().out
    assert printed.startswith("Broken:\n  dataset medcalc_bench: ")
    assert re.findall(r"^\S.*", printed, re.MULTILINE) == [
        "Broken:",
        "Installed:",
        "Folders:",
        "Optional, not installed:",
    ]
    assert main(["doctor", "--json"]) == 3
    subjects = [finding["subject"] for finding in json.loads(capsys.readouterr().out)]
    assert {
        "medical-tasks",
        "lighteval",
        "GPU",
        "sandbox",
        "dataset medcalc_bench",
    } <= set(subjects)
    assert main(["list"]) == 0
    told = capsys.readouterr().out
    assert "medcalc_bench (open; damaged)" in told
    assert told.count(f"{folder / MARKER}: damaged") == 1
    assert "medcalc_bench: the official data is not built" not in told
    assert all(
        entry["built"] == [] and "damaged" in entry["damaged"]
        for entry in listed(capsys)
    )


def test_processes_that_do_not_see_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("x", "", "-1", "2.5"):
        monkeypatch.setenv("WORLD_SIZE", given)
        assert (
            f"WORLD_SIZE must be a whole number, got {given!r}"
            in texts("warning")["processes"]
        )
    monkeypatch.setattr(examining, "_has_gpu", lambda: False)
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    for given, warned in (("1", False), ("2", True)):
        monkeypatch.setenv("WORLD_SIZE", given)
        assert (
            "ACCELERATE_USE_CPU=true" in texts("warning").get("processes", "")
        ) is warned


def test_the_folders_are_shown_with_the_variable_that_decided(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert texts("folder")["datasets"] == f"{here}/home (MEDICAL_TASKS_DATA)"
    store = f"{here}/private/private (MEDICAL_TASKS_HOME)"
    assert texts("folder")["private store"] == store
    monkeypatch.delenv("MEDICAL_TASKS_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(here / "xdg"))
    before = here / "xdg" / "medical-tasks" / "datasets"
    assert "datasets not read" not in texts("folder")
    before.mkdir(parents=True)
    told = texts("folder")["datasets not read"]
    assert told.endswith(
        f"Move them to {here}/private/datasets, or export MEDICAL_TASKS_DATA={before}"
    )
    main(["doctor"])
    assert f"\nFolders:\n  datasets: {here}/private/datasets (" in (
        capsys.readouterr().out
    )


def test_a_vllm_program_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_VLLM", str(tmp_path / "vllm"))
    assert "which is not a program" in texts("optional")["vllm-server"]
    program = tmp_path / "env" / "bin" / "vllm"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    (
        tmp_path
        / "env"
        / "lib"
        / "python3.12"
        / "site-packages"
        / "vllm-0.99.1.dist-info"
    ).mkdir(parents=True)
    monkeypatch.setenv("MEDICAL_TASKS_VLLM", str(program))
    assert texts("ok")["vllm-server"].startswith(f"vllm 0.99.1 in {program}")
