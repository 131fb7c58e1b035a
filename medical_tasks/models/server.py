"""Models served for this run, `vllm-server/<name>` and `transformers-server/<path>`.

A server is started on loopback with the first question, and ends with the run.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import secrets
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.io.files import open_file
from medical_tasks.models import supervisor
from medical_tasks.models.base import Length, Request
from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.checkpoint import (
    MESSAGES,
    Checkpoint,
    find_checkpoint,
    fingerprint,
)
from medical_tasks.models.endpoint import (
    EndpointModel,
    FolderTokens,
    chat_settings,
    limits_of,
    model_options,
)
from medical_tasks.models.opener import (
    CHAT_OPTIONS,
    COUNT,
    SECONDS,
    TESTED_OPTIONS,
    WORD,
    Reader,
    read_options,
)

VLLM = "vllm-server"
TRANSFORMERS = "transformers-server"

_PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
_REMOTE = ("base_url", "api_key_env", "served")
_SERVER_OPTIONS: Mapping[str, Reader] = dict.fromkeys(
    ("revision", "flags", "device"), WORD
) | {"start_timeout": SECONDS}
_VLLM_OPTIONS: Mapping[str, Reader] = {
    **CHAT_OPTIONS,
    **_SERVER_OPTIONS,
    **dict.fromkeys(_PARALLEL, COUNT),
    "executable": WORD,
}
_TRANSFORMERS_OPTIONS: Mapping[str, Reader] = {
    **{name: reader for name, reader in CHAT_OPTIONS.items() if name not in _REMOTE},
    **_SERVER_OPTIONS,
    "dtype": WORD,
}
SERVED_OPTIONS = {VLLM: _VLLM_OPTIONS, TRANSFORMERS: _TRANSFORMERS_OPTIONS}
"""Arguments of judges by kind; a model under test has more (`TESTED_OPTIONS`)."""
_TESTED: Mapping[str, Reader] = {
    name: reader for name, reader in TESTED_OPTIONS.items() if name not in CHAT_OPTIONS
}
_TIDY_S = 10.0  # until a crashed server's workers are gone as well
# Without these, servers send usage statistics; they must send nothing but answers.
_SILENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


class ServedModel(EndpointModel):
    """An endpoint whose server starts with the first question."""

    def __init__(
        self,
        name: str,
        settings: Callable[[str], ChatSettings],
        command: Callable[[int], list[str]],
        *,
        environment: Mapping[str, str],
        start_timeout: float,
        log: Path,
        measures: bool,
        **how: Any,
    ) -> None:
        """Prepares the model; the server is not started yet.

        Args:
            name: of the model in results.
            settings: makes the settings for the server's address.
            command: makes the command line for a port.
            environment: variables of the server, such as its key.
            start_timeout: seconds until it must answer.
            log: the file for its output.
            measures: whether it reports its context and counts tokens.
            **how: further arguments of `EndpointModel`.
        """
        # the port is added when the server starts
        super().__init__(name, settings(f"http://{HOST}/v1"), **how)
        self._settings_at, self._command = settings, command
        self._environment, self._start_timeout, self._log = (
            environment,
            start_timeout,
            log,
        )
        self._measures = measures
        self._server: ManagedServer | None = None

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests by the model's own folder.

        The server is started for this only if the folder does not suffice.
        """
        asks = self._context is None or self._tokens is None
        if not requests or (asks and not self._measures):
            return [None] * len(requests)

        return (
            super().lengths(requests)
            if asks
            else self._measure(self._settings, requests)
        )

    def ask_in_batches(self, journal: Path) -> None:
        """Raises UsageError: a server of the run answers at once, at no lower price."""
        raise UsageError(f"--batch: {self.name} is asked one by one. Leave it out.")

    def start(self) -> None:
        """Starts the server if it does not run yet."""
        self._server = self._server or self._start()

    @contextmanager
    def asking(self) -> Iterator[ChatSettings]:
        """Starts the server, and yields the settings to call it with."""
        self.start()
        try:
            yield self._settings
        except MissingError as error:
            if self._server is not None and self._server.running(patience=_TIDY_S):
                raise

            # The log may quote questions by now, so it is named, not shown.
            raise MissingError(
                f"the model server has ended by itself; its log is {self._log}\n{error}"
            ) from None

    def _start(self) -> ManagedServer:
        """Starts the server on a free port, and waits until it answers a chat."""
        port = free_port()
        settings = self._settings_at(f"http://{HOST}:{port}/v1")
        server = ManagedServer(
            command=self._command(port),
            ready=lambda: answers_chat(
                settings.base_url, settings.model, api_key=settings.api_key
            ),
            log=self._log,
            timeout=self._start_timeout,
            environment={**_SILENT, **self._environment},
        )
        print(
            f"starting the server of {self.name}, which may take up to "
            f"start_timeout={self._start_timeout:g} s (log: {self._log})",
            file=sys.stderr,
            flush=True,
        )
        server.start()
        self._settings, self.endpoint = settings, settings.base_url

        return server

    def close(self) -> None:
        """Stops the server, with every process it started."""
        if self._server is not None:
            self._server.stop()
            self._server = None


