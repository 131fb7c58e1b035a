"""`examples/medical_rubric`: HealthBench's files, points with signs, figures by theme and axis, physicians' labels."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import medical_tasks.plugins as plugins
from medical_tasks.catalog import task_spec
from medical_tasks.cli import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.runs.results import TaskEntry
from tests.case_tables import json_of
from tests.fault_server import Call, Fault
from tests.run_files import task_entry
from tests.support import ROOT, code_lines

EXAMPLE = ROOT / "examples" / "medical_rubric"
LINES = (
    (EXAMPLE / "medical_rubric" / "demo.jsonl").read_text(encoding="utf-8").splitlines()
)
ROWS = [json.loads(line) for line in LINES]
CHECKS = EXAMPLE / "medical_rubric" / "checks.jsonl"
DEMO = ["--config", "demo"]
JUDGE = ["--judge", "openai-api/test-host/judge"]
GOLD = [
    "run",
    "--tasks",
    "medical_rubric",
    "--model",
    "baseline/reference",
    *DEMO,
    *JUDGE,
]


@pytest.fixture(autouse=True)
def rubric(here: Path) -> Iterator[None]:
    """The example is loaded, and its demo built."""
    with plugins.using([str(EXAMPLE)]):
        assert main(["build", "medical_rubric", *DEMO]) == 0
        yield


def answer(call: Call) -> str:
    """The judge: criteria with points are met by the reference's replies, and faults by none."""
    if call.body["model"] != "judge":
        return "Please wait."
    met = any(
        f"[{rubric['points']}] {rubric['criterion']}" in call.prompt
        and f"assistant: {row['ideal_completions_data']['ideal_completion']}"
        in call.prompt
        and rubric["points"] > 0
        for row in ROWS
        for rubric in row["rubrics"]
    )
    return json.dumps({"explanation": "so it is", "criteria_met": met})


def entry(run: str) -> TaskEntry:
    return task_entry(run, "medical_rubric")


def write_lines(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )


def test_the_reference_scores_the_maximum_in_every_group(serving: Any) -> None:
    with serving() as server:
        assert main([*GOLD, "--out", "run"]) == 0
        prompts = [call.prompt for call in server.calls]
    results = entry("run")
    figure = results["metrics"]["points"]
    assert (figure["value"], figure["bound_low"], figure["ci_high"]) == (1.0, 1.0, 1.0)
    assert results["breakdown"].keys() == {"theme", "axis", "level"}
    groups = [group for by in results["breakdown"].values() for group in by.values()]
    values = [
        group_metrics["points"]["value"]
        for group_metrics in groups
        if group_metrics["points"]["n"]
    ]
    assert {*values} == {1.0}
    assert (
        len(values) == 2 + 3 + 1
    )  # themes; axes and levels of a criterion with points
    # The judge's prompt holds the whole conversation, followed by the reply.
    first = "user: Good morning. I have a question about my tablets.\n\nassistant: Good morning."
    assert sum(first in prompt for prompt in prompts) == len(ROWS[1]["rubrics"])
    assert len(prompts) == sum(len(row["rubrics"]) for row in ROWS)


