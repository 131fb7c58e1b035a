"""`site gate`: presets, rules of one's own, and the same verdict as `gate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.cli import main
from medical_tasks.comparison.policies import read_policy
from medical_tasks.errors import MissingError
from medical_tasks.site.deciding import (
    MEASURES,
    Materials,
    materials_of,
    policy_text,
    rules,
    run,
    state,
)
from medical_tasks.site.folder import last
from medical_tasks.site.history import history
from medical_tasks.site.options import Gate
from medical_tasks.site.settings import Preset
from tests.site.site_cases import make_site, score

TASKS = {
    "chart-qa": "ehrnoteqa_open_level1",
    "calculator": "medcalc_own",
    "discharge-summary": "doclens_own",
    "patient-questions": "kqa",
}


@pytest.mark.parametrize("use", sorted(TASKS))
@pytest.mark.parametrize("preset", ["exploratory", "standard", "strict"])
@pytest.mark.parametrize("baseline", ["", "runs/baseline"])
def test_every_preset_of_every_use_is_a_policy(
    use: str, preset: Preset, baseline: str, tmp_path: Path
) -> None:
    materials = Materials(
        use=use,
        preset=preset,
        margin=0.05,
        task=TASKS[use],
        config="own",
        split="test",
        judged=True,
        baseline=baseline,
        strata=["sex"],
        sample="sample/sample.csv",
        check="checks/own/check.json",
    )
    path = tmp_path / "policy.toml"
    path.write_text(policy_text(materials), encoding="utf-8")
    policy = read_policy(path)
    metrics = {rule.metric for rule in policy.rules if rule.metric}
    assert metrics == {measure.metric for measure in MEASURES[use]}
    kinds = [rule.kind for rule in policy.rules]
    assert ("margin" in kinds) is bool(baseline)
    assert ("judge_kappa_at_least" in kinds) is (preset != "exploratory")
    assert any(rule.strata for rule in policy.rules) is (preset != "exploratory")


def test_a_rule_of_one_s_own_replaces_the_preset_s(home: Path, tmp_path: Path) -> None:
    more = '\n[[rule]]\nmetric = "accuracy"\nat_least = 0.6\n'
    site = make_site(tmp_path / "site", home, more=more)
    accuracy_rules = [
        rule
        for rule in rules(materials_of(site))
        if rule.get("metric") == "accuracy" and "by" not in rule
    ]
    assert accuracy_rules == [
        {"task": "medcalc", "metric": "accuracy", "at_least": 0.6}
    ]


@pytest.mark.parametrize(
    ("wrong", "code"), [((), 0), (tuple(range(12)), 7), (tuple(range(40)), 6)]
)
def test_site_gate_and_gate_give_the_same_verdict(
    home: Path,
    tmp_path: Path,
    wrong: tuple[int, ...],
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    site = make_site(tmp_path / "site", home, wrong={"candidate": wrong})
    capsys.readouterr()
    assert run(Gate(step="gate", folder=site.path)) == code
    output = capsys.readouterr().out
    assert str(tmp_path) not in output
    line = history(site.gates)[-1]
    assert (
        main(["gate", str(site.policy), str(site.runs / "candidate"), "--json"]) == code
    )
    result = json.loads(capsys.readouterr().out)
    assert result["verdict"] == line.content["verdict"]
    findings = line.content["findings"]
    assert [finding["verdict"] for finding in result["findings"]] == [
        finding["verdict"] for finding in findings
    ]
    groups = {finding["group"] for finding in findings}
    assert groups == {"", "female", "male"}
    assert str(tmp_path) not in json.dumps(line.content)
    assert set(line.content["runs"]) == {"runs/candidate", "runs/baseline"}
    entry = last(site, "gate")
    assert entry is not None
    assert entry.figures["head"] == line.digest
    assert state(site).kind == "done"
    run(Gate(step="gate", folder=site.path, preset="exploratory"))
    assert "site.toml says standard" in state(site).text
    assert run(Gate(step="gate", folder=site.path)) == code
    assert state(site).kind == "done"
    score(home, site.runs / "candidate", wrong=range(3))
    assert state(site).kind == "stale"


def test_a_cut_history_blocks_the_step(home: Path, tmp_path: Path) -> None:
    site = make_site(tmp_path / "site", home)
    for _ in range(2):
        run(Gate(step="gate", folder=site.path))
    first = site.gates.read_bytes().splitlines(keepends=True)[0]
    site.gates.write_bytes(first)
    assert state(site).kind == "blocked"
    assert "cut off" in state(site).text


def test_a_judge_without_a_check_decides_nothing() -> None:
    materials = Materials(
        use="chart-qa",
        preset="standard",
        margin=0.05,
        task="ehrnoteqa_open_level1",
        config="own",
        split="test",
        judged=True,
    )
    with pytest.raises(MissingError, match="needs a check of the judge"):
        rules(materials)
