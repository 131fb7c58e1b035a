"""How often MedCalc-Bench's `accuracy` and the authors' decision are fooled: the tables of measurements/README.md.

    python measurements/medcalc_reading.py             prints the tables
    python measurements/medcalc_reading.py --write     and puts them into the document
    python measurements/medcalc_reading.py --misses    also prints each reply that is decided wrongly

Every form of `medcalc_forms.json` is applied to one question of each of the 55
calculators, drawn by the generator of fresh questions: replies that state the gold, and
replies that mention the gold and state something else, or nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.gold import (
    SCORE_IDS,
    AnswerKind,
    answer_kind,
)
from medical_tasks.benchmarks.medcalc_bench.official import official_decision
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.calculators import find
from medical_tasks.construct.fresh import fresh_rows

DOCUMENT = Path(__file__).resolve().parents[1] / "measurements" / "README.md"
BEGIN, END = "<!-- forms: begin -->", "<!-- forms: end -->"
SEED = 20


@dataclass(frozen=True)
class Case:
    """A question with its gold `g` and a wrong answer `w` of the same form."""

    calculator_id: int
    kind: AnswerKind
    gold: str
    wrong: str
    lower: str
    upper: str
    words: Mapping[str, str]
    index: int

    @property
    def numeric(self) -> bool:
        """Whether the answer is a number."""
        return self.kind in ("integer", "decimal")


@cache
def cases() -> Sequence[Case]:
    """Makes one case of each calculator."""
    results: list[Case] = []
    for row in fresh_rows(SEED, 55, 1):
        number = int(row["calculator_id"])
        kind, gold = answer_kind(number), str(row["ground_truth_answer"])
        if kind == "decimal":
            # as the dataset writes it
            gold = f"{round(Decimal(gold), 3):f}".rstrip("0").rstrip(".")
        calculator = find(number)
        wrong = _wrong(kind, gold)
        name = calculator.aliases[0] if calculator.aliases else calculator.name
        unit = "points" if number in SCORE_IDS else calculator.unit
        words = {
            "g": gold if kind != "gestational_age" else _age(gold),
            "w": wrong,
            "u": f" {unit}" if unit and unit != "%" else unit,
            "n": f"{name} score"
            if number in SCORE_IDS and "score" not in name.lower()
            else name,
            "big": str(abs(Decimal(gold)) + 5)
            if kind in ("integer", "decimal")
            else "",
        }
        results.append(
            Case(
                number,
                kind,
                gold,
                wrong,
                str(row["lower_limit"]),
                str(row["upper_limit"]),
                words,
                len(results),
            )
        )
    assert len({case.calculator_id for case in results}) == 55
    return results


def _age(gold: str) -> str:
    weeks, days = (text.strip(" ()'") for text in gold.split(","))
    return f"{weeks} {days}"


def _wrong(kind: AnswerKind, gold: str) -> str:
    if kind == "date":
        month, day, year = map(int, gold.split("/"))
        return (date(year, month, day) + timedelta(days=17)).strftime("%m/%d/%Y")
    if kind == "gestational_age":
        weeks = int(_age(gold).split()[0])
        return f"{weeks + 3} weeks 1 days"
    return str(Decimal(gold) * 2 + 7)


FORMS: Mapping[str, Mapping[str, Mapping[str, Mapping[str, list[str]]]]] = json.loads(
    Path(__file__).with_name("medcalc_forms.json").read_text(encoding="utf-8")
)
"""Forms by author, side (`right` states the gold, `wrong` only mentions it), what they fit (`any`, `numbers`, `scores`) and kind.

