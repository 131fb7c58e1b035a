from __future__ import annotations

import contextlib
import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models import server as served
from medical_tasks.models.base import Answer, Failure
from medical_tasks.models.endpoint import EndpointModel
from medical_tasks.models.server import (
    ManagedServer,
    ServedModel,
    answers_chat,
    find_transformers,
    find_vllm,
    gpu_nodes,
    open_served,
    read_flags,
    vllm_version,
    wants_cpu,
)
from tests.fault_server import Fault, FaultServer
from tests.models.local_runs import answers, results
from tests.models.small_server import SERVER, small_server
from tests.models.toy_server import program
from tests.models.toy_texts import CASES, ask
from tests.support import ROOT, alive
from tests.warm_process import WarmProcess


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def pids_of(file: Path) -> list[int]:
    assert wait_for(lambda: file.is_file() and len(file.read_text().split()) == 2)
    return [int(pid) for pid in file.read_text().split()]


@contextlib.contextmanager
def started(server: ManagedServer) -> Iterator[None]:
    server.start()
    try:
        yield
    finally:
        server.stop()


def test_a_server_starts_once_answers_and_can_be_stopped_repeatedly(
    tmp_path: Path,
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "server.log").write_text("old words")
    server = small_server(tmp_path)
    server.stop()
    with started(server):
        assert server.running()
        pids = pids_of(tmp_path / "pids")
        assert all(alive(pid) for pid in pids)
        assert stat.S_IMODE(server.log.stat().st_mode) == 0o600
        assert "old words" not in server.log.read_text()
    assert not server.running()
    assert not any(alive(pid) for pid in pids)
    assert "served m None" in server.log_tail()
    server.stop()
    with pytest.raises(RuntimeError, match="started before"):
        server.start()


def test_a_server_that_is_not_ready_in_time_is_stopped(tmp_path: Path) -> None:
    server = small_server(tmp_path, timeout=0.3)
    # It runs, and is never ready.
    server.ready = lambda: not pids_of(tmp_path / "pids")
    with pytest.raises(
        MissingError, match="did not answer within 0.3 s; start_timeout=SECONDS"
    ):
        server.start()
    assert not server.running()
    assert not any(alive(pid) for pid in pids_of(tmp_path / "pids"))


def failed_start(folder: Path, *command: str) -> str:
    """The message about a server whose command does not start it."""
    server = ManagedServer(
        command=command,
        ready=lambda: False,
        log=folder / "log",
        timeout=30.0,
        grace=1.0,
    )
    with pytest.raises(MissingError) as caught:
        server.start()
    return str(caught.value)


def test_the_message_about_a_server_that_ends_has_the_last_lines_of_its_log(
    tmp_path: Path,
) -> None:
    message = failed_start(tmp_path, "/no/such/program")
    assert "exit code 127" in message
    assert "cannot start /no/such/program" in message
    script = "import sys; [print('line', i) for i in range(50)]; sys.exit(3)"
    message = failed_start(tmp_path, sys.executable, "-c", script)
    assert "ended with exit code 3 before it answered" in message
    lines = [line.strip() for line in message.splitlines()]
    assert [line for line in lines if line.startswith("line ")] == [
        f"line {i}" for i in range(30, 50)
    ]


def test_error_while_waiting_stops_the_server(tmp_path: Path) -> None:
    server = small_server(tmp_path)

    def interrupted() -> bool:
        pids_of(tmp_path / "pids")
        raise KeyboardInterrupt

    server.ready = interrupted
    with pytest.raises(KeyboardInterrupt):
        server.start()
    assert not any(alive(pid) for pid in pids_of(tmp_path / "pids"))


