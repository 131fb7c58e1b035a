"""Distractors: what a note says besides, which the calculator does not use.

Each carries the concepts it tells of. A note whose calculator needs one of these concepts does not get it, so that a
distractor never contradicts a finding, never answers one that was left out on purpose, and never gives a second value.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from medical_tasks.medcalc_bench.fresh.chart import Chart, Setting
from medical_tasks.medcalc_bench.fresh.findings import Finding, finding
from medical_tasks.medcalc_bench.fresh.quantities import BACKGROUND_LABS, BACKGROUND_VITALS, SPO2, TEMPERATURE
from medical_tasks.medcalc_bench.fresh.wording import Place

__all__ = ["add_background"]

_ANY: Final[frozenset[Setting]] = frozenset({"clinic", "emergency", "ward", "icu", "obstetric", "child"})
_TALKING: Final[frozenset[Setting]] = _ANY - {"icu"}
_ADULT: Final[frozenset[Setting]] = frozenset({"clinic", "emergency", "ward"})


@dataclass(frozen=True, slots=True)
class _Remark:
    """A sentence by the way; `brief` is its telegraphic form."""

    place: Place
    settings: frozenset[Setting]
    concepts: frozenset[str]
    text: str
    brief: str


def _remark(place: Place, settings: str, concepts: str, text: str, brief: str) -> _Remark:
    chosen = {"any": _ANY, "talking": _TALKING, "adult": _ADULT}.get(settings)
    return _Remark(place, chosen or frozenset(settings.split()), frozenset(concepts.split()), text, brief)  # type: ignore[arg-type]


_REMARKS: Final = (
    _remark("social", "adult", "home", "{He} lives with {his} family in a terraced house.", "Lives with family."),
    _remark("social", "adult", "home", "{He} lives alone on the second floor.", "Lives alone."),
    _remark("social", "clinic", "", "{He} came on foot, with a folder of old letters.", "Brought old letters."),
    _remark("social", "talking", "", "A relative came along to the consultation.", "Relative present."),
    _remark("social", "adult", "", "An interpreter was not needed.", "No interpreter needed."),
    _remark("social", "adult", "", "{He} keeps two dogs and a vegetable garden.", "Keeps dogs."),
    _remark("social", "talking", "", "Vaccinations are up to date according to the card.", "Vaccinations up to date."),
    _remark("history", "any", "", "There are no known drug allergies.", "NKDA."),
    _remark("history", "any", "", "A penicillin allergy (rash in childhood) is recorded.", "Allergy: penicillin (rash)."),
    _remark("history", "adult", "operation", "{His} tonsils were taken out in childhood.", "Tonsillectomy in childhood."),
    _remark("history", "adult", "", "{He} wears glasses and has had cataract drops.", "Wears glasses."),
    _remark("history", "adult", "", "Hearing aids were fitted two years ago.", "Hearing aids."),
    _remark("medication", "adult", "", "{He} uses eye drops for dry eyes.", "Meds: eye drops."),
    _remark("medication", "adult", "", "A vitamin D supplement is taken once a week.", "Vitamin D weekly."),
    _remark("medication", "clinic emergency", "stomach", "Omeprazole is taken when needed.", "Omeprazole prn."),
    _remark("medication", "adult", "pain", "Paracetamol is taken now and then.", "Paracetamol prn."),
    _remark("exam", "any", "", "The skin is without rash.", "Skin: no rash."),
    _remark("exam", "any", "abdomen liver", "The abdomen is soft and not tender.", "Abdomen soft, non-tender."),
    _remark("exam", "any", "", "Pupils are equal and react to light.", "PERRL."),
    _remark("exam", "talking", "mind", "{He} is alert and answers promptly.", "Alert, answers promptly."),
    _remark("exam", "talking", "lungs breathing failure film", "The lungs are clear on both sides.", "Lungs clear."),
    _remark("exam", "talking", "heart failure", "Heart sounds are normal, without a murmur.", "HS normal, no murmur."),
    _remark("exam", "adult", "throat", "Mouth and throat are unremarkable.", "ENT unremarkable."),
    _remark("exam", "adult", "brain", "Gait and coordination are normal.", "Gait normal."),
    _remark("exam", "any", "", "Bowel sounds are heard in all quadrants.", "Bowel sounds present."),
    _remark("exam", "adult", "legs", "The legs show no swelling.", "No leg swelling."),
    _remark("tests", "adult icu", "film lungs failure", "The chest X-ray is normal.", "CXR normal."),
    _remark("tests", "adult", "ecg coronary rate", "The ECG shows sinus rhythm.", "ECG sinus rhythm."),
    _remark("tests", "adult", "kidney sugar urine", "Urine dipstick is negative.", "Dipstick negative."),
    _remark("tests", "adult icu", "kidney", "Ultrasound of the kidneys is normal.", "Renal US normal."),
    _remark("tests", "ward icu", "", "Two sets of blood cultures were taken.", "Blood cultures x2 sent."),
    _remark("plan", "talking", "", "Findings and next steps were explained.", "Plan explained."),
    _remark("plan", "clinic", "", "A follow-up visit is booked in four weeks.", "F/u 4 weeks."),
    _remark("plan", "clinic", "", "A letter goes to the family practice.", "Letter to GP."),
    _remark("plan", "emergency ward", "", "Blood tests will be repeated tomorrow.", "Repeat bloods tomorrow."),
    _remark("plan", "emergency", "", "An intravenous line was placed in the forearm.", "IV line placed."),
    _remark("plan", "emergency ward", "", "The case was discussed with the senior physician.", "D/w senior."),
    _remark("plan", "ward icu", "", "The next of kin have been informed.", "NOK informed."),
    _remark("plan", "ward", "", "Physiotherapy has been asked to see {him}.", "Physio referral."),
    _remark("plan", "icu", "", "The plan for the night was agreed at the handover.", "Night plan agreed."),
    _remark("care", "icu", "", "An arterial line and a urinary catheter are in place.", "Art line, catheter in situ."),
    _remark("care", "icu", "", "Stress ulcer prophylaxis is given.", "Ulcer prophylaxis given."),
    _remark("care", "icu", "", "The head of the bed is raised by thirty degrees.", "Head up 30 degrees."),
    _remark("care", "icu", "", "Enteral feeding is tolerated.", "Enteral feed tolerated."),
    _remark("social", "obstetric", "", "It is {his} second pregnancy; the first was uneventful.", "G2P1, first uneventful."),
    _remark("social", "obstetric", "smoking", "{He} does not smoke or drink alcohol.", "No tobacco, no alcohol."),
    _remark("medication", "obstetric", "", "{He} takes folic acid.", "Folic acid."),
    _remark("tests", "obstetric", "", "Blood group is A, rhesus positive.", "Blood group A pos."),
    _remark("tests", "obstetric", "", "Urine is free of protein and glucose.", "Urine clear."),
    _remark("plan", "obstetric", "", "Antenatal classes were recommended.", "Antenatal classes advised."),
    _remark("story", "obstetric", "", "Nausea in the mornings is bearable.", "Mild morning nausea."),
    _remark("story", "obstetric", "", "{He} works as a teacher and feels well.", "Feels well, works."),
    _remark("exam", "obstetric", "", "The abdomen is soft.", "Abdomen soft."),
    _remark("history", "child", "", "Birth and development were normal.", "Normal birth and development."),
    _remark("social", "child", "", "There is an older sister at home, who is well.", "Older sister well."),
    _remark("social", "child", "", "No one smokes at home.", "Smoke-free home."),
    _remark("story", "child", "", "Appetite is reduced, but {he} drinks well.", "Eats less, drinks well."),
    _remark("exam", "child", "", "The eardrums are normal on both sides.", "TMs normal."),
    _remark("exam", "child", "", "Capillary refill is brisk.", "Cap refill brisk."),
    _remark("plan", "child", "", "The parents know when to come back.", "Parents safety-netted."),
)

_FINDINGS: Final[tuple[tuple[frozenset[Setting], Finding, float], ...]] = (
    (_TALKING, finding("symptom", "", "headache", "headache|headaches"), 0.15),
    (_TALKING, finding("symptom", "", "itching", "itching"), 0.1),
    (_TALKING, finding("symptom", "", "a stuffy ear", "earache|ear pain"), 0.1),
    (_TALKING, finding("symptom", "", "a dry mouth", "dry mouth"), 0.2),
    (_ADULT, finding("symptom", "joints", "stiff finger joints in the morning", "joint pain"), 0.3),
    (_ADULT, finding("symptom", "brain", "tingling of the fingertips", "numbness or tingling"), 0.3),
    (_ADULT, finding("symptom", "stomach", "heartburn after meals", "heartburn"), 0.3),
    (_ADULT, finding("symptom", "urine", "getting up twice at night to pass urine", "burning on passing urine"), 0.3),
    (_ADULT, finding("symptom", "", "poor sleep", "trouble sleeping|problems with sleep"), 0.5),
    (_ADULT, finding("history", "thyroid", "hypothyroidism on levothyroxine", "thyroid disease"), 0.7),
    (_ADULT, finding("history", "joints", "osteoarthritis of both hands|gout", "gout"), 0.7),
    (_ADULT, finding("history", "", "migraine|tension headaches", "migraine"), 0.7),
    (_ADULT, finding("history", "", "glaucoma", "glaucoma"), 0.7),
    (_ADULT, finding("history", "", "psoriasis|atopic eczema", "psoriasis"), 0.7),
    (_ADULT, finding("history", "lungs", "asthma in childhood", "asthma"), 0.5),
    (_ADULT, finding("history", "bowel", "diverticulosis", "diverticulitis"), 0.5),
    (frozenset({"child"}), finding("symptom", "bowel", "loose stools once", "vomiting or diarrhoea"), 0.2),
    (frozenset({"obstetric"}), finding("symptom", "", "backache", "abdominal pain or vaginal bleeding"), 0.0),
)

_MOST_WORDS: Final = 225
_SLICE_VITALS, _SLICE_LABS = 3, 4


@lru_cache(maxsize=512)
def _candidates(setting: Setting, concepts: frozenset[str]) -> tuple[_Remark | tuple[Finding, float], ...]:
    remarks = [remark for remark in _REMARKS if setting in remark.settings and not remark.concepts & concepts]
    findings = [
        (entry, present)
        for settings, entry, present in _FINDINGS
        if setting in settings and not entry.concepts & concepts
    ]
    return (*remarks, *findings)


def add_background(chart: Chart, words: int, least: int) -> None:
    """Adds distractors until a note is long enough.

    Args:
        chart: the patient, with all that the calculator needs; concepts complete.
        words: length of the note without distractors.
        least: length to reach; one or two distractors are added in any case, as long as the note stays readable.
    """
    draw = chart.draw
    words += _add_values(chart, chart.concepts, room=words < least - 20)
    # Two remarks on one concept (two homes, two kinds of gait) would contradict each other.
    told: set[str] = set()
    for count, candidate in enumerate(draw.shuffled(_candidates(chart.setting, frozenset(chart.concepts)))):
        if (words >= least and count >= 2) or words >= _MOST_WORDS:
            break
        if isinstance(candidate, _Remark):
            if candidate.concepts & told:
                continue
            told |= candidate.concepts
            text = candidate.brief if chart.brief else candidate.text
            chart.say(candidate.place, text)
            words += len(text.split())
        else:
            entry, present = candidate
            if entry.concepts & told:
                continue
            told |= entry.concepts
            chart.state(entry, there=draw.chance(present))
            words += 3


def _add_values(chart: Chart, concepts: AbstractSet[str], *, room: bool) -> int:
    """Adds usual bedside and laboratory values; returns about how many words they take."""
    draw = chart.draw
    taken = set(concepts)
    added = 0
    # Usual values are those of adults; what is usual in a child or in pregnancy depends on too much.
    vitals = (TEMPERATURE, SPO2) if chart.person.child else BACKGROUND_VITALS
    labs = () if chart.person.child or chart.setting == "obstetric" else BACKGROUND_LABS
    for pool, most in ((vitals, _SLICE_VITALS), (labs, _SLICE_LABS)):
        if not draw.chance(0.75 if room else 0.4):
            continue
        for amount in draw.some(pool, draw.whole(1, most)):
            if amount.concepts & taken:
                continue
            if "red" in amount.concepts:  # hemoglobin and hematocrit drawn apart might not fit each other
                taken.add("red")
            low, high = amount.usual
            chart.note_value(amount.place, amount.read(draw, chart.system, low, high))
            added += 5
    return added
