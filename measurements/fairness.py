"""Families of `medcalc_fair`: do notes differ in the attribute alone, do golds hold, and does the table find planted bias?

    python -m measurements.fairness checks --rows 12000 --seeds 1 2 3 4 5
    python -m measurements.fairness policies --rows 10000
    python -m measurements.fairness unbiased --simulations 500 --rows 10000
    python -m measurements.fairness biased --attribute housing --simulations 1000 --rows 10000
    python -m measurements.fairness coverage --simulations 4000
    python -m measurements.fairness texts --simulations 500 --rows 2200

`checks` reads the notes' own text. `unbiased` and `biased` plant behaviour at the level of right and
wrong answers, which needs no text; `coverage` draws what `biased` counts, how many pairs
are right on both sides, on one or on none, and so has time for many models; `texts`
writes replies and goes through the real
reader, scorer and summary. Seeded: the same command prints the same.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import itertools
import json
import math
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from measurements.twins import read_back
from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.fair import ATTRIBUTES, Member, score_fair
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC_FAIR
from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.construct.fresh.fair import fair_rows
from medical_tasks.construct.fresh.quantities import read_json
from medical_tasks.runs.paired_groups import paired_figures
from medical_tasks.runs.results import PairedFigure, TaskEntry
from medical_tasks.runs.summary import summarise
from medical_tasks.scoring.paired import ALPHA, mcnemar, paired_proportions
from medical_tasks.spec import Item, ItemScore

Row = Mapping[str, Any]
Family = dict[str, Row]
"""The rows of a family by their variants."""
Groups = Mapping[str, str]
"""A patient's group in each attribute that the family swaps."""

_WORD: Final = re.compile(r"\d+|[^\W\d_]+")
_SEX_WORDS: Final = frozenset(
    "he she his her him himself herself man woman boy girl m f mr ms".split()
)
_ARTICLES: Final = frozenset({"a", "an"})
_DATA: Final = read_json("fair.json")
PAIRS: Final = (60, 120, 257, 930, 1001)
"""Of a family's swap: those of one ethnicity, of sex and of housing among 10,000 rows, and fewer."""
GROUPS: Final = 19
FEW: Final = 500
"""The first models, whose share is reported beside that of all."""


# The notes.


def families(rows: Sequence[Row]) -> dict[str, Family]:
    """The rows of each whole family by their variants; `--rows` may cut the last one."""
    by_note: dict[str, Family] = defaultdict(dict)
    for row in rows:
        member = Member.read(row["note_type"])
        assert member is not None
        by_note[row["note_id"]][member.variant] = row
    by_note.popitem()
    return by_note


def words_of(attribute: str) -> frozenset[str]:
    """The words, in small letters, in which a swap of an attribute may differ."""
    names = _DATA["names"].values()
    first_names = [
        name for group in names for sex in ("male", "female") for name in group[sex]
    ]
    texts = {
        "sex": [*_SEX_WORDS, *first_names],
        "age": [*_ARTICLES],
        "name": [*first_names, *(name for group in names for name in group["surname"])],
    }.get(attribute) or list(_DATA["words"][attribute].values())
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


def differing(base: str, other: str) -> list[str]:
    """The words, and signs between them, that one of two notes has and the other has not.

    Example:
        >>> differing("He speaks English.", "He speaks Spanish.")
        ["english", "spanish"]
    """
    first, second = (re.findall(r"\d+|[^\W\d_]+|\S|\s", text) for text in (base, other))
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    return [
        token.lower()
        for tag, i, j, k, m in matcher.get_opcodes()
        if tag != "equal"
        for token in (*first[i:j], *second[k:m])
        if not token.isspace()
    ]


def faults(family: Family) -> Iterator[str]:
    """Yields what is wrong with a family; nothing for a sound one."""
    base = family["base"]
    own = Member.read(base["note_type"])
    assert own is not None
    if any(
        base[name] != family["same"][name] for name in base if name not in _NUMBERED
    ):
        yield "the same note is not the same"
    yield from _faults_of_paraphrase(base, family["paraphrase"])
    for attribute in own.groups:
        yield from _faults_of_swap(attribute, base, family[attribute])
    for variant, row in family.items():
        if _answer_of_text(row) != row["ground_truth_answer"]:
            yield f"{variant}: another gold than that of its text"


def _answer_of_text(row: Row) -> str:
    """Computes the answer from the values, sex and age in the text of a note."""
    entities = read_back(dict(row))
    described = _DESCRIBED.search(row["patient_note"])
    if described is None:
        return ""
    if "sex" in entities:
        woman = described["who"] in ("woman", "girl", "F")
        entities["sex"] = "Female" if woman else "Male"
    if "age" in entities:
        infant = (described["unit"] or described["brief"]).startswith("mo")
        unit = "months" if infant else "years"
        entities["age"] = [int(described["age"]), unit]
    try:
        return calculate(row["calculator_id"], entities).answer_text
    except CalculatorInputError:
        return ""


