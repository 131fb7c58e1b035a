"""Fresh MedCalc questions: how fast they are made, and whether their golds hold.

    python measurements/fresh.py
    python measurements/fresh.py --n 10000 --seed 7
    python measurements/fresh.py --real ../shared/data/medcalc/test_data_v1.csv

For both levels: prints wall-clock and processor seconds for generating, for building
the parquet folder, and for checking; then for how many items each independent path
agrees with the gold: the last line of the explanation, the entities typed as texts at
the command line, the two scorers on the gold's own reply, and for long notes the values
read from the text and the note's own facts. The last table is about variety, in the
first 300 notes: how many of the runs of eight words, numbers masked, stand in another
note of the draw or in one of another seed, and how many different words there are.
`--real` adds the released notes that were taken from case reports and compares the
words at equal length.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.prompts import gold_response
from medical_tasks.benchmarks.medcalc_bench.scoring import score_items
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.calculators import CALCULATORS, CalculatorInputError, calculate
from medical_tasks.cli.calc import from_arguments
from medical_tasks.construct.fresh import draw_item, fresh_rows
from medical_tasks.construct.fresh.chart import Chart, Fact
from medical_tasks.construct.fresh.notes import MARKERS, UNDATED_MARKERS
from medical_tasks.construct.fresh.quantities import AMOUNTS
from medical_tasks.data.fetching import build_dataset

Row = dict[str, Any]
LINK = "(?: of|:| =)?"
"""What a note may write between a value's name and its number."""
_COMPARED = 300  # notes whose variety is measured
_RUN = 8  # words in a row
_SIZES = (10_000, 40_000, 100_000)  # words whose vocabulary is counted
_WORD = re.compile(r"\d+(?:[.,/:-]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")


def sentences(note: str) -> list[str]:
    """The sentences and lines of a note."""
    return [text for text in re.split(r"(?<=[.!?\]])\s+|\n+", note) if text]


def recomputed(facts: Sequence[Fact]) -> dict[str, object]:
    """Recomputes the inputs from the note's facts: the patient's, present, stated or denied."""
    counted = (
        fact
        for fact in facts
        if (fact.who, fact.when) == ("patient", "now")
        and fact.status in ("stated", "denied")
    )
    return {fact.parameter: fact.value for fact in counted}


def other_readings(chart: Chart, note: str, others: Sequence[Fact]) -> list[str]:
    """Lists ambiguities of a note: facts that do not count and lack a marker, facts that count and have one, two values."""
    parts = sentences(note)
    markers = MARKERS if chart.setting != "obstetric" else UNDATED_MARKERS
    plain = "\n".join(sentence for sentence in parts if not markers.search(sentence))
    problems = [
        f"not marked: {fact.text}"
        for fact in others
        if not markers.search(fact.text) or fact.text not in note
    ]
    for fact in chart.facts:
        if fact.reading is None:
            continue
        names: tuple[str, ...] = ("blood pressure", "BP", "SBP")
        if amount := AMOUNTS.get(fact.what):
            names = (
                *amount.names,
                *amount.short,
                *(n for form in amount.forms for n in (*form.names, *form.short)),
            )
        any_name = "|".join(map(re.escape, names))
        named = rf"(?<![\w-])(?<!urine )(?<!urinary )(?:{any_name}){LINK} (?=\d)"
        pattern = rf"{named}(.*?)(?=, |\.\s|\.$| and | \(|$)"
        readings = [text.strip() for text in re.findall(pattern, plain, re.MULTILINE)]
        if readings != [fact.reading.text]:
            problems.append(f"{fact.parameter}: {readings} for {fact.reading.text}")
    return problems


def timed(what: str, work: Callable[[], Any]) -> Any:
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    print(
        f"{what}: {time.perf_counter() - wall:.1f} s, {time.process_time() - processor:.1f} s of processor time"
    )
    return result


def ends_in_gold(row: Row) -> bool:
    """Whether the explanation's last line ends in the gold."""
    line, gold = (
        row["ground_truth_explanation"].splitlines()[-1],
        row["ground_truth_answer"],
    )
    answer = line.removeprefix(f"{row['calculator_name']} = ")
    if answer == line:
        return False
    if row["calculator_id"] == 69:
        return bool(re.findall(r"\d+", answer) == re.findall(r"\d+", gold))
    if row["output_type"] == "date":
        return bool(answer == f"{gold}.")
    number = re.match(r"-?\d+(\.\d+)?(e[+-]?\d+)?", answer)
    return number is not None and math.isclose(
        float(number[0]), float(gold), rel_tol=1e-5
    )


def typed(row: Row) -> bool:
    """Whether the entities, typed as texts, give the gold."""
    arguments = []
    for name, value in json.loads(row["relevant_entities"]).items():
        if isinstance(value, bool):
            text = "yes" if value else "no"
        else:
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
        arguments.append(f"{name}={text}")
    entities = from_arguments(row["calculator_id"], arguments)
    return bool(
        calculate(row["calculator_id"], entities).answer_text
        == row["ground_truth_answer"]
    )


def masked_words(note: str) -> list[str]:
    """The words of a note in small letters, with `#` for each number."""
    return ["#" if word[0].isdigit() else word.lower() for word in _WORD.findall(note)]


def runs_of(note: str) -> list[tuple[str, ...]]:
    """The runs of eight words of a note, one for each word it may begin with."""
    words = masked_words(note)
    return [
        tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)
    ]


def shared_runs(notes: Sequence[str], others: Sequence[str]) -> tuple[float, float]:
    """The share of the runs of `notes` that another one of them has, and that one of these or of `others` has."""
    times = Counter(run for note in notes for run in set(runs_of(note)))
    elsewhere = {run for note in others for run in runs_of(note)}
    runs = [run for note in notes for run in runs_of(note)]
    within = sum(times[run] > 1 for run in runs)
    either = sum(times[run] > 1 or run in elsewhere for run in runs)
    return within / len(runs), either / len(runs)


