"""What a question asks about: the paper's ten categories, assigned by a rule of ours.

The authors categorised the questions by hand (paper, section 3.4 and appendix D) and released the categories of no question.
The rule looks for words that ask for something. It was made with sight of the 40 examples in the paper's tables 3 and 9, so
how well it does there says little of how well it does elsewhere; `docs/ehrnoteqa.md` has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["CATEGORIES", "DEFINITIONS", "FALLBACK", "question_categories"]

DEFINITIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "treatment": "what was done about a problem: drugs, operations, other management",
        "assessment": "how the patient is, or how that changed",
        "problem": "diseases, diagnoses, complications and other troubles the patient had",
        "etiology": "why a symptom or a problem came about",
        "sign_symptom": "what the patient felt or showed",
        "vitals": "temperature, pulse, breathing rate or blood pressure",
        "test_results": "findings of laboratory tests, imaging and other examinations",
        "history": "what had happened before, to the patient or in the family",
        "instruction": "what the hospital told the patient to do or to avoid",
        "plan": "what is to be done later",
    }
)
"""Category to what its questions are about (appendix D, in our words), in the paper's order."""

CATEGORIES: Final[tuple[str, ...]] = tuple(DEFINITIONS)

FALLBACK: Final = "treatment"
"""Of a question in which no word is found: the category that most questions have (64 %, table 3)."""

# What such a clause names is given, not asked: "Given the history of X, what ...". One clause, up to its comma.
_GIVEN = re.compile(r"(?:given|considering|based on|according to|as per|after|following|during|upon)\b[^,?]*,")

