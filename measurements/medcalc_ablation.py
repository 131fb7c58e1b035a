"""What each rule of MedCalc-Bench's reader is worth: the decisions that change without it.

    python -m measurements.medcalc_ablation                 each pattern of `rules.RULES`
    python -m measurements.medcalc_ablation --rules         each rule with all its patterns
    python -m measurements.medcalc_ablation --source test_data_v1.csv    with the golds' explanations

Decides every reply of `medcalc_statements` (five authors) and `medcalc_reading` (four)
with all rules, and then those replies on which a pattern holds without that pattern.
Prints syntax-tree nodes, right replies lost and won, wrong replies accepted and no longer
accepted, and others that are read differently.
"""

from __future__ import annotations

import argparse
import ast
import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from unittest import mock

from measurements import medcalc_reading, medcalc_statements
from medical_tasks.benchmarks.medcalc_bench.gold import Decision
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.scoring.numbers import rules

OUTCOMES: Final = (
    "right lost",
    "right won",
    "wrong accepted",
    "wrong shed",
    "read otherwise",
)


class Reply(NamedTuple):
    """A reply with its gold, and whether the reply states it."""

    text: str
    calculator_id: int
    gold: str
    lower: str
    upper: str
    right: bool


class PatternPosition(NamedTuple):
    """The position of a pattern: its rule, and its index in the rule."""

    rule: int
    pattern: int


def replies(source: Path | None) -> Iterator[Reply]:
    """Lists all replies of both scripts' forms, and the golds' explanations from the authors' CSV."""
    for statement_author in medcalc_statements.AUTHORS:
        for case in medcalc_statements.cases(author=statement_author):
            limits = (case.gold, case.lower, case.upper)
            right = case.side == "right"
            yield Reply(case.reply, case.calculator_id, *limits, right)

    for author in medcalc_reading.FORMS:
        for question in medcalc_reading.cases():
            limits = (question.gold, question.lower, question.upper)
            for right in (True, False):
                for _, text in medcalc_reading.replies(question, author, right=right):
                    yield Reply(text, question.calculator_id, *limits, right)

    if source is not None:
        with source.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                yield Reply(
                    text=row["Ground Truth Explanation"],
                    calculator_id=int(row["Calculator ID"]),
                    gold=row["Ground Truth Answer"],
                    lower=row["Lower Limit"],
                    upper=row["Upper Limit"],
                    right=True,
                )


class Ablation:
    """Replaces `reason_of`: leaves patterns out, and records which ones match."""

    def __init__(self) -> None:
        self.left_out: frozenset[PatternPosition] = frozenset()
        self.holding: set[PatternPosition] = set()

    def reason_of(self, front: str, behind: str) -> str:
        """Does what `rules.reason_of` does, without the patterns that are left out."""
        sentence = f"{front}{rules.THIS}{behind}"
        for number, rule in enumerate(rules.RULES):
            for index, pattern in enumerate(rule.patterns):
                position = PatternPosition(number, index)
                if position not in self.left_out and pattern.search(sentence):
                    self.holding.add(position)
                    return rule.reason
        return ""


def decision_on(reply: Reply) -> Decision:
    """Decides a reply with the current patterns."""
    return decide(
        reply.text,
        calculator_id=reply.calculator_id,
        gold=reply.gold,
        lower=reply.lower,
        upper=reply.upper,
    )


def outcome(reply: Reply, before: Decision, after: Decision) -> str:
    """Names the one of `OUTCOMES` that a change of decision is."""
    if before.correct == after.correct:
        return "read otherwise"
    if reply.right:
        return "right won" if after.correct else "right lost"
    return "wrong accepted" if after.correct else "wrong shed"


def pattern_nodes() -> dict[PatternPosition, int]:
    """Counts the syntax-tree nodes of each pattern in `RULES`."""
    tree = ast.parse(Path(rules.__file__).read_text(encoding="utf-8"))
    value = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == "RULES"
    )
    assert isinstance(value, ast.Tuple)
    nodes: dict[PatternPosition, int] = {}
    for number, rule in enumerate(value.elts):
        assert isinstance(rule, ast.Call)
        patterns = rule.args[2]
        assert isinstance(patterns, ast.Call)
        for index, pattern in enumerate(patterns.args):
            nodes[PatternPosition(number, index)] = sum(1 for _ in ast.walk(pattern))
    return nodes


def table(sample: Sequence[Reply], *, whole_rules: bool) -> str:
    """Writes one line for each pattern, or for each rule."""
    ablation = Ablation()
    mock.patch.object(rules, "reason_of", ablation.reason_of).start()
    before: list[Decision] = []
    used_by: defaultdict[PatternPosition, list[int]] = defaultdict(list)
    for number, reply in enumerate(sample):
        ablation.holding = set()
        before.append(decision_on(reply))
        for position in ablation.holding:
            used_by[position].append(number)

    nodes = pattern_nodes()
    groups: defaultdict[int | PatternPosition, list[PatternPosition]] = defaultdict(
        list
    )
    for position in nodes:
        groups[position.rule if whole_rules else position].append(position)

    lines = [f"| rule | nodes | holds | {' | '.join(OUTCOMES)} |", "|---" * 8 + "|"]
    for positions in groups.values():
        ablation.left_out = frozenset(positions)
        numbers = {number for position in positions for number in used_by[position]}
        changes: Counter[str] = Counter()
        for number in sorted(numbers):
            after = decision_on(sample[number])
            if after != before[number]:
                changes[outcome(sample[number], before[number], after)] += 1

        rule = rules.RULES[positions[0].rule]
        name = f"{rule.reason}: {rule.law}"
        if not whole_rules:
            name += f" ({positions[0].pattern + 1})"
        cost = sum(nodes[position] for position in positions)
        counts = " | ".join(f"{changes[kind]:,}" for kind in OUTCOMES)
        lines.append(f"| {name} | {cost} | {len(numbers):,} | {counts} |")

    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rules", action="store_true", help="leave out whole rules")
    parser.add_argument("--source", type=Path, help="the authors' test_data.csv")
    options = parser.parse_args()
    sample = list(dict.fromkeys(replies(options.source)))
    sys.stdout.write(f"{len(sample):,} replies\n\n")
    sys.stdout.write(table(sample, whole_rules=options.rules) + "\n")


if __name__ == "__main__":
    main()
