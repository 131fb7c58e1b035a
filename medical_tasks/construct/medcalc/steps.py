"""`medical-tasks construct medcalc`: rows like MedCalc-Bench's from one's own notes.

The method is the paper's (section 2.2, appendix A.1). Unless `--open` is given, notes are
treated as credentialed: without an attestation nothing leaves this machine, and the rows
are built as `medcalc_own`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import medical_tasks.construct.annotation as annotation
import medical_tasks.construct.shared as construction
import medical_tasks.options as declared
from medical_tasks.benchmarks.medcalc_bench.data import (
    CREDENTIALED,
    OFFICIAL_COLUMNS,
    OWN,
    V1_TEST_SHA256,
    read_own_rows,
    read_rows,
)
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.calculators import CALCULATORS, AnyCalculator, find
from medical_tasks.construct.contract import Construction
from medical_tasks.construct.medcalc import extraction, files
from medical_tasks.construct.medcalc.files import (
    is_open_folder,
    load_pairs,
    tell_access,
)
from medical_tasks.construct.medcalc.forms import Pair, PairLine
from medical_tasks.construct.medcalc.review import export_sheets, import_sheets
from medical_tasks.construct.options import (
    MedcalcCheck,
    MedcalcExtract,
    MedcalcImport,
    MedcalcRelease,
    MedcalcSheet,
)
from medical_tasks.construct.shared import check_answered, checked_seed, ranked
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.io.files import make_folder, readable
from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.io.tables import folded, has_columns, read_table
from medical_tasks.models.usage import Usage, usage_said
from medical_tasks.runs.asking import open_construction_model
from medical_tasks.scoring.estimates import Estimate, as_json
from medical_tasks.spec import UNANSWERED, Row

MOST: Final = 20
_NAMES: Final = {"note_id": ("note_id", "id"), "note": ("patient_note", "note", "text")}
_FORM: Final = '{"note_id": "1", "note": "..."}'
_FILES: Final = "Give a file of notes to extract, of rows to check."
LEXICAL: Final = "lexical"
"""The value of `--model` for extraction without a model, by attributes' names and usual words."""


def read_notes(path: Path) -> dict[str, str]:
    """Reads notes by id from a table in any supported format."""
    notes: dict[str, str] = {}
    knows = has_columns(*map("|".join, _NAMES.values()))
    for row in read_table(path, record=_FORM, knows=knows).rows:
        cells = {
            folded(name): str(cell or "").strip() for name, cell in row.cells.items()
        }
        fields = {
            ours: next((cells[name] for name in names if name in cells), "")
            for ours, names in _NAMES.items()
        }
        if missing := [
            " or ".join(_NAMES[name]) for name, cell in fields.items() if not cell
        ]:
            raise UsageError(
                f"{path}: {row.at}: {', '.join(missing)} is missing or empty. A record is like {_FORM}"
            )

        if notes.setdefault(fields["note_id"], fields["note"]) != fields["note"]:
            raise UsageError(
                f"{path}: {row.at}: another note has the same note_id. Give each note its own."
            )

    return notes


def _calculators(text: str | None) -> tuple[AnyCalculator, ...]:
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    return (
        tuple(
            dict.fromkeys(find(int(name) if name.isdigit() else name) for name in names)
        )
        or CALCULATORS
    )


class _Outcome(NamedTuple):
    """The outcome of an extraction, by a model or by words alone.

    Attributes:
        failed: Question to the reason why it has no usable reply.
        usage: None if no model was asked.
    """

    extracted: extraction.Extracted
    recipe: Mapping[str, object]
    failed: Mapping[str, str]
    usage: Usage | None


def _by_words(
    arguments: MedcalcExtract,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    settings: Mapping[str, object],
) -> _Outcome:
    """Extracts without a model; refuses a model's options, which would have no effect."""
    for option in ("model_args", "tries", "max_new_tokens", "forecast"):
        if option in declared.set_values(arguments):
            option_name = f"--{option.replace('_', '-')}"
            raise UsageError(
                f"{option_name}: --model {LEXICAL} asks no model. Leave {option_name} out."
            )

    tell(
        f"{len(notes):,} notes, {len(calculators)} calculators, by words alone. "
        "No model judges eligibility: the reviewers must."
    )
    recipe = {**settings, "model": {"name": LEXICAL}}
    outcome = make_folder(arguments.folder) / files.EXTRACT
    if outcome.is_file():
        previous = construction.read_json(outcome, step="medcalc extract")
        if any(previous.get(name) != value for name, value in recipe.items()):
            raise UsageError(
                f"{arguments.folder}: pairs were extracted there with other settings. "
                "Give another --folder."
            )

    return _Outcome(extraction.extract_by_words(notes, calculators), recipe, {}, None)


