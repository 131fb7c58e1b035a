"""Synthetic visits for the `demo` configuration of ACI-BENCH, written for this package; they describe nobody. Not medical advice.

Their shapes are those of the release: a turn over two lines, a guest who speaks, commands to the device, headings of several
wordings. Each note has all four sections.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMPLE_VISITS", "TEST_VISITS", "DemoVisit"]


@dataclass(frozen=True, kw_only=True)
class DemoVisit:
    """One synthetic visit."""

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


TEST_VISITS = (
    DemoVisit(
        id="DEMO004",
        split="test1",
        dialogue="""\
[doctor] hello , samir . it says here you have a cough .
[patient] yes , for about three weeks . it's dry , and worse at night .
[doctor] do you smoke ?
[patient] half a pack a day since i was twenty .
[doctor] any fever or weight loss ?
[patient] no , none of that . a little heartburn after meals .
[doctor] and you take lisinopril for your blood pressure , right ?
[patient] yes , ten milligrams , since last month .
[doctor] your lungs are clear , no wheezing . heart is regular . blood pressure is one twenty-eight over eighty .
[patient] and the x-ray ?
[doctor] the chest x-ray is normal .
[patient] so what is it ?
[doctor] i believe it's the lisinopril . we'll stop it , and you take losartan , fifty milligrams a day , instead . \
the cough should be gone in four weeks .
[patient] great .
[doctor] and let's talk about quitting smoking next time .""",
        note="""\
CHIEF COMPLAINT

Cough.

HISTORY OF PRESENT ILLNESS

Samir has had a dry cough for 3 weeks, worse at night. He has no fever and no weight loss. He has some heartburn \
after meals. He began lisinopril last month.

SOCIAL HISTORY

Smokes half a pack a day since the age of 20.

CURRENT MEDICATIONS

Lisinopril 10 mg daily.

VITALS

Blood pressure 128/80.

PHYSICAL EXAM

Lungs: Clear, no wheezing.
Heart: Regular.

RESULTS

Chest X-ray: Normal.

ASSESSMENT AND PLAN

Cough, most likely caused by lisinopril. Stop lisinopril and start losartan 50 mg daily. The cough should be gone in \
4 weeks. Smoking cessation will be discussed at the next visit.""",
    ),
    DemoVisit(
        id="DEMO005",
        split="test1",
        dialogue="""\
[doctor] hi there , who do we have today ?
[patient_guest] this is ella , she's six , i'm her father . she has had an earache since yesterday .
[doctor] hi , ella . which ear is it ?
[patient] this one .
[doctor] the left one . did she have a cold before ?
[patient_guest] yes , all last week , with a stuffy nose .
[doctor] is she allergic to any medicine ?
[patient_guest] she got hives from amoxicillin when she was two .
[doctor] okay . the left eardrum is red and bulging . the right one looks normal . temperature is thirty-eight one .
[patient_guest] does she need an antibiotic ?
[doctor] the tympanogram is flat on the left , so there is fluid behind it . i'll give her cefdinir for ten days , \
because of the hives .
[patient_guest] and for the pain ?
[doctor] ibuprofen by weight , every eight hours . come back if she isn't better in three days .""",
        note="""\
CHIEF COMPLAINT

Left ear pain.

HISTORY OF PRESENT ILLNESS

Ella is a 6-year-old girl who is here with her father. She has had left ear pain since yesterday, after a week of \
cold symptoms with nasal congestion.

ALLERGIES

Amoxicillin: Hives at the age of 2.

EXAM

Temperature 38.1 degrees. Left tympanic membrane red and bulging, right one normal.

RESULTS

Tympanogram: Flat on the left.

ASSESSMENT

Acute otitis media of the left ear.

PLAN

Cefdinir for 10 days because of the allergy to amoxicillin. Ibuprofen by weight every 8 hours for pain. Return if she \
is not better in 3 days.""",
    ),
    DemoVisit(
        id="DEMO006",
        split="test1",
        dataset="virtassist",
        dialogue="""\
[doctor] missus alvarez , how is the breathing ?
[patient] worse on the stairs . i have to stop after one floor now .
[doctor] since when ?
[patient] about two weeks . and my shoes are tight in the evening .
[doctor] are you sleeping flat ?
[patient] no , with three pillows .
[doctor] have you been careful with salt ?
[patient] well , there was my birthday , and we had a lot of ham .
[doctor] i hear crackles at both bases . there is two plus edema up to the shins . your weight is up four kilograms .
[patient] oh dear .
[doctor] hey , dragon , show me the b n p . it is nine hundred . the echo from last year had an ejection fraction of \
thirty-five percent .
[patient] what do we do ?
[doctor] we double the furosemide to eighty milligrams a day for one week , you weigh yourself every morning , and we \
check the kidneys and potassium on friday .
[patient] all right .
[doctor] hey , dragon , order a basic metabolic panel .""",
        note="""\
CHIEF COMPLAINT

Shortness of breath.

HISTORY OF PRESENT ILLNESS

Mrs. Alvarez has had increasing exertional dyspnea for 2 weeks and has to stop after one flight of stairs. She sleeps \
on 3 pillows and has swelling of the feet in the evening. She ate salty food on her birthday.

REVIEW OF SYSTEMS

Positive for orthopnea and edema.

PHYSICAL EXAM

Weight up by 4 kg. Crackles at both lung bases. Edema 2+ up to the shins.

RESULTS

BNP: 900.
Echocardiogram of last year: Ejection fraction 35 percent.

ASSESSMENT AND PLAN

Acute on chronic heart failure with reduced ejection fraction.
- Medical Treatment: Furosemide 80 mg daily for 1 week, double the dose before.
- Patient Education: Weigh every morning, restrict salt.
- Additional Testing: Basic metabolic panel on Friday.""",
    ),
    DemoVisit(
        id="DEMO007",
        split="test1",
        dialogue="""\
[doctor] hey , tom . back pain again ?
[patient] yeah , i lifted a washing machine on monday and it shot into my leg .
[doctor] which leg ?
[patient] the right one , down to the outside of the foot .
[doctor] any trouble with the bladder or numbness between the legs ?
[patient] no , thank god .
[doctor] what have you tried ?
[patient] naproxen , it takes the edge off .
[doctor] straight leg raise is positive on the right at forty degrees . strength is full . the ankle reflex on the \
right is weaker .
[patient] do i need a scan ?
[doctor] not now . the x-ray you had in the emergency room was fine . your mother had a disc operation , didn't she ?
[patient] yes , ten years ago .
[doctor] most of these settle by themselves . keep moving , naproxen five hundred twice a day with food , and \
physical therapy . if it isn't better in six weeks , we do an m r i .
[patient] okay .""",
        note="""\
CHIEF COMPLAINT

Low back pain.

HISTORY OF PRESENT ILLNESS

Tom lifted a washing machine on Monday and has had low back pain since, with radiation to the outside of the right \
foot. He has no bladder problems and no saddle numbness. Naproxen helps a little.

FAMILY HISTORY

Mother had disc surgery 10 years ago.

PHYSICAL EXAM

Straight leg raise positive on the right at 40 degrees. Strength 5/5. Right ankle reflex diminished.

RESULTS

X-ray of the lumbar spine in the emergency room: Normal.

IMPRESSION

Right S1 radiculopathy.

PLAN

Stay active. Naproxen 500 mg twice a day with food. Physical therapy. MRI if there is no improvement in 6 weeks.""",
    ),
    DemoVisit(
        id="DEMO008",
        split="test1",
        dataset="virtscribe",
        dialogue="""\
[doctor] good afternoon , june . you wanted to talk about being tired ?
[patient] i'm exhausted all the time , doctor . for three months or so .
[doctor] how is your sleep ?
[patient] eight hours , no problem . but my periods have become very heavy .
[doctor] do you eat meat ?
[patient] i've been a vegetarian for five years .
[doctor] any chest pain or fainting ?
[patient] no .
[doctor] you look a bit pale . heart rate is ninety-six . there is a soft systolic murmur . the thyroid feels normal .
[patient] what does the blood say ?
[doctor] hemoglobin is nine point two and ferritin is five . the t s h is normal .
[patient] so it's iron ?
[doctor] yes , you have iron deficiency anemia from the bleeding . take iron every other day , i'll have a \
gynecologist see you , and we repeat the count in four weeks .
[patient] thank you .""",
        note="""\
CHIEF COMPLAINT

Fatigue.

HISTORY OF PRESENT ILLNESS

June has been exhausted for about 3 months in spite of 8 hours of sleep. Her periods have become very heavy. She \
denies chest pain and fainting.

SOCIAL HISTORY

Vegetarian for 5 years.

PHYSICAL EXAM

Heart rate 96. Pallor. Soft systolic murmur. Thyroid normal to palpation.

RESULTS

Hemoglobin 9.2. Ferritin 5. TSH normal.

ASSESSMENT AND PLAN

Iron deficiency anemia due to menorrhagia. Oral iron every other day. Referral to gynecology. Repeat blood count in 4 \
weeks.""",
    ),
    DemoVisit(
        id="DEMO009",
        split="test1",
        dialogue="""\
[doctor] hi , mister berg . how are things after the hip operation ?
[patient] much better . six weeks now , and i walk without the cane at home .
[doctor] any pain ?
[patient] one or two out of ten , after physical therapy .
[doctor] any fever , any discharge from the wound ?
[patient] no . it closed up nicely .
[doctor] still taking the blood thinner ?
[patient] i stopped it last week as they told me .
[doctor] the incision is well healed , no redness . the left hip bends to one hundred degrees . both legs are the \
same length .
[patient] can i drive ?
[doctor] the x-ray shows the implant in good position , no loosening . so yes , you may drive short distances .
[patient] and golf ?
[doctor] wait until three months . go on with physical therapy twice a week . see you in six weeks .""",
        note="""\
CHIEF COMPLAINT

Follow-up after left total hip replacement.

HISTORY OF PRESENT ILLNESS

Mr. Berg is 6 weeks out from a left total hip replacement. He walks without a cane at home. Pain is 1 to 2 out of 10 \
after physical therapy. He has had no fever and no wound discharge. He stopped the anticoagulant last week as planned.

PHYSICAL EXAM

Incision well healed, without redness. Left hip flexion to 100 degrees. Equal leg lengths.

RESULTS

X-ray of the left hip: Implant in good position, no loosening.

ASSESSMENT AND PLAN

Good recovery after left total hip replacement.
- Short drives are allowed, no golf until 3 months.
- Physical therapy twice a week.
- Return in 6 weeks.""",
    ),
)