def open_served(
    name: str, *, options: Mapping[str, str], log_dir: Path
) -> EndpointModel:
    """Opens `vllm-server/<name>` or `transformers-server/<path>`; no server is started yet.

    `log_dir` must be private.
    """
    kind, _, target = name.partition("/")
    if target and kind == VLLM:
        values = read_options(options, {**_VLLM_OPTIONS, **_TESTED}, model=name)
        if "base_url" not in values:
            return _vllm(name, target, values, log_dir)

        if starting := sorted(set(values) - set(TESTED_OPTIONS)):
            raise UsageError(
                f"base_url names a server that already runs: {', '.join(starting)} cannot be "
                "passed to it."
            )

        return EndpointModel(
            name,
            chat_settings(VLLM, target, values),
            backend=VLLM,
            **model_options(values),
        )

    if target and kind == TRANSFORMERS:
        values = read_options(options, {**_TRANSFORMERS_OPTIONS, **_TESTED}, model=name)
        return _transformers(name, target, values, log_dir)

    raise UsageError(
        f"a served model is named {VLLM}/<name> or {TRANSFORMERS}/<path>, got {name!r}."
    )


def _vllm(
    name: str, target: str, values: Mapping[str, Any], log_dir: Path
) -> ServedModel:
    """Prepares a model that vLLM serves for this run; nothing is started yet.

    The port is on this machine and requires a key that is generated here.
    """
    for option in ("api_key_env", "served"):
        if option in values:
            raise UsageError(
                f"{option} belongs to base_url: a server started for the run has a key and a name "
                "of its own."
            )

    flags = read_flags(values.get("flags", ""))
    executable = find_vllm(values.get("executable"))
    version = vllm_version(executable)
    if not (wants_cpu(values.get("device"), flags) or "cpu" in version or gpu_nodes()):
        raise MissingError(MESSAGES["vllm_server_gpu"].format(name=name))

    checkpoint = find_checkpoint(target, revision=values.get("revision"))
    sizes = {size: values[size] for size in _PARALLEL if size in values}
    words = [
        word
        for size, number in sizes.items()
        for word in (f"--{size.replace('_', '-')}", str(number))
    ]
    key = secrets.token_hex(16)  # other users of this machine reach the port as well
    # Replicas answer alike; splitting one model changes how its sums are rounded.
    split = {
        size: str(number)
        for size, number in sizes.items()
        if size != "data_parallel_size"
    }
    identity = {
        **_weights(checkpoint),
        "vllm": version,
        "flags": shlex.join(flags),
        **split,
    }
    answering = model_options(values)
    if answering["tokens"] is None and writes_as_folder(flags):
        answering["tokens"] = _tokens(checkpoint)
    if answering["context"] is None:
        answering["context"] = vllm_context(flags, checkpoint)

    return ServedModel(
        name,
        lambda url: ChatSettings(
            base_url=url, model=checkpoint.label, api_key=key, **limits_of(values)
        ),
        lambda port: [
            *(
                str(executable),
                "serve",
                str(checkpoint.folder),
                "--served-model-name",
                checkpoint.label,
            ),
            *("--host", HOST, "--port", str(port), *words, *flags),
        ],
        environment={"VLLM_API_KEY": key, **_path_of(executable)},
        start_timeout=values.get("start_timeout", 1800.0),
        log=log_dir / f"{VLLM}.log",
        measures=True,
        backend=VLLM,
        identity=identity,
        **answering,
    )