PARENT = """
import os, pathlib, signal, sys, time
sys.path.insert(0, sys.argv[1])
from tests.models.small_server import small_server
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, children inherit that hangups are ignored
server = small_server(pathlib.Path(sys.argv[2]), *sys.argv[4:], grace=0.3)
server.start()
if sys.argv[3] == "forked":
    if os.fork() == 0:
        time.sleep(600)  # a child that holds the pipe open
    print("up", flush=True)
    time.sleep(600)
print("up", flush=True)
if sys.argv[3] == "returns":
    sys.exit(0)
if sys.argv[3] == "raises":
    raise RuntimeError("bug")
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("ending", "number", "arguments"),
    [
        ("returns", None, []),
        ("raises", None, []),
        ("killed", signal.SIGKILL, ["stubborn"]),
        ("forked", signal.SIGKILL, []),
    ]
    + [
        ("killed", number, [])
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="reads processes from /proc")
def test_no_process_outlives_the_run(
    tmp_path: Path, ending: str, number: signal.Signals | None, arguments: list[str]
) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(ROOT), str(tmp_path), ending, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert parent.stdout is not None
    try:
        assert parent.stdout.readline() == "up\n"
        pids = pids_of(tmp_path / "pids")
        supervisor = int(
            Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1]
        )
        assert supervisor != parent.pid
        if number is not None:
            os.kill(parent.pid, number)
        parent.wait(timeout=30)
        assert wait_for(lambda: not any(alive(pid) for pid in [*pids, supervisor]))
    finally:
        parent.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)  # the forked child of one case


@pytest.mark.skipif(sys.platform != "linux", reason="reads processes from /proc")
def test_a_server_ends_with_its_killed_supervisor(tmp_path: Path) -> None:
    server = small_server(tmp_path)
    server.start()
    main, worker = pids_of(tmp_path / "pids")
    supervisor = int(
        Path(f"/proc/{main}/stat").read_text().rpartition(")")[2].split()[1]
    )
    os.kill(supervisor, signal.SIGKILL)
    assert wait_for(lambda: not alive(main))
    server.stop()
    # in this last resort a worker in its own session would be the server's to end
    os.kill(worker, signal.SIGKILL)


# The probe.


def test_the_probe_waits_for_an_answer_and_raises_lasting_errors() -> None:
    plan = [Fault.status_code(503), Fault.status_code(404), Fault.cut(), Fault.refuse()]
    with FaultServer(plan, key="k") as server:
        assert [answers_chat(server.base_url, "m", api_key="k") for _ in range(5)] == [
            False
        ] * 4 + [True]
    assert server.calls[-1].body["max_tokens"] == 1
    assert not answers_chat(server.base_url, "m")
    for status in (400, 401, 422):
        plan = [Fault.status_code(status, "no chat template")]
        with (
            FaultServer(plan) as server,
            pytest.raises(UsageError, match=f"HTTP {status}: .*no chat template"),
        ):
            answers_chat(server.base_url, "m")


# Programs, flags, GPUs.


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without vLLM."""
    monkeypatch.delenv("MEDICAL_TASKS_VLLM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "medical_tasks.models.server.__file__", str(tmp_path / "a" / "b" / "c.py")
    )
    return tmp_path