_DESCRIBED: Final = re.compile(
    r"\b(?P<age>\d+)(?:-(?P<unit>year|month)-old | (?P<brief>y|mo) )(?P<who>man|woman|boy|girl|M|F)\b"
)
_DAY: Final = re.compile(r"^Day \d+: ", re.MULTILINE)
"""How some layouts number the sentences of a course."""
_NUMBERED: Final = ("row_number", "note_type")


def _faults_of_swap(attribute: str, base: Row, swap: Row) -> Iterator[str]:
    """Checks that a swap differs from the base in words of its attribute, and in no other."""
    member = Member.read(swap["note_type"])
    assert member is not None
    tokens = differing(base["patient_note"], swap["patient_note"])
    allowed = words_of(attribute)
    for token in tokens:
        if not (token in allowed or (attribute == "age" and token.isdigit())):
            yield f"{attribute}: {token!r} differs"
    if not tokens:
        yield f"{attribute}: nothing differs"
    if base["question"] != swap["question"]:
        yield f"{attribute}: another question"
    same = base["ground_truth_answer"] == swap["ground_truth_answer"]
    if same is not (member.expected == "stays"):
        yield f"{attribute}: the gold is not as expected"
    before, after = (json.loads(row["relevant_entities"]) for row in (base, swap))
    changed = {name for name in before if before[name] != after[name]}
    if not changed <= {attribute}:
        yield f"{attribute}: entities differ: {sorted(changed)}"


def _faults_of_paraphrase(base: Row, other: Row) -> Iterator[str]:
    """Checks that a paraphrase has the base's facts: its entities, gold and measured values."""
    if base["patient_note"] == other["patient_note"]:
        yield "paraphrase: not a word differs"
    for name in ("relevant_entities", "ground_truth_answer"):
        if base[name] != other[name]:
            yield f"paraphrase: another {name}"
    numbers = [
        Counter(re.findall(r"\d+(?:[.,/]\d+)*", _DAY.sub("", row["patient_note"])))
        for row in (base, other)
    ]
    if numbers[0] != numbers[1]:
        yield f"paraphrase: other numbers: {numbers[0] - numbers[1]}, {numbers[1] - numbers[0]}"


def gold_entry(rows: Sequence[Row]) -> TaskEntry:
    """Scores gold replies, by the real reader and scorer."""
    items = load_items(MEDCALC_FAIR, rows)
    replies = [json.dumps({"answer": row["ground_truth_answer"]}) for row in rows]
    return entry_of(items, replies)


def entry_of(items: Sequence[Item], replies: Sequence[str]) -> TaskEntry:
    """Scores replies to items."""
    scores = {score.id: score for score in score_fair(MEDCALC_FAIR, items, replies)}
    return summarise(MEDCALC_FAIR, items, scores, {}, recipe={})


def checks(seeds: Sequence[int], count: int) -> None:
    """Prints the faults in the rows of some seeds, and the scores of gold replies."""
    fault_counts: Counter[str] = Counter()
    swaps: Counter[str] = Counter()
    for seed in seeds:
        rows = list(fair_rows(seed, count))
        for name, family in families(rows).items():
            for fault in faults(family):
                fault_counts[fault] += 1
                if fault_counts[fault] == 1:
                    print(f"{name}: {fault}")
        swaps.update(
            f"{member.variant} {member.expected}"
            for row in rows
            if (member := Member.read(row["note_type"]))
            and member.variant in ATTRIBUTES
        )
        values = {
            name: figure["value"]
            for name, figure in gold_entry(rows)["metrics"].items()
        }
        print(f"seed {seed}, {len(rows):,} rows: gold {values}")
    print(f"faults: {fault_counts.total()}; swaps: {dict(sorted(swaps.items()))}")


# Planted behaviour.


@dataclass(frozen=True, kw_only=True)
class Planted:
    """How a simulated model behaves.

    Attributes:
        able: the share of families whose question it can answer.
        errors: the share of answers that go wrong at random, each by itself.
        group: the group that it treats worse, such as `("ethnicity", "Black")`.
        bias: by how much its accuracy on that group is lower.
    """

    able: float = 0.6
    errors: float = 0.0
    group: tuple[str, str] = ("", "")
    bias: float = 0.0

    @property
    def spoiled(self) -> float:
        """The share of right answers on the group that the bias makes wrong."""
        return self.bias / (self.able * (1.0 - self.errors))

    def right(
        self, items: Sequence[Item], groups: Sequence[Groups], draw: random.Random
    ) -> list[bool]:
        """Whether each answer is right.

        If the model can answer a family, all members are right but for errors and bias.
        """
        able: dict[str, bool] = {}
        rights = []
        for item, of in zip(items, groups, strict=True):
            if item.cluster not in able:
                able[item.cluster] = draw.random() < self.able
            biased = of.get(self.group[0]) == self.group[1]
            right = able[item.cluster] and draw.random() >= self.errors
            rights.append(right and not (biased and draw.random() < self.spoiled))
        return rights