`{g}` is the gold, `{w}` a wrong answer, `{u}` the unit, `{n}` the calculator; `{j}` in front puts the rest into a field. The
first author wrote the reader too; the others did not know it when they wrote.
"""
EACH: Final = 5
"""Each form is tried on every fifth calculator, the next form on the next ones."""


def replies(case: Case, author: str, *, right: bool) -> Iterator[tuple[str, str]]:
    """Yields kind and text of each reply of a case; every other form that only mentions the gold stands in a field."""
    words = {**case.words, **_written(case)}
    number = 0
    for fits, kinds in FORMS[author]["right" if right else "wrong"].items():
        for kind, texts in kinds.items():
            for text in texts:
                number += 1
                if (number + case.index) % EACH or not (
                    fits == "any"
                    or case.calculator_id in SCORE_IDS
                    or (fits == "numbers" and case.numeric)
                ):
                    continue
                reply = text.removeprefix("{j}").format(**words)
                # In a field a line break or another object would be a different reply.
                plain = (
                    "{" not in reply
                    and "\n" not in reply
                    and author == "first"
                    and kind not in ("unfinished", "remark")
                )
                if text.startswith("{j}") or (plain and not right and number % 2):
                    reply = json.dumps({"answer": reply}, ensure_ascii=False)
                yield kind, reply


def _written(case: Case) -> dict[str, str]:
    """Other ways to write a number."""
    if not case.numeric:
        return {}
    number = Decimal(case.gold)
    sign, size = ("-", case.gold[1:]) if case.gold.startswith("-") else ("", case.gold)
    wide = str.maketrans("0123456789", "０１２３４５６７８９")
    two = len(size.partition(".")[2]) in (1, 2)
    return {
        "comma": case.gold.replace(".", ",") if two else case.gold,
        "thousands": f"{number:,}" if abs(number) >= 1000 else case.gold,
        "exponent": f"{number:e}",
        "unicode_minus": case.gold.replace("-", "−"),
        "zeros": f"{sign}0{size}",
        "fullwidth": case.gold.translate(wide),
    }


@dataclass(frozen=True)
class Count:
    """How many replies of a family there are, and how many each scorer accepts."""

    replies: Counter[str]
    sane: Counter[str]
    official: Counter[str]
    misses: list[tuple[int, str, str]]


def count(author: str, *, right: bool) -> Count:
    """Decides all replies of an author's forms."""
    counts = Count(Counter(), Counter(), Counter(), [])
    for case in cases():
        answer = {"gold": case.gold, "lower": case.lower, "upper": case.upper}
        for family, reply in replies(case, author, right=right):
            sane = decide(reply, calculator_id=case.calculator_id, **answer)
            counts.replies[family] += 1
            counts.sane[family] += sane.correct
            counts.official[family] += official_decision(
                reply, calculator_id=case.calculator_id, **answer
            ).correct
            if sane.correct is not right:
                counts.misses.append((case.calculator_id, reply, sane.why))
    return counts


def table(counts: Mapping[str, tuple[Count, Count]]) -> str:
    """Writes both tables in Markdown."""
    lines = []
    for side, title in enumerate(
        ("the gold is stated", "the gold is mentioned, not stated")
    ):
        lines += [
            f"| {title} | replies | `accuracy` accepts | `accuracy_official` accepts |",
            "|---|---|---|---|",
        ]
        for author, both in counts.items():
            side_counts = both[side]
            total = side_counts.replies.total()
            lines.append(
                _row(
                    f"{author} author",
                    total,
                    side_counts.sane.total(),
                    side_counts.official.total(),
                )
            )
        lines.append("")
    return "\n".join(lines).rstrip()


def _row(name: str, replies: int, sane: int, official: int) -> str:
    return f"| {name} | {replies:,} | {sane / replies:.1%} | {official / replies:.1%} |"


def counted() -> dict[str, tuple[Count, Count]]:
    """Counts right and wrong replies, by author."""
    return {
        author: (count(author, right=True), count(author, right=False))
        for author in FORMS
    }


def document_with(tables: str, document: str) -> str:
    """Replaces the tables of the document."""
    head, rest = document.split(BEGIN)
    return f"{head}{BEGIN}\n{tables}\n{END}{rest.split(END)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument(
        "--write", action="store_true", help=f"put the tables into {DOCUMENT.name}"
    )
    parser.add_argument(
        "--misses",
        action="store_true",
        help="print the replies that are decided wrongly",
    )
    options = parser.parse_args()
    counts = counted()
    tables = table(counts)
    sys.stdout.write(tables + "\n")
    for author, both in counts.items() if options.misses else ():
        for name, side_counts in zip(("lost", "accepted"), both, strict=True):
            for calculator, reply, why in side_counts.misses:
                sys.stdout.write(f"{author}, {name} {calculator}: {reply!r}: {why}\n")
    if options.write:
        DOCUMENT.write_text(
            document_with(tables, DOCUMENT.read_text(encoding="utf-8")),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
