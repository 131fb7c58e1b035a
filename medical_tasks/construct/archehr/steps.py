"""The steps on the command line: `medical-tasks construct archehr STEP`."""

from __future__ import annotations

from dataclasses import fields

from medical_tasks.benchmarks.archehr_qa.declarations import DATASET
from medical_tasks.construct.annotation import parse_names
from medical_tasks.construct.archehr import codes, files, rounds
from medical_tasks.construct.archehr.align import TOP, align_posts
from medical_tasks.construct.archehr.forms import CodedPosts, LabelAgreement
from medical_tasks.construct.archehr.posts import filter_posts
from medical_tasks.construct.archehr.review import (
    ReviewOptions,
    import_sheets,
    measure_agreement,
)
from medical_tasks.construct.archehr.sheets import export_sheets
from medical_tasks.construct.contract import Construction
from medical_tasks.construct.options import (
    ArchehrAgreement,
    ArchehrAlign,
    ArchehrExpand,
    ArchehrFilter,
    ArchehrImport,
    ArchehrSheet,
)
from medical_tasks.construct.shared import check_answered, checked_seed, numbers
from medical_tasks.errors import UsageError
from medical_tasks.io.output import tell, tell_private
from medical_tasks.io.table import align
from medical_tasks.scoring.estimates import Figure


def _filter(arguments: ArchehrFilter) -> int:
    """Keeps the messages that have a keyword, and prints how often each occurs."""
    filtered = filter_posts(
        arguments.source, arguments.folder, keywords=arguments.keywords or "paper"
    )
    rows = [
        (word, f"{count:,}") for word, count in filtered["by_keyword"].items() if count
    ]
    tell("\n".join(align(("keyword", "messages"), rows)))
    tell(
        f"\n{filtered['kept']:,} of {filtered['posts']:,} messages have a keyword.",
        **numbers(filtered),
    )
    return tell_private(arguments.folder)


def _check_expand(arguments: ArchehrExpand) -> None:
    """Refuses options that contradict each other, or do not say what to expand."""
    notes, dictionary = arguments.codes, arguments.dictionary
    file, model = arguments.post_codes, arguments.model
    for wrong, problem in (
        (
            (notes is None) != (dictionary is None),
            " needs --codes and --dictionary together. See: --help",
        ),
        (model and file, " takes --model or --post-codes, not both."),
        (
            not (notes or model or file),
            " needs --codes with --dictionary for the notes, --model or --post-codes for the "
            "messages, or both.",
        ),
        (
            not model
            and (arguments.model_args or arguments.tries or arguments.max_new_tokens),
            " takes --model-args, --tries and --max-new-tokens for a --model alone.",
        ),
    ):
        if wrong:
            raise UsageError(f"construct archehr expand{problem}")


def _expand(arguments: ArchehrExpand) -> int:
    """Adds descriptions of codes to notes, messages or both.

    If a model leaves messages without a usable reply, the step ends incomplete and keeps
    the other replies.
    """
    _check_expand(arguments)
    if arguments.codes is not None and arguments.dictionary is not None:
        notes = codes.expand_notes(
            arguments.folder, arguments.codes, arguments.dictionary
        )
        tell(
            f"{notes['admissions']:,} admissions have descriptions; "
            f"{notes['without_description']:,} of {notes['codes']:,} codes have none.",
            **numbers(notes),
        )

    if arguments.post_codes:
        _tell_coded(codes.codes_from_file(arguments.folder, arguments.post_codes))
    if not arguments.model:
        return tell_private(arguments.folder)

    coded = codes.codes_from_model(arguments, arguments.model)
    _tell_coded(coded, f" Replies asked for again: {coded['asked_again']:,}.")
    tell_private(arguments.folder)
    check_answered(
        coded["failed_posts"],
        coded["posts"],
        "messages have no usable reply",
        then="They are searched by their own words alone. ",
        file="expand.json",
    )

    return 0


def _tell_coded(coded: CodedPosts, again: str = "") -> None:
    tell(
        f"{coded['with_codes']:,} of {coded['posts']:,} messages have codes, {coded['codes']:,} in "
        f"all.{again}",
        **numbers(coded),
    )


def _align(arguments: ArchehrAlign) -> int:
    """Ranks notes for messages, and prints what to do with the sheet of candidates."""
    alignment = align_posts(
        arguments.source,
        arguments.folder,
        top=TOP if arguments.top is None else arguments.top,
    )
    tell(
        f"{alignment['candidates']:,} candidates among {alignment['notes']:,} notes "
        f"({alignment['notes_with_codes']:,} with descriptions of codes), for "
        f"{alignment['posts_with_notes']:,} of {alignment['posts']:,} messages.\n"
        f"{arguments.folder / files.CANDIDATES_SHEET}: write yes in the column chosen where the "
        "note answers the message, and in narrative the message as it fits the note, where it "
        "must be changed.",
        **numbers(alignment),
    )
    return tell_private(arguments.folder)


