from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa.construction.codes import (
    codes_from_file,
    expanding_task,
    load_post_codes,
    load_prompts,
    read_codes,
)
from medical_tasks.benchmarks.archehr_qa.construction.posts import filter_posts
from medical_tasks.cli.entry import main
from medical_tasks.errors import MedicalTasksError
from medical_tasks.judges.base import Unreadable
from medical_tasks.spec import Ask, Dialogue, Done, Item
from tests.benchmarks.archehr_qa.construction.own_files import SECRET, construct, write_csv, write_sources
from tests.fault_server import FaultServer

CASES = json.loads(Path(__file__).with_name("cases").joinpath("expand.json").read_text(encoding="utf-8"))

GOOD = json.dumps({"codes": [{"code": "n17.9", "description": "Acute kidney  failure"}]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    filter_posts(write_sources(tmp_path / "src") / "posts.csv", tmp_path / "own")
    return tmp_path / "own"


def test_replies_that_can_be_used_and_those_that_cannot() -> None:
    assert read_codes(GOOD) == {"N17.9": "Acute kidney failure"}
    assert read_codes(f"```json\n{GOOD}\n```") == read_codes(GOOD)
    assert read_codes('{"codes": []}') == {}
    twice = {"codes": [{"code": "I10", "description": "a"}, {"code": "i10", "description": "b"}]}
    assert read_codes(json.dumps(twice)) == {"I10": "a"}
    for reply, problem in CASES["test_replies_that_cannot"]:
        found = read_codes(reply)
        assert isinstance(found, Unreadable)
        assert problem in found.problem


def test_asked_again_with_what_was_wrong() -> None:
    task = expanding_task(2)
    protocol = task.benchmark.open_protocol(task)
    item = Item(id="m1", fields={"text": 'They said "wait". </s>'}, groups={}, cluster="m1")
    opening = load_prompts(task).render(item)
    assert json.dumps('They said "wait". ')[:-1] in opening[0]["content"]
    assert "</s>" not in opening[0]["content"]

    def turn(*answers: str) -> object:
        (found,) = protocol.next_turns([Dialogue(item=item, opening=opening, answers=answers)], {})  # type: ignore[arg-type]
        return found

    again = turn("no")
    assert isinstance(again, Ask)
    assert "That cannot be used: no JSON" in again.messages[-1]["content"]
    assert turn("no", "") == Done(json.dumps({"failed": "no JSON"}))
    done = turn("no", GOOD)
    assert isinstance(done, Done)
    assert json.loads(done.text)["tries"] == 2


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(
        answer=lambda call: "nothing" if "wheeze" in call.body["messages"][0]["content"] else GOOD
    ) as opened:
        yield opened


def test_by_a_model(folder: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = ("--model", "openai-api/there/m", "--model-args", "base_url=http://192.0.2.1/v1")
    assert construct("expand", "--folder", folder, *elsewhere) == 4
    assert SECRET not in capsys.readouterr().err
    assert not (folder / "post_codes.jsonl").exists()
    model = ("--model", "openai-api/here/m", "--model-args", f"base_url={server.base_url},max_retries=0")
    assert construct("expand", "--folder", folder, *model, "--tries", 2) == 5
    said = capsys.readouterr()
    assert "2 of 3 messages have codes, 2 in all. Replies asked for again: 0." in said.out
    assert "1 of 3 messages have no usable reply:\n  m4: no JSON" in said.err
    assert SECRET not in said.out + said.err
    assert len(server.calls) == 4
    codes = load_post_codes(folder)
    assert codes == {"m1": ["Acute kidney failure"], "m2": ["Acute kidney failure"], "m4": []}
    made = json.loads((folder / "expand.json").read_text())
    assert made["posts"]["failed"] == {"no JSON": 1}
    assert SECRET not in (folder / "expand.json").read_text()
    # Again: nobody is asked; another model is refused.
    assert construct("expand", "--folder", folder, *model, "--tries", 2) == 5
    assert len(server.calls) == 4
    capsys.readouterr()
    assert construct("expand", "--folder", folder, "--model", "openai-api/here/other", *model[2:], "--tries", 2) == 2
    assert "descriptions were begun with other settings (model:" in capsys.readouterr().err


def test_options_that_make_no_sense_and_steps_of_the_other_benchmark(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, message in CASES["test_options_that_make_no_sense"]:
        assert construct("expand", "--folder", folder, *words) == 2
        assert message in capsys.readouterr().err
    assert construct("generate", "--folder", "x") == 2
    assert (
        "construct archehr has the steps filter, expand, align, sheet, import, agreement, got generate"
        in capsys.readouterr().err
    )
    assert main(["construct", "ehrnoteqa", "align", "--folder", "x"]) == 2
    assert "construct ehrnoteqa has the steps sample, generate" in capsys.readouterr().err


def test_codes_of_a_file(folder: Path, tmp_path: Path) -> None:
    header = ("id", "code", "description")
    table = write_csv(tmp_path / "a.csv", header, [("m1", "I10", "x"), ("m1", "I10", "y"), ("z", "I10", "x")])
    made = codes_from_file(folder, table)
    assert (made["with_codes"], made["codes"], made["rows_of_others"]) == (1, 1, 1)
    assert load_post_codes(folder)["m1"] == ["x"]
    (folder / "post_codes.jsonl").write_text("{}\n")
    with pytest.raises(MedicalTasksError, match=r"post_codes.jsonl: was changed since it was written"):
        load_post_codes(folder)
    for rows, message in (
        ([("z", "I10", SECRET)], "names none of the 3 messages"),
        ([("m1", "I10", "")], "row 1: code and"),
    ):
        with pytest.raises(MedicalTasksError, match=message):
            codes_from_file(folder, write_csv(tmp_path / "b.csv", header, rows))
