"""Reads what a passage states as the answer: a value, none, or "unclear".

A passage is masked first: what is asked for becomes `§` and each quantity `¤`, so that
the rules (`rules.py`) are about words alone. Each quantity then is the answer as far as
no rule makes it something else, and is given more or less plainly: by the name of what
is asked, as a result, as a value of something, or in passing. The last one of the
plainest sentences is what is stated; where a rule makes a plainer one doubtful ("at
least 12", "12 if he smokes"), it is unclear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from medical_tasks.io.patterns import Pattern
from medical_tasks.scoring.numbers import rules
from medical_tasks.scoring.numbers.expression import formula_value, inside_str
from medical_tasks.scoring.numbers.quantities import (
    NO_UNIT,
    Quantity,
    in_digits,
    plain,
    unit_of,
)
from medical_tasks.scoring.numbers.rules import NAME, THIS, VALUE
from medical_tasks.scoring.numbers.subject import Subject

__all__ = ["Statement", "read_statement"]

Alternatives: TypeAlias = tuple[Quantity, ...]
"""Quantities of which a passage leaves open which: one, mostly."""

_REACH: Final = 200
"""How much of a sentence is looked at on each side of a quantity, in characters."""
# How plainly a quantity is given; less where its unit is of another dimension.
BY_NAME: Final = 4
RESULT: Final = 3
OF_SOMETHING: Final = 2
IN_PASSING: Final = 1

_NEAR: Final = 60
"""How much in front of a quantity says what it is of."""


class Statement(NamedTuple):
    """What a passage states.

    Attributes:
        stated: the answer; several where the passage leaves open which ("12 or 14").
        why: where it states none, what its last quantity is instead.
        unclear: whether a person could not tell either what the answer is.
        settled: whether the passage is about the answer, so that no other place is
            looked at.
        tier: how plainly the answer is given; `BY_NAME` and `RESULT` only in words, so that
            no sentence before can matter, but a refusal in front of a `RESULT`.
    """

    stated: Alternatives = ()
    why: str = ""
    unclear: bool = False
    settled: bool = False
    tier: int = IN_PASSING

    @property
    def not_computable(self) -> bool:
        """Whether it says that there is no answer: "cannot be determined", "N/A"."""
        return not self.stated and self.why == rules.REFUSED


def read_statement(text: str, subject: Subject, *, named: bool = False) -> Statement:
    """Reads what a passage states as the answer; `named` where it is introduced as the answer.

    Example:
        Of "The factor is 0.85. This gives a creatinine clearance of 37.7 mL/min." 37.7
        is stated: the sentences are read as "The factor is ▣." and "This gives a § of
        ▣."
    """
    if subject.numeric and (number := _worked_out(text)) is not None:
        return number
    text = text.translate(_NO_SIGNS)
    for sign, pattern, replacement in _PREPARED:
        if sign in text:
            text = pattern.sub(replacement, text)

    text = plain(text)
    text = subject.masked(text, NAME)
    text = in_digits(_CAPITALS.sub("not available", text))

    return _read(f"{NAME}: {text}" if named else text, subject)


def _worked_out(text: str) -> Statement | None:
    """A bare number, or the `str(<arithmetic>)` that the authors' prompt asks for."""
    if _BARE.fullmatch(text):
        return Statement((Quantity(float(text), 0, len(text)),), settled=True)

    inner = inside_str(text)
    if not inner:
        return None

    value = formula_value(inner)
    if value is not None:
        return Statement((Quantity(value, 0, len(text)),), settled=True)
    if rules.ARITHMETIC.search(inner):
        return Statement(why=rules.OPERAND, settled=True)

    return None


