"""Licences of the datasets: the Hub's id and the address of the text."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LICENCES", "Licence", "licence"]


@dataclass(frozen=True, kw_only=True)
class Licence:
    """A licence as cards and Croissant files name it.

    Attributes:
        hub_id: the Hub's key, `other` for licences it does not know.
        name: what people call it.
        url: where its text is.
    """

    hub_id: str
    name: str
    url: str


LICENCES = {
    "CC-BY-4.0": Licence(
        hub_id="cc-by-4.0",
        name="Creative Commons Attribution 4.0",
        url="https://creativecommons.org/licenses/by/4.0/",
    ),
    "CC-BY-SA-4.0": Licence(
        hub_id="cc-by-sa-4.0",
        name="Creative Commons Attribution-ShareAlike 4.0",
        url="https://creativecommons.org/licenses/by-sa/4.0/",
    ),
    "MIT": Licence(hub_id="mit", name="MIT License", url="https://opensource.org/license/mit"),
    "PhysioNet-Credentialed-1.5.0": Licence(
        hub_id="other",
        name="PhysioNet Credentialed Health Data License 1.5.0",
        url="https://physionet.org/about/licenses/physionet-credentialed-health-data-license-150/",
    ),
    "other": Licence(hub_id="other", name="terms of its source", url="https://choosealicense.com/no-permission/"),
}


def licence(name: str) -> Licence:
    """Looks a licence up by the name a `DatasetSpec` gives.

    Args:
        name: `DatasetSpec.licence`.

    Returns:
        The licence.

    Raises:
        ValueError: It is not listed here.
    """
    if name not in LICENCES:
        raise ValueError(f"licence {name!r} is not in medical_tasks.data.licences; known: {', '.join(LICENCES)}")
    return LICENCES[name]
