"""Make a benchmark like EHRNoteQA or ArchEHR-QA on your own notes, in the steps of their papers; everything stays on this machine.

    medical-tasks construct ehrnoteqa sample --source discharge.csv.gz --folder FOLDER
    medical-tasks construct ehrnoteqa generate --folder FOLDER --model MODEL
    medical-tasks construct ehrnoteqa sheet --folder FOLDER --reviewers a,b,c
    medical-tasks construct ehrnoteqa import --folder FOLDER SHEET...
    medical-tasks build ehrnoteqa --config own --source FOLDER/questions.jsonl

and, for clinicians' own scores of models' answers to its open questions:

    medical-tasks construct ehrnoteqa answer-sheet RUN... --out DIR --reviewers a,b,c
    medical-tasks construct ehrnoteqa scores DIR --out scores.csv

Like ArchEHR-QA, from messages of patients and discharge notes:

    medical-tasks construct archehr filter --folder FOLDER --source posts.csv
    medical-tasks construct archehr expand --folder FOLDER --codes FILE --dictionary FILE --model MODEL
    medical-tasks construct archehr align --folder FOLDER --source discharge.csv.gz
    medical-tasks construct archehr sheet --folder FOLDER --reviewers a,b
    medical-tasks construct archehr import --folder FOLDER SHEET...
    medical-tasks construct archehr agreement --folder FOLDER
    medical-tasks build archehr_qa --source FOLDER/release

`sheet` and `import` are one round of annotation, and are repeated for the next. Each step writes whole files, and the same command
goes on where it stopped. FOLDER and DIR hold text of notes, messages, questions and answers: they are as credentialed as the notes,
and only you can read them. See docs/ehrnoteqa_construction.md and docs/archehr_construction.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from medical_tasks.benchmarks.archehr_qa.construction import steps as archehr
from medical_tasks.benchmarks.archehr_qa.spec import DATASET as ARCHEHR
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET as EHRNOTEQA
from medical_tasks.data.construction import checked_seed
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.policy import add_guard_arguments

__all__ = ["add_arguments", "run"]

_LISTED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    steps = {**_STEPS, **archehr.STEPS}
    parser.add_argument("benchmark", choices=tuple(_BENCHMARKS), metavar="ehrnoteqa|archehr", help="in whose manner")
    parser.add_argument("step", choices=tuple(steps), metavar="STEP", help=", ".join(steps))
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="import: sheets; answer-sheet: runs; scores: its DIR; archehr sheet: "
        "edited sheets of candidates (default: the one in FOLDER)",
    )
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where all of it lies")
    parser.add_argument(
        "--source",
        type=Path,
        metavar="FILE",
        help="sample, align: discharge.csv.gz or a file of its columns; filter: messages",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="decides who and in which order (default 0)")
    sample = parser.add_argument_group("sample")
    sample.add_argument(
        "--tokenizer", metavar="FOLDER", help="whose tokens are counted: a folder, or estimate (default) without one"
    )
    sample.add_argument(
        "--cells",
        metavar="LEVEL:NOTES=N,...",
        help="how many patients (default 1:1=275,1:2=275,2:1=150,2:2=150,2:3=150)",
    )
    sample.add_argument("--bounds", metavar="N,N", help="most tokens of level 1 and 2 (default 3000,7000)")
    sample.add_argument("--allow-fewer", action="store_true", help="take what there is where patients are too few")
    generate = parser.add_argument_group("generate, expand")
    generate.add_argument("--model", metavar="M", help="hf/PATH, vllm/PATH, vllm-server/NAME or openai-api/HOST/NAME")
    generate.add_argument(
        "--model-args", metavar="K=V,...", help="settings of its backend (for generate, temperature is 1 if not said)"
    )
    generate.add_argument("--tries", type=int, metavar="N", help="most replies of a step, or for a message (default 3)")
    generate.add_argument("--max-new-tokens", type=int, metavar="N", help="longest reply (default 1500 and 1000)")
    add_guard_arguments(generate)  # type: ignore[arg-type]  # a group takes arguments as a parser does
    sheets = parser.add_argument_group("sheet, import, answer-sheet, scores")
    sheets.add_argument("--reviewers", metavar="NAME,...", help="sheet, answer-sheet: who gets a share")
    sheets.add_argument(
        "--overlap", type=int, metavar="N", help="sheet, answer-sheet: N questions or cases for everybody"
    )
    sheets.add_argument("--blank-keeps", action="store_true", help="import: a row without a mark is kept")
    sheets.add_argument("--partial", action="store_true", help="import, scores: go on without some people's sheets")
    sheets.add_argument("--out", type=Path, metavar="PATH", help="answer-sheet: folder; scores: the table, CSV")
    sheets.add_argument("--data", type=Path, metavar="DIR", help="answer-sheet: the built dataset the runs were on")
    sheets.add_argument("--upstream", type=Path, metavar="DIR", help="answer-sheet: for runs with --prompts official")
    sheets.add_argument("--max-samples", type=int, metavar="N", help="answer-sheet: at most N questions, by their ids")
    archehr.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Does one step; exit code 5 when something is not finished."""
    dataset, steps = _BENCHMARKS[arguments.benchmark]
    if arguments.step not in steps:
        raise UsageError(f"construct {arguments.benchmark} has the steps {', '.join(steps)}, got {arguments.step}.")
    step, needed, allowed = steps[arguments.step]
    _check_options(arguments, needed, allowed)
    # Whatever step: an error about text that is held may not be told in its own words.
    subject = policy.Subject.of(dataset, task=f"construct {dataset.name}")
    with policy.protect([subject], policy.attestation_from(arguments)):
        return step(arguments)


