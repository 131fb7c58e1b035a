"""Print what runs the parts of a run on several machines and makes one run of them. Nothing is submitted.

    medical-tasks launch --print slurm --shards 8 --gpus 1 -- run --tasks medcalc --model hf/path --out runs/my-run > job.sh
    medical-tasks launch --print k8s --shards 8 --gpus 1 --image IMAGE -- run --tasks medcalc --model hf/path --out runs/my-run

slurm: a script with a job array and the merge behind it. k8s: an Indexed Job. What follows -- is the command of `run`, with --out
on a file system that all machines share; the parts lie beside it, in DIR.parts.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from medical_tasks.errors import UsageError, check_least
from medical_tasks.io.output import tell

__all__ = ["TAKES_COMMAND", "add_chosen_arguments", "run"]

TAKES_COMMAND = True


def add_chosen_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Keeps the command behind `--`."""
    parser.set_defaults(command=list(words[words.index("--") + 1 :]) if "--" in words else [])


def run(arguments: argparse.Namespace) -> int:
    """Prints the script or the Job."""
    from jinja2 import Environment, StrictUndefined

    words, given = arguments.command, _checked(arguments)
    out = given["out"] = given["out"].expanduser()
    # What is left of it, such as `--ou DIR`, is overruled by the one behind it.
    kept = [
        each
        for place, each in enumerate(words)
        if each.split("=")[0] != "--out" and words[place - 1] != "--out"
    ]
    shared = (
        arguments.gpus > 1
        and given["model"].startswith("hf/")
        and "model_parallel" not in given["model_args"]
    )
    copies = (
        f"torchrun --standalone --nproc_per_node={arguments.gpus} -m medical_tasks"
        if shared
        else "medical-tasks"
    )
    parts = f"{out}.parts"
    values: dict[str, Any] = {
        "shards": arguments.shards,
        "gpus": arguments.gpus,
        "image": arguments.image or "medical-tasks:latest",
        "name": f"medical-tasks-{re.sub('[^a-z0-9]+', '-', out.name.lower())[:40].strip('-') or 'run'}",
        "mount": str(out.parent) if out.is_absolute() else "/work",
        "parts": parts,
        "command": [*copies.split(), *kept],
        "merge": f"medical-tasks merge {shlex.quote(parts)}/*-of-{arguments.shards} {shlex.join(_for_merge(given))}",
    }
    environment = Environment(undefined=StrictUndefined, trim_blocks=True)  # noqa: S701 - no HTML
    # Kubernetes reads $(NAME) in a command, and $$ as a dollar sign.
    environment.filters |= {
        "sh": shlex.join,
        "quote": shlex.quote,
        "json": lambda text: json.dumps(text.replace("$", "$$"), ensure_ascii=False),
    }
    text = (
        files("medical_tasks.cli")
        .joinpath(f"launch_{arguments.print}.jinja")
        .read_text(encoding="utf-8")
    )
    made = environment.from_string(text).render(values)
    tell(made, {arguments.print: f"{made}\n"})
    return 0


def _checked(arguments: argparse.Namespace) -> dict[str, Any]:
    """Refuses what `run` would refuse, or cannot be parted; returns the options of `run`."""
    from medical_tasks.catalog import parse_task_names
    from medical_tasks.cli.entry import read_words

    words = arguments.command
    if words[:1] != ["run"]:
        said = f"launch takes the command of run behind --, got {' '.join(words[:1]) or 'none'}"
        raise UsageError(
            f"{said}: medical-tasks launch --print slurm --shards 8 -- run --tasks T --model M --out DIR"
        )
    if strange := [word for word in words if not word.isprintable()]:
        raise UsageError(
            f"{strange[0]!r}: has a character that no script can be trusted with. Give it another name."
        )
    given = vars(read_words("run", words[1:]))
    parse_task_names(given["tasks"])
    check_least({"--shards": arguments.shards})
    check_least({"--gpus": arguments.gpus}, 0)
    if given["shard"] or given["forecast"]:
        raise UsageError(
            "--shard and --forecast have no meaning behind --: each part gets its own. Leave them out."
        )
    if given["out"] is None:
        raise UsageError("run behind -- needs --out DIR, on a file system that all machines share.")
    out = given["out"]
    if arguments.print == "k8s" and (
        ".." in out.parts or str(out).startswith("~") or out.parent == Path("/")
    ):
        raise UsageError(
            f"--out {out}: no folder on the volume. Give a relative one, or an absolute one such as /shared/runs/x."
        )
    if arguments.image and arguments.print != "k8s":
        raise UsageError("--image is for --print k8s. Leave it out.")
    return given


def _for_merge(given: Mapping[str, Any]) -> list[str]:
    """Those options of `run` that `merge` has too."""
    from medical_tasks.cli import merge
    from medical_tasks.cli.entry import declare_options

    parser, words = argparse.ArgumentParser(), ["--out", str(given["out"])]
    declare_options(parser, merge)
    for action in parser._actions:
        value = given.get(action.dest, action.default)
        if (
            action.option_strings
            and action.dest not in ("out", "config")
            and value != action.default
        ):
            for each in value if isinstance(value, list) else [value]:
                words += (
                    action.option_strings[:1]
                    if each is True
                    else [action.option_strings[0], str(each)]
                )
    return words
