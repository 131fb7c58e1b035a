from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import UsageError
from medical_tasks.judges.checks import (
    check_key,
    check_set_of,
    checks_file,
    describe,
    last_check,
    record_check,
)
from tests.case_tables import json_of, tables
from tests.support import ROOT

CASES = tables(__file__, "checks")
IDENTITY = {"kind": "chat", "model": "m"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def estimate(
    value: float | None, low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    return {"value": value, "ci_low": low, "ci_high": high, "n": 399}


def check(**changes: Any) -> dict[str, Any]:
    return {
        "set": "kqa", "date": "2026-11-21", "judge": "openai-api/h/m", "pairs": 399, "scored": 399, "ways": 3,
        "accuracy": estimate(0.834, 0.79, 0.87), "kappa": estimate(0.701, 0.63, 0.77), "pairwise": 0.8546, **changes,
    }  # fmt: skip


def test_a_judge_that_was_never_checked() -> None:
    assert last_check(IDENTITY, name="kqa") is None
    for settings, line in CASES["never checked"]:
        assert describe(None, **settings) == line


def test_check_sets_of_tasks() -> None:
    assert check_set_of(KQA) == "kqa"
    assert {check_set_of(task) for task in TASKS if task.judge} == {
        "ehrnoteqa_open",
        "ehrnoteqa_mc",
    }


@pytest.mark.parametrize(
    ("changes", "votes", "name", "line"), CASES["described in one line"]
)
def test_the_last_check_is_described_in_one_line(
    home: Path, changes: dict[str, Any], votes: int, name: str, line: str
) -> None:
    assert record_check(check_key(IDENTITY, votes=votes), check(**changes))
    assert checks_file() == home / "judge_checks.json"
    assert (
        describe(last_check(IDENTITY, votes=votes, name=name), judge="j", name=name)
        == line
    )


def test_a_check_belongs_to_identity_votes_mode_and_prompts() -> None:
    settings: dict[str, Any] = {"votes": 3, "mode": "batched", "prompts": "official"}
    record_check(check_key(IDENTITY, **settings), check())
    for same in (IDENTITY, dict(reversed(IDENTITY.items()))):
        assert last_check(same, **settings, name="kqa") == check()
    other_judge = {**IDENTITY, "temperature": "1"}
    assert last_check(other_judge, **settings, name="kqa") is None
    for change in ({"votes": 1}, {"mode": "single"}, {"prompts": "own"}):
        assert last_check(IDENTITY, **settings | change, name="kqa") is None


def last(name: str, field: str = "set", *, votes: int = 1) -> Any:
    """A field of the last check that applies to a benchmark."""
    latest = last_check(IDENTITY, votes=votes, name=name)
    assert latest is not None
    return latest[field]


def test_a_check_replaces_older_ones_unless_it_has_fewer_pairs() -> None:
    key = check_key(IDENTITY)
    record_check(key, check(set="anli", date="2026-12-01"))
    record_check(key, check(set="mednli", date="2026-12-02"))
    assert last("kqa") == "mednli"
    record_check(key, check(date="2026-01-01"))
    assert last("kqa") == "kqa"
    assert not record_check(key, check(date="2026-02-02", scored=10, pairs=10))
    assert last("kqa", "date") == "2026-01-01"
    assert record_check(key, check(date="2026-03-03"))
    assert last("kqa", "date") == "2026-03-03"


def test_each_benchmark_has_its_own_check() -> None:
    key = check_key(IDENTITY)
    # in the form from before there was another benchmark
    record_check(key, check(date="2026-01-01"))
    assert last_check(IDENTITY, name="ehrnoteqa_open") is None
    for name, date in (
        ("ehrnoteqa_open", "2026-12-01"),
        ("ehrnoteqa_mc", "2026-12-02"),
    ):
        record_check(key, check(set=name, ways=2, view="correctness", date=date))
    assert [last(name) for name in ("kqa", "ehrnoteqa_open")] == [
        "kqa",
        "ehrnoteqa_open",
    ]


def test_a_check_of_no_benchmark_applies_if_there_is_no_other() -> None:
    key = check_key(IDENTITY, votes=5)
    record_check(key, check(set="ehrnoteqa_mc"))
    for name in ("kqa", "ehrnoteqa_open"):
        assert last_check(IDENTITY, votes=5, name=name) is None
    record_check(key, check(set="anli"))
    assert last("ehrnoteqa_open", votes=5) == "anli"
    assert last("ehrnoteqa_mc", votes=5) == "ehrnoteqa_mc"


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "\x00" * 8,
        '{"format": 2, "checks": {}}',
        '{"format": 1, "checks": {"k": []}}',
        '{"format": 1, "checks": {"k": {"kqa": {"set": "kqa"}}}}',
        json.dumps(
            {"format": 1, "checks": {"k": {"kqa": check() | {"judge_kappas": "many"}}}}
        ),
        json.dumps(
            {
                "format": 1,
                "checks": {"k": {"kqa": check() | {"kappa": {"value": "high"}}}},
            }
        ),
    ],
)
def test_a_damaged_file_is_reported_and_never_overwritten(
    home: Path, content: str
) -> None:
    home.mkdir()
    checks_file().write_text(content, encoding="utf-8")
    record = last_check(IDENTITY, name="kqa")
    assert record is not None
    line = describe(record, judge="j", name="kqa")
    assert line.startswith("judge j: its checks cannot be read. ")
    assert "judge_checks.json: the record of checks is damaged" in line
    assert "Delete it" in line
    with pytest.raises(UsageError, match="damaged"):
        record_check(check_key(IDENTITY), check())
    assert checks_file().read_text(encoding="utf-8") == content


WRITER = """
import sys
from medical_tasks.judges.checks import check_key, record_check
for number in range(10):
    estimate = {"value": 0.5, "ci_low": None, "ci_high": None}
    record_check(check_key({"judge": f"{sys.argv[1]}-{number}"}), {"set": "kqa", "date": "2026-11-21", "judge": "j",
        "pairs": 1, "scored": 1, "ways": 3, "accuracy": estimate, "kappa": estimate, "pairwise": None})
"""


def test_checks_of_processes_that_write_at_once_are_all_kept(home: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(number)], cwd=ROOT)
        for number in range(4)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    content = json_of(checks_file())
    assert len(content["checks"]) == 40
    # no temporary file is left
    assert [path.name for path in home.iterdir()] == ["judge_checks.json"]