_CAPITALS: Final = re.compile(r"N(?<!\wN)\.?A\b\.?(?!\s*=)")
"""What is another word in small letters: sodium."""
_BARE: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_NO_SIGNS: Final = str.maketrans(dict.fromkeys(NAME + THIS + VALUE, " "))
_SOURCE: Final = (
    r"(?i)\b(?:unless|if|provided(?:\s+that)?|assuming(?:\s+that)?)\s+(?:i|(?:the|my|these|this)\s+(?:\w+\s+)?\w+)"
    r"\s*(?:'?m|\s+am|\s+is|\s+are)\s+(?:not\s+|all\s+)?"
)
_PREPARED: Final = tuple(
    # The sign to look for first, the pattern, and what stands for it.
    (sign, Pattern(pattern), text)
    for sign, pattern, text in (
        # A citation: "25.2 [1]".
        (
            "[",
            r"(?<=[\w.%)])(?<!\bis)(?<!\bof)\s?\[\s?[0-9]{1,3}\s?\]|^\s{0,4}\[[0-9]{1,3}\](?=\s\S)",
            " ",
        ),
        ("'s", r"(?i)'s\b(?:(?<=\bit's)|(?<=\bthat's)|(?<=\bhere's)|(?<=\bthis's))", " is"),
        ("_", "(?<=[A-Za-z])_(?=[A-Za-z])", " "),
        # Turns of phrase that hold a word of denial or condition and deny nothing of
        # the answer.
        (
            "doubt",
            r"(?i)\b(?:(?:there\s+is\s+|i\s+have\s+)?(?:no|little)(?:\s+reason\s+to)?"
            r"|without(?:\s+any)?)\s+doubt(?:\s+that)?\b",
            " ",
        ),
        ("question", r"(?i)\b(?:there\s+is\s+|i\s+have\s+)?no\s+question(?:\s+that)?\b", " "),
        ("othing", r"(?i)\bnothing\s+(?:other\s+than|but)\b", " "),
        ("other", r"(?i)\bnone\s+other\s+than\b", " "),
        ("anything", r"(?i)\b(?:cannot|can't)\s+be\s+anything\s+other\s+than\b", "is"),
        ("fact", r"(?i),?\s+in\s+fact\b,?", " "),
        (
            "my",
            r"(?i)\bif\s+my\s+(?:arithmetic|calculation|reading|count|maths?)\s+[^,.]{1,30}\b",
            " ",
        ),
        ("missing", r"(?i)\b(?:if|unless)\s+i(?:'m|\s+am)\s+missing\s+\w+", " "),
        ("only", r"(?i)\bnot\s+only\b", " "),
        ("mistaken", rf"{_SOURCE}mistaken\b", " "),
        ("wrong", rf"{_SOURCE}wrong\b", " "),
        ("correct", rf"{_SOURCE}correct\b", " "),
        ("right", rf"{_SOURCE}right\b", " "),
        ("have", r"(?i)\b(?:if|unless)\s+i\s+have\s+[^,.]{1,60}\b", " "),
        ("not", r"(?i)\bi(?:'m|\s+am)\s+not\s+(?:100\s*%|a\s+\w+|entirely|completely|fully)[^,.;]{0,40}\b", " "),
    )
)  # fmt: skip


# ---- Quantities in their sentences ----


@dataclass(slots=True)
class _Mention:
    """A quantity, or alternatives, in its sentence.

    Attributes:
        front: its sentence up to it, `_REACH` characters of it.
        behind: its sentence after it, as much of it.
        sentence: which sentence it stands in.
        reason: why it is not the answer; "" where it may be.
        tier: how plainly it is given.
        refused: whether a refusal follows it, so that only a plain value counts.
    """

    values: Alternatives
    front: str
    behind: str
    sentence: int
    reason: str = ""
    tier: int = IN_PASSING
    refused: bool = False

    @property
    def lead(self) -> str:
        """The text in front of it, from the quantity before or the sentence's beginning on."""
        return self.front.rpartition(VALUE)[2]

    @property
    def opens(self) -> bool:
        """Whether no quantity stands before it in its sentence."""
        return VALUE not in self.front


