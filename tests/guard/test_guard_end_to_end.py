"""Whole commands on a credentialed task: what leaves this machine, and where its text is afterwards."""

from __future__ import annotations

import contextlib
import json
import re
import stat
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer, ThreadingTCPServer
from typing import Any

import pyarrow.parquet as pq
import pytest

from medical_tasks.catalog import benchmarks
from medical_tasks.cli.entry import main
from medical_tasks.guard.policy import WithheldError
from medical_tasks.guard.private_store import list_folders
from medical_tasks.harness import lighteval_launcher
from medical_tasks.io.user_folders import audit_path, private_home
from tests.case_tables import json_of, tables
from tests.credentialed_benchmark.spec import BENCHMARK, CANARY, DATASET, NOTES, TASK
from tests.fault_server import Call, Fault, FaultServer
from tests.guard.audit_log import audit_lines
from tests.recording_proxy import VARIABLES, RecordingProxy
from tests.run_files import task_entry
from tests.tiny_dataset import write_built

CASES = tables(__file__, "guard_end_to_end")

REMOTE = "http://api.remote.example/v1"
# Parts of the canary that do not occur by chance, in several encodings.
PIECES = (
    "canary breeder",
    "canary\\u0020breeder",
    "canary_breeder",
    "unopened letters",
    "seventy one year",
)


