"""Scores the calls of `medcalc_tools` one after the other: called, the right tool, its arguments, its result used.

Each figure is over the answers that came as far as its step, so that an error counts
where it was made. The final answer is scored as everywhere (`scoring`).

Right arguments are the row's entities. A number in the tool's unit must be copied (within
0.5 %); one that must be converted may be rounded (5 %, the benchmark's tolerance). Absent
findings and other defaults do not count. An error is `missing`, `value`, `unit` (the right
number in another unit) or `extra`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.gold import (
    answer_text,
    entities_of,
    label_agrees,
    recompute_or_none,
    row_kind,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import (
    decided,
    score_items,
    subject_of,
)
from medical_tasks.calculators import find
from medical_tasks.calculators.base import Answer as Result
from medical_tasks.calculators.tools import Called, Compared, call, compared
from medical_tasks.errors import UsageError
from medical_tasks.scoring.numbers.reading import read_answer
from medical_tasks.spec import (
    PLAIN_SCORING,
    Answer,
    Item,
    ItemScore,
    Scoring,
    Table,
    TaskSpec,
    ToolCall,
)

__all__ = ["outcome_table", "score_tool_items"]

NO_CALL: Final = "no_call"
WRONG_TOOL: Final = "wrong_tool"
WRONG_ARGUMENT: Final = "wrong_argument"
NO_RESULT: Final = "no_result"
NOT_USED: Final = "result_not_used"
AS_CALLED: Final = "right_call"
NOT_COMPARED: Final = "right_call_unproven"
"""The right call, on a row whose label the rule does not support."""
OPEN: Final = "arguments_unknown"
"""The row's entities do not say what the right arguments are."""
UNSEEN: Final = "calls_unknown"
"""Only the answer's text is known."""

OUTCOMES: Final[Mapping[str, str]] = {
    NO_CALL: "no tool was called",
    WRONG_TOOL: "tools were called, but not the right one",
    WRONG_ARGUMENT: "the right tool, with a wrong argument",
    NO_RESULT: "the right call gave no result",
    NOT_USED: "the right call, but the answer is not its result",
    AS_CALLED: "the right call, and its result is the answer",
    NOT_COMPARED: "the right call, whose result the row's label contradicts",
    OPEN: "the right tool; its right arguments are not known",
}
"""What comes of an answer, by the first step that went wrong."""
_ARGUMENT_ERRORS: Final[Mapping[str, str]] = {
    "argument_missing": "an argument is left out",
    "argument_value": "an argument has another value",
    "argument_unit": "an argument is in another unit",
    "argument_extra": "an argument that nothing says",
}


