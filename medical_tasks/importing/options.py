"""Options of the command `import`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options import (
    BuiltData,
    Config,
    Option,
    Upstream,
    WithAttestation,
    WithJudge,
)

Kind = Literal["helm", "inspect", "lm-eval", "lighteval", "every-eval-ever"]
"""The harnesses whose files are read."""

_FIRST: Final = (
    "kind", "path", "task", "model", "config", "judge", "judge_args", "out",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Import(WithJudge, WithAttestation, first=_FIRST):
    r"""Score answers collected by another harness, and show them next to its own figures.

        medical-tasks import inspect logs/2026-01-01_medcalc.eval --task medcalc
        medical-tasks import helm benchmark_output/runs/v1/medcalc_bench:model=openai_gpt-4o \
            --task medcalc --config v1.0
        medical-tasks import lm-eval out/samples_medcalc_2026-01-01T00-00-00.jsonl --task medcalc
        medical-tasks import every-eval-ever items.jsonl --task kqa --judge openai-api/HOST/NAME

    helm: the folder of a run; inspect: a log (.eval or .json); lm-eval: a file of
    --log_samples; lighteval: a file of --save-details (parquet); every-eval-ever:
    instance records (JSON Lines). A folder with one such file is also accepted. The
    source's own results next to the file are read too.

    Each answer is matched to an item by its id if the question agrees, or by the text of
    the question; unmatched answers are listed. Answers of several epochs or samples are
    repeats. The run is marked as imported and never counts as comparable with the paper,
    because only the source knows how the model was prompted.
    """

    kind: Annotated[Kind, Option("the harness that wrote the files", positional=True)]
    path: Annotated[
        Path, Option("a file, or the folder of a run", metavar="PATH", positional=True)
    ]
    task: Annotated[
        str, Option("the task that was answered, such as medcalc", metavar="T")
    ]
    model: Annotated[
        str | None,
        Option(
            "the model whose answers are scored if a file has several; otherwise the name of a "
            "model that the files do not name",
            metavar="NAME",
        ),
    ] = None
    address: Annotated[
        str | None,
        Option(
            "address of the published files (https://...), for the recipe",
            metavar="URL",
        ),
    ] = None
    licence: Annotated[
        str | None, Option("licence of the files, for the recipe", metavar="L")
    ] = None
    split: Annotated[
        str | None,
        Option(
            "the answered split, or a+b for two, instead of the task's own",
            metavar="NAME",
        ),
    ] = None
    data: BuiltData = None
    config: Config = None
    prompts: Annotated[
        str, Option("the judge's prompts: own (default) or official", metavar="SET")
    ] = "own"
    upstream: Upstream = None
    task_args: Annotated[
        Mapping[str, str],
        Option("settings of the task's scoring, e.g. sentence_bert=FOLDER"),
    ] = field(default_factory=dict)
    out: Annotated[
        Path | None,
        Option("folder for the results (default: runs/SOURCE-HASH)", metavar="DIR"),
    ] = None
