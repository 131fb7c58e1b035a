"""Distractors: what a note says besides, which the calculator does not use.

Each carries the concepts it tells of. A note whose calculator needs one of these concepts does not get it, so that a
distractor never contradicts a finding, never answers one that was left out on purpose, and never gives a second value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, Setting
from medical_tasks.benchmarks.medcalc_bench.fresh.findings import Finding, Place, finding
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    BACKGROUND_LABS,
    BACKGROUND_VITALS,
    SPO2,
    TEMPERATURE,
)

__all__ = ["ASIDES", "REMARKS", "add_background"]


_ADULT: Final[frozenset[Setting]] = frozenset({"clinic", "emergency", "ward"})
_ALL: Final[frozenset[Setting]] = frozenset({"clinic", "emergency", "resus", "ward", "icu", "obstetric", "child"})
_AWAKE: Final[frozenset[Setting]] = frozenset({"clinic", "emergency", "ward", "obstetric"})
_SETTINGS: Final[dict[str, frozenset[Setting]]] = {
    "adult": _ADULT,
    "all": _ALL,
    "awake": _AWAKE,
    "acute": frozenset({"emergency", "ward"}),
    "office": frozenset({"clinic"}),
    "ed": frozenset({"emergency"}),
    "ward": frozenset({"ward"}),
    "icu": frozenset({"icu"}),
    "severe": frozenset({"icu", "resus"}),
    "resus": frozenset({"resus"}),
    "antenatal": frozenset({"obstetric"}),
    "child": frozenset({"child"}),
}


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence by the way.

    Attributes:
        place: part of the note.
        settings: where it can be written.
        concepts: what it tells of, and its topic: a note has one remark on a topic. `talk` needs a patient who talks.
        text: the sentence, a template.
        brief: its telegraphic form.
        ages: youngest and oldest patient.
    """

    place: Place
    settings: frozenset[Setting]
    concepts: frozenset[str]
    text: str
    brief: str
    ages: tuple[int, int]


Aside: TypeAlias = tuple[frozenset[Setting], Finding, float]
"""Where a finding by the way can be written, the finding, and how often it is there."""


def _remarks(place: Place, *lines: str) -> tuple[Remark, ...]:
    """One remark a line: settings; concepts; sentence; telegraphic form; youngest and oldest age, where it matters."""
    made: list[Remark] = []
    for line in lines:
        settings, concepts, text, brief, *ages = (part.strip() for part in line.split(";"))
        low, high = (int(age) for age in ages[0].split("-")) if ages else (0, 200)
        made.append(Remark(place, _SETTINGS[settings], frozenset(concepts.split()), text, brief, (low, high)))
    return tuple(made)


