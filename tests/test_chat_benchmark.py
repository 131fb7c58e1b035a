"""`examples/medical_chat` and `examples/medical_patient`: conversations about notes, and a simulated patient."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import medical_tasks.plugins as plugins
from measurements.chat_official import judge_reply, write_release, write_table
from medical_tasks.catalog import task_spec
from medical_tasks.cli import main
from tests.case_tables import json_of
from tests.fault_server import Call, Fault
from tests.run_files import task_entry
from tests.support import ROOT, code_lines, install_copies, run_python
from tests.test_rubric_benchmark import answer as meets_criteria
from tests.warm_process import WarmProcess

CHAT, PATIENT, RUBRIC = (
    ROOT / "examples" / name
    for name in ("medical_chat", "medical_patient", "medical_rubric")
)
ROWS = json_of(CHAT / "medical_chat" / "demo.json")
GOLDEN = json_of(ROOT / "tests/golden/medical_chat.json")
DEMO = ["--config", "demo"]
JUDGE = ["--judge", "openai-api/test-host/judge"]
MODEL = ["--model", "openai-api/test-host/model"]


@pytest.fixture(autouse=True)
def examples(here: Path) -> Iterator[None]:
    """Both packages are loaded, and their demos built."""
    with plugins.using([str(CHAT), str(PATIENT)]):
        assert main(["build", "medical_chat", *DEMO]) == 0
        assert main(["build", "medical_patient", *DEMO]) == 0
        yield


def answer(call: Call) -> str:
    """The judge gives full marks; the model answers A or asks a question, and the patient replies."""
    if call.body["model"] == "judge":
        keys = re.findall(r"^Q(\d+(?:-\d+)?):", call.prompt, re.MULTILINE)
        return "".join(
            f"Reasoning{key}: so it stands there.\nScore{key}: 2\n" for key in keys
        )
    if call.body["model"] == "patient":
        return "I have vomited, and lamps have rings."
    if "The visit is over." in call.prompt:
        return "B"
    if "The patient writes" in str(call.body["messages"][0]["content"]):
        return (
            "READY" if len(call.body["messages"]) > 4 else "What else have you noticed?"
        )
    return "A"


def figures(run: str, task: str) -> dict[str, float | None]:
    return {
        name: figure["value"]
        for name, figure in task_entry(Path(run), task)["metrics"].items()
    }


def test_the_reference_scores_the_maximum(serving: Any) -> None:
    names = "medical_chat_choice,medical_chat_open,medical_patient"
    words = ["run", "--tasks", names, "--model", "baseline/reference", *DEMO, *JUDGE]
    with serving():
        assert main([*words, "--out", "run"]) == 0
    for name in ("medical_chat_choice", "medical_chat_open"):
        assert [*figures("run", name).values()] == [1.0] * 9
    assert figures("run", "medical_patient") == {
        "accuracy": 1.0,
        "facts": None,
        "questions": None,
    }


def test_a_chat_holds_past_answers_without_past_choices(serving: Any) -> None:
    with serving() as server:
        assert (
            main(
                ["run", "--tasks", "medical_chat_choice", *MODEL, *DEMO, "--out", "run"]
            )
            == 0
        )
        chats = [call.body["messages"] for call in server.calls]
    patient = ROWS[2]
    (last,) = (chat for chat in chats if len(chat) == 2 * len(patient["turns"]) - 1)
    first, third = patient["turns"][0], patient["turns"][-1]
    assert all(note in last[0]["content"] for note in patient["notes"])
    assert not any(
        note in message["content"] for note in patient["notes"] for message in last[1:]
    )
    assert last[1]["content"] == f"A: {first['choices'][0]}"
    past = "\n".join(message["content"] for message in last[:-1])
    assert first["question"] in past
    assert first["choices"][1] not in past
    assert all(choice in last[-1]["content"] for choice in third["choices"])
    assert len(chats) == sum(len(row["turns"]) for row in ROWS)


def build_full(folder: Path) -> None:
    """Builds the demo's patients as the release, which `leakcheck` and the guard take for real."""
    folder.mkdir()
    write_release(folder)
    assert (
        main(["build", "medical_chat", "--config", "full", "--source", str(folder)])
        == 0
    )


