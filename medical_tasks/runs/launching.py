"""Writes scripts that run the parts of a run on several machines and merge them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from medical_tasks.catalog import parse_task_names
from medical_tasks.errors import UsageError, check_least
from medical_tasks.options import Launch, Merge, parameters, set_values, words_of

_NOT_FOR_MERGE = ("out", "config")
"""Options of `run` that the command of `merge` does not repeat."""


def launch_text(options: Launch) -> str:
    """Writes a Slurm script or a Kubernetes Job; nothing is submitted.

    Args:
        options: the number of parts, the machines, and the run.

    Raises:
        UsageError: the run cannot be split like this.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    out = _checked(options)
    run = options.run
    command = ["run", *words_of(run, without=("out",))]
    unsafe = [word for word in [*command, str(out)] if not word.isprintable()]
    if unsafe:
        raise UsageError(
            f"{unsafe[0]!r}: has a character that is not safe in a script. "
            "Give it another name."
        )

    one_process_per_gpu = (
        options.gpus > 1
        and run.model.startswith("hf/")
        and "model_parallel" not in run.model_args
    )
    start = (
        [
            "torchrun",
            "--standalone",
            f"--nproc_per_node={options.gpus}",
            "-m",
            "medical_tasks",
        ]
        if one_process_per_gpu
        else ["medical-tasks"]
    )
    parts = f"{out}.parts"
    name = re.sub("[^a-z0-9]+", "-", out.name.lower())[:40].strip("-") or "run"
    values = {
        "shards": options.shards,
        "gpus": options.gpus,
        "image": options.image or "medical-tasks:latest",
        "name": f"medical-tasks-{name}",
        "mount": str(out.parent) if out.is_absolute() else "/work",
        "parts": parts,
        "command": [*start, *command],
        "merge": f"medical-tasks merge {shlex.quote(parts)}/*-of-{options.shards} "
        f"{shlex.join(_for_merge(options, out))}",
    }
    environment = Environment(  # noqa: S701 - no HTML
        loader=PackageLoader("medical_tasks.runs", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    # Kubernetes reads $(NAME) in a command, and $$ as a dollar sign.
    environment.filters |= {
        "sh": shlex.join,
        "quote": shlex.quote,
        "json": lambda text: json.dumps(text.replace("$", "$$"), ensure_ascii=False),
    }

    return environment.get_template(f"launch_{options.print}.jinja").render(values)


def _checked(options: Launch) -> Path:
    """Refuses a run that cannot be split; returns the folder of the whole run."""
    run = options.run
    parse_task_names(run.tasks)
    check_least({"--shards": options.shards})
    check_least({"--gpus": options.gpus}, 0)
    if run.shard or run.forecast:
        raise UsageError(
            "--shard and --forecast have no meaning after --: each part gets its own. "
            "Leave them out."
        )

    if run.out is None:
        raise UsageError(
            "run after -- needs --out DIR, on a file system that all machines share."
        )

    out = run.out
    outside = ".." in out.parts or str(out).startswith("~") or out.parent == Path("/")
    if options.print == "k8s" and outside:
        raise UsageError(
            f"--out {out}: is not a folder on the volume. Give a relative path, or an absolute one "
            "such as /shared/runs/x."
        )

    if options.image and options.print != "k8s":
        raise UsageError("--image is for --print k8s. Leave it out.")

    return out.expanduser()


def _for_merge(options: Launch, out: Path) -> list[str]:
    """Returns the command line of `merge`, with the options that it shares with the run."""
    shared: dict[str, Any] = {
        name: value
        for name, value in set_values(options.run).items()
        if name in parameters(Merge) and name not in _NOT_FOR_MERGE
    }
    return words_of(Merge(runs=(), out=out, **shared), without=("runs",))
