from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import JudgeOptions, Verdict
from medical_tasks.judges.case import NO_PAIR, UNREADABLE
from medical_tasks.judges.nli_sets import LabelledPair, nli_question
from medical_tasks.judges.session import next_step, open_session

QUESTION = nli_question(LabelledPair(id="p", premise="Tea is warm.", hypothesis="Tea is warm.", label="entailment"))


def test_a_judge_is_opened_asked_and_kept(tmp_path: Path) -> None:
    for from_store in (0, 1):
        with open_session("lexical", {}, JudgeOptions(), store=tmp_path / "s.sqlite", log_dir=tmp_path) as session:
            (outcome,) = session.ask([QUESTION])
            assert isinstance(outcome, Verdict)
            assert outcome.value == "entailment"
            assert session.stats.from_store == from_store


def test_one_that_reads_no_prompts_is_refused_where_they_are_needed(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    with (
        pytest.raises(UsageError, match="the judge lexical compares two texts and reads no instructions"),
        open_session("lexical", {}, JudgeOptions(), store=store, log_dir=tmp_path, must_read=True),
    ):
        pass
    assert not store.exists()


@pytest.mark.parametrize(
    ("reasons", "again", "lasting"),
    [
        (["judge: http 500"], True, False),
        ([UNREADABLE], False, True),
        ([f"{UNREADABLE} (no JSON)", NO_PAIR, "judge: prompt too long"], False, True),
        (["judge: timeout", UNREADABLE], True, True),
    ],
)
def test_what_can_be_done_about_missing_verdicts(reasons: list[str], again: bool, lasting: bool) -> None:
    said = next_step(reasons)
    assert ("same command again" in said) == again
    assert ("stays so with this judge" in said) == lasting


def test_what_a_file_of_verdicts_lacks_is_not_asked_for_again() -> None:
    said = next_step(["judge: not in the recorded verdicts", "judge: recorded for another question"])
    assert "does not hold the missing ones" in said
    assert "same command again" not in said
