"""`--prompts official`: the authors' messages, read from a checkout as data; examples that are test items."""

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
from medical_tasks.spec import Item
from tests.benchmarks.medcalc_bench.official_csv import v1_cells
from tests.benchmarks.medcalc_bench.official_tree import CODE, EXAMPLES, RUN, write_tree
from tests.case_tables import json_of, tables
from tests.fault_server import Call, FaultServer
from tests.support import SHARED, needs_shared

TABLES: dict[str, Any] = tables(__file__)

ITEMS = load_items(MEDCALC, demo_rows())
ASKED = (MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT, MEDCALC_CODE)


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


def test_the_messages_of_each_style(tree: Path) -> None:
    item = item_with("a {note} µ\r\n", "how {much}?", 2)
    assert read_code(tree).tries == 20
    said = {
        task.name: load_prompts(task, "official", tree).render(item) for task in ASKED
    }
    assert json.loads(json.dumps(said)) == TABLES["the_messages_of_each_style"]


@example(
    note="n", question="q?", calculator=24
)  # its example has a question of its own
@given(
    note=st.text(max_size=60),
    question=st.text(max_size=30),
    calculator=st.integers(1, 69),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_the_functions_of_the_file_would_make(
    tree: Path, note: str, question: str, calculator: int
) -> None:
    """The invented file's own f-strings, written out here once more."""
    item, example = item_with(note, question, calculator), EXAMPLES[str(calculator)]
    asked = "Another question?" if calculator == 24 else question
    system = (
        f"Doubled {{{{braces}}}} here.Such as:\n\n{example['Patient Note']}\n\nAsked:\n\n{asked}\n\n"
        f'It is {{"answer": y}}:\n\n{json.dumps(example["Response"])}'
    )
    messages = load_prompts(MEDCALC_ONE_SHOT, "official", tree).render(item)
    assert [message["content"] for message in messages] == [
        system,
        f"Now:\n\n{note}\n\n{question}",
    ]


def test_the_recipe_names_the_files_as_git_does(tree: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("no git on this machine")
    wanted = {
        "medcalc": ["run.py"],
        "medcalc_direct": ["run.py"],
        "medcalc_one_shot": ["run.py", EXAMPLES_FILE],
        "medcalc_code": ["generate_code_prompt.py"],
    }
    for task in ASKED:
        prompts = load_prompts(task, "official", tree)
        paths = [tree / "evaluation" / name for name in wanted[task.name]]
        told = subprocess.run(
            ["git", "hash-object", *paths], capture_output=True, text=True, check=True
        ).stdout
        names = [f"evaluation/{name}" for name in wanted[task.name]]
        assert prompts.settings == {
            "files": dict(zip(names, told.split(), strict=True))
        }


def test_every_text_is_in_the_hash(tmp_path: Path) -> None:
    before = {
        task.name: load_prompts(task, "official", write_tree(tmp_path)).sha256
        for task in ASKED
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
    ]
    for task, files in changes:
        assert (
            load_prompts(task, "official", write_tree(tmp_path, **files)).sha256
            != before[task.name]
        ), files
    moved = RUN.replace("{note}|{question}", "{question}|{note}")
    assert (
        load_prompts(MEDCALC_DIRECT, "official", write_tree(tmp_path, run=moved)).sha256
        != before["medcalc_direct"]
    )


def test_nothing_of_a_checkout_is_run(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    wicked = f"open({str(flag)!r}, 'w')\n"
    write_tree(tmp_path, run=RUN + wicked, code=CODE + wicked)
    modules = set(sys.modules)
    for task in ASKED:
        load_prompts(task, "official", tmp_path).render(ITEMS[0])
    assert not flag.exists()
    assert not {name for name in set(sys.modules) - modules if "run" in name.split(".")}


@pytest.mark.parametrize(
    ("file", "name", "old", "new", "expected"), TABLES["other_forms"]
)
def test_a_script_of_another_form_is_refused(
    tmp_path: Path, file: str, name: str, old: str, new: str, expected: str
) -> None:
    """A change without an expectation is one that does not matter."""
    text = {"run": RUN, "code": CODE}[file]
    assert old in text
    write_tree(tmp_path, **{file: text.replace(old, new, 1)})
    task = next(task for task in ASKED if task.name == name)
    if not expected:
        load_prompts(task, "official", tmp_path)
        return
    script = {"run": "run", "code": "generate_code_prompt"}[file]
    with pytest.raises(
        MissingError,
        match=rf"{script}\.py: not the authors' file .* expected .*{re.escape(expected)}",
    ) as told:
        load_prompts(task, "official", tmp_path)
    assert "ncbi-nlp/MedCalc-Bench" in str(told.value)
    assert told.value.exit_code == 3


@pytest.mark.parametrize(("content", "message"), TABLES["examples_of_another_form"])
def test_examples_of_another_form(tmp_path: Path, content: Any, message: str) -> None:
    write_tree(tmp_path, examples=content)
    with pytest.raises(
        MissingError,
        match=rf"{EXAMPLES_FILE}: not the authors' file of worked.*{re.escape(message)}",
    ):
        load_prompts(MEDCALC_ONE_SHOT, "official", tmp_path)


def test_no_file_no_folder_no_example_and_no_such_set(
    tree: Path, tmp_path: Path
) -> None:
    for task in ASKED:
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
    with pytest.raises(
        UsageError,
        match="medcalc_open_book has no official prompts: the authors do not ask with",
    ):
        load_prompts(MEDCALC_OPEN_BOOK, "official", tree)
    place = write_tree(tmp_path) / "evaluation"
    for name, task in (
        ("run.py", MEDCALC),
        (EXAMPLES_FILE, MEDCALC_ONE_SHOT),
        ("generate_code_prompt.py", MEDCALC_CODE),
    ):
        (place / name).write_bytes(b"\xff\xfe\x00")
        with pytest.raises(MissingError, match=re.escape(name)):
            load_prompts(task, "official", tmp_path)
        write_tree(tmp_path)
    prompts = load_prompts(
        MEDCALC_ONE_SHOT,
        "official",
        write_tree(tmp_path, examples={"999": EXAMPLES["2"]}),
    )
    with pytest.raises(
        MissingError,
        match=r"item 1: no worked example for calculator \d+ .*there is one for each of 999",
    ):
        prompts.render(ITEMS[0])


def test_an_example_that_is_the_item_is_found_by_its_text(
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
    dose = item_with("example 24 µ {x}", "q?", 24)
    assert leaking_examples(MEDCALC_ONE_SHOT, prompts, [dose]) == []
    assert (
        leaking_examples(
            MEDCALC_ONE_SHOT,
            prompts,
            [item_with("example 24 µ {x}", "Another question?", 24)],
        )
        != []
    )
    assert (
        leaking_examples(MEDCALC_ONE_SHOT, load_prompts(MEDCALC_ONE_SHOT), ITEMS) == []
    )
    assert leaking_examples(MEDCALC, load_prompts(MEDCALC), ITEMS) == []


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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    assert (
        main(
            [
                "build",
                "medcalc_bench",
                "--config",
                "demo",
                "--out",
                str(home / "medcalc_bench"),
            ]
        )
        == 0
    )
    return home


def test_a_run_sends_them_and_its_recipe_says_so(
    built: Path,
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
    tasks = "medcalc,medcalc_direct,medcalc_one_shot"

    def answer(call: Call) -> str:
        return '{\n "answer": "5"\n}'

    with FaultServer(answer=answer) as server:
        monkeypatch.setenv("SCRIPT_BASE_URL", server.base_url)
        words = [
            "run",
            "--tasks",
            tasks,
            "--config",
            "demo",
            "--data",
            str(built),
            "--model",
            "openai-api/script/m",
        ]
        assert (
            main(
                [
                    *words,
                    "--prompts",
                    "official",
                    "--upstream",
                    str(tree),
                    "--out",
                    str(tmp_path / "out"),
                ]
            )
            == 0
        )
        sent = [json.dumps(call.body["messages"]) for call in server.calls]
    expected = [
        json.dumps(load_prompts(task, "official", tree).render(each))
        for task in (MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT)
        for each in ITEMS
    ]
    assert sorted(sent) == sorted(expected)
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


def test_copying_the_example_is_a_baseline(built: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    words = [
        "run",
        "--config",
        "demo",
        "--data",
        str(built),
        "--model",
        "baseline/copy-example",
    ]
    for name, more in (
        ("own", []),
        ("official", ["--prompts", "official", "--upstream", str(tree)]),
    ):
        out = tmp_path / name
        assert (
            main([*words, "--tasks", "medcalc_one_shot", *more, "--out", str(out)]) == 0
        )
        recipe = json_of(out / "results.json")["tasks"]["medcalc_one_shot"]["recipe"]
        prompts = load_prompts(MEDCALC_ONE_SHOT, name, tree)
        assert recipe["baseline"] == {"prompts": name, "sha256": prompts.sha256}
        if name == "official":
            assert {
                row["parsed"] for row in read_items(out) if row["parsed"][:1].isdigit()
            } == {"1"}
    assert main([*words, "--tasks", "medcalc", "--out", str(tmp_path / "no")]) == 2