def test_a_published_file_scores_as_computed_by_hand(serving: Any) -> None:
    """By hand: 3 - 4 of 8 and 5 of 10 points; of the axis, -4 of 5 and nothing that could be earned."""
    rubrics = [
        {"criterion": "One.", "points": 5, "tags": ["axis:accuracy"]},
        {"criterion": "Two, met.", "points": 3, "tags": []},
        {"criterion": "Three, met.", "points": -4, "tags": ["axis:accuracy", "other"]},
    ]
    more = [{"criterion": "Met.", "points": 5.0, "tags": []}, rubrics[0], rubrics[2]]
    more[2] = {"criterion": "Fault.", "points": -2, "tags": ["axis:completeness"]}
    rows = [
        {
            **ROWS[0],
            "prompt_id": "a",
            "rubrics": rubrics,
            "example_tags": ["theme:x", "other:y"],
        },
        {
            **ROWS[1],
            "prompt_id": "b",
            "rubrics": more,
            "example_tags": [],
            "canary": "z",
        },
    ]
    for row in rows:
        row["ideal_completions_data"] = None
    write_lines("published.jsonl", rows)
    build = [
        "build",
        "medical_rubric",
        "--config",
        "hard",
        "--source",
        "published.jsonl",
    ]
    assert main(build) == 0
    write_lines(
        "answers.jsonl", [{"id": "a", "response": "A."}, {"id": "b", "response": "B."}]
    )
    score = [
        "score",
        "medical_rubric",
        "--responses",
        "answers.jsonl",
        "--config",
        "hard",
    ]

    def judge_reply(call: Call) -> str:
        return json.dumps({"explanation": "", "criteria_met": "et." in call.prompt})

    with serving(answer=judge_reply):
        assert main([*score, *JUDGE, "--out", "run"]) == 0
    results = entry("run")
    assert results["metrics"]["points"]["value"] == pytest.approx((-1 / 8 + 5 / 10) / 2)
    breakdown = results["breakdown"]
    assert breakdown["theme"]["x"]["points"]["value"] == 0.0  # -1/8, cut
    assert breakdown["theme"]["other:y"]["points"]["n"] == 1
    assert breakdown["axis"]["accuracy"]["points"]["value"] == 0.0
    assert breakdown["axis"]["completeness"]["points"]["value"] is None


def test_a_missing_verdict_is_bounded_with_its_sign(serving: Any) -> None:
    def fails(call: Call) -> Fault | None:
        lost = ("[3] Tells the patient not to drive", "[-5] Tells the patient to stop")
        return (
            Fault.status_code(400)
            if any(criterion in call.prompt for criterion in lost)
            else None
        )

    with serving(fails):
        assert main([*GOLD, "--out", "run"]) == 5
    figure = entry("run")["metrics"]["points"]
    assert figure["bound_high"] == 1.0
    assert figure["bound_low"] == pytest.approx((8 / 11 + (8 - 5) / 8 + 2) / 4)


def test_files_of_another_form_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    rubric = ROWS[0]["rubrics"][0]
    for change, message in (
        ({"prompt_id": 3}, "line 2: prompt_id: must be a valid string, got 3"),
        ({"prompt": [{"role": "user"}]}, "line 2: prompt, 0, content: is missing"),
        ({"prompt": []}, "line 2: prompt: "),
        (
            {"prompt": [{"role": "assistant", "content": "Good morning."}]},
            "line 2: prompt: must end with a message of the user",
        ),
        (
            {"rubrics": [{**rubric, "points": True}]},
            "line 2: rubrics, 0, points: must be a valid number, got true",
        ),
        (
            {"rubrics": [{**rubric, "points": -1}]},
            "line 2: rubrics: must have points above 0",
        ),
        (
            {"rubrics": [{**rubric, "points": float("inf")}]},
            "points: must be a finite number",
        ),
        ({"rubrics": []}, "line 2: rubrics: "),
    ):
        write_lines("rows.jsonl", [ROWS[0], {**ROWS[1], **change}])
        build = [
            "build",
            "medical_rubric",
            "--config",
            "full",
            "--source",
            "rows.jsonl",
        ]
        assert main(build) == 2
        assert message in capsys.readouterr().err


def test_the_official_template_is_read_from_a_checkout(serving: Any) -> None:
    folder = Path("simple-evals")
    folder.mkdir()
    text = 'GRADER_TEMPLATE = """\nTheirs\n<<conversation>>\nItem\n<<rubric_item>>\n""".strip()\n'
    (folder / "healthbench_eval.py").write_text(
        f"import blobfile\n{text}", encoding="utf-8"
    )
    with serving() as server:
        official = [
            "--prompts",
            "official",
            "--upstream",
            "simple-evals",
            "--out",
            "run",
        ]
        assert main([*GOLD, *official]) == 0
        prompts = {call.prompt for call in server.calls}
    row, rubric = ROWS[3], ROWS[3]["rubrics"][2]
    reply = row["ideal_completions_data"]["ideal_completion"]
    talk = f"user: {row['prompt'][0]['content']}\n\nassistant: {reply}"
    assert f"Theirs\n{talk}\nItem\n[-10] {rubric['criterion']}" in prompts


