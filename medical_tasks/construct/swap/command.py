"""The verb `swap`: a copy of a built dataset with one attribute of every patient changed.

All values of an attribute give the same set of rows, so that two such datasets differ in
the value alone, and `compare` on two runs is a counterfactual comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from medical_tasks.catalog import dataset_spec, tasks
from medical_tasks.construct.options import Swap
from medical_tasks.construct.swap.texts import (
    ATTRIBUTES,
    RULES,
    Refusal,
    Sex,
    change,
    changed_words,
    check_texts,
    head,
)
from medical_tasks.data.building import build_source
from medical_tasks.data.dataset_store import built_config, read_rows
from medical_tasks.data.task_data import (
    SWAP,
    SWAP_LEFT_OUT,
    SWAP_OF,
    SWAP_RULES,
    locate,
    rows_sha256,
)
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.io.columns import Column
from medical_tasks.io.output import tell
from medical_tasks.spec import Benchmark, DatasetSpec, Row

_SHOWN: Final = 5


@dataclass(frozen=True, kw_only=True)
class Swapped:
    """The outcome of a swap.

    Attributes:
        folder: The folder of the new dataset, for `--data`.
        config: Its one configuration.
        swap: Attribute and value, as in `sex=female`.
        rows: The number of rows in all splits.
        changed: The number of rows that differ from the original.
        left_out: Reason to the number of rows left out for every value of the attribute.
    """

    folder: Path
    config: str
    swap: str
    rows: int
    changed: int
    left_out: Mapping[str, int]


def run(options: Swap) -> int:
    """Makes the dataset, and reports which rows were left out and how to use it."""
    swapped = swap(options)
    total = swapped.rows + sum(swapped.left_out.values())
    lines = [
        f"{swapped.swap}: {swapped.rows:,} of {total:,} rows in {swapped.folder}, {swapped.changed:,} "
        "of them changed",
        *(
            f"  left out: {count:,}, {reason}"
            for reason, count in swapped.left_out.items()
        ),
        f"run on it: medical-tasks run --data {swapped.folder} --config {swapped.config} ...",
    ]
    tell("\n".join(lines), swapped)

    return 0


def swap(options: Swap) -> Swapped:
    """Changes one attribute of every patient of a built dataset.

    Raises:
        UsageError: The attribute or value is unknown, the dataset has no texts about
            patients or was itself made by a swap, or no row can be changed.
        MissingError: The dataset is not built.
    """
    attribute, value = _attribute_and_value(options.swap)
    spec, benchmark = _dataset(options.dataset)
    with policy.protect(
        [policy.Subject.of(spec, task=f"swap {spec.name}")], policy.NOTHING_ATTESTED
    ):
        return _swap(options, attribute, value, spec, benchmark)


def _swap(
    options: Swap, attribute: str, value: str, spec: DatasetSpec, benchmark: Benchmark
) -> Swapped:
    """Builds a dataset again with one attribute of every patient changed.

    Rows whose text cannot be changed safely are left out and counted by reason. A swapped
    dataset as input, and the input's folder as output, are refused. The new source
    records the swap and the hash of the original rows, which distinguishes results on the
    two datasets.

    Args:
        options: The options of the verb.
        attribute: The attribute to change, such as `sex`.
        value: Its new value, such as `female`.
        spec: The dataset.
        benchmark: The dataset's benchmark.
    """
    source = benchmark.source(spec.name)
    columns = [column for column in source.columns if _is_about_a_patient(column)]
    if not columns:
        raise UsageError(
            f"swap {spec.name}: none of its columns is declared to be about a patient "
            "(`Column.about`), so nothing can be changed."
        )

    folder, config = locate(spec, options.data, options.config)
    built = built_config(folder, config, spec)
    if SWAP in built.source:
        raise UsageError(
            f"{folder}: holds {spec.name} with {built.source[SWAP]} already. Give --data "
            "the folder of the dataset as it was released."
        )

    if options.out.resolve() == folder.resolve():
        raise UsageError(
            f"--out {options.out}: is the folder of the dataset itself. Give another one."
        )

    left_out: Counter[str] = Counter()
    changed = 0
    splits: dict[str, list[Row]] = {}
    for split in built.splits:
        splits[split] = []
        for row in read_rows(folder, config, split, spec=spec):
            new = swap_row(row, columns, attribute, value)
            if isinstance(new, Refusal):
                left_out[new.reason] += 1
                continue

            splits[split].append(new)
            changed += new != dict(row)

    if not any(splits.values()):
        reasons = ", ".join(reason for reason, _ in left_out.most_common(_SHOWN))
        raise UsageError(
            f"swap {spec.name}: {attribute} cannot be changed in any of its "
            f"{left_out.total():,} rows ({reasons}). docs/swap.md says which texts can."
        )

    def read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        return iter(splits[split])

    built_rows = build_source(
        replace(
            source,
            read=read,
            changes=(*source.changes, _card_note(attribute, value)),
            at=None,
            files={name: {} for name in source.files},
            splits=dict(source.splits) | {config: tuple(built.splits)},
            published_rows={},
            generated={},
            known_files={},
        ),
        source_path=None,
        config=config,
        folder=options.out,
        made_of={
            **built.source,
            SWAP: f"{attribute}={value}",
            SWAP_RULES: RULES,
            **{
                SWAP_OF.format(split): rows_sha256(folder, config, split, spec=spec)
                for split in built.splits
            },
            **{
                SWAP_LEFT_OUT.format(split): str(built.splits[split].rows - len(rows))
                for split, rows in splits.items()
            },
        },
    )
    return Swapped(
        folder=built_rows.folder,
        config=config,
        swap=f"{attribute}={value}",
        rows=built_rows.rows,
        changed=changed,
        left_out=dict(left_out.most_common()),
    )


def _card_note(attribute: str, value: str) -> str:
    return (
        f"The patients are not the released ones: by `medical-tasks swap`, {attribute} is "
        f"{value} in every row. Rows that this cannot be done to are left out."
    )


def _attribute_and_value(text: str) -> tuple[str, str]:
    """Parses `ATTRIBUTE=VALUE`."""
    attribute, _, value = text.partition("=")
    if attribute not in ATTRIBUTES:
        raise UsageError(
            f"swap {text!r}: unknown attribute. Attributes: {', '.join(ATTRIBUTES)}. Give for "
            "example sex=female."
        )

    if value not in ATTRIBUTES[attribute]:
        raise UsageError(
            f"swap {text!r}: unknown value. Values of {attribute}: "
            f"{', '.join(ATTRIBUTES[attribute])}."
        )

    return attribute, value


def _dataset(name: str) -> tuple[DatasetSpec, Benchmark]:
    spec = dataset_spec(name)
    benchmark = next(
        task.benchmark for task in tasks().values() if task.dataset == name
    )
    return spec, benchmark


def _is_about_a_patient(column: Column) -> bool:
    return bool(column.about) or any(map(_is_about_a_patient, column.fields))


def swap_row(
    row: Row, columns: Sequence[Column], attribute: str, value: str
) -> dict[str, object] | Refusal:
    """Changes an attribute in all texts of a row that are about the patient.

    Example: a row has the `note` "A 40-year-old man. He coughs." and the `question` "What
    does he have?". `sex=female` makes them "A 40-year-old woman. She coughs." and "What
    does she have?". `insurance=none` makes the note "Insurance: none. A 40-year-old man.
    He coughs." and leaves the question unchanged.
    """
    texts = [text for column in columns for text in _texts(row[column.name], column)]
    sex = check_texts(attribute, texts)
    if isinstance(sex, Refusal):
        return sex

    new = dict(row)
    for column in columns:
        changed = _changed(new[column.name], column, attribute, value, sex)
        new[column.name] = _headed(changed, column, head(attribute, value, sex))

    return new


def _texts(value: object, column: Column) -> Iterator[str]:
    """Yields all texts about the patient in a value of a column, in order."""
    if isinstance(value, str):
        if column.about:
            yield value
    elif isinstance(value, Mapping):
        for member in column.fields:
            yield from _texts(value[member.name], member)
    elif isinstance(value, Sequence):
        for element in value:
            yield from _texts(element, column)


def _changed(
    value: object, column: Column, attribute: str, new_value: str, sex: Sex | None
) -> object:
    """Changes the words that state the attribute in a value of a column."""
    if isinstance(value, str):
        if not column.about:
            return value

        new = change(value, attribute, new_value, sex)
        changed_words(value, new)
        return new

    if isinstance(value, Mapping):
        members = {member.name: member for member in column.fields}
        return {
            name: _changed(element, members[name], attribute, new_value, sex)
            for name, element in value.items()
        }

    if isinstance(value, Sequence):
        return [
            _changed(element, column, attribute, new_value, sex) for element in value
        ]

    return value


def _headed(value: object, column: Column, sentence: str) -> object:
    """Puts a sentence before each note in a value of a column.

    In a list of texts, only the first text gets it.
    """
    if not sentence:
        return value
    if isinstance(value, str):
        return f"{sentence} {value}" if column.about == "note" else value

    if isinstance(value, Mapping):
        members = {member.name: member for member in column.fields}
        return {
            name: _headed(element, members[name], sentence)
            for name, element in value.items()
        }

    if isinstance(value, Sequence) and value:
        notes = value if column.fields else value[:1]
        rest = [] if column.fields else value[1:]
        return [*(_headed(element, column, sentence) for element in notes), *rest]

    return value