def _read(text: str, subject: Subject) -> Statement:
    """Reads a plain text in which what is asked for is `§`.

    The order of the rules matters. What was taken back, the options not chosen and what
    stands beside a refusal are marked first. Then values are looked at from the end on:
    the last sentence with a plain value decides, within it the plainest, and what
    stands before is not looked at. Without any plain value a lone one may do
    (`_unplain`).
    """
    masked, groups = _masked(_without_asides(text, subject), subject)
    refusals = rules.refusals(masked)
    if not groups:
        return Statement(why=rules.REFUSED if refusals else "", settled=bool(refusals))

    mentions = _mentions(masked, groups)
    _take_back(masked, mentions)
    _leave_options(masked, mentions)
    for refusal in refusals:
        _refuse(masked, refusal, mentions)

    # From the end on: what stands before a sentence that plainly states a value decides
    # nothing.
    plain: _Mention | None = None
    for at in reversed(range(len(mentions))):
        mention = mentions[at]
        if plain is not None and mention.sentence != plain.sentence:
            break

        mention.tier = _tier(mention, mentions[at - 1] if at else None, subject)
        if plain is None or mention.tier > plain.tier:
            mention.reason = mention.reason or _reason(mention, subject)
            plain = mention if mention.tier >= RESULT and not mention.reason else plain

    if plain is None:
        return _unplain(mentions)

    tier = plain.tier if any(map(str.isalpha, plain.front)) else IN_PASSING
    return Statement(_total(plain.values), settled=True, tier=tier)


def _without_asides(text: str, subject: Subject) -> str:
    """Leaves out brackets beside a value: "3 (range 0-10)", but not "0.412 s (412 ms)"."""
    for aside in reversed(list(rules.ASIDE.finditer(text))):
        inside = subject.scan(aside[0])
        if not inside or rules.KEPT_ASIDE.match(aside[0].lower()):
            continue

        reach = text[max(0, aside.start() - _REACH) : aside.start()]
        front = rules.SENTENCE_END.split(reach.lower())[-1]
        before = subject.scan(front)
        if not before:
            continue

        same = _is_same_again(before[-1], inside[0]) or rules.INTRODUCED.search(front)
        around = (
            text[aside.start() - 2 : aside.start()]
            + text[aside.end() : aside.end() + 2]
        )
        if not same and not rules.ARITHMETIC.search(around):
            text = f"{text[: aside.start()]} {text[aside.end() :]}"

    return text


def _masked(text: str, subject: Subject) -> tuple[str, list[Alternatives]]:
    """The text in small letters with `¤` for each quantity; what belongs together is one.

    Example: "BMI 24.7, BSA 1.9" becomes "bmi ¤, bsa ¤" with a group for each number,
        and "2-3 points" is one sign with two alternatives.
    """
    quantities = subject.scan(text)
    text = text.lower()
    ends = [0, *(quantity.end for quantity in quantities)]
    starts = [*(quantity.start for quantity in quantities), len(text)]
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    groups: list[Alternatives] = [(quantity,) for quantity in quantities]
    for at in reversed(range(len(groups) - 1)):
        changed = rules.CHANGED.search(gaps[at][-_NEAR:])
        following = gaps[at + 1 : at + 3]
        joined = (
            ()
            if changed
            else _joined(groups[at][0], following, groups[at + 1], subject)
        )
        if joined:
            groups[at : at + 2] = [joined]
            del gaps[at + 1]

    return VALUE.join(gaps), groups


def _joined(
    first: Quantity, gaps: Sequence[str], others: Alternatives, subject: Subject
) -> Alternatives:
    """What a quantity and those after it make together; nothing where they do not belong so."""
    between, behind = gaps
    if len(between) > _NEAR * 2:
        return ()

    second = others[0]
    if rules.SAME_AGAIN.fullmatch(between) and _is_same_again(first, second):
        return others if unit_of(second.unit) == subject.unit else (first,)

    if rules.SPREAD.fullmatch(between):
        if isinstance(first.value, float) and isinstance(second.value, float):
            low, high = first.value - second.value, first.value + second.value
            return first._replace(value=low), first._replace(value=high)

        return ()

    units = {unit_of(quantity.unit) for quantity in (first, second)} - {NO_UNIT}
    if len(units) > 1 or not rules.TOGETHER.match(f"{between}{VALUE}{behind}"):
        return ()

    return (first._replace(unit=first.unit or second.unit), *others)