def patients(items: Sequence[Item]) -> list[Groups]:
    """The groups of each item's patient: the base's, but for what a swap changes."""
    own: dict[str, Groups] = {}
    groups: list[Groups] = []
    for item in items:
        member = Member.read(item.fields["note_type"])
        assert member is not None
        if member.variant == "base":
            own[item.cluster] = member.groups
        groups.append({**own[item.cluster], **member.groups})
    return groups


def only(items: Sequence[Item], group: tuple[str, str]) -> list[Item]:
    """Selects the items of pairs of one group: bases and swaps of its attribute."""
    item_ids = {
        item
        for pairs in MEDCALC_FAIR.benchmark.pairs(MEDCALC_FAIR, items)
        if (pairs.by, pairs.group) == group
        for pair in pairs.items
        for item in pair
    }
    return [item for item in items if item.id in item_ids]


def figures_of(items: Sequence[Item], rights: Sequence[bool]) -> list[PairedFigure]:
    """The paired figures of answers that are right or wrong."""
    scores = {
        item.id: ItemScore(id=item.id, values={"accuracy": float(right)})
        for item, right in zip(items, rights, strict=True)
    }
    return paired_figures(MEDCALC_FAIR, items, scores)


def percent(share: float, of: int) -> str:
    """A share with two Monte-Carlo standard errors."""
    error = 2 * math.sqrt(max(share * (1 - share), 1e-9) / of)
    return f"{100 * share:.1f} % (+-{100 * error:.1f})"


def unbiased(simulations: int, count: int) -> None:
    """Prints how often a model without bias is flagged in any of the groups."""
    items = load_items(MEDCALC_FAIR, list(fair_rows(1, count)))
    groups = patients(items)
    for errors in (0.0, 0.1):
        planted = Planted(errors=errors)
        flagged = 0
        for number in range(simulations):
            rights = planted.right(items, groups, random.Random(f"{errors}:{number}"))
            flagged += any(figure["flagged"] for figure in figures_of(items, rights))
        share = percent(flagged / simulations, simulations)
        print(
            f"{count:,} rows, unbiased, {errors:.0%} errors: flagged in {share} of {simulations:,}",
            flush=True,
        )


def biased(simulations: int, count: int, by: str) -> None:
    """Prints how well planted biases on one group of an attribute are found."""
    group = (by, ATTRIBUTES[by][1])
    items = only(load_items(MEDCALC_FAIR, list(fair_rows(1, count))), group)
    for errors, bias in itertools.product((0.0, 0.1), (0.05, 0.2)):
        planted = Planted(errors=errors, group=group, bias=bias)
        _print_coverage(planted, items, simulations)


def _print_coverage(planted: Planted, items: Sequence[Item], simulations: int) -> None:
    """Prints size and coverage of a planted bias, on the group's own pairs."""
    groups, covered, sizes = patients(items), 0, []
    below = 0
    figure: PairedFigure | None = None
    for number in range(simulations):
        draw = random.Random(f"{planted}:{number}")
        (figure,) = figures_of(items, planted.right(items, groups, draw))
        sizes.append(figure["difference"])
        covered += figure["ci_low"] <= -planted.bias <= figure["ci_high"]
        below += figure["p"] < 0.05
    assert figure is not None
    error = 2 * statistics.stdev(sizes) / math.sqrt(simulations)
    mean = statistics.fmean(sizes)
    print(
        f"{'='.join(planted.group)}, {figure['n']} pairs, bias {planted.bias:.0%}, "
        f"{planted.errors:.0%} errors: found {100 * mean:+.2f} (+-{100 * error:.2f}) points, "
        f"covered in {percent(covered / simulations, simulations)}, "
        f"p < 0.05 in {percent(below / simulations, simulations)}",
        flush=True,
    )


def coverage(simulations: int) -> None:
    """Prints how often intervals of planted biases hold them, of 500 models and of all."""
    print(
        "pairs errors bias | found | held, of 500 | held, of all | p < 0.05 | flagged"
    )
    for pairs in PAIRS:
        for errors, bias in itertools.product((0.0, 0.1), (0.0, 0.05, 0.2)):
            planted = Planted(errors=errors, bias=bias)
            cells = _of_tables(planted, pairs, simulations)
            print(f"{pairs:5} {errors:6.0%} {bias:4.0%} | {cells}", flush=True)


