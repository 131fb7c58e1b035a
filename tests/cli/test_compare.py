"""`medical-tasks compare`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from medical_tasks.catalog import task_spec
from medical_tasks.cli.entry import main
from tests.cli.wrong_use import refuse, wrong_use
from tests.support import write_run


def run(
    name: str,
    right: str,
    *,
    task: str = "medcalc",
    version: str = "1-A",
    config: str = "test",
    more: bool = False,
    groups: int = 2,
    model: str = "",
) -> None:
    """Writes a run's folder, with answers even if the task's data are credentialed, as a faulty file could have."""
    spec = task_spec(task)
    metrics = {metric.name: {"kind": metric.kind} for metric in spec.metrics}
    recipe = {
        "task_version": version,
        "data": {"config": config, "rows_sha256": "a" * 64},
        "metrics": metrics,
        "prompts": None,
        "model": {"name": model or f"baseline/{name}"},
    }
    rows = [
        {
            "task": task,
            "id": str(number),
            "cluster": f"n{number}",
            **{f"group_{group}": f"{group} {number % groups}" for group in spec.groups},
            **{
                metric.name: float(letter)
                for metric in spec.metrics
                if not metric.needs
            },
            "parsed": f"{name} said {number}",
        }
        for number, letter in enumerate(right)
    ]
    tasks = {task: {"recipe": recipe}}
    if more:
        tasks["medcalc_direct"] = {"recipe": {**recipe, "task_version": "9-A"}}
    write_run(Path(name), {"schema_version": 1, "tasks": tasks}, rows)


def test_two_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run("a", "1100110011000000000000")
    run("b", "1111110011111111000000")
    options = "--metric accuracy --by category --flips 2 --out docs/out.md".split()
    assert main(["compare", "a", "b", *options]) == 0
    out = capsys.readouterr().out
    assert "A: a (baseline/a)\nB: b (baseline/b)" in out
    # 8 items are right in B only: p = 2 / 2^8.
    (line,) = [
        line for line in out.splitlines() if line.startswith("medcalc  accuracy ")
    ]
    cells = line.split()
    assert cells[:8] == "medcalc accuracy McNemar 27.3 % 63.6 % +36.4".split()
    assert cells[11] == "0.00781"
    assert cells[-3:] == ["8", "0", "14"]
    assert "medcalc by category" in out
    assert "medcalc, accuracy: wrong -> right (improved), 2 of 8 items" in out
    assert "b said 2" in out
    page = Path("docs/out.md").read_text()
    assert page.startswith("# Comparison\n\n- A: a (baseline/a)\n- B: b (baseline/b)\n")
    assert "## medcalc by category" in page


def test_json_of_two_and_of_three(capsys: pytest.CaptureFixture[str]) -> None:
    for name, right in (("a", "1100"), ("b", "1111"), ("c", "0000")):
        run(name, right)
    assert main(["compare", "a", "b", "--json", "--flips"]) == 0
    two = json.loads(capsys.readouterr().out)["medcalc"]
    assert two["metrics"]["accuracy"]["flips"] == {
        "improved": 2,
        "worsened": 0,
        "same": 2,
    }
    assert [item["id"] for item in two["metrics"]["accuracy"]["items"]["improved"]] == [
        "2",
        "3",
    ]
    pairs = "compare a b c --all-pairs --json --task medical|medcalc"
    assert main(pairs.split()) == 0
    three = json.loads(capsys.readouterr().out)
    assert three["runs"] == {"A": "a", "B": "b", "C": "c"}
    assert [(pair["first"], pair["second"]) for pair in three["pairs"]] == [
        ("A", "B"),
        ("A", "C"),
        ("B", "C"),
    ]
    assert main(["compare", "a", "b", "c"]) == 0
    out = capsys.readouterr().out
    assert [
        line.split()[2:5]
        for line in out.splitlines()
        if line.startswith("medcalc  accuracy ")
    ] == [
        ["B", "-", "A"],
        ["C", "-", "A"],
    ]
    assert "p Holm: adjusted for the 2 pairs" in out


def test_answers_to_credentialed_data_are_never_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run("a", "0011", task="ehrnoteqa_mc_level1")
    run("b", "1100", task="ehrnoteqa_mc_level1")
    assert main(["compare", "a", "b", "--flips", "--out", "c.md"]) == 0
    out = capsys.readouterr().out + Path("c.md").read_text()
    assert main(["compare", "a", "b", "--flips", "--json"]) == 0
    out += capsys.readouterr().out
    assert "wrong -> right (improved), 2 items" in out
    assert " said " not in out


def test_what_cannot_be_compared_is_listed_beside_what_can(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run("a", "1100", more=True)
    run("b", "1111", more=False)
    assert main(["compare", "a", "b"]) == 0
    out = capsys.readouterr().out
    assert "not compared: medcalc_direct: only a has this task" in out
    assert main(["compare", "a", "./a"]) == 0
    assert (
        "note: A and B are the same folder: a run does not differ from itself."
        in capsys.readouterr().out
    )
    assert any(line.startswith("medcalc  accuracy ") for line in out.splitlines())


def test_memory_gap_of_a_memorising_model_of_an_honest_one_and_of_small_samples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    draws = random.Random(0)

    def gap(published: str, fresh: str, *more: str) -> str:
        for config, right in (("v1.0", published), ("fresh", fresh)):
            run(config, right, config=config, groups=12, model="hf/one")
        assert main(["compare", "--memory-gap", "v1.0", "fresh", *more]) == 0
        return capsys.readouterr().out

    def honest(n: int) -> str:
        return "".join("01"[draws.random() < 0.6] for _ in range(n))

    assert "medcalc, accuracy: a gap: the published rows" in gap(
        "1" * 240, "0" * 240, "--out", "gap.md"
    )
    assert "| a gap | 100.0 % | 0.0 % | 100.0 | " in Path("gap.md").read_text()
    metric = json.loads(gap(honest(1440), honest(1200), "--json"))["medcalc"][
        "accuracy"
    ]
    assert metric["verdict"].startswith("no gap seen")
    assert metric["ci_low"] < 0 < metric["ci_high"]
    assert metric["enough"]
    assert metric["n_published"] == 1440
    assert metric["groups"]["calculator 3"]["n_fresh"] == 100
    assert "too small to tell: at least " in gap(honest(60), honest(60))
    assert "too small to tell: 9 calculators are in both runs, 10 are needed" in gap(
        "1" * 9, "0" * 9
    )


@wrong_use("compare")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("a", "1100")
    run("b", "1111")
    run("other", "1111", version="2-A")
    run("demo", "1111", config="demo")
    run("notes", "1111", task="ehrnoteqa_mc_level1")
    refuse(line, code, message, capsys)
