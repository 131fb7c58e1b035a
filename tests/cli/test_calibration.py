"""`--calibration`: corrected scores next to the raw ones, also in `compare`, and checks that are refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.declarations import DATASET
from medical_tasks.benchmarks.kqa.judge_check import ANNOTATIONS_FILE
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.runs.results import read_items
from tests.benchmarks.kqa.physicians_csv import rows, write
from tests.case_tables import json_of, tables
from tests.run_files import task_entry, write_responses

pytestmark = pytest.mark.usefixtures("demo_home")
NAMES = ("entailment", "neutral", "contradiction")
DEMO = '[tasks.kqa]\nconfig = "demo"\n'
TABLE = ((60, 6, 2), (8, 80, 4), (2, 6, 40))  # rows: people; columns: the judge


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A check of the lexical judge on K-QA whose labels are replaced; the demos' home has no record of it."""
    monkeypatch.setattr(
        "medical_tasks.judges.checks.checks_file",
        lambda: tmp_path / "judge_checks.json",
    )
    write(Path(ANNOTATIONS_FILE), rows())
    command = "judge-check kqa --judge lexical --source . --out original"
    assert main(command.split()) == 0
    original: dict[str, Any] = json_of(Path("original/check.json"))
    assert {
        name: len(column) for name, column in original["labels"].items()
    } == dict.fromkeys(
        ("gold", "judge", "cluster", "words", "model", "group_question_form"), 10
    )
    assert original["labels"]["cluster"] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    labels = [
        (gold, verdict)
        for gold, counts in zip(NAMES, TABLE, strict=True)
        for verdict, count in zip(NAMES, counts, strict=True)
        for _ in range(count)
    ]
    # The checks of older versions have only these columns.
    return original | {
        "labels": {
            "gold": [gold for gold, _ in labels],
            "judge": [verdict for _, verdict in labels],
            "cluster": [number // 2 for number in range(len(labels))],
        }
    }


def score(
    check: dict[str, Any] | None, *more: str, share: float = 0.6, out: str = "run"
) -> int:
    home = Path(os.environ["MEDICAL_TASKS_DATA"])
    answers = [
        (row["id"], str(row["answer"]).split())
        for row in read_rows(home / "kqa", "demo", "test", spec=DATASET)
    ]
    write_responses(
        f"{out}.jsonl",
        {name: " ".join(words[: int(share * len(words))]) for name, words in answers},
    )
    if check is not None:
        Path("check.json").write_text(json.dumps(check), "utf-8")
    calibration = [] if check is None else ["--calibration", "check.json"]
    line = f"score kqa --config demo --responses {out}.jsonl --judge lexical --out {out}".split()
    return main([*line, *calibration, *more])


def read_metrics(run: str) -> dict[str, Any]:
    metrics: dict[str, Any] = task_entry(run, "kqa")["metrics"]
    assert list(metrics)[:2] == ["comprehensiveness", "comprehensiveness_corrected"]
    return metrics


def test_corrected_scores_are_reported_with_raw_ones(
    check: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(check) == 0
    metrics = read_metrics("run")
    metric = metrics["comprehensiveness_corrected"]
    assert metric["calibration"]["classes"] == list(NAMES)
    assert metric["ci_low"] < metric["value"] < metric["ci_high"]
    values = [row["comprehensiveness_corrected"] for row in read_items(Path("run"))]
    assert metric["value"] == pytest.approx(sum(values) / len(values))
    assert metrics["hallucination_rate_corrected"]["value"] is not None
    assert "more than one verdict" in metrics["contradicted_corrected"]["reason"]
    assert "comprehensiveness_corrected" in capsys.readouterr().out
    assert "comprehensiveness_corrected" in Path("run/report.md").read_text("utf-8")
    # Pooled labels say how often a verdict is right, not how much it weighs in a mean
    # of shares.
    assert score(check, "--calibration-from", "run", out="own") == 0
    own = read_metrics("own")["comprehensiveness_corrected"]
    assert own["calibration"]["form"] == "confusion"
    assert own["ci_low"] == metric["ci_low"]


def with_labels(check: dict[str, Any], **columns: list[Any]) -> dict[str, Any]:
    """The same check with further columns of its labels."""
    return check | {"labels": check["labels"] | columns}


def test_a_correction_states_its_assumption_and_adjustments(
    check: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    gold, verdicts = check["labels"]["gold"], check["labels"]["judge"]

    def corrected(changed: dict[str, Any], out: str) -> dict[str, Any]:
        assert score(changed, out=out) == 0
        return dict(read_metrics(out)["comprehensiveness_corrected"])

    plain = corrected(check, "plain")
    calibration = plain["calibration"]
    assert (
        calibration["assumes"]
        == "that the judge errs on these answers as on the 208 labelled ones"
    )
    assert calibration["adjusted_for"] == []
    assert calibration["widened_by"] == {}
    assert calibration["refused"] is None
    assert f"assumes {calibration['assumes']}" in Path("plain/report.md").read_text(
        "utf-8"
    )

    # The judge misses entailments in long answers; the demo's answers are short.
    missed = [
        label == "entailment" != verdict
        for label, verdict in zip(gold, verdicts, strict=True)
    ]
    words = [
        400 if is_missed else 5 + 37 * number % 300
        for number, is_missed in enumerate(missed)
    ]
    longer = corrected(with_labels(check, words=words), "longer")
    assert longer["calibration"]["widened_by"]["length"]["distance"] < 0.0
    assert longer["ci_high"] - longer["ci_low"] > plain["ci_high"] - plain["ci_low"]
    assert "as these answers are shorter" in Path("longer/report.md").read_text("utf-8")
    refused = corrected(
        with_labels(check, words=[count + 300 for count in words]), "refused"
    )
    assert refused["value"] is None
    assert (
        "the judge errs otherwise on long answers" in refused["calibration"]["refused"]
    )

    # Labels on questions of a single form cannot be adjusted to others; nor can a form
    # with few labels.
    open_only, both = ["open"] * 208, ["open", "yes or no"] * 104
    left = corrected(with_labels(check, group_question_form=open_only), "left")
    assert left["value"] == pytest.approx(plain["value"])
    assert "question_form: mixed otherwise here" in left["calibration"]["said"]
    rarely_open = [form if number % 8 else "other" for number, form in enumerate(both)]
    few = corrected(with_labels(check, group_question_form=rarely_open), "few")
    assert few["calibration"]["adjusted_for"] == []
    capsys.readouterr()
    assert score(with_labels(check, words=["long"] * 208)) == 2
    assert "not a result of judge-check" in capsys.readouterr().err


def test_compare_carries_the_error_of_shared_labels(
    check: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [
        score(check),
        score(check, share=0.3, out="other"),
        score(None, out="raw"),
    ] == [0, 0, 0]
    capsys.readouterr()
    compare = "compare other run --metric comprehensiveness_corrected --json"
    assert main(compare.split()) == 0
    metrics = json.loads(capsys.readouterr().out)["kqa"]["metrics"]
    metric = metrics["comprehensiveness_corrected"]
    values = [
        read_metrics(name)["comprehensiveness_corrected"]["value"]
        for name in ("run", "other")
    ]
    assert metric["difference"] == pytest.approx(values[0] - values[1])
    assert metric["ci_low"] <= metric["difference"] <= metric["ci_high"]
    assert main(["compare", "raw", "run"]) == 0
    assert "not both corrected, and by the same check" in capsys.readouterr().out
    Path("judge.toml").write_text(
        DEMO + '[[rule]]\ntask = "kqa"\njudge_kappa_at_least = 0\ncheck = "check.json"',
        "utf-8",
    )
    kappa = {"value": 0.7, "ci_low": 0.62, "ci_high": 0.77}
    figures = {
        name: check["figures"][name] | {"kappa": kappa}
        for name in ("two_way", "three_way")
    }
    for changed, reason in (
        ({}, "the whole interval meets the rule"),
        (
            {"votes": 3},
            "the check is of another judge, or of one asked differently: votes 3 and 1",
        ),
        ({"set": "ehrnoteqa"}, "the check is on ehrnoteqa, pairs of another task"),
    ):
        Path("check.json").write_text(
            json.dumps(check | {"figures": check["figures"] | figures} | changed),
            "utf-8",
        )
        assert main(["gate", "judge.toml", "run"]) == (7 if changed else 0)
        assert reason in " ".join(capsys.readouterr().out.split())
    rule = DEMO + '[[rule]]\ntask = "kqa"\nmetric = "comprehensiveness_corrected"\n'
    for limit, run, reason in (
        ("at_least = 0.1", "run", "a judge by words: its numbers stand for nothing"),
        ("at_least = 0.1", "raw", "the run does not report it"),
        (
            "margin = 0.9\nagainst = 'other'",
            "run",
            "a judge by words: its numbers stand for nothing",
        ),
        (
            "margin = 0.1\nagainst = 'raw'",
            "run",
            "is left out: the runs were not both corrected, and by the same check",
        ),
    ):
        Path("policy.toml").write_text(rule + limit, "utf-8")
        assert main(["gate", "policy.toml", run]) == 7
        assert reason in " ".join(capsys.readouterr().out.split())
    Path("policy.toml").write_text(
        rule + "at_least = 0.1\nby = 'question_form'", "utf-8"
    )
    assert main(["gate", "policy.toml", "run"]) == 2
    assert "comprehensiveness_corrected has no breakdowns" in capsys.readouterr().err


def test_a_check_that_does_not_match_is_refused(
    check: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for changed, message in tables(__file__, "calibration"):
        assert score(check | changed) == 2
        assert message in capsys.readouterr().err
        assert not Path("run/results.json").exists()


def test_too_few_labels_give_no_value_and_general_ones_a_warning(
    check: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    labels = {name: values[::6] for name, values in check["labels"].items()}
    assert score(check | {"labels": labels}) == 0
    output = capsys.readouterr().out
    assert "too few labels of a class" in output
    assert (
        "would leave ±5% of verdicts; label further answers, chosen without a look at the judge's verdicts"
        in output
    )
    single_cluster = {**check["labels"], "cluster": [0] * len(check["labels"]["gold"])}
    assert score(check | {"labels": single_cluster}, out="single") == 0
    assert "all labels are from one cluster" in capsys.readouterr().out
    assert score(check | {"set": "anli", "mode": "batched"}, out="general") == 0
    assert "They are of another task" in capsys.readouterr().out
    assert (
        score(
            check | {"set": "anli", "mode": "batched"},
            "--calibration-from",
            "run",
            out="no",
        )
        == 2
    )
    assert "has no labels of this run's answers" in capsys.readouterr().err
