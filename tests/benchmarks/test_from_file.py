"""Benchmarks from a YAML file and a table: their input, their scores, and their use in Python and harnesses."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import medical_tasks as mt
import medical_tasks.plugins as plugins
from medical_tasks.benchmarks.from_file.spec import TableBenchmark, made_from
from medical_tasks.catalog import task_spec
from medical_tasks.cli import main
from medical_tasks.errors import MedicalTasksError
from medical_tasks.judges.base import Judging, Question, Verdict
from medical_tasks.spec import Answer, Item, ItemScore, Scoring
from tests.case_tables import json_of
from tests.support import ROOT, run_in_shell

BASE = "name: aid\nfile: aid.csv\nlicence: CC0-1.0\n"
NUMBERS = "id,question,answer,part\n1,How much is 10 times 12.5?,125,sums\n2,Half of -7?,-3.5,halves\n"


def write_benchmark(folder: Path, form: str, table: str = NUMBERS) -> Path:
    (folder / "aid.csv").write_text(table, encoding="utf-8")
    (folder / "aid.yaml").write_text(BASE + form, encoding="utf-8")
    return folder / "aid.yaml"


def items_of(benchmark: TableBenchmark) -> list[Item]:
    (source,) = benchmark.sources()
    return benchmark.load_items(
        benchmark.tasks[0], list(source.read("own", "test", {}))
    )


def scored(benchmark: TableBenchmark, item: Item, *replies: str) -> list[ItemScore]:
    answers = [Answer(text=reply) for reply in replies]
    return benchmark.score_items(benchmark.tasks[0], [item] * len(replies), answers)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("answer: numbr\n", r"aid.yaml: answer: must be 'exact', .* or 'rubric', got 'numbr'\."),
        ("answer: number\ntolerence: {}\n", "tolerence: is no field of this form. Did you mean 'tolerance'"),
        ("answer: number\ncolumns: {anser: a}\n", "columns, anser: is no field of this form. Did you mean 'answer'"),
        ("answer: number\ntolerance: {rel: 5}\n", "tolerance, rel: must be less than or equal to 1, got 5"),
        ("answer: exact\ntolerance: {rel: 0.1}\n", "tolerance: is for answer: number alone, and answer is exact"),
        ("answer: exact\naccess: credentialed\n", "columns, id: credentialed questions need a column of ids"),
        ("answer: exact\nfold_case: [\n", "aid.yaml: is no YAML .* line 6"),
        ("answer: exact\nversion: one\n", "version: must be a valid integer, got 'one'"),
        ("answer: exact\nlicence: ours\n", "licence: must be one of Apache-2.0, .*, other, got 'ours'"),
        ("answer: exact\ninstructions: Reply.\n", "instructions: must have a column in braces"),
        ("answer: exact\ninstructions: '{question} {answer}'\n", "{answer} says what is right, which a model"),
        ("answer: exact\ncolumns: {groups: [question]}\n", "groups: question has a meaning of its own"),
        ("", "answer: is missing"),
        ("answer: exact\nfile: other.csv\n", "other.csv: no such file. Put it where"),
    ],
)  # fmt: skip
def test_a_wrong_yaml_file_is_named_by_key_rule_and_value(
    form: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--plugin", str(write_benchmark(tmp_path, form)), "list"]
    assert main(words) == (3 if "no such file" in message else 2)
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("form", "table", "message"),
    [
        ("answer: number\n", "question,answer\nHow many?,two\n",
            "row 2, column 'answer': must be a number without its unit, got 'two'"),
        ("answer: number\n", "question,reply\nHow many?,2\n", "aid.csv: has no column 'answer', which aid needs"),
        ("answer: choice\n", "question,choices,answer\nWhich?,a|b,C\n", "must be a letter from A to B, got 'C'"),
        ("answer: choice\n", "question,choices,answer\nWhich?,a,A\n", "must be 2 to 10 choices, got 1"),
        ("answer: rubric\n", "question,answer,criteria\nWhat?,Rest.,says rest\n",
            "row 2, column 'criteria': criterion 1 must be points and what earns them, such as 5: .*got 'says rest'"),
        ("answer: rubric\n", 'question,answer,criteria\nWhat?,Rest.,"5: says rest\ntwo: water"\n',
            "criterion 2 must be points and what earns them"),
        ("answer: rubric\n", "question,answer,criteria\nWhat?,Rest.,0: says rest\n",
            "criterion 1 must have points other than 0"),
        ("answer: rubric\n", 'question,answer,criteria\nWhat?,Rest.,"5: says rest\n-5: Says rest"\n',
            "must have each criterion once, so that a reply can earn all points, got 'says rest'"),
        ("answer: rubric\n", "question,answer,criteria\nWhat?,,5: says rest\n", "column 'answer': must be a text"),
        ("answer: rubric\n", "question,answer,criteria\nWhat?,<think>Rest.</think>,5: says rest\n",
            "column 'answer': is read as reasoning alone"),
        ("answer: rubric\ncolumns: {id: id}\n", "id,question,answer,criteria\n1,A?,Rest.,5: rest\n1,B?,Rest.,5: rest\n",
            "row 3, column 'id': must be unique, and is that of row 2"),
        ("answer: rubric\n", "question,answer,criteria\nWhat?,Rest.,-1: says rest\n", "must have a criterion with points above 0"),
        ("answer: exact\n", "question,answer\nWho?,\n", "column 'answer': must be a text"),
        ("answer: exact\ninstructions: '{question} {plce}'\n", "question,answer,place\nWho?,I,here\n",
            "no column 'plce'.*Did you mean 'place'"),
        ("answer: exact\n", "question,answer\nWho?,I\nWho?,You\n",
            "row 3, column 'question': must be unique, and is that of row 2"),
        ("answer: exact\n", "question,answer\nWho?,</think>\n", "is not read as the right answer"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_named_by_cell(
    form: str, table: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(MedicalTasksError, match=message):
        items_of(made_from(write_benchmark(tmp_path, form, table)))


def test_an_exact_answer_may_be_one_of_several(tmp_path: Path) -> None:
    table = "question,answer\nWhich vitamin?,Vitamin C|ascorbic acid\n"
    benchmark = made_from(write_benchmark(tmp_path, "answer: exact\n", table))
    (item,) = items_of(benchmark)
    right = (
        "It is known.\nAnswer: vitamin C.",
        "**Ascorbic  acid**",
        "<think>D?</think>Vitamin C",
    )
    wrong = ("Answer: vitamin D", "It is vitamin C.", "")
    values = [
        score.values["accuracy"] for score in scored(benchmark, item, *right, *wrong)
    ]
    assert values == [1.0] * 3 + [0.0] * 3
    assert re.fullmatch("q-[0-9a-f]{10}", item.id)
    strict = tmp_path / "strict"
    strict.mkdir()
    benchmark = made_from(
        write_benchmark(strict, "answer: exact\nfold_case: false\n", table)
    )
    assert scored(benchmark, item, right[0])[0].values == {"accuracy": 0.0}


def test_one_letter_is_read_and_two_are_unclear(tmp_path: Path) -> None:
    table = "id,question,a,b,answer\n1,Which?,Rest,Walk,b\n"
    form = "answer: choice\ncolumns: {id: id, choices: [a, b]}\n"
    benchmark = made_from(write_benchmark(tmp_path, form, table))
    (item,) = items_of(benchmark)
    (message,) = benchmark.load_prompts(benchmark.tasks[0]).render(item)
    assert "Which?\n\nA. Rest\nB. Walk\n\n" in message["content"]
    right, wrong, unclear = scored(
        benchmark, item, "So the answer is B.", "Answer: A", "A or B"
    )
    assert [score.values["accuracy"] for score in (right, wrong, unclear)] == [
        1.0,
        0.0,
        0.0,
    ]
    assert unclear.limits == {"accuracy": (0.0, 1.0)}
    assert not right.unclear + wrong.unclear


def test_a_number_may_differ_by_the_larger_tolerance(tmp_path: Path) -> None:
    form = "answer: number\ntolerance: {abs: 1, rel: 0.02}\ncolumns: {id: id, groups: [part]}\n"
    benchmark = made_from(write_benchmark(tmp_path, form))
    first, second = items_of(benchmark)
    assert first.groups == {"part": "sums"}
    replies = (
        "Answer: 127.5",
        "The result is 122.6 mg.",
        "Answer: 128",
        "I cannot say.",
    )
    assert [
        score.values["accuracy"] for score in scored(benchmark, first, *replies)
    ] == [
        1,
        1,
        0,
        0,
    ]
    assert scored(benchmark, second, "Answer: -4.5", "-2.4")[0].values == {
        "accuracy": 1.0
    }


class WordJudge:
    """A judge that decides whether a reply contains a criterion's last word."""

    name, comparable, reads = "words", False, "prompt"

    def ask(self, questions: Sequence[Question]) -> list[Verdict]:
        return [
            Verdict(
                id=question.id,
                value=question.pair.hypothesis.split()[-1] in question.pair.premise,
                votes=(),
            )
            for question in questions
            if question.pair is not None
        ]


