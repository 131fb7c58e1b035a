"""The verb `construct` on the command line; `options.CONSTRUCT` has its options."""

from __future__ import annotations

from medical_tasks.construct.contract import Construction
from medical_tasks.construct.options import Construct
from medical_tasks.guard import policy
from medical_tasks.options import WithAttestation
from medical_tasks.runs.folder import is_main_process


def run(arguments: Construct) -> int:
    """Runs one step; exit code 5 if it did not finish."""
    if not is_main_process():
        return 0  # only the main process has work to do

    construction = _constructions()[arguments.benchmark]
    # Every step is guarded, since error messages must not quote protected text.
    subject = policy.Subject.of(
        construction.dataset, task=f"construct {construction.dataset.name}"
    )
    attestation = (
        policy.attestation_from(arguments)
        if isinstance(arguments, WithAttestation)
        else policy.NOTHING_ATTESTED
    )
    with policy.protect([subject], attestation):
        return construction.steps[arguments.step](arguments)


def _constructions() -> dict[str, Construction]:
    from medical_tasks.construct.archehr import steps as archehr
    from medical_tasks.construct.ehrnoteqa import steps as ehrnoteqa
    from medical_tasks.construct.medcalc import steps as medcalc

    return {
        "medcalc": medcalc.CONSTRUCTION,
        "ehrnoteqa": ehrnoteqa.CONSTRUCTION,
        "archehr": archehr.CONSTRUCTION,
    }
