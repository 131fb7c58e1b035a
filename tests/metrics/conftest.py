from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all metrics, as users have it: the package in it is imported once a process."""
    return tmp_path_factory.mktemp("modules")


@pytest.fixture
def load_metric(
    modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], Any]:
    import evaluate

    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(modules))
    monkeypatch.syspath_prepend(str(modules))
    return lambda folder: evaluate.load(str(folder), cache_dir=str(tmp_path / "cache"))


@pytest.fixture
def metric(load_metric: Callable[[Path], Any], request: pytest.FixtureRequest) -> Any:
    """The metric in the module's `FOLDER`."""
    return load_metric(request.module.FOLDER)


@pytest.fixture
def card(request: pytest.FixtureRequest) -> str:
    """The card in the module's `FOLDER`."""
    text: str = (request.module.FOLDER / "README.md").read_text(encoding="utf-8")
    return text


@pytest.fixture
def card_output(card: str) -> str:
    """The result that the card shows for its first call."""
    block = re.split(r"gives(?:, among others,)?\n", card)[1].split("```")[1]
    return block.removeprefix("python\n")


def shortened(value: float, digits: int = 2) -> str:
    """A number as cards show it: cut after so many digits."""
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}..."


@pytest.fixture
def example(card: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The arguments of the first call in the card."""
    code = ast.parse(card.split("```python")[1].split("```")[0])
    function = f"{request.module.FOLDER.name}.compute"
    (call,) = [
        node
        for node in ast.walk(code)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == function
    ]
    return {
        str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords
    }
