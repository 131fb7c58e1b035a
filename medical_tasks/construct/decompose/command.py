"""The verb `decompose` on the command line; `options.Decompose` has its options."""

from __future__ import annotations

from medical_tasks.construct.contract import Decomposition
from medical_tasks.construct.options import Decompose
from medical_tasks.errors import UsageError


def run(arguments: Decompose) -> int:
    """Decomposes the texts; exit code 5 if the judge did not decompose all of them."""
    decompositions = _decompositions()
    for name, decomposition in decompositions.items():
        stray = [
            f"--{option}"
            for option in decomposition.options
            if getattr(arguments, option) is not None
        ]
        if stray and name != arguments.benchmark:
            raise UsageError(
                f"decompose {arguments.benchmark} does not accept {', '.join(stray)}. Leave it out, or "
                f"run: decompose {name}"
            )

    return decompositions[arguments.benchmark].run(arguments)


def _decompositions() -> dict[str, Decomposition]:
    from medical_tasks.construct.decompose import doclens, kqa

    return {"kqa": kqa.DECOMPOSITION, "doclens": doclens.DECOMPOSITION}
