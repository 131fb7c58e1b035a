"""How the datasets of DocLens are built, each from its own module."""

from __future__ import annotations

from medical_tasks.doclens.aci_data import ACI_SOURCE
from medical_tasks.doclens.meqsum_data import MEQSUM_SOURCE

__all__ = ["SOURCES"]

SOURCES = (ACI_SOURCE, MEQSUM_SOURCE)