def score_tool_items(
    task: TaskSpec,
    items: Sequence[Item],
    answers: Sequence[Answer],
    scoring: Scoring = PLAIN_SCORING,
) -> list[ItemScore]:
    """Scores answers with their calls, which stand in the conversations."""
    texts = [answer.text for answer in answers]
    scores = score_items(
        task, items, texts, scoring.readings, arguments=scoring.arguments
    )
    readings = scoring.readings or {}
    return [
        _with_calls(score, item, answer, readings.get(item.id, answer.text))
        for score, item, answer in zip(scores, items, answers, strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class _Calls:
    """The calls of an answer, as far as they matter.

    Attributes:
        any_call: whether a tool was called.
        last: of the right tool, the last call; None where it was not called.
        result: the last result that the right tool gave; None for none.
        arguments: of `last`, beside the right ones; None where those are not known.
    """

    any_call: bool
    last: ToolCall | None = None
    result: Result | None = None
    arguments: Compared | None = None


def _with_calls(score: ItemScore, item: Item, answer: Answer, read: str) -> ItemScore:
    """A score with what the calls add; `read` is the text of which the final answer is read."""
    nothing = dict.fromkeys(
        (
            "called",
            "right_tool",
            "arguments_right",
            "all_arguments_right",
            "result_used",
        ),
        math.nan,
    )
    if not answer.conversation:
        return replace(
            score,
            values={**score.values, **nothing},
            weights={**score.weights, "arguments_right": 0.0},
            notes=(*score.notes, UNSEEN),
        )

    calls = _calls_of(item, answer)
    values = {
        **score.values,
        **nothing,
        "called": float(calls.any_call),
        "right_tool": float(calls.last is not None),
    }
    weights = {**score.weights, "arguments_right": 0.0}
    if calls.arguments is not None:
        stated = calls.arguments.stated
        weights["arguments_right"] = float(stated)
        values["arguments_right"] = (
            calls.arguments.right / stated if stated else math.nan
        )
        values["all_arguments_right"] = float(not calls.arguments.errors)

    limits = dict(score.limits)
    used = _is_used(item, calls.result, read)
    if used is not None:
        values["result_used"] = float(used and not score.unclear)
        if score.unclear:
            limits["result_used"] = (0.0, 1.0)

    outcome = _outcome(calls, used)
    return replace(
        score,
        values=values,
        weights=weights,
        limits=limits,
        why=f"{score.why}; {OUTCOMES[outcome]}{_error_list(calls)}",
        notes=(*score.notes, outcome, *_argument_notes(calls)),
    )


def _calls_of(item: Item, answer: Answer) -> _Calls:
    """What an answer's calls show of a model.

    The last call of the right calculator is judged by its arguments: earlier ones may
    have been corrected by it. Arguments are compared only where the row's own entities
    give an answer, since others are no gold.
    """
    right = find(int(item.fields["calculator_id"]))
    all_calls = list(_tool_calls(answer))
    of_right = [tool_call for tool_call in all_calls if tool_call["name"] == right.slug]
    if not of_right:
        return _Calls(any_call=bool(all_calls))

    results = [_result(right.slug, tool_call) for tool_call in of_right]
    is_computable = recompute_or_none(item.fields) is not None
    last = of_right[-1]

    return _Calls(
        any_call=True,
        last=last,
        result=next(
            (
                result.answer
                for result in reversed(results)
                if result.answer is not None
            ),
            None,
        ),
        arguments=compared(right, last["arguments"], entities_of(item.fields))
        if is_computable
        else None,
    )


def _tool_calls(answer: Answer) -> Iterator[ToolCall]:
    for message in answer.conversation:
        yield from message.get("tool_calls", ())


def _result(slug: str, tool_call: ToolCall) -> Called:
    if "raw" in tool_call:
        return Called(text="")
    return call(find(slug), tool_call["arguments"])


def _is_used(item: Item, result: Result | None, read: str) -> bool | None:
    """Whether the final answer is the tool's result.

    None where there is none, and where the published rule does not bear the row's label
    out: whoever knows the label cannot have used the right result there.
    """
    row = item.fields
    rule = recompute_or_none(row)
    if result is None or rule is None or not label_agrees(row, rule.answer):
        return None

    calculator_id, kind = int(row["calculator_id"]), row_kind(row)
    statement = read_answer(read, subject_of(calculator_id, kind))
    try:
        decision = decided(statement, kind, calculator_id, gold=answer_text(result))
    except UsageError:  # a result of another form than the row's answer
        return None

    return decision.correct


def _outcome(calls: _Calls, used: bool | None) -> str:
    """The first step that went wrong."""
    if not calls.any_call:
        return NO_CALL
    if calls.last is None:
        return WRONG_TOOL
    if calls.arguments is None:
        return OPEN
    if calls.arguments.errors:
        return WRONG_ARGUMENT
    if calls.result is None:
        return NO_RESULT
    if used is None:
        return NOT_COMPARED

    return AS_CALLED if used else NOT_USED


def _argument_notes(calls: _Calls) -> list[str]:
    """A note for each kind of error, with the arguments behind it."""
    if calls.arguments is None:
        return []
    by_kind: dict[str, list[str]] = {}
    for name, error in calls.arguments.errors.items():
        by_kind.setdefault(f"argument_{error}", []).append(name)
    return [f"{kind}: {', '.join(names)}" for kind, names in sorted(by_kind.items())]


def _error_list(calls: _Calls) -> str:
    if calls.arguments is None or not calls.arguments.errors:
        return ""
    errors = (f"{name}: {error}" for name, error in calls.arguments.errors.items())
    return f" ({', '.join(errors)})"


def outcome_table(notes: Mapping[str, int]) -> Table | None:
    """How many answers came how far, of how many have each note; None where no calls are known."""
    total = sum(notes.get(name, 0) for name in OUTCOMES)
    if not total:
        return None

    rows: list[tuple[str, str, str]] = []
    for name, label in OUTCOMES.items():
        if name in notes:
            rows.append((label, *_counted(notes[name], total)))

        if name == WRONG_ARGUMENT:
            rows += [
                (f"- {kind}", *_counted(notes[error], total))
                for error, kind in _ARGUMENT_ERRORS.items()
                if error in notes
            ]

    return Table(
        title="What came of the calls",
        header=("first step that went wrong", "answers", "share"),
        rows=tuple(rows),
        note="A call can have several wrong arguments, of several kinds.",
    )


def _counted(count: int, total: int) -> tuple[str, str]:
    return f"{count:,}", f"{100 * count / total:.1f} %"
