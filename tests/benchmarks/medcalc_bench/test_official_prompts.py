"""`--prompts official`: the authors' messages, read from a checkout as data, and worked examples that are test items."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.demo import demo_rows
from medical_tasks.benchmarks.medcalc_bench.official_prompts import (
    EXAMPLES as EXAMPLES_FILE,
)
from medical_tasks.benchmarks.medcalc_bench.official_prompts import read_code
from medical_tasks.benchmarks.medcalc_bench.prompts import load_prompts
from medical_tasks.benchmarks.medcalc_bench.spec import (
    MEDCALC,
    MEDCALC_CODE,
    MEDCALC_DIRECT,
    MEDCALC_ONE_SHOT,
    MEDCALC_OPEN_BOOK,
)
from medical_tasks.cli.entry import main
from medical_tasks.data.task_data import leaking_examples
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.results import read_items
from medical_tasks.spec import Item, TaskSpec
from tests.benchmarks.medcalc_bench.official_csv import v1_cells
from tests.benchmarks.medcalc_bench.official_tree import CODE, EXAMPLES, RUN, write_tree
from tests.case_tables import json_of, tables
from tests.fault_server import Call, FaultServer
from tests.support import SHARED, needs_shared

TABLES: dict[str, Any] = tables(__file__)

ITEMS = load_items(MEDCALC, demo_rows())
TASKS = (MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT, MEDCALC_CODE)


def item_with(note: str, question: str, calculator: int) -> Item:
    fields = {
        **ITEMS[0].fields,
        "patient_note": note,
        "question": question,
        "calculator_id": calculator,
    }
    return replace(ITEMS[0], fields=fields)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("tree"))


def test_the_messages_of_each_task(tree: Path) -> None:
    item = item_with("a {note} µ\r\n", "how {much}?", 2)
    messages = {
        task.name: load_prompts(task, "official", tree).render(item) for task in TASKS
    }
    assert json.loads(json.dumps(messages)) == TABLES["messages"]
    assert read_code(tree).tries == 20


# The example of calculator 24 has a question of its own.
@example(note="n", question="q?", calculator=24)
@given(
    note=st.text(max_size=60),
    question=st.text(max_size=30),
    calculator=st.integers(1, 69),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_messages_are_those_that_the_functions_of_the_file_would_return(
    tree: Path, note: str, question: str, calculator: int
) -> None:
    """The f-strings of the invented file (`official_run.txt`), written out here once more."""
    item, example = item_with(note, question, calculator), EXAMPLES[str(calculator)]
    example_question = "Another question?" if calculator == 24 else question
    system = (
        f"Doubled {{{{braces}}}} here.Such as:\n\n{example['Patient Note']}\n\nAsked:\n\n{example_question}\n\n"
        f'It is {{"answer": y}}:\n\n{json.dumps(example["Response"])}'
    )
    messages = load_prompts(MEDCALC_ONE_SHOT, "official", tree).render(item)
    assert [message["content"] for message in messages] == [
        system,
        f"Now:\n\n{note}\n\n{question}",
    ]


def test_the_recipe_has_the_hashes_of_git(tree: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("no git on this machine")
    files = {
        "medcalc": ["run.py"],
        "medcalc_direct": ["run.py"],
        "medcalc_one_shot": ["run.py", EXAMPLES_FILE],
        "medcalc_code": ["generate_code_prompt.py"],
    }
    for task in TASKS:
        prompts = load_prompts(task, "official", tree)
        paths = [tree / "evaluation" / name for name in files[task.name]]
        hashes = subprocess.run(
            ["git", "hash-object", *paths], capture_output=True, text=True, check=True
        ).stdout.split()
        names = [f"evaluation/{name}" for name in files[task.name]]
        assert prompts.settings == {"files": dict(zip(names, hashes, strict=True))}


def test_the_hash_covers_every_text(tmp_path: Path) -> None:
    before = {
        task.name: load_prompts(task, "official", write_tree(tmp_path)).sha256
        for task in TASKS
    }
    assert len(set(before.values())) == 4
    changes: list[tuple[Any, dict[str, Any]]] = [
        (MEDCALC, {"run": RUN.replace("Think", "Ponder")}),
        (MEDCALC_DIRECT, {"run": RUN.replace("{note}|", "{note}||")}),
        (MEDCALC_ONE_SHOT, {"run": RUN.replace("Another", "A further")}),
        (MEDCALC_ONE_SHOT, {"examples": {**EXAMPLES, "2": EXAMPLES["3"]}}),
        *(
            (MEDCALC_CODE, {"code": CODE.replace(text, "X")})
            for text in ("Say", "No code", "No print", "It wrote")
        ),
        (
            MEDCALC_DIRECT,
            {"run": RUN.replace("{note}|{question}", "{question}|{note}")},
        ),
    ]
    for task, files in changes:
        prompts = load_prompts(task, "official", write_tree(tmp_path, **files))
        assert prompts.sha256 != before[task.name], files


def test_nothing_of_a_checkout_is_run(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    side_effect = f"open({str(flag)!r}, 'w')\n"
    write_tree(tmp_path, run=RUN + side_effect, code=CODE + side_effect)
    modules = set(sys.modules)
    for task in TASKS:
        load_prompts(task, "official", tmp_path).render(ITEMS[0])
    assert not flag.exists()
    assert not {name for name in set(sys.modules) - modules if "run" in name.split(".")}


@pytest.mark.parametrize(
    ("file", "name", "old", "new", "expected"), TABLES["other_forms"]
)
def test_a_script_of_another_form_is_refused(
    tmp_path: Path, file: str, name: str, old: str, new: str, expected: str
) -> None:
    text = {"run": RUN, "code": CODE}[file]
    assert old in text
    write_tree(tmp_path, **{file: text.replace(old, new, 1)})
    task = next(task for task in TASKS if task.name == name)
    script = {"run": "run", "code": "generate_code_prompt"}[file]
    with pytest.raises(
        MissingError,
        match=rf"{script}\.py: not the authors' file .* expected .*{re.escape(expected)}",
    ) as error:
        load_prompts(task, "official", tmp_path)
    assert "ncbi-nlp/MedCalc-Bench" in str(error.value)
    assert error.value.exit_code == 3


def test_a_script_with_a_further_statement_is_accepted(tmp_path: Path) -> None:
    line = '                new_output = f"No code in {output}!"\n'
    assert line in CODE
    code = CODE.replace(line, f"{line}                continue\n")
    changed = load_prompts(MEDCALC_CODE, "official", write_tree(tmp_path, code=code))
    plain = load_prompts(MEDCALC_CODE, "official", write_tree(tmp_path))
    assert changed.sha256 == plain.sha256


@pytest.mark.parametrize(("content", "message"), TABLES["examples_of_another_form"])
def test_examples_of_another_form_are_refused(
    tmp_path: Path, content: Any, message: str
) -> None:
    write_tree(tmp_path, examples=content)
    with pytest.raises(
        MissingError,
        match=rf"{EXAMPLES_FILE}: not the authors' file of worked.*{re.escape(message)}",
    ):
        load_prompts(MEDCALC_ONE_SHOT, "official", tmp_path)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_folder_of_a_checkout(task: TaskSpec, tree: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give its folder with --upstream"):
        load_prompts(task, "official")
    with pytest.raises(
        MissingError, match=r"the authors. evaluation/\w+\.py is not there"
    ):
        load_prompts(task, "official", tmp_path)
    assert (
        load_prompts(task, "official", tree / "evaluation").sha256
        == load_prompts(task, "official", tree).sha256
    )


def test_the_open_book_has_no_official_prompts(tree: Path) -> None:
    with pytest.raises(
        UsageError,
        match="medcalc_open_book has no official prompts: the authors do not ask with",
    ):
        load_prompts(MEDCALC_OPEN_BOOK, "official", tree)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("run.py", MEDCALC),
        (EXAMPLES_FILE, MEDCALC_ONE_SHOT),
        ("generate_code_prompt.py", MEDCALC_CODE),
    ],
)
def test_a_file_that_is_not_utf_8_is_refused(
    tmp_path: Path, name: str, task: TaskSpec
) -> None:
    path = write_tree(tmp_path) / "evaluation" / name
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MissingError, match=re.escape(name)):
        load_prompts(task, "official", tmp_path)


def test_a_calculator_without_a_worked_example_is_named(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, examples={"999": EXAMPLES["2"]})
    prompts = load_prompts(MEDCALC_ONE_SHOT, "official", tree)
    with pytest.raises(
        MissingError,
        match=r"item 1: no worked example for calculator \d+ .*there is one for each of 999",
    ):
        prompts.render(ITEMS[0])


def test_an_example_that_is_the_item_itself_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item, other = ITEMS[0], ITEMS[1]
    key = str(item.fields["calculator_id"])
    spaced = "  ".join(item.fields["patient_note"].split(" "))
    examples = {**EXAMPLES, key: {**EXAMPLES["2"], "Patient Note": spaced}}
    prompts = load_prompts(
        MEDCALC_ONE_SHOT, "official", write_tree(tmp_path, examples=examples)
    )
    assert leaking_examples(MEDCALC_ONE_SHOT, prompts, [item, other]) == [item.id]
    assert (
        f"is the item itself, answer included, for 1 of 2 items: {item.id}."
        in capsys.readouterr().err
    )
    # Calculator 24: the same note under another question is another example.
    other_question = item_with("example 24 µ {x}", "q?", 24)
    same_question = item_with("example 24 µ {x}", "Another question?", 24)
    assert leaking_examples(MEDCALC_ONE_SHOT, prompts, [other_question]) == []
    assert leaking_examples(MEDCALC_ONE_SHOT, prompts, [same_question]) != []
    for task in (MEDCALC_ONE_SHOT, MEDCALC):
        assert leaking_examples(task, load_prompts(task), ITEMS) == []


@needs_shared
@pytest.mark.upstream
def test_the_authors_example_of_calculator_11_is_row_191(tmp_path: Path) -> None:
    folder = SHARED / "data" / "medcalc"
    write_tree(tmp_path, examples=(folder / EXAMPLES_FILE).read_text(encoding="utf-8"))
    prompts = load_prompts(MEDCALC_ONE_SHOT, "official", tmp_path)
    assert (
        prompts.settings["files"][f"evaluation/{EXAMPLES_FILE}"]
        == "233a26eeb3a45d6f34ad2e9d3a328e021c82b133"
    )
    items = [
        replace(
            item_with(row["Patient Note"], row["Question"], int(row["Calculator ID"])),
            id=row["Row Number"],
        )
        for row in v1_cells()
    ]
    assert leaking_examples(MEDCALC_ONE_SHOT, prompts, items) == ["191"]


def test_a_run_sends_the_official_messages_and_records_their_files(
    demos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    item = ITEMS[0]
    key = str(item.fields["calculator_id"])
    examples = {
        **EXAMPLES,
        key: {**EXAMPLES["2"], "Patient Note": item.fields["patient_note"]},
    }
    tree = write_tree(tmp_path, examples=examples)
    monkeypatch.setenv("SCRIPT_API_KEY", "x")

    def answer(call: Call) -> str:
        return '{\n "answer": "5"\n}'

    with FaultServer(answer=answer) as server:
        monkeypatch.setenv("SCRIPT_BASE_URL", server.base_url)
        arguments = [
            *("run", "--tasks", "medcalc,medcalc_direct,medcalc_one_shot"),
            *("--config", "demo", "--data", str(demos)),
            *("--model", "openai-api/script/m"),
            *("--prompts", "official", "--upstream", str(tree)),
            *("--out", str(tmp_path / "out")),
        ]
        assert main(arguments) == 0
        messages = [json.dumps(call.body["messages"]) for call in server.calls]
    expected = [
        json.dumps(load_prompts(task, "official", tree).render(demo_item))
        for task in (MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT)
        for demo_item in ITEMS
    ]
    assert sorted(messages) == sorted(expected)
    recipes = {
        name: entry["recipe"]
        for name, entry in json_of(tmp_path / "out" / "results.json")["tasks"].items()
    }
    assert recipes["medcalc_one_shot"]["leaking_examples"] == [item.id]
    assert "leaking_examples" not in recipes["medcalc"]
    assert list(recipes["medcalc"]["prompts"]["settings"]["files"]) == [
        "evaluation/run.py"
    ]
    assert f"for 1 of {len(ITEMS)} items: {item.id}." in capsys.readouterr().err


def test_copying_the_example_is_a_baseline(demos: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    run = [
        *("run", "--config", "demo", "--data", str(demos)),
        *("--model", "baseline/copy-example"),
    ]
    for name, options in (
        ("own", []),
        ("official", ["--prompts", "official", "--upstream", str(tree)]),
    ):
        out = str(tmp_path / name)
        assert main([*run, "--tasks", "medcalc_one_shot", *options, "--out", out]) == 0
        results = json_of(tmp_path / name / "results.json")
        recipe = results["tasks"]["medcalc_one_shot"]["recipe"]
        prompts = load_prompts(MEDCALC_ONE_SHOT, name, tree)
        assert recipe["baseline"] == {"prompts": name, "sha256": prompts.sha256}
    answers = {row["parsed"] for row in read_items(tmp_path / "official")}
    assert {answer for answer in answers if answer[:1].isdigit()} == {"1"}
    assert main([*run, "--tasks", "medcalc", "--out", str(tmp_path / "no")]) == 2
