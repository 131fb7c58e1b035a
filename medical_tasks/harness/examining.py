"""What is broken on this machine, what is installed, and what is optional."""

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
"""How a finding is.

`ok`; `optional`: not there, and not needed by everybody; `warning`: something there will
break; `folder`: where the suite keeps something.
"""


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    level: Level
    subject: str  # what was looked at
    text: str  # what was found, and the next step when it is not well


@dataclass(frozen=True)
class _Part:
    extra: str
    packages: tuple[str, ...]
    use: str
    step: str = ""


_PARTS = (
    _Part(
        "lighteval",
        ("lighteval", "torch", "transformers", "accelerate"),
        "models hf/...; lighteval",
    ),
    _Part("inspect", ("inspect-ai",), "inspect eval medical_tasks/..."),
    _Part("vllm", ("vllm",), "models vllm/... in process; in a second environment"),
    _Part("ray", ("ray",), "models ray/...: workers on several machines"),
    _Part(
        "local-judges",
        ("accelerate", "torch", "transformers", "sentencepiece"),
        "judges that run on this machine",
    ),
    _Part("space", ("starlette", "uvicorn"), "serving the leaderboard"),
    _Part(
        "dev",
        ("mlcroissant", "pytest", "ruff", "mypy"),
        "make test",
        "make env-dev in a checkout",
    ),
)
# As far as lighteval 0.13.0 was run with them (constraints.txt).
_LIGHTEVAL = "0.13.0"
_WRONG_VERSIONS: tuple[tuple[str, Callable[[str], bool], str], ...] = (
    (
        "lighteval",
        lambda version: version != _LIGHTEVAL,
        f"run with {_LIGHTEVAL} only: pip install lighteval=={_LIGHTEVAL}",
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
# Of a SHA-256 in hexadecimal: tells official files from the options of a generated
# configuration.
_HASH_LENGTH = 64


def _major(version: str) -> int:
    head = version.split(".")[0]
    return int(head) if head.isdigit() else 0


def examine() -> list[Finding]:
    """Looks at everything, in a fixed order.

    Suite, plugins, optional parts, versions, machine, processes, folders, data.
    """
    suite = Finding(
        "ok", "medical-tasks", f"{__version__} on Python {platform.python_version()}"
    )
    parts = [
        *_parts(),
        _vllm_server(),
        *_versions(),
        *_machine(),
        *_processes(),
        *_folders(),
        *_data(),
    ]

    return [suite, *_plugins(), *parts]


def _plugins() -> Iterator[Finding]:
    """The other packages that register something, and what of theirs cannot be used."""
    benchmarks()  # looks at every one
    for package, names in plugins.packages().items():
        yield Finding("ok", f"plugin {package}", f"registers {', '.join(names)}")
    for problem in plugins.problems():
        yield Finding(
            "warning", f"plugin {problem.package}", f"{problem.name}: {problem.reason}"
        )


def _parts() -> Iterator[Finding]:
    """What of each extra is installed; what is not comes with its next step."""
    for part in _PARTS:
        found = {package: version_of(package) for package in part.packages}
        absent = [package for package, version in found.items() if not version]
        if absent:
            yield Finding(
                "optional",
                part.extra,
                f"{', '.join(absent)} ({part.use}): {part.step or install_command(part.extra)}",
            )
        else:
            versions = ", ".join(
                f"{package} {version}" for package, version in found.items()
            )
            yield Finding("ok", part.extra, f"{versions} ({part.use})")


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
    """What is wrong with the installed lighteval, and whether it knows our tasks."""
    if not version_of("lighteval"):
        return

    for package, wrong, found in _WRONG_VERSIONS:
        version = version_of(package)
        if version and wrong(version):
            yield Finding("warning", f"{package} version", f"{version}: {found}")

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
            "WORLD_SIZE is above 1 without a GPU: set ACCELERATE_USE_CPU=true, or every process believes to be alone",
        )


def _folders() -> Iterator[Finding]:
    """Where the suite keeps what it writes for a user, and which variable says so."""
    for place in user_places():
        text = f"{place.path.absolute()} ({place.decided_by})"
        yield Finding("folder", place.use, text)

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
    """What is built of one dataset.

    Outdated configurations are warned of one by one, as each is built by itself.
    """
    subject = f"dataset {spec.name}"
    outdated = {
        config: made for config, made in built.items() if made.version != spec.version
    }
    for config, made in sorted(outdated.items()):
        command = " ".join(
            [
                "medical-tasks build",
                spec.name,
                "--config",
                config,
                *_build_options(made),
            ]
        )
        yield Finding(
            "warning",
            subject,
            f"{config} in {folder} was built in version {made.version}, this suite reads "
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


def _build_options(made: BuiltConfig) -> list[str]:
    """What a configuration's build command takes.

    The values it was generated from, or the official files.
    """
    if any(len(value) == _HASH_LENGTH for value in made.source.values()):
        return ["--source", "FOLDER_OR_FILE"]
    return [
        word for name, value in made.source.items() for word in (f"--{name}", value)
    ]
