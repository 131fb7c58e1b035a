"""A toy model for the tests of local models, and fixtures that open it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.models.base import Model
from tests.models.local_runs import Opener
from tests.models.tiny_embedder import make_bert
from tests.models.toy_texts import COMMIT, TEXTS

# Answers are compared token by token with those of one prompt alone, so they are
# generated on the CPU even where there is a GPU.
os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the toy; tests must not change it."""
    from medical_tasks.models.stand_ins import make_toy_model

    return make_toy_model(tmp_path_factory.mktemp("models") / "toy", TEXTS)


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT; tests must not change it."""
    return make_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture
def toy_copy(toy_model: Path, tmp_path: Path) -> Path:
    """A copy of the toy that a test may change."""
    return shutil.copytree(toy_model, tmp_path / "changed-toy")


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens `hf/` models and closes them at the end."""
    from medical_tasks.models import lighteval_models

    models: list[Model] = []

    def open_it(folder: Path, **options: str) -> Model:
        models.append(lighteval_models.open_hf(f"hf/{folder}", options=options))
        return models[-1]

    yield open_it
    for model in models:
        model.close()


@pytest.fixture(scope="module")
def default(toy_model: Path) -> Iterator[Any]:
    """The toy with default options; tests must not change it."""
    from medical_tasks.models import lighteval_models

    model = lighteval_models.open_hf(f"hf/{toy_model}", options={})
    yield model
    model.close()


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An offline Hub whose cache holds `clinic/tiny-llm` at one commit."""
    from huggingface_hub import constants

    cache = tmp_path / "hub"
    repository = cache / "models--clinic--tiny-llm"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache
