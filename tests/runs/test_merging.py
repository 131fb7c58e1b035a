"""Merged shards of a run give the same results as a single run of all items."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.store import Store
from medical_tasks.models.base import Answer, Failure, Length, OnResult, Request
from medical_tasks.options import read_settings
from medical_tasks.runs import evaluating
from medical_tasks.runs.folder import existing_run_folder
from tests.case_tables import tabled
from tests.report.tiny_runs import built
from tests.run_files import write_responses
from tests.support import GeneratesOnly, counts

TASKS = "medcalc,kqa"
NOTES = "ehrnoteqa_open_level1"
MODEL = "hf/scripted"
PRICES = "price_in=1,price_out=10"


class Scripted(GeneratesOnly):
    """Answers with words of the question; a few questions are too long. Kills its process after `dies_after` answers."""

    name, identity = MODEL, {"kind": "scripted"}

    def __init__(self, *, dies_after: int | None = None, more: str = "") -> None:
        self.dies_after, self.more = dies_after, more

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for number, request in enumerate(requests):
            words = request.messages[-1]["content"].split()
            if number == self.dies_after:
                os.kill(os.getpid(), signal.SIGKILL)
            if hashlib.sha256(request.key.encode()).digest()[0] < 24:
                on_result(Failure(key=request.key, reason="prompt too long", detail=""))
            else:
                text = " ".join([*words[:: max(1, len(words) // 12)], self.more])
                on_result(
                    Answer(
                        key=request.key,
                        text=text,
                        prompt_tokens=len(words),
                        output_tokens=12,
                        finish="stop",
                    )
                )

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        return [
            Length(tokens=len(request.messages[-1]["content"].split()), room=600)
            for request in requests
        ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("home"), "medcalc_bench", "kqa", "ehrnoteqa")


@pytest.fixture(autouse=True)
def scripted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(home))
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(home / "private"))
    monkeypatch.setattr(evaluating, "open_model", lambda *args, **kwargs: Scripted())


def run_shard(
    out: Path, shard: str | None = None, *, tasks: str = TASKS, **more: Any
) -> Path:
    if not out.exists():
        options = {"config": "demo", "max_samples": 14, "model_args": PRICES, **more}
        mt.run(tasks, MODEL, shard=shard, out=out, **options)
    return out


_TIMES = r'"(seconds|tokens_per_second|private)": [^,\n]*|[0-9.,]+ s( \([0-9.,]+ output tokens a second\))?[.;,]'


def file_texts(folder: Path) -> dict[str, str]:
    """Returns the texts of a run's files without durations."""
    names = [
        path.name
        for path in sorted(folder.iterdir())
        if path.suffix in (".json", ".jsonl", ".md")
    ]
    assert {"run.json", "results.json"} <= set(names)
    return {name: re.sub(_TIMES, "", (folder / name).read_text()) for name in names}


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_shards_that_cover_all_items_merge_into_the_whole_run(
    home: Path, data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, 5))
    others = data.draw(
        st.lists(
            st.sampled_from([f"{i}/{m}" for m in (2, 3) for i in range(1, m + 1)]),
            max_size=2,
        )
    )
    shards = data.draw(
        st.permutations([*(f"{i}/{n}" for i in range(1, n + 1)), *others])
    )
    folders = [
        run_shard(home / "parts" / shard.replace("/", "of"), shard) for shard in shards
    ]
    out = home / "merged" / "-".join(folder.name for folder in folders)
    mt.merge(*folders, out=out)
    assert file_texts(out) == file_texts(run_shard(home / "whole"))
    assert mt.Results(out)["medcalc"].entry["usage"]["cost_usd"] > 0


