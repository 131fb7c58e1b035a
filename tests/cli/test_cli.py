from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.prompts import gold_response
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.cli.entry import main, verbs
from medical_tasks.data.task_data import load_task_data
from medical_tasks.runs.results import read_items
from tests.case_tables import tabled
from tests.cli.wrong_use import refuse, wrong_use
from tests.run_files import task_entry, write_responses
from tests.support import ROOT

pytestmark = pytest.mark.usefixtures("demo_home")


def golds(demos: Path) -> dict[str, str]:
    items = load_task_data(
        MEDCALC, DATASET, data=demos / "medcalc_bench", config="demo"
    ).items
    return {item.id: gold_response(MEDCALC, item) for item in items}


SCORE = ["score", "medcalc", "--config", "demo"]
RUN = ["run", "--tasks", "medcalc", "--config", "demo"]


@pytest.mark.parametrize(
    "spelling", ["medcalc", "medical|medcalc", "medical:medcalc", "medcalc|0"]
)
def test_the_gold_scores_the_maximum(
    spelling: str, demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_responses("gold.jsonl", golds(demos))
    responses = ["--config", "demo", "--responses", "gold.jsonl", "--out", "out"]
    assert main(["score", spelling, *responses]) == 0
    accuracy = task_entry("out", "medcalc")["metrics"]["accuracy"]
    assert accuracy["value"] == accuracy["ci_high"] == 1.0
    assert accuracy["ci_low"] < 1.0
    assert "100.0" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "results.json",
        "items.parquet",
        "report.md",
    }


def test_missing_responses_are_not_wrong_and_the_completed_file_is_scored(
    demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = golds(demos)
    words = [*SCORE, "--responses", "r.jsonl", "--out", "out"]
    write_responses("r.jsonl", dict(list(answers.items())[:10]))
    assert main(words) == 0
    entry = task_entry("out", "medcalc")
    missing = len(answers) - 10
    assert entry["coverage"]["unscored"] == {"no answer: none given": missing}
    assert entry["metrics"]["accuracy"]["value"] == 1.0
    assert entry["metrics"]["accuracy"]["bound_low"] == pytest.approx(10 / len(answers))
    captured = capsys.readouterr()
    assert f"{missing} x no answer: none given" in captured.out
    assert (
        f"note: medcalc: {missing} of {len(answers)} questions have no answer in the file. "
        "The values are over the other 10." in captured.err
    )
    assert "error" not in captured.err
    write_responses("r.jsonl", answers)
    assert main(words) == 0
    assert task_entry("out", "medcalc")["coverage"]["scored"] == len(answers)


def test_run_baseline_and_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, "--model", "baseline/reference", "--out", "a"]) == 0
    assert main([*RUN, "--model", "baseline/empty", "--out", "b"]) == 0
    capsys.readouterr()
    assert main(["compare", "a", "b", "--json"]) == 0
    metric = json.loads(capsys.readouterr().out)["medcalc"]["metrics"]["accuracy"]
    assert metric["difference"] == -1.0
    assert metric["ci_high"] < 0
    assert metric["mcnemar"]["p_exact"] < 1e-4
    assert main(["compare", "a", "b"]) == 0
    assert "-100.0" in capsys.readouterr().out
    # The same command keeps its folder, and another one is refused.
    assert main([*RUN, "--model", "baseline/reference", "--out", "a"]) == 0
    before = (tmp_path / "a" / "results.json").read_bytes()
    assert main([*RUN, "--model", "baseline/empty", "--out", "a"]) == 2
    assert "holds another run" in capsys.readouterr().err
    assert (tmp_path / "a" / "results.json").read_bytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux")
def test_a_file_name_that_is_not_text_is_accepted(demos: Path) -> None:
    odd = Path(os.fsdecode(b"resp_\xff.jsonl"))
    write_responses(odd, golds(demos))
    for _ in range(2):  # the second time the folder's settings are read back
        assert main([*SCORE, "--responses", str(odd), "--out", "out"]) == 0
    recipe = task_entry("out", "medcalc")["recipe"]
    assert recipe["model"]["name"] == f"responses/{odd}"


