from __future__ import annotations

import pytest

from medical_tasks.benchmarks.kqa.prompts import DOCUMENTS_VARIABLE


@pytest.fixture(autouse=True)
def _no_documents_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DOCUMENTS_VARIABLE, raising=False)
