"""Modality and anatomy of a radiology report, from the DESCRIPTION of its row in MIMIC-III.

The paper names two modalities and seven anatomies (appendix on the experiments) and not how a report got its own; this table is
ours. A description is taken apart into words, so that `CT HEAD W/O CONTRAST`, `-59 DISTINCT PROCEDURAL SERVICE` and
`MR L-SPINE W & W/O CONTRAST` need no patterns. What could be two things is neither.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from medical_tasks.doclens.mimic_left_out import LeftOut

__all__ = ["ANATOMIES", "MODALITIES", "TRAIN_KINDS", "Kind", "kind_of"]

MODALITIES: Final = ("CT", "MR")
ANATOMIES: Final = ("head", "abdomen", "chest", "spine", "neck", "sinus", "pelvis")


class Kind(NamedTuple):
    """What a report is of.

    Attributes:
        modality: of `MODALITIES`.
        anatomy: of `ANATOMIES`.
    """

    modality: str
    anatomy: str


TRAIN_KINDS: Final = (
    Kind("CT", "head"),
    Kind("CT", "abdomen"),
    Kind("CT", "chest"),
    Kind("CT", "spine"),
    Kind("MR", "head"),
    Kind("MR", "spine"),
)
"""The six kinds with a train split. The paper says that there are six; which, is our choice: the most frequent."""


def _words(**lists: str) -> dict[str, str]:
    return {word: name for name, words in lists.items() for word in words.split()}


_MODALITY_OF: Final = _words(
    CT="CT CTA CTV CTP CTU CAT",
    MR="MR MRI MRA MRV MRS MRCP MRU FMRI",
)

_PROCEDURES: Final = frozenset(
    "ABLATION ASPIRATION ASP BIOPSY BX DRAIN DRAINAGE GUIDANCE GUIDE GUIDED INJECTION INTERVENTIONAL NEEDLE PERC "
    "PERCUTANEOUS PLACEMENT PLACTMENT STEREOTACTIC STEREOTAXIS VERTEBROPLASTY".split()
)

# `other` is what the seven are not, so that a limb beside the pelvis makes it ambiguous. `THORACIC`, `CERVICAL` and `LUMBAR`
# are of the spine only where it is named: there are thoracic aortas.
_ANATOMY_OF: Final = _words(
    head="HEAD BRAIN PITUITARY SELLA SELLAR IAC IACS ORBIT ORBITS ORBITAL CRANIAL SKULL TEMPORAL WILLIS",
    abdomen="ABD ABDOMEN ABDOMINAL ADRENAL ADRENALS COLONOGRAPHY ENTEROGRAPHY HEPATIC KIDNEY KIDNEYS LIVER MRCP PANCREAS "
    "PANCREATIC RENAL SPLEEN UROGRAM UROGRAPHY",
    chest="AIRWAY CHEST LUNG LUNGS MEDIASTINUM PULMONARY THORAX TRACHEA",
    spine="CSPINE LSPINE LUMBOSACRAL SACRAL SACRUM SPINAL SPINE TSPINE",
    neck="CAROTID CAROTIDS LARYNX NASOPHARYNX NECK PAROTID PAROTIDS",
    sinus="FACE FACIAL MANDIBLE MAXILLOFACIAL PARANASAL SINUS SINUSES",
    pelvis="PELVIC PELVIS PROSTATE RECTUM UTERUS",
    other="ANKLE ARM BIFEM BREAST BREASTS ELBOW EXT EXTREM EXTREMITY EXTREMITIES FEMUR FINGER FOOT FOREARM HAND HEEL HIP HIPS "
    "HUMERUS KNEE LEG PLEXUS RUNOFF SHOULDER THIGH TIBIA TMJ TOE TORSO WRIST",
)

# Before `SINUS`, these make it a vein of the head.
_VEINS: Final = frozenset(("VENOUS", "DURAL", "SAGITTAL", "CAVERNOUS"))

_WORD = re.compile("[A-Z0-9]+")


@lru_cache(maxsize=8192)
def kind_of(description: str) -> Kind | LeftOut:
    """Tells what a report is of.

    Abdomen and pelvis together, one examination in most hospitals, are `abdomen`; any other two anatomies are ambiguous.

    Args:
        description: the row's DESCRIPTION.

    Returns:
        The kind, or the reason for which it has none.
    """
    words = _WORD.findall(description.upper())
    modalities = {_MODALITY_OF[word] for word in words if word in _MODALITY_OF}
    if len(modalities) != 1:
        return LeftOut.SEVERAL_MODALITIES if modalities else LeftOut.OTHER_MODALITY
    if not _PROCEDURES.isdisjoint(words):
        return LeftOut.PROCEDURE
    anatomies = {
        "head" if word.startswith("SINUS") and before in _VEINS else _ANATOMY_OF[word]
        for before, word in zip(["", *words], words, strict=False)
        if word in _ANATOMY_OF
    }
    if anatomies == {"abdomen", "pelvis"}:
        anatomies = {"abdomen"}
    if len(anatomies) > 1:
        return LeftOut.SEVERAL_ANATOMIES
    anatomy = anatomies.pop() if anatomies else "other"
    return LeftOut.OTHER_ANATOMY if anatomy == "other" else Kind(modalities.pop(), anatomy)
