"""Reads back the sheets of a round.

Writes the annotated cases, the edits, the official files and the agreement (sections
Creation and Validation). If anything is wrong, all problems are reported at once and
nothing is written. The paper's first review agreed on 77.1 % (2653/3450).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

import medical_tasks.construct.annotation as annotation
import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.archehr_qa.declarations import WORD_LIMIT
from medical_tasks.benchmarks.archehr_qa.release import (
    CASES_FILE,
    KEY_FILE,
    LABELS,
    MAPPING_FILE,
    NOTE_SOURCES,
    Case,
    CaseKey,
    Document,
    FullCase,
)
from medical_tasks.construct.archehr import files, rounds
from medical_tasks.construct.archehr.files import WORDS, content_words, one_line
from medical_tasks.construct.archehr.forms import (
    Agreement,
    AnnotatorAgreement,
    AnswerChanges,
    CaseCounts,
    Change,
    LabelAgreement,
    MarkRecord,
    ReleaseForm,
    RoundChanges,
    RoundReview,
)
from medical_tasks.construct.archehr.release_files import answer_text, release_texts
from medical_tasks.construct.archehr.rounds import (
    ESSENTIAL,
    NOT_RELEVANT,
    Annotation,
    OwnCase,
    kept_paragraphs,
    write_cases,
)
from medical_tasks.construct.archehr.sheets import COLUMNS, Reading, SheetCheck
from medical_tasks.construct.shared import checked_seed
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import WholeFile, make_folder
from medical_tasks.io.json_records import is_list_of, is_text, one_of
from medical_tasks.io.tables import TableRow, read_sheet, refuse


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """How sheets are read, and what is released.

    The last three default to the values of the preceding round.

    Attributes:
        blank_not_relevant: Whether a sentence without a mark is not relevant; by default
            it is not annotated yet.
        partial: Whether sheets of some annotators may be missing; the cases on which
            they decide are then left out.
        note_source: `mimic-iii` or `mimic-iv` if the notes are from there.
        dev: The most cases reserved for the development of prompts, drawn with `seed`.
    """

    blank_not_relevant: bool = False
    partial: bool = False
    note_source: str | None = None
    dev: int | None = None
    seed: int | None = None


def import_sheets(
    folder: Path, sheets: Sequence[Path], options: ReviewOptions
) -> RoundReview:
    """Reads the edited sheets of the last exported round.

    Returns the content of `review.json`, which has counts and no text.
    """
    number = rounds.latest(folder, rounds.SHARES)
    shares = rounds.load_shares(folder, number)
    form = _release_form(folder, number, options)
    before = rounds.cases_of(folder, number - 1)
    blank = NOT_RELEVANT if options.blank_not_relevant else ""
    check = SheetCheck(
        number=number, cases=before, sheets=shares["sheets"], blank=blank
    )
    for path in sheets:
        for row in read_sheet(path, COLUMNS):
            check.read(row)

    reviewers = check.reviewers()
    readings = check.readings()
    absent, problems = annotation.missing_sheets(
        check.sheets, reviewers, partial=options.partial
    )
    refuse([*check.problems, *problems])
    after, problems = _merged(number, before, readings, shares["first"])
    refuse(problems)
    if not after:
        raise UsageError(
            "no case is annotated by the one who decides about it, so there is nothing to write."
        )

    splits = split_cases(after, dev=form["dev"], seed=form["seed"])
    if not splits["test"]:
        raise UsageError(
            f"--dev {form['dev']}: leaves none of the {len(after)} cases for the split test. Give "
            "a smaller number."
        )

    path_of_round = rounds.round_folder(folder, number)
    history = [
        change
        for name, case_readings in readings.items()
        for reading in case_readings
        for change in _changes(before[name], reading)
    ]
    construction.write_lines(path_of_round / rounds.HISTORY, history)
    digests = {
        rounds.MARKS: construction.write_lines(
            path_of_round / rounds.MARKS, _marks(before, readings)
        ),
        rounds.CASES: write_cases(path_of_round / rounds.CASES, after),
    }
    write_release(folder / files.RELEASE, splits, note_source=form["note_source"])
    review: RoundReview = {
        "schema_version": 1,
        "round": number,
        "without_sheets_of": absent,
        "blank_not_relevant": options.blank_not_relevant,
        **_counts(after),
        "edits": dict(
            Counter(f"{change['kind']}: {change['field']}" for change in history)
        ),
        "edits_by_reviewer": dict(Counter(change["reviewer"] for change in history)),
        "release": form,
        "splits": {split: len(cases) for split, cases in splits.items()},
        "sha256": digests,
    }
    construction.write_json(path_of_round / rounds.REVIEW, review)

    return review


def _release_form(folder: Path, number: int, options: ReviewOptions) -> ReleaseForm:
    """Returns the options of a release; those not given are of the preceding round."""
    form: ReleaseForm = {"note_source": "", "dev": 0, "seed": 0}
    if number > 1:
        path = rounds.round_folder(folder, number - 1) / rounds.REVIEW
        before: RoundReview = construction.read_json(path, step="archehr import")
        form = before.get("release", form)

    if options.note_source is not None:
        form["note_source"] = options.note_source
    if options.dev is not None:
        form["dev"] = options.dev
    if options.seed is not None:
        form["seed"] = options.seed

    if form["note_source"] not in ("", *NOTE_SOURCES):
        raise UsageError(
            f"--note-source must be one of {', '.join(NOTE_SOURCES)}, got {form['note_source']!r}."
        )

    if form["dev"] < 0:
        raise UsageError(f"--dev must be 0 or more, got {form['dev']}.")

    checked_seed(form["seed"])
    return form


def _merged(
    number: int,
    before: Mapping[str, OwnCase],
    readings: Mapping[str, Sequence[Reading]],
    first: Mapping[str, str],
) -> tuple[list[OwnCase], list[str]]:
    """Returns the cases after a round, and the problems found.

    If several people annotated a case, the one to whom it was dealt first decides; the
    others are for the agreement.
    """
    after: list[OwnCase] = []
    problems: list[str] = []
    for name, case in before.items():
        deciding = next(
            (
                reading
                for reading in readings.get(name, ())
                if reading.reviewer == first[name]
            ),
            None,
        )
        if deciding is None:
            continue

        # The first round fixes the excerpt, so that figures of later rounds are over the
        # same sentences.
        annotated = (
            _excerpted(case, deciding)
            if number == 1
            else replace(case, annotation=deciding.annotation)
        )
        if isinstance(annotated, str):
            problems.append(annotated)
        else:
            after.append(annotated)

    return after, problems


def _marks(
    before: Mapping[str, OwnCase], readings: Mapping[str, Sequence[Reading]]
) -> list[MarkRecord]:
    return [
        {
            "case_id": name,
            "reviewer": reading.reviewer,
            "labels": [
                reading.annotation.labels[sentence.id]
                for sentence in before[name].sentences
            ],
        }
        for name, case_readings in readings.items()
        for reading in case_readings
    ]


def _counts(cases: Sequence[OwnCase]) -> CaseCounts:
    labels = Counter(
        label for case in cases for label in case.annotation.labels.values()
    )
    words = [len(answer_text(case.annotation.answer).split()) for case in cases]
    return {
        "cases": len(cases),
        "sentences": labels.total(),
        "labels": {name: labels[name] for name in LABELS},
        "without_essential": sum(
            ESSENTIAL not in case.annotation.labels.values() for case in cases
        ),
        "without_answer": sum(count == 0 for count in words),
        "answers_missing_essential": sum(map(_misses_essential, cases)),
        "answers_over_word_limit": sum(count > WORD_LIMIT for count in words),
    }


def _misses_essential(case: OwnCase) -> bool:
    """Whether an answer leaves an essential sentence uncited, against the guidelines."""
    annotated = case.annotation
    cited = {number for sentence in annotated.answer for number in sentence.citations}
    return bool(annotated.answer) and any(
        label == ESSENTIAL and sentence_id not in cited
        for sentence_id, label in annotated.labels.items()
    )


def _excerpted(case: OwnCase, reading: Reading) -> OwnCase | str:
    """Drops paragraphs without a relevant sentence and renumbers the others.

    Returns a message without any text of the case if that is impossible.
    """
    annotated = reading.annotation
    relevant = {
        number for number, label in annotated.labels.items() if label != NOT_RELEVANT
    } | reading.context
    kept = kept_paragraphs(case.sentences, relevant)
    if not kept:
        return (
            f"case {case.id}: every sentence is not-relevant in the sheet of {reading.reviewer}, "
            "so nothing is left of the note"
        )

    ids = {sentence.id: str(number) for number, sentence in enumerate(kept, start=1)}
    lost = sorted(
        {
            cited
            for sentence in annotated.answer
            for cited in sentence.citations
            if cited not in ids
        },
        key=int,
    )
    if lost:
        return (
            f"case {case.id}: the answer in the sheet of {reading.reviewer} cites sentences "
            f"{', '.join(lost)}, whose paragraphs are wholly not-relevant; mark what the answer "
            "needs, or context"
        )

    paragraphs = {
        name: str(number)
        for number, name in enumerate(
            dict.fromkeys(sentence.paragraph_id for sentence in kept)
        )
    }
    return replace(
        case,
        sentences=tuple(
            replace(
                sentence,
                id=ids[sentence.id],
                paragraph_id=paragraphs[sentence.paragraph_id],
            )
            for sentence in kept
        ),
        annotation=replace(
            annotated,
            labels={
                ids[sentence.id]: annotated.labels[sentence.id] for sentence in kept
            },
            answer=tuple(
                replace(
                    written, citations=tuple(ids[cited] for cited in written.citations)
                )
                for written in annotated.answer
            ),
        ),
    )


def _changes(case: OwnCase, reading: Reading) -> Iterator[Change]:
    """Yields an annotator's changes to a case, and all comments, as lines of history."""
    changes = [
        (_row(reading, *difference), difference)
        for difference in _differences(case.annotation, reading)
    ]
    for (kind, number), row in reading.rows.items():
        if comment := row.cells["comment"].strip():
            changes.append((row, (kind, number, "comment", "", comment)))

    for changed_row, (kind, number, column, before, after) in changes:
        yield {
            "case_id": case.id,
            "reviewer": reading.reviewer,
            "sheet": "" if changed_row is None else changed_row.path.name,
            "row": 0 if changed_row is None else changed_row.number,
            "kind": kind,
            "number": number,
            "field": column,
            "before": before,
            "after": after,
        }


