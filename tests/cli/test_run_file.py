"""`run.yaml` repeats a run, and `--show-prompt` shows a prompt without asking a model."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import medical_tasks as mt
from medical_tasks.cli.entry import main, verbs
from medical_tasks.cli.parser import read
from medical_tasks.errors import UsageError
from medical_tasks.models.stand_ins import make_toy_model
from medical_tasks.options import Run
from medical_tasks.runs.run_file import RUN_FILE, write_run_file
from tests.case_tables import json_of

RUN = ["run", "--tasks", "medcalc,kqa", "--model", "baseline/random"]


def results(folder: str) -> Any:
    return json_of(Path(folder) / "results.json")


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Runs a command that must be a usage error; returns its message."""
    capsys.readouterr()
    assert main(words) == 2
    return capsys.readouterr().err


def test_a_run_is_repeated_by_its_own_file(demos: Path) -> None:
    data = ["--config", "demo", "--data", str(demos), "--max-samples", "4"]
    judge = ["--judge", "lexical", "--votes", "1"]
    assert main([*RUN, *data, *judge, "--out", "first"]) == 0
    content = yaml.safe_load(Path("first", RUN_FILE).read_text())
    assert content == {
        "tasks": "medcalc,kqa",
        "model": "baseline/random",
        "max_samples": 4,
        "out": "first",
        "config": "demo",
        "data": str(demos),
        "judge": "lexical",
        "votes": 1,
    }
    again = ["run", "--config-file", f"first/{RUN_FILE}"]
    assert main([*again, "--out", "second"]) == 0
    first, second = map(results, ("first", "second"))
    assert first["tasks"]["medcalc"]["metrics"] == second["tasks"]["medcalc"]["metrics"]
    # Options on the command line win, in any spelling.
    assert main([*again, "--out=third", "--max-sam", "2", "--tasks", "kqa"]) == 0
    third = results("third")
    assert list(third["tasks"]) == ["kqa"]
    assert third["tasks"]["kqa"]["coverage"]["asked"] == 2


def test_neither_attestations_nor_secrets_are_written(tmp_path: Path) -> None:
    options = Run(
        tasks="medcalc",
        model="openai-api/a/b",
        model_args={
            "api_key": "s3cret",
            "api_key_env": "MY_KEY",
            "max_tokens_field": "max_tokens",
            "extra_body": '{"authorization": "s3cret"}',
            "tokenizer": "gpt2",
        },
        judge_args={"password": "s3cret"},
        allow_remote=("host.example",),
        attest_zero_retention=True,
        forecast=True,
    )
    write_run_file(tmp_path, options)
    text = (tmp_path / RUN_FILE).read_text()
    assert "s3cret" not in text
    assert "host.example" not in text
    left_out = text.partition("may be a secret: ")[2].partition(".\n")[0].split(", ")
    assert sorted(left_out) == [
        "judge_args.password",
        "model_args.api_key",
        "model_args.extra_body",
    ]
    assert yaml.safe_load(text)["model_args"] == {
        "api_key": None,
        "extra_body": None,
        "api_key_env": "MY_KEY",
        "max_tokens_field": "max_tokens",
        "tokenizer": "gpt2",
    }