def _check_options(arguments: argparse.Namespace, needed: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    """Options of one step mean nothing for another, and are not passed over in silence."""
    given = {
        name: value
        for name, value in vars(arguments).items()
        if name not in ("benchmark", "step") and value not in (None, False, [])
    }
    shown = {name: "PATH" if name == "paths" else f"--{name.replace('_', '-')}" for name in (*given, *needed)}
    missing = [shown[name] for name in needed if name not in given]
    step = f"construct {arguments.benchmark} {arguments.step}"
    if missing:
        raise UsageError(f"{step} needs {', '.join(missing)}. See: --help")
    stray = [shown[name] for name in given if name not in (*needed, *allowed)]
    if stray:
        raise UsageError(f"{step} takes no {', '.join(stray)}. Leave it out.")


def _sample(arguments: argparse.Namespace) -> int:
    from medical_tasks.benchmarks.ehrnoteqa.construction import sample
    from medical_tasks.benchmarks.ehrnoteqa.construction.sample import ESTIMATE, open_counter
    from medical_tasks.io.table import align

    spec = sample.SampleSpec(
        cells=sample.CELLS if arguments.cells is None else sample.parse_cells(arguments.cells),
        bounds=sample.BOUNDS if arguments.bounds is None else sample.parse_bounds(arguments.bounds),
        seed=checked_seed(arguments.seed),
        allow_fewer=arguments.allow_fewer,
    )
    counter = open_counter(arguments.tokenizer or ESTIMATE)
    made = sample.make_sample(arguments.source, arguments.folder, counter, spec)
    rows = [
        tuple(
            "n/a" if row[name] is None else f"{row[name]:,}"
            for name in ("level", "num_notes", "patients", "mean_tokens", "sampled", "sampled_mean_tokens")
        )
        for row in made["table"]
    ]
    print("\n".join(align(("level", "notes", "patients", "mean tokens", "sampled", "mean tokens"), rows)))
    print(
        f"\n{made['sampled']:,} of {made['patients']:,} patients; {made['beyond_bounds']:,} have longer notes, "
        f"{made['in_no_cell']:,} another number of them. Tokens: {made['recipe']['tokenizer']['tokenizer']}."
    )
    return _credentialed(arguments.folder)


def _generate(arguments: argparse.Namespace) -> int:
    from medical_tasks.benchmarks.ehrnoteqa.construction import protocol
    from medical_tasks.models.opener import parse_model_args

    options = protocol.DraftOptions(
        model=arguments.model,
        model_args=parse_model_args(arguments.model_args or ""),
        tries=protocol.TRIES if arguments.tries is None else arguments.tries,
        seed=checked_seed(arguments.seed),
        max_new_tokens=protocol.MAX_NEW_TOKENS if arguments.max_new_tokens is None else arguments.max_new_tokens,
    )
    made = protocol.generate_drafts(arguments.folder, options)
    if made is None:
        return 0
    figures = made["figures"]
    places = ", ".join(f"{letter} {count}" for letter, count in figures["right_place"].items())
    print(
        f"{made['drafted']:,} of {made['patients']:,} patients have a draft. Right choices: {places}; the longest of the five in "
        f"{figures['right_is_longest']:,}. Replies asked for again: {figures['asked_again']:,}."
    )
    _credentialed(arguments.folder)
    failed: Mapping[str, str] = made["failed_patients"]
    if failed:
        listed = "".join(f"\n  {patient}: {reason}" for patient, reason in list(failed.items())[:_LISTED])
        more = f"\n  and {len(failed) - _LISTED} more, in drafts.json" if len(failed) > _LISTED else ""
        written = "The others are written. " if made["drafted"] else ""
        raise IncompleteError(
            f"{len(failed)} of {made['patients']} patients have no draft:{listed}{more}\n{written}The same command "
            "asks again where there was no answer, and more --tries where a reply could not be used."
        )
    return 0


def _sheet(arguments: argparse.Namespace) -> int:
    from medical_tasks.benchmarks.ehrnoteqa.construction.files import SHEETS
    from medical_tasks.benchmarks.ehrnoteqa.construction.review import export_sheets
    from medical_tasks.data.construction import parse_names

    made = export_sheets(
        arguments.folder,
        parse_names(arguments.reviewers),
        overlap=arguments.overlap or 0,
        seed=checked_seed(arguments.seed),
    )
    for name, ids in made["sheets"].items():
        print(f"{arguments.folder / SHEETS / name}.csv: {len(ids):,} questions")
    print(
        "Mark each row o (keep) or x (drop), edit question, answer and choices in place, leave the first four columns."
    )
    return _credentialed(arguments.folder)


def _import(arguments: argparse.Namespace) -> int:
    from medical_tasks.benchmarks.ehrnoteqa.construction.files import QUESTIONS
    from medical_tasks.benchmarks.ehrnoteqa.construction.review import ReviewOptions, import_sheets

    options = ReviewOptions(blank_keeps=arguments.blank_keeps, partial=arguments.partial)
    made = import_sheets(arguments.folder, arguments.paths, options)
    print(
        f"{made['reviewed']:,} questions reviewed: {made['removed']:,} removed, {made['kept']:,} kept. Of these, revised: "
        f"{made['questions_revised']:,} questions, {made['answers_revised']:,} answers, {made['wrong_choices_revised']:,} of "
        f"{made['wrong_choices']:,} wrong choices."
    )
    for pair in made["agreement"]:
        kappa = pair["kappa"]["value"]
        print(
            f"{' and '.join(pair['reviewers'])}: the same mark on {pair['agreed']:,} of {pair['questions']:,} questions, "
            f"Cohen's kappa {'n/a' if kappa is None else f'{kappa:.3f}'}"
        )
    print(f"medical-tasks build ehrnoteqa --config own --source {arguments.folder / QUESTIONS}")
    return _credentialed(arguments.folder)


def _answer_sheet(arguments: argparse.Namespace) -> int:
    from medical_tasks.benchmarks.ehrnoteqa.construction.answers import AnswerSheetOptions, export_answers
    from medical_tasks.data.construction import parse_names

    options = AnswerSheetOptions(
        reviewers=parse_names(arguments.reviewers),
        overlap=arguments.overlap or 0,
        seed=checked_seed(arguments.seed),
        most=arguments.max_samples,
        data=arguments.data,
        upstream=arguments.upstream,
    )
    made = export_answers(arguments.paths, arguments.out, options)
    print(
        f"{len(made['first']):,} questions with the answers of {len(made['models'])} models, in sheets of "
        f"{', '.join(made['sheets'])}. Mark each row o (correct) or x. Do not hand out key.json: it says whose answers they are."
    )
    if made["left_out"]:
        print(f"{made['left_out']:,} questions are left out because not every model has an answer to them.")
    return _credentialed(arguments.out)


def _scores(arguments: argparse.Namespace) -> int:
    from medical_tasks.benchmarks.ehrnoteqa.construction.answers import RATINGS, write_scores
    from medical_tasks.io.table import align

    if len(arguments.paths) != 1:
        raise UsageError(f"construct ehrnoteqa scores needs the one DIR of answer-sheet, got {len(arguments.paths)}.")
    folder: Path = arguments.paths[0]
    header, rows = write_scores(folder, arguments.out, partial=arguments.partial)
    print("\n".join(align(header, rows)))
    print(
        f"\n{arguments.out}: for medical-tasks correlate\n{folder / RATINGS}: for medical-tasks judge-check ehrnoteqa"
    )
    return _credentialed(folder)


def _credentialed(folder: Path) -> int:
    print(f"{folder} holds credentialed text, for your eyes alone. Keep it on this machine.")
    return 0


_GUARD = ("allow_remote", "attest_zero_retention")
_STEPS: dict[str, tuple[Callable[[argparse.Namespace], int], tuple[str, ...], tuple[str, ...]]] = {
    "sample": (_sample, ("folder", "source"), ("seed", "tokenizer", "cells", "bounds", "allow_fewer")),
    "generate": (_generate, ("folder", "model"), ("seed", "model_args", "tries", "max_new_tokens", *_GUARD)),
    "sheet": (_sheet, ("folder", "reviewers"), ("seed", "overlap")),
    "import": (_import, ("folder", "paths"), ("blank_keeps", "partial")),
    "answer-sheet": (
        _answer_sheet,
        ("paths", "out", "reviewers"),
        ("seed", "overlap", "data", "upstream", "max_samples"),
    ),
    "scores": (_scores, ("paths", "out"), ("partial",)),
}
"""Name to function, options it needs, options it takes."""
_BENCHMARKS = {"ehrnoteqa": (EHRNOTEQA, _STEPS), "archehr": (ARCHEHR, archehr.STEPS)}
