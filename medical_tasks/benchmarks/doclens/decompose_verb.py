"""`medical-tasks decompose doclens`: texts taken apart into claims."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.doclens.decompose import Part
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.runs.decomposing import (
    NOT_ASKED,
    asked,
    not_taken_apart,
    read_request,
    said_credentialed,
    write_draft,
    written_to,
)
from medical_tasks.spec import DatasetSpec, TaskSpec

__all__ = ["add_arguments", "run"]

_DOCLENS: Final = "doclens"
_OWN_TASK: Final = "doclens_own"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that no other benchmark has."""
    doclens = parser.add_argument_group("doclens")
    doclens.add_argument("--side", choices=("reference", "output"), help="whose texts")
    doclens.add_argument("--task", metavar="T", help=f"what they will be scored as (default: {_OWN_TASK})")
    doclens.add_argument(
        "--data", type=Path, metavar="DIR", help="without --source: folder of the task's built dataset"
    )
    doclens.add_argument("--config", metavar="NAME", help="without --source: the dataset's configuration")
    doclens.add_argument("--split", metavar="NAME", help="without --source: its split, instead of the task's own")
    doclens.add_argument("--prompts", metavar="SET", help="the judge's prompts: own (default) or official")
    doclens.add_argument(
        "--upstream", type=Path, metavar="DIR", help="checkout of the authors' repository, for --prompts official"
    )


def run(arguments: argparse.Namespace) -> int:
    """Takes the texts apart; exit code 5 when the judge left some."""
    from medical_tasks.benchmarks.catalog import dataset_spec, parse_task_names
    from medical_tasks.benchmarks.doclens.decompose import check_task, claims_text
    from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
    from medical_tasks.benchmarks.doclens.judging import make_claims
    from medical_tasks.judges.base import Judging, Unscored

    if arguments.side is None:
        raise UsageError("decompose doclens needs --side reference or --side output. See: --help")
    tasks = parse_task_names(arguments.task or _OWN_TASK)
    if len(tasks) != 1 or tasks[0].benchmark.name != _DOCLENS:
        raise UsageError(f"--task takes one task of DocLens, such as {_OWN_TASK} or aci_bench; got {arguments.task!r}.")
    task = tasks[0]
    check_task(task)
    spec = dataset_spec(task.dataset)
    request = read_request(arguments, task, texts="texts")
    subjects = [
        *said_credentialed(arguments, named=arguments.task or _OWN_TASK),
        policy.Subject.of(spec, task=f"decompose {_DOCLENS}"),
    ]
    if arguments.side == "reference" and arguments.source is not None:
        # Whatever they will be scored as, sources with references in a file are somebody's own.
        subjects.append(policy.Subject.of(dataset_spec(_OWN_TASK), task=f"decompose {_DOCLENS}"))
    with policy.protect(subjects, policy.attestation_from(arguments)):
        parts = _parts(arguments, task, spec)
        written = written_to(arguments, private=policy.protecting())
        settings = {"side": arguments.side, "task": task.name}
        sources = [arguments.source] if arguments.source is not None else []
        prompts = load_judge_prompts(task, request.prompts, request.options.upstream)
        with asked(request, written, settings, texts="texts", sources=sources) as judge:
            made = make_claims(
                {part.name: (part.text, task.options["form"], part.section) for part in parts if part.text},
                Judging(judge=judge, prompts=prompts),
            )
        if request.options.forecast:
            print(NOT_ASKED)
            return 0
        failed = {name: found.reason for name, found in made.items() if isinstance(found, Unscored)}
        if len(failed) < len(parts):
            write_draft(written, claims_text(parts, made, side=arguments.side))
            count = sum(len(found) for found in made.values() if not isinstance(found, Unscored))
            blank = len(parts) - len(made)
            print(
                f"{len(made) - len(failed)} texts taken apart into {count} claims, in {written.out}"
                + (f"; {blank} are blank and have none" if blank else "")
            )
            name = "claims" if arguments.side == "reference" else "output_claims"
            print(f"Go over them, then score with --task-args {name}={written.out}")
        if failed:
            raise not_taken_apart(failed, len(made), texts="texts", some_done=len(failed) < len(parts))
        return 0


def _parts(arguments: argparse.Namespace, task: TaskSpec, spec: DatasetSpec) -> Sequence[Part]:
    """Reads the texts, from wherever they are."""
    from medical_tasks.benchmarks.doclens.decompose import built_references, outputs, own_references
    from medical_tasks.benchmarks.doclens.own_data import read_own_texts
    from medical_tasks.data.task_data import load_task_data
    from medical_tasks.runs.responses import parse_answers, read_file

    source: Path | None = arguments.source
    if source is not None:
        for name in ("data", "config", "split"):
            if getattr(arguments, name) is not None:
                raise UsageError(f"--source and --{name}: the texts are in a file or a built dataset. Leave one out.")
    if arguments.side == "output":
        if source is None:
            raise UsageError("--side output needs --source, a file of responses.")
        return outputs(parse_answers(source, read_file(source, option="--source")), task)
    if source is not None:
        return own_references(read_own_texts(source), task)
    data = load_task_data(task, spec, data=arguments.data, config=arguments.config, split=arguments.split)
    return built_references(data.items)
