"""The Hub folders of the datasets, as they ship: their cards and Croissant files are generated, and checked to be.

The folders are data to this package. They are found as package data (`medical_tasks.hub_datasets`), in a checkout and in a
wheel alike, and nothing in them is imported.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from medical_tasks.building import dataset_source
from medical_tasks.card import card_text
from medical_tasks.catalog import datasets
from medical_tasks.croissant import croissant_text

__all__ = ["check_cards", "hub_folder", "write_cards"]


def hub_folder(name: str) -> Path:
    """Returns the Hub folder of a dataset (`build.py`, `README.md`, `croissant.json`).

    Args:
        name: of the dataset.
    """
    return Path(str(files("medical_tasks.hub_datasets"))) / name


def check_cards() -> list[str]:
    """Compares every checked-in card and Croissant file with what the sources say.

    Returns:
        One line a problem; empty when all is as generated.
    """
    problems: list[str] = []
    for name in datasets():
        folder = hub_folder(name)
        if not (folder / "build.py").is_file():
            problems.append(f"{folder / 'build.py'}: missing")
        for path, text in _generated(name).items():
            if not path.is_file():
                problems.append(f"{path}: missing; write it with `medical-tasks manifest --write`")
            elif path.read_text(encoding="utf-8") != text:
                problems.append(f"{path}: differs from its source; write it with `medical-tasks manifest --write`")
    return problems


def write_cards() -> list[Path]:
    """Writes every card and Croissant file that differs from what the sources say.

    Returns:
        The files written.
    """
    written: list[Path] = []
    for name in datasets():
        for path, text in _generated(name).items():
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
                written.append(path)
    return written


def _generated(name: str) -> dict[Path, str]:
    source = dataset_source(name)
    folder = hub_folder(name)
    return {folder / "README.md": card_text(source), folder / "croissant.json": croissant_text(source)}