REMARKS: Final[tuple[Remark, ...]] = (
    *_remarks(
        "social",
        "adult; home; {He} lives with {his} family in a terraced house.; Lives with family.",
        "adult; home; {He} lives alone on the second floor.; Lives alone.",
        "adult; home; {He} shares a flat with a friend.; Shares a flat.; 19-60",
        "adult; home; {He} lives with {his} partner in the countryside.; Lives with partner.",
        "adult; work talk; {He} works in a library.; Works in a library.; 20-64",
        "adult; work talk; {He} drives a delivery van.; Delivery driver.; 20-64",
        "adult; work talk; {He} works shifts in a bakery.; Bakery shifts.; 20-62",
        "adult; work talk; {He} teaches at a primary school.; Teacher.; 24-65",
        "adult; work talk; {He} studies engineering.; Student.; 19-27",
        "adult; work talk; {He} ran a flower shop until retirement.; Retired florist.; 67-120",
        "adult; work talk; {He} is a retired postal worker.; Retired postal worker.; 67-120",
        "adult; work talk; {He} taught mathematics before {he} retired.; Retired teacher.; 67-120",
        "awake; hobby talk; {He} sings in a choir.; Sings in a choir.",
        "awake; hobby talk; {He} keeps a dog and a vegetable garden.; Keeps a dog.",
        "awake; hobby talk; {He} likes to read and to cook.; Likes reading.",
        "adult; hobby talk; {He} plays cards every Thursday.; Plays cards.",
        "awake; vaccines; Vaccinations are up to date.; Vaccinations up to date.",
        "adult; vaccines; The flu vaccine was given last autumn.; Flu vaccine given.",
        "adult; smoking lungs arteries; {He} has never smoked.; Never smoked.",
        "adult; alcohol liver; {He} drinks a glass of wine at weekends.; Wine at weekends.",
        "adult; coffee rate; {He} drinks three cups of coffee a day.; Coffee x3/day.",
        "adult; diet body lipids sugar; {He} eats a mixed diet.; Mixed diet.",
        "adult; kin; {His} parents reached a great age.; Parents long-lived.",
        "awake; company; A relative came along.; Relative present.",
        "adult; language; No interpreter was needed.; No interpreter needed.",
        "office; letters; {He} brought a folder of old letters.; Brought old letters.",
        "antenatal; parity; It is {his} second pregnancy, and the first was uneventful.; G2P1, first uneventful.",
        "antenatal; parity; It is {his} first pregnancy.; G1P0.",
        "antenatal; smoking alcohol; {He} neither smokes nor drinks.; No tobacco, no alcohol.",
        "antenatal; work; {He} works part-time in an office.; Works part-time.",
        "antenatal; home; {He} lives with {his} partner.; Lives with partner.",
        "child; kin2; There is an older sister, who is well.; Older sister well.",
        "child; kin2; {He} is an only child.; Only child.",
        "child; smoking; Nobody smokes at home.; Smoke-free home.",
        "child; vaccines; Vaccinations are complete for {his} age.; Vaccinations complete.",
        "child; pets; The family has a cat.; Cat at home.",
        "child; work; {He} goes to primary school.; Primary school.; 6-11",
        "child; work; {He} goes to secondary school.; Secondary school.; 12-17",
        "child; home; The family lives in a flat near the hospital.; Lives nearby.",
        "child; company; Both parents came along.; Both parents present.",
        "child; language; No interpreter was needed.; No interpreter needed.",
        "child; play; {He} plays with a toy car during the visit.; Playing.; 2-6",
    ),
    *_remarks(
        "history",
        "all; allergy; There are no known drug allergies.; NKDA.",
        "all; allergy; A penicillin allergy (rash) is recorded.; Allergy: penicillin (rash).",
        "adult; allergy; {He} does not tolerate codeine, which makes {him} vomit.; Codeine intolerance.",
        "adult; operation throat; {His} tonsils were taken out in childhood.; Tonsillectomy in childhood.",
        "adult; operation; {His} wisdom teeth were removed at 20.; Wisdom teeth out.; 24-120",
        "adult; operation abdomen; {His} appendix was removed at the age of 12.; Appendectomy aged 12.",
        "adult; eyes; {He} wears glasses.; Wears glasses.",
        "adult; ears; {He} has worn hearing aids for two years.; Hearing aids.; 50-120",
        "adult; childhood infection; {He} had chickenpox as a child.; Chickenpox as a child.",
        "adult; trauma; {He} broke a wrist at the age of nine.; Wrist fracture aged 9.",
        "adult; sleepstudy lungs; A sleep study two years ago was normal.; Normal sleep study.",
        "child; birth; Birth and development were normal.; Normal birth and development.",
        "child; birth; {He} was born at term.; Term birth.",
        "child; past; {He} has never been in hospital before.; No previous admissions.",
        "antenatal; past; There is no illness of note in the past.; PMH nil.",
        "antenatal; allergy2; {He} has hay fever in spring.; Hay fever.",
    ),
    *_remarks(
        "medication",
        "adult; eyes; {He} uses drops for dry eyes.; Eye drops.",
        "adult; vitamin; A vitamin D supplement is taken once a week.; Vitamin D weekly.",
        "adult; stomach; {He} takes an antacid after heavy meals.; Antacid prn.",
        "adult; pain pills; Paracetamol is taken now and then.; Paracetamol prn.",
        "adult; sleep; {He} takes melatonin at night.; Melatonin.",
        "adult; nose throat; {He} uses a nasal spray in the pollen season.; Nasal spray in season.",
        "adult; bowel; {He} takes a fibre supplement.; Fibre supplement.",
        "adult; skin; An ointment is used for dry hands.; Hand ointment.",
        "antenatal; vitamin; {He} takes folic acid.; Folic acid.",
        "antenatal; vitamin; {He} takes folic acid and iodine.; Folic acid, iodine.",
        "child; pills; {He} takes vitamin D and nothing else.; Vitamin D only.",
        "child; pills; No regular medicines are taken.; No regular meds.",
        "icu; stomach; Stress ulcer prophylaxis is given.; Ulcer prophylaxis.",
    ),
    *_remarks(
        "exam",
        "all; skin; The skin is without rash.; Skin: no rash.",
        "adult; abdomen liver; The abdomen is soft and not tender.; Abdomen soft, non-tender.",
        "severe; abdomen liver; The abdomen is soft.; Abdomen soft.",
        "all; pupils; Pupils are equal and react to light.; PERRL.",
        "awake; mind talk; {He} is alert and answers promptly.; Alert, answers promptly.",
        "awake; lungs breathing failure film cough; The lungs are clear on both sides.; Lungs clear.",
        "child; lungs breathing; Breathing is easy.; No respiratory distress.",
        "awake; heart failure; Heart sounds are normal, without a murmur.; HS normal, no murmur.",
        "adult; throat; Mouth and throat are unremarkable.; ENT unremarkable.",
        "adult; brain talk mobility; Gait and coordination are normal.; Gait normal.",
        "adult; bowelsounds; Bowel sounds are normal.; Bowel sounds normal.",
        "adult; legs; The legs show no swelling.; No leg swelling.",
        "adult; joints; No joint is swollen or red.; Joints normal.",
        "adult; thyroid; The thyroid is not enlarged.; Thyroid normal.",
        "adult; arteries legs; Foot pulses can be felt on both sides.; Foot pulses palpable.",
        "adult; arteries brain; There are no bruits over the carotid arteries.; No carotid bruits.",
        "adult; pain; The spine is not tender.; Spine non-tender.",
        "adult; cancer throat infection blood; No enlarged lymph nodes are felt in the axillae.; No axillary nodes.",
        "adult; eyes brain; Eye movements are full.; Eye movements full.",
        "adult; nails; Fingers and nails look normal.; Nails normal.",
        "adult; tremor; {His} hands do not tremble.; No tremor.",
        "antenatal; abdomen; The abdomen is soft.; Abdomen soft.",
        "antenatal; legs; The ankles are slim.; No ankle oedema.",
        "antenatal; breasts; There is no tenderness of the breasts.; Breasts NAD.",
        "child; ears; The eardrums are normal on both sides.; TMs normal.",
        "child; perfusion; Capillary refill is brisk.; Cap refill brisk.",
        "child; abdomen; The belly is soft.; Belly soft.",
        "child; heart; Heart sounds are normal.; HS normal.",
        "child; throat; The mouth is moist.; Mouth moist.",
        "child; skinfold; {He} looks well nourished.; Well nourished.",
        "resus; teeth; No tooth is loose or broken.; Teeth intact.",
        "resus; spine; The back was examined on log roll, without a step.; Log roll: no step.",
        "resus; arm; There is an old scar on the right forearm.; Old scar R forearm.",
        "resus; nose; The nose does not bleed.; No nosebleed.",
        "resus; neck; The neck is held in a collar.; C-collar on.",
        "resus; chest; Chest movements are symmetrical.; Chest symmetrical.",
        "resus; pelvis; The pelvis is stable.; Pelvis stable.",
        "resus; wound; There is a graze over the left elbow.; Graze L elbow.",
        "severe; warm; The hands are warm.; Hands warm.",
        "icu; pressurearea; There are no pressure sores.; No pressure sores.",
    ),
    *_remarks(
        "tests",
        "adult; film lungs failure cough; The chest X-ray is normal.; CXR normal.",
        "adult; ecg coronary rate; The ECG shows sinus rhythm.; ECG sinus rhythm.",
        "adult; kidney sugar urine; Urine dipstick is negative.; Dipstick negative.",
        "adult; kidney; Ultrasound of the kidneys is normal.; Renal US normal.",
        "adult; abdomen liver; The gallbladder looks normal on ultrasound.; GB normal on US.",
        "adult; failure heart coronary; An echocardiogram last year was normal.; Echo normal last year.",
        "adult; bone; Bone density was normal last year.; DEXA normal.; 50-120",
        "adult; bowel bleeding cancer red stool; A colonoscopy three years ago was normal.; Colonoscopy normal.; 45-120",
        "adult; eyes sugar; The optician found nothing abnormal.; Optician NAD.",
        "acute; infection cough throat; A swab for influenza is negative.; Flu swab negative.",
        "ward; infection; Two sets of blood cultures were taken.; Blood cultures x2.",
        "icu; infection; Blood cultures were taken from two sites.; Blood cultures x2.",
        "icu; film lungs; A chest X-ray was taken after the line was placed.; CXR after line.",
        "resus; ct brain; A CT scan of the head has been asked for.; CT head requested.",
        "resus; bloodgroup; Blood was taken for grouping.; G&S sent.",
        "antenatal; bloodgroup; Blood group is A, rhesus positive.; Blood group A pos.",
        "antenatal; bloodgroup; Blood group is O, rhesus negative.; Blood group O neg.",
        "antenatal; urine; Urine is free of protein and glucose.; Urine clear.",
        "antenatal; rubella; Rubella immunity is documented.; Rubella immune.",
        "child; urine; Urine is clear on dipstick.; Dipstick clear.",
    ),
    *_remarks(
        "plan",
        "awake; explained talk; Findings and next steps were explained.; Plan explained.",
        "office; follow; A follow-up visit is booked in four weeks.; F/u 4 weeks.",
        "office; follow; {He} will come back in two weeks.; Review 2 weeks.",
        "office; letter; A letter goes to the family practice.; Letter to GP.",
        "office; leaflet; A leaflet was handed out.; Leaflet given.",
        "acute; repeat; Blood tests will be repeated tomorrow.; Repeat bloods tomorrow.",
        "ed; access; An intravenous line was placed in the forearm.; IV line placed.",
        "acute; senior; The case was discussed with the senior physician.; D/w senior.",
        "acute; kin3; The next of kin have been informed.; NOK informed.",
        "severe; kin3; The next of kin have been informed.; NOK informed.",
        "ward; physio; Physiotherapy has been asked to see {him}.; Physio referral.",
        "ward; diet2; The dietitian will see {him}.; Dietitian referral.",
        "icu; night; The plan for the night was agreed at the handover.; Night plan agreed.",
        "resus; belongings; Clothes and belongings were handed to the police.; Belongings with police.",
        "resus; tetanus; A tetanus booster was given.; Tetanus booster given.",
        "resus; team; The trauma team is present.; Trauma team present.",
        "antenatal; classes; Antenatal classes were recommended.; Antenatal classes advised.",
        "antenatal; next; The next visit is in four weeks.; Next visit 4 weeks.",
        "child; net; The parents know when to come back.; Parents safety-netted.",
        "child; leaflet; A leaflet was given to the parents.; Leaflet given.",
    ),
    *_remarks(
        "care",
        "icu; monitor; An arterial line and a urinary catheter are in place.; Art line, catheter in situ.",
        "icu; bed; The head of the bed is raised by thirty degrees.; Head up 30 degrees.",
        "icu; feed; Enteral feeding is tolerated.; Enteral feed tolerated.",
        "icu; turning; {He} is turned every three hours.; Turned 3-hourly.",
        "icu; eyecare; Eye ointment is applied by the nurses.; Eye care given.",
        "resus; warmth; {He} is covered with a warming blanket.; Warming blanket.",
        "resus; access; Two intravenous lines are in place.; 2 IV lines.",
        "resus; monitor; A monitor has been attached.; Monitored.",
    ),
    *_remarks(
        "story",
        "antenatal; nausea; Nausea in the mornings is bearable.; Mild morning nausea.",
        "antenatal; well; {He} feels well.; Feels well.",
        "antenatal; taste; {He} has gone off coffee.; Off coffee.",
        "child; appetite; {He} eats less than usual but drinks well.; Eats less, drinks well.",
        "child; sleep; {He} slept well last night.; Slept well.",
    ),
)