def test_a_judge_is_checked_on_physicians_labels_and_corrects_points(
    serving: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge calls one in eight criteria met that are not, and the other way round."""
    lines = CHECKS.read_text(encoding="utf-8").splitlines()
    labels = [json.loads(line) for line in lines * 4]
    for number, row in enumerate(labels):
        row["completion"] += " " * number
        row["prompt"] = [{"role": "user", "content": f"{number // 12}"}]
    write_lines("labels.jsonl", labels)
    right = {
        f"assistant: {row['completion']}\n{row['rubric']}": sum(row["binary_labels"])
        > 1
        for row in labels
    }

    def judge_reply(call: Call) -> str:
        parts = re.search(
            r"(assistant: [^\n]*)\n\nLook .*\n\n(.*)\n\nReply", call.prompt, re.S
        )
        if parts is None or (is_met := right.get(f"{parts[1]}\n{parts[2]}")) is None:
            return answer(call)
        wrong = hashlib.sha256(call.prompt.encode()).digest()[0] % 8 == 0
        return json.dumps({"explanation": "so", "criteria_met": is_met != wrong})

    with serving(answer=judge_reply):
        check = ["judge-check", "medical_rubric", "--source", "labels.jsonl", *JUDGE]
        assert main([*check, "--out", "check"]) == 0
        check_results = json_of(Path("check/check.json"))
        assert (
            check_results["set"],
            check_results["pairs"],
            check_results["scored"],
        ) == (
            "medical_rubric",
            96,
            96,
        )
        assert check_results["labels"]["gold"].count(None) == 4
        assert main([*GOLD, "--calibration", "check", "--out", "run"]) == 0
    figure = entry("run")["metrics"]["points_corrected"]
    assert figure["calibration"]["refused"] is None
    assert 0.0 <= figure["ci_low"] <= figure["value"] <= figure["ci_high"] <= 1.0
    # A met verdict counts u, one that is not met v; faults that were not met count with
    # their sign.
    u, v = figure["calibration"]["scores"]
    signed = [(11, -9), (8, -5), (11, -8), (10, -10)]
    mean = sum(u + v * fault / plus for plus, fault in signed) / len(signed)
    assert figure["value"] == pytest.approx(min(1.0, mean))
    assert "medical_rubric" in capsys.readouterr().out


def test_report_compare_and_list(
    serving: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "--tasks", "medical_rubric", *DEMO, *JUDGE, "--model"]
    with serving():
        assert main([*GOLD, "--out", "gold"]) == 0
        assert main([*words, "openai-api/test-host/clinician", "--out", "model"]) == 0
    assert main(["report", "gold", "model", "--out", "report.html"]) == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "Tells the patient" not in page
    assert re.search("axis", page, re.IGNORECASE)
    assert main(["compare", "gold", "model"]) == 0
    assert "points" in capsys.readouterr().out
    assert main(["list"]) == 0
    assert re.search(r"medical:medical_rubric .*needs a judge", capsys.readouterr().out)


def test_lighteval_has_the_task() -> None:
    pytest.importorskip("lighteval")
    from medical_tasks.harness.lighteval_adapter import task_configs

    (config, bare) = task_configs([task_spec("medical_rubric")])
    assert (config.name, bare.name) == ("medical:medical_rubric", "medical_rubric")
    (task,) = task_spec("medical_rubric").benchmark.tasks
    item = load_task_data(task, task.benchmark.datasets[0], config="demo").items[1]
    config.prompt_function.judge = None
    doc = config.prompt_function(dict(item.fields), config.name)
    doc.fewshot_samples = []  # as lighteval sets it, which shows them before the question
    (earlier,) = doc.fewshot_samples
    shown = [earlier.query, earlier.get_golds()[0], doc.query]
    assert shown == [message["content"] for message in item.fields["prompt"]]


def test_the_example_is_small() -> None:
    assert 100 < code_lines(EXAMPLE / "medical_rubric") <= 250
