"""What a twin's cases are about: invented courses of stays, each a list of facts in the note's words and in an answer's.

Braces hold numbers that are drawn for each case, the same in both wordings. Written for this package; they describe nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["CLOSINGS", "FILLERS", "HEADINGS", "OPENINGS", "TOPICS", "Topic"]


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A course.

    Attributes:
        emergency: whether it is a visit to the emergency department.
        story: how the patient or a relative tells it, before the question.
        ask: the part that asks.
        question: as a clinician would put it.
        facts: what answers it: a sentence of the note, and the same as an answer says it.
        more: sentences that support it.
    """

    emergency: bool
    story: str
    ask: str
    question: str
    facts: tuple[tuple[str, str], ...]
    more: tuple[str, ...]


TOPICS: Final = (
    Topic(
        emergency=False,
        story="They drained water from around {his} lung on day {a} and the tube stayed in for {b} days.",
        ask="why did that tube have to stay so long?",
        question="Why was the chest tube left in place for {b} days?",
        facts=(
            (
                "A chest tube was placed on day {a} for a loculated effusion.",
                "The fluid was in pockets, so a tube was placed on day {a}.",
            ),
            ("Pleural fluid pH was 7.0 and cultures grew streptococci.", "The fluid was infected."),
            (
                "The tube drained {c}0 mL a day until the end of the first week.",
                "It still drained {c}0 mL a day at the end of the first week.",
            ),
            (
                "The tube was removed after {b} days, when output was below 50 mL.",
                "It was removed after {b} days, as soon as little fluid came.",
            ),
            (
                "Earlier removal was avoided because fluid that is left behind can form an abscess.",
                "Fluid that is left behind can turn into an abscess.",
            ),
            ("The lung had expanded fully before removal.", "By then the lung had opened up again."),
        ),
        more=(
            "Antibiotics were narrowed to ceftriaxone on day {a}.",
            "Tissue plasminogen activator was given through the tube twice.",
            "A CT on day {b} showed a small remaining effusion.",
            "Thoracic surgery saw no need for decortication.",
            "Fever ended on the third day of antibiotics.",
        ),
    ),
    Topic(
        emergency=False,
        story="{his} heart beat at {c}0 and they shocked it back to normal after {b} days on a drip.",
        ask="Does it mean the rhythm is cured now, are the pills for life?",
        question="Is long-term treatment of atrial fibrillation needed after cardioversion?",
        facts=(
            (
                "Atrial fibrillation with a rate of {c}0 did not respond to diltiazem.",
                "Medicine alone did not slow the heart enough.",
            ),
            (
                "Cardioversion on day {b} restored sinus rhythm.",
                "A shock on day {b} brought the normal rhythm back.",
            ),
            (
                "The left atrium is {b} mm wider than normal, so recurrence is likely.",
                "It is likely to come back, since the left atrium is wide.",
            ),
            (
                "Anticoagulation is to be continued for life because of the risk of stroke.",
                "The blood thinner is meant for life, to prevent a stroke.",
            ),
            (
                "Amiodarone is to be stopped after {a} weeks if rhythm is stable.",
                "Amiodarone can end after {a} weeks if the rhythm holds.",
            ),
            ("CHA2DS2-VASc score is {b}.", "The score for the risk of stroke is {b}."),
        ),
        more=(
            "Thyroid function was normal.",
            "Echocardiography before the shock showed no thrombus.",
            "Heparin was changed to apixaban on day {b}.",
            "Blood pressure was 1{a}/70 after cardioversion.",
        ),
    ),
    Topic(
        emergency=True,
        story="I cut my hand on glass and it took {a} stitches, and they gave me a shot but no antibiotics.",
        ask="Should I not have got antibiotics?",
        question="Why were no antibiotics prescribed for the laceration?",
        facts=(
            (
                "A clean laceration of {b} cm was irrigated with {b}00 mL of saline.",
                "The wound was clean and was washed out well.",
            ),
            ("It was closed {b} hours after injury.", "It was closed early, {b} hours after the injury."),
            (
                "X-ray showed no fracture and no foreign body.",
                "No bone was broken, and the X-ray showed no glass in it.",
            ),
            (
                "Antibiotics are not indicated for a simple clean wound of the hand.",
                "Antibiotics do not help in a simple clean wound.",
            ),
            (
                "The patient has no diabetes and takes no steroids.",
                "Nothing else weakens the defense against infection.",
            ),
            ("There was no bite and no soil in the wound.", "It was neither a bite nor dirty with soil."),
        ),
        more=(
            "Tetanus vaccine was given.",
            "Tendons and sensation were intact.",
            "Sutures are to be removed in {b} days.",
            "Return for redness, pus or fever.",
            "Lidocaine was used for anesthesia.",
        ),
    ),
    Topic(
        emergency=False,
        story="{his} sodium was 1{a} and they let it come up over {b} days with us waiting and waiting.",
        ask="why could they not fix the sodium faster",
        question="Why was hyponatremia corrected slowly?",
        facts=(
            (
                "Sodium on arrival was 1{a}, and it had fallen over weeks on a thiazide.",
                "The sodium had fallen over weeks because of a water pill.",
            ),
            (
                "Correction was limited to 8 mmol/L a day to avoid osmotic demyelination.",
                "Raising it faster can damage the brain, so the rise was kept to 8 a day.",
            ),
            (
                "Desmopressin was given on day 2, when it rose by {b} in six hours.",
                "When it rose too fast on the second day, a drug was given to slow it.",
            ),
            ("Sodium was 134 after {b} days.", "It was nearly normal after {b} days."),
            ("Sodium was measured every four hours.", "It was measured every four hours."),
        ),
        more=(
            "The thiazide was stopped for good.",
            "Urine osmolality was 4{c}.",
            "Confusion cleared on day {b}.",
            "Head CT was normal.",
            "Fluids were restricted to 1.2 liters a day.",
        ),
    ),
)
"""The courses; cases take them in turn."""