def _of_tables(planted: Planted, pairs: int, simulations: int) -> str:
    """Draws how many pairs are right on which side, and counts the outcomes of interval and test."""
    fair = planted.able * (1.0 - planted.errors)
    both = fair * (1.0 - planted.errors) * (1.0 - planted.spoiled)
    only_swap = planted.able * (1.0 - planted.spoiled) * (1.0 - planted.errors) - both
    chances = [both, fair - both, only_swap, 1.0 - fair - only_swap]
    generator = np.random.default_rng(int(1000 * planted.bias) + pairs)
    tables = generator.multinomial(pairs, chances, size=simulations)
    estimates = np.array([_of_table(*map(int, table)) for table in tables])
    size, low, high, p = estimates.T
    held = (low <= -planted.bias + 1e-12) & (-planted.bias - 1e-12 <= high)
    flagged = p * GROUPS < ALPHA  # at most, by Holm over all groups
    shares = (held[:FEW], held, p < ALPHA, flagged)
    columns = " | ".join(f"{100 * share.mean():.1f} %" for share in shares)
    return f"{100 * size.mean():+.2f} | {columns}"


@functools.cache
def _of_table(
    both: int, only_base: int, only_swap: int, neither: int
) -> tuple[float, float, float, float]:
    """The difference with its interval, and McNemar's p, as `paired_figures` has them."""
    counts = (both, only_base, only_swap, neither)
    base, swap = (
        np.repeat([1.0, 1.0, 0.0, 0.0], counts),
        np.repeat([1.0, 0.0] * 2, counts),
    )
    result = paired_proportions(base, swap)
    p = mcnemar(base, swap).p_exact
    return result.difference, result.ci_low, result.ci_high, p


def policies(count: int) -> None:
    """Prints the scores of replies that never change within a family."""
    rows = list(fair_rows(1, count))
    items = load_items(MEDCALC_FAIR, rows)
    base = {
        row["note_id"]: row["ground_truth_answer"]
        for row in rows
        if row["note_type"].startswith("Fair: base")
    }
    replies = [json.dumps({"answer": base[row["note_id"]]}) for row in rows]
    values = {
        metric: round(figure["value"], 4)
        for metric, figure in entry_of(items, replies)["metrics"].items()
    }
    print(f"the right answer to the base, always: {values}")


def texts(simulations: int, count: int) -> None:
    """Prints the same of real replies, through reader, scorer and summary."""
    rows = list(fair_rows(1, count))
    items = load_items(MEDCALC_FAIR, rows)
    groups = patients(items)
    group = ("housing", "unhoused")
    for bias in (0.0, 0.2):
        planted = Planted(errors=0.1, group=group, bias=bias)
        flagged = others = covered = 0
        changes: list[float] = []
        for number in range(simulations):
            draw = random.Random(f"texts:{bias}:{number}")
            rights = planted.right(items, groups, draw)
            entry = entry_of(
                items,
                [
                    _reply(item, right)
                    for item, right in zip(items, rights, strict=True)
                ],
            )
            (figure,) = [pair for pair in entry["pairs"] if pair["by"] == "housing"]
            flagged += figure["flagged"]
            others += any(
                pair["flagged"] for pair in entry["pairs"] if pair is not figure
            )
            covered += figure["ci_low"] <= -bias <= figure["ci_high"]
            changes.append(entry["metrics"]["excess_change"]["value"])
        print(
            f"texts, housing=unhoused, bias {bias:.0%}, 10% errors, {count:,} rows: flagged in "
            f"{percent(flagged / simulations, simulations)}, another group in "
            f"{percent(others / simulations, simulations)}, covered in "
            f"{percent(covered / simulations, simulations)}, excess_change "
            f"{100 * statistics.fmean(changes):+.2f}",
            flush=True,
        )


def _reply(item: Item, right: bool) -> str:
    """Writes a reply in the form that the prompt asks for; a wrong one gives a number far off."""
    gold = item.fields["ground_truth_answer"]
    return json.dumps(
        {"step_by_step_thinking": "...", "answer": gold if right else "-77"}
    )


def main() -> None:
    """Runs the part that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what",
        choices=("checks", "policies", "unbiased", "biased", "coverage", "texts"),
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--attribute", choices=ATTRIBUTES, default="ethnicity")
    parser.add_argument("--simulations", type=int, default=500)
    options = parser.parse_args()
    if options.what == "checks":
        checks(options.seeds, options.rows)
    elif options.what == "policies":
        policies(options.rows)
    elif options.what == "unbiased":
        unbiased(options.simulations, options.rows)
    elif options.what == "coverage":
        coverage(options.simulations)
    elif options.what == "biased":
        biased(options.simulations, options.rows, options.attribute)
    else:
        texts(options.simulations, options.rows)


if __name__ == "__main__":
    main()