# A few words between what is asked and what it is asked of; bounded, so that no text takes long.
_FEW = r"(?:[\w'/-]+ ){0,4}?"
_ASKED = (
    rf"\b(?:what|which|any|other|main|primary|principal|new|experienced?|suffer(?:ed)?|sustain(?:ed)?|list of) {_FEW}"
)
_DRUGS = r"(?:medic|drug|dos|prescri|regimen|treat|therap)"

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "treatment": (
        r"\b(?:treat|therap|medication|medicine|prescri|antibiotic|intervention|procedure|regimen|transfus|transplant)",
        r"\b(?:manag(?:e|ed|ing|ement)|drugs?|dos(?:e|es|age|ages|ing)|surger(?:y|ies)|surgical|operated)\b",
        r"(?<!post[ -])\boperations?\b",
        r"\b(?:undergo|undergone|underwent|performed|addressed|administered|received|stent\w*|resect\w+|repair\w*)\b",
        r"\b(?:insulin|dialysis|chemotherapy|radiation|anticoag\w+|prophyla\w+|steroids?|discontinu\w+|measures)\b",
    ),
    "assessment": (
        r"\b(?:resolv|resolution|improv|worsen|deteriorat|progress|success|recover|stabili|evolv|evolution)",
        r"\b(?:status|stable|mobility|prognosis|severity|fluctuat\w+|characteristics|differ(?:ed|ences?)?|outcome|respond(?:ed)?)\b",
        r"\b(?:current|overall|clinical|general|physical|mental|discharge|patient's|his|her|their) condition\b",
        rf"\bchang(?:e|es|ed) (?:in|of|over|between)\b(?! (?:(?:the|his|her|their|patient's) ){{0,2}}{_DRUGS})",
        r"\bhow did [\w'/ -]{1,60}\bchange\b",
        r"\bassess",
    ),
    "problem": (
        r"\b(?:complication|ailment|comorbidit)",
        r"\b(?:diagnosis|diagnoses|(?:allergic|adverse) (?:drug )?(?:reactions?|events?)|side effects?)\b",
        rf"{_ASKED}(?:problem|disease|disorder|injur|infection|illness|issue|conditions\b|medical condition)",
        rf"{_ASKED}(?:diagnosed|suffering)\b",
    ),
    "etiology": (
        r"\b(?:why|because|etiolog|aetiolog|caus(?:e|es|ed|ing)\b|reason|contribut|trigger|precipitat|prompted|attribut)",
        r"\b(?:due to|lea?d to|result(?:ed|ing)? (?:in|from)|relates? to|responsible for|source of|risk factors?)\b",
        r"\b(?:relationship|correlat\w+|justif\w+|rationale|explanation|indications? for)\b",
    ),
    "sign_symptom": (
        r"\bsymptom",
        r"(?<!vital )\bsigns?\b",
        r"\b(?:chief complaint|complain(?:ed|ts?)?|present(?:ed|ing)? with|presentation|manifest\w+|physical exam\w*)\b",
        rf"\b(?:experienc\w+|report(?:ed)?|den(?:y|ied)|feel(?:ing)?|felt|suffer(?:ed|ing)?|any) {_FEW}"
        r"(?:pain|shortness of breath|dyspnea|dizziness|lightheaded|nausea|vomiting|fatigue|fever|headache|swelling|weakness|"
        r"numbness|cough|palpitation|bleeding|seizure|confusion)",
    ),
    "vitals": (
        r"\b(?:vitals|vital signs?|blood pressures?|heart rates?|pulse|respirat(?:ory|ion) rates?|temperatures?)\b",
    ),
    "test_results": (
        r"\b(?:tests?|labs?|laboratory|imaging|scans?|ct|mri|x-?rays?|radiographs?|ultrasounds?|ekg|ecg|lfts?|findings?)\b",
        r"\b(?:echocardiogra|electrocardiogra|biops|patholog|culture|electrolyte|troponin|angiogra|catheterization results)",
        r"\b(?:levels?|ha?emoglobin|ha?ematocrit|creatinine|bilirubin|potassium|glucose|white blood cells?|wbc|inr)\b",
        r"\b(?:platelets?|ejection fraction|(?:liver|kidney|renal) function|blood counts?)\b",
    ),
    "history": (
        r"\b(?:medical|surgical|past|family|social|clinical|personal|smoking|psychiatric|cardiac|medication) history\b",
        r"\b(?:have|has|had|any|there) (?:a |any |known |prior |previous |family )*history\b",
        rf"\b(?:previous|prior|past|earlier) {_FEW}"
        r"(?:admission|hospitali|surger|surgical|procedure|operation|intervention|episode|illness|diagnos|condition|treat)",
        r"\b(?:surger(?:y|ies)|interventions?|operations?|procedures?|hospitali[sz]ations?) (?:prior to|before)\b",
        r"\b(?:previously|allerg(?:y|ies|ic)|smok(?:es?|ed|er|ing)|tobacco|alcohol|occupation|home medications?)\b",
    ),
    "instruction": (
        r"\b(?:instruct|advi[cs]e|advising|counsel|precaution|restriction|educat)",
        r"\b(?:weight[ -]bearing|told to|encouraged to|asked to|warned|to avoid)\b",
    ),
    "plan": (
        r"\b(?:plan(?:s|ned|ning)?|follow(?:ed)?[ -]?up|future|scheduled|appointments?|upcoming|recommend(?:ed|ations?)?)\b",
        r"\b(?:next steps?|(?:seen|done|visit) next|considered for)\b",
    ),
}
_PATTERNS: Final = {category: re.compile("|".join(_WORDS[category])) for category in CATEGORIES}


def question_categories(question: str) -> tuple[str, ...]:
    """Assigns categories to a question; many questions ask about several things.

    Args:
        question: its text.

    Returns:
        One or more of `CATEGORIES`, in their order; `FALLBACK` alone where no word is found.
    """
    text = " ".join(question.lower().replace("\u2019", "'").split())
    asked = _GIVEN.sub("", text, count=1) if _GIVEN.match(text) else text
    found = tuple(category for category, pattern in _PATTERNS.items() if pattern.search(asked))
    return found or (FALLBACK,)
