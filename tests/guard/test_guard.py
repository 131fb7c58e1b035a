"""The data guard: which addresses are this machine, what is refused, what is logged; with real sockets where it counts."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import dataclasses
import json
import os
import resource
import socket
import stat
import threading
import traceback
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.errors import RefusedError, UsageError
from medical_tasks.guard import addresses, policy
from medical_tasks.guard.addresses import (
    Address,
    is_local,
    is_loopback_host,
    read_host,
)
from medical_tasks.guard.policy import WithheldError, write_decision
from medical_tasks.io.user_folders import audit_path
from medical_tasks.models import knock, wire
from medical_tasks.models.call_pool import run_calls
from medical_tasks.models.chat_client import (
    CallFailed,
    ChatClient,
    ChatSettings,
    check_base_url,
)
from medical_tasks.options import WithAttestation
from medical_tasks.spec import Message
from tests.case_tables import tables
from tests.fault_server import Fault, FaultServer
from tests.guard.audit_log import audit_lines
from tests.recording_proxy import VARIABLES, RecordingProxy
from tests.support import ROOT
from tests.tiny_dataset import CREDENTIALED, SPEC

CASES = tables(__file__, "guard")

SUBJECT = policy.Subject.of(CREDENTIALED.spec, task="tiny_task")
OPEN = policy.Subject.of(SPEC, task="open_task")
REMOTE = "http://api.remote.example:8000/v1"
SECRET = "the patient was brought in by his daughter on a Sunday"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def attested(*hosts: str) -> policy.Attestation:
    return policy.Attestation(
        hosts=tuple(read_host(host) for host in hosts), zero_retention=True
    )


@pytest.mark.parametrize(
    ("kind", "decision"), [("local", "local"), ("not_local", "refused")]
)
def test_which_addresses_are_this_machine(kind: str, decision: str) -> None:
    for url in CASES[kind]:
        assert is_local(url) is is_loopback_host(url) is (kind == "local"), url
        expectation = (
            contextlib.nullcontext()
            if kind == "local"
            else pytest.raises(RefusedError, match="tiny_task")
        )
        with policy.protect([SUBJECT]), expectation:
            policy.require_endpoint(url, "model")
    lines = audit_lines()
    assert [line["decision"] for line in lines] == [decision] * len(CASES[kind])


LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0")
NOISE = st.lists(
    st.sampled_from(
        ["1", "127", ".", ":", ":80", "@", "%2e", "evil.org", "[", "]", "\\", "#", "/", "?", " "]
    )
    | st.characters(),
    max_size=2,
).map("".join)  # fmt: skip


@given(NOISE, st.sampled_from(LOOPBACK_HOSTS), NOISE)
@settings(max_examples=200)
def test_the_client_connects_to_this_machine_where_the_guard_expects_it(
    before: str, host: str, after: str
) -> None:
    url = f"http://{before}{host}{after}/v1"
    if is_loopback_host(url):
        target = httpx.URL(url).host
        is_local_name = target == "localhost" or target.endswith(".localhost")
        assert is_local_name or _is_this_machine(ip_address(target))


def _is_this_machine(number: IPv4Address | IPv6Address) -> bool:
    if isinstance(number, IPv6Address) and number.ipv4_mapped is not None:
        number = number.ipv4_mapped
    return number.is_loopback or number.is_unspecified


def _resolver(*numbers: str) -> Any:
    def resolve(host: str, port: Any, **_: Any) -> list[Any]:
        if not numbers:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port))
            for number in numbers
        ]

    return resolve


@pytest.mark.parametrize(
    ("numbers", "local"), CASES["test_a_local_name_must_lead_to_this_machine"]
)
@pytest.mark.parametrize("name", ["localhost", "model.localhost"])
def test_a_local_name_must_lead_to_this_machine(
    monkeypatch: pytest.MonkeyPatch, name: str, numbers: list[str], local: bool
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _resolver(*numbers))
    url = f"http://{name}:8000/v1"
    assert is_local(url) is local
    assert is_loopback_host(url)  # whatever it resolves to, it never takes a proxy
    with policy.protect([SUBJECT]):
        if local:
            policy.require_endpoint(url, "model")
        else:
            with pytest.raises(
                RefusedError, match="called this machine's but leads elsewhere"
            ):
                policy.require_endpoint(url, "model")


def test_a_model_in_process_is_local_and_the_chat_client_shares_the_rule() -> None:
    assert (
        vars(wire)["is_loopback_host"]
        is vars(policy)["is_loopback_host"]
        is addresses.is_loopback_host
    )
    with policy.protect([SUBJECT]):
        policy.require_endpoint(None, "model")
    assert [(line["decision"], line["host"]) for line in audit_lines()] == [
        ("local", "this process")
    ]


def test_refusal_names_task_rule_host_purpose_and_both_flags() -> None:
    with policy.protect([SUBJECT]), pytest.raises(RefusedError) as caught:
        policy.require_endpoint(REMOTE, "judge")
    message = str(caught.value)
    for text in (*CASES["refusal"], str(audit_path())):
        assert text in message
    assert caught.value.exit_code == 4
    # A dataset without a known rule gets the general one.
    other = policy.Subject.of(
        dataclasses.replace(CREDENTIALED.spec, licence="Hospital-Agreement-1")
    )
    assert (other.name, "stays with those who were given it" in other.rule) == (
        "tiny_notes",
        True,
    )


@pytest.mark.parametrize(
    ("hosts", "url", "allowed"), CASES["test_only_the_host_named_is_allowed"]
)
def test_only_the_host_named_is_allowed(
    hosts: list[str], url: str, allowed: bool
) -> None:
    with policy.protect([SUBJECT], attested(*hosts)):
        if allowed:
            policy.require_endpoint(url, "model")
        else:
            with pytest.raises(RefusedError):
                policy.require_endpoint(url, "model")
    assert [line["decision"] for line in audit_lines()] == [
        "allowed" if allowed else "refused"
    ]


def test_hosts_are_read_in_their_standard_form() -> None:
    for host in CASES["test_what_is_no_host_is_refused_as_an_option"]:
        with pytest.raises(UsageError, match="--allow-remote expects a host"):
            read_host(host)
    assert read_host("API.Example") == Address(scheme="host", host="api.example")
    assert read_host("FD00:0::1") == Address(scheme="host", host="fd00::1")
    assert read_host("[FD00:0::1]:8000") == Address(
        scheme="host", host="fd00::1", port=8000
    )
    assert read_host("10.0.0.7:80") == Address(scheme="host", host="10.0.0.7", port=80)


def attestation_of(*hosts: str, retention: bool = False) -> policy.Attestation:
    return policy.attestation_from(
        WithAttestation(allow_remote=hosts, attest_zero_retention=retention)
    )


def test_one_flag_alone_is_wrong_use() -> None:
    with pytest.raises(
        UsageError,
        match="--allow-remote h alone changes nothing: add --attest-zero-retention",
    ):
        attestation_of("h")
    with pytest.raises(
        UsageError, match="--attest-zero-retention alone changes nothing: name the host"
    ):
        attestation_of(retention=True)
    assert attestation_of() == policy.NOTHING_ATTESTED
    both = attestation_of("a.example", "b.example:1", retention=True)
    assert both.hosts == (
        Address(scheme="host", host="a.example"),
        Address(scheme="host", host="b.example", port=1),
    )
    assert both.zero_retention
    hosts_alone = policy.Attestation(
        hosts=(Address(scheme="host", host="api.remote.example"),)
    )
    with policy.protect([SUBJECT], hosts_alone), pytest.raises(RefusedError):
        policy.require_endpoint(REMOTE, "model")


def test_open_data_are_never_blocked() -> None:
    with policy.protect([OPEN]):
        policy.require_endpoint(REMOTE, "model")
        policy.require_push("rows")
        policy.require_text_outlet("--save-details")
        policy.require_visible_endpoint("a provider", "judge")
        assert not policy.protecting()
        assert not policy.protects("open_task")
    policy.require_endpoint(REMOTE, "model")
    assert not audit_path().exists()
    assert policy.text_allowed(SPEC)
    assert not policy.text_allowed(CREDENTIALED.spec)


def test_blocks_add_up_and_end() -> None:
    with policy.protect([OPEN]):
        with policy.protect([SUBJECT], attested("api.remote.example")):
            policy.require_endpoint(REMOTE, "model")
            assert policy.protects("tiny_task")
            assert policy.protects("tiny_notes")
            with policy.protect([SUBJECT]), pytest.raises(RefusedError):
                # each block needs its own attestation
                policy.require_endpoint(REMOTE, "model")
        assert not policy.protecting()
    with pytest.raises(WithheldError), policy.protect([SUBJECT]):
        raise KeyError
    assert not policy.protecting()


def test_an_unexpected_error_names_its_place_without_its_text() -> None:
    def parse(text: str) -> None:
        try:
            json.loads(f"{text}")
        except ValueError as error:
            raise ExceptionGroup(
                SECRET, [OSError(5, SECRET, SECRET), KeyError(SECRET)]
            ) from error

    with pytest.raises(WithheldError) as caught, policy.protect([SUBJECT]):
        parse(SECRET)
    whole = "".join(traceback.format_exception(caught.value))
    for name in (
        "ExceptionGroup",
        "JSONDecodeError",
        "OSError (EIO)",
        "KeyError",
        "test_guard.py",
        "parse",
    ):
        assert name in whole
    assert SECRET not in whole
    for error in (UsageError("told as it is"), BrokenPipeError(), OSError(28, "full")):
        with pytest.raises(type(error)) as same, policy.protect([SUBJECT]):
            raise error
        assert same.value is error
    with pytest.raises(ValueError, match=SECRET), policy.protect([OPEN]):
        raise ValueError(SECRET)


def test_no_core_file_while_text_is_held() -> None:
    before = resource.getrlimit(resource.RLIMIT_CORE)
    with policy.protect([OPEN]):
        assert resource.getrlimit(resource.RLIMIT_CORE) == before
    with policy.protect([SUBJECT]):
        assert resource.getrlimit(resource.RLIMIT_CORE) == (0, before[1])
    assert resource.getrlimit(resource.RLIMIT_CORE) == before


@pytest.mark.parametrize(
    ("everywhere", "here", "host", "refused"), CASES["test_processes_on_other_machines"]
)
def test_processes_on_other_machines(
    monkeypatch: pytest.MonkeyPatch,
    everywhere: str,
    here: str | None,
    host: str | None,
    refused: bool,
) -> None:
    for name, value in (
        ("WORLD_SIZE", everywhere),
        ("LOCAL_WORLD_SIZE", here),
        ("MASTER_ADDR", host),
    ):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_PORT", "29500")
    policy.require_processes()  # no text is held
    with policy.protect([SUBJECT], attested("attested.example")):
        if refused:
            with pytest.raises(
                RefusedError, match="processes of this run on other machines"
            ):
                policy.require_processes()
        else:
            policy.require_processes()


def test_every_thread_is_guarded() -> None:
    caught: list[BaseException] = []

    def send() -> None:
        try:
            policy.require_endpoint(REMOTE, "model")
        except RefusedError as error:
            caught.append(error)

    with policy.protect([SUBJECT]):
        thread = threading.Thread(target=send)
        thread.start()
        thread.join()
    assert len(caught) == 1


def test_pushes_and_outlets_are_refused_whatever_is_attested() -> None:
    with policy.protect([SUBJECT], attested("huggingface.co")):
        with pytest.raises(
            RefusedError,
            match="tiny_task.*--push-to-hub is refused, since it would leave this machine",
        ):
            policy.require_push("--push-to-hub")
        with pytest.raises(
            RefusedError,
            match="--save-details is refused, since it would hold questions and answers",
        ):
            policy.require_text_outlet("--save-details")
        with pytest.raises(
            RefusedError,
            match="may not go to provider x.*is unknown where that leads",
        ):
            policy.require_visible_endpoint("provider x", "judge")


# --- the audit log


def test_audit_line(home: Path) -> None:
    with policy.protect([SUBJECT], attested("api.remote.example")):
        for _ in range(3):
            policy.require_endpoint(REMOTE, "model")
        policy.require_endpoint(REMOTE, "judge")
    lines = audit_lines()
    # one an endpoint and purpose, not one a call
    assert [line["purpose"] for line in lines] == ["model", "judge"]
    line = lines[0]
    time, suite = line.pop("time"), line.pop("suite")
    assert time.endswith("Z")
    assert len(time) == len("2026-01-31T10:00:00.000Z")
    assert suite.startswith("medical-tasks ")
    assert line == CASES["line"] | {"pid": os.getpid(), "uid": os.getuid()}
    assert stat.S_IMODE((home / "audit.jsonl").stat().st_mode) == 0o600


def test_a_line_after_one_that_was_cut(home: Path) -> None:
    write_decision(audit_path(), {"decision": "local"})
    with (home / "audit.jsonl").open("a") as stream:
        stream.write('{"decision": "ref')
    write_decision(audit_path(), {"decision": "allowed"})
    lines = audit_path().read_text().splitlines()
    assert [json.loads(lines[number])["decision"] for number in (0, 2)] == [
        "local",
        "allowed",
    ]


def test_each_task_of_each_run_is_logged_in_a_file_that_others_cannot_read(
    home: Path,
) -> None:
    home.mkdir()
    (home / "audit.jsonl").write_text('{"task": "older"}\n')
    (home / "audit.jsonl").chmod(0o644)
    other = policy.Subject.of(CREDENTIALED.spec, task="other_task")
    for _ in range(2):
        with policy.protect([SUBJECT, OPEN, other]):
            policy.require_endpoint("http://127.0.0.1/v1", "model")
    assert [line["task"] for line in audit_lines()] == [
        "older",
        *["tiny_task", "other_task"] * 2,
    ]
    assert stat.S_IMODE((home / "audit.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_a_decision_that_cannot_be_logged_is_refused(
    home: Path, tmp_path: Path, kind: str
) -> None:
    home.mkdir()
    target = tmp_path / "elsewhere"
    target.write_text("")
    if kind == "link":
        (home / "audit.jsonl").symlink_to(target)
    elif kind == "folder":
        (home / "audit.jsonl").mkdir()
    else:
        os.mkfifo(home / "audit.jsonl")
        reader = os.open(home / "audit.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    with policy.protect([SUBJECT], attested("api.remote.example")):
        for _ in range(2):  # nor the second time
            with pytest.raises(
                RefusedError, match="audit log of the data guard cannot be written"
            ):
                policy.require_endpoint(REMOTE, "model")
    assert target.read_text() == ""
    if kind == "fifo":
        os.close(reader)


# --- the chat client


def chat(base_url: str, *, purpose: str = "model", text: str = SECRET) -> str:
    quick = ChatSettings(
        base_url=base_url, model="m", max_retries=0, timeout=5.0, purpose=purpose
    )

    async def ask() -> str:
        async with ChatClient(quick) as client:
            return (
                await client.complete(
                    [Message(role="user", content=text)], max_tokens=3
                )
            ).text

    return asyncio.run(ask())


@pytest.mark.parametrize("purpose", ["model", "judge"])
@pytest.mark.parametrize(
    "url", ["http://api.remote.example/v1", "https://api.remote.example/v1"]
)
def test_nothing_leaves_without_attestation(
    proxy: RecordingProxy, url: str, purpose: str
) -> None:
    with (
        policy.protect([SUBJECT]),
        pytest.raises(RefusedError, match=rf"\({purpose}\)"),
    ):
        chat(url, purpose=purpose)
    assert proxy.seen == []


def test_open_data_and_requests_to_attested_hosts_are_sent(
    proxy: RecordingProxy,
) -> None:
    assert chat("http://api.remote.example/v1") == "by proxy: true"
    assert SECRET in proxy.seen[0]
    with policy.protect([SUBJECT], attested("api.remote.example")):
        assert chat("http://api.remote.example/v1") == "by proxy: true"
    assert len(proxy.seen) == 2
    assert [(line["decision"], line["purpose"]) for line in audit_lines()] == [
        ("allowed", "model"),
        ("local", "proxy on the way to the model"),
    ]


def test_local_requests_take_no_proxy(proxy: RecordingProxy) -> None:
    with FaultServer() as server, policy.protect([SUBJECT]):
        chat(server.base_url)
        chat(server.base_url.replace("127.0.0.1", "localhost"))
        assert server.prompts == [SECRET, SECRET]
    assert proxy.seen == []


@pytest.mark.parametrize(
    ("variable", "user"), [("HTTP_PROXY", "user:hidden@"), ("ALL_PROXY", "")]
)
def test_a_proxy_is_a_host_of_its_own(
    monkeypatch: pytest.MonkeyPatch, variable: str, user: str
) -> None:
    monkeypatch.setenv(variable, f"http://{user}proxy.remote.example:3128")
    with (
        policy.protect([SUBJECT], attested("api.remote.example")),
        pytest.raises(RefusedError) as caught,
    ):
        chat("http://api.remote.example/v1")
    if not user:
        assert "proxy.remote.example:3128 (proxy on the way to the model)" in str(
            caught.value
        )
        assert [line["decision"] for line in audit_lines()] == ["allowed", "refused"]
    assert "hidden" not in str(caught.value) + audit_path().read_text()


def test_no_proxy_is_respected(
    monkeypatch: pytest.MonkeyPatch, proxy: RecordingProxy
) -> None:
    assert knock.proxy_for("http://api.remote.example/v1") is not None
    monkeypatch.setenv("NO_PROXY", "remote.example")
    monkeypatch.setenv("no_proxy", "remote.example")
    assert knock.proxy_for("http://api.remote.example/v1") is None
    assert knock.proxy_for("http://127.0.0.1:1/v1") is None
    # httpx still uses the proxy for a default port that NO_PROXY names
    monkeypatch.setenv("NO_PROXY", "api.remote.example:80")
    monkeypatch.setenv("no_proxy", "api.remote.example:80")
    assert knock.proxy_for("http://api.remote.example/v1") is None
    assert knock.proxy_for("http://api.remote.example/v1", even_loopback=True)


def test_a_client_opened_before_the_block_is_guarded_too(proxy: RecordingProxy) -> None:
    async def ask() -> None:
        async with ChatClient(
            ChatSettings(base_url="http://api.remote.example/v1", model="m")
        ) as client:
            with policy.protect([SUBJECT]):
                await client.complete(
                    [Message(role="user", content=SECRET)], max_tokens=3
                )

    with pytest.raises(RefusedError, match="api.remote.example"):
        asyncio.run(ask())
    assert proxy.seen == []


def test_a_refusal_ends_all_calls_at_once(proxy: RecordingProxy) -> None:
    delivered: list[object] = []

    async def call(client: ChatClient, job: int) -> str:
        return (
            await client.complete(
                [Message(role="user", content=f"{SECRET} {job}")], max_tokens=3
            )
        ).text

    with policy.protect([SUBJECT]), pytest.raises(RefusedError):
        run_calls(
            ChatSettings(base_url="http://api.remote.example/v1", model="m"),
            range(20),
            call,
            lambda job, outcome: delivered.append(outcome),
        )
    assert delivered == []
    assert proxy.seen == []


class _Stream:
    def __init__(self, peer: object) -> None:
        self._peer = peer
        self.closed = False

    def get_extra_info(self, name: str) -> object:
        return self._peer if name == "server_addr" else None

    async def aclose(self) -> None:
        self.closed = True


def test_a_connection_that_leads_elsewhere_is_dropped_before_a_byte_is_sent() -> None:
    for peer in (("10.0.0.7", 80), ("::ffff:10.0.0.7", 80, 0, 0), None):
        stream = _Stream(peer)
        with pytest.raises(RefusedError, match="Nothing was sent"):
            asyncio.run(
                wire.check_peer(
                    "connection.connect_tcp.complete", {"return_value": stream}
                )
            )
        assert stream.closed
    asyncio.run(
        wire.check_peer(
            "connection.connect_tcp.complete",
            {"return_value": _Stream(("127.0.0.1", 80))},
        )
    )
    asyncio.run(wire.check_peer("http11.send_request_body.started", {}))


def test_a_host_that_later_resolves_elsewhere_receives_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The name is local when the guard looks; where the connection leads is looked at
    # again by what it really is.
    monkeypatch.setattr(wire, "is_loopback_number", lambda host: False)
    with FaultServer() as server, policy.protect([SUBJECT]):
        with pytest.raises(RefusedError, match="no longer leads to this machine"):
            chat(server.base_url.replace("127.0.0.1", "localhost"))
        assert server.calls == []


def test_failures_leave_out_the_text_of_servers() -> None:
    # Two words of a note, in other signs: too little for a comparison with the question
    # to see.
    echo = Fault.status_code(500, "cannot parse 'daughter|Sunday' in PROMPT")
    with FaultServer([echo, echo]) as server:
        with pytest.raises(CallFailed, match="HTTP 500"):
            chat(server.base_url)
        with (
            policy.protect([SUBJECT]),
            pytest.raises(CallFailed, match="server's words are left out") as caught,
        ):
            chat(server.base_url)
    assert "daughter" not in caught.value.detail
    assert "parse" not in str(caught.value)


# --- unix sockets


def test_a_unix_socket_is_local_and_called(
    tmp_path: Path, proxy: RecordingProxy
) -> None:
    path = tmp_path / "model server.sock"
    url = f"http+unix://{quote(str(path), safe='')}/v1"
    with (
        FaultServer(answer=lambda call: "by socket", socket_path=path) as server,
        policy.protect([SUBJECT]),
    ):
        assert chat(url) == "by socket"
    assert [(call.path, call.prompt) for call in server.calls] == [
        ("/v1/chat/completions", SECRET)
    ]
    assert proxy.seen == []
    assert [(line["decision"], line["host"]) for line in audit_lines()] == [
        ("local", f"unix:{path}")
    ]


def test_unusable_sockets() -> None:
    for url, message in CASES["test_unusable_sockets"]:
        with pytest.raises(UsageError, match=message):
            check_base_url(url)


# --- every command is guarded


def test_every_command_that_reads_items_is_guarded() -> None:
    rooms = [
        ROOT / "medical_tasks" / room
        for room in ("cli", "lab", "construct", "leaderboard")
    ]
    commands = [
        path
        for room in rooms
        for path in sorted(room.rglob("*.py"))
        if "\ndef run(" in path.read_text("utf-8")
    ]
    # `run` and `score`
    runs = ROOT / "medical_tasks" / "runs"
    commands += [runs / "evaluating.py", runs / "rescoring.py"]
    assert len(commands) > 20
    reading, unguarded = [], []
    for path in commands:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        used |= {
            node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
        }
        if (
            "load_task_data" in used
            or "open_model" in used
            or "open_judge" in used
            or "RunJudge" in used
        ):
            reading.append(path.stem)
            if "protect" not in used:
                unguarded.append(path.stem)
    assert {"evaluating", "error_report"} <= set(reading)
    assert unguarded == []


def test_clients_of_endpoints_are_made_in_one_place() -> None:
    # Any other HTTP client would not ask the guard; the fetcher sends no text.
    makers: dict[str, list[str]] = {}
    for path in sorted((ROOT / "medical_tasks").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for word in "DefaultAsyncHttpxClient( AsyncOpenAI( httpx.Client( urlopen( HTTPConnection( requests.post OpenAI(api".split():
            if word in text:
                makers.setdefault(
                    str(path.relative_to(ROOT / "medical_tasks")), []
                ).append(word)
    assert makers == {
        "data/fetching.py": ["httpx.Client("],
        "models/chat_client.py": ["AsyncOpenAI("],
        "models/server.py": [
            "httpx.Client("
        ],  # greets the server that it started, on loopback
        "models/wire.py": ["DefaultAsyncHttpxClient("],
    }