def _is_same_again(first: Quantity, second: Quantity) -> bool:
    """Whether two quantities have one dimension and two units; moles count as masses."""
    units = {unit_of(first.unit), unit_of(second.unit)}
    kinds = {unit.dimension.replace("substance", "mass") for unit in units}
    return len(units) == 2 and len(kinds) == 1 and kinds != {""}


def _mentions(masked: str, groups: Sequence[Alternatives]) -> list[_Mention]:
    """Every value of a masked text, with its sentence before and after it.

    Where the text breaks off, what it meant to say is not known: in its last sentence
    no value is the answer, and before it only one given by name may be.
    """
    mentions: list[_Mention] = []
    pieces = [*rules.SENTENCE_END.split(masked), ""]
    for number, (sentence, end) in enumerate(
        zip(pieces[::2], pieces[1::2], strict=True)
    ):
        text = f"{sentence}{end}"
        position = text.find(VALUE)
        while position >= 0:
            front = text[max(0, position - _REACH) : position]
            behind = text[position + 1 : position + 1 + _REACH]
            mentions.append(_Mention(groups[len(mentions)], front, behind, number))
            position = text.find(VALUE, position + 1)

    if rules.BROKEN_OFF.search(masked[-_NEAR:]):
        for mention in mentions:
            if mention.sentence == number or not rules.NAMED.search(mention.lead):
                mention.reason = rules.UNFINISHED

    return mentions


# ---- What each quantity is ----


def _reason(mention: _Mention, subject: Subject) -> str:
    """What a quantity is instead of the answer; "" where it may be the answer."""
    if mention.refused and mention.tier < RESULT:
        return rules.REFUSED
    unit = mention.values[0].unit
    if subject.points and unit_of(unit).dimension:
        return f"{rules.OTHER_UNIT} ({unit})"
    return rules.reason_of(mention.front, mention.behind)


def _tier(mention: _Mention, before: _Mention | None, subject: Subject) -> int:
    """How plainly a quantity is given, also as another form of the one before or in its place."""
    tier = _own_tier(mention, subject)
    if before is None:
        return tier
    if _is_conversion(before, mention) or rules.INSTEAD.search(mention.front):
        tier = max(tier, RESULT)

    same = not mention.opens and rules.SAME_SUBJECT.search(mention.lead)
    if same or rules.CONTINUED.fullmatch(mention.lead):
        other = _own_tier(before, subject)
        tier = max(tier, min(RESULT, other) if mention.opens else other)

    return tier


def _own_tier(mention: _Mention, subject: Subject) -> int:
    """How plainly its sentence gives a quantity, by the first of these that holds.

    - what is asked for is named before it: `BY_NAME`
    - it is named after it, or a word such as "gives" precedes it, or it opens the
      sentence as an answer does: `RESULT`
    - something is said to be it: `RESULT` of a word for a result, else `OF_SOMETHING`
    - else `IN_PASSING`

    In a unit of another dimension it is rather a step on the way, and counts for less.
    """
    kind = unit_of(mention.values[0].unit).dimension
    other_unit = kind not in ("", "fraction", subject.unit.dimension)
    lead = mention.lead
    if rules.NAMED.search(lead):
        return RESULT if other_unit else BY_NAME

    if (
        rules.NAMED_BEHIND.match(mention.behind)
        or rules.RESULT.search(lead)
        or (mention.opens and rules.OPENING.fullmatch(lead))
    ):
        tier = RESULT
    elif (head := rules.HEAD.search(lead[-_NEAR:])) is not None:
        tier = RESULT if _is_result(head) else OF_SOMETHING
    else:
        tier = IN_PASSING

    return tier - 2 if other_unit else tier


def _is_conversion(before: _Mention, mention: _Mention) -> bool:
    """Whether a quantity is what the one before it is in another form.

    "7.96 mg is equal to 53.1".
    """
    if mention.opens or not rules.CONVERTED.search(mention.lead):
        return False
    kinds = {unit_of(value.values[0].unit).dimension for value in (before, mention)} - {
        ""
    }
    return len(kinds) == 1


def _is_result(head: re.Match[str]) -> bool:
    """Whether what a quantity is said to be is the result, and not "the pain score"."""
    word = f"{head[0][0]}{head['rest']}"
    before = head.string[: head.start()]
    if rules.SCORE_WORD.fullmatch(word) and not rules.PLAIN_SCORE.search(before):
        return False
    return rules.RESULT_WORD.fullmatch(word) is not None


