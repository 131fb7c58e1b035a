"""A site whose judge is a model: labels, a check, corrected scores, and a gate that uses them."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path

import pytest

from medical_tasks.comparison.policies import read_policy
from medical_tasks.site.history import history
from tests.fault_server import Call, FaultServer
from tests.site.walk import STEPS, headline, make_demo, run_step

_ANSWER = "\n\nAnswer of the model, a JSON string:\n"


def judge_with_errors(call: Call) -> str:
    """A judge that compares words, and is wrong about an eighth of the answers."""
    question = str(call.body["messages"][0]["content"])
    before, heading, rest = question.partition(_ANSWER)
    if not heading:
        return "ready"
    answer = json.loads(rest.partition("\n\n")[0])
    gold = before.rpartition("\n\nRight answer:\n")[2]
    gold_words = set(re.findall(r"\w+", gold.lower()))
    common = gold_words & set(re.findall(r"\w+", answer.lower()))
    is_wrong = hashlib.sha256(answer.encode()).digest()[0] % 8 == 0
    right = (len(common) >= 0.75 * len(gold_words)) is not is_wrong
    return json.dumps({"reason": "By its words.", "score": int(right)})


def test_a_gate_decides_by_scores_that_are_corrected_for_the_judges_errors(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_demo(here / "ward", "chart-qa", "--patients", "60")
    settings = folder / "site.toml"
    settings.write_text(
        settings.read_text().replace('"lexical"', '"openai-api/own/judge"')
    )
    with FaultServer(answer=judge_with_errors) as server:
        monkeypatch.setenv("OWN_BASE_URL", server.base_url)
        monkeypatch.setenv("OWN_API_KEY", "k")
        for step, *words in STEPS:
            assert run_step(folder, step, *words) == 0
        assert server.calls
    assert run_step(folder, "gate") in (0, 6, 7)
    rules = read_policy(folder / "policy.toml").rules
    decided = {(rule.metric, rule.by != "none") for rule in rules if rule.metric}
    assert decided == {("accuracy_corrected", False), ("accuracy", True)}
    # The gate decides by the corrected values.
    candidate, baseline = (
        headline(folder, role, "accuracy_corrected")["value"]
        for role in ("candidate", "baseline")
    )
    raw = headline(folder, "candidate", "accuracy")["value"]
    assert candidate != pytest.approx(raw, abs=0.001)
    findings = history(folder / "gates.jsonl")[-1].content["findings"]
    (corrected,) = (
        finding for finding in findings if "accuracy_corrected" in finding["rule"]
    )
    assert corrected["value"] == pytest.approx(candidate - baseline, abs=1e-9)
    # A rule of one's own on the metric replaces it, by either name.
    for name in ("accuracy", "accuracy_corrected"):
        text = settings.read_text()
        own = f'\n[[rule]]\nmetric = "{name}"\nat_least = 0.5\n'
        settings.write_text(text + own)
        assert run_step(folder, "gate") in (0, 6, 7)
        policy = tomllib.loads((folder / "policy.toml").read_text())
        metric_rules = [
            (rule["metric"], "margin" in rule)
            for rule in policy["rule"]
            if "metric" in rule and "by" not in rule
        ]
        assert metric_rules == [(name, False)]
        settings.write_text(text)
