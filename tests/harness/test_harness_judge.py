"""The judge of a harness's tasks: what is known of it before a model answers."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.harness.judging import HarnessJudge, harness_request


def judge() -> HarnessJudge:
    return HarnessJudge(harness_request())


def test_verdicts_of_a_judge_that_is_not_comparable_are_not_comparable_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not judge().comparable
    file = tmp_path / "verdicts.jsonl"
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", f"recorded/{file}")
    for about, comparable in (({"comparable": False}, False), ({}, True)):
        file.write_text(json.dumps({"id": "i/must/0", "value": "neutral", **about}), encoding="utf-8")
        assert judge().comparable is comparable


def test_what_a_judge_lacks_is_said_before_a_model_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path))
    one = judge()
    one.check(KQA)
    assert copy.deepcopy(one) is one
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE_VOTES", "3")
    with pytest.raises(UsageError, match="gives the same reply each time"):
        judge().check(KQA)
    monkeypatch.delenv("MEDICAL_TASKS_JUDGE_VOTES")
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", "openai-api/no-such-host/model")
    with pytest.raises(MissingError, match="NO_SUCH_HOST_BASE_URL"):
        judge().check(KQA)
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", f"recorded/{tmp_path / 'none.jsonl'}")
    with pytest.raises(MissingError, match="cannot read the recorded verdicts"):
        judge().check(KQA)