def _transformers(
    name: str, target: str, values: Mapping[str, Any], log_dir: Path
) -> ServedModel:
    """Prepares a model that `transformers serve` serves for this run; nothing is started yet."""
    from huggingface_hub.constants import HF_HUB_CACHE

    flags = read_flags(values.get("flags", ""))
    executable = find_transformers()
    checkpoint = find_checkpoint(target, revision=values.get("revision"))
    # the server knows the model by exactly the path it was started with
    folder = str(checkpoint.folder)
    how = {
        "device": values.get("device", "cpu"),
        "dtype": values.get("dtype", "float32"),
    }
    version = importlib.metadata.version("transformers")
    identity = {
        **_weights(checkpoint),
        **how,
        "transformers": version,
        "flags": shlex.join(flags),
    }
    answering = model_options(values)
    answering["tokens"] = answering["tokens"] or _tokens(checkpoint)
    answering["context"] = answering["context"] or checkpoint.context()
    # `transformers serve` fails where it does not exist
    Path(HF_HUB_CACHE).mkdir(parents=True, exist_ok=True)

    return ServedModel(
        name,
        lambda url: ChatSettings(
            base_url=url, model=folder, **{"concurrency": 4, **limits_of(values)}
        ),
        lambda port: [
            *(
                str(executable),
                "serve",
                folder,
                "--device",
                how["device"],
                "--dtype",
                how["dtype"],
            ),
            *("--host", HOST, "--port", str(port), *flags),
        ],
        environment={"HF_HUB_CACHE": HF_HUB_CACHE, **_path_of(executable)},
        start_timeout=values.get("start_timeout", 600.0),
        log=log_dir / f"{TRANSFORMERS}.log",
        measures=False,
        backend=TRANSFORMERS,
        identity=identity,
        **answering,
    )


def _path_of(executable: Path) -> dict[str, str]:
    """Returns a PATH that begins with the program's own folder.

    It calls build tools that are installed beside it.
    """
    return {
        "PATH": os.pathsep.join(
            (str(executable.parent), os.environ.get("PATH", os.defpath))
        )
    }


def _tokens(checkpoint: Checkpoint) -> FolderTokens | None:
    """Returns the model's own tokenizer; None if it cannot tell how long a chat is."""
    config = checkpoint.read("tokenizer_config.json")
    templated = (
        "chat_template" in config
        or (checkpoint.folder / "chat_template.jinja").is_file()
    )
    return FolderTokens(checkpoint.folder) if config and templated else None


def _weights(checkpoint: Checkpoint) -> dict[str, str]:
    return {
        "model": checkpoint.label,
        "revision": checkpoint.revision,
        "weights": fingerprint(checkpoint.folder),
    }


VLLM_VARIABLE = "MEDICAL_TASKS_VLLM"
_VLLM_FOLDER = Path(".env-vllm", "bin", "vllm")

# Address, key and name are set here; the rest would write the questions to the server's
# log, or let a file set any of these.
_RESERVED = frozenset({
    "--host", "--port", "--uds", "--api-key", "--served-model-name", "--config",
    "--enable-log-requests", "--enable-log-outputs", "--log-level",
})  # fmt: skip

# Flags that render prompts otherwise than the model's folder does, and flags that change
# the model's context.
_OTHER_WRITING = (
    "--tokenizer",
    "--chat-template",
    "--default-chat-template",
    "--hf-",
    "--trust-remote-code",
)
_OTHER_CONTEXT = ("--hf-", "--rope-", "--disable-sliding-window")
# ways of scaling that the stated context already includes
_UNSTRETCHED = "llama3", "longrope", "su"
# As vLLM reads `16k`, `16K` and `1.5m`.
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[kKmMgG]?)")
_MULTIPLES = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
}


