"""The steps on the command line: `medical-tasks construct ehrnoteqa STEP`."""

from __future__ import annotations

from pathlib import Path

from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.construct.annotation import parse_names
from medical_tasks.construct.contract import Construction
from medical_tasks.construct.ehrnoteqa import protocol, sample
from medical_tasks.construct.ehrnoteqa.answers import (
    RATINGS,
    export_answers,
    write_scores,
)
from medical_tasks.construct.ehrnoteqa.files import QUESTIONS, SHEETS
from medical_tasks.construct.ehrnoteqa.review import export_sheets, import_sheets
from medical_tasks.construct.ehrnoteqa.sample import ESTIMATE, open_counter
from medical_tasks.construct.options import (
    EhrnoteqaAnswerSheet,
    EhrnoteqaGenerate,
    EhrnoteqaImport,
    EhrnoteqaSample,
    EhrnoteqaScores,
    EhrnoteqaSheet,
)
from medical_tasks.construct.shared import check_answered, checked_seed, numbers
from medical_tasks.errors import UsageError
from medical_tasks.io.output import tell, tell_private
from medical_tasks.io.table import align, decimals


def _sample(arguments: EhrnoteqaSample) -> int:
    spec = sample.SampleSpec(
        cells=sample.CELLS
        if arguments.cells is None
        else sample.parse_cells(arguments.cells),
        bounds=sample.BOUNDS
        if arguments.bounds is None
        else sample.parse_bounds(arguments.bounds),
        seed=checked_seed(arguments.seed),
        allow_fewer=arguments.allow_fewer,
    )
    counter = open_counter(arguments.tokenizer or ESTIMATE)
    made = sample.make_sample(arguments.source, arguments.folder, counter, spec)
    rows = [
        (
            str(row["level"]),
            f"{row['num_notes']:,}",
            f"{row['patients']:,}",
            decimals(row["mean_tokens"], ","),
            f"{row['sampled']:,}",
            decimals(row["sampled_mean_tokens"], ","),
        )
        for row in made["table"]
    ]
    tell(
        "\n".join(
            align(
                ("level", "notes", "patients", "mean tokens", "sampled", "mean tokens"),
                rows,
            )
        )
    )
    tell(
        f"\n{made['sampled']:,} of {made['patients']:,} patients; {made['beyond_bounds']:,} have "
        f"longer notes, {made['in_no_cell']:,} another number of them. Tokens: "
        f"{made['recipe']['tokenizer']['tokenizer']}.",
        **numbers(made),
        table=made["table"],
    )

    return tell_private(arguments.folder)


def _generate(arguments: EhrnoteqaGenerate) -> int:
    made = protocol.generate_drafts(arguments)
    figures = made["figures"]
    places = ", ".join(
        f"{letter} {count}" for letter, count in figures["right_place"].items()
    )
    tell(
        f"{made['drafted']:,} of {made['patients']:,} patients have a draft. Right choices: "
        f"{places}; the longest of the five in {figures['right_is_longest']:,}. Replies asked for "
        f"again: {figures['asked_again']:,}.",
        **numbers(made),
        figures=figures,
    )
    tell_private(arguments.folder)
    written = "The others are written. " if made["drafted"] else ""
    check_answered(
        made["failed_patients"],
        made["patients"],
        "patients have no draft",
        then=written,
        file="drafts.json",
    )

    return 0


def _sheet(arguments: EhrnoteqaSheet) -> int:
    made = export_sheets(
        arguments.folder,
        parse_names(arguments.reviewers),
        overlap=arguments.overlap or 0,
        seed=checked_seed(arguments.seed),
    )
    for name, ids in made["sheets"].items():
        tell(f"{arguments.folder / SHEETS / name}.csv: {len(ids):,} questions")

    tell(
        "Mark each row o (keep) or x (drop), edit question, answer and choices in place, leave "
        "the first four columns.",
        sheets={name: len(ids) for name, ids in made["sheets"].items()},
    )
    return tell_private(arguments.folder)


def _import(arguments: EhrnoteqaImport) -> int:
    made = import_sheets(
        arguments.folder,
        arguments.paths,
        blank_keeps=arguments.blank_keeps,
        partial=arguments.partial,
    )
    tell(
        f"{made['reviewed']:,} questions reviewed: {made['removed']:,} removed, {made['kept']:,} "
        f"kept. Of these, revised: {made['questions_revised']:,} questions, "
        f"{made['answers_revised']:,} answers, {made['wrong_choices_revised']:,} of "
        f"{made['wrong_choices']:,} wrong choices.",
        **numbers(made),
        agreement=made["agreement"],
    )
    for pair in made["agreement"]:
        tell(
            f"{' and '.join(pair['reviewers'])}: the same mark on {pair['agreed']:,} of "
            f"{pair['questions']:,} questions, Cohen's kappa "
            f"{decimals(pair['kappa']['value'], '.3f')}"
        )

    tell(
        f"medical-tasks build ehrnoteqa --config own --source {arguments.folder / QUESTIONS}"
    )
    return tell_private(arguments.folder)


def _answer_sheet(arguments: EhrnoteqaAnswerSheet) -> int:
    made = export_answers(arguments)
    tell(
        f"{len(made['first']):,} questions with the answers of {len(made['models'])} models, in "
        f"sheets of {', '.join(made['sheets'])}. Mark each row o (correct) or x. Do not hand out "
        "key.json: it says whose answers they are.",
        questions=len(made["first"]),
        left_out=made["left_out"],
        folder=arguments.out,
    )
    if made["left_out"]:
        tell(
            f"{made['left_out']:,} questions are left out because not every model has an answer to "
            "them."
        )

    return tell_private(arguments.out)


def _scores(arguments: EhrnoteqaScores) -> int:
    if len(arguments.paths) != 1:
        raise UsageError(
            "construct ehrnoteqa scores needs the one DIR of answer-sheet, got "
            f"{len(arguments.paths)}."
        )

    folder: Path = arguments.paths[0]
    header, rows = write_scores(folder, arguments.out, partial=arguments.partial)
    tell("\n".join(align(header, rows)))
    tell(
        f"\n{arguments.out}: for medical-tasks correlate\n{folder / RATINGS}: for medical-tasks "
        "judge-check ehrnoteqa",
        scores=[dict(zip(header, row, strict=True)) for row in rows],
    )

    return tell_private(folder)


CONSTRUCTION = Construction(
    dataset=DATASET,
    steps={
        "sample": _sample,
        "generate": _generate,
        "sheet": _sheet,
        "import": _import,
        "answer-sheet": _answer_sheet,
        "scores": _scores,
    },
)
