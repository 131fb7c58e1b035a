"""Invented patients and notes for `site new --demo`; they describe nobody.

A patient is a handful of facts drawn by a seed, which notes, summaries and questions
express in this module's sentences. The same seed gives the same patients.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

AGE_GROUPS: Final = ("18-64", "65-79", "80 and over")

_REASONS: Final = (
    ("pneumonia of the right lower lobe", "cough and fever for four days"),
    ("acute pyelonephritis", "flank pain and shaking chills"),
    ("decompensated heart failure", "breathlessness and swollen legs"),
    ("acute pancreatitis", "pain in the upper abdomen after a meal"),
    ("deep vein thrombosis of the left leg", "a swollen and tender calf"),
    ("gastrointestinal bleeding", "black stools and dizziness"),
    ("atrial fibrillation with a fast rate", "palpitations since the morning"),
    ("cellulitis of the right foot", "redness that spread from a small wound"),
)
_DRUGS: Final = (
    "apixaban", "metoprolol", "furosemide", "pantoprazole", "amoxicillin", "lisinopril",
    "metformin", "atorvastatin", "prednisolone", "levetiracetam",
)  # fmt: skip
_ALLERGENS: Final = (
    "penicillin", "iodinated contrast", "latex", "codeine", "trimethoprim", "ibuprofen",
    "peanuts", "wasp venom", "nickel", "eggs",
)  # fmt: skip
_TESTS: Final = (
    "echocardiography", "computed tomography of the abdomen", "colonoscopy",
    "ultrasound of the leg veins", "chest radiography", "gastroscopy",
    "magnetic resonance imaging of the head", "bronchoscopy", "cystoscopy",
)  # fmt: skip
_CLINICS: Final = (
    "cardiology", "pulmonology", "nephrology", "gastroenterology", "urology",
    "haematology", "neurology", "dermatology", "endocrinology",
)  # fmt: skip


OTHER_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "apixaban": "Eliquis",
        "metoprolol": "Lopressor",
        "furosemide": "Lasix",
        "pantoprazole": "Protonix",
        "amoxicillin": "Amoxil",
        "lisinopril": "Zestril",
        "metformin": "Glucophage",
        "atorvastatin": "Lipitor",
        "prednisolone": "Orapred",
        "levetiracetam": "Keppra",
        "echocardiography": "a heart scan with sound waves",
        "gastroscopy": "a look into the stomach",
        "bronchoscopy": "a look into the airways",
        "cystoscopy": "a look into the bladder",
        "colonoscopy": "a look into the bowel",
        "cardiology": "the heart specialists",
        "pulmonology": "the lung specialists",
        "nephrology": "the kidney specialists",
        "neurology": "the nerve specialists",
        "dermatology": "the skin specialists",
    }
)
"""Synonyms that share no words with the original, on which a judge by words is wrong."""


@dataclass(frozen=True, kw_only=True)
class Invented:
    """An invented patient.

    Attributes:
        id: a record number, as invented as the rest.
        weeks: until the visit at the clinic.
        creatinine: in mg/dL.
        weight: in kg.
        height: in cm.
    """

    id: str
    sex: str
    age: int
    reason: str
    complaint: str
    drug: str
    dose: int
    allergen: str
    test: str
    clinic: str
    weeks: int
    creatinine: float
    weight: int
    height: int
    systolic: int
    diastolic: int
    heart_rate: int

    @property
    def age_group(self) -> str:
        """The stratum of the age."""
        return AGE_GROUPS[0 if self.age < 65 else 1 if self.age < 80 else 2]

    @property
    def subject(self) -> str:
        """He or she."""
        return "She" if self.sex == "female" else "He"


def invented(count: int, seed: int, *, old: float = 0.5) -> list[Invented]:
    """Draws patients.

    Args:
        count: the number of patients.
        seed: the seed of the draw.
        old: the share of patients over 64.
    """
    draw = random.Random(f"site demo {seed}")  # noqa: S311 - no secret
    return [_draw_patient(draw, 100_001 + number, old) for number in range(count)]


def _draw_patient(draw: random.Random, number: int, old: float) -> Invented:
    reason, complaint = draw.choice(_REASONS)
    age = draw.randint(65, 94) if draw.random() < old else draw.randint(24, 64)
    return Invented(
        id=str(number),
        sex=draw.choice(("female", "male")),
        age=age,
        reason=reason,
        complaint=complaint,
        drug=draw.choice(_DRUGS),
        dose=draw.choice((5, 10, 20, 40, 50, 100, 500)),
        allergen=draw.choice(_ALLERGENS),
        test=draw.choice(_TESTS),
        clinic=draw.choice(_CLINICS),
        weeks=draw.randint(2, 12),
        creatinine=round(draw.uniform(0.6, 2.4), 1),
        weight=draw.randint(48, 104),
        height=draw.randint(152, 191),
        systolic=draw.randint(104, 158),
        diastolic=draw.randint(58, 92),
        heart_rate=draw.randint(56, 112),
    )


def note_of(patient: Invented) -> str:
    """The discharge note of a patient."""
    return "\n".join(
        (
            f"A {patient.age}-year-old {patient.sex} patient came with {patient.complaint}.",
            f"The diagnosis was {patient.reason}.",
            f"Known allergy to {patient.allergen}.",
            f"On arrival blood pressure was {patient.systolic}/{patient.diastolic} mmHg and heart rate "
            f"was {patient.heart_rate} beats per minute.",
            f"Weight was {patient.weight} kg and height was {patient.height} cm.",
            f"Creatinine was {patient.creatinine} mg/dL.",
            f"During the stay {patient.test} was done without complications.",
            f"{patient.subject} went home on {patient.drug} {patient.dose} mg daily.",
            f"A visit to the {patient.clinic} clinic is planned in {patient.weeks} weeks.",
        )
    )


def facts_of(patient: Invented) -> tuple[str, ...]:
    """The clinician's own summary, one sentence for each fact."""
    return (
        f"The diagnosis was {patient.reason}.",
        f"There is an allergy to {patient.allergen}.",
        f"{patient.subject} went home on {patient.drug} {patient.dose} mg daily.",
        f"A visit to the {patient.clinic} clinic is due in {patient.weeks} weeks.",
    )


def asked_by(patient: Invented) -> tuple[str, tuple[str, ...]]:
    """A patient's question after the stay, and the clinician's answer as statements."""
    question = (
        f"I was in hospital with {patient.reason} and was given {patient.drug}. I am {patient.age}. What do "
        "I have to do now?"
    )
    return question, (
        f"Take {patient.drug} {patient.dose} mg once a day.",
        f"Stay away from {patient.allergen}, which you are allergic to.",
        f"Come to the {patient.clinic} clinic in {patient.weeks} weeks.",
        f"Call at once if you have {patient.complaint} again.",
    )


def question_of(
    patient: Invented, draw: random.Random
) -> tuple[str, tuple[str, ...], str]:
    """A question with five choices and the letter of the right one."""
    templates = (
        ("Which medicine did the patient go home on?", patient.drug, _DRUGS),
        ("What is the patient allergic to?", patient.allergen, _ALLERGENS),
        ("Which examination was done during the stay?", patient.test, _TESTS),
        ("Which clinic is the patient to visit?", patient.clinic, _CLINICS),
    )
    question, right, options = draw.choice(templates)
    wrong = draw.sample([name for name in options if name != right], 4)
    choices = draw.sample([right, *wrong], 5)

    return question, tuple(choices), "ABCDE"[choices.index(right)]