def _sheet(arguments: ArchehrSheet) -> int:
    """Writes the sheets of the next round, and prints how to fill them in."""
    shares = export_sheets(
        arguments.folder,
        parse_names(arguments.reviewers),
        chosen=arguments.paths,
        overlap=arguments.overlap or 0,
        seed=checked_seed(arguments.seed),
    )
    sheets_folder = (
        rounds.round_folder(arguments.folder, shares["round"]) / rounds.SHEETS
    )
    for name, ids in shares["sheets"].items():
        tell(f"{sheets_folder / name}.csv: {len(ids):,} cases")

    tell(f"{sheets_folder / 'guidelines.txt'}: the guidelines for annotators")
    tell(
        f"Round {shares['round']}. Fill text in rows of the kinds focus, question and answer, "
        "relevance in those of sentences (essential, supplementary, not-relevant, context, or "
        "the first letter), citations of an answer as |1,2|.",
        round=shares["round"],
        sheets={name: len(ids) for name, ids in shares["sheets"].items()},
    )
    return tell_private(arguments.folder)


def _import(arguments: ArchehrImport) -> int:
    """Reads the sheets of a round, and prints counts and the command to build the dataset."""
    options = ReviewOptions(
        **{
            field.name: getattr(arguments, field.name)
            for field in fields(ReviewOptions)
        }
    )
    review = import_sheets(arguments.folder, arguments.paths, options)
    labels = ", ".join(
        f"{count:,} {label}" for label, count in review["labels"].items()
    )
    tell(
        f"Round {review['round']}: {review['cases']:,} cases, {review['sentences']:,} sentences "
        f"({labels}). Without an essential sentence: {review['without_essential']:,} cases; without "
        f"an answer: {review['without_answer']:,}; without citing every essential sentence: "
        f"{review['answers_missing_essential']:,}; over the limit of words: "
        f"{review['answers_over_word_limit']:,}.",
        **numbers(review),
        labels=review["labels"],
    )
    tell(
        f"medical-tasks build archehr_qa --source {arguments.folder / files.RELEASE} --partial"
    )

    return tell_private(arguments.folder)


def _agreement(arguments: ArchehrAgreement) -> int:
    """Compares each round with the preceding one, and annotators with one another."""
    comparisons = measure_agreement(arguments.folder)["rounds"]
    for comparison in comparisons:
        against = comparison["against_round_before"]
        if against is not None:
            tell(
                f"Round {comparison['round']} and the one before: {_labels(against['labels'])}"
            )
            for edit in against["labels"]["edits"]:
                share = edit["of_edits"]
                edits = against["labels"]["sentences"] - against["labels"]["agreed"]
                tell(
                    f"  {edit['before']} to {edit['after']}: {_percent(share)} "
                    f"[{edit['count']:,}/{edits:,}]"
                )

            answers = against["answers"]
            if answers["retained"] is not None:
                tell(
                    f"  words of answers kept: {_percent(answers['retained'])} "
                    f"[{answers['words_retained']:,}/{answers['words']:,}], "
                    f"{answers['changed']:,} of {answers['answers']:,} answers changed"
                )

            tell(
                f"  questions changed: {against['questions_changed']:,} of {against['cases']:,}, "
                f"focus areas: {against['focus_changed']:,}"
            )

        for pair in comparison["among_annotators"]:
            tell(
                f"Round {comparison['round']}, {' and '.join(pair['annotators'])}: {_labels(pair)}"
            )

        if against is None and not comparison["among_annotators"]:
            tell(
                f"Round {comparison['round']}: annotated by one each, nothing to compare"
            )

    tell(
        f"{arguments.folder / files.AGREEMENT}: all figures, no text",
        rounds=comparisons,
    )
    return 0


def _labels(agreement: LabelAgreement) -> str:
    kappa = agreement["kappa"]["value"]
    return (
        f"the same label {_percent(agreement['agreement'])} ({agreement['agreed']:,}/{agreement['sentences']:,}), "
        f"Cohen's kappa {'n/a' if kappa is None else f'{kappa:.3f}'}"
    )


def _percent(share: Figure) -> str:
    value, low, high = share["value"], share["ci_low"], share["ci_high"]
    if value is None:
        return "n/a"
    ends = (
        "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
    )
    return f"{100 * value:.1f} %{ends}"


CONSTRUCTION = Construction(
    dataset=DATASET,
    steps={
        "filter": _filter,
        "expand": _expand,
        "align": _align,
        "sheet": _sheet,
        "import": _import,
        "agreement": _agreement,
    },
)
