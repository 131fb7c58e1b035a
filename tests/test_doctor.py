from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from medical_tasks.cli import main
from medical_tasks.doctor import examine


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Package versions that the examined environment pretends to have; None is absent."""
    pretended: dict[str, str | None] = {}
    true_version = importlib.metadata.version

    def version(package: str) -> str:
        if package in pretended:
            value = pretended[package]
            if value is None:
                raise importlib.metadata.PackageNotFoundError(package)
            return value
        return true_version(package)

    monkeypatch.setattr(importlib.metadata, "version", version)
    return pretended


def texts(level: str) -> dict[str, str]:
    return {finding.subject: finding.text for finding in examine() if finding.level == level}


@pytest.mark.parametrize(
    ("package", "version", "subject", "step"),
    [
        ("huggingface-hub", "2.4.0", "huggingface-hub version", "pip install 'huggingface-hub<2'"),
        ("xxhash", "4.0.0", "xxhash version", "pip install 'xxhash<4'"),
        ("lighteval", "0.14.0", "lighteval version", "pip install lighteval==0.13.0"),
    ],
)
def test_versions_that_break_are_warned_of(
    versions: dict[str, str | None], package: str, version: str, subject: str, step: str
) -> None:
    versions[package] = version
    assert step in texts("warning")[subject]
    assert main(["doctor"]) == 3


def test_the_pinned_versions_give_no_warning() -> None:
    assert texts("warning") == {}


@pytest.mark.parametrize(("package", "extra"), [("torch", "lighteval"), ("inspect-ai", "inspect"), ("vllm", "vllm")])
def test_a_missing_part_is_named_with_the_way_to_get_it(
    versions: dict[str, str | None], package: str, extra: str
) -> None:
    versions[package] = None
    assert f"{package} not installed" in texts("missing")[extra]
    assert f"pip install 'medical-tasks[{extra}]'" in texts("missing")[extra]


def test_processes_that_do_not_see_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a GPU")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    assert "ACCELERATE_USE_CPU=true" in texts("warning")["processes"]


def test_data_that_is_not_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path))
    assert "official data not built" in texts("missing")["dataset medcalc_bench"]
