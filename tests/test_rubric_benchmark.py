"""`examples/medical_rubric`: points with signs, a judge of whole conversations and a simulated patient, at every door."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import medical_tasks.plugins as plugins
from medical_tasks.catalog import task_spec
from medical_tasks.cli import main
from tests.fault_server import Call, Fault
from tests.support import ROOT

EXAMPLE = ROOT / "examples" / "medical_rubric"
ROWS = json.loads((EXAMPLE / "medical_rubric" / "demo.json").read_text(encoding="utf-8"))
DEMO = ["--config", "demo"]
JUDGE = ["--judge", "openai-api/test-host/judge"]
PATIENT = ["--role", "patient=openai-api/test-host/patient"]
VISIT = [
    "run",
    "--tasks",
    "medical_rubric_visit",
    "--model",
    "openai-api/test-host/clinician",
    *DEMO,
]


@pytest.fixture(autouse=True)
def rubric(here: Path) -> Iterator[None]:
    """The example is known, and its demo built."""
    with plugins.using([str(EXAMPLE)]):
        assert main(["build", "medical_rubric", *DEMO]) == 0
        yield


def answer(call: Call) -> str:
    """Whoever is asked: the clinician says a thing a turn, the patient what it was told, the judge by the words."""
    messages = call.body["messages"]
    if call.body["model"] == "judge":
        return judged(call.prompt)
    if call.body["model"] == "patient":
        assert messages[0]["role"] == "system"
        assert [each["role"] for each in messages[1:]] == ["assistant", "user"] * (
            len(messages) // 2
        )
        return f"Patient's turn {len(messages) // 2}."
    return f"Clinician's turn {1 + len(messages) // 2}."


def judged(prompt: str) -> str:
    """Criteria with points hold of the reference's replies, and faults of none."""
    (row,) = (each for each in ROWS if each["message"] in prompt)
    holds = any(
        criterion["text"] in prompt and criterion["points"] > 0 for criterion in row["criteria"]
    )
    return "true" if holds and row["reply"] in prompt else "false"


