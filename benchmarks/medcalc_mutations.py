"""How many of the 55 calculators still score when their gold is written in another way: the table of docs/medcalc_scoring.md.

    python benchmarks/medcalc_mutations.py --source test_data.csv             prints the table
    python benchmarks/medcalc_mutations.py --source test_data.csv --write     and puts it into the document

One row of each calculator of MedCalc-Bench v1.0: the one with the largest gold, so that thousands separators matter.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from medical_tasks.medcalc_bench.kinds import AnswerKind, answer_kind
from medical_tasks.medcalc_bench.official import official_decision
from medical_tasks.medcalc_bench.scoring import decide

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "medcalc_scoring.md"
BEGIN, END = "<!-- mutations: begin -->", "<!-- mutations: end -->"

Row = Mapping[str, str]
Dress = Callable[[str, AnswerKind], str | None]
NUMERIC = ("integer", "decimal")


def in_json(text: str) -> str:
    """The reply form that the prompts ask for."""
    return json.dumps({"answer": text}, ensure_ascii=False)


def _numeric(write: Callable[[str], str | None]) -> Dress:
    return lambda gold, kind: write(gold) if kind in NUMERIC else None


def _date(form: str) -> Dress:
    def write(gold: str, kind: AnswerKind) -> str | None:
        return datetime.strptime(gold, "%m/%d/%Y").strftime(form) if kind == "date" else None

    return write


def _age(form: str) -> Dress:
    def write(gold: str, kind: AnswerKind) -> str | None:
        if kind != "gestational_age":
            return None
        weeks, days = (int(part.split()[0]) for part in gold.replace("'", "").strip("()").split(", "))
        return form.format(weeks=weeks, days=days, decimal=weeks + days / 7)

    return write


def _thousands(gold: str) -> str | None:
    return f"{Decimal(gold):,}" if abs(Decimal(gold)) >= 1000 else None


def _leading_zero(gold: str) -> str:
    return f"-0{gold[1:]}" if gold.startswith("-") else f"0{gold}"


def _times_ten(gold: str) -> str:
    mantissa, exponent = f"{Decimal(gold):e}".split("e")
    return f"{mantissa} x 10^{int(exponent)}"


MUTATIONS: tuple[tuple[str, Dress, Callable[[str], str]], ...] = (
    ("gold verbatim", lambda gold, kind: gold, in_json),
    ('gold + " mg"', lambda gold, kind: f"{gold} mg", in_json),
    ('gold + "%" (decimals)', lambda gold, kind: f"{gold}%" if kind == "decimal" else None, in_json),
    ("thousands comma", _numeric(_thousands), in_json),
    ("\\*\\*bold\\*\\*", lambda gold, kind: f"**{gold}**", in_json),
    ("integer as g.0", lambda gold, kind: f"{gold}.0" if kind == "integer" else None, in_json),
    ('"g (range 0-10)"', lambda gold, kind: f"{gold} (range 0-10)", in_json),
    ("leading zero", _numeric(_leading_zero), in_json),
    ('"34 weeks 3 days"', _age("{weeks} weeks {days} days"), in_json),
    ('"34 weeks and 3 days"', _age("{weeks} weeks and {days} days"), in_json),
    ('"34w3d"', _age("{weeks}w{days}d"), in_json),
    ('"34.43 weeks"', _age("{decimal:.2f} weeks"), in_json),
    ("ISO date", _date("%Y-%m-%d"), in_json),
    ("written-out date", _date("%B %d, %Y"), in_json),
    ("LaTeX \\boxed{}", lambda gold, kind: f"\\boxed{{{gold}}}", in_json),
    (
        "LaTeX \\boxed{} in prose, no JSON",
        lambda gold, kind: gold,
        lambda text: f"So the result is $\\boxed{{{text}}}$.",
    ),
    ("LaTeX $...$", lambda gold, kind: f"${gold}$", in_json),
    ("scientific, 1.2e+01", _numeric(lambda gold: f"{Decimal(gold):e}"), in_json),
    ("scientific, 1.2 x 10^1", _numeric(_times_ten), in_json),
    ("Unicode minus", _numeric(lambda gold: gold.replace("-", "−") if gold.startswith("-") else None), in_json),
    ('"about g units"', _numeric(lambda gold: f"approximately {gold} units"), in_json),
    ('"Result: g"', lambda gold, kind: f"Result: {gold}", in_json),
    ("fenced JSON", lambda gold, kind: gold, lambda text: f"```json\n{in_json(text)}\n```"),
    ("JSON over several lines", lambda gold, kind: gold, lambda text: json.dumps({"answer": [text]}, indent=2)),
    ("single-quoted keys", lambda gold, kind: gold.replace("'", ""), lambda text: f"{{'answer': '{text}'}}"),
    ("str(g), no quotes", lambda gold, kind: gold, lambda text: f'{{"answer": str({text})}}'),
    ("another answer before it", lambda gold, kind: gold, lambda text: in_json("7777") + "\n" + in_json(text)),
    ("a key with a number after it", lambda gold, kind: gold, lambda text: json.dumps({"answer": text, "weight": 48})),
    ('prose "The final answer is g."', lambda gold, kind: gold, lambda text: f"The final answer is {text}."),
    (
        "prose, bold, after other numbers",
        lambda gold, kind: gold,
        lambda text: f"From 7 and 12:\n\n**Answer: {text}**\n",
    ),
    ("the gold alone", lambda gold, kind: gold, lambda text: text),
)


def one_row_each(rows: Sequence[Row]) -> list[Row]:
    """One row of each calculator: the one with the largest gold, or the first where golds are no numbers."""
    chosen: dict[str, Row] = {}
    for row in rows:
        calculator = row["Calculator ID"]
        best = chosen.setdefault(calculator, row)
        if answer_kind(int(calculator)) in NUMERIC and _size(row) > _size(best):
            chosen[calculator] = row
    return list(chosen.values())


def _size(row: Row) -> Decimal:
    return abs(Decimal(row["Ground Truth Answer"]))


def table(rows: Sequence[Row]) -> str:
    """The table in Markdown. A rewriting that does not apply to a calculator leaves its gold as it is."""
    lines = [
        f"| the gold written as | applies to | `accuracy`, of {len(rows)} | `accuracy_official`, of {len(rows)} |",
        "|---|---|---|---|",
    ]
    for name, dress, reply in MUTATIONS:
        applies = sane = official = 0
        for row in rows:
            gold, calculator = row["Ground Truth Answer"], int(row["Calculator ID"])
            dressed = dress(gold, answer_kind(calculator))
            response = in_json(gold) if dressed is None else reply(dressed)
            limits = {"gold": gold, "lower": row["Lower Limit"], "upper": row["Upper Limit"]}
            applies += dressed is not None
            sane += decide(response, calculator_id=calculator, **limits).correct
            official += official_decision(response, calculator_id=calculator, **limits).correct
        lines.append(f"| {name} | {applies} | {sane} | {official} |")
    return "\n".join(lines)


def read_rows(source: Path) -> list[Row]:
    """The rows of the authors' CSV file."""
    with source.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def document_with(made: str, document: str) -> str:
    """The document with its table replaced."""
    head, rest = document.split(BEGIN)
    tail = rest.split(END)[1]
    return f"{head}{BEGIN}\n{made}\n{END}{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--source", type=Path, required=True, help="the authors' test_data.csv, version 1.0")
    parser.add_argument("--write", action="store_true", help=f"put the table into {DOCUMENT.name}")
    options = parser.parse_args()
    made = table(one_row_each(read_rows(options.source)))
    sys.stdout.write(made + "\n")
    if options.write:
        DOCUMENT.write_text(document_with(made, DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
