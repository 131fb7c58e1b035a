"""Forecasts the cost of a round of judging; `models.budget` has its limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from medical_tasks.judges.base import Verdict
from medical_tasks.judges.case import Case
from medical_tasks.models.budget import count_said, estimate_chat
from medical_tasks.models.usage import Prices, cost_usd


def foresee(cases: Sequence[Case]) -> dict[str, list[int]]:
    """Estimates what the cases will still take, from the least to every vote and re-ask.

    Only `requests` for a judge that reads no prompts.

    Example: a question with three votes and two re-asks each takes 2 to 9 requests: two
    votes that agree, or three votes with three requests each.
    """
    calls, prompts, outputs = [0, 0], [0, 0], [0, 0]
    seen: set[str] = set()
    for case in cases:
        waiting = [thread for thread in case.waiting if thread.key not in seen]
        seen.update(thread.key for thread in waiting)
        if not waiting:
            continue  # decided, or the same as a question before it

        rules = case.rules
        unopened = case.votes - len(case.threads)
        again = (
            rules.reasks if rules.reads == "prompt" and not case.question.once else 0
        )
        calls[0] += len(waiting)
        calls[1] += sum(1 + again - thread.reasks for thread in waiting) + unopened * (
            1 + again
        )
        now = sum(estimate_chat(thread.messages) for thread in waiting)
        later = unopened * estimate_chat(case.question.messages)
        for end, (prompt, count) in enumerate(
            ((now, len(waiting)), (now + later, len(waiting) + unopened))
        ):
            prompts[end] += prompt
            outputs[end] += count * case.question.max_tokens

    prompted = bool(cases) and cases[0].rules.reads == "prompt"
    return {
        "requests": calls,
        **({"prompt_tokens": prompts, "output_tokens": outputs} if prompted else {}),
    }


def forecast(
    cases: Sequence[Case], *, judge: str, label: str, prices: Prices | None
) -> str:
    """Describes the next questions in one line.

    The cases have already read the store.
    """
    stored = sum(isinstance(case.outcome, Verdict) for case in cases)
    of = f" ({label})" if label else ""
    plural = "s" * (len(cases) != 1)
    return (
        f"judge {judge}{of}: {len(cases):,} verdict{plural}, {stored:,} in the store; "
        f"{foreseen_said(foresee(cases), prices)}"
    )


def foreseen_said(foreseen: Mapping[str, Sequence[int]], prices: Prices | None) -> str:
    """Writes the result of `foresee` as text."""
    calls = list(foreseen["requests"])
    texts = [f"{_span(f'{count:,}' for count in calls)} call{'s' * (calls != [1, 1])}"]
    if "prompt_tokens" in foreseen:
        prompts, outputs = foreseen["prompt_tokens"], foreseen["output_tokens"]
        texts.append(f"about {_span(map(count_said, prompts))} prompt tokens")
        texts.append(f"at most {_span(map(count_said, outputs))} output tokens")
        if prices is not None:
            costs = [
                cost_usd(prompt, output, prices)
                for prompt, output in zip(prompts, outputs, strict=True)
            ]
            texts.append(f"about $ {_span(f'{cost:,.2f}' for cost in costs)}")

    return ", ".join(texts)


def _span(ends: Iterable[str]) -> str:
    return " to ".join(dict.fromkeys(ends))