def _row(
    reading: Reading, kind: str, number: str, column: str, before: str, after: str
) -> TableRow | None:
    """Finds the row of a change; by its text where preceding rows were left empty."""
    if column == "text" and after:
        same = (
            row
            for key, row in reading.rows.items()
            if key[0] == kind and one_line(row.cells["text"]) == after
        )
        return next(same, None)
    return reading.rows.get((kind, number))


def _differences(
    before: Annotation, reading: Reading
) -> Iterator[tuple[str, str, str, str, str]]:
    """Yields kind, number, field, old text and new text of each difference.

    The old text of an addition is "", as is the new text of a removal.
    """
    after = reading.annotation
    texts_before, texts_after = (
        [sentence.text for sentence in annotated.answer]
        for annotated in (before, after)
    )
    cited_before, cited_after = (
        [",".join(sentence.citations) for sentence in annotated.answer]
        for annotated in (before, after)
    )
    for kind, column, old, new in (
        ("focus", "text", _counted(before.phrases), _counted(after.phrases)),
        ("question", "text", {"1": before.question}, {"1": after.question}),
        ("sentence", "relevance", before.labels, after.labels),
        ("answer", "text", _counted(texts_before), _counted(texts_after)),
        ("answer", "citations", _counted(cited_before), _counted(cited_after)),
    ):
        for number in sorted({*old, *new}, key=int):
            if old.get(number, "") != new.get(number, ""):
                yield kind, number, column, old.get(number, ""), new.get(number, "")


