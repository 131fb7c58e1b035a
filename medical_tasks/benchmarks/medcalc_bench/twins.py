"""Scores twins: notices beside answers, and each reply against the model's own reply to its family's base (`docs/medcalc_fresh.md`).

A notice is `missing: NAME` or `contradiction: NAME`; its name is compared word by word with the names of the calculators' inputs.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import read_json
from medical_tasks.benchmarks.medcalc_bench.gold import AnswerKind, answer_kind
from medical_tasks.benchmarks.medcalc_bench.reading import final_words, read_answer
from medical_tasks.benchmarks.medcalc_bench.scoring import decided, subject_of
from medical_tasks.benchmarks.medcalc_bench.statements import Statement
from medical_tasks.calculators import find
from medical_tasks.spec import Item, ItemScore

__all__ = ["score_twins"]

_TEXTS: Final = read_json("twins.json")
_AMOUNTS: Final = read_json("amounts.json")["amounts"]
_FILLERS: Final = frozenset(_TEXTS["fillers"].split())
_NOTICE: Final = re.compile(
    r"[\s\"'*_`>-]*(?:(?:the\s+)?(?:final\s+)?answer(?:\s+is)?[\s:*_]*)?"
    r"(?P<kind>missing|contradict(?:ion|ory|ing))(?:\s+(?:value|data|information)s?)?[\s*_]*[:=–-][\s*_]*(?P<names>\S.*)",
    re.IGNORECASE,
)
_CHANGED: Final = frozenset({"threshold", "missing", "contradiction"})
_TOLERANCE: Final = 0.05
"""Two measurements are the same reply within what the benchmark allows an answer."""


class _Notice(NamedTuple):
    kind: str  # `missing` or `contradiction`
    names: frozenset[frozenset[str]]  # what is named, each as its words


class _Reply(NamedTuple):
    notice: _Notice | None
    statement: Statement

    def same(self, other: _Reply, kind: AnswerKind) -> bool:
        """Whether two replies of a model say the same."""
        if self.notice or other.notice:
            return self.notice == other.notice
        ours, theirs = ([each.value for each in reply.statement.stated] for reply in (self, other))
        if kind != "decimal" or len(ours) != len(theirs):
            return ours == theirs
        return all(math.isclose(a, b, rel_tol=_TOLERANCE) for a, b in zip(ours, theirs, strict=True))  # type: ignore[arg-type]


def score_twins(items: Sequence[Item], responses: Sequence[str]) -> list[ItemScore]:
    """Scores replies; a member whose base is not among the items has no value of what compares the two, and a note says so."""
    kinds = [answer_kind(int(item.fields["calculator_id"]), item.fields.get("output_type")) for item in items]
    replies = [_read(item, text, kind) for item, text, kind in zip(items, responses, kinds, strict=True)]
    bases = {item.cluster: reply for item, reply in zip(items, replies, strict=True) if _member(item) == "base"}
    return [
        _score(item, reply, kind, bases.get(item.cluster))
        for item, reply, kind in zip(items, replies, kinds, strict=True)
    ]


def _member(item: Item) -> str:
    return str(item.groups["kind"])


def _score(item: Item, reply: _Reply, kind: AnswerKind, base: _Reply | None) -> ItemScore:
    row, member = item.fields, _member(item)
    gold = _notice(row["ground_truth_answer"])
    said = "" if reply.notice is None else f"{reply.notice.kind}: {_listed(reply.notice)}"
    if gold is not None:
        known = gold.names | _known(int(row["calculator_id"]), row["ground_truth_answer"].partition(": ")[2])
        correct = reply.notice is not None and reply.notice.kind == gold.kind and reply.notice.names <= known
        parsed = said or " or ".join(str(each.value) for each in reply.statement.stated)
        why = f"{parsed or 'no notice'} is {'' if correct else 'not '}{row['ground_truth_answer']}"
        notes: tuple[str, ...] = ()
    elif reply.notice is not None:
        correct, parsed, why, notes = False, said, "a notice, where the note gives an answer", ()
    else:
        limits = {"lower": row["lower_limit"], "upper": row["upper_limit"]}
        gold_text = row["ground_truth_answer"]
        decision = decided(reply.statement, kind, int(row["calculator_id"]), gold=gold_text, **limits)
        correct, parsed, why, notes = decision.correct, decision.parsed, decision.why, decision.notes
    values = dict.fromkeys(("necessary_update", "unwarranted_change", "answer_without_evidence"), math.nan)
    values["accuracy"] = float(correct)
    if member == "missing":
        values["answer_without_evidence"] = float(reply.notice is None and bool(reply.statement.stated))
    if member != "base" and base is None:
        notes += ("no_base",)
    elif member in _CHANGED:
        values["necessary_update"] = float(correct and not reply.same(base, kind))  # type: ignore[arg-type]
    elif member != "base":
        values["unwarranted_change"] = float(not reply.same(base, kind))  # type: ignore[arg-type]
    return ItemScore(id=item.id, values=values, parsed=parsed, why=why, notes=notes)


def _read(item: Item, response: str, kind: AnswerKind) -> _Reply:
    return _Reply(
        _notice(final_words(response)), read_answer(response, subject_of(int(item.fields["calculator_id"]), kind))
    )


def _notice(text: str) -> _Notice | None:
    found = _NOTICE.match(str(text))
    if found is None:
        return None
    return _Notice("missing" if found["kind"].lower() == "missing" else "contradiction", _names(found["names"]))


def _listed(notice: _Notice) -> str:
    return ", ".join(sorted(" ".join(sorted(words)) for words in notice.names))


def _names(text: str) -> frozenset[frozenset[str]]:
    """The names of a list, up to where a remark begins; what stands in brackets says the same again."""
    text = re.split(r"[.;\n}\"]|\s[–—-]\s|\b(?:because|since|which|as)\b", re.sub(r"\([^()]*\)", " ", text))[0]
    parts = re.split(r",|/|\band\b|\bor\b|&", text)
    return frozenset(words for part in parts if (words := _words(part)))


def _words(name: str) -> frozenset[str]:
    """The words of a name that tell it from others; all of them where it has no such word."""
    plain = unicodedata.normalize("NFKC", name).casefold().replace("'s", "").replace("’s", "")
    words = [word[:-1] if len(word) > 4 and word.endswith("s") else word for word in re.findall(r"\w+", plain)]
    return frozenset(word for word in words if word not in _FILLERS) or frozenset(words)


@cache
def _known(calculator_id: int, name: str) -> frozenset[frozenset[str]]:
    """The names of one of a calculator's inputs: the dataset's, the calculators', the notes' own, and a few more."""
    plain, _, bracket = name.partition(" (")
    names = {name, plain, bracket.rstrip(")"), *_TEXTS["names"].get(name, ()), *_TEXTS["names"].get(plain, ())}
    for item in find(calculator_id).inputs:
        if item.name in (name, plain):
            names |= {item.name, item.key.replace("_", " "), *item.aliases}
    known = {_words(each) for each in names if each}
    for amount in _AMOUNTS.values():
        forms = [each for form in amount["forms"] for part in ("names", "short") for each in form.get(part, ())]
        own = {_words(text) for each in (*amount["names"], *amount["short"], *forms) for text in _both(each)}
        known |= own if {_words(each) for each in amount["names"]} & known else set()
    return frozenset(known)


def _both(name: str) -> tuple[str, ...]:
    plain, _, bracket = name.partition(" (")
    return (plain, bracket.rstrip(")")) if bracket else (plain,)
