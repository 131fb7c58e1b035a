"""Cards, Croissant files and `eval.yaml` of the datasets' Hub folders: generated, checked in, and checked to agree."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from medical_tasks.benchmarks.catalog import datasets, tasks
from medical_tasks.data.building import dataset_source
from medical_tasks.data.card import card_text
from medical_tasks.data.croissant import croissant_text
from medical_tasks.data.hub_eval import eval_text
from medical_tasks.io.whole_file import read_text

__all__ = ["check_cards", "write_cards"]


def check_cards(root: Path | None = None) -> list[str]:
    """Compares every Hub folder with what the sources say.

    Args:
        root: folder of the Hub folders; by default the one that ships with the package.

    Returns:
        One line a problem, the files named; empty when all is as generated.
    """
    problems: list[str] = []
    place = root or _shipped()
    for name in datasets():
        script = place / name / "build.py"
        if not script.is_file():
            problems.append(f"{script}: missing; every dataset has its builder class there")
        for path, text in _generated(place, name).items():
            if not path.is_file():
                problems.append(f"{path}: missing; `medical-tasks manifest --write` makes it")
            elif read_text(path) != text:
                problems.append(f"{path}: not what its source says; `medical-tasks manifest --write` makes it anew")
        leaderboards = place / name / "eval.yaml"
        if leaderboards.is_file() and leaderboards not in _generated(place, name):
            problems.append(f"{leaderboards}: the dataset has no leaderboard; remove it")
    known = set(datasets())
    problems += [
        f"{path.parent}: belongs to no dataset of the suite"
        for path in sorted(place.glob("*/README.md"))
        if path.parent.name not in known
    ]
    return problems


def write_cards(root: Path | None = None) -> list[Path]:
    """Writes every generated file that differs from what the sources say.

    Args:
        root: folder of the Hub folders; by default the one that ships with the package.

    Returns:
        The files written.
    """
    written: list[Path] = []
    for name in datasets():
        for path, text in _generated(root or _shipped(), name).items():
            if not path.is_file() or read_text(path) != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                written.append(path)
    return written


def _shipped() -> Path:
    return Path(str(files("medical_tasks.hub_datasets")))


def _generated(root: Path, name: str) -> dict[Path, str]:
    source = dataset_source(name)
    texts = {
        "README.md": card_text(source),
        "croissant.json": croissant_text(source),
        "eval.yaml": eval_text(source.spec, tuple(tasks().values())),
    }
    return {root / name / file: text for file, text in texts.items() if text}