def test_a_rubric_has_points_with_their_signs(tmp_path: Path) -> None:
    table = 'question,answer,criteria\nBurn?,Use water.,"3: says water\n1: says cover\n-2: says butter"\n'
    benchmark = made_from(write_benchmark(tmp_path, "answer: rubric\n", table))
    (item,), (task,) = items_of(benchmark), benchmark.tasks
    judging = Judging(judge=WordJudge(), prompts=benchmark.load_judge_prompts(task))  # type: ignore[arg-type]
    answers = [
        Answer(text=text) for text in ("water, cover", "water, butter", "butter")
    ]
    scores = benchmark.score_items(task, [item] * 3, answers, Scoring(judging=judging))
    assert [score.values["points"] for score in scores] == [1.0, 0.25, -0.5]
    assert benchmark.unanswered_limits(task, item) == {"points": (-0.5, 1.0)}


CELLS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x17F, exclude_categories=["Cc", "Cf"]),
    min_size=1, max_size=30,
).filter(str.strip)  # fmt: skip
CHOICES = st.lists(
    st.text("abcdefghij -", min_size=1, max_size=12).filter(str.strip),
    min_size=2, max_size=10, unique_by=str.strip,
)  # fmt: skip
NUMBER = st.decimals(-(10**9), 10**9, allow_nan=False, places=3).map(
    lambda value: f"{value:f}"
)


