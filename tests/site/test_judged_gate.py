"""A site whose judge is a model: labels, a check, corrected scores, and the gate that decides by them."""

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
from tests.site.walk import STEPS, give, headline, new

_ANSWER = "\n\nAnswer of the model, a JSON string:\n"


def _errs(call: Call) -> str:
    """A judge that compares words, and is wrong about one answer in eight."""
    question = str(call.body["messages"][0]["content"])
    before, asked, rest = question.partition(_ANSWER)
    if not asked:
        return "ready"
    answer = json.loads(rest.partition("\n\n")[0])
    gold = before.rpartition("\n\nRight answer:\n")[2]
    wanted = set(re.findall(r"\w+", gold.lower()))
    said = wanted & set(re.findall(r"\w+", answer.lower()))
    drawn = hashlib.sha256(answer.encode()).digest()[0]
    right = (len(said) >= 0.75 * len(wanted)) is (drawn % 8 > 0)
    return json.dumps({"reason": "By its words.", "score": int(right)})


def test_what_a_judge_scored_is_decided_without_the_judges_errors(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new(here / "ward", "chart-qa")
    settings = folder / "site.toml"
    settings.write_text(
        settings.read_text().replace('"lexical"', '"openai-api/own/judge"')
    )
    with FaultServer(answer=_errs) as server:
        monkeypatch.setenv("OWN_BASE_URL", server.base_url)
        monkeypatch.setenv("OWN_API_KEY", "k")
        for step, *words in STEPS:
            assert give(folder, step, *words) == 0
        assert server.calls
    assert give(folder, "gate") in (0, 6, 7)
    rules = read_policy(folder / "policy.toml").rules
    decided = {(rule.metric, rule.by != "none") for rule in rules if rule.metric}
    assert decided == {("accuracy_corrected", False), ("accuracy", True)}
    # The gate's number is that of the corrected values.
    one, other = (
        headline(folder, role, "accuracy_corrected")["value"]
        for role in ("candidate", "baseline")
    )
    raw = headline(folder, "candidate", "accuracy")["value"]
    assert one != pytest.approx(raw, abs=0.001)
    findings = history(folder / "gates.jsonl")[-1].content["findings"]
    (whole,) = (each for each in findings if "accuracy_corrected" in each["rule"])
    assert whole["value"] == pytest.approx(one - other, abs=1e-9)
    # A rule of one's own on the metric takes its place, by either name.
    for name in ("accuracy", "accuracy_corrected"):
        text = settings.read_text()
        own = f'\n[[rule]]\nmetric = "{name}"\nat_least = 0.5\n'
        settings.write_text(text + own)
        assert give(folder, "gate") in (0, 6, 7)
        policy = tomllib.loads((folder / "policy.toml").read_text())
        named = [
            (rule["metric"], "margin" in rule)
            for rule in policy["rule"]
            if "metric" in rule and "by" not in rule
        ]
        assert named == [(name, False)]
        settings.write_text(text)
