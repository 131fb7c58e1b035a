"""Options of other harnesses get an answer that names ours."""

from __future__ import annotations

import re

import pytest

from medical_tasks.cli.entry import OWN, main
from medical_tasks.cli.parser import declared
from medical_tasks.cli.peers import PEERS, answer

RUN = ["run", "--tasks", "medcalc", "--model", "baseline/random"]
VERBS = {verb.name: verb for verb in OWN}
ANSWERS = [
    (RUN, "--limit", "--limit (lm_eval and inspect) is --max-samples N or --subset N here"),
    (RUN, "--num_fewshot", "It is part of the task: choose one by its name"),
    (RUN, "--output_path", "is --out DIR here"),
    (RUN, "--batch_size", "is --model-args batch_size=16 here"),
    (RUN, "--log_samples", "Every answer is kept in the run's folder anyway"),
    (RUN, "--epochs=3", "is --repeats K here"),
    (RUN, "-T", "-T (inspect) is --task-args K=V,... here"),
    (RUN, "--max-eval-instances", "(HELM) is --max-samples N or --subset N here"),
    (RUN, "--save-details", "lighteval. Every answer is kept"),
    (["score", "kqa", "--responses", "a.csv"], "--limit", "is --subset N here"),
    (["score", "kqa", "--responses", "a.csv"], "--num_fewshot", "It is part of the task"),
    (["report", "a"], "--output_path", "is --out DIR here"),
    (RUN, "--max_samples", "there is no option --max_samples. Did you mean '--max-samples'?"),
    (["compare", "a", "b"], "--log_samples", "unrecognized arguments"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "option", "message"), ANSWERS)
def test_an_option_of_another_harness_is_answered(
    words: list[str], option: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*words, option, "3"])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_every_answer_names_existing_options() -> None:
    existing = {
        field.words
        for name in ("run", "score", "report")
        for field in declared(VERBS[name]).values()
    }
    named = {
        option
        for peer in PEERS.values()
        for text in (*peer.ours, peer.note)
        for option in re.findall(r"--[a-z][a-z-]+", text)
    }
    assert len(named) > 10
    assert named - existing == {"--plugin", "--config-file"}  # have no field
    run = {field.words for field in declared(VERBS["run"]).values()}
    assert [name for name in PEERS if not answer(f"--{name}", run)] == []
    assert [name for name in PEERS if f"--{name.replace('_', '-')}" in run] == []