ASIDES: Final[tuple[Aside, ...]] = (
    (_AWAKE, finding("symptom", "head", "headache", "headache"), 0.15),
    (_AWAKE, finding("symptom", "itch", "itching of the forearms", "itching"), 0.15),
    (_AWAKE, finding("symptom", "ears", "ringing in the ears", "earache|ear pain"), 0.2),
    (_AWAKE, finding("symptom", "taste", "a metallic taste", "change of taste"), 0.2),
    (_ADULT, finding("symptom", "hair", "hair loss|brittle nails", "hair loss"), 0.3),
    (_ADULT, finding("symptom", "joints", "stiff fingers in the morning", "joint pain"), 0.3),
    (_ADULT, finding("symptom", "brain", "tingling of the fingertips", "numbness"), 0.3),
    (_ADULT, finding("symptom", "stomach", "heartburn after meals", "heartburn"), 0.3),
    (_ADULT, finding("symptom", "urine", "getting up twice at night to pass urine", "burning on passing urine"), 0.3),
    (_ADULT, finding("symptom", "sleep", "poor sleep|snoring", "trouble sleeping"), 0.5),
    (_ADULT, finding("symptom", "eyes", "tired eyes", "visual disturbance"), 0.3),
    (_ADULT, finding("history", "thyroid", "hypothyroidism|a thyroid nodule", "thyroid disease"), 0.6),
    (_ADULT, finding("history", "joints", "osteoarthritis of both hands|gout", "gout"), 0.6),
    (_ADULT, finding("history", "head", "migraine|tension headaches", "migraine"), 0.6),
    (_ADULT, finding("history", "eyes", "glaucoma|short-sightedness", "glaucoma"), 0.6),
    (_ADULT, finding("history", "skin", "psoriasis|atopic eczema", "psoriasis"), 0.6),
    (_ADULT, finding("history", "lungs", "asthma in childhood", "asthma"), 0.5),
    (_ADULT, finding("history", "bowel", "diverticulosis|irritable bowel syndrome", "diverticulitis"), 0.5),
    (_ADULT, finding("history", "mood", "a depressive episode years ago", "depression"), 0.5),
    (_ADULT, finding("history", "infection", "shingles in 2019", "tuberculosis"), 0.4),
    (frozenset({"child"}), finding("symptom", "bowel", "a loose stool", "vomiting or diarrhoea"), 0.2),
    (frozenset({"child"}), finding("symptom", "ears", "earache", "ear pain"), 0.15),
    (frozenset({"child"}), finding("history", "lungs", "asthma|wheezing in infancy", "asthma"), 0.2),
    (frozenset({"obstetric"}), finding("symptom", "pregnancy", "backache", "abdominal pain or vaginal bleeding"), 0.0),
)


