"""The command `list`."""

from __future__ import annotations

from medical_tasks.data.listing import listed_tasks
from medical_tasks.io.output import tell
from medical_tasks.options import List


def run(arguments: List) -> int:
    """Prints the tasks."""
    entries = listed_tasks()
    width = max(len(entry.harness_name) for entry in entries)
    lines = []
    for entry in entries:
        built = f"built: {', '.join(entry.built)}" if entry.built else "not built"
        if entry.damaged:
            built = "damaged"

        judge = "needs a judge" if entry.judge else "no judge"
        judge += ", not in lighteval" if entry.outside_lighteval else ""
        lines.append(
            f"{entry.harness_name:<{width}}  {entry.dataset} ({entry.access}; {built}), {judge}"
        )
        lines.append(f"{'':<{width}}  {entry.title}")

    for dataset, message in {
        entry.dataset: entry.damaged for entry in entries if entry.damaged
    }.items():
        lines.append(f"\n{dataset}: {message}")

    missing = {
        entry.dataset: entry.how_to_get
        for entry in entries
        if not entry.damaged and set(entry.built) <= {"demo"}
    }
    for dataset, steps in missing.items():
        lines.append(f"\n{dataset}: the official data is not built. To get it:")
        lines += [f"  {number}. {step}" for number, step in enumerate(steps, start=1)]

    outside = {entry.outside_lighteval for entry in entries} - {""}
    lines += [
        f"\nnot in lighteval: {reason}. Use medical-tasks run."
        for reason in sorted(outside)
    ]
    tell("\n".join(lines), [vars(entry) for entry in entries])

    return 0
