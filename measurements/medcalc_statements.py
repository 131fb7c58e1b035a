"""How well MedCalc-Bench's `accuracy` reads what a reply states: over 20,000 statements.

    python -m measurements.medcalc_statements                    prints the table
    python -m measurements.medcalc_statements --write            puts it into measurements/README.md
    python -m measurements.medcalc_statements --misses KIND      prints the misread replies of a kind
    python -m measurements.medcalc_statements --half held-out    counts one half of the forms
    python -m measurements.medcalc_statements --author second    counts another author's forms
    python -m measurements.medcalc_statements --real CHECKOUT    compares real replies (medcalc_passages)

Every name of each of the 55 calculators is put into forms of every kind. A form of the
right side states the gold. A form of the wrong side mentions the gold and states
another value, or none:

    right, "verb":          "The sex factor is 0.85. This gives a creatinine clearance of 37.7."
    wrong, "intermediate":  "The adjusted weight is 37.7 kg. The creatinine clearance is 52.1."

Wrong forms are `plain` where language models write them, and `contrived` where an
adversary would. The forms fall into two halves by a hash of their text, so that a
reader of answers can be developed on one half and measured on the other. The second to
fourth authors did not know the reader. The fifth did, and had not run it on the forms
when they were written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypedDict

from measurements.medcalc_passages import MirrorError, report, unclear
from measurements.medcalc_words import (
    DATA,
    Filler,
    Gold,
    capitalised,
    day_of,
    golds,
    names,
    weeks_and_days,
    within_limits,
)
from medical_tasks.benchmarks.medcalc_bench.gold import Decision, answer_kind
from medical_tasks.benchmarks.medcalc_bench.official import official_decision
from medical_tasks.benchmarks.medcalc_bench.scoring import decide

ROOT: Final = Path(__file__).resolve().parents[1]
DOCUMENT: Final = ROOT / "measurements" / "README.md"
BEGIN, END = "<!-- statements: begin -->", "<!-- statements: end -->"
SEED: Final = 55

Side = Literal["right", "wrong"]
Manner = Literal["plain", "contrived"]
Expected = Literal["right", "another value", "no value", "another value or none"]
Half = Literal["development", "held-out"]
HALVES: Final[Sequence[Half]] = ("development", "held-out")
Author = Literal["first", "second", "third", "fourth", "fifth"]
AUTHORS: Final[Mapping[Author, str]] = {
    "first": "statement_forms.json",
    "second": "statement_forms_second.json",
    "third": "statement_forms_third.json",
    "fourth": "statement_forms_fourth.json",
    "fifth": "statement_forms_fifth.json",
}
"""The files of forms by author."""


class Verbs(TypedDict):
    """Beginnings of sentences and the verbs that go with them."""

    leads: list[str]
    verbs: list[str]


class Frames(TypedDict):
    """Texts around a statement."""

    before: list[str]
    behind: list[str]
    behind_sentence: list[str]
    alone: list[str]
    """Kinds of forms that are left as they are."""


@dataclass(frozen=True, slots=True)
class Form:
    """A statement with slots such as `«n»`, the name, and `«gu»`, the gold with its unit."""

    kind: str
    side: Side
    manner: Manner
    expected: Expected
    text: str

    @property
    def half(self) -> Half:
        """Which half the form belongs to."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return "held-out" if digest[0] % 2 else "development"


@dataclass(frozen=True, slots=True)
class Case:
    """A reply, and the answer that a person reads in it."""

    calculator_id: int
    name: str
    kind: str
    side: Side
    manner: Manner
    expected: Expected
    half: Half
    form: str
    reply: str
    gold: str
    lower: str
    upper: str


# The data


class _Wrong(TypedDict):
    plain: dict[Expected, dict[str, list[str]]]
    contrived: dict[Expected, dict[str, list[str]]]


class _FormsFile(TypedDict):
    frames: Frames
    verbs: dict[str, Verbs]
    right: dict[str, list[str]]
    wrong: _Wrong


