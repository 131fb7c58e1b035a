"""The notebook in `examples/` runs, and its stored output is current."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

NOTEBOOK = ROOT / "examples" / "five_minutes.ipynb"
# Names of folders and files hold a hash of their inputs, versions included.
_HASH = re.compile(r"\b[0-9a-f]{8}\b")


def shown(notebook: Any) -> list[list[str]]:
    """The text output of each code cell, without warnings of libraries, which hold paths of the machine."""
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    texts = [
        [output.get("text") or output.data["text/plain"] for output in outputs]
        for outputs in cells
    ]
    return [
        [_HASH.sub("HASH", text) for text in cell_texts if "site-packages" not in text]
        for cell_texts in texts
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_notebook_reproduces_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    written = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        run,
        timeout=300,
        startup_timeout=300,
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    assert len(shown(run)) == 7
    assert shown(run) == shown(written)