def find_vllm(executable: str | None = None) -> Path:
    """Finds the `vllm` program.

    By the argument, `MEDICAL_TASKS_VLLM`, `.env-vllm` in the working folder or the
    project, or PATH.
    """
    for source, named in (
        ("executable", executable),
        (VLLM_VARIABLE, os.environ.get(VLLM_VARIABLE)),
    ):
        if named:
            if not _is_program(Path(named)):
                raise MissingError(
                    f"{source} names {named}, which is not a program. Give the path of bin/vllm."
                )

            return Path(named)

    for folder in (Path.cwd(), Path(__file__).resolve().parents[2]):
        if _is_program(folder / _VLLM_FOLDER):
            return folder / _VLLM_FOLDER

    path = shutil.which("vllm")
    if path is None:
        raise MissingError(MESSAGES["vllm_server"].format(variable=VLLM_VARIABLE))

    return Path(path)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def vllm_version(executable: Path) -> str:
    """Reads vLLM's version from the metadata of its environment; "unknown" without any.

    Running the program would take many seconds.
    """
    environment = executable.resolve().parent.parent
    folders = sorted(environment.glob("lib/python3*/site-packages/vllm-*.dist-info"))

    return (
        folders[-1].name.removeprefix("vllm-").removesuffix(".dist-info")
        if folders
        else "unknown"
    )


def find_transformers() -> Path:
    """Finds the `transformers` program of this environment."""
    beside = Path(sys.executable).parent / "transformers"
    path = str(beside) if _is_program(beside) else shutil.which("transformers")
    if path is None:
        install = install_command("lighteval", "fastapi", "uvicorn")
        raise MissingError(
            f"transformers-server/ needs the transformers package and a web server: {install}"
        )
    return Path(path)


def gpu_nodes(dev: Path = Path("/dev")) -> list[Path]:
    """Lists the device nodes of GPUs that vLLM can use.

    NVIDIA, AMD (`kfd`), and either under WSL (`dxg`).
    """
    return sorted(
        node for pattern in ("nvidia[0-9]*", "kfd", "dxg") for node in dev.glob(pattern)
    )


def wants_cpu(device: str | None, flags: list[str]) -> bool:
    """Returns whether the user chose the CPU, by `device=cpu` or by the server's own flag."""
    return (
        device == "cpu"
        or "--device=cpu" in flags
        or ("--device", "cpu") in pairwise(flags)
    )


def read_flags(text: str) -> list[str]:
    """Splits the flags for a server as a shell would."""
    try:
        flags = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            f"model argument flags cannot be split into words ({error}), got {text!r}."
        ) from None

    reserved = [flag for flag in flags if _flag_name(flag) in _RESERVED]
    if reserved:
        raise UsageError(MESSAGES["flags"].format(taken=", ".join(reserved)))

    return flags


def writes_as_folder(flags: list[str]) -> bool:
    """Returns whether vLLM renders prompts with the model folder's tokenizer and chat template."""
    return not any(_flag_name(flag).startswith(_OTHER_WRITING) for flag in flags)


def vllm_context(flags: list[str], checkpoint: Checkpoint) -> int | None:
    """Returns the longest prompt and answer together: `--max-model-len`, else by the model's files.

    None if only the server knows.
    """
    values = [
        flag.partition("=")[2] if "=" in flag else following
        for flag, following in pairwise([*flags, ""])
        if _flag_name(flag) == "--max-model-len"
    ]
    if values:
        size = _SIZE.fullmatch(values[-1])
        return (
            None
            if size is None
            else int(float(size["number"]) * _MULTIPLES[size["unit"]]) or None
        )

    if any(_flag_name(flag).startswith(_OTHER_CONTEXT) for flag in flags):
        return None

    # vLLM stretches the context by the factor of the other ways.
    scaling = checkpoint.setting("rope_parameters", "rope_scaling")
    scaling = scaling if isinstance(scaling, dict) else {}
    if (
        scaling.get("factor") is not None
        and scaling.get("rope_type", scaling.get("type")) not in _UNSTRETCHED
    ):
        return None

    context, tokenizers = (
        checkpoint.context(),
        checkpoint.read("tokenizer_config.json").get("model_max_length"),
    )
    return (
        int(min(context, tokenizers))
        if context and isinstance(tokenizers, int | float)
        else context
    )


def _flag_name(flag: str) -> str:
    return flag.split("=", 1)[0].replace("_", "-")


