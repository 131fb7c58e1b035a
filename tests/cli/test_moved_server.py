"""A run that goes on at a server that is at another address now."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from tests.fault_server import FaultServer

pytestmark = pytest.mark.usefixtures("demo_home")

WORDS = "run --tasks medcalc --config demo --max-samples 3 --out r --model openai-api/test-host/m"


def run(server: FaultServer, monkeypatch: pytest.MonkeyPatch, args: str = "") -> int:
    monkeypatch.setenv("TEST_HOST_BASE_URL", server.base_url)
    monkeypatch.setenv("TEST_HOST_API_KEY", "k")
    return main([*WORDS.split(), *(["--model-args", args] if args else [])])


def test_it_is_told_how_the_address_is_made_no_part_of_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FaultServer() as first, FaultServer() as second:
        assert run(first, monkeypatch) == 0
        assert run(first, monkeypatch) == 0
        assert "served=" not in capsys.readouterr().err
        assert run(second, monkeypatch) == 0  # all is asked again, and that is said
        assert len(second.calls) == 3
        assert f"an address other than {second.base_url}" in capsys.readouterr().err

        named = f"base_url={first.base_url}"
        # the folder has answers without such a setting
        assert run(first, monkeypatch, named) == 2
        Path("r").rename("other")
        assert run(first, monkeypatch, named) == 0
        assert run(second, monkeypatch, f"base_url={second.base_url}") == 2
        assert "Only the server's address differs" in capsys.readouterr().err
        Path("r").rename("old")
        assert run(first, monkeypatch, f"{named},served=mine") == 0
        assert run(second, monkeypatch, f"base_url={second.base_url},served=mine") == 0
        assert len(second.calls) == 3