def test_the_figures_are_those_of_the_authors_script(serving: Any) -> None:
    """The answers, the grades and the figures of `scoring/multiturn_qa_scoring.py` are in `GOLDEN`."""
    answers = [
        {"subject_id": name, "qa_category": "any", "model_answer": json.dumps(answer)}
        for name, answer in GOLDEN["choice"]["answers"].items()
    ]
    write_table(Path("answers.csv"), answers)
    words = ["--responses", "answers.csv", *DEMO]
    assert main(["score", "medical_chat_choice", *words, "--out", "choice"]) == 0
    grades = GOLDEN["open"]["grades"]
    with serving(answer=lambda call: judge_reply(grades, call)) as server:
        assert (
            main(["score", "medical_chat_open", *words, *JUDGE, "--out", "open"]) == 0
        )
    for form in ("choice", "open"):
        measured = figures(form, f"medical_chat_{form}")
        assert len(measured) == 9
        assert measured == pytest.approx(GOLDEN[form]["figures"], abs=1e-12)
    # The prompt of the second pass contains the reply of the first one.
    first, second = (
        call for call in server.calls if ROWS[3]["notes"][0] in call.prompt
    )
    assert judge_reply(grades, first) in second.prompt


def test_missing_verdicts_are_bounded(serving: Any) -> None:
    lost = ROWS[3]["notes"][0]

    def fails(call: Call) -> Fault | None:
        return (
            Fault.status_code(400)
            if lost in call.prompt and "Q1-1" in call.prompt
            else None
        )

    words = [
        "run",
        "--tasks",
        "medical_chat_open",
        "--model",
        "baseline/reference",
        *DEMO,
        *JUDGE,
    ]
    with serving(fails):
        assert main([*words, "--out", "run"]) == 5
    metrics = task_entry(Path("run"), "medical_chat_open")["metrics"]
    assert metrics["content"]["bound_low"] == 1.0
    # One of eight sources and pairs, and one of four patients, may be wrong.
    assert metrics["source"]["bound_low"] == metrics["pair"]["bound_low"] == 7 / 8
    assert metrics["source_all"]["bound_low"] == 3 / 4
    assert metrics["source_all"]["bound_high"] == 1.0


