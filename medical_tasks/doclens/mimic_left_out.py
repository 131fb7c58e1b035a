"""Why a radiology report is not in `mimic_rrs`: one word a reason, for counting."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["LeftOut"]


class LeftOut(StrEnum):
    """A reason; its text is what counts are told under."""

    ERROR = "marked as an error by its hospital"
    OTHER_MODALITY = "neither CT nor MR"
    SEVERAL_MODALITIES = "CT and MR"
    PROCEDURE = "a procedure under CT or MR"
    OTHER_ANATOMY = "none of the seven anatomies"
    SEVERAL_ANATOMIES = "several anatomies"
    NO_FINDINGS = "no findings section"
    NO_IMPRESSION = "no impression section"
    ONE_SECTION = "findings and impression in one section"
    SEVERAL_IMPRESSIONS = "several impression sections"
    SHORT_FINDINGS = "findings too short"
    SHORT_IMPRESSION = "impression too short"
    POINTING_IMPRESSION = "impression that only points to the findings"