def _counted(texts: Sequence[str]) -> Mapping[str, str]:
    return {str(number): text for number, text in enumerate(texts, start=1)}


_SPLITS: Final = ("dev", "test")


def split_cases(
    cases: Sequence[OwnCase], *, dev: int, seed: int
) -> dict[str, list[OwnCase]]:
    """Draws at most `dev` cases for the development of prompts.

    All cases of a message are put in the same split.
    """
    by_post: dict[str, list[OwnCase]] = {}
    for case in cases:
        by_post.setdefault(case.post_id, []).append(case)

    drawn: set[str] = set()
    for post in construction.ranked(list(by_post), seed, str):
        if len(drawn) + len(by_post[post]) <= dev:
            drawn |= {case.id for case in by_post[post]}

    return {
        split: [case for case in cases if (case.id in drawn) == (split == "dev")]
        for split in _SPLITS
    }


def write_release(
    folder: Path, splits: Mapping[str, Sequence[OwnCase]], *, note_source: str = ""
) -> None:
    """Writes cases, key and mapping of each split, readable by the owner alone.

    The mapping is written only for notes from MIMIC. Files of an empty split are removed.
    """
    make_folder(folder)
    for split in _SPLITS:
        cases = [_released(case, note_source) for case in splits.get(split, ())]
        texts = release_texts(cases, indents=(2, 4, 4), glue="\n") if cases else {}
        if cases:
            make_folder(folder / split)

        for name in (KEY_FILE, MAPPING_FILE, CASES_FILE):
            path = folder / split / name
            if name not in texts or (name == MAPPING_FILE and not note_source):
                path.unlink(missing_ok=True)
            else:
                with WholeFile(path, private=True) as stream:
                    stream.write(texts[name])


