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
    """Probes the sandbox, which takes a second, only once for all of these tests."""
    result = probe()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("medical_tasks.sandbox.probe.probe", lambda: result)
        yield


@pytest.fixture(autouse=True)
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Package versions that the examined environment pretends to have; None means absent.

    The suite also runs with versions newer than the pinned ones (`make check-newest`).
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


def finding_texts(level: str) -> dict[str, str]:
    return {
        finding.subject: finding.text for finding in examine() if finding.level == level
    }


@tabled("package", "version", "subject", "step")
def test_incompatible_versions_give_warnings(
    versions: dict[str, str | None], package: str, version: str, subject: str, step: str
) -> None:
    versions[package] = version
    assert step in finding_texts("warning")[subject]
    assert main(["doctor"]) == 3


def test_the_pinned_versions_give_no_warning_and_unbuilt_data_are_listed() -> None:
    assert finding_texts("warning") == {}
    assert (
        "the steps: medical-tasks build medcalc_bench"
        in finding_texts("optional")["dataset medcalc_bench"]
    )


@tabled("package", "extra", "step")
def test_a_missing_package_is_named_with_its_installation(
    versions: dict[str, str | None], package: str, extra: str, step: str
) -> None:
    versions[package] = None
    assert finding_texts("optional")[extra].startswith(package)
    assert step in finding_texts("optional")[extra].partition("): ")[2]


SPLIT = BuiltSplit(
    path="x/test.parquet", rows=1, sha256="0" * 64, file_bytes=1, num_bytes=1
)
CURRENT = BuiltConfig(
    version=DATASET.version, suite="0", source={}, splits={"test": SPLIT}
)
FROM_FILE = dataclasses.replace(CURRENT, source={"test_data.csv": "a" * 64})
GENERATED = dataclasses.replace(CURRENT, source={"seed": "7", "n": "1100"})


def outdated(config: BuiltConfig) -> BuiltConfig:
    return dataclasses.replace(config, version="0.0.1")


@pytest.fixture
def folder(here: Path) -> Path:
    """Where the dataset is looked for."""
    path = here / "home" / DATASET.name
    path.mkdir(parents=True)
    return path


def mark(folder: Path, **configs: BuiltConfig) -> None:
    (folder / MARKER).write_text(marker_text(DATASET.name, configs), encoding="utf-8")
    assert set(built_configs(folder)) == set(configs)


@pytest.mark.parametrize(
    ("config", "build", "command"),
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
def test_data_of_an_older_version_give_a_warning(
    folder: Path, config: str, build: BuiltConfig, command: str
) -> None:
    mark(folder, **{config: outdated(build)})
    warning = finding_texts("warning")["dataset medcalc_bench"]
    assert "built in version 0.0.1" in warning
    assert warning.endswith(f"Build it again: {command}")
    assert "dataset medcalc_bench" not in finding_texts("ok")
    assert main(["doctor"]) == 3


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The entries of the dataset's tasks in `list`."""
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
    assert finding_texts("ok")["dataset medcalc_bench"] == f"demo, verified in {folder}"
    assert "dataset medcalc_bench" not in finding_texts("warning") | finding_texts(
        "optional"
    )
    mark(folder, fresh=GENERATED, verified=outdated(FROM_FILE))
    assert finding_texts("warning")["dataset medcalc_bench"].startswith("verified in ")
    assert finding_texts("ok")["dataset medcalc_bench"] == f"fresh in {folder}"
    assert all(
        entry["built"] == ["fresh", "verified"] and entry["damaged"] == ""
        for entry in listed(capsys)
    )


def test_a_damaged_dataset_does_not_hide_the_other_findings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / MARKER).write_text("{", encoding="utf-8")
    assert (
        f"{folder / MARKER}: damaged"
        in finding_texts("warning")["dataset medcalc_bench"]
    )
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
    output = capsys.readouterr().out
    assert "medcalc_bench (open; damaged)" in output
    assert output.count(f"{folder / MARKER}: damaged") == 1
    assert "medcalc_bench: the official data is not built" not in output
    assert all(
        entry["built"] == [] and "damaged" in entry["damaged"]
        for entry in listed(capsys)
    )


def test_several_processes_without_a_common_accelerator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for invalid in ("x", "", "-1", "2.5"):
        monkeypatch.setenv("WORLD_SIZE", invalid)
        assert (
            f"WORLD_SIZE must be a whole number, got {invalid!r}"
            in finding_texts("warning")["processes"]
        )
    monkeypatch.setattr(examining, "_has_gpu", lambda: False)
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    for count, warned in (("1", False), ("2", True)):
        monkeypatch.setenv("WORLD_SIZE", count)
        assert (
            "ACCELERATE_USE_CPU=true" in finding_texts("warning").get("processes", "")
        ) is warned


def test_the_folders_are_shown_with_the_variable_that_set_them(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert finding_texts("folder")["datasets"] == f"{here}/home (MEDICAL_TASKS_DATA)"
    store = f"{here}/private/private (MEDICAL_TASKS_HOME)"
    assert finding_texts("folder")["private store"] == store
    monkeypatch.delenv("MEDICAL_TASKS_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(here / "xdg"))
    before = here / "xdg" / "medical-tasks" / "datasets"
    assert "datasets not read" not in finding_texts("folder")
    before.mkdir(parents=True)
    finding = finding_texts("folder")["datasets not read"]
    assert finding.endswith(
        f"Move them to {here}/private/datasets, or export MEDICAL_TASKS_DATA={before}"
    )
    main(["doctor"])
    assert f"\nFolders:\n  datasets: {here}/private/datasets (" in (
        capsys.readouterr().out
    )


def test_the_vllm_program_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_VLLM", str(tmp_path / "vllm"))
    assert "which is not a program" in finding_texts("optional")["vllm-server"]
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
    assert finding_texts("ok")["vllm-server"].startswith(f"vllm 0.99.1 in {program}")
