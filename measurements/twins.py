"""Twins of MedCalc-Bench: how fast they are made, whether their golds hold, and what replies score that read nothing.

    python measurements/twins.py
    python measurements/twins.py --n 10000 --seed 7

Golds are recomputed from what is read from the note's own text: values by the patterns
of the tests, findings and classes by the entities that the same tests compare with the
text.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC_TWINS
from medical_tasks.benchmarks.medcalc_bench.twins import score_twins
from medical_tasks.calculators import CalculatorInputError, calculate, find
from medical_tasks.calculators.inputs import REQUIRED, Quantity
from medical_tasks.construct.fresh.twins import KINDS, twin_rows
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item

LEXICON: Final = json.loads(
    (
        Path(__file__).resolve().parents[1]
        / "tests"
        / "construct"
        / "fresh"
        / "lexicon.json"
    ).read_text(encoding="utf-8")
)
ELSEWHERE: Final = re.compile(
    r"(?:(?:His|Her) (?:brother|sister)'s record reads: “[^”]*”"
    r"|In a record of two years ago .*? was .*?\.|(?:His|Her) (?:brother|sister)'s record of this week gives .*?\."
    r"|The age of (?:his|her) (?:brother|sister) is .*?\.)(?=\s|$)\s*",
)
"""Statements of a note about another person or time."""
SECOND: Final = re.compile(
    r"(?:Second record, same visit:|A second record of the same visit reads:) “(?P<words>[^”]*)”"
    r"|(?:Second report, same sample:|A second report of the same sample gives|Observation chart, same time:"
    r"|The observation chart for the same time gives|The registration form of the same day gives"
    r"|Registration form, same day:) (?P<value>.*?)\.(?=\s|$)"
)
"""A second statement of a note about the same moment."""
# what a note may write between a value's name and its number
_LINK: Final = "(?: of|:| =)?"
_NUMBER: Final = r"(?P<number>\d[\d,]*(?:\.\d+)?)"

Row = dict[str, Any]
Family = Mapping[str, str]
"""The golds of a family's members by their kinds."""


