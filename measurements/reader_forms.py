"""How many forms of a reply the readers of letters, of judges' verdicts and of citations read as a person does.

    python -m measurements.reader_forms [--misses development]

`reader_forms.json` holds replies by reader and kind, each with what a person reads at
once, or that there is no answer. They were written before the readers were changed to
read them. A hash of the text puts each into one of two halves: readers were developed
on the misses of the first alone, and the second shows what to expect of other replies.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.doclens.judge_prompts import read_verdict_lines
from medical_tasks.benchmarks.ehrnoteqa.judging import (
    read_official_choice,
    read_official_score,
    read_own_choice,
)
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import read_closing_claim
from medical_tasks.scoring.letters import read_letter

FORMS: Final = Path(__file__).with_suffix(".json")
CHOICES: Final = (
    "warfarin 5 mg daily",
    "apixaban 5 mg twice daily",
    "aspirin 81 mg daily",
    "rivaroxaban 20 mg with supper",
    "no anticoagulant at all",
)
"""What the letters of all forms stand for."""

SENTENCES: Final = tuple(map(str, range(1, 10)))
"""The ids of the note that is cited."""

FOREIGN: Final = "other languages"
"""The kind of letters that is counted apart: the rules know English."""

HALVES: Final = ("development", "held back")
UNTOLD: Final = ("unclear", "none", "unreadable")
"""What stands in the file where a person cannot tell either."""

Half = Literal["development", "held back"]
NOTHING: Final = object()
"""What a reader that reads nothing is counted as."""


@dataclass(frozen=True)
class Form:
    """A reply, and the answer that a person reads in it: `NOTHING` if there is none."""

    reader: str
    kind: str
    text: str
    means: Any

    @property
    def half(self) -> Half:
        """The half that it belongs to, by its text alone."""
        odd = hashlib.sha256(self.text.encode()).digest()[0] % 2
        return "held back" if odd else "development"


def letter(text: str) -> Any:
    """Reads the letter of an answer."""
    reading = read_letter(text, CHOICES)
    return reading.letter if reading and reading.letter else NOTHING


def verdict(read: Callable[[str], Any], text: str) -> Any:
    """Reads the verdict in a judge's reply."""
    value = read(text)
    return NOTHING if isinstance(value, Unreadable) else value


def citations(text: str) -> Any:
    """Reads the known sentences that an answer cites; unknown ones are ignored."""
    answer = read_answer(text, SENTENCES)
    if getattr(answer, "unclear", "") or any(
        cited not in SENTENCES for cited in answer.citations
    ):
        return NOTHING
    return list(answer.citations)


READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "letters": letter,
    "claim": partial(verdict, read_closing_claim),
    "choice": partial(verdict, read_official_choice),
    "score": partial(verdict, read_official_score),
    "object": partial(verdict, read_own_choice),
    "lines": partial(verdict, read_verdict_lines),
    "citations": citations,
}


def forms() -> Iterator[Form]:
    """Reads all forms of the file."""
    for reader, kinds in json.loads(FORMS.read_text(encoding="utf-8")).items():
        for kind, replies in kinds.items():
            for text, means in replies:
                untold = isinstance(means, str) and means in UNTOLD
                yield Form(reader, kind, text, NOTHING if untold else means)


def outcome(form: Form) -> str:
    """Returns `read` (as meant), `unread`, or `false` (read as something else). A reply without an answer must be unread."""
    actual = READERS[form.reader](form.text)
    if actual is NOTHING and form.means is not NOTHING:
        return "unread"
    same = (
        actual is form.means
        if NOTHING in (actual, form.means)
        else actual == form.means
    )
    return "read" if same else "false"


def main() -> None:
    """Prints the table, and with `--misses` those of a half."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--misses", choices=HALVES, help="list the forms of a half that are missed"
    )
    options = parser.parse_args()

    counts: dict[tuple[str, str], Counter[str]] = {}
    for form in forms():
        result = outcome(form)
        rows = [(form.reader, form.kind)]
        if form.kind != FOREIGN:
            rows.append((form.reader, "all of them"))
        for row in rows:
            counts.setdefault(row, Counter())[f"{form.half} {result}"] += 1
        if form.half == options.misses and result != "read":
            print(f"{form.reader}, {form.kind}: {result}: {form.text!r}")
    heads = "".join(
        f"{f'{half}: read':>20}{'unread':>8}{'false':>7}" for half in HALVES
    )
    print(f"{'reader: kind':44}{heads}")
    for (reader, kind), tally in sorted(counts.items()):
        cells = ""
        for half in HALVES:
            read, unread, false = (
                tally[f"{half} {result}"] for result in ("read", "unread", "false")
            )
            cells += f"{f'{read}/{read + unread + false}':>20}{unread:>8}{false:>7}"
        print(f"{f'{reader}: {kind}':44}{cells}")


if __name__ == "__main__":
    main()
