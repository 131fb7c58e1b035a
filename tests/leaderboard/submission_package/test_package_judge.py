"""The judge of a package asked again: over HTTP, about a sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.leaderboard.submission_package.reading import read_package
from tests.fault_server import Call, FaultServer
from tests.leaderboard.submission_package.conftest import Runs

JUDGE = "openai-api/judge-host/scripted"
RUN = ("kqa", "--model", "baseline/random", "--max-samples", "3", "--judge", JUDGE)


class Server:
    """A judge by the statement alone, who may have changed its mind."""

    def __init__(self) -> None:
        self.mind = 0
        self.server = FaultServer((), answer=self._answer)

    def _answer(self, call: Call) -> str:
        number = sha256(str(call.body["messages"][0]["content"]).encode()).digest()[0] + self.mind
        return json.dumps({"reason": "So it is.", "verdict": ("entailed", "contradicted", "neither")[number % 3]})


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server()
    with made.server as server:
        monkeypatch.setenv("JUDGE_HOST_BASE_URL", server.base_url)
        monkeypatch.setenv("JUDGE_HOST_API_KEY", "k")
        yield made


def test_the_judge_is_asked_again(
    judge: Server, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "judged.zip"
    package.write_bytes(runs.package(*RUN))
    recipe = read_package(package).results["tasks"]["kqa"]["recipe"]["judge"]
    assert (recipe["name"], recipe["base_url"]) == ("openai-api/[host]/scripted", "[address]")
    asked = ["verify", str(package), "--judge", JUDGE, "--sample", "2"]
    assert main(asked) == 0
    assert "asked again about 2 items: " in capsys.readouterr().out
    judge.mind = 1
    assert main(asked) == 6
    assert "0 of " in capsys.readouterr().out
    assert main([*asked[:2], "--judge", "openai-api/judge-host/another"]) == 2
    assert "is another judge than that of kqa: judge, model: 'scripted' in the package" in capsys.readouterr().err
    assert main(asked[:2]) == 0
    told = capsys.readouterr().out
    assert "was not asked again; give --judge" in told
    assert told.endswith(
        "The judge of kqa was not asked again: its verdicts are the submitter's word (--judge asks it).\n"
    )