@pytest.fixture(autouse=True)
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the benchmark in the catalogue, its demo built, and a private store."""
    catalogue = (*benchmarks(), BENCHMARK)
    monkeypatch.setattr("medical_tasks.catalog.benchmarks", lambda: catalogue)
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MEDICAL_TASKS_CONFIG", "demo")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    write_built(tmp_path / "data", DATASET.name, NOTES, version=DATASET.version)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def run_words(model: str, judge: str | None, *more: str) -> list[str]:
    words = ["run", "--tasks", TASK.name, "--config", "demo", "--out", "run"]
    words += [
        "--model",
        "openai-api/asked/m",
        "--model-args",
        f"base_url={model},max_retries=0,concurrency=1",
    ]
    if judge is not None:
        words += judge_words(judge)
    return [*words, *more]


def score_words(answers: object, *more: str) -> list[str]:
    words = ["score", TASK.name, "--responses", str(answers), "--config", "demo"]
    return [*words, "--out", "run", *more]


def baseline_words(name: str, out: str) -> list[str]:
    words = ["run", "--tasks", TASK.name, "--config", "demo"]
    return [*words, "--model", f"baseline/{name}", "--out", out]


def judge_words(url: str) -> list[str]:
    args = f"base_url={url},max_retries=0,concurrency=1"
    return ["--judge", "openai-api/judging/j", "--judge-args", args]


# --- nothing leaves without attestation


def test_a_remote_model_receives_nothing(
    proxy: RecordingProxy, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            run_words(
                REMOTE,
                REMOTE,
                "--allow-remote",
                "other.example",
                "--attest-zero-retention",
            )
        )
        == 4
    )
    audit_path().unlink()
    capfd.readouterr()
    assert main(run_words(REMOTE, None)) == 4
    assert proxy.seen == []
    stderr = capfd.readouterr().err
    flags = ("--allow-remote", "--attest-zero-retention")
    assert all(
        text in stderr
        for text in (
            TASK.name,
            "PhysioNet's rule",
            "api.remote.example",
            "(model)",
            *flags,
        )
    )
    decided = {(line["decision"], line["purpose"]) for line in audit_lines()}
    assert decided == {("refused", "model"), ("local", "judge")}


@pytest.mark.parametrize("verb", ["run", "score"])
def test_a_remote_judge_receives_nothing(
    proxy: RecordingProxy,
    work_folder: Path,
    capfd: pytest.CaptureFixture[str],
    verb: str,
) -> None:
    with FaultServer() as server:
        words = run_words(server.base_url, REMOTE)
        if verb == "score":
            (work_folder / "answers.jsonl").write_text(
                json.dumps({"id": "1", "response": CANARY})
            )
            words = score_words("answers.jsonl", *judge_words(REMOTE))
        assert main(words) == 4
    assert proxy.seen == []
    stderr = capfd.readouterr().err
    for text in (
        TASK.name,
        "api.remote.example",
        "(judge)",
        "--allow-remote",
        "--attest-zero-retention",
    ):
        assert text in stderr
    assert "refused" in {
        line["decision"] for line in audit_lines() if line["purpose"] == "judge"
    }


def test_requests_to_attested_hosts_are_sent_and_logged(proxy: RecordingProxy) -> None:
    proxy.text = "true"
    flags = ["--allow-remote", "api.remote.example", "--attest-zero-retention"]
    assert main(run_words(REMOTE, REMOTE, *flags)) == 0
    assert len(proxy.seen) == 2 * len(NOTES)
    assert all(
        "http://api.remote.example/v1/chat/completions" in request
        for request in proxy.seen
    )
    assert any(CANARY in request for request in proxy.seen)
    allowed = [line for line in audit_lines() if line["decision"] == "allowed"]
    assert {(line["task"], line["dataset"], line["host"]) for line in allowed} == {
        (TASK.name, DATASET.name, "api.remote.example:80")
    }
    assert sorted(line["purpose"] for line in allowed) == ["judge", "model"]
    assert all(line["attest_zero_retention"] for line in allowed)
    assert stat.S_IMODE(audit_path().stat().st_mode) == 0o600


# --- where the text is afterwards


def texts_in(folder: Path) -> list[str]:
    """Names the files with a piece of the canary in their bytes or, of parquet, in their strings."""
    names = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_bytes().decode("utf-8", "replace") + str(
                path.relative_to(folder)
            )
            if path.suffix == ".parquet":
                text += json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False)
            if any(piece in text for piece in PIECES) or "anary" in text:
                names.append(str(path.relative_to(folder)))
    return names


def case(call: Call) -> str:
    match = re.search(
        r"[Cc]ase (\d)",
        "\n".join(message["content"] for message in call.body["messages"]),
    )
    assert match is not None
    return match[1]


def quoting_answer(call: Call) -> str:
    return f"She was admitted because {CANARY}."


def quoting_verdict(call: Call) -> str:
    return f"The note says that {CANARY}. So the answer is true"


@contextlib.contextmanager
def served(server: TCPServer) -> Iterator[str]:
    with server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()
        thread.join()


@pytest.fixture
def echo_server() -> Iterator[str]:
    """A server whose errors repeat the request in several forms."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            reply = json.dumps(
                {
                    "error": {
                        "message": f"cannot process: {body} | {body.upper()[200:260]}"
                    }
                }
            ).encode()
            self.send_response(500, "Cannot process canary breeder")
            self.send_header("X-Echo", "canary breeder")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
            pass

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


def private_stores() -> list[Path]:
    return sorted(private_home().rglob("*.sqlite"))


Check = Callable[[], Any]


