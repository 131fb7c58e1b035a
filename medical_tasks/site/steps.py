"""The steps of a site and their states: what is done, what is next, who does it, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.plugins import load
from medical_tasks.site.folder import Site, changed, last, open_site
from medical_tasks.site.options import Status

Kind = Literal["done", "stale", "next", "waiting", "blocked"]


class State(NamedTuple):
    """The state of a step.

    Attributes:
        kind: done; stale, if an input has changed since; next, if it can be done now;
            waiting, if people must do something; blocked, if another step comes first.
        text: one line, with the next step if there is one.
        cost: requests, tokens or reviewers' minutes; "" for next to nothing.
    """

    kind: Kind
    text: str
    cost: str = ""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a site.

    Attributes:
        who: who does it: you or reviewers.
        needs: the steps that must be done before.
        run: `package.module:name` of the function that does it; it takes the step's
            options and returns the exit code.
        state: `package.module:name` of the function that returns the site's `State`;
            "" to go by the journal.
        alone: whether it locks the folder against other steps.
    """

    name: str
    summary: str
    who: str
    needs: tuple[str, ...] = ()
    run: str
    state: str = ""
    alone: bool = True


STEPS: Final[tuple[Step, ...]] = (
    Step(
        name="plan",
        summary="how many items and labels the decision needs",
        who="you",
        run="medical_tasks.site.planning:run",
        state="medical_tasks.site.planning:state",
    ),
    Step(
        name="sample",
        summary="patients drawn at random, in strata",
        who="you",
        needs=("plan",),
        run="medical_tasks.site.sampling:run",
        state="medical_tasks.site.sampling:state",
    ),
    Step(
        name="make",
        summary="items drafted from the notes, for people to check",
        who="you",
        needs=("sample",),
        run="medical_tasks.site.making:run",
        state="medical_tasks.site.making:state",
    ),
    Step(
        name="review",
        summary="people check items and label answers at the desk",
        who="reviewers",
        needs=("make",),
        run="medical_tasks.site.desk.command:run",
        state="medical_tasks.site.reviewing:state",
        alone=False,
    ),
    Step(
        name="run",
        summary="the models asked, or their answers scored",
        who="you",
        needs=("make",),
        run="medical_tasks.site.asking:run",
        state="medical_tasks.site.asking:state",
    ),
    Step(
        name="judge",
        summary="the judge checked against labels, scores corrected",
        who="you",
        needs=("run", "review"),
        run="medical_tasks.site.judging:run",
        state="medical_tasks.site.judging:state",
    ),
    Step(
        name="gate",
        summary="GO, NO-GO or INCONCLUSIVE, by the policy",
        who="you",
        needs=("run", "judge"),
        run="medical_tasks.site.deciding:run",
        state="medical_tasks.site.deciding:state",
    ),
    Step(
        name="check",
        summary="no text of notes is in the folder, which gates all that leaves it",
        who="you",
        run="medical_tasks.site.checking:run",
        state="medical_tasks.site.checking:state",
    ),
    Step(
        name="evidence",
        summary="what frameworks ask, answered line by line from what was measured",
        who="you",
        needs=("gate", "check"),
        run="medical_tasks.site.evidence.writing:run",
    ),
    Step(
        name="monitor",
        summary="later: the same items again; the same, worse, or another model",
        who="you",
        needs=("gate",),
        run="medical_tasks.site.monitoring:run",
        state="medical_tasks.site.monitoring:state",
    ),
    Step(
        name="share",
        summary="what other hospitals may have: counts and strata, no text",
        who="you",
        needs=("run", "check"),
        run="medical_tasks.site.sharing:run",
        state="medical_tasks.site.sharing:state",
    ),
)
"""In the order of the work."""

RUNS: Final[Mapping[str, str]] = {
    "new": "medical_tasks.site.starting:run",
    "status": "medical_tasks.site.steps:run",
    **{step.name: step.run for step in STEPS},
    "pool": "medical_tasks.site.pooling:run",
}
"""The function of each step."""


def step_named(name: str) -> Step | None:
    """The step with this name; None for `new`, `status` and `pool`."""
    return next((step for step in STEPS if step.name == name), None)


def states(site: Site) -> dict[str, State]:
    """The state of every step, in the order of the work.

    A step is blocked by those that it needs and that are not done. A stale step blocks
    nothing.
    """
    step_states: dict[str, State] = {}
    for step in STEPS:
        missing = [
            name
            for name in step.needs
            if name in step_states
            and step_states[name].kind in ("next", "waiting", "blocked")
        ]
        if missing:
            step_states[step.name] = State(
                "blocked", f"needs {', '.join(missing)} first"
            )
        elif step.state:
            step_states[step.name] = load(step.state)(site)
        else:
            step_states[step.name] = journal_state(site, step.name)

    return step_states


def journal_state(site: Site, step: str, *, ready: str = "", cost: str = "") -> State:
    """The state of a step by the journal alone.

    Args:
        site: the site.
        step: its name.
        ready: the text if it can be done now.
        cost: what it then costs.

    Example: `sample` was done with the seed 1, whose hash is in the journal. With another seed
    in site.toml it is stale, "done ...; changed since: site.toml:seed".
    """
    done = last(site, step)
    if done is None:
        return State("next", ready or "can be done now", cost)

    if others := changed(site, done):
        names = ", ".join(others)
        return State("stale", f"done {done.at}; changed since: {names}", cost)

    return State("done", f"done {done.at}")


def run(options: Status) -> int:
    """Prints the state of every step."""
    site = open_site(options.folder)
    step_states = states(site)
    tell(status_text(site, step_states), _content(site, step_states))
    return 0


def status_text(site: Site, step_states: Mapping[str, State]) -> str:
    """The states as a table, and what to do next."""
    rows = [
        (
            step.name,
            step_states[step.name].kind,
            f"{step_states[step.name].text} (by {step.who})",
        )
        for step in STEPS
    ]
    head = f"{site.settings.name}: {site.settings.use}"
    table = "\n".join(align(("step", "state", "what"), rows))
    return f"{head}\n\n{table}\n\n{advice(step_states)}"


def advice(step_states: Mapping[str, State]) -> str:
    """What to do next, by whom and for how much."""
    for step in STEPS:
        state = step_states[step.name]
        if state.kind not in ("stale", "next", "waiting"):
            continue
        cost = f" It takes {state.cost}." if state.cost else ""
        return f"Next, by {step.who}: medical-tasks site {step.name}.{cost}"

    for step in STEPS:
        state = step_states[step.name]
        if state.kind == "blocked":
            return f"Nothing can be done before {step.name} is unblocked: {state.text}."
    return "All is done."


def _content(site: Site, step_states: Mapping[str, State]) -> dict[str, object]:
    """The states for programs."""
    return {
        "name": site.settings.name,
        "use": site.settings.use,
        "steps": [
            {
                "step": step.name,
                "who": step.who,
                "needs": list(step.needs),
                **step_states[step.name]._asdict(),
            }
            for step in STEPS
        ],
    }
