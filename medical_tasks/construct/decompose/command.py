"""Take texts apart into single statements or claims, by a judge model.

    medical-tasks decompose --source answers.jsonl --judge openai-api/my-host/my-model --out statements.jsonl
    medical-tasks decompose doclens --source notes.json --side reference --judge J --out claims.json
    medical-tasks decompose doclens --source outputs.json --side output --judge J --out output_claims.json
    medical-tasks decompose doclens --task aci_bench --data DIR --side reference --judge J --out claims.json

kqa (the default): a line of --source is {"Question": "...", "Free_form_answer": "..."}; those of
K-QA's own file do too. --out gets the format of that file: Question, Free_form_answer, Must_have,
Nice_to_have, Sources, ICD_10_diag. In the paper a model made a draft that physicians amended, and
physicians said what is a must-have. So with --importance must (the default) every statement is put
under Must_have for a clinician to sort; --importance judge takes the model's sorting.

doclens: --side reference reads a JSON list of {"example_id", "input", "reference"}, or without
--source the built dataset of --task; --side output reads a responses file as `medical-tasks score`
takes it. --out gets the authors' file of claims, for --task-args claims=FILE or output_claims=FILE.
Clinical notes (--task aci_bench) are taken apart section by section.

Replies are kept beside --out (OUT.work, or --work DIR) and never asked for twice; exit code 5 when
a text could not be taken apart, with the others written.
"""

from __future__ import annotations

import argparse

from medical_tasks.construct.contract import Decomposition
from medical_tasks.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares whose form is meant, and the benchmarks' own options."""
    known = _known()
    first = next(iter(known))
    parser.add_argument(
        "benchmark",
        nargs="?",
        default=first,
        choices=tuple(known),
        help=f"whose form ({first} if not given)",
    )
    for each in known.values():
        each.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Takes the texts apart; exit code 5 when the judge left some."""
    known = _known()
    for name, each in known.items():
        stray = [f"--{option}" for option in each.options if getattr(arguments, option) is not None]
        if stray and name != arguments.benchmark:
            raise UsageError(
                f"decompose {arguments.benchmark} takes no {', '.join(stray)}. Leave it out, or say: decompose {name}"
            )
    return known[arguments.benchmark].run(arguments)


def _known() -> dict[str, Decomposition]:
    from medical_tasks.construct.decompose import doclens, kqa

    return {"kqa": kqa.DECOMPOSITION, "doclens": doclens.DECOMPOSITION}