@cache
def _forms_file(author: Author) -> _FormsFile:
    read: _FormsFile = json.loads((DATA / AUTHORS[author]).read_text(encoding="utf-8"))
    return read


@cache
def forms(author: Author = "first") -> tuple[Form, ...]:
    """An author's forms: the listed ones, and each verb with each of its subjects and objects."""
    listed = _forms_file(author)
    verbs = listed["verbs"]
    all_forms = [
        Form("verb", "right", "plain", "right", text)
        for text in verb_forms("«gu»", verbs)
    ]
    all_forms += [
        Form("intermediate", "wrong", "plain", "another value", f"«cg» {text}")
        for text in verb_forms("«wu»", verbs)
    ]
    for kind, texts in listed["right"].items():
        all_forms += [Form(kind, "right", "plain", "right", text) for text in texts]
    manners: tuple[Manner, ...] = ("plain", "contrived")
    for manner in manners:
        for expected, kinds in listed["wrong"][manner].items():
            for kind, texts in kinds.items():
                all_forms += [
                    Form(kind, "wrong", manner, expected, text) for text in texts
                ]
    return tuple(all_forms)


ARTICLES: Final = ("a «n»", "an estimated «n»", "the «n»", "«n»")
LINKS: Final = (" of ", " = ", ": ", " equal to ")


def verb_forms(value: str, verbs: Mapping[str, Verbs]) -> Iterator[str]:
    """Sentences whose verb has the name as its object or subject: "This gives a CrCl of 37.7."."""
    for group in ("reaching", "getting", "having"):
        for verb in verbs[group]["verbs"]:
            for article in ARTICLES:
                for link in LINKS:
                    lead = _turn(verbs[group]["leads"], verb + article + link)
                    yield f"{lead} {verb} {article}{link}{value}."
    for verb in verbs["bringing"]["verbs"]:
        for lead in verbs["bringing"]["leads"]:
            yield f"{lead} {verb} the «n» {'at' if verb == 'puts' else 'to'} {value}."
    for verb in verbs["being"]["verbs"]:
        for lead in verbs["being"]["leads"]:
            yield f"{lead} {verb} {value}."


def _turn(texts: Sequence[str], key: str) -> str:
    """One of the texts, the same for the same key."""
    return texts[hashlib.sha256(key.encode()).digest()[0] % len(texts)]


SLOT: Final = re.compile("«(\\w+)»")


def filled(text: str, words: Mapping[str, str]) -> str | None:
    """Fills the slots of a form; None if one of them makes no sense for the case."""
    if words["n"].lower().startswith("estimated"):
        text = text.replace("an estimated «n»", "an «n»")
    text = text.replace("a «n»", "«an»").replace("A «n»", "«An»")
    if any(slot not in words for slot in SLOT.findall(text)):
        return None
    statement = SLOT.sub(lambda slot: words[slot.group(1)], text)
    return capitalised(statement) if text.startswith("«n»") else statement


def framed(
    form: Form, filler: Filler, words: Mapping[str, str], frames: Frames
) -> str | None:
    """Writes the reply: the statement, with working before and remarks behind it."""
    core = filled(form.text, words)
    if core is None:
        return None
    if form.kind in frames["alone"]:
        return core
    rng = filler.rng
    before, behind = rng.choice(frames["before"]), rng.choice(frames["behind"])
    if core.endswith("."):
        behind = rng.choice(frames["behind_sentence"])
    if "«worked»" in before and form.expected not in ("right", "another value"):
        before = ""
    value = words["g"] if form.side == "right" else words["w"]
    around = {**words, "worked": filler.worked(value), "core": core}
    return SLOT.sub(lambda slot: around[slot.group(1)], f"{before}«core»{behind}")


# All cases

TRIES: Final[Mapping[str, int]] = {"verb": 8, "intermediate": 5, "dates": 6, "ages": 16}
"""How many forms of a kind each name is put into; two of any other kind, one of a contrived one."""


