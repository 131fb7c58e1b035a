"""The verb `construct` on the command line; `Construct` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.construct.contract import Construction
from medical_tasks.construct.options import Construct
from medical_tasks.guard import policy
from medical_tasks.options import WithAttestation
from medical_tasks.runs.folder import is_main_process


def run(arguments: Construct) -> int:
    """Does one step; exit code 5 when something is not finished."""
    if not is_main_process():
        return 0  # there is nothing to share among processes

    chosen = _constructions()[arguments.benchmark]
    # Whatever step: an error about text that is held may not be told in its own words.
    subject = policy.Subject.of(chosen.dataset, task=f"construct {chosen.dataset.name}")
    attestation = (
        policy.attestation_from(arguments)
        if isinstance(arguments, WithAttestation)
        else policy.NOTHING_ATTESTED
    )
    with policy.protect([subject], attestation):
        return chosen.steps[arguments.step](arguments)


def _constructions() -> dict[str, Construction]:
    from medical_tasks.construct.archehr import steps as archehr
    from medical_tasks.construct.ehrnoteqa import steps as ehrnoteqa
    from medical_tasks.construct.medcalc import steps as medcalc

    return {
        "medcalc": medcalc.CONSTRUCTION,
        "ehrnoteqa": ehrnoteqa.CONSTRUCTION,
        "archehr": archehr.CONSTRUCTION,
    }