@given(data=st.data())
def test_right_answers_of_any_accepted_table_score_1(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kind = data.draw(st.sampled_from(["exact", "choice", "number"]))
    rows = []
    for number in range(data.draw(st.integers(1, 4))):
        row: dict[str, object] = {"id": f"i{number}", "question": data.draw(CELLS)}
        choices = data.draw(CHOICES) if kind == "choice" else []
        letters = st.sampled_from("ABCDEFGHIJ"[: len(choices)]) if choices else CELLS
        row["answer"] = data.draw(NUMBER if kind == "number" else letters)
        rows.append(row | ({"choices": choices} if choices else {}))
    folder = tmp_path_factory.mktemp("law")
    text = "\n".join(map(json.dumps, rows))
    path = write_benchmark(folder, f"answer: {kind}\ncolumns: {{id: id}}\n", text)
    benchmark = made_from(path)
    try:
        items = items_of(benchmark)
    except MedicalTasksError as error:
        refused = re.search(
            "is not read as the right answer|must be a text", str(error)
        )
        if kind != "exact" or not refused:  # letters and numbers are always accepted
            raise
        return
    for item in items:
        (score,) = scored(
            benchmark, item, benchmark.gold_response(benchmark.tasks[0], item)
        )
        assert score.values == {"accuracy": 1.0}


def test_a_changed_table_must_be_built_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(folder: str, table: str) -> int:
        (here / folder).mkdir()
        path = write_benchmark(here / folder, "answer: number\n", table)
        command = f"--plugin {path} run --tasks aid --model baseline/reference --out runs/{folder}"
        return main(command.split())

    path = write_benchmark(here, "answer: number\n")
    assert main(f"--plugin {path} build aid".split()) == 0
    assert run("same", NUMBERS) == 0
    capsys.readouterr()
    assert run("other", NUMBERS.replace("125", "126")) == 2
    message = r"was built in version 1.0.\d+, .* again: medical-tasks --plugin aid.yaml build aid"
    assert re.search(message, capsys.readouterr().err)


def test_the_benchmark_runs_in_python_and_lighteval(here: Path) -> None:
    pytest.importorskip("lighteval")
    pytest.importorskip("inspect_ai")
    from medical_tasks.harness.lighteval_adapter import task_configs

    form = "answer: number\ncolumns: {id: id, groups: [part]}\n"
    with plugins.using([str(write_benchmark(here, form))]):
        mt.build("aid")
        results = mt.run("aid", "baseline/reference", out="run")
        assert results["aid"].metrics["accuracy"].value == 1.0
        assert "medical:aid" in [
            config.name for config in task_configs((task_spec("aid"),))
        ]
        assert (
            mt.score("aid", {"1": "125"}, out="scored")["aid"].metrics["accuracy"].n
            == 1
        )


def test_credentialed_questions_stay_private(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    form = "answer: exact\naccess: credentialed\ncolumns: {id: id}\n"
    table = "id,question,answer\n1,Why did the canary breeder come?,unopened letters\n"
    words = ["--plugin", str(write_benchmark(here, form, table))]
    assert main([*words, "build", "aid"]) == 0
    run = ["run", "--tasks", "aid", "--out", "run", "--model"]
    assert main([*words, *run, "baseline/reference"]) == 0
    away = "openai-api/elsewhere/m"
    monkeypatch.setenv("ELSEWHERE_API_KEY", "k")
    monkeypatch.setenv("ELSEWHERE_BASE_URL", "https://example.org/v1")
    assert main([*words, *run[:3], "--model", away, "--out", "away"]) == 4
    written = "".join(
        path.read_bytes().decode("utf-8", "replace")
        for path in (here / "run").rglob("*")
        if path.is_file()
    )
    assert written
    assert "canary" not in written + capsys.readouterr().err
    assert "unopened" not in written


@pytest.mark.slow
def test_the_commands_of_the_guide_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one in a shell, as a reader types it; the others in this process."""
    page = (ROOT / "docs" / "benchmark_of_your_own.md").read_text(encoding="utf-8")
    for name, text in re.findall(r"`(\w+\.\w+)`:\n\n```\w+\n(.*?)```", page, re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    shim = tmp_path / "medical-tasks"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m medical_tasks "$@"\n')
    shim.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "MEDICAL_TASKS_DATA": str(tmp_path / "data"),
    }
    lines = "".join(re.findall(r"```console\n(.*?)```", page, re.DOTALL)).splitlines()
    assert len(lines) >= 6
    first, *others = lines
    done = run_in_shell(first, cwd=tmp_path, environment=environment)
    assert done.returncode == 0, (first, done.stdout[-500:], done.stderr[-2000:])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    for line in others:
        program, *words = shlex.split(line)
        assert (program, main(words)) == ("medical-tasks", 0), line
    with (tmp_path / "doses.csv").open(encoding="utf-8") as file:
        rows = len(list(csv.DictReader(file)))
    results = json_of(tmp_path / "runs/right/results.json")
    metric = results["tasks"]["doses"]["metrics"]["accuracy"]
    assert (metric["value"], metric["n"]) == (1.0, rows)


TWO_QUESTIONS = "id,question,choices,answer\n1,A bone?,liver|femur|lung,B\n2,Treats pain?,ibuprofen|salt,A\n"


def test_choices_are_asked_in_every_order(tmp_path: Path) -> None:
    form = "answer: choice\ncolumns: {id: id}\n"
    benchmark = made_from(write_benchmark(tmp_path, form, TWO_QUESTIONS))
    (source,) = benchmark.sources()
    rows = list(source.read("own", "test", {}))
    task = benchmark.tasks[0].asked_with({"order": "all"})
    items = benchmark.load_items(task, rows)
    assert [item.id for item in items] == ["1@ABC", "1@BCA", "1@CAB", "2@AB", "2@BA"]
    golds = [Answer(text=benchmark.gold_response(task, item)) for item in items]
    scores = benchmark.score_items(task, items, golds)
    assert [score.values["accuracy"] for score in scores] == [1.0] * 5
    assert [scores[first].values["always_right"] for first in (0, 3)] == [1.0, 1.0]
    # A question with two choices has no position C, so C takes no choice.
    scores = benchmark.score_items(task, items, [Answer(text="Answer: C")] * 5)
    assert [scores[first].values["flip_rate"] for first in (0, 3)] == [1.0, 0.0]
    assert scores[0].values["place_preference_c"] == pytest.approx(2 / 3)
    assert math.isnan(scores[3].values["place_preference_c"])
