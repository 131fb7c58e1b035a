"""Formats the table of results for the terminal, and the notes below numbers everywhere."""

from __future__ import annotations

from medical_tasks.io.output import styled
from medical_tasks.io.table import align
from medical_tasks.models.usage import prices_of, usage_said
from medical_tasks.report.confidence import confidence_notes
from medical_tasks.report.entries import Entry
from medical_tasks.report.table import Table
from medical_tasks.report.tables import (
    evaluations_table,
    pairs_table,
    reported_text,
    results_table,
)
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.imported import MATCHED_BY
from medical_tasks.runs.numbers import (
    bounds,
    unclear_counts,
    unclear_notes,
    value_notes,
)
from medical_tasks.runs.recipes import NO_SAMPLE, mapping, one_line
from medical_tasks.runs.results import Json
from medical_tasks.spec import UNANSWERED


def render_table(*runs: Json) -> str:
    """Formats the table of one or more runs (the content of each `results.json`), with its notes.

    The notes count items without a score, and say what these could change.
    """
    entries = [
        (name, entry) for results in runs for name, entry in results["tasks"].items()
    ]
    lines = text_table(results_table(entries))
    for name, entry in entries:
        about = f"{entry['recipe']['model']['name']}, {name}"
        if (pairs := pairs_table(entry, id="")) is not None:
            lines += ["", f"{about}: {pairs.caption}", *text_table(pairs), ""]

        lines += [styled(f"{about}: {line}", "bold") for line in paper_lines(entry)]
        lines += [f"{about}: {note}" for note in entry_notes(entry)]
        if (agreement := evaluations_table([("", entry)], id="")) is not None:
            caption = f"{about}: {agreement.caption}"
            lines += ["", caption, *text_table(agreement), ""]

        if unscored := entry["coverage"]["unscored"]:
            reasons = ", ".join(
                f"{count} x {reason}" for reason, count in unscored.items()
            )
            first, metric = next(iter(entry["metrics"].items()))
            unclear = ", and whatever is unclear," if unclear_counts(entry) else ""
            lines.append(
                f"{about}: not scored: {reasons}. With them{unclear} {first} is {bounds(metric)}."
            )

    return "\n".join(lines)


def text_table(table: Table) -> list[str]:
    """Formats a table as lines, with texts left-aligned and numbers right-aligned."""
    header = [
        column.label if column.name == "n" else column.label.lower()
        for column in table.columns
    ]
    rows = [
        [cell if isinstance(cell, str) else cell.text for cell in row.cells]
        for row in table.rows
    ]
    return align(header, rows)


def entry_notes(entry: Entry) -> list[str]:
    """Returns the sentences below a task's numbers, except those on items without a score."""
    notes = [
        *_imported(entry),
        *_judge(entry),
        *unclear_notes(entry),
        *value_notes(entry),
        *confidence_notes(entry),
    ]
    if entry.get("usage"):
        notes.append(f"model: {usage_said(entry['usage'])}.")

    recipe = entry["recipe"]
    if recipe.get("max_samples") is not None:
        note = recipe.get("max_samples_note") or NO_SAMPLE
        intro = f"--max-samples {recipe['max_samples']} took {entry['n_items']:,} items"
        notes.append(f"{intro}, {note} (--subset draws one).")

    if drawn := recipe.get("subset"):
        strata = ", ".join(drawn["by"]) or "none"
        drawn_by = f"seed {drawn['seed']}, strata: {strata}"
        of = f"{entry['n_items']:,} of {drawn['of']:,} items ({drawn_by})"
        whole = (
            ""
            if "shard" in recipe
            else "; values and intervals are of the score on all of them"
        )
        notes.append(f"a random sample of {of}{whole}.")

    if shard := recipe.get("shard"):
        notes.append(
            f"part {shard} of the items (--shard), and no result of all: `medical-tasks merge` "
            "makes one run of the parts."
        )

    if entry.get("cut_at_length"):
        notes.append(
            f"{entry['cut_at_length']:,} answers were cut at the length limit (--max-new-tokens)."
        )

    if entry.get("thought_only"):
        notes.append(
            f"WARNING: {entry['thought_only']:,} answers are EMPTY, since reasoning used up all "
            "tokens allowed. They count as wrong. Allow more: --max-new-tokens 16384."
        )

    if adapted := (recipe.get("generation") or {}).get("adapted"):
        from medical_tasks.models.refusals import LEFT_OUT  # about servers: slow

        changes = ", ".join(
            f"{name} ({'left out' if change == LEFT_OUT else f'sent as {change}'})"
            for name, change in adapted.items()
        )
        notes.append(f"the server refuses {changes}.")

    if entry.get("shortened"):
        rule = recipe["truncation"]["rule"]
        notes.append(
            f"{entry['shortened']} of {entry['n_items']} questions were shortened to fit the "
            f"model's context ({rule})."
        )

    return notes


