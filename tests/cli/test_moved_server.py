"""A run that resumes at a server whose address has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from tests.fault_server import FaultServer

pytestmark = pytest.mark.usefixtures("demo_home")

WORDS = "run --tasks medcalc --config demo --max-samples 3 --out r --model openai-api/test-host/m"


def run(server: FaultServer, monkeypatch: pytest.MonkeyPatch, args: str = "") -> int:
    monkeypatch.setenv("TEST_HOST_BASE_URL", server.base_url)
    return main([*WORDS.split(), *(["--model-args", args] if args else [])])


def test_the_note_names_the_setting_that_excludes_the_address_from_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FaultServer() as first, FaultServer() as second:
        assert run(first, monkeypatch) == 0
        assert run(first, monkeypatch) == 0
        assert "served=" not in capsys.readouterr().err
        assert (
            run(second, monkeypatch) == 0
        )  # all questions are asked again, with a note
        assert len(second.calls) == 3
        assert f"an address other than {second.base_url}" in capsys.readouterr().err

        model_args = f"base_url={first.base_url}"
        # the folder has answers without such a setting
        assert run(first, monkeypatch, model_args) == 2
        Path("r").rename("other")
        assert run(first, monkeypatch, model_args) == 0
        assert run(second, monkeypatch, f"base_url={second.base_url}") == 2
        assert "Only the server's address differs" in capsys.readouterr().err
        Path("r").rename("old")
        assert run(first, monkeypatch, f"{model_args},served=mine") == 0
        assert run(second, monkeypatch, f"base_url={second.base_url},served=mine") == 0
        assert len(second.calls) == 3
