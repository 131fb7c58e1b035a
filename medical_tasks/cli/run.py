"""The verb `run` on the command line; `Run` in `options` says what it takes."""

from __future__ import annotations

from pathlib import Path

from medical_tasks.catalog import task_spec
from medical_tasks.errors import IncompleteError
from medical_tasks.io.output import tell
from medical_tasks.options import Run
from medical_tasks.report.markdown import write_markdown
from medical_tasks.report.terminal import render_table
from medical_tasks.runs.evaluating import evaluate
from medical_tasks.runs.results import read_results


def run(arguments: Run) -> int:
    """Runs the tasks; exit code 5 when an item has no answer or no score."""
    folder = evaluate(arguments)
    return 0 if folder is None else report_results(folder)


AGAIN = "Give the same command again to try the missing ones."
TOO_LONG = "What is too long for the model stays unanswered: a longer context (max_length), or fewer --max-new-tokens, may help."


def report_results(folder: Path, *, next_step: str = AGAIN) -> int:
    """Prints the table, writes the report, and raises where an item has no answer (with the next step) or no score."""
    results = read_results(folder)
    path = write_markdown(
        results, folder
    )  # first: who reads the table may leave in its middle, as `head` does
    tell(render_table(results), results, folder=folder, report=path)
    tell(f"\nresults: {folder / 'results.json'}\nreport:  {path}")
    missing = {
        name: entry["coverage"]["unscored"]
        for name, entry in results["tasks"].items()
        if entry["coverage"]["scored"] < entry["coverage"]["asked"]
    }
    if missing:
        reasons = {reason for found in missing.values() for reason in found}
        only_too_long = reasons == {"no answer: prompt too long"}
        if next_step == AGAIN and all(reason.startswith("judge: ") for reason in reasons):
            from medical_tasks.judges.session import next_step as judge_step  # slow

            next_step = judge_step(reasons)
        lasting = {
            name: said
            for each in missing
            for name, said in task_spec(each).benchmark.lasting_reasons().items()
        }
        if known := {reason: said for reason, said in lasting.items() if reason in reasons}:
            next_step = " ".join([*known.values(), *([] if reasons <= set(known) else [next_step])])
        parts = [
            f"{name}: " + ", ".join(f"{count} x {reason}" for reason, count in counts.items())
            for name, counts in missing.items()
        ]
        troubles = {
            entry["judge"]["trouble"] for entry in results["tasks"].values() if "judge" in entry
        } - {None}
        if troubles:
            next_step = f"The judge could not be asked: {' '.join(sorted(troubles))} {next_step}"
        raise IncompleteError(
            f"not every item is scored ({'; '.join(parts)}). Known verdicts stand for missing ones above, with bounds for the "
            f"rest. {TOO_LONG if only_too_long else next_step}"
        )
    return 0