def _by_model(
    arguments: MedcalcExtract,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    settings: Mapping[str, object],
) -> _Outcome:
    """Extracts with a model.

    The model is asked once about each note, then up to twice about each pair of a note
    and a calculator.
    """
    more = 2 * len(notes) * len(calculators)
    tell(
        f"{len(notes):,} notes, {len(calculators)} calculators: {len(notes):,} questions, then "
        f"{more:,} at most."
    )
    with open_construction_model(
        arguments.model,
        arguments,
        settings,
        step=f"{arguments.benchmark} {arguments.step}",
        into=arguments.folder,
        forecast=arguments.forecast,
        what="pairs",
    ) as model:
        extracted = extraction.extract(notes, calculators, model)

    return _Outcome(extracted, model.recipe, model.failed, model.session.usage)


def _extract(arguments: MedcalcExtract) -> int:
    """Extracts pairs of note and calculator, and writes those that are kept.

    Dropped pairs are reported by reason, so that the user sees whether notes lack values
    or replies were unreadable.
    """
    folder, seed, most = arguments.folder, checked_seed(arguments.seed), arguments.most
    check_least({"--most": most})
    notes, calculators = (
        read_notes(arguments.source),
        _calculators(arguments.calculators),
    )
    settings = {
        "calculators": [calculator.slug for calculator in calculators],
        "source": file_sha256(arguments.source),
    }
    extractor = _by_words if arguments.model == LEXICAL else _by_model
    outcome = extractor(arguments, notes, calculators, settings)
    if arguments.forecast:
        return 0

    extracted = outcome.extracted
    lines = _drawn(extracted, notes, MOST if most is None else most, seed)
    refusal = f"{folder}: sheets of other pairs were exported from here. Work in another --folder."
    annotation.check_exported(
        folder / files.SHARES,
        "pairs_sha256",
        lines,
        step="medcalc sheet",
        refusal=refusal,
    )
    kept = Counter(line["calculator"] for line in lines)
    facts: dict[str, object] = {
        "notes": len(notes),
        "questions": extracted.passes,
        "dropped": +extracted.dropped,
        "kept": kept,
    }
    facts |= {
        "usage": outcome.usage,
        "sha256": construction.write_lines(folder / files.PAIRS, lines),
    }
    unreported = {"open": arguments.open, "seed": seed, "failed": outcome.failed}
    construction.write_json(
        folder / files.EXTRACT, {**outcome.recipe, **facts, **unreported}
    )
    tell(
        "\n".join(
            align(
                ("not kept", "pairs"),
                [(why, f"{n:,}") for why, n in extracted.dropped.most_common() if n],
            )
        )
    )
    passes = ", ".join(
        f"{count:,} about {label}" for label, count in extracted.passes.items()
    )
    questions = f"Questions: {passes}." if passes else "No model was asked."
    tell(
        f"{len(lines):,} pairs of {len(kept)} calculators are kept. {questions}",
        **facts,
    )
    if outcome.usage is not None:
        tell(usage_said(outcome.usage))

    tell_access(folder)
    then = "The other pairs are written. " if lines else ""
    check_answered(
        outcome.failed,
        extracted.passes.total(),
        "questions have no usable reply",
        then=then,
        file=files.EXTRACT,
    )

    return 0


def _drawn(
    extracted: extraction.Extracted, notes: Mapping[str, str], most: int, seed: int
) -> list[PairLine]:
    """Draws the pairs to keep, in the order of calculators.

    Args:
        extracted: All extracted pairs. Surplus pairs are counted among its dropped ones.
        notes: Name to text.
        most: The most pairs kept for each calculator.
        seed: Decides which pairs are drawn.
    """
    by_calculator: dict[str, list[PairLine]] = defaultdict(list)
    for calculator, name, entities in extracted.kept:
        pair = Pair(
            id=f"{calculator.id}-{name}",
            note_id=name,
            calculator=calculator,
            note=notes[name],
            entities=entities,
        )
        by_calculator[calculator.slug].append(pair.line(entities))

    extracted.dropped["over --most of a calculator"] += sum(
        max(len(lines) - most, 0) for lines in by_calculator.values()
    )
    return [
        line
        for lines in by_calculator.values()
        for line in ranked(lines, seed, lambda line: line["id"])[:most]
    ]