def run_and_kill(out: Path, shard: str, after: int) -> None:
    words = ["run", "--tasks", TASKS, "--model", MODEL, "--config", "demo"]
    words += ["--max-samples", "14", "--shard", shard]
    words += ["--model-args", PRICES, "--out", str(out)]
    code = (
        "import sys; from medical_tasks.cli.entry import main; from medical_tasks.runs import evaluating\n"
        "from tests.runs.test_merging import Scripted\n"
        f"evaluating.open_model = lambda *args, **kwargs: Scripted(dies_after={after})\nmain(sys.argv[1:])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, *words],
        check=False,
        capture_output=True,
        text=True,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr


def test_killed_shards_are_merged_with_their_answers_and_can_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = run_shard(tmp_path / "whole")
    parts = [tmp_path / f"part{i}" for i in range(1, 9)]
    for i, folder in enumerate(parts, start=1):
        if i in (2, 5):
            run_and_kill(folder, f"{i}/8", after=1)
        else:
            run_shard(folder, f"{i}/8")
    words = ["merge", *map(str, parts), "--out", str(tmp_path / "merged")]
    assert main(words) == 5
    output = capsys.readouterr().err
    assert "x no answer: not in the store" in output
    assert "They are in --shard 2/8, 5/8" in output
    for i in (2, 5):
        mt.run(
            TASKS,
            MODEL,
            config="demo",
            shard=f"{i}/8",
            out=parts[i - 1],
            max_samples=14,
            model_args=read_settings(PRICES),
        )
    # 5 if a question was too long for the whole run
    assert main(words) == main(["merge", str(whole), "--out", str(whole)])
    assert file_texts(tmp_path / "merged") == file_texts(whole)


def test_a_killed_merge_resumes_and_a_run_can_continue_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [run_shard(tmp_path / f"part{i}", f"{i}/2") for i in (1, 2)]
    out, put = tmp_path / "merged", Store.put

    def put_nine(store: Store, kind: str, key: str, *rest: Any, **more: Any) -> None:
        if counts(store, "answer")[0] == 9:
            raise KeyboardInterrupt
        put(store, kind, key, *rest, **more)

    monkeypatch.setattr(Store, "put", put_nine)
    with pytest.raises(KeyboardInterrupt):
        mt.merge(*parts, out=out)
    monkeypatch.setattr(Store, "put", put)
    mt.merge(parts[0], out=out)
    again = mt.run(
        TASKS,
        MODEL,
        config="demo",
        out=out,
        max_samples=14,
        model_args=read_settings(PRICES),
    )  # asks the other shard's questions
    whole = mt.Results(run_shard(tmp_path / "whole"))
    assert again["medcalc"].coverage == whole["medcalc"].coverage
    mt.merge(*parts, out=out)
    assert file_texts(out) == file_texts(whole.folder)


def answers(folder: Path) -> dict[str, str]:
    with Store(folder / "answers.sqlite") as store:
        return {
            key: record["text"]
            for kind, key, record in store.records()
            if kind == "answer"
        }


def test_shards_with_different_answers_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_shard(tmp_path / "first", "1/2")
    monkeypatch.setattr(
        evaluating, "open_model", lambda *args, **kwargs: Scripted(more="again")
    )
    other, last = (
        run_shard(tmp_path / "other", "1/3"),
        run_shard(tmp_path / "last", "2/2"),
    )
    with pytest.raises(
        UsageError,
        match=r"first and \S+other have different answers to the same questions \(medcalc: [0-9]+, ",
    ):
        mt.merge(first, other, last, out=tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    mt.merge(first, out=tmp_path / "merged")
    with pytest.raises(
        UsageError,
        match=r"merged and \S+other have different answers to the same questions \(medcalc: ",
    ):
        mt.merge(other, out=tmp_path / "merged")
    assert answers(tmp_path / "merged") == answers(first)


@tabled("more", "message")
def test_shards_of_another_run_are_refused(
    more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    first = run_shard(tmp_path / "first", "1/2")
    with pytest.raises(UsageError, match=rf"not parts of one run \({message}\)"):
        mt.merge(
            first, run_shard(tmp_path / "other", "2/2", **more), out=tmp_path / "merged"
        )
    with pytest.raises(
        UsageError,
        match=r"the parts had another judge \(name lexical and nli/x\)",
    ):
        mt.merge(first, out=tmp_path / "merged", judge="nli/x")
    with pytest.raises(UsageError, match="forecast: merge scores what the parts have"):
        mt.merge(first, out=tmp_path / "merged", forecast=True)
    with pytest.raises(UsageError, match="not from `medical-tasks run`"):
        mt.merge(
            mt.score("medcalc", first, out=tmp_path / "scored").folder,
            out=tmp_path / "merged",
        )


@pytest.mark.parametrize(
    "shard", ["0/3", "4/3", "3", "a/b", "1/3/3", "", "-1/2", "01/2"]
)
def test_invalid_shards_are_refused(shard: str, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=re.escape(
            f"shard must be i/n with i from 1 to n, such as 1/8, got {shard!r}."
        ),
    ):
        run_shard(tmp_path / "part", shard)


def test_a_shard_is_marked_and_cannot_be_submitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shard_run, other = (
        run_shard(tmp_path / "part", "2/3"),
        run_shard(tmp_path / "other", "1/3"),
    )
    assert "part 2/3 of the items (--shard)" in repr(mt.Results(shard_run))
    assert "shard differs: 2/3 and 1/3" in str(
        mt.compare(shard_run, run_shard(tmp_path / "same", "1/3")).content
    )
    assert main(["submit", str(other), "--to", "space", "--model-name", "x"]) == 2
    assert (
        "is part 1/3 of the items. Make one run of all parts" in capsys.readouterr().err
    )


def test_shards_of_a_sample_merge_into_the_whole_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample: dict[str, Any] = {
        "tasks": "medcalc",
        "subset": 13,
        "seed": 4,
        "max_samples": None,
    }
    whole = run_shard(tmp_path / "whole", **sample)
    parts = [run_shard(tmp_path / f"part{i}", f"{i}/2", **sample) for i in (1, 2)]
    merged = mt.merge(*parts, out=tmp_path / "merged")
    assert file_texts(merged.folder) == file_texts(whole)
    entry = mt.Results(whole)["medcalc"].entry
    assert (entry["n_items"], entry["recipe"]["subset"]["of"]) == (13, 31)
    assert "a random sample of 13 of 31 items (seed 4" in repr(mt.Results(whole))
    assert "sample" not in mt.Results(parts[0])["medcalc"].entry["metrics"]["accuracy"]
    assert entry["metrics"]["accuracy"]["sample"]["value"] is not None
    score: dict[str, Any] = {"config": "demo", "subset": 31, "out": tmp_path / "all"}
    mt.run("medcalc", "baseline/random", config="demo", out=tmp_path / "every")
    every = mt.score("medcalc", tmp_path / "every", **score)["medcalc"]
    accuracy = every.entry["metrics"]["accuracy"]
    assert (
        accuracy["value"]
        == accuracy["ci_low"]
        == accuracy["ci_high"]
        == accuracy["sample"]["value"]
    )
    answers = tmp_path / "answers.jsonl"
    write_responses(answers, dict.fromkeys(every.items["id"], "1"))
    few = mt.score("medcalc", answers, config="demo", subset=5, out=tmp_path / "few")
    mt.report(few, out=tmp_path / "few.html", responses=[answers])
    assert len(few["medcalc"].items) == 5
    assert "Answers are not shown" not in (tmp_path / "few.html").read_text()
    assert main(["score", "medcalc", "--responses", str(whole), "--subset", "5"]) == 2
    assert (
        "ran on some of the items, or several times; --subset draws from one whole run"
        in capsys.readouterr().err
    )
    assert main(["submit", str(whole), "--to", "space", "--model-name", "x"]) == 2
    assert "is a sample of 13 items (--subset)" in capsys.readouterr().err
    assert "the samples differ: " in str(mt.compare(whole, tmp_path / "every").content)


def test_credentialed_shards_stay_private_and_keep_their_truncation(
    home: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"tasks": NOTES, "truncate": "notes-from-the-oldest"}
    whole = run_shard(tmp_path / "whole", **options)
    parts = [run_shard(tmp_path / f"part{i}", f"{i}/3", **options) for i in (1, 2, 3)]
    merged = mt.merge(*parts, out=tmp_path / "merged")
    assert merged[NOTES].recipe["truncation"]["words_left_out"]
    assert file_texts(merged.folder) == file_texts(whole)
    assert not list(merged.folder.rglob("*.sqlite*"))
    assert existing_run_folder(merged.folder).answers.is_relative_to(home / "private")
    (existing_run_folder(parts[0]).answers).unlink()
    with pytest.raises(MissingError, match="the answers of .*part1 are missing"):
        mt.merge(*parts, out=tmp_path / "again")