def entry(run: str, task: str) -> dict[str, Any]:
    results = json.loads((Path(run) / "results.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = results["tasks"][task]
    return found


def test_the_reference_scores_the_maximum(serving: Any) -> None:
    names = "medical_rubric,medical_rubric_visit"
    words = ["run", "--tasks", names, "--model", "baseline/reference", *DEMO, *JUDGE]
    with serving():
        assert main([*words, "--out", "run"]) == 0
    for name in names.split(","):
        figure = entry("run", name)["metrics"]["points"]
        assert (figure["value"], figure["bound_low"], figure["ci_high"]) == (1.0, 1.0, 1.0)
        assert 0.0 <= figure["ci_low"] < 1.0


def test_the_judge_of_a_visit_sees_the_whole_conversation(serving: Any) -> None:
    with serving() as server:
        assert main([*VISIT, *PATIENT, *JUDGE, "--out", "run"]) == 0
        asked = [call.prompt for call in server.calls if call.body["model"] == "judge"]
        assert len(asked) == sum(len(row["criteria"]) for row in ROWS)
        turns = (
            "Clinician: Clinician's turn 1.\n\nPatient: Patient's turn 1.\n\n"
            "Clinician: Clinician's turn 2.\n\nPatient: Patient's turn 2.\n\n"
            "Clinician: Clinician's turn 3.\n\nDoes"
        )
        assert all(turns in prompt for prompt in asked)
        ran = entry("run", "medical_rubric_visit")
        assert (ran["usage"]["requests"], ran["roles"]["patient"]["requests"]) == (12, 8)
        assert ran["recipe"]["roles"]["patient"]["name"] == "openai-api/test-host/patient"
        assert ran["metrics"]["points"]["value"] == 0.0
        before = len(server.calls)
        # The same command again asks nobody, and scoring again finds the conversations.
        assert main([*VISIT, *PATIENT, *JUDGE, "--out", "run"]) == 0
        words = ["score", "medical_rubric_visit", "--responses", "run", *JUDGE]
        assert main([*words, "--judge-args", "max_retries=0", "--out", "again"]) == 0
        later = [call.prompt for call in server.calls[before:]]
        assert {call.body["model"] for call in server.calls[before:]} <= {"judge"}
        assert all(turns in prompt for prompt in later)
    assert entry("again", "medical_rubric_visit")["metrics"] == ran["metrics"]


def test_a_visit_that_was_interrupted_goes_on(serving: Any) -> None:
    faults = [Fault.status_code(400)]

    def second_turn_fails(call: Call) -> Fault | None:
        late = call.body["model"] == "patient" and len(call.body["messages"]) > 3
        return faults[0] if faults and late else None

    with serving(second_turn_fails) as server:
        assert main([*VISIT, *PATIENT, *JUDGE, "--out", "run"]) == 5
        assert entry("run", "medical_rubric_visit")["coverage"]["unscored"] == {
            "no answer: patient: http 400": len(ROWS)
        }
        faults.clear()
        first = len(server.calls)
        assert main([*VISIT, *PATIENT, *JUDGE, "--out", "run"]) == 0
        asked = [call.body["model"] for call in server.calls[first:]]
    # Of each visit the patient's second turn and the clinician's third were missing.
    assert (asked.count("patient"), asked.count("clinician")) == (len(ROWS), len(ROWS))
    assert first == 4 * len(ROWS)


def test_a_ceiling_of_cost_is_of_all_roles(
    serving: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    free, dear = "price_in=0,price_out=0", "price_in=1000,price_out=1000"
    model = ["--model-args", free, "--max-new-tokens", "9"]
    with serving() as server:
        assert main([*VISIT, *PATIENT, *JUDGE, *model, "--max-cost", "1"]) == 2
        assert "needs the prices of openai-api/test-host/patient" in capsys.readouterr().err
        patient = ["--role", f"{PATIENT[1]},{dear}"]
        words = [*VISIT, *patient, *JUDGE, *model, "--out", "run"]
        assert main([*words, "--max-cost", "0.05"]) == 5
        assert {call.body["model"] for call in server.calls} <= {"clinician", "judge"}
        assert entry("run", "medical_rubric_visit")["coverage"]["unscored"] == {
            "no answer: patient: budget spent": len(ROWS)
        }
        assert "before --max-cost 0.05 was passed" in capsys.readouterr().err
        assert main(words) == 0
        asked = [call.body["model"] for call in server.calls]
    assert (asked.count("clinician"), asked.count("patient")) == (12, 8)


def test_each_role_needs_a_model_that_the_guard_allows(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], serving: Any
) -> None:
    cases = {
        "": r"the role patient \(plays the patient.*\) needs a model: --role patient=MODEL",
        "nurse=openai-api/x/y": r"'nurse' is no role of medical_rubric_visit. They have: patient",
        "patient=": "name the model, as patient=openai-api/HOST/NAME",
        "patient=baseline/random": "a baseline answers tasks and cannot talk",
    }
    for given, message in cases.items():
        role = ["--role", given] if given else []
        assert main([*VISIT, *role, *JUDGE]) == 2
        assert re.search(message, capsys.readouterr().err)
    # Of credentialed conversations nothing goes to a patient that is played elsewhere.
    closed = [
        type(spec)(**{**vars(spec), "access": "credentialed"})
        for spec in task_spec("medical_rubric_visit").benchmark.datasets
    ]
    benchmark = type(task_spec("medical_rubric_visit").benchmark)
    monkeypatch.setattr(benchmark, "datasets", tuple(closed))
    with serving() as server:
        far = ["--role", "patient=openai-api/far-host/patient"]
        assert main([*VISIT, *far, *JUDGE, "--out", "closed"]) == 4
        assert "model of the role patient" in capsys.readouterr().err
        assert server.calls == []


def test_report_compare_and_list(serving: Any, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--tasks", "medical_rubric", *DEMO, *JUDGE, "--model"]
    with serving():
        assert main([*words, "baseline/reference", "--out", "gold"]) == 0
        assert main([*words, "openai-api/test-host/clinician", "--out", "model"]) == 0
    assert main(["report", "gold", "model", "--out", "report.html"]) == 0
    assert "Tells the patient" not in Path("report.html").read_text(encoding="utf-8")
    assert "points" in Path("report.html").read_text(encoding="utf-8")
    assert main(["compare", "gold", "model"]) == 0
    assert "points" in capsys.readouterr().out
    assert main(["list"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"medical:medical_rubric_visit .*not in lighteval", told)
    assert "lighteval asks one question an item" in told


def test_lighteval_has_the_task_of_one_question() -> None:
    pytest.importorskip("lighteval")
    from medical_tasks.harness.lighteval_adapter import task_configs

    (config, bare) = task_configs([task_spec("medical_rubric")])
    assert (config.name, bare.name) == ("medical:medical_rubric", "medical_rubric")
    assert task_spec("medical_rubric_visit").outside_lighteval


@pytest.mark.slow
def test_inspect_asks_the_model_of_the_role(here: Path, serving: Any) -> None:
    pytest.importorskip("inspect_ai")
    words = ["eval", "medical_tasks/medical_rubric_visit", "-T", "config=demo", "--display", "none"]
    words += ["--model", "openai-api/local/clinician", "--log-dir", "logs", "--log-format", "json"]
    words += ["--model-role", "patient=openai-api/local/patient"]
    with serving() as server:
        environment = os.environ | {
            "LOCAL_BASE_URL": server.base_url,
            "LOCAL_API_KEY": "k",
            "MEDICAL_TASKS_JUDGE": "openai-api/test-host/judge",
        }
        command = [sys.executable, "-m", "inspect_ai", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        judge = [call.prompt for call in server.calls if call.body["model"] == "judge"]
    (log,) = (here / "logs").glob("*.json")
    content = json.loads(log.read_text(encoding="utf-8"))
    assert content["status"] == "success", done.stdout + done.stderr
    assert judge
    turns = "Patient: Patient's turn 2.\n\nClinician: Clinician's turn 3."
    assert all(turns in prompt for prompt in judge)
