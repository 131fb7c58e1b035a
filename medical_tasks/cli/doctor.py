"""Say what is installed, what is missing and how to get it, and which versions are known to break.

Ends with 0 when nothing will break (missing optional parts are only listed), with 3 when a warning was given.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from medical_tasks._version import __version__
from medical_tasks.benchmarks.catalog import datasets
from medical_tasks.data.dataset_store import BuiltConfig, built_configs, datasets_home
from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.io.output import tell
from medical_tasks.spec import DatasetSpec

__all__ = ["examine"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""


def run(arguments: argparse.Namespace) -> int:
    """Prints the findings."""
    findings = examine()
    lines = [f"{finding.level:<8} {finding.subject}: {finding.text}" for finding in findings]
    tell("\n".join(lines), [vars(finding) for finding in findings])
    return 3 if any(finding.level == "warning" for finding in findings) else 0


Level = Literal["ok", "missing", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    level: Level  # `ok`; `missing` (something optional is not there); `warning` (something there will break)
    subject: str  # what was looked at
    text: str  # what was found, and the next step when it is not well


@dataclass(frozen=True)
class _Part:
    extra: str
    packages: tuple[str, ...]
    use: str
    step: str = ""


_PARTS = (
    _Part("lighteval", ("lighteval", "torch", "transformers", "accelerate"), "models hf/...; lighteval"),
    _Part("inspect", ("inspect-ai",), "inspect eval medical_tasks/..."),
    _Part("vllm", ("vllm",), "models vllm/... in process", "make env-vllm, a second environment"),
    _Part("local-judges", ("accelerate", "torch", "transformers", "sentencepiece"), "judges that run on this machine"),
    _Part("space", ("gradio",), "the demonstration of the Space"),
    _Part("dev", ("mlcroissant", "pytest", "ruff", "mypy"), "make test", "make env-dev"),
)
# As far as lighteval 0.13.0 was run with them (constraints.txt).
_LIGHTEVAL = "0.13.0"
# Of a SHA-256 in hexadecimal: tells official files from the options of a generated configuration.
_HASH_LENGTH = 64
# As huggingface_hub reads its own variables.
_TRUE = frozenset({"1", "ON", "YES", "TRUE"})


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _major(version: str) -> int:
    head = version.split(".")[0]
    return int(head) if head.isdigit() else 0


def examine() -> list[Finding]:
    """Looks at everything, in a fixed order: suite, optional parts, versions, machine, processes and Hub, data."""
    suite = Finding("ok", "medical-tasks", f"{__version__} on Python {platform.python_version()}")
    return [suite, *_parts(), _vllm_server(), *_versions(), *_machine(), *_processes(), *_hub(), *_data()]


def _parts() -> Iterator[Finding]:
    for part in _PARTS:
        found = {package: _version(package) for package in part.packages}
        absent = [package for package, version in found.items() if version is None]
        if absent:
            yield Finding(
                "missing",
                part.extra,
                f"{', '.join(absent)} not installed ({part.use}). Get it: {part.step or install_command(part.extra)}",
            )
        else:
            versions = ", ".join(f"{package} {version}" for package, version in found.items())
            yield Finding("ok", part.extra, f"{versions} ({part.use})")


def _vllm_server() -> Finding:
    from medical_tasks.models.server import find_vllm, vllm_version

    try:
        program = find_vllm()
    except MissingError as error:
        return Finding("missing", "vllm-server", str(error))
    return Finding("ok", "vllm-server", f"vllm {vllm_version(program)} in {program} (models vllm-server/...)")


def _versions() -> Iterator[Finding]:
    lighteval = _version("lighteval")
    if lighteval is None:
        return
    if lighteval != _LIGHTEVAL:
        yield Finding(
            "warning",
            "lighteval version",
            f"{lighteval}; the suite was run with {_LIGHTEVAL}. Get it: pip install lighteval=={_LIGHTEVAL}",
        )
    hub = _version("huggingface-hub")
    if hub is not None and _major(hub) >= 2:
        yield Finding(
            "warning",
            "huggingface-hub version",
            f"{hub}: the stock `lighteval` command does not start with 2.x (it calls list_models with an argument that is "
            "gone). `medical-tasks run` and `medical-tasks lighteval` do. For the stock one: pip install 'huggingface-hub<2'",
        )
    xxhash = _version("xxhash")
    if xxhash is not None and _major(xxhash) >= 4:
        yield Finding(
            "warning",
            "xxhash version",
            f"{xxhash} breaks lighteval. Get an older one: pip install 'xxhash<4'",
        )
    spec = importlib.util.find_spec("lighteval")
    if spec is not None and spec.submodule_search_locations:
        benchmark_file = Path(spec.submodule_search_locations[0]) / "tasks" / "tasks" / "tinyBenchmarks.pkl"
        if not benchmark_file.is_file():
            yield Finding(
                "missing",
                "stock lighteval offline",
                "the stock `lighteval` command downloads tinyBenchmarks.pkl from GitHub when it starts. Where GitHub is not "
                "reachable use `medical-tasks lighteval`, which registers this suite's tasks only",
            )


def _has_gpu() -> bool:
    return shutil.which("nvidia-smi") is not None or Path("/dev/nvidia0").exists() or Path("/dev/kfd").exists()


def _machine() -> Iterator[Finding]:
    gpu = _has_gpu()
    text = "GPU found" if gpu else "no GPU found: local models run on the CPU; vLLM does not run"
    yield Finding("ok" if gpu else "missing", "GPU", text)
    from medical_tasks.sandbox.probe import probe

    problem = probe()
    if problem is None:
        yield Finding("ok", "sandbox", "programs of models can be run (medcalc_code)")
    else:
        yield Finding("missing", "sandbox", f"medcalc_code will refuse to run: {problem}")


def _processes() -> Iterator[Finding]:
    given = os.environ.get("WORLD_SIZE", "1")
    if not (given.isascii() and given.isdigit()):
        yield Finding(
            "warning",
            "processes",
            f"WORLD_SIZE must be a whole number, got {given!r}: local models will not load. Unset it; "
            "`accelerate launch` and `torchrun` set it by themselves",
        )
    elif int(given) > 1 and not _has_gpu() and os.environ.get("ACCELERATE_USE_CPU") != "true":
        yield Finding(
            "warning",
            "processes",
            "WORLD_SIZE is above 1 without a GPU: set ACCELERATE_USE_CPU=true, or every process believes to be alone",
        )


def _hub() -> Iterator[Finding]:
    given = os.environ.get("HF_HUB_OFFLINE", "")
    if given.upper() in _TRUE:
        yield Finding(
            "ok",
            "Hub",
            f"HF_HUB_OFFLINE={given}: the Hub is not asked; models and data are taken from this machine only",
        )


def _data() -> Iterator[Finding]:
    home = datasets_home()
    for name, spec in datasets().items():
        try:
            built = built_configs(home / name)
        except UsageError as error:
            yield Finding("warning", f"dataset {name}", str(error))
            continue
        yield from _dataset(spec, home / name, built)


def _dataset(spec: DatasetSpec, folder: Path, built: dict[str, BuiltConfig]) -> Iterator[Finding]:
    """What is built of one dataset: outdated configurations are warned of one by one, as each is built by itself."""
    subject = f"dataset {spec.name}"
    outdated = {config: made for config, made in built.items() if made.version != spec.version}
    for config, made in sorted(outdated.items()):
        command = " ".join(["medical-tasks build", spec.name, "--config", config, *_build_options(made)])
        yield Finding(
            "warning",
            subject,
            f"{config} in {folder} was built in version {made.version}, this suite reads {spec.version}. Build it "
            f"again: {command}",
        )
    current = sorted(set(built) - set(outdated))
    if set(current) - {"demo"}:
        yield Finding("ok", subject, f"{', '.join(current)} in {folder}")
    elif not set(built) - {"demo"}:
        steps = "; ".join(spec.how_to_get)
        yield Finding("missing", subject, f"official data not built in {folder}. {steps}")


def _build_options(made: BuiltConfig) -> list[str]:
    """What a configuration's build command takes: the values it was generated from, or the official files."""
    if any(len(value) == _HASH_LENGTH for value in made.source.values()):
        return ["--source", "FOLDER_OR_FILE"]
    return [word for name, value in made.source.items() for word in (f"--{name}", value)]
