"""Words of the synthetic notes: invented stays in hospital, laboratory lines and sentences, all written for this package."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ACTIVITIES", "ADVICE", "LABS", "PAST", "PRESSURES", "SENTENCES", "STAYS", "VALUES", "Stay"]


@dataclass(frozen=True, kw_only=True)
class Stay:
    """What an admission was about."""

    service: str
    complaint: str
    diagnosis: str
    procedure: str
    drug: str
    clinic: str


# No two stays share a diagnosis, a procedure, a drug or a clinic: each of them can be a wrong choice about another stay.
# A line each: service, complaint, diagnosis; then procedure, drug, clinic.
_STAYS = """\
MEDICINE | Fever and productive cough | right lower lobe pneumonia
    bedside thoracentesis | levofloxacin 750 mg daily | pulmonary clinic
MEDICINE | Black stools | bleeding duodenal ulcer
    upper endoscopy with clipping | pantoprazole 40 mg twice daily | gastroenterology clinic
CARDIOLOGY | Breathlessness lying flat | decompensated heart failure
    right heart catheterization | torsemide 20 mg daily | heart failure clinic
CARDIOLOGY | Crushing chest pain | inferior myocardial infarction
    stent to the right coronary artery | ticagrelor 90 mg twice daily | cardiac rehabilitation
NEUROLOGY | Sudden left arm weakness | right middle cerebral artery stroke
    mechanical thrombectomy | atorvastatin 80 mg nightly | stroke clinic
SURGERY | Right lower abdominal pain | perforated appendicitis
    laparoscopic appendectomy | amoxicillin-clavulanate 875 mg twice daily | general surgery clinic
SURGERY | Vomiting and a swollen abdomen | adhesive small bowel obstruction
    exploratory laparotomy | polyethylene glycol 17 g daily | nutrition clinic
ORTHOPAEDICS | Fall with hip pain | left femoral neck fracture
    left hip hemiarthroplasty | enoxaparin 40 mg daily | fracture clinic
MEDICINE | Increased thirst and confusion | hyperosmolar hyperglycemic state
    placement of a central venous line | insulin glargine 18 units nightly | diabetes clinic
MEDICINE | Flank pain and chills | obstructive pyelonephritis
    ureteral stent placement | cefpodoxime 200 mg twice daily | urology clinic
MEDICINE | Swollen painful calf | proximal deep vein thrombosis
    inferior vena cava filter placement | apixaban 5 mg twice daily | anticoagulation clinic
MEDICINE | Yellow skin and itching | choledocholithiasis
    biliary sphincterotomy | ursodiol 300 mg twice daily | hepatology clinic
NEUROLOGY | First seizure | temporal lobe epilepsy
    lumbar puncture | levetiracetam 500 mg twice daily | epilepsy clinic
VASCULAR | Cold painful foot | critical limb ischemia
    femoral-popliteal bypass | cilostazol 100 mg twice daily | vascular surgery clinic
"""


def _stays(text: str) -> tuple[Stay, ...]:
    lines = [[part.strip() for part in line.split("|")] for line in text.splitlines()]
    return tuple(
        Stay(service=service, complaint=complaint, diagnosis=diagnosis, procedure=procedure, drug=drug, clinic=clinic)
        for (service, complaint, diagnosis), (procedure, drug, clinic) in zip(lines[::2], lines[1::2], strict=True)
    )


STAYS = _stays(_STAYS)

LABS = tuple(
    "WBC RBC Hgb Hct MCV RDW Plt Glucose UreaN Creat Na K Cl HCO3 AnGap ALT AST AlkPhos TotBili Calcium Phos Mg PT INR".split()
)

# A creatinine at discharge as the notes give it; distinct, so that each can be a wrong choice.
VALUES = tuple(f"{tenths / 10:.1f} mg/dL" for tenths in range(5, 24))

# Blood pressures on admission, likewise.
PRESSURES = tuple(f"{high}/{60 + high % 7 * 4}" for high in range(102, 176, 3))

# Of these no stay's own text has one, and none has another in it: operations of former years, what the patient can do at
# discharge, and what the patient is told to do at home.
PAST = (
    "cholecystectomy",
    "tonsillectomy",
    "inguinal hernia repair",
    "cataract surgery",
    "partial thyroidectomy",
    "carpal tunnel release",
    "lumbar discectomy",
    "rotator cuff repair",
)
ACTIVITIES = (
    "walks without help",
    "walks with a cane",
    "walks with a walker",
    "out of bed with one helper",
    "out of bed with two helpers",
    "in a wheelchair",
)
ADVICE = (
    "weigh yourself every morning",
    "keep your legs raised when you sit",
    "drink two liters of water a day",
    "lift nothing above ten pounds for a month",
    "cover the wound when you shower",
    "leave the car at home for two weeks",
    "write down your temperature twice a day",
    "climb stairs one at a time",
)

# Slots are filled with small numbers. Quotes, commas, percent signs and abbreviations are meant: files of notes have them.
SENTENCES = """\
The patient was seen on the ward by the primary team on day {a} and was resting comfortably.
Vital signs were stable with a heart rate of {b} and an oxygen saturation of 9{c}% on room air.
Pain was controlled with acetaminophen, and opioids were stopped on hospital day {a}.
She said she was "tired of being stuck for labs", so draws were spaced to every {a} days.
Blood cultures from ___ showed no growth after {a} days.
Electrolytes were checked daily and repleted as needed; potassium was given on {a} occasions.
Physical therapy saw the patient {a} times and thought that going home with services was safe.
Home medications were continued except as listed below, and doses were checked with the pharmacy at ___.
The family, including the patient's daughter ___, was told about the course and agreed with the plan.
A chest radiograph on ___ showed small lung volumes, no edema, no effusion and no new opacity.
The electrocardiogram showed sinus rhythm at {b} beats per minute without changes from ___.
He ambulated {b} feet with a walker and needed help with {a} stairs.
On exam: no acute distress, clear to auscultation, abdomen soft, extremities warm; weight {b} kg.
Nursing noted that the patient slept poorly; trazodone was tried for {a} nights and then stopped.
Intake and output were followed, with a net balance of minus {b}0 mL over {a} days.
The consulting service recommended no further imaging & repeat labs in {a} weeks.
Code status was discussed on ___ and was full code, presumed at admission and confirmed on day {a}.
Telemetry was without events for {b} hours and was discontinued.
The diet was advanced to regular, low sodium ({a} g), and was tolerated well.
Prophylaxis against thromboembolism was given with subcutaneous heparin until day {a}.
The patient denied fever, chills, chest pain, nausea, dysuria and rash on day {a} of the stay.
Wound care left instructions: change the dressing every {a} days, keep it dry, call Dr. ___ for redness.
Social work helped with transportation and with forms of the insurer; case manager: ___, pager {b}.
Results pending at discharge: one culture, to be followed by the primary care physician within {a} days.
""".splitlines()