def _take_back(masked: str, mentions: Sequence[_Mention]) -> None:
    """Marks what stands in front of "wait, that is wrong"."""
    first = masked.find(VALUE)
    ends = [match.start() for match in rules.RETRACTION.finditer(masked, first)]
    for mention in mentions[: masked.count(VALUE, 0, max(ends, default=-1) + 1)]:
        mention.reason = rules.TAKEN_BACK


def _leave_options(masked: str, mentions: Sequence[_Mention]) -> None:
    """Marks the options that are not chosen: "A: ▣ B: ¤ The correct option is B."."""
    chosen = rules.CHOSEN.search(masked)
    if chosen is None:
        return
    for mention in mentions:
        option = rules.LETTERED.search(mention.lead)
        if option is not None and option[1] != chosen[1]:
            mention.reason = rules.DENIED


def _refuse(masked: str, refusal: re.Match[str], mentions: Sequence[_Mention]) -> None:
    """Marks what stands beside "cannot be determined", unless it is given all the same."""
    first = masked.count(VALUE, 0, refusal.start())
    behind = masked[refusal.start() :].split(VALUE)
    behind[0] = behind[0][len(refusal[0]) :]
    for mention, text in zip(mentions[first:], behind, strict=False):
        if not rules.DESPITE.search(text[-_REACH:]):
            mention.reason = rules.REFUSED
    for mention in mentions[:first]:
        mention.refused = True


# ---- The choice ----


def _unplain(mentions: Sequence[_Mention]) -> Statement:
    """What is stated where nothing plainly is: a lone value, unless a plainer one is doubtful."""
    stated = [mention for mention in mentions if not mention.reason]
    doubtful = [mention for mention in mentions if mention.reason in rules.DOUBTFUL]

    def rank(mention: _Mention) -> tuple[int, int, int, int]:
        tier = mention.tier
        return min(tier, RESULT), mention.sentence, tier, mentions.index(mention)

    best = max(stated, key=rank, default=None)
    rival = max(doubtful, key=rank, default=None)
    if best is not None and (rival is None or _outranks(best, rival)):
        if _is_lone(best, mentions):
            return Statement(_total(best.values), settled=best.tier == OF_SOMETHING)

        return Statement(why=rules.OTHER, unclear=best.tier > 0)

    if rival is not None:
        return Statement(why=rival.reason, unclear=True, settled=True)

    refused = any(mention.reason == rules.REFUSED for mention in mentions)
    return Statement(why=mentions[-1].reason, settled=refused)


def _outranks(best: _Mention, rival: _Mention) -> bool:
    """Whether a stated value counts although another one is doubtful."""
    replaced = rival.reason in (rules.DENIED, rules.TAKEN_BACK, rules.ASKED)
    return replaced and best.sentence >= rival.sentence and best.tier == OF_SOMETHING


def _is_lone(best: _Mention, mentions: Sequence[_Mention]) -> bool:
    """Whether a value that is not plainly given is all that there is: "Prednisone: 12"."""
    others = [mention for mention in mentions if mention is not best]
    plainer = any(
        other.tier >= RESULT
        for other in others
        if other.reason in (rules.OPERAND, rules.OTHER)
    )
    labelled = best.lead.rstrip(" \"'*(").endswith((":", "|"))
    alike = [other for other in others if not other.reason and other.tier == best.tier]
    if (
        plainer
        or not rules.LONE.match(best.behind)
        or (alike and not (labelled and len(alike) == 1 and best is mentions[-1]))
    ):
        return False

    return best.tier == IN_PASSING or (best.tier == OF_SOMETHING and labelled)


def _total(values: Alternatives) -> Alternatives:
    """Of "GCS 12: 4, 3, 5" the total."""
    numbers = [
        quantity.value for quantity in values if isinstance(quantity.value, float)
    ]
    is_sum = 2 < len(numbers) == len(values) and numbers[0] == sum(numbers[1:])
    return values[:1] if is_sum else values
