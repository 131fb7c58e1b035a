"""Reports a finished run to the user: its table, its report, and what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from medical_tasks.catalog import task_spec
from medical_tasks.errors import IncompleteError
from medical_tasks.io.output import tell
from medical_tasks.report.markdown import write_markdown
from medical_tasks.report.terminal import render_table
from medical_tasks.runs.results import Json, read_results

AGAIN = "Give the same command again to try the missing ones."
STOPPED = (
    "Asking stopped at a ceiling ({ceilings}): the same command with a higher one, or without it, "
    "continues from here."
)
TOO_LONG = "What is too long for the model stays unanswered: {longer}fewer --max-new-tokens may help."


def _too_long(models: Iterable[Mapping[str, object]]) -> str:
    from medical_tasks.models.opener import longer_context  # about models: slow

    ways = {longer_context(str(model.get("name", ""))) for model in models}
    way = ways.pop() if len(ways) == 1 else ""
    return TOO_LONG.format(longer=f"a longer context ({way}), or " if way else "")


def _is_spent(reason: str) -> bool:
    from medical_tasks.models.budget import SPENT  # about models: slow

    return reason.startswith("no answer: ") and reason.endswith(SPENT)


def report_results(
    folder: Path,
    *,
    next_step: str = AGAIN,
    stopped_by: str = "",
    never_had: str = "",
) -> int:
    """Prints the table and writes the report.

    Args:
        folder: the folder of the results.
        next_step: what to do about items without an answer.
        stopped_by: the ceilings of a command that asks a model.
        never_had: the reason of items without an answer in the user's own file. If other
            items have answers, and nothing else is missing, a note replaces the error.

    Raises:
        IncompleteError: an item has no answer or no score.
    """
    results = read_results(folder)
    # The report comes first: a reader of the table, such as `head`, may stop in its middle.
    path = write_markdown(results, folder)
    tell(render_table(results), results, folder=folder, report=path)
    tell(f"\nresults: {folder / 'results.json'}\nreport:  {path}")
    tasks = results["tasks"]
    missing = {
        name: entry["coverage"]["unscored"]
        for name, entry in tasks.items()
        if entry["coverage"]["scored"] < entry["coverage"]["asked"]
    }
    reasons = {reason for counts in missing.values() for reason in counts}
    answered = any(entry["coverage"]["scored"] for entry in tasks.values())
    if answered and reasons == {never_had}:
        _note_partial(tasks)
    elif missing:
        if stopped_by and any(_is_spent(reason) for reason in reasons):
            next_step = STOPPED.format(ceilings=stopped_by)

        parts = [f"{name}: {_count_text(counts)}" for name, counts in missing.items()]
        raise IncompleteError(
            f"not every item is scored ({'; '.join(parts)}). Above, known verdicts replace missing ones, with bounds for the "
            f"rest. {_advice(tasks, missing, reasons, next_step)}"
        )

    return 0


def _count_text(reasons: Mapping[str, int]) -> str:
    """Words reasons with their counts: `3 x no answer: timeout`."""
    return ", ".join(f"{count} x {reason}" for reason, count in reasons.items())


def _advice(
    tasks: Mapping[str, Json],
    missing: Iterable[str],
    reasons: Set[str],
    next_step: str,
) -> str:
    """Advises what to do about items without a score.

    Args:
        tasks: the entries of all tasks.
        missing: the tasks that lack a score.
        reasons: why scores are missing.
        next_step: the advice if nothing is known about these reasons.
    """
    if reasons == {"no answer: prompt too long"}:
        return _too_long(entry["recipe"]["model"] for entry in tasks.values())

    if next_step == AGAIN and all(reason.startswith("judge: ") for reason in reasons):
        from medical_tasks.judges.session import next_step as judge_step  # slow

        next_step = judge_step(reasons)

    next_step = _with_lasting_reasons(missing, reasons, next_step)
    judges = (entry["judge"] for entry in tasks.values() if "judge" in entry)
    troubles = {judge["trouble"] for judge in judges} - {None}
    if not troubles:
        return next_step

    return f"The judge could not be asked: {' '.join(sorted(troubles))} {next_step}"


def _with_lasting_reasons(
    missing: Iterable[str], reasons: Set[str], next_step: str
) -> str:
    """Puts the benchmarks' advice on reasons that asking again does not fix before the next step.

    If there are no other reasons, that advice is all.
    """
    lasting = {
        reason: advice
        for name in missing
        for reason, advice in task_spec(name).benchmark.lasting_reasons().items()
    }
    relevant = {
        reason: advice for reason, advice in lasting.items() if reason in reasons
    }
    if not relevant:
        return next_step

    return " ".join(
        [*relevant.values(), *([] if reasons <= set(relevant) else [next_step])]
    )


def _note_partial(tasks: Mapping[str, Json]) -> None:
    """Notes how many questions have no answer in a file of answers."""
    for name, entry in tasks.items():
        n_asked, n_scored = (entry["coverage"][key] for key in ("asked", "scored"))
        print(
            f"note: {name}: {n_asked - n_scored:,} of {n_asked:,} questions have no answer in the "
            f"file. The values are over the other {n_scored:,}.",
            file=sys.stderr,
        )