def vocabulary(notes: Sequence[str], size: int) -> tuple[int, int]:
    """How many different words the first `size` words have, and how many words there were; numbers are left out."""
    words = [word for note in notes for word in masked_words(note) if word != "#"][
        :size
    ]
    return len(set(words)), len(words)


def variety(notes: Sequence[str], others: Sequence[str], real: Sequence[str]) -> str:
    """A row of the table: words a note, shared runs, different words, and their ratio to those of `real`."""
    within, either = shared_runs(notes, others)
    median = statistics.median(len(note.split()) for note in notes)
    cells = [f"{median:.0f}", f"{100 * within:.1f} %", f"{100 * either:.1f} %"]
    for size in _SIZES:
        types, length = vocabulary(notes, size)
        if length < size:
            cells.append("-")
            continue
        released, _ = vocabulary(real, size)
        cells.append(
            f"{types:,} ({100 * types / released:.0f} %)" if released else f"{types:,}"
        )
    return " | ".join(cells)


def own_facts(seed: int, n: int) -> tuple[int, int, int, int]:
    """Checks long notes: golds from their facts, notes with one reading, with another value, golds that one would change."""
    agreed = single = tempting = wrong = 0
    for number in range(1, n + 1):
        calculator = CALCULATORS[(number - 1) % len(CALCULATORS)]
        item = draw_item(calculator, f"{seed}:{number}", 2)
        names = {entry.parameter: entry.name for entry in calculator.inputs}
        facts = {
            names[name]: value
            for name, value in recomputed([*item.chart.facts, *item.others]).items()
        }
        agreed += calculator.calculate(facts).answer_text == item.result.answer_text
        single += not other_readings(item.chart, item.note, item.others)
        others = [fact for fact in item.others if fact.reading is not None]
        tempting += bool(others)
        swaps = [
            {**item.entities, names[fact.parameter]: fact.value} for fact in others
        ]
        wrong += any(
            _answer(calculator.id, swap) != item.result.answer_text for swap in swaps
        )
    return agreed, single, tempting, wrong


def _answer(number: int, entities: Row) -> str:
    try:
        return str(calculate(number, entities).answer_text)
    except CalculatorInputError:
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=10_000, help="items")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--real",
        type=Path,
        metavar="CSV",
        help="test set of v1.0, to compare the variety of its notes",
    )
    options = parser.parse_args()
    real = released_notes(options.real) if options.real else []
    for level in (1, 2):
        check(level, options.seed, options.n)
    sizes = " | ".join(f"words in {size:,}" for size in _SIZES)
    print(f"notes | words a note | shared in the draw | or with another seed | {sizes}")
    for level in (2, 1):
        notes, others = (
            [row["patient_note"] for row in fresh_rows(seed, _COMPARED, level)]
            for seed in (options.seed, options.seed + 1)
        )
        print(f"level {level} | {variety(notes, others, real)}")
    if real:
        cut = real[:_COMPARED], real[_COMPARED : 2 * _COMPARED]
        print(f"released, from case reports | {variety(*cut, real)}")


def released_notes(path: Path) -> list[str]:
    """The notes from case reports of a released test set, each once, in an order that depends on nothing."""
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [
            row for row in csv.DictReader(stream) if row["Note Type"] == "Extracted"
        ]
    notes = list(dict.fromkeys(row["Patient Note"] for row in rows))
    random.Random(1).shuffle(notes)
    return notes


def check(level: int, seed: int, n: int) -> None:
    """Generates and checks the rows of one level."""
    rows = timed(
        f"level {level}: {n:,} items generated",
        lambda: list(fresh_rows(seed, n, level)),
    )
    with tempfile.TemporaryDirectory() as folder:
        timed(
            f"{n:,} items built into a folder (imports and writing included)",
            lambda: build_dataset(
                "medcalc_bench",
                source=None,
                config="fresh",
                out=Path(folder) / "medcalc_bench",
                options={"seed": seed, "n": n, "level": level},
            ),
        )
    lengths = [len(row["patient_note"].split()) for row in rows]
    calculators = Counter(row["calculator_id"] for row in rows)
    print(
        f"words of a note: {min(lengths)} to {max(lengths)}, {sum(lengths) / len(lengths):.0f} on average"
    )
    print(
        f"{len(calculators)} calculators, {min(calculators.values())} to {max(calculators.values())} items each"
    )
    paths = timed(
        "golds checked", lambda: (sum(map(ends_in_gold, rows)), sum(map(typed, rows)))
    )
    print(f"last line of the explanation agrees: {paths[0]:,} of {len(rows):,}")
    print(f"entities typed as texts agree: {paths[1]:,} of {len(rows):,}")
    items = load_items(MEDCALC, rows)
    replies = [gold_response(MEDCALC, item) for item in items]
    scores = timed("gold replies scored", lambda: score_items(MEDCALC, items, replies))
    for metric in ("accuracy", "accuracy_official"):
        print(
            f"{metric} of the gold replies: {sum(score.values[metric] for score in scores) / len(scores):.4f}"
        )
    if level > 1:
        agreed, single, tempting, wrong = timed(
            "facts and readings checked", lambda: own_facts(seed, n)
        )
        print(
            f"golds from the note's own facts agree: {agreed:,}; notes with one reading: {single:,} of {n:,}"
        )
        print(
            f"notes with another value of an input: {tempting:,}; with one that would change the answer: {wrong:,}"
        )


if __name__ == "__main__":
    main()
