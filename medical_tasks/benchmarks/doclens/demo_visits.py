"""Synthetic visits for the `demo` configuration of ACI-BENCH: examples and validation; `demo_test_visits` has those of its test.

Written for this package; they describe nobody. Not medical advice. Their shapes are those of the release: a turn over two lines, a
guest who speaks, commands to the device, headings of several wordings. Each note has all four sections.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMPLE_VISITS", "DemoVisit"]


@dataclass(frozen=True, kw_only=True)
class DemoVisit:
    """One synthetic visit.

    Attributes:
        id: of the visit.
        split: `train`, `validation` or `test1`.
        dialogue: what doctor and patient say, a turn a line, in the small letters of a transcript.
        note: the clinical note of it, with headings.
        dataset: the part of ACI-BENCH that it is like.
    """

    id: str
    split: str
    dialogue: str
    note: str
    dataset: str = "aci"


EXAMPLE_VISITS = (
    DemoVisit(
        id="DEMO001",
        split="train",
        dialogue="""\
[doctor] good morning , nora . what can i do for you ?
[patient] my throat has been killing me since saturday .
[doctor] okay , so four days now . any fever ?
[patient] yeah , thirty-eight point five last night .
[doctor] cough or a runny nose ?
[patient] no , neither . it just hurts when i swallow .
[doctor] are you allergic to anything ?
[patient] no , nothing .
[doctor] let's have a look . your tonsils are big and red with some white spots . and the nodes under your jaw are \
tender . lungs sound clear .
[patient] is it strep ?
[doctor] the rapid test the nurse did is positive , so yes .
[patient] okay .
[doctor] i'll give you penicillin v , five hundred milligrams twice a day for ten days . call me if you can't drink \
enough .
[patient] will do , thank you .""",
        note="""\
CHIEF COMPLAINT

Sore throat.

HISTORY OF PRESENT ILLNESS

Nora has had a sore throat for 4 days, with pain on swallowing and a temperature of 38.5 degrees last night. She has \
no cough and no runny nose.

ALLERGIES

None.

PHYSICAL EXAM

Throat: Tonsils are enlarged and red with white exudates.
Neck: Tender submandibular lymph nodes.
Lungs: Clear.

RESULTS

Rapid streptococcal test: Positive.

ASSESSMENT AND PLAN

Streptococcal pharyngitis. Penicillin V 500 mg twice a day for 10 days. She will call if she cannot drink enough.""",
    ),
    DemoVisit(
        id="DEMO002",
        split="train",
        dataset="virtassist",
        dialogue="""\
[doctor] hi , mister okafor . hey , dragon , i'm seeing mister okafor , a sixty-seven-year-old man who comes for his \
diabetes .
[patient] hello , doctor .
[doctor] how are the sugars at home ?
[patient] mornings around one fifty , one sixty . they used to be lower .
[doctor] are you taking the metformin ?
[patient] a thousand milligrams twice a day , i never miss it .
[doctor] any numbness in your feet ?
[patient] a bit of tingling at night in both feet .
and they feel cold .
[doctor] all right . hey , dragon , show me the last a1c . it's eight point one , up from seven point four in spring .
[patient] that's not good , is it ?
[doctor] we can do better . let me check the feet . pulses are fine on both sides . you don't feel the monofilament \
at the big toes .
[patient] hmm .
[doctor] so , i want to add empagliflozin , ten milligrams each morning . keep the metformin . and i'll send you to \
the podiatrist .
[patient] okay , when do i come back ?
[doctor] in three months , with a new a1c .""",
        note="""\
CHIEF COMPLAINT

Follow-up of type 2 diabetes.

HISTORY OF PRESENT ILLNESS

Mr. Okafor is a 67-year-old man with type 2 diabetes. His fasting glucose at home is 150 to 160 and was lower before. \
He reports tingling and coldness of both feet at night.

CURRENT MEDICATIONS

Metformin 1000 mg twice a day, taken without fail.

PHYSICAL EXAMINATION

Pedal pulses intact on both sides. Monofilament sensation absent at both great toes.

RESULTS

Hemoglobin A1c 8.1, before 7.4.

ASSESSMENT

1. Type 2 diabetes, above target.
2. Diabetic peripheral neuropathy.

PLAN

Start empagliflozin 10 mg each morning, continue metformin. Referral to podiatry. Return in 3 months with a new \
hemoglobin A1c.""",
    ),
    DemoVisit(
        id="DEMO003",
        split="validation",
        dataset="virtscribe",
        dialogue="""\
[doctor] so tell me about the knee , lena .
[patient] i twisted it playing handball two weeks ago , and it swelled up that evening .
[doctor] did you hear a pop ?
[patient] yes , a loud one .
[doctor] does it give way ?
[patient] when i go downstairs , yes . ibuprofen helps with the pain .
[doctor] any earlier surgery ?
[patient] they took my appendix out when i was twelve .
[doctor] i see a moderate effusion of the right knee . the lachman is positive . no tenderness along the joint line .
[patient] ouch .
[doctor] sorry . the x-ray from today shows no fracture .
[patient] good .
[doctor] i think the a c l is torn . we'll get an m r i , you get a brace , and you start with physical therapy . no \
sports for now .
[patient] okay .""",
        note="""\
CHIEF COMPLAINT

Right knee injury.

HISTORY OF PRESENT ILLNESS

Lena twisted her knee playing handball 2 weeks ago, with a loud pop and swelling the same evening. The knee gives way \
on stairs. Ibuprofen eases the pain.

SURGICAL HISTORY

Appendectomy at the age of 12.

PHYSICAL EXAM

Right knee: Moderate effusion. Positive Lachman test. No tenderness along the joint line.

RESULTS

X-ray of the right knee: No fracture.

ASSESSMENT AND PLAN

Suspected tear of the anterior cruciate ligament.
- MRI of the right knee.
- Knee brace and physical therapy.
- No sports for now.""",
    ),
)
