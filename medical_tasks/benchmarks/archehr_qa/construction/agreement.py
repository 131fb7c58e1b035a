"""How far annotators agree: each round with the one before, and those who annotated the same case (section Validation, Results).

The paper says for its first review 77.1 % (2653/3450), the most frequent edits from essential to supplementary, 39.9 % [318/797]
and to not-relevant, 26.6 % [212/797]; for its second 84.7 % (2874/3450); and that
81.3 % of the words of answers were kept. Beside its percent agreement stand intervals, which know that sentences of a case are
alike, and Cohen's kappa, which knows that most sentences are not relevant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.construction import files, rounds
from medical_tasks.benchmarks.archehr_qa.construction.cases import LABELS, OwnCase
from medical_tasks.benchmarks.archehr_qa.construction.release import answer_text
from medical_tasks.benchmarks.archehr_qa.construction.texts import WORDS, content_words
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.json_records import is_list_of, is_text, one_of

__all__ = ["label_agreement", "measure_agreement", "retained_words", "round_agreement"]

_MARK_FIELDS: Final = {"case_id": is_text(), "reviewer": is_text(), "labels": is_list_of(one_of(LABELS))}


def label_agreement(before: Sequence[str], after: Sequence[str], clusters: Sequence[str]) -> dict[str, Any]:
    """Compares two labels of each sentence.

    Args:
        before: the one label of each.
        after: the other.
        clusters: the case of each.

    Returns:
        JSON values: counts, percent agreement with Wilson's interval at the effective size, Cohen's kappa with a bootstrap
        interval (cases drawn whole), and each kind of edit with its share of all edits.
    """
    from medical_tasks.scoring.estimates import as_json
    from medical_tasks.scoring.intervals import proportion_interval
    from medical_tasks.scoring.raters import agreement_of

    found = agreement_of(before, after, classes=LABELS, clusters=clusters)
    edits = [(one, other, case) for one, other, case in zip(before, after, clusters, strict=True) if one != other]
    kinds = Counter((one, other) for one, other, _ in edits)
    shares = {
        kind: proportion_interval(
            [(one, other) == kind for one, other, _ in edits], clusters=[case for *_, case in edits]
        )
        for kind in kinds
    }
    return {
        "sentences": len(before),
        "agreed": len(before) - len(edits),
        "agreement": as_json(found.agreement),
        "kappa": as_json(found.kappa),
        "edits": [
            {"before": kind[0], "after": kind[1], "count": count, "of_edits": as_json(shares[kind])}
            for kind, count in sorted(kinds.items(), key=lambda each: (-each[1], each[0]))
        ],
    }


def round_agreement(before: Mapping[str, OwnCase], after: Mapping[str, OwnCase]) -> dict[str, Any]:
    """Compares the cases after a round with those before it, over the cases that both have.

    Returns:
        JSON values: labels as in `label_agreement`; how many questions and focus areas were changed; and the share of words of
        the answers before that are there after, over all answers together, with a bootstrap interval (null where there was none).

    Raises:
        UsageError: They have no case in common.
    """
    from medical_tasks.scoring.bootstrap import bootstrap_ratio
    from medical_tasks.scoring.estimates import as_json

    pairs = [(case, after[name]) for name, case in before.items() if name in after]
    if not pairs:
        raise UsageError("two rounds have no case in common, so nothing can be compared.")
    one = [label for case, _ in pairs for label in _labels(case)]
    other = [label for _, case in pairs for label in _labels(case)]
    answers = [
        retained_words(*(answer_text(each.annotation.answer) for each in pair))
        for pair in pairs
        if pair[0].annotation.answer
    ]
    kept, words = [each for each, _ in answers], [each for _, each in answers]
    return {
        "cases": len(pairs),
        "labels": label_agreement(one, other, [case.id for case, _ in pairs for _ in case.sentences]),
        "questions_changed": sum(a.annotation.question != b.annotation.question for a, b in pairs),
        "focus_changed": sum(a.annotation.phrases != b.annotation.phrases for a, b in pairs),
        "answers": {
            "answers": len(answers),
            "changed": sum(a.annotation.answer != b.annotation.answer for a, b in pairs if a.annotation.answer),
            "words": sum(words),
            "words_retained": sum(kept),
            "retained": as_json(bootstrap_ratio(kept, words)) if answers else None,
        },
    }


def retained_words(before: str, after: str) -> tuple[int, int]:
    """Counts the words of an answer that are still there; a word that stood twice and stands once was kept once.

    The paper compares lemmas, by a tool that it does not name; here stems are compared, without function words.

    Args:
        before: the answer as it was written.
        after: as it was left.

    Returns:
        How many were kept, and how many there were.
    """
    written, left = Counter(content_words(before)), Counter(content_words(after))
    return (written & left).total(), written.total()


def _labels(case: OwnCase) -> list[str]:
    return [case.annotation.labels[sentence.id] for sentence in case.sentences]


def _among_annotators(folder: Path, number: int) -> list[dict[str, Any]]:
    """Compares each two who annotated the same cases in a round without seeing each other's sheets."""
    place = rounds.round_folder(folder, number)
    files.checked_step(place / rounds.MARKS, files.read_json(place / rounds.REVIEW, step="import"), step="import")
    marks: dict[str, dict[str, list[str]]] = {}
    for record in files.read_lines(place / rounds.MARKS, _MARK_FIELDS, step="import"):
        marks.setdefault(record.values["reviewer"], {})[record.values["case_id"]] = record.values["labels"]
    found = []
    for one, other in combinations(sorted(marks), 2):
        both = [name for name in marks[one] if name in marks[other]]
        if both:
            clusters = [name for name in both for _ in marks[one][name]]
            first, second = ([label for name in both for label in marks[each][name]] for each in (one, other))
            found.append({"annotators": [one, other], "cases": len(both), **label_agreement(first, second, clusters)})
    return found


def measure_agreement(folder: Path) -> dict[str, Any]:
    """Measures every round that was imported, and writes `agreement.json`.

    Args:
        folder: where the construction lies.

    Returns:
        Its content: for each round, what it changed of the round before (from the second on), and its annotators among themselves.
        Names, counts and figures, no text.

    Raises:
        MissingError: No round was imported.
        UsageError: A file is not as it was written.
    """
    last = rounds.latest_imported(folder)
    if not last:
        raise MissingError(
            f"{folder}: no sheets were imported yet. Do it first: medical-tasks construct archehr import."
        )
    cases = {number: rounds.cases_of(folder, number) for number in range(1, last + 1)}
    made = {
        "schema_version": 1,
        "words": WORDS,
        "rounds": [
            {
                "round": number,
                # The first round annotates what has no labels yet.
                "against_round_before": round_agreement(cases[number - 1], cases[number]) if number > 1 else None,
                "among_annotators": _among_annotators(folder, number),
            }
            for number in cases
        ],
    }
    files.write_json(folder / files.AGREEMENT, made)
    return made