def test_a_run_with_a_secret_is_repeated_only_with_its_value(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model_args = {"api_key": "s3cret", "temperature": "0.7"}
    options = Run(tasks="medcalc", model="openai-api/a/b", model_args=model_args)
    write_run_file(here, options)
    again = ["run", "--config-file", RUN_FILE]
    assert "run.yaml: model_args.api_key has no value" in refused(again, capsys)
    repeated = read(
        verbs()["run"], [*again[1:], "--model-args", "api_key=s3cret"]
    ).options()
    assert repeated == replace(options, model_args={"api_key": "s3cret"})


def test_an_option_replaces_no_other_with_the_same_prefix() -> None:
    Path(RUN_FILE).write_text(
        "{tasks: kqa, model: hf/a, model_args: {dtype: float16}, judge: lexical, "
        "judge_args: {temperature: 0.5}, judge_reply_tokens: 900}"
    )
    words = ["--config-file", RUN_FILE, "--model", "hf/b", "--judge", "hf/j"]
    options = read(verbs()["run"], [*words, "--judge-rep=800"]).options()
    assert options == Run(
        tasks="kqa",
        model="hf/b",
        model_args={"dtype": "float16"},
        judge="hf/j",
        judge_args={"temperature": "0.5"},
        judge_reply_tokens=800,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle: x", "'modle' is not an option of run. Did you mean 'model'? Its options: tasks"),
        ("attest_zero_retention: true", "cannot be set in a file. Give --attest-zero-retention on"),
        ("show-prompt: x", "cannot be set in a file"),
        ("- a\n- b", "must be keys and values. It has the options of `run`"),
        ("a: [", "is not YAML, line 1"),
        ("batch: maybe", "batch is true or false, got 'maybe'"),
        ("model: [a, b]", "model is one value, got a list"),
        ("role: [null]", "role has no value"),
        ("\x00", "is not YAML"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_refused(
    capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    Path("run.yaml").write_text(text)
    error = refused(["run", "--config-file", "run.yaml"], capsys)
    assert "error: run.yaml: " in error
    assert message in error


def test_a_file_may_be_written_by_hand(demos: Path) -> None:
    Path("mine.yaml").write_text(
        f"tasks: medcalc\nmodel: baseline/random\nmax-samples: 3\nconfig: demo\ndata: {demos}\n"
        "task_args:\nsubset:\nbatch: false\n"
    )
    assert main(["run", "--config-file=mine.yaml", "--out", "done"]) == 0
    assert results("done")["tasks"]["medcalc"]["coverage"]["asked"] == 3


def test_a_prompt_is_shown_and_nobody_is_asked(
    demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--config", "demo", "--data", str(demos)]
    model = ["--model", "openai-api/nowhere/m"]  # has no address, and does not need it
    tasks = ["run", "--tasks", "medcalc,kqa", *model, *data]
    assert main([*tasks, "--show-prompt", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["task"], shown["item"], shown["text"]) == ("medcalc", "1", "")
    assert "anion gap" in shown["messages"][-1]["content"]
    assert main([*tasks, "--show-prompt", "9c661f6f5f459bf9"]) == 0
    output = capsys.readouterr().out
    assert output.startswith(
        "kqa, item '9c661f6f5f459bf9', for openai-api/nowhere/m, as"
    )
    assert "[user]\nCan I take ibuprofen" in output
    assert not Path("runs").exists()
    assert main([*tasks, "--show-prompt", "9c661f6f5f459bf8"]) == 2
    assert "Did you mean '9c661f6f5f459bf9'?" in capsys.readouterr().err
    second_shard = ["--show-prompt", "--shard", "2/2", "--max-samples", "1"]
    assert "has no item" in refused([*tasks, *second_shard], capsys)
    credentialed = [
        "run",
        "--tasks",
        "ehrnoteqa_mc_level1",
        *model,
        *data,
        "--show-prompt",
    ]
    assert main(credentialed) == 4
    captured = capsys.readouterr()
    assert "only shown on a terminal" in captured.err
    assert captured.out == ""


def test_the_prompt_of_a_local_model_uses_its_chat_template(demos: Path) -> None:
    pytest.importorskip("transformers")
    make_toy_model(Path("toy"), texts=["What is the anion gap?", "Answer: 12"])
    shown = mt.show_prompt("kqa", "hf/toy", config="demo", data=demos)
    (message,) = shown.messages
    assert message["content"] in shown.text
    assert shown.text != message["content"]
    assert str(shown).endswith(shown.text)
    with pytest.raises(UsageError, match="no item of kqa has this id"):
        mt.show_prompt("kqa", "hf/toy", "17", config="demo", data=demos)


def test_a_prompt_is_shown_as_the_run_would_shorten_it(demos: Path) -> None:
    pytest.importorskip("lighteval")
    make_toy_model(Path("toy"), texts=["Discharge summary", "Answer: B"])

    def shown(max_length: int, **options: Any) -> Any:
        return mt.show_prompt(
            "ehrnoteqa_open_level1",
            "hf/toy",
            model_args={"max_length": max_length},
            max_new_tokens=10,
            config="demo",
            data=demos,
            **options,
        )

    whole = shown(100_000)
    assert whole.note == ""
    with pytest.raises(UsageError, match="do not fit the model's context"):
        shown(1000)

    cut = shown(1000, truncate="notes-from-the-oldest")
    assert len(cut.text) < len(whole.text)
    assert re.search(r"left out [\d,]+ words, so that the prompt fits", str(cut))
    unanswered = shown(1000, truncate="unanswered")
    assert unanswered.text == whole.text
    assert unanswered.note.endswith("so the run leaves it unanswered.")


def test_the_prompt_of_a_server_is_not_shortened_without_asking_it(demos: Path) -> None:
    shown = mt.show_prompt(
        "ehrnoteqa_open_level1",
        "openai-api/nowhere/m",
        model_args={"base_url": "http://127.0.0.1:9/v1"},
        truncate="notes-from-the-oldest",
        config="demo",
        data=demos,
    )
    assert "--truncate notes-from-the-oldest was not applied" in shown.note