def _is_released(source: Path) -> bool:
    with readable(source, missing=_FILES, again=_FILES):
        return file_sha256(source) == V1_TEST_SHA256


def split_notes(
    pairs: Sequence[Pair], *, train: float, seed: int
) -> dict[str, list[Pair]]:
    """Splits pairs into a test and a training part.

    Pairs of the same note, ignoring white space and case, are in the same part.
    """
    texts = [" ".join(pair.note.split()).casefold() for pair in pairs]
    every = ranked(list(dict.fromkeys(texts)), seed, str)
    training = set(every[: round(train * len(every))])
    sides: dict[str, list[Pair]] = {"test": [], "train": []}
    for pair, text in zip(pairs, texts, strict=True):
        sides["train" if text in training else "test"].append(pair)

    return sides


def _release(arguments: MedcalcRelease) -> int:
    """Writes the pairs as rows of the dataset, and an exemplar for each calculator.

    Exemplars come from the training part, so that no test note is in a prompt.
    """
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    share = 0.2 if arguments.train is None else arguments.train
    if not 0 <= share < 1:
        raise UsageError(f"--train must be from 0 to under 1, got {share}.")

    is_open, pairs = (
        is_open_folder(folder),
        [*load_pairs(folder, files.ENTITIES, "medcalc import").values()],
    )
    sides = split_notes(pairs, train=share, seed=seed)
    if not sides["test"]:
        raise UsageError(
            f"{folder}: no note is left for the test part. Give more notes, or a smaller --train."
        )

    release = make_folder(folder / "release")
    exemplars: dict[str, object] = {}
    for split, side in sides.items():
        start = 1 if split == "test" else 1 + len(sides["test"])
        kind = "Extracted" if is_open else CREDENTIALED
        rows = [
            _official(number, pair, kind) for number, pair in enumerate(side, start)
        ]
        construction.write_lines(release / f"{split}.jsonl", rows)
        notes = len({row["Note ID"] for row in rows})
        tell(
            f"{release / split}.jsonl: {len(rows):,} rows of {notes:,} notes",
            **{split: len(rows)},
        )

    for row in ranked(rows, seed, lambda row: row["Note ID"]):
        reply = {
            "step_by_step_thinking": row["Ground Truth Explanation"],
            "answer": row["Ground Truth Answer"],
        }
        example = {
            "Patient Note": row["Patient Note"],
            "input_parameters": json.loads(row["Relevant Entities"]),
        }
        exemplars.setdefault(str(row["Calculator ID"]), {**example, "Response": reply})

    construction.write_json(release / "one_shot.json", exemplars)
    tell(
        f"{release / 'one_shot.json'}: an exemplar for {len(exemplars)} calculators",
        exemplars=len(exemplars),
    )
    dataset = "medcalc_bench" if is_open else "medcalc_own"
    tell(
        f"medical-tasks build {dataset} --config {OWN} --source {release / 'test.jsonl'}"
    )

    return tell_access(folder)


def _official(number: int, pair: Pair, note_type: str) -> Row:
    from medical_tasks.benchmarks.medcalc_bench.questions import QUESTIONS, named_drugs

    entities, calculator = pair.entities, pair.calculator
    question, result = (
        (pair.note, named_drugs(QUESTIONS[calculator.id][0], entities), entities),
        calculator.calculate(entities),
    )
    row = synthetic_row(
        number,
        pair.note_id,
        calculator,
        question,
        result.answer_text,
        result.explanation,
    )

    return {official: row[ours] for official, ours in OFFICIAL_COLUMNS.items()} | {
        "Note Type": note_type
    }


def _check(arguments: MedcalcCheck) -> int:
    """Measures an extractor on rows whose entities are known."""
    check_least({"--max-samples": arguments.max_samples})
    rows = _rows_to_check(arguments)
    notes = {
        str(row["row_number"]): (row["patient_note"], find(row["calculator_id"]))
        for row in rows
    }
    unread = 0
    if arguments.model == LEXICAL:
        predicted = [
            extraction.lexical(note, calculator) for note, calculator in notes.values()
        ]
    else:
        predicted, unread = _values_of_model(arguments, arguments.folder, notes)
        if arguments.forecast:
            return 0

    figures = extraction.figures(rows, predicted)
    shares = [
        (kind, *map(_share, estimates.values())) for kind, estimates in figures.items()
    ]
    tell("\n".join(align(("type", *figures["all"]), shares)))
    content = {
        kind: {name: as_json(estimate) for name, estimate in estimates.items()}
        for kind, estimates in figures.items()
    }
    tell(
        f"\n{len(rows):,} rows, {arguments.model}. Without a usable reply, counted as without "
        f"entities: {unread:,}",
        rows=len(rows),
        unread=unread,
        figures=content,
    )

    return 0