def cases(seed: int = SEED, author: Author = "first") -> Iterator[Case]:
    """Every name of every calculator in forms of every kind, the same for the same seed."""
    frames = _forms_file(author)["frames"]
    kinds: defaultdict[tuple[Side, Manner, str], list[Form]] = defaultdict(list)
    for form in forms(author):
        kinds[form.side, form.manner, form.kind].append(form)
    for calculator_id, questions in golds(seed).items():
        seen: set[str] = set()
        for name in names(questions[0].calculator):
            rng = random.Random(f"{seed} {calculator_id} {name}")
            for kind_forms in kinds.values():
                yield from _of_kind(kind_forms, frames, questions, name, rng, seen)


def _of_kind(
    kind_forms: Sequence[Form],
    frames: Frames,
    questions: Sequence[Gold],
    name: str,
    rng: random.Random,
    seen: set[str],
) -> Iterator[Case]:
    """A name in some forms of a kind, with one of the calculator's golds each."""
    remaining = TRIES.get(
        kind_forms[0].kind, 1 if kind_forms[0].manner == "contrived" else 2
    )
    for form in rng.sample(kind_forms, len(kind_forms)):
        if not remaining:
            return
        filler = Filler(rng.choice(questions), name, rng)
        reply = framed(form, filler, filler.words(), frames)
        if reply is None or reply in seen:
            continue
        seen.add(reply)
        remaining -= 1
        yield _case(form, filler, reply)


def _case(form: Form, filler: Filler, reply: str) -> Case:
    gold = filler.gold
    return Case(
        calculator_id=gold.calculator.id,
        name=filler.name,
        kind=form.kind,
        side=form.side,
        manner=form.manner,
        expected=form.expected,
        half=form.half,
        form=form.text,
        reply=reply,
        gold=gold.value,
        lower=gold.lower,
        upper=gold.upper,
    )


# Counting


@dataclass(slots=True)
class Count:
    """How many replies there are, and how many each rule accepts."""

    replies: int = 0
    right: int = 0
    unclear: int = 0
    official: int = 0
    last_number: int = 0
    misread: list[tuple[Case, Decision]] = field(default_factory=list)


Key = tuple[Side, Manner, str]


def decided(case: Case) -> Decision:
    """Decides a case's reply."""
    return decide(
        case.reply,
        calculator_id=case.calculator_id,
        gold=case.gold,
        lower=case.lower,
        upper=case.upper,
    )


def counted(chosen: Iterable[Case]) -> dict[Key, Count]:
    """Counts by side, manner and kind."""
    counts: defaultdict[Key, Count] = defaultdict(Count)
    for case in chosen:
        count, decision = counts[case.side, case.manner, case.kind], decided(case)
        count.replies += 1
        count.right += decision.correct
        count.unclear += bool(unclear(decision))
        count.official += official_decision(
            case.reply,
            calculator_id=case.calculator_id,
            gold=case.gold,
            lower=case.lower,
            upper=case.upper,
        ).correct
        count.last_number += last_number_is_right(case)
        if decision.correct is not (case.side == "right"):
            count.misread.append((case, decision))
    return dict(counts)


NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
DATE: Final = re.compile(r"\d{1,2}/\d{1,2}/\d{4}")


def last_number_is_right(case: Case) -> bool:
    """A naive rule for comparison: the last number of the reply, date or pair of numbers, decides."""
    kind = answer_kind(case.calculator_id)
    if kind == "date":
        days = DATE.findall(case.reply)
        return bool(days) and day_of(days[-1]) == day_of(case.gold)
    numbers = NUMBER.findall(case.reply)
    if kind == "gestational_age":
        return [int(float(number)) for number in numbers[-2:]] == [
            *weeks_and_days(case.gold)
        ]
    return bool(numbers) and within_limits(numbers[-1], case.lower, case.upper)


def summed(counts: Mapping[Key, Count], side: Side, manner: Manner) -> Count:
    """Sums the counts over the kinds of a side and manner."""
    total = Count()
    for key, count in counts.items():
        if key[:2] != (side, manner):
            continue
        total.replies += count.replies
        total.right += count.right
        total.unclear += count.unclear
        total.official += count.official
        total.last_number += count.last_number
        total.misread += count.misread
    return total