def test_vllm_is_found_in_order(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = program(nowhere / "bin" / "vllm")
    assert find_vllm() == on_path
    beside = program(nowhere / ".env-vllm" / "bin" / "vllm")
    assert find_vllm() == beside
    named = program(nowhere / "other" / "vllm")
    monkeypatch.setenv("MEDICAL_TASKS_VLLM", str(named))
    assert find_vllm() == named
    assert find_vllm(str(on_path)) == on_path
    with pytest.raises(
        MissingError, match="executable names .*no-vllm, which is not a program"
    ):
        find_vllm(str(nowhere / "no-vllm"))
    monkeypatch.setenv("MEDICAL_TASKS_VLLM", str(nowhere))
    with pytest.raises(
        MissingError, match="MEDICAL_TASKS_VLLM names .*, which is not a program"
    ):
        find_vllm()


def test_version_of_vllm_and_nodes_of_gpus(tmp_path: Path) -> None:
    executable = program(tmp_path / "bin" / "vllm")
    assert vllm_version(executable) == "unknown"
    (tmp_path / "lib" / "python3.11" / "site-packages" / "vllm-0.33.0.dist-info").mkdir(
        parents=True
    )
    assert vllm_version(executable) == "0.33.0"
    assert gpu_nodes(tmp_path) == []
    for name in ("nvidiactl", "null", "nvidia0", "nvidia1", "kfd"):
        (tmp_path / name).touch()
    assert [node.name for node in gpu_nodes(tmp_path)] == ["kfd", "nvidia0", "nvidia1"]


@pytest.mark.parametrize(("device", "flags", "cpu"), CASES["wants_cpu"])
def test_flags_and_whether_they_ask_for_the_cpu(
    device: str | None, flags: list[str], cpu: bool
) -> None:
    assert wants_cpu(device, read_flags(shlex.join([*flags, "--x", "a b"]))) is cpu
    assert read_flags(shlex.join([*flags, "--x", "a b"]))[-1] == "a b"


@pytest.mark.parametrize(
    "flags", CASES["flags_that_would_open_the_server_or_log_questions"]
)
def test_flags_that_would_open_the_server_or_log_questions(flags: str) -> None:
    with pytest.raises(UsageError, match="cannot be passed in flags"):
        read_flags(flags)
    with pytest.raises(UsageError, match="cannot be split into words"):
        read_flags(f"{flags} 'a")


# Models.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder without real weights: enough for all that happens before it is loaded."""
    path = tmp_path / "small-model"
    path.mkdir()
    (path / "config.json").write_text('{"model_type": "llama"}')
    (path / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    return path


@pytest.fixture
def fake_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that accepts vLLM's command line and runs the small server."""
    (tmp_path / "server.py").write_text(SERVER)
    path = program(
        tmp_path / "env" / "bin" / "vllm",
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "print('command:', ' '.join(sys.argv[1:]), flush=True)\n"
        "print('path:', os.environ['PATH'].split(os.pathsep)[0], os.environ['VLLM_NO_USAGE_STATS'], flush=True)\n"
        "port = sys.argv[sys.argv.index('--port') + 1]\n"
        f"os.execv({sys.executable!r}, [{sys.executable!r}, {str(tmp_path / 'server.py')!r}, port, "
        f"{str(tmp_path / 'pids')!r}])\n",
    )
    monkeypatch.setenv("MEDICAL_TASKS_VLLM", str(path))
    return path


def test_a_vllm_server_starts_at_the_first_question_and_is_stopped(
    tmp_path: Path, folder: Path, fake_vllm: Path
) -> None:
    options = {
        "device": "cpu",
        "tensor_parallel_size": "2",
        "data_parallel_size": "4",
        "max_retries": "0",
    }
    options["flags"] = "--max-model-len 4096"
    model = open_served(
        f"vllm-server/{folder}", options=options, log_dir=tmp_path / "private"
    )
    assert isinstance(model, ServedModel)
    assert not (tmp_path / "pids").exists()
    assert model.endpoint == "http://127.0.0.1/v1"
    try:
        assert results(model, []) == {}
        assert not (tmp_path / "pids").exists()
        texts = [
            answers(model, [ask("k", "hello", size=4)])["k"].text for _ in range(2)
        ]
        pids = pids_of(tmp_path / "pids")
    finally:
        model.close()
        model.close()
    assert texts == ["pong", "pong"]
    assert not any(alive(pid) for pid in pids)
    log = (tmp_path / "private" / "vllm-server.log").read_text().splitlines()
    (command,) = (line for line in log if line.startswith("command:"))
    port = str(model.endpoint).removesuffix("/v1").rpartition(":")[2]
    assert command == (
        f"command: serve {folder} --served-model-name small-model --host 127.0.0.1 --port {port} --tensor-parallel-size 2 "
        "--data-parallel-size 4 --max-model-len 4096"
    )
    assert f"path: {fake_vllm.parent} 1" in log
    served_lines = {line for line in log if line.startswith("served")}
    (line,) = served_lines  # probe and questions have the same key, made for this run
    word, name, key = line.split()
    assert (word, name, len(key)) == ("served", "small-model", 32)
    assert key not in str(model.identity)


def test_identity_of_a_served_model(
    tmp_path: Path, folder: Path, fake_vllm: Path
) -> None:
    def identity(**options: str) -> Mapping[str, str]:
        return open_served(
            f"vllm-server/{folder}",
            options={"device": "cpu"} | options,
            log_dir=tmp_path,
        ).identity

    base = identity()
    assert {name: value for name, value in base.items() if name != "weights"} == {
        "backend": "vllm-server",
        "model": "small-model",
        "revision": "",
        "vllm": "unknown",
        "flags": "",
        "temperature": "0.0",
    }
    assert len(base["weights"]) == 64
    assert str(folder.parent) not in str(base)
    assert (
        identity()
        == identity(data_parallel_size="8", concurrency="3", start_timeout="9")
        == base
    )
    assert identity(tensor_parallel_size="2") == {**base, "tensor_parallel_size": "2"}
    assert identity(flags="--quantization fp8") == {
        **base,
        "flags": "--quantization fp8",
    }


def test_the_message_about_a_server_that_dies_names_its_log(
    tmp_path: Path, folder: Path, fake_vllm: Path
) -> None:
    model = open_served(
        f"vllm-server/{folder}",
        options={"device": "cpu", "max_retries": "0", "concurrency": "1"},
        log_dir=tmp_path,
    )
    requests = [ask(f"k{i}", "die" if i == 1 else "hello", size=4) for i in range(30)]
    outcomes: list[Answer | Failure] = []
    try:
        with pytest.raises(
            MissingError,
            match="model server has ended by itself; its log is .*vllm-server.log",
        ):
            model.generate(requests, outcomes.append)
    finally:
        model.close()
    assert isinstance(outcomes[0], Answer)
    assert all(
        isinstance(result, Failure) and result.reason == "connection"
        for result in outcomes[1:]
    )


def test_a_machine_without_gpu_is_refused_before_anything_starts(
    tmp_path: Path, folder: Path, fake_vllm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "gpu_nodes", lambda: [])
    with pytest.raises(MissingError, match="needs a GPU, and this machine shows none"):
        open_served(f"vllm-server/{folder}", options={}, log_dir=tmp_path)
    monkeypatch.setattr(served, "gpu_nodes", lambda: [Path("/dev/nvidia0")])
    assert isinstance(
        open_served(f"vllm-server/{folder}", options={}, log_dir=tmp_path), ServedModel
    )


def test_a_running_vllm_server_is_used(tmp_path: Path, nowhere: Path) -> None:
    with FaultServer() as server:
        model = open_served(
            "vllm-server/org/m", options={"base_url": server.base_url}, log_dir=tmp_path
        )
        assert isinstance(model, EndpointModel)
        answers(model, [ask("k", "hello", size=4)])
    assert model.identity["backend"] == "vllm-server"
    assert server.calls[0].body["model"] == "org/m"


@pytest.mark.parametrize(("name", "options", "message"), CASES["what_cannot_be_opened"])
def test_messages_about_servers_that_cannot_be_opened(
    tmp_path: Path, nowhere: Path, name: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises((UsageError, MissingError), match=message):
        open_served(name, options=options, log_dir=tmp_path)


@pytest.mark.slow
def test_real_transformers_server(
    tmp_path: Path,
    toy_model: Path,
    hub_home: Path,
    warm: WarmProcess,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program of transformers, started where its imports are done."""
    words = [sys.executable, *warm.asking, str(find_transformers())]
    path = program(
        tmp_path / "transformers", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'
    )
    monkeypatch.setattr(served, "find_transformers", lambda: path)
    (hub_home / "hub").mkdir(exist_ok=True)
    options = {"start_timeout": "120", "flags": "--default-seed 0"}
    model = open_served(
        f"transformers-server/{toy_model}", options=options, log_dir=tmp_path
    )
    requests = [
        ask(f"k{i}", f"the patient has {i}", size=12, stop=stop)
        for i, stop in enumerate([(), (), ("a",)])
    ]
    try:
        by_key = answers(model, requests)
        assert answers(model, requests) == by_key  # temperature 0
    finally:
        model.close()
    for result in by_key.values():
        assert result.finish in ("stop", "length")
        assert result.output_tokens is not None
        assert result.output_tokens <= 12
    assert not answers_chat(str(model.endpoint), str(toy_model))
