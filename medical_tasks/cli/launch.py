"""Print what runs a run's parts on several machines and makes one run of them. Nothing is submitted.

    medical-tasks launch --print slurm --shards 8 --gpus 1 -- run --tasks medcalc --model hf/path/to/model --out runs/my-run > job.sh
    medical-tasks launch --print k8s --shards 8 --gpus 1 --image IMAGE -- run --tasks medcalc --model hf/path --out runs/my-run

slurm: a script with a job array and the merge behind it. k8s: an Indexed Job. What follows -- is the command of `run`, with --out
on a file system that all machines share; the parts lie beside it, in DIR.parts.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from medical_tasks.cli import Options, add_options
from medical_tasks.errors import UsageError
from medical_tasks.io.output import tell

__all__ = ["TAKES_COMMAND", "add_arguments", "add_chosen_arguments", "run"]

TAKES_COMMAND = True

_OPTIONS: Final[Options] = {
    "": {
        "--print": {"required": True, "choices": ("slurm", "k8s"), "help": "a Slurm job array, or a Kubernetes Job"},
        "--shards": {"required": True, "type": int, "metavar": "N", "help": "how many parts"},
        "--gpus": {"type": int, "default": 0, "metavar": "N", "help": "GPUs of each part (default: none is asked for)"},
        "--image": {"metavar": "IMAGE", "help": "container image of --print k8s (default: medical-tasks:latest)"},
    }
}
_GIVEN: Final = ("shard", "forecast")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.usage = "medical-tasks launch --print slurm|k8s --shards N [--gpus N] [--image IMAGE] -- run ..."
    add_options(parser, _OPTIONS)


def add_chosen_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Keeps the command behind `--`."""
    parser.set_defaults(command=list(words[words.index("--") + 1 :]) if "--" in words else [])


def run(arguments: argparse.Namespace) -> int:
    """Prints the script or the Job."""
    from jinja2 import Environment, StrictUndefined

    kind, words = arguments.print, list(arguments.command)
    out, merge, hf = _checked(arguments, words)
    slug = re.sub(r"[^a-z0-9]+", "-", out.name.lower())[:40].strip("-") or "run"
    # What is left of it, such as `--ou DIR`, is overruled by the one behind it.
    kept = [
        word for place, word in enumerate(words) if word.partition("=")[0] != "--out" and words[place - 1] != "--out"
    ]
    copies = arguments.gpus if hf and arguments.gpus > 1 else 0  # a copy of the model on each
    program = f"torchrun --standalone --nproc_per_node={copies} -m medical_tasks" if copies else "medical-tasks"
    values: dict[str, Any] = {
        "shards": arguments.shards,
        "gpus": arguments.gpus,
        "image": arguments.image or "medical-tasks:latest",
        "name": f"medical-tasks-{slug}",
        "mount": str(out.parent) if out.is_absolute() else "/work",
        "parts": f"{out}.parts",
        "command": [*program.split(), *kept],
        "merge": f"medical-tasks merge {shlex.quote(f'{out}.parts')}/*-of-{arguments.shards} --out {shlex.quote(str(out))}{merge}",
    }
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)  # noqa: S701 - no HTML
    # Kubernetes reads $(NAME) in a command, and $$ as a dollar sign.
    environment.filters |= {
        "sh": shlex.join,
        "quote": shlex.quote,
        "json": lambda text: json.dumps(text.replace("$", "$$")),
    }
    text = files("medical_tasks.cli").joinpath(f"launch_{kind}.jinja").read_text(encoding="utf-8")
    made = environment.from_string(text).render(values)
    tell(made.rstrip("\n"), **{kind: made})
    return 0


def _checked(arguments: argparse.Namespace, words: list[str]) -> tuple[Path, str, bool]:
    """Refuses a command that `run` would refuse, or that cannot be parted; returns its --out, what of it `merge` takes, and whether
    processes can share the work."""
    from medical_tasks.benchmarks.catalog import parse_task_names
    from medical_tasks.cli import merge
    from medical_tasks.cli.entry import read_words

    if words[:1] != ["run"]:
        raise UsageError(
            f"launch takes the command of run behind --, got {' '.join(words[:1]) or 'none'}: medical-tasks launch --print slurm "
            "--shards 8 -- run --tasks T --model M --out DIR"
        )
    if strange := [word for word in words if not word.isprintable()]:
        raise UsageError(f"{strange[0]!r}: has a character that no script can be trusted with. Give it another name.")
    given = vars(read_words("run", words[1:]))
    parse_task_names(given["tasks"])
    for name in _GIVEN:
        if given[name]:
            raise UsageError(
                f"--{name} behind --: it has no meaning there, since launch gives each part its own. Leave it out."
            )
    if given["out"] is None:
        raise UsageError("run behind -- needs --out DIR, on a file system that all machines share.")
    if arguments.image and arguments.print != "k8s":
        raise UsageError("--image is for --print k8s. Leave it out.")
    for name, least in (("shards", 1), ("gpus", 0)):
        if getattr(arguments, name) < least:
            raise UsageError(f"--{name} must be {least} or more, got {getattr(arguments, name)}.")
    parser = argparse.ArgumentParser()
    merge.add_arguments(parser)
    taken = ""
    for action in parser._actions:
        value = given.get(action.dest, action.default)
        if action.option_strings and action.dest not in ("out", "config") and value != action.default:
            each = [""] if value is True else value if isinstance(value, list) else [value]
            taken += "".join(f" {shlex.join([action.option_strings[0], *filter(None, [str(one)])])}" for one in each)
    return given["out"], taken, given["model"].startswith("hf/") and "model_parallel" not in given["model_args"]