def test_notes_stay_on_this_machine(
    serving: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    build_full(Path("release"))
    run = [
        "run",
        "--tasks",
        "medical_chat_choice,medical_chat_open",
        "--config",
        "full",
    ]
    with serving() as server:
        far = ["--model", "openai-api/far-host/model", *JUDGE]
        assert main([*run, *far, "--out", "far"]) == 4
        assert (
            main([*run, *MODEL, "--judge", "openai-api/far-host/judge", "--out", "far"])
            == 4
        )
        assert server.calls == []
        assert main([*run, *MODEL, *JUDGE, "--out", "run"]) == 0
    capsys.readouterr()
    assert main(["leakcheck", "run", "--source", "medical_chat"]) == 0
    assert "clean" in capsys.readouterr().out


def test_tables_that_are_not_the_release_are_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = here / "release"
    folder.mkdir()
    build = ["build", "medical_chat", "--config", "full", "--source", str(folder)]
    for table, before, after, message in (
        ("questions.csv", ",source,", ",sauce,", "needs turns content or source"),
        (
            "questions.csv",
            ",2,1,source,",
            ",2,3,source,",
            "one source turn right behind it",
        ),
        ("notes.csv", "900002,2,", "900002,3,", "900002: needs notes numbered 1, 2"),
        (
            "notes.csv",
            "900002,2,",
            "900002,two,",
            "subject_id and note_num must be numbers",
        ),
    ):
        write_release(folder)
        text = (folder / table).read_text(encoding="utf-8")
        assert before in text
        (folder / table).write_text(text.replace(before, after, 1), encoding="utf-8")
        assert main(build) == 2
        assert message in capsys.readouterr().err


def write_checkout(folder: Path) -> None:
    """Writes a checkout in the authors' form, with invented texts."""
    for name in ("", "_generate_content", "_generate_source"):
        choices = (
            ""
            if name
            else "".join(f"({letter}) {{choice_{letter}}} " for letter in "abcde")
        )
        text = f"[N]\n{{discharge summaries}}\n\nTheirs{name}\nQ: {{question}}\n{choices}\nEnd:"
        write(folder / f"prompt/multiturn_gpt_evaluate{name}.txt", text)
    for name in ("content", "source"):
        text = f"Their {name} pass\n{{discharge summaries}}\n{{content_pass_output}}\n{{qas}}"
        write(folder / f"prompt/multiturn_gpt_evaluate_generate_eval_{name}.txt", text)
    write(
        folder / "core/multiturn_gpt_evaluate_common.py",
        'import vllm\nGENERATE_SOURCE_QUESTION = (\n    "Their "\n    "source question?"\n)\n',
    )
    write(
        folder / "evaluation/multiturn_gpt_evaluate_generation_eval.py",
        'EVAL_SYSTEM_MESSAGE = "Their grader"\n',
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_official_prompts_are_read_from_a_checkout(
    serving: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    write_checkout(Path("EHRNote-ChatQA"))
    run = [
        "run",
        "--tasks",
        "medical_chat_choice,medical_chat_open",
        *MODEL,
        *JUDGE,
        *DEMO,
    ]
    official = ["--prompts", "official", "--upstream", "EHRNote-ChatQA"]
    with serving() as server:
        assert main([*run, "--prompts", "official"]) == 2
        assert "--upstream" in capsys.readouterr().err
        assert main([*run, *official, "--out", "run"]) == 0
        calls = list(server.calls)
    row = ROWS[3]
    notes = f"[N]\n[note #1 start]\n{row['notes'][0]}\n[note #1 end]"
    about = calls_of(calls, row)
    first, second = row["turns"]
    listed = [
        "".join(
            f"({n}) {text} " for n, text in zip("abcde", turn["choices"], strict=True)
        )
        for turn in row["turns"]
    ]
    questions = [chat[-1]["content"] for chat in about]
    assert f"{notes}\n\nTheirs\nQ: {first['question']}\n{listed[0]}\nEnd:" in questions
    assert f"Theirs\nQ: {second['question']}\n{listed[1]}\nEnd:" in questions
    assert "Theirs_generate_source\nQ: Their source question?\n\nEnd:" in questions
    # A past turn of choices is the question alone, an open one stays as it was.
    past = [chat[0]["content"] for chat in about if len(chat) == 3]
    assert f"{notes}\n\nQ: {first['question']}" in past
    assert f"{notes}\n\nTheirs_generate_content\nQ: {first['question']}\n\nEnd:" in past
    graders = {chat[0]["content"] for chat in about if chat[0]["role"] == "system"}
    assert graders == {"Their grader"}


def calls_of(calls: list[Call], row: dict[str, Any]) -> list[list[dict[str, str]]]:
    """The chats about a patient."""
    chats = [list(call.body["messages"]) for call in calls]
    return [
        chat
        for chat in chats
        if any(row["notes"][0] in message["content"] for message in chat)
    ]


VISIT = ["run", "--tasks", "medical_patient", *MODEL, "--model-args", "concurrency=1"]
ROLE = [
    "--role",
    "patient=openai-api/test-host/patient,concurrency=1,price_in=2,price_out=8",
]


def test_the_simulated_patient_is_called_and_its_cost_counted(serving: Any) -> None:
    with serving() as server:
        assert main([*VISIT, *ROLE, *DEMO, "--out", "run"]) == 0
        call_counts = Counter(call.body["model"] for call in server.calls)
        patient = [
            call.body["messages"]
            for call in server.calls
            if call.body["model"] == "patient"
        ]
    # Of each of three patients: two questions, READY and the decision, and two answers.
    assert call_counts == {"model": 12, "patient": 6}
    assert [message["role"] for message in patient[-1]] == [
        "system",
        *["assistant", "user"] * 2,
    ]
    ran = task_entry(Path("run"), "medical_patient")
    assert figures("run", "medical_patient") == pytest.approx(
        {"accuracy": 2 / 3, "facts": 2 / 9, "questions": 2.0}
    )
    assert (ran["usage"]["requests"], ran["roles"]["patient"]["requests"]) == (12, 6)
    assert ran["recipe"]["roles"]["patient"]["name"] == "openai-api/test-host/patient"
    spent = ran["roles"]["patient"]
    assert spent["cost_usd"] == pytest.approx(
        (2 * spent["prompt_tokens"] + 8 * spent["output_tokens"]) / 1e6
    )


def test_an_interrupted_visit_is_resumed(serving: Any) -> None:
    faults = [Fault.status_code(400)]

    def second_answer_fails(call: Call) -> Fault | None:
        late = call.body["model"] == "patient" and len(call.body["messages"]) > 3
        return faults[0] if faults and late else None

    with serving(second_answer_fails) as server:
        assert main([*VISIT, *ROLE, *DEMO, "--out", "run"]) == 5
        assert task_entry(Path("run"), "medical_patient")["coverage"]["unscored"] == {
            "no answer: patient: http 400": 3
        }
        faults.clear()
        first = len(server.calls)
        assert main([*VISIT, *ROLE, *DEMO, "--out", "run"]) == 0
        called = [call.body["model"] for call in server.calls[first:]]
    # Of each visit the patient's second answer, READY and the decision were missing.
    assert (called.count("patient"), called.count("model")) == (3, 6)
    assert first == 4 * 3


def test_the_cost_limit_covers_all_roles(
    serving: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    free, dear = "price_in=0,price_out=0", "price_in=1000,price_out=1000"
    model = ["--model-args", free, "--max-new-tokens", "9", *DEMO]
    visit, role = VISIT[:-2], ["--role", "patient=openai-api/test-host/patient"]
    with serving() as server:
        assert main([*visit, *role, *model, "--max-cost", "1"]) == 2
        assert (
            "needs the prices of openai-api/test-host/patient"
            in capsys.readouterr().err
        )
        words = [*visit, "--role", f"{role[1]},{dear}", *model, "--out", "run"]
        assert main([*words, "--max-cost", "0.05"]) == 5
        assert {call.body["model"] for call in server.calls} == {"model"}
        assert task_entry(Path("run"), "medical_patient")["coverage"]["unscored"] == {
            "no answer: patient: budget spent": 3
        }
        assert "before --max-cost 0.05 was passed" in capsys.readouterr().err
        assert main(words) == 0
        called = [call.body["model"] for call in server.calls]
    assert (called.count("model"), called.count("patient")) == (12, 6)


def test_roles_need_a_model_that_the_guard_allows(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    serving: Any,
) -> None:
    cases = {
        "": r"the role patient \(plays the patient.*\) needs a model: --role patient=MODEL",
        "nurse=openai-api/x/y": r"'nurse' is no role of medical_patient. They have: patient",
        "patient=": "name the model, as patient=openai-api/HOST/NAME",
        "patient=baseline/random": "a baseline answers tasks and cannot talk",
    }
    for value, message in cases.items():
        role = ["--role", value] if value else []
        assert main([*VISIT, *role, *DEMO]) == 2
        assert re.search(message, capsys.readouterr().err)
    # Credentialed records are never sent to a patient on another machine.
    closed = [
        type(spec)(**{**vars(spec), "access": "credentialed"})
        for spec in task_spec("medical_patient").benchmark.datasets
    ]
    benchmark = type(task_spec("medical_patient").benchmark)
    monkeypatch.setattr(benchmark, "datasets", tuple(closed))
    with serving() as server:
        far = ["--role", "patient=openai-api/far-host/patient"]
        assert main([*VISIT, *far, *DEMO, "--out", "closed"]) == 4
        assert "model of the role patient" in capsys.readouterr().err
        assert server.calls == []


@pytest.mark.parametrize("name", ["medical_chat_choice", "ehrnoteqa_mc_level1"])
def test_inspect_refuses_the_demo_of_credentialed_data_too(name: str) -> None:
    """The guard does not trust the name of a configuration, whoever wrote the package."""
    pytest.importorskip("inspect_ai")
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks.harness.inspect_adapter import registered_task

    with pytest.raises(PrerequisiteError, match=f"run --tasks {name}"):
        registered_task(task_spec(name), module=__name__)(config="demo")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect is not installed")
def test_inspect_calls_the_model_of_the_role(
    here: Path, serving: Any, warm: WarmProcess
) -> None:
    words = [
        "-m",
        "inspect_ai",
        "eval",
        "medical_tasks/medical_patient",
        "-T",
        "config=demo",
        "--display",
        "none",
    ]
    words += [
        "--model",
        "openai-api/local/model",
        "--log-dir",
        "logs",
        "--log-format",
        "json",
    ]
    words += ["--model-role", "patient=openai-api/local/patient"]
    with serving() as server:
        address = {"LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": "k"}
        done = warm.run(words, cwd=here, environment=os.environ | address)
        call_counts = Counter(call.body["model"] for call in server.calls)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (log,) = (here / "logs").glob("*.json")
    content = json_of(log)
    assert content["status"] == "success", done.stdout
    assert call_counts == {"model": 12, "patient": 6}


@pytest.mark.slow
def test_a_killed_visit_repeats_no_answered_request(here: Path, serving: Any) -> None:
    """The run is killed while a server holds the patient's fourth reply, and the same command resumes it."""
    held, reached = [0], threading.Event()

    def holds(call: Call) -> Fault | None:
        held[0] += call.body["model"] == "patient"
        if held[0] != 4 or reached.is_set():
            return None
        reached.set()
        return Fault.hang()

    options = ["--plugin", str(PATIENT), *VISIT, *ROLE, *DEMO, "--out", "run"]
    words = ["-m", "medical_tasks", *options]
    environment = {"PYTHONPATH": str(ROOT)}
    with serving(holds) as server:
        process = subprocess.Popen(
            [sys.executable, *words],
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert reached.wait(120)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        before = len(server.calls)
        run_python(*words, environment=environment)
        request_counts = Counter(
            json.dumps(call.body, sort_keys=True) for call in server.calls
        )
    # Only the request without a reply is sent again.
    assert [number for number in request_counts.values() if number > 1] == [2]
    assert server.calls[before].body == server.calls[before - 1].body
    assert len(server.calls) == 18 + 1
    assert task_entry(Path("run"), "medical_patient")["coverage"]["scored"] == 3


def test_report_compare_and_list(
    serving: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "--tasks", "medical_chat_choice", *DEMO, "--model"]
    with serving():
        assert main([*words, "baseline/reference", "--out", "gold"]) == 0
        assert main([*words, MODEL[1], "--out", "model"]) == 0
    assert main(["report", "gold", "model", "--out", "report.html"]) == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "By number of notes" in page
    assert "<svg" in page
    assert "fluttering heart" not in page
    assert main(["compare", "gold", "model"]) == 0
    assert "pair_patient" in capsys.readouterr().out
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert re.search(
        r"medical:medical_chat_open .*credentialed.*needs a judge, not in lighteval",
        listed,
    )
    assert "lighteval asks one question an item" in listed


@pytest.mark.slow
def test_examples_work_when_installed_and_disappear_when_removed(
    here: Path, serving: Any
) -> None:
    """As packages with entry points, in a folder of their own beside the project."""
    examples = (CHAT, PATIENT, RUBRIC)
    site = here / "site"
    install_copies(
        {example: here / f"source-{example.name}" for example in examples}, site
    )
    names = ["medical_chat_choice", "medical_patient", "medical_rubric"]
    installed, gone = [str(ROOT), str(site)], [str(ROOT)]
    listed = command(installed, "list")
    assert [name for name in names if name in listed] == names
    listed = command(gone, "list")
    assert [name for name in names if name in listed] == []
    command(installed, "build", "medical_rubric", *DEMO)
    run = ["run", "--tasks", ",".join(names), "--model", "baseline/reference"]
    with serving(answer=meets_criteria):
        command(installed, *run, *DEMO, *JUDGE, "--out", "run")
    headlines = [next(iter(figures("run", name).values())) for name in names]
    assert headlines == [1.0] * 3


def command(folders: list[str], *words: str) -> str:
    environment = {"PYTHONPATH": os.pathsep.join(folders), "MEDICAL_TASKS_PLUGINS": ""}
    return run_python("-m", "medical_tasks", *words, environment=environment)


def test_the_examples_are_small() -> None:
    assert 100 < code_lines(CHAT / "medical_chat") <= 400
    assert 100 < code_lines(PATIENT / "medical_patient") <= 250