def _imported(entry: Entry) -> list[str]:
    """Describes imported answers: their origin, what is unknown, and their source's figures."""
    origin = mapping(entry["recipe"].get("imported"))
    if not origin:
        return []

    ways = {str(way): count for way, count in mapping(origin.get("matched")).items()}
    matched = [f"{ways[way]:,} by {way}" for way in MATCHED_BY if way in ways]
    lost = sum(count for way, count in ways.items() if way not in MATCHED_BY)
    harness = one_line(str(origin.get("harness") or origin.get("kind")))
    stated = [
        one_line(str(origin[name]), 300)
        for name in ("address", "licence")
        if origin.get(name)
    ]
    where = f" ({', '.join(stated)})" if stated else ""
    note = f"imported from {harness}{where}, matched with items: {', '.join(matched) or 'none'}"
    note += f"; {lost:,} left out" if lost else ""
    if unknown := ", ".join(map(str, origin.get("unknown") or ())):
        note += f"; not known here: {unknown}"

    notes = [f"{note}."]
    return [*notes, f"reported by the source: {reported_text(entry) or 'nothing'}."]


def _judge(entry: Entry) -> list[str]:
    """Describes the judge's coverage, cost and last check; empty for a task without a judge."""
    judge = entry.get("judge")
    if judge is None:
        return []

    verdicts = judge["verdicts"]
    missing = ", ".join(
        f"{count} x {reason}" for reason, count in verdicts["unscored"].items()
    )
    lacking = any(
        not reason.startswith(UNANSWERED) for reason in entry["coverage"]["unscored"]
    )
    if not missing or lacking:
        counted = f"{verdicts['decided']:,} of {verdicts['asked']:,} verdicts" + (
            f" (missing: {missing})" if missing else ""
        )
    else:
        # Asked again in another way, or decided by others.
        counted = f"{verdicts['decided']:,} verdicts (no score lacks one; replies that gave none: {missing})"

    parts = [f"judge {judge['name']}: {counted}"]
    if judge["from_store"]:
        parts.append(f"{judge['from_store']:,} replies from the store")
    # A judge that asks nobody has no calls, and the note says so.
    if judge["calls"] or not judge["from_store"]:
        parts.append(f"{judge['calls']:,} calls made")
    if judge["votes"] > 1:
        parts.append(f"{judge['votes_saved']:,} votes saved of {judge['votes']} each")

    usage, forecast_counts = judge.get("usage"), judge.get("forecast")
    notes = ["; ".join(parts) + ".", judge["check"]]
    if usage and usage["requests"]:
        from medical_tasks.judges.budget import foreseen_said

        forecast = (
            f"; forecast with nothing in the store: {foreseen_said(forecast_counts, prices_of(usage))}"
            if forecast_counts
            else ""
        )
        notes.append(f"judge: {usage_said(usage)}{forecast}.")

    return notes