_MOST_WORDS: Final = 225
_MOST_VITALS, _MOST_LABS = 3, 4
_FEWEST: Final = 2
_MOST_ASIDES: Final = 5


@lru_cache(maxsize=1024)
def _candidates(setting: Setting, concepts: frozenset[str], asides: bool) -> tuple[Remark | Aside, ...]:
    remarks = (remark for remark in REMARKS if setting in remark.settings and not remark.concepts & concepts)
    findings = (aside for aside in ASIDES if asides and setting in aside[0] and not aside[1].concepts & concepts)
    return (*remarks, *findings)


def add_background(chart: Chart, words: int, least: int) -> None:
    """Adds distractors until a note is long enough.

    Args:
        chart: the patient, with all that the calculator needs; concepts complete.
        words: length of the note without distractors.
        least: length to reach; one or two distractors are added in any case, as long as the note stays readable.
    """
    draw = chart.draw
    words += _add_values(chart, room=words < least - 20)
    talks = chart.voice != "none"
    blocked = chart.concepts if talks else chart.concepts | {"talk"}
    told: set[str] = set()  # two remarks on one topic (two homes, two allergies) would contradict each other
    count = asides = 0
    for candidate in draw.shuffled(_candidates(chart.setting, frozenset(blocked), talks)):
        if (words >= least and count >= _FEWEST) or words >= _MOST_WORDS:
            break
        if isinstance(candidate, Remark):
            low, high = candidate.ages
            age = 0 if chart.person.months else chart.person.age
            if candidate.concepts & told or not low <= age <= high:
                continue
            told |= candidate.concepts
            text = candidate.brief if chart.brief else candidate.text
            chart.say(candidate.place, text)
            words += len(text.split())
        else:
            _, entry, present = candidate
            if entry.concepts & told or asides == _MOST_ASIDES:
                continue
            told |= entry.concepts
            chart.state(entry, there=draw.chance(present))
            words += 2
            asides += 1
        count += 1


def _add_values(chart: Chart, *, room: bool) -> int:
    """Adds usual bedside and laboratory values; returns how many words they take."""
    draw = chart.draw
    taken = set(chart.concepts)
    added = 0
    # Usual values are those of adults; what is usual in a child or in pregnancy depends on too much.
    vitals = (TEMPERATURE, SPO2) if chart.person.child else BACKGROUND_VITALS
    labs = () if chart.person.child or chart.setting == "obstetric" else BACKGROUND_LABS
    for pool, most in ((vitals, _MOST_VITALS), (labs, _MOST_LABS)):
        if not draw.chance(0.75 if room else 0.4):
            continue
        for amount in draw.some(pool, draw.whole(1, most)):
            if amount.concepts & taken:
                continue
            if "red" in amount.concepts:  # hemoglobin and hematocrit drawn apart might not fit each other
                taken.add("red")
            low, high = amount.usual
            reading = amount.read(draw, chart.system, low, high)
            chart.note_value(amount.place, reading)
            added += len(reading.written(brief=chart.brief).split())
    return added