def by_family(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """The rows of each whole family by their kinds; `--n` may cut the last one."""
    by_note: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        by_note[row["note_id"]][row["note_type"].removeprefix("Twin: ")] = row
    by_note.popitem()
    return by_note


def read_back(row: Row) -> dict[str, Any]:
    """Reads every measured value of the entities from the note's text: None if the text does not state one."""
    note = SECOND.sub("", ELSEWHERE.sub("", row["patient_note"]))
    entities: dict[str, Any] = json.loads(row["relevant_entities"])
    for item in find(row["calculator_id"]).inputs:
        if (
            not isinstance(item, Quantity)
            or item.name not in LEXICON["quantities"]
            or item.name not in entities
        ):
            continue
        value = entities[item.name]
        unit = value[-1] if isinstance(value, list) else ""
        pattern = LEXICON["units"].get(unit, " " + re.escape(unit)) if unit else ""
        if isinstance(value, list) and len(value) == 4:
            matches = re.findall(r"(\d+) ft (\d+) in", note)
            entities[item.name] = (
                [int(matches[0][0]), "ft", int(matches[0][1]), "in"]
                if len(matches) == 1
                else None
            )
            continue
        name = rf"(?<![\w-])(?:{LEXICON['quantities'][item.name]}){_LINK} "
        flags = re.IGNORECASE if len(item.name) > 2 else 0
        stated = [
            match["number"]
            for match in re.finditer(rf"{name}{_NUMBER}{pattern}(?![\w/])", note, flags)
        ]
        number = float(stated[0].replace(",", "")) if len(stated) == 1 else None
        entities[item.name] = (
            None
            if number is None
            else [number, unit]
            if isinstance(value, list)
            else number
        )
    return entities


def agrees(row: Row, family: Mapping[str, Row]) -> bool:
    """Whether the gold follows from the values that are read back; `family`: its rows by kind."""
    note, gold = row["patient_note"], row["ground_truth_answer"]
    if gold.startswith("contradiction: "):
        # The base's note with the value of the other answer beside its own.
        second = SECOND.search(note)
        notes = [
            "".join(note.split())
            for note in (SECOND.sub("", note), family["base"]["patient_note"])
        ]
        if second is None or notes[0] != notes[1]:
            return False
        stated = (
            [second["words"].rstrip(".")]
            if second["words"]
            else re.findall(r"\d[\d.,/]*\d|\d", second["value"])
        )
        patterns = [rf"(?i)(?<![\d.]){re.escape(text)}(?!\d|\.\d)" for text in stated]
        other, base = (family[kind]["patient_note"] for kind in ("threshold", "base"))
        times = [
            (len(re.findall(pattern, other)), len(re.findall(pattern, base)))
            for pattern in patterns
        ]
        return all(there for there, _ in times) and any(
            there > before for there, before in times
        )
    try:
        answer = calculate(row["calculator_id"], read_back(row)).answer_text
    except CalculatorInputError:
        answer = ""
    return bool(answer == ("" if gold.startswith("missing: ") else gold))


def _oracle(item: Item, family: Family) -> str:
    return str(item.fields["ground_truth_answer"])


def _repeat(item: Item, family: Family) -> str:
    return family["base"]


def _abstain(item: Item, family: Family) -> str:
    names = [
        parameter.name
        for parameter in find(item.fields["calculator_id"]).inputs
        if parameter.absent is REQUIRED
    ]
    return f"missing: {names[-1] if names else 'age'}"


def _change(item: Item, family: Family) -> str:
    return family["base" if item.groups["kind"] == "base" else "threshold"]


def _constant(item: Item, family: Family) -> str:
    return "1"


def _random(item: Item, family: Family) -> str:
    return str(random.Random(item.id).randint(0, 100))


def _copy(item: Item, family: Family) -> str:
    numbers: list[str] = re.findall(r"\d+(?:\.\d+)?", item.fields["patient_note"])
    return random.Random(item.id).choice(numbers or ["1"])


POLICIES: Final[Mapping[str, Callable[[Item, Family], str]]] = {
    "oracle": _oracle,
    "repeat": _repeat,
    "abstain": _abstain,
    "always change": _change,
    "constant": _constant,
    "random": _random,
    "copy a number": _copy,
}


def floors(rows: Sequence[Row], policy: str) -> dict[str, Any]:
    """Scores a policy: metric name to its entry of `results.json`."""
    families = by_family(rows)
    golds = {
        name: {kind: row["ground_truth_answer"] for kind, row in family.items()}
        for name, family in families.items()
    }
    items = [
        item for item in load_items(MEDCALC_TWINS, rows) if item.cluster in families
    ]
    replies = [
        json.dumps({"answer": POLICIES[policy](item, golds[item.cluster])})
        for item in items
    ]
    scores = {score.id: score for score in score_twins(MEDCALC_TWINS, items, replies)}
    metrics: dict[str, Any] = summarise(MEDCALC_TWINS, items, scores, {}, recipe={})[
        "metrics"
    ]
    return metrics


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=10_000, help="rows")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    start, processor = time.perf_counter(), time.process_time()
    rows = list(twin_rows(options.seed, options.n))
    times = f"{time.perf_counter() - start:.1f} s, {time.process_time() - processor:.1f} s of processor time"
    kinds = Counter(row["note_type"].removeprefix("Twin: ") for row in rows)
    print(
        f"{len(rows):,} rows in {len({row['note_id'] for row in rows}):,} families: {times}"
    )
    print(", ".join(f"{kinds[kind]:,} {kind}" for kind in KINDS))
    pairs = [
        (row, family) for family in by_family(rows).values() for row in family.values()
    ]
    wrong = [row for row, family in pairs if not agrees(row, family)]
    print(
        f"golds recomputed from the notes' text: {len(pairs) - len(wrong):,} of {len(pairs):,} agree"
    )
    for row in wrong[:5]:
        print(
            row["row_number"],
            row["calculator_name"],
            row["note_type"],
            row["ground_truth_answer"],
            read_back(row),
        )
    for policy in POLICIES:
        entries = floors(rows, policy)
        print(
            policy.ljust(14),
            *(
                f"{name} {100 * entry['value']:.1f} %"
                for name, entry in entries.items()
            ),
        )


if __name__ == "__main__":
    main()
