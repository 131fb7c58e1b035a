from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.base import JudgeOptions, Verdict
from medical_tasks.judges.case import NO_PAIR, UNREADABLE
from medical_tasks.judges.chat import CHAT_JUDGE_OPTIONS
from medical_tasks.judges.check_sets import LabelledPair, nli_question
from medical_tasks.judges.session import (
    NEUTRAL_JUDGE_ARGS,
    judge_kinds,
    next_step,
    open_judge,
    open_session,
)
from tests.support import ROOT

URL = {"base_url": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize("name", ["gpt-4", "lexical/x", "nli", "nli/"])
def test_the_message_about_an_unknown_judge_lists_every_kind(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_judge(name, {}, log_dir=Path())
    message = str(caught.value)
    assert f"unknown judge {name!r}" in message
    assert judge_kinds()
    for prefix, kind in judge_kinds().items():
        assert kind.summary.startswith(prefix)
        assert message.count(f"\n  {kind.summary}") == 1


@pytest.mark.parametrize("votes", [1, 5])
def test_the_lexical_judge_is_opened_without_arguments(votes: int) -> None:
    judge = open_judge("lexical", {}, votes=votes, log_dir=Path())
    assert (judge.name, judge.comparable, judge.samples, judge.endpoint) == (
        "lexical",
        False,
        False,
        None,
    )


def test_a_running_vllm_server_can_be_a_judge() -> None:
    judge = open_judge("vllm-server/m", URL | {"n_choices": "true"}, log_dir=Path())
    assert (judge.name, judge.endpoint) == ("vllm-server/m", URL["base_url"])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "lexical",
            {"temperature": "1", "x": "2"},
            "has no arguments, got temperature, x",
        ),
        (
            "transformers-server/x",
            URL,
            "unknown judge argument 'base_url' for transformers-server/x",
        ),
        ("openai-api/only-a-host", URL, "openai-api/<host alias>/<model>"),
        ("inspect/only-a-provider", {}, "inspect/<provider>/<model>"),
        ("nli//no/such/folder", {}, "no such folder"),
        ("recorded/verdicts.jsonl", {}, "read without opening a judge"),
    ],
)
def test_messages_about_names_and_arguments_of_every_kind(
    name: str, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises((UsageError, MissingError), match=message):
        open_judge(name, options, log_dir=tmp_path)


@pytest.mark.parametrize(
    ("votes", "options", "temperature", "samples"),
    [
        (1, {}, "0.0", False),
        (5, {}, "1.0", True),
        (5, {"temperature": "0.3"}, "0.3", True),
        # the session then refuses several votes
        (5, {"temperature": "0"}, "0.0", False),
        (5, {"temperature": "none"}, None, True),
        # A server whose replies differ all the same: the request does not change.
        (5, {"temperature": "0", "varies": "true"}, "0.0", True),
    ],
)
def test_several_votes_sample_unless_a_temperature_is_set(
    votes: int, options: dict[str, str], temperature: str | None, samples: bool
) -> None:
    judge = open_judge("openai-api/h/m", URL | options, votes=votes, log_dir=Path())
    assert (judge.identity.get("temperature"), judge.samples) == (temperature, samples)


def test_arguments_that_change_no_verdict_are_neutral() -> None:
    assert {*CHAT_JUDGE_OPTIONS} - {"structured"} <= NEUTRAL_JUDGE_ARGS
    assert {
        "varies",
        "concurrency",
        "timeout",
        "total_time",
        "max_retries",
    } <= NEUTRAL_JUDGE_ARGS
    assert not NEUTRAL_JUDGE_ARGS & {
        "structured",
        "temperature",
        "top_p",
        "seed",
        "base_url",
        "flags",
        "dtype",
        "revision",
    }


@pytest.mark.parametrize(
    ("votes", "passed"),
    [(1, {"dtype": "auto"}), (3, {"dtype": "auto", "temperature": "1"})],
)
@pytest.mark.parametrize("name", ["hf/some/model", "vllm/some/model"])
def test_local_chat_models_are_wrapped(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    votes: int,
    passed: dict[str, str],
) -> None:
    opened: list[tuple[str, dict[str, str], Path]] = []

    def open_it(
        name: str, options: Mapping[str, str], *, log_dir: Path
    ) -> SimpleNamespace:
        opened.append((name, dict(options), log_dir))
        return SimpleNamespace(
            name=name,
            identity={"backend": "hf", "decoding": "temperature=1"},
            endpoint=None,
        )

    monkeypatch.setattr("medical_tasks.models.opening.open_model", open_it)
    judge = open_judge(name, {"dtype": "auto"}, votes=votes, log_dir=tmp_path)
    assert opened == [(name, passed, tmp_path)]
    assert (judge.name, judge.reads, judge.samples) == (name, "prompt", True)


def test_opening_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pathlib import Path; from medical_tasks.judges.session import open_judge\n"
        "open_judge('lexical', {}, log_dir=Path())\n"
        "open_judge('openai-api/h/m', {'base_url': 'http://127.0.0.1:1/v1'}, log_dir=Path())\n"
        "print(sorted({'torch', 'transformers', 'lighteval', 'openai', 'inspect_ai', 'datasets'} & set(sys.modules)))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == "[]"


QUESTION = nli_question(
    LabelledPair(
        id="p", premise="Tea is warm.", hypothesis="Tea is warm.", label="entailment"
    )
)


def test_a_session_stores_its_verdicts(tmp_path: Path) -> None:
    for from_store in (0, 1):
        with open_session(
            "lexical", {}, JudgeOptions(), store=tmp_path / "s.sqlite", log_dir=tmp_path
        ) as session:
            (outcome,) = session.ask([QUESTION])
            assert isinstance(outcome, Verdict)
            assert outcome.value == "entailment"
            assert session.stats.from_store == from_store


def test_a_judge_that_reads_no_prompts_may_be_refused(tmp_path: Path) -> None:
    store = tmp_path / "other.sqlite"
    with (
        pytest.raises(
            UsageError,
            match="the judge lexical compares two texts and reads no instructions",
        ),
        open_session(
            "lexical", {}, JudgeOptions(), store=store, log_dir=tmp_path, must_read=True
        ),
    ):
        pass
    assert not store.exists()


@pytest.mark.parametrize(
    ("reasons", "again", "lasting"),
    [
        (["judge: http 500"], True, False),
        ([f"{UNREADABLE} (no JSON)", NO_PAIR, "judge: prompt too long"], False, True),
        (["judge: timeout", UNREADABLE], True, True),
    ],
)
def test_next_step_for_missing_verdicts(
    reasons: list[str], again: bool, lasting: bool
) -> None:
    step = next_step(reasons)
    assert ("same command again" in step) == again
    assert ("stays so with this judge" in step) == lasting


def test_next_step_for_verdicts_that_a_file_lacks() -> None:
    step = next_step(
        ["judge: not in the recorded verdicts", "judge: recorded for another question"]
    )
    assert "does not hold the missing ones" in step
    assert "same command again" not in step