@pytest.fixture
def assert_nothing_leaked(
    work_folder: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> Check:
    """Asserts that no text left the private store; returns the captured output."""
    caplog.set_level(0)

    def check() -> Any:
        captured = capfd.readouterr()
        assert texts_in(work_folder) == []
        for text in (
            captured.out,
            captured.err,
            caplog.text,
            audit_path().read_text() if audit_path().exists() else "",
        ):
            assert not any(piece in text for piece in (*PIECES, "anary"))
        return captured

    return check


@pytest.mark.usefixtures("proxy")
def test_texts_are_kept_in_the_private_store_alone(
    work_folder: Path, capfd: pytest.CaptureFixture[str], assert_nothing_leaked: Check
) -> None:
    def model_fault(call: Call) -> Fault | None:
        return (
            Fault.status_code(500, f"failed on: {call.prompt}")
            if case(call) == "3"
            else None
        )

    with (
        FaultServer(model_fault, answer=quoting_answer) as model,
        FaultServer(answer=quoting_verdict) as judge,
    ):
        words = run_words(model.base_url, judge.base_url)
        assert main(words) == 5  # the third item has no answer
        calls = (len(model.calls), len(judge.calls))
        assert_nothing_leaked()

        results = task_entry(work_folder / "run", TASK.name)
        assert results["coverage"]["unscored"] == {"no answer: http 500": 1}
        assert results["metrics"]["correct"]["n"] == 2
        rows = pq.read_table(work_folder / "run" / "items.parquet").to_pylist()
        assert [
            (row["id"], row["correct"], row["parsed"], row["why"]) for row in rows
        ] == [
            ("1", 1.0, "", ""),
            ("2", 1.0, "", ""),
            ("3", None, "", ""),
        ]
        assert [len(row["response_sha256"]) for row in rows] == [64, 64, 0]
        assert not list((work_folder / "run").rglob("*.sqlite*"))
        assert not (work_folder / "run" / "logs").exists()

        folders = list_folders()
        assert len(folders) == 1
        assert (
            json_of(work_folder / "run" / "run.json")["private"]
            == folders[0].private_id
        )
        assert any(CANARY.encode() in path.read_bytes() for path in private_stores())
        for path in private_home().rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) == (
                0o700 if path.is_dir() else 0o600
            )

        # What is kept there is used again.
        assert main(words) == 5
        assert (len(model.calls), len(judge.calls)) == (calls[0] + 1, calls[1])
        assert_nothing_leaked()

    assert main(["leakcheck", "run", "--source", DATASET.name]) == 0
    assert "clean: " in capfd.readouterr().out
    assert main(["purge"]) == 0
    assert "1 runs" in capfd.readouterr().out
    assert texts_in(private_home()) == []
    assert list_folders() == []
    assert main(["leakcheck", "run", "--source", DATASET.name]) == 0


def test_errors_that_repeat_question_and_note_stay_unread(
    work_folder: Path, echo_server: str, assert_nothing_leaked: Check
) -> None:
    assert main(run_words(echo_server, echo_server, "--out", "other")) == 5
    captured = assert_nothing_leaked()
    assert "http 500" in captured.out + captured.err
    with FaultServer(answer=quoting_answer) as model:
        assert main(run_words(model.base_url, echo_server)) == 5
    assert_nothing_leaked()
    coverage = task_entry(work_folder / "run", TASK.name)["coverage"]
    assert coverage["scored"] == 0
    # The careless scorer put the note into its reasons; of them only the class is left.
    assert set(coverage["unscored"]) == {"judge: other"}


