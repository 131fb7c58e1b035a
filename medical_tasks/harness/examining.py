"""Checks this machine: what is broken, what is installed, and what is optional."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import medical_tasks.plugins as plugins
from medical_tasks._version import __version__
from medical_tasks.catalog import benchmarks, datasets
from medical_tasks.data.dataset_store import BuiltConfig, built_configs
from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.harness import lighteval_launcher
from medical_tasks.io.user_folders import (
    DATA_VARIABLE,
    HOME_VARIABLE,
    datasets_elsewhere,
    datasets_home,
    user_places,
)
from medical_tasks.models.base import processes
from medical_tasks.models.server import find_vllm, vllm_version
from medical_tasks.plugins import version_of
from medical_tasks.sandbox import probe
from medical_tasks.spec import DatasetSpec

Level = Literal["warning", "ok", "optional", "folder"]
"""The kind of a finding.

`ok`; `optional`: missing, and not needed by everybody; `warning`: something will break;
`folder`: where the suite stores something.
"""


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    level: Level
    subject: str  # what was checked
    text: str  # the result, and the next step if something is wrong


@dataclass(frozen=True)
class _Extra:
    extra: str
    packages: tuple[str, ...]
    use: str
    step: str = ""


_EXTRAS = (
    _Extra(
        "lighteval",
        ("lighteval", "torch", "transformers", "accelerate"),
        "models hf/...; lighteval",
    ),
    _Extra("inspect", ("inspect-ai",), "inspect eval medical_tasks/..."),
    _Extra("vllm", ("vllm",), "models vllm/... in process; in a second environment"),
    _Extra("ray", ("ray",), "models ray/...: workers on several machines"),
    _Extra(
        "local-judges",
        ("accelerate", "torch", "transformers", "sentencepiece"),
        "judges that run on this machine",
    ),
    _Extra("space", ("starlette", "uvicorn"), "serving the leaderboard"),
    _Extra(
        "dev",
        ("mlcroissant", "pytest", "ruff", "mypy"),
        "make test",
        "make env-dev in a checkout",
    ),
)
# As tested with lighteval 0.13.0 (constraints.txt).
_LIGHTEVAL = "0.13.0"
_WRONG_VERSIONS: tuple[tuple[str, Callable[[str], bool], str], ...] = (
    (
        "lighteval",
        lambda version: version != _LIGHTEVAL,
        f"tested with {_LIGHTEVAL} only: pip install lighteval=={_LIGHTEVAL}",
    ),
    (
        "huggingface-hub",
        lambda version: _major(version) >= 2,
        "the stock `lighteval` command does not start with 2.x; `medical-tasks lighteval` does. "
        "For the stock one: pip install 'huggingface-hub<2'",
    ),
    (
        "xxhash",
        lambda version: _major(version) >= 4,
        "it breaks lighteval: pip install 'xxhash<4'",
    ),
)
# Of a SHA-256 in hexadecimal: it distinguishes official files from the options of a
# generated configuration.
_HASH_LENGTH = 64


def _major(version: str) -> int:
    head = version.split(".")[0]
    return int(head) if head.isdigit() else 0


def examine() -> list[Finding]:
    """Checks everything, in a fixed order.

    Suite, plugins, extras, versions, machine, processes, folders, data.
    """
    suite = Finding(
        "ok", "medical-tasks", f"{__version__} on Python {platform.python_version()}"
    )
    parts = [
        *_extras(),
        _vllm_server(),
        *_versions(),
        *_machine(),
        *_processes(),
        *_folders(),
        *_data(),
    ]

    return [suite, *_plugins(), *parts]


def _plugins() -> Iterator[Finding]:
    """Lists the packages that register something, and what of theirs cannot be used."""
    benchmarks()  # loads them all
    for package, names in plugins.packages().items():
        yield Finding("ok", f"plugin {package}", f"registers {', '.join(names)}")
    for problem in plugins.problems():
        yield Finding(
            "warning", f"plugin {problem.package}", f"{problem.name}: {problem.reason}"
        )


def _extras() -> Iterator[Finding]:
    """Lists the installed packages of each extra, and the next step for missing ones."""
    for extra in _EXTRAS:
        versions = {package: version_of(package) for package in extra.packages}
        absent = [package for package, version in versions.items() if not version]
        if absent:
            yield Finding(
                "optional",
                extra.extra,
                f"{', '.join(absent)} ({extra.use}): {extra.step or install_command(extra.extra)}",
            )
        else:
            installed = ", ".join(
                f"{package} {version}" for package, version in versions.items()
            )
            yield Finding("ok", extra.extra, f"{installed} ({extra.use})")


def _vllm_server() -> Finding:
    try:
        program = find_vllm()
    except MissingError as error:
        return Finding("optional", "vllm-server", f"models vllm-server/...: {error}")
    return Finding(
        "ok",
        "vllm-server",
        f"vllm {vllm_version(program)} in {program} (models vllm-server/...)",
    )


def _versions() -> Iterator[Finding]:
    """Checks the installed lighteval and its dependencies, and whether it finds our tasks."""
    if not version_of("lighteval"):
        return

    for package, wrong, advice in _WRONG_VERSIONS:
        version = version_of(package)
        if version and wrong(version):
            yield Finding("warning", f"{package} version", f"{version}: {advice}")

    path = lighteval_launcher.link_path()
    if path.is_file():
        yield Finding(
            "ok",
            "lighteval link",
            f"the stock command finds this suite's tasks by {path}",
        )
    else:
        step = "without it, --custom-tasks medical_tasks.lighteval_tasks: medical-tasks doctor --link-lighteval"
        yield Finding(
            "optional",
            "lighteval link",
            f"the stock command finds this suite's tasks; {step}",
        )

    if not path.with_name("tinyBenchmarks.pkl").is_file():
        yield Finding(
            "optional",
            "stock lighteval offline",
            "it downloads tinyBenchmarks.pkl from GitHub when it starts; without GitHub: medical-tasks lighteval, "
            f"or an empty {path.with_name('tinyBenchmarks.pkl')}",
        )


def _has_gpu() -> bool:
    return (
        shutil.which("nvidia-smi") is not None
        or Path("/dev/nvidia0").exists()
        or Path("/dev/kfd").exists()
    )


def _machine() -> Iterator[Finding]:
    gpu = _has_gpu()
    text = (
        "found" if gpu else "none found: local models run on the CPU; vLLM does not run"
    )
    yield Finding("ok" if gpu else "optional", "GPU", text)
    problem = probe.probe()
    if problem is None:
        yield Finding("ok", "sandbox", "programs of models can be run (medcalc_code)")
    else:
        yield Finding(
            "optional", "sandbox", f"without it medcalc_code refuses to run: {problem}"
        )


def _processes() -> Iterator[Finding]:
    try:
        started = processes()
    except UsageError as error:
        yield Finding("warning", "processes", str(error))
        return

    if (
        started > 1
        and not _has_gpu()
        and os.environ.get("ACCELERATE_USE_CPU") != "true"
    ):
        yield Finding(
            "warning",
            "processes",
            "WORLD_SIZE is above 1 without a GPU: set ACCELERATE_USE_CPU=true, or each process will run as if it were the only one",
        )


def _folders() -> Iterator[Finding]:
    """Lists the folders in which the suite stores a user's files, and the variable that decides."""
    for folder in user_places():
        text = f"{folder.path.absolute()} ({folder.decided_by})"
        yield Finding("folder", folder.use, text)

    other = datasets_elsewhere()
    if other is not None:
        yield Finding(
            "folder",
            "datasets not read",
            f"{other}, since {HOME_VARIABLE} is set. Move them to {datasets_home()}, or "
            f"export {DATA_VARIABLE}={other}",
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


def _dataset(
    spec: DatasetSpec, folder: Path, built: dict[str, BuiltConfig]
) -> Iterator[Finding]:
    """Checks what is built of one dataset.

    Each outdated configuration gets its own warning, since each is built separately.
    """
    subject = f"dataset {spec.name}"
    outdated = {
        config: build
        for config, build in built.items()
        if build.version != spec.version
    }
    for config, build in sorted(outdated.items()):
        command = " ".join(
            [
                "medical-tasks build",
                spec.name,
                "--config",
                config,
                *_build_options(build),
            ]
        )
        yield Finding(
            "warning",
            subject,
            f"{config} in {folder} was built in version {build.version}, this suite reads "
            f"{spec.version}. Build it again: {command}",
        )

    current = sorted(set(built) - set(outdated))
    if set(current) - {"demo"}:
        yield Finding("ok", subject, f"{', '.join(current)} in {folder}")
    elif not set(built) - {"demo"}:
        yield Finding(
            "optional",
            subject,
            f"official data not built; the steps: medical-tasks build {spec.name}",
        )


def _build_options(build: BuiltConfig) -> list[str]:
    """Returns the options of a configuration's build command.

    They are the values it was generated from, or the official files.
    """
    if any(len(value) == _HASH_LENGTH for value in build.source.values()):
        return ["--source", "FOLDER_OR_FILE"]
    return [
        word for name, value in build.source.items() for word in (f"--{name}", value)
    ]
