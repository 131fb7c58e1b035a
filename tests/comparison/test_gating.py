"""Gates: each kind of rule on real runs of the demo, and what is wrong with a policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.cli import main
from medical_tasks.comparison.gating import GO, INCONCLUSIVE, NO_GO, Finding, gate
from medical_tasks.runs.results import read_items
from tests.case_tables import tabled

ACCURACY = 'task = "medcalc"\nmetric = "accuracy"\n'


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that have all 31 questions right, and none; beside the second, a judged one."""
    home = tmp_path_factory.mktemp("runs")
    data = ["--data", str(home / "data"), "--config", "demo"]
    for name in ("medcalc_bench", "kqa"):
        assert main(["build", name, "--config", "demo", "--out", str(home / "data" / name)]) == 0
    for model in ("reference", "random"):
        tasks = ["--tasks", "medcalc,kqa", "--judge", "lexical"]
        assert (
            main(["run", *tasks, "--model", f"baseline/{model}", *data, "--out", str(home / model)])
            == 0
        )
    return home


@tabled("rule", "good", "bad")
def test_rules(
    rule: str, good: str, bad: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = runs / "policy.toml"
    policy.write_text(f"[[rule]]\n{rule}\n", encoding="utf-8")
    codes = {GO: 0, NO_GO: 6, INCONCLUSIVE: 7}
    for name, verdict in (("reference", good), ("random", bad)):
        assert main(["gate", str(policy), str(runs / name), "--json"]) == codes[verdict]
        told = json.loads(capsys.readouterr().out)
        assert told["verdict"] == verdict
        assert all(finding["reason"] for finding in told["findings"])
    assert gate(policy, [runs / "reference", runs / "random"])[0] == max(
        good, bad, key=[GO, INCONCLUSIVE, NO_GO].index
    )


def test_a_part_of_a_run_is_merged_first(runs: Path) -> None:
    line = [
        "run",
        "--tasks",
        "medcalc",
        "--model",
        "baseline/reference",
        "--data",
        str(runs / "data"),
        "--config",
        "demo",
    ]
    assert main([*line, "--shard", "1/2", "--out", str(runs / "part")]) == 0
    margin = "metric = 'accuracy'\nmargin = 0.9\nagainst = 'part'"
    for rule, run in (("coverage_at_least = 1", "part"), (margin, "reference")):
        (runs / "part.toml").write_text(f'[[rule]]\ntask = "medcalc"\n{rule}', encoding="utf-8")
        verdict, (found,) = gate(runs / "part.toml", [runs / run])
        assert (verdict, found.reason) == (INCONCLUSIVE, "a part of a run: merge the parts")


def test_what_a_run_leaves_unanswered_counts_as_the_worst(runs: Path) -> None:
    said = [
        {"id": row["id"], "response": row["parsed"]} for row in read_items(runs / "reference")[:16]
    ]
    (runs / "half.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    line = [
        "score",
        "medcalc",
        "--data",
        str(runs / "data"),
        "--config",
        "demo",
        "--out",
        str(runs / "half"),
    ]
    assert main([*line, "--responses", str(runs / "half.jsonl")]) == 5
    (runs / "half.toml").write_text(
        f'[[rule]]\n{ACCURACY}margin = 0.3\nagainst = "reference"', encoding="utf-8"
    )
    verdict, (found,) = gate(runs / "half.toml", [runs / "half"])
    assert (verdict, found.value) == (INCONCLUSIVE, 0.0)
    assert -1.0 < (found.low or 0.0) <= -15 / 31


@tabled("text", "said")
def test_a_policy_that_is_none_is_named_by_its_rule(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(text, encoding="utf-8")
    assert main(["gate", str(policy), str(tmp_path)]) == 2
    assert f"{policy}: " in (told := capsys.readouterr().err)
    assert said in " ".join(told.split())


@given(
    st.floats(0, 1),
    st.floats(0, 0.3),
    st.floats(0, 0.3),
    st.floats(0, 1),
    st.booleans(),
    st.integers(1, 60),
)
def test_more_rules_never_decide_more(
    value: float, down: float, up: float, limit: float, at_most: bool, rules: int
) -> None:
    finding = Finding(
        run="",
        rule="",
        group="",
        value=value,
        low=value - down,
        high=value + up,
        limit=limit,
        at_most=at_most,
    )
    alone, among = (finding.decided(each).verdict for each in (1, rules))
    assert among in (alone, INCONCLUSIVE)
    if alone == GO:  # such a run never breaks the rule
        assert among == GO