def test_the_only_configuration_of_a_folder_is_used(
    demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_responses("gold.jsonl", golds(demos))
    score = ["score", "medcalc", "--responses", "gold.jsonl"]
    assert main([*score, "--data", str(demos / "medcalc_bench")]) == 0
    assert "note: configuration demo, the only one in" in capsys.readouterr().err


def test_a_run_grows_in_its_folder_and_its_samples_are_nested(tmp_path: Path) -> None:
    samples = []
    empty = [*RUN, "--model", "baseline/empty", "--out", "a"]
    for number in (5, 9):
        assert main([*empty, "--max-samples", str(number)]) == 0
        samples.append({row["id"] for row in read_items(tmp_path / "a")})
    few, more = samples
    assert (len(few), len(more)) == (5, 9)
    assert few < more


def test_list_names_every_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in entries][:3] == [
        "medcalc",
        "medcalc_direct",
        "medcalc_one_shot",
    ]
    assert entries[0]["built"] == ["demo"]
    assert main(["list"]) == 0
    output = capsys.readouterr().out
    assert "medical:medcalc " in output
    assert "To get it:" in output


@wrong_use("cli")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refuse(line, code, message, capsys).startswith("error: ")


def test_plan_computes_how_many_items_are_needed(
    demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_plan(options: str) -> dict[str, Any]:
        assert (
            main(["plan", "medcalc", "--config", "demo", *options.split(), "--json"])
            == 0
        )
        return dict(json.loads(capsys.readouterr().out))

    # Exact McNemar; the normal approximation has 935.
    plan = run_plan("--difference 0.05 --agreement 0.7")
    assert (plan["beyond"]["items"], plan["items"]) == (975, 31)
    assert not plan["enough"]
    assert plan["this_set"] is None
    # Wilson's interval is narrower than 1.95996 sqrt(0.4 0.6 / n), which is 0.2 for 24
    # items.
    plan = run_plan("--half-width 0.2 --accuracy 0.4")
    assert (plan["beyond"]["items"], plan["enough"]) == (19, True)
    assert plan["this_set"]["items"] < 19
    assert run_plan("--at-least 0.5 --accuracy 0.9")["enough"]
    for model, share in (("half", 2), ("third", 3)):
        answers = golds(demos)
        partial = {
            name: text if number % share == 0 else "no idea"
            for number, (name, text) in enumerate(answers.items())
        }
        write_responses(f"{model}.jsonl", partial)
        responses = ["--responses", f"{model}.jsonl", "--out", model]
        assert main([*SCORE, *responses]) == 0
    capsys.readouterr()
    plan = run_plan("--difference 0.2 --run half third")
    assert plan["from"] == "half and third"
    assert plan["beyond"]["items"] > 31
    assert run_plan("--half-width 0.1 --run half third")["this_set"]["items"] < 31
    assert (
        main(["plan", "medcalc", "--difference", "0.2", "--run", "half", "half"]) == 2
    )
    assert "has a true difference of 0.2" in capsys.readouterr().err


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    if verb == "lighteval":
        pytest.skip("its help is lighteval's own; tests/harness runs it")
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    output = capsys.readouterr().out
    assert f"medical-tasks {verb}" in output
    assert "--json" in output


def test_the_first_help_of_run_is_short_and_names_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = {}
    for option in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            main(["run", option])
        texts[option] = capsys.readouterr().out
    options = {
        option: set(re.findall(r"^  (--[a-z-]+)", text, re.M))
        for option, text in texts.items()
    }
    assert len(options["--help"]) <= 12 < len(options["--help-all"])
    assert (
        {"--tasks", "--model", "--judge"} <= options["--help"] < options["--help-all"]
    )
    hidden = len(options["--help-all"] - options["--help"])
    assert f"{hidden} more options: medical-tasks run --help-all" in texts["--help"]


@tabled("line", "offered")
def test_the_shell_completes_names(
    line: str, offered: list[str], tmp_path: Path
) -> None:
    line = f"medical-tasks {line}"
    variables = {
        "_ARGCOMPLETE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE_IFS": "\n",
    }
    output = tmp_path / "completions"
    variables["_ARGCOMPLETE_STDOUT_FILENAME"] = str(output)
    subprocess.run(
        [sys.executable, "-m", "medical_tasks"],
        env=os.environ | variables,
        cwd=ROOT,
        check=True,
    )
    assert output.read_text().splitlines() == offered


HEAVY = tuple(
    "torch transformers lighteval datasets evaluate pandas pyarrow openai inspect_ai numpy pydantic".split()
)


def test_light_commands_import_no_heavy_library() -> None:
    lines = ["--help", "list", "list --json", "doctor --json", "run --help"]
    code = (
        "import contextlib, sys\nfrom medical_tasks.cli.entry import main\n"
        f"for line in {lines!r}:\n    with contextlib.suppress(SystemExit):\n        main(line.split())\n"
        f"    print('\\nLOADED', line, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    loaded = [line for line in process.stdout.splitlines() if line.startswith("LOADED")]
    assert loaded == [f"LOADED {line} []" for line in lines]
