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
    """Samples patients, and prints the paper's table 2."""
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
    drawn = sample.make_sample(arguments.source, arguments.folder, counter, spec)
    rows = [
        (
            str(row["level"]),
            f"{row['num_notes']:,}",
            f"{row['patients']:,}",
            decimals(row["mean_tokens"], ","),
            f"{row['sampled']:,}",
            decimals(row["sampled_mean_tokens"], ","),
        )
        for row in drawn["table"]
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
        f"\n{drawn['sampled']:,} of {drawn['patients']:,} patients; {drawn['beyond_bounds']:,} have "
        f"longer notes, {drawn['in_no_cell']:,} another number of them. Tokens: "
        f"{drawn['recipe']['tokenizer']['tokenizer']}.",
        **numbers(drawn),
        table=drawn["table"],
    )

    return tell_private(arguments.folder)


def _generate(arguments: EhrnoteqaGenerate) -> int:
    """Drafts questions; exit code 5 if some patients have no draft."""
    drafts = protocol.generate_drafts(arguments)
    figures = drafts["figures"]
    places = ", ".join(
        f"{letter} {count}" for letter, count in figures["right_place"].items()
    )
    tell(
        f"{drafts['drafted']:,} of {drafts['patients']:,} patients have a draft. Right choices: "
        f"{places}; the longest of the five in {figures['right_is_longest']:,}. Replies asked for "
        f"again: {figures['asked_again']:,}.",
        **numbers(drafts),
        figures=figures,
    )
    tell_private(arguments.folder)
    written = "The others are written. " if drafts["drafted"] else ""
    check_answered(
        drafts["failed_patients"],
        drafts["patients"],
        "patients have no draft",
        then=written,
        file="drafts.json",
    )

    return 0


def _sheet(arguments: EhrnoteqaSheet) -> int:
    """Writes the reviewers' sheets, and prints how to fill them in."""
    shares = export_sheets(
        arguments.folder,
        parse_names(arguments.reviewers),
        overlap=arguments.overlap or 0,
        seed=checked_seed(arguments.seed),
    )
    for name, ids in shares["sheets"].items():
        tell(f"{arguments.folder / SHEETS / name}.csv: {len(ids):,} questions")

    tell(
        "Mark each row o (keep) or x (drop), edit question, answer and choices in place, leave "
        "the first four columns.",
        sheets={name: len(ids) for name, ids in shares["sheets"].items()},
    )
    return tell_private(arguments.folder)


def _import(arguments: EhrnoteqaImport) -> int:
    """Reads the reviewed sheets, and prints the paper's counts and the agreement."""
    review = import_sheets(
        arguments.folder,
        arguments.paths,
        blank_keeps=arguments.blank_keeps,
        partial=arguments.partial,
    )
    tell(
        f"{review['reviewed']:,} questions reviewed: {review['removed']:,} removed, {review['kept']:,} "
        f"kept. Of these, revised: {review['questions_revised']:,} questions, "
        f"{review['answers_revised']:,} answers, {review['wrong_choices_revised']:,} of "
        f"{review['wrong_choices']:,} wrong choices.",
        **numbers(review),
        agreement=review["agreement"],
    )
    for pair in review["agreement"]:
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
    """Writes sheets of models' answers without the models' names."""
    key = export_answers(arguments)
    tell(
        f"{len(key['first']):,} questions with the answers of {len(key['models'])} models, in "
        f"sheets of {', '.join(key['sheets'])}. Mark each row o (correct) or x. Do not hand out "
        "key.json: it says whose answers they are.",
        questions=len(key["first"]),
        left_out=key["left_out"],
        folder=arguments.out,
    )
    if key["left_out"]:
        tell(
            f"{key['left_out']:,} questions are left out because not every model has an answer to "
            "them."
        )

    return tell_private(arguments.out)


def _scores(arguments: EhrnoteqaScores) -> int:
    """Reads the marked answers, and prints the score of each model."""
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
