"""The programs that serve models, and what they need of the machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from itertools import pairwise
from pathlib import Path

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.models.checkpoint import Checkpoint

__all__ = [
    "find_transformers",
    "find_vllm",
    "gpu_nodes",
    "hub_cache",
    "read_flags",
    "vllm_context",
    "vllm_version",
    "wants_cpu",
    "writes_as_folder",
]

VLLM_VARIABLE = "MEDICAL_TASKS_VLLM"
_VLLM_FOLDER = Path(".env-vllm", "bin", "vllm")

# Address, key and name are set by the caller; the rest would write the questions into the server's log, or let a file
# set any of these.
_RESERVED = frozenset({
    "--host", "--port", "--uds", "--api-key", "--served-model-name", "--config",
    "--enable-log-requests", "--enable-log-outputs", "--log-level",
})  # fmt: skip

# What gives prompts another form than the model's folder does, and what gives the model another context.
_OTHER_WRITING = ("--tokenizer", "--chat-template", "--default-chat-template", "--hf-", "--trust-remote-code")
_OTHER_CONTEXT = ("--hf-", "--rope-", "--disable-sliding-window")
_UNSTRETCHED = ("llama3", "longrope", "su")  # ways of scaling after which the context stated is the whole
# As vLLM reads `16k`, `16K` and `1.5m`.
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[kKmMgG]?)")
_MULTIPLES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


def find_vllm(given: str | None = None) -> Path:
    """Finds the `vllm` program, which lives in an environment of its own.

    Args:
        given: path from the model arguments; goes before all else, then the variable `MEDICAL_TASKS_VLLM`.

    Returns:
        The program: as given, or of `.env-vllm` in the working folder or beside the project, or from PATH.

    Raises:
        MissingError: There is none; says how to make the environment.
    """
    for source, named in (("executable", given), (VLLM_VARIABLE, os.environ.get(VLLM_VARIABLE))):
        if named:
            if not _is_program(Path(named)):
                raise MissingError(f"{source} names {named}, which is not a program. Give the path of bin/vllm.")
            return Path(named)
    for folder in (Path.cwd(), Path(__file__).resolve().parents[2]):
        if _is_program(folder / _VLLM_FOLDER):
            return folder / _VLLM_FOLDER
    found = shutil.which("vllm")
    if found is None:
        raise MissingError(
            "vLLM is not here: it needs an environment of its own. Make one in the project's folder with "
            f"`make env-vllm`, or name a program that is there: export {VLLM_VARIABLE}=/path/to/bin/vllm, or "
            "--model-args executable=/path/to/bin/vllm. A server that already runs needs none of this: "
            "--model-args base_url=http://127.0.0.1:8000/v1"
        )
    return Path(found)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def vllm_version(executable: Path) -> str:
    """Reads vLLM's version from its environment's metadata, `unknown` where there is none.

    The program itself takes many seconds to say it.
    """
    environment = executable.resolve().parent.parent
    found = sorted(environment.glob("lib/python3*/site-packages/vllm-*.dist-info"))
    return found[-1].name.removeprefix("vllm-").removesuffix(".dist-info") if found else "unknown"


def find_transformers() -> Path:
    """Finds the `transformers` program of this environment.

    Raises:
        MissingError: It is not installed; says how to install it.
    """
    beside = Path(sys.executable).parent / "transformers"
    found = str(beside) if _is_program(beside) else shutil.which("transformers")
    if found is None:
        raise MissingError(
            "transformers-server/ needs the transformers package and a web server: "
            + install_command("lighteval", "fastapi", "uvicorn")
        )
    return Path(found)


def hub_cache() -> Path:
    """Returns the Hub cache's folder, made if need be: `transformers serve` fails where it does not exist."""
    from huggingface_hub.constants import HF_HUB_CACHE

    folder = Path(HF_HUB_CACHE)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def gpu_nodes(dev: Path = Path("/dev")) -> list[Path]:
    """Lists the device nodes of GPUs that vLLM can use: NVIDIA, AMD (`kfd`), and either under WSL (`dxg`).

    Args:
        dev: folder of device nodes.
    """
    return sorted(node for pattern in ("nvidia[0-9]*", "kfd", "dxg") for node in dev.glob(pattern))


def wants_cpu(device: str | None, flags: list[str]) -> bool:
    """Says whether the user chose the CPU, by the argument `device=cpu` or by the server's own flag."""
    return device == "cpu" or "--device=cpu" in flags or ("--device", "cpu") in pairwise(flags)


def read_flags(text: str) -> list[str]:
    """Splits the flags that are passed through to a server, as a shell would.

    Args:
        text: for example `--max-model-len 8192 --quantization fp8`.

    Returns:
        The words.

    Raises:
        UsageError: A quotation is open, or a flag is not the user's to set here.
    """
    try:
        flags = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"model argument flags cannot be split into words ({error}), got {text!r}.") from None
    taken = [flag for flag in flags if _name(flag) in _RESERVED]
    if taken:
        raise UsageError(
            f"{', '.join(taken)} cannot be passed in flags: the server listens on this machine alone, under a name and "
            "key of its own, and does not log questions."
        )
    return flags


def writes_as_folder(flags: list[str]) -> bool:
    """Says whether vLLM writes prompts with the tokenizer and the chat template of the model's own folder."""
    return not any(_name(flag).startswith(_OTHER_WRITING) for flag in flags)


def vllm_context(flags: list[str], checkpoint: Checkpoint) -> int | None:
    """Works out the longest prompt and answer together that vLLM takes.

    Args:
        flags: of `vllm serve`, as `read_flags` returns them.
        checkpoint: the model.

    Returns:
        `--max-model-len`, else what the model's files say; None where only the server knows.
    """
    values = [
        flag.partition("=")[2] if "=" in flag else following
        for flag, following in pairwise([*flags, ""])
        if _name(flag) == "--max-model-len"
    ]
    if values:
        found = _SIZE.fullmatch(values[-1])
        return None if found is None else int(float(found["number"]) * _MULTIPLES[found["unit"]]) or None
    if any(_name(flag).startswith(_OTHER_CONTEXT) for flag in flags):
        return None
    # vLLM stretches the context by the factor of the other ways.
    scaling = checkpoint.setting("rope_parameters", "rope_scaling")
    scaling = scaling if isinstance(scaling, dict) else {}
    if scaling.get("factor") is not None and scaling.get("rope_type", scaling.get("type")) not in _UNSTRETCHED:
        return None
    context, tokenizers = checkpoint.context(), checkpoint.read("tokenizer_config.json").get("model_max_length")
    return int(min(context, tokenizers)) if context and isinstance(tokenizers, int | float) else context


def _name(flag: str) -> str:
    return flag.split("=", 1)[0].replace("_", "-")
