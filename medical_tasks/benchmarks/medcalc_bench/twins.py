"""Scores twins: notices beside answers, each reply beside the model's own reply to its family's base (`docs/medcalc_fresh.md`).

A notice is `missing: NAME` or `contradiction: NAME`; names are compared word by word
with those of the calculator's inputs.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.gold import AnswerKind, answer_kind
from medical_tasks.benchmarks.medcalc_bench.scoring import decided
from medical_tasks.benchmarks.medcalc_bench.subjects import subject_of
from medical_tasks.calculators import find
from medical_tasks.data.task_data import check_lengths, check_scoring_args
from medical_tasks.io.files import packaged
from medical_tasks.io.patterns import Pattern
from medical_tasks.scoring.numbers.reading import final_words, read_answer
from medical_tasks.scoring.numbers.statements import Statement
from medical_tasks.spec import Item, ItemScore, TaskSpec

__all__ = ["score_twins"]

TWIN_TEXTS: Final = packaged(__file__, "twins.json")
_FILLERS: Final = frozenset(TWIN_TEXTS["fillers"].split())
_ROUTES: Final = {
    word: route
    for route, words in TWIN_TEXTS["routes"].items()
    for word in (route, *words)
}
_NOTICE: Final = Pattern(TWIN_TEXTS["notice"], re.IGNORECASE)
_REMARK: Final = Pattern(TWIN_TEXTS["remark"])
_VALUE: Final = Pattern(TWIN_TEXTS["value"].format_map(TWIN_TEXTS), re.IGNORECASE)
_COMPARED: Final = ("necessary_update", "unwarranted_change")
NO_BASE: Final = "no reply to the base"
# two measurements say the same within what the benchmark allows an answer
_SAME: Final = 0.05

# each as the words that tell it from others
Names: TypeAlias = frozenset[frozenset[str]]


class _Reply(NamedTuple):
    """A reply to a member, as it was read.

    Attributes:
        number: the calculator's id.
        kind: the form of its answer.
        notice: `missing` or `contradiction` with the names it gives; None for a reply
            that gives an answer.
        statement: the answer that it states.
    """

    number: int  # of the calculator
    kind: AnswerKind
    notice: tuple[str, Names] | None
    statement: Statement

    def same(self, other: _Reply) -> bool:
        """Whether two replies of a model say the same."""
        ours, theirs = (
            [quantity.value for quantity in reply.statement.stated]
            for reply in (self, other)
        )
        if (
            self.notice
            or other.notice
            or self.kind != "decimal"
            or len(ours) != len(theirs)
        ):
            return self.notice == other.notice and (
                self.notice is not None or ours == theirs
            )

        pairs: Any = zip(ours, theirs, strict=True)
        return all(
            math.isclose(our_value, their_value, rel_tol=_SAME)
            for our_value, their_value in pairs
        )


def score_twins(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    *,
    arguments: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores replies to members of families.

    Where the reply to a member's base is not among them, what compares the two is
    undecided, and a note says so. Arguments and errors are those of
    `scoring.score_items`.
    """
    check_scoring_args(task, arguments or {})
    check_lengths(task, items, responses)
    replies = {
        item.id: _read(item, text) for item, text in zip(items, responses, strict=True)
    }
    bases = {
        item.cluster: replies[item.id]
        for item in items
        if item.groups["kind"] == "base"
    }

    return [_score(item, replies[item.id], bases.get(item.cluster)) for item in items]