def _released(case: OwnCase, note_source: str) -> FullCase:
    annotated = case.annotation
    return FullCase(
        case=Case(
            id=case.id,
            narrative=case.narrative,
            phrases=annotated.phrases,
            clinician_question=annotated.question,
            sentences=case.sentences,
        ),
        key=CaseKey(relevance=annotated.labels, answer_sentences=annotated.answer),
        document=Document(id=case.document_id, source=note_source),
    )


_MARK_FIELDS: Final = {
    "case_id": is_text(),
    "reviewer": is_text(),
    "labels": is_list_of(one_of(LABELS)),
}


def label_agreement(
    before: Sequence[str], after: Sequence[str], clusters: Sequence[str]
) -> LabelAgreement:
    """Compares two labels of each sentence.

    `clusters` are the cases of the sentences, which the bootstrap of kappa draws whole.
    """
    from medical_tasks.scoring.agreement import agreement_of
    from medical_tasks.scoring.estimates import as_json
    from medical_tasks.scoring.means import proportion_interval

    agreement = agreement_of(before, after, classes=LABELS, clusters=clusters)
    edits = [
        (first, second, case)
        for first, second, case in zip(before, after, clusters, strict=True)
        if first != second
    ]
    kinds = Counter((first, second) for first, second, _ in edits)
    shares = {
        kind: proportion_interval(
            [(first, second) == kind for first, second, _ in edits],
            clusters=[case for *_, case in edits],
        )
        for kind in kinds
    }

    return {
        "sentences": len(before),
        "agreed": len(before) - len(edits),
        "agreement": as_json(agreement.agreement),
        "kappa": as_json(agreement.kappa),
        "edits": [
            {
                "before": kind[0],
                "after": kind[1],
                "count": count,
                "of_edits": as_json(shares[kind]),
            }
            for kind, count in sorted(
                kinds.items(), key=lambda item: (-item[1], item[0])
            )
        ],
    }