@pytest.fixture
def broken_server() -> Iterator[str]:
    """A server whose replies are no HTTP and repeat the note; the library that reads them quotes such replies."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.request.sendall(f"Cannot process: {CANARY}\r\n\r\n".encode())

    with served(ThreadingTCPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


def test_replies_that_are_no_http_stay_unread(
    broken_server: str, assert_nothing_leaked: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medical_tasks.models.call_pool.GIVE_UP_AFTER", 2)
    with FaultServer() as server:
        for model, judge, code in (
            (broken_server, server.base_url, 3),
            (server.base_url, broken_server, 5),
        ):
            assert main(run_words(model, judge, "--out", f"run-{code}")) == code
            assert "RemoteProtocolError" in assert_nothing_leaked().err


def test_a_scorer_that_fails_quotes_nothing(
    assert_nothing_leaked: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(task: Any, items: Any, responses: list[str], *, judging: Any) -> None:
        raise ValueError(f"cannot read {responses!r} about {items!r}, {CANARY}")

    monkeypatch.setattr("tests.credentialed_benchmark.scoring.score_items", careless)
    with (
        FaultServer(answer=quoting_answer) as model,
        pytest.raises(WithheldError) as caught,
    ):
        main(run_words(model.base_url, None))
    whole = "".join(traceback.format_exception(caught.value))
    assert "ValueError" in whole
    assert "careless" in whole
    assert not any(piece in whole for piece in PIECES)
    assert_nothing_leaked()


def test_rows_that_cannot_be_read_are_not_quoted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def careless(task: Any, rows: list[Any]) -> None:
        raise ValueError(f"cannot read {rows!r}")

    monkeypatch.setattr("tests.credentialed_benchmark.data.load_items", careless)
    Path("answers.jsonl").write_text('{"id": "1", "response": "x"}')
    run = run_words("http://127.0.0.1:9/v1", None)
    for words in (run, score_words("answers.jsonl")):
        with pytest.raises(WithheldError) as caught:
            main(words)
        assert not any(
            piece in "".join(traceback.format_exception(caught.value))
            for piece in PIECES
        )


@pytest.mark.parametrize(
    "line",
    CASES["test_answers_in_the_wrong_field_are_not_shown"],
    ids=["swapped", "list", "key"],
)
def test_answers_in_the_wrong_field_are_not_shown(
    work_folder: Path, capfd: pytest.CaptureFixture[str], line: dict[str, Any]
) -> None:
    answers = work_folder.parent / "answers.jsonl"
    for number in (1, 2):
        answers.write_text(f"{json.dumps(line)}\n" * number)
        assert main(score_words(answers)) == 2
        assert "anary" not in capfd.readouterr().err


def test_an_unreadable_judge_that_quotes_a_forecast_and_baselines_leave_nothing(
    assert_nothing_leaked: Check,
) -> None:
    with (
        FaultServer(answer=quoting_answer) as model,
        FaultServer(answer=lambda call: f"Hm: {CANARY}") as judge,
    ):
        assert main(run_words(model.base_url, judge.base_url, "--forecast")) == 0
        assert model.calls == judge.calls == []
        assert_nothing_leaked()
        assert main(run_words(model.base_url, judge.base_url)) == 5
    assert_nothing_leaked()
    for model_name in ("reference", "empty"):
        assert main(baseline_words(model_name, model_name)) in (0, 5)
        assert_nothing_leaked()


def test_answers_that_are_scored_stay_where_they_were(
    work_folder: Path, assert_nothing_leaked: Check
) -> None:
    # the user's own file, outside the folder that is looked through
    answers = work_folder.parent / "answers.jsonl"
    answers.write_text(
        "".join(
            json.dumps({"id": note["case_id"], "response": CANARY}) + "\n"
            for note in NOTES
        )
    )
    with FaultServer(answer=quoting_verdict) as judge:
        assert main(score_words(answers, *judge_words(judge.base_url))) == 0
    assert_nothing_leaked()
    assert any(CANARY.encode() in path.read_bytes() for path in private_stores())


# --- the harnesses


@pytest.mark.parametrize(
    "words",
    CASES["test_lighteval_refuses_options_that_would_release_text"],
    ids=" ".join,
)
@pytest.mark.parametrize("attested", [False, True])
def test_lighteval_refuses_options_that_would_release_text(
    work_folder: Path,
    started: list[list[str]],
    capfd: pytest.CaptureFixture[str],
    words: list[str],
    attested: bool,
) -> None:
    (work_folder / "remote.yaml").write_text(
        f"model_parameters:\n  inference_server_address: {REMOTE}\n"
    )
    flags = (
        ["--allow-remote", "other.example", "--attest-zero-retention"]
        if attested
        else []
    )
    assert main(["lighteval", *words, "--tasks", TASK.name, *flags]) == 4
    assert started == []
    assert TASK.name in capfd.readouterr().err


@pytest.mark.parametrize(
    ("address", "flags"),
    [
        ("http://127.0.0.1:8080", []),
        (REMOTE, ["--allow-remote", "api.remote.example", "--attest-zero-retention"]),
    ],
)
def test_lighteval_may_ask_a_server_here_or_an_attested_one(
    work_folder: Path, started: list[list[str]], address: str, flags: list[str]
) -> None:
    (work_folder / "tgi.yaml").write_text(
        f"model_parameters:\n  inference_server_address: {address}\n"
    )
    assert (
        main(["lighteval", "endpoint", "tgi", "tgi.yaml", "--tasks", TASK.name, *flags])
        == 0
    )
    assert started == [
        [
            "endpoint",
            "tgi",
            "tgi.yaml",
            f"medical:{TASK.name}|0",
            "--custom-tasks",
            "medical_tasks.lighteval_tasks",
        ]
    ]


@pytest.mark.parametrize(
    "content", ["", "- a list", "model_parameters: {}", "model_parameters: ["]
)
def test_an_address_that_cannot_be_read(
    work_folder: Path, started: list[list[str]], content: str
) -> None:
    (work_folder / "tgi.yaml").write_text(content)
    assert main(["lighteval", "endpoint", "tgi", "tgi.yaml", "--tasks", TASK.name]) == 2
    assert started == []


def test_lighteval_in_process_reads_rows_through_the_private_store_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import os

    import datasets

    before = datasets.config.HF_DATASETS_CACHE
    seen: list[tuple[Path, str]] = []

    def launch(arguments: list[str], *, custom_tasks: str) -> int:
        seen.append(
            (Path(datasets.config.HF_DATASETS_CACHE), os.environ["HF_DATASETS_CACHE"])
        )
        assert seen[0][0].is_dir()
        return 0

    monkeypatch.setattr(lighteval_launcher, "launch", launch)
    assert main(["lighteval", "accelerate", "model_name=m", "--tasks", TASK.name]) == 0
    assert seen[0][0].parent == private_home()
    assert seen[0][1] == str(seen[0][0])
    assert before == datasets.config.HF_DATASETS_CACHE
    assert "HF_DATASETS_CACHE" not in os.environ
    assert list(private_home().iterdir()) == []


def test_open_tasks_keep_all_of_lighteval(started: list[list[str]]) -> None:
    assert main(["build", "medcalc_bench", "--config", "demo"]) == 0
    assert (
        main(
            [
                "lighteval",
                "accelerate",
                "model_name=m",
                "--tasks",
                "medcalc",
                "--save-details",
            ]
        )
        == 0
    )
    assert started[0][:4] == [
        "accelerate",
        "model_name=m",
        "--save-details",
        "medical:medcalc|0",
    ]
    assert not private_home().exists()


def test_the_stock_lighteval_command_names_the_command_to_use() -> None:
    from medical_tasks.errors import RefusedError
    from medical_tasks.guard import policy
    from medical_tasks.harness.lighteval_adapter import task_configs

    config = task_configs((TASK,))[0]
    with pytest.raises(
        RefusedError, match=f"medical-tasks lighteval .* --tasks {TASK.name}"
    ):
        config.prompt_function(dict(NOTES[0]), config.name)
    with policy.protect([policy.Subject.of(DATASET, task=TASK.name)]):
        assert CANARY in config.prompt_function(dict(NOTES[0]), config.name).query


def test_inspect_refuses_a_credentialed_task() -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks.harness.inspect_adapter import load

    with pytest.raises(PrerequisiteError) as caught:
        load(TASK, DATASET, config="demo", data=None, prompts="own", upstream=None)
    assert f"medical-tasks run --tasks {TASK.name}" in str(caught.value.message)
    assert "PhysioNet's rule" in str(caught.value.message)


def test_leakcheck_refuses_rows_that_the_run_was_not_on(
    work_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(baseline_words("reference", "run")) == 0
    assert main(["leakcheck", "run", "--source", DATASET.name]) == 0
    results = json_of(work_folder / "run" / "results.json")
    data = results["tasks"][TASK.name]["recipe"]["data"]
    for change, message in (
        ({"config": "full"}, "ran on configuration full of .* does not hold it"),
        (
            {"rows_sha256": "0" * 64},
            "ran on configuration demo of .* holds other rows of it",
        ),
    ):
        changed = {
            **results,
            "tasks": {TASK.name: {"recipe": {"data": {**data, **change}}}},
        }
        (work_folder / "run" / "results.json").write_text(json.dumps(changed))
        capsys.readouterr()
        assert main(["leakcheck", "run", "--source", DATASET.name]) == 2
        assert re.search(message, capsys.readouterr().err)
