"""What a round of judging will cost; what it may cost is in `models.budget`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from medical_tasks.judges.base import Verdict
from medical_tasks.judges.case import Case
from medical_tasks.models.budget import count_said, estimate_chat
from medical_tasks.models.usage import Prices, cost_usd


def foresee(cases: Sequence[Case]) -> dict[str, list[int]]:
    """Says what the cases will yet take; each span goes from what is certain to every vote and re-ask.

    Of a judge that reads no prompt `requests` alone.

    Example: a question with three votes and two re-asks each takes 2 to 9 requests: two
    votes that agree, or three of which each is asked for three times.
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
        for place, (prompt, count) in enumerate(
            ((now, len(waiting)), (now + later, len(waiting) + unopened))
        ):
            prompts[place] += prompt
            outputs[place] += count * case.question.max_tokens

    prompted = bool(cases) and cases[0].rules.reads == "prompt"
    return {
        "requests": calls,
        **({"prompt_tokens": prompts, "output_tokens": outputs} if prompted else {}),
    }


def forecast(
    cases: Sequence[Case], *, judge: str, label: str, prices: Prices | None
) -> str:
    """Says in one line what is about to be asked.

    The cases have already taken in what the store knows.
    """
    stored = sum(isinstance(case.outcome, Verdict) for case in cases)
    of = f" ({label})" if label else ""
    said = f"judge {judge}{of}: {len(cases):,} verdict{'s' * (len(cases) != 1)}, {stored:,} in the store"
    return f"{said}; {foreseen_said(foresee(cases), prices)}"


def foreseen_said(foreseen: Mapping[str, Sequence[int]], prices: Prices | None) -> str:
    """Writes what `foresee` says."""
    calls = list(foreseen["requests"])
    parts = [f"{_span(f'{count:,}' for count in calls)} call{'s' * (calls != [1, 1])}"]
    if "prompt_tokens" in foreseen:
        prompts, outputs = foreseen["prompt_tokens"], foreseen["output_tokens"]
        parts.append(f"about {_span(map(count_said, prompts))} prompt tokens")
        parts.append(f"at most {_span(map(count_said, outputs))} output tokens")
        costs = [cost_usd(*each, prices) for each in zip(prompts, outputs, strict=True)]
        if prices is not None:
            parts.append(f"about $ {_span(f'{cost:,.2f}' for cost in costs)}")

    return ", ".join(parts)


def _span(ends: Iterable[str]) -> str:
    return " to ".join(dict.fromkeys(ends))
