"""Gates: each kind of rule on real runs, and what is wrong with a policy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.cli import main
from medical_tasks.comparison.gate_risk import (
    Limit,
    Risk,
    risk_of_difference,
    risk_of_value,
)
from medical_tasks.comparison.gating import GO, INCONCLUSIVE, NO_GO, Finding, gate
from medical_tasks.comparison.policies import read_policy
from medical_tasks.comparison.statistics import Columns
from medical_tasks.errors import UsageError
from medical_tasks.runs.results import read_items
from medical_tasks.scoring.estimates import Floats
from medical_tasks.spec import MetricSpec
from tests.case_tables import json_of
from tests.support import own_tasks

CODES = {GO: 0, NO_GO: 6, INCONCLUSIVE: 7}
FRESH = '[tasks.medcalc]\nconfig = "fresh"\n'
ACCURACY = 'task = "medcalc"\nmetric = "accuracy"\n'
AGAINST_WRONG = f'[[rule]]\n{ACCURACY}against = "wrong"\nmargin = 0.2\n'


def policy_file(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def verdict_and_reasons(folder: Path, text: str, run: str) -> tuple[str, str]:
    """The verdict of a policy on a run, and the reasons."""
    verdict, findings = gate(read_policy(policy_file(folder, text)), [folder / run])
    return verdict, "; ".join(finding.reason for finding in findings)


def copy_with_recipe(run: Path, folder: Path, task: str, **recipe: Any) -> Path:
    """Copies a run with changes of its recipe."""
    results = json_of(run / "results.json")
    results["tasks"][task]["recipe"] |= recipe
    folder.mkdir(exist_ok=True)
    (folder / "items.parquet").write_bytes((run / "items.parquet").read_bytes())
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    return folder


MODEL = {"name": "openai/some-model"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs on 60 fresh questions, a baseline's, and answers from files: all right, none, half of them."""
    home = tmp_path_factory.mktemp("runs")
    built = {"medcalc_bench": ["fresh", "--seed", "7", "--n", "60"], "kqa": ["demo"]}
    for name, named in built.items():
        assert (
            main(
                ["build", name, "--config", *named, "--out", str(home / "data" / name)]
            )
            == 0
        )
    demo = str(home / "data" / "medcalc_bench")
    assert main(["build", "medcalc_bench", "--config", "demo", "--out", demo]) == 0
    data = ["--data", str(home / "data"), "--config", "fresh"]
    reference = ["run", "--model", "baseline/reference", "--data", str(home / "data")]
    for folder, task, config in (
        ("baseline", "medcalc", "fresh"),
        ("judged", "kqa", "demo"),
        ("demo", "medcalc", "demo"),
    ):
        line = ["--tasks", task, "--config", config, "--out", str(home / folder)]
        judge = ["--judge", "lexical"] if task == "kqa" else []
        assert main([*reference, *line, *judge]) == 0
    copy_with_recipe(home / "demo", home / "demo", "medcalc", model=MODEL)
    rows = read_items(home / "baseline")
    for name, answer in (
        ("right", None),
        ("wrong", "the answer is 987654"),
        ("half", None),
    ):
        some = rows[:30] if name == "half" else rows
        texts = [{"id": row["id"], "response": answer or row["parsed"]} for row in some]
        file = home / f"{name}.jsonl"
        file.write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
        scored = [
            "score",
            "medcalc",
            "--responses",
            str(file),
            *data,
            "--out",
            str(home / name),
        ]
        assert main(scored) == 0
    return home


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (f"{ACCURACY}at_least = 0.8", GO, NO_GO),
        # 60 of 60 right: 94.0 % or more.
        (f"{ACCURACY}at_least = 0.95", INCONCLUSIVE, NO_GO),
        # Groups of fewer than ten.
        (f'{ACCURACY}at_least = 0.8\nby = "calculator"', INCONCLUSIVE, INCONCLUSIVE),
        (f"{ACCURACY}width_at_most = 0.2", GO, GO),
        ('task = "medcalc"\ncoverage_at_least = 1', GO, GO),
        # Not in the run.
        ('task = "mimic_rrs"\ncoverage_at_least = 0.5', INCONCLUSIVE, INCONCLUSIVE),
    ],
)
def test_rules(
    rule: str, good: str, bad: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scope = FRESH if "medcalc" in rule else ""
    policy = policy_file(runs, f"{scope}[[rule]]\n{rule}\n")
    for name, verdict in (("right", good), ("wrong", bad)):
        assert main(["gate", str(policy), str(runs / name), "--json"]) == CODES[verdict]
        output = json.loads(capsys.readouterr().out)
        assert output["verdict"] == verdict
        assert all(finding["reason"] for finding in output["findings"])
    both = gate(read_policy(policy), [runs / "right", runs / "wrong"])
    assert both[0] == max(good, bad, key=[GO, INCONCLUSIVE, NO_GO].index)


def test_a_margin_is_held_item_by_item_and_never_against_the_run_itself(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verdict_and_reasons(runs, FRESH + AGAINST_WRONG, "right")[0] == GO
    against_right = AGAINST_WRONG.replace("wrong", "right")
    assert verdict_and_reasons(runs, FRESH + against_right, "wrong")[0] == NO_GO
    copy_with_recipe(runs / "right", runs / "copy", "medcalc")
    for itself in ("right", "copy"):
        policy = policy_file(runs, FRESH + against_right)
        assert main(["gate", str(policy), str(runs / itself)]) == 2
        assert "is compared with itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scope", "run", "reason"),
    [
        ("", "demo", "invented demonstration data, while the policy is about v1"),
        ("", "right", "configuration fresh, while the policy is about v1"),
        ('[tasks.medcalc]\nconfig = "v1.0"', "right", "while the policy is about v1.0"),
        (FRESH, "baseline", "baseline/reference is a baseline, not a model"),
        (
            f'{FRESH}prompts = "own"',
            "right",
            "unknown prompts, while the policy is about own",
        ),
        (f"{FRESH}least_items = 500", "right", "60 items, while the policy needs 500"),
        (
            f'{FRESH}split = "train"',
            "right",
            "split test, while the policy is about train",
        ),
        (
            FRESH,
            "quick",
            "a quick look at 12 items (--max-samples), which represent no others",
        ),
        (FRESH, "part", "a part of a run: merge the parts"),
    ],
)
def test_results_outside_the_scope_of_the_policy_are_inconclusive(
    scope: str, run: str, reason: str, runs: Path
) -> None:
    some = {"quick": ["--max-samples", "12"], "part": ["--shard", "1/2"]}.get(run, [])
    if some and not (runs / run).exists():
        line = ["run", "--tasks", "medcalc", "--model", "baseline/reference", *some]
        line += [
            "--data",
            str(runs / "data"),
            "--config",
            "fresh",
            "--out",
            str(runs / f"{run}-0"),
        ]
        assert main(line) == 0
        copy_with_recipe(runs / f"{run}-0", runs / run, "medcalc", model=MODEL)
    rules = (
        f"{ACCURACY}at_least = 0.2",
        f"{ACCURACY}width_at_most = 0.9",
        'task = "medcalc"\ncoverage_at_least = 0.5',
        f'{ACCURACY}against = "wrong"\nmargin = 0.9',
    )
    for rule in rules:
        verdict, why = verdict_and_reasons(runs, f"{scope}\n[[rule]]\n{rule}", run)
        assert (verdict, reason in why) == (INCONCLUSIVE, True), why
    # The same of the run that a margin is held against; a baseline may be that.
    against = f'[[rule]]\n{ACCURACY}against = "{run}"\nmargin = 0.9'
    if run in ("quick", "part"):
        verdict, why = verdict_and_reasons(runs, f"{scope}\n{against}", "wrong")
        assert (verdict, reason in why) == (INCONCLUSIVE, True), why
    if run == "baseline":
        assert (
            "is a baseline"
            not in verdict_and_reasons(runs, f"{scope}\n{against}", "wrong")[1]
        )