def _rows_to_check(arguments: MedcalcCheck) -> Sequence[Row]:
    """Draws rows whose entities are known, with the seed.

    Rows made from templates are left out, since their notes name attributes in the
    calculators' own words.
    """
    source, chosen = (
        arguments.source,
        {calculator.id for calculator in _calculators(arguments.calculators)},
    )
    read: Iterable[Row]
    if _is_released(source):
        read = read_rows("v1.0", "test", {"test": source})
    else:
        read = read_own_rows(source, credentialed=policy.protecting())

    annotated = (
        row
        for row in read
        if row["relevant_entities"] and row["note_type"] != "Template"
    )
    rows = [row for row in annotated if row["calculator_id"] in chosen]
    if not rows:
        raise UsageError(
            f"{source}: no row of these calculators has entities to compare with."
        )

    drawn = ranked(
        rows, checked_seed(arguments.seed), lambda row: str(row["row_number"])
    )
    return drawn[: arguments.max_samples]


def _values_of_model(
    arguments: MedcalcCheck,
    folder: Path | None,
    notes: Mapping[str, tuple[str, AnyCalculator]],
) -> tuple[list[extraction.Entities], int]:
    """Returns a model's entities for each note, and the number of unusable replies.

    An unusable reply counts as no entities. A missing reply ends the step, since the next
    request may succeed.
    """
    if folder is None:
        raise UsageError(
            "construct medcalc check with a model needs --folder, where its replies are kept."
        )

    with open_construction_model(
        arguments.model,
        arguments,
        {"source": file_sha256(arguments.source)},
        step=f"{arguments.benchmark} {arguments.step}",
        into=folder,
        forecast=arguments.forecast,
        what="values",
    ) as model:
        replies = model.ask(
            [
                extraction.values_question(name, note, calculator.inputs, calculator)
                for name, (note, calculator) in notes.items()
            ]
        )

    if arguments.forecast:
        return [], 0

    lost = {
        name: why for name, why in model.failed.items() if why.startswith(UNANSWERED)
    }
    check_answered(
        lost,
        len(notes),
        "rows have no reply",
        then="Nothing is compared. ",
        file="the folder",
    )
    predicted = [
        extraction.read_values(calculator.inputs, replies.get(name, {}))[0]
        for name, (_, calculator) in notes.items()
    ]

    return predicted, len(model.failed)


def _share(estimate: Estimate) -> str:
    return (
        "n/a"
        if estimate.n == 0
        else f"{100 * estimate.value:.1f} ({100 * estimate.ci_low:.1f} to {100 * estimate.ci_high:.1f})"
    )


_Step = TypeVar(
    "_Step", MedcalcExtract, MedcalcSheet, MedcalcImport, MedcalcRelease, MedcalcCheck
)


def _guarded(step: Callable[[_Step], int], arguments: _Step) -> int:
    """Runs a step, under the guard unless its notes are open.

    Notes are open if this command or the one that extracted them says so.
    """
    folder, source = arguments.folder, None
    attestation = policy.NOTHING_ATTESTED
    if isinstance(arguments, MedcalcExtract | MedcalcCheck):
        source, attestation = arguments.source, policy.attestation_from(arguments)
        is_open = arguments.open or _is_released(source)
    else:
        is_open = is_open_folder(arguments.folder)

    rule = (
        f"{source or folder}: notes are treated as credentialed unless --open says that they may "
        "go anywhere"
    )
    subject = policy.Subject(
        name="construct medcalc",
        dataset="medcalc_bench",
        access="credentialed",
        rule=rule,
    )
    with policy.protect([] if is_open else [subject], attestation):
        return step(arguments)


CONSTRUCTION = Construction(
    dataset=DATASET,
    steps={
        "extract": partial(_guarded, _extract),
        "sheet": partial(_guarded, export_sheets),
        "import": partial(_guarded, import_sheets),
        "release": partial(_guarded, _release),
        "check": partial(_guarded, _check),
    },
)