OPENINGS: Final = (
    "Hello doctor, please help me understand.",
    "This is about my father, he is {age}.",
    "my mom ({age}) was in the hospital last month.",
    "I am {age} and came home last week.",
    "We are a bit lost after my uncle's stay, he is {age} years old.",
)

HEADINGS: Final = ("History of Present Illness:", "Brief Hospital Course:", "Discharge Instructions:")

CLOSINGS: Final = (
    "Your own doctor knows the whole history and can tell you what this means for the time ahead.",
    "This is what the notes say about it.",
    "Please ask again if anything is unclear.",
    "We wish you well.",
)
"""Sentences of an answer that rest on nothing, as many as there is room for."""

FILLERS: Final = (
    "The patient lives with family and does not smoke.",
    "Home medications were continued.",
    "Diet was advanced to regular.",
    "Bowel regimen was given.",
    "A peripheral line was placed in the left arm.",
    "Physical therapy saw the patient on day {b}.",
    "Vital signs on transfer were stable.",
    "Potassium and magnesium were replaced as needed.",
    "Code status was full.",
    "The family was updated by telephone.",
    "Subcutaneous heparin was given for prophylaxis.",
    "Pain was treated with acetaminophen.",
    "Hematocrit was stable at 3{d}.",
    "Blood cultures showed no growth.",
    "The patient slept well and had no complaints.",
    "Weight at discharge was 7{d} kg.",
    "White count was {a}.{d}.",
    "Follow up with [**Name**] in {b} weeks.",
    "Please take all medications as listed.",
    "Call your doctor with any questions.",
    "The Foley catheter was removed.",
    "Chest X-ray showed no change.",
    "An allergy to penicillin is noted.",
    "Glucose was {c}0 to 2{c} on a sliding scale.",
)