def test_a_difference_in_how_runs_were_made_is_accepted_by_name(runs: Path) -> None:
    prompts = {"set": "own", "sha256": "a" * 64}
    copy_with_recipe(runs / "wrong", runs / "other", "medcalc", prompts=prompts)
    rule = AGAINST_WRONG.replace("wrong", "other")
    verdict, why = verdict_and_reasons(runs, FRESH + rule, "right")
    assert (verdict, 'accept = ["not_asked"]' in why) == (INCONCLUSIVE, True), why
    assert (
        verdict_and_reasons(runs, f'{FRESH}accept = ["not_asked"]\n{rule}', "right")[0]
        == GO
    )


def test_results_of_a_lexical_judge_are_inconclusive(runs: Path) -> None:
    copy_with_recipe(runs / "judged", runs / "named", "kqa", model=MODEL)
    for rule in (
        'metric = "comprehensiveness"\nat_least = 0.2',
        'metric = "comprehensiveness"\nwidth_at_most = 0.9',
        "coverage_at_least = 0.5",
    ):
        text = f'[tasks.kqa]\nconfig = "demo"\n[[rule]]\ntask = "kqa"\n{rule}'
        verdict, why = verdict_and_reasons(runs, text, "named")
        assert (verdict, "a judge by words" in why) == (INCONCLUSIVE, True), why


