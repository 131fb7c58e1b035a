"""The verb `decompose` on the command line; `Decompose` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.construct.contract import Decomposition
from medical_tasks.construct.options import Decompose
from medical_tasks.errors import UsageError


def run(arguments: Decompose) -> int:
    """Takes the texts apart; exit code 5 when the judge left some."""
    known = _known()
    for name, each in known.items():
        stray = [
            f"--{option}"
            for option in each.options
            if getattr(arguments, option) is not None
        ]
        if stray and name != arguments.benchmark:
            raise UsageError(
                f"decompose {arguments.benchmark} takes no {', '.join(stray)}. Leave it out, or "
                f"say: decompose {name}"
            )

    return known[arguments.benchmark].run(arguments)


def _known() -> dict[str, Decomposition]:
    from medical_tasks.construct.decompose import doclens, kqa

    return {"kqa": kqa.DECOMPOSITION, "doclens": doclens.DECOMPOSITION}
