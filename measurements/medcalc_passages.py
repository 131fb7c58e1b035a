"""How `accuracy` reads the real replies in the history of MedCalc-Bench's repository.

    python -m measurements.medcalc_statements --real CHECKOUT

The history of the authors' repository (https://github.com/ncbi-nlp/MedCalc-Bench) holds
replies of GPT-3.5, GPT-4 and GPT-4o mini, committed in June and November 2024. The
reasoning of GPT-4 and GPT-3.5 with one example, 171 passages, was read by a language
model, not by clinicians: what each states as its answer was noted from the text alone,
before any program read it. `real_readings.json` holds these readings with the hash of
the passage, and no text.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.gold import SCORE_IDS, Decision
from medical_tasks.benchmarks.medcalc_bench.scoring import decide

READINGS: Final = (
    Path(__file__).resolve().parents[1]
    / "tests"
    / "benchmarks"
    / "medcalc_bench"
    / "real_readings.json"
)
ANSWERS: Final = (
    "cb5fbf572d0b7d225add0fc091ec93e66f65b65d",  # GPT-4, zero-shot
    "6d0a05b3895cb90ed14684f045127b27628b2947",  # GPT-4, one-shot
    "f893c3624345bfa2cf8c841bd68478e9b0591e7b",  # GPT-3.5, one-shot
    "ca06990b50d7cc0d1d24e7aeee5d1ab1930512cc",  # GPT-3.5, direct answer
    "47e5e31d004977824c15507ad82581834f8ca0bf",  # GPT-3.5, direct answer
    "e50d1fbbcda2221ebb1f5c05491ba16e89eb0aee",  # GPT-4, direct answer
    "1822b734e7c6c7e48015f4c79d75955344993e6f",  # GPT-4, code
    "5ca871755515c399b71bd4fe874d9be4e51928be",  # GPT-4o mini, direct answer
)
"""The files of replies, by their git blobs."""

ROUNDING: Final = Decimal("0.01")
"""Relative difference below which two readings of a measurement are the same: "5.05, about 5"."""

SHORTEST_PASSAGE: Final = 60
"""Shorter explanations are placeholders such as "N/A"."""


class MirrorError(Exception):
    """The history of the authors' repository cannot be read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer that a passage states, as it is written there, or None."""

    blob: str
    line: int
    calculator_id: int
    sha256: str
    reading: str | None


@cache
def readings() -> Sequence[Reading]:
    """All readings."""
    rows = json.loads(READINGS.read_text(encoding="utf-8"))
    return [Reading(**row) for row in rows]


def unclear(decision: Decision) -> str:
    """Returns why a reply is unclear, or ""."""
    return decision.unclear


Row = Mapping[str, object]


def rows_of(mirror: Path, blob: str) -> list[Row]:
    """Reads the rows of a file of replies."""
    command = ["git", "-C", str(mirror), "cat-file", "blob", blob]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise MirrorError(
            f"{mirror}: no git repository that holds blob {blob} ({done.stderr.decode().strip()}). "
            "Clone https://github.com/ncbi-nlp/MedCalc-Bench with its whole history."
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def passage(row: Row) -> str:
    """Returns the running reasoning of a reply, without its answer field, or ""."""
    explanation = str(row.get("LLM Explanation", ""))
    if len(explanation) < SHORTEST_PASSAGE:
        return ""
    try:
        fields = json.loads(explanation, strict=False)
    except ValueError:
        return explanation
    return str(fields["step_by_step_thinking"])


def reply(row: Row) -> str:
    """Returns the reply of a row: its reasoning, its last message, or its answer field."""
    messages = row.get("LLM Chat History")
    if isinstance(messages, list):
        answers = [
            message["content"] for message in messages if message["role"] == "assistant"
        ]
        return str(answers[-1])
    return passage(row) or json.dumps({"answer": str(row["LLM Answer"])})


def read(text: str, calculator_id: int, value: str) -> Decision:
    """Decides a text whose gold is a value."""
    number = Decimal(value)
    width = Decimal(0) if calculator_id in SCORE_IDS else abs(number) * ROUNDING
    return decide(
        text,
        calculator_id=calculator_id,
        gold=value,
        lower=str(number - width),
        upper=str(number + width),
    )


def agrees(reading: Reading, text: str) -> tuple[bool, Decision]:
    """Whether a passage is read as noted."""
    if reading.reading is not None:
        decision = read(text, reading.calculator_id, reading.reading)
        return decision.correct, decision
    decision = read(text, reading.calculator_id, "0")
    return not decision.parsed or bool(unclear(decision)), decision


def compared(mirror: Path) -> Iterator[tuple[Reading, bool, Decision]]:
    """Yields every reading, whether the reader agrees, and its decision."""
    files = {
        blob: rows_of(mirror, blob) for blob in {reading.blob for reading in readings()}
    }
    for reading in readings():
        text = passage(files[reading.blob][reading.line - 1])
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest != reading.sha256:
            raise MirrorError(
                f"{reading.blob}, line {reading.line}: the passage's SHA-256 is {digest}, expected "
                f"{reading.sha256}. The readings belong to another text; read the passage again."
            )
        yield reading, *agrees(reading, text)


def unclear_replies(mirror: Path) -> tuple[int, list[tuple[str, int, str]]]:
    """Counts the replies in the history, and lists blob, line and reason of each unclear one."""
    total = 0
    results = []
    for blob in ANSWERS:
        for line, row in enumerate(rows_of(mirror, blob), 1):
            total += 1
            calculator_id = int(str(row["Calculator ID"]))
            decision = decide(
                reply(row),
                calculator_id=calculator_id,
                gold=str(row["Ground Truth Answer"]),
            )
            if unclear(decision):
                results.append((blob, line, unclear(decision)))
    return total, results


def report(mirror: Path) -> str:
    """Lists the differences from the noted readings, and the share of unclear replies."""
    lines = []
    agreed = 0
    for reading, same, decision in compared(mirror):
        agreed += same
        if not same:
            where = f"{reading.blob[:8]}, line {reading.line}, calculator {reading.calculator_id}"
            stated = reading.reading or "no answer"
            lines.append(f"{where}: noted {stated}; {decision.why}")
    total, unclear_rows = unclear_replies(mirror)
    lines += [
        f"{blob[:8]}, line {line}: unclear, {why}" for blob, line, why in unclear_rows
    ]
    lines.append(f"{agreed} of {len(readings())} passages are read as noted")
    lines.append(
        f"{len(unclear_rows)} of {total} replies are unclear ({len(unclear_rows) / total:.1%})"
    )
    return "\n".join(lines)