@pytest.mark.parametrize(
    "figures",
    [
        {
            "value": 0.95,
            "ci_low": 0.9,
            "ci_high": 0.99,
            "bound_low": 0.95,
            "bound_high": 0.95,
        },
        {"ci_low": 0.9},
    ],
)
def test_figures_that_contradict_the_items_are_inconclusive(
    runs: Path, tmp_path: Path, figures: dict[str, float]
) -> None:
    copied = copy_with_recipe(runs / "wrong", tmp_path / "wrong", "medcalc")
    results = json_of(copied / "results.json")
    results["tasks"]["medcalc"]["metrics"]["accuracy"] |= figures
    (copied / "results.json").write_text(json.dumps(results), encoding="utf-8")
    verdict, reason = verdict_and_reasons(
        tmp_path, f"{FRESH}[[rule]]\n{ACCURACY}at_least = 0.8\n", "wrong"
    )
    assert verdict == INCONCLUSIVE
    assert "not what items.parquet says" in reason


def test_unanswered_items_count_as_the_worst(runs: Path) -> None:
    policy = policy_file(
        runs, f'{FRESH}[[rule]]\n{ACCURACY}margin = 0.3\nagainst = "right"'
    )
    verdict, (finding,) = gate(read_policy(policy), [runs / "half"])
    assert (verdict, finding.value) == (INCONCLUSIVE, 0.0)
    assert -1.0 < (finding.low or 0.0) <= -30 / 60
    # An interval that leaves out 30 unanswered items is not narrow.
    assert (
        verdict_and_reasons(
            runs, f"{FRESH}[[rule]]\n{ACCURACY}width_at_most = 0.4", "half"
        )[0]
        == NO_GO
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rule = 3",
            "a policy is a list of [[rule]] tables, with optional [tasks.NAME] tables",
        ),
        ("[[rule]\n", "not TOML"),
        (f"rule = {'[' * 5_000}", "nested too deeply"),
        (
            f"[[rule]]\n{ACCURACY}",
            "rule 1: needs exactly one of at_least, at_most, margin",
        ),
        (f"[[rule]]\n{ACCURACY}at_least = 'x'", "at_least must be a number, got 'x'"),
        (
            f"[[rule]]\n{ACCURACY}margin = -0.1\nagainst = 'a'",
            "margin must be from 0 to 1 (50 % is 0.5), got -0.1",
        ),
        (
            f"[[rule]]\n{ACCURACY}at_least = 5",
            "at_least must be from 0 to 1 (50 % is 0.5), got 5",
        ),
        (
            f"[[rule]]\n{ACCURACY}at_least = nan",
            "must be from 0 to 1 (50 % is 0.5), got nan",
        ),
        ("[[rule]]\ntask = 'medcalc'\ncoverage_at_least = 98", "must be from 0 to 1"),
        (f"[[rule]]\n{ACCURACY}margin = 0.1", "rule 1: lacks against"),
        (
            f"[[rule]]\n{ACCURACY}at_least = 0.5\nbyy = 'x'",
            "byy is not allowed with at_least. Did you",
        ),
        (
            f"[[rule]]\n{ACCURACY}at_least = 0.5\nby = 'sex'",
            "medcalc has the breakdowns category, calculator, got 'sex'",
        ),
        (
            "[[rule]]\ntask = 'medcalk'\ncoverage_at_least = 1",
            "there is no task 'medcalk'. Did",
        ),
        (
            "[[rule]]\ntask = 'medcalc'\nmetric = 'f1'\nat_least = 0.1",
            "has no metric 'f1'",
        ),
        # Limits that no run could break,
        (
            f"[[rule]]\n{ACCURACY}at_least = 0",
            "no run could break at_least = 0, as the scale is",
        ),
        (f"[[rule]]\n{ACCURACY}at_most = 1", "no run could break at_most = 1"),
        (
            f"[[rule]]\n{ACCURACY}margin = 1\nagainst = 'a'",
            "no run could break margin = 1",
        ),
        (
            f"[[rule]]\n{ACCURACY}width_at_most = 1",
            "no run could break width_at_most = 1",
        ),
        (
            "[[rule]]\ntask = 'medcalc'\ncoverage_at_least = 0",
            "no run could break coverage",
        ),
        (
            "[[rule]]\ntask = 'kqa'\nmetric = 'hallucination_rate'\nat_least = 0",
            "no run could",
        ),
        # that none could meet,
        (
            f"[[rule]]\n{ACCURACY}at_least = 1",
            "no run could meet at_least = 1: the 95 % interval",
        ),
        (
            f"[[rule]]\n{ACCURACY}width_at_most = 0",
            "no run could meet width_at_most = 0",
        ),
        (
            "[[rule]]\ntask = 'kqa'\nmetric = 'contradicted'\nat_most = 0",
            "no run could meet",
        ),
        (
            "[[rule]]\ntask = 'kqa'\nmetric = 'words'\nat_most = 1e300",
            "from 0 to 1e+06, got 1e+300",
        ),
        # and that the worst runs meet.
        (
            f"[[rule]]\n{ACCURACY}at_most = 0.9",
            "accuracy is better when it is higher, so",
        ),
        (
            "[[rule]]\ntask = 'kqa'\nmetric = 'contradicted'\nat_least = 0.1",
            "passes the worst runs. Was at_most meant?",
        ),
        (
            f"[tasks.kqa]\n[[rule]]\n{ACCURACY}at_least = 0.5",
            "no rule is about [tasks.kqa]",
        ),
        (
            f"[tasks.medcalc]\nconfig = 'x'\n[[rule]]\n{ACCURACY}at_least = 0.5",
            "got 'x'",
        ),
        (
            f"[tasks.medcalc]\nconfigs = 'x'\n[[rule]]\n{ACCURACY}at_least = 0.5",
            "has no key configs. Did you mean 'config'?",
        ),
        (
            f"[tasks.medcalc]\naccept = ['prompt']\n[[rule]]\n{ACCURACY}at_least = 0.5",
            "got 'prompt'. Did you mean 'prompts'?",
        ),
    ],
)
def test_invalid_and_pointless_policies_are_refused(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = policy_file(tmp_path, text)
    assert main(["gate", str(policy), str(tmp_path)]) == 2
    assert f"{policy}: " in (stderr := capsys.readouterr().err)
    assert message in " ".join(stderr.split())


def columns(values: Floats, metric: MetricSpec) -> Columns:
    ones = np.ones(len(values))
    return Columns(
        metric=metric, shares=(1.0,), first=(values, ones), second=(values, ones),
        values=(values, values), clusters=None, missing=(),
    )  # fmt: skip


def test_the_risk_of_a_wrong_go() -> None:
    proportion = MetricSpec(name="right", kind="proportion", description="")
    mean = MetricSpec(name="share", kind="mean", description="")
    # Of 100, 88 must be right; P(88 or more of 100 at 0.8) = 0.0253 (binomial table).
    risk = risk_of_value(
        columns(np.array([1.0] * 90 + [0.0] * 10), proportion), Limit(0.8)
    )
    assert risk is not None
    assert risk.exact
    assert risk.share == pytest.approx(0.0253, abs=5e-5)
    # Simulated for means: near the same for values that are all 0 or 1.
    risk = risk_of_value(columns(np.array([1.0] * 90 + [0.0] * 10), mean), Limit(0.8))
    assert risk is not None
    assert not risk.exact
    assert risk.share == pytest.approx(0.025, abs=0.015)
    # No item is beyond the limit, so no run like this one can be on it.
    assert risk_of_value(columns(np.array([0.9, 1.0] * 9), mean), Limit(0.5)) is None
    second = np.array([1.0] * 60 + [0.0] * 40)
    first = np.roll(second, 10)
    pair = Columns(
        metric=mean, shares=(1.0,), first=(first, np.ones(100)), second=(second, np.ones(100)),
        values=(first, second), clusters=None, missing=(),
    )  # fmt: skip
    risk = risk_of_difference(pair, Limit(-0.1))
    assert risk is not None
    assert risk.share == pytest.approx(0.025, abs=0.025)
    few = Finding(
        run="", rule="", group="", value=0.95, low=0.9, high=1.0, limit=0.9,
        risk=Risk(0.09, exact=False),
    )  # fmt: skip
    assert few.decided(1).verdict == INCONCLUSIVE
    assert "a wrong GO in 9.0 % of runs" in few.decided(1).reason


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
    alone, among = (finding.decided(count).verdict for count in (1, rules))
    assert among in (alone, INCONCLUSIVE)
    if alone == GO:  # such a run never breaks the rule
        assert among == GO


def test_every_task_can_be_gated_on_its_usual_configuration(tmp_path: Path) -> None:
    tasks = own_tasks()
    for name, task in tasks.items():
        metric = task.metrics[0]
        kind = "at_least" if metric.higher_is_better else "at_most"
        limit = (
            metric.limits[0] + 0.5
            if math.isinf(metric.limits[1])
            else sum(metric.limits) / 2
        )
        text = f'[[rule]]\ntask = "{name}"\nmetric = "{metric.name}"\n{kind} = {limit}'
        (scope,) = read_policy(policy_file(tmp_path, text)).scopes.values()
        assert scope.config != "demo"
        assert scope.split == task.split


STRATA = 'by = "sex"\nstrata = "sample.csv"\n'


def test_groups_come_from_the_users_table(runs: Path) -> None:
    """Half of the items are right, those of one group all: its figures are those of its items."""
    rows = read_items(runs / "half")
    answered = {row["id"] for row in rows if not row["unscored"]}
    lines = [
        f"{row['id']},{'female' if row['id'] in answered else 'male'}" for row in rows
    ]
    (runs / "sample.csv").write_text("\n".join(["id,sex", *lines]), encoding="utf-8")
    rule = f"{FRESH}[[rule]]\n{ACCURACY}at_least = 0.5\n{STRATA}"
    policy = read_policy(policy_file(runs, rule))
    _, findings = gate(policy, [runs / "half"])
    by_group = {finding.group: finding for finding in findings}
    assert by_group["female"].value == 1.0
    assert by_group["female"].low == pytest.approx(0.8865, abs=1e-4)  # Wilson, 30 of 30
    assert "no figure" in by_group["male"].reason or by_group["male"].value is None

    verdict, findings = gate(policy, [runs / "right"])
    assert {finding.group for finding in findings} == {"female", "male"}
    # A group of 30 is too small for a risk that is simulated, of shares it is exact.
    assert verdict == GO
    against = f"{FRESH}{AGAINST_WRONG}{STRATA}"
    verdict, findings = gate(read_policy(policy_file(runs, against)), [runs / "right"])
    assert [finding.value for finding in findings] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('at_least = 0.5\nstrata = "sample.csv"', "strata needs by"),
        (
            'at_least = 0.5\nby = "category"\nstrata = "sample.csv"',
            "has a breakdown category itself",
        ),
        ('at_least = 0.5\nby = "sexx"\nstrata = "sample.csv"', "no column sexx"),
        ('at_least = 0.5\nby = "sex"\nstrata = "twice.csv"', "in a row before"),
    ],
)
def test_invalid_tables_of_strata_are_refused(
    rule: str, message: str, runs: Path
) -> None:
    (runs / "sample.csv").write_text("id,sex\n1,female\n", encoding="utf-8")
    (runs / "twice.csv").write_text("id,sex\n1,female\n1,male\n", encoding="utf-8")
    text = f"{FRESH}[[rule]]\n{ACCURACY}{rule}\n"
    with pytest.raises(UsageError, match=message):
        gate(read_policy(policy_file(runs, text)), [runs / "right"])