def round_agreement(
    before: Mapping[str, OwnCase], after: Mapping[str, OwnCase]
) -> RoundChanges:
    """Compares a round with the one before, over the cases that both have.

    Args:
        before: The cases before the round, by id.
        after: The cases after the round, some of which may have been left out.

    Returns:
        The agreement of labels, the numbers of changed questions, focus areas and
        answers, and the share of answers' words that were kept.

    Raises:
        UsageError: When no case is in both.
    """
    pairs = [(case, after[name]) for name, case in before.items() if name in after]
    if not pairs:
        raise UsageError(
            "two rounds have no case in common, so nothing can be compared."
        )

    labels_before = [label for case, _ in pairs for label in _labels(case)]
    labels_after = [label for _, case in pairs for label in _labels(case)]
    return {
        "cases": len(pairs),
        "labels": label_agreement(
            labels_before,
            labels_after,
            [case.id for case, _ in pairs for _ in case.sentences],
        ),
        "questions_changed": sum(
            a.annotation.question != b.annotation.question for a, b in pairs
        ),
        "focus_changed": sum(
            a.annotation.phrases != b.annotation.phrases for a, b in pairs
        ),
        "answers": _answer_changes(
            [pair for pair in pairs if pair[0].annotation.answer]
        ),
    }


def _answer_changes(pairs: Sequence[tuple[OwnCase, OwnCase]]) -> AnswerChanges:
    """Compares the answers before and after a round."""
    from medical_tasks.scoring.estimates import as_json
    from medical_tasks.scoring.means import ratio_interval

    answers = [
        (before.annotation.answer, after.annotation.answer) for before, after in pairs
    ]
    counts = [
        retained_words(answer_text(before), answer_text(after))
        for before, after in answers
    ]
    kept, words = [count for count, _ in counts], [count for _, count in counts]

    return {
        "answers": len(answers),
        "changed": sum(before != after for before, after in answers),
        "words": sum(words),
        "words_retained": sum(kept),
        "retained": as_json(ratio_interval(kept, words)) if answers else None,
    }


def retained_words(before: str, after: str) -> tuple[int, int]:
    """Counts the words of an answer that were kept, and all its words, by stem.

    The paper compares lemmas.
    """
    written, left = Counter(content_words(before)), Counter(content_words(after))
    return (written & left).total(), written.total()


def _labels(case: OwnCase) -> list[str]:
    return [case.annotation.labels[sentence.id] for sentence in case.sentences]


def _among_annotators(folder: Path, number: int) -> list[AnnotatorAgreement]:
    """Measures the agreement of each pair of annotators on sentences that both marked.

    The sentences of a case share a cluster, since a different reading of a case affects
    several of its sentences.
    """
    path = rounds.round_folder(folder, number)
    files.checked_step(
        path / rounds.MARKS,
        construction.read_json(path / rounds.REVIEW, step="archehr import"),
        step="import",
    )
    marks: dict[str, dict[str, list[str]]] = {}
    for record in construction.read_lines(
        path / rounds.MARKS, _MARK_FIELDS, step="archehr import"
    ):
        marks.setdefault(record.values["reviewer"], {})[record.values["case_id"]] = (
            record.values["labels"]
        )

    agreements: list[AnnotatorAgreement] = []
    for names, both, first, second in annotation.pairs_of_people(marks):
        clusters = [
            name for name, labels in zip(both, first, strict=True) for _ in labels
        ]
        labels = label_agreement([*chain(*first)], [*chain(*second)], clusters)
        agreements.append({"annotators": names, "cases": len(both), **labels})

    return agreements


def measure_agreement(folder: Path) -> Agreement:
    """Measures every imported round, and writes `agreement.json`, which has no text."""
    last = rounds.latest(folder, rounds.REVIEW)
    if not last:
        raise MissingError(
            f"{folder}: no sheets were imported yet. Do it first: medical-tasks construct archehr "
            "import."
        )

    cases = {number: rounds.cases_of(folder, number) for number in range(1, last + 1)}
    agreement: Agreement = {
        "schema_version": 1,
        "words": WORDS,
        "rounds": [
            {
                "round": number,
                # Before the first round nothing is labelled.
                "against_round_before": round_agreement(
                    cases[number - 1], cases[number]
                )
                if number > 1
                else None,
                "among_annotators": _among_annotators(folder, number),
            }
            for number in cases
        ],
    }
    construction.write_json(folder / files.AGREEMENT, agreement)

    return agreement
