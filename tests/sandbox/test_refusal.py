"""Where a part of the sandbox is missing, nothing is run, and the message names the part and the next step."""

from __future__ import annotations

import errno
import platform
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError
from medical_tasks.sandbox import execution, run_code
from medical_tasks.sandbox.execution import ALLOW, MACHINES, refuse
from medical_tasks.sandbox.probe import probe, require_sandbox
from tests.case_tables import tables
from tests.support import ROOT

TABLES: dict[str, Any] = tables(__file__)


@pytest.fixture(autouse=True)
def empty_caches() -> Iterator[None]:
    """Clears what the sandbox remembers of this machine, before and after."""
    caches = (execution._fixed_plan, require_sandbox, execution.find_runtime)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize(
    ("system", "machine"),
    [("Darwin", "arm64"), ("Windows", "AMD64"), ("Linux", "riscv64")],
)
def test_other_systems(
    system: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(
        MissingError,
        match=f"is {system} on {machine}, expected Linux on x86_64 or aarch64",
    ):
        run_code("print(1)")
    with pytest.raises(
        MissingError,
        match=r"run only where they can be closed off .* here they cannot: this system: is",
    ):
        require_sandbox()


CALLS = {
    "x86_64": {"unshare": 272, "mount": 165, "pivot_root": 155, "prctl": 157},
    "aarch64": {"unshare": 97, "mount": 40, "pivot_root": 41, "prctl": 167},
}
known_machine = pytest.mark.skipif(
    platform.machine() not in MACHINES,
    reason="the numbers of this machine's system calls are not known",
)


def _without(call: str, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python where one system call fails, as a container's own filter makes it."""
    number = CALLS[platform.machine()][call]
    steps = [
        (0x20, 0, 0, 0),
        (0x15, 0, 1, number),
        (0x06, 0, 0, refuse(errno.EPERM)),
        (0x06, 0, 0, ALLOW),
    ]
    program = b"".join(struct.pack("<HBBI", *step) for step in steps).hex()
    start = (
        "import sys\nfrom medical_tasks.sandbox import jail\njail.no_new_privileges()\n"
        f"jail.install_filter(bytes.fromhex({program!r}))\n{code}"
    )
    return subprocess.run(
        [sys.executable, "-c", start, *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )


@known_machine
@pytest.mark.parametrize(("call", "message"), TABLES["a_container_that_forbids_a_call"])
def test_a_container_that_forbids_a_call(
    call: str, message: str, sandbox: None
) -> None:
    process = _without(
        call, "from medical_tasks.sandbox.probe import probe\nprint(probe())"
    )
    assert process.stdout.strip() == message, process.stderr


@known_machine
def test_the_command_refuses_before_it_opens_a_model(
    demos: Path, tmp_path: Path
) -> None:
    code = "from medical_tasks.cli.entry import main\nsys.exit(main(sys.argv[1:]))"
    data = ["--config", "demo", "--data", str(demos)]
    run = ["run", "--tasks", "medcalc_code", *data, "--out", str(tmp_path / "out")]
    process = _without("unshare", code, *run, "--model", "hf/nowhere")
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr.startswith(
        "error: programs that a model wrote are run only where they can be closed off"
    )
    assert (
        "here they cannot: namespaces: Operation not permitted (unshare). It needs Linux"
        in process.stderr
    )
    assert "`sysctl user.max_user_namespaces` must be above 0" in process.stderr
    assert "Traceback" not in process.stderr


def test_a_python_that_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 7\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "_base_executable", str(broken))
    message = probe()
    assert message is not None
    assert "does not start by itself" in message
    assert "Run medical-tasks with a Python of your distribution" in message


def test_no_room_to_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_dir", lambda self: False)
    assert "none of /tmp" in (probe() or "")


@pytest.mark.parametrize("text", ["not json", ""])
def test_a_probe_program_without_a_report_is_no_proof(
    text: str, monkeypatch: pytest.MonkeyPatch, sandbox: None
) -> None:
    monkeypatch.setattr(
        "medical_tasks.sandbox.probe.attempts_program",
        lambda *_, **__: f"print({text!r})",
    )
    assert (probe() or "").startswith("the program that tries to get out ended early")