HOST = "127.0.0.1"
_LINES = 20  # of the log, in an error
_POLL_S = 0.2
_TAIL_BYTES = 64 * 1024
_DROPPED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


def free_port() -> int:
    """Returns a loopback port that nothing listens on at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(kw_only=True)
class ManagedServer:
    """One server process and all that it starts.

    However this process ends (`kill -9` included), the server ends too.

    Attributes:
        command: its command line.
        ready: polled until it returns True; an exception from it ends the start.
        log: the file for its output, readable by its owner only.
        timeout: seconds until it must be ready.
        grace: seconds between the order to stop and SIGKILL.
        environment: further variables.
    """

    command: Sequence[str]
    ready: Callable[[], bool]
    log: Path
    timeout: float
    grace: float = 15.0
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def running(self, *, patience: float = 0.0) -> bool:
        """Returns whether the server runs.

        Waits `patience` seconds for its end, since a crashed server first stops its
        workers.
        """
        if self._process is None:
            return False

        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return True

        return False

    def start(self) -> None:
        """Starts the server and returns once it answers."""
        if self._process is not None:
            raise RuntimeError("the server was started before")

        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.unlink(missing_ok=True)
        out = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    supervisor.__file__,
                    str(os.getpid()),
                    str(self.grace),
                    *self.command,
                ],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                # Ctrl-C at the terminal reaches this process alone, which first saves
                # its results.
                start_new_session=True,
                env={
                    name: value
                    for name, value in os.environ.items()
                    if name not in _DROPPED
                }
                | {**self.environment},
            )
        finally:
            os.close(out)

        try:
            self._await_ready(self._process)
        except BaseException:
            self.stop()
            raise

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Waits until the server answers.

        Raises:
            MissingError: It ended before that, or took longer than `timeout`. The
                message holds the end of its log.
        """
        end = time.monotonic() + self.timeout
        while True:
            code = process.poll()
            if code is not None:
                raise MissingError(
                    f"the server ended with exit code {code} before it answered. {self._log_excerpt()}"
                )

            # Checked again: another program may answer on this port because our server
            # could not bind it.
            if self.ready() and process.poll() is None:
                return

            if time.monotonic() > end:
                raise MissingError(
                    f"the server did not answer within {self.timeout:g} s; start_timeout=SECONDS "
                    f"allows more. {self._log_excerpt()}"
                )

            time.sleep(_POLL_S)

    def _log_excerpt(self) -> str:
        lines = self.log_tail()
        tail = "\n".join(f"  {line}" for line in lines) if lines else "  (nothing)"
        return (
            f"Command: {' '.join(self.command)}\nThe last lines of {self.log}:\n{tail}"
        )

    def log_tail(self) -> list[str]:
        """Returns the last lines of the server's log."""
        with open_file(self.log) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()[-_LINES:]

    def stop(self) -> None:
        """Ends the server and everything it started, and waits until it is gone.

        Does nothing if it does not run.
        """
        process = self._process
        if process is None or process.stdin is None:
            return

        # Closing the pipe is the order to stop; the signal is for the case that a forked
        # process still holds it open.
        process.stdin.close()
        if process.poll() is None:
            process.terminate()

        process.wait()


_SHOWN_CHARACTERS = 500


def answers_chat(
    base_url: str, model: str, *, api_key: str = "", timeout: float = 120.0
) -> bool:
    """Returns whether a server answers a chat with one token, the only sure sign.

    False while nothing listens, and on 5xx, 404 or 429, as while the model loads.
    """
    import httpx  # late: not every command asks a server

    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Hello"}],
        "max_tokens": 1,
    }
    try:
        with httpx.Client(
            timeout=timeout,
            trust_env=False,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        ) as client:
            response = client.post(
                f"{base_url.rstrip('/')}/chat/completions", json=body, headers=headers
            )
    except httpx.HTTPError:
        return False

    if response.status_code in (400, 401, 403, 422):
        words = " ".join(response.text.split())[:_SHOWN_CHARACTERS]
        raise UsageError(
            MESSAGES["chat_rejected"].format(
                model=model, status=response.status_code, told=words
            )
        )

    return bool(response.status_code == 200)
