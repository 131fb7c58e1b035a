"""Make a benchmark like EHRNoteQA, ArchEHR-QA or MedCalc-Bench on your own notes, in the steps of their papers.

    medical-tasks construct ehrnoteqa sample|generate|sheet|import, and answer-sheet|scores for clinicians' own scores of models
    medical-tasks construct archehr filter|expand|align|sheet|import|agreement, from messages of patients and discharge notes
    medical-tasks construct medcalc extract|sheet|import|release, and check, which measures the extraction on known rows

`sheet` and `import` are one round of annotation, and are repeated for the next. Each step writes whole files, and the same command
goes on where it stopped. FOLDER and DIR hold text of notes, messages, questions and answers: they are as credentialed as the notes,
stay on this machine, and only you can read them. Commands: docs/ehrnoteqa_construction.md, docs/archehr_construction.md,
docs/medcalc_construction.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from medical_tasks.cli import Options, add_options, check_options
from medical_tasks.construct.contract import Construction
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.policy import add_guard_arguments
from medical_tasks.runs.folder import is_main_process

_OPTIONS: Final[Options] = {
    "": {
        "paths": {
            "nargs": "*",
            "type": Path,
            "metavar": "PATH",
            "help": "import: sheets; answer-sheet: runs; scores: its DIR; archehr sheet: "
            "edited sheets of candidates (default: the one in FOLDER)",
        },
        "--folder": {"type": Path, "metavar": "FOLDER", "help": "where all of it lies"},
        "--source": {
            "type": Path,
            "metavar": "FILE",
            "help": "sample, align: discharge.csv.gz or a file of its columns; filter: messages; extract: notes; check: rows",
        },
        "--seed": {
            "type": int,
            "metavar": "N",
            "help": "decides who and in which order (default 0)",
        },
    },
    "sample": {
        "--tokenizer": {
            "metavar": "FOLDER",
            "help": "whose tokens are counted: a folder, or estimate (default) without one",
        },
        "--cells": {
            "metavar": "LEVEL:NOTES=N,...",
            "help": "how many patients (default 1:1=275,1:2=275,2:1=150,2:2=150,2:3=150)",
        },
        "--bounds": {"metavar": "N,N", "help": "most tokens of level 1 and 2 (default 3000,7000)"},
        "--allow-fewer": {
            "action": "store_true",
            "help": "take what there is where patients are too few",
        },
    },
    "generate, expand, extract, check": {
        "--model": {
            "metavar": "M",
            "help": "hf/PATH, vllm/PATH, vllm-server/NAME or openai-api/HOST/NAME",
        },
        "--model-args": {
            "metavar": "K=V,...",
            "help": "settings of its backend (for generate, temperature is 1 if not said)",
        },
        "--tries": {
            "type": int,
            "metavar": "N",
            "help": "most replies of a step, or for a message (default 3)",
        },
        "--max-new-tokens": {
            "type": int,
            "metavar": "N",
            "help": "longest reply (default 1500, 1000 and 2000)",
        },
    },
    "sheet, import, answer-sheet, scores": {
        "--reviewers": {"metavar": "NAME,...", "help": "sheet, answer-sheet: who gets a share"},
        "--overlap": {
            "type": int,
            "metavar": "N",
            "help": "sheet, answer-sheet: N questions or cases for everybody",
        },
        "--blank-keeps": {"action": "store_true", "help": "import: a row without a mark is kept"},
        "--partial": {
            "action": "store_true",
            "help": "import, scores: go on without some people's sheets",
        },
        "--out": {
            "type": Path,
            "metavar": "PATH",
            "help": "answer-sheet: folder; scores: the table, CSV",
        },
        "--data": {
            "type": Path,
            "metavar": "DIR",
            "help": "answer-sheet: the built dataset the runs were on",
        },
        "--upstream": {
            "type": Path,
            "metavar": "DIR",
            "help": "answer-sheet: for runs with --prompts official",
        },
        "--max-samples": {
            "type": int,
            "metavar": "N",
            "help": "answer-sheet, check: at most N questions or rows",
        },
    },
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    known = _constructions()
    steps = dict.fromkeys(step for each in known.values() for step in each.steps)
    parser.add_argument(
        "benchmark", choices=tuple(known), metavar="|".join(known), help="in whose manner"
    )
    parser.add_argument("step", choices=tuple(steps), metavar="STEP", help=", ".join(steps))
    add_options(parser, _OPTIONS)
    add_guard_arguments(parser)
    for each in known.values():
        each.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Does one step; exit code 5 when something is not finished."""
    if not is_main_process():
        return 0  # there is nothing to share among processes
    chosen = _constructions()[arguments.benchmark]
    if arguments.step not in chosen.steps:
        raise UsageError(
            f"construct {arguments.benchmark} has the steps {', '.join(chosen.steps)}, got {arguments.step}."
        )
    step, needed, allowed = chosen.steps[arguments.step]
    command = f"construct {arguments.benchmark} {arguments.step}"
    any_step = dict.fromkeys(("benchmark", "step", "sheet", "decimal", "dates"), "")
    check_options(arguments, command, needed, allowed, words={**any_step, "paths": "PATH"})
    # Whatever step: an error about text that is held may not be told in its own words.
    subject = policy.Subject.of(chosen.dataset, task=f"construct {chosen.dataset.name}")
    with policy.protect([subject], policy.attestation_from(arguments)):
        return step(arguments)


def _constructions() -> dict[str, Construction]:
    from medical_tasks.construct.archehr import steps as archehr
    from medical_tasks.construct.ehrnoteqa import steps as ehrnoteqa
    from medical_tasks.construct.medcalc import steps as medcalc

    return {
        "medcalc": medcalc.CONSTRUCTION,
        "ehrnoteqa": ehrnoteqa.CONSTRUCTION,
        "archehr": archehr.CONSTRUCTION,
    }
