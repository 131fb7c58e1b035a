"""`site run`: asks the models of `site.toml`, or scores their files of answers.

It first builds the items that people kept. After scoring, it draws answers for people to
label, against which the judge is checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.errors import IncompleteError, UsageError, did_you_mean
from medical_tasks.io.output import tell
from medical_tasks.report.finished import report_results
from medical_tasks.runs.results import RESULTS_FILE
from medical_tasks.site.folder import Site, changed, last, note_step, open_site
from medical_tasks.site.judging import calibration_of, hand_over_labels
from medical_tasks.site.making import BUILT, data_folder, ready_items
from medical_tasks.site.options import Run
from medical_tasks.site.running import (
    answer_inputs,
    answered,
    coverage,
    roles,
    run_folder,
)
from medical_tasks.site.sampling import items_file
from medical_tasks.site.steps import State, journal_state
from medical_tasks.site.uses import use_of


def run(options: Run) -> int:
    """Asks and scores; exit code 5 if an item has no answer or no score."""
    site = open_site(options.folder)
    requested = _requested_roles(site, options.only)
    ready_items(site)
    code = 0
    for role in requested:
        tell(f"{role}: {getattr(site.settings.models, role)}")
        try:
            answered(
                site,
                role,
                options,
                forecast=options.forecast,
                calibration=None if options.forecast else calibration_of(site),
            )
            if not options.forecast:
                report_results(run_folder(site, role))
        except IncompleteError as error:
            tell(f"{role}: {error}")
            code = error.exit_code

    if options.forecast:
        return code

    note_step(
        site,
        "run",
        inputs=[*answer_inputs(site), data_folder(site)],
        outputs=[
            run_folder(site, role) / RESULTS_FILE
            for role in roles(site)
            if (run_folder(site, role) / RESULTS_FILE).is_file()
        ],
        figures={role: coverage(site, role) for role in requested},
    )
    if use_of(site.settings).judged and site.settings.judge.labels:
        hand_over_labels(site)

    return code


def _requested_roles(site: Site, only: Sequence[str]) -> list[str]:
    evaluated = roles(site)
    for role in only:
        if role not in evaluated:
            raise UsageError(
                f"--only {role}: site.toml has {' and '.join(evaluated)}.{did_you_mean(role, evaluated)}"
            )
    return [role for role in evaluated if role in only or not only]


def state(site: Site) -> State:
    """The state of the step.

    Beyond the journal: stale if the items, or what people decided on them, changed after they
    were built; next if a role has unscored items, since the command continues where it ended.
    """
    cost = _cost(site)
    by_journal = journal_state(site, "run", ready="ask the models", cost=cost)
    built = last(site, BUILT)
    if by_journal.kind == "done" and built is not None and changed(site, built):
        return State(
            "stale", "the items, or what people decided of them, changed", cost
        )

    missing = [
        f"{role} {counts['scored']} of {counts['asked']} scored"
        for role in roles(site)
        if (counts := coverage(site, role))["scored"] < counts["asked"]
        or not counts["asked"]
    ]
    if by_journal.kind == "done" and missing:
        return State("next", f"unfinished: {', '.join(missing)}", cost)

    if by_journal.kind == "next" and not items_file(site).is_file():
        text = "build the items that people kept, and ask the models"
        return State("next", text, cost)

    return by_journal


def _cost(site: Site) -> str:
    """The requests and tokens of the models that are asked, estimated from the drafts."""
    asked_roles = [
        role for role in roles(site) if role not in site.settings.models.answers
    ]
    last_make = last(site, "make")
    if not asked_roles or last_make is None:
        return ""

    items, tokens = last_make.figures["items"], last_make.figures["tokens"]
    names = " and ".join(getattr(site.settings.models, role) for role in asked_roles)
    return (
        f"about {items * len(asked_roles):,} requests and {tokens * len(asked_roles):,} tokens read by "
        f"{names}"
    )