# The table

TITLES: Final[Sequence[tuple[Side, Manner, str]]] = (
    ("right", "plain", "gold stated"),
    ("wrong", "plain", "gold only mentioned"),
    ("wrong", "contrived", "the same, contrived"),
)


def table(halves: Mapping[Half, Mapping[Key, Count]]) -> str:
    """Writes the totals of each half, in Markdown."""
    lines = [
        "| replies | half | number | `accuracy` accepts | unclear | "
        "`accuracy_official` accepts | last number accepts |",
        "|---|---|---|---|---|---|---|",
    ]
    for side, manner, title in TITLES:
        for half, counts in halves.items():
            total = summed(counts, side, manner)
            lines.append(f"| {title} | {half} {_cells(total)}")
    return "\n".join(lines)


def kinds_table(counts: Mapping[Key, Count]) -> str:
    """Writes a table of every kind, in Markdown."""
    lines = [
        "| side | kind | number | `accuracy` accepts | unclear | official | last number |",
        "|---|---|---|---|---|---|---|",
    ]
    for (side, manner, kind), count in counts.items():
        shown = f"{side}, contrived" if manner == "contrived" else side
        lines.append(f"| {shown} | {kind} {_cells(count)}")
    return "\n".join(lines)


def _cells(count: Count) -> str:
    shares = [count.right, count.unclear, count.official, count.last_number]
    shown = " | ".join(f"{share / max(count.replies, 1):.1%}" for share in shares)
    return f"| {count.replies:,} | {shown} |"


def document_with(new_table: str, document: str) -> str:
    """Replaces the table of the document."""
    head, rest = document.split(BEGIN)
    return f"{head}{BEGIN}\n{new_table}\n{END}{rest.split(END)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measures how MedCalc-Bench's replies are read."
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, help="another draw of the cases"
    )
    parser.add_argument("--half", choices=HALVES, help="one half of the forms")
    parser.add_argument(
        "--author", choices=AUTHORS, default="first", help="whose forms are used"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"put the table into {DOCUMENT.name}"
    )
    parser.add_argument(
        "--misses", metavar="KIND", help="print misread replies of a kind, or all"
    )
    parser.add_argument(
        "--real", type=Path, metavar="CHECKOUT", help="read the authors' replies"
    )
    options = parser.parse_args()

    if options.real:
        try:
            sys.stdout.write(report(options.real) + "\n")
        except MirrorError as error:
            parser.error(str(error))
        return

    kinds = sorted({form.kind for form in forms(options.author)})
    if options.misses not in (None, "all", *kinds):
        parser.error(
            f"--misses: {options.misses!r} is no kind. Use all, or one of: {kinds}"
        )
    if options.write and (
        options.half or options.seed != SEED or options.author != "first"
    ):
        parser.error(
            "--write: the document shows both halves of the first author's usual draw. "
            "Leave out the rest"
        )

    drawn = list(cases(options.seed, options.author))
    chosen: Sequence[Half] = [options.half] if options.half else HALVES
    halves = {
        half: counted(case for case in drawn if case.half == half) for half in chosen
    }
    totals = table(halves)
    sys.stdout.write(f"{totals}\n\n")
    for half, counts in halves.items():
        sys.stdout.write(f"{half}\n{kinds_table(counts)}\n\n")
        if options.misses:
            sys.stdout.write(misreadings(half, counts, options.misses))
    if options.write:
        document = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(document_with(totals, document), encoding="utf-8")


def misreadings(half: Half, counts: Mapping[Key, Count], only: str) -> str:
    """Lists the misread replies of one kind, or of all, one a line."""
    lines = []
    for (side, _, kind), count in counts.items():
        if only not in ("all", kind):
            continue
        for case, decision in count.misread:
            where = f"{half} {side} {kind} {case.calculator_id} gold {case.gold}"
            lines.append(f"{where}: {case.reply!r} -> {decision.why}\n")
    return "".join(lines)


if __name__ == "__main__":
    main()
