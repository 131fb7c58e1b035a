"""Whether a task's questions fit the model's context, told before anything is asked; nothing is ever cut in silence.

Only tasks whose prompts can leave text out (`PromptSet.shorten`) are checked here: for others, a question that is too long stays
unanswered. What is left out is counted in words of the item's documents, so that a finished run can be replayed without
the model's tokenizer: the recipe holds the number for each item that was shortened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from medical_tasks.errors import UsageError
from medical_tasks.models.base import Length, Model, Request
from medical_tasks.spec import Item, PromptSet, TaskSpec

__all__ = ["TRUNCATE", "Fitted", "MakeRequest", "Truncate", "fit_items"]

Truncate = Literal["refuse", "notes-from-the-oldest", "unanswered"]
TRUNCATE: Final[tuple[Truncate, ...]] = ("refuse", "notes-from-the-oldest", "unanswered")
"""What is done about a question that is too long: the run is refused, the documents are cut, or it stays unanswered."""

_LISTED: Final = 20
_TRIES: Final = 40  # a search by halves is through after as many as a document's word count has binary digits

MakeRequest = Callable[[Item], Request]


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Items as they are asked.

    Attributes:
        items: in the given order; those that were too long are shortened, or what they were.
        shortened: item id to the number of words left out, for those that are shortened.
        measured: False when the model cannot tell how long a question is.
    """

    items: Sequence[Item]
    shortened: Mapping[str, int] = field(default_factory=dict)
    measured: bool = True


def fit_items(
    task: TaskSpec,
    prompts: PromptSet,
    items: Sequence[Item],
    model: Model,
    request: MakeRequest,
    *,
    truncate: Truncate = "refuse",
    known: Mapping[str, int] | None = None,
) -> Fitted:
    """Makes the questions fit the model, or refuses.

    The same in every process of a distributed run.

    Args:
        task: the task.
        prompts: how its items are put.
        items: its items.
        model: who is asked.
        request: makes the request of an item.
        truncate: what is done about those that do not fit.
        known: words left out of each shortened item in an earlier run; then nothing is measured.

    Returns:
        The items to ask. Of an item that is cut, the fewest words with which it fits; one that does not fit without any
        of its documents is given as it is, and the model leaves it unanswered.

    Raises:
        UsageError: Some do not fit and `truncate` is `refuse`; lists them. Or they are to be cut, and cannot.
    """
    shorten = prompts.shorten
    if shorten is None:
        if truncate == "notes-from-the-oldest":
            raise UsageError(
                f"{task.name}: its questions have no notes to leave out, so that --truncate {truncate} has no meaning for it. "
                "Leave it out, and run tasks with notes by themselves."
            )
        return Fitted(items=items)
    if known is not None:
        cut = {item.id: known[item.id] for item in items if item.id in known}
        return Fitted(items=[shorten(item, cut.get(item.id, 0)) for item in items], shortened=cut)
    lengths = model.lengths([request(item) for item in items])
    over = {item.id: length for item, length in zip(items, lengths, strict=True) if length and _excess(length) > 0}
    measured = all(length is not None for length in lengths)
    if not over or truncate == "unanswered":
        return Fitted(items=items, measured=measured)
    if truncate == "refuse":
        raise UsageError(_refusal(task, over, len(items)))
    cut = _words_to_cut({item.id: item for item in items if item.id in over}, model, request, shorten, over)
    return Fitted(
        items=[shorten(item, cut[item.id]) if item.id in cut else item for item in items],
        shortened=cut,
        measured=measured,
    )


def _excess(length: Length) -> int:
    return length.tokens - length.room


def _words_to_cut(
    items: Mapping[str, Item],
    model: Model,
    request: MakeRequest,
    shorten: Callable[[Item, int], Item],
    over: Mapping[str, Length],
) -> dict[str, int]:
    """Searches by halves, all items at once, for the fewest words without which each fits."""
    # A word has one token or more, so that leaving out as many words as there are tokens too many is mostly enough.
    low = dict.fromkeys(items, 0)  # does not fit
    high: dict[str, int] = {}  # fits
    guess = {name: _excess(over[name]) for name in items}
    open_ones = set(items)
    for _ in range(_TRIES):
        if not open_ones:
            break
        names = sorted(open_ones)
        tried = [shorten(items[name], guess[name]) for name in names]
        same = [
            shorten(items[name], guess[name] * 2 + 1).fields == each.fields
            for name, each in zip(names, tried, strict=True)
        ]
        lengths = model.lengths([request(each) for each in tried])
        for name, length, nothing_left in zip(names, lengths, same, strict=True):
            if length is None or (_excess(length) > 0 and nothing_left and name not in high):
                open_ones.discard(name)  # even without its documents it does not fit
            elif _excess(length) > 0:
                low[name] = guess[name]
                guess[name] = (low[name] + high[name]) // 2 if name in high else guess[name] * 2
            else:
                high[name] = guess[name]
                guess[name] = (low[name] + high[name]) // 2
            if name in high and high[name] - low[name] <= 1:
                open_ones.discard(name)
    return high


def _refusal(task: TaskSpec, over: Mapping[str, Length], n_items: int) -> str:
    ranked = sorted(over.items(), key=lambda each: (-_excess(each[1]), each[0]))
    lines = [f"  {name}: {length.tokens:,} tokens, room for {length.room:,}" for name, length in ranked[:_LISTED]]
    if len(ranked) > _LISTED:
        lines.append(f"  and {len(ranked) - _LISTED:,} more")
    return (
        f"{task.name}: {len(over):,} of {n_items:,} questions do not fit the model's context together with the answer:\n"
        + "\n".join(lines)
        + "\nNothing was asked. Give a longer context if the model has one (--model-args max_length=N for hf/, max_model_length=N "
        "for vllm/, context=N for a server that has more than it says), fewer --max-new-tokens, or say what is to be done: "
        "--truncate notes-from-the-oldest leaves out the beginning of the oldest notes, --truncate unanswered asks the others and "
        "leaves these unanswered."
    )
