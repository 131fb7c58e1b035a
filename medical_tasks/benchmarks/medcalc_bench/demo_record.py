"""Form of the synthetic records of the `demo` configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CALCULATORS", "Calculator", "DemoRecord"]


@dataclass(frozen=True, kw_only=True)
class Calculator:
    """What every row of a calculator has in common, as the official files write it."""

    name: str
    category: str
    output_type: str


@dataclass(frozen=True, kw_only=True)
class DemoRecord:
    """One synthetic row before it is numbered.

    Attributes:
        calculator_id: key of `CALCULATORS`.
        note: number of the note; records with the same number ask about the same text.
        text: the note.
        question: what is asked.
        entities: entity name to value, named as in v1.0.
        answer: the gold, written as in v1.0.
        explanation: how the gold comes about.
    """

    calculator_id: int
    note: int
    text: str
    question: str
    entities: Mapping[str, Any]
    answer: str
    explanation: str


def _decimal(name: str, category: str) -> Calculator:
    return Calculator(name=name, category=category, output_type="decimal")


def _integer(name: str, category: str) -> Calculator:
    return Calculator(name=name, category=category, output_type="integer")


CALCULATORS = {
    3: _decimal("CKD-EPI Equations for Glomerular Filtration Rate", "lab"),
    4: _integer("CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk", "risk"),
    5: _decimal("Mean Arterial Pressure (MAP)", "physical"),
    6: _decimal("Body Mass Index (BMI)", "physical"),
    7: _decimal("Calcium Correction for Hypoalbuminemia", "lab"),
    8: _decimal("Wells' Criteria for Pulmonary Embolism", "risk"),
    10: _decimal("Ideal Body Weight", "physical"),
    11: _decimal("QTc Bazett Calculator", "physical"),
    13: Calculator(name="Estimated Due Date", category="date", output_type="date"),
    16: _integer("Wells' Criteria for DVT", "risk"),
    19: _decimal("Fibrosis-4 (FIB-4) Index for Liver Fibrosis", "lab"),
    20: _integer("Centor Score (Modified/McIsaac) for Strep Pharyngitis", "severity"),
    21: _integer("Glasgow Coma Score (GCS)", "severity"),
    22: _decimal("Maintenance Fluids Calculations", "physical"),
    24: _decimal("Steroid Conversion Calculator", "dosage"),
    25: _integer("HAS-BLED Score for Major Bleeding Risk", "risk"),
    26: _decimal("Sodium Correction for Hyperglycemia", "lab"),
    30: _decimal("Serum Osmolality", "lab"),
    33: _integer("FeverPAIN Score for Strep Pharyngitis", "diagnosis"),
    38: _decimal("Free Water Deficit", "lab"),
    39: _decimal("Anion Gap", "lab"),
    44: _decimal("LDL Calculated", "lab"),
    45: _integer("CURB-65 Score for Pneumonia Severity", "risk"),
    48: _integer("PERC Rule for Pulmonary Embolism", "diagnosis"),
    49: _decimal("Morphine Milligram Equivalents (MME) Calculator", "dosage"),
    51: _integer("SIRS Criteria", "diagnosis"),
    60: _decimal("Body Surface Area Calculator", "physical"),
    65: _decimal("Albumin Corrected Anion Gap", "lab"),
    68: Calculator(name="Estimated of Conception", category="date", output_type="date"),
    69: _integer("Estimated Gestational Age", "date"),
}