def _score(item: Item, reply: _Reply, base: _Reply | None) -> ItemScore:
    """Scores a reply beside the model's own reply to the family's base.

    `accuracy`: the answer within the row's limits, or the notice of the right kind that
    names the subject and nothing else. `necessary_update`, of members whose answer
    moves: right, and not what was said of the base. `unwarranted_change`, of members
    whose answer stays: not what was said of the base, be that right or wrong.
    `answer_without_evidence`, where the subject is missing: a value nevertheless.

    Example: the base's answer is 14 and the model says 15 to it. At the member `unit`
    15 is wrong, but no unwarranted change; at `threshold`, whose answer is 20, a 15
    again is wrong, and `necessary_update` is 0.
    """
    row, member, text = (
        item.fields,
        item.groups["kind"],
        str(item.fields["ground_truth_answer"]),
    )
    gold, notes, (kind, names) = (
        _notice(text),
        list[str](),
        reply.notice or ("", frozenset()),
    )
    parsed = (
        f"{kind}: {', '.join(map(' '.join, sorted(map(sorted, names))))}"
        if kind
        else ""
    )
    if gold is None and reply.notice is None:
        limits = {"lower": row["lower_limit"], "upper": row["upper_limit"]}
        decision = decided(
            reply.statement, reply.kind, reply.number, gold=text, **limits
        )
        correct, parsed, why = decision.correct, decision.parsed, decision.why
        notes += decision.notes
    else:
        input_names = (
            gold[1] | _input_names(reply.number, text.partition(": ")[2])
            if gold
            else frozenset()
        )
        correct = bool(gold and names) and kind == gold[0] and names <= input_names  # type: ignore[index]
        parsed = parsed or " or ".join(
            str(quantity.value) for quantity in reply.statement.stated
        )
        why = f"{parsed or 'nothing'} is {'' if correct else 'not '}{text}"

    values = {
        "accuracy": float(correct),
        **dict.fromkeys(_COMPARED, math.nan),
        "answer_without_evidence": math.nan,
    }
    if member == "missing":
        values["answer_without_evidence"] = float(
            reply.notice is None and bool(reply.statement.stated)
        )

    update, unscored = member in ("threshold", "missing", "contradiction"), None
    if base is None:
        del values[_COMPARED[not update]]  # open, not without a denominator
        notes, unscored = [*notes, "no_base"], NO_BASE
    elif member != "base":
        same = reply.same(base)
        values[_COMPARED[not update]] = float(
            correct and not same if update else not same
        )

    return ItemScore(
        id=item.id,
        values=values,
        parsed=parsed,
        why=why,
        notes=tuple(notes),
        unscored=unscored,
    )


def _read(item: Item, response: str) -> _Reply:
    number = int(item.fields["calculator_id"])
    kind = answer_kind(number, item.fields.get("output_type"))
    return _Reply(
        number,
        kind,
        _notice(final_words(response)),
        read_answer(response, subject_of(number, kind)),
    )


def _notice(text: str) -> tuple[str, Names] | None:
    match = _NOTICE.match(text)
    return match and (
        "missing" if match["kind"].lower() == "missing" else "contradiction",
        _names(match["names"]),
    )


def _names(text: str) -> Names:
    """The names of a list without their values, up to where a remark begins.

    What stands in brackets says the same again.
    """
    plain = _VALUE.sub(" ", re.sub(r"\([^()]*\)", " ", text))
    parts = re.split(r",|/|\band\b|\bor\b|&", _REMARK.split(plain)[0])
    return frozenset(words for name in parts if (words := _words(name)))


def _words(name: str) -> frozenset[str]:
    """The words of a name that tell it from others; all of them where it has no such word."""
    plain = re.sub("['’]s ", " ", unicodedata.normalize("NFKC", name).casefold())
    words = {
        word: _ROUTES.get(word) or re.sub("(?<=....)s$", "", word)
        for word in re.findall(r"\w+", plain)
    }
    return frozenset(
        stem for word, stem in words.items() if not _FILLERS & {word, stem}
    ) or frozenset(words.values())


@cache
def _input_names(number: int, name: str) -> Names:
    """The names by which a reply may call a calculator's input, each as a set of words.

    Example: creatinine may be `creatinine`, `creat`, `Cr` or `SCr`. Each also counts
    with a route of administration: a drug with its own route, another input with
    either, where it says no more.
    """
    plain, _, bracket = name.partition(" (")
    names = {
        plain,
        bracket.rstrip(")"),
        *TWIN_TEXTS["names"].get(name, ()),
        *TWIN_TEXTS["names"].get(plain, ()),
    }
    for item in find(number).inputs:
        if item.name in (name, plain):
            names |= {item.key.replace("_", " "), *item.aliases}

    word_sets = {_words(name_text) for name_text in names if name_text}
    routes = frozenset(_ROUTES.values())
    bases = {words - routes for words in word_sets}
    # a drug has one, elsewhere either says no more
    own = routes & {word for words in word_sets for word in words} or routes

    return frozenset(bases | {base | {route} for base in bases for route in own})
