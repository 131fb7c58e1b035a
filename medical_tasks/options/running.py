"""What `run` takes, and the verbs that make one run on several machines: `launch` and `merge`."""

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
    """How the model under test is opened and asked."""

    model_args: Annotated[
        Mapping[str, str],
        Option("settings of the model's backend, e.g. batch_size=16,dtype=bfloat16"),
    ] = field(default_factory=dict)
    max_new_tokens: Annotated[
        int | None,
        Option("longest answer, instead of the task's own limit", metavar="N"),
    ] = None
    batch: Annotated[
        bool,
        Option(
            "ask in batches, which a provider answers later for less (openai-api/ or inspect/)"
        ),
    ] = False
    role: Annotated[
        tuple[str, ...],
        Option(
            "who plays another role of a task's protocol, such as patient=openai-api/HOST/NAME; "
            "once for each",
            metavar="ROLE=MODEL[,K=V,...]",
        ),
    ] = ()
    truncate: Annotated[
        Literal["refuse", "notes-from-the-oldest", "unanswered"],
        Option(
            "what to do about questions with documents that do not fit the model's context: "
            "refuse the run (default), leave out the beginning of the oldest notes, or leave "
            "those unanswered"
        ),
    ] = "refuse"
    confidence: Annotated[
        Literal["none", "asked"],
        Option(
            "asked: text tasks also ask how sure the model is, in one last line that is taken off "
            "before scoring (choice tasks report it from their probabilities anyway)"
        ),
    ] = "none"


@dataclass(frozen=True, kw_only=True)
class WithDataAndPrompts(Options, heading="data and prompts"):
    """What a model is asked, and in which words."""

    shard: Annotated[
        str | None,
        Option(
            "part I of N of the items, for several machines; `medical-tasks merge` joins them",
            metavar="I/N",
        ),
    ] = None
    config: Annotated[
        str | None, Option("dataset configuration, e.g. demo", metavar="NAME")
    ] = None
    split: Annotated[
        str | None,
        Option(
            "split to ask, or a+b for both, instead of the task's own", metavar="NAME"
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
    r"""Evaluate a model on tasks; prints the table, writes results.json, items.parquet and report.md.

        medical-tasks run --tasks medcalc --model hf/path/to/model
        medical-tasks run --tasks "medical|medcalc" --model openai-api/local/my-model
        medical-tasks run --tasks medcalc --model baseline/reference --config demo
        medical-tasks run --tasks kqa --model hf/path/to/model \
            --judge openai-api/my-host/judge-model

    The same command goes on with a run that was stopped. Every run writes run.yaml, the
    options it was given, into its folder; --config-file run.yaml gives them again. Over
    several GPUs, one model copy each:

        torchrun --nproc_per_node=4 -m medical_tasks run --tasks medcalc \
            --model hf/path/to/model
    """

    tasks: Annotated[
        str,
        Option(
            "medcalc, medical:medcalc, medical|medcalc|0, a,b, or medical for all",
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
            "at most N items a task, for a quick look: no random sample, and no estimate for "
            "the whole set (see --subset)",
            metavar="N",
        ),
    ] = None
    repeats: Annotated[
        int,
        Option(
            "ask each question K times: means over the repeats, intervals that include the run,"
            " and how much is due to items and to runs",
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
            "only print one finished prompt, of the item ID or of the first one, by a local "
            "model's chat template and shortened as --truncate says; asks nobody",
            metavar="ID",
            bare="",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Merge(WithCalibration, WithEvaluations, WithJudge, WithAttestation):
    """Make one run of the parts that `run --shard` made on several machines; opens no model.

        medical-tasks run --tasks medcalc --model hf/path/to/model --shard 1/2 --out parts/1
        medical-tasks run --tasks medcalc --model hf/path/to/model --shard 2/2 --out parts/2
        medical-tasks merge parts/1 parts/2 --out runs/whole

    The result is that of one run of all items. Parts may overlap and may have been
    stopped half-way; exit code 5 where items are missing, with the parts that would
    bring them. Parts of another model, data or judge are refused.
    """

    runs: Annotated[
        tuple[Path, ...], Option("folders of the parts", metavar="RUN", positional=True)
    ]
    out: Annotated[Path, Option("folder of the whole run", metavar="DIR")]
    data: BuiltData = None
    config: Annotated[
        str | None,
        Option("dataset configuration (default: that of the parts)", metavar="NAME"),
    ] = None
    upstream: Upstream = None
    task_args: Annotated[
        Mapping[str, str],
        Option("settings of the task's scoring, as the parts had them"),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Launch(
    Options,
    usage="medical-tasks launch --print slurm|k8s --shards N [--gpus N] [--image IMAGE] -- run ...",
):
    r"""Print what runs the parts of a run on several machines and merges them; submits nothing.

        medical-tasks launch --print slurm --shards 8 --gpus 1 -- \
            run --tasks medcalc --model hf/path --out runs/my-run > job.sh
        medical-tasks launch --print k8s --shards 8 --gpus 1 --image IMAGE -- \
            run --tasks medcalc --model hf/path --out runs/my-run

    slurm: a script with a job array and the merge behind it. k8s: an Indexed Job. What
    follows -- is the command of `run`, with --out on a file system that all machines
    share; the parts are beside it, in DIR.parts.
    """

    print: Annotated[
        Literal["slurm", "k8s"], Option("a Slurm job array, or a Kubernetes Job")
    ]
    shards: Annotated[int, Option("how many parts", metavar="N")]
    gpus: Annotated[
        int,
        Option(
            "GPUs of each part (default: none is asked for); hf/ models get a process on each",
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
    run: Annotated[Run, Option("the command of `run`, behind --")]
