"""Options of `run`, and of `launch` and `merge`, which run it on several machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options.base import Option, Options
from medical_tasks.options.shared import (
    BuiltData,
    Upstream,
    WithAttestation,
    WithCalibration,
    WithCeilings,
    WithEvaluations,
    WithJudge,
    WithSubset,
)

_FIRST_OF_RUN: Final = (
    "tasks", "model", "model_args", "judge", "config", "max_samples", "subset", "max_cost", "out", "forecast",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WithModelSettings(Options, heading="model"):
    """How the model under test is loaded and queried."""

    model_args: Annotated[
        Mapping[str, str],
        Option("settings of the model's backend, e.g. batch_size=16,dtype=bfloat16"),
    ] = field(default_factory=dict)
    max_new_tokens: Annotated[
        int | None,
        Option(
            "longest answer in tokens, instead of the task's own limit", metavar="N"
        ),
    ] = None
    batch: Annotated[
        bool,
        Option(
            "send the requests as batches, which providers answer later at a lower price "
            "(openai-api/ or inspect/)"
        ),
    ] = False
    role: Annotated[
        tuple[str, ...],
        Option(
            "the model of another role in a task's protocol, such as "
            "patient=openai-api/HOST/NAME; once for each role",
            metavar="ROLE=MODEL[,K=V,...]",
        ),
    ] = ()
    truncate: Annotated[
        Literal["refuse", "notes-from-the-oldest", "unanswered"],
        Option(
            "for questions whose documents do not fit the model's context: refuse the run "
            "(default), cut the beginning of the oldest notes, or leave the questions unanswered"
        ),
    ] = "refuse"
    confidence: Annotated[
        Literal["none", "asked"],
        Option(
            "asked: text tasks also ask for the model's confidence, in a last line that is "
            "removed before scoring (choice tasks always report it from their probabilities)"
        ),
    ] = "none"


@dataclass(frozen=True, kw_only=True)
class WithDataAndPrompts(Options, heading="data and prompts"):
    """The items, and the prompts for them."""

    shard: Annotated[
        str | None,
        Option(
            "part I of N of the items, to use several machines; `medical-tasks merge` joins the "
            "parts",
            metavar="I/N",
        ),
    ] = None
    config: Annotated[
        str | None, Option("dataset configuration, e.g. demo", metavar="NAME")
    ] = None
    split: Annotated[
        str | None,
        Option(
            "split to use, or a+b for two, instead of the task's own", metavar="NAME"
        ),
    ] = None
    data: BuiltData = None
    prompts: Annotated[str, Option("own (default) or official", metavar="SET")] = "own"
    upstream: Upstream = None
    task_args: Annotated[
        Mapping[str, str],
        Option("settings of the task itself, e.g. documents=FOLDER for kqa_rag"),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Run(
    WithSubset,
    WithModelSettings,
    WithCeilings,
    WithDataAndPrompts,
    WithCalibration,
    WithEvaluations,
    WithJudge,
    WithAttestation,
    usage="medical-tasks run --tasks T --model M [options]",
    first=_FIRST_OF_RUN,
    from_file=True,
):
    r"""Evaluate a model on tasks; print a table, and write results.json, items.parquet and report.md.

        medical-tasks run --tasks medcalc --model hf/path/to/model
        medical-tasks run --tasks "medical|medcalc" --model openai-api/local/my-model
        medical-tasks run --tasks medcalc --model baseline/reference --config demo
        medical-tasks run --tasks kqa --model hf/path/to/model \
            --judge openai-api/my-host/judge-model

    The same command continues a run that was stopped. Every run writes its options to
    run.yaml in its folder; --config-file run.yaml reads them again. To use several GPUs,
    each with a copy of the model:

        torchrun --nproc_per_node=4 -m medical_tasks run --tasks medcalc \
            --model hf/path/to/model
    """

    tasks: Annotated[
        str,
        Option(
            "medcalc, medical:medcalc, medical|medcalc|0, a,b, or medical for all tasks",
            metavar="T",
        ),
    ]
    model: Annotated[
        str,
        Option(
            "hf/PATH, vllm/PATH, ray/PATH, vllm-server/NAME, openai-api/HOST/NAME, "
            "inspect/PROVIDER/NAME or baseline/NAME",
            metavar="M",
        ),
    ]
    max_samples: Annotated[
        int | None,
        Option(
            "use at most N items per task, for a quick look: not a random sample, and no estimate "
            "for the whole set (see --subset)",
            metavar="N",
        ),
    ] = None
    repeats: Annotated[
        int,
        Option(
            "ask each question K times, and report the mean over the repeats, intervals that "
            "include the variation between runs, and the variance of items and of runs",
            metavar="K",
        ),
    ] = 1
    out: Annotated[
        Path | None,
        Option("the run's folder (default: runs/MODEL-HASH)", metavar="DIR"),
    ] = None
    show_prompt: Annotated[
        str | None,
        Option(
            "only print the complete prompt of item ID or of the first item, with the chat "
            "template of a local model and shortened by --truncate; sends no requests",
            metavar="ID",
            bare="",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Merge(WithCalibration, WithEvaluations, WithJudge, WithAttestation):
    """Merge the parts that `run --shard` produced on several machines into one run; loads no model.

        medical-tasks run --tasks medcalc --model hf/path/to/model --shard 1/2 --out parts/1
        medical-tasks run --tasks medcalc --model hf/path/to/model --shard 2/2 --out parts/2
        medical-tasks merge parts/1 parts/2 --out runs/whole

    The result is that of a single run of all items. Parts may overlap and may be
    incomplete; exit code 5 if items are missing, with the parts that would add them.
    Parts with another model, data or judge are refused.
    """

    runs: Annotated[
        tuple[Path, ...], Option("folders of the parts", metavar="RUN", positional=True)
    ]
    out: Annotated[Path, Option("folder for the merged run", metavar="DIR")]
    data: BuiltData = None
    config: Annotated[
        str | None,
        Option(
            "dataset configuration (default: the configuration of the parts)",
            metavar="NAME",
        ),
    ] = None
    upstream: Upstream = None
    task_args: Annotated[
        Mapping[str, str],
        Option("settings of the task's scoring, the same as for the parts"),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Launch(
    Options,
    usage="medical-tasks launch --print slurm|k8s --shards N [--gpus N] [--image IMAGE] -- run ...",
):
    r"""Print a job that runs the parts of a run on several machines and merges them; submits nothing.

        medical-tasks launch --print slurm --shards 8 --gpus 1 -- \
            run --tasks medcalc --model hf/path --out runs/my-run > job.sh
        medical-tasks launch --print k8s --shards 8 --gpus 1 --image IMAGE -- \
            run --tasks medcalc --model hf/path --out runs/my-run

    slurm: a script with a job array, followed by the merge. k8s: an Indexed Job. The words
    after -- are the command of `run`, with --out on a file system shared by all machines;
    the parts are written next to it, in DIR.parts.
    """

    print: Annotated[
        Literal["slurm", "k8s"],
        Option("the kind of job: a Slurm job array, or a Kubernetes Job"),
    ]
    shards: Annotated[int, Option("the number of parts", metavar="N")]
    gpus: Annotated[
        int,
        Option(
            "GPUs per part (default: none is requested); hf/ models get one process per GPU",
            metavar="N",
        ),
    ] = 0
    image: Annotated[
        str | None,
        Option(
            "container image of --print k8s (default: medical-tasks:latest)",
            metavar="IMAGE",
        ),
    ] = None
    run: Annotated[Run, Option("the command of `run`, after --")]
